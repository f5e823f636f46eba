# GOMPY_CHECK: what a region does beyond the memory that it was given.
#
# Without it the device may access all of its arena.  With it only blocks in use: each has pages of its own and ends at
# the end of one (exactly, if its size is a multiple of 16), the next page is without access, and the pages of a freed
# block lose theirs and stay idle for a while.  The runtime puts what a construct maps into one block; by gompy_guard it
# has the pages between the objects closed as well.  New memory is filled with GUARD_FILL, not zero.
#
# Where libasan is on the device (sanitizers.pxi) it is told of all that instead: bytes are closed, not pages.
#
# Only the device's mapping is closed: the host copies through its own.  The records are those of the runs' granules.

cdef extern from *:
    """
    #define GUARD_PAGE 4096ull
    #define GUARD_FILL 0xcb
    #define GUARD_IDLE_BYTES (256ull << 20)
    static int mic_out_of_guards;
    /* Where the runtime has the object nearest to a device address: not there under the stock libgomp.  */
    extern int gompy_nearest_object (int, int, uintptr_t, uintptr_t *, size_t *, intptr_t *) __attribute__ ((weak));
    static int
    mic_nearest_object (int type, int number, uintptr_t address, uintptr_t *host, size_t *size, intptr_t *past)
    {
      return gompy_nearest_object != NULL && gompy_nearest_object (type, number, address, host, size, past);
    }
    """
    uint64_t GUARD_PAGE, GUARD_IDLE_BYTES
    int GUARD_FILL
    int mic_out_of_guards
    bint nearest_object "mic_nearest_object"(int type, int number, uintptr_t address, uintptr_t *host, size_t *size,
                                             intptr_t *past) nogil


cdef inline uint64_t page_up(uint64_t n) noexcept nogil:
    return (n + GUARD_PAGE - 1) & ~(GUARD_PAGE - 1)


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


cdef void open_pages(mic_device *d, uint64_t offset, uint64_t n, bint access) noexcept nogil:
    """Give the device access to pages of its memory, or take it away.

    Each closed page between open ones costs the kernel two mappings; when there are too many (vm.max_map_count), pages
    stay open, which is told once.
    """
    cdef int64_t error
    if n == 0:
        return
    pthread_mutex_lock(&d.commands)
    error = command(d, MIC_OP_POISON if d.preload[0] else MIC_OP_PROTECT, offset, n, access)
    pthread_mutex_unlock(&d.commands)
    if error and access:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): GOMPY_CHECK: %s (vm.max_map_count is the limit of guarded blocks)",
                          d.number, strerror(<int>error))
    if error and exchange32(<uint32_t *>&mic_out_of_guards, 1, SEQ_CST) == 0:
        GOMP_PLUGIN_error(b"device %d (intelmic): GOMPY_CHECK: no more guards: %s (vm.max_map_count)", d.number,
                          strerror(<int>error))


