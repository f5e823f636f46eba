# target regions (LLVM: interface.cpp, targetKernel).


cdef void run_bare(DeviceDescr *dev, const TgtIdent *where, const void *region, uintptr_t kernel,
                   bint runtime_word) noexcept nogil:
    """Run a region that has no entries: nothing is mapped, so nothing is locked."""
    cdef uint64_t block[3]
    cdef TgtLaunch l
    block[2] = 0
    l.dev = dev
    l.block = block
    l.words = 1 if runtime_word else 0
    l.direct = True
    run_block(&l, kernel, 0, region, where)


cdef int region_on(DeviceDescr *dev, const TgtIdent *where, const void *region, TgtMaps *maps,
                   bint runtime_word, const KernelLaunch *shape) noexcept nogil:
    """Map, run, unmap.  0; 1: the device ends meanwhile; -1 after messages."""
    cdef char small[KERNEL_BLOCK_SMALL]
    cdef TgtLaunch l
    cdef uintptr_t kernel = find_function(dev, <uintptr_t> region)
    cdef int rc = 1
    if kernel == 0:
        gompy_note(b"no image for device %d (%s) has the region's code", dev.number, dev.name)
        return -1
    if maps.count == 0 and device_takes_words(dev, 1):
        run_bare(dev, where, region, kernel, runtime_word)
        return 0
    memset(&l, 0, sizeof(l))
    l.dev = dev
    l.maps = maps
    l.shape = shape[0]
    l.first = 1 if runtime_word else 0
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        tgt_doing(dev, where)
        rc = begin_maps(dev, maps)
        if rc:
            tgt_print(b"error: Call to targetDataBegin failed, abort target.\n")
        elif make_block(&l, kernel, small):
            tell_failure(b"error")
            rc = -1
    gompy_lock_release(&dev.lock)
    if rc < 0:
        tgt_print(b"error: Failed to process data before launching the kernel.\n")
    if rc:
        return rc
    run_block(&l, kernel, tgt_devices[dev.number].caller, region, where)
    gompy_lock_acquire(&dev.lock)
    if dev.state == DEVICE_INITIALIZED:
        tgt_doing(dev, where)
        if free_block(&l):
            tell_failure(b"error")
            rc = -1
        if end_maps(dev, maps):
            tgt_print(b"error: Call to targetDataEnd failed, abort target.\n")
            rc = -1
    gompy_lock_release(&dev.lock)
    if rc:
        tgt_print(b"error: Failed to process data after launching the kernel.\n")
    return rc


cdef void tell_host_region(const TgtIdent *where, int64_t device, const void *region, TgtMaps *maps,
                           const KernelLaunch *shape, const void *site) noexcept nogil:
    """Tell of a region that the program runs itself, once it has its answer: how long that takes nobody sees."""
    cdef const char *reason = tgt_host_reason(device)
    cdef Construct construct
    cdef HookEvent event
    count_host_region(reason)
    enter_construct(&construct, b"target", site, region, NULL)
    note_place(&construct, where, maps, shape.rounds)
    tell_fallback(&event, region, reason)
    tell_fallback_end(&event)
    leave_construct(&construct, NULL)


cdef int target_shaped(const TgtIdent *where, int64_t device, const void *region, TgtMaps *maps,
                       bint runtime_word, const KernelLaunch *shape, const void *site) noexcept nogil:
    """A target construct: 0, or the caller runs the region on the host.

    shape: teams (0 where it does not say, -1 where it has no teams construct), threads, rounds; site: the call.
    """
    cdef DeviceDescr *dev = tgt_device(device, where)
    cdef Construct construct
    cdef int rc
    if dev == NULL:
        tell_host_region(where, device, region, maps, shape, site)
        return -1
    enter_construct(&construct, b"target", site, region, dev)
    note_place(&construct, where, maps, shape.rounds)
    construct.teams = 1 if shape.teams < 0 else <unsigned> shape.teams
    if tgt_info() & TGT_INFO_ARGS:
        tell_arguments(dev, where, maps, b"Entering OpenMP kernel")
    rc = region_on(dev, where, region, maps, runtime_word, shape)
    if rc < 0:
        tgt_failed(where)
    if rc == 0 and tgt_info() & TGT_INFO_TABLE:
        tell_all_tables(where)
    leave_construct(&construct, dev)
    return -1 if rc else 0


