# target update (libgomp: gomp_update).


cdef void tell_update(DeviceDescr *dev, int kind, size_t i, uintptr_t start, size_t size,
                      SplayNode *node) noexcept nogil:
    """An entry of an update, to whoever wants to know, before it is copied; node: NULL where nothing is mapped."""
    check_entry(dev, EVENT_UPDATE if node != NULL else EVENT_ABSENT, kind, start, size)
    if node == NULL:
        tell_absent(dev, kind, i, start, size)
    elif gompy_debug_level:
        tell_entry(dev, kind, start, size, node, b"")


cdef int update_vars(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """Copy what is mapped, to the device before from it; the device is locked."""
    cdef size_t i
    cdef uintptr_t start, end
    cdef int kind
    cdef SplayNode *node
    cdef unsigned properties
    cdef bint told = entries_told()
    for i in range(maps.mapnum):
        if maps.sizes[i] == 0:
            continue
        start = <uintptr_t> maps.hostaddrs[i]
        end = start + maps.sizes[i]
        node = lookup_mapped(&dev.mem_map, start, end)
        kind = kind_at(maps, i)
        properties = kind_properties[kind]
        if told:
            tell_update(dev, kind, i, start, maps.sizes[i], node)
        if node == NULL:
            if properties & KIND_PRESENT:
                return fail_absent(dev, start, maps.sizes[i])
            continue
        if node.host_start > start or node.host_end < end:
            return gompy_fail(b"Trying to update [%p..%p) object when only [%p..%p) is mapped", <void *> start,
                              <void *> end, <void *> node.host_start, <void *> node.host_end)
        dev.copying.kind = kind
        if properties & KIND_TO and copy_range(dev, node, start, end, True, NULL):
            return -1
        if properties & KIND_FROM and copy_range(dev, node, start, end, False, NULL):
            return -1
        if told and has_hooks(HOOK_MAP):
            tell_entry_end(dev, MAP_UPDATED, kind, i, start, end - start, node, end - start)
    return 0
