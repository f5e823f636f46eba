# target enter data and exit data (libgomp: GOMP_target_enter_exit_data, gomp_exit_data).


cdef size_t enter_group(const MapList *maps, size_t i) noexcept nogil:
    """How many entries from i on are mapped as one block: each for itself, so that each can leave for itself."""
    cdef size_t j = i + 1
    cdef int kind = kind_at(maps, i)
    if kind == GOMP_MAP_STRUCT:
        return maps.sizes[i] + 1
    if kind == GOMP_MAP_TO_PSET:
        while j < maps.mapnum and (is_pointer_kind(kind_at(maps, j)) or kind_at(maps, j) == GOMP_MAP_ALWAYS_POINTER):
            j += 1
        return j - i
    if j < maps.mapnum and kind_at(maps, j) == GOMP_MAP_ALWAYS_POINTER and kind != GOMP_MAP_ALWAYS_POINTER:
        return 2  # gfortran 12 and 13: a pointer component, which gets the device's address of what is before it
    return 2 if j < maps.mapnum and is_attach_kind(kind_at(maps, j)) else 1


cdef int enter_groups(DeviceDescr *dev, const MapList *maps, uint64_t stamp, bint structs) noexcept nogil:
    """Map the groups that are structs, or the others."""
    cdef MapList group
    cdef size_t i = 0
    cdef int failed = 0
    while i < maps.mapnum:
        group = part_of(maps, i, enter_group(maps, i))
        if (kind_at(maps, i) == GOMP_MAP_STRUCT) == structs:
            map_vars(dev, &group, stamp, VARS_ENTER_DATA, &failed)
        if failed:
            return -1
        i += group.mapnum
    return 0


cdef int enter_vars(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """enter data; the device is locked over all of it.

    Structs come first: what is attached may be pointers of theirs (struct_pointers.pxi).
    """
    cdef uint64_t stamp = new_stamp(dev)
    cdef bint structs = False
    cdef int rc
    cdef size_t i
    for i in range(maps.mapnum):
        if i == 0:
            gompy_index_aim(&dev.mem_map, maps.hostaddrs[0], maps.sizes[0], False)
        else:
            gompy_index_ahead(&dev.mem_map, maps.hostaddrs[i], maps.sizes[i])
            gompy_fetch_object(maps.hostaddrs[i], maps.sizes[i])
        if kind_at(maps, i) == GOMP_MAP_STRUCT:
            structs = True
    if not structs:
        return enter_groups(dev, maps, stamp, False)
    dev.whole = maps
    rc = enter_groups(dev, maps, stamp, True)
    dev.whole = NULL
    return rc or enter_groups(dev, maps, stamp, False)


ctypedef void (*entry_told_fn)(DeviceDescr *, const MapList *, size_t, SplayNode *) noexcept nogil
ctypedef void (*left_told_fn)(DeviceDescr *, const MapList *, size_t, SplayNode *, bint, bint) noexcept nogil

cdef extern from *:
    entry_told_fn apart_entry "gompy_apart"(entry_told_fn) noexcept nogil
    left_told_fn apart_left "gompy_apart"(left_told_fn) noexcept nogil


cdef void tell_exit(DeviceDescr *dev, const MapList *maps, size_t i, SplayNode *node) noexcept nogil:
    """An entry of exit data, before anything is done; node: NULL where nothing is mapped."""
    cdef uintptr_t start = <uintptr_t> maps.hostaddrs[i]
    cdef int kind = kind_at(maps, i)
    check_entry(dev, EVENT_EXIT if node != NULL else EVENT_ABSENT, kind, start, maps.sizes[i])
    if node == NULL:
        tell_absent(dev, kind, i, start, maps.sizes[i])


cdef void tell_left(DeviceDescr *dev, const MapList *maps, size_t i, SplayNode *node, bint copied,
                    bint removed) noexcept nogil:
    """An entry of exit data, whose count is lower now; copied: as far as it is mapped."""
    cdef uintptr_t start = <uintptr_t> maps.hostaddrs[i], end = start + maps.sizes[i]
    cdef int kind = kind_at(maps, i)
    if gompy_debug_level:
        tell_entry(dev, kind, start, maps.sizes[i], node, b", removed" if removed else b"")
    if copied:
        start = max(start, node.host_start)
        end = min(end, node.host_end)
    if has_hooks(HOOK_MAP):
        tell_entry_end(dev, MAP_REMOVED if removed else MAP_KEPT, kind, i, start, end - start, node,
                       end - start if copied and start < end else 0)


cdef int exit_vars(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """exit data (libgomp: gomp_exit_data): detach, lower the counts and copy back, at the end remove."""
    cdef uint64_t stamp = new_stamp(dev)
    cdef SplayNode *removed = NULL
    cdef SplayNode *node
    cdef uintptr_t start, end
    cdef bint do_copy, do_remove, copied
    cdef size_t i
    cdef int kind
    cdef unsigned properties
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if is_detach_kind(kind):
            start = <uintptr_t> maps.hostaddrs[i]
            node = lookup_mapped(&dev.mem_map, start, start + sizeof(void *))
            if node != NULL and detach_pointer(dev, node, start, kind == GOMP_MAP_FORCE_DETACH):
                return -1
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if is_detach_kind(kind):
            continue
        properties = kind_properties[kind]
        if not properties & KIND_EXIT:
            return gompy_fail(b"GOMP_target_enter_exit_data unhandled kind 0x%.2x", kind)
        start = <uintptr_t> maps.hostaddrs[i]
        end = start + maps.sizes[i]
        if properties & KIND_FROM and start < end:
            gompy_index_aim(&dev.mem_map, <const void *> start, end - start, True)
        if properties & KIND_SECTION:
            node = lookup_section(&dev.mem_map, start, end)
        else:
            node = lookup_mapped(&dev.mem_map, start, end)
        fetch_device_memory(&dev.mem_map, node)
        if entries_told():
            apart_entry(tell_exit)(dev, maps, i, node)
        if node == NULL:
            continue
        decrement_refcount(node, stamp, properties & KIND_DELETE, &do_copy, &do_remove)
        copied = (do_copy and properties & KIND_FROM) or properties & KIND_ALWAYS_FROM
        if copied:
            # Of a range that is larger than the mapping, what is mapped (libgomp copies beyond it).
            dev.copying.kind = kind
            if start < node.host_start or end > node.host_end:
                check_entry(dev, EVENT_ABSENT, kind, start, end - start)
            start = max(start, node.host_start)
            end = min(end, node.host_end)
            if start < end and copy_range(dev, node, start, end, False, NULL):
                return -1
        if entries_told():
            apart_left(tell_left)(dev, maps, i, node, copied, do_remove)
        if do_remove:
            node = count_owner(node)
            chain_removed(node, removed)
            removed = node
    return remove_keys(dev, removed)
