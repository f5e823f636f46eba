# cuGraph*Node*: nodes by their parameters.  Each kind has a function that makes an operation of them, which adding a
# node, changing one, and changing an executable's share.

cdef struct kernel_node:       # CUDA_KERNEL_NODE_PARAMS_v2, v3; the first form ends before `kernel`
    void *function
    unsigned grid[3]
    unsigned block[3]
    unsigned shared
    void **params
    void **extra
    void *kernel
    void *context

cdef struct fill_node:         # CUDA_MEMSET_NODE_PARAMS
    CUdeviceptr to
    size_t pitch
    unsigned value
    unsigned unit
    size_t width, height

cdef struct host_node:         # CUDA_HOST_NODE_PARAMS
    host_function call
    void *data

cdef struct copy_node:         # CUDA_MEMCPY_NODE_PARAMS
    int flags
    int reserved
    void *context
    CUDA_MEMCPY3D copy

cdef union any_node:
    kernel_node kernel
    copy_node copy
    fill_node fill
    host_node host
    void *handle               # a child's graph, an event
    uint64_t room[29]

cdef struct node_parameters:   # CUgraphNodeParams
    int kind
    int reserved[3]
    any_node of
    uint64_t last

cdef struct node_form:
    int kind                   # CU_GRAPH_NODE_TYPE_*
    op *work
    size_t extra
    CUDA_MEMCPY3D copy
    graph *child


cdef int form_kernel(const kernel_node *p, bint second, node_form *to) noexcept nogil:
    """A launch; the parameters are copied."""
    cdef function *f = NULL
    cdef op *o = NULL
    cdef void *of
    cdef int r
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    of = p.kernel if second and p.function == NULL else p.function
    r = enter_function(of, &f)
    if r != CUDA_SUCCESS:
        return CUDA_ERROR_INVALID_VALUE if of == NULL else r
    r = hold_function(f)
    if r != CUDA_SUCCESS:
        return r
    r = check_launch(f, p.grid, p.block, p.shared)
    if r == CUDA_SUCCESS:
        to.extra = f.attributes.param_bytes + 16
        o = new_op(LAUNCH_OP, to.extra)
        r = take_parameters(f, p.params, p.extra, <char *>(o + 1)) if o != NULL else CUDA_ERROR_OUT_OF_MEMORY
    release_function(f)
    if r != CUDA_SUCCESS:
        free(o)
        return r
    describe_launch(o, f, p.grid, p.block, p.shared)
    to.kind, to.work = CU_GRAPH_NODE_TYPE_KERNEL, o
    return CUDA_SUCCESS


cdef int form_copy(const CUDA_MEMCPY3D *p, node_form *to) noexcept nogil:
    """A copy between memory that is there now."""
    cdef copy_shape shape
    cdef block *pins[2]
    cdef size_t extents[2]
    cdef int r = describe_copy(p, &shape)
    if r != CUDA_SUCCESS:
        return r
    if shape.width == 0 or shape.height == 0 or shape.depth == 0:
        return CUDA_ERROR_INVALID_VALUE
    r = pin_sides(&shape, p.dstMemoryType, p.srcMemoryType, pins, extents)
    if r != CUDA_SUCCESS:
        return r
    unpin_block(pins[0])
    unpin_block(pins[1])
    to.work = new_op(COPY_OP, 0)
    if to.work == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to.work.copy = shape
    to.kind, to.copy = CU_GRAPH_NODE_TYPE_MEMCPY, p[0]
    return CUDA_SUCCESS


cdef int form_fill(const fill_node *p, node_form *to) noexcept nogil:
    """A fill of memory that is there now."""
    cdef size_t extent = 0
    cdef fill_shape shape
    cdef int r
    if p == NULL or p.unit not in (1, 2, 4):
        return CUDA_ERROR_INVALID_VALUE
    r = describe_fill(p.to, p.pitch, p.value, p.unit, p.width, p.height, &shape, &extent)
    if r != CUDA_SUCCESS or extent == 0 or not can_be_filled(p.to, extent):
        return CUDA_ERROR_INVALID_VALUE
    to.work = new_op(FILL_OP, 0)
    if to.work == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to.work.fill = shape
    to.kind = CU_GRAPH_NODE_TYPE_MEMSET
    return CUDA_SUCCESS


