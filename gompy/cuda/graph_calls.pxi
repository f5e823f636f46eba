# cuGraph*: graphs, and what their nodes wait for.


cdef public int cuGraphCreate(void **to, unsigned flags) noexcept nogil:
    """An empty graph."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = new_graph(False)
    return CUDA_SUCCESS if to[0] != NULL else CUDA_ERROR_OUT_OF_MEMORY


cdef public int cuGraphDestroy(void *p) noexcept nogil:
    """Destroy a graph and its nodes; executables that were made of it stay."""
    cdef graph *g = <graph *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p) or g.inside or g.growing != NULL:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        free_graph(g)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphClone(void **to, void *p) noexcept nogil:
    """A graph like another."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if to == NULL or not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    elif has_memory(<graph *>p):
        r = CUDA_ERROR_NOT_SUPPORTED
    else:
        to[0] = copy_graph(<graph *>p, False)
        if to[0] == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphNodeFindInClone(void **to, void *of, void *p) noexcept nogil:
    """A node's copy in a clone."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if to == NULL or not is_handle(NODE, of) or not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        to[0] = node_of_origin(<graph *>p, (<node *>of).head.serial)
        if to[0] == NULL:
            r = CUDA_ERROR_INVALID_VALUE
    pthread_mutex_unlock(&work_lock)
    return r


cdef bint answer_nodes(const node_list *found, void **to, size_t *n) noexcept nogil:
    """How many there are, and as many as there is room for; behind those NULL."""
    cdef size_t i
    if to != NULL:
        for i in range(n[0]):
            to[i] = found.of[i] if i < found.count else NULL
    if to == NULL or n[0] > found.count:
        n[0] = found.count
    return True


cdef int answer_graph(void *p, void **to, size_t *n, bint roots) noexcept nogil:
    """A graph's nodes, or those that wait for none."""
    cdef node_list found
    cdef node *m
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if n == NULL:
        return CUDA_ERROR_INVALID_VALUE
    memset(&found, 0, sizeof(found))
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        found.of = <node **>malloc(((<graph *>p).count + 1) * sizeof(node *))
        r = CUDA_SUCCESS if found.of != NULL else CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        m = (<graph *>p).first
        while m != NULL:
            if not roots or m.before.count == 0:
                found.of[found.count] = m
                found.count += 1
            m = m.next
        answer_nodes(&found, to, n)
    pthread_mutex_unlock(&work_lock)
    forget_list(&found)
    return r


cdef public int cuGraphGetNodes(void *p, void **to, size_t *n) noexcept nogil:
    """All nodes, in the order of their creation."""
    return answer_graph(p, to, n, False)


cdef public int cuGraphGetRootNodes(void *p, void **to, size_t *n) noexcept nogil:
    """The nodes that wait for none."""
    return answer_graph(p, to, n, True)


cdef public int cuGraphGetEdges_v2(void *p, void **first, void **then, uint64_t *edges, size_t *n) noexcept nogil:
    """What waits for what, and how many there are."""
    cdef node *m
    cdef size_t i, count = 0
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if n == NULL or (first == NULL) != (then == NULL):
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        m = (<graph *>p).first
        while m != NULL:
            for i in range(m.before.count):
                if first != NULL and count < n[0]:
                    first[count], then[count] = m.before.of[i], m
                    if edges != NULL:
                        edges[count] = 0
                count += 1
            m = m.next
        if first != NULL:
            for i in range(count, n[0]):
                first[i] = then[i] = NULL
        if first == NULL or n[0] > count:
            n[0] = count
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphGetEdges(void *p, void **first, void **then, size_t *n) noexcept nogil:
    """CUDA 10's."""
    return cuGraphGetEdges_v2(p, first, then, NULL, n)


cdef int answer_neighbours(void *p, void **to, uint64_t *edges, size_t *n, bint after) noexcept nogil:
    """What a node waits for, or what waits for it."""
    cdef node_list found
    cdef node *m
    cdef size_t i
    cdef bint good = True
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if n == NULL:
        return CUDA_ERROR_INVALID_VALUE
    memset(&found, 0, sizeof(found))
    pthread_mutex_lock(&work_lock)
    if not is_handle(NODE, p):
        r = CUDA_ERROR_INVALID_VALUE
    elif not after:
        good = list_all(&found, &(<node *>p).before)
    else:
        m = (<node *>p).of.first
        while m != NULL:
            if is_listed(&m.before, <node *>p):
                good = good and list_node(&found, m)
            m = m.next
    if r == CUDA_SUCCESS and not good:
        r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        if to != NULL and edges != NULL:
            for i in range(n[0]):
                edges[i] = 0
        answer_nodes(&found, to, n)
    pthread_mutex_unlock(&work_lock)
    forget_list(&found)
    return r


