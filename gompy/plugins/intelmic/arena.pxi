# The allocator of a device's memory.  It runs on the host; its records are private memory, out of the device's reach.
#
# The arena is cut into granules of 64 KiB.  Blocks up to 32 KiB come from spans: one granule each, cut into blocks of
# one size class, with a bitmap of the free ones.  Larger blocks are runs of granules, found in lists by size
# (two-level segregated fit) and joined with free neighbours when they come back.  Freed runs keep their pages for the
# next user, since page faults cost more than anything else here; what exceeds a limit is given back to the kernel
# (fallocate).
#
# Alignment: 64 bytes for spans, 64 KiB for runs.  Shapes: offsets are bytes from the start of the arena.

from gompy.native.lock cimport gompy_quick_acquire, gompy_quick_init, gompy_quick_lock, gompy_quick_release

cdef extern from *:
    """
    #define ARENA_GRANULE 65536ull
    #define ARENA_CLASSES 36
    #define ARENA_BINS (48 * 8)
    #define ARENA_SMALL 32768u
    enum { GRANULE_FREE = 0, GRANULE_INNER, GRANULE_RUN, GRANULE_SPAN };

    /* One per granule; for a run the first granule's record tells, and for a free run also the last's (length).  */
    struct arena_granule
    {
      uint32_t kind;
      uint32_t length;        /* of the run, in granules */
      uint32_t next, previous; /* free runs of a bin, or spans of a class with free blocks; 0 ends a list */
      uint32_t dirty;         /* free run: granules that may hold pages; run in use: not 0 if it had any */
      uint16_t size_class, used; /* span: its class, blocks in use */
      uint64_t free_blocks[16];  /* span: bit set = free */
    };

    struct arena
    {
      gompy_quick_lock lock;
      uint64_t size;            /* bytes */
      uint32_t granules;        /* numbered from 1: 0 means none */
      const struct gompy_kept *file; /* NULL: none */
      char *memory;             /* where the arena is mapped */
      uint64_t file_offset;     /* of the arena in the memfd */
      struct arena_granule *table;
      uint32_t bins[ARENA_BINS];
      uint64_t bin_map[ARENA_BINS / 64];
      uint32_t spans[ARENA_CLASSES];
      uint64_t dirty, dirty_limit; /* granules in free runs that may hold pages */
      uint64_t in_use;          /* bytes handed out, as rounded */
    };

    static const uint16_t arena_class_size[ARENA_CLASSES] = { /* in units of 64 bytes */
      1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128,
      160, 192, 224, 256, 320, 384, 448, 512, 0, 0, 0, 0 };
    """
    uint64_t ARENA_GRANULE
    int ARENA_CLASSES, ARENA_BINS
    uint32_t ARENA_SMALL
    int GRANULE_FREE, GRANULE_INNER, GRANULE_RUN, GRANULE_SPAN
    struct arena_granule:
        uint32_t kind
        uint32_t length
        uint32_t next
        uint32_t previous
        uint32_t dirty
        uint16_t size_class
        uint16_t used
        uint64_t free_blocks[16]
    struct arena:
        gompy_quick_lock lock
        uint64_t size
        uint32_t granules
        const gompy_kept *file
        char *memory
        uint64_t file_offset
        arena_granule *table
        uint32_t bins[384]
        uint64_t bin_map[6]
        uint32_t spans[36]
        uint64_t dirty
        uint64_t dirty_limit
        uint64_t in_use
    uint16_t arena_class_size[36]


cdef inline uint32_t size_class_of(size_t size) noexcept nogil:
    """The size class of a small block: four steps to a doubling above 512 bytes, 64-byte steps below."""
    cdef uint32_t units = <uint32_t>((size + 63) >> 6)
    cdef uint32_t shift
    if units <= 8:
        return units - 1 if units else 0
    shift = 61 - <uint32_t>clz64(units - 1)  # units - 1 in [4 << shift, 8 << shift)
    return 4 * shift + ((units - 1) >> shift)


