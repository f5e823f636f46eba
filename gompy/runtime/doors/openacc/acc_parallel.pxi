# parallel, kernels and serial (libgomp: GOACC_parallel_keyed).


cdef void rewrite_device_pointers(const MapList *maps) noexcept nogil:
    """Fortran's deviceptr comes as a FORCE_DEVICEPTR of the object's size and a POINTER: the pointer is what goes
    over.
    """
    cdef unsigned short *kinds = <unsigned short *> maps.kinds
    cdef size_t i
    for i in range(maps.mapnum):
        if kind_at(maps, i) != GOMP_MAP_FORCE_DEVICEPTR or maps.sizes[i] == sizeof(void *):
            continue
        if i + 1 < maps.mapnum and kind_at(maps, i + 1) == GOMP_MAP_POINTER and maps.sizes[i + 1] == 0 \
                and maps.hostaddrs[i] == (<void **> maps.hostaddrs[i + 1])[0]:
            kinds[i + 1] = kinds[i]
            maps.sizes[i + 1] = sizeof(void *)
        maps.hostaddrs[i] = NULL


cdef void acc_region_bound_to_host(
    GoaccThread *thr, void (*fn)(void *) noexcept nogil, void **hostaddrs
) noexcept nogil:
    """A region that an if or self clause keeps on the host: inside it the host is the device."""
    thr.saved_bound_dev = thr.dev
    thr.dev = &acc_host
    fn(<void *> hostaddrs)
    thr.dev = thr.saved_bound_dev
    thr.saved_bound_dev = NULL


cdef void acc_parallel_on_host "gompy_acc_parallel_on_host"(void (*fn)(void *) noexcept nogil,
                                                            void **hostaddrs) noexcept nogil:
    """GOACC_parallel of GCC 5: always on the host."""
    acc_lazy_initialize()
    acc_region_bound_to_host(acc_thread(), fn, hostaddrs)


cdef int read_launch_words(gompy_words_t *words, unsigned *dims, ProfScope *scope) noexcept nogil:
    """Decode the launch words: dims, waits (done here and now, in their order); the async argument is returned."""
    cdef unsigned word = <unsigned> gompy_next_word(words)
    cdef unsigned op, code, i
    cdef int number = ACC_ASYNC_SYNC
    while word:
        code = word >> 28
        op = word & 0xFFFF
        if word >> 16 & 0xFFF:
            gompy_fatal(b"device_type '%d' offload parameters, libgomp is too old", <int> (word >> 16 & 0xFFF))
        if code == GOMP_LAUNCH_DIM:
            for i in range(GOMP_DIM_MAX):
                if op >> i & 1:
                    dims[i] = <unsigned> gompy_next_word(words)
        elif code == GOMP_LAUNCH_ASYNC:
            number = gompy_next_word(words) if op == GOMP_LAUNCH_OP_MAX else <int> op
            prof_queue(scope, number)
        elif code == GOMP_LAUNCH_WAIT:
            acc_wait_words(number, <int> op, words)
        else:
            gompy_fatal(b"unrecognized offload code '%d', libgomp is too old", <int> code)
        word = <unsigned> gompy_next_word(words)
    return number


cdef void *acc_block(DeviceDescr *dev, size_t count, void **hosts, void **words) noexcept nogil:
    """A region's argument words in a block on the device, for plugins of interface 2 and 3; NULL if it has none."""
    cdef void *block
    cdef size_t i
    if count == 0:
        return NULL
    for i in range(count):
        if words[i] == NULL:
            words[i] = hosts[i]  # what is absent has the host's address
    block = device_alloc(dev, count * sizeof(void *))
    if block == NULL or not device_host2dev(dev, block, words, count * sizeof(void *)):
        gompy_fatal(b"no room on the device for the arguments of a region: %lu bytes",
                    <unsigned long> (count * sizeof(void *)))
    return block


cdef void end_block(DeviceDescr *dev, void *block, void *queue) noexcept nogil:
    """Free it when the region has run, in its queue or now."""
    cdef QueuedFree *job = <QueuedFree *> malloc(sizeof(QueuedFree))
    if job == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> sizeof(QueuedFree))
    job.dev = dev
    job.ptr = block
    if queue == NULL:
        free_queued(job)
    else:
        device_queue_call(dev, queue, free_queued, job)


