# nowait: target tasks are tasks of the stock libgomp, so that their order with the program's own tasks is right.
#
# In a team, on a device whose plugin has async_run, the task is a detached one: it ends when the region has, and until
# then no thread of the team waits for it.  The plugin reports the end from any thread; the unmapping, which calls the
# plugin again, is done by a thread of libgompy's.  Without depend, mapping and launch happen at once in the encountering
# thread, as in libgomp.

cdef enum:
    TASK_RUNNING = 0
    TASK_ENDED_EARLY = 1  # the plugin reported the end before async_run returned
    TASK_LAUNCHED = 2  # async_run has returned

cdef struct TargetTask:
    uintptr_t event  # stored by GOMP_task
    DeviceDescr *dev
    void (*fn)(void *) noexcept nogil
    size_t mapnum
    void **hostaddrs
    size_t *sizes
    unsigned short *kinds
    void **args
    const char *reason
    unsigned flags
    int state
    bint detached
    TargetMem *tgt
    TargetTask *next

cdef pthread_mutex_t finisher_lock
cdef pthread_cond_t finisher_wake
cdef TargetTask *finished_tasks
cdef bint finisher_runs


cdef size_t count_args(void **args) noexcept nogil:
    """Words of GOMP_target_ext's args, the closing NULL included."""
    cdef size_t n = 0
    if args == NULL:
        return 0
    while args[n] != NULL:
        n += 2 if <intptr_t> args[n] & GOMP_TARGET_ARG_SUBSEQUENT_PARAM else 1
    return n + 1


cdef TargetTask *new_task(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs,
                          const size_t *sizes, const unsigned short *kinds, void **args) noexcept nogil:
    """A construct's lists and firstprivate data, copied: the originals are gone when the task runs."""
    cdef size_t words = count_args(args)
    cdef size_t private_size = firstprivate_size(mapnum, sizes, kinds) if fn != NULL else 0
    cdef TargetTask *task = <TargetTask *> calloc(1, sizeof(TargetTask) + words * sizeof(void *) + private_size + mapnum
                                                  * (sizeof(void *) + sizeof(size_t) + sizeof(unsigned short)))
    if task == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (sizeof(TargetTask) + private_size))
    task.dev = dev
    task.fn = fn
    task.mapnum = mapnum
    task.hostaddrs = <void **> (task + 1)
    task.sizes = <size_t *> (task.hostaddrs + mapnum)
    if words:
        task.args = <void **> (task.sizes + mapnum)
        memcpy(task.args, args, words * sizeof(void *))
    task.kinds = <unsigned short *> (task.sizes + mapnum + words)
    if mapnum:
        memcpy(task.hostaddrs, hostaddrs, mapnum * sizeof(void *))
        memcpy(task.sizes, sizes, mapnum * sizeof(size_t))
        memcpy(task.kinds, kinds, mapnum * sizeof(unsigned short))
    if private_size:
        copy_firstprivate(<char *> (task.kinds + mapnum), mapnum, task.hostaddrs, sizes, kinds)
    return task


cdef void end_task(TargetTask *task) noexcept nogil:
    """Unmap, and tell the stock libgomp that a detached task is over."""
    cdef uintptr_t event = task.event
    cdef bint detached = task.detached
    if task.tgt != NULL:
        unmap_construct(task.tgt)
    free(task)
    if detached:
        omp_fulfill_event(event)


cdef void *finish_tasks(void *unused) noexcept nogil:
    """The thread that ends tasks that the plugin has reported."""
    cdef TargetTask *task
    cdef TargetTask *next
    while True:
        pthread_mutex_lock(&finisher_lock)
        while finished_tasks == NULL:
            pthread_cond_wait(&finisher_wake, &finisher_lock)
        task = take_finished()
        pthread_mutex_unlock(&finisher_lock)
        while task != NULL:
            next = task.next
            end_task(task)
            task = next
    return NULL


cdef TargetTask *take_finished() noexcept nogil:
    global finished_tasks
    cdef TargetTask *task = finished_tasks
    finished_tasks = NULL
    return task


cdef void hand_to_finisher(TargetTask *task) noexcept nogil:
    global finished_tasks, finisher_runs
    cdef pthread_t thread
    cdef int rc = 0
    pthread_mutex_lock(&finisher_lock)
    if not finisher_runs:
        rc = pthread_create(&thread, NULL, finish_tasks, NULL)
        if rc == 0:
            pthread_detach(thread)
            finisher_runs = True
    task.next = finished_tasks
    finished_tasks = task
    pthread_cond_signal(&finisher_wake)
    pthread_mutex_unlock(&finisher_lock)
    if rc:
        gompy_fatal(b"no thread to end a nowait region: %s", strerror(rc))


