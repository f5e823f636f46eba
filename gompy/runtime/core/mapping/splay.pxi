# The tree of mapped host ranges: a top-down splay tree (Sleator and Tarjan, Self-Adjusting Binary Search Trees, 1985).
#
# Ranges are compared as libgomp does (libgomp.h, splay_compare): two that overlap are equal, so a lookup of a range
# finds any node that it overlaps.  An empty range overlaps only a range that has it strictly inside.  One rule
# differs: libgomp takes any two empty ranges as equal, so that a second zero-sized object cannot be mapped; here they
# must be at one address.


cdef inline int range_compare(uintptr_t xs, uintptr_t xe, uintptr_t ys, uintptr_t ye) noexcept nogil:
    if xs == xe and ys == ye and xs == ys:
        return 0
    if xe <= ys:
        return -1
    if xs >= ye:
        return 1
    return 0


cdef SplayNode *splay_node(SplayNode *t, uintptr_t start, uintptr_t end) noexcept nogil:
    """Bring the node that equals [start, end), or else the last one on the way to it, to the top."""
    cdef SplayNode side
    cdef SplayNode *smaller = &side
    cdef SplayNode *larger = &side
    cdef SplayNode *child
    cdef int c
    if t == NULL:
        return NULL
    side.left = NULL
    side.right = NULL
    while True:
        c = range_compare(start, end, t.host_start, t.host_end)
        if c < 0:
            child = t.left
            if child == NULL:
                break
            if range_compare(start, end, child.host_start, child.host_end) < 0:
                t.left = child.right
                child.right = t
                t = child
                if t.left == NULL:
                    break
            larger.left = t
            larger = t
            t = t.left
        elif c > 0:
            child = t.right
            if child == NULL:
                break
            if range_compare(start, end, child.host_start, child.host_end) > 0:
                t.right = child.left
                child.left = t
                t = child
                if t.right == NULL:
                    break
            smaller.right = t
            smaller = t
            t = t.right
        else:
            break
    smaller.right = t.left
    larger.left = t.right
    t.left = side.right
    t.right = side.left
    return t


cdef SplayNode *splay_lookup(SplayTree *tree, uintptr_t start, uintptr_t end) noexcept nogil:
    """The node that overlaps [start, end), or NULL."""
    cdef SplayNode *root = splay_node(tree.root, start, end)
    tree.root = root
    if root != NULL and range_compare(start, end, root.host_start, root.host_end) == 0:
        return root
    return NULL


cdef int splay_insert(SplayTree *tree, SplayNode *node) noexcept nogil:
    """Put a node in; -1 with a failure text if it overlaps one that is there."""
    cdef SplayNode *root = splay_node(tree.root, node.host_start, node.host_end)
    cdef int c
    if root == NULL:
        node.left = NULL
        node.right = NULL
    else:
        c = range_compare(node.host_start, node.host_end, root.host_start, root.host_end)
        if c == 0:
            tree.root = root
            return gompy_fail(b"Duplicate node")
        if c < 0:
            node.left = root.left
            node.right = root
            root.left = NULL
        else:
            node.right = root.right
            node.left = root
            root.right = NULL
    tree.root = node
    tree.count += 1
    return 0


cdef void splay_remove(SplayTree *tree, SplayNode *node) noexcept nogil:
    """Take a node out; nothing happens if it is not in the tree."""
    cdef SplayNode *root = splay_node(tree.root, node.host_start, node.host_end)
    cdef SplayNode *right
    tree.root = root
    if root != node:
        return
    right = root.right
    if root.left == NULL:
        tree.root = right
    else:
        root = splay_node(root.left, node.host_start, node.host_end)
        root.right = right
        tree.root = root
    tree.count -= 1


cdef SplayNode *node_from(SplayTree *tree, uintptr_t start) noexcept nogil:
    """The first node that begins at an address or behind it, or NULL."""
    cdef SplayNode *node = splay_node(tree.root, start, start)
    cdef SplayNode *found = NULL
    tree.root = node
    while node != NULL:
        if node.host_start >= start:
            found = node
            node = node.left
        else:
            node = node.right
    return found


cdef inline SplayNode *lookup_mapped(SplayTree *tree, uintptr_t start, uintptr_t end) noexcept nogil:
    """splay_lookup, with a `declare target link` variable that is not mapped as absent."""
    cdef SplayNode *node = splay_lookup(tree, start, end)
    if node != NULL and node.ref_kind == REF_LINK:
        return NULL
    return node


cdef SplayNode *lookup_pointer(SplayTree *tree, uintptr_t p) noexcept nogil:
    """The range that a pointer points to: into it, else one past its end, else an empty range at it."""
    cdef SplayNode *node = lookup_mapped(tree, p, p + 1)
    if node == NULL:
        node = lookup_mapped(tree, p - 1, p)
    if node == NULL:
        node = lookup_mapped(tree, p, p)
    return node


cdef inline SplayNode *lookup_section(SplayTree *tree, uintptr_t start, uintptr_t end) noexcept nogil:
    """The range of a section that may have no length: then the range that holds the byte at its start."""
    return lookup_mapped(tree, start, end + 1 if start == end else end)


cdef inline SplayNode *next_of_list(SplayNode ***link) noexcept nogil:
    """Step through a tree in the order of addresses, from its root's place on; NULL at the end.  The device is locked.

    The tree may be deep, and there may be no stack to spare: it is turned into a list on the way, which is a tree as
    well.
    """
    cdef SplayNode *node = link[0][0]
    cdef SplayNode *left
    while node != NULL and node.left != NULL:
        left = node.left
        node.left = left.right
        left.right = node
        link[0][0] = node = left
    if node != NULL:
        link[0] = &node.right
    return node
