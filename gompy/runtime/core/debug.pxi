# What GOMP_DEBUG=1 tells: each entry of each mapping construct, updates, and launches.


cdef const char *map_kind_name(int kind) noexcept nogil:
    """A map kind in the words of OpenMP's clauses, where there are such."""
    if kind < 0:
        return b"host memory"
    return or_text(kind_names[kind & 0xFF], b"unknown kind")


cdef void name_place(DeviceDescr *dev, char *to, size_t room) noexcept nogil:
    """`device 0 (intelmic): region main._omp_fn.0` of what the device's lock is held for."""
    cdef int used = snprintf(to, room, b"device %d (%s): ", dev.number, dev.name)
    if used >= 0 and <size_t> used < room:
        name_construct(dev.what, dev.where, to + used, room - used)


cdef void tell_maps(MapJob *job) noexcept nogil:
    """After the entries of a construct have been mapped."""
    cdef char place[600]
    cdef MapEntry *entry
    cdef size_t i
    cdef int kind
    name_place(job.dev, place, sizeof(place))
    for i in range(job.maps.mapnum):
        entry = &job.list[i]
        kind = kind_at(&job.maps, i)
        if job.maps.hostaddrs[i] == NULL and kind != GOMP_MAP_FIRSTPRIVATE_INT:
            continue
        if kind == GOMP_MAP_FIRSTPRIVATE_INT:
            gompy_debug(b"%s: firstprivate, the value %ld\n", place, <long> job.maps.hostaddrs[i])
        elif kind == GOMP_MAP_STRUCT:
            gompy_debug(b"%s: struct at %p: %zu members follow\n", place, job.maps.hostaddrs[i], job.maps.sizes[i])
        elif is_attach_kind(kind) and entry.key == NULL:
            gompy_debug(b"%s: attach of the pointer at %p: it is not mapped\n", place, job.maps.hostaddrs[i])
        elif entry.key != NULL and entry.key.ref_kind == REF_INFINITY:
            gompy_debug(b"%s: map %s %p, %zu bytes: present for ever, device %p\n", place, map_kind_name(kind),
                        job.maps.hostaddrs[i], <size_t> (end_at(&job.maps, i) - start_at(&job.maps, i)),
                        <void *> argument_word(job, i))
        elif entry.key != NULL and is_attach_kind(kind):
            gompy_debug(b"%s: attach of the pointer at %p: attached %zu times\n", place, job.maps.hostaddrs[i],
                        <size_t> find_attached(entry.key, start_at(&job.maps, i), False).count)
        elif entry.key != NULL:
            gompy_debug(b"%s: map %s %p, %zu bytes: %s, count %zu, device %p\n", place, map_kind_name(kind),
                        job.maps.hostaddrs[i], <size_t> (end_at(&job.maps, i) - start_at(&job.maps, i)),
                        <const char *> b"new" if entry.key.tgt == job.tgt else <const char *> b"present",
                        <size_t> count_owner(entry.key).refcount, <void *> argument_word(job, i))
        elif kind == GOMP_MAP_FIRSTPRIVATE or entry.is_own:
            gompy_debug(b"%s: %s %p, %zu bytes: a copy of the region's own\n", place, map_kind_name(kind),
                        job.maps.hostaddrs[i],
                        <size_t> (end_at(&job.maps, i) - start_at(&job.maps, i)))
        elif kind == GOMP_MAP_ZERO_LEN_ARRAY_SECTION or kind == GOMP_MAP_IF_PRESENT:
            gompy_debug(b"%s: %s %p: not present\n", place, map_kind_name(kind), job.maps.hostaddrs[i])


cdef void tell_entry(DeviceDescr *dev, int kind, uintptr_t start, size_t size, SplayNode *node,
                     const char *result) noexcept nogil:
    """An entry of target update or exit data; node: what is mapped there, or NULL."""
    cdef char place[600]
    name_place(dev, place, sizeof(place))
    if node == NULL:
        gompy_debug(b"%s: %s %p, %zu bytes: not present\n", place, map_kind_name(kind), <void *> start, size)
    elif node.ref_kind == REF_INFINITY:
        gompy_debug(
            b"%s: %s %p, %zu bytes: present for ever%s\n", place, map_kind_name(kind), <void *> start, size, result
        )
    else:
        gompy_debug(b"%s: %s %p, %zu bytes: present, count %zu%s\n", place, map_kind_name(kind), <void *> start, size,
                    <size_t> count_owner(node).refcount, result)


cdef void tell_launch(DeviceDescr *dev, const void *region, const char *how) noexcept nogil:
    """Before a region is launched."""
    cdef char name[500]
    name_construct(NULL, region, name, sizeof(name))
    gompy_debug(b"device %d (%s): %s: launched%s\n", dev.number, dev.name, name, how)