cdef inline uint32_t bin_of(uint32_t length) noexcept nogil:
    """The bin of free runs of ``length`` granules: eight steps to a doubling."""
    cdef uint32_t shift
    if length < 8:
        return length
    shift = 60 - <uint32_t>clz64(length)  # length in [8 << shift, 16 << shift)
    return 8 * shift + (length >> shift)


cdef void list_run(arena *a, uint32_t first) noexcept nogil:
    """Put a free run at the head of its bin."""
    cdef arena_granule *run = &a.table[first]
    cdef uint32_t bin = bin_of(run.length)
    run.previous = 0
    run.next = a.bins[bin]
    if run.next:
        a.table[run.next].previous = first
    a.bins[bin] = first
    a.bin_map[bin >> 6] |= <uint64_t>1 << (bin & 63)


cdef void unlist_run(arena *a, uint32_t first) noexcept nogil:
    """Take a free run out of its bin."""
    cdef arena_granule *run = &a.table[first]
    cdef uint32_t bin = bin_of(run.length)
    if run.next:
        a.table[run.next].previous = run.previous
    if run.previous:
        a.table[run.previous].next = run.next
    else:
        a.bins[bin] = run.next
        if run.next == 0:
            a.bin_map[bin >> 6] &= ~(<uint64_t>1 << (bin & 63))


cdef void make_free(arena *a, uint32_t first, uint32_t length, uint32_t dirty) noexcept nogil:
    """Record a free run (not joined with its neighbours) and list it."""
    cdef arena_granule *run = &a.table[first]
    run.kind = GRANULE_FREE
    run.length = length
    run.dirty = dirty
    a.table[first + length - 1].kind = GRANULE_FREE
    a.table[first + length - 1].length = length
    a.dirty += dirty
    list_run(a, first)


cdef uint32_t find_run(arena *a, uint32_t length) noexcept nogil:
    """A free run of at least ``length`` granules, 0 if there is none.  First the exact bin, then any larger."""
    cdef uint32_t bin = bin_of(length), first = a.bins[bin], word, tries = 0
    cdef uint64_t bits
    while first and tries < 16:
        if a.table[first].length >= length:
            return first
        first = a.table[first].next
        tries += 1
    bin += 1
    word = bin >> 6
    bits = a.bin_map[word] & (~<uint64_t>0 << (bin & 63)) if word < 6 else 0
    while bits == 0:
        word += 1
        if word >= 6:
            break
        bits = a.bin_map[word]
    if bits:
        return a.bins[(word << 6) + <uint32_t>ctz64(bits)]
    while first:  # the rest of the exact bin
        if a.table[first].length >= length:
            return first
        first = a.table[first].next
    return 0


cdef uint32_t take_run(arena *a, uint32_t length) noexcept nogil:
    """Allocate a run of ``length`` granules.  Returns its first granule, 0 when the arena is full."""
    cdef uint32_t first = find_run(a, length), rest, dirty, reused
    cdef arena_granule *run
    if first == 0:
        return 0
    run = &a.table[first]
    unlist_run(a, first)
    a.dirty -= run.dirty
    rest = run.length - length
    reused = run.dirty
    if rest:
        # the used pages are taken to be at the front: that is where runs are cut from
        dirty = run.dirty - length if run.dirty > length else 0
        make_free(a, first + length, rest, dirty)
    run.kind = GRANULE_RUN
    run.length = length
    run.dirty = reused
    if length > 1:
        a.table[first + length - 1].kind = GRANULE_INNER
    return first


cdef void give_pages_back(arena *a, uint64_t offset, uint64_t size) noexcept nogil:
    """Free the pages of a part of the arena.

    The mapping can do it too, unless all of the program's memory is locked.
    """
    if a.file != NULL and gompy_still_ours(a.file):
        fallocate(a.file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, <off_t>(a.file_offset + offset), <off_t>size)
    elif a.memory != NULL:
        madvise(a.memory + offset, size, MADV_REMOVE)


