# Ranges of device addresses and who has them: a treap over the blocks of an area, used and free, that knows the widest
# free block below each node.  Finding the block of an address, taking the lowest that fits, and freeing are O(log n).
#
# Called with memory_lock held.

cdef enum:
    FREE_BLOCK
    ALLOCATION      # cuMemAlloc
    VARIABLE        # of a module
    HEAP            # malloc in device code
    HOST_MEMORY     # cuMemHostAlloc
    MANAGED         # cuMemAllocManaged
    QUARANTINE      # freed, not yet given out again
    MARGIN          # before the first block
    TEXTURE         # of a texture object
    SURFACE         # of a surface object
    OPENED          # another process's: cuIpcOpenMemHandle
    GRAPH_MEMORY    # of a graph's node that allocates (graph_memory.pxi)
    LEAVING         # freed while an operation was at it: goes when that is over
    RESERVED        # cuMemAddressReserve: addresses without memory
    CLOSED          # cuMemMap: no access yet
    MAPPED          # and cuMemSetAccess: access
    RESERVATION     # all that one cuMemAddressReserve has given: in no tree (virtual.pxi)

cdef enum:
    HAS_PAGES = 1   # in a freed block's flags, with GOMPY_CHECK
    GAVE_PAGES = 2  # it has had them, and rests as if it had

cdef struct block:
    block *left
    block *right
    uint64_t address, size     # the extent: granules
    uint64_t widest            # largest free extent in this subtree
    uint64_t start, length     # what the program sees
    uint64_t charge            # bytes counted as used
    void *owner                # context
    char *name                 # variable, or NULL
    uint32_t priority
    uint32_t use
    uint32_t flags
    uint32_t readers           # other devices whose kernels may use it, whatever else is said (peers.pxi); MAPPED: all
    uint32_t opened            # OPENED: how often, and of what (sharing.pxi)
    uint64_t opened_file, opened_place
    uint32_t pins              # operations that are at it, and LEAVING_PIN (pins.pxi)
    bint orders_copies         # CU_POINTER_ATTRIBUTE_SYNC_MEMOPS (queries.pxi)
    bint stays_open            # the gate leaves it (gate.pxi)
    block *reservation         # RESERVED, CLOSED, MAPPED: of what it is a part
    void *memory               # CLOSED, MAPPED: a physical (physical.pxi)
    block *living_before       # with GOMPY_CHECK: in the area's list
    block *living_next
    block *rest_next           # of device code's heap, freed: the next that was (rests.pxi)
    uint64_t rest_number       # its number in the ring
    uint64_t freed_at          # launches that had begun
    uint64_t made[2]           # with GOMPY_CHECK=leak: where the program has asked for it, or zeros (leaks.pxi)

cdef struct rest_list:         # rests.pxi
    block *oldest
    block *newest
    size_t count

cdef struct area:
    uint64_t base, size        # addresses
    uint64_t granule
    uint64_t limit, in_use     # bytes
    size_t blocks_in_use
    block *root
    uint32_t coloured          # blocks so far that may begin behind the start of a page
    uint8_t *open_chunks       # which 2 MiB chunks may be read and written
    uint64_t kept              # bytes of free blocks that have pages
    block *living              # with GOMPY_CHECK=1: what area_alloc has given, for the gate
    block **quarantine         # ring, with GOMPY_CHECK=1
    size_t quarantine_next
    size_t oldest_full         # a number in it: no block before that has its pages as yet
    uint64_t full_bytes        # of those that have
    rest_list *rests           # of device code's heap
    const uint64_t *launches   # and how many have begun

cdef uint32_t treap_random


cdef uint32_t next_priority() noexcept nogil:
    """Marsaglia's xorshift."""
    global treap_random
    cdef uint32_t x = treap_random if treap_random else <uint32_t>2463534242
    x ^= x << 13
    x ^= x >> 17
    x ^= x << 5
    treap_random = x
    return x


cdef inline void renew_node(block *n) noexcept nogil:
    """Recompute what a node knows of its subtree."""
    cdef uint64_t widest = n.size if n.use == FREE_BLOCK else 0
    if n.left != NULL and n.left.widest > widest:
        widest = n.left.widest
    if n.right != NULL and n.right.widest > widest:
        widest = n.right.widest
    n.widest = widest


cdef void split_blocks(block *n, uint64_t address, block **low, block **high) noexcept nogil:
    """Part a subtree: addresses below, and the rest."""
    if n == NULL:
        low[0] = high[0] = NULL
    elif n.address < address:
        split_blocks(n.right, address, &n.right, high)
        renew_node(n)
        low[0] = n
    else:
        split_blocks(n.left, address, low, &n.left)
        renew_node(n)
        high[0] = n


