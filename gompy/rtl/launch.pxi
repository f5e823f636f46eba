# Launches: libomptarget has mapped the arguments, so they go to the core as plain words.

cdef enum:
    FEW_WORDS = 64


cdef int launch_words(int32_t device, void *region, int count, void **words, int64_t *types, TgtKernelArgs *shape,
                      bint runtime_word) noexcept nogil:
    """Run a region with words that stand in an array; 0: it has ended."""
    cdef TgtKernelArgs args
    cdef int i
    for i in range(count):
        types[i] = TGT_MAP_TARGET_PARAM | TGT_MAP_LITERAL
    memset(&args, 0, sizeof(args))
    args.version = TGT_KERNEL_ARGS_NEWEST_16
    args.count = <unsigned> count
    args.bases = words
    args.begins = words
    args.sizes = types  # what is a word has none; nobody reads it
    args.types = types
    args.tripcount = shape.tripcount
    args.dynamic_memory = shape.dynamic_memory
    if runtime_word:
        return core_kernel_18(NULL, device, <int> shape.teams[0], <int> shape.threads[0], region, &args)
    return core_kernel(NULL, device, <int> shape.teams[0], <int> shape.threads[0], region, &args)


cdef int32_t launch_region(int32_t device, void *region, void **args, ptrdiff_t *offsets, int count,
                           TgtKernelArgs *shape, bint runtime_word) noexcept nogil:
    """Run a region; args[i] + offsets[i] are its words."""
    cdef void *few_words[FEW_WORDS]
    cdef int64_t few_types[FEW_WORDS]
    cdef void **words = few_words
    cdef int64_t *types = few_types
    cdef int i, rc
    if count > FEW_WORDS:
        words = <void **> malloc(<size_t> count * sizeof(void *))
        types = <int64_t *> malloc(<size_t> count * sizeof(int64_t))
    if words == NULL or types == NULL:
        rc = BAD
    else:
        for i in range(count):
            words[i] = <char *> args[i] + offsets[i]
        rc = launch_words(device, region, count, words, types, shape, runtime_word)
    if words != few_words:
        free(words)
    if types != few_types:
        free(types)
    return GOOD if rc == 0 else BAD


cdef public int32_t rtl_launch_kernel "__tgt_rtl_launch_kernel"(
        int32_t device, void *region, void **args, ptrdiff_t *offsets, TgtKernelArgs *shape,
        void **queue) noexcept nogil:
    """Run a region (since 16); 18's have a word of the runtime's before their own."""
    return launch_region(device, region, args, offsets, <int> shape.count, shape, rtl_by_name)


cdef public int32_t rtl_run_team_region "__tgt_rtl_run_target_team_region"(
        int32_t device, void *region, void **args, ptrdiff_t *offsets, int32_t count, int32_t teams, int32_t threads,
        uint64_t tripcount) noexcept nogil:
    """Run a region with a teams construct (up to 15)."""
    cdef TgtKernelArgs shape
    memset(&shape, 0, sizeof(shape))
    shape.teams[0] = <unsigned> teams
    shape.threads[0] = <unsigned> threads
    shape.tripcount = tripcount
    return launch_region(device, region, args, offsets, count, &shape, False)


cdef public int32_t rtl_run_team_region_async "__tgt_rtl_run_target_team_region_async"(
        int32_t device, void *region, void **args, ptrdiff_t *offsets, int32_t count, int32_t teams, int32_t threads,
        uint64_t tripcount, void **queue) noexcept nogil:
    return rtl_run_team_region(device, region, args, offsets, count, teams, threads, tripcount)


cdef public int32_t rtl_run_region "__tgt_rtl_run_target_region"(int32_t device, void *region, void **args,
                                                                 ptrdiff_t *offsets, int32_t count) noexcept nogil:
    """Run a region without a teams construct (up to 15)."""
    return rtl_run_team_region(device, region, args, offsets, count, -1, 0, 0)


cdef public int32_t rtl_run_region_async "__tgt_rtl_run_target_region_async"(
        int32_t device, void *region, void **args, ptrdiff_t *offsets, int32_t count, void **queue) noexcept nogil:
    return rtl_run_region(device, region, args, offsets, count)
