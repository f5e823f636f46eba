# Launches: blocks over host threads.

cdef uint64_t run_blocks(run *launch, int number) noexcept nogil:
    """Run blocks until there are none left.  How many this thread has begun.

    `number`: a helping thread's, 0 for the one that launches."""
    global gompy_running
    cdef runner *r = take_runner()
    cdef gompy_modes modes
    cdef uint64_t block
    if r == NULL:
        no_launch_memory(launch, "no memory for the stacks of warps")
        return 0
    r.prepared = False
    own_share(r, launch, number)
    r.turn = -1
    gompy_need_signal_stack()
    gompy_usual(&modes)
    while not launch.failed and take_block(r, launch, &block):
        if not run_block(r, launch, block):
            break
    gompy_running = NULL
    if r.sums.used:
        gompy_add_sums(&r.sums)
    if launch.turns != NULL:
        leave_turns(r)
    gompy_as_before(&modes)
    block = r.taken
    give_runner(r)
    return block


cdef uint32_t step_through(uint64_t chance, uint32_t count) noexcept nogil:
    """A step that comes to each of so many places."""
    cdef uint32_t step = <uint32_t> (chance % count), a, b
    while True:
        step = step + 1 if step < count else 1
        a, b = count, step
        while b:
            a, b = b, a % b
        if a == 1:
            return step


cdef void choose_order(run *launch, uint32_t seed, uint32_t nwarps, bint old) noexcept nogil:
    """The order of blocks and warps by a seed, another one for each kernel of a module and each of its launches.

    What else the process has launched plays no part: a test by itself runs as it does among others.
    The warps of PTX before sm_70 (`old`) keep theirs: GCC's code for OpenACC counts on it (meet_warps).
    """
    cdef ptx_function *function = launch.function
    cdef uint64_t chance
    function.seeded += 1
    chance = (<uint64_t> seed << 32 | (function.seeded ^ function.number << 20)) * <uint64_t> 0x9E3779B97F4A7C15
    chance = (chance ^ chance >> 30) * <uint64_t> 0xBF58476D1CE4E5B9
    chance = (chance ^ chance >> 27) * <uint64_t> 0x94D049BB133111EB
    chance ^= chance >> 31
    if launch.blocks >> 32 == 0:
        launch.block_step = step_through(chance, <uint32_t> launch.blocks)
        launch.first_block = (chance >> 20) % launch.blocks
    if not old:
        launch.warp_step = step_through(chance >> 8, nwarps)
        launch.first_warp = <uint32_t> ((chance >> 40) % nwarps)


# A helping thread waits for launches as long as the process lives.  Waking it takes longer than a small launch, so a
# call is withdrawn where the launch has ended before the helper has come: it finds it so, some time later, and sleeps
# on.

cdef enum:
    NOT_CALLED
    CALLED
    AT_WORK

cdef struct helper:
    helper *next
    run *launch                         # only read by who has changed `state` from CALLED
    int state
    int number                          # from 1, as they were started
    sem_t wake
    sem_t done

cdef helper *idle_helpers
cdef uint64_t helper_count
cdef int helpers_forks                  # whose threads these are: a child after fork has none


cdef void wait_for(sem_t *semaphore) noexcept nogil:
    """sem_wait to its end."""
    while sem_wait(semaphore) != 0:
        pass


cdef void *helper_thread(void *argument) noexcept nogil:
    """A helping thread's life."""
    cdef helper *h = <helper *> argument
    while True:
        gompy_own_rests()
        wait_for(&h.wake)
        if gompy_change(&h.state, CALLED, AT_WORK):
            run_blocks(h.launch, h.number)
            sem_post(&h.done)
    return NULL


cdef helper *new_helper() noexcept nogil:
    """Start a helping thread; NULL if there can be no more."""
    cdef helper *h = <helper *> aligned_alloc(GOMPY_OWN_PAGE, GOMPY_OWN_PAGE)
    cdef sigset_t all_signals, old_signals
    cdef pthread_t thread
    cdef int result
    if h == NULL:
        return NULL
    memset(h, 0, sizeof(helper))
    sem_init(&h.wake, 0, 0)
    sem_init(&h.done, 0, 0)
    h.number = <int> (1 + gompy_take(&helper_count, 1) % MOST_THREADS)
    # The program's signals are not for these threads; faults are.
    sigfillset(&all_signals)
    sigdelset(&all_signals, SIGSEGV)
    sigdelset(&all_signals, SIGBUS)
    sigdelset(&all_signals, SIGFPE)
    sigdelset(&all_signals, SIGILL)
    pthread_sigmask(SIG_SETMASK, &all_signals, &old_signals)
    gompy_own_begins()
    result = pthread_create(&thread, NULL, helper_thread, h)
    pthread_sigmask(SIG_SETMASK, &old_signals, NULL)
    if result != 0:
        gompy_own_ends()
        free(h)
        return NULL
    pthread_setname_np(thread, b"gompy-helper")  # at once: check_watch.h asks before it has run
    pthread_detach(thread)
    return h


