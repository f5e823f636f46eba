# Regions that run on the host.  libgomp clears the whole thread state around such a region: inside it is level 0, one
# thread, one team, and the ICVs are the environment's.  That state is out of reach here, so the region runs in a fresh
# thread, which has it; where the encountering thread is in that very state already, it runs the region itself.

cdef struct Icvs:
    int max_threads
    int dynamic
    int max_active_levels
    int thread_limit
    int default_device
    int task_device
    int chunk
    unsigned schedule

cdef struct HostRegion:
    void (*fn)(void *) noexcept nogil
    void **hostaddrs
    int thread_limit

cdef Icvs initial_icvs  # the environment's


cdef void read_icvs(Icvs *icvs) noexcept nogil:
    memset(icvs, 0, sizeof(Icvs))
    icvs.max_threads = omp_get_max_threads()
    icvs.dynamic = omp_get_dynamic()
    icvs.max_active_levels = omp_get_max_active_levels()
    icvs.thread_limit = omp_get_thread_limit()
    icvs.default_device = stock_get_default_device()
    icvs.task_device = device_of_task()
    omp_get_schedule(&icvs.schedule, &icvs.chunk)


cdef void restore_icvs(const Icvs *icvs) noexcept nogil:
    """Undo what a region changed that ran in the encountering thread."""
    cdef Icvs now
    read_icvs(&now)
    if memcmp(&now, icvs, sizeof(Icvs)) == 0:
        return
    if now.max_threads != icvs.max_threads:
        omp_set_num_threads(icvs.max_threads)
    if now.dynamic != icvs.dynamic:
        omp_set_dynamic(icvs.dynamic)
    if now.max_active_levels != icvs.max_active_levels:
        omp_set_max_active_levels(icvs.max_active_levels)
    if now.schedule != icvs.schedule or now.chunk != icvs.chunk:
        omp_set_schedule(icvs.schedule, icvs.chunk)
    if now.default_device != icvs.default_device and stock_set_default_device != NULL:
        stock_set_default_device(icvs.default_device)
    if now.thread_limit != icvs.thread_limit:
        GOMP_teams(0, <unsigned> icvs.thread_limit)


cdef int thread_limit_of(void **args) noexcept nogil:
    """The thread limit in GOMP_target_ext's args: 0 none, -1 unknown."""
    cdef LaunchWord word
    while take_word(&args, &word):
        if word.device == 0 and word.id == GOMP_TARGET_ARG_THREAD_LIMIT:
            return INT_MAX if word.value > INT_MAX else <int> word.value
    return 0


cdef void *host_region_thread(void *data) noexcept nogil:
    cdef HostRegion *region = <HostRegion *> data
    if region.thread_limit:
        GOMP_teams(0, <unsigned> region.thread_limit)
    region.fn(<void *> region.hostaddrs)
    return NULL


cdef bint initial_state(int thread_limit, Icvs *icvs) noexcept nogil:
    """Whether the calling thread is as libgomp would make it for a region on the host."""
    if thread_limit != 0 or omp_get_level() != 0 or team_of_one or omp_in_final() or omp_get_num_teams() != 1:
        return False
    read_icvs(icvs)
    return memcmp(icvs, &initial_icvs, sizeof(Icvs)) == 0


cdef void run_on_host(void (*fn)(void *) noexcept nogil, void **hostaddrs, void **args,
                      const char *reason) noexcept nogil:
    """Run a region on the host; its firstprivate data is in place."""
    cdef HostRegion region
    cdef Icvs icvs
    cdef pthread_t thread
    cdef pthread_attr_t attr
    cdef size_t stack_size = 0
    cdef void *data_stack
    cdef int rc
    count_host_region(reason)
    region.fn = fn
    region.hostaddrs = hostaddrs
    region.thread_limit = thread_limit_of(args)
    if not initial_state(region.thread_limit, &icvs):
        pthread_attr_init(&attr)
        pthread_attr_getstacksize(&attr, &stack_size)
        if stack_size < 16 << 20:
            pthread_attr_setstacksize(&attr, 16 << 20)  # the stack limit may be unlimited: then the default is small
        rc = pthread_create(&thread, &attr, host_region_thread, &region)
        pthread_attr_destroy(&attr)
        if rc == 0:
            pthread_join(thread, NULL)
            return
        gompy_debug(b"no thread for a region on the host: %s\n", strerror(rc))
    data_stack = push_no_data()
    host_region_thread(&region)
    pop_no_data(data_stack)
    if omp_get_num_teams() != 1:
        GOMP_teams4(1, 1, 0, True)
    restore_icvs(&icvs)


cdef void *push_no_data() noexcept nogil:
    """A region on the host is in no target data construct."""
    global gompy_data_stack
    cdef void *old = gompy_data_stack
    gompy_data_stack = NULL
    return old


cdef void pop_no_data(void *old) noexcept nogil:
    global gompy_data_stack
    gompy_data_stack = old


cdef size_t firstprivate_size(const MapList *maps) noexcept nogil:
    """Bytes that private copies of the firstprivate entries need at most; 0 if there are none."""
    cdef size_t i
    cdef size_t total = 0
    for i in range(maps.mapnum):
        if kind_at(maps, i) == GOMP_MAP_FIRSTPRIVATE:
            total += maps.sizes[i] + alignment_at(maps, i)
    return total


cdef void copy_firstprivate(char *buffer, const MapList *maps) noexcept nogil:
    """Copy firstprivate entries to a buffer of firstprivate_size and point the list at the copies.

    Fortran's firstprivate of an allocatable has ATTACH behind its data: the address is that of the descriptor's word in
    the list.  The descriptor's copy points to the copy of the data then (libgomp 13).
    """
    cdef uintptr_t at = <uintptr_t> buffer
    cdef uintptr_t descriptor
    cdef size_t i
    for i in range(maps.mapnum):
        if kind_at(maps, i) == GOMP_MAP_FIRSTPRIVATE and maps.hostaddrs[i] != NULL:
            at = align_up(at, alignment_at(maps, i))
            memcpy(<void *> at, maps.hostaddrs[i], maps.sizes[i])
            maps.hostaddrs[i] = <void *> at
            at += maps.sizes[i]
            if i + 1 < maps.mapnum and kind_at(maps, i + 1) == GOMP_MAP_ATTACH:
                descriptor = (<uintptr_t *> maps.hostaddrs[i + 1])[0]
                (<uintptr_t *> (descriptor + maps.sizes[i + 1]))[0] = <uintptr_t> maps.hostaddrs[i]
