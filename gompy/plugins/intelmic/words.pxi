# GOMPY_CHECK: room for blocks that have nothing but a region's argument words.
#
# Only what the compiler makes of the region uses them.  So their pages are open for good, all of their marks are good,
# and a block that was freed is given out again.  Otherwise each launch would have a page opened, faulted on and closed.


cdef bint make_words_room(mic_device *d) noexcept nogil:
    """False: there is no room, or others have just made it."""
    cdef uint64_t offset
    pthread_mutex_lock(&d.idle_lock)
    if d.words_size == 0:
        pthread_mutex_unlock(&d.idle_lock)
        offset = guarded_alloc(d, WORDS_BLOCK * 64, True)
        if offset == ~<uint64_t>0:
            return False
        pthread_mutex_lock(&d.idle_lock)
        if d.words_size == 0:
            d.words_begin = offset
            store64(&d.words_free, ~<uint64_t>0, RELEASE)
            store64(&d.words_size, WORDS_BLOCK * 64, RELEASE)
            offset = ~<uint64_t>0
        pthread_mutex_unlock(&d.idle_lock)
        return offset == ~<uint64_t>0 or guarded_free(d, offset)
    pthread_mutex_unlock(&d.idle_lock)
    return True


cdef uint64_t words_alloc(mic_device *d, size_t size) noexcept nogil:
    """A block for argument words.  Returns its offset, or all ones: from elsewhere."""
    cdef uint64_t free_now
    if size > WORDS_BLOCK or d.preload[0] or not d.guarded:
        return ~<uint64_t>0
    if load64(&d.words_size, ACQUIRE) == 0 and not make_words_room(d):
        return ~<uint64_t>0
    free_now = load64(&d.words_free, ACQUIRE)
    while free_now:
        if cas64(&d.words_free, &free_now, free_now & (free_now - 1), False, ACQUIRE, RELAXED):
            return d.words_begin + <uint64_t>ctz64(free_now) * WORDS_BLOCK
    return ~<uint64_t>0


cdef bint words_free(mic_device *d, uint64_t start) noexcept nogil:
    """Take a block back.  False: none in use starts there."""
    cdef uint64_t bit = <uint64_t>1 << (start - d.words_begin) // WORDS_BLOCK
    if (start - d.words_begin) % WORDS_BLOCK or load64(&d.words_free, RELAXED) & bit:
        return False
    or64(&d.words_free, bit, RELEASE)
    return True
