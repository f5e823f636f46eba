# Conditions of graphs: a word of device memory for each handle, which is its address.  Kernels set it
# (cudaGraphSetConditional), and conditional nodes do their bodies by it.
#
# The word stays while the graph that it was made for, a node or a launch knows it.  Guarded by work_lock.

cdef struct condition:
    condition *next            # of the graph that it was made for
    uint64_t address
    unsigned first             # at the begin of each launch, if it is assigned
    bint assigned
    bint taken                 # a node has it
    size_t users


cdef condition *new_condition(gpu *g, unsigned first, bint assigned) noexcept nogil:
    """With one user; NULL: no memory."""
    cdef condition *w = <condition *>calloc(1, sizeof(condition))
    cdef block *n
    if w == NULL:
        return NULL
    pthread_mutex_lock(&memory_lock)
    n = area_alloc(&g.memory, sizeof(uint32_t), 512, GRAPH_MEMORY, NULL)
    if n != NULL:
        w.address = n.start
    pthread_mutex_unlock(&memory_lock)
    if n == NULL:
        free(w)
        return NULL
    (<uint32_t *>w.address)[0] = first
    mark_shadow(w.address, sizeof(uint32_t), SHADOW_WRITTEN)
    w.first, w.assigned, w.users = first, assigned, 1
    return w


cdef void leave_condition(condition *w) noexcept nogil:
    """A user goes."""
    w.users -= 1
    if w.users == 0:
        free_block_at(w.address, GRAPH_MEMORY, GRAPH_MEMORY)
        free(w)


cdef op *assign_condition(condition *w) noexcept nogil:
    """An operation that gives the word its first value.  NULL: no memory."""
    cdef op *o = new_op(FILL_OP, 0)
    if o != NULL:
        o.fill.to, o.fill.value, o.fill.unit = <char *>w.address, w.first, sizeof(uint32_t)
        o.fill.count = o.fill.height = 1
        o.fill.pitch = sizeof(uint32_t)
        pthread_mutex_lock(&memory_lock)
        pin_range(w.address, sizeof(uint32_t), &o.pins[0])
        pthread_mutex_unlock(&memory_lock)
    return o
