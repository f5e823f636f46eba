# cuArray*, and copies of consecutive bytes from and to arrays.

cdef int check_array(void **to, const CUDA_ARRAY3D_DESCRIPTOR *d, context **c) noexcept nogil:
    """What the making of an array begins with."""
    cdef int r = current_context(c)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or d == NULL or d.NumChannels not in (1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    if d.Flags & ~<unsigned>(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP
                             | CUDA_ARRAY3D_TEXTURE_GATHER):  # tld4 reads all arrays here
        return CUDA_ERROR_NOT_SUPPORTED
    if d.Flags & CUDA_ARRAY3D_TEXTURE_GATHER and d.Depth and not d.Flags & CUDA_ARRAY3D_LAYERED:
        return CUDA_ERROR_INVALID_VALUE  # of three dimensions
    return CUDA_SUCCESS


cdef public int cuArray3DCreate_v2(void **to, const CUDA_ARRAY3D_DESCRIPTOR *d) noexcept nogil:
    """One, two or three dimensions, or layers of one or two, or the six faces of a cube, also for surfaces."""
    cdef context *c
    cdef array *a = NULL
    cdef int r = check_array(to, d, &c)
    if r != CUDA_SUCCESS:
        return r
    r = make_array(c, d.Width, d.Height, d.Depth, component_bytes(d.Format) * d.NumChannels, d.Flags, &a)
    if r == CUDA_SUCCESS:
        a.format, a.channels = d.Format, d.NumChannels
        to[0] = a
    return r


cdef public int cuArrayCreate_v2(void **to, const CUDA_ARRAY_DESCRIPTOR *d) noexcept nogil:
    """One or two dimensions (height 0: one)."""
    cdef CUDA_ARRAY3D_DESCRIPTOR whole
    if d == NULL:
        return CUDA_ERROR_INVALID_VALUE
    memset(&whole, 0, sizeof(whole))
    whole.Width, whole.Height, whole.Format, whole.NumChannels = d.Width, d.Height, d.Format, d.NumChannels
    return cuArray3DCreate_v2(to, &whole)


cdef public int cuArrayDestroy(void *p) noexcept nogil:
    """Its memory goes when the context's work is done."""
    cdef uint64_t address
    cdef int r = api_state()
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(ARRAY, p) or (<array *>p).level:
        return CUDA_ERROR_INVALID_HANDLE
    address = (<array *>p).address
    if not forget_array(<array *>p):
        return CUDA_ERROR_INVALID_HANDLE
    return free_block_at(address, ALLOCATION, ALLOCATION, settle_before_free(address))


cdef public int cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *to, void *p) noexcept nogil:
    """As it was made."""
    cdef array *a = <array *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(ARRAY, p):
        return CUDA_ERROR_INVALID_HANDLE
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to.Width, to.Height, to.Depth = a.width, a.height, a.depth
    to.Format, to.NumChannels, to.Flags = a.format, a.channels, a.flags
    return CUDA_SUCCESS


cdef public int cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *to, void *p) noexcept nogil:
    """As it was made."""
    cdef CUDA_ARRAY3D_DESCRIPTOR whole
    cdef int r = cuArray3DGetDescriptor_v2(&whole, p)
    if r == CUDA_SUCCESS and to == NULL:
        r = CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to.Width, to.Height, to.Format, to.NumChannels = whole.Width, whole.Height, whole.Format, whole.NumChannels
    return r


cdef int place_in_array(void *p, size_t offset, size_t size, uint64_t *to) noexcept nogil:
    """The address of bytes of an array's first row."""
    if not is_handle(ARRAY, p):
        return CUDA_ERROR_INVALID_HANDLE
    if not has_part(<array *>p, offset, 0, 0, size, 1, 1):
        return CUDA_ERROR_INVALID_VALUE
    to[0] = (<array *>p).address + offset
    return CUDA_SUCCESS


cdef public int cuMemcpyDtoA_v2(void *to, size_t offset, CUdeviceptr of, size_t size) noexcept nogil:
    """Device to array."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(to, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyDtoD_v2(at, of, size)


cdef public int cuMemcpyAtoD_v2(CUdeviceptr to, void *of, size_t offset, size_t size) noexcept nogil:
    """Array to device."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(of, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyDtoD_v2(to, at, size)


cdef public int cuMemcpyHtoA_v2(void *to, size_t offset, const void *of, size_t size) noexcept nogil:
    """Host to array."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(to, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyHtoD_v2(at, of, size)


cdef public int cuMemcpyAtoH_v2(void *to, void *of, size_t offset, size_t size) noexcept nogil:
    """Array to host."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(of, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyDtoH_v2(to, at, size)


cdef public int cuMemcpyAtoA_v2(void *to, size_t to_offset, void *of, size_t offset, size_t size) noexcept nogil:
    """Array to array."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(to, to_offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyAtoD_v2(at, of, offset, size)


cdef public int cuMemcpyHtoAAsync_v2(void *to, size_t offset, const void *of, size_t size, void *queue) noexcept nogil:
    """Host to array, in a stream's order."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(to, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyHtoDAsync_v2(at, of, size, queue)


cdef public int cuMemcpyAtoHAsync_v2(void *to, void *of, size_t offset, size_t size, void *queue) noexcept nogil:
    """Array to host, in a stream's order."""
    cdef uint64_t at = 0
    cdef int r = place_in_array(of, offset, size, &at)
    return r if r != CUDA_SUCCESS else cuMemcpyDtoHAsync_v2(to, at, size, queue)
