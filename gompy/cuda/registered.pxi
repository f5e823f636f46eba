# The program's own memory that cuMemHostRegister has pinned.  Kernels use it at its address (executor.h).

cdef struct host_range:        # cuMemHostRegister
    host_range *next
    uint64_t start, size
    unsigned flags
    void *owner                # context
    uint32_t place             # in host_ranges
    bint managed               # libcudart's: __managed__ variables

cdef host_range *registered    # guarded by memory_lock
cdef ptx_host_ranges host_ranges


cdef host_range *registered_at(uint64_t address) noexcept nogil:
    """The registered range that an address lies in."""
    cdef host_range *r = registered
    while r != NULL and address - r.start >= r.size:
        r = r.next
    return r


cdef int pin_or_registered(uint64_t address, uint64_t size, block **pinned) noexcept nogil:
    """As pin_range; memory that is registered has its address on the device, too.  With memory_lock held."""
    cdef host_range *r
    if pin_range(address, size, pinned) == CUDA_SUCCESS:
        return CUDA_SUCCESS
    r = registered_at(address)
    return CUDA_SUCCESS if r != NULL and size <= r.start + r.size - address else CUDA_ERROR_INVALID_VALUE


cdef bint is_managed_range(uint64_t address, uint64_t size, uint64_t *whole) noexcept nogil:
    """Whether all bytes are managed memory: one block's, or __managed__ variables'.  With memory_lock held.

    `whole`: NULL, or where that begins and ends.
    """
    cdef block *n = block_at(address, NULL, NULL)
    cdef host_range *r = registered_at(address) if n == NULL else NULL
    if n != NULL:
        if n.use != MANAGED or not block_reaches(n, address, size):
            return False
    elif r == NULL or not r.managed or size > r.start + r.size - address:
        return False
    if whole != NULL:
        whole[0] = n.start if n != NULL else r.start
        whole[1] = whole[0] + (n.length if n != NULL else r.size)
    return True


cdef public int gompy_note_managed(CUdeviceptr address) noexcept nogil:
    """Memory that is registered is that of __managed__ variables: it can be advised on.  Not part of CUDA."""
    cdef host_range *r
    pthread_mutex_lock(&memory_lock)
    r = registered_at(address)
    if r != NULL:
        r.managed = True
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if r != NULL else CUDA_ERROR_INVALID_VALUE


cdef int check_advised(uint64_t address, uint64_t size) noexcept nogil:
    """CUDA_SUCCESS if all bytes are one block's of device memory, or managed; else CUDA_ERROR_INVALID_VALUE."""
    cdef bint good
    pthread_mutex_lock(&memory_lock)
    good = is_managed_range(address, size, NULL) or block_reaches(block_at(address, NULL, NULL), address, size)
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if good else CUDA_ERROR_INVALID_VALUE


cdef bint can_be_filled(uint64_t address, uint64_t size) noexcept nogil:
    """Whether all bytes are one block's, or one registered range's."""
    cdef block *pinned = NULL
    cdef int r
    pthread_mutex_lock(&memory_lock)
    r = pin_or_registered(address, size, &pinned)
    pthread_mutex_unlock(&memory_lock)
    unpin_block(pinned)
    return r == CUDA_SUCCESS


cdef bint show_to_kernels(host_range *r) noexcept nogil:
    """Let kernels use a range; False when there are too many.  With memory_lock held."""
    cdef uint32_t i = 0
    while i < host_ranges.count and host_ranges.range[i].size:
        i += 1
    if i == PTX_HOST_RANGES:
        return False
    r.place = i
    host_ranges.range[i].start = r.start
    store64(&host_ranges.range[i].size, r.size, RELEASE)
    if i == host_ranges.count:
        store32(&host_ranges.count, i + 1, RELEASE)
    return True


cdef void hide_from_kernels(host_range *r) noexcept nogil:
    """Undo it.  With memory_lock held."""
    store64(&host_ranges.range[r.place].size, 0, RELEASE)
