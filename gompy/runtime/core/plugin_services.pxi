# What plugins call:  GOMP_PLUGIN_* without variable arguments (those with are in support.h).  The OpenACC services are
# in doors/openacc.


cdef public void *GOMP_PLUGIN_malloc(size_t size) noexcept nogil:
    cdef void *ptr = malloc(size)
    if ptr == NULL and size:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return ptr


cdef public void *GOMP_PLUGIN_malloc_cleared(size_t size) noexcept nogil:
    cdef void *ptr = calloc(1, size)
    if ptr == NULL and size:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return ptr


cdef public void *GOMP_PLUGIN_realloc(void *ptr, size_t size) noexcept nogil:
    ptr = realloc(ptr, size)
    if ptr == NULL and size:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return ptr
