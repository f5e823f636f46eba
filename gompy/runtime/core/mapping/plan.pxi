# The first pass of a mapping.
#
# Two passes over the entries, in their order.  plan_entries finds what is mapped already and gives the rest a place in
# a new block of device memory; build_entries makes the keys of the new objects and copies.  Objects that are small and
# copied to the device stand at the start of the block, after the argument words: they and the words go over in one
# copy.


cdef void reserve_place(MapJob *job, MapEntry *entry, size_t size, size_t align, bint copied) noexcept nogil:
    """Give a new object of the construct its place in the block."""
    if job.guard:
        reserve_guarded(job, entry, 0, size, align)
        return
    # Behind what is in the block already: processors copy from line to line much faster (tests of OpenACC look at how
    # its blocks are laid out).
    if size >= LINE_OBJECT and align < CACHE_LINE and job.size and not job.openacc:
        align = CACHE_LINE
    if job.align < align:
        job.align = align
    if copied and size <= STAGED_OBJECT_SIZE and job.size + size <= STAGED_BLOCK_SIZE:
        entry.large = 0
        entry.planned = align_up(job.size, align)
        job.size = entry.planned + size
        job.staged_objects += 1
    else:
        entry.large = 1
        entry.planned = align_up(job.large_size, align)
        job.large_size = entry.planned + size


cdef int map_existing(MapJob *job, SplayNode *old, uintptr_t start, uintptr_t end, MapEntry *entry, int kind,
                      bint always_to, bint implicit, Stage *stage) noexcept nogil:
    """An entry whose range is mapped: check, copy if always, count (libgomp: gomp_map_vars_existing)."""
    cdef bint inside_new = implicit and start <= old.host_start and old.host_end <= end
    entry.key = old
    entry.copy_from = has_property(kind, KIND_FROM)
    entry.always_copy_from = has_property(kind, KIND_ALWAYS_FROM)
    entry.is_attach = 0
    entry.offset = start - old.host_start
    entry.length = end - start
    if has_property(kind, KIND_NEW_ONLY) or not (inside_new or (old.host_start <= start and end <= old.host_end)):
        return gompy_fail(b"Trying to map into device [%p..%p) object when [%p..%p) is already mapped",
                          <void *> start, <void *> end, <void *> old.host_start, <void *> old.host_end)
    if inside_new:
        # What goes either way is what is mapped (libgomp keeps the new start here, and copies from before the object).
        start = old.host_start
        end = old.host_end
        entry.copy_start = 0
    else:
        entry.copy_start = start - old.host_start
    entry.length = end - start
    if has_property(kind, KIND_ALWAYS_TO) or always_to:
        job.dev.copying.kind = kind
        if copy_range(job.dev, old, start, end, True, stage):
            return -1
    increment_refcount(old, job.stamp)
    return 0


cdef inline bint is_counted_kind(int kind) noexcept nogil:
    """Whether of an entry that is mapped nothing is asked at the begin but that it is counted."""
    return (kind_properties[kind] & (KIND_NEW | KIND_NEW_ONLY | KIND_ALWAYS_TO | KIND_POINTER) == KIND_NEW
            and kind != GOMP_MAP_TO_PSET)


cdef inline bint count_present(MapJob *job, MapEntry *entry, SplayNode *old, uintptr_t start,
                               size_t size) noexcept nogil:
    """map_existing of an entry of an is_counted_kind, if all of it is mapped; else False, and nothing has been done."""
    if old == NULL or start < old.host_start or start + size > old.host_end:
        return False
    entry.key = old
    entry.copy_from = has_property(entry.kind, KIND_FROM)
    entry.always_copy_from = has_property(entry.kind, KIND_ALWAYS_FROM)
    entry.offset = entry.copy_start = start - old.host_start
    entry.length = size
    increment_refcount(old, job.stamp)
    return True


cdef bint same_block(SplayNode *member, SplayNode *whole) noexcept nogil:
    return (member != NULL and member.tgt == whole.tgt
            and member.host_start - whole.host_start == member.tgt_offset - whole.tgt_offset)


cdef int map_member(MapJob *job, SplayNode *whole, size_t first, size_t i, Stage *stage) noexcept nogil:
    """A struct member of a struct that is mapped: it must be part of that mapping (libgomp: gomp_map_fields_existing).
    """
    cdef uintptr_t start = start_at(&job.maps, i)
    cdef uintptr_t end = start + job.maps.sizes[i]
    cdef RangeIndex *tree = &job.dev.mem_map
    cdef SplayNode *member
    if is_empty_member(&job.maps, i):
        member = lookup_section(tree, start, end)
    else:
        member = lookup_mapped(tree, start, end)
    if not same_block(member, whole) and job.maps.sizes[i] == 0:
        member = NULL
        if start > <uintptr_t> job.maps.hostaddrs[first - 1]:
            member = lookup_mapped(tree, start - 1, end)
        if not same_block(member, whole):
            member = lookup_mapped(tree, start, end + 1)
    if not same_block(member, whole):
        return gompy_fail(b"Trying to map into device [%p..%p) structure element when other mapped elements from the "
                          b"same structure weren't mapped together with it", <void *> start, <void *> end)
    return map_existing(
        job, member, start, end, &job.list[i], kind_at(&job.maps, i), False, is_implicit_at(&job.maps, i), stage
    )


