# Modules and their functions; a kernel's run.

cdef struct module:
    handle_head head
    context *of
    module *next
    ptx_module *loaded
    function *functions
    uint64_t launches          # of its functions, under way; guarded by work_lock

cdef struct function:
    handle_head head
    module *of
    function *next
    ptx_function *code
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
    cdef int r
    failure.message[0] = 0
    add64(&f.of.of.device.launches, 1, RELAXED)
    r = ptx.launch(f.code, config, &failure)
    if printed:
        printed = 0
        fflush(stdout)
    if r == CUDA_ERROR_ASSERT:  # the threads' lines are there
        tell_runtime(failure.message)
    elif r != CUDA_SUCCESS:
        if failure.message[0] and (checking or strncmp(failure.message, b"trap in", 7) != 0):
            fprintf(stderr, b"libcuda (gompy): error: %s\n", failure.message)
            tell_runtime(failure.message)
        elif failure.message[0] == 0:
            fprintf(stderr, b"libcuda (gompy): error: kernel %s: %s\n", f.name, cuda_error_text(r))
    return r
