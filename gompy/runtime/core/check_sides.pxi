# A subscriber for `gompy run --check`: which side of a mapping is newer (check_stale.h).

cdef extern from "core/check_stale.h" nogil:
    int gompy_tracking
    uint64_t gompy_stale_begun, gompy_stale_time
    pthread_mutex_t gompy_stale_lock
    int (*gompy_peek)(int device, void *to, uintptr_t target, size_t size) noexcept nogil
    int (*gompy_mark)(int device, uintptr_t target, unsigned char *stale, size_t size) noexcept nogil
    int (*gompy_is_looked_at)(int device, uintptr_t target) noexcept nogil
    int gompy_read_host(void *to, uintptr_t source, size_t size)
    int (*gompy_left)(int device, uintptr_t target, unsigned char *stale, size_t size) noexcept nogil
    void (*gompy_release_held)() noexcept nogil
    int (*gompy_hash_target)(int device, uintptr_t target, size_t size, uint64_t *hash) noexcept nogil
    int (*gompy_may_be_written)(int device, uintptr_t target, size_t size) noexcept nogil
    int (*gompy_may_be_unset)(int device, uintptr_t target, size_t size) noexcept nogil
    int (*gompy_new_contents)(int device, uintptr_t target, unsigned char *to, size_t size) noexcept nogil
    int gompy_watch_handles
    int gompy_holds
    uint64_t gompy_now()
    int (*gompy_find_unset)(int device, uintptr_t target, unsigned char *unset, size_t size) noexcept nogil
    void gompy_stale_new(int device, uintptr_t host, uintptr_t target, size_t size, bint filled, bint for_ever,
                         bint fresh)
    void gompy_stale_copied(int device, uintptr_t target, uintptr_t host, size_t size, bint to_device,
                            bint in_construct)
    void gompy_stale_begin_region(int device)
    void gompy_stale_end_region(int device)
    void gompy_stale_watch()
    void gompy_stale_construct(bint begins, bint hold)
    void gompy_need_held(uintptr_t begin, size_t size, bint writes)
    void gompy_stale_copies(int device, uintptr_t target, uintptr_t host, size_t size)
    void gompy_stop_tracking()
    uint64_t (*gompy_devices_spent)(uint64_t *ran) noexcept nogil
    int gompy_rest_watches
    enum:
        REST_WATCHES "GOMPY_REST_WATCHES"
    void gompy_rest_watch()
    void gompy_stale_hear()
    void gompy_stale_listen()
    void gompy_flight_new(uint64_t construct, int device, uintptr_t host, uintptr_t target, size_t size, bint back)
    void gompy_flight_begins(uint64_t construct, bint later)
    void gompy_flight_made(uint64_t construct)
    void gompy_flight_ends(int device, uintptr_t host)
    void gompy_flight_returns(int device, uintptr_t host, size_t size)
    void gompy_flight_queued(int device, void *queue, uintptr_t host, uintptr_t target, size_t size, bint back,
                             bint in_region)
    void gompy_flight_waited(int device, void *queue)
    void gompy_flight_ordered(int device, void *first, void *then)
    void gompy_flight_shared()
    int gompy_queues_used
    void gompy_queue_ended(int device, void *queue)
    void *gompy_queue_in_flight(int device, unsigned *n)
    unsigned gompy_flights_begun()
    uint64_t gompy_deferred_now, gompy_deferred_last
    bint gompy_tasks_unseen
    void gompy_deferred_new(uint64_t number, int device, uintptr_t host, size_t size, bint back, bint depend)
    void gompy_deferred_ends(uint64_t number, uintptr_t host)
    int gompy_watch_on
    struct gompy_access_state "gompy_access":
        bint hooked
    gompy_access_state gompy_access
    void gompy_end_watch()

cdef bint host_noted
cdef bint holder_copies  # the regions of the device that gompy_holds says have the program's memory in copies alone


cdef void take_bytes(const void *memory, size_t size, void *to) noexcept nogil:
    memcpy(to, memory, size)


cdef int peek_side(int number, void *to, uintptr_t target, size_t size) noexcept nogil:
    """Look at a device's memory.  The handler of the watch may have stopped the program in the driver, so it does not
    ask that."""
    if gompy_watch_handles == 0 and device_use(&devices[number], target, size, take_bytes, to):
        return True
    if devices[number].type == GOMP_DEVICE_NVIDIA_PTX and gompy_read_host(to, target, size):
        return True
    return device_peek(&devices[number], to, <void *> target, size)


