# cuGraphConditionalHandleCreate, and conditional nodes: bodies that are done if, while, or by which number a word is.

cdef struct conditional_node:  # CUDA_CONDITIONAL_NODE_PARAMS
    uint64_t handle
    int kind                   # CU_GRAPH_COND_TYPE_*
    unsigned size
    void **bodies              # answered
    void *context


cdef public int cuGraphConditionalHandleCreate(uint64_t *to, void *p, void *c, unsigned first,
                                               unsigned flags) noexcept nogil:
    """A word for a conditional node of a graph, on a context's device, or on the current one's."""
    cdef context *of = <context *>c
    cdef condition *w
    cdef int r = api_state()
    if r == CUDA_SUCCESS and c == NULL:
        r = current_context(&of)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags & ~<unsigned>CU_GRAPH_COND_ASSIGN_DEFAULT or not is_handle(CONTEXT, of):
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    else:
        w = new_condition(of.device, first, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0)
        if w == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
        else:
            w.next = (<graph *>p).conditions
            (<graph *>p).conditions = w
            to[0] = w.address
    pthread_mutex_unlock(&work_lock)
    return r


cdef graph *new_bodies(unsigned count) noexcept nogil:
    """A graph with a node for each body, which is that node's child.  NULL: no memory."""
    cdef graph *made = new_graph(True)
    cdef node *n
    cdef unsigned i
    for i in range(count):
        n = add_node(made, CU_GRAPH_NODE_TYPE_GRAPH, NULL, 0, NULL) if made != NULL else NULL
        if n != NULL:
            n.child = new_graph(True)
        if n == NULL or n.child == NULL:
            if made != NULL:
                free_graph(made)
            return NULL
    return made


cdef int add_conditional(void **to, void *p, void **before, const uint64_t *edges, size_t n,
                         conditional_node *of) noexcept nogil:
    """A conditional node, and its empty bodies.  A handle is for one node of the graph that it was made for."""
    cdef node_form f
    cdef condition *w = NULL
    cdef node *m
    cdef void **bodies
    cdef unsigned i
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if of.kind not in (CU_GRAPH_COND_TYPE_IF, CU_GRAPH_COND_TYPE_WHILE, CU_GRAPH_COND_TYPE_SWITCH) or of.size == 0:
        return CUDA_ERROR_INVALID_VALUE
    if of.kind != CU_GRAPH_COND_TYPE_SWITCH and of.size > (2 if of.kind == CU_GRAPH_COND_TYPE_IF else 1):
        return CUDA_ERROR_INVALID_VALUE
    bodies = <void **>calloc(of.size, sizeof(void *))
    memset(&f, 0, sizeof(f))
    pthread_mutex_lock(&work_lock)
    if is_handle(GRAPH, p):
        w = (<graph *>p).conditions
        while w != NULL and w.address != of.handle:
            w = w.next
    if w == NULL or w.taken:
        r = CUDA_ERROR_INVALID_VALUE
    else:
        f.kind, f.child = CU_GRAPH_NODE_TYPE_CONDITIONAL, new_bodies(of.size)
        if f.child == NULL or bodies == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
        w.taken = r == CUDA_SUCCESS
    if r == CUDA_SUCCESS:
        w.users += 1
    pthread_mutex_unlock(&work_lock)
    r = add_form(to, p, before, edges, n, r, &f)
    pthread_mutex_lock(&work_lock)
    if r == CUDA_SUCCESS:
        (<node *>to[0]).when, (<node *>to[0]).choice, (<node *>to[0]).pointers = w, of.kind, bodies
        m = f.child.first
        for i in range(of.size):
            bodies[i] = m.child
            m = m.next
        of.bodies = bodies
    else:
        free(bodies)
        if w != NULL and f.kind == CU_GRAPH_NODE_TYPE_CONDITIONAL and w.taken:
            w.taken = False
            leave_condition(w)
    pthread_mutex_unlock(&work_lock)
    return r


cdef bint bodies_good(graph *g, bint inside) noexcept nogil:
    """Whether bodies of conditional nodes have what they may: kernels, copies, fills, graphs, conditional and empty
    nodes."""
    cdef node *n = g.first
    while n != NULL:
        if inside and n.kind in (CU_GRAPH_NODE_TYPE_HOST, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                                 CU_GRAPH_NODE_TYPE_EVENT_RECORD):
            return False
        if n.child != NULL and not bodies_good(n.child, inside or n.when != NULL):
            return False
        n = n.next
    return True
