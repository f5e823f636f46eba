# Device memory: one window of addresses a device, with three areas: memory, the heap of device code, and host memory
# that the device can see (pinned, managed).
#
# A device address is the host address of the same bytes (executor.h).  Pages are reserved without access and opened
# when they are first given out, so that a kernel's stray pointer into unused memory faults.  With GOMPY_CHECK=1 every
# block ends at a page without access (to within its alignment: at least 16 bytes), what is freed is closed, and a
# shadow tells kernels which bytes are allocated and which have been written (gompy/ptx/executor.h).  A region that maps
# its arrays anew frees and allocates them each time, and new pages cost more than its copies; so such blocks keep
# theirs.

cdef enum:
    QUARANTINE_RING = 4096
    FULL_BYTES = 32 << 20          # of freed blocks that rest and keep their pages for the next
    FULL_MOST = FULL_BYTES / 2     # as many a large one counts for
    FULL_LEAST = FULL_BYTES / 256  # as many a small one counts for: new pages, and a shadow's, are worse than all else
    FULL_ALWAYS = 8 << 20          # bytes of a freed block that keeps them, however many others do
    GIVERS = 4                     # of the blocks that were freed last, those that are asked for pages
    LEAVING_PIN = 1 << 30          # in a block's pins: it is freed
    HEAP_WHOLE = 64 << 10          # bytes of a block of the heap that has pages of its own
    COLOURED_LEAST = 4 * CHUNK     # bytes of a block that may begin behind the start of a page, by a colour's multiple
    ALIGNED_LEAST = 2 * CHUNK      # bytes of a checked block that begins at a chunk
    COLOUR = 512                   # what an allocation is aligned to
    COLOURS = 8                    # a page of them


cdef uint64_t kept_limit() noexcept nogil:
    """How many bytes of pages freed blocks may keep: an eighth of the machine's memory."""
    return <uint64_t>sysconf(_SC_PHYS_PAGES) * <uint64_t>sysconf(_SC_PAGESIZE) >> 3


cdef bint open_area(area *a, uint64_t base, uint64_t size, uint64_t granule, uint64_t limit) noexcept nogil:
    """Make an area of reserved addresses: all free."""
    a.base, a.size, a.granule, a.limit = base, size, granule, limit
    a.root = new_block(base, size)
    a.open_chunks = <uint8_t *>calloc(size / CHUNK + 1, 1)
    if checking:
        a.quarantine = <block **>calloc(QUARANTINE_RING, sizeof(block *))
    if a.root == NULL or a.open_chunks == NULL or (checking and a.quarantine == NULL):
        return False
    renew_node(a.root)
    return True


cdef bint leave_margin(area *a, uint64_t size) noexcept nogil:
    """Open pages before the first block.  On a GPU small steps below a module's variables end in its other data; GCC's
    own tests take such (libgomp.fortran/pr66199-9.f90: u(0) of u(1024))."""
    cdef block *n = carve_extent(a, size, a.granule)
    if n == NULL:
        return False
    n.use = MARGIN
    return open_pages(a, n.address, n.size)


cdef bint open_pages(area *a, uint64_t address, uint64_t size) noexcept nogil:
    """Give access to a range, in whole chunks.  Several that it fills are to have huge pages."""
    cdef uint64_t chunk = (address - a.base) / CHUNK
    cdef uint64_t last = (address + size - 1 - a.base) / CHUNK
    cdef uint64_t whole = (address + size) & ~<uint64_t>(CHUNK - 1)
    cdef uint64_t first, start, end
    while chunk <= last:
        if a.open_chunks[chunk]:
            chunk += 1
            continue
        first = chunk
        while chunk <= last and not a.open_chunks[chunk]:
            chunk += 1
        start = a.base + first * CHUNK
        end = a.base + chunk * CHUNK
        if end > a.base + a.size:
            end = a.base + a.size
        if mprotect(<void *>start, end - start, PROT_READ | PROT_WRITE) != 0:
            return False
        memset(a.open_chunks + first, 1, chunk - first)
        end = whole if end > whole else end
        if end > start and end - start > CHUNK:
            madvise(<void *>start, end - start, MADV_HUGEPAGE)
    return True