cdef void hash_bytes(const void *memory, size_t size, void *hash) noexcept nogil:
    (<uint64_t *> hash)[0] = gompy_hash(memory, size)


cdef int hash_side(int number, uintptr_t target, size_t size, uint64_t *hash) noexcept nogil:
    """What a device's contents hash to, or False."""
    return device_use(&devices[number], target, size, hash_bytes, hash)


cdef int is_looked_at(int number, uintptr_t target) noexcept nogil:
    """Whether a device's memory can be looked at any time, also while the program is stopped at an access.

    The emulated GPU has its memory in the program's process, at the same addresses.
    """
    cdef char byte
    if devices[number].type == GOMP_DEVICE_NVIDIA_PTX:
        return gompy_read_host(&byte, target, 1)
    return devices[number].type == GOMP_DEVICE_INTEL_MIC


cdef int mark_side(int number, uintptr_t target, unsigned char *stale, size_t size) noexcept nogil:
    return device_mark_stale(&devices[number], target, stale, size)


cdef int left_side(int number, uintptr_t target, unsigned char *stale, size_t size) noexcept nogil:
    return device_stale_left(&devices[number], target, stale, size)


cdef int unset_side(int number, uintptr_t target, unsigned char *unset, size_t size) noexcept nogil:
    return device_find_unset(&devices[number], target, unset, size)


cdef int is_unset_side(int number, uintptr_t target, size_t size) noexcept nogil:
    return device_may_be_unset(&devices[number], target, size)


cdef int is_written_side(int number, uintptr_t target, size_t size) noexcept nogil:
    return device_may_be_written(&devices[number], target, size)


cdef int new_side(int number, uintptr_t target, unsigned char *to, size_t size) noexcept nogil:
    return device_new_contents(&devices[number], target, to, size)


cdef void track_globals(DeviceDescr *dev) noexcept nogil:
    """The variables of images that have been loaded since the last region."""
    global images_seen
    cdef RangeCursor place
    cdef SplayNode *node
    if dev.images == images_seen or not gompy_lock_try(&dev.lock):
        return
    images_seen = dev.images
    place = all_ranges(&dev.mem_map)
    while True:
        node = next_range(&place)
        if node == NULL:
            break
        if node.ref_kind == REF_INFINITY and of_image(node) and node.host_end - node.host_start > 1:
            track_node(dev, node, not has_rested)
    gompy_lock_release(&dev.lock)


cdef void note_map(const HookEvent *event) noexcept nogil:
    """A mapping was made; pointers and descriptors are the compiler's own.

    The device memory of one that a routine has associated may have been written before (map_kind -1).
    """
    if event.detail == MAP_NEW and event.map_kind < 0:
        gompy_stale_new(event.device, event.host, event.target, event.size, False, False, False)
    elif event.detail == MAP_NEW and not is_pointer_kind(event.map_kind) and event.map_kind != GOMP_MAP_TO_PSET:
        gompy_stale_new(event.device, event.host, event.target, event.size, event.bytes != 0, False,
                        event.construct != NULL)
    elif event.detail == MAP_ATTACHED and event.target:
        gompy_stale_copied(event.device, event.target, event.host, sizeof(void *), True, False)


cdef void note_flight(const HookEvent *event) noexcept nogil:
    """What a region maps that runs beside the program (check_flight.h)."""
    if event.kind == HOOK_COPY and event.phase == PHASE_BEGIN and event.detail == COPY_TO_HOST and event.queue == NULL:
        gompy_flight_returns(event.device, event.host, event.size)
    if event.construct == NULL or event.queue != NULL:
        return
    if event.kind == HOOK_MAP and event.detail == MAP_NEW and event.map_kind >= 0 and \
            has_property(event.map_kind, KIND_FILLED | KIND_FROM) and not is_pointer_kind(event.map_kind):
        gompy_flight_new(event.construct.number, event.device, event.host, event.target, event.size,
                         has_property(event.map_kind, KIND_FROM))
    elif event.kind == HOOK_MAP and (event.detail == MAP_REMOVED or event.detail == MAP_KEPT):
        gompy_flight_ends(event.device, event.host)
        if event.detail == MAP_KEPT:
            gompy_deferred_ends(gompy_deferred_now, event.host)
    elif event.kind == HOOK_LAUNCH and event.phase == PHASE_BEGIN and (event.detail == LAUNCH_LATER
                                                                       or gompy_deferred_now):
        gompy_flight_begins(event.construct.number, event.detail == LAUNCH_LATER)
    elif event.kind == HOOK_CONSTRUCT and event.phase == PHASE_END:
        gompy_flight_made(event.construct.number)
    else:
        return
    gompy_stale_listen()


