# GCC's atomic builtins: generic there, each name here is one width.  And those that find a bit.

from libc.stdint cimport uint32_t, uint64_t

cdef extern from * nogil:
    uint32_t load32 "__atomic_load_n"(uint32_t *p, int order)
    void store32 "__atomic_store_n"(uint32_t *p, uint32_t v, int order)
    uint32_t exchange32 "__atomic_exchange_n"(uint32_t *p, uint32_t v, int order)
    uint32_t or32 "__atomic_fetch_or"(uint32_t *p, uint32_t v, int order)
    uint32_t and32 "__atomic_fetch_and"(uint32_t *p, uint32_t v, int order)
    uint32_t add32 "__atomic_add_fetch"(uint32_t *p, uint32_t v, int order)
    uint32_t sub32 "__atomic_sub_fetch"(uint32_t *p, uint32_t v, int order)
    bint cas32 "__atomic_compare_exchange_n"(uint32_t *p, uint32_t *expected, uint32_t v, bint weak, int ok, int no)
    void store64 "__atomic_store_n"(uint64_t *p, uint64_t v, int order)
    uint64_t load64 "__atomic_load_n"(uint64_t *p, int order)
    uint64_t or64 "__atomic_fetch_or"(uint64_t *p, uint64_t v, int order)
    uint64_t and64 "__atomic_fetch_and"(uint64_t *p, uint64_t v, int order)
    uint64_t add64 "__atomic_add_fetch"(uint64_t *p, uint64_t v, int order)
    bint cas64 "__atomic_compare_exchange_n"(uint64_t *p, uint64_t *expected, uint64_t v, bint weak, int ok, int no)
    char load8 "__atomic_load_n"(char *p, int order)
    void store8 "__atomic_store_n"(char *p, char v, int order)
    int ctz64 "__builtin_ctzll"(uint64_t v)
    int clz64 "__builtin_clzll"(uint64_t v)
    int RELAXED "__ATOMIC_RELAXED"
    int ACQUIRE "__ATOMIC_ACQUIRE"
    int RELEASE "__ATOMIC_RELEASE"
    int ACQUIRE_RELEASE "__ATOMIC_ACQ_REL"
    int SEQ_CST "__ATOMIC_SEQ_CST"
