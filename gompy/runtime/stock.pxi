# The stock libgomp behind this library.  What has another name is called directly; what libgompy defines as well is
# reached by its address, looked up once.

cdef extern from *:
    """
    extern int omp_get_level (void);
    extern int omp_get_num_procs (void);
    extern int omp_in_final (void);
    extern int omp_get_max_threads (void);
    extern int omp_get_dynamic (void);
    extern int omp_get_max_active_levels (void);
    extern int omp_get_thread_limit (void);
    extern int omp_get_num_teams (void);
    extern int omp_get_cancellation (void);
    extern void omp_get_schedule (unsigned *, int *);
    extern void omp_set_num_threads (int);
    extern void omp_set_dynamic (int);
    extern void omp_set_max_active_levels (int);
    extern void omp_set_schedule (unsigned, int);
    extern _Bool GOMP_cancellation_point (int);
    extern void GOMP_taskwait_depend (void **);
    extern void GOMP_taskwait (void);
    extern void GOMP_teams (unsigned, unsigned);
    extern _Bool GOMP_teams4 (unsigned, unsigned, unsigned, _Bool);
    """
    int omp_get_level() noexcept nogil
    int omp_in_final() noexcept nogil
    int omp_get_max_threads() noexcept nogil
    int omp_get_dynamic() noexcept nogil
    int omp_get_max_active_levels() noexcept nogil
    int omp_get_thread_limit() noexcept nogil
    int omp_get_num_teams() noexcept nogil
    int omp_get_cancellation() noexcept nogil
    void omp_get_schedule(unsigned *, int *) noexcept nogil
    void omp_set_num_threads(int) noexcept nogil
    void omp_set_dynamic(int) noexcept nogil
    void omp_set_max_active_levels(int) noexcept nogil
    void omp_set_schedule(unsigned, int) noexcept nogil
    c_bool GOMP_cancellation_point(int) noexcept nogil
    void GOMP_taskwait_depend(void **) noexcept nogil
    void GOMP_taskwait() noexcept nogil
    void GOMP_teams(unsigned, unsigned) noexcept nogil
    c_bool GOMP_teams4(unsigned, unsigned, unsigned, c_bool) noexcept nogil

ctypedef int (*int_fn)() noexcept nogil
ctypedef void (*void_int_fn)(int) noexcept nogil
ctypedef int (*int_int_fn)(int) noexcept nogil

ctypedef void (*copy_fn)(void *, void *) noexcept nogil
ctypedef void (*body_fn)(void *) noexcept nogil
ctypedef void (*task_fn)(body_fn, void *, copy_fn, long, long, c_bool, unsigned, void **, int, void *) noexcept nogil
ctypedef void (*taskloop_fn)(body_fn, void *, copy_fn, long, long, unsigned, unsigned long, int, long, long,
                             long) noexcept nogil
ctypedef void (*taskloop_ull_fn)(body_fn, void *, copy_fn, long, long, unsigned, unsigned long, int,
                                 unsigned long long, unsigned long long, unsigned long long) noexcept nogil

cdef int_fn stock_default_device
cdef void_int_fn stock_set_default_device
cdef int_int_fn stock_pause_all
cdef task_fn stock_task
cdef taskloop_fn stock_taskloop
cdef taskloop_ull_fn stock_taskloop_ull

# Outside any parallel region libgomp makes a team of one thread for the first `target nowait`: from then on tasks of that
# thread can be deferred.  Only its GOMP_target_ext does that, so it is called once in a thread, with nothing to do.
cdef extern from *:
    """
    static __thread int gompy_team_of_one, gompy_tasks_entered;
    static void gompy_no_region (void *p) { (void) p; }
    static pid_t gompy_team_process;
    static void gompy_made_team (void) { gompy_team_of_one = 1; gompy_team_process = getpid (); }
    static int gompy_team_is_ours (void) { return gompy_team_of_one && gompy_team_process == getpid (); }
    typedef void (*gompy_target_fn) (int, void (*) (void *), size_t, void **, size_t *, unsigned short *, unsigned,
                                     void **, void **);
    """
    int team_of_one "gompy_team_of_one"
    int tasks_entered "gompy_tasks_entered"
    void gompy_no_region(void *p) noexcept nogil
    void gompy_made_team() noexcept nogil
    int team_is_ours "gompy_team_is_ours"() noexcept nogil  # not that of the process which forked this one
    ctypedef void (*target_fn "gompy_target_fn")(int, void (*)(void *) noexcept nogil, size_t, void **, size_t *,
                                                 unsigned short *, unsigned, void **, void **) noexcept nogil


