# A construct's TargetMem and its block of device memory.


cdef enum:
    MALLOC_ALIGN = 16


cdef inline int drop_target_mem(DeviceDescr *dev, TargetMem *tgt) noexcept nogil:
    """One reference less; the last one frees the block on the device and everything here."""
    if tgt.refcount > 1:
        tgt.refcount -= 1
        return 0
    return end_target_mem(dev, tgt)


cdef int end_target_mem(DeviceDescr *dev, TargetMem *tgt) noexcept nogil:
    """Nobody refers to it any more."""
    cdef int rc = 0
    if not owns_no_block(tgt):
        rc = free_device_memory(dev, <void *> (tgt.tgt_start - tgt.padding))
    free_target_mem(dev, tgt)
    return rc


cdef int no_room(size_t total, uintptr_t largest, size_t size) noexcept nogil:
    """The device has no memory for a block, whose largest object is named."""
    return gompy_fail(
            b"device memory allocation fail: a block of %zu bytes, the largest object in it is [%p..%p) of %zu "
            b"bytes", total, <void *> largest, <void *> (largest + size), size)


cdef int allocation_failed(MapJob *job, size_t total) noexcept nogil:
    """Say which object is the largest of the block that does not fit: often it is the one whose size is wrong."""
    cdef size_t i, largest = job.maps.mapnum
    cdef int kind
    for i in range(job.maps.mapnum):
        kind = kind_at(&job.maps, i)
        if job.maps.hostaddrs[i] == NULL or job.list[i].key != NULL or has_property(kind, KIND_BARE | KIND_POINTER):
            continue
        if largest == job.maps.mapnum or job.maps.sizes[i] > job.maps.sizes[largest]:
            largest = i
    if largest == job.maps.mapnum:
        return gompy_fail(b"device memory allocation fail")
    return no_room(total, <uintptr_t> job.maps.hostaddrs[largest], job.maps.sizes[largest])


cdef inline void *aligned_memory(DeviceDescr *dev, size_t align, size_t total, bint openacc) noexcept nogil:
    """Device memory that has room for so many bytes, aligned; or NULL.

    What a device gives is aligned like what malloc gives, as a rule.  A device of another kind is asked for more; so
    is any for OpenACC, whose profiling interface tells how much: as much as libgomp asks for (GCC 12's tests
    subset-subarray-mappings-*.c).
    """
    cdef void *block
    if align <= MALLOC_ALIGN and not dev.unaligned and not openacc:
        block = device_alloc(dev, total if total else 1)
        if <uintptr_t> block & (align - 1) == 0:
            return block
        dev.unaligned = True
        if free_device_memory(dev, block):
            return NULL
    return device_alloc(dev, total + align - 1)


cdef void *aligned_block(MapJob *job, size_t total) noexcept nogil:
    """The same for a construct."""
    return aligned_memory(job.dev, job.align, total, job.openacc)


cdef void *checked_block(MapJob *job, size_t total) noexcept nogil:
    """The same where the device's memory is checked: argument words alone have nothing to be guarded from."""
    cdef void *block = NULL
    if not job.new_objects and not job.needs_build:
        block = device_alloc_words(job.dev, total + job.align - 1)
    elif job.openacc and job.large_size:
        return gapped_memory(job, total)
    return block if block != NULL else aligned_block(job, total)


cdef char *stage_memory(DeviceDescr *dev, size_t size) noexcept nogil:
    """Room for a stage: the device's, whose lock is held, or if that would be much, of its own.  NULL: there is none.

    malloc would make and join large pieces for each construct, and what it gives is in the cache less often.
    """
    if size <= dev.stage_room_size:
        return dev.stage_room
    if size > STAGE_KEPT:
        return <char *> malloc(size)
    free(dev.stage_room)
    size = align_up(size, 4096)
    dev.stage_room = <char *> aligned_alloc(CACHE_LINE, size)
    dev.stage_room_size = size if dev.stage_room != NULL else 0
    return dev.stage_room


cdef inline void end_stage(MapJob *job, const char *stack_buffer) noexcept nogil:
    """The stage has been sent, or is not to be."""
    if job.stage.buffer != stack_buffer and job.stage.buffer != job.dev.stage_room:
        free(job.stage.buffer)


cdef int allocate_block(MapJob *job, char *stack_buffer) noexcept nogil:
    """Device memory for what is new, and the stage for its first part."""
    cdef TargetMem *tgt = job.tgt
    cdef size_t staged = job.size
    cdef size_t total
    cdef uintptr_t block
    cdef size_t i
    if not job.new_objects and job.pragma != VARS_TARGET:
        return 0
    if job.large_size:
        staged = align_up(job.size, job.align)
    total = staged + job.large_size
    block = <uintptr_t> (checked_block(job, total) if job.guard else aligned_block(job, total))
    if block == 0:
        return allocation_failed(job, total)
    tgt.tgt_start = align_up(block, job.align)
    if rare(tgt.tgt_start - block >= NO_BLOCK):
        return free_device_memory(job.dev, <void *> block) or allocation_failed(job, total)
    tgt.padding = <uint32_t> (tgt.tgt_start - block)
    if job.large_size:
        for i in range(job.maps.mapnum):
            if job.list[i].large:
                job.list[i].planned += staged
        if job.guard:
            close_gaps(job, staged)
    if job.size and job.dev.queue == NULL and (job.pragma == VARS_TARGET or job.staged_objects > 1):
        job.stage.start = tgt.tgt_start
        job.stage.size = job.size
        job.stage.buffer = stack_buffer if job.size <= STAGE_ON_STACK else stage_memory(job.dev, job.size)
    return 0


cdef void hold_blocks(MapJob *job) noexcept nogil:
    """Keep the blocks of existing keys until the construct ends: an exit data inside it may remove the keys."""
    cdef size_t i
    cdef SplayNode *key
    for i in range(job.maps.mapnum):
        key = job.list[i].key
        if key != NULL and key.tgt != job.tgt:
            key.tgt.refcount += 1


cdef int finish_block(MapJob *job) noexcept nogil:
    """Write the argument words and send the stage."""
    cdef size_t i, place = 0, mapnum = job.maps.mapnum
    cdef const unsigned char *later = job.maps.later
    cdef uintptr_t *staged = <uintptr_t *> job.stage.buffer  # the words stand at its begin
    cdef uintptr_t word
    cdef int rc = 0
    if job.pragma == VARS_TARGET:
        if job.has_struct:
            place_struct_sections(job)
        for i in range(mapnum):
            if later != NULL and later[i]:
                continue
            word = argument_word(job, i)
            if staged != NULL:
                staged[place] = word
            elif copy_word(job.dev, job.tgt.tgt_start + place * sizeof(void *), word, NULL):
                return -1
            place += 1
    if job.stage.buffer != NULL:
        rc = copy_to_device(job.dev, job.stage.start, job.stage.buffer, job.stage.size, NULL)
    return rc
