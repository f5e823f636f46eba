# Mapping: what a target, target data or target enter data construct does at its begin (libgomp: gomp_map_vars).
#
# Two passes over the entries, in their order.  plan_entries finds what is mapped already and gives the rest a place in a
# new block of device memory; build_entries makes the keys of the new objects and copies.  Objects that are small and
# copied to the device stand at the start of the block, after the argument words: they and the words go over in one copy.


cdef void reserve(MapJob *job, MapEntry *entry, size_t size, size_t align, bint copied) noexcept nogil:
    """Give a new object of the construct its place in the block."""
    if job.guard:
        reserve_guarded(job, entry, 0, size, align)
        return
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
    entry.copy_from = copies_from(kind)
    entry.always_copy_from = is_always_from(kind)
    entry.is_attach = 0
    entry.offset = start - old.host_start
    entry.length = end - start
    if kind & MAP_FLAG_FORCE or not (inside_new or (old.host_start <= start and end <= old.host_end)):
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
    if is_always_to(kind) or always_to:
        job.dev.copying.kind = kind
        if copy_range(job.dev, old, start, end, True, stage):
            return -1
    increment_refcount(old, job.stamp)
    return 0


cdef bint same_block(SplayNode *member, SplayNode *whole) noexcept nogil:
    return (member != NULL and member.tgt == whole.tgt
            and member.host_start - whole.host_start == member.tgt_offset - whole.tgt_offset)


cdef int map_member(MapJob *job, SplayNode *whole, size_t first, size_t i, Stage *stage) noexcept nogil:
    """A struct member of a struct that is mapped: it must be part of that mapping (libgomp: gomp_map_fields_existing)."""
    cdef uintptr_t start = entry_start(job, i)
    cdef uintptr_t end = start + job.sizes[i]
    cdef SplayTree *tree = &job.dev.mem_map
    cdef SplayNode *member = lookup_mapped(tree, start, end)
    if not same_block(member, whole) and job.sizes[i] == 0:
        member = NULL
        if start > <uintptr_t> job.hostaddrs[first - 1]:
            member = lookup_mapped(tree, start - 1, end)
        if not same_block(member, whole):
            member = lookup_mapped(tree, start, end + 1)
    if not same_block(member, whole):
        return gompy_fail(b"Trying to map into device [%p..%p) structure element when other mapped elements from the "
                          b"same structure weren't mapped together with it", <void *> start, <void *> end)
    return map_existing(job, member, start, end, &job.tgt.list[i], kind_of(job, i), False, is_implicit(job, i), stage)


cdef int translate_in_place(MapJob *job, size_t i) noexcept nogil:
    """use_device_ptr, use_device_addr: the host word becomes the device address."""
    cdef uintptr_t p = <uintptr_t> job.hostaddrs[i]
    cdef SplayNode *node = lookup_pointer(&job.dev.mem_map, p)
    if node != NULL:
        job.hostaddrs[i] = <void *> device_address(node, p)
    elif kind_of(job, i) == MAP_USE_DEVICE_PTR:
        return gompy_fail(b"use_device_ptr pointer wasn't mapped")
    job.tgt.list[i].offset = OFFSET_INLINED
    return 0


cdef size_t descriptor_refresh(MapJob *job, size_t i, SplayNode *key) noexcept nogil:
    """How many pointer entries after a mapped TO_PSET ask for the descriptor to be copied again."""
    cdef size_t j = i + 1
    cdef int kind
    while j < job.mapnum:
        kind = kind_of(job, j)
        if kind != MAP_ALWAYS_POINTER and (not key.null_pointer or not is_pointer_kind(kind)
                                           or (<void **> job.hostaddrs[j])[0] == NULL):
            break
        if not inside(<uintptr_t> job.hostaddrs[j], entry_start(job, i), entry_end(job, i)):
            break
        j += 1
    return j - i - 1


