# OpenACC's constructs and calls, and the profiling interface of OpenACC 2.6: a subscriber of theirs (core/hooks.pxi).
# Events of a device's memory and launches come from its plugin, as libgomp's plugins do it.

cdef ProfCallback *prof_callbacks[26]
cdef bint prof_disabled[26]  # [ACC_EV_NONE]: all of them
cdef int prof_enabled  # a callback has been registered at some time, and prof_hook subscribes


cdef void prof_dispatch(AccProfInfo *info, AccEventInfo *event, AccApiInfo *api) noexcept nogil:
    """Call the callbacks of an event.  One that registers callbacks itself does not wait for itself."""
    cdef bint mine = gompy_lock_is_mine(&gompy_prof_lock)
    cdef ProfCallback *at
    cdef ProfCallback *next
    if not mine:
        gompy_lock_acquire(&gompy_prof_lock)
    if not prof_disabled[event.event_type]:
        at = prof_callbacks[event.event_type]
        while at != NULL:
            next = at.next
            if at.enabled:
                at.callback(info, event, api)
            at = next
    if not mine:
        gompy_lock_release(&gompy_prof_lock)


cdef public void GOMP_PLUGIN_goacc_profiling_dispatch(void *info, void *event, void *api) noexcept nogil:
    """A plugin reports an event."""
    tell_without_gaps(<const AccProfInfo *> info, <AccEventInfo *> event)
    prof_dispatch(<AccProfInfo *> info, <AccEventInfo *> event, <AccApiInfo *> api)


cdef void prof_hook(HookEvent *event, int slot) noexcept nogil:
    """A construct of this door begins or ends."""
    cdef ProfScope *scope = <ProfScope *> event.construct.door
    if event.construct.code == ACC_EV_NONE:
        return
    scope.info.event_type = event.construct.code + (1 if event.phase == PHASE_END else 0)
    scope.current.event_type = scope.info.event_type
    prof_dispatch(&scope.info, scope.current, &scope.api)


cdef void prof_enable() noexcept nogil:
    """From the first registration of a callback on."""
    global prof_enabled
    gompy_lock_acquire(&gompy_prof_lock)
    if not prof_enabled and gompy_subscribe(HOOK_CONSTRUCT, prof_hook) >= 0:
        gompy_store(&prof_enabled, 1)
    gompy_lock_release(&gompy_prof_lock)


cdef bint prof_wanted(GoaccThread *thr) noexcept nogil:
    """Whether this thread's events are to be dispatched."""
    if not gompy_load(&prof_enabled):
        return False
    if thr != NULL and not thr.prof_callbacks_enabled:
        return False
    return not prof_disabled[ACC_EV_NONE]


cdef void prof_fill(ProfScope *scope, int device_type, int number, int queue) noexcept nogil:
    memset(&scope.info, 0, sizeof(AccProfInfo))
    memset(&scope.event, 0, sizeof(AccEventInfo))
    memset(&scope.api, 0, sizeof(AccApiInfo))
    scope.current = &scope.event
    scope.info.event_type = -1
    scope.info.valid_bytes = sizeof(AccProfInfo)
    scope.info.version = ACC_PROF_VERSION
    scope.info.device_type = device_type
    scope.info.device_number = number
    scope.info.thread_id = -1
    scope.info.async_arg = queue
    scope.info.async_queue = queue
    scope.info.line_no = -1
    scope.info.end_line_no = -1
    scope.info.func_line_no = -1
    scope.info.func_end_line_no = -1
    scope.event.valid_bytes = ACC_OTHER_EVENT_BYTES
    scope.api.valid_bytes = sizeof(AccApiInfo)
    scope.api.device_type = device_type
    scope.api.vendor = -1


cdef void prof_profile(ProfScope *scope, GoaccThread *thr, int queue) noexcept nogil:
    """A plugin's events inside of this will know of it."""
    scope.on = True
    scope.thread = thr
    if thr.dev != NULL:
        prof_fill(scope, thr.dev.type, thr.dev.target_id, queue)
    else:
        prof_fill(scope, -1, -1, queue)
    thr.prof_info = &scope.info
    thr.api_info = &scope.api


cdef void begin_scope(ProfScope *scope, GoaccThread *thr, const char *what, const void *where, const void *region,
                      int event) noexcept nogil:
    cdef bint apart = thr != NULL and thr.dev != NULL and not thr.dev.capabilities & GOMP_OFFLOAD_CAP_SHARED_MEM
    scope.dev = thr.dev if apart else NULL
    begin_construct(&scope.construct, what, where, region, scope.dev, event if scope.on else ACC_EV_NONE, scope)


cdef inline void prof_call(
    ProfScope *scope, GoaccThread *thr, int queue, const char *what, const void *where
) noexcept nogil:
    """Begin of an API call; in a construct it is part of that."""
    scope.on = False
    scope.construct.on = False
    if not anybody_asks():
        return
    if thr != NULL and thr.prof_info == NULL and prof_wanted(thr):
        prof_profile(scope, thr, queue)
    if construct_now == NULL:
        begin_scope(scope, thr, what, where, NULL, ACC_EV_NONE)


cdef inline void prof_construct(ProfScope *scope, GoaccThread *thr, const char *what, const void *where,
                                const void *region, int construct, int event, int queue) noexcept nogil:
    """Begin of a construct; event: the profiling interface's for that, before the one for its end."""
    scope.on = False
    scope.construct.on = False
    if not anybody_asks():
        return
    if prof_wanted(thr):
        prof_profile(scope, thr, queue)
        scope.event.parent_construct = construct
    begin_scope(scope, thr, what, where, region, event)


cdef void prof_on_host(ProfScope *scope) noexcept nogil:
    if scope.on:
        scope.info.device_type = ACC_DEVICE_HOST
        scope.api.device_type = ACC_DEVICE_HOST


cdef void prof_queue(ProfScope *scope, int queue) noexcept nogil:
    if scope.on:
        scope.info.async_arg = queue
        scope.info.async_queue = queue


cdef void begin_inner_scope(ProfScope *scope, const char *what, int event) noexcept nogil:
    memset(&scope.inner_event, 0, sizeof(AccEventInfo))
    scope.inner_event.valid_bytes = ACC_OTHER_EVENT_BYTES
    scope.inner_event.parent_construct = scope.event.parent_construct
    scope.inner_event.implicit = 1
    scope.current = &scope.inner_event
    begin_construct(&scope.inner_construct, what, scope.construct.where, scope.construct.region, scope.dev,
                    event if scope.on else ACC_EV_NONE, scope)


cdef inline void prof_inner(ProfScope *scope, const char *what, int event) noexcept nogil:
    """An implicit data construct in a compute construct, with an event structure (and tool_info) of its own."""
    if rare(scope.construct.on):
        begin_inner_scope(scope, what, event)


cdef inline void prof_inner_end(ProfScope *scope) noexcept nogil:
    if rare(scope.construct.on):
        end_construct(&scope.inner_construct, scope.dev)
        scope.current = &scope.event


cdef inline void prof_end(ProfScope *scope) noexcept nogil:
    """End of a call or construct."""
    if rare(scope.construct.on):
        end_construct(&scope.construct, scope.dev)
    if rare(scope.on):
        scope.thread.prof_info = NULL
        scope.thread.api_info = NULL