cdef int translate_in_place(MapJob *job, size_t i) noexcept nogil:
    """use_device_ptr, use_device_addr: the host word becomes the device address."""
    cdef uintptr_t p = <uintptr_t> job.maps.hostaddrs[i]
    cdef SplayNode *node = lookup_pointer(&job.dev.mem_map, p)
    if node != NULL:
        job.maps.hostaddrs[i] = <void *> device_address(node, p)
    elif kind_at(&job.maps, i) == GOMP_MAP_USE_DEVICE_PTR:
        return fail_pointer(p, b"use_device_ptr pointer wasn't mapped")
    job.list[i].offset = OFFSET_INLINED
    return 0


cdef size_t descriptor_refresh(MapJob *job, size_t i, SplayNode *key) noexcept nogil:
    """How many pointer entries after a mapped TO_PSET ask for the descriptor to be copied again."""
    cdef size_t j = i + 1
    cdef int kind
    while j < job.maps.mapnum:
        kind = kind_at(&job.maps, j)
        if kind != GOMP_MAP_ALWAYS_POINTER and (not key.null_pointer or not is_pointer_kind(kind)
                                           or (<void **> job.maps.hostaddrs[j])[0] == NULL):
            break
        if not lies_inside(<uintptr_t> job.maps.hostaddrs[j], start_at(&job.maps, i), end_at(&job.maps, i)):
            break
        j += 1
    return j - i - 1


cdef SplayNode *mapped_struct(MapJob *job, size_t i) noexcept nogil:
    """What is mapped of a STRUCT entry's range; a last member that is empty counts as a byte (libgomp 14)."""
    cdef size_t last = i + job.maps.sizes[i]
    cdef uintptr_t end = <uintptr_t> job.maps.hostaddrs[last] + job.maps.sizes[last]
    return lookup_mapped(&job.dev.mem_map, start_at(&job.maps, i), end + 1 if is_empty_member(&job.maps, last) else end)


cdef int check_order(MapJob *job, size_t i) noexcept nogil:
    """The addresses of a STRUCT_UNORD's members do not fall (libgomp 16; libgomp 14 and 15 want one address)."""
    cdef size_t j
    for j in range(i + 1, i + job.maps.sizes[i]):
        if job.maps.hostaddrs[j + 1] < job.maps.hostaddrs[j]:
            return gompy_fail(b"Mapped array elements must be the same or in increasing address order (got %p > %p)",
                              job.maps.hostaddrs[j], job.maps.hostaddrs[j + 1])
    return 0


cdef int plan_struct(MapJob *job, size_t i) noexcept nogil:
    """A STRUCT entry and its members."""
    cdef size_t first = i + 1
    cdef size_t last = i + job.maps.sizes[i]
    cdef uintptr_t base = start_at(&job.maps, i)
    cdef uintptr_t begin = <uintptr_t> job.maps.hostaddrs[first]
    cdef uintptr_t end = <uintptr_t> job.maps.hostaddrs[last] + job.maps.sizes[last]
    cdef SplayNode *whole = mapped_struct(job, i)
    cdef MapEntry *entry = &job.list[i]
    cdef size_t align = alignment_at(&job.maps, i)
    cdef size_t j
    cdef int kind
    cdef bint copied
    entry.offset = OFFSET_STRUCT
    if is_unordered_at(&job.maps, i) and check_order(job, i):
        return -1
    for j in range(first, last + 1):
        job.list[j].kind = <unsigned char> kind_at(&job.maps, j)
    job.has_struct = True
    if whole != NULL:
        for j in range(first, last + 1):
            if map_member(job, whole, first, j, NULL):
                return -1
        tell_dropped_pointers(job, base)
        return 0
    entry.follow = plan_struct_pointers(job, base, &begin, &end)
    if entry.follow:
        job.takes_pointers = True
    copied = end - base <= STAGED_OBJECT_SIZE and job.size <= STAGED_BLOCK_SIZE
    # Members keep their distances; the struct's (virtual) base is aligned.  The distance to the first needs no memory.
    if job.align < align:
        job.align = align
    for j in range(first, last + 1):
        kind = kind_at(&job.maps, j)
        if is_empty_member(&job.maps, j):
            job.list[j].offset = unmapped_offset
            continue
        if not has_property(kind, KIND_NEW):
            return gompy_fail(b"gomp_map_vars: unhandled kind 0x%.2x", kind)
        copied = copied and has_property(kind, KIND_FILLED)
    if job.guard:
        reserve_guarded(job, entry, begin - base, end - begin, align)
    elif copied:
        entry.planned = align_up(job.size - (begin - base), align)
        job.size = entry.planned + (end - base)
        job.staged_objects += job.maps.sizes[i]
    else:
        entry.large = 1
        entry.planned = align_up(job.large_size - (begin - base), align)
        job.large_size = entry.planned + (end - base)
    job.new_objects += job.maps.sizes[i]
    return 0