cdef block *carve_large(area *a, uint64_t charge, uint64_t align, uint64_t *skip) noexcept nogil:
    """An extent of at least a chunk, at the beginning of one where that can be; and how far in it the block begins.

    Arrays that a kernel goes through side by side would all have the same lines of a page at the same time, and an
    access to one would wait for those to others (the processor compares the lower 12 bits of addresses first).
    """
    cdef block *n
    skip[0] = 0
    if align == COLOUR and charge >= COLOURED_LEAST:
        n = carve_extent(a, charge + 4096, CHUNK)
        if n != NULL:
            a.coloured += 1
            skip[0] = a.coloured * 3 % COLOURS * COLOUR
            return n
    n = carve_extent(a, round_up(charge, CHUNK), align if align > CHUNK else CHUNK)
    return n if n != NULL else carve_extent(a, charge, align)


cdef block *carve_guarded(area *a, uint64_t length, uint64_t whole) noexcept nogil:
    """With GOMPY_CHECK: an extent of whole pages, or other units, with a page more that never has access."""
    cdef uint64_t size = round_up(length, whole) + 4096
    cdef block *n = take_rested(a, size) if a.rests != NULL else NULL
    # A huge page takes one entry of a page table.  Each change of the access goes through all of them.
    if n == NULL and size >= ALIGNED_LEAST:
        n = carve_extent(a, size, CHUNK)
    if n == NULL:
        n = carve_extent(a, size, whole)
    while n == NULL and drop_quarantined(a):
        n = carve_extent(a, size, whole)
    return n


cdef void take_pages(area *a, const block *n) noexcept nogil:
    """A new large block gets the huge pages of one as large that was freed not long ago, which are what caches have.
    That one rests on, without.  Not where other processes may share some: those stay where they are."""
    cdef uint64_t i = 1
    cdef block *of
    if n.use != ALLOCATION or n.size < ALIGNED_LEAST or n.address % CHUNK or gpu_of(n.address).shared_pages != NULL:
        return
    while i <= GIVERS and i <= a.quarantine_next:
        of = a.quarantine[(a.quarantine_next - i) % QUARANTINE_RING]
        if of != NULL and of.flags == HAS_PAGES and of.size == n.size and of.address % CHUNK == 0:
            of.flags |= GAVE_PAGES
            move_pages(of.address, n.address, (n.size - 4096) & ~<uint64_t>(CHUNK - 1), PROT_NONE)
            return
        i += 1


cdef block *area_alloc(area *a, uint64_t length, uint64_t align, uint32_t use, void *owner) noexcept nogil:
    """A block of ``length`` visible bytes.  NULL when the area's limit or its addresses are exhausted."""
    cdef uint64_t end, charge, skip = 0
    cdef block *n
    if length > a.limit:
        return NULL
    charge = round_up(length, 16 if checking else a.granule)
    if a.in_use + charge > a.limit:
        return NULL
    if checking:
        n = carve_guarded(a, length, 64 if use == HEAP and length < HEAP_WHOLE else 4096)
    elif charge >= CHUNK:
        n = carve_large(a, charge, align, &skip)
    else:
        n = carve_extent(a, charge, align)
    if n == NULL:
        return NULL
    n.use = use
    if use == HOST_MEMORY or use == MANAGED:
        store32(&host_reaches, True, RELEASE)
    n.owner = owner
    n.length = length
    n.flags = 0
    n.readers = 0
    n.opened = 0
    n.pins = 0
    n.stays_open = False
    n.orders_copies = False
    n.made[0] = 0
    n.start = n.address + skip
    if checking:
        end = n.address + n.size - 4096
        if length % align != 0:
            align = length & -length
            if align < 16:
                align = 16
        n.start = end - round_up(length, align)
        take_pages(a, n)
        if not (open_pages(a, n.address, n.size) if use == HEAP else
                mprotect(<void *>n.address, n.size - 4096, new_access(use)) == 0):
            release_block(a, n)
            return NULL
    elif not open_pages(a, n.address, n.size):
        release_block(a, n)
        return NULL
    if n.size >= CHUNK:
        a.kept -= n.size if n.size < a.kept else a.kept
    if checking:
        mark_new(n)
        list_living(a, n)
    n.charge = charge
    a.in_use += charge
    a.blocks_in_use += 1
    return n


