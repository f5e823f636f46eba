# With GOMPY_CHECK: memory of the device that the program can write by itself, pinned and managed.
#
# It counts as written, but for what is copied there from memory that nothing had written.  The program tells nobody
# when it writes that.  So what was copied is kept, and before somebody goes by such marks it is compared: bytes that
# have another value since have been written.

cdef struct unset_copy:
    unset_copy *next
    uint64_t start, size
    uint8_t *bytes             # behind this

cdef unset_copy *unset_copies  # one for a block of the host's at most; guarded by memory_lock
cdef uint32_t unset_copy_count
cdef uint32_t host_reaches       # there is such memory, or has been; kernels have it at its address

cdef extern from *:
    """
    /* Bytes that are not as they were are written.  Whether there are others that nothing has written. */
    __attribute__ ((optimize ("O3"))) static int
    shadow_rewritten (uint8_t *restrict marks, const uint8_t *restrict now, const uint8_t *restrict had, size_t n)
    {
      uint8_t unset = 0;
      for (size_t i = 0; i < n; i++)
        {
          marks[i] |= (uint8_t) (((marks[i] == 1) & (now[i] != had[i])) << 1);
          unset |= marks[i] == 1;
        }
      return unset;
    }
    """
    bint shadow_rewritten(uint8_t *marks, const uint8_t *now, const uint8_t *had, size_t n) nogil


cdef void drop_unset_copies(uint64_t address, uint64_t size) noexcept nogil:
    """Those that meet some memory are of no use any more.  With memory_lock held."""
    global unset_copy_count
    cdef unset_copy **at = &unset_copies
    cdef unset_copy *c
    while at[0] != NULL:
        c = at[0]
        if c.start < address + size and address < c.start + c.size:
            at[0] = c.next
            free(c)
            unset_copy_count -= 1
        else:
            at = &c.next


cdef unset_copy *room_for_copy(block *n, uint64_t address, uint64_t size) noexcept nogil:
    """Where the bytes of a copy to such a block are to be kept, with the others of the block: it may get one line by
    line.  Between them it is written, and nobody looks at what is there.  NULL: no memory.  With memory_lock held."""
    global unset_copies, unset_copy_count
    cdef uint64_t start = address, end = address + size
    cdef unset_copy *c = unset_copies
    cdef unset_copy *joined
    while c != NULL and c.start - n.start >= n.length:
        c = c.next
    if c != NULL:
        if c.start <= start and end <= c.start + c.size:
            return c
        # With room for as much again: the next one is mostly beside it.
        if end > c.start + c.size:
            end = max(end, min(c.start + 2 * c.size, n.start + n.length))
        if start < c.start:
            start = min(start, max(c.start - c.size, n.start))
        start, end = min(start, c.start), max(end, c.start + c.size)
    joined = <unset_copy *>malloc(sizeof(unset_copy) + end - start)
    if joined == NULL:
        return NULL
    joined.start, joined.size, joined.bytes = start, end - start, <uint8_t *>(joined + 1)
    if c != NULL:
        memcpy(joined.bytes + (c.start - start), c.bytes, c.size)
        drop_unset_copies(c.start, c.size)
    joined.next = unset_copies
    unset_copies = joined
    unset_copy_count += 1
    return joined


cdef void keep_unset_copy(gpu *g, block *n, uint64_t address, uint64_t size) noexcept nogil:
    """Such memory has a copy, and its marks.  With memory_lock held."""
    cdef unset_copy *c = room_for_copy(n, address, size)
    if c != NULL:
        memcpy(c.bytes + (address - c.start), <const void *>address, size)
    else:
        set_marks(g, address, size, SHADOW_WRITTEN)


cdef void see_host_writes(uint64_t address, uint64_t size) noexcept nogil:
    """Somebody is about to go by the marks of some memory.  Without memory_lock."""
    cdef unset_copy *c
    cdef unset_copy *next
    cdef gpu *g = gpu_of(address)
    cdef uint64_t start, n
    need_marks()
    if g == NULL or load32(&unset_copy_count, RELAXED) == 0:
        return
    pthread_mutex_lock(&memory_lock)
    c = unset_copies
    while c != NULL:
        next = c.next
        if c.start < address + size and address < c.start + c.size:
            start = max(c.start, address)
            n = min(c.start + c.size, address + size) - start
            settle_locked(g, start, n)
            if shadow_rewritten(shadow_of(g, start), <const uint8_t *>start, c.bytes + (start - c.start), n) == 0 \
                    and n == c.size:
                drop_unset_copies(start, n)
        c = next
    pthread_mutex_unlock(&memory_lock)


cdef int host_wrote(void *user, uint64_t address, size_t size) noexcept nogil:
    """A kernel comes to memory that nothing has written, as far as its marks say: whether the program has."""
    if gpu_of(address) == NULL:
        return False
    see_host_writes(address, size)
    return memchr(shadow_of(gpu_of(address), address), SHADOW_WRITTEN, size) != NULL
