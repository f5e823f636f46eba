# target update (libgomp: gomp_update).


ctypedef void (*entry_told_fn)(DeviceDescr *, const MapList *, size_t, SplayNode *) noexcept nogil

cdef extern from *:
    entry_told_fn apart_entry "gompy_apart"(entry_told_fn) noexcept nogil


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


cdef int update_vars(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """Copy what is mapped, to the device before from it; the device is locked."""
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
        if entries_told():
            apart_entry(tell_update)(dev, maps, i, node)
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
        if has_hooks(HOOK_MAP):
            apart_entry(tell_updated)(dev, maps, i, node)
    return 0
