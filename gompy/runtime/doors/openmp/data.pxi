# The data constructs, on the device that they are for.


cdef enum:
    CANCELLATION_OFF = 1
    CANCELLATION_ON = 2

cdef int cancellation  # the cancel-var ICV, which does not change; 0: not asked yet


cdef inline bint construct_cancelled() noexcept nogil:
    """Whether the parallel or taskgroup region is cancelled: no new work then."""
    cdef int known = gompy_load(&cancellation)
    if rare(known == 0):
        known = CANCELLATION_ON if omp_get_cancellation() else CANCELLATION_OFF
        gompy_store(&cancellation, known)
    return rare(known == CANCELLATION_ON) and (GOMP_cancellation_point(GOMP_CANCEL_PARALLEL)
                                       or GOMP_cancellation_point(GOMP_CANCEL_TASKGROUP))


cdef void push_data(TargetMem *tgt) noexcept nogil:
    global gompy_data_stack
    tgt.lasting.prev = <TargetMem *> gompy_data_stack
    gompy_data_stack = tgt


cdef void data_on_host(DeviceDescr *dev) noexcept nogil:
    """target data without a device: inside another one, an empty block keeps begin and end in step."""
    cdef TargetMem *tgt
    if target_offload == OFFLOAD_MANDATORY and dev != NULL:
        fatal_mandatory(b"device cannot be used for offloading")
    if gompy_data_stack != NULL:
        tgt = lasting_target_mem(NULL, 0, 0)
        if tgt == NULL:
            gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(TargetMem))
        push_data(tgt)


cdef void begin_data_whole(int device, const MapList *maps, const void *where) noexcept nogil:
    """begin_data of a list with iterators."""
    cdef MapList whole
    cdef void *block = expand_iterators(maps, &whole)
    begin_data(device, &whole, where)
    free(block)


cdef void begin_data(int device, const MapList *maps, const void *where) noexcept nogil:
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = find_device(device, &reason)
    cdef TargetMem *tgt = NULL
    cdef Construct construct
    cdef int failed = 0
    if not takes_maps(dev):
        data_on_host(dev)
        return
    if rare(has_iterators(maps)):
        begin_data_whole(device, maps, where)
        return
    enter_construct(&construct, b"target data", where, NULL, dev)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        note_construct(dev, b"target data", where)
        tgt = map_vars(dev, maps, new_stamp(dev), VARS_DATA, &failed)
    gompy_lock_release(&dev.lock)
    if failed:
        fatal_failure()
    if tgt == NULL:
        data_on_host(NULL)
    else:
        push_data(tgt)
    leave_construct(&construct, dev)


cdef void update_whole(DeviceDescr *dev, const MapList *maps, const void *where) noexcept nogil:
    """update_now of a list with iterators."""
    cdef MapList whole
    cdef void *block = expand_iterators(maps, &whole)
    update_now(dev, &whole, where)
    free(block)


cdef void update_list(DeviceDescr *dev, const MapList *maps, const void *where) noexcept nogil:
    """update_now of any list."""
    cdef Construct construct
    cdef int rc = 0
    if maps.mapnum == 0:
        return
    if rare(has_iterators(maps)):
        update_whole(dev, maps, where)
        return
    enter_construct(&construct, b"target update", where, NULL, dev)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        note_construct(dev, b"target update", where)
        rc = update_vars(dev, maps)
        check_failure(dev, rc)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()
    leave_construct(&construct, dev)


cdef inline void update_now(DeviceDescr *dev, const MapList *maps, const void *where) noexcept nogil:
    """target update.  Of one object it needs no room to tell it, nor any of the registers that a list does."""
    cdef int rc = 0
    if not takes_maps(dev):
        return
    if maps.mapnum != 1 or anybody_asks() or rare(has_iterators(maps)):
        update_list(dev, maps, where)
        return
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        note_construct(dev, b"target update", where)
        rc = update_data(dev, maps)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()


cdef void enter_exit_whole(DeviceDescr *dev, const MapList *maps, unsigned flags, const void *where) noexcept nogil:
    """enter_exit_now of a list with iterators."""
    cdef MapList whole
    cdef void *block = expand_iterators(maps, &whole)
    enter_exit_now(dev, &whole, flags, where)
    free(block)


cdef void enter_exit_now(DeviceDescr *dev, const MapList *maps, unsigned flags, const void *where) noexcept nogil:
    cdef Construct construct
    cdef const char *what = b"target exit data" if flags & GOMP_TARGET_FLAG_EXIT_DATA else b"target enter data"
    cdef int rc = 0
    if not takes_maps(dev):
        return
    if rare(has_iterators(maps)):
        enter_exit_whole(dev, maps, flags, where)
        return
    enter_construct(&construct, what, where, NULL, dev)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        note_construct(dev, what, where)
        rc = exit_data(dev, maps) if flags & GOMP_TARGET_FLAG_EXIT_DATA else enter_data(dev, maps)
        check_failure(dev, rc)
    gompy_lock_release(&dev.lock)
    if rc:
        fatal_failure()
    leave_construct(&construct, dev)