cdef void give_run(arena *a, uint32_t first) noexcept nogil:
    """Free a run: join it with free neighbours; give its pages back if too many lie idle."""
    cdef uint32_t length = a.table[first].length, dirty = length, other
    if a.dirty + length > a.dirty_limit:
        give_pages_back(a, <uint64_t>(first - 1) * ARENA_GRANULE, <uint64_t>length * ARENA_GRANULE)
        dirty = 0
    other = first + length
    if other <= a.granules and a.table[other].kind == GRANULE_FREE:
        unlist_run(a, other)
        a.dirty -= a.table[other].dirty
        dirty += a.table[other].dirty
        length += a.table[other].length
    if first > 1 and a.table[first - 1].kind == GRANULE_FREE:
        other = first - a.table[first - 1].length
        unlist_run(a, other)
        a.dirty -= a.table[other].dirty
        dirty += a.table[other].dirty
        length += a.table[other].length
        a.table[first].kind = GRANULE_INNER
        first = other
    make_free(a, first, length, dirty)


cdef uint64_t take_small(arena *a, uint32_t size_class) noexcept nogil:
    """A block of a size class.  Returns its offset, or all ones when the arena is full."""
    cdef uint32_t number = a.spans[size_class], units = arena_class_size[size_class], blocks, word
    cdef arena_granule *span
    if number == 0:
        number = take_run(a, 1)
        if number == 0:
            return ~<uint64_t>0
        span = &a.table[number]
        span.kind = GRANULE_SPAN
        span.size_class = <uint16_t>size_class
        span.used = 0
        blocks = 1024 // units
        for word in range(16):
            if blocks >= (word + 1) * 64:
                span.free_blocks[word] = ~<uint64_t>0
            elif blocks > word * 64:
                span.free_blocks[word] = (<uint64_t>1 << (blocks - word * 64)) - 1
            else:
                span.free_blocks[word] = 0
        span.next = 0
        span.previous = 0
        a.spans[size_class] = number
    span = &a.table[number]
    word = 0
    while span.free_blocks[word] == 0:
        word += 1
    blocks = (word << 6) + <uint32_t>ctz64(span.free_blocks[word])
    span.free_blocks[word] &= span.free_blocks[word] - 1
    span.used += 1
    if span.used == 1024 // units:
        a.spans[size_class] = span.next
        if span.next:
            a.table[span.next].previous = 0
    a.in_use += units << 6
    return (number - 1) * ARENA_GRANULE + (<uint64_t>(blocks * units) << 6)


cdef bint give_small(arena *a, uint32_t number, uint32_t inside) noexcept nogil:
    """Free the block at byte ``inside`` of a span.  False: no block starts there, or it is free already."""
    cdef arena_granule *span = &a.table[number]
    cdef uint32_t units = arena_class_size[span.size_class], block = (inside >> 6) // units
    cdef uint64_t bit = <uint64_t>1 << (block & 63)
    if (block * units) << 6 != inside or block >= 1024 // units or span.free_blocks[block >> 6] & bit:
        return False
    a.in_use -= units << 6
    span.free_blocks[block >> 6] |= bit
    if span.used == 1024 // units:  # was full, so in no list
        span.previous = 0
        span.next = a.spans[span.size_class]
        if span.next:
            a.table[span.next].previous = number
        a.spans[span.size_class] = number
    span.used -= 1
    if span.used == 0 and (span.next or span.previous):  # keep one span of each class
        if span.next:
            a.table[span.next].previous = span.previous
        if span.previous:
            a.table[span.previous].next = span.next
        else:
            a.spans[span.size_class] = span.next
        span.kind = GRANULE_RUN
        give_run(a, number)
    return True


