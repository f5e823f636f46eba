# Advice on managed memory, which the emulated device needs none of: it is kept, so that a program can ask for it
# (cuMemRangeGetAttribute).  A list, the newest first, of what was said of which bytes.  Guarded by memory_lock.

cdef enum:
    PREFETCHED = 100               # beside CUmem_advise: a prefetch
    NO_PLACE = -2                  # CU_DEVICE_INVALID
    HOST_PLACE = -1                # CU_DEVICE_CPU

cdef struct range_advice:
    range_advice *next
    uint64_t start, end
    int what                       # CUmem_advise, the odd one of two; or PREFETCHED
    int place                      # the device, or HOST_PLACE
    bint given                     # or taken back

cdef range_advice *all_advice


cdef bint replaces_advice(const range_advice *a, const range_advice *b) noexcept nogil:
    """Whether nothing of b is left once a is said."""
    return a.what == b.what and a.start <= b.start and b.end <= a.end and (
        a.what != CU_MEM_ADVISE_SET_ACCESSED_BY or a.place == b.place)


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


cdef int note_advice(uint64_t start, uint64_t size, int what, int place, bint given) noexcept nogil:
    """Keep what was said of a range, if it is of managed memory."""
    global all_advice
    cdef range_advice *a
    cdef range_advice **link = &all_advice
    cdef range_advice *b
    cdef block *n = block_at(start, NULL, NULL)
    if n == NULL or n.use != MANAGED or size == 0:
        return CUDA_SUCCESS
    a = <range_advice *>malloc(sizeof(range_advice))
    if a == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    a.start, a.end, a.what, a.place, a.given = start, start + size, what, place, given
    while link[0] != NULL:
        b = link[0]
        if replaces_advice(a, b):
            link[0] = b.next
            free(b)
        else:
            link = &b.next
    a.next = all_advice
    all_advice = a
    return CUDA_SUCCESS


cdef bint advised_at(uint64_t address, int what, int place, int *where) noexcept nogil:
    """What holds for a byte: whether it is given, and the place; of SET_ACCESSED_BY for a place."""
    cdef range_advice *a = all_advice
    where[0] = NO_PLACE
    while a != NULL:
        if a.what == what and a.start <= address < a.end and (
            what != CU_MEM_ADVISE_SET_ACCESSED_BY or a.place == place
        ):
            if a.given:
                where[0] = a.place
            return a.given
        a = a.next
    return False


cdef bint all_advised(uint64_t start, uint64_t end, int what, int place, int *where) noexcept nogil:
    """The same for a range: given, if it is for all of its bytes, and of one place."""
    cdef range_advice *a = all_advice
    cdef int other = NO_PLACE
    if not advised_at(start, what, place, where):
        return False
    while a != NULL:  # what holds can change only where something begins or ends
        if (start < a.start < end and (not advised_at(a.start, what, place, &other) or other != where[0])) or (
                start < a.end < end and (not advised_at(a.end, what, place, &other) or other != where[0])):
            where[0] = NO_PLACE
            return False
        a = a.next
    return True
