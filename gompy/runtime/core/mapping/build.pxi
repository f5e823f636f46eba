# The second pass of a mapping: the keys of new objects, their contents, the argument words.

cdef int refresh_descriptor(MapJob *job, size_t i) noexcept nogil:
    """A mapped descriptor was copied again: its pointers get their device values."""
    cdef MapEntry *entry = &job.list[i]
    cdef SplayNode *key = entry.key
    cdef size_t j
    for j in range(i + 1, i + 1 + entry.follow):
        job.list[j].key = key
        if job.openacc:
            increment_refcount(key, job.stamp)
        if map_pointer(job, device_address(key, <uintptr_t> job.maps.hostaddrs[j]),
                       (<uintptr_t *> job.maps.hostaddrs[j])[0],
                       job.maps.sizes[j], False):
            return -1
    return 0


cdef int build_always_pointer(MapJob *job, size_t i, uintptr_t *value) noexcept nogil:
    """Store the device value of the entry before into a mapped pointer."""
    cdef uintptr_t start = start_at(&job.maps, i)
    cdef SplayNode *node = lookup_mapped(&job.dev.mem_map, start, start + sizeof(void *))
    if node == NULL or not lies_inside(start, node.host_start, node.host_end):
        return fail_pointer(start, b"always pointer not mapped")
    if i and kind_at(&job.maps, i - 1) != GOMP_MAP_ALWAYS_POINTER:
        value[0] = argument_word(job, i - 1)
    if value[0]:
        value[0] -= job.maps.sizes[i]
    if copy_word(job.dev, device_address(node, start), value[0], &job.stage):
        return -1
    value[0] = device_address(node, start)
    return 0


cdef bint has_empty(MapJob *job) noexcept nogil:
    """Whether any entry of the construct has no length; looked for once."""
    cdef size_t j
    if job.empties == EMPTIES_UNKNOWN:
        job.empties = 0
        for j in range(job.maps.mapnum):
            if job.maps.sizes[j] == 0 and not is_attach_kind(kind_at(&job.maps, j)):
                job.empties = 1
                break
    return job.empties


cdef bint points_to_empty(MapJob *job, size_t i) noexcept nogil:
    """Whether an earlier entry of the construct is the empty section to which a pointer is attached (GCC 15)."""
    cdef uintptr_t target = (<uintptr_t *> start_at(&job.maps, i))[0] + job.maps.sizes[i]
    cdef size_t j
    if not has_empty(job):
        return False
    for j in range(i):
        if (job.maps.sizes[j] == 0 and <uintptr_t> job.maps.hostaddrs[j] == target
                and (j + 1 == i or kind_at(&job.maps, j) == GOMP_MAP_ZERO_LEN_ARRAY_SECTION)):
            return True  # GCC 12 writes plain ATTACH also behind another section whose length turns out to be 0
    return False


cdef int build_attach(MapJob *job, size_t i) noexcept nogil:
    """Attach a pointer; OpenMP leaves one alone whose variable is not mapped, and one of an empty section may be wild.

    On enter data any may be: section and pointer may come in different calls (GCC 15).
    """
    cdef uintptr_t start = start_at(&job.maps, i)
    cdef SplayNode *node = lookup_mapped(&job.dev.mem_map, start, start + sizeof(void *))
    cdef MapEntry *entry = &job.list[i]
    cdef bint empty, may_be_wild
    if node == NULL:
        return fail_pointer(start, b"outer struct not mapped for attach") if job.openacc else 0
    entry.key = node
    entry.offset = start - node.host_start
    entry.length = node.host_end - node.host_start
    entry.is_attach = 1
    if job.pragma != VARS_ENTER_DATA:
        job.tgt.lasting.attaches = True
    empty = not job.openacc and points_to_empty(job, i)
    may_be_wild = (empty or kind_at(&job.maps, i) == GOMP_MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION
                   or not job.openacc and job.tgt.refcount == 0)
    return attach_pointer(job.dev, node, start, job.maps.sizes[i], may_be_wild, &job.stage, empty)


cdef bint is_of_mapped_descriptor(MapJob *job, size_t i) noexcept nogil:
    """Whether an entry is the data of a Fortran descriptor that is mapped: it was when there were no data yet, and then
    they count as present (libgomp 16)."""
    return (i + 1 < job.maps.mapnum and kind_at(&job.maps, i + 1) == GOMP_MAP_TO_PSET
            and lookup_mapped(&job.dev.mem_map, start_at(&job.maps, i + 1), end_at(&job.maps, i + 1)) != NULL)


