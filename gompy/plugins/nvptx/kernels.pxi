# Launches of regions by clang: the kernel's parameters are words, its threads clang's device runtime divides up itself
# (LLVM's plugin for CUDA: GenericKernelTy::launch, getNumThreads, getNumBlocks).

from gompy.native.launch_words cimport KernelLaunch

cdef enum:
    CLANG_THREADS = 128  # a team, where the program says nothing


cdef unsigned kernel_threads(const Function *f, const KernelLaunch *wanted) noexcept nogil:
    """Threads of a team; in generic mode the initial thread has a warp of its own."""
    cdef int more = WARP if f.mode == KERNEL_GENERIC else 0
    cdef int threads = wanted.threads if wanted.threads > 0 else CLANG_THREADS
    if f.mode == KERNEL_PLAIN:
        return 1
    return <unsigned> min(threads + more, f.max_threads)


cdef unsigned kernel_teams(const Device *d, const Function *f, const KernelLaunch *wanted,
                           unsigned threads) noexcept nogil:
    """Teams: as asked for, else as many as the loop needs, but no more than the device holds at once."""
    cdef uint64_t most = <uint64_t> d.sms * max(1, d.max_threads_per_sm // <int> threads)
    cdef uint64_t teams = most
    if wanted.teams < 0 or f.mode == KERNEL_PLAIN:
        return 1
    if wanted.teams > 0:
        return <unsigned> wanted.teams
    if wanted.rounds:
        teams = (wanted.rounds - 1) // threads + 1 if f.mode == KERNEL_SPMD else wanted.rounds
    return <unsigned> min(teams, most)


cdef const char *mode_text(int mode) noexcept nogil:
    if mode == KERNEL_SPMD:
        return b"SPMD"
    return b"Generic-SPMD" if mode == KERNEL_GENERIC_SPMD else b"Generic"


cdef CUresult set_environment(Function *f, uint64_t *words) noexcept nogil:
    """Give a kernel that reduces over its teams the buffer for it, by its first parameter: the runtime's own.

    The device's lock of launches is held: one launch has the buffer at a time.
    """
    cdef LaunchEnvironment fresh
    cdef CUresult rc
    if not f.environment:
        rc = cuda.mem_alloc(&f.environment, sizeof(fresh) + f.reduces)
        if rc != CUDA_SUCCESS:
            return rc
    memset(&fresh, 0, sizeof(fresh))
    fresh.reduction_buffer = f.environment + sizeof(fresh)
    words[0] = f.environment
    return cuda.host_to_device(f.environment, &fresh, sizeof(fresh))


cdef void choose_sizes(const Device *d, const Function *f, const KernelLaunch *wanted, unsigned *grid,
                       unsigned *block) noexcept nogil:
    """A kernel's grid and blocks: a CUDA kernel's are those of its launch."""
    cdef int i
    for i in range(3):
        grid[i] = max(wanted.grid[i], 1)
        block[i] = max(wanted.block[i], 1)
    if wanted.block[0] == 0:
        block[0] = kernel_threads(f, wanted)
        grid[0] = kernel_teams(d, f, wanted, block[0])


cdef void run_clang_kernel(int n, Function *f, const KernelLaunch *wanted) noexcept nogil:
    """Run a kernel to its end.  A failure ends the program."""
    cdef Device *d = device_of(n)
    cdef unsigned grid[3]
    cdef unsigned block[3]
    cdef size_t size = wanted.size if wanted.size else wanted.count * sizeof(uint64_t)
    cdef void *config[5]
    cdef CUresult rc
    if d == NULL or not enter_context(d):
        GOMP_PLUGIN_fatal(b"device %d cannot run a region", n)
    choose_sizes(d, f, wanted, grid, block)
    GOMP_PLUGIN_debug(0, b"  GOMP_OFFLOAD_run: kernel %s: launch [(teams: %u), %u, %u] [(threads: %u), %u, %u]\n",
                      f.launch.name, grid[0], grid[1], grid[2], block[0], block[1], block[2])
    if tells_kernels():
        fprintf(stderr, b"CUDA device %d info: Launching kernel %s with %u blocks and %u threads in %s mode\n", n,
                f.launch.name, grid[0] * grid[1] * grid[2], block[0] * block[1] * block[2], mode_text(f.mode))
    config[0] = <void *> <size_t> CU_LAUNCH_PARAM_BUFFER_POINTER
    config[1] = <void *> wanted.words
    config[2] = <void *> <size_t> CU_LAUNCH_PARAM_BUFFER_SIZE
    config[3] = &size
    config[4] = <void *> <size_t> CU_LAUNCH_PARAM_END
    gompy_quick_acquire(&d.launch_lock)
    if f.reduces and wanted.count:
        rc = set_environment(f, <uint64_t *> wanted.words)
        if rc != CUDA_SUCCESS:
            gompy_quick_release(&d.launch_lock)
            die_of(rc, b"cuMemAlloc", f, d)
    rc = cuda.launch(f.handle, grid[0], grid[1], grid[2], block[0], block[1], block[2], wanted.shared, NULL, NULL,
                     config)
    if rc != CUDA_SUCCESS:
        gompy_quick_release(&d.launch_lock)
        die_of(rc, b"cuLaunchKernel", f, d)
    rc = cuda.ctx_synchronize()
    gompy_quick_release(&d.launch_lock)
    if rc != CUDA_SUCCESS:
        die_of(rc, b"cuCtxSynchronize", f, d)
