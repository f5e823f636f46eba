# The second half of a mapping: the block of device memory, the keys of new objects, the copies.  plan.pxi has the first.


# --- the block -------------------------------------------------------------------------------------------------------

cdef int allocation_failed(MapJob *job, size_t total) noexcept nogil:
    """Say which object is the largest of the block that does not fit: often it is the one whose size is wrong."""
    cdef size_t i, largest = job.mapnum
    cdef int kind
    for i in range(job.mapnum):
        kind = kind_of(job, i)
        if (job.hostaddrs[i] == NULL or job.tgt.list[i].key != NULL or kind == MAP_STRUCT or kind == MAP_FIRSTPRIVATE_INT
                or is_pointer_kind(kind) or kind == MAP_ALWAYS_POINTER or is_attach_kind(kind)):
            continue
        if largest == job.mapnum or job.sizes[i] > job.sizes[largest]:
            largest = i
    if largest == job.mapnum:
        return gompy_fail(b"device memory allocation fail")
    return gompy_fail(b"device memory allocation fail: a block of %zu bytes, the largest object in it is [%p..%p) of %zu "
                      b"bytes", total, job.hostaddrs[largest], <char *> job.hostaddrs[largest] + job.sizes[largest],
                      job.sizes[largest])


cdef int allocate_block(MapJob *job, char *stack_buffer) noexcept nogil:
    """Device memory for what is new, and the stage for its first part."""
    cdef TargetMem *tgt = job.tgt
    cdef size_t staged = job.size
    cdef size_t total
    cdef size_t i
    if not job.new_objects and job.pragma != VARS_TARGET:
        return 0
    if job.large_size:
        staged = align_up(job.size, job.align)
    total = staged + job.large_size
    tgt.to_free = job.dev.ops.alloc(job.dev.target_id, total + job.align - 1)
    if tgt.to_free == NULL:
        return allocation_failed(job, total)
    tgt.tgt_start = align_up(<uintptr_t> tgt.to_free, job.align)
    tgt.tgt_end = tgt.tgt_start + total
    if job.large_size:
        for i in range(job.mapnum):
            if tgt.list[i].large:
                tgt.list[i].planned += staged
        if job.guard:
            close_gaps(job, staged)
    if job.size and job.dev.queue == NULL and (job.pragma == VARS_TARGET or job.staged_objects > 1):
        job.stage.start = tgt.tgt_start
        job.stage.size = job.size
        job.stage.buffer = stack_buffer if job.size <= STAGE_ON_STACK else <char *> malloc(job.size)
    return 0


# --- second pass -----------------------------------------------------------------------------------------------------

cdef int refresh_descriptor(MapJob *job, size_t i) noexcept nogil:
    """A mapped descriptor was copied again: its pointers get their device values."""
    cdef MapEntry *entry = &job.tgt.list[i]
    cdef SplayNode *key = entry.key
    cdef size_t j
    for j in range(i + 1, i + 1 + entry.follow):
        job.tgt.list[j].key = key
        if job.openacc:
            increment_refcount(key, job.stamp)
        if map_pointer(job, device_address(key, <uintptr_t> job.hostaddrs[j]), (<uintptr_t *> job.hostaddrs[j])[0],
                       job.sizes[j], False):
            return -1
    return 0


cdef int build_always_pointer(MapJob *job, size_t i, uintptr_t *value) noexcept nogil:
    """Store the device value of the entry before into a mapped pointer."""
    cdef uintptr_t start = entry_start(job, i)
    cdef SplayNode *node = lookup_mapped(&job.dev.mem_map, start, start + sizeof(void *))
    if node == NULL or not inside(start, node.host_start, node.host_end):
        return gompy_fail(b"always pointer not mapped")
    if i and kind_of(job, i - 1) != MAP_ALWAYS_POINTER:
        value[0] = argument_word(job, i - 1)
    if value[0]:
        value[0] -= job.sizes[i]
    if copy_word(job.dev, device_address(node, start), value[0], &job.stage):
        return -1
    value[0] = device_address(node, start)
    return 0