cdef helper *call_helpers(run *launch, int wanted) noexcept nogil:
    """Set up to `wanted` threads to work on a launch."""
    global idle_helpers, helpers_forks
    cdef helper *called = NULL
    cdef helper *h
    cdef int pending = 0
    while wanted > 0:
        pthread_mutex_lock(&gompy_pool_lock)
        if helpers_forks != gompy_forks:
            idle_helpers, helpers_forks = NULL, gompy_forks
        h = idle_helpers
        if h != NULL:
            idle_helpers = h.next
        pthread_mutex_unlock(&gompy_pool_lock)
        if h == NULL:
            h = new_helper()
        if h == NULL:
            break
        h.launch, h.next = launch, called
        called = h
        gompy_change(&h.state, NOT_CALLED, CALLED)
        # A wake-up of a withdrawn call that it has not answered yet is this call's as well: it reads the state after
        # it.
        if sem_getvalue(&h.wake, &pending) != 0 or pending <= 0:
            gompy_own_wakes()
            sem_post(&h.wake)
        wanted -= 1
    return called


cdef void call_deferred(run *launch) noexcept nogil:
    """A launch takes longer than it was thought to."""
    cdef int wanted = launch.deferred
    launch.deferred = 0
    launch.helpers = call_helpers(launch, wanted)


cdef int count_helpers(const helper *called) noexcept nogil:
    """How many have been called."""
    cdef int count = 0
    while called != NULL:
        count += 1
        called = called.next
    return count


cdef void dismiss_helpers(helper *called) noexcept nogil:
    """Wait until they are done, if they have come; they are free for the next launch then."""
    global idle_helpers
    cdef helper *h
    while called != NULL:
        h = called
        called = h.next
        if not gompy_change(&h.state, CALLED, NOT_CALLED):
            wait_for(&h.done)
            gompy_change(&h.state, AT_WORK, NOT_CALLED)
        pthread_mutex_lock(&gompy_pool_lock)
        h.next = idle_helpers
        idle_helpers = h
        pthread_mutex_unlock(&gompy_pool_lock)


cdef bint may_launch(ptx_function *function, const function_record *f, const ptx_launch_config *config,
                     uint64_t blocks, uint64_t threads, ptx_error *failure) noexcept nogil:
    """Whether a launch is one; the failure says why not."""
    cdef ptx_module *module = <ptx_module *> function.module
    if not f.entry:
        failure.code = PTX_ERROR_INVALID_VALUE
        snprintf(failure.message, sizeof(failure.message), "function '%s' is no kernel (.entry)", function.name)
        return False
    if threads == 0 or threads > 1024 or blocks == 0 or (f.max_threads and threads > f.max_threads):
        failure.code = PTX_ERROR_INVALID_VALUE
        snprintf(failure.message, sizeof(failure.message),
                 "kernel '%s': a block of %llu threads, a grid of %llu blocks", function.name,
                 <unsigned long long> threads, <unsigned long long> blocks)
        return False
    if config.params_size < f.param_bytes:
        failure.code = PTX_ERROR_INVALID_VALUE
        snprintf(failure.message, sizeof(failure.message), "kernel '%s' takes %llu bytes of parameters, %zu given",
                 function.name,
                 <unsigned long long> f.param_bytes, config.params_size)
        return False
    return True


cdef bint is_stub(descriptor *d, int form) noexcept nogil:
    """Whether a form's code is not loaded yet."""
    return d.code[form] == (<void *> stub_s if form == FORM_S else <void *> stub_e if form == FORM_E
                            else <void *> stub_x)


cdef int load_form(run *launch) noexcept nogil:
    """Load the code of the form that is chosen, if it is not yet."""
    cdef text_buffer log
    if not is_stub(launch.function, launch.form):
        return 0
    log.data, log.size, log.used = launch.failure.message, sizeof(launch.failure.message), 0
    launch.failure.code = need_code(launch.function, launch.form, &log)
    return launch.failure.code


