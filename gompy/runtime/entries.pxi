# The entries of a construct while it is mapped: what they say, and what was found out about them.


cdef enum:
    ADDRESS_BITS = 47  # of a process's address space: no object is as large


cdef struct MapJob:
    DeviceDescr *dev
    size_t mapnum
    void **hostaddrs
    size_t *sizes
    void *kinds
    bint short_kinds
    uint64_t stamp
    int pragma  # VARS_*
    TargetMem *tgt
    size_t align
    size_t size  # of the staged part
    size_t large_size  # of the part after it
    size_t staged_objects
    size_t new_objects
    size_t guard  # guard_step
    bint needs_build
    bint openacc  # every entry counts, a pointer must be mapped to be attached, struct members leave one by one
    bint has_struct
    bint takes_pointers  # a struct takes pointers in (struct_pointers.pxi)
    SplayNode *next_node
    Stage stage


cdef inline int raw_kind(MapJob *job, size_t i) noexcept nogil:
    """The kind with its alignment bits, without the flag of an implicit map."""
    cdef int kind
    if not job.short_kinds:
        return (<unsigned char *> job.kinds)[i]
    kind = (<unsigned short *> job.kinds)[i]
    if (kind & MAP_SPECIAL_BITS) == MAP_IMPLICIT:
        kind &= ~MAP_IMPLICIT
    return kind


cdef inline int kind_of(MapJob *job, size_t i) noexcept nogil:
    return raw_kind(job, i) & (0xFF if job.short_kinds else 7)


cdef inline bint is_implicit(MapJob *job, size_t i) noexcept nogil:
    return job.short_kinds and ((<unsigned short *> job.kinds)[i] & MAP_SPECIAL_BITS) == MAP_IMPLICIT


cdef inline size_t alignment_of(MapJob *job, size_t i) noexcept nogil:
    return <size_t> 1 << (raw_kind(job, i) >> (8 if job.short_kinds else 3))


cdef inline size_t align_up(size_t n, size_t align) noexcept nogil:
    return (n + align - 1) & ~(align - 1)


cdef inline bint is_pointer_kind(int kind) noexcept nogil:
    return kind == MAP_POINTER or kind == MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION


cdef inline bint is_attach_kind(int kind) noexcept nogil:
    return kind == MAP_ATTACH or kind == MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION


cdef inline bint copies_to(int kind) noexcept nogil:
    return not kind & MAP_FLAG_SPECIAL and kind & MAP_FLAG_TO


cdef inline bint copies_from(int kind) noexcept nogil:
    return not kind & MAP_FLAG_SPECIAL and kind & MAP_FLAG_FROM


cdef inline bint is_always_to(int kind) noexcept nogil:
    return kind == MAP_ALWAYS_TO or kind == MAP_ALWAYS_TOFROM


cdef inline bint is_always_from(int kind) noexcept nogil:
    return kind == MAP_ALWAYS_FROM or kind == MAP_ALWAYS_TOFROM


cdef inline bint copied_when_new(int kind) noexcept nogil:
    """Whether a new object of this kind gets its first contents from the host."""
    return not (kind == MAP_ALLOC or kind == MAP_FROM or kind == MAP_ALWAYS_FROM or kind == MAP_FORCE_ALLOC
                or kind == MAP_FORCE_FROM)


cdef inline uintptr_t entry_start(MapJob *job, size_t i) noexcept nogil:
    return <uintptr_t> job.hostaddrs[i]


cdef inline uintptr_t entry_end(MapJob *job, size_t i) noexcept nogil:
    """End of the entry's host range; the size of a pointer entry is a bias."""
    if is_pointer_kind(kind_of(job, i)):
        return <uintptr_t> job.hostaddrs[i] + sizeof(void *)
    return <uintptr_t> job.hostaddrs[i] + job.sizes[i]


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


cdef inline bint inside(uintptr_t pointer, uintptr_t start, uintptr_t end) noexcept nogil:
    return start <= pointer and pointer + sizeof(void *) <= end


cdef size_t descriptor_pointers(MapJob *job, size_t i) noexcept nogil:
    """How many pointer entries after a TO_PSET stand for pointers in the descriptor."""
    cdef size_t j = i + 1
    cdef int kind
    while j < job.mapnum:
        kind = kind_of(job, j)
        if kind != MAP_ALWAYS_POINTER and not is_pointer_kind(kind):
            break
        if not inside(<uintptr_t> job.hostaddrs[j], entry_start(job, i), entry_end(job, i)):
            break
        j += 1
    return j - i - 1


cdef uintptr_t argument_word(MapJob *job, size_t i) noexcept nogil:
    """What the region finds in its argument array for entry i (libgomp: gomp_map_val)."""
    cdef MapEntry *entry = &job.tgt.list[i]
    cdef MapEntry *member
    if entry.key != NULL:
        return entry.key.tgt.tgt_start + entry.key.tgt_offset + entry.offset
    if entry.offset == OFFSET_INLINED:
        return <uintptr_t> job.hostaddrs[i]
    if entry.offset == OFFSET_POINTER:
        return 0
    if entry.offset == OFFSET_STRUCT:
        member = &job.tgt.list[i + 1]
        return (member.key.tgt.tgt_start + member.key.tgt_offset + member.offset
                + <uintptr_t> job.hostaddrs[i] - <uintptr_t> job.hostaddrs[i + 1])
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
            return gompy_fail(b"Pointer target of array section wasn't mapped")
        else:
            value = unmapped_value(pointer)
    return copy_word(job.dev, place, value, &job.stage)