cdef void reset_finisher() noexcept nogil:
    """In a forked child, which has no such thread."""
    global finished_tasks, finisher_runs
    pthread_mutex_init(&finisher_lock, NULL)
    pthread_cond_init(&finisher_wake, NULL)
    finished_tasks = NULL
    finisher_runs = False


cdef public void GOMP_PLUGIN_target_task_completion(void *async_data) noexcept nogil:
    """A plugin says that a region of async_run is over; from any thread, also before async_run returns."""
    cdef TargetTask *task = <TargetTask *> async_data
    if gompy_swap(&task.state, TASK_ENDED_EARLY) == TASK_LAUNCHED:
        hand_to_finisher(task)


cdef bint launch_async(TargetTask *task) noexcept nogil:
    """Map and launch; False, with the reason kept, if the region has to run on the host."""
    cdef void *address = region_on_device(task.dev, task.fn, &task.reason)
    cdef void *vars = NULL
    if address == NULL:
        return False
    if task.dev.capabilities & CAP_SHARED_MEM:
        vars = <void *> task.hostaddrs
    elif task.mapnum:
        task.tgt = map_for_target(task.dev, task.mapnum, task.hostaddrs, task.sizes, task.kinds, True)
        if task.tgt == NULL:
            task.reason = b"the device is finalized"
            return False
        vars = <void *> task.tgt.tgt_start
    gompy_count(&task.dev.launches)
    task.dev.ops.async_run(task.dev.target_id, address, vars, task.args, task)
    if gompy_swap(&task.state, TASK_LAUNCHED) == TASK_ENDED_EARLY:
        end_task(task)
    return True


cdef void target_task_body(void *data) noexcept nogil:
    """A deferred target task, its dependences met."""
    cdef TargetTask *task = (<TargetTask **> data)[1]
    if task.detached:
        task.event = (<uintptr_t *> data)[0]
        if launch_async(task):
            return
    region_on_host(task.dev, task.fn, task.hostaddrs, task.args, task.reason)
    end_task(task)


cdef void empty_task_body(void *data) noexcept nogil:
    """A task whose end is its event."""


cdef void defer_target(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, size_t mapnum, void **hostaddrs,
                       size_t *sizes, unsigned short *kinds, void **depend, void **args,
                       const char *reason) noexcept nogil:
    """`target nowait` in a team; on a device with async_run, or on the host."""
    cdef TargetTask *task
    cdef void *data[2]
    cdef uintptr_t event = 0
    cdef unsigned flags = 0
    if construct_cancelled():
        return
    task = new_task(dev, fn, mapnum, hostaddrs, sizes, kinds, args)
    task.reason = reason
    task.detached = dev != NULL
    if depend != NULL:
        flags |= GOMP_TASK_FLAG_DEPEND
    if task.detached:
        flags |= GOMP_TASK_FLAG_DETACH
    data[0] = NULL
    data[1] = task
    if task.detached and depend == NULL:
        GOMP_task(empty_task_body, data, NULL, sizeof(data), sizeof(void *), True, flags, NULL, 0, &event)
        task.event = event
        if not launch_async(task):
            region_on_host(dev, fn, task.hostaddrs, task.args, task.reason)
            end_task(task)
        return
    GOMP_task(target_task_body, data, NULL, sizeof(data), sizeof(void *), True, flags, depend, 0, &event)


cdef void data_task_body(void *data) noexcept nogil:
    cdef TargetTask *task = (<TargetTask **> data)[0]
    if task.flags & GOMP_TARGET_FLAG_UPDATE:
        update_now(task.dev, task.mapnum, task.hostaddrs, task.sizes, task.kinds, True)
    else:
        enter_exit_now(task.dev, task.mapnum, task.hostaddrs, task.sizes, task.kinds, task.flags)
    free(task)


cdef void defer_data(DeviceDescr *dev, size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds,
                     unsigned flags, void **depend) noexcept nogil:
    """update, enter data, exit data with nowait and depend, in a team."""
    cdef TargetTask *task
    if construct_cancelled():
        return
    task = new_task(dev, NULL, mapnum, hostaddrs, sizes, kinds, NULL)
    task.flags = flags
    GOMP_task(data_task_body, &task, NULL, sizeof(void *), sizeof(void *), True, GOMP_TASK_FLAG_DEPEND, depend, 0, NULL)
