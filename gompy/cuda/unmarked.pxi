# With GOMPY_CHECK: what kernels have written that make no marks (looks.pxi).
#
# All memory in use counts as written, before somebody goes by marks again.  Once for all such kernels: then it is what
# is in use at that time, also what has been allocated since.

cdef bint blind_ran            # some have run, and what they may have written is not marked


cdef void mark_block_written(gpu *g, const block *n) noexcept nogil:
    """All of a block counts as written, but for gaps in it.  With memory_lock held."""
    cdef uint64_t at = n.start - g.base
    cdef uint64_t first = round_up(at, ROW), end = (at + n.length) & ~<uint64_t>(ROW - 1), row, count
    cdef uint8_t *states = g.view.states
    if n.length == 0:
        return
    if first >= end:
        shadow_written(g.view.shadow + at, n.length)
        return
    shadow_written(g.view.shadow + at, first - at)
    row, end = first >> PTX_WHOLE_SHIFT, end >> PTX_WHOLE_SHIFT
    while row < end:
        count = shadow_same(states + row, 0xff, end - row)
        if states[row] == PTX_WHOLE_ALLOCATED and shadow_users == 0:
            memset(g.view.shadow + (row << PTX_WHOLE_SHIFT), SHADOW_WRITTEN, count << PTX_WHOLE_SHIFT)
            memset(states + row, PTX_WHOLE_WRITTEN, count)
        elif states[row] != PTX_WHOLE_WRITTEN:
            shadow_written(g.view.shadow + (row << PTX_WHOLE_SHIFT), count << PTX_WHOLE_SHIFT)
        row += count
    shadow_written(g.view.shadow + (row << PTX_WHOLE_SHIFT), at + n.length - (row << PTX_WHOLE_SHIFT))


cdef void mark_living(gpu *g, const block *n) noexcept nogil:
    """The same of an area's blocks in use."""
    while n != NULL:
        mark_block_written(g, n)
        n = n.living_next


cdef void see_blind_writes() noexcept nogil:
    """Somebody is about to go by marks: kernels without looks may have written all memory in use.  (What cuMemMap has
    mapped counts as written anyway.)  With memory_lock held."""
    global blind_ran
    cdef gpu *g
    cdef int i
    if not blind_ran:
        return
    settle_all()
    for i in range(gpu_count):
        g = &gpus[i]
        mark_living(g, g.memory.living)
        mark_living(g, g.pinned.living)
        mark_living(g, g.heap.living)
    blind_ran = blind_kernels != 0


cdef void need_marks() noexcept nogil:
    """The same without memory_lock."""
    if blind_ran:
        pthread_mutex_lock(&memory_lock)
        see_blind_writes()
        pthread_mutex_unlock(&memory_lock)
