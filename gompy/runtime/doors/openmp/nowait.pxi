# nowait: target tasks are tasks of the stock libgomp, so that their order with the program's own tasks is right.
#
# On a device whose plugin can launch without waiting, by gompy_start_region or by async_run, a region is launched by
# the encountering thread if it has no depend clause, else by its task, when its dependences are met; the task waits
# for the region's end, unmaps, and ends.  On other devices (nvptx) a region with a depend clause is run by its task,
# and one without has no use for nowait.  With gompy_start_region it waits in the plugin, so that no other thread of
# the host is involved; async_run's plugin tells the end in a thread of its own.  Detached tasks would spare the
# waiting, but GCC 12's libgomp ends one too early if a thread that waits for dependences happens to run it
# (gomp_task_maybe_wait_for_dependencies does not look at its event).

cdef struct TargetTask:
    DeviceDescr *dev
    void (*fn)(void *) noexcept nogil
    MapList maps
    void **args
    const char *reason
    char *kept  # what keep_entries took, or NULL
    unsigned flags
    const void *where  # the directive
    void *frame  # its function's frame, for the checks (gompy_keep_frame)
    bint launched
    uint64_t epoch  # of the device at that time
    TargetMem *tgt
    pthread_mutex_t lock
    pthread_cond_t wake
    bint over  # the plugin has reported the region's end
    uint64_t ticket  # of gompy_start_region
    uint64_t deferred  # of note_deferred


cdef size_t count_args(void **args) noexcept nogil:
    """Words of GOMP_target_ext's args, the closing NULL included."""
    cdef void **at = args
    cdef LaunchWord word
    while take_word(&at, &word):
        pass
    return <size_t> (at - args) + 1 if args != NULL else 0