cdef int first_contents(MapJob *job, SplayNode *key, size_t i, int kind) noexcept nogil:
    """Fill a new object of the device."""
    cdef size_t j
    cdef uintptr_t size = key.host_end - key.host_start
    cdef uintptr_t place = device_address(key, key.host_start)
    cdef MapEntry *entry = &job.list[i]
    if is_pointer_kind(kind):
        return map_pointer(job, place, (<uintptr_t *> key.host_start)[0], job.maps.sizes[i],
                           kind == GOMP_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION)
    if has_property(kind, KIND_PRESENT):
        if not is_of_mapped_descriptor(job, i):
            return fail_absent(job.dev, key.host_start, size)
    elif not has_property(kind, KIND_FILLED):
        return 0
    if size == 0:
        return 0
    job.dev.copying.kind = kind
    check_copy(job.dev, key.host_start, size, place, True, 0, False)
    if copy_to_device(job.dev, place, <void *> key.host_start, size, &job.stage):
        return -1
    if kind == GOMP_MAP_TO_PSET:
        entry.follow = descriptor_pointers(&job.maps, i)
        for j in range(i + 1, i + 1 + entry.follow):
            job.list[j].key = key
            if job.openacc:
                increment_refcount(key, job.stamp)
            if (<void **> job.maps.hostaddrs[j])[0] == NULL:
                key.null_pointer = 1
            if map_pointer(job, device_address(key, <uintptr_t> job.maps.hostaddrs[j]),
                           (<uintptr_t *> job.maps.hostaddrs[j])[0], job.maps.sizes[j], False):
                return -1
    return 0


cdef int build_object(MapJob *job, size_t i, SplayNode *first, size_t planned) noexcept nogil:
    """A new key, or the one that an entry before made.

    first: the first element of the struct that it belongs to (itself, if it is that), or NULL.
    """
    cdef int kind = kind_at(&job.maps, i)
    cdef uintptr_t start = start_at(&job.maps, i)
    cdef uintptr_t end = end_at(&job.maps, i)
    cdef MapEntry *entry = &job.list[i]
    cdef RangeIndex *tree = &job.dev.mem_map
    cdef SplayNode *node = NULL
    cdef SplayNode *key = take_node(job)
    cdef uintptr_t address
    key.host_start = start
    key.host_end = end
    key.tgt = job.tgt
    key.tgt_offset = key_offset(job, start, end, planned)
    if not range_inserted(tree, key, host_view(job.dev, job.tgt.tgt_start + key.tgt_offset)):
        # What it overlaps an entry before made, or it is a link variable; or there is no memory.
        node = range_lookup(tree, start, end)
        if node != NULL and node.ref_kind != REF_LINK:
            job.next_node = key
            return map_existing(job, node, start, end, entry, kind, False, is_implicit_at(&job.maps, i), &job.stage)
        if node != NULL:
            if more_of(key) == NULL:
                return -1
            range_remove(tree, node)
            key.more.link_key = node
        if range_insert(tree, key):
            return -1
    if first != NULL:
        key.ref_kind = REF_STRUCT_ELEMENT
        key.siblings = <int32_t> (first - key)
        first.siblings += 1
    if first == NULL or first == key:
        job.tgt.refcount += 1  # one for all elements of a struct: they leave together
    entry.key = key
    entry.copy_from = has_property(kind, KIND_FROM)
    entry.always_copy_from = has_property(kind, KIND_ALWAYS_FROM)
    entry.offset = 0
    entry.copy_start = 0
    entry.length = end - start
    increment_refcount(key, job.stamp)
    if first_contents(job, key, i, kind):
        return -1
    if node != NULL:
        # The device's pointer to the variable; it is no part of this construct's block.
        address = device_address(key, start) - (start - node.host_start)
        return copy_word(job.dev, node.tgt_offset, address, NULL)
    return 0


