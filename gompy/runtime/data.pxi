# target data, target update, target enter data and exit data (libgomp: GOMP_target_data_ext and after).


cdef bint construct_cancelled() noexcept nogil:
    """Whether the parallel or taskgroup region is cancelled: no new work then."""
    return omp_get_cancellation() and (GOMP_cancellation_point(GOMP_CANCEL_PARALLEL)
                                       or GOMP_cancellation_point(GOMP_CANCEL_TASKGROUP))


# --- target data -------------------------------------------------------------------------------------------------------

cdef void push_data(TargetMem *tgt) noexcept nogil:
    global gompy_data_stack
    tgt.prev = <TargetMem *> gompy_data_stack
    gompy_data_stack = tgt


cdef void data_on_host(DeviceDescr *dev) noexcept nogil:
    """target data without a device: inside another one, an empty block keeps begin and end in step."""
    cdef TargetMem *tgt
    if target_offload == OFFLOAD_MANDATORY and dev != NULL:
        fatal_mandatory(b"device cannot be used for offloading")
    if gompy_data_stack != NULL:
        tgt = new_target_mem(NULL, 0, 0)
        if tgt == NULL:
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TargetMem))
        push_data(tgt)


cdef void begin_data(int device, size_t mapnum, void **hostaddrs, size_t *sizes, void *kinds, bint short_kinds,
                     const void *where) noexcept nogil:
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(device, &reason)
    cdef TargetMem *tgt = NULL
    cdef int failed = 0
    if not takes_maps(dev):
        data_on_host(dev)
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        doing(dev, b"target data", where)
        tgt = map_vars(dev, mapnum, hostaddrs, sizes, kinds, short_kinds, new_stamp(dev), VARS_DATA, &failed)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    if tgt == NULL:
        data_on_host(NULL)
    else:
        push_data(tgt)


cdef public void GOMP_target_data_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                      unsigned short *kinds) noexcept nogil:
    """Begin of `#pragma omp target data`."""
    begin_data(device, mapnum, hostaddrs, sizes, kinds, True, call_site())


cdef public void GOMP_target_data(int device, const void *unused, size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned char *kinds) noexcept nogil:
    """Begin of `#pragma omp target data` of GCC 4.9."""
    begin_data(device, mapnum, hostaddrs, sizes, kinds, False, call_site())


cdef public void GOMP_target_end_data() noexcept nogil:
    """End of `#pragma omp target data`."""
    global gompy_data_stack
    cdef TargetMem *tgt = <TargetMem *> gompy_data_stack
    if tgt != NULL:
        gompy_data_stack = tgt.prev
        tgt.prev = NULL
        unmap_construct(tgt)


# --- update ------------------------------------------------------------------------------------------------------------

cdef int update_vars(DeviceDescr *dev, size_t mapnum, void **hostaddrs, const size_t *sizes, void *kinds,
                     bint short_kinds) noexcept nogil:
    """Copy what is mapped, to the device before from it; the device is locked."""
    cdef size_t i
    cdef uintptr_t start, end
    cdef int kind
    cdef SplayNode *node
    for i in range(mapnum):
        if sizes[i] == 0:
            continue
        start = <uintptr_t> hostaddrs[i]
        end = start + sizes[i]
        node = lookup_mapped(&dev.mem_map, start, end)
        if short_kinds:
            kind = (<unsigned short *> kinds)[i] & 0xFF
            if (kind & MAP_SPECIAL_BITS) == MAP_IMPLICIT:
                kind &= ~MAP_IMPLICIT
        else:
            kind = (<unsigned char *> kinds)[i] & 7
        if node == NULL:
            if gompy_debug_level:
                tell_entry(dev, kind, start, sizes[i], NULL, b"")
            continue
        if node.host_start > start or node.host_end < end:
            return gompy_fail(b"Trying to update [%p..%p) object when only [%p..%p) is mapped", <void *> start,
                              <void *> end, <void *> node.host_start, <void *> node.host_end)
        if gompy_debug_level:
            tell_entry(dev, kind, start, sizes[i], node, b"")
        dev.copying.kind = kind
        if copies_to(kind) and copy_range(dev, node, start, end, True, NULL):
            return -1
        if copies_from(kind) and copy_range(dev, node, start, end, False, NULL):
            return -1
    return 0