cdef int form_host(const host_node *p, node_form *to) noexcept nogil:
    """A call of the program."""
    if p == NULL or p.call == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to.work = new_op(HOST_OP, 0)
    if to.work == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to.work.host_call, to.work.data = p.call, p.data
    to.kind = CU_GRAPH_NODE_TYPE_HOST
    return CUDA_SUCCESS


cdef int form_event(void *e, int kind, node_form *to) noexcept nogil:
    """A record of an event, or a wait for what it has recorded when the graph is launched."""
    if not is_handle(EVENT, e):
        return CUDA_ERROR_INVALID_VALUE
    if (<event *>e).shared != NULL:
        return CUDA_ERROR_NOT_SUPPORTED
    to.work = new_op(RECORD_OP if kind == CU_GRAPH_NODE_TYPE_EVENT_RECORD else WAIT_OP, 0)
    if to.work == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to.work.of_event = <event *>e
    to.kind = kind
    return CUDA_SUCCESS


cdef int form_child(void *p, node_form *to) noexcept nogil:
    """A graph in a graph: a copy."""
    cdef int r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p):
        r = CUDA_ERROR_INVALID_VALUE
    elif has_memory(<graph *>p):
        r = CUDA_ERROR_NOT_SUPPORTED
    else:
        to.child = copy_graph(<graph *>p, True)
    pthread_mutex_unlock(&work_lock)
    if to.child == NULL:
        return r
    to.kind = CU_GRAPH_NODE_TYPE_GRAPH
    return CUDA_SUCCESS


cdef int form_any(const node_parameters *p, node_form *to) noexcept nogil:
    """A node of any kind (CUgraphNodeParams)."""
    if p == NULL:
        return CUDA_ERROR_INVALID_VALUE
    if p.kind == CU_GRAPH_NODE_TYPE_KERNEL:
        return form_kernel(&p.of.kernel, True, to)
    if p.kind == CU_GRAPH_NODE_TYPE_MEMCPY:
        return form_copy(&p.of.copy.copy, to)
    if p.kind == CU_GRAPH_NODE_TYPE_MEMSET:
        return form_fill(&p.of.fill, to)
    if p.kind == CU_GRAPH_NODE_TYPE_HOST:
        return form_host(&p.of.host, to)
    if p.kind == CU_GRAPH_NODE_TYPE_GRAPH:
        return form_child(p.of.handle, to)
    if p.kind == CU_GRAPH_NODE_TYPE_EMPTY:
        to.kind = CU_GRAPH_NODE_TYPE_EMPTY
        return CUDA_SUCCESS
    if p.kind == CU_GRAPH_NODE_TYPE_EVENT_RECORD or p.kind == CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return form_event(p.of.handle, p.kind, to)
    return CUDA_ERROR_NOT_SUPPORTED


cdef void drop_form(node_form *f) noexcept nogil:
    """Of a node that is not made.  With work_lock held."""
    free(f.work)
    if f.child != NULL:
        free_graph(f.child)


cdef int put_form(node *n, node_form *f) noexcept nogil:
    """A node does something else of its kind from now on.  With work_lock held."""
    if n == NULL or n.kind != f.kind:
        drop_form(f)
        return CUDA_ERROR_INVALID_VALUE
    if n.child != NULL and f.child != NULL:
        free_graph(n.child)
        n.child = f.child
    elif f.work != NULL:
        if n.kind == CU_GRAPH_NODE_TYPE_KERNEL and n.work.config.together:  # an attribute, which stays
            f.work.config.together = True
            if not fits_together(f.work.kernel, f.work.config.grid, f.work.config.block, f.work.config.shared_bytes):
                drop_form(f)
                return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        set_work(n, f.work, f.extra)
        n.copy = f.copy
    return CUDA_SUCCESS


