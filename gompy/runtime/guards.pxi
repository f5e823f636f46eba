# GOMPY_CHECK on devices whose plugin can close pages (gompy_guard): each object of a construct has pages of its own and
# ends where a closed page begins, as near as its alignment allows, so that an access beyond it faults.


cdef enum:
    GUARD_PAGE = 4096


cdef bint checks_wanted() noexcept nogil:
    """GOMPY_CHECK is set, and not to 0."""
    cdef const char *value = getenv(b"GOMPY_CHECK")
    return value != NULL and value[0] != 0 and strcmp(value, b"0") != 0


cdef void reserve_guarded(MapJob *job, MapEntry *entry, size_t from_base, size_t size, size_t align) noexcept nogil:
    """Give a new object pages of its own.  It begins from_base bytes after what `planned` is the place of."""
    cdef size_t begin, top
    if job.align < GUARD_PAGE:
        job.align = GUARD_PAGE
    if job.align < align:
        job.align = align
    begin = align_up(job.large_size, align if align > GUARD_PAGE else <size_t> GUARD_PAGE)
    top = align_up(begin + size, GUARD_PAGE)
    if from_base and top - size - begin < align:
        top += GUARD_PAGE
    entry.large = 1
    entry.planned = (top - size - from_base) & ~(align - 1)
    entry.length = from_base + size
    job.large_size = top + GUARD_PAGE


cdef void close_gaps(MapJob *job) noexcept nogil:
    """Close the page behind each new object of the construct."""
    cdef MapEntry *entry
    cdef uintptr_t end
    cdef size_t i
    for i in range(job.mapnum):
        entry = &job.tgt.list[i]
        if entry.large:
            end = align_up(job.tgt.tgt_start + entry.planned + entry.length, GUARD_PAGE)
            job.dev.ops.guard(job.dev.target_id, end, GUARD_PAGE)


cdef public bint gompy_nearest_object(int type, int number, uintptr_t address, uintptr_t *host, size_t *size,
                                      intptr_t *past) noexcept nogil:
    """For messages of a plugin that is about to end the program: the mapped object nearest to a device address.

    type, number: the plugin's kind and its number of the device.  *host, *size: the object on the host; *past: how far
    behind its end, or, negative, before its begin.  False: none is known.  The device stays locked.
    """
    cdef DeviceDescr *dev = NULL
    cdef SplayNode *node
    cdef SplayNode *left
    cdef uintptr_t begin, end, distance, best = ~<uintptr_t> 0
    cdef int i
    for i in range(num_devices):
        if devices[i].type == type and devices[i].target_id == number:
            dev = &devices[i]
    if dev == NULL or not gompy_lock_try(&dev.lock):
        return False
    # By turning the tree into a list: it may be deep, and nobody will use it again.
    node = dev.mem_map.root
    while node != NULL:
        if node.left != NULL:
            left = node.left
            node.left = left.right
            left.right = node
            node = left
            continue
        if node.tgt != NULL and node.ref_kind != REF_LINK:
            begin = node.tgt.tgt_start + node.tgt_offset
            end = begin + (node.host_end - node.host_start)
            distance = address - end if address >= end else begin - address
            if (address < begin or address >= end) and distance < best:
                best = distance
                host[0] = node.host_start
                size[0] = node.host_end - node.host_start
                past[0] = <intptr_t> distance if address >= end else -<intptr_t> distance
        node = node.right
    return best != ~<uintptr_t> 0
