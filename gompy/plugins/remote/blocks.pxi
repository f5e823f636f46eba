# Device memory.  Addresses are the worker's; small blocks are given out here, of larger ones that the worker gave.


cdef inline int group_of(size_t size) noexcept nogil:
    """The size group of a small block."""
    cdef int group = 0
    while <size_t>64 << group < size:
        group += 1
    return group


cdef size_t block_index(RemoteDevice *d, uint64_t address) noexcept nogil:
    """Which of the blocks begins at or before an address; their number if none does."""
    cdef size_t low = 0, high = d.num_blocks, middle
    while low < high:
        middle = (low + high) >> 1
        if d.blocks[middle].start <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0 or address - d.blocks[low - 1].start >= d.blocks[low - 1].size:
        return d.num_blocks
    return low - 1


cdef RemoteBlock *enter_block(RemoteDevice *d, uint64_t start, uint64_t size) noexcept nogil:
    """A new one, in its place."""
    cdef RemoteBlock *grown
    cdef size_t at = d.num_blocks
    if d.num_blocks == d.block_room:
        grown = <RemoteBlock *>realloc(d.blocks, (2 * d.block_room + 64) * sizeof(RemoteBlock))
        if grown == NULL:
            return NULL
        d.blocks = grown
        d.block_room = 2 * d.block_room + 64
    while at and d.blocks[at - 1].start > start:
        at -= 1
    memmove(&d.blocks[at + 1], &d.blocks[at], (d.num_blocks - at) * sizeof(RemoteBlock))
    d.num_blocks += 1
    memset(&d.blocks[at], 0, sizeof(RemoteBlock))
    d.blocks[at].start = start
    d.blocks[at].size = size
    return &d.blocks[at]


cdef void leave_block(RemoteDevice *d, size_t at) noexcept nogil:
    """Give one back to the worker."""
    cdef uint64_t address = d.blocks[at].start
    d.num_blocks -= 1
    memmove(&d.blocks[at], &d.blocks[at + 1], (d.num_blocks - at) * sizeof(RemoteBlock))
    tell_worker(d, REMOTE_FREE, &address, 1, NULL, 0)


cdef void drop_kept(RemoteDevice *d) noexcept nogil:
    """Give back what is kept for later."""
    cdef size_t i = d.num_blocks
    while i:
        i -= 1
        if d.blocks[i].kept:
            leave_block(d, i)
    d.num_kept = 0


cdef uint64_t worker_block(RemoteDevice *d, uint64_t size) noexcept nogil:
    """A block of the worker's; 0: it has no room."""
    cdef uint32_t status
    cdef uint64_t address = ask_worker(d, REMOTE_ALLOC, &size, 1, &status)
    if address == 0 and d.num_kept:
        drop_kept(d)
        address = ask_worker(d, REMOTE_ALLOC, &size, 1, &status)
    return address


cdef bint spare_block(RemoteDevice *d, int group, uint64_t address) noexcept nogil:
    """Keep the address of a free small block."""
    cdef uint64_t *grown
    if d.num_spares[group] == d.spare_room[group]:
        grown = <uint64_t *>realloc(d.spares[group], (2 * d.spare_room[group] + 64) * sizeof(uint64_t))
        if grown == NULL:
            return False
        d.spares[group] = grown
        d.spare_room[group] = 2 * d.spare_room[group] + 64
    d.spares[group][d.num_spares[group]] = address
    d.num_spares[group] += 1
    return True