cdef int build_attach(MapJob *job, size_t i) noexcept nogil:
    """Attach a pointer; OpenMP leaves one alone whose variable is not mapped, and one of an empty section may be wild."""
    cdef uintptr_t start = entry_start(job, i)
    cdef SplayNode *node = lookup_mapped(&job.dev.mem_map, start, start + sizeof(void *))
    cdef MapEntry *entry = &job.tgt.list[i]
    cdef bint empty
    if node == NULL:
        return gompy_fail(b"outer struct not mapped for attach") if job.openacc else 0
    entry.key = node
    entry.offset = start - node.host_start
    entry.length = node.host_end - node.host_start
    entry.is_attach = 1
    # GCC 12 writes plain ATTACH also for a section whose length turns out to be 0.
    empty = (not job.openacc and i and job.sizes[i - 1] == 0
             and job.hostaddrs[i - 1] == <void *> ((<uintptr_t *> start)[0] + job.sizes[i]))
    return attach_pointer(job.dev, node, start, job.sizes[i],
                          empty or kind_of(job, i) == MAP_ATTACH_ZERO_LENGTH_ARRAY_SECTION, &job.stage, empty)


cdef int first_contents(MapJob *job, SplayNode *key, size_t i, int kind) noexcept nogil:
    """Fill a new object of the device."""
    cdef size_t j
    cdef uintptr_t size = key.host_end - key.host_start
    cdef uintptr_t place = device_address(key, key.host_start)
    cdef MapEntry *entry = &job.tgt.list[i]
    if is_pointer_kind(kind):
        return map_pointer(job, place, (<uintptr_t *> key.host_start)[0], job.sizes[i],
                           kind == MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION)
    if kind == MAP_FORCE_PRESENT:
        return gompy_fail(b"present clause: !acc_is_present (%p, %lu (0x%lx))", <void *> key.host_start,
                          <unsigned long> size, <unsigned long> size)
    if not (kind <= MAP_TOFROM or kind == MAP_TO_PSET or kind == MAP_FORCE_DEVICEPTR
            or (kind >= MAP_ALWAYS_TO and kind <= MAP_ALWAYS_TOFROM)
            or (kind >= MAP_FORCE_ALLOC and kind <= MAP_FORCE_TOFROM)):
        return gompy_fail(b"gomp_map_vars: unhandled kind 0x%.2x", kind)
    if not copied_when_new(kind) or size == 0:
        return 0
    job.dev.copying.kind = kind
    if copy_to_device(job.dev, place, <void *> key.host_start, size, &job.stage):
        return -1
    if kind == MAP_TO_PSET:
        entry.follow = descriptor_pointers(job, i)
        for j in range(i + 1, i + 1 + entry.follow):
            job.tgt.list[j].key = key
            if job.openacc:
                increment_refcount(key, job.stamp)
            if (<void **> job.hostaddrs[j])[0] == NULL:
                key.null_pointer = 1
            if map_pointer(job, device_address(key, <uintptr_t> job.hostaddrs[j]),
                           (<uintptr_t *> job.hostaddrs[j])[0], job.sizes[j], False):
                return -1
    return 0


cdef int build_object(MapJob *job, size_t i, SplayNode *first, size_t planned) noexcept nogil:
    """A new key, or the one that an entry before made.

    first: the first element of the struct that it belongs to (itself, if it is that), or NULL.
    """
    cdef int kind = kind_of(job, i)
    cdef uintptr_t start = entry_start(job, i)
    cdef uintptr_t end = entry_end(job, i)
    cdef MapEntry *entry = &job.tgt.list[i]
    cdef SplayTree *tree = &job.dev.mem_map
    cdef SplayNode *node = splay_lookup(tree, start, end)
    cdef SplayNode *key = job.next_node
    cdef uintptr_t address
    if node != NULL and node.ref_kind != REF_LINK:
        if map_existing(job, node, start, end, entry, kind, False, is_implicit(job, i), &job.stage):
            return -1
        return 0
    job.next_node += 1
    key.host_start = start
    key.host_end = end
    key.tgt = job.tgt
    key.tgt_offset = key_offset(job, start, end, planned)
    if node != NULL:
        splay_remove(tree, node)
        key.link_key = node
    if first != NULL:
        key.ref_kind = REF_STRUCT_ELEMENT
        key.first = first
        first.elements += 1
    if first == NULL or first == key:
        job.tgt.refcount += 1  # one for all elements of a struct: they leave together
    entry.key = key
    entry.copy_from = copies_from(kind)
    entry.always_copy_from = is_always_from(kind)
    entry.offset = 0
    entry.copy_start = 0
    entry.length = end - start
    increment_refcount(key, job.stamp)
    if splay_insert(tree, key) or first_contents(job, key, i, kind):
        return -1
    if node != NULL:
        # The device's pointer to the variable; it is no part of this construct's block.
        address = device_address(key, start) - (start - node.host_start)
        return copy_word(job.dev, node.tgt_offset, address, NULL)
    return 0