cdef public int cuGraphNodeGetDependencies(void *p, void **to, size_t *n) noexcept nogil:
    """What a node waits for."""
    return answer_neighbours(p, to, NULL, n, False)


cdef public int cuGraphNodeGetDependencies_v2(void *p, void **to, uint64_t *edges, size_t *n) noexcept nogil:
    """CUDA 12.3's."""
    return answer_neighbours(p, to, edges, n, False)


cdef public int cuGraphNodeGetDependentNodes(void *p, void **to, size_t *n) noexcept nogil:
    """What waits for a node."""
    return answer_neighbours(p, to, NULL, n, True)


cdef public int cuGraphNodeGetDependentNodes_v2(void *p, void **to, uint64_t *edges, size_t *n) noexcept nogil:
    """CUDA 12.3's."""
    return answer_neighbours(p, to, edges, n, True)


cdef int change_edges(void *p, void **first, void **then, const uint64_t *edges, size_t n, bint add) noexcept nogil:
    """Add edges that are not there, or remove some that are: all or none."""
    cdef size_t i, j
    cdef node *m
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p) or (n and (first == NULL or then == NULL)):
        r = CUDA_ERROR_INVALID_VALUE
    elif not add and n and has_memory(<graph *>p):
        r = CUDA_ERROR_NOT_SUPPORTED
    for i in range(n):
        if r != CUDA_SUCCESS:
            break
        m = <node *>then[i]
        if not is_handle(NODE, first[i]) or not is_handle(NODE, m) or m == first[i]:
            r = CUDA_ERROR_INVALID_VALUE
        elif m.of != p or (<node *>first[i]).of != p or is_listed(&m.before, <node *>first[i]) == add:
            r = CUDA_ERROR_INVALID_VALUE
        elif edges != NULL and edges[i] != 0:
            r = CUDA_ERROR_NOT_SUPPORTED
    for i in range(n):
        if r != CUDA_SUCCESS:
            break
        m = <node *>then[i]
        if add:
            if not list_node(&m.before, <node *>first[i]):
                r = CUDA_ERROR_OUT_OF_MEMORY
        else:
            unlist_node(&m.before, <node *>first[i])
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddDependencies(void *p, void **first, void **then, size_t n) noexcept nogil:
    """Nodes wait for others."""
    return change_edges(p, first, then, NULL, n, True)


cdef public int cuGraphAddDependencies_v2(void *p, void **first, void **then, const uint64_t *edges,
                                          size_t n) noexcept nogil:
    """CUDA 12.3's; edges have no data."""
    return change_edges(p, first, then, edges, n, True)


cdef public int cuGraphRemoveDependencies(void *p, void **first, void **then, size_t n) noexcept nogil:
    """Nodes do not wait for others any more."""
    return change_edges(p, first, then, NULL, n, False)


cdef public int cuGraphRemoveDependencies_v2(void *p, void **first, void **then, const uint64_t *edges,
                                             size_t n) noexcept nogil:
    """CUDA 12.3's; edges have no data."""
    return change_edges(p, first, then, edges, n, False)


cdef public int cuGraphDestroyNode(void *p) noexcept nogil:
    """Take a node out of its graph, with its edges.  Not while its graph is captured into, nor if it has memory."""
    cdef node *n = <node *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if not is_handle(NODE, p) or n.of.growing != NULL:
        r = CUDA_ERROR_INVALID_VALUE
    elif has_memory(n.of):
        r = CUDA_ERROR_NOT_SUPPORTED
    else:
        remove_node(n)
    pthread_mutex_unlock(&work_lock)
    return r


