# cuMipmappedArray*.

cdef public int cuMipmappedArrayCreate(void **to, const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned count) noexcept nogil:
    """Of `count` levels, each half as large as the one before; as many as there may be if it is more."""
    cdef context *c
    cdef mipmap *m = NULL
    cdef int r = check_array(to, d, &c)
    if r == CUDA_SUCCESS:
        r = make_mipmap(c, d, count, &m)
    if r == CUDA_SUCCESS:
        to[0] = m
    return r


cdef public int cuMipmappedArrayGetLevel(void **to, void *p, unsigned level) noexcept nogil:
    """A level's array, which goes with the others."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(MIPMAP, p):
        return CUDA_ERROR_INVALID_HANDLE
    if to == NULL or level >= (<mipmap *>p).count:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = (<mipmap *>p).levels[level]
    return CUDA_SUCCESS


cdef public int cuMipmappedArrayDestroy(void *p) noexcept nogil:
    """Its memory goes when the context's work is done."""
    cdef uint64_t address
    cdef int r = api_state()
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(MIPMAP, p):
        return CUDA_ERROR_INVALID_HANDLE
    address = (<mipmap *>p).address
    if not forget_mipmap(<mipmap *>p):
        return CUDA_ERROR_INVALID_HANDLE
    return free_block_at(address, ALLOCATION, ALLOCATION, settle_before_free(address))
