# The control variables of OpenMP on the device: what a region changes is put back after it.

cdef extern from *:
    """
    extern void GOMP_teams (unsigned, unsigned);
    extern int omp_get_max_threads (void), omp_get_dynamic (void), omp_get_max_active_levels (void);
    extern int omp_get_thread_limit (void), omp_get_num_teams (void), omp_get_team_num (void), omp_get_num_procs (void);
    extern int omp_get_max_teams (void), omp_get_teams_thread_limit (void);
    extern void omp_set_num_threads (int), omp_set_dynamic (int), omp_set_max_active_levels (int);
    extern void omp_get_schedule (int *, int *), omp_set_schedule (int, int);
    typedef _Bool (*mic_teams_function) (unsigned, unsigned, unsigned, _Bool);
    """
    ctypedef bint c_bool "_Bool"  # of which a caller sets the lowest byte alone
    void GOMP_teams(unsigned num_teams, unsigned thread_limit) nogil
    int omp_get_max_threads() nogil
    int omp_get_num_procs() nogil
    int omp_get_dynamic() nogil
    int omp_get_max_active_levels() nogil
    int omp_get_thread_limit() nogil
    int omp_get_num_teams() nogil
    int omp_get_team_num() nogil
    int omp_get_max_teams() nogil
    int omp_get_teams_thread_limit() nogil
    void omp_set_num_threads(int n) nogil
    void omp_set_dynamic(int n) nogil
    void omp_set_max_active_levels(int n) nogil
    void omp_get_schedule(int *kind, int *chunk) nogil
    void omp_set_schedule(int kind, int chunk) nogil

# GOMP_teams4 of libgomp: the program has one of its own in front of it (device_teams.pxi).
cdef extern from *:
    ctypedef bint (*teams_function "mic_teams_function")(
        unsigned lo, unsigned hi, unsigned thread_limit, bint first
    ) noexcept nogil

cdef teams_function stock_teams

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

    What it set for teams stays: these variables are the device's (OpenMP 5.1, 2.4.1: scope of nteams-var).
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
        stock_teams(1, 1, 0, True)


cdef inline void limit_threads(uint64_t limit) noexcept nogil:
    """The thread_limit of a launch, 0: none."""
    if limit != 0:
        GOMP_teams(0, <unsigned>limit)