cdef const char *type_text(int kind) noexcept nogil:
    """What cuGraphDebugDotPrint calls a kind of nodes."""
    if kind == CU_GRAPH_NODE_TYPE_KERNEL:
        return b"KERNEL"
    if kind == CU_GRAPH_NODE_TYPE_MEMCPY:
        return b"MEMCPY"
    if kind == CU_GRAPH_NODE_TYPE_MEMSET:
        return b"MEMSET"
    if kind == CU_GRAPH_NODE_TYPE_HOST:
        return b"HOST"
    if kind == CU_GRAPH_NODE_TYPE_GRAPH:
        return b"GRAPH"
    if kind == CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return b"WAIT_EVENT"
    if kind == CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return b"CONDITIONAL"
    if kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return b"MEM_ALLOC"
    if kind == CU_GRAPH_NODE_TYPE_MEM_FREE:
        return b"MEM_FREE"
    return b"EVENT_RECORD" if kind == CU_GRAPH_NODE_TYPE_EVENT_RECORD else b"EMPTY"


cdef void print_nodes(FILE *file, graph *g, int *graphs) noexcept nogil:
    """A graph as a cluster of dot's language, its children behind it."""
    cdef int number = graphs[0]
    cdef node *n = g.first
    cdef op *o
    cdef int at = 0
    cdef size_t i
    graphs[0] += 1
    fprintf(file, b"subgraph cluster_%d {\nlabel=\"graph_%d\" graph[style=\"dashed\"];\n", number, number)
    while n != NULL:
        n.mark = at
        fprintf(file, b"\"graph_%d_node_%d\"[shape=\"%s\" label=\"%d\n%s", number, at,
                pick_text(n.kind == CU_GRAPH_NODE_TYPE_KERNEL, b"octagon", b"rectangle"), at, type_text(n.kind))
        o = n.work
        if o != NULL and o.kind == LAUNCH_OP:
            if is_handle(FUNCTION, o.kernel) and o.kernel.head.serial == n.serial:
                fprintf(file, b"\n%s", o.kernel.name)
            fprintf(file, b"\n(%u,%u,%u) x (%u,%u,%u), %u", o.config.grid[0], o.config.grid[1], o.config.grid[2],
                    o.config.block[0], o.config.block[1], o.config.block[2], o.config.shared_bytes)
        elif o != NULL and o.kind == COPY_OP:
            fprintf(file, b"\n%p to %p\n%zu x %zu x %zu", o.copy.of, o.copy.to, o.copy.width, o.copy.height,
                    o.copy.depth)
        elif o != NULL and o.kind == FILL_OP:
            fprintf(file, b"\n%p\n%zu x %zu, %u of %u", o.fill.to, o.fill.count, o.fill.height, o.fill.value,
                    o.fill.unit)
        elif o != NULL and o.kind == HOST_OP:
            fprintf(file, b"\n%p", <void *>o.host_call)
        elif n.memory != NULL:
            fprintf(file, b"\n%p\n%zu", <void *>n.memory.address, n.memory.size)
        fprintf(file, b"\"];\n")
        at += 1
        n = n.next
    n = g.first
    while n != NULL:
        for i in range(n.before.count):
            fprintf(file, b"\"graph_%d_node_%d\" -> \"graph_%d_node_%d\";\n", number, n.before.of[i].mark, number,
                    n.mark)
        n = n.next
    fprintf(file, b"}\n")
    n = g.first
    while n != NULL:
        if n.child != NULL:
            print_nodes(file, n.child, graphs)
        n = n.next


cdef public int cuGraphDebugDotPrint(void *p, const char *path, unsigned flags) noexcept nogil:
    """Write a graph for dot.  The flags, which say how much, make no difference."""
    cdef FILE *file
    cdef int fd, graphs = 0
    cdef bint good
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if path == NULL or not is_handle(GRAPH, p):
        return CUDA_ERROR_INVALID_VALUE
    fd = gompy_open_to_replace(path)
    file = fdopen(fd, b"w") if fd >= 0 else NULL
    if file == NULL:
        if fd >= 0:
            close(fd)
        return CUDA_ERROR_OPERATING_SYSTEM
    pthread_mutex_lock(&work_lock)
    fprintf(file, b"digraph dot {\n")
    print_nodes(file, <graph *>p, &graphs)
    fprintf(file, b"}\n")
    pthread_mutex_unlock(&work_lock)
    good = ferror(file) == 0
    return CUDA_SUCCESS if fclose(file) == 0 and good else CUDA_ERROR_OPERATING_SYSTEM
