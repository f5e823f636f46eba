# What is asked about a library's kernel, and about a function's parameters and loading.


cdef int kernel_on_device(void **p, int number) noexcept nogil:
    """A kernel's function for a device: in the current context, or else in the primary one, if it is of that device."""
    cdef gpu *g = NULL
    cdef context *c
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(KERNEL, p[0]):
        return CUDA_ERROR_INVALID_HANDLE
    if current_context(&c) != CUDA_SUCCESS or c.device != g:
        c = g.primary
    return CUDA_ERROR_INVALID_CONTEXT if c == NULL else function_of_kernel(p, c)


cdef public int cuKernelGetAttribute(int *to, int which, void *p, int number) noexcept nogil:
    """As cuFuncGetAttribute, for a device."""
    cdef int r = kernel_on_device(&p, number)
    return r if r != CUDA_SUCCESS else cuFuncGetAttribute(to, which, p)


cdef public int cuKernelSetAttribute(int which, int value, void *p, int number) noexcept nogil:
    """As cuFuncSetAttribute, for a device."""
    cdef int r = kernel_on_device(&p, number)
    return r if r != CUDA_SUCCESS else cuFuncSetAttribute(p, which, value)


cdef public int cuKernelSetCacheConfig(void *p, int value, int number) noexcept nogil:
    """Without effect."""
    cdef int r = kernel_on_device(&p, number)
    return r if r != CUDA_SUCCESS else cuFuncSetCacheConfig(p, value)


cdef public int cuFuncGetParamInfo(void *p, size_t index, size_t *offset, size_t *size) noexcept nogil:
    """Where a parameter lies, and its size; CUDA_ERROR_INVALID_VALUE after the last."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if offset == NULL or index >= f.attributes.num_params:
        return CUDA_ERROR_INVALID_VALUE
    offset[0] = f.offsets[2 * index]
    if size != NULL:
        size[0] = f.offsets[2 * index + 1]
    return CUDA_SUCCESS


cdef public int cuKernelGetParamInfo(void *p, size_t index, size_t *offset, size_t *size) noexcept nogil:
    """The same of a kernel."""
    return cuFuncGetParamInfo(p, index, offset, size) if is_handle(KERNEL, p) else CUDA_ERROR_INVALID_HANDLE


cdef public int cuFuncIsLoaded(int *to, void *p) noexcept nogil:
    """CU_FUNCTION_LOADING_STATE_LOADED: modules are loaded whole."""
    cdef function *f = NULL
    cdef int r = enter_function(p, &f)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = 1
    return CUDA_SUCCESS


cdef public int cuFuncLoad(void *p) noexcept nogil:
    """It is."""
    cdef function *f = NULL
    return enter_function(p, &f)