cdef int add_form(void **to, void *p, void **before, const uint64_t *edges, size_t count, int r,
                  node_form *f) noexcept nogil:
    """Add a node to a graph, if its parameters were good."""
    cdef node_list known
    cdef node *n = NULL
    memset(&known, 0, sizeof(known))
    pthread_mutex_lock(&work_lock)
    if r == CUDA_SUCCESS:
        r = check_nodes(p, before, edges, count, &known) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        n = add_node(<graph *>p, f.kind, f.work, f.extra, &known)
        if n == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        n.copy, n.child = f.copy, f.child
        to[0] = n
    else:
        drop_form(f)
    pthread_mutex_unlock(&work_lock)
    forget_list(&known)
    return r


cdef int change_node(void *p, int r, node_form *f) noexcept nogil:
    """Change a node of a graph, if its parameters were good."""
    pthread_mutex_lock(&work_lock)
    if r == CUDA_SUCCESS:
        r = put_form(<node *>p if is_handle(NODE, p) else NULL, f)
    pthread_mutex_unlock(&work_lock)
    return r


cdef int enter_node(void *p, int kind, node **to) noexcept nogil:
    """What a question about a node begins with; with work_lock held if it succeeds."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if is_handle(NODE, p) and ((<node *>p).kind == kind or kind < 0):
        to[0] = <node *>p
        return CUDA_SUCCESS
    pthread_mutex_unlock(&work_lock)
    return CUDA_ERROR_INVALID_VALUE


cdef public int cuGraphNodeGetType(void *p, int *to) noexcept nogil:
    """CU_GRAPH_NODE_TYPE_*."""
    cdef node *n = NULL
    cdef int r = enter_node(p, -1, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = n.kind
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddKernelNode(void **to, void *p, void **before, size_t n, const kernel_node *of) noexcept nogil:
    """A launch."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_kernel(of, False, &f), &f)


cdef public int cuGraphAddKernelNode_v2(void **to, void *p, void **before, size_t n,
                                        const kernel_node *of) noexcept nogil:
    """CUDA 12's: also of a library's kernel."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_kernel(of, True, &f), &f)


cdef public int cuGraphKernelNodeSetParams(void *p, const kernel_node *of) noexcept nogil:
    """Another launch."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_kernel(of, False, &f), &f)


cdef public int cuGraphKernelNodeSetParams_v2(void *p, const kernel_node *of) noexcept nogil:
    """Another launch."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_kernel(of, True, &f), &f)


cdef int answer_kernel(void *p, kernel_node *to, bint second) noexcept nogil:
    """A launch; pointers to its parameters stay good until it is changed."""
    cdef node *n = NULL
    cdef function *f
    cdef uint32_t i
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_KERNEL, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r != CUDA_SUCCESS:
        return r
    f = n.work.kernel
    if not is_handle(FUNCTION, f) or f.head.serial != n.serial:
        r = CUDA_ERROR_INVALID_HANDLE
    elif n.pointers == NULL:
        n.pointers = <void **>calloc(f.attributes.num_params + 1, sizeof(void *))
        if n.pointers == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        for i in range(f.attributes.num_params):
            n.pointers[i] = <char *>(n.work + 1) + f.offsets[2 * i]
        to.function = f
        memcpy(to.grid, n.work.config.grid, sizeof(to.grid))
        memcpy(to.block, n.work.config.block, sizeof(to.block))
        to.shared, to.params, to.extra = n.work.config.shared_bytes, n.pointers, NULL
        if second:
            to.kernel, to.context = NULL, f.of.of
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphKernelNodeGetParams(void *p, kernel_node *to) noexcept nogil:
    """A launch."""
    return answer_kernel(p, to, False)


cdef public int cuGraphKernelNodeGetParams_v2(void *p, kernel_node *to) noexcept nogil:
    """A launch."""
    return answer_kernel(p, to, True)


cdef public int cuGraphAddMemcpyNode(void **to, void *p, void **before, size_t n, const CUDA_MEMCPY3D *of,
                                     void *c) noexcept nogil:
    """A copy."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_copy(of, &f), &f)