cdef uint64_t note_deferred(const DeviceDescr *dev, const MapList *maps, bint depend) noexcept nogil:
    """A region with nowait is met, and what it is to copy (check_deferred.h); a number for begin_deferred, or 0."""
    global gompy_deferred_last
    cdef uint64_t number
    cdef size_t i
    cdef int kind
    if not gompy_checking or dev == NULL or gompy_tasks_unseen or omp_in_final() or \
            dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM or calls_of_host_required():
        return 0
    pthread_mutex_lock(&gompy_stale_lock)
    gompy_deferred_last += 1
    number = gompy_deferred_last
    for i in range(maps.mapnum):
        kind = kind_at(maps, i)
        if has_property(kind, KIND_FILLED | KIND_FROM) and not is_pointer_kind(kind) and \
                kind != GOMP_MAP_TO_PSET and maps.hostaddrs[i] != NULL:
            gompy_deferred_new(number, dev.number, <uintptr_t> maps.hostaddrs[i], maps.sizes[i],
                               has_property(kind, KIND_FROM), depend)
    pthread_mutex_unlock(&gompy_stale_lock)
    return number


cdef uint64_t begin_deferred(uint64_t number) noexcept nogil:
    """The calling thread is at work for that region; what end_deferred wants."""
    global gompy_deferred_now
    cdef uint64_t before = gompy_deferred_now
    gompy_deferred_now = number
    return before


cdef void end_deferred(uint64_t before, bint over) noexcept nogil:
    """It does something else; over: the region has ended."""
    global gompy_deferred_now
    if over and gompy_deferred_now:
        pthread_mutex_lock(&gompy_stale_lock)
        gompy_deferred_ends(gompy_deferred_now, 0)
        pthread_mutex_unlock(&gompy_stale_lock)
    gompy_deferred_now = before


cdef void note_queued(const HookEvent *event) noexcept nogil:
    """What the entry of a directive has put into its queue (check_queues.h)."""
    cdef void *queue = devices[event.device].queue
    cdef bint back
    if queue == NULL or event.bytes == 0 or event.map_kind < 0 or is_pointer_kind(event.map_kind) or \
            event.map_kind == GOMP_MAP_TO_PSET:
        return
    back = event.detail == MAP_KEPT or event.detail == MAP_REMOVED or \
        (event.detail == MAP_UPDATED and has_property(event.map_kind, KIND_FROM))
    if not back and event.detail != MAP_NEW and event.detail != MAP_PRESENT and event.detail != MAP_UPDATED:
        return
    gompy_flight_queued(event.device, queue, event.host, event.target, event.size, back,
                        event.construct != NULL and event.construct.region != NULL)
    gompy_stale_listen()


cdef void note_queue(const HookEvent *event) noexcept nogil:
    """A queue is waited for, by the program or by another one, or has ended."""
    if event.phase != PHASE_END or event.queue == NULL:
        return
    pthread_mutex_lock(&gompy_stale_lock)
    if event.detail == QUEUE_WAIT:
        gompy_flight_waited(event.device, event.queue)
    elif event.detail == QUEUE_ORDER:
        gompy_flight_ordered(event.device, event.queue, <void *> event.host)
    elif event.detail == QUEUE_DROP:
        gompy_queue_ended(event.device, event.queue)
    gompy_stale_listen()
    pthread_mutex_unlock(&gompy_stale_lock)


cdef void check_queue_empty(const DeviceDescr *dev, void *queue) noexcept nogil:
    """The program has asked whether a queue is empty, and it is."""
    if gompy_checking:
        pthread_mutex_lock(&gompy_stale_lock)
        gompy_flight_waited(dev.number, queue)
        gompy_stale_listen()
        pthread_mutex_unlock(&gompy_stale_lock)


cdef void check_streams_shared() noexcept nogil:
    """The program has what stands behind the queues, and may wait for that."""
    if gompy_checking:
        pthread_mutex_lock(&gompy_stale_lock)
        gompy_flight_shared()
        pthread_mutex_unlock(&gompy_stale_lock)