cdef void update_now(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes, void *kinds, bint short_kinds,
                     const void *where) noexcept nogil:
    cdef int rc = 0
    if not takes_maps(dev) or mapnum == 0:
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        doing(dev, b"target update", where)
        rc = update_vars(dev, mapnum, hostaddrs, sizes, kinds, short_kinds)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef public void GOMP_target_update_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                        unsigned short *kinds, unsigned flags, void **depend) noexcept nogil:
    """`#pragma omp target update`."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(device, &reason)
    if depend != NULL:
        if flags & GOMP_TARGET_FLAG_NOWAIT and in_team():
            defer_data(dev, mapnum, hostaddrs, sizes, kinds, flags | GOMP_TARGET_FLAG_UPDATE, depend,
                       call_site())
            return
        GOMP_taskwait_depend(depend)
    if not construct_cancelled():
        update_now(dev, mapnum, hostaddrs, sizes, kinds, True, call_site())


cdef public void GOMP_target_update(int device, const void *unused, size_t mapnum, void **hostaddrs, size_t *sizes,
                                    unsigned char *kinds) noexcept nogil:
    """`#pragma omp target update` of GCC 4.9."""
    cdef const char *reason = NULL
    update_now(resolve_device(device, &reason), mapnum, hostaddrs, sizes, kinds, False, call_site())


# --- enter data, exit data ----------------------------------------------------------------------------------------------

cdef size_t enter_group(size_t i, size_t mapnum, const size_t *sizes, const unsigned short *kinds) noexcept nogil:
    """How many entries from i on are mapped as one block: each for itself, so that each can leave for itself."""
    cdef size_t j
    cdef int kind
    if kinds[i] & 0xFF == MAP_STRUCT:
        return sizes[i] + 1
    if kinds[i] & 0xFF == MAP_TO_PSET:
        j = i + 1
        while j < mapnum:
            kind = kinds[j] & 0xFF
            if not is_pointer_kind(kind) and kind != MAP_ALWAYS_POINTER:
                break
            j += 1
        return j - i
    if i + 1 < mapnum and (kinds[i + 1] & 0xFF == MAP_ATTACH
                           or kinds[i + 1] & 0xFF == MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION):
        return 2
    return 1


cdef int enter_vars(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes,
                    unsigned short *kinds) noexcept nogil:
    """enter data; the device is locked over all of it.

    Structs come first: what is attached may be pointers of theirs (struct_pointers.pxi).
    """
    cdef uint64_t stamp = new_stamp(dev)
    cdef MapCall call
    cdef bint structs = False
    cdef int rc
    cdef size_t i
    for i in range(mapnum):
        if kinds[i] & 0xFF == MAP_STRUCT:
            structs = True
    if not structs:
        return enter_groups(dev, mapnum, hostaddrs, sizes, kinds, stamp, False)
    call.mapnum = mapnum
    call.hostaddrs = hostaddrs
    call.sizes = sizes
    call.kinds = kinds
    dev.call = &call
    rc = enter_groups(dev, mapnum, hostaddrs, sizes, kinds, stamp, True)
    dev.call = NULL
    if rc == 0:
        rc = enter_groups(dev, mapnum, hostaddrs, sizes, kinds, stamp, False)
    return rc


cdef int enter_groups(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds,
                      uint64_t stamp, bint structs) noexcept nogil:
    """Map the groups that are structs, or the others."""
    cdef size_t i = 0
    cdef size_t n
    cdef int failed = 0
    while i < mapnum:
        n = enter_group(i, mapnum, sizes, kinds)
        if (kinds[i] & 0xFF == MAP_STRUCT) == structs:
            map_vars(dev, n, &hostaddrs[i], &sizes[i], &kinds[i], True, stamp, VARS_ENTER_DATA, &failed)
        if failed:
            return -1
        i += n
    return 0


cdef int exit_vars(DeviceDescr *dev, size_t mapnum, void **hostaddrs, const size_t *sizes,
                   const unsigned short *kinds) noexcept nogil:
    """exit data (libgomp: gomp_exit_data): detach, lower the counts and copy back, at the end remove."""
    cdef uint64_t stamp = new_stamp(dev)
    cdef SplayNode *removed = NULL
    cdef SplayNode *node
    cdef uintptr_t start, end
    cdef bint do_copy, do_remove
    cdef size_t i
    cdef int kind
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind == MAP_DETACH or kind == MAP_FORCE_DETACH:
            start = <uintptr_t> hostaddrs[i]
            node = lookup_mapped(&dev.mem_map, start, start + sizeof(void *))
            if node != NULL and detach_pointer(dev, node, start, kind == MAP_FORCE_DETACH):
                return -1
    for i in range(mapnum):
        kind = kinds[i] & 0xFF
        if kind == MAP_DETACH or kind == MAP_FORCE_DETACH:
            continue
        if not (kind == MAP_FROM or kind == MAP_ALWAYS_FROM or kind == MAP_DELETE or kind == MAP_RELEASE
                or kind == MAP_ZERO_LEN_ARRAY_SECTION or kind == MAP_DELETE_ZERO_LEN_ARRAY_SECTION):
            return gompy_fail(b"GOMP_target_enter_exit_data unhandled kind 0x%.2x", kind)
        start = <uintptr_t> hostaddrs[i]
        end = start + sizes[i]
        if kind == MAP_ZERO_LEN_ARRAY_SECTION or kind == MAP_DELETE_ZERO_LEN_ARRAY_SECTION:
            node = lookup_section(&dev.mem_map, start, end)
        else:
            node = lookup_mapped(&dev.mem_map, start, end)
        if node == NULL:
            if gompy_debug_level:
                tell_entry(dev, kind, start, sizes[i], NULL, b"")
            continue
        decrement_refcount(node, stamp, kind == MAP_DELETE or kind == MAP_DELETE_ZERO_LEN_ARRAY_SECTION, &do_copy,
                           &do_remove)
        if gompy_debug_level:
            tell_entry(dev, kind, start, sizes[i], node, b", removed" if do_remove else b"")
        if (kind == MAP_FROM and do_copy) or kind == MAP_ALWAYS_FROM:
            # Of a range that is larger than the mapping, what is mapped (libgomp copies beyond it).
            dev.copying.kind = kind
            start = max(start, node.host_start)
            end = min(end, node.host_end)
            if start < end and copy_range(dev, node, start, end, False, NULL):
                return -1
        if do_remove:
            node = count_owner(node)
            node.next_removed = removed
            removed = node
    return remove_keys(dev, removed)


cdef void enter_exit_now(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds,
                         unsigned flags, const void *where) noexcept nogil:
    cdef int rc = 0
    if not takes_maps(dev):
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        if flags & GOMP_TARGET_FLAG_EXIT_DATA:
            doing(dev, b"target exit data", where)
            rc = exit_vars(dev, mapnum, hostaddrs, sizes, kinds)
        else:
            doing(dev, b"target enter data", where)
            rc = enter_vars(dev, mapnum, hostaddrs, sizes, kinds)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef public void GOMP_target_enter_exit_data(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                             unsigned short *kinds, unsigned flags, void **depend) noexcept nogil:
    """`#pragma omp target enter data`, `exit data`."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(device, &reason)
    if depend != NULL:
        if flags & GOMP_TARGET_FLAG_NOWAIT and in_team():
            defer_data(dev, mapnum, hostaddrs, sizes, kinds, flags, depend, call_site())
            return
        GOMP_taskwait_depend(depend)
    if not construct_cancelled():
        enter_exit_now(dev, mapnum, hostaddrs, sizes, kinds, flags, call_site())
