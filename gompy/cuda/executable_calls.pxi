# cuGraphInstantiate and what is done with executable graphs: launches and changes.

cdef struct instantiate_parameters:  # CUDA_GRAPH_INSTANTIATE_PARAMS
    uint64_t flags
    void *upload
    void *wrong
    int result

cdef struct update_answer:     # CUgraphExecUpdateResultInfo
    int result
    void *wrong
    void *before


cdef int make_executable(void **to, void *p, uint64_t flags, void **wrong) noexcept nogil:
    """An executable graph: a copy, in the order in which it is done."""
    cdef executable *made
    cdef node *n = NULL
    cdef node *m
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or not is_handle(GRAPH, p) or flags > 15:
        return CUDA_ERROR_INVALID_VALUE
    if flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH:
        return CUDA_ERROR_NOT_SUPPORTED
    made = <executable *>new_handle(EXECUTABLE)
    if made == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    made.flags = flags
    pthread_mutex_lock(&work_lock)
    if not is_handle(GRAPH, p) or (<graph *>p).growing != NULL:
        r = CUDA_ERROR_INVALID_VALUE
    elif (<graph *>p).instantiated:
        r = CUDA_ERROR_NOT_SUPPORTED
    else:
        made.plan = copy_graph(<graph *>p, True)
        r = order_nodes(made.plan, &n) if made.plan != NULL else CUDA_ERROR_OUT_OF_MEMORY
        if r == CUDA_SUCCESS and not bodies_good(made.plan, False):
            r = CUDA_ERROR_NOT_SUPPORTED
    if n != NULL and wrong != NULL:
        m = (<graph *>p).first
        while m != NULL and m.head.serial != n.origin:
            m = m.next
        wrong[0] = m
    if r != CUDA_SUCCESS:
        drop_executable(made)
    else:
        if has_memory(made.plan):
            made.source, made.source_serial = <graph *>p, (<graph *>p).head.serial
            made.source.instantiated = True
        to[0] = made
    pthread_mutex_unlock(&work_lock)
    return r


cdef void drop_executable(executable *x) noexcept nogil:
    """With work_lock held."""
    if x.plan != NULL:
        free_graph(x.plan)
    if is_handle(GRAPH, x.source) and x.source.head.serial == x.source_serial:
        x.source.instantiated = False
    free(x.launched.known)
    free_handle(EXECUTABLE, x)


cdef public int cuGraphInstantiateWithFlags(void **to, void *p, uint64_t flags) noexcept nogil:
    """CUDA_ERROR_INVALID_VALUE if nodes wait for each other."""
    return make_executable(to, p, flags, NULL)


cdef public int cuGraphInstantiate_v2(void **to, void *p, void **wrong, char *log, size_t size) noexcept nogil:
    """CUDA 11's: a node that waits for itself, and words about it."""
    cdef void *found = NULL
    cdef int r = make_executable(to, p, 0, &found)
    if wrong != NULL:
        wrong[0] = found
    if log != NULL and size:
        log[0] = 0
        if found != NULL:
            snprintf(log, size, b"nodes of the graph wait for each other")
    return r


cdef public int cuGraphInstantiate(void **to, void *p, void **wrong, char *log, size_t size) noexcept nogil:
    """CUDA 10's."""
    return cuGraphInstantiate_v2(to, p, wrong, log, size)


cdef public int cuGraphInstantiateWithParams(void **to, void *p, instantiate_parameters *how) noexcept nogil:
    """CUDA 12's: flags, a node that waits for itself."""
    cdef int r
    if how == NULL:
        return CUDA_ERROR_INVALID_VALUE
    how.wrong = NULL
    r = make_executable(to, p, how.flags, &how.wrong)
    how.result = CUDA_GRAPH_INSTANTIATE_SUCCESS if r == CUDA_SUCCESS else CUDA_GRAPH_INSTANTIATE_ERROR
    if how.wrong != NULL:
        how.result = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
    return r


