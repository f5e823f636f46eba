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
    uint64_t HUGE_NS "MIC_HUGE_NS"
    uint64_t MANY_BLOCKS "MIC_MANY_BLOCKS"
    unsigned MOST_WAITING "MIC_MOST_WAITING"
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
