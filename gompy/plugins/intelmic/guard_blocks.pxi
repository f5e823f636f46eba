# GOMPY_CHECK: which block an address of the device's memory belongs to.  guards.pxi opens and closes the pages.

cdef extern from *:
    """
    #define GUARD_PAGE 4096ull
    #define WORDS_BLOCK 1024ull  /* of 64 blocks, see words.pxi */
    static int mic_out_of_guards;
    """
    uint64_t GUARD_PAGE
    uint64_t WORDS_BLOCK
    int mic_out_of_guards


cdef inline uint64_t page_up(uint64_t n) noexcept nogil:
    return (n + GUARD_PAGE - 1) & ~(GUARD_PAGE - 1)


cdef inline uint64_t page_up_hugely(uint64_t n) noexcept nogil:
    """The same in huge pages: blocks that have whole ones to themselves begin where one does."""
    return (n + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)


cdef inline bint is_words_block(mic_device *d, uint64_t offset) noexcept nogil:
    """Whether an offset is in the room of words.pxi."""
    return offset - d.words_begin < load64(&d.words_size, ACQUIRE)


cdef void tell_no_guards(mic_device *d, int error) noexcept nogil:
    """Pages stay open that should be closed."""
    if exchange32(<uint32_t *>&mic_out_of_guards, 1, SEQ_CST) == 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): GOMPY_CHECK: no more guards: %s (vm.max_map_count)", d.number,
                          strerror(error))


cdef bint checks_wanted() noexcept nogil:
    """GOMPY_CHECK is set, and not to 0."""
    cdef const char *text = secure_getenv(b"GOMPY_CHECK")
    return text != NULL and text[0] != 0 and strcmp(text, b"0") != 0


cdef inline arena *arena_of(mic_device *d, uint64_t *offset) noexcept nogil:
    """The arena that an offset in the device's memory is in; the offset becomes that in the arena."""
    if offset[0] < d.split:
        return &d.small
    offset[0] -= d.split
    return &d.large


cdef bint block_near(mic_device *d, uint64_t offset, uint64_t *start, uint64_t *size, bint *freed) noexcept nogil:
    """The block in whose run an offset lies, or the last one before it.  False: there is none."""
    cdef uint64_t base = 0 if offset < d.split else d.split
    cdef arena *a = arena_of(d, &offset)
    cdef arena_granule *run = &a.table[run_at(a, <uint32_t>(offset // ARENA_GRANULE) + 1)]
    if run.kind != <uint32_t>GRANULE_RUN:
        return False
    start[0] = run.free_blocks[0] + base
    size[0] = run.free_blocks[1]
    freed[0] = run.free_blocks[2] != 0
    return True


cdef void block_around(mic_device *d, uint64_t offset, uint64_t *low, uint64_t *high) noexcept nogil:
    """Where the run of the block at an offset begins, and where the block ends; nothing else lies in the run."""
    cdef uint64_t size = 0
    cdef bint freed = False
    if block_near(d, offset, high, &size, &freed):
        low[0] = high[0] & ~(ARENA_GRANULE - 1)
        high[0] += size


cdef uint64_t guarded_extent(mic_device *d, uint64_t offset) noexcept nogil:
    """How many bytes there are from an offset to the end of its block, 0 where no block is in use."""
    cdef uint64_t start = 0, size = 0
    cdef bint freed = False
    if not block_near(d, offset, &start, &size, &freed) or freed or offset < start or offset - start > size:
        return 0
    return start + size - offset