cdef block *join_blocks(block *low, block *high) noexcept nogil:
    """One tree of two, all of whose addresses are in order."""
    if low == NULL:
        return high
    if high == NULL:
        return low
    if low.priority > high.priority:
        low.right = join_blocks(low.right, high)
        renew_node(low)
        return low
    high.left = join_blocks(low, high.left)
    renew_node(high)
    return high


cdef void put_block(area *a, block *n) noexcept nogil:
    """Put a block in."""
    cdef block *low
    cdef block *high
    n.left = n.right = NULL
    n.priority = next_priority()
    renew_node(n)
    split_blocks(a.root, n.address, &low, &high)
    a.root = join_blocks(join_blocks(low, n), high)


cdef void renew_path(block *n, uint64_t address) noexcept nogil:
    """The size or the use of the block at an address has changed: tell the nodes above it."""
    if n.address != address:
        renew_path(n.left if address < n.address else n.right, address)
    renew_node(n)


cdef void take_block(area *a, block *n) noexcept nogil:
    """Take a block out."""
    cdef block *low
    cdef block *middle
    cdef block *high
    split_blocks(a.root, n.address, &low, &high)
    split_blocks(high, n.address + 1, &middle, &high)
    a.root = join_blocks(low, high)


cdef block *block_below(area *a, uint64_t address) noexcept nogil:
    """The block with the highest address that is at most ``address``."""
    cdef block *n = a.root
    cdef block *best = NULL
    while n != NULL:
        if n.address <= address:
            best = n
            n = n.right
        else:
            n = n.left
    return best


cdef block *block_above(area *a, uint64_t address) noexcept nogil:
    """The block with the lowest address that is above ``address``."""
    cdef block *n = a.root
    cdef block *best = NULL
    while n != NULL:
        if n.address > address:
            best = n
            n = n.left
        else:
            n = n.right
    return best


cdef block *first_fit(block *n, uint64_t size) noexcept nogil:
    """The free block of lowest address with at least ``size`` bytes."""
    while n != NULL and n.widest >= size:
        if n.left != NULL and n.left.widest >= size:
            n = n.left
        elif n.use == FREE_BLOCK and n.size >= size:
            return n
        else:
            n = n.right
    return NULL


cdef block *spare_block         # one that nobody has: device code that allocates and frees needs no malloc


cdef block *new_block(uint64_t address, uint64_t size) noexcept nogil:
    """A free block, not in a tree."""
    global spare_block
    cdef block *n = spare_block
    if n != NULL:
        spare_block = NULL
        memset(n, 0, sizeof(block))
    else:
        n = <block *>calloc(1, sizeof(block))
    if n != NULL:
        n.address = address
        n.size = size
    return n


cdef void drop_block(block *n) noexcept nogil:
    """One that is in no tree any more."""
    global spare_block
    free(spare_block)
    spare_block = n


cdef void release_block(area *a, block *n) noexcept nogil:
    """A used block becomes free and joins its free neighbours: it may be gone then."""
    cdef block *low = block_below(a, n.address - 1)
    cdef block *high = block_above(a, n.address)
    free(n.name)
    n.name = NULL
    n.use = FREE_BLOCK
    n.owner = NULL
    if high != NULL and high.use == FREE_BLOCK and n.address + n.size == high.address:
        take_block(a, n)
        high.address = n.address  # nothing is between them: it stays where it is in the tree
        high.size += n.size
        drop_block(n)
        n = high
    if low != NULL and low.use == FREE_BLOCK and low.address + low.size == n.address:
        take_block(a, n)
        low.size += n.size
        drop_block(n)
        n = low
    renew_path(a.root, n.address)


cdef block *carve_extent(area *a, uint64_t size, uint64_t align) noexcept nogil:
    """Take an extent out of the free blocks; its use is the caller's to set.  NULL when nothing fits, or no memory."""
    cdef block *n = first_fit(a.root, size if align <= a.granule else size + align - a.granule)
    cdef block *rest
    cdef block *used
    cdef uint64_t at
    if n == NULL:
        return NULL
    at = round_up(n.address, align)
    rest = new_block(n.address, at - n.address) if at > n.address else NULL
    used = new_block(at, size) if at + size < n.address + n.size else n  # what is behind it stays `n`
    if used == NULL or (rest == NULL and at > n.address):
        free(rest)
        if used != n:
            free(used)
        return NULL
    n.size -= at - n.address
    n.address = at
    if used != n:
        n.address += size
        n.size -= size
    else:
        n.use = ALLOCATION
    renew_path(a.root, n.address)
    if rest != NULL:
        put_block(a, rest)
    if used != n:
        used.use = ALLOCATION
        put_block(a, used)
    return used
