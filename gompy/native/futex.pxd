# To sleep until a word of memory changes: gompy/native/futex.h.

from libc.stdint cimport int64_t, uint32_t

cdef extern from "gompy/native/futex.h" nogil:
    int FUTEX_PRIVATE_FLAG
    int gompy_futex_wait(uint32_t *word, uint32_t value, int64_t ns, int scope)
    int gompy_futex_wake(uint32_t *word, int count, int scope)
