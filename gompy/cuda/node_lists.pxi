# Sets of a graph's nodes, in the order in which they came.

cdef struct node_list:
    node **of
    size_t count, room


cdef bint list_node(node_list *l, node *n) noexcept nogil:
    """Add a node that is not there yet.  False: no memory."""
    cdef size_t i
    cdef size_t room
    cdef void *grown
    for i in range(l.count):
        if l.of[i] == n:
            return True
    if l.count == l.room:
        room = 2 * l.room if l.room else 4
        grown = realloc(l.of, room * sizeof(node *))
        if grown == NULL:
            return False
        l.of, l.room = <node **>grown, room
    l.of[l.count] = n
    l.count += 1
    return True


cdef bint list_all(node_list *l, const node_list *others) noexcept nogil:
    """Add nodes."""
    cdef size_t i
    for i in range(others.count):
        if not list_node(l, others.of[i]):
            return False
    return True


cdef void forget_list(node_list *l) noexcept nogil:
    """No nodes."""
    free(l.of)
    memset(l, 0, sizeof(node_list))


cdef inline bint is_listed(const node_list *l, const node *n) noexcept nogil:
    """Whether a node is there."""
    cdef size_t i
    for i in range(l.count):
        if l.of[i] == n:
            return True
    return False


cdef void unlist_node(node_list *l, const node *n) noexcept nogil:
    """Take a node out, if it is there."""
    cdef size_t i, kept = 0
    for i in range(l.count):
        if l.of[i] != n:
            l.of[kept] = l.of[i]
            kept += 1
    l.count = kept
