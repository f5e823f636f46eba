# Outside of teams an explicit task runs at once, and its record is on the stack of GOMP_task or GOMP_taskloop.  GCC
# 12's GOMP_target_ext, when it makes a team, frees the record of the task that it is in, be it that one; so it may not
# be asked for a team in there, and those functions have to come by here.


cdef extern from "doors/openmp/host_waits.h":
    void gompy_checked_task(task_fn stock, body_fn fn, void *data, copy_fn cpyfn, long arg_size, long arg_align,
                            c_bool if_clause, unsigned flags, void **depend, int priority,
                            void *detach) noexcept nogil
    uint64_t gompy_wait_begins() noexcept nogil
    void gompy_wait_ends(uint64_t task, bint waited) noexcept nogil


cdef inline void find_tasks() noexcept nogil:
    """For a constructor that makes tasks before this library has been initialised."""
    if stock_task == NULL:
        find_stock()


cdef public void GOMP_task(void (*fn)(void *) noexcept nogil, void *data,
                           void (*cpyfn)(
                               void *, void *
                           ) noexcept nogil, long arg_size, long arg_align, c_bool if_clause,
                           unsigned flags, void **depend, int priority, void *detach) noexcept nogil:
    """`#pragma omp task`."""
    global tasks_entered
    find_tasks()
    tasks_entered += 1
    if gompy_checking:
        gompy_checked_task(stock_task, fn, data, cpyfn, arg_size, arg_align, if_clause, flags, depend, priority, detach)
    else:
        stock_task(fn, data, cpyfn, arg_size, arg_align, if_clause, flags, depend, priority, detach)
    tasks_entered -= 1


cdef public void GOMP_taskloop(void (*fn)(void *) noexcept nogil, void *data,
                               void (*cpyfn)(void *, void *) noexcept nogil, long arg_size, long arg_align,
                               unsigned flags, unsigned long num_tasks, int priority, long start, long end,
                               long step) noexcept nogil:
    """`#pragma omp taskloop`."""
    global tasks_entered
    cdef uint64_t task
    find_tasks()
    tasks_entered += 1
    task = gompy_wait_begins() if gompy_checking else 0
    stock_taskloop(fn, data, cpyfn, arg_size, arg_align, flags, num_tasks, priority, start, end, step)
    if task:
        gompy_wait_ends(task, False)
    tasks_entered -= 1


cdef public void GOMP_taskloop_ull(void (*fn)(void *) noexcept nogil, void *data,
                                   void (*cpyfn)(void *, void *) noexcept nogil, long arg_size, long arg_align,
                                   unsigned flags, unsigned long num_tasks, int priority, unsigned long long start,
                                   unsigned long long end, unsigned long long step) noexcept nogil:
    """`#pragma omp taskloop` with an unsigned variable of 64 bits."""
    global tasks_entered
    cdef uint64_t task
    find_tasks()
    tasks_entered += 1
    task = gompy_wait_begins() if gompy_checking else 0
    stock_taskloop_ull(fn, data, cpyfn, arg_size, arg_align, flags, num_tasks, priority, start, end, step)
    if task:
        gompy_wait_ends(task, False)
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
