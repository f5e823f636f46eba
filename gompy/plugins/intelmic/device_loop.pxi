# The threads of the device: one per launch slot, made when the slot is first used, and the commands' own.

cdef extern from *:
    """
    extern void GOMP_teams (unsigned, unsigned);
    extern int omp_get_max_threads (void), omp_get_dynamic (void), omp_get_max_active_levels (void);
    extern int omp_get_thread_limit (void), omp_get_num_teams (void), omp_get_team_num (void);
    extern void omp_set_num_threads (int), omp_set_dynamic (int), omp_set_max_active_levels (int);
    extern void omp_get_schedule (int *, int *), omp_set_schedule (int, int);
    extern _Bool GOMP_teams4 (unsigned, unsigned, unsigned, _Bool);
    """
    void GOMP_teams(unsigned num_teams, unsigned thread_limit) nogil
    bint GOMP_teams4(unsigned lo, unsigned hi, unsigned thread_limit, bint first) nogil
    int omp_get_max_threads() nogil
    int omp_get_dynamic() nogil
    int omp_get_max_active_levels() nogil
    int omp_get_thread_limit() nogil
    int omp_get_num_teams() nogil
    int omp_get_team_num() nogil
    void omp_set_num_threads(int n) nogil
    void omp_set_dynamic(int n) nogil
    void omp_set_max_active_levels(int n) nogil
    void omp_get_schedule(int *kind, int *chunk) nogil
    void omp_set_schedule(int kind, int chunk) nogil

cdef struct control_variables:
    int threads
    int dynamic
    int levels
    int limit
    int schedule
    int chunk


cdef inline void save_variables(control_variables *v) noexcept nogil:
    """Remember the internal control variables that a region may change."""
    v.threads = omp_get_max_threads()
    v.dynamic = omp_get_dynamic()
    v.levels = omp_get_max_active_levels()
    v.limit = omp_get_thread_limit()
    omp_get_schedule(&v.schedule, &v.chunk)


cdef inline void restore_variables(control_variables *v) noexcept nogil:
    """Give the next region the device's control variables, whatever the last one did with its own.

    Teams are counted in the thread too: stock libgomp leaves the last team's number behind.
    """
    cdef int kind, chunk
    if omp_get_max_threads() != v.threads:
        omp_set_num_threads(v.threads)
    if omp_get_dynamic() != v.dynamic:
        omp_set_dynamic(v.dynamic)
    if omp_get_max_active_levels() != v.levels:
        omp_set_max_active_levels(v.levels)
    omp_get_schedule(&kind, &chunk)
    if kind != v.schedule or chunk != v.chunk:
        omp_set_schedule(v.schedule, v.chunk)
    if omp_get_thread_limit() != v.limit:
        # libgomp keeps "no limit" as UINT_MAX, reports it as INT_MAX, and takes anything above INT_MAX for it
        GOMP_teams(0, <unsigned>v.limit if v.limit != 0x7fffffff else <unsigned>0x80000000)
    if omp_get_num_teams() != 1 or omp_get_team_num() != 0:
        GOMP_teams4(1, 1, 0, True)


cdef inline void flush_output() noexcept nogil:
    """Write what regions have printed, so that it stands before whatever the host prints next."""
    cdef int i
    if load32(&units_written, RELAXED) != 0:
        store32(&units_written, 0, RELAXED)
        for i in range(image_count):
            if mic_images[i].flush_units != NULL:
                mic_images[i].flush_units(NULL)
                break
    if __fpending(stdout) != 0:
        fflush(stdout)


cdef void run_region(mic_slot *slot) noexcept nogil:
    """Call a region's function with the address of its argument array, at level 0."""
    cdef region_function function = <region_function>slot.args[0]
    if slot.args[3] != 0:
        GOMP_teams(0, <unsigned>slot.args[3])
    function(<void *>slot.args[1])
    flush_output()


cdef inline void finish(mic_slot *slot, uint32_t number) noexcept nogil:
    """Tell the host that a request is done; wake it if it sleeps."""
    exchange32(&slot.done, number, SEQ_CST)
    if load32(&slot.host_sleeps, SEQ_CST) != 0:
        futex_wake(&slot.done)


cdef inline uint32_t next_request(mic_slot *slot, uint32_t seen, uint64_t spin_ns) noexcept nogil:
    """Wait for the request after number ``seen``."""
    while True:
        if spin_ns != 0 and spin_while_equal(&slot.request, seen, spin_ns):
            break
        exchange32(&slot.device_sleeps, 1, SEQ_CST)
        if load32(&slot.request, SEQ_CST) == seen:
            futex_wait(&slot.request, seen, -1)
        store32(&slot.device_sleeps, 0, RELAXED)
        if load32(&slot.request, ACQUIRE) != seen:
            break
    return load32(&slot.request, ACQUIRE)