cdef void settle_queues() noexcept nogil:
    """The program goes on: what the emulated MIC's queues have to do is done first, so that their threads sleep.

    Those of the emulated GPU are waited for when the watch begins: to wait here would order streams (GOMPY_CHECK=race).
    """
    cdef unsigned n
    cdef int i
    cdef void *queue
    for i in range(num_devices):
        if devices[i].type != GOMP_DEVICE_INTEL_MIC:
            continue
        n = 0
        while True:
            pthread_mutex_lock(&gompy_stale_lock)
            queue = gompy_queue_in_flight(i, &n)
            pthread_mutex_unlock(&gompy_stale_lock)
            if queue == NULL:
                break
            device_settle(&devices[i], queue)


cdef void note_memory(const HookEvent *event) noexcept nogil:
    """Device memory that the program itself asks for, and frees."""
    cdef const char *what
    if event.phase != PHASE_END or event.construct == NULL or not event.good and event.kind == HOOK_ALLOC:
        return
    what = event.construct.what
    if strncmp(what, b"omp_", 4) == 0 or strncmp(what, b"acc_malloc", 10) == 0 or strncmp(what, b"acc_free", 8) == 0:
        gompy_log_frame()
        gompy_log(EVENT_ALLOC if event.kind == HOOK_ALLOC else EVENT_FREED, 0 if event.good else -1,
                  event.device, what, NULL, 0, event.size, event.target, 0, 0)


cdef void release_held() noexcept nogil:
    """No device needs to keep its memory open any longer."""
    global gompy_holds
    if gompy_holds:
        device_hold(&devices[gompy_holds - 1], False)
        gompy_holds = 0


cdef void note_holder(const HookEvent *event) noexcept nogil:
    """Have a device keep its memory open while a construct runs, but not while its region runs on the host.

    At the construct's end note_side takes that back.
    """
    global gompy_holds, holder_copies
    if event.kind == HOOK_FALLBACK:
        release_held()
    elif event.construct.outer == NULL and event.phase == PHASE_BEGIN and gompy_holds == 0 and event.device >= 0 and \
            devices[event.device].state == DEVICE_INITIALIZED:
        gompy_holds = event.device + 1
        holder_copies = device_hold(&devices[event.device], True)


cdef bint is_held_for(const HookEvent *event) noexcept nogil:
    """Whether the program's pages may stay closed while a construct runs: nobody but the runtime is at work then, or
    kernels that have no memory of the program's own."""
    if event.device < 0 or devices[event.device].state != DEVICE_INITIALIZED or gompy_queues_used:
        return False
    return devices[event.device].type == GOMP_DEVICE_INTEL_MIC or gompy_holds == event.device + 1 and holder_copies


cdef void note_frame(const HookEvent *event) noexcept nogil:
    """Whether the program's code runs until the next event of this kind, or the runtime's for one construct."""
    if event.kind == HOOK_FALLBACK:
        gompy_frame_changes(event.phase == PHASE_END, False, 0)
    else:
        gompy_frame_changes(event.phase == PHASE_BEGIN or event.construct.outer != NULL,
                            event.phase == PHASE_BEGIN and event.construct.outer == NULL,
                            <uintptr_t> event.construct.where)


cdef void note_on_host(const HookEvent *event) noexcept nogil:
    """A region runs on the host although the program has not asked for that: nothing of it is checked."""
    global host_noted
    if event.phase != PHASE_BEGIN or host_noted or strcmp(event.reason, HOST_ASKED_FOR) == 0 or \
            strcmp(event.reason, HOST_OF_THREAD) == 0 or strcmp(event.reason, HOST_PROGRAM) == 0 or \
            strcmp(event.reason, host_number) == 0:
        return
    host_noted = True
    gompy_log_named(EVENT_ON_HOST, strcmp(event.reason, HOST_DISABLED) == 0, -1, 0, 0, 0, 0, 0, b"", event.reason)


cdef void end_watch() noexcept nogil:
    """The program's own code is about to run, and no page of its is to be closed."""
    pthread_mutex_lock(&gompy_stale_lock)
    gompy_end_watch()
    pthread_mutex_unlock(&gompy_stale_lock)


cdef inline bint ends_tracking(const HookEvent *event) noexcept nogil:
    """Whether what comes next has an order, or takes place, that is not followed."""
    return event.queue != NULL or event.kind == HOOK_DEVICE and event.detail == DEVICE_FINI or \
        event.detail == LAUNCH_LATER


cdef void note_side(HookEvent *event, int slot) noexcept nogil:
    """Both sides are compared at a construct's end yet, with the device's memory open."""
    cdef bint outermost = event.kind == HOOK_CONSTRUCT and event.construct.outer == NULL
    if outermost:
        bound_time(event)
    follow_side(event)
    if outermost and event.phase == PHASE_END:
        release_held()


