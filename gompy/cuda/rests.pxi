# With GOMPY_CHECK: freed blocks of device code's heap that may be given out again before others.
#
# Each team of GCC's OpenMP code allocates a block and frees it, all of one size: were all that memory allows kept from
# use, each team would have memory that no cache has any more.  So of one size some rest, and the oldest is given out
# again if it was freed before the last launch.  Other sizes, such as the program's own, rest as long as others do.

cdef enum:
    SAME_REST = 48      # blocks of a size that rest at least
    REST_SIZES = 64     # a size's number is below: some may share one


cdef inline rest_list *rests_of(area *a, uint64_t size) noexcept nogil:
    """The freed blocks of a size, oldest first, among others."""
    return &a.rests[(size >> 6) * <uint64_t>0x9E3779B1 >> 16 & (REST_SIZES - 1)]


cdef void begin_rest(area *a, block *n) noexcept nogil:
    """A block is freed."""
    cdef rest_list *list = rests_of(a, n.size)
    n.freed_at = a.launches[0]
    n.rest_next = NULL
    if list.newest != NULL:
        list.newest.rest_next = n
    else:
        list.oldest = n
    list.newest = n
    list.count += 1


cdef void end_rest(area *a, block *n) noexcept nogil:
    """It rests no longer: mostly it is the oldest."""
    cdef rest_list *list = rests_of(a, n.size)
    cdef block *before = NULL
    cdef block *at = list.oldest
    while at != n:
        before, at = at, at.rest_next
    if before != NULL:
        before.rest_next = n.rest_next
    else:
        list.oldest = n.rest_next
    if list.newest == n:
        list.newest = before
    list.count -= 1


cdef block *rested_block(area *a, uint64_t size) noexcept nogil:
    """The block of a size that may be given out again, or NULL."""
    cdef rest_list *list = rests_of(a, size)
    cdef block *n = list.oldest
    return n if list.count > SAME_REST and n.size == size and n.freed_at + 1 < a.launches[0] else NULL