cdef int build_struct(MapJob *job, size_t i) noexcept nogil:
    """The members of a struct that plan_struct did not find."""
    cdef size_t first = i + 1
    cdef size_t last = i + job.sizes[i]
    cdef uintptr_t base = entry_start(job, i)
    cdef SplayNode *whole
    cdef SplayNode *first_key = NULL
    cdef SplayNode *next
    cdef size_t planned = job.tgt.list[i].planned
    cdef size_t j
    if job.tgt.list[first].key != NULL:
        return 0
    whole = lookup_mapped(&job.dev.mem_map, base, <uintptr_t> job.hostaddrs[last] + job.sizes[last])
    for j in range(first, last + 1):
        if whole != NULL:
            if map_member(job, whole, first, j, &job.stage):
                return -1
            continue
        next = job.next_node
        if build_object(job, j, NULL if job.openacc else first_key if first_key != NULL else next,
                        planned + (<uintptr_t> job.hostaddrs[j] - base)):
            return -1
        if first_key == NULL and job.next_node != next:
            first_key = next
    if job.tgt.list[i].follow and first_key != NULL:
        return build_struct_pointers(job, base, planned, first_key)
    return 0


cdef int build_pointer_structs(MapJob *job) noexcept nogil:
    """Structs that take pointers in come first: GCC 12 may list the attachments before them."""
    cdef size_t i = 0
    while i < job.mapnum:
        if kind_of(job, i) == MAP_STRUCT and job.hostaddrs[i] != NULL:
            if job.tgt.list[i].follow and build_struct(job, i):
                return -1
            i += job.sizes[i]
        i += 1
    return 0


cdef int build_entries(MapJob *job) noexcept nogil:
    """The second pass.  -1 with a failure text."""
    cdef size_t i = 0
    cdef int kind
    cdef uintptr_t pointer_value = 0
    cdef MapEntry *entry
    if job.takes_pointers and build_pointer_structs(job):
        return -1
    while i < job.mapnum:
        entry = &job.tgt.list[i]
        kind = kind_of(job, i)
        if kind == MAP_STRUCT and job.hostaddrs[i] != NULL:
            if build_struct(job, i):
                return -1
            i += job.sizes[i] + 1
            continue
        if entry.key != NULL:
            if entry.follow and refresh_descriptor(job, i):
                return -1
            i += entry.follow + 1
            continue
        if job.hostaddrs[i] == NULL or kind == MAP_FIRSTPRIVATE_INT or kind == MAP_ZERO_LEN_ARRAY_SECTION:
            pass
        elif kind == MAP_FIRSTPRIVATE:
            entry.offset = entry.planned
            job.dev.copying.kind = kind
            if job.sizes[i] and copy_value(job.dev, job.tgt.tgt_start + entry.planned, job.hostaddrs[i],
                                           job.sizes[i], &job.stage):
                return -1
        elif entry.is_own:
            if build_own_entry(job, i, kind):
                return -1
            i += entry.follow
        elif kind == MAP_USE_DEVICE_PTR or kind == MAP_USE_DEVICE_PTR_IF_PRESENT:
            if entry.offset == OFFSET_LATER and translate_in_place(job, i):
                return -1
        elif kind == MAP_ALWAYS_POINTER:
            if build_always_pointer(job, i, &pointer_value):
                return -1
        elif is_attach_kind(kind):
            if build_attach(job, i):
                return -1
        elif kind == MAP_IF_PRESENT:
            if i + 1 < job.mapnum and kind_of(job, i + 1) == MAP_POINTER:
                i += 1
        else:
            if build_object(job, i, NULL, entry.planned):
                return -1
            i += entry.follow
        i += 1
    return 0


cdef void hold_blocks(MapJob *job) noexcept nogil:
    """Keep the blocks of existing keys until the construct ends: an exit data inside it may remove the keys."""
    cdef size_t i
    cdef SplayNode *key
    for i in range(job.mapnum):
        key = job.tgt.list[i].key
        if key != NULL and key.tgt != job.tgt:
            key.tgt.refcount += 1


