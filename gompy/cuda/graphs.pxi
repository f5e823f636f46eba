# Graphs: operations and what each waits for; an executable graph is a copy of one, in an order in which it can be done.
#
# A node's operation is kept as one of a stream (operations.pxi), with parameters of its own.  A launch queues a copy of
# each, with the memory that it uses held, in the order of the executable's nodes: what a stream does one after the
# other.  All of this is guarded by work_lock.

cdef enum:
    NODE_ATTRIBUTES = 17       # CU_LAUNCH_ATTRIBUTE_* below it

cdef struct node_attributes:
    uint64_t value[NODE_ATTRIBUTES][8]  # each as large as a CUlaunchAttributeValue

cdef struct node:
    handle_head head
    graph *of
    node *next                 # of the graph, in the order of creation
    node *twin                 # its copy, while a graph is copied
    uint64_t origin            # the node that it was copied from, by its serial; 0: none
    int kind                   # CU_GRAPH_NODE_TYPE_*
    int mark                   # while the nodes are brought into an order
    bint disabled              # cuGraphNodeSetEnabled
    op *work                   # NULL: it has none (empty, a child), its parameters behind it
    size_t extra               # bytes behind it
    uint64_t serial            # of the function or the event
    void **pointers            # to each of a kernel's parameters
    CUDA_MEMCPY3D copy         # a copy, as it was described
    graph *child
    graph_memory *memory       # that it allocates or frees
    condition *when            # a conditional node's; its child has a node with a child for each body
    int choice                 # CU_GRAPH_COND_TYPE_*
    node_attributes *told      # a kernel's attributes without effect; NULL: none was set
    node_list before

cdef struct graph:
    handle_head head
    node *first
    node *last
    size_t count
    bint inside                # a node's or an executable's: goes with it
    capture *growing           # operations are captured into it
    node **order               # an executable's
    bint instantiated          # it has memory nodes, and an executable: there may be one
    condition *conditions      # made for it
    reference *objects

cdef struct executable:
    handle_head head
    graph *plan
    uint64_t flags
    graph *source              # that it was made of, if that has memory nodes
    uint64_t source_serial
    event launched             # as one that is recorded behind each launch

cdef graph *new_graph(bint inside) noexcept nogil:
    """An empty one, or NULL."""
    cdef graph *g = <graph *>new_handle(GRAPH)
    if g != NULL:
        g.inside = inside
    return g


cdef void free_node(node *n) noexcept nogil:
    """A node that is in no graph any more."""
    free(n.work)
    free(n.pointers)
    free(n.told)
    forget_list(&n.before)
    if n.child != NULL:
        free_graph(n.child)
    if n.memory != NULL:
        leave_graph_memory(n.memory)
    if n.when != NULL:
        leave_condition(n.when)
    free_handle(NODE, n)


cdef void free_graph(graph *g) noexcept nogil:
    """A graph with its nodes."""
    cdef node *n = g.first
    cdef node *after
    cdef condition *w
    while n != NULL:
        after = n.next
        free_node(n)
        n = after
    while g.conditions != NULL:
        w = g.conditions
        g.conditions = w.next
        leave_condition(w)
    leave_references(g.objects)
    free(g.order)
    free_handle(GRAPH, g)


cdef node *add_node(graph *g, int kind, op *work, size_t extra, const node_list *before) noexcept nogil:
    """A node at the end of a graph, which has the operation from then on.  NULL: no memory."""
    cdef node *n = <node *>new_handle(NODE)
    if n == NULL:
        return NULL
    if before != NULL and not list_all(&n.before, before):
        free_handle(NODE, n)
        return NULL
    n.of, n.kind = g, kind
    set_work(n, work, extra)
    if g.last != NULL:
        g.last.next = n
    else:
        g.first = n
    g.last = n
    g.count += 1
    return n


