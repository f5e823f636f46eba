# The target construct (libgomp: GOMP_target_ext).


cdef inline bint takes_openmp(DeviceDescr *dev) noexcept nogil:
    return dev != NULL and dev.capabilities & CAP_OPENMP_400


cdef inline bint takes_maps(DeviceDescr *dev) noexcept nogil:
    """Whether mapping constructs have an effect: a device for OpenMP, with memory of its own."""
    return takes_openmp(dev) and not dev.capabilities & CAP_SHARED_MEM


cdef inline bint runs_later(DeviceDescr *dev) noexcept nogil:
    """Whether a region can be launched without waiting for its end."""
    return dev.ops.start_region != NULL or dev.ops.async_run != NULL


cdef void *region_on_device(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, const char **reason) noexcept nogil:
    """The device's word for a region, or NULL and the reason why it runs on the host."""
    cdef void *address
    if not takes_openmp(dev):
        if dev != NULL:
            reason[0] = b"the device cannot run OpenMP regions"
        return NULL
    if dev.capabilities & CAP_NATIVE_EXEC:
        address = <void *> fn
    else:
        address = <void *> find_function(dev, <uintptr_t> fn)
    if address == NULL:
        reason[0] = b"no image for the device has the region's code"
    elif dev.ops.can_run != NULL and not dev.ops.can_run(address):
        reason[0] = b"the device cannot run the region"
        return NULL
    return address


cdef TargetMem *map_for_target(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs, size_t *sizes, void *kinds,
                               bint short_kinds) noexcept nogil:
    """Map a target construct's entries; ends the program on failure, NULL if the device has been finalised."""
    cdef int failed = 0
    cdef TargetMem *tgt = NULL
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        doing(dev, NULL, <void *> fn)
        tgt = map_vars(dev, mapnum, hostaddrs, sizes, kinds, short_kinds, new_stamp(dev), VARS_TARGET, &failed)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    return tgt


cdef void unmap_construct(TargetMem *tgt) noexcept nogil:
    """The end of target and target data."""
    cdef DeviceDescr *dev = tgt.device
    cdef int rc = 0
    if dev == NULL or tgt.list_count == 0:
        free(tgt)
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED and tgt.epoch == dev.epoch:
        doing(dev, tgt.what, tgt.where)
        rc = unmap_vars(tgt, new_stamp(dev))
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef bint run_on_device(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, void *address, size_t mapnum,
                        void **hostaddrs, size_t *sizes, void *kinds, bint short_kinds, void **args) noexcept nogil:
    """Map, run, unmap; False if the device was finalised meanwhile."""
    cdef TargetMem *tgt
    if mapnum == 0 or dev.capabilities & CAP_SHARED_MEM:
        begin_launch(dev, <void *> fn, b"")
        dev.ops.run(dev.target_id, address, <void *> hostaddrs if dev.capabilities & CAP_SHARED_MEM else NULL, args)
        return True
    tgt = map_for_target(dev, fn, mapnum, hostaddrs, sizes, kinds, short_kinds)
    if tgt == NULL:
        return False
    begin_launch(dev, <void *> fn, b"")
    dev.ops.run(dev.target_id, address, <void *> tgt.tgt_start, args)
    unmap_construct(tgt)
    return True


cdef void region_on_host(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, void **hostaddrs, void **args,
                         const char *reason) noexcept nogil:
    gompy_wait_for_error_exit()
    if target_offload == OFFLOAD_MANDATORY and dev != NULL:
        gompy_note(b"%s", reason)
        fatal_mandatory(b"device cannot be used for offloading")
    run_on_host(fn, hostaddrs, args, reason)


cdef void target_now(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs,
                     size_t *sizes, unsigned short *kinds, void **depend, void **args, bint private_done,
                     const char *reason) noexcept nogil:
    """A target construct in the thread that is here, to its end."""
    cdef char small[1024]
    cdef char *buffer = small
    cdef size_t size = 0
    cdef void *address
    if depend != NULL and not private_done:
        # What is firstprivate has the value of now, not of the time when the wait is over.
        size = firstprivate_size(mapnum, sizes, kinds)
        buffer = private_buffer(small, sizeof(small), size)
        if size:
            copy_firstprivate(buffer, mapnum, hostaddrs, sizes, kinds)
        private_done = True
        GOMP_taskwait_depend(depend)
    address = region_on_device(dev, fn, &reason)
    if address != NULL and dev.capabilities & CAP_SHARED_MEM == 0:
        if run_on_device(dev, fn, address, mapnum, hostaddrs, sizes, kinds, True, args):
            if buffer != small:
                free(buffer)
            return
        address = NULL
        reason = b"the device is finalized"
    if not private_done:
        size = firstprivate_size(mapnum, sizes, kinds)
        buffer = private_buffer(small, sizeof(small), size)
        if size:
            copy_firstprivate(buffer, mapnum, hostaddrs, sizes, kinds)
    if address != NULL:
        run_on_device(dev, fn, address, mapnum, hostaddrs, sizes, kinds, True, args)
    else:
        region_on_host(dev, fn, hostaddrs, args, reason)
    if buffer != small:
        free(buffer)


cdef char *private_buffer(char *small, size_t small_size, size_t size) noexcept nogil:
    cdef char *buffer
    if size <= small_size:
        return small
    buffer = <char *> malloc(size)
    if buffer == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return buffer


cdef public void GOMP_target_ext(int device, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs,
                                 size_t *sizes, unsigned short *kinds, unsigned flags, void **depend,
                                 void **args) noexcept nogil:
    """`#pragma omp target`."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(device, &reason)
    if flags & GOMP_TARGET_FLAG_NOWAIT and (dev == NULL or runs_later(dev)) and make_team():
        defer_target(dev, fn, mapnum, hostaddrs, sizes, kinds, depend, args, reason)
        return
    target_now(dev, fn, mapnum, hostaddrs, sizes, kinds, depend, args, False, reason)


cdef public void GOMP_target(int device, void (*fn)(void *) noexcept nogil, const void *unused, size_t mapnum,
                             void **hostaddrs, size_t *sizes, unsigned char *kinds) noexcept nogil:
    """`#pragma omp target` of GCC 4.9: kinds of one byte."""
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = resolve_device(device, &reason)
    cdef void *address = NULL
    if takes_maps(dev):
        address = region_on_device(dev, fn, &reason)
    if address == NULL or not run_on_device(dev, fn, address, mapnum, hostaddrs, sizes, kinds, False, NULL):
        region_on_host(dev, fn, hostaddrs, NULL, or_text(reason, b"the device cannot run the region"))
