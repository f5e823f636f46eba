# The first copies into memory that has no pages yet.
#
# A copy through our mapping makes the kernel clear each page before it is overwritten, and take a fault for it.  write
# () to the memfd does neither: pages that are written whole aren't cleared.  256 MiB: 110 ms of processor time,
# against 175 (pages made at once, MADV_POPULATE_WRITE) and 230 (fault by fault).  But afterwards they aren't in our
# page tables, so the next copy to the device has them entered at once (MADV_POPULATE_READ: 27 ms, 75 fault by fault);
# a copy from the device lets the faults do it (14 ms, 16 pages each).
#
# What follows is a memory of a few blocks that were allocated without pages, and what of them has been written since.
# Nothing but speed depends on it.

cdef extern from *:
    """
    #define FIRST_SIZE (256u << 10)  /* smaller copies aren't worth it */
    #define FIRST_ZONES 16
    enum { ZONE_NONE = 0, ZONE_FRESH, ZONE_WRITTEN };
    /* Whether the program may write files of any size: else write () would end it with SIGXFSZ.  */
    static int mic_files_unlimited (void)
    {
      struct rlimit r;
      return getrlimit (RLIMIT_FSIZE, &r) == 0 && r.rlim_cur == RLIM_INFINITY;
    }
    """
    size_t FIRST_SIZE
    int FIRST_ZONES
    uint32_t ZONE_NONE, ZONE_FRESH, ZONE_WRITTEN
    bint files_unlimited "mic_files_unlimited"() nogil


cdef void add_zone(mic_device *d, uint32_t kind, uint64_t begin, uint64_t end) noexcept nogil:
    """Remember a range; of written ones that follow each other, one.  The oldest is forgotten."""
    cdef int i
    if kind == ZONE_WRITTEN:
        for i in range(FIRST_ZONES):
            if d.zones[i].kind == kind and d.zones[i].end == begin:
                d.zones[i].end = end
                return
    for i in range(FIRST_ZONES):
        if d.zones[i].kind == ZONE_NONE:
            break
    else:
        i = d.oldest_zone
        d.oldest_zone = (i + 1) % FIRST_ZONES
    d.zones[i].kind = kind
    d.zones[i].begin = begin
    d.zones[i].end = end


cdef void note_block(mic_device *d, uint64_t offset, size_t size, bint fresh) noexcept nogil:
    """A block of at least FIRST_SIZE has been allocated; ``fresh``: as far as is known it has no pages."""
    cdef int i
    pthread_mutex_lock(&d.zones_lock)
    for i in range(FIRST_ZONES):
        if d.zones[i].kind != ZONE_NONE and d.zones[i].begin < offset + size and offset < d.zones[i].end:
            d.zones[i].kind = ZONE_NONE
    if fresh:
        add_zone(d, ZONE_FRESH, offset, offset + size)
    pthread_mutex_unlock(&d.zones_lock)


cdef uint32_t take_zone(mic_device *d, uint64_t offset, size_t n) noexcept nogil:
    """What is known of a range that is now copied to: ZONE_FRESH (then it is written), ZONE_WRITTEN (then it is
    mapped).
    """
    cdef int i
    cdef uint32_t kind = ZONE_NONE
    pthread_mutex_lock(&d.zones_lock)
    for i in range(FIRST_ZONES):
        if d.zones[i].kind != ZONE_NONE and d.zones[i].begin <= offset and offset + n <= d.zones[i].end:
            kind = d.zones[i].kind
            if d.zones[i].end - (offset + n) < FIRST_SIZE:
                d.zones[i].kind = ZONE_NONE
            elif kind == ZONE_FRESH or offset == d.zones[i].begin:
                d.zones[i].begin = offset + n
            if kind == ZONE_FRESH:
                add_zone(d, ZONE_WRITTEN, offset, offset + n)
            break
    pthread_mutex_unlock(&d.zones_lock)
    return kind


cdef size_t write_first(mic_device *d, uint64_t offset, const char *what, size_t n) noexcept nogil:
    """Write to the memfd what can be written.  Returns how many bytes that were."""
    cdef size_t done = 0
    cdef ssize_t part
    if not gompy_still_ours(&d.file):
        return 0
    while done < n:
        part = pwrite(d.file.fd, what + done, n - done, <off_t>(MIC_CONTROL_SIZE + offset + done))
        if part <= 0:
            if part < 0 and errno == EINTR:
                continue
            break
        done += <size_t>part
    return done


cdef void copy_in(mic_device *d, char *to, const char *what, size_t n) noexcept nogil:
    """Copy to a device address in the arena, a large piece of memory."""
    cdef uint64_t offset = <uintptr_t>to - d.base, begin = offset & ~<uint64_t>4095
    cdef uint32_t kind = take_zone(d, offset, n)
    cdef size_t done = 0
    if kind == ZONE_FRESH and files_unlimited():
        done = write_first(d, offset, what, n)
    elif kind == ZONE_WRITTEN:
        madvise(d.memory + begin, offset + n - begin, MADV_POPULATE_READ)
    memcpy(d.memory + offset + done, what + done, n - done)
