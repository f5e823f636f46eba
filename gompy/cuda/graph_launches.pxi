# A launch of a graph: the operations of its nodes, queued in a stream all at once.  With work_lock held.


cdef int ready_work(node *n, op **to) noexcept nogil:
    """An operation for a stream of what a node does, which holds what it uses."""
    cdef block *pins[2]
    cdef size_t extents[2]
    cdef size_t extent = 0
    cdef op *o
    cdef int r = CUDA_SUCCESS
    pins[0] = pins[1] = NULL
    if n.work.kind == COPY_OP:
        r = pin_sides(&n.work.copy, n.copy.dstMemoryType, n.copy.srcMemoryType, pins, extents)
    elif n.work.kind == FILL_OP:
        if not fits_extent(n.work.fill.count * n.work.fill.unit, n.work.fill.height, 1, n.work.fill.pitch, 0, &extent):
            return CUDA_ERROR_INVALID_VALUE
        pthread_mutex_lock(&memory_lock)
        r = pin_or_registered(<uint64_t>n.work.fill.to, extent, &pins[0])
        pthread_mutex_unlock(&memory_lock)
    elif n.work.kind == LAUNCH_OP:
        if not is_handle(FUNCTION, n.work.kernel) or n.work.kernel.head.serial != n.serial:
            return CUDA_ERROR_INVALID_HANDLE
    elif n.work.kind == RECORD_OP or n.work.kind == WAIT_OP:
        if not is_handle(EVENT, n.work.of_event) or n.work.of_event.head.serial != n.serial:
            return CUDA_ERROR_INVALID_HANDLE
    if r != CUDA_SUCCESS:
        return r
    o = copy_work(n.work, n.extra)
    if o == NULL:
        unpin_block(pins[0])
        unpin_block(pins[1])
        return CUDA_ERROR_OUT_OF_MEMORY
    o.pins[0], o.pins[1] = pins[0], pins[1]
    if o.kind == LAUNCH_OP:
        o.kernel.of.launches += 1
    elif o.kind == COPY_OP:
        count_copy(&o.copy)
    to[0] = o
    return CUDA_SUCCESS


cdef void drop_ready(op *o) noexcept nogil:
    """Operations that are not queued after all."""
    cdef op *after
    while o != NULL:
        after = o.next
        if o.kind == LAUNCH_OP:
            o.kernel.of.launches -= 1
        elif o.kind == FOLLOW_OP:
            free_graph(<graph *>o.data)
        let_go(o)
        free(o)
        o = after
    pthread_cond_broadcast(&work_done)


cdef int follow_memory(graph *plan, bint again) noexcept nogil:
    """What a launch makes of the memory of graphs: all that is freed is allocated before, and nothing twice.  `again`:
    what the launch before has left is freed first."""
    cdef size_t i
    cdef node *n
    for i in range(plan.count):
        n = plan.order[i]
        if n.memory != NULL and n.kind == CU_GRAPH_NODE_TYPE_MEM_FREE:
            n.memory.then = n.memory.there
    for i in range(plan.count):
        n = plan.order[i]
        if n.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            n.memory.then = n.memory.there and not again
    for i in range(plan.count):
        n = plan.order[i]
        if n.memory != NULL:
            if n.memory.then == (n.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC):
                return CUDA_ERROR_INVALID_VALUE
            n.memory.then = not n.memory.then
    return CUDA_SUCCESS


cdef void commit_memory(graph *plan) noexcept nogil:
    """The launch is queued."""
    cdef size_t i
    cdef node *n
    for i in range(plan.count):
        n = plan.order[i]
        if n.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            n.memory.there = True
            note_graph_bytes(n.memory.device)
    for i in range(plan.count):
        n = plan.order[i]
        if n.memory != NULL:
            n.memory.there = n.memory.then


