# Memory pools: what they count.  A pool counts what is allocated from it; the device's memory is behind
# all of them, and what is freed goes back there at once, whatever the release threshold.

cdef struct pool:
    handle_head head
    gpu *device
    bint standard              # the device's own: it can't be destroyed
    bint leaving               # destroyed, but something of it is still allocated
    uint64_t limit             # 0: the device's memory
    uint64_t threshold
    uint32_t readers           # other devices whose kernels may use what is allocated from it (peers.pxi)
    int reuse[3]               # CU_MEMPOOL_ATTR_REUSE_...: kept, without effect
    uint64_t used, high        # bytes; guarded by memory_lock, as all above


cdef uint32_t pool_number(pool *p) noexcept nogil:
    """A pool's number in a block's flags."""
    return <uint32_t>((<size_t>p - <size_t>handle_ranges[POOL].base) / handle_ranges[POOL].step) + 1


cdef inline pool *pool_of(const block *n) noexcept nogil:
    """The pool of a block that has one."""
    return <pool *>(handle_ranges[POOL].base + (n.flags - 1) * handle_ranges[POOL].step)


cdef void leave_pool(block *n) noexcept nogil:
    """A block of a pool is freed.  With memory_lock held."""
    cdef pool *p = pool_of(n)
    p.used -= n.length
    if p.leaving and p.used == 0:
        free_handle(POOL, p)
