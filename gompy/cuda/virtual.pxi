# Addresses of cuMemAddressReserve: an area of a device's window whose blocks are parts of reservations.  What is
# reserved has no pages, a mapping those of a physical, without access until cuMemSetAccess.
#
# A reservation is a block outside the tree: operations pin it for all of its mappings, as one copy may go over several.
# The shadow of a mapping says that all is written: it may be, by way of another address or another process.
#
# All of this is guarded by memory_lock.


cdef block *reservation_at(uint64_t address) noexcept nogil:
    """The reservation that an address lies in, or NULL."""
    cdef gpu *g = gpu_of(address)
    cdef block *n
    if g == NULL or not in_area(&g.virtual, address):
        return NULL
    n = block_below(&g.virtual, address)
    return n.reservation if n != NULL and address - n.address < n.size else NULL


cdef block *part_at(uint64_t address) noexcept nogil:
    """The part of a reservation that an address lies in, or NULL."""
    cdef block *whole = reservation_at(address)
    return block_below(&gpu_of(address).virtual, address) if whole != NULL else NULL


cdef uint64_t mapped_from(block *n, uint64_t address) noexcept nogil:
    """How many bytes from an address in a mapping on are that mapping's and those of the mappings that follow it."""
    cdef area *a = area_of(gpu_of(n.address), n.address)
    cdef block *next_one = n
    cdef uint64_t end = n.address + n.size
    while True:
        next_one = block_above(a, next_one.address)
        if next_one == NULL or next_one.address != end or next_one.use != MAPPED or \
                next_one.reservation != n.reservation:
            return end - address
        end += next_one.size


cdef bint mappings_reach(block *n, uint64_t address, uint64_t size) noexcept nogil:
    """Whether a mapping and those that follow have all bytes from an address in it."""
    return size <= n.address + n.size - address or size <= mapped_from(n, address)


cdef block *reserve_addresses(gpu *g, uint64_t size, uint64_t align, uint64_t wanted) noexcept nogil:
    """A reservation, where that is asked for if it is free there; NULL: no addresses or no memory."""
    cdef block *whole = new_block(0, size)
    cdef block *n = NULL
    if whole == NULL:
        return NULL
    if wanted and wanted % align == 0 and in_area(&g.virtual, wanted):
        n = carve_at(&g.virtual, wanted, size)
    if n == NULL:
        n = carve_extent(&g.virtual, size, align)
    if n == NULL:
        free(whole)
        return NULL
    n.use = RESERVED
    n.start, n.length, n.reservation, n.memory = n.address, n.size, whole, NULL
    whole.address, whole.start, whole.length, whole.use = n.address, n.address, n.size, RESERVATION
    whole.left = g.reservations
    g.reservations = whole
    return whole


cdef block *carve_at(area *a, uint64_t address, uint64_t size) noexcept nogil:
    """Take an extent at a place out of the free blocks, or NULL."""
    cdef block *n = block_below(a, address)
    if n == NULL or n.use != FREE_BLOCK or address - n.address >= n.size or size > n.size - (address - n.address):
        return NULL
    return cut_out(a, n, address, size)


cdef block *cut_out(area *a, block *n, uint64_t address, uint64_t size) noexcept nogil:
    """Make a block of a part of one; what is left and right of it stays what it is.  NULL: no memory."""
    cdef block *low = new_block(0, 0) if address > n.address else NULL
    cdef block *high = new_block(0, 0) if address + size < n.address + n.size else NULL
    if (low == NULL and address > n.address) or (high == NULL and address + size < n.address + n.size):
        free(low)
        free(high)
        return NULL
    take_block(a, n)
    if low != NULL:
        low[0] = n[0]
        low.size = low.length = address - n.address
        put_block(a, low)
    if high != NULL:
        high[0] = n[0]
        high.address = high.start = address + size
        high.size = high.length = n.address + n.size - (address + size)
        put_block(a, high)
    n.address, n.size, n.start, n.length = address, size, address, size
    put_block(a, n)
    return n


