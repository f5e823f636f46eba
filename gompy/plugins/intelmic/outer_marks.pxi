# GOMPY_CHECK: marks of variables of images (declare target), which lie outside the arena (struct mic_outer).
#
# While bytes of a page are out of date it is closed, also where images tell of their accesses: their hooks know the
# arena alone.  Such a variable may have a state of its own on each side, as a counter has.  So a read is told after
# its region, unless that has changed what it has read.

cdef extern from *:
    """
    #define MIC_OUTER_TRIES 100 /* a step of a region's may have closed a page again */
    """
    int MIC_OUTER_TRIES


cdef inline unsigned char *outer_marks(mic_device *d, int page) noexcept nogil:
    return d.marks + d.size + page * <uint64_t>GUARD_PAGE


cdef bint has_outer(mic_device *d, const void *p, size_t n) noexcept nogil:
    """Whether some of n bytes at a device address have marks of their own."""
    cdef int i
    if d.marks == NULL:
        return False
    for i in range(<int>d.control.outer.count):
        if d.control.outer.pages[i] < <uint64_t>p + n and <uint64_t>p < d.control.outer.pages[i] + GUARD_PAGE:
            return True
    return False


cdef void add_variable(mic_device *d, uint64_t start, uint64_t n) noexcept nogil:
    """Have the device know where a variable is, of which one read is told; beyond a number of them each read is."""
    cdef mic_outer *outer = &d.control.outer
    cdef uint32_t i
    for i in range(outer.variable_count):
        if outer.variables[i].start == start:
            outer.variables[i].size = n
            return
    if outer.variable_count < MIC_OUTER_VARIABLES:
        outer.variables[outer.variable_count].start = start
        outer.variables[outer.variable_count].size = n
        store32(&outer.variable_count, outer.variable_count + 1, RELEASE)


cdef bint add_outer(mic_device *d, uint64_t start, uint64_t n) noexcept nogil:
    """Have n bytes at a device address have marks.  False: there is no room for all."""
    cdef uint64_t page, first = start & ~<uint64_t>(GUARD_PAGE - 1), wanted = 0
    cdef mic_outer *outer = &d.control.outer
    cdef uint32_t i
    page = first
    while page < start + n and wanted <= MIC_OUTER_PAGES:
        wanted += outer_page(d, page) < 0
        page += GUARD_PAGE
    if wanted > free_outer_pages(d, &i):
        return False
    if d.outer_kept == NULL:
        d.outer_kept = <mic_outer_kept *>calloc(MIC_OUTER_PAGES, sizeof(mic_outer_kept))
    if d.outer_kept == NULL:
        return False
    page = first
    while page < start + n:
        if outer_page(d, page) < 0:
            free_outer_pages(d, &i)
            memset(outer_marks(d, <int>i), MIC_MARK_GOOD, GUARD_PAGE)
            store64(&outer.pages[i], page, RELEASE)
            if i == outer.count:
                store32(&outer.count, outer.count + 1, RELEASE)
        page += GUARD_PAGE
    return True


cdef bint mark_outer(mic_device *d, uint64_t start, const unsigned char *stale, size_t n) noexcept nogil:
    """Mark those bytes outside the arena that the host has changed, as mark_stale does within.  False: no room."""
    cdef uint64_t done = 0, at, part, page, first = 0, last = 0
    cdef mic_outer_kept *kept
    cdef int i
    if not add_outer(d, start, n):
        return False
    add_variable(d, start, n)
    while done < n:
        i = outer_page(d, start + done)
        kept = &d.outer_kept[i]
        page = d.control.outer.pages[i]
        at = start + done - page
        part = min(<uint64_t>GUARD_PAGE - at, n - done)
        memcpy(kept.stale + at, stale + done, part)
        if mark_bytes(outer_marks(d, i) + at, stale + done, part, &first, &last):
            kept.known = read_page(d, page, kept.had)
            change_later(d, page - d.base, GUARD_PAGE, False)
        done += part
    return True


cdef void outer_left(mic_device *d, uint64_t start, unsigned char *stale, size_t n) noexcept nogil:
    """Clear those of the bytes that are out of date no longer."""
    cdef unsigned char *marks
    cdef uint64_t done = 0, at, part
    cdef size_t i
    cdef int page
    while done < n:
        at = (start + done) % <uint64_t>GUARD_PAGE
        part = min(<uint64_t>GUARD_PAGE - at, n - done)
        page = outer_page(d, start + done)
        if page >= 0:
            marks = outer_marks(d, page) + at
            for i in range(part):
                stale[done + i] &= marks[i] == <unsigned char>MIC_MARK_STALE
        done += part


cdef void open_outer(mic_device *d, const void *p, size_t n) noexcept nogil:
    """Open pages for a copy by the host; the next region finds them closed, if they have to be."""
    cdef uint64_t first = <uint64_t>p & ~<uint64_t>(GUARD_PAGE - 1)
    pthread_mutex_lock(&d.commands)
    run_command(d, MIC_OP_PROTECT, first - d.base, page_up(<uint64_t>p + n) - first, 1)
    pthread_mutex_unlock(&d.commands)


cdef void good_outer(mic_device *d, const void *p, size_t n) noexcept nogil:
    """The host has written n bytes at a device address outside the arena."""
    cdef uint64_t low, high, page
    cdef int i
    if not has_outer(d, p, n):
        return
    for i in range(<int>d.control.outer.count):
        page = d.control.outer.pages[i]
        low = max(page, <uint64_t>p)
        high = min(page + GUARD_PAGE, <uint64_t>p + n)
        if low < high:
            memset(outer_marks(d, i) + (low - page), MIC_MARK_GOOD, high - low)


cdef void forget_outer(mic_device *d, host_image *image) noexcept nogil:
    """An image has gone, and with it the marks of its pages: others have their room."""
    cdef mic_outer *outer = &d.control.outer
    cdef uint32_t i
    if d.marks == NULL:
        return
    for i in range(outer.count):
        if is_page_of(image, outer.pages[i]):
            store64(&outer.pages[i], MIC_OUTER_FREE, RELEASE)
            memset(&d.outer_kept[i], 0, sizeof(mic_outer_kept))
    i = 0
    while i < outer.variable_count:
        if is_page_of(image, outer.variables[i].start & ~<uint64_t>(GUARD_PAGE - 1)):
            outer.variables[i] = outer.variables[outer.variable_count - 1]
            store32(&outer.variable_count, outer.variable_count - 1, RELEASE)
        else:
            i += 1


cdef void free_outer(mic_device *d) noexcept nogil:
    """Give everything of add_outer back."""
    free(d.outer_kept)
    d.outer_kept = NULL
