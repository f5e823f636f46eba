# Mapping: what a target, target data or target enter data construct does at its begin (libgomp: gomp_map_vars).


cdef enum:
    FEW_ENTRIES = 4


cdef size_t nodes_wanted(DeviceDescr *dev, const MapList *maps, int pragma) noexcept nogil:
    """How many new mappings there may be."""
    cdef size_t i, wanted = maps.mapnum
    if dev.whole != NULL:
        return wanted + dev.whole.mapnum  # an enter data's struct may take in pointers that other groups attach
    if pragma == VARS_ENTER_DATA:
        for i in range(maps.mapnum):
            wanted -= is_attach_kind(kind_at(maps, i))
    return wanted


cdef TargetMem *begin_target_mem(DeviceDescr *dev, const MapList *maps, int pragma, MapEntry *few) noexcept nogil:
    """A TargetMem for a construct; NULL if there is no memory.

    An enter data needs no list when it is made, but its mappings stay: there may be millions.  Then the list is `few`,
    or a block of its own.
    """
    cdef TargetMem *tgt
    cdef size_t nodes = nodes_wanted(dev, maps, pragma)
    if pragma != VARS_ENTER_DATA:
        return target_mem_with(dev, maps.mapnum, nodes)
    tgt = target_mem_with(dev, 0, nodes)
    if tgt == NULL:
        return NULL
    tgt.list = few
    if maps.mapnum > FEW_ENTRIES:
        tgt.list = <MapEntry *> calloc(maps.mapnum, sizeof(MapEntry))
        if tgt.list == NULL:
            free(tgt)
            return NULL
    else:
        memset(few, 0, maps.mapnum * sizeof(MapEntry))
    tgt.list_count = <uint32_t> maps.mapnum
    return tgt


cdef void end_list(TargetMem *tgt, const MapEntry *few) noexcept nogil:
    """An enter data has been made."""
    if tgt.list != few:
        free(tgt.list)
    tgt.list = NULL
    tgt.list_count = 0


cdef TargetMem *map_vars(DeviceDescr *dev, const MapList *maps, uint64_t stamp, int pragma,
                         int *failed) noexcept nogil:
    """Map the entries of a construct.  The device is locked and initialised.

    stamp: from new_stamp, one for a whole construct; EVERY_ENTRY for OpenACC.  pragma: VARS_*.  NULL if an enter data
    left nothing behind, or on failure, with failed set and a failure text.
    """
    cdef uintptr_t stack_words[STAGE_WORDS]
    cdef char *stack_buffer = <char *> stack_words  # STAGE_ON_STACK bytes
    cdef MapEntry few[FEW_ENTRIES]
    cdef MapJob job
    cdef TargetMem *tgt
    cdef size_t i, mapnum = maps.mapnum
    tgt = begin_target_mem(dev, maps, pragma, few)
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
    job.maps = maps[0]
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
        check_entry(dev, EVENT_ABSENT, -1, 0, 0)
        return NULL
    if gompy_debug_level:
        tell_maps(&job)
    if has_hooks(HOOK_MAP):
        tell_construct_maps(&job)
    if gompy_checking:
        check_maps(&job)
    if job.openacc and pragma == VARS_ENTER_DATA:
        for i in range(mapnum):
            if tgt.list[i].key != NULL and not tgt.list[i].is_attach:
                tgt.list[i].key.dynamic_refcount += 1
    if pragma != VARS_ENTER_DATA:
        hold_blocks(&job)
        return tgt
    end_list(tgt, few)
    if tgt.refcount == 0:
        if tgt.to_free != NULL and free_device_memory(dev, tgt.to_free):
            failed[0] = -1
        free_target_mem(tgt)
        return NULL
    return tgt