cdef int build_struct(MapJob *job, size_t i) noexcept nogil:
    """The members of a struct that plan_struct did not find."""
    cdef size_t first = i + 1
    cdef size_t last = i + job.maps.sizes[i]
    cdef uintptr_t base = start_at(&job.maps, i)
    cdef SplayNode *whole
    cdef SplayNode *first_key = NULL
    cdef SplayNode *next
    cdef size_t planned = job.list[i].planned
    cdef size_t j
    if job.list[first].key != NULL:
        return 0
    whole = mapped_struct(job, i)
    for j in range(first, last + 1):
        if whole != NULL:
            if map_member(job, whole, first, j, &job.stage):
                return -1
            continue
        if is_empty_member(&job.maps, j):
            continue
        next = job.next_node
        if build_object(job, j, NULL if job.openacc else first_key if first_key != NULL else next,
                        planned + (<uintptr_t> job.maps.hostaddrs[j] - base)):
            return -1
        if first_key == NULL and job.next_node != next:
            first_key = next
    if job.list[i].follow and first_key != NULL:
        return build_struct_pointers(job, base, planned, first_key)
    return 0


cdef int build_pointer_structs(MapJob *job) noexcept nogil:
    """Structs that take pointers in come first: GCC 12 may list the attachments before them."""
    cdef size_t i = 0
    while i < job.maps.mapnum:
        if kind_at(&job.maps, i) == GOMP_MAP_STRUCT and job.maps.hostaddrs[i] != NULL:
            if job.list[i].follow and build_struct(job, i):
                return -1
            i += job.maps.sizes[i]
        i += 1
    return 0


cdef int point_copy(MapJob *job, size_t i, uintptr_t data) noexcept nogil:
    """Fortran's firstprivate of an allocatable: its descriptor's copy points to the copy of its data (libgomp 13).

    ATTACH, behind the data: the word at its address is the host address of the descriptor, or of its entry, which is
    FIRSTPRIVATE too; the bias says where in the descriptor the pointer is.
    """
    cdef uintptr_t descriptor = (<uintptr_t *> job.maps.hostaddrs[i])[0]
    cdef size_t j = i
    while j:
        j -= 1
        if kind_at(&job.maps, j) == GOMP_MAP_FIRSTPRIVATE and (
                <uintptr_t> job.maps.hostaddrs[j] == descriptor or job.maps.hostaddrs[i] == &job.maps.hostaddrs[j]):
            return copy_word(job.dev, job.tgt.tgt_start + job.list[j].planned + job.maps.sizes[i], data, &job.stage)
    return gompy_fail(b"firstprivate: the descriptor at %p is not part of the construct", <void *> descriptor)


cdef int build_entries(MapJob *job) noexcept nogil:
    """The second pass.  -1 with a failure text."""
    cdef size_t i = 0
    cdef int kind
    cdef uintptr_t pointer_value = 0
    cdef MapEntry *entry
    if job.takes_pointers and build_pointer_structs(job):
        return -1
    while i < job.maps.mapnum:
        entry = &job.list[i]
        kind = kind_at(&job.maps, i)
        if kind == GOMP_MAP_STRUCT and job.maps.hostaddrs[i] != NULL:
            if build_struct(job, i):
                return -1
            i += job.maps.sizes[i] + 1
            continue
        if entry.key != NULL:
            if entry.follow and refresh_descriptor(job, i):
                return -1
            i += entry.follow + 1
            continue
        if job.maps.hostaddrs[i] == NULL or kind in (GOMP_MAP_FIRSTPRIVATE_INT, GOMP_MAP_ZERO_LEN_ARRAY_SECTION):
            pass
        elif kind == GOMP_MAP_FIRSTPRIVATE:
            entry.offset = entry.planned
            job.dev.copying.kind = kind
            if job.maps.sizes[i] and copy_value(job.dev, job.tgt.tgt_start + entry.planned, job.maps.hostaddrs[i],
                                           job.maps.sizes[i], &job.stage):
                return -1
            if i + 1 < job.maps.mapnum and kind_at(&job.maps, i + 1) == GOMP_MAP_ATTACH:
                i += 1
                if point_copy(job, i, job.tgt.tgt_start + entry.planned):
                    return -1
        elif entry.is_own:
            if build_own_entry(job, i, kind):
                return -1
            i += entry.follow
        elif is_use_device_kind(kind):
            if entry.offset == OFFSET_LATER and translate_in_place(job, i):
                return -1
        elif kind == GOMP_MAP_ALWAYS_POINTER:
            if build_always_pointer(job, i, &pointer_value):
                return -1
        elif is_attach_kind(kind):
            if build_attach(job, i):
                return -1
        elif kind == GOMP_MAP_IF_PRESENT:
            if i + 1 < job.maps.mapnum and kind_at(&job.maps, i + 1) == GOMP_MAP_POINTER:
                i += 1
        else:
            if build_object(job, i, NULL, entry.planned):
                return -1
            i += entry.follow
        i += 1
    return 0
