# A memory of a few blocks that were allocated without pages, and how much of them, from their begin on, has been copied
# to since.  large_copies.pxi asks it how to copy.  Nothing but speed depends on it.

cdef extern from *:
    """
    #define FIRST_SIZE (256u << 10)  /* smaller copies aren't worth it */
    #define FIRST_ZONES 16
    """
    size_t FIRST_SIZE
    int FIRST_ZONES


cdef void note_block(mic_device *d, uint64_t offset, size_t size, bint fresh) noexcept nogil:
    """A block of at least FIRST_SIZE has been allocated; ``fresh``: as far as is known it has no pages.

    Where there are too many, the oldest is forgotten.
    """
    cdef int i, place = -1
    pthread_mutex_lock(&d.zones_lock)
    for i in range(FIRST_ZONES):
        if d.zones[i].begin < offset + size and offset < d.zones[i].end:
            d.zones[i].end = 0
        if d.zones[i].end == 0:
            place = i
    if fresh:
        if place < 0:
            place = d.oldest_zone
            d.oldest_zone = (place + 1) % FIRST_ZONES
        d.zones[place].begin = offset
        d.zones[place].end = offset + size
    pthread_mutex_unlock(&d.zones_lock)


cdef bint take_fresh(mic_device *d, uint64_t offset, size_t n) noexcept nogil:
    """Whether a range that is now copied to has no pages, as far as is known; asked once."""
    cdef int i
    cdef bint fresh = False
    pthread_mutex_lock(&d.zones_lock)
    for i in range(FIRST_ZONES):
        if d.zones[i].begin <= offset and offset + n <= d.zones[i].end:
            d.zones[i].begin = offset + n
            if d.zones[i].end - (offset + n) < FIRST_SIZE:
                d.zones[i].end = 0
            fresh = True
            break
    pthread_mutex_unlock(&d.zones_lock)
    return fresh


cdef bint is_fresh(mic_device *d, uint64_t offset, size_t n) noexcept nogil:
    """Whether a part of a range has no pages, as far as is known."""
    cdef int i
    cdef bint fresh = False
    pthread_mutex_lock(&d.zones_lock)
    for i in range(FIRST_ZONES):
        fresh |= d.zones[i].begin < offset + n and offset < d.zones[i].end
    pthread_mutex_unlock(&d.zones_lock)
    return fresh
