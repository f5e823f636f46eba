# A device whose memory is the program's: blocks are malloc's, copies are real.  It needs no start.

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove

from gompy.native.plugin cimport c_bool


cdef public c_bool GOMP_OFFLOAD_init_device(int n) noexcept nogil:
    return True


cdef public c_bool GOMP_OFFLOAD_fini_device(int n) noexcept nogil:
    return True


cdef public void *GOMP_OFFLOAD_alloc(int n, size_t size) noexcept nogil:
    return malloc(size)


cdef public c_bool GOMP_OFFLOAD_free(int n, void *ptr) noexcept nogil:
    free(ptr)
    return True


cdef public c_bool GOMP_OFFLOAD_host2dev(int n, void *dst, const void *src, size_t size) noexcept nogil:
    memcpy(dst, src, size)
    return True


cdef public c_bool GOMP_OFFLOAD_dev2host(int n, void *dst, const void *src, size_t size) noexcept nogil:
    memcpy(dst, src, size)
    return True


cdef public c_bool GOMP_OFFLOAD_dev2dev(int n, void *dst, const void *src, size_t size) noexcept nogil:
    memmove(dst, src, size)
    return True