cdef uint64_t guarded_alloc(mic_device *d, size_t size) noexcept nogil:
    """A block that ends at a page without access.  Returns its offset, or all ones when there is no room."""
    cdef uint64_t bytes = (<uint64_t>(size if size else 1) + 15) & ~<uint64_t>15
    cdef uint64_t room = page_up(bytes), wanted = room + GUARD_PAGE, offset, start, inside
    cdef arena *a = &d.large if wanted > <uint64_t>LARGE_BLOCK else &d.small
    cdef arena_granule *run
    if size > d.size:
        return ~<uint64_t>0
    if wanted <= ARENA_SMALL:
        wanted = ARENA_SMALL + 1  # a run, not a part of one
    offset = arena_alloc(a, wanted)
    if offset == ~<uint64_t>0 and a == &d.small:
        a = &d.large
        offset = arena_alloc(a, wanted)
    if offset == ~<uint64_t>0:
        return offset
    run = &a.table[offset // ARENA_GRANULE + 1]
    inside = room - bytes
    run.free_blocks[0] = offset + inside
    run.free_blocks[1] = size
    run.free_blocks[2] = 0  # in use
    if a == &d.large:
        offset += d.split
    start = offset + inside
    if d.preload[0]:
        open_pages(d, offset, room + GUARD_PAGE, False)
        open_pages(d, start, size, True)
    else:
        open_pages(d, offset, room, True)
    memset(d.memory + start, GUARD_FILL, bytes)
    return start


cdef bint guarded_free(mic_device *d, uint64_t start) noexcept nogil:
    """Close a block and keep it for a while.  False: no block in use starts there."""
    cdef uint64_t offset = start, bytes
    cdef arena *a
    cdef arena_granule *run
    cdef mic_idle *idle
    if start >= d.size:
        return False
    a = arena_of(d, &offset)
    run = &a.table[offset // ARENA_GRANULE + 1]
    pthread_mutex_lock(&d.idle_lock)
    if run.kind != <uint32_t>GRANULE_RUN or run.free_blocks[0] != offset or run.free_blocks[2] != 0:
        pthread_mutex_unlock(&d.idle_lock)
        return False
    run.free_blocks[2] = 1
    bytes = run.length * ARENA_GRANULE
    pthread_mutex_unlock(&d.idle_lock)
    start &= ~(ARENA_GRANULE - 1)
    open_pages(d, start, bytes, False)
    pthread_mutex_lock(&d.idle_lock)
    while d.next_idle - d.oldest_idle == GUARD_IDLE or \
            (d.next_idle != d.oldest_idle and d.idle_bytes + bytes > GUARD_IDLE_BYTES):
        # It may be used again: closed, until it is.
        idle = &d.idle[d.oldest_idle % GUARD_IDLE]
        d.oldest_idle += 1
        d.idle_bytes -= idle.bytes
        offset = idle.offset
        a = arena_of(d, &offset)
        arena_free(a, offset)
    idle = &d.idle[d.next_idle % GUARD_IDLE]
    idle.offset = start
    idle.bytes = bytes
    d.next_idle += 1
    d.idle_bytes += bytes
    pthread_mutex_unlock(&d.idle_lock)
    return True


cdef uint64_t guarded_extent(mic_device *d, uint64_t offset) noexcept nogil:
    """How many bytes there are from an offset to the end of its block, 0 where no block is in use."""
    cdef uint64_t start = 0, size = 0
    cdef bint freed = False
    if not block_near(d, offset, &start, &size, &freed) or freed or offset < start or offset - start > size:
        return 0
    return start + size - offset


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


cdef bint explain_guard(mic_device *d, uint64_t address, char *to, size_t room) noexcept nogil:
    """Why an address of the device's memory is closed.  False: it isn't in that memory."""
    cdef uint64_t offset = address - d.base, start = 0, size = 0, distance
    cdef uintptr_t host = 0
    cdef size_t length = 0
    cdef intptr_t past = 0
    cdef bint freed = False, known
    cdef char place[300]
    if offset >= d.size:
        return False
    known = block_near(d, offset, &start, &size, &freed)
    if known and freed and start <= offset < start + size:
        snprintf(to, room, b"address %p is %zu bytes into a freed block of %zu bytes", <void *>address,
                 <size_t>(offset - start), <size_t>size)
    elif nearest_object(GOMP_DEVICE_INTEL_MIC, d.number, address, &host, &length, &past) and -65536 <= past < 1 << 20:
        place_of_host(host, place, sizeof(place))
        snprintf(to, room, b"address %p is %zu bytes %s the %zu bytes that are mapped from the host's %p (%s)",
                 <void *>address, <size_t>(past if past >= 0 else -past),
                 <const char *>(b"past the end of" if past >= 0 else b"before"), length, <void *>host,
                 <const char *>place if place[0] else <const char *>b"no longer its memory")
    elif known and not freed and start + size <= offset < start + size + (1 << 20):
        distance = offset - start - size
        snprintf(to, room, b"address %p is %zu bytes past the end of a block of %zu bytes", <void *>address,
                 <size_t>distance, <size_t>size)
    else:
        snprintf(to, room, b"address %p is memory of the device that is not in use", <void *>address)
    return True