cdef block *join_reserved(area *a, uint64_t address) noexcept nogil:
    """The reserved part that an address lies in, all of it in one block; NULL if there is something mapped."""
    cdef block *n = block_below(a, address)
    cdef block *other
    if n == NULL or address - n.address >= n.size or n.use != RESERVED:
        return NULL
    while True:
        other = block_below(a, n.address - 1)
        if other == NULL or other.use != RESERVED or other.reservation != n.reservation:
            break
        n = other
    while True:
        other = block_above(a, n.address)
        if other == NULL or other.use != RESERVED or other.reservation != n.reservation or \
                other.address != n.address + n.size:
            break
        take_block(a, other)
        n.size += other.size
        free(other)
    n.length = n.size
    return n


cdef int free_reservation(uint64_t address, uint64_t size) noexcept nogil:
    """Undo cuMemAddressReserve: all of it, with nothing mapped there."""
    cdef block *whole = reservation_at(address)
    cdef block *n
    cdef block **link
    cdef gpu *g
    if whole == NULL or whole.address != address or whole.size != size:
        return CUDA_ERROR_INVALID_VALUE
    g = gpu_of(address)
    n = join_reserved(&g.virtual, address)
    if n == NULL or n.size != size:
        return CUDA_ERROR_INVALID_VALUE
    link = &g.reservations
    while link[0] != whole:
        link = &link[0].left
    link[0] = whole.left
    n.reservation = NULL
    release_block(&g.virtual, n)
    free(whole)
    return CUDA_SUCCESS


cdef int map_physical(uint64_t address, uint64_t size, physical *m) noexcept nogil:
    """Put physical memory at reserved addresses that have none, without access."""
    cdef block *whole = reservation_at(address)
    cdef gpu *g = gpu_of(address)
    cdef block *n
    if whole == NULL or size != m.size or size > whole.address + whole.size - address:
        return CUDA_ERROR_INVALID_VALUE
    n = join_reserved(&g.virtual, address)
    if n == NULL or size > n.address + n.size - address:
        return CUDA_ERROR_INVALID_VALUE
    if g != m.device:
        fprintf(stderr, b"libcuda (gompy): error: cuMemMap: memory of device %d can't be at addresses of device %d: "
                b"have a context of its device current when cuMemAddressReserve is called\n",
                m.device.ordinal, g.ordinal)
        return CUDA_ERROR_NOT_SUPPORTED
    n = cut_out(&g.virtual, n, address, size)
    if n == NULL or not show_physical(m, address):
        return CUDA_ERROR_OUT_OF_MEMORY
    n.use, n.memory = CLOSED, m
    return CUDA_SUCCESS