cdef void follow_list(const MapList *copy, void **listed) noexcept nogil:
    """Addresses of the list's own words (Fortran's firstprivate of an allocatable) become those of the copy's."""
    cdef uintptr_t at
    cdef size_t i
    for i in range(1, copy.mapnum):
        at = <uintptr_t> copy.hostaddrs[i] - <uintptr_t> listed
        if kind_at(copy, i) == GOMP_MAP_ATTACH and at < copy.mapnum * sizeof(void *):
            copy.hostaddrs[i] = &copy.hostaddrs[at // sizeof(void *)]


cdef TargetTask *new_task(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, const MapList *maps,
                          void **args) noexcept nogil:
    """A construct's lists and firstprivate data, copied: the originals are gone when the task runs."""
    cdef size_t n = maps.mapnum
    cdef size_t words = count_args(args)
    cdef size_t private_size = firstprivate_size(maps) if fn != NULL else 0
    cdef size_t kept = keep_entries(NULL, maps) if fn != NULL else 0
    cdef TargetTask *task = <TargetTask *> calloc(1, sizeof(TargetTask) + words * sizeof(void *) + kept + private_size
                                                  + n * (sizeof(void *) + sizeof(size_t) + sizeof(unsigned short)))
    if task == NULL:
        gompy_fatal(b"Out of memory allocating %lu bytes", <unsigned long> (sizeof(TargetTask) + private_size))
    task.dev = dev
    task.fn = fn
    task.maps = maps[0]
    task.maps.hostaddrs = <void **> (task + 1)
    task.maps.sizes = <size_t *> (task.maps.hostaddrs + n)
    if words:
        task.args = <void **> (task.maps.sizes + n)
        memcpy(task.args, args, words * sizeof(void *))
    task.maps.kinds = <char *> (task.maps.sizes + n + words) + kept
    if n:
        memcpy(task.maps.hostaddrs, maps.hostaddrs, n * sizeof(void *))
        memcpy(task.maps.sizes, maps.sizes, n * sizeof(size_t))
        memcpy(task.maps.kinds, maps.kinds, n * sizeof(unsigned short))
        follow_list(&task.maps, maps.hostaddrs)
    if kept:
        task.kept = <char *> (task.maps.sizes + n + words)
        keep_entries(task.kept, &task.maps)
    if private_size:
        copy_firstprivate(<char *> (<unsigned short *> task.maps.kinds + n), &task.maps)
    return task


cdef public void GOMP_PLUGIN_target_task_completion(void *async_data) noexcept nogil:
    """A plugin says that a region of async_run is over; from any thread, also before async_run returns."""
    cdef TargetTask *task = <TargetTask *> async_data
    pthread_mutex_lock(&task.lock)
    task.over = True
    pthread_cond_signal(&task.wake)
    pthread_mutex_unlock(&task.lock)


cdef void launch_async(TargetTask *task, bint awaited) noexcept nogil:
    """Map and launch a region; if it cannot be, the reason is kept and `launched` not set.

    awaited: the caller has nothing to do until its end; so always where the device does not run regions later.
    """
    cdef void *address = region_on_device(task.dev, task.fn, &task.reason)
    cdef void *vars = NULL
    if address == NULL:
        return
    if task.dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM:
        vars = <void *> task.maps.hostaddrs
    elif task.maps.mapnum:
        gompy_lock_acquire(&task.dev.lock)
        if task.kept != NULL:
            prefer_mapped(task.dev, task.kept, &task.maps)
        task.tgt = map_for_target(task.dev, task.fn, &task.maps)
        gompy_lock_release(&task.dev.lock)
        if task.tgt == NULL:
            task.reason = b"the device is finalized"
            return
        vars = <void *> task.tgt.tgt_start
    task.launched = True
    task.epoch = task.dev.epoch
    begin_launch(task.dev, <void *> task.fn, b", nowait")
    if not device_tells_ends(task.dev):
        if not awaited:
            task.ticket = device_start(task.dev, <void *> task.fn, address, vars, task.maps.mapnum, task.args)
        if task.ticket == 0:
            device_run(task.dev, <void *> task.fn, address, vars, task.maps.mapnum, task.args)
            task.over = True
        return
    pthread_mutex_init(&task.lock, NULL)
    pthread_cond_init(&task.wake, NULL)
    device_async_run(task.dev, <void *> task.fn, address, vars, task.maps.mapnum, task.args, task)


cdef void await_async(TargetTask *task) noexcept nogil:
    """Wait for the end of a region that launch_async has launched."""
    if not device_tells_ends(task.dev):
        if not task.over:
            device_await(task.dev, <void *> task.fn, task.ticket)
        return
    pthread_mutex_lock(&task.lock)
    while not task.over:
        pthread_cond_wait(&task.wake, &task.lock)
    pthread_mutex_unlock(&task.lock)
    pthread_mutex_destroy(&task.lock)
    pthread_cond_destroy(&task.wake)


cdef void copy_task_pointer(void *to, void *data) noexcept nogil:
    """libgomp may drop a task when its region is cancelled, but not one with a copy function: these always run."""
    (<void **> to)[0] = (<void **> data)[0]


cdef void free_task(TargetTask *task) noexcept nogil:
    """The construct is over."""
    gompy_in_frame(NULL)
    free(task.frame)
    free(task)


cdef void target_task_body(void *data) noexcept nogil:
    """A target task, its dependences met: launch it, unless that is done, and bring it to its end."""
    cdef TargetTask *task = (<TargetTask **> data)[0]
    cdef Construct construct
    cdef uint64_t before = begin_deferred(task.deferred)
    if not task.launched and construct_cancelled():
        end_deferred(before, True)
        free_task(task)
        return
    gompy_in_frame(task.frame)
    enter_construct(&construct, b"target nowait", task.where, <void *> task.fn, task.dev)
    if task.dev != NULL and not task.launched:
        launch_async(task, True)
    if task.launched:
        if task.epoch != task.dev.epoch:
            gompy_in_frame(NULL)
            leave_construct(&construct, task.dev)
            end_deferred(before, True)
            return  # forked meanwhile: the region is the parent's
        await_async(task)
        if task.tgt != NULL:
            unmap_construct(task.tgt)
    else:
        gompy_in_frame(NULL)
        region_on_host(task.dev, task.fn, task.maps.hostaddrs, task.args, task.reason)
    end_deferred(before, True)
    leave_construct(&construct, task.dev)
    free_task(task)


cdef inline bint defers_region(const DeviceDescr *dev, void **depend) noexcept nogil:
    """Whether a region with nowait becomes a task.

    With depend it does on every device: what it waits for may be behind it in this thread (omp_fulfill_event).  Where
    regions are recorded, too: it is launched by its task then, and may wait for what this thread does meanwhile.
    """
    return dev == NULL or device_runs_later(dev) or depend != NULL or launches_in_turn


cdef void defer_target(DeviceDescr *dev, void (*fn)(void *) noexcept nogil, const MapList *maps, void **depend,
                       void **args, const char *reason, const void *where) noexcept nogil:
    """`target nowait` in a team, where defers_region."""
    cdef TargetTask *task
    cdef uint64_t before
    if construct_cancelled():
        return
    task = new_task(dev, fn, maps, args)
    task.deferred = note_deferred(dev, &task.maps, depend != NULL)
    before = begin_deferred(task.deferred)
    task.reason = reason
    task.where = where
    task.frame = gompy_keep_frame() if gompy_checking else NULL
    # Calls of the host are served by the thread that waits.
    if dev != NULL and depend == NULL and not calls_of_host_required() and not launches_in_turn:
        launch_async(task, False)
    GOMP_task(target_task_body, &task, copy_task_pointer, sizeof(void *), sizeof(void *), True,
              GOMP_TASK_FLAG_DEPEND if depend != NULL else 0, depend, 0, NULL)
    end_deferred(before, False)


cdef void data_task_body(void *data) noexcept nogil:
    cdef TargetTask *task = (<TargetTask **> data)[0]
    gompy_in_frame(task.frame)
    if construct_cancelled():
        pass
    elif task.flags & GOMP_TARGET_FLAG_UPDATE:
        update_now(task.dev, &task.maps, task.where)
    else:
        enter_exit_now(task.dev, &task.maps, task.flags, task.where)
    free_task(task)


cdef void defer_data(DeviceDescr *dev, const MapList *maps, unsigned flags, void **depend,
                     const void *where) noexcept nogil:
    """update, enter data, exit data with nowait and depend, in a team."""
    cdef TargetTask *task
    if construct_cancelled():
        return
    task = new_task(dev, NULL, maps, NULL)
    task.flags = flags
    task.where = where
    task.frame = gompy_keep_frame() if gompy_checking else NULL
    GOMP_task(data_task_body, &task, copy_task_pointer, sizeof(void *), sizeof(void *), True, GOMP_TASK_FLAG_DEPEND,
              depend, 0, NULL)
