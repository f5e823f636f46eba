# Other devices' memory in kernels: whose kernels may use which block.
#
# cuCtxEnablePeerAccess opens all that a device has to a context's kernels, but what has rules of its own: memory of
# pools and of graphs, and mappings say themselves which devices use them.  Pinned and managed memory is everybody's.
#
# The devices' windows lie side by side (start.pxi).  A launch that may use all of a neighbour's memory gets a window
# over both, so that its accesses there are as fast as all others.  Of what is left the executor asks (reach_memory).


cdef inline bint can_be_peers(const gpu *one, const gpu *other) noexcept nogil:
    """Whether a device's kernels can use the other one's memory."""
    return one != other and not peers_denied


cdef inline bint is_there_still(const peer *p) noexcept nogil:
    """Whether a context that was opened to another one has not been destroyed.  With memory_lock held."""
    return is_handle(CONTEXT, p.of) and (<context *>p.of).head.serial == p.serial


cdef int peer_place(context *c, void *of) noexcept nogil:
    """Where a context is among those that were opened to another, or -1.  With memory_lock held."""
    cdef int i
    for i in range(c.peer_count):
        if c.peers[i].of == of and is_there_still(&c.peers[i]):
            return i
    return -1


cdef bint peer_enabled(context *c, const gpu *g) noexcept nogil:
    """Whether a context's kernels may use a device's memory.  With memory_lock held."""
    cdef int i
    for i in range(c.peer_count):
        if is_there_still(&c.peers[i]) and (<context *>c.peers[i].of).device == g:
            return True
    return False


cdef inline bint says_itself(const block *n) noexcept nogil:
    """Whether a block has rules of its own: one without an owner, that is no module's, is of a graph."""
    return n.use in (GRAPH_MEMORY, MAPPED, CLOSED) or (n.use == ALLOCATION and (n.flags != 0 or n.owner == NULL))


cdef bint may_use(context *c, const gpu *g, const block *n) noexcept nogil:
    """Whether a context's kernels may use a block of another device.  With memory_lock held."""
    cdef uint32_t own = reader_bit(c.device)
    if n.use in (HOST_MEMORY, MANAGED) or n.readers & own:
        return True
    if n.use == ALLOCATION and n.flags and pool_of(n).readers & own:
        return True
    return not says_itself(n) and peer_enabled(c, g)


cdef bint all_open(context *c, const gpu *g) noexcept nogil:
    """Whether a context's kernels may use all that a device has.  With memory_lock held."""
    cdef const handle_range *r = &handle_ranges[POOL]
    cdef const pool *p
    cdef size_t i
    if not peer_enabled(c, g) or g.reservations != NULL or g.graph_reserved_high:
        return False
    for i in range(r.used):
        p = <const pool *>(r.base + i * r.step)
        if p.device == g and p.used and not p.readers & reader_bit(c.device):
            return False
    return True


cdef int reach_memory(const ptx_memory *memory, uint64_t address, uint64_t *start, uint64_t *size) noexcept nogil:
    """executor.h."""
    cdef context *c = <context *>memory.whose
    cdef gpu *g = NULL
    cdef block *n
    cdef bint good
    pthread_mutex_lock(&memory_lock)
    n = block_at(address, &g, NULL)
    good = c != NULL and n != NULL and may_use(c, g, n)
    if good:
        start[0], size[0] = n.start, n.length
    pthread_mutex_unlock(&memory_lock)
    return good


cdef void see_memory(context *c, ptx_memory *to) noexcept nogil:
    """Memory as a launch of a context has it, where there are several devices."""
    cdef int low = c.device.ordinal, high = c.device.ordinal
    to[0] = c.device.view
    to.whose = c
    if not side_by_side or c.peer_count == 0:
        return
    pthread_mutex_lock(&memory_lock)
    while low > 0 and all_open(c, &gpus[low - 1]):
        low -= 1
    while high + 1 < gpu_count and all_open(c, &gpus[high + 1]):
        high += 1
    pthread_mutex_unlock(&memory_lock)
    to.base, to.shadow, to.states = gpus[low].base, gpus[low].view.shadow, gpus[low].view.states
    to.size = gpus[high].base + gpus[high].window - to.base


cdef bint any_may_use(const gpu *own, const gpu *g, const block *n) noexcept nogil:
    """Whether kernels of some context of a device may use a block of another one.  With memory_lock held."""
    cdef handle_range *r = &handle_ranges[CONTEXT]
    cdef context *c
    cdef size_t i
    for i in range(r.used):
        c = <context *>(r.base + i * r.step)
        if is_handle(CONTEXT, c) and c.device == own and may_use(c, g, n):
            return True
    return False


cdef void describe_other(const gpu *own, const gpu *g, uint64_t address, const block *n, char *text,
                         size_t size) noexcept nogil:
    """What is added about an address of another device: whose it is, and what its use takes.  With memory_lock held."""
    cdef const char *call = b"cuCtxEnablePeerAccess"
    cdef size_t used = strlen(text)
    if n.use in (QUARANTINE, LEAVING) or address - n.start >= n.length or any_may_use(own, g, n):
        snprintf(text + used, size - used, b" of device %d", g.ordinal)
        return
    if n.use == MAPPED or n.use == CLOSED:
        call = b"cuMemSetAccess"
    elif n.use == ALLOCATION and n.flags:
        call = b"cuMemPoolSetAccess"
    elif says_itself(n):
        call = b"access of the node that allocates"
    snprintf(text + used, size - used, b" of device %d: peer access from device %d is not enabled (%s)", g.ordinal,
             own.ordinal, call)