cdef void *stock_symbol(const char *name) noexcept nogil:
    """The stock libgomp's function of a name that libgompy has too, or NULL."""
    cdef void *fn = dlsym(RTLD_NEXT, name)
    cdef void *handle
    if fn == NULL:
        handle = dlopen(b"libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD)
        if handle != NULL:
            fn = dlsym(handle, name)
    return fn


cdef void find_stock() noexcept nogil:
    global stock_default_device, stock_set_default_device, stock_pause_all
    global stock_task, stock_taskloop, stock_taskloop_ull
    stock_default_device = <int_fn> stock_symbol(b"omp_get_default_device")
    stock_set_default_device = <void_int_fn> stock_symbol(b"omp_set_default_device")
    stock_pause_all = <int_int_fn> stock_symbol(b"omp_pause_resource_all")
    stock_task = <task_fn> stock_symbol(b"GOMP_task")
    stock_taskloop = <taskloop_fn> stock_symbol(b"GOMP_taskloop")
    stock_taskloop_ull = <taskloop_ull_fn> stock_symbol(b"GOMP_taskloop_ull")


cdef inline void find_tasks() noexcept nogil:
    """For a constructor that makes tasks before this library has been initialised."""
    if stock_task == NULL:
        find_stock()


# Outside of teams an explicit task runs at once, and its record is on the stack of GOMP_task or GOMP_taskloop.  GCC 12's
# GOMP_target_ext, when it makes a team, frees the record of the task that it is in, be it that one; so it may not be asked
# for a team in there, and those functions have to come by here.

cdef public void GOMP_task(void (*fn)(void *) noexcept nogil, void *data,
                           void (*cpyfn)(void *, void *) noexcept nogil, long arg_size, long arg_align, c_bool if_clause,
                           unsigned flags, void **depend, int priority, void *detach) noexcept nogil:
    """`#pragma omp task`."""
    global tasks_entered
    find_tasks()
    tasks_entered += 1
    stock_task(fn, data, cpyfn, arg_size, arg_align, if_clause, flags, depend, priority, detach)
    tasks_entered -= 1


cdef public void GOMP_taskloop(void (*fn)(void *) noexcept nogil, void *data,
                               void (*cpyfn)(void *, void *) noexcept nogil, long arg_size, long arg_align,
                               unsigned flags, unsigned long num_tasks, int priority, long start, long end,
                               long step) noexcept nogil:
    """`#pragma omp taskloop`."""
    global tasks_entered
    find_tasks()
    tasks_entered += 1
    stock_taskloop(fn, data, cpyfn, arg_size, arg_align, flags, num_tasks, priority, start, end, step)
    tasks_entered -= 1


cdef public void GOMP_taskloop_ull(void (*fn)(void *) noexcept nogil, void *data,
                                   void (*cpyfn)(void *, void *) noexcept nogil, long arg_size, long arg_align,
                                   unsigned flags, unsigned long num_tasks, int priority, unsigned long long start,
                                   unsigned long long end, unsigned long long step) noexcept nogil:
    """`#pragma omp taskloop` with an unsigned variable of 64 bits."""
    global tasks_entered
    find_tasks()
    tasks_entered += 1
    stock_taskloop_ull(fn, data, cpyfn, arg_size, arg_align, flags, num_tasks, priority, start, end, step)
    tasks_entered -= 1


cdef inline bint in_team() noexcept nogil:
    """Whether the calling thread's tasks can be deferred: it is in a parallel region, or has made its team of one."""
    return (team_of_one or omp_get_level() != 0) and not omp_in_final()


cdef bint make_team() noexcept nogil:
    """See to it that the calling thread is in a team; False where it can't be."""
    cdef target_fn fn
    cdef void *no_arguments = NULL  # libgomp of gcc 13 and later reads them, whatever the device
    if (not team_of_one and not tasks_entered and omp_get_level() == 0 and not omp_in_final()
            and omp_get_num_teams() == 1):
        fn = <target_fn> stock_symbol(b"GOMP_target_ext")
        if fn != NULL:
            fn(GOMP_DEVICE_HOST_FALLBACK, gompy_no_region, 0, NULL, NULL, NULL, GOMP_TARGET_FLAG_NOWAIT, NULL,
               &no_arguments)
            gompy_made_team()
    return in_team()


# With OMP_TARGET_OFFLOAD=mandatory and no OMP_DEFAULT_DEVICE, libgomp 14 chooses the default device when it is asked
# first: of its own devices, and where it finds none the answer is omp_invalid_device.  Which devices there are is known
# here, so the initial thread's is set before that, and for threads that are not libgomp's that answer means the first one.

cdef int invalid_is_meant  # the program has set omp_invalid_device itself


cdef inline int stock_get_default_device() noexcept nogil:
    """The default-device-var ICV of the task that asks."""
    cdef int device = stock_default_device() if stock_default_device != NULL else 0
    if device == OMP_INVALID_DEVICE and not gompy_load(&invalid_is_meant):
        return 0
    return device


cdef void choose_default_device() noexcept nogil:
    """At the start of the program."""
    if (target_offload == OFFLOAD_MANDATORY and stock_set_default_device != NULL
            and secure_getenv(b"OMP_DEFAULT_DEVICE") == NULL and secure_getenv(b"OMP_DEFAULT_DEVICE_ALL") == NULL):
        stock_set_default_device(0)