cdef void list_living(area *a, block *n) noexcept nogil:
    """A block is given out.  The gate opens and closes these at each construct: there are few of them in the tree, and
    hundreds in quarantine."""
    n.living_before, n.living_next = NULL, a.living
    if a.living != NULL:
        a.living.living_before = n
    a.living = n


cdef void unlist_living(area *a, block *n) noexcept nogil:
    """It is freed."""
    if n.living_next != NULL:
        n.living_next.living_before = n.living_before
    if n.living_before != NULL:
        n.living_before.living_next = n.living_next
    else:
        a.living = n.living_next


cdef bint keeps_pages(const area *a, const block *n) noexcept nogil:
    """Whether a block that is freed keeps its pages."""
    # Half the limit, as their shadows are as large.
    return n.use in (HEAP, ALLOCATION) and (n.size <= FULL_ALWAYS or a.kept + n.size <= kept_limit() / 2)


cdef void close_pages(area *a, block *n) noexcept nogil:
    """With GOMPY_CHECK: a freed block's pages lose access, and their contents where too many would be kept.

    Those of the heap stay open, as only kernels know their addresses, and kernels are held against the shadow: each
    team of GCC's OpenMP code allocates and frees some.
    """
    if n.flags & HAS_PAGES and (n.use == HEAP or mprotect(<void *>n.address, n.size, PROT_NONE) == 0):
        if n.size >= CHUNK:
            a.kept += n.size
        return
    n.flags = 0
    madvise(<void *>n.address, n.size, MADV_DONTNEED)
    if n.use != HEAP:
        mprotect(<void *>n.address, n.size, PROT_NONE)


cdef uint64_t full_charge(const block *n) noexcept nogil:
    """What a freed block with pages counts for of FULL_BYTES."""
    if n.size > FULL_MOST:
        return FULL_MOST
    return n.size if n.size > FULL_LEAST else FULL_LEAST


cdef void leave_quarantine(area *a, block *n) noexcept nogil:
    """A freed block is to be given out again, with its pages if it has kept them."""
    a.quarantine[n.rest_number % QUARANTINE_RING] = NULL
    if a.rests != NULL:
        end_rest(a, n)
    if n.flags & HAS_PAGES:
        a.full_bytes -= full_charge(n)
    n.flags = 0


cdef block *take_rested(area *a, uint64_t size) noexcept nogil:
    """A freed block of that size that is given out again at once, or NULL: it stays where it is in the tree."""
    cdef block *n = rested_block(a, size)
    if n != NULL:
        leave_quarantine(a, n)
    return n


cdef void release_quarantined(area *a, size_t number) noexcept nogil:
    """Let a freed block be given out again."""
    cdef block *n = a.quarantine[number % QUARANTINE_RING]
    if n != NULL:
        leave_quarantine(a, n)
        release_block(a, n)


cdef bint drop_quarantined(area *a) noexcept nogil:
    """Let the oldest freed block be given out again.  False if there is none."""
    cdef size_t i
    if a.quarantine == NULL:
        return False
    for i in range(QUARANTINE_RING):
        if a.quarantine[(a.quarantine_next + i) % QUARANTINE_RING] != NULL:
            release_quarantined(a, a.quarantine_next + i)
            return True
    return False


