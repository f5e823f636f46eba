# Memory of graphs: a node allocates it, another one frees it, and its address is the same in every launch.
#
# The block is taken when the node is made, and stays while a graph or an executable has a node that knows it.  Whether
# it is allocated is what the launches so far say, in the order in which they were asked for; with GOMPY_CHECK its
# shadow follows in the stream's order.  Guarded by work_lock.

cdef struct graph_memory:
    graph_memory *next
    uint64_t address
    size_t size
    gpu *device
    size_t users               # nodes that know it
    bint there                 # allocated, by the launches so far
    bint then                  # the same, while a launch is looked at
    bint inside                # freed by the graph that allocates it

cdef graph_memory *graph_memories


cdef graph_memory *graph_memory_at(uint64_t address) noexcept nogil:
    """That which begins at an address, or NULL."""
    cdef graph_memory *m = graph_memories
    while m != NULL and m.address != address:
        m = m.next
    return m


cdef uint64_t graph_bytes(gpu *g, bint there) noexcept nogil:
    """Of all of a device, or of what is allocated."""
    cdef graph_memory *m = graph_memories
    cdef uint64_t sum = 0
    while m != NULL:
        if m.device == g and (m.there or not there):
            sum += m.size
        m = m.next
    return sum


cdef void note_graph_bytes(gpu *g) noexcept nogil:
    """Keep the high marks."""
    cdef uint64_t used = graph_bytes(g, True)
    cdef uint64_t reserved = graph_bytes(g, False)
    if used > g.graph_used_high:
        g.graph_used_high = used
    if reserved > g.graph_reserved_high:
        g.graph_reserved_high = reserved


cdef graph_memory *new_graph_memory(gpu *g, size_t size, uint32_t readers) noexcept nogil:
    """A block that is not allocated yet, for other devices, too; NULL: no memory."""
    global graph_memories
    cdef graph_memory *m = <graph_memory *>calloc(1, sizeof(graph_memory))
    cdef block *n
    if m == NULL:
        return NULL
    pthread_mutex_lock(&memory_lock)
    n = area_alloc(&g.memory, size, 512, GRAPH_MEMORY, NULL)
    if n != NULL:
        m.address, m.size, m.device = n.start, size, g
        n.readers = readers
    pthread_mutex_unlock(&memory_lock)
    if n == NULL:
        free(m)
        return NULL
    mark_shadow(m.address, size, 0)
    m.next = graph_memories
    graph_memories = m
    note_graph_bytes(g)
    return m


cdef void leave_graph_memory(graph_memory *m) noexcept nogil:
    """A node goes.  With the last one the memory does; what is allocated is the program's to free from then on."""
    cdef graph_memory **link = &graph_memories
    cdef block *n
    m.users -= 1
    if m.users:
        return
    while link[0] != m:
        link = &link[0].next
    link[0] = m.next
    if m.there:
        pthread_mutex_lock(&memory_lock)
        n = block_at(m.address, NULL, NULL)
        if n != NULL:
            n.use = ALLOCATION
        pthread_mutex_unlock(&memory_lock)
    else:
        free_block_at(m.address, GRAPH_MEMORY, GRAPH_MEMORY)
    free(m)


cdef int free_graph_memory(uint64_t address, bint *found) noexcept nogil:
    """What the program frees, if it is memory of a graph: allocated, and not freed by that graph."""
    cdef graph_memory *m
    cdef int r = CUDA_SUCCESS
    found[0] = False
    if graph_memories == NULL:
        return r
    pthread_mutex_lock(&work_lock)
    m = graph_memory_at(address)
    if m != NULL:
        found[0] = True
        if m.there and not m.inside:
            m.there = False
        else:
            r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&work_lock)
    return r


cdef op *memory_work(graph_memory *m, bint there) noexcept nogil:
    """An operation that has kernels know whether memory is allocated.  Until it is over, the block is not given to
    others: who launches may destroy the graph meanwhile.  NULL: no memory."""
    cdef op *o = new_op(MEMORY_OP, 0)
    if o != NULL:
        o.address, o.number = m.address, m.size
        o.data = <void *>(<size_t>(SHADOW_ALLOCATED if there else 0))
        pthread_mutex_lock(&memory_lock)
        pin_range(m.address, 1, &o.pins[0])
        pthread_mutex_unlock(&memory_lock)
    return o
