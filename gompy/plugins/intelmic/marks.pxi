# GOMPY_CHECK: what is known of each byte of a device's memory, for regions that read what nothing has written, or what
# the host has changed since (protocol.h; device_marks.h has the device's side).
#
# The device opens a page when it is used first, by its marks.  So blocks of the program's are not opened when they are
# allocated, as those of the plugin's own are, which the kernel and the device's main thread use, too.
#
# There are no marks with libasan, which closes bytes, under OFFLOAD_EMUL_RUN, whose tool has signals of its own, and
# under a debugger, which would stop at each.

from gompy.native.traced cimport gompy_is_traced


cdef bint checks_exactly(mic_device *d) noexcept nogil:
    """Whether a device process that is about to be started keeps what -foffload-check needs."""
    return d.exact and d.preload[0] == 0 and checks_wanted()


cdef unsigned kept_of_memory(mic_device *d) noexcept nogil:
    """How many addresses a device process that is about to be started needs for each byte of its memory."""
    if d.preload[0] or not checks_wanted():
        return 1
    return MIC_EXACT_BYTES if d.exact else 3  # itself, its mark, and itself where it is filled


cdef void open_marks(mic_device *d) noexcept nogil:
    """Make the marks of a device that is about to be started; without room for them there are none, and that is told.
    """
    cdef void *p
    cdef off_t begin = <off_t>(MIC_CONTROL_SIZE + d.size)
    d.marks = NULL
    d.control.marked = 0
    d.control.outer.count = 0
    d.control.exact = 0
    if d.control.guarded == 0 or d.control.tool != 0 or gompy_is_traced():
        return
    p = <void *>-1
    if gompy_resize(d.file.fd, begin + <off_t>(marks_size(d.size))) == 0:
        p = gompy_map_sparse(NULL, marks_size(d.size), MAP_SHARED, d.file.fd, begin)
    if p == <void *>-1:
        GOMP_PLUGIN_error(b"device %d (intelmic): no room for what GOMPY_CHECK keeps of %zu MiB of memory: %s%s; "
                          b"no stale or unset data, no race is found: set OFFLOAD_EMUL_MEM to less", d.number,
                          <size_t>(d.size >> 20), strerror(errno), gompy_limit_hint(errno))
        return
    madvise(p, marks_size(d.size), MADV_DONTDUMP)
    madvise(p, marks_size(d.size), MADV_DONTFORK)
    d.marks = <unsigned char *>p
    d.control.marked = 1
    d.control.exact = d.exact
    open_pages_marks(&d.pages, d.marks, d.memory, d.size, d.exact, d.control.spread,
                     &d.control.guards.stay_open)


cdef void changed_marks(mic_device *d, uint64_t offset, uint64_t n) noexcept nogil:
    """Count a change, after it, by which bytes may no longer be good: images that tell of their accesses look."""
    cdef uint64_t first = offset >> MIC_CHANGE_SHIFT, last = (offset + n - 1) >> MIC_CHANGE_SHIFT, i
    if n == 0 or not d.control.exact:
        return
    if last - first >= <uint64_t>MIC_CHANGES:
        first = last - <uint64_t>MIC_CHANGES + 1
    for i in range(first, last + 1):
        add32(&d.control.changes[i % <uint64_t>MIC_CHANGES], 1, SEQ_CST)


cdef inline void set_marks(mic_device *d, uint64_t offset, uint64_t n, int mark) noexcept nogil:
    """Give bytes a mark; before they are written, where that is MIC_MARK_GOOD and images do not tell of accesses."""
    if d.marks != NULL:
        mark_range(&d.pages, offset, n, mark)
        if mark != MIC_MARK_GOOD:
            changed_marks(d, offset, n)


cdef inline void about_to_read(mic_device *d, uint64_t offset, uint64_t n) noexcept nogil:
    """The host is about to read memory of the arena, which nothing may have filled yet."""
    if d.marks != NULL:
        write_out_unset(&d.pages, offset, n)


cdef inline void about_to_change(mic_device *d, uint64_t offset, uint64_t n) noexcept nogil:
    """It is about to write there, and marks each byte then."""
    if d.marks != NULL:
        write_out(&d.pages, offset, n)


cdef extern from * nogil:
    const void *memchr(const void *at, int c, size_t n)
    bint written_untold "mic_written_untold"(const void *bytes, const unsigned char *marks, size_t n, uint64_t offset,
                                             bint spread)


