# OpenACC's mapping.  It is map.pxi's, and counts every entry; what enter data adds is also counted apart
# (dynamic_refcount), so that `finalize` can take just that away.


cdef void acc_lock(DeviceDescr *dev, void *queue) noexcept nogil:
    """Begin a mapping operation that goes by way of a queue, or NULL."""
    gompy_lock_acquire(&dev.lock)
    note_construct(dev, b"an OpenACC routine", NULL)
    dev.copying.kind = -1
    dev.queue = queue
    dev.scalars_wait = queue != NULL and acc_thread() != NULL and acc_thread().mapped_data != NULL


cdef void acc_unlock(DeviceDescr *dev, int rc) noexcept nogil:
    """End a mapping operation; rc: whether it failed, then the program ends."""
    dev.queue = NULL
    check_failure(dev, rc)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef TargetMem *acc_map(DeviceDescr *dev, void *queue, const MapList *maps, const char *what,
                        const void *where) noexcept nogil:
    """Map the entries of a data or compute construct."""
    cdef int failed = 0
    cdef TargetMem *tgt
    acc_lock(dev, queue)
    note_construct(dev, what, where)
    tgt = map_vars(dev, maps, EVERY_ENTRY, VARS_DATA, &failed)
    acc_unlock(dev, failed)
    return tgt


cdef void acc_unmap(TargetMem *tgt, void *queue) noexcept nogil:
    """The end of a data or compute construct."""
    cdef DeviceDescr *dev = tgt.lasting.device
    cdef int rc = 0
    if dev == NULL or tgt.lasting.list_count == 0:
        free(tgt)
        return
    acc_lock(dev, queue)
    if dev.state == DEVICE_INITIALIZED and tgt.lasting.epoch == dev.epoch:
        note_construct(dev, tgt.lasting.what, tgt.lasting.where)
        rc = unmap_vars(tgt, EVERY_ENTRY)
    acc_unlock(dev, rc)


cdef int count_dynamic(SplayNode *node) noexcept nogil:
    """enter data finds a range that is mapped."""
    increment_refcount(node, EVERY_ENTRY)
    node.dynamic_refcount += 1
    return 0


cdef int enter_existing(SplayNode *node, uintptr_t start, size_t size) noexcept nogil:
    if start + size > node.host_end:
        return gompy_fail(b"[%p,+%d] not mapped", <void *> start, <int> size)
    return count_dynamic(node)


cdef size_t acc_group(const MapList *maps, size_t i) noexcept nogil:
    """How many entries from i on belong together; 0 for one that may not stand first."""
    cdef int kind = kind_at(maps, i)
    cdef int next = kind_at(maps, i + 1) if i + 1 < maps.mapnum else -1
    cdef size_t j = i + 1
    if kind == GOMP_MAP_STRUCT:
        return maps.sizes[i] + 1
    if kind == GOMP_MAP_POINTER or kind == GOMP_MAP_ALWAYS_POINTER:
        return 0
    if kind == GOMP_MAP_ATTACH:
        return 1
    if next == GOMP_MAP_ATTACH or (next == GOMP_MAP_ALWAYS_POINTER and kind != GOMP_MAP_TO_PSET):
        return 2
    while j < maps.mapnum and kind_at(maps, j) == GOMP_MAP_POINTER:
        j += 1
    return j - i


cdef int enter_struct(DeviceDescr *dev, SplayNode *whole, const MapList *maps) noexcept nogil:
    """A struct of which something is mapped: all members that are named must be, in one block."""
    cdef uintptr_t start
    cdef SplayNode *member
    cdef size_t j
    for j in range(1, maps.mapnum):
        start = <uintptr_t> maps.hostaddrs[j]
        member = lookup_mapped(&dev.mem_map, start, start + maps.sizes[j])
        if not same_block(member, whole):
            return gompy_fail(b"Trying to map into device [%p..%p) structure element when other mapped elements from "
                              b"the same structure weren't mapped together with it", <void *> start,
                              <void *> (start + maps.sizes[j]))
        count_dynamic(member)
    return 0


