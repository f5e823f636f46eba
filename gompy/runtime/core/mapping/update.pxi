# target update (libgomp: gomp_update).


ctypedef int (*update_each_fn)(DeviceDescr *, const MapList *) noexcept nogil

cdef extern from *:
    update_each_fn apart_update_each "gompy_apart"(update_each_fn) noexcept nogil


cdef void tell_update(DeviceDescr *dev, const MapList *maps, size_t i, SplayNode *node) noexcept nogil:
    """An entry of an update, to whoever wants to know, before it is copied; node: NULL where nothing is mapped."""
    cdef uintptr_t start = <uintptr_t> maps.hostaddrs[i]
    cdef size_t size = maps.sizes[i]
    cdef int kind = kind_at(maps, i)
    check_entry(dev, EVENT_UPDATE if node != NULL else EVENT_ABSENT, kind, start, size)
    if node == NULL:
        tell_absent(dev, kind, i, start, size)
    elif gompy_debug_level:
        tell_entry(dev, kind, start, size, node, b"")


cdef void tell_updated(DeviceDescr *dev, const MapList *maps, size_t i, SplayNode *node) noexcept nogil:
    """An entry of an update has been copied."""
    tell_entry_end(dev, MAP_UPDATED, kind_at(maps, i), i, <uintptr_t> maps.hostaddrs[i], maps.sizes[i], node,
                   maps.sizes[i])


cdef int update_each_told(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """update_vars, entry by entry, each of which is told."""
    cdef MapList entry
    cdef SplayNode *node
    cdef uintptr_t start
    cdef size_t i
    for i in range(maps.mapnum):
        if maps.sizes[i] == 0:
            continue
        entry = part_of(maps, i, 1)
        start = <uintptr_t> maps.hostaddrs[i]
        node = lookup_mapped(&dev.mem_map, start, start + maps.sizes[i])
        tell_update(dev, maps, i, node)
        if update_each(dev, &entry):
            return -1
        if node != NULL and has_hooks(HOOK_MAP):
            tell_updated(dev, maps, i, node)
    return 0


cdef inline int update_vars(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """Copy what is mapped, to the device before from it; the device is locked.  -1 with a failure text."""
    if entries_told():
        return apart_update_each(update_each_told)(dev, maps)
    return update_each(dev, maps)


cdef int update_each(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """update_vars; its entries are not told."""
    cdef size_t i
    cdef uintptr_t start, end
    cdef int kind
    cdef SplayNode *node
    cdef unsigned properties
    for i in range(maps.mapnum):
        if maps.sizes[i] == 0:
            continue
        start = <uintptr_t> maps.hostaddrs[i]
        end = start + maps.sizes[i]
        node = lookup_mapped(&dev.mem_map, start, end)
        kind = kind_at(maps, i)
        properties = kind_properties[kind]
        fetch_device_memory(&dev.mem_map, node)
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
    return 0
