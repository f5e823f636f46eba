# Launches: blocks over host threads.

cdef void work(run *launch) noexcept nogil:
    """Run blocks until there are none left."""
    global gompy_running
    cdef runner *r = take_runner()
    cdef stack_t old
    cdef uint64_t block
    if r == NULL:
        if gompy_claim(&launch.failed) and launch.failure != NULL:
            launch.failure.code = PTX_ERROR_OUT_OF_MEMORY
            snprintf(launch.failure.message, sizeof(launch.failure.message), "no memory for the stacks of warps")
        return
    gompy_alternate_stack(r.signal_stack, SIGNAL_STACK, &old)
    while not launch.failed:
        block = gompy_next(&launch.next_block)
        if block >= launch.blocks or not run_block(r, launch, block):
            break
    gompy_running = NULL
    sigaltstack(&old, NULL)
    give_runner(r)


cdef void *worker(void *argument) noexcept nogil:
    """A helping thread."""
    work(<run *> argument)
    return NULL


cdef public int ptx_launch(ptx_function *function, const ptx_launch_config *config, ptx_error *failure) noexcept nogil:
    """executor.h."""
    cdef run launch
    cdef ptx_error own
    cdef ptx_module *module = <ptx_module *> function.module
    cdef obj *o = &module.image.objects[function.object]
    cdef function_record *f = function_of(o, function.number)
    cdef uint64_t threads = <uint64_t> config.block[0] * config.block[1] * config.block[2]
    cdef pthread_t helpers[64]
    cdef text_buffer log
    cdef int result, nhelpers = 0, wanted, i
    cdef bint rows
    cdef sigset_t all_signals, old_signals
    if failure == NULL:
        failure = &own
    memset(failure, 0, sizeof(ptx_error))
    memset(&launch, 0, sizeof(run))
    launch.blocks = <uint64_t> config.grid[0] * config.grid[1] * config.grid[2]
    if threads == 0 or threads > 1024 or launch.blocks == 0 or (f.max_threads and threads > f.max_threads):
        failure.code = PTX_ERROR_INVALID_VALUE
        snprintf(failure.message, sizeof(failure.message), "kernel '%s': a block of %llu threads, a grid of %llu blocks", function.name,
                 <unsigned long long> threads, <unsigned long long> launch.blocks)
        return PTX_ERROR_INVALID_VALUE
    if config.params_size < f.param_bytes:
        failure.code = PTX_ERROR_INVALID_VALUE
        snprintf(failure.message, sizeof(failure.message), "kernel '%s' takes %llu bytes of parameters, %zu given", function.name,
                 <unsigned long long> f.param_bytes, config.params_size)
        return PTX_ERROR_INVALID_VALUE
    rows = config.block[0] % 32 == 0 or (config.block[1] == 1 and config.block[2] == 1)
    if not rows:
        launch.form = FORM_X
    elif o.info.openmp and o.info.entries:
        launch.form = FORM_S
    else:
        launch.form = FORM_E
    if is_stub(function, launch.form):
        log.data, log.size, log.used = failure.message, sizeof(failure.message), 0
        result = need_code(function, launch.form, &log)
        if result:
            failure.code = result
            return result
    launch.function, launch.module, launch.config, launch.failure = function, module, config, failure
    launch.code = <gompy_code_fn> function.code[launch.form]
    gompy_catch_signals()
    wanted = <int> config.threads if config.threads else <int> sysconf(_SC_NPROCESSORS_ONLN)
    if <uint64_t> wanted > launch.blocks:
        wanted = <int> launch.blocks
    # The program's signals are not for these threads; faults are.
    sigfillset(&all_signals)
    sigdelset(&all_signals, SIGSEGV)
    sigdelset(&all_signals, SIGBUS)
    sigdelset(&all_signals, SIGFPE)
    sigdelset(&all_signals, SIGILL)
    if wanted > 1:
        pthread_sigmask(SIG_SETMASK, &all_signals, &old_signals)
    while nhelpers < wanted - 1 and nhelpers < 64:
        if pthread_create(&helpers[nhelpers], NULL, worker, &launch) != 0:
            break
        nhelpers += 1
    if wanted > 1:
        pthread_sigmask(SIG_SETMASK, &old_signals, NULL)
    work(&launch)
    for i in range(nhelpers):
        pthread_join(helpers[i], NULL)
    if launch.failed:
        if failure.code == 0:
            failure.code = PTX_ERROR_LAUNCH_FAILED
        return failure.code
    return PTX_SUCCESS


cdef bint is_stub(descriptor *d, int form) noexcept nogil:
    """Whether a form's code is not loaded yet."""
    return d.code[form] == (<void *> stub_s if form == FORM_S else <void *> stub_e if form == FORM_E else <void *> stub_x)
