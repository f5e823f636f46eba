# Questions: all about an address.

cdef enum:
    HOST_ORDINAL = -2              # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL of what no device has


cdef size_t pointer_attribute_size(int which) noexcept nogil:
    """Bytes of an attribute's answer; 0: it is none that is known."""
    if which in (CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL):
        return 4
    if which in (CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MAPPED, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS):
        return 1
    if which in (CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                 CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                 CU_POINTER_ATTRIBUTE_RANGE_SIZE):
        return 8
    return 0


cdef public int cuPointerGetAttributes(unsigned n, const int *which, void **to, CUdeviceptr address) noexcept nogil:
    """Several attributes of an address; what it has not is answered with 0, the device's number with -2."""
    cdef unsigned i
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if n == 0 or which == NULL or to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    for i in range(n):
        if to[i] == NULL:
            return CUDA_ERROR_INVALID_VALUE
        if pointer_attribute_size(which[i]) == 0:
            return CUDA_ERROR_NOT_SUPPORTED
    for i in range(n):
        if cuPointerGetAttribute(to[i], which[i], address) != CUDA_SUCCESS:
            memset(to[i], 0, pointer_attribute_size(which[i]))
            if which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
                (<int *>to[i])[0] = HOST_ORDINAL
    return CUDA_SUCCESS


cdef public int cuPointerSetAttribute(const void *value, int which, CUdeviceptr address) noexcept nogil:
    """Whether copies of cuMemAlloc's memory, and fills, are over when the call returns: they are here, so it is only
    kept.  Other attributes: CUDA_ERROR_INVALID_VALUE."""
    cdef block *n
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if value == NULL or which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, NULL)
    if n == NULL or n.use != ALLOCATION:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        n.orders_copies = (<const uint8_t *>value)[0] != 0
    pthread_mutex_unlock(&memory_lock)
    return r