cdef uint64_t spin_time(int slot) noexcept nogil:
    """How long the thread of a slot looks for its next region: slots beyond the processors only glance."""
    cdef int cpus = control.spins
    if cpus < 2:
        return 0
    return 100000 if slot < cpus - 1 else 2000


cdef void *slot_thread(void *arg) noexcept nogil:
    """Run the regions of one launch slot, for ever."""
    global mic_thread_slot
    cdef int number = <int><long>arg
    cdef mic_slot *slot = &control.slots[number]
    cdef uint32_t seen = load32(&slot.done, ACQUIRE)
    cdef uint64_t spin_ns = spin_time(number)
    cdef control_variables variables
    mic_thread_slot = number
    save_variables(&variables)
    while True:
        seen = next_request(slot, seen, spin_ns)
        run_region(slot)
        restore_variables(&variables)
        finish(slot, seen)
    return NULL


cdef int start_slot_thread(int number) noexcept nogil:
    """Start the thread of a launch slot.  Returns 0 or an errno value."""
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef size_t size = 0
    cdef int error
    pthread_attr_init(&attributes)
    pthread_attr_getstacksize(&attributes, &size)
    if size < 8 << 20:
        size = 8 << 20  # regions keep private arrays on the stack, as the host's main thread does
    if unlimited_stack():
        size = 256 << 20
    pthread_attr_setstacksize(&attributes, size)
    error = pthread_create(&thread, &attributes, slot_thread, <void *><long>number)
    pthread_attr_destroy(&attributes)
    if error == 0:
        pthread_detach(thread)
    return error


cdef extern from *:
    """
    static int mic_unlimited_stack (void)
    {
      struct rlimit r;
      return getrlimit (RLIMIT_STACK, &r) == 0 && r.rlim_cur == RLIM_INFINITY;
    }
    """
    bint unlimited_stack "mic_unlimited_stack"() nogil


cdef void end_under_tool() noexcept nogil:
    """Let the tool end in its own way: valgrind searches all memory for leaks at the end, also 64 GiB of arena."""
    if control.tool != 0:
        munmap(<void *>control.arena_base, control.arena_size)


cdef void serve_commands() noexcept nogil:
    """The main thread's work: one command after another until the host says quit."""
    global mic_thread_slot
    cdef mic_slot *slot = &control.slots[MIC_COMMAND_SLOT]
    cdef uint32_t seen = load32(&slot.done, ACQUIRE)
    cdef uint32_t op
    mic_thread_slot = MIC_COMMAND_SLOT
    while True:
        seen = next_request(slot, seen, 0)
        op = slot.op
        if op == MIC_OP_THREAD:
            slot.result[0] = start_slot_thread(<int>slot.args[0])
        elif op == MIC_OP_LOAD:
            load_image(slot)
        elif op == MIC_OP_UNLOAD:
            unload_image(slot)
        elif op == MIC_OP_READ:
            # pwrite and pread answer EFAULT where a plain copy would die
            slot.result[0] = copy_by_file(slot, True)
        elif op == MIC_OP_WRITE:
            slot.result[0] = copy_by_file(slot, False)
        elif op == MIC_OP_SYMBOL:
            slot.result[0] = <int64_t>dlsym(mic_images[slot.args[0]].handle, control.text)
        elif op == MIC_OP_QUIT:
            fflush(NULL)
            store32(&units_written, 1, RELAXED)
            flush_output()
            end_under_tool()
            _exit(0)
        finish(slot, seen)


cdef int64_t copy_by_file(mic_slot *slot, bint outward) noexcept nogil:
    """Copy between any device address (args[0]) and the arena (offset args[1]), args[2] bytes.  0 or an errno value."""
    cdef size_t done = 0, size = slot.args[2]
    cdef char *p = <char *>slot.args[0]
    cdef off_t offset = <off_t>(MIC_CONTROL_SIZE + slot.args[1])
    cdef ssize_t n
    while done < size:
        if outward:
            n = pwrite(memory_fd, p + done, size - done, offset + <off_t>done)
        else:
            n = pread(memory_fd, p + done, size - done, offset + <off_t>done)
        if n < 0 and errno == EINTR:
            continue
        if n <= 0:
            return errno if n < 0 else EFAULT
        done += <size_t>n
    return 0