cdef bint new_slab(RemoteDevice *d, int group) noexcept nogil:
    """Have small blocks of a group.  False: no memory."""
    cdef uint64_t each = <uint64_t>64 << group
    cdef uint64_t size = max(16 * each, <uint64_t>SLAB_LEAST), address, i
    cdef RemoteBlock *slab
    cdef uint32_t *sizes = <uint32_t *>calloc(size // each, sizeof(uint32_t))
    if sizes == NULL:
        return False
    address = worker_block(d, size)
    slab = enter_block(d, address, size) if address else NULL
    if slab == NULL:
        free(sizes)
        return False
    slab.sizes = sizes
    slab.group = group
    for i in range(size // each):
        spare_block(d, group, address + size - (i + 1) * each)
    return True


cdef uint64_t small_block(RemoteDevice *d, size_t size) noexcept nogil:
    cdef int group = group_of(size)
    cdef uint64_t address
    cdef RemoteBlock *slab
    if d.num_spares[group] == 0 and not new_slab(d, group):
        return 0
    d.num_spares[group] -= 1
    address = d.spares[group][d.num_spares[group]]
    slab = &d.blocks[block_index(d, address)]
    slab.sizes[(address - slab.start) >> (6 + group)] = <uint32_t>size + 1
    return address


cdef uint64_t large_block(RemoteDevice *d, size_t size) noexcept nogil:
    """One that is kept, if it is not much larger; else the worker's."""
    cdef size_t i
    cdef uint64_t address
    for i in range(d.num_blocks if d.num_kept else 0):
        if d.blocks[i].kept and size <= d.blocks[i].size <= size + size // 8:
            d.blocks[i].kept = False
            d.num_kept -= 1
            return d.blocks[i].start
    address = worker_block(d, size)
    if address and enter_block(d, address, size) == NULL:
        return 0
    return address


cdef uint64_t own_block(RemoteDevice *d, size_t size) noexcept nogil:
    """GOMPY_CHECK: one of the worker's, so that its end, and its use when it is freed, are noticed."""
    cdef uint64_t address = worker_block(d, size)
    return 0 if address and enter_block(d, address, size) == NULL else address


cdef uint64_t take_block(RemoteDevice *d, size_t size) noexcept nogil:
    """Device memory; 0: there is none left."""
    cdef uint64_t address
    pthread_mutex_lock(&d.block_lock)
    if d.guard_step:
        address = own_block(d, size)
    else:
        address = small_block(d, size) if size <= <size_t>64 << (CLASSES - 1) else large_block(d, size)
    pthread_mutex_unlock(&d.block_lock)
    return address


cdef bint give_block(RemoteDevice *d, uint64_t address) noexcept nogil:
    """Free device memory.  False: no block in use begins there."""
    cdef size_t at
    cdef uint64_t place
    cdef RemoteBlock *block
    cdef bint good = False
    pthread_mutex_lock(&d.block_lock)
    at = block_index(d, address)
    if at < d.num_blocks:
        block = &d.blocks[at]
        if block.sizes != NULL:
            place = (address - block.start) >> (6 + block.group)
            if block.start + (place << (6 + block.group)) == address and block.sizes[place]:
                block.sizes[place] = 0
                good = spare_block(d, block.group, address)
        elif block.start == address and not block.kept:
            good = True
            if d.guard_step == 0 and d.num_kept < KEPT_LARGE and block.size <= <uint64_t>16 << 20:
                block.kept = True
                d.num_kept += 1
            else:
                leave_block(d, at)
    pthread_mutex_unlock(&d.block_lock)
    return good


cdef uint64_t block_extent(RemoteDevice *d, uint64_t address) noexcept nogil:
    """Bytes from an address to the end of its block in use; 0: it is in none, all ones: it is none of ours."""
    cdef size_t at
    cdef uint64_t place, size = ~<uint64_t>0
    cdef RemoteBlock *block
    pthread_mutex_lock(&d.block_lock)
    at = block_index(d, address)
    if at < d.num_blocks:
        block = &d.blocks[at]
        if block.sizes != NULL:
            place = (address - block.start) >> (6 + block.group)
            size = block.sizes[place]
            size = size - 1 if size else 0
            address -= block.start + (place << (6 + block.group))
        else:
            size = 0 if block.kept else block.size
            address -= block.start
        size = size - address if address < size else 0
    pthread_mutex_unlock(&d.block_lock)
    return size


cdef void forget_blocks(RemoteDevice *d) noexcept nogil:
    """The host's record of them, at the device's end."""
    cdef size_t i
    for i in range(d.num_blocks):
        free(d.blocks[i].sizes)
    free(d.blocks)
    d.blocks = NULL
    d.num_blocks = 0
    d.block_room = 0
    d.num_kept = 0
    for i in range(CLASSES):
        free(d.spares[i])
        d.spares[i] = NULL
        d.num_spares[i] = 0
        d.spare_room[i] = 0
