# target data, target update, target enter data and exit data (libgomp: GOMP_target_data_ext and after).


cdef public void GOMP_target_data_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                      unsigned short *kinds) noexcept nogil:
    """Begin of `#pragma omp target data`."""
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    begin_data(device, &maps, call_site())


cdef public void GOMP_target_data(int device, const void *unused, size_t mapnum, void **hostaddrs, size_t *sizes,
                                  unsigned char *kinds) noexcept nogil:
    """Begin of `#pragma omp target data` of GCC 4.9."""
    cdef MapList maps = byte_map_list(mapnum, hostaddrs, sizes, kinds)
    begin_data(device, &maps, call_site())


ctypedef void (*end_data_told_fn)(TargetMem *, const void *) noexcept nogil

cdef extern from *:
    end_data_told_fn apart_end_data "gompy_apart"(end_data_told_fn) noexcept nogil


cdef void end_data_told(TargetMem *tgt, const void *where) noexcept nogil:
    """unmap_construct of a target data, told."""
    cdef DeviceDescr *dev = tgt.lasting.device
    cdef Construct construct
    enter_construct(&construct, b"end of target data", where, NULL, dev)
    unmap_construct(tgt)
    leave_construct(&construct, dev)


cdef public void GOMP_target_end_data() noexcept nogil:
    """End of `#pragma omp target data`."""
    global gompy_data_stack
    cdef TargetMem *tgt = <TargetMem *> gompy_data_stack
    if tgt != NULL:
        gompy_data_stack = tgt.lasting.prev
        tgt.lasting.prev = NULL
        if anybody_asks():
            apart_end_data(end_data_told)(tgt, call_site())
        else:
            unmap_construct(tgt)


cdef public void GOMP_target_update_ext(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                        unsigned short *kinds, unsigned flags, void **depend) noexcept nogil:
    """`#pragma omp target update`."""
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = find_device(device, &reason)
    if depend != NULL:
        if flags & GOMP_TARGET_FLAG_NOWAIT and in_team():
            defer_data(dev, &maps, flags | GOMP_TARGET_FLAG_UPDATE, depend, call_site())
            return
        GOMP_taskwait_depend(depend)
    if not construct_cancelled():
        update_now(dev, &maps, call_site())


cdef public void GOMP_target_update(int device, const void *unused, size_t mapnum, void **hostaddrs, size_t *sizes,
                                    unsigned char *kinds) noexcept nogil:
    """`#pragma omp target update` of GCC 4.9."""
    cdef MapList maps = byte_map_list(mapnum, hostaddrs, sizes, kinds)
    cdef const char *reason = NULL
    update_now(find_device(device, &reason), &maps, call_site())


cdef public void GOMP_target_enter_exit_data(int device, size_t mapnum, void **hostaddrs, size_t *sizes,
                                             unsigned short *kinds, unsigned flags, void **depend) noexcept nogil:
    """`#pragma omp target enter data`, `exit data`."""
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = find_device(device, &reason)
    if depend != NULL:
        if flags & GOMP_TARGET_FLAG_NOWAIT and in_team():
            defer_data(dev, &maps, flags, depend, call_site())
            return
        GOMP_taskwait_depend(depend)
    if not construct_cancelled():
        enter_exit_now(dev, &maps, flags, call_site())