cdef int enter_executable(void *p, executable **to) noexcept nogil:
    """What a call about an executable begins with; with work_lock held if it succeeds."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if is_handle(EXECUTABLE, p):
        to[0] = <executable *>p
        return CUDA_SUCCESS
    pthread_mutex_unlock(&work_lock)
    return CUDA_ERROR_INVALID_VALUE


cdef public int cuGraphExecGetFlags(void *p, uint64_t *to) noexcept nogil:
    """Those that it was made with."""
    cdef executable *x = NULL
    cdef int r = enter_executable(p, &x) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = x.flags
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphExecDestroy(void *p) noexcept nogil:
    """Destroy it; what was launched is still done."""
    cdef executable *x = NULL
    cdef int r = enter_executable(p, &x)
    if r == CUDA_SUCCESS:
        drop_executable(x)
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphUpload(void *p, void *queue) noexcept nogil:
    """There is nothing to be brought to an emulated device."""
    cdef stream *s = NULL
    cdef executable *x = NULL
    cdef int r = enter_stream(queue, &s)
    if r == CUDA_SUCCESS:
        r = enter_executable(p, &x)
    if r == CUDA_SUCCESS:
        r = refuse_captured(s)
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphLaunch(void *p, void *queue) noexcept nogil:
    """Do all that the graph has, in a stream's order.  CUDA_ERROR_INVALID_VALUE if memory of its copies or fills is
    not there any more, CUDA_ERROR_INVALID_HANDLE if a kernel or an event is not."""
    cdef stream *s = NULL
    cdef executable *x = NULL
    cdef capture *c = NULL
    cdef node *n
    cdef graph *child
    cdef int r = enter_stream(queue, &s)
    note_asker()
    if r == CUDA_SUCCESS:
        r = enter_executable(p, &x)
    if r != CUDA_SUCCESS:
        return r
    r = look_for_capture(s, &c) if s.head.live else CUDA_ERROR_INVALID_HANDLE
    if r == CUDA_SUCCESS and c == NULL:
        r = launch_plan(s, x)
    elif r == CUDA_SUCCESS and has_memory(x.plan):
        c.spoilt = True
        r = CUDA_ERROR_NOT_SUPPORTED
    elif r == CUDA_SUCCESS:
        child = copy_graph(x.plan, True)
        n = capture_node(s, CU_GRAPH_NODE_TYPE_GRAPH, NULL, 0) if child != NULL else NULL
        if n != NULL:
            n.child = child
        else:
            if child != NULL:
                free_graph(child)
            c.spoilt = True
            r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&work_lock)
    return r


cdef int change_executable(void *p, void *of, int r, node_form *f) noexcept nogil:
    """Change what an executable does for a node of the graph that it was made of, if its parameters were good."""
    cdef executable *x = NULL
    cdef node *n = NULL
    cdef node *wrong = NULL
    if r != CUDA_SUCCESS:
        return r
    r = enter_executable(p, &x)
    if r != CUDA_SUCCESS:
        pthread_mutex_lock(&work_lock)
        drop_form(f)
        pthread_mutex_unlock(&work_lock)
        return r
    if is_handle(NODE, of):
        n = node_of_origin(x.plan, (<node *>of).head.serial)
    if f.child != NULL and (n == NULL or n.child == NULL or not graphs_alike(n.child, f.child, NULL)):
        drop_form(f)
        r = CUDA_ERROR_INVALID_VALUE
    else:
        r = put_form(n, f)
    if r == CUDA_SUCCESS and n.child != NULL:
        r = order_nodes(n.child, &wrong)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphExecKernelNodeSetParams(void *p, void *of, const kernel_node *how) noexcept nogil:
    """Another launch, in what is launched from now on."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_kernel(how, False, &f), &f)


cdef public int cuGraphExecKernelNodeSetParams_v2(void *p, void *of, const kernel_node *how) noexcept nogil:
    """Another launch."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_kernel(how, True, &f), &f)


cdef public int cuGraphExecMemcpyNodeSetParams(void *p, void *of, const CUDA_MEMCPY3D *how, void *c) noexcept nogil:
    """Another copy."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_copy(how, &f), &f)


cdef public int cuGraphExecMemsetNodeSetParams(void *p, void *of, const fill_node *how, void *c) noexcept nogil:
    """Another fill."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_fill(how, &f), &f)


cdef public int cuGraphExecHostNodeSetParams(void *p, void *of, const host_node *how) noexcept nogil:
    """Another call of the program."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_host(how, &f), &f)


cdef public int cuGraphExecChildGraphNodeSetParams(void *p, void *of, void *child) noexcept nogil:
    """Another child of the same shape."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_child(child, &f), &f)


cdef public int cuGraphExecEventRecordNodeSetEvent(void *p, void *of, void *e) noexcept nogil:
    """A record of another event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_event(e, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &f), &f)