cdef void set_work(node *n, op *work, size_t extra) noexcept nogil:
    """Another operation in the place of a node's."""
    free(n.work)
    free(n.pointers)
    n.pointers = NULL
    n.work, n.extra = work, extra
    if work == NULL:
        return
    work.pins[0] = work.pins[1] = NULL
    if work.kind == LAUNCH_OP:
        work.config.params = <char *>(work + 1)
        n.serial = work.kernel.head.serial
    elif work.kind == RECORD_OP or work.kind == WAIT_OP:
        n.serial = work.of_event.head.serial


cdef op *copy_work(const op *work, size_t extra) noexcept nogil:
    """An operation like another, or NULL."""
    cdef op *o = new_op(work.kind, extra)
    if o != NULL:
        memcpy(o, work, sizeof(op) + extra)
        o.room = extra
        if o.kind == LAUNCH_OP:
            o.config.params = <char *>(o + 1)
    return o


cdef node_attributes *told_attributes(node *n) noexcept nogil:
    """Where the attributes of a node are kept.  NULL: no memory."""
    if n.told == NULL:
        n.told = <node_attributes *>calloc(1, sizeof(node_attributes))
    return n.told


cdef graph *copy_graph(graph *g, bint inside) noexcept nogil:
    """A graph like another, with copies of its children.  NULL: no memory."""
    cdef graph *made = new_graph(inside)
    cdef node *n = g.first
    cdef node *m
    cdef op *work
    cdef size_t i
    cdef bint good = made != NULL and copy_references(&made.objects, g.objects)
    while good and n != NULL:
        work = NULL
        if n.work != NULL:
            work = copy_work(n.work, n.extra)
            good = work != NULL
        m = add_node(made, n.kind, work, n.extra, NULL) if good else NULL
        if m == NULL:
            free(work)
            good = False
            break
        m.origin, m.serial, m.copy, m.disabled = n.head.serial, n.serial, n.copy, n.disabled
        n.twin = m
        m.memory = n.memory
        if m.memory != NULL:
            m.memory.users += 1
        m.when, m.choice = n.when, n.choice
        if m.when != NULL:
            m.when.users += 1
        if n.told != NULL:
            good = told_attributes(m) != NULL
            if good:
                m.told[0] = n.told[0]
        if good and n.child != NULL:
            m.child = copy_graph(n.child, True)
            good = m.child != NULL
        n = n.next
    n = g.first
    while good and n != NULL:
        for i in range(n.before.count):
            good = good and list_node(&n.twin.before, n.before.of[i].twin)
        n = n.next
    if not good and made != NULL:
        free_graph(made)
        return NULL
    return made


cdef bint has_memory(graph *g) noexcept nogil:
    """Whether nodes of a graph allocate or free: what is done with such a graph has limits."""
    cdef node *n = g.first
    while n != NULL:
        if n.memory != NULL:
            return True
        n = n.next
    return False


cdef void remove_node(node *n) noexcept nogil:
    """Take a node out of its graph, with its edges."""
    cdef graph *g = n.of
    cdef node *m = g.first
    cdef node *last = NULL
    while m != NULL:
        unlist_node(&m.before, n)
        if m.next == n:
            m.next = n.next
        if m != n:
            last = m
        m = m.next
    if g.first == n:
        g.first = n.next
    g.last = last
    g.count -= 1
    free_node(n)


cdef bint frees_memory(graph *g, graph_memory *m) noexcept nogil:
    """Whether a node of a graph frees it."""
    cdef node *n = g.first
    while n != NULL:
        if n.kind == CU_GRAPH_NODE_TYPE_MEM_FREE and n.memory == m:
            return True
        n = n.next
    return False


cdef bint allocates_memory(graph *g, graph_memory *m) noexcept nogil:
    """Whether a node of a graph allocates it."""
    cdef node *n = g.first
    while n != NULL:
        if n.kind == CU_GRAPH_NODE_TYPE_MEM_ALLOC and n.memory == m:
            return True
        n = n.next
    return False


cdef int name_freed(graph *g, uint64_t address, graph_memory **to) noexcept nogil:
    """What a node of a graph may free: memory of a graph, once.  With work_lock held."""
    to[0] = graph_memory_at(address)
    if to[0] == NULL or frees_memory(g, to[0]):
        return CUDA_ERROR_INVALID_VALUE
    return CUDA_SUCCESS