cdef void quarantine_block(area *a, block *n) noexcept nogil:
    """Keep a freed block from being given out for a while: shorter where it has kept its pages."""
    cdef block *oldest
    release_quarantined(a, a.quarantine_next)
    n.use = QUARANTINE
    a.quarantine[a.quarantine_next % QUARANTINE_RING] = n
    n.rest_number = a.quarantine_next
    if a.rests != NULL:
        begin_rest(a, n)
    a.quarantine_next += 1
    if n.flags & HAS_PAGES:
        a.full_bytes += full_charge(n)
    while a.full_bytes > FULL_BYTES:
        if a.quarantine_next - a.oldest_full > QUARANTINE_RING:
            a.oldest_full = a.quarantine_next - QUARANTINE_RING
        oldest = a.quarantine[a.oldest_full % QUARANTINE_RING]
        if oldest != NULL and oldest.flags & HAS_PAGES:
            release_quarantined(a, a.oldest_full)
        a.oldest_full += 1


cdef void take_own_pages(block *n) noexcept nogil:
    """Another process's memory leaves: this one's own pages take its place."""
    cdef uint64_t size = n.size - 4096 if checking else n.size
    n.opened = 0
    mmap(<void *>n.address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0)
    madvise(<void *>n.address, size, MADV_DONTDUMP)


cdef void area_free(area *a, block *n, bint settled) noexcept nogil:
    """Free a used block.

    With GOMPY_CHECK it is not given out again for a while.  Where races alone are looked for it is at once: no stray
    access is, and new pages, and what is remembered of new addresses, cost more than most kernels.  But beside streams
    the program has to know (settled) that what used it is over: who has it next may not come behind that.
    """
    cdef uint64_t start, end
    if n.opened:
        take_own_pages(n)
    a.in_use -= n.charge
    a.blocks_in_use -= 1
    if checking:
        unlist_living(a, n)
        if unset_copy_count:
            drop_unset_copies(n.start, n.length)
        n.flags = 0
        if n.use == HEAP or memory_guarded() or devices_used > 1 or (streams_made and not settled):
            if keeps_pages(a, n):
                n.flags = HAS_PAGES
            mark_freed(n)  # first: a kernel that is at it yet is told of its address
            close_pages(a, n)
            quarantine_block(a, n)
            return
        mark_freed(n)
    if n.size >= CHUNK:
        if a.kept + n.size > kept_limit():
            start, end = round_up(n.address, 4096), (n.address + n.size) & ~<uint64_t>4095
            if end > start:
                madvise(<void *>start, end - start, MADV_DONTNEED)
        else:
            a.kept += n.size
    release_block(a, n)


cdef inline bint in_area(area *a, uint64_t address) noexcept nogil:
    """Whether an address is one of an area's."""
    return address - a.base < a.size


cdef area *area_of(gpu *g, uint64_t address) noexcept nogil:
    """The area of an address in a device's window, or NULL."""
    if in_area(&g.memory, address):
        return &g.memory
    if in_area(&g.pinned, address):
        return &g.pinned
    if in_area(&g.heap, address):
        return &g.heap
    if in_area(&g.virtual, address):
        return &g.virtual
    return NULL


cdef bint touches_a_gpu(uint64_t start, uint64_t size) noexcept nogil:
    """Whether a range that is not empty, and does not wrap, has an address in some device's window."""
    cdef int i
    for i in range(gpu_count):
        if start - gpus[i].base < gpus[i].window or gpus[i].base - start < size:
            return True
    return False


cdef block *block_at(uint64_t address, gpu **of, area **within) noexcept nogil:
    """The living block with an address, its device and area; NULL if there is none.  Called with memory_lock held."""
    cdef gpu *g = gpu_of(address)
    cdef area *a
    cdef block *n
    if g == NULL:
        return NULL
    a = area_of(g, address)
    if a == NULL:
        return NULL
    n = block_below(a, address)
    if n == NULL or address - n.start >= n.length or \
            n.use in (FREE_BLOCK, QUARANTINE, MARGIN, LEAVING, RESERVED, CLOSED):
        return NULL
    if of != NULL:
        of[0] = g
    if within != NULL:
        within[0] = a
    return n