cdef int target_region(const TgtIdent *where, int64_t device, const void *region, TgtMaps *maps,
                       bint runtime_word, int teams, const void *site) noexcept nogil:
    """The same for the forms that clang 5 to 14 called, which tell nothing of the loop."""
    cdef KernelLaunch shape
    memset(&shape, 0, sizeof(shape))
    shape.teams = teams
    return target_shaped(where, device, region, maps, runtime_word, &shape, site)


cdef unsigned tgt_shared_memory  # and one more; 0: not looked at yet


cdef unsigned default_shared_memory() noexcept nogil:
    """LIBOMPTARGET_SHARED_MEMORY_SIZE: bytes of a GPU's dynamic shared memory for regions that do not say."""
    global tgt_shared_memory
    cdef const char *text
    if tgt_shared_memory == 0:
        text = secure_getenv(b"LIBOMPTARGET_SHARED_MEMORY_SIZE")
        tgt_shared_memory = 1 + (<unsigned> max(atoi(text), 0) if text != NULL else 0)
    return tgt_shared_memory - 1


cdef int launch_kernel(const TgtIdent *where, int64_t device, int teams, int threads, const void *region,
                       TgtKernelArgs *args, unsigned runtime_word_from, const void *site) noexcept nogil:
    """A launch; runtime_word_from: the version of its arguments from which on kernels have the runtime's word."""
    cdef TgtMaps maps
    cdef KernelLaunch shape
    if args.version == 0 or args.version > TGT_KERNEL_ARGS_NEWEST:
        gompy_note(b"kernel arguments of version %u; this libgompy knows up to %d: the region runs on the host",
                   args.version,
                   <int> TGT_KERNEL_ARGS_NEWEST)
        count_host_region(b"kernel arguments of an unknown version")
        return -1
    maps = tgt_maps(<int> args.count, args.bases, args.begins, args.sizes, args.types, args.names, args.mappers)
    memset(&shape, 0, sizeof(shape))
    shape.teams = teams
    shape.threads = threads
    shape.rounds = args.tripcount
    shape.shared = args.dynamic_memory if args.version > 1 else 0
    if shape.shared == 0:
        shape.shared = default_shared_memory()
    return target_shaped(where, device, region, &maps, args.version >= runtime_word_from, &shape, site)


cdef public int tgt_target_kernel "gompy_llvm___tgt_target_kernel"(
        const TgtIdent *where, int64_t device, int teams, int threads, const void *region,
        TgtKernelArgs *args) noexcept nogil:
    """`#pragma omp target` by clang 15 and later.  Teams and threads: a CPU's region makes them itself."""
    return launch_kernel(where, device, teams, threads, region, args, TGT_KERNEL_ARGS_DYN_PTR, call_site())


cdef public int tgt_target_kernel_18 "gompy_llvm_18___tgt_target_kernel"(
        const TgtIdent *where, int64_t device, int teams, int threads, const void *region,
        TgtKernelArgs *args) noexcept nogil:
    """The same by clang 18."""
    return launch_kernel(where, device, teams, threads, region, args, TGT_KERNEL_ARGS_NEWEST_16, call_site())


cdef public int tgt_target_kernel_nowait "gompy_llvm___tgt_target_kernel_nowait"(
        const TgtIdent *where, int64_t device, int teams, int threads, const void *region, TgtKernelArgs *args,
        int deps,
        void *dep_list, int more_deps, void *more_dep_list) noexcept nogil:
    """The same in a task of libomp's (clang 15)."""
    return launch_kernel(where, device, teams, threads, region, args, TGT_KERNEL_ARGS_DYN_PTR, call_site())


cdef public int tgt_target_kernel_replay "gompy_llvm___tgt_target_kernel_replay"(
        const TgtIdent *where, int64_t device, void *region, void *memory, int64_t size, void **words,
        ptrdiff_t *offsets,
        int count, int teams, int threads, uint64_t tripcount) noexcept nogil:
    """Of llvm-omp-kernel-replay, for what LIBOMPTARGET_RECORD wrote: not implemented."""
    gompy_note(b"__tgt_target_kernel_replay is not implemented")
    return -1


cdef public void tgt_target_nowait_query "gompy_llvm___tgt_target_nowait_query"(void **handle) noexcept nogil:
    """libomp asks for a task that it was given a handle of; none is ever given."""
    tgt_print(b"fatal error 1: Receive an invalid async handle from the current OpenMP task. Is this a "
            b"target nowait region?\n\n")
    abort()