cdef int plan_struct(MapJob *job, size_t i) noexcept nogil:
    """A STRUCT entry and its members."""
    cdef size_t first = i + 1
    cdef size_t last = i + job.sizes[i]
    cdef uintptr_t base = entry_start(job, i)
    cdef uintptr_t begin = <uintptr_t> job.hostaddrs[first]
    cdef uintptr_t end = <uintptr_t> job.hostaddrs[last] + job.sizes[last]
    cdef SplayNode *whole = lookup_mapped(&job.dev.mem_map, base, end)
    cdef MapEntry *entry = &job.tgt.list[i]
    cdef size_t align = alignment_of(job, i)
    cdef size_t j
    cdef bint copied
    entry.offset = OFFSET_STRUCT
    for j in range(first, last + 1):
        job.tgt.list[j].kind = <unsigned char> kind_of(job, j)
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
        copied = copied and copied_when_new(kind_of(job, j))
    if job.guard:
        reserve_guarded(job, entry, begin - base, end - begin, align)
    elif copied:
        entry.planned = align_up(job.size - (begin - base), align)
        job.size = entry.planned + (end - base)
        job.staged_objects += job.sizes[i]
    else:
        entry.large = 1
        entry.planned = align_up(job.large_size - (begin - base), align)
        job.large_size = entry.planned + (end - base)
    job.new_objects += job.sizes[i]
    return 0


cdef int plan_entries(MapJob *job) noexcept nogil:
    """The first pass.  -1 with a failure text."""
    cdef size_t i = 0
    cdef size_t follow
    cdef int kind
    cdef uintptr_t start, end
    cdef MapEntry *entry
    cdef SplayNode *node
    cdef SplayTree *tree = &job.dev.mem_map
    while i < job.mapnum:
        entry = &job.tgt.list[i]
        kind = kind_of(job, i)
        entry.kind = <unsigned char> kind
        if job.hostaddrs[i] == NULL or kind == MAP_FIRSTPRIVATE_INT:
            entry.offset = OFFSET_INLINED
            i += 1
            continue
        if kind == MAP_USE_DEVICE_PTR or kind == MAP_USE_DEVICE_PTR_IF_PRESENT:
            # What the same construct maps is not there before the second pass, which runs if anything is new.
            if job.new_objects:
                entry.offset = OFFSET_LATER
            elif translate_in_place(job, i):
                return -1
            i += 1
            continue
        if kind == MAP_STRUCT:
            if plan_struct(job, i):
                return -1
            i += job.sizes[i] + 1
            continue
        if kind == MAP_ALWAYS_POINTER or is_attach_kind(kind):
            entry.offset = OFFSET_POINTER
            job.needs_build = True
            i += 1
            continue
        start = entry_start(job, i)
        end = entry_end(job, i)
        if kind == MAP_FIRSTPRIVATE:
            reserve(job, entry, end - start, alignment_of(job, i), True)
            job.needs_build = True
            i += 1
            continue
        if kind == MAP_ZERO_LEN_ARRAY_SECTION:
            node = lookup_section(tree, start, end)
            if node == NULL:
                entry.offset = unmapped_offset
                i += 1
                continue
        else:
            node = lookup_mapped(tree, start, end)
        if is_own_entry(job, i, kind, node):
            entry.is_own = 1
            reserve(job, entry, end - start, sizeof(void *), True)
            job.needs_build = True
            i += 1
            if kind == MAP_TO_PSET:
                i += descriptor_pointers(job, i - 1)
            continue
        if node != NULL:
            follow = descriptor_refresh(job, i, node) if kind == MAP_TO_PSET else 0
            if map_existing(job, node, start, end, entry, kind, follow > 0, is_implicit(job, i), NULL):
                return -1
            entry.follow = follow
            if follow:
                job.needs_build = True
            i += follow + 1
            continue
        if kind == MAP_IF_PRESENT:
            entry.offset = OFFSET_POINTER
            i += 1
            if i < job.mapnum and kind_of(job, i) == MAP_POINTER:
                job.tgt.list[i].offset = OFFSET_POINTER
                i += 1
            continue
        if (end - start) >> ADDRESS_BITS:
            return gompy_fail(b"the object at %p to be mapped has %zu bytes, more than there are addresses; it may be a "
                              b"Fortran pointer or allocatable array whose status is undefined (nullify it), or a section "
                              b"whose length was never set", <void *> start, <size_t> (end - start))
        if job.dev.num_links == 0 or find_link(job.dev, start, end) == NULL:
            reserve(job, entry, end - start, alignment_of(job, i), copied_when_new(kind))
        job.new_objects += 1
        i += 1
        if kind == MAP_TO_PSET:
            i += descriptor_pointers(job, i - 1)
    return 0
