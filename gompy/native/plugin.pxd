# What a device plugin and the runtime have in common: gompy/native/plugin.h.

from libc.stdint cimport uintptr_t

cdef extern from *:
    ctypedef bint c_bool "_Bool"  # the interface's bool: only the low byte of a result is defined

cdef extern from "gompy/native/plugin.h" nogil:
    struct AddrPair "gompy_addr_pair":
        uintptr_t start
        uintptr_t end
    void GOMP_PLUGIN_error(const char *, ...) noexcept
    void GOMP_PLUGIN_fatal(const char *, ...) noexcept
    void GOMP_PLUGIN_debug(int, const char *, ...) noexcept
    void *GOMP_PLUGIN_malloc(size_t) noexcept
    void GOMP_PLUGIN_target_task_completion(void *) noexcept
    void *(*GOMP_PLUGIN_acc_thread)() noexcept nogil
    int (*GOMP_PLUGIN_acc_default_dim)(unsigned) noexcept nogil

cdef struct ImageRange:
    # The head of an intelmic image's target data (docs/internals.md).
    const char *start
    const char *end
