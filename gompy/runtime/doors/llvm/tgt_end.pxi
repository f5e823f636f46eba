# The end of a construct: counts fall, contents go back, what nobody counts goes (LLVM: targetDataEnd).


cdef bint count_down(SplayNode *node, int64_t type, bint counted) noexcept nogil:
    """Lower a count, with DELETE to nothing; whether this was the last reference, or would be if it counted."""
    cdef SplayNode *owner = count_owner(node)
    cdef bint hold = (type & TGT_MAP_HOLD) != 0
    cdef bint endless = node.ref_kind == REF_INFINITY
    cdef uintptr_t mine = held_of(node) if hold else owner.refcount - held_of(node)
    cdef uintptr_t others = owner.refcount - mine
    cdef uintptr_t less = 0
    cdef bint last
    if endless and not hold:
        return False
    last = not endless and others == 0 and (type & TGT_MAP_DELETE or mine == 1)
    if type & TGT_MAP_DELETE and mine > 1:
        less = mine - 1
    if counted and mine > less:
        less += 1
    if not endless:
        owner.refcount -= less
    if hold and node.more != NULL:
        node.more.held -= less
    return last


cdef void tell_ended(DeviceDescr *dev, SplayNode *node, uintptr_t begin, int64_t size, int64_t type, bint counted,
                     const char *action) noexcept nogil:
    """Tell of an entry's counts.  As LLVM has it, DELETE makes each count 1 before one is taken away."""
    cdef SplayNode *owner = count_owner(node)
    cdef bint hold = (type & TGT_MAP_HOLD) != 0
    cdef bint none = (held_of(node) if hold else owner.refcount - held_of(node)) == 0
    if type & TGT_MAP_DELETE and not counted and none and node.ref_kind != REF_INFINITY:
        owner.refcount += 1
        if hold and more_of(node) != NULL:
            node.more.held += 1
        tell_found(dev, node, begin, size, type, True, action, NULL)
        owner.refcount -= 1
        if hold and node.more != NULL:
            node.more.held -= 1
        return
    tell_found(dev, node, begin, size, type, True, action, NULL)


cdef void note_removed(TgtRemoved *removed, SplayNode *node) noexcept nogil:
    """Put what goes behind what goes before it."""
    chain_removed(node, NULL)
    if removed.last == NULL:
        removed.first = node
    else:
        chain_removed(removed.last, node)
    removed.last = node


cdef int end_entry(DeviceDescr *dev, const TgtMaps *maps, int i, TgtRemoved *removed) noexcept nogil:
    """One entry without a mapper; what goes is noted in `removed`."""
    cdef int64_t type = maps.types[i]
    cdef uintptr_t begin
    cdef int64_t size
    cdef bint inner = maps.from_mapper and i == 0
    cdef bint member = parent_of(type) >= 0 and not type & TGT_MAP_PTR_AND_OBJ
    cdef bint counted = not member and not inner
    cdef bint last
    cdef const char *action = b" (decremented)"
    cdef uintptr_t before
    cdef SplayNode *owner
    cdef TgtFound found
    struct_range(maps, i, &begin, &size)
    find_mapped(dev, begin, size, &found)
    if not found.contained and not (found.extends and type & TGT_MAP_IMPLICIT):
        if type & TGT_MAP_PRESENT and not shares_memory(dev):
            say_absent(b"map type", begin, size)
            return -1
        if absent_told():
            tell_tgt_absent(dev, False, type, begin, size, name_at(maps, i))
        return 0
    before = count_owner(found.node).refcount
    last = count_down(found.node, type, counted)
    if tgt_info() & TGT_INFO_EXISTS:
        if not counted:
            action = b" (update suppressed)"
        elif last:
            action = b" (reset, delayed deletion)" if type & TGT_MAP_DELETE else b" (decremented, delayed deletion)"
        tell_ended(dev, found.node, begin, size, type, counted, action)
    if size == 0 and tgt_info() & TGT_INFO_COPIES and (last or type & TGT_MAP_ALWAYS):
        tell_no_bytes(dev, found.node, begin, type & TGT_MAP_FROM)
    if type & TGT_MAP_FROM and size and (last or type & TGT_MAP_ALWAYS) and bring_back(dev, found.node, begin, size):
        return -1
    owner = count_owner(found.node)
    if has_hooks(HOOK_MAP):
        tell_tgt_map(dev, MAP_REMOVED if before != 0 and owner.refcount == 0 else MAP_KEPT, type, begin, size,
                     found.node, type & TGT_MAP_FROM and (last or type & TGT_MAP_ALWAYS))
    if found.node.ref_kind != REF_INFINITY and before != 0 and owner.refcount == 0:
        if notes_of(owner) != NULL:
            (<TgtNotes *> notes_of(owner)).ended = size
        note_removed(removed, owner)
    return 0


cdef int bring_back(DeviceDescr *dev, SplayNode *node, uintptr_t begin, int64_t size) noexcept nogil:
    """Copy to the host, all but the pointers that are attached: those keep the host's values."""
    cdef uintptr_t end = begin + <uintptr_t> size
    if tgt_info() & TGT_INFO_COPIES:
        tell_copy(dev, False, begin, device_address(node, begin), size, notes_name(node))
    if copy_range(dev, node, max(begin, node.host_start), min(end, node.host_end), False, NULL):
        tell_failure(b"error")
        tgt_print(b"error: Copying data from device failed.\n")
        return -1
    return 0


cdef int end_all(DeviceDescr *dev, TgtMaps *maps, TgtRemoved *removed) noexcept nogil:
    """All entries, the last one first."""
    cdef int i = maps.count - 1
    while i >= 0:
        if has_no_mapping(maps.types[i]) or maps.types[i] & TGT_MAP_ATTACH and not has_mapper(maps, i):
            pass
        elif has_mapper(maps, i):
            if by_mapper(dev, maps, i, end_maps):
                tgt_print(b"error: Call to targetDataEnd via targetDataMapper for custom mapper failed.\n"
                )
                return -1
        elif end_entry(dev, maps, i, removed):
            return -1
        i -= 1
    return 0


cdef int end_maps(DeviceDescr *dev, TgtMaps *maps) noexcept nogil:
    """The end of a construct; the device is locked.  -1 after messages."""
    cdef TgtRemoved removed
    cdef SplayNode *node
    cdef int rc
    if maps.removed != NULL:  # a mapper's
        return end_all(dev, maps, maps.removed)
    removed.first = removed.last = NULL
    maps.removed = &removed
    rc = end_all(dev, maps, &removed)
    maps.removed = NULL
    if rc:
        return -1
    node = removed.first
    while node != NULL:
        if tgt_info() & TGT_INFO_CHANGED:
            tell_removed(dev, node)
        node = next_removed(node)
    if remove_keys(dev, removed.first):
        tell_failure(b"error")
        tgt_print(b"error: Deallocating data from device failed.\n")
        return -1
    return 0