cdef bint arena_open(arena *a, uint64_t size, const gompy_kept *file, uint64_t file_offset, char *memory,
                     uint64_t keep) noexcept nogil:
    """Make an empty arena of ``size`` bytes (a multiple of 64 KiB) whose pages are those of a file.

    ``keep``: bytes of idle pages that freed runs may hold.  file NULL: no file.  False: no memory for the records.
    """
    cdef void *p
    memset(a, 0, sizeof(arena))
    gompy_quick_init(&a.lock)
    a.size = size
    a.granules = <uint32_t>(size // ARENA_GRANULE)
    a.file = file
    a.file_offset = file_offset
    a.memory = memory
    a.dirty_limit = keep // ARENA_GRANULE
    p = gompy_map_sparse(NULL, (<size_t>a.granules + 2) * sizeof(arena_granule), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    if p == <void *>-1:
        return False
    a.table = <arena_granule *>p
    a.table[a.granules + 1].kind = GRANULE_INNER
    make_free(a, 1, a.granules, 0)
    return True


cdef void arena_close(arena *a) noexcept nogil:
    """Give the records back."""
    if a.table != NULL:
        munmap(a.table, (<size_t>a.granules + 2) * sizeof(arena_granule))
        a.table = NULL


cdef uint64_t arena_alloc(arena *a, size_t size) noexcept nogil:
    """Allocate.  Returns the offset, or all ones when there is no room.  Size 0 gives a block too."""
    cdef uint64_t offset = ~<uint64_t>0
    cdef uint32_t run
    if size > a.size:
        return offset
    gompy_quick_acquire(&a.lock)
    if size <= ARENA_SMALL:
        offset = take_small(a, size_class_of(size))
    else:
        run = take_run(a, <uint32_t>((size + ARENA_GRANULE - 1) // ARENA_GRANULE))
        if run:
            offset = (run - 1) * ARENA_GRANULE
            a.in_use += a.table[run].length * ARENA_GRANULE
    gompy_quick_release(&a.lock)
    return offset


cdef bint arena_fresh(arena *a, uint64_t offset) noexcept nogil:
    """Whether an offset is in the first granule of a run that has no pages yet, as far as is known; asked once."""
    cdef arena_granule *run = &a.table[offset // ARENA_GRANULE + 1]
    if run.kind != <uint32_t>GRANULE_RUN or run.dirty != 0:
        return False
    run.dirty = 1
    return True


cdef uint32_t run_at(arena *a, uint32_t number) noexcept nogil:
    """The first granule at or below a granule that begins a run or span in use; 1 if there is none."""
    while number > 1 and a.table[number].kind != GRANULE_RUN and a.table[number].kind != GRANULE_SPAN:
        number -= 1
    return number


cdef uint64_t arena_extent(arena *a, uint64_t offset) noexcept nogil:
    """How many bytes there are from an offset to the end of its block, as rounded; 0 where no block is in use."""
    cdef uint32_t number = <uint32_t>(offset // ARENA_GRANULE) + 1, units, block
    cdef uint64_t inside = offset % ARENA_GRANULE, extent = 0
    gompy_quick_acquire(&a.lock)
    if a.table[number].kind == GRANULE_SPAN:
        units = arena_class_size[a.table[number].size_class]
        block = <uint32_t>(inside >> 6) // units
        if block < 1024 // units and not a.table[number].free_blocks[block >> 6] >> (block & 63) & 1:
            extent = (<uint64_t>((block + 1) * units) << 6) - inside
    else:
        # Inside a run the records are what they were before: "inner" or "free", never the head of something.
        number = run_at(a, number)
        inside = offset - (number - 1) * ARENA_GRANULE
        if a.table[number].kind == GRANULE_RUN and inside < a.table[number].length * ARENA_GRANULE:
            extent = a.table[number].length * ARENA_GRANULE - inside
    gompy_quick_release(&a.lock)
    return extent


cdef bint arena_free(arena *a, uint64_t offset) noexcept nogil:
    """Free the block at an offset.  False: no block in use starts there."""
    cdef uint32_t number = <uint32_t>(offset // ARENA_GRANULE) + 1
    cdef uint32_t inside = <uint32_t>(offset % ARENA_GRANULE)
    cdef bint good = False
    if offset >= a.size:
        return False
    gompy_quick_acquire(&a.lock)
    if a.table[number].kind == GRANULE_SPAN:
        good = give_small(a, number, inside)
    elif a.table[number].kind == GRANULE_RUN and inside == 0:
        a.in_use -= a.table[number].length * ARENA_GRANULE
        give_run(a, number)
        good = True
    gompy_quick_release(&a.lock)
    return good
