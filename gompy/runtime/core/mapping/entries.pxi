# The entries of a construct while it is mapped: what they say, and what was found out about them.


cdef enum:
    ADDRESS_BITS = 47  # of a process's address space: no object is as large
    EMPTIES_UNKNOWN = -1


cdef struct MapJob:
    DeviceDescr *dev
    MapList maps
    uint64_t stamp
    int pragma  # VARS_*
    TargetMem *tgt
    MapEntry *list  # one for each of maps
    size_t align
    size_t size  # of the staged part
    size_t large_size  # of the part after it
    size_t staged_objects
    size_t new_objects
    size_t guard  # guard_step
    size_t asked_size  # of the block, and its alignment, without gaps
    size_t asked_align
    bint needs_build
    bint openacc  # every entry counts, a pointer must be mapped to be attached, struct members leave one by one
    bint has_struct
    int empties  # whether any entry has no length; EMPTIES_UNKNOWN
    bint takes_pointers  # a struct takes pointers in (struct_pointers.pxi)
    SplayNode *next_node
    Stage stage


cdef inline SplayNode *take_node(MapJob *job) noexcept nogil:
    """The construct's next node, all zeros: those that nobody takes are never written."""
    cdef SplayNode *node = job.next_node
    memset(node, 0, sizeof(SplayNode))
    job.next_node += 1
    return node


cdef LinkStorage *find_link(DeviceDescr *dev, uintptr_t start, uintptr_t end) noexcept nogil:
    """The link variable with storage in the image that holds a range."""
    cdef size_t i
    for i in range(dev.num_links):
        if dev.links[i].host_start <= start and end <= dev.links[i].host_end:
            return &dev.links[i]
    return NULL


cdef inline uintptr_t key_offset(MapJob *job, uintptr_t start, uintptr_t end, uintptr_t planned) noexcept nogil:
    """Where a new key lies in its block: where it was planned, or in the image if that has the link variable."""
    cdef LinkStorage *link
    if job.dev.num_links:
        link = find_link(job.dev, start, end)
        if link != NULL:
            return link.device + (start - link.host_start) - job.tgt.tgt_start
    return planned


cdef inline uintptr_t argument_word(MapJob *job, size_t i) noexcept nogil:
    """What the region finds in its argument array for entry i (libgomp: gomp_map_val)."""
    cdef MapEntry *entry = &job.list[i]
    if entry.key != NULL:
        return entry.key.tgt.tgt_start + entry.key.tgt_offset + entry.offset
    return word_without_key(job, i)


cdef uintptr_t word_without_key(MapJob *job, size_t i) noexcept nogil:
    """argument_word of an entry that no key is for."""
    cdef MapEntry *entry = &job.list[i]
    cdef MapEntry *member
    if entry.offset == OFFSET_INLINED:
        return <uintptr_t> job.maps.hostaddrs[i]
    if entry.offset == OFFSET_POINTER:
        return 0
    if entry.offset == OFFSET_STRUCT:
        member = &job.list[i + 1]
        if member.key == NULL:
            return <uintptr_t> job.maps.hostaddrs[i]  # its first member is empty, and nothing of it is mapped
        return (member.key.tgt.tgt_start + member.key.tgt_offset + member.offset
                + <uintptr_t> job.maps.hostaddrs[i] - <uintptr_t> job.maps.hostaddrs[i + 1])
    return job.tgt.tgt_start + entry.offset


cdef int map_pointer(MapJob *job, uintptr_t place, uintptr_t pointer, size_t bias,
                     bint allow_zero_length) noexcept nogil:
    """Write the device address of a pointer's target to `place` on the device (libgomp: gomp_map_pointer)."""
    cdef uintptr_t value = 0
    cdef SplayNode *node
    if pointer != 0:
        node = lookup_pointer(&job.dev.mem_map, pointer + bias)
        if node != NULL:
            value = device_address(node, pointer + bias) - bias
        elif not allow_zero_length:
            return fail_pointer(pointer + bias, b"Pointer target of array section wasn't mapped")
        else:
            value = unmapped_value(pointer)
    return copy_word(job.dev, place, value, &job.stage)
