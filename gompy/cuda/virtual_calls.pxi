# Addresses and mappings: cuMemAddress*, cuMemMap, cuMemUnmap, cuMem*Access.


cdef inline bint in_chunks(uint64_t n) noexcept nogil:
    """Whether a number is a multiple of the granularity."""
    return n % CHUNK == 0


cdef public int cuMemAddressReserve(CUdeviceptr *to, size_t size, size_t align, CUdeviceptr wanted,
                                    unsigned long long flags) noexcept nogil:
    """Addresses without memory, of the current context's device, or without one of the first."""
    cdef context *c = NULL
    cdef block *whole
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or size == 0 or not in_chunks(size) or align & (align - 1) or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    top_context(&c)
    pthread_mutex_lock(&memory_lock)
    whole = reserve_addresses(c.device if c != NULL else visible_device(0), size, max(align, <size_t>CHUNK), wanted)
    pthread_mutex_unlock(&memory_lock)
    if whole == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = whole.address
    return CUDA_SUCCESS


cdef public int cuMemAddressFree(CUdeviceptr address, size_t size) noexcept nogil:
    """Give back all addresses of one cuMemAddressReserve, none of them mapped."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    r = free_reservation(address, size)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemMap(CUdeviceptr address, size_t size, size_t offset, void *p,
                         unsigned long long flags) noexcept nogil:
    """Put all of a handle's memory at reserved addresses; there is no access as yet."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if size == 0 or not in_chunks(address) or not in_chunks(size) or offset != 0 or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    r = CUDA_ERROR_INVALID_VALUE
    if is_handle(PHYSICAL_HANDLE, p):
        r = map_physical(address, size, (<physical_handle *>p).of)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemUnmap(CUdeviceptr address, size_t size) noexcept nogil:
    """Undo cuMemMap, of one mapping or several that lie side by side.  Waits for the device's work."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&memory_lock)
    r = CUDA_SUCCESS if whole_mappings(address, size) else CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&memory_lock)
    if r != CUDA_SUCCESS:
        return r
    settle_device(gpu_of(address))
    pthread_mutex_lock(&memory_lock)
    r = unmap_range(address, size)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef int wanted_access(CUdeviceptr address, const pool_access *wanted) noexcept nogil:
    """Whether an access may be asked for at an address: all or none."""
    cdef gpu *g = visible_device(wanted.location.number)
    if wanted.location.kind != CU_MEM_LOCATION_TYPE_DEVICE:
        return CUDA_ERROR_INVALID_VALUE
    if g == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    if wanted.flags not in (CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ,
                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE):
        return CUDA_ERROR_INVALID_VALUE
    if wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READ:
        return CUDA_ERROR_NOT_SUPPORTED
    if g != gpu_of(address) and wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE and peers_denied:
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
    return CUDA_SUCCESS


cdef public int cuMemSetAccess(CUdeviceptr address, size_t size, const pool_access *wanted,
                               size_t n) noexcept nogil:
    """Give devices access to mappings that lie side by side, or take it.  Reading alone: ERROR_NOT_SUPPORTED."""
    cdef size_t i
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if wanted == NULL or n == 0 or gpu_of(address) == NULL:
        return CUDA_ERROR_INVALID_VALUE
    for i in range(n):
        r = wanted_access(address, &wanted[i])
        if r != CUDA_SUCCESS:
            return r
        if wanted[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE:
            settle_device(visible_device(wanted[i].location.number))
    pthread_mutex_lock(&memory_lock)
    for i in range(n):
        if r != CUDA_SUCCESS:
            break
        r = set_access(address, size, visible_device(wanted[i].location.number),
                       wanted[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
    pthread_mutex_unlock(&memory_lock)
    return r


cdef public int cuMemGetAccess(unsigned long long *to, const pool_location *place, CUdeviceptr address) noexcept nogil:
    """What cuMemSetAccess has given a device at an address that is mapped."""
    cdef block *n
    cdef gpu *g
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or place == NULL or place.kind != CU_MEM_LOCATION_TYPE_DEVICE:
        return CUDA_ERROR_INVALID_VALUE
    g = visible_device(place.number)
    if g == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    pthread_mutex_lock(&memory_lock)
    n = part_at(address)
    if n == NULL or n.use not in (CLOSED, MAPPED):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        to[0] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE if n.readers & reader_bit(g) else CU_MEM_ACCESS_FLAGS_PROT_NONE
    pthread_mutex_unlock(&memory_lock)
    return r
