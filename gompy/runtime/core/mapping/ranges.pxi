# The mapped host ranges of a device, in the order of their addresses (range_index.h has the structure, and what equal
# means).


cdef inline SplayNode *range_lookup(RangeIndex *index, uintptr_t start, uintptr_t end) noexcept nogil:
    """A node that overlaps [start, end), or NULL."""
    return <SplayNode *> gompy_index_lookup(index, start, end)


cdef int range_insert(RangeIndex *index, SplayNode *node) noexcept nogil:
    """Put a node in; -1 with a failure text if it overlaps one that is there, or for lack of memory."""
    cdef int failed = gompy_index_insert(index, <gompy_range *> node, 0)
    if failed == 0:
        return 0
    return gompy_fail(b"Duplicate node" if failed > 0 else b"Out of memory for the index of mapped ranges")


cdef inline bint range_inserted(RangeIndex *index, SplayNode *node, uintptr_t view) noexcept nogil:
    """range_insert, if nothing overlaps it and there is memory; else False, and nothing is said of it.

    view: where the host reads the node's device memory, or 0.
    """
    return gompy_index_insert(index, <gompy_range *> node, view) == 0


cdef inline void range_remove(RangeIndex *index, SplayNode *node) noexcept nogil:
    """Take a node out; nothing happens if it is not there."""
    gompy_index_remove(index, <gompy_range *> node)


cdef inline void fetch_device_memory(const RangeIndex *index, const SplayNode *node) noexcept nogil:
    """Have the device's memory of what was looked up just now fetched.  Some thousands are in a cache anyway."""
    if rare(index.depth > 1):
        gompy_index_fetch_with(index, <const gompy_range *> node)


cdef inline SplayNode *node_from(RangeIndex *index, uintptr_t start) noexcept nogil:
    """The first node that begins at an address or behind it, or NULL."""
    cdef RangeCursor at = gompy_index_from(index, start)
    return <SplayNode *> gompy_index_next(&at)


cdef inline RangeCursor all_ranges(RangeIndex *index) noexcept nogil:
    """The place of the first node.  While it is used nothing comes or goes: the device is locked."""
    return gompy_index_from(index, 0)


cdef inline SplayNode *next_range(RangeCursor *at) noexcept nogil:
    """Step through the nodes in the order of addresses; NULL at the end.  It takes no memory."""
    return <SplayNode *> gompy_index_next(at)


cdef inline SplayNode *lookup_mapped(RangeIndex *index, uintptr_t start, uintptr_t end) noexcept nogil:
    """range_lookup, with a `declare target link` variable that is not mapped as absent."""
    cdef SplayNode *node = range_lookup(index, start, end)
    if node != NULL and node.ref_kind == REF_LINK:
        return NULL
    return node


cdef inline SplayNode *mapped_next(RangeIndex *index, uintptr_t start, uintptr_t end) noexcept nogil:
    """lookup_mapped of what often is beside the one found before."""
    cdef SplayNode *node = <SplayNode *> gompy_index_beside(index, start, end)
    if node == NULL:
        node = range_lookup(index, start, end)
    if node != NULL and node.ref_kind == REF_LINK:
        return NULL
    return node


cdef SplayNode *lookup_pointer(RangeIndex *index, uintptr_t p) noexcept nogil:
    """The range that a pointer points to: into it, else one past its end, else an empty range at it."""
    cdef SplayNode *node = lookup_mapped(index, p, p + 1)
    if node == NULL:
        node = lookup_mapped(index, p - 1, p)
    if node == NULL:
        node = lookup_mapped(index, p, p)
    return node


cdef inline SplayNode *lookup_section(RangeIndex *index, uintptr_t start, uintptr_t end) noexcept nogil:
    """The range of a section that may have no length: then the range that holds the byte at its start."""
    return lookup_mapped(index, start, end + 1 if start == end else end)


cdef inline bint of_image(const SplayNode *node) noexcept nogil:
    """Whether a range is a function or a variable of an image."""
    return node.tgt.lasting.image != NULL
