# Modules and their functions; a kernel's run.

cdef struct module:
    handle_head head
    context *of
    module *next
    ptx_module *loaded
    function *functions
    uint64_t launches          # of its functions, under way; guarded by work_lock
    int recorded               # 1 and its number in the recording; 0: it has none (kernel_recording.pxi)

cdef struct function:
    handle_head head
    module *of
    function *next
    ptx_function *code
    kernel_looks looks
    ptx_attributes attributes
    uint64_t *offsets          # of the parameters, then their sizes
    uint32_t dynamic_limit     # MAX_DYNAMIC_SHARED_SIZE_BYTES
    int carveout
    char *name


cdef int run_kernel(function *f, ptx_launch_config *config) noexcept nogil:
    """Run a kernel to its end.  A failure is told on stderr, but a trap only with GOMPY_CHECK: programs end so on
    purpose (abort, assert, Fortran's ERROR STOP), and their runtime says so."""
    global printed
    cdef ptx_error failure
    cdef ptx_memory seen
    cdef gpu *g = f.of.of.device
    cdef ptx_function *code
    cdef uint64_t ran = 0
    cdef int r
    failure.message[0] = 0
    add64(&g.launches, 1, RELAXED)
    if config.together:  # for the barrier of the grid
        config.workspace = alloc_in(g, &g.memory, 2 * sizeof(uint32_t), 512, ALLOCATION, f.of.of, NULL, 0)
        if config.workspace == 0:
            fprintf(stderr, b"libcuda (gompy): error: kernel %s: no device memory for the barrier of its grid\n",
                    f.name)
            return CUDA_ERROR_OUT_OF_MEMORY
        memset(<void *>config.workspace, 0, 2 * sizeof(uint32_t))
        mark_shadow(config.workspace, 2 * sizeof(uint32_t), SHADOW_WRITTEN)
    config.memory = NULL
    if gpu_count > 1:
        see_memory(f.of.of, &seen)
        config.memory = &seen
    code = begin_kernel(g, f.code, &f.looks)
    config.ran = &ran if is_timed(&f.looks, code != f.code) else NULL
    r = ptx.launch(code, config, &failure)
    note_kernel_time(g, &f.looks, config, code != f.code)
    end_kernel(code != f.code)
    if config.together:
        free_block_at(config.workspace, ALLOCATION, ALLOCATION)
    if printed:
        printed = 0
        fflush(stdout)
    if r == CUDA_ERROR_ASSERT:  # the threads' lines are there
        tell_failure(config.asker, failure.message)
    elif r != CUDA_SUCCESS:
        if failure.message[0] and (checking or strncmp(failure.message, b"trap in", 7) != 0):
            say(b"error", failure.message)
            tell_failure(config.asker, failure.message)
        elif failure.message[0] == 0:
            fprintf(stderr, b"libcuda (gompy): error: kernel %s: %s\n", f.name, cuda_error_text(r))
    return r
