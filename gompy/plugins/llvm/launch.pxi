# Launches: a kernel by clang with its words, a region by gcc by way of our kernel that calls it.


cdef int launch_words(int n, void *kernel, uint64_t *words, uint64_t count,
                      const KernelLaunch *shape) noexcept nogil:
    """Run a kernel and wait; 0: it has ended.  shape: of a GPU, else NULL."""
    cdef int teams = 1
    cdef int threads = 0
    cdef uint64_t rounds = 0
    cdef ptrdiff_t *offsets = <ptrdiff_t *> calloc(count + 1, sizeof(ptrdiff_t))
    cdef TgtKernelArgs args
    cdef void *queue = NULL
    cdef int rc
    if offsets == NULL:
        return -1
    memset(&args, 0, sizeof(args))
    args.version = TGT_KERNEL_ARGS_NEWEST_16
    args.count = <unsigned> count
    if shape != NULL:
        teams = shape.teams if shape.teams >= 0 else 1
        threads = max(shape.threads, 0)
        rounds = shape.rounds
        args.dynamic_memory = shape.shared
    args.teams[0] = <unsigned> teams
    args.threads[0] = <unsigned> threads
    args.tripcount = rounds
    if rtl.launch_kernel != NULL:
        rc = rtl.launch_kernel(n, kernel, <void **> words, offsets, &args, &queue)
        if rc == 0 and queue != NULL and rtl.synchronize != NULL:
            rc = rtl.synchronize(n, &queue)
    else:
        rc = rtl.run_team_region(n, kernel, <void **> words, offsets, <int32_t> count, teams, threads, rounds)
    free(offsets)
    return rc


cdef int launch_block(int n, void *block) noexcept nogil:
    """A kernel by clang.  The block on the device has the kernel, the number of its words, and them.

    18 gives a kernel a word of the runtime's itself: the first one, which programs by clang 18 have there.
    """
    cdef uint64_t head[2]
    cdef uint64_t skipped = 1 if rtl_by_name else 0
    cdef uint64_t *words
    cdef int rc = -1
    if rtl.data_retrieve(n, head, block, sizeof(head)):
        return -1
    words = <uint64_t *> calloc(head[1] + 1, sizeof(uint64_t))
    if words == NULL:
        return -1
    if head[1] == 0 or rtl.data_retrieve(n, words, <char *> block + sizeof(head),
                                         <int64_t> (head[1] * sizeof(uint64_t))) == 0:
        skipped = min(skipped, head[1])
        rc = launch_words(n, <void *> head[0], words + skipped, head[1] - skipped, NULL)
    free(words)
    return rc


cdef int launch_on_gpu(int n, void *kernel, const KernelLaunch *wanted) noexcept nogil:
    """A kernel by clang on a GPU; 18 gives it the runtime's word itself."""
    cdef uint64_t skipped = min(<uint64_t> 1, wanted.count) if rtl_by_name else 0
    if wanted.block[0]:
        GOMP_PLUGIN_error(b"CUDA's kernels are not launched by plugins of LLVM 14 to 18")
        return -1
    return launch_words(n, kernel, <uint64_t *> wanted.words + skipped, wanted.count - skipped, wanted)


cdef public void GOMP_OFFLOAD_run(int n, void *fn, void *vars, void **args) noexcept nogil:
    """Run a region; returns when it has ended."""
    cdef uint64_t words[2]
    cdef int rc
    if rtl_for_gpus:
        rc = launch_on_gpu(n, fn, <const KernelLaunch *> vars)
    elif <uintptr_t> fn == LAUNCHES_WORDS:
        rc = launch_block(n, vars)
    else:
        words[0] = <uint64_t> fn
        words[1] = <uint64_t> vars
        rc = launch_words(n, caller_kernels[n], words, 2, NULL)
    if rc:
        GOMP_PLUGIN_fatal(b"device %d (llvm): LLVM's plugin has failed to run a region", n)
