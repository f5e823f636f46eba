# The target construct (libgomp: GOMP_target_ext).


cdef char *private_buffer(char *small, size_t small_size, size_t size) noexcept nogil:
    cdef char *buffer
    if size <= small_size:
        return small
    buffer = <char *> malloc(size)
    if buffer == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> size)
    return buffer


cdef void target_now(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, const MapList *maps, void **depend,
                     void **args, bint private_done, const char *reason) noexcept nogil:
    """A target construct in the thread that is here, to its end."""
    cdef char small[1024]
    cdef char *buffer = small
    cdef size_t size = 0
    cdef void *address
    if depend != NULL and not private_done:
        # What is firstprivate has the value of now, not of the time when the wait is over.
        size = firstprivate_size(maps)
        buffer = private_buffer(small, sizeof(small), size)
        if size:
            copy_firstprivate(buffer, maps)
        private_done = True
        GOMP_taskwait_depend(depend)
    address = region_on_device(dev, fn, &reason)
    if address != NULL and dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM == 0:
        if run_on_device(dev, fn, address, maps, args):
            if buffer != small:
                free(buffer)
            return
        address = NULL
        reason = b"the device is finalized"
    if not private_done:
        size = firstprivate_size(maps)
        buffer = private_buffer(small, sizeof(small), size)
        if size:
            copy_firstprivate(buffer, maps)
    if address != NULL:
        run_on_device(dev, fn, address, maps, args)
    else:
        region_on_host(dev, fn, maps.hostaddrs, args, reason)
    if buffer != small:
        free(buffer)


cdef enum:
    LAUNCH_WORDS = 16

cdef void **launch_words(DeviceDescr *dev, void **args, void **room) noexcept nogil:
    """The launch arguments as plugins know them.

    One team where there is no teams construct, which GCC 13 and later leave to the runtime; for an NVIDIA GPU the
    device's ICVs where a teams construct has no clause.  ``room``: of LAUNCH_WORDS words, for a copy.
    """
    cdef size_t count = count_args(args)
    cdef void **at = args
    cdef void **first = args
    cdef void **given = args
    cdef LaunchWord word
    cdef intptr_t limit = 0, value
    cdef bint icvs = dev != NULL and dev.type == GOMP_DEVICE_NVIDIA_PTX, is_short
    cdef intptr_t alone = NO_TEAMS_CONSTRUCT if newest_version >= GOMP_VERSION_REQUIRES_MASK else 1
    if count > LAUNCH_WORDS:
        return args
    while take_word(&at, &word):
        is_short = at == first + 1
        value = 0
        if word.id == GOMP_TARGET_ARG_NUM_TEAMS:
            if icvs and not (is_short and word.value == alone):
                limit = dev.icvs.teams_thread_limit
            if is_short and word.value == NO_TEAMS_CONSTRUCT:
                value = 1
            elif is_short and icvs and word.value == 0:
                value = dev.icvs.nteams
        elif is_short and word.id == GOMP_TARGET_ARG_THREAD_LIMIT and word.value == 0:
            value = limit
        if value:
            if args != room:
                memcpy(room, given, count * sizeof(void *))
                args = room
            room[first - given] = <void *> (value << GOMP_TARGET_ARG_VALUE_SHIFT | word.id | word.device)
        first = at
    return args


cdef public void GOMP_target_ext(int device, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs,
                                 size_t *sizes, unsigned short *kinds, unsigned flags, void **depend,
                                 void **args) noexcept nogil:
    """`#pragma omp target`."""
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef const char *reason = NULL
    cdef void *words[LAUNCH_WORDS]
    cdef Construct construct
    cdef uint64_t before
    cdef DeviceDescr *dev = find_device(device, &reason)
    if anybody_asks():  # enter_construct; the place of the call is not read where nobody does
        begin_construct(&construct, b"target", call_site(), <void *> fn, dev)
    args = launch_words(dev, args, words)
    if flags & GOMP_TARGET_FLAG_NOWAIT and defers_region(dev, depend) and make_team():
        defer_target(dev, fn, &maps, depend, args, reason, call_site())
    elif flags & GOMP_TARGET_FLAG_NOWAIT and gompy_checking:
        before = begin_deferred(note_deferred(dev, &maps, depend != NULL))
        target_now(dev, fn, &maps, depend, args, False, reason)
        end_deferred(before, True)
    else:
        target_now(dev, fn, &maps, depend, args, False, reason)
    leave_construct(&construct, dev)


cdef public void GOMP_target(int device, void (*fn)(void *) noexcept nogil, const void *unused, size_t mapnum,
                             void **hostaddrs, size_t *sizes, unsigned char *kinds) noexcept nogil:
    """`#pragma omp target` of GCC 4.9: kinds of one byte."""
    cdef MapList maps = byte_map_list(mapnum, hostaddrs, sizes, kinds)
    cdef const char *reason = NULL
    cdef DeviceDescr *dev = find_device(device, &reason)
    cdef void *address = NULL
    cdef Construct construct
    enter_construct(&construct, b"target", call_site(), <void *> fn, dev)
    if takes_maps(dev):
        address = region_on_device(dev, fn, &reason)
    if address == NULL or not run_on_device(dev, fn, address, &maps, NULL):
        region_on_host(dev, fn, hostaddrs, NULL, or_text(reason, b"the device cannot run the region"))
    leave_construct(&construct, dev)