cdef void unmap_part(block *n) noexcept nogil:
    """Reserved addresses without pages again."""
    cdef physical *m = <physical *>n.memory
    mark_locked(n.address, n.size, 0)
    mmap(<void *>n.address, n.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
    madvise(<void *>n.address, n.size, MADV_DONTDUMP)
    n.use, n.memory, n.readers = RESERVED, NULL, 0
    m.mappings -= 1
    drop_physical(m)


cdef void unmap_leaving(block *whole) noexcept nogil:
    """The last operation at a reservation is over: what was to be unmapped is, unless another has begun."""
    cdef area *a = area_of(gpu_of(whole.address), whole.address)
    cdef block *n
    if load32(&whole.pins, ACQUIRE) != LEAVING_PIN:
        return
    n = block_below(a, whole.address)
    while n != NULL and n.reservation == whole:
        if n.use == LEAVING:
            unmap_part(n)
        n = block_above(a, n.address)
    sub32(&whole.pins, LEAVING_PIN, RELAXED)


cdef bint whole_mappings(uint64_t address, uint64_t size) noexcept nogil:
    """Whether a range is mapped, and begins and ends with a mapping, in one reservation."""
    cdef block *n = part_at(address)
    cdef block *whole
    cdef area *a
    cdef uint64_t at = address
    if n == NULL or n.address != address:
        return False
    whole = n.reservation
    a = area_of(gpu_of(address), address)
    if size == 0 or size > whole.address + whole.size - address:
        return False
    while n != NULL and n.address == at and n.use in (CLOSED, MAPPED) and n.size <= address + size - at:
        at += n.size
        if at == address + size:
            return True
        n = block_above(a, n.address)
    return False


cdef int unmap_range(uint64_t address, uint64_t size) noexcept nogil:
    """Unmap whole mappings, now or when the last operation at the reservation is over."""
    cdef block *n
    cdef block *whole
    cdef area *a
    if not whole_mappings(address, size):
        return CUDA_ERROR_INVALID_VALUE
    n = part_at(address)
    whole = n.reservation
    a = area_of(gpu_of(address), address)
    while n != NULL and n.address < address + size:
        n.use = LEAVING
        n = block_above(a, n.address)
    if not load32(&whole.pins, ACQUIRE) & LEAVING_PIN:
        add32(&whole.pins, LEAVING_PIN, ACQUIRE_RELEASE)
    unmap_leaving(whole)
    return CUDA_SUCCESS


cdef int set_access(uint64_t address, uint64_t size, const gpu *g, bint gives) noexcept nogil:
    """Give a device access to whole mappings, or take it; they have pages while some device has access."""
    cdef block *n
    cdef area *a
    cdef uint32_t readers
    if not whole_mappings(address, size):
        return CUDA_ERROR_INVALID_VALUE
    n = part_at(address)
    a = area_of(gpu_of(address), address)
    while n != NULL and n.address < address + size:
        readers = n.readers | reader_bit(g) if gives else n.readers & ~reader_bit(g)
        if (readers != 0) != (n.use == MAPPED):
            if mprotect(<void *>n.address, n.size, PROT_READ | PROT_WRITE if readers else PROT_NONE) != 0:
                return CUDA_ERROR_OUT_OF_MEMORY
            n.use = MAPPED if readers else CLOSED
            mark_locked(n.address, n.size, SHADOW_ALLOCATED if readers else 0)
            if readers:
                mark_locked(n.address, n.size, SHADOW_WRITTEN)
        n.readers = readers
        n = block_above(a, n.address)
    return CUDA_SUCCESS


cdef int virtual_attribute(void *to, int which, block *n, gpu *g, CUdeviceptr address) noexcept nogil:
    """What an address of cuMemAddressReserve is.  With memory_lock held."""
    cdef physical *m = <physical *>n.memory
    if which == CU_POINTER_ATTRIBUTE_CONTEXT or which == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        (<void **>to)[0] = NULL
    elif which == CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        (<unsigned *>to)[0] = CU_MEMORYTYPE_DEVICE
    elif which == CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        (<CUdeviceptr *>to)[0] = address
    elif which == CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return CUDA_ERROR_INVALID_VALUE
    elif which == CU_POINTER_ATTRIBUTE_IS_MANAGED:
        (<uint8_t *>to)[0] = 0
    elif which == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        (<int *>to)[0] = device_number(g)
    elif which == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        (<CUdeviceptr *>to)[0] = n.reservation.address
    elif which == CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        (<size_t *>to)[0] = n.reservation.size
    elif which == CU_POINTER_ATTRIBUTE_MAPPED:
        (<uint8_t *>to)[0] = m != NULL
    elif m == NULL:
        return CUDA_ERROR_INVALID_VALUE
    elif which == CU_POINTER_ATTRIBUTE_BUFFER_ID or which == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        (<CUdeviceptr *>to)[0] = n.address
    elif which == CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        (<size_t *>to)[0] = n.size
    elif which == CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        (<unsigned long long *>to)[0] = m.properties.handles
    elif which == CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        (<int *>to)[0] = CU_MEM_ACCESS_FLAGS_PROT_NONE
        if n.readers & reader_bit(g):
            (<int *>to)[0] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
    else:
        return CUDA_ERROR_NOT_SUPPORTED
    return CUDA_SUCCESS