cdef int finish_block(MapJob *job) noexcept nogil:
    """Write the argument words and send the stage."""
    cdef size_t i
    cdef uintptr_t word
    cdef int rc = 0
    if job.pragma == VARS_TARGET:
        if job.has_struct:
            place_struct_sections(job)
        for i in range(job.mapnum):
            word = argument_word(job, i)
            if copy_word(job.dev, job.tgt.tgt_start + i * sizeof(void *), word, &job.stage):
                return -1
    if job.stage.buffer != NULL:
        rc = copy_to_device(job.dev, job.stage.start, job.stage.buffer, job.stage.size, NULL)
    return rc


cdef TargetMem *new_target_mem(DeviceDescr *dev, size_t entries, size_t nodes) noexcept nogil:
    """A zeroed TargetMem with room for entries and nodes, in one piece of memory; NULL if there is none."""
    cdef size_t size = sizeof(TargetMem) + entries * sizeof(MapEntry) + nodes * sizeof(SplayNode)
    cdef TargetMem *tgt = <TargetMem *> calloc(1, size)
    if tgt != NULL:
        tgt.device = dev
        tgt.list_count = entries
        tgt.num_nodes = nodes
        tgt.list = <MapEntry *> (tgt + 1)
        tgt.nodes = <SplayNode *> (tgt.list + entries)
        if dev != NULL:
            tgt.epoch = dev.epoch
    return tgt


cdef TargetMem *map_vars(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes, void *kinds,
                         bint short_kinds, uint64_t stamp, int pragma, int *failed) noexcept nogil:
    """Map the entries of a construct.  The device is locked and initialised.

    stamp: from new_stamp, one for a whole construct; EVERY_ENTRY for OpenACC.  pragma: VARS_*.  NULL if an enter data left nothing behind, or
    on failure, with failed set and a failure text.
    """
    cdef char stack_buffer[STAGE_ON_STACK]
    cdef MapJob job
    cdef TargetMem *tgt
    cdef size_t i
    # An enter data's struct may take in pointers that other groups of the directive attach.
    tgt = new_target_mem(dev, mapnum, mapnum if dev.call == NULL else mapnum + dev.call.mapnum)
    if tgt == NULL:
        failed[0] = gompy_fail(b"Out of memory allocating %lu bytes",
                               <unsigned long> (mapnum * (sizeof(MapEntry) + sizeof(SplayNode))))
        return NULL
    tgt.refcount = 0 if pragma == VARS_ENTER_DATA else 1
    tgt.what = dev.what
    tgt.where = dev.where
    if mapnum == 0:
        return tgt
    job.dev = dev
    job.mapnum = mapnum
    job.hostaddrs = hostaddrs
    job.sizes = sizes
    job.kinds = kinds
    job.short_kinds = short_kinds
    job.stamp = stamp
    job.pragma = pragma
    job.tgt = tgt
    job.align = sizeof(void *)
    job.size = 0
    job.large_size = 0
    job.staged_objects = 0
    job.new_objects = 0
    job.guard = guard_step(dev)
    job.needs_build = False
    job.has_struct = False
    job.takes_pointers = False
    job.openacc = stamp == EVERY_ENTRY
    job.next_node = tgt.nodes
    job.stage.buffer = NULL
    job.stage.start = 0
    job.stage.size = 0
    if pragma == VARS_TARGET:
        job.align = 4 * sizeof(void *)
        job.size = mapnum * sizeof(void *)
    failed[0] = plan_entries(&job)
    if not failed[0]:
        failed[0] = allocate_block(&job, stack_buffer)
    if not failed[0] and (job.new_objects or job.needs_build):
        failed[0] = build_entries(&job)
    if not failed[0]:
        failed[0] = finish_block(&job)
    if job.stage.buffer != NULL and job.stage.buffer != stack_buffer:
        free(job.stage.buffer)
    if failed[0]:
        return NULL
    if gompy_debug_level:
        tell_maps(&job)
    if job.openacc and pragma == VARS_ENTER_DATA:
        for i in range(mapnum):
            if tgt.list[i].key != NULL and not tgt.list[i].is_attach:
                tgt.list[i].key.dynamic_refcount += 1
    if pragma != VARS_ENTER_DATA:
        hold_blocks(&job)
    elif tgt.refcount == 0:
        if tgt.to_free != NULL and free_device_memory(dev, tgt.to_free):
            failed[0] = -1
        free(tgt)
        return NULL
    return tgt
