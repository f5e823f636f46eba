# Device memory as operations use it: ranges that must be there, and blocks that stay until nobody is at them.


cdef bint block_reaches(block *n, uint64_t address, uint64_t size) noexcept nogil:
    """Whether a block that has an address has all bytes from there on; mappings of one reservation together have."""
    return n != NULL and (size <= n.start + n.length - address
                          or (n.use == MAPPED and mappings_reach(n, address, size)))


cdef int check_device_range(uint64_t address, uint64_t size) noexcept nogil:
    """CUDA_SUCCESS if all bytes belong to one block of device memory, else CUDA_ERROR_INVALID_VALUE."""
    cdef bint good
    pthread_mutex_lock(&memory_lock)
    good = block_reaches(block_at(address, NULL, NULL), address, size)
    pthread_mutex_unlock(&memory_lock)
    return CUDA_SUCCESS if good else CUDA_ERROR_INVALID_VALUE


cdef int pin_range(uint64_t address, uint64_t size, block **pinned) noexcept nogil:
    """As check_device_range, and the block stays until unpin: somebody may free it before the operation is over.
    Called with memory_lock held."""
    cdef block *n = block_at(address, NULL, NULL)
    if not block_reaches(n, address, size):
        return CUDA_ERROR_INVALID_VALUE
    if n.use == MAPPED:
        n = n.reservation
    add32(&n.pins, 1, RELAXED)
    pinned[0] = n
    return CUDA_SUCCESS


cdef void leave_block(area *a, block *n, bint settled) noexcept nogil:
    """Free a block now, or when the last operation that is at it is over.  Called with memory_lock held.

    settled: the program has waited for all that was asked for before.
    """
    if n.use == ALLOCATION and n.flags:
        leave_pool(n)
    if n.use == MANAGED:
        drop_advice(n.start, n.start + n.length)
    if add32(&n.pins, LEAVING_PIN, ACQUIRE_RELEASE) == LEAVING_PIN:
        area_free(a, n, settled)
    else:
        n.use = LEAVING


cdef void unpin_block(block *n) noexcept nogil:
    """An operation is over.  Called without memory_lock."""
    if n == NULL or sub32(&n.pins, 1, ACQUIRE_RELEASE) != LEAVING_PIN:
        return
    pthread_mutex_lock(&memory_lock)
    if n.use == RESERVATION:
        unmap_leaving(n)
    else:
        area_free(area_of(gpu_of(n.address), n.address), n, False)
    pthread_mutex_unlock(&memory_lock)


cdef uint64_t alloc_in(gpu *g, area *a, uint64_t length, uint64_t align, uint32_t use, void *owner, const char *name,
                       uint32_t flags) noexcept nogil:
    """An address, or 0.  ``name`` is copied."""
    cdef block *n
    cdef uint64_t address = 0
    pthread_mutex_lock(&memory_lock)
    n = area_alloc(a, length, align, use, owner)
    if n != NULL:
        n.flags = flags
        if name != NULL:
            n.name = <char *>malloc(strlen(name) + 1)
            if n.name != NULL:
                memcpy(n.name, name, strlen(name) + 1)
        address = n.start
    pthread_mutex_unlock(&memory_lock)
    return address


cdef int free_block_at(uint64_t address, uint32_t use, uint32_t other_use, bint settled=False) noexcept nogil:
    """Free the block that starts at an address and has one of two uses; else CUDA_ERROR_INVALID_VALUE.

    Variables go with their module only, managed ones, too."""
    cdef area *a = NULL
    cdef block *n
    cdef int answer = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, NULL, &a)
    if n != NULL and n.start == address and (n.use == use or n.use == other_use) and \
            (n.name == NULL or use == VARIABLE):
        leave_block(a, n, settled)
        answer = CUDA_SUCCESS
    pthread_mutex_unlock(&memory_lock)
    return answer


cdef block *owned_by(block *n, void *owner) noexcept nogil:
    """Any block of an owner in a subtree."""
    cdef block *found
    if n == NULL:
        return NULL
    if n.owner == owner and n.use not in (FREE_BLOCK, QUARANTINE, LEAVING):
        return n
    found = owned_by(n.left, owner)
    return found if found != NULL else owned_by(n.right, owner)


cdef void free_owned(gpu *g, void *owner) noexcept nogil:
    """A context ends: what it allocated is freed."""
    cdef block *n
    pthread_mutex_lock(&memory_lock)
    while True:
        n = owned_by(g.memory.root, owner)
        if n == NULL:
            break
        leave_block(&g.memory, n, False)
    while True:
        n = owned_by(g.pinned.root, owner)
        if n == NULL:
            break
        leave_block(&g.pinned, n, False)
    pthread_mutex_unlock(&memory_lock)
