# parallel, kernels and serial (libgomp: GOACC_parallel_keyed).


cdef void rewrite_device_pointers(size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds) noexcept nogil:
    """Fortran's deviceptr comes as a FORCE_DEVICEPTR of the object's size and a POINTER: the pointer is what goes over."""
    cdef size_t i
    for i in range(mapnum):
        if kinds[i] & 0xFF != MAP_FORCE_DEVICEPTR or sizes[i] == sizeof(void *):
            continue
        if i + 1 < mapnum and kinds[i + 1] & 0xFF == MAP_POINTER and sizes[i + 1] == 0 \
                and hostaddrs[i] == (<void **> hostaddrs[i + 1])[0]:
            kinds[i + 1] = kinds[i]
            sizes[i + 1] = sizeof(void *)
        hostaddrs[i] = NULL


cdef void acc_region_bound_to_host(GoaccThread *thr, void (*fn)(void *) noexcept nogil, void **hostaddrs) noexcept nogil:
    """A region that an if clause keeps on the host: inside it the host is the device."""
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


cdef void acc_launch(GoaccThread *thr, const void *fn, void *address, void *queue, size_t mapnum, void **hostaddrs,
                     size_t *sizes, unsigned short *kinds, unsigned *dims, ProfScope *scope) noexcept nogil:
    """Map, run, unmap, by way of a queue or NULL."""
    cdef void *few[64]
    cdef void **devaddrs = few
    cdef DeviceDescr *dev = thr.dev
    cdef AccEventInfo inner
    cdef MapJob job
    cdef TargetMem *tgt
    cdef size_t i
    prof_inner(scope, &inner, ACC_EV_ENTER_DATA_START)
    tgt = acc_map(dev, queue, mapnum, hostaddrs, sizes, kinds, NULL, fn)
    prof_inner(scope, &inner, ACC_EV_ENTER_DATA_END)
    if mapnum > 64:
        devaddrs = <void **> GOMP_PLUGIN_malloc(mapnum * sizeof(void *))
    job.tgt = tgt
    job.hostaddrs = hostaddrs
    for i in range(mapnum):
        devaddrs[i] = <void *> argument_word(&job, i)
    begin_launch(dev, fn, b"" if queue == NULL else b", async")
    if queue == NULL:
        dev.ops.acc_exec(address, mapnum, hostaddrs, devaddrs, dims, tgt)
    else:
        dev.ops.acc_async_exec(address, mapnum, hostaddrs, devaddrs, dims, tgt, queue)
    if devaddrs != few:
        free(devaddrs)
    prof_inner(scope, &inner, ACC_EV_EXIT_DATA_START)
    acc_unmap(tgt, queue)
    prof_inner(scope, &inner, ACC_EV_EXIT_DATA_END)


cdef void acc_parallel "gompy_acc_parallel"(int flags, void (*fn)(void *) noexcept nogil, size_t mapnum,
                                            void **hostaddrs, size_t *sizes, unsigned short *kinds,
                                            gompy_words_t *words) noexcept nogil:
    """`#pragma acc parallel`, `kernels`, `serial`."""
    cdef GoaccThread *thr
    cdef ProfScope scope
    cdef unsigned dims[3]
    cdef void *address
    cdef int number
    acc_lazy_initialize()
    thr = acc_thread()
    prof_construct(&scope, thr, ACC_CONSTRUCT_PARALLEL, ACC_EV_COMPUTE_CONSTRUCT_START, ACC_ASYNC_SYNC)
    rewrite_device_pointers(mapnum, hostaddrs, sizes, kinds)
    if ~flags & GOACC_FLAG_HOST_FALLBACK:
        prof_on_host(&scope)
        gompy_count(&host_regions)
        acc_region_bound_to_host(thr, fn, hostaddrs)
    elif thr.dev.type == ACC_DEVICE_HOST:
        gompy_count(&host_regions)
        fn(<void *> hostaddrs)
    else:
        memset(dims, 0, sizeof(dims))
        number = read_launch_words(words, dims, &scope)
        address = <void *> fn
        if not thr.dev.capabilities & CAP_NATIVE_EXEC:
            address = <void *> find_function(thr.dev, <uintptr_t> fn)
            if address == NULL:
                if num_offload_images == 0:
                    gompy_fatal(b"target function wasn't mapped: the program has no device code; ACC_DEVICE_TYPE=host "
                                b"runs it on the host")
                gompy_fatal(b"target function wasn't mapped")
        acc_launch(thr, <void *> fn, address, acc_queue(thr, True, number), mapnum, hostaddrs, sizes, kinds, dims, &scope)
    prof_event(&scope, ACC_EV_COMPUTE_CONSTRUCT_END)
    prof_end(&scope)


cdef public int GOACC_get_num_threads() noexcept nogil:
    """Of GCC 5."""
    return 1


cdef public int GOACC_get_thread_num() noexcept nogil:
    """Of GCC 5."""
    return 0
