# Advice on managed memory, which the emulated device needs none of: it is kept, so that a program can ask for it
# (cuMemRangeGetAttribute).  A list of ranges.  Those of one kind do not overlap; two of a block that say the same do
# not touch: it is no longer than what can be told apart, however often a program advises.  Guarded by memory_lock.

cdef enum:
    PREFETCHED = 100               # beside CUmem_advise: a prefetch
    NO_PLACE = -2                  # CU_DEVICE_INVALID
    HOST_PLACE = -1                # CU_DEVICE_CPU

cdef struct range_advice:
    range_advice *next
    uint64_t start, end
    int what                       # CUmem_advise, the odd one of two; or PREFETCHED
    int place                      # the device, HOST_PLACE, or NO_PLACE where it does not matter

cdef range_advice *all_advice


cdef bint same_kind(const range_advice *a, int what, int place) noexcept nogil:
    """Whether a later word of that kind takes the place of this one; a place can access beside others."""
    return a.what == what and (what != CU_MEM_ADVISE_SET_ACCESSED_BY or a.place == place)


cdef void drop_advice(uint64_t start, uint64_t end) noexcept nogil:
    """Memory is freed."""
    cdef range_advice **link = &all_advice
    cdef range_advice *a
    while link[0] != NULL:
        a = link[0]
        if a.start >= start and a.end <= end:
            link[0] = a.next
            free(a)
        else:
            link = &a.next


cdef void cut_advice(uint64_t start, uint64_t end, int what, int place, range_advice **spare) noexcept nogil:
    """Take a range from what was said of that kind; `spare` is for what is left behind it, where it was in one."""
    cdef range_advice **link = &all_advice
    cdef range_advice *a
    cdef range_advice *behind
    while link[0] != NULL:
        a = link[0]
        if not same_kind(a, what, place) or a.end <= start or end <= a.start:
            link = &a.next
        elif start <= a.start and a.end <= end:
            link[0] = a.next
            free(a)
        else:
            if a.start < start and end < a.end:
                behind = spare[0]
                spare[0] = NULL
                behind[0] = a[0]
                behind.start = end
                a.next = behind
                a.end = start
            elif a.start < start:
                a.end = start
            else:
                a.start = end
            link = &a.next


cdef void join_advice(range_advice *new, const uint64_t *whole) noexcept nogil:
    """Those beside it that say the same become one with it, if they are in what ends with it (drop_advice)."""
    cdef range_advice **link = &all_advice
    cdef range_advice *a
    while link[0] != NULL:
        a = link[0]
        if same_kind(a, new.what, new.place) and a.place == new.place and \
                (whole[0] < new.start == a.end or a.start == new.end < whole[1]):
            new.start, new.end = min(a.start, new.start), max(a.end, new.end)
            link[0] = a.next
            free(a)
        else:
            link = &a.next


cdef int note_advice(uint64_t start, uint64_t size, const uint64_t *whole, int what, int place,
                     bint given) noexcept nogil:
    """Keep what was said of a range of managed memory, or taken back; `whole`: where the block begins and ends."""
    global all_advice
    cdef range_advice *spare
    cdef range_advice *new
    spare = <range_advice *>malloc(sizeof(range_advice))
    new = <range_advice *>malloc(sizeof(range_advice))
    if spare == NULL or new == NULL:
        free(spare)
        free(new)
        return CUDA_ERROR_OUT_OF_MEMORY
    cut_advice(start, start + size, what, place, &spare)
    free(spare)
    if not given:
        free(new)
        return CUDA_SUCCESS
    new.start, new.end, new.what, new.place = start, start + size, what, place
    join_advice(new, whole)
    new.next = all_advice
    all_advice = new
    return CUDA_SUCCESS


cdef bint all_advised(uint64_t start, uint64_t end, int what, int place, int *where) noexcept nogil:
    """Whether something holds for all bytes of a range, and of which place; SET_ACCESSED_BY is asked for a place."""
    cdef range_advice *a = all_advice
    while a != NULL:
        if same_kind(a, what, place) and a.start <= start and end <= a.end:
            where[0] = a.place
            return True
        a = a.next
    where[0] = NO_PLACE
    return False