cdef void acc_launch(GoaccThread *thr, const void *fn, void *address, void *queue, const MapList *maps,
                     unsigned *dims, ProfScope *scope) noexcept nogil:
    """Map, run, unmap, by way of a queue or NULL."""
    cdef void *few[64]
    cdef void **devaddrs = few
    cdef void *block = NULL
    cdef DeviceDescr *dev = thr.dev
    cdef MapJob job
    cdef TargetMem *tgt
    cdef size_t i
    prof_inner(scope, b"acc enter data (implicit)", ACC_EV_ENTER_DATA_START)
    tgt = acc_map(dev, queue, maps, NULL, fn)
    prof_inner_end(scope)
    if maps.mapnum > 64:
        devaddrs = <void **> GOMP_PLUGIN_malloc(maps.mapnum * sizeof(void *))
    job.tgt = tgt
    job.list = tgt.lasting.list
    job.maps = maps[0]
    for i in range(maps.mapnum):
        devaddrs[i] = <void *> argument_word(&job, i)
    begin_launch(dev, fn, b"" if queue == NULL else b", async")
    block = acc_block(dev, maps.mapnum, maps.hostaddrs, devaddrs) if device_takes_blocks(dev) else NULL
    device_acc_exec(dev, fn, address, maps.mapnum, maps.hostaddrs,
                    <void **> block if device_takes_blocks(dev) else devaddrs, dims, tgt, queue)
    if block != NULL:
        end_block(dev, block, queue)
    if devaddrs != few:
        free(devaddrs)
    prof_inner(scope, b"acc exit data (implicit)", ACC_EV_EXIT_DATA_START)
    acc_unmap(tgt, queue)
    prof_inner_end(scope)


cdef void acc_parallel "gompy_acc_parallel"(int flags, void (*fn)(void *) noexcept nogil, size_t mapnum,
                                            void **hostaddrs, size_t *sizes, unsigned short *kinds,
                                            gompy_words_t *words) noexcept nogil:
    """`#pragma acc parallel`, `kernels`, `serial`."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef MapList maps = map_list(mapnum, hostaddrs, sizes, kinds)
    cdef unsigned dims[3]
    cdef HookEvent fallback
    cdef void *address
    cdef int number
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, b"acc parallel", words.where, <void *> fn, ACC_CONSTRUCT_PARALLEL,
                   ACC_EV_COMPUTE_CONSTRUCT_START, ACC_ASYNC_SYNC)
    rewrite_device_pointers(&maps)
    if gompy_debug_level:
        gompy_debug(b"GOACC_parallel_keyed: %zu entries\n", mapnum)
    if ~flags & (GOACC_FLAG_HOST_FALLBACK | GOACC_FLAG_LOCAL_DEVICE):
        prof_on_host(&scope)
        count_host_region(HOST_ASKED_FOR)
        tell_fallback(&fallback, <void *> fn, HOST_ASKED_FOR)
        acc_region_bound_to_host(thr, fn, hostaddrs)
        tell_fallback_end(&fallback)
    elif thr.dev.type == ACC_DEVICE_HOST:
        count_host_region(HOST_OF_THREAD)
        tell_fallback(&fallback, <void *> fn, HOST_OF_THREAD)
        fn(<void *> hostaddrs)
        tell_fallback_end(&fallback)
    else:
        memset(dims, 0, sizeof(dims))
        number = read_launch_words(words, dims, &scope)
        address = <void *> fn
        if not thr.dev.capabilities & GOMP_OFFLOAD_CAP_NATIVE_EXEC:
            address = <void *> find_function(thr.dev, <uintptr_t> fn)
            if address == NULL:
                if num_offload_images == 0:
                    gompy_fatal(b"target function wasn't mapped: the program has no device code; ACC_DEVICE_TYPE=host "
                                b"runs it on the host")
                gompy_fatal(b"target function wasn't mapped")
        acc_launch(thr, <void *> fn, address, acc_queue(thr, True, number), &maps, dims, &scope)
    prof_end(&scope)


cdef public int GOACC_get_num_threads() noexcept nogil:
    """Of GCC 5."""
    return 1


cdef public int GOACC_get_thread_num() noexcept nogil:
    """Of GCC 5."""
    return 0
