# Launches: a kernel by clang with its words, a region by gcc by way of our kernel that calls it.


cdef int launch_words(int n, void *kernel, uint64_t *words, uint64_t count) noexcept nogil:
    """Run a kernel and wait; 0: it has ended."""
    cdef ptrdiff_t *offsets = <ptrdiff_t *> calloc(count + 1, sizeof(ptrdiff_t))
    cdef TgtKernelArgs args
    cdef void *queue = NULL
    cdef int rc
    if offsets == NULL:
        return -1
    memset(&args, 0, sizeof(args))
    args.version = TGT_KERNEL_ARGS_NEWEST_16
    args.count = <unsigned> count
    args.teams[0] = 1
    if rtl.launch_kernel != NULL:
        rc = rtl.launch_kernel(n, kernel, <void **> words, offsets, &args, &queue)
        if rc == 0 and queue != NULL and rtl.synchronize != NULL:
            rc = rtl.synchronize(n, &queue)
    else:
        rc = rtl.run_team_region(n, kernel, <void **> words, offsets, <int32_t> count, 1, 0, 0)
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
        rc = launch_words(n, <void *> head[0], words + skipped, head[1] - skipped)
    free(words)
    return rc


cdef public void GOMP_OFFLOAD_run(int n, void *fn, void *vars, void **args) noexcept nogil:
    """Run a region; returns when it has ended."""
    cdef uint64_t words[2]
    cdef int rc
    if <uintptr_t> fn == LAUNCHES_WORDS:
        rc = launch_block(n, vars)
    else:
        words[0] = <uint64_t> fn
        words[1] = <uint64_t> vars
        rc = launch_words(n, caller_kernels[n], words, 2)
    if rc:
        GOMP_PLUGIN_fatal(b"device %d (llvm): LLVM's plugin has failed to run a region", n)