cdef int choose_code(run *launch, const obj *o, uint64_t threads) noexcept nogil:
    """The form of the kernel's code that the block's shape needs, loaded, and the warps that it needs."""
    cdef const ptx_launch_config *c = launch.config
    cdef ptx_function *function = launch.function
    cdef bint rows = c.block[0] % 32 == 0 or (c.block[1] == 1 and c.block[2] == 1)
    cdef int result
    if not rows:
        launch.form = FORM_X
    elif o.info.openmp and o.info.entries:
        launch.form = FORM_S
    else:
        launch.form = FORM_E
    result = load_form(launch)
    if result == 0 and function.aligned >> launch.form & 1 and c.block[0] % 32:
        launch.form = FORM_X
        result = load_form(launch)
    if result:
        return result
    launch.code = <gompy_code_fn> function.code[launch.form]
    launch.whole = function.whole >> launch.form & 1
    launch.upwards = o.info.architecture >= 70 and not function_of(<obj *> o, function.number).meets
    launch.nwarps = <uint32_t> ((threads + 31) // 32)
    if function.alone == ALONE_UNKNOWN:
        function.alone = look_for_company(launch.module, function)
    launch.alone = function.alone == ALONE and rows and not launch.whole
    if c.seed:
        choose_order(launch, c.seed, 1 if launch.alone else launch.nwarps, o.info.architecture < 70)
    return 0


cdef int count_threads(run *launch) noexcept nogil:
    """How many host threads a launch may have, this one among them; they share the blocks."""
    cdef const ptx_launch_config *c = launch.config
    cdef int wanted = 1
    if launch.blocks > 1:
        wanted = <int> c.threads if c.threads else <int> sysconf(_SC_NPROCESSORS_ONLN)
    if <uint64_t> wanted > launch.blocks:
        wanted = <int> launch.blocks
    if wanted > MOST_THREADS:
        wanted = MOST_THREADS
    if c.together:
        wanted = <int> launch.blocks
    share_blocks(launch, wanted)
    return 1 if launch.races != NULL and not c.together else wanted


cdef void run_grid(run *launch, int wanted) noexcept nogil:
    """Run all blocks.  Where the last launch's were so short that others, who wake up first, would hardly end these
    earlier (by less than AWAKE / wanted), others are called only if it turns out to be wrong."""
    cdef ptx_function *function = launch.function
    cdef uint64_t taken, ticks, was = function.ticks
    cdef bint alone
    if launch.blocks == 1:
        launch.taken = run_blocks(launch, 0)
        return
    launch.short_ticks = AWAKE * <uint64_t> wanted // <uint64_t> (wanted - 1) if wanted > 1 else 0
    alone = was != 0 and was < launch.short_ticks // launch.blocks
    if was and not alone and (function.tries == 0 or was < MAYBE_SHORT * launch.short_ticks // launch.blocks):
        # The first launch finds nothing in the caches, and threads that share a processor or data seem slower than one
        # would be.  So the second launch tries that, and others now and then.
        alone = function.tries % TRIES == 0
        function.tries += 1
    launch.more = call_deferred
    if alone and not launch.config.together:
        launch.deferred = wanted - 1
    else:
        launch.helpers = call_helpers(launch, wanted - 1)
    if launch.config.together and count_helpers(launch.helpers) < wanted - 1:
        no_launch_memory(launch, "no host threads for all blocks of a cooperative launch")
    launch.begun = gompy_ticks()
    taken = run_blocks(launch, 0)
    launch.taken = taken
    if taken:
        ticks = (gompy_ticks() - launch.begun) // taken + 1
        # Not what it took once, when the processor was taken away.
        if was and ticks > was:
            ticks = was if not alone else was + was // 4 if ticks > was + was // 4 else ticks
        function.ticks = ticks
    dismiss_helpers(launch.helpers)


cdef public int ptx_launch(ptx_function *function, const ptx_launch_config *config, ptx_error *failure) noexcept nogil:
    """executor.h."""
    cdef run launch
    cdef ptx_error own
    cdef ptx_module *module = <ptx_module *> function.module
    cdef obj *o = &module.image.objects[function.object]
    cdef function_record *f = function_of(o, function.number)
    cdef uint64_t threads = <uint64_t> config.block[0] * config.block[1] * config.block[2], ran
    if failure == NULL:
        failure = &own
    failure.code, failure.message[0] = 0, 0  # the rest where it fails: it is longer than an empty kernel
    memset(&launch, 0, <char *> launch.shares - <char *> &launch)
    launch.blocks = <uint64_t> config.grid[0] * config.grid[1] * config.grid[2]
    if not may_launch(function, f, config, launch.blocks, threads, failure):
        return failure.code
    launch.function, launch.module, launch.config, launch.failure = function, module, config, failure
    launch.memory = config.memory if config.memory != NULL else module.memory
    if choose_code(&launch, o, threads):
        return failure.code
    if module.image.check:
        guard_stacks(&launch, 0)
    gompy_catch_signals(not function.launched)
    function.launched = True
    if module.image.check & PTX_CHECK_RACE and not begin_races(&launch):
        no_launch_memory(&launch, "no memory for what is known of accesses (GOMPY_CHECK=race)")
        return PTX_ERROR_LAUNCH_FAILED
    ran = thread_ns() if config.ran != NULL else 0
    run_grid(&launch, count_threads(&launch))
    if config.ran != NULL:
        ran = thread_ns() - ran
        config.ran[0] = <uint64_t> (<double> ran * launch.blocks / launch.taken) if launch.taken else ran
    if launch.races != NULL:
        end_races(&launch)
    if module.image.check:
        guard_stacks(&launch, SHADOW_ALLOCATED)
        tell_rest(&launch)
    if launch.failed:
        if failure.code == 0:
            failure.code = PTX_ERROR_LAUNCH_FAILED
        return failure.code
    return PTX_SUCCESS