cdef int impossible_size(uintptr_t start, size_t size) noexcept nogil:
    """An object is larger than all addresses.  gfortran counts bytes by the descriptor's stride."""
    if -size >> ADDRESS_BITS == 0:
        return gompy_fail(b"the object at %p to be mapped has %zd bytes; it may be a Fortran array with a negative "
                          b"stride, as x(n:1:-1), which gfortran cannot map (copy it first), a section whose length is "
                          b"negative, or an array whose status is undefined (nullify it)",
                          <void *> start, <ssize_t> size)
    return gompy_fail(b"the object at %p to be mapped has %zu bytes, more than there are addresses; it may be a "
                      b"Fortran pointer or allocatable array whose status is undefined (nullify it), or a section "
                      b"whose length was never set", <void *> start, size)


cdef int plan_entries(MapJob *job) noexcept nogil:
    """The first pass.  -1 with a failure text."""
    cdef size_t i = 0
    cdef size_t follow
    cdef int kind
    cdef uintptr_t start, end
    cdef MapEntry *entry
    cdef SplayNode *node = NULL
    cdef RangeIndex *tree = &job.dev.mem_map
    cdef bint counted
    while i < job.maps.mapnum:
        entry = &job.list[i]
        kind = kind_at(&job.maps, i)
        entry.kind = <unsigned char> kind
        counted = is_counted_kind(kind) and job.maps.hostaddrs[i] != NULL
        if counted:
            start = start_at(&job.maps, i)
            node = mapped_next(tree, start, start + job.maps.sizes[i])
            if job.pragma == VARS_TARGET:
                fetch_device_memory(tree, node)
            if count_present(job, entry, node, start, job.maps.sizes[i]):
                i += 1
                continue
        if job.maps.hostaddrs[i] == NULL or kind == GOMP_MAP_FIRSTPRIVATE_INT:
            entry.offset = OFFSET_INLINED
            i += 1
            continue
        if is_use_device_kind(kind):
            # What the same construct maps is not there before the second pass, which runs if anything is new.
            if job.new_objects:
                entry.offset = OFFSET_LATER
            elif translate_in_place(job, i):
                return -1
            i += 1
            continue
        if kind == GOMP_MAP_STRUCT:
            if plan_struct(job, i):
                return -1
            i += job.maps.sizes[i] + 1
            continue
        if kind == GOMP_MAP_ALWAYS_POINTER or is_attach_kind(kind):
            entry.offset = OFFSET_POINTER
            job.needs_build = True
            i += 1
            continue
        start = start_at(&job.maps, i)
        end = end_at(&job.maps, i)
        if kind == GOMP_MAP_FIRSTPRIVATE:
            reserve_place(job, entry, end - start, alignment_at(&job.maps, i), True)
            job.needs_build = True
            i += 1
            continue
        if kind == GOMP_MAP_ZERO_LEN_ARRAY_SECTION:
            node = lookup_section(tree, start, end)
            if node == NULL:
                entry.offset = unmapped_offset
                i += 1
                continue
        elif not counted:
            node = lookup_mapped(tree, start, end)
        if is_own_entry(job, i, kind, node):
            entry.is_own = 1
            reserve_place(job, entry, end - start, sizeof(void *), True)
            job.needs_build = True
            i += 1
            if kind == GOMP_MAP_TO_PSET:
                i += descriptor_pointers(&job.maps, i - 1)
            continue
        if node != NULL:
            follow = descriptor_refresh(job, i, node) if kind == GOMP_MAP_TO_PSET else 0
            if map_existing(job, node, start, end, entry, kind, follow > 0, is_implicit_at(&job.maps, i), NULL):
                return -1
            entry.follow = follow
            if follow:
                job.needs_build = True
            i += follow + 1
            continue
        if kind == GOMP_MAP_IF_PRESENT:
            entry.offset = OFFSET_POINTER
            i += 1
            if i < job.maps.mapnum and kind_at(&job.maps, i) == GOMP_MAP_POINTER:
                job.list[i].offset = OFFSET_POINTER
                i += 1
            continue
        if not has_property(kind, KIND_NEW):
            return gompy_fail(b"gomp_map_vars: unhandled kind 0x%.2x", kind)
        if (end - start) >> ADDRESS_BITS:
            return impossible_size(start, end - start)
        if job.dev.num_links == 0 or find_link(job.dev, start, end) == NULL:
            reserve_place(job, entry, end - start, alignment_at(&job.maps, i), has_property(kind, KIND_FILLED))
        job.new_objects += 1
        i += 1
        if kind == GOMP_MAP_TO_PSET:
            i += descriptor_pointers(&job.maps, i - 1)
    return 0