cdef void mark_copied(mic_device *d, uint64_t to, uint64_t what, size_t n) noexcept nogil:
    """Of copied bytes that nobody has told to have written: a library has, or they are no more as they were filled.
    Four at a time, as a library's bytes may be by chance what they were."""
    cdef unsigned char *marks = d.marks + to
    cdef unsigned char mark
    cdef const void *next = memchr(marks, MIC_MARK_UNSET, n)
    cdef size_t i, end
    while next != NULL:
        i = <size_t>(<const unsigned char *>next - marks)
        end = min(n, i + 4 - ((what + i) & 3))
        mark = MIC_MARK_COPIED
        if written_untold(d.memory + to + i, marks + i, end - i, what + i, d.control.spread != 0):
            mark = MIC_MARK_GOOD
        while i < end:
            if marks[i] == <unsigned char>MIC_MARK_UNSET:
                marks[i] = mark
            i += 1
        next = memchr(marks + end, MIC_MARK_UNSET, n - end)


cdef void copy_marks(mic_device *d, uint64_t to, uint64_t what, size_t n) noexcept nogil:
    """After a copy within the device."""
    if d.marks != NULL:
        memmove(d.marks + to, d.marks + what, n)
        if d.control.exact:
            mark_copied(d, to, what, n)
        changed_marks(d, to, n)


cdef void know_arguments(mic_device *d, uint64_t offset) noexcept nogil:
    """Before a launch: what lies unused behind its argument words, which have pages of their own, is of no interest.

    Otherwise the region would be stepped through at each look at an argument.
    """
    cdef uint64_t page = offset & ~(GUARD_PAGE - 1)
    if offset < d.size and not is_words_block(d, offset) and \
            page_state(&d.pages, page) != MIC_PAGE_ALL + MIC_MARK_GOOD:
        about_to_change(d, offset, 1)
        know_bytes(d.marks + offset, page + GUARD_PAGE - offset)


cdef void tell_race(mic_device *d, mic_read *read, const char *region) noexcept nogil:
    """Tell of two accesses that nothing orders."""
    cdef char line[400]
    cdef bint reads = read.mark == <uint32_t>MIC_RACE_WRITE_READ
    line_of(d, read.other_pc, line, sizeof(line))
    GOMP_PLUGIN_error(b"device %d (intelmic): %saddress %p is %s, which another thread has %s%s%s%s, and nothing says "
                      b"which is first", d.number, region, <void *>read.address,
                      <const char *>(b"read" if reads else b"written"),
                      <const char *>(b"read" if read.mark == <uint32_t>MIC_RACE_READ_WRITE else b"written"),
                      <const char *>(b" (" if line[0] else b""), line, <const char *>(b")" if line[0] else b""))


cdef void tell_read(mic_device *d, mic_read *read) noexcept nogil:
    """Tell of a read that the device has noted."""
    cdef mic_death place
    cdef char region[1400]
    memset(&place, 0, sizeof(mic_death))
    place.slot = read.slot
    place.pc = read.pc
    place.stack = read.stack
    place.image_pc = read.image_pc
    if outer_changed(d, read.address):
        return
    describe_region(d, &place, region, sizeof(region))
    if read.mark >= <uint32_t>MIC_RACE_WRITE_WRITE:
        tell_race(d, read, region)
        return
    GOMP_PLUGIN_error(b"device %d (intelmic): %saddress %p is read, which %s", d.number, region,
                      <void *>read.address,
                      <const char *>(b"nothing has written there" if read.mark == <uint32_t>MIC_MARK_UNSET else
                                     b"the host has changed since it was copied there"))


cdef void tell_reads(mic_device *d, int slot) noexcept nogil:
    """After a region of a launch slot, -1: of the queue: tell what doubtful memory it has read, and that pages could
    not be closed before it.  What regions of other threads have read is theirs to tell, before their mappings end."""
    cdef uint32_t seen = load32(&d.control.reads_seen, ACQUIRE), i, bit
    cdef mic_read *read
    if load32(&d.control.guards.error, RELAXED):
        tell_no_guards(d, <int>exchange32(&d.control.guards.error, 0, SEQ_CST))
    for i in range(min(seen, <uint32_t>MIC_READS)):
        read, bit = &d.control.reads[i], <uint32_t>1 << i
        if load32(&read.mark, ACQUIRE) == 0 or 0 <= read.slot < MIC_SLOTS and read.slot != slot:
            continue
        if load32(&d.reads_told, RELAXED) & bit == 0 and or32(&d.reads_told, bit, SEQ_CST) & bit == 0:
            tell_read(d, read)
