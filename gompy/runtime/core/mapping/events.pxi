# Events of mappings (hooks.pxi): what became of each entry of a directive.


cdef inline uintptr_t told_count(SplayNode *key) noexcept nogil:
    """A mapping's references, 0 for one that is for ever."""
    return 0 if key.ref_kind == REF_INFINITY or key.ref_kind == REF_LINK else count_owner(key).refcount


cdef void tell_entry_end(DeviceDescr *dev, int detail, int kind, size_t entry, uintptr_t start, size_t size,
                         SplayNode *key,
                         size_t bytes) noexcept nogil:
    """An entry of an update, of exit data or of the end of a construct; key: what is mapped there, or NULL."""
    tell_map(dev, detail, kind, map_kind_name(kind), entry, start, size,
             device_address(key, start) if key != NULL else 0, told_count(key) if key != NULL else 0, bytes)


cdef void tell_absent(DeviceDescr *dev, int kind, size_t entry, uintptr_t start, size_t size) noexcept nogil:
    """An entry of what is not mapped."""
    if gompy_debug_level:
        tell_entry(dev, kind, start, size, NULL, b"")
    if has_hooks(HOOK_MAP):
        tell_entry_end(dev, MAP_ABSENT, kind, entry, start, size, NULL, 0)


cdef void tell_associated(DeviceDescr *dev, SplayNode *key, int detail) noexcept nogil:
    """A routine of the program has mapped memory of its own, or undone that; for the check the latter is told apart."""
    if rare(gompy_checking) and detail == MAP_NEW:
        check_associated(dev, key)
    if not has_hooks(HOOK_MAP):
        return
    tell_map(dev, detail, -1, b"associated", 0, key.host_start, key.host_end - key.host_start,
             device_address(key, key.host_start), 0, 0)


cdef void tell_construct_maps(MapJob *job) noexcept nogil:
    """After the entries of a construct have been mapped, and copied."""
    cdef MapEntry *entry
    cdef size_t i, size, bytes
    cdef uintptr_t start
    cdef int kind, detail
    for i in range(job.maps.mapnum):
        entry = &job.list[i]
        kind = kind_at(&job.maps, i)
        if job.maps.hostaddrs[i] == NULL or kind == GOMP_MAP_FIRSTPRIVATE_INT or kind == GOMP_MAP_STRUCT:
            continue
        start = start_at(&job.maps, i)
        size = end_at(&job.maps, i) - start
        bytes = 0
        if kind == GOMP_MAP_FIRSTPRIVATE or entry.is_own:
            detail = MAP_OWN
            bytes = size
        elif is_attach_kind(kind):
            detail = MAP_ATTACHED if entry.key != NULL else MAP_ABSENT
            size = sizeof(void *)
        elif entry.key == NULL:
            if is_use_device_kind(kind):
                continue
            detail = MAP_ABSENT
        elif entry.key.tgt == job.tgt:
            detail = MAP_NEW
            bytes = size if has_property(kind, KIND_FILLED) else 0
        else:
            detail = MAP_PRESENT
            bytes = entry.length if has_property(kind, KIND_ALWAYS_TO) else 0
        tell_map(job.dev, detail, kind, map_kind_name(kind), i, start, size, argument_word(job, i)
                 if detail != MAP_ABSENT else 0,
                 told_count(entry.key) if entry.key != NULL else 0, bytes)


ctypedef void (*mapped_told_fn)(MapJob *) noexcept nogil

cdef extern from *:
    mapped_told_fn apart_mapped "gompy_apart"(mapped_told_fn) noexcept nogil


cdef void tell_mapped(MapJob *job) noexcept nogil:
    """A construct has been mapped."""
    if gompy_debug_level:
        tell_maps(job)
    if has_hooks(HOOK_MAP):
        tell_construct_maps(job)
    if gompy_checking:
        check_maps(job)
