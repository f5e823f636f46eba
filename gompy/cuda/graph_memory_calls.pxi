# cuGraphAddMemAllocNode, cuGraphAddMemFreeNode, and what is asked about memory of graphs.

cdef struct allocation_node:   # CUDA_MEM_ALLOC_NODE_PARAMS
    pool_properties properties
    uint64_t rest[7]           # of CUmemPoolProps
    const pool_access *access
    size_t accesses
    size_t size
    CUdeviceptr address


cdef int check_allocation(const allocation_node *of, gpu **to, uint32_t *readers) noexcept nogil:
    """Whose memory it is to be: a device's, and which other devices may use it."""
    cdef size_t i
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if of == NULL or of.size == 0 or (of.accesses and of.access == NULL):
        return CUDA_ERROR_INVALID_VALUE
    if of.properties.kind != CU_MEM_ALLOCATION_TYPE_PINNED:
        return CUDA_ERROR_INVALID_VALUE
    if of.properties.handles != 0 or of.properties.location.kind != CU_MEM_LOCATION_TYPE_DEVICE:
        return CUDA_ERROR_NOT_SUPPORTED
    to[0] = visible_device(of.properties.location.number)
    if to[0] == NULL:
        return CUDA_ERROR_INVALID_DEVICE
    for i in range(of.accesses):
        r = change_readers(&of.access[i], to[0], readers)
        if r != CUDA_SUCCESS:
            break
    return r


cdef int add_memory_node(void **to, void *p, void **before, const uint64_t *edges, size_t count, int kind, int r,
                         gpu *g, size_t size, uint32_t readers, CUdeviceptr *address) noexcept nogil:
    """Add a node that allocates or frees, if its parameters were good."""
    cdef node_list known
    cdef node *n = NULL
    cdef graph_memory *m = NULL
    memset(&known, 0, sizeof(known))
    pthread_mutex_lock(&work_lock)
    if r == CUDA_SUCCESS:
        r = check_nodes(p, before, edges, count, &known) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS and (<graph *>p).inside:  # of a node: what a launch makes of memory is not followed there
        r = CUDA_ERROR_NOT_SUPPORTED
    if r == CUDA_SUCCESS and kind == CU_GRAPH_NODE_TYPE_MEM_FREE:
        r = name_freed(<graph *>p, address[0], &m)
    if r == CUDA_SUCCESS:
        n = add_node(<graph *>p, kind, NULL, 0, &known)
        if n == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS and m == NULL:
        m = new_graph_memory(g, size, readers)
        if m == NULL:
            remove_node(n)
            r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        know_memory(n, m)
        address[0] = m.address
        to[0] = n
    pthread_mutex_unlock(&work_lock)
    forget_list(&known)
    return r


cdef public int cuGraphAddMemAllocNode(void **to, void *p, void **before, size_t n, allocation_node *of) noexcept nogil:
    """Memory for what comes after it; the address is known at once."""
    cdef gpu *g = NULL
    cdef uint32_t readers = 0
    cdef int r = check_allocation(of, &g, &readers)
    if r != CUDA_SUCCESS:
        return r
    return add_memory_node(to, p, before, NULL, n, CU_GRAPH_NODE_TYPE_MEM_ALLOC, r, g, of.size, readers, &of.address)


cdef public int cuGraphAddMemFreeNode(void **to, void *p, void **before, size_t n, CUdeviceptr address) noexcept nogil:
    """Free memory of this graph or of another."""
    return add_memory_node(to, p, before, NULL, n, CU_GRAPH_NODE_TYPE_MEM_FREE, api_state(), NULL, 0, 0, &address)


cdef int add_any_node(void **to, void *p, void **before, const uint64_t *edges, size_t n,
                      node_parameters *of) noexcept nogil:
    """A node of any kind; the parameters of one that allocates get its address."""
    cdef node_form f
    cdef gpu *g = NULL
    cdef uint32_t readers = 0
    cdef int r
    if of != NULL and of.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        r = check_allocation(<allocation_node *>&of.of, &g, &readers)
        if r != CUDA_SUCCESS:
            return r
        return add_memory_node(to, p, before, edges, n, of.kind, r, g, (<allocation_node *>&of.of).size,
                               readers, &(<allocation_node *>&of.of).address)
    if of != NULL and of.kind == CU_GRAPH_NODE_TYPE_MEM_FREE:
        return add_memory_node(to, p, before, edges, n, of.kind, api_state(), NULL, 0, 0, <CUdeviceptr *>&of.of)
    if of != NULL and of.kind == CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return add_conditional(to, p, before, edges, n, <conditional_node *>&of.of)
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, edges, n, form_any(of, &f), &f)


cdef public int cuGraphAddNode(void **to, void *p, void **before, size_t n, node_parameters *of) noexcept nogil:
    """A node of any kind."""
    return add_any_node(to, p, before, NULL, n, of)


cdef public int cuGraphAddNode_v2(void **to, void *p, void **before, const uint64_t *edges, size_t n,
                                  node_parameters *of) noexcept nogil:
    """CUDA 12.3's; edges have no data."""
    return add_any_node(to, p, before, edges, n, of)


cdef public int cuGraphMemAllocNodeGetParams(void *p, allocation_node *to) noexcept nogil:
    """What it allocates, and where."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        memset(to, 0, sizeof(to[0]))
        to.properties.kind = CU_MEM_ALLOCATION_TYPE_PINNED
        to.properties.location.kind = CU_MEM_LOCATION_TYPE_DEVICE
        to.properties.location.number = device_number(n.memory.device)
        to.size, to.address = n.memory.size, n.memory.address
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphMemFreeNodeGetParams(void *p, CUdeviceptr *to) noexcept nogil:
    """What it frees."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_MEM_FREE, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = n.memory.address
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuDeviceGraphMemTrim(int number) noexcept nogil:
    """Memory of graphs that are gone is free already."""
    cdef gpu *g = NULL
    return enter_device(number, &g)


cdef public int cuDeviceGetGraphMemAttribute(int number, int which, uint64_t *to) noexcept nogil:
    """CU_GRAPH_MEM_ATTR_*: bytes that are allocated, that are kept for graphs, and their high marks."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if which == CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
        to[0] = graph_bytes(g, True)
    elif which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        to[0] = g.graph_used_high
    elif which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
        to[0] = graph_bytes(g, False)
    elif which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        to[0] = g.graph_reserved_high
    else:
        r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuDeviceSetGraphMemAttribute(int number, int which, const uint64_t *value) noexcept nogil:
    """A high mark can be set to 0: to what is there now."""
    cdef gpu *g = NULL
    cdef int r = enter_device(number, &g)
    if r != CUDA_SUCCESS:
        return r
    if value == NULL or value[0] != 0:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if which == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
        g.graph_used_high = graph_bytes(g, True)
    elif which == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        g.graph_reserved_high = graph_bytes(g, False)
    else:
        r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&work_lock)
    return r