cdef public int cuGraphExecEventWaitNodeSetEvent(void *p, void *of, void *e) noexcept nogil:
    """A wait for another event."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_event(e, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &f), &f)


cdef public int cuGraphExecNodeSetParams(void *p, void *of, const node_parameters *how) noexcept nogil:
    """A node of any kind."""
    cdef node_form f
    memset(&f, 0, sizeof(f))
    return change_executable(p, of, form_any(how, &f), &f)


cdef int find_switch(void *p, void *of, node **to) noexcept nogil:
    """A node that can be left out: a kernel, copy or fill.  With work_lock held if it succeeds."""
    cdef executable *x = NULL
    cdef int r = enter_executable(p, &x)
    if r != CUDA_SUCCESS:
        return r
    to[0] = node_of_origin(x.plan, (<node *>of).head.serial) if is_handle(NODE, of) else NULL
    if to[0] == NULL or to[0].kind > CU_GRAPH_NODE_TYPE_MEMSET:
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef public int cuGraphNodeSetEnabled(void *p, void *of, unsigned enabled) noexcept nogil:
    """Whether an executable does what a node says."""
    cdef node *n = NULL
    cdef int r = find_switch(p, of, &n)
    if r == CUDA_SUCCESS:
        n.disabled = enabled == 0
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuGraphNodeGetEnabled(void *p, void *of, unsigned *to) noexcept nogil:
    """Whether an executable does what a node says."""
    cdef node *n = NULL
    cdef int r = find_switch(p, of, &n) if to != NULL else CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS:
        to[0] = not n.disabled
        pthread_mutex_unlock(&work_lock)
    return r


cdef bint graphs_alike(graph *a, graph *b, update_answer *to) noexcept nogil:
    """Whether two graphs have the same nodes in the order of their creation, with the same edges; else why not."""
    cdef node *n = a.first
    cdef node *m = b.first
    cdef int at = 0
    cdef size_t i
    cdef int why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED
    cdef bint same = a.count == b.count
    while same and n != NULL:
        n.mark = m.mark = at
        at += 1
        n, m = n.next, m.next
    n, m = a.first, b.first
    while same and n != NULL:
        if n.kind != m.kind:
            same, why = False, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED
        elif n.memory != m.memory or n.when != m.when or n.choice != m.choice:
            same, why = False, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED
        elif n.before.count != m.before.count:
            same = False
        else:
            for i in range(n.before.count):
                same = same and n.before.of[i].mark == m.before.of[i].mark
            if same and n.child != NULL and not graphs_alike(n.child, m.child, to):
                return False
        if same:
            n, m = n.next, m.next
    if not same and to != NULL:
        to.result = why
        to.wrong = m
    return same


cdef void keep_origins(graph *old, graph *fresh) noexcept nogil:
    """The nodes of another plan stand for the same ones as before."""
    cdef node *n = old.first
    cdef node *m = fresh.first
    while n != NULL:
        m.origin, m.disabled = n.origin, n.disabled
        if n.child != NULL:
            keep_origins(n.child, m.child)
        n, m = n.next, m.next


cdef public int cuGraphExecUpdate_v2(void *p, void *g, update_answer *to) noexcept nogil:
    """Do what another graph of the same shape says, from the next launch on."""
    cdef executable *x = NULL
    cdef graph *fresh = NULL
    cdef node *wrong = NULL
    cdef update_answer answer
    cdef int r = enter_executable(p, &x)
    if r != CUDA_SUCCESS:
        return r
    memset(&answer, 0, sizeof(answer))
    if not is_handle(GRAPH, g) or (<graph *>g).growing != NULL:
        answer.result = CU_GRAPH_EXEC_UPDATE_ERROR
        r = CUDA_ERROR_INVALID_VALUE
    elif not graphs_alike(x.plan, <graph *>g, &answer):
        r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    else:
        fresh = copy_graph(<graph *>g, True)
        r = order_nodes(fresh, &wrong) if fresh != NULL else CUDA_ERROR_OUT_OF_MEMORY
        if r == CUDA_SUCCESS:
            keep_origins(x.plan, fresh)
            free_graph(x.plan)
            x.plan = fresh
        else:
            answer.result = CU_GRAPH_EXEC_UPDATE_ERROR
            if fresh != NULL:
                free_graph(fresh)
    pthread_mutex_unlock(&work_lock)
    if to != NULL:
        to[0] = answer
    return r


cdef public int cuGraphExecUpdate(void *p, void *g, void **wrong, int *result) noexcept nogil:
    """CUDA 10.2's."""
    cdef update_answer answer
    cdef int r
    memset(&answer, 0, sizeof(answer))
    r = cuGraphExecUpdate_v2(p, g, &answer)
    if wrong != NULL:
        wrong[0] = answer.wrong
    if result != NULL:
        result[0] = answer.result
    return r
