# What a device plugin and the runtime have in common: gompy/native/plugin.h.

from libc.stdint cimport uint64_t

from gompy.native.plugin_types cimport AddrPair, c_bool

cdef extern from "gompy/native/plugin.h" nogil:
    void GOMP_PLUGIN_error(const char *, ...) noexcept
    void GOMP_PLUGIN_fatal(const char *, ...) noexcept
    void GOMP_PLUGIN_debug(int, const char *, ...) noexcept
    void *GOMP_PLUGIN_malloc(size_t) noexcept
    void GOMP_PLUGIN_target_task_completion(void *) noexcept
    void *(*GOMP_PLUGIN_acc_thread)() noexcept nogil
    int (*GOMP_PLUGIN_acc_default_dim)(unsigned) noexcept nogil
    void (*gompy_target_rev)(
        int type, int number, uint64_t function, uint64_t mapnum, uint64_t addresses, uint64_t sizes, uint64_t kinds
    ) noexcept nogil
    void (*GOMP_PLUGIN_target_rev)(
        uint64_t function, uint64_t mapnum, uint64_t addresses, uint64_t sizes, uint64_t kinds, int number, void *,
        void *, void *
    ) noexcept nogil

cdef struct ImageRange:
    # The head of an intelmic image's target data (docs/internals.md).
    const char *start
    const char *end
