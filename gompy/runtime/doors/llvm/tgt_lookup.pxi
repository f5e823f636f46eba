# What of a host range is mapped (LLVM: DeviceTy::lookupMapping), and new mappings.

cdef struct TgtFound:
    SplayNode *node
    bint contained
    bint extends  # it overlaps a mapping and is not all of it inside


cdef inline uintptr_t base_of(const SplayNode *node) noexcept nogil:
    """The host address of what a mapping is a section of."""
    cdef const TgtNotes *notes = <const TgtNotes *> notes_of(node)
    return notes.base if notes != NULL else node.host_start


cdef void find_mapped(DeviceDescr *dev, uintptr_t begin, int64_t size, TgtFound *found) noexcept nogil:
    """Look a host range up.

    One without length is inside of what holds its address, and of what begins above it and is a section of an array
    that begins at it or below.
    """
    cdef uintptr_t end = begin + <uintptr_t> size
    found.contained = False
    found.extends = False
    found.node = lookup_mapped(&dev.mem_map, begin, begin + 1)
    if size == 0:
        if found.node == NULL:
            found.node = node_from(&dev.mem_map, begin)
            if found.node != NULL and (found.node.ref_kind == REF_LINK or base_of(found.node) > begin):
                found.node = NULL
        found.contained = found.node != NULL
        return
    if found.node == NULL:
        found.node = lookup_mapped(&dev.mem_map, begin, end)
    if found.node != NULL:
        found.contained = found.node.host_start <= begin and end <= found.node.host_end
        found.extends = not found.contained


cdef inline int count_up(SplayNode *node, int64_t type) noexcept nogil:
    """One reference more, held or not; held ones are counted in both.  -1 with a failure text."""
    if type & TGT_MAP_HOLD:
        if more_of(node) == NULL:
            return -1
        node.more.held += 1
    if node.ref_kind != REF_INFINITY:
        count_owner(node).refcount += 1
    return 0


cdef SplayNode *new_mapping(DeviceDescr *dev, uintptr_t base, uintptr_t begin, int64_t size, int64_t type,
                            const void *name, const TgtPending *pending) noexcept nogil:
    """Map a host range to a block of its own, counted once; NULL with a failure text."""
    cdef size_t room = sizeof(TargetMem) + sizeof(SplayNode) + sizeof(MoreOfNode) + sizeof(TgtNotes)
    cdef TargetMem *tgt = <TargetMem *> calloc(1, room)
    cdef SplayNode *node = <SplayNode *> (tgt + 1)
    cdef MoreOfNode *more = <MoreOfNode *> (node + 1)
    cdef TgtNotes *notes = <TgtNotes *> (more + 1)
    cdef void *block
    if tgt == NULL:
        gompy_fail(b"Out of memory allocating %lu bytes", <unsigned long> room)
        return NULL
    block = device_alloc(dev, <size_t> size + pending.pad)
    if block == NULL:
        free(tgt)
        gompy_fail(
            b"no device memory for [%p..%p) of %ld bytes", <void *> begin, <void *> (begin + <uintptr_t> size), size
        )
        return NULL
    tgt.tgt_start = <uintptr_t> block + pending.pad
    tgt.refcount = 1
    tgt.padding = <uint32_t> pending.pad
    tgt.lasting = &several_record
    notes.base = base
    notes.name = name
    notes.born = pending.serial
    more.held = 1 if type & TGT_MAP_HOLD else 0
    more.notes = notes
    more.inside = True
    node.more = more
    node.host_start = begin
    node.host_end = begin + <uintptr_t> size
    node.tgt = tgt
    node.refcount = 1
    if range_insert(&dev.mem_map, node):
        drop_target_mem(dev, tgt)
        return NULL
    return node


cdef void say_extension(const SplayNode *node, uintptr_t begin, int64_t size) noexcept nogil:
    tgt_print(b"message: explicit extension not allowed: host address specified is 0x%016lx (%ld bytes), "
            b"but device allocation maps to host at 0x%016lx (%ld bytes)\n", begin, size, node.host_start,
            <int64_t> (node.host_end - node.host_start))


cdef void say_absent(const char *what, uintptr_t begin, int64_t size) noexcept nogil:
    tgt_print(b"message: device mapping required by 'present' %s modifier does not exist for host "
            b"address 0x%016lx (%ld bytes)\n", what, begin, size)


cdef int fill_mapping(DeviceDescr *dev, SplayNode *node, uintptr_t begin, int64_t size) noexcept nogil:
    """Copy to the device, all but the pointers that are attached there."""
    cdef uintptr_t end = begin + <uintptr_t> size
    if tgt_info() & TGT_INFO_COPIES:
        tell_copy(dev, True, begin, device_address(node, begin), size, notes_name(node))
    return copy_range(dev, node, max(begin, node.host_start), min(end, node.host_end), True, NULL)


cdef inline const void *notes_name(const SplayNode *node) noexcept nogil:
    cdef const TgtNotes *notes = <const TgtNotes *> notes_of(node)
    return notes.name if notes != NULL else name_of_variable(node)


cdef int gomp_kind(int64_t type, bint at_end) noexcept nogil:
    """The kind of map of gcc's that is nearest to a type, for those who are told of it."""
    cdef int both = type & (TGT_MAP_TO | TGT_MAP_FROM)
    if type & TGT_MAP_DELETE:
        return GOMP_MAP_DELETE
    if both == 0:
        return GOMP_MAP_RELEASE if at_end else GOMP_MAP_ALLOC
    if type & TGT_MAP_ALWAYS:
        if both == TGT_MAP_TO:
            return GOMP_MAP_ALWAYS_TO
        return GOMP_MAP_ALWAYS_FROM if both == TGT_MAP_FROM else GOMP_MAP_ALWAYS_TOFROM
    if both == TGT_MAP_TO:
        return GOMP_MAP_TO
    return GOMP_MAP_FROM if both == TGT_MAP_FROM else GOMP_MAP_TOFROM


cdef void tell_tgt_map(DeviceDescr *dev, int detail, int64_t type, uintptr_t begin, int64_t size, SplayNode *node,
                       bint copied) noexcept nogil:
    """What became of an entry (core/hooks.pxi)."""
    cdef int kind = gomp_kind(type, detail == MAP_KEPT or detail == MAP_REMOVED)
    tell_map(dev, detail, kind, map_kind_name(kind), 0, begin, <size_t> size, device_address(node, begin),
             told_count(node), <size_t> size if copied else 0)