cdef int enter_group_existing(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """A group whose first entry is mapped: attach, and count the others."""
    cdef uintptr_t start
    cdef SplayNode *node
    cdef size_t j
    for j in range(maps.mapnum):
        start = <uintptr_t> maps.hostaddrs[j]
        if kind_at(maps, j) == GOMP_MAP_ATTACH:
            if attach_pointer(dev, lookup_mapped(&dev.mem_map, start, start + sizeof(void *)), start, maps.sizes[j],
                              False,
                              NULL):
                return -1
            continue
        node = lookup_mapped(&dev.mem_map, start, start + (maps.sizes[j] if j == 0 or kind_at(maps,
                                                           j) != GOMP_MAP_POINTER
                                                           else sizeof(void *)))
        if node != NULL:
            count_dynamic(node)
    return 0


cdef int acc_enter(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """enter data: each group for itself.  The device is locked."""
    cdef size_t i = 0
    cdef size_t n, size
    cdef MapList group
    cdef uintptr_t start
    cdef SplayNode *node
    cdef int kind
    cdef int failed = 0
    while i < maps.mapnum:
        kind = kind_at(maps, i)
        n = acc_group(maps, i)
        if n == 0:
            return gompy_fail(b"unexpected mapping")
        group = part_of(maps, i, n)
        start = <uintptr_t> maps.hostaddrs[i]
        size = maps.sizes[i]
        if kind == GOMP_MAP_STRUCT:
            size = <uintptr_t> maps.hostaddrs[i + n - 1] + maps.sizes[i + n - 1] - start
        elif kind == GOMP_MAP_ATTACH:
            size = sizeof(void *)
        node = lookup_mapped(&dev.mem_map, start, start + size)
        if node != NULL and kind == GOMP_MAP_STRUCT:
            failed = enter_struct(dev, node, &group)
        elif node != NULL and kind == GOMP_MAP_TO_PSET and node.ref_kind == REF_INFINITY:
            # An allocatable of declare create: the device gets the bounds and the address of what was just mapped.
            map_vars(dev, &group, EVERY_ENTRY, VARS_ENTER_DATA, &failed)
        elif node != NULL and n > 1:
            failed = enter_group_existing(dev, &group)
        elif node != NULL and kind == GOMP_MAP_ATTACH:
            failed = attach_pointer(dev, node, start, maps.sizes[i], False, NULL)
        elif node != NULL:
            failed = enter_existing(node, start, size)
            if has_hooks(HOOK_MAP):
                tell_entry_end(dev, MAP_PRESENT, kind, i, start, size, node, 0)
        elif start != 0:
            map_vars(dev, &group, EVERY_ENTRY, VARS_ENTER_DATA, &failed)
        if failed:
            return -1
        i += n
    return 0


cdef int acc_exit_node(DeviceDescr *dev, SplayNode *node, uintptr_t start, size_t size, int kind) noexcept nogil:
    """exit data of a mapped range: FROM and RELEASE take one away, FORCE_FROM and DELETE all that enter data added."""
    cdef SplayNode *owner = count_owner(node)
    cdef uintptr_t taken = 0
    if start < node.host_start or start + size > node.host_end:
        return gompy_fail(b"[%p,+%d] outside mapped block [%p,+%d]", <void *> start, <int> size,
                          <void *> node.host_start, <int> (node.host_end - node.host_start))
    if kind == GOMP_MAP_FORCE_FROM or kind == GOMP_MAP_DELETE:
        taken = node.dynamic_refcount
    elif node.dynamic_refcount:
        taken = 1
    node.dynamic_refcount -= taken
    if node.ref_kind == REF_INFINITY or node.ref_kind == REF_LINK:
        return 0
    if owner.refcount < taken:
        return gompy_fail(b"Dynamic reference counting assert fail\n")
    owner.refcount -= taken
    if gompy_debug_level:
        tell_entry(dev, kind, start, size, node, b"" if owner.refcount else b", removed")
    if owner.refcount:
        if has_hooks(HOOK_MAP):
            tell_entry_end(dev, MAP_KEPT, kind, 0, start, size, node, 0)
        return 0
    # As it is, the pointers attached in it included: so does libgomp, and OpenACC leaves it to the program to detach.
    dev.copying.kind = kind
    if (kind == GOMP_MAP_FROM or kind == GOMP_MAP_FORCE_FROM) and copy_one_way(dev, node, start, size, False, NULL):
        return -1
    if has_hooks(HOOK_MAP):
        tell_entry_end(dev, MAP_REMOVED, kind, 0, start, size, node,
                       size if kind == GOMP_MAP_FROM or kind == GOMP_MAP_FORCE_FROM else 0)
    return remove_key(dev, owner)


cdef inline int exit_kind(int kind) noexcept nogil:
    """The kind of an entry of exit data.

    A section without length counts like any other (OpenMP's do in libgomp's gomp_exit_data, too).  libgomp 12 ends the
    program with "UNHANDLED kind 0x0f", while GCC writes that kind for each section whose length is 0 at run time.
    """
    if kind == GOMP_MAP_ZERO_LEN_ARRAY_SECTION:
        return GOMP_MAP_RELEASE
    return GOMP_MAP_DELETE if kind == GOMP_MAP_DELETE_ZERO_LEN_ARRAY_SECTION else kind


cdef int acc_exit(DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """exit data: detach, then the rest.  The device is locked."""
    cdef SplayNode *node
    cdef uintptr_t start
    cdef size_t i, size
    cdef int kind
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if not is_detach_kind(kind):
            continue
        start = <uintptr_t> maps.hostaddrs[i]
        node = lookup_mapped(&dev.mem_map, start, start + sizeof(void *))
        if node == NULL:
            return fail_pointer(start, b"struct not mapped for detach operation")
        if detach_pointer(dev, node, start, kind == GOMP_MAP_FORCE_DETACH):
            return -1
    for i in range(maps.mapnum):
        kind = exit_kind(kind_at(maps, i))
        if is_detach_kind(kind) or kind == GOMP_MAP_STRUCT:
            continue
        if not (kind == GOMP_MAP_FROM or kind == GOMP_MAP_FORCE_FROM or kind == GOMP_MAP_TO_PSET
                or kind == GOMP_MAP_POINTER
                or kind == GOMP_MAP_DELETE or kind == GOMP_MAP_RELEASE):
            return gompy_fail(b">>>> goacc_exit_data_internal UNHANDLED kind 0x%.2x", kind)
        size = sizeof(void *) if kind == GOMP_MAP_POINTER else maps.sizes[i]
        start = <uintptr_t> maps.hostaddrs[i]
        node = lookup_mapped(&dev.mem_map, start, start + size) if kind == kind_at(maps, i) \
            else lookup_section(&dev.mem_map, start, start + size)
        check_entry(dev, EVENT_EXIT if node != NULL else EVENT_ABSENT, kind, start, size)
        if node != NULL and acc_exit_node(dev, node, start, size, kind):
            return -1
    return 0