cdef void follow_side(HookEvent *event) noexcept nogil:
    cdef uint64_t begin
    cdef bint beside
    if event.kind == HOOK_CONSTRUCT or event.kind == HOOK_FALLBACK:
        note_frame(event)
        note_holder(event)
        if event.kind == HOOK_FALLBACK:
            note_on_host(event)
            end_watch()
            return
    if event.kind == HOOK_ALLOC or event.kind == HOOK_FREE:
        note_memory(event)
        return
    if event.kind == HOOK_QUEUE:
        note_queue(event)
        return
    if gompy_queues_used and event.kind == HOOK_CONSTRUCT and event.phase == PHASE_END and \
            event.construct.outer == NULL:
        settle_queues()
    pthread_mutex_lock(&gompy_stale_lock)
    if event.kind == HOOK_COPY and event.phase == PHASE_BEGIN and event.detail != COPY_WITHIN:
        gompy_need_held(event.host, event.size, event.detail == COPY_TO_HOST)
        if not gompy_rests:
            gompy_stale_copies(event.device, event.target, event.host, event.size)
    note_flight(event)
    if event.kind == HOOK_MAP:
        note_queued(event)
    beside = gompy_flights_begun() != 0 or gompy_watch_on
    pthread_mutex_unlock(&gompy_stale_lock)
    if not gompy_tracking and not beside:
        return
    if gompy_rests and event.kind != HOOK_CONSTRUCT and not ends_tracking(event):
        note_in_rest(event)
        return
    # a launch has ten events, and each look takes as long as a rest's own
    begin = 0 if gompy_rests and gompy_rest_watches != REST_WATCHES else gompy_now()
    if event.kind == HOOK_CONSTRUCT:
        pthread_mutex_lock(&gompy_stale_lock)
        gompy_stale_construct(event.phase == PHASE_BEGIN, is_held_for(event))
        pthread_mutex_unlock(&gompy_stale_lock)
        if event.construct.outer != NULL or event.phase == PHASE_BEGIN:
            note_spent(begin)
            return
    pthread_mutex_lock(&gompy_stale_lock)
    if event.kind == HOOK_CONSTRUCT and gompy_rests:
        gompy_rest_watch()
    elif event.kind == HOOK_CONSTRUCT:
        gompy_stale_watch()
    elif not gompy_tracking:
        pass
    elif ends_tracking(event):
        gompy_stop_tracking()
    elif event.kind == HOOK_MAP:
        note_map(event)
    elif event.kind == HOOK_LAUNCH and event.phase == PHASE_BEGIN:
        track_globals(&devices[event.device])
        gompy_stale_begin_region(event.device)
    elif event.kind == HOOK_LAUNCH:
        gompy_stale_end_region(event.device)
    elif event.kind == HOOK_COPY and event.phase == PHASE_END and event.good:
        if event.detail == COPY_WITHIN:
            gompy_stop_tracking()
        else:
            gompy_stale_copied(event.device, event.target, event.host, event.size, event.detail == COPY_TO_DEVICE,
                               event.construct != NULL)
    note_spent(begin)
    pthread_mutex_unlock(&gompy_stale_lock)


cdef void follow_sides() noexcept nogil:
    """The run is checked."""
    global gompy_peek, gompy_is_looked_at, gompy_mark, gompy_left, gompy_find_unset, gompy_tracking, gompy_stale_begun
    global gompy_hash_target, gompy_release_held, gompy_may_be_written, gompy_new_contents
    global gompy_may_be_unset, gompy_devices_spent, gompy_rest_share
    gompy_peek = peek_side
    gompy_release_held = release_held
    gompy_hash_target = hash_side
    gompy_is_looked_at = is_looked_at
    gompy_may_be_written = is_written_side
    gompy_may_be_unset = is_unset_side
    gompy_new_contents = new_side
    gompy_mark = mark_side
    gompy_devices_spent = devices_spent
    gompy_left = left_side
    gompy_find_unset = unset_side
    gompy_stale_begun = gompy_now()
    gompy_rest_share = check_share(gompy_rest_share)
    gompy_tracking = 1
    gompy_stale_hear()
    if gompy_subscribe(HOOK_CONSTRUCT | HOOK_FALLBACK | HOOK_MAP | HOOK_COPY | HOOK_LAUNCH | HOOK_DEVICE | HOOK_ALLOC |
                       HOOK_FREE | HOOK_QUEUE, note_side) < 0:
        gompy_tracking = 0
