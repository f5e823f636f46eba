# The target construct (libgomp: GOMP_target_ext).


cdef inline bint takes_openmp(DeviceDescr *dev) noexcept nogil:
    return dev != NULL and dev.capabilities & GOMP_OFFLOAD_CAP_OPENMP_400


cdef inline bint takes_maps(DeviceDescr *dev) noexcept nogil:
    """Whether mapping constructs have an effect: a device for OpenMP, with memory of its own."""
    return takes_openmp(dev) and not dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM


cdef inline bint keeps_table(DeviceDescr *dev) noexcept nogil:
    """Whether routines look into a device's table: also of one with shared memory, if constructs by clang map there."""
    return takes_maps(dev) or (takes_openmp(dev) and dev.functions != NULL)


cdef void *region_on_device(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, const char **reason) noexcept nogil:
    """The device's word for a region, or NULL and the reason why it runs on the host."""
    cdef void *address
    if not takes_openmp(dev):
        if dev != NULL:
            reason[0] = b"the device cannot run OpenMP regions"
        return NULL
    if dev.capabilities & GOMP_OFFLOAD_CAP_NATIVE_EXEC:
        address = <void *> fn
    else:
        address = <void *> find_function(dev, <uintptr_t> fn)
    if address == NULL:
        reason[0] = HOST_NO_CODE
    elif not device_can_run(dev, address):
        reason[0] = b"the device cannot run the region"
        return NULL
    return address


cdef TargetMem *map_whole_target(DeviceDescr *dev, void (*fn)(void *) noexcept nogil,
                                 const MapList *maps) noexcept nogil:
    """map_for_target of a list with iterators."""
    cdef MapList whole
    cdef void *block = expand_iterators(maps, &whole)
    cdef TargetMem *tgt = map_for_target(dev, fn, &whole)
    free(block)
    if tgt != NULL:
        tgt.lasting.words = <uint32_t> maps.mapnum
    return tgt


cdef TargetMem *map_for_target(DeviceDescr *dev, void (*fn)(void *) noexcept nogil,
                               const MapList *maps) noexcept nogil:
    """Map a target construct's entries; ends the program on failure, NULL if the device has been finalised."""
    cdef int failed = 0
    cdef TargetMem *tgt = NULL
    if rare(has_iterators(maps)):
        return map_whole_target(dev, fn, maps)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        note_construct(dev, NULL, <void *> fn)
        tgt = map_vars(dev, maps, new_stamp(dev), VARS_TARGET, &failed)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    return tgt


cdef void unmap_construct(TargetMem *tgt) noexcept nogil:
    """The end of target and target data."""
    cdef DeviceDescr *dev = tgt.lasting.device
    cdef int rc = 0
    if dev == NULL or tgt.lasting.list_count == 0:
        free(tgt)
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED and tgt.lasting.epoch == dev.epoch:
        note_construct(dev, tgt.lasting.what, tgt.lasting.where)
        rc = unmap_vars(tgt, new_stamp(dev))
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef inline void *unmapped_words(const DeviceDescr *dev, const MapList *maps) noexcept nogil:
    """What a region finds that nothing is mapped for: on a device with the host's memory the list itself."""
    return <void *> maps.hostaddrs if dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM else NULL


ctypedef void (*unmapped_told_fn)(DeviceDescr *, const void *, void *, const MapList *, void **) noexcept nogil
ctypedef void (*mapped_run_told_fn)(DeviceDescr *, const void *, void *, const TargetMem *, void **) noexcept nogil

cdef extern from *:
    unmapped_told_fn apart_unmapped "gompy_apart"(unmapped_told_fn) noexcept nogil
    mapped_run_told_fn apart_mapped_run "gompy_apart"(mapped_run_told_fn) noexcept nogil


cdef void run_unmapped_told(DeviceDescr *dev, const void *region, void *address, const MapList *maps,
                            void **args) noexcept nogil:
    """The launch of run_on_device where nothing is mapped, told."""
    begin_launch(dev, region, b"")
    device_run(dev, region, address, unmapped_words(dev, maps), maps.mapnum, args)


cdef void run_mapped_told(DeviceDescr *dev, const void *region, void *address, const TargetMem *tgt,
                          void **args) noexcept nogil:
    """The same where something is."""
    begin_launch(dev, region, b"")
    device_run(dev, region, address, <void *> tgt.tgt_start, tgt.lasting.words, args)


cdef bint run_on_device(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, void *address, const MapList *maps,
                        void **args) noexcept nogil:
    """Map, run, unmap; False if the device was finalised meanwhile.

    Whether the launch is told is asked before it is counted: behind that, one more register would be kept for it.
    """
    cdef TargetMem *tgt
    if maps.mapnum == 0 or dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM:
        if launch_told():
            apart_unmapped(run_unmapped_told)(dev, <void *> fn, address, maps, args)
        else:
            count_launch(dev, <void *> fn)
            untold_run(dev, address, unmapped_words(dev, maps), args)
        if rare(dev.icvs_address):
            read_icvs_back(dev)
        return True
    tgt = map_for_target(dev, fn, maps)
    if tgt == NULL:
        return False
    if launch_told():
        apart_mapped_run(run_mapped_told)(dev, <void *> fn, address, tgt, args)
    else:
        count_launch(dev, <void *> fn)
        untold_run(dev, address, <void *> tgt.tgt_start, args)
    if rare(dev.icvs_address):
        read_icvs_back(dev)
    unmap_construct(tgt)
    return True


cdef void region_on_host(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, void **hostaddrs, void **args,
                         const char *reason) noexcept nogil:
    cdef HookEvent event
    gompy_wait_for_error_exit()
    if target_offload == OFFLOAD_MANDATORY and dev != NULL:
        gompy_note(b"%s", reason)
        fatal_mandatory(b"device cannot be used for offloading")
    tell_fallback(&event, <void *> fn, reason)
    run_on_host(fn, hostaddrs, args, reason)
    tell_fallback_end(&event)