cdef graph *chosen_body(graph *bodies, int choice, unsigned value) noexcept nogil:
    """What a conditional node does by the word of its condition, or NULL."""
    cdef node *n = bodies.first
    cdef size_t at = value
    if choice != CU_GRAPH_COND_TYPE_SWITCH:
        if choice == CU_GRAPH_COND_TYPE_WHILE and value == 0:
            return NULL
        at = value == 0
    while n != NULL and at:
        at -= 1
        n = n.next
    return n.child if n != NULL else NULL


cdef void perform_chain(stream *s, op *o, const op *whole) noexcept nogil:
    """Do operations of a body, one after the other, which are parts of a whole."""
    cdef op *after
    while o != NULL:
        after = o.next
        share_order(o, whole)
        perform_op(s, o)
        let_go(o)
        if o.kind == LAUNCH_OP:
            pthread_mutex_lock(&work_lock)
            o.kernel.of.launches -= 1
            pthread_mutex_unlock(&work_lock)
        free(o)
        o = after


cdef void follow_condition(stream *s, op *o) noexcept nogil:
    """Do a conditional node: its graph has that node alone."""
    cdef node *n = (<graph *>o.data).first
    cdef graph *body
    cdef op *chain
    cdef op **end
    cdef unsigned value
    cdef int r
    while s.of.failure == CUDA_SUCCESS:
        value = load32(<uint32_t *>n.when.address, ACQUIRE)
        body = chosen_body(n.child, n.choice, value)
        if body == NULL:
            break
        chain = NULL
        end = &chain
        pthread_mutex_lock(&work_lock)
        r = ready_plan(body, &end)
        if r != CUDA_SUCCESS:
            drop_ready(chain)
            s.of.failure = r
        pthread_mutex_unlock(&work_lock)
        if r == CUDA_SUCCESS:
            perform_chain(s, chain, o)
        if n.choice != CU_GRAPH_COND_TYPE_WHILE:
            break
    pthread_mutex_lock(&work_lock)
    free_graph(<graph *>o.data)
    pthread_mutex_unlock(&work_lock)


cdef void follow_end(stream *s, op *o) noexcept nogil:
    """A launch is over: the objects that its graph has had may go."""
    pthread_mutex_lock(&work_lock)
    free_graph(<graph *>o.data)
    pthread_mutex_unlock(&work_lock)


cdef op *condition_work(node *n) noexcept nogil:
    """A conditional node's operation, with a copy of it: who launches may destroy the executable.  NULL: no memory."""
    cdef op *o = new_op(FOLLOW_OP, 0)
    cdef graph *alone = new_graph(True)
    cdef node *m = add_node(alone, n.kind, NULL, 0, NULL) if o != NULL and alone != NULL else NULL
    cdef node *wrong = NULL
    if m != NULL:
        m.child = copy_graph(n.child, True)
        m.when, m.choice = n.when, n.choice
        m.when.users += 1
    if m == NULL or m.child == NULL or order_nodes(m.child, &wrong) != CUDA_SUCCESS:
        if alone != NULL:
            free_graph(alone)
        free(o)
        return NULL
    o.follow, o.data, o.in_order = follow_condition, alone, True
    return o


cdef op *end_work(graph *plan) noexcept nogil:
    """An operation that holds a graph's objects until it is over.  NULL: no memory."""
    cdef op *o = new_op(FOLLOW_OP, 0)
    cdef graph *holds = new_graph(True)
    if o == NULL or holds == NULL or not copy_references(&holds.objects, plan.objects):
        if holds != NULL:
            free_graph(holds)
        free(o)
        return NULL
    o.follow, o.data = follow_end, holds
    return o


cdef int ready_conditions(graph *plan, op ***end) noexcept nogil:
    """The first values of all conditions of a graph and of what is in it, at the end of a chain."""
    cdef node *n = plan.first
    cdef op *o
    cdef int r = CUDA_SUCCESS
    while n != NULL and r == CUDA_SUCCESS:
        if n.when != NULL and n.when.assigned:
            o = assign_condition(n.when)
            if o == NULL:
                return CUDA_ERROR_OUT_OF_MEMORY
            end[0][0] = o
            end[0] = &o.next
        if n.child != NULL:
            r = ready_conditions(n.child, end)
        n = n.next
    return r


