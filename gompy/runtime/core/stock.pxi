# The stock libgomp behind this library.  What has another name is called directly; what libgompy defines as well is
# reached by its address, looked up once.

cdef extern from "core/stock_symbol.h":
    void *stock_symbol "gompy_stock_symbol"(const char *name) noexcept nogil

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
    int omp_get_num_procs() noexcept nogil
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
cdef bint stock_knows_default  # it is GCC 15's or newer, whose omp.h has omp_default_device
cdef task_fn stock_task
cdef taskloop_fn stock_taskloop
cdef taskloop_ull_fn stock_taskloop_ull

# Outside any parallel region libgomp makes a team of one thread for the first `target nowait`: from then on tasks of
# that thread can be deferred.  Only its GOMP_target_ext does that, so it is called once in a thread, with nothing to
# do.
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


cdef void find_stock() noexcept nogil:
    global stock_default_device, stock_set_default_device, stock_pause_all
    global stock_task, stock_taskloop, stock_taskloop_ull, stock_knows_default
    stock_knows_default = stock_symbol(b"GOMP_interop") != NULL
    stock_default_device = <int_fn> stock_symbol(b"omp_get_default_device")
    stock_set_default_device = <void_int_fn> stock_symbol(b"omp_set_default_device")
    stock_pause_all = <int_int_fn> stock_symbol(b"omp_pause_resource_all")
    stock_task = <task_fn> stock_symbol(b"GOMP_task")
    stock_taskloop = <taskloop_fn> stock_symbol(b"GOMP_taskloop")
    stock_taskloop_ull = <taskloop_ull_fn> stock_symbol(b"GOMP_taskloop_ull")
