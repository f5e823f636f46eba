# Huge pages for parts of the device's memory that have no pages yet: of what a large copy fills (large_copies.pxi), and
# of the memory that many small blocks are about to fill.
#
# Small blocks that are used at random among millions cost a page table's entry each, which is in no cache, beside
# themselves.  Where a program has many of them in use, the next 2 MiB that they grow into become one huge page: no more
# memory, but for the last of them.

cdef extern from *:
    """
    #include "gompy/plugins/intelmic/huge_pages.h"
    #define MIC_MANY_BLOCKS (32ull << 20) /* bytes of small blocks */
    static void mic_touch_byte (const char *p) { (void) *(const volatile char *) p; }
    """
    int MADV_COLLAPSE
    uint64_t HUGE_PAGE "MIC_HUGE"
    uint64_t HUGE_PART "MIC_HUGE_PART"
    uint64_t HUGE_NS "MIC_HUGE_NS"
    uint64_t MANY_BLOCKS "MIC_MANY_BLOCKS"
    unsigned MOST_WAITING "MIC_MOST_WAITING"
    uint64_t HUGE_SHARE "MIC_HUGE_SHARE"
    uint64_t HUGE_REUSED "MIC_HUGE_REUSED"
    bint has_small_pages "gompy_has_small_pages"(const void *begin) nogil
    bint has_page "mic_has_page"(const char *page) nogil
    void touch_byte "mic_touch_byte"(const char *p) nogil


cdef bint make_huge(mic_device *d, uint64_t offset, size_t n) noexcept nogil:
    """Give whole huge pages to a part of the memory that has no pages.  False: not all of it has them."""
    cdef size_t i = 0
    while i < n:
        touch_byte(d.memory + offset + i)  # of an empty page nothing can be made
        i += HUGE_PAGE
    return madvise(d.memory + offset, n, MADV_COLLAPSE) == 0


cdef void grow_hugely(mic_device *d, uint64_t offset) noexcept nogil:
    """The small arena has handed out the begin of a huge page: make it one, if many blocks will follow.

    They will where there are many already, and the memory behind has never been used.  Where a huge page is slow to
    come, the next ones do without; then it is tried again.
    """
    cdef arena_granule *behind = &d.small.table[offset // ARENA_GRANULE + 2]
    cdef uint64_t begin
    if d.no_huge or d.small.in_use < MANY_BLOCKS:
        return
    if behind.kind != <uint32_t>GRANULE_FREE or behind.dirty or behind.length < HUGE_PAGE // ARENA_GRANULE - 1:
        return
    if d.huge_waits:
        d.huge_waits -= 1
        return
    begin = thread_ns()
    if not make_huge(d, offset, HUGE_PAGE):
        d.no_huge = errno == EINVAL  # the kernel can't, or shall not
        d.huge_slow = MOST_WAITING
    elif thread_ns() - begin > HUGE_NS:
        d.huge_slow = min(2 * d.huge_slow + 1, MOST_WAITING)
    else:
        d.huge_slow >>= 1
        return
    d.huge_waits = d.huge_slow


cdef void reuse_hugely(mic_device *d, arena_granule *run, uint64_t offset, bint fresh) noexcept nogil:
    """A run at an offset, whole huge pages, is given out; fresh: it has no pages as yet.  Make huge ones of small ones.

    Its pages are closed and opened each time (guards.pxi), which takes a hundredth of the time then.  So that is worth
    it once they are used again and again; it takes no more memory, where all of them are there.
    """
    cdef uint64_t *times = &run.free_blocks[3]
    cdef uint64_t *next = &run.free_blocks[4]  # how much of it has been looked at
    cdef uint64_t *length = &run.free_blocks[5]
    cdef uint64_t bytes = run.length * ARENA_GRANULE, begin
    if fresh or length[0] != bytes:
        times[0] = next[0] = 0
        length[0] = bytes
    times[0] += 1
    while times[0] > HUGE_REUSED and next[0] + HUGE_PAGE <= bytes and not d.no_huge and \
            d.huge_spent <= process_ns() // HUGE_SHARE:
        begin = thread_ns()
        if has_small_pages(d.memory + offset + next[0]) and not make_huge(d, offset + next[0], HUGE_PAGE):
            next[0] = bytes
            return
        begin = thread_ns() - begin
        d.huge_spent += begin if begin > 2 * HUGE_NS else 0  # of small ones that are there it takes longer
        next[0] += HUGE_PAGE
