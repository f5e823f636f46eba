# GOMPY_CHECK: freed blocks stay open while there is no time for checks (gompy_check_less).
#
# A program that maps the same again and again has a block closed each time otherwise, and opened by faults; it would go
# round all blocks that stay closed for a while, none of which is in a cache.  So a block that is freed then is given
# out again before all others, with its pages as they are.  Those behind the new block's end are closed where the last
# one had them, and so are those between mapped objects (gompy_guard): beyond a block nothing is open, as ever.
#
# When there is time again, all that are free are closed, and stay so for a while.  Blocks of the plugin's own are not
# among them.


cdef void close_opened(mic_device *d, uint64_t offset, uint64_t n) noexcept nogil:
    """Close those of whole pages that regions may have opened."""
    cdef uint64_t page = offset // GUARD_PAGE, end = page + n // GUARD_PAGE, first
    if d.pages.access == NULL:
        return
    while page < end:
        first = page
        while page < end and d.pages.access[page] != 0:
            page += 1
        open_pages(d, first * GUARD_PAGE, (page - first) * GUARD_PAGE, False)
        while page < end and d.pages.access[page] == 0:
            page += 1


cdef void close_behind(mic_device *d, uint64_t offset, const arena_granule *run, uint64_t room) noexcept nogil:
    """A freed block's run at an offset is given out open: close what lies behind the room of the new block."""
    cdef uint64_t had = page_up(run.free_blocks[0] % ARENA_GRANULE + run.free_blocks[1])
    if had > room:
        set_marks(d, offset + room, had - room, MIC_MARK_CLOSED)
    close_opened(d, offset + room, run.length * ARENA_GRANULE - room)


cdef void in_order(mic_idle *blocks, unsigned count) noexcept nogil:
    """Sort them by their offsets."""
    cdef unsigned i, k
    cdef mic_idle one
    for i in range(1, count):
        one = blocks[i]
        k = i
        while k and blocks[k - 1].offset > one.offset:
            blocks[k] = blocks[k - 1]
            k -= 1
        blocks[k] = one


cdef void close_blocks(mic_device *d, mic_idle *blocks, unsigned count) noexcept nogil:
    """Close runs that nobody uses, neighbours together, and keep them for a while."""
    cdef uint64_t begin, end
    cdef unsigned i = 0
    in_order(blocks, count)
    while i < count:
        begin = end = blocks[i].offset
        while i < count and blocks[i].offset == end:
            end += blocks[i].bytes
            i += 1
        set_marks(d, begin, end - begin, MIC_MARK_CLOSED)
        open_pages(d, begin, end - begin, False)
    for i in range(count):
        keep_idle(d, blocks[i].offset, blocks[i].bytes)


cdef inline bint leaves_open(mic_device *d) noexcept nogil:
    """Whether blocks that are freed now stay open."""
    return d.taken_as_set and d.pages.access != NULL and load32(&d.control.guards.stay_open, RELAXED) == 0


cdef mic_idle take_open_at(mic_device *d, unsigned i) noexcept nogil:
    """Take one out of their list, whose lock is held."""
    cdef mic_idle taken = d.open_blocks[i]
    d.open_count -= 1
    d.open_bytes -= taken.bytes
    memmove(&d.open_blocks[i], &d.open_blocks[i + 1], (d.open_count - i) * sizeof(mic_idle))
    return taken


cdef uint64_t take_open(mic_device *d, uint64_t wanted) noexcept nogil:
    """The run of a freed block that is open and has room, but not far more.  Its offset in the memory; all ones: none.
    """
    cdef uint64_t most = page_up_hugely(wanted) if wanted > <uint64_t>LARGE_BLOCK else wanted + ARENA_GRANULE - 1
    cdef uint64_t least = ~<uint64_t>0, offset = ~<uint64_t>0
    cdef unsigned i, found = 0
    pthread_mutex_lock(&d.idle_lock)
    i = d.open_count
    while i and d.taken_as_set:  # the last one first
        i -= 1
        if wanted <= d.open_blocks[i].bytes <= most and d.open_blocks[i].bytes < least:
            found = i
            least = d.open_blocks[i].bytes
    if least <= most:
        offset = take_open_at(d, found).offset
    pthread_mutex_unlock(&d.idle_lock)
    return offset


cdef bint leave_open(mic_device *d, uint64_t offset, uint64_t bytes) noexcept nogil:
    """Keep the run of a freed block as it is.  False: it is to be closed.  The list's lock is held."""
    cdef mic_idle first
    while leaves_open(d):
        if d.open_count < GUARD_IDLE and (
            d.open_count == 0 or d.open_bytes + bytes <= d.large.dirty_limit * ARENA_GRANULE
        ):
            d.open_blocks[d.open_count].offset = offset
            d.open_blocks[d.open_count].bytes = bytes
            d.open_count += 1
            d.open_bytes += bytes
            return True
        first = take_open_at(d, 0)
        pthread_mutex_unlock(&d.idle_lock)
        close_blocks(d, &first, 1)
        pthread_mutex_lock(&d.idle_lock)
    return False


cdef bint close_left_open(mic_device *d) noexcept nogil:
    """Close all of them.  False: there are none."""
    cdef mic_idle blocks[256]
    cdef unsigned count
    pthread_mutex_lock(&d.idle_lock)
    count = d.open_count
    memcpy(blocks, d.open_blocks, count * sizeof(mic_idle))
    d.open_count = 0
    d.open_bytes = 0
    pthread_mutex_unlock(&d.idle_lock)
    close_blocks(d, blocks, count)
    return count != 0


cdef void check_less(mic_device *d, bint less) noexcept nogil:
    """There is no time for what costs much, or there is again."""
    pthread_mutex_lock(&d.idle_lock)
    d.taken_as_set = less and d.control.exact == 0
    pthread_mutex_unlock(&d.idle_lock)
    if not less:
        close_left_open(d)