cdef public int cuGraphMemcpyNodeSetParams(void *p, const CUDA_MEMCPY3D *of) noexcept nogil:
    """Another copy."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_copy(of, &f), &f)


cdef public int cuGraphMemcpyNodeGetParams(void *p, CUDA_MEMCPY3D *to) noexcept nogil:
    """A copy; the addresses of one that was captured tell whose memory it is (CU_MEMORYTYPE_UNIFIED)."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_MEMCPY, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = n.copy
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddMemsetNode(void **to, void *p, void **before, size_t n, const fill_node *of,
                                     void *c) noexcept nogil:
    """A fill."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_fill(of, &f), &f)


cdef public int cuGraphMemsetNodeSetParams(void *p, const fill_node *of) noexcept nogil:
    """Another fill."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_fill(of, &f), &f)


cdef public int cuGraphMemsetNodeGetParams(void *p, fill_node *to) noexcept nogil:
    """A fill."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_MEMSET, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to.to, to.pitch, to.value = <CUdeviceptr>n.work.fill.to, n.work.fill.pitch, n.work.fill.value
        to.unit, to.width, to.height = n.work.fill.unit, n.work.fill.count, n.work.fill.height
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddHostNode(void **to, void *p, void **before, size_t n, const host_node *of) noexcept nogil:
    """A call of the program."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_host(of, &f), &f)


cdef public int cuGraphHostNodeSetParams(void *p, const host_node *of) noexcept nogil:
    """Another call."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_host(of, &f), &f)


cdef public int cuGraphHostNodeGetParams(void *p, host_node *to) noexcept nogil:
    """A call of the program."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_HOST, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to.call, to.data = n.work.host_call, n.work.data
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddChildGraphNode(void **to, void *p, void **before, size_t n, void *child) noexcept nogil:
    """A copy of another graph."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_child(child, &f), &f)


cdef public int cuGraphChildGraphNodeGetGraph(void *p, void **to) noexcept nogil:
    """The copy, which is the node's."""
    cdef node *n = NULL
    cdef int r = enter_node(p, CU_GRAPH_NODE_TYPE_GRAPH, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = n.child
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphAddEmptyNode(void **to, void *p, void **before, size_t n) noexcept nogil:
    """Nothing, which others can wait for."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    f.kind = CU_GRAPH_NODE_TYPE_EMPTY
    return add_form(to, p, before, NULL, n, api_state(), &f)


cdef public int cuGraphAddEventRecordNode(void **to, void *p, void **before, size_t n, void *e) noexcept nogil:
    """A record of an event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_event(e, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &f), &f)


cdef public int cuGraphEventRecordNodeSetEvent(void *p, void *e) noexcept nogil:
    """Of another event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_event(e, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &f), &f)


cdef public int cuGraphAddEventWaitNode(void **to, void *p, void **before, size_t n, void *e) noexcept nogil:
    """A wait for an event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return add_form(to, p, before, NULL, n, form_event(e, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &f), &f)


cdef public int cuGraphEventWaitNodeSetEvent(void *p, void *e) noexcept nogil:
    """For another event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_event(e, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &f), &f)


cdef int answer_event(void *p, int kind, void **to) noexcept nogil:
    """A node's event."""
    cdef node *n = NULL
    cdef int r = enter_node(p, kind, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = n.work.of_event
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphEventRecordNodeGetEvent(void *p, void **to) noexcept nogil:
    """The event."""
    return answer_event(p, CU_GRAPH_NODE_TYPE_EVENT_RECORD, to)


cdef public int cuGraphEventWaitNodeGetEvent(void *p, void **to) noexcept nogil:
    """The event."""
    return answer_event(p, CU_GRAPH_NODE_TYPE_WAIT_EVENT, to)


cdef public int cuGraphNodeSetParams(void *p, const node_parameters *of) noexcept nogil:
    """Change a node of any kind."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_node(p, form_any(of, &f), &f)