cdef int ready_plan(graph *plan, op ***end) noexcept nogil:
    """The operations of an executable's graph, at the end of a chain."""
    cdef size_t i
    cdef node *n
    cdef op *o = NULL
    cdef int r
    for i in range(plan.count):
        n = plan.order[i]
        if n.disabled:
            continue
        if n.child != NULL and n.when == NULL:
            r = ready_plan(n.child, end)
            if r != CUDA_SUCCESS:
                return r
        elif n.when != NULL:
            o = condition_work(n)
            if o == NULL:
                return CUDA_ERROR_OUT_OF_MEMORY
            end[0][0] = o
            end[0] = &o.next
        elif n.work != NULL or n.memory != NULL:
            if n.work != NULL:
                r = ready_work(n, &o)
            else:
                o = memory_work(n.memory, n.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
                r = CUDA_SUCCESS if o != NULL else CUDA_ERROR_OUT_OF_MEMORY
            if r != CUDA_SUCCESS:
                return r
            o.next = NULL
            end[0][0] = o
            end[0] = &o.next
    return CUDA_SUCCESS


cdef void queue_ready(stream *s, op *o) noexcept nogil:
    """Queue operations.  Events are as at this moment, those that the graph records earlier included."""
    cdef op *after
    cdef event *e
    while o != NULL:
        after = o.next
        e = o.of_event
        if o.kind == WAIT_OP:
            await_order(s, e)
        if o.kind == WAIT_OP and e.number == e.happened:
            free(o)
            o = after
            continue
        if o.kind == WAIT_OP:
            o.awaited, o.awaited_serial, o.awaited_ticket = e.of, e.stream_serial, e.ticket
        append_op(s, o)
        if o.kind == RECORD_OP:
            record_order(e, s)
            e.number += 1
            e.head.held += 1
            e.captured = 0
            o.number = e.number
            e.of, e.stream_serial, e.ticket = s, s.head.serial, o.ticket
        o = after


cdef bint await_launch(stream *s, event *e) noexcept nogil:
    """Let a stream wait for the last launch of an executable, if that was in another one: they come one after the other
    (CUDA driver API, cuGraphLaunch).  False: no memory."""
    cdef op *o
    await_order(s, e)
    if e.of == NULL or e.of == s or e.of.head.serial != e.stream_serial or done_up_to(e.of, e.ticket):
        return True
    o = new_op(WAIT_OP, 0)
    if o == NULL:
        return False
    o.awaited, o.awaited_serial, o.awaited_ticket = e.of, e.stream_serial, e.ticket
    append_op(s, o)
    return True


cdef int launch_plan(stream *s, executable *x) noexcept nogil:
    """Queue all that an executable does, or nothing."""
    cdef graph *plan = x.plan
    cdef op *chain = NULL
    cdef op **end = &chain
    cdef bint memory = has_memory(plan)
    cdef int r = CUDA_SUCCESS
    if memory:
        r = follow_memory(plan, x.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
        if r != CUDA_SUCCESS:
            return r
    if not s.worker and not start_worker(s):
        return CUDA_ERROR_OUT_OF_MEMORY
    r = ready_conditions(plan, &end)
    if r == CUDA_SUCCESS:
        r = ready_plan(plan, &end)
    if r == CUDA_SUCCESS and plan.objects != NULL:
        end[0] = end_work(plan)
        if end[0] == NULL:
            r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS and not await_launch(s, &x.launched):
        r = CUDA_ERROR_OUT_OF_MEMORY
    if r != CUDA_SUCCESS:
        drop_ready(chain)
        return r
    queue_ready(s, chain)
    x.launched.of, x.launched.stream_serial, x.launched.ticket = s, s.head.serial, last_ticket
    record_order(&x.launched, s)
    if memory:
        commit_memory(plan)
    rouse_worker(s)
    return CUDA_SUCCESS
