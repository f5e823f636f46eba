# target data, enter data, exit data, update: libomptarget's entry points.  Those with nowait are called in a task of
# libomp's whose dependences are met; they do the work at once.


cdef const char *words_of_info(maps_fn work, bint nowait) noexcept nogil:
    """What LIBOMPTARGET_INFO calls a construct; since 18 with the name of the entry point, as LLVM spells it."""
    if work == begin_maps:
        if tgt_release < 18:
            return b"Entering OpenMP data region"
        return <const char *> (b"Entering OpenMP data region with being_nowait_mapper" if nowait
                               else b"Entering OpenMP data region with being_mapper")
    if work == end_maps:
        if tgt_release < 18:
            return b"Exiting OpenMP data region"
        return <const char *> (b"Exiting OpenMP data region with end_nowait_mapper" if nowait
                               else b"Exiting OpenMP data region with end_mapper")
    if tgt_release < 18:
        return b"Updating OpenMP data"
    return <const char *> (b"Updating data within the OpenMP data region with update_nowait_mapper" if nowait
                           else b"Updating data within the OpenMP data region with update_mapper")


cdef void data_construct(const TgtIdent *where, int64_t device, TgtMaps *maps, maps_fn work,
                         const char *words, bint nowait, const void *site) noexcept nogil:
    """A data construct on its device; on the host there is nothing to do.  words: for hooks; site: the call."""
    cdef DeviceDescr *dev = tgt_device(device, where)
    cdef Construct construct
    cdef int rc = 0
    if dev == NULL:
        return
    enter_construct(&construct, words, site, NULL, dev)
    note_place(&construct, where, maps, 0)
    if tgt_info() & TGT_INFO_ARGS:
        tell_arguments(dev, where, maps, words_of_info(work, nowait))
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        tgt_doing(dev, where)
        rc = work(dev, maps)
    gompy_lock_release(&dev.lock)
    if rc:
        tgt_failed(where)
    elif tgt_info() & TGT_INFO_TABLE:
        tell_all_tables(where)
    leave_construct(&construct, dev)


cdef void data_begin(const TgtIdent *where, int64_t device, TgtMaps *maps, bint nowait,
                     const void *site) noexcept nogil:
    """target data begins, or enter data."""
    data_construct(where, device, maps, begin_maps, b"target data", nowait, site)


cdef void data_end(const TgtIdent *where, int64_t device, TgtMaps *maps, bint nowait,
                     const void *site) noexcept nogil:
    """target data ends, or exit data."""
    data_construct(where, device, maps, end_maps, b"end of target data", nowait, site)


cdef void data_update(const TgtIdent *where, int64_t device, TgtMaps *maps, bint nowait,
                     const void *site) noexcept nogil:
    """target update."""
    data_construct(where, device, maps, update_maps, b"target update", nowait, site)


cdef public void tgt_target_data_begin_mapper "gompy_llvm___tgt_target_data_begin_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers) noexcept nogil:
    """The begin of target data; enter data."""
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_begin(where, device, &maps, False, call_site())


cdef public void tgt_target_data_end_mapper "gompy_llvm___tgt_target_data_end_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers) noexcept nogil:
    """The end of target data; exit data."""
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_end(where, device, &maps, False, call_site())


cdef public void tgt_target_data_update_mapper "gompy_llvm___tgt_target_data_update_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers) noexcept nogil:
    """target update."""
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_update(where, device, &maps, False, call_site())


cdef public void tgt_target_data_begin_nowait_mapper "gompy_llvm___tgt_target_data_begin_nowait_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers, int deps, void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_begin(where, device, &maps, True, call_site())


cdef public void tgt_target_data_end_nowait_mapper "gompy_llvm___tgt_target_data_end_nowait_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers, int deps, void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_end(where, device, &maps, True, call_site())


cdef public void tgt_target_data_update_nowait_mapper "gompy_llvm___tgt_target_data_update_nowait_mapper"(
        const TgtIdent *where, int64_t device, int count, void **bases, void **begins, int64_t *sizes, int64_t *types,
        void **names, void **mappers, int deps, void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    cdef TgtMaps maps = tgt_maps(count, bases, begins, sizes, types, names, mappers)
    data_update(where, device, &maps, True, call_site())