cdef void know_memory(node *n, graph_memory *m) noexcept nogil:
    """A node of a graph allocates or frees it."""
    n.memory = m
    m.users += 1
    if n.kind == CU_GRAPH_NODE_TYPE_MEM_FREE and allocates_memory(n.of, m):
        m.inside = True


cdef int order_nodes(graph *g, node **wrong) noexcept nogil:
    """Bring the nodes into an order in which each comes after what it waits for: that of their creation where this is
    one, another each time with GOMPY_CUDA_SEED.  CUDA_ERROR_INVALID_VALUE and a node: they wait for each other."""
    cdef node **stack = <node **>malloc((g.count + 1) * sizeof(node *))
    cdef size_t *next_one = <size_t *>calloc(g.count + 1, sizeof(size_t))
    cdef node **roots = <node **>malloc((g.count + 1) * sizeof(node *))
    cdef node *n = g.first
    cdef node *other
    cdef size_t depth, done = 0, i = 0, j
    cdef uint64_t dice = order_seed * <uint64_t>2654435761 + g.head.serial
    cdef int r = CUDA_SUCCESS
    free(g.order)
    g.order = <node **>malloc((g.count + 1) * sizeof(node *))
    if stack == NULL or next_one == NULL or roots == NULL or g.order == NULL:
        r = CUDA_ERROR_OUT_OF_MEMORY
    while r == CUDA_SUCCESS and n != NULL:
        n.mark = 0
        roots[i] = n
        i += 1
        if n.child != NULL:
            r = order_nodes(n.child, wrong)
        n = n.next
    if order_seed and r == CUDA_SUCCESS:
        for i in range(g.count):
            dice = dice * <uint64_t>6364136223846793005 + <uint64_t>1442695040888963407
            j = i + (dice >> 33) % (g.count - i)
            roots[i], roots[j] = roots[j], roots[i]
    i = 0
    while r == CUDA_SUCCESS and i < g.count:
        if roots[i].mark == 0:
            stack[0], next_one[0], depth = roots[i], 0, 1
            roots[i].mark = 1
            while depth and r == CUDA_SUCCESS:
                n = stack[depth - 1]
                if next_one[depth - 1] == n.before.count:
                    n.mark = 2
                    g.order[done] = n
                    done += 1
                    depth -= 1
                    continue
                other = n.before.of[next_one[depth - 1]]
                next_one[depth - 1] += 1
                if other.mark == 1:
                    wrong[0] = other
                    r = CUDA_ERROR_INVALID_VALUE
                elif other.mark == 0:
                    other.mark = 1
                    stack[depth], next_one[depth] = other, 0
                    depth += 1
        i += 1
    free(stack)
    free(next_one)
    free(roots)
    return r


cdef node *node_of_origin(graph *g, uint64_t serial) noexcept nogil:
    """The copy of a node in a graph or in its children, or NULL."""
    cdef node *n = g.first
    cdef node *found
    while n != NULL:
        if n.origin == serial:
            return n
        if n.child != NULL:
            found = node_of_origin(n.child, serial)
            if found != NULL:
                return found
        n = n.next
    return NULL


cdef int check_nodes(void *p, void **nodes, const uint64_t *edges, size_t n, node_list *to) noexcept nogil:
    """Nodes of a graph, each once.  With work_lock held."""
    cdef size_t i
    if not is_handle(GRAPH, p) or (n and nodes == NULL):
        return CUDA_ERROR_INVALID_VALUE
    for i in range(n):
        if not is_handle(NODE, nodes[i]) or (<node *>nodes[i]).of != p or is_listed(to, <node *>nodes[i]):
            return CUDA_ERROR_INVALID_VALUE
        if edges != NULL and edges[i] != 0:  # CUgraphEdgeData: ports, for launches that overlap
            return CUDA_ERROR_NOT_SUPPORTED
        if not list_node(to, <node *>nodes[i]):
            return CUDA_ERROR_OUT_OF_MEMORY
    return CUDA_SUCCESS
