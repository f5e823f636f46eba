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


cdef void end_list(MapJob *job, const MapEntry *few) noexcept nogil:
    """An enter data has been made."""
    if job.list != few:
        free(job.list)


cdef TargetMem *begin_target_mem(MapJob *job, DeviceDescr *dev, const MapList *maps, int pragma,
                                 MapEntry *few) noexcept nogil:
    """A TargetMem for a construct, and the job's list and nodes; NULL if there is no memory.

    An enter data needs no list when it is made, but its mappings stay: there may be millions.  Then the list is `few`,
    or a block of its own.
    """
    cdef TargetMem *tgt
    cdef size_t nodes = nodes_wanted(dev, maps, pragma)
    if pragma != VARS_ENTER_DATA:
        tgt = lasting_target_mem(dev, maps.mapnum, nodes)
        if tgt != NULL:
            tgt.refcount = 1
            tgt.lasting.what = dev.what
            tgt.lasting.where = dev.where
            job.list = tgt.lasting.list
            job.next_node = tgt.lasting.nodes
        return tgt
    job.list = few
    if maps.mapnum > FEW_ENTRIES:
        job.list = <MapEntry *> calloc(maps.mapnum, sizeof(MapEntry))
        if job.list == NULL:
            return NULL
    else:
        memset(few, 0, maps.mapnum * sizeof(MapEntry))
    tgt = target_mem_with(dev, nodes)
    job.next_node = <SplayNode *> (tgt + 1)
    if tgt == NULL:
        end_list(job, few)
    return tgt


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
    tgt = begin_target_mem(&job, dev, maps, pragma, few)
    if tgt == NULL:
        failed[0] = gompy_fail(b"Out of memory allocating %lu bytes",
                               <unsigned long> (mapnum * (sizeof(MapEntry) + sizeof(SplayNode))))
        return NULL
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
    job.empties = EMPTIES_UNKNOWN
    job.openacc = stamp == EVERY_ENTRY
    job.stage.buffer = NULL
    job.stage.start = 0
    job.stage.size = 0
    if pragma == VARS_TARGET:
        job.align = 4 * sizeof(void *)
        job.size = mapnum * sizeof(void *)
    job.asked_size = job.size
    job.asked_align = job.align
    failed[0] = plan_entries(&job)
    if not failed[0]:
        failed[0] = allocate_block(&job, stack_buffer)
    if not failed[0] and (job.new_objects or job.needs_build):
        failed[0] = build_entries(&job)
    if not failed[0]:
        failed[0] = finish_block(&job)
    if job.stage.buffer != NULL:
        end_stage(&job, stack_buffer)
    if failed[0]:
        check_failure(dev, failed[0])
        return NULL
    if entries_told():
        apart_mapped(tell_mapped)(&job)
    if job.openacc and pragma == VARS_ENTER_DATA:
        for i in range(mapnum):
            if job.list[i].key != NULL and not job.list[i].is_attach:
                job.list[i].key.dynamic_refcount += 1
    if pragma != VARS_ENTER_DATA:
        hold_blocks(&job)
        return tgt
    end_list(&job, few)
    if tgt.refcount == 0:
        failed[0] = end_target_mem(dev, tgt)
        return NULL
    return tgt
