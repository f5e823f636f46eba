# The profiling interface of OpenACC 2.6 (libgomp: oacc-profiling.c): callbacks of the program or of a library that
# ACC_PROFLIB names.  The stock libgomp loads those libraries at its start and gives them this acc_prof_register, since it
# comes first in the search order.

cdef ProfCallback *prof_callbacks[26]
cdef bint prof_disabled[26]  # [ACC_EV_NONE]: all of them
cdef int prof_enabled  # a callback has been registered at some time


cdef inline bint event_ends(int event) noexcept nogil:
    """Whether an event ends something: its callbacks run in the reverse order."""
    return (event == ACC_EV_DEVICE_INIT_END or event == ACC_EV_DEVICE_SHUTDOWN_END
            or (event >= ACC_EV_ENTER_DATA_END and event & 1))


cdef ProfCallback **find_callback(int event, acc_prof_callback callback) noexcept nogil:
    """Where a callback hangs, or the end of the event's list."""
    cdef ProfCallback **at = &prof_callbacks[event]
    while at[0] != NULL and at[0].callback != callback:
        at = &at[0].next
    return at


cdef void toggle_thread(bint on) noexcept nogil:
    acc_lazy_initialize()
    acc_thread().prof_callbacks_enabled = on


cdef bint prof_toggles(int event, acc_prof_callback callback, int how, bint on) noexcept nogil:
    """The requests that concern no single callback, and those to ignore; True if it was one of them."""
    if event < ACC_EV_NONE or event >= ACC_EV_LAST or how < ACC_REG or how > ACC_TOGGLE_PER_THREAD:
        return True
    if how == ACC_TOGGLE_PER_THREAD:
        if event == ACC_EV_NONE and callback == NULL:
            toggle_thread(on)
        return True
    if how == ACC_TOGGLE and callback == NULL:
        gompy_lock_acquire(&gompy_prof_lock)
        prof_disabled[event] = not on
        gompy_lock_release(&gompy_prof_lock)
        return True
    return how == ACC_TOGGLE and event == ACC_EV_NONE


cdef public void acc_prof_register(int event, void *function, int how) noexcept nogil:
    """Register a callback (acc_reg), or enable one, an event's, all, or this thread's."""
    cdef acc_prof_callback callback = <acc_prof_callback> function
    global prof_enabled
    cdef ProfCallback **at
    cdef ProfCallback *new
    gompy_store(&prof_enabled, 1)
    if prof_toggles(event, callback, how, True):
        return
    gompy_lock_acquire(&gompy_prof_lock)
    at = find_callback(event, callback)
    if how == ACC_TOGGLE:
        if at[0] != NULL:
            at[0].enabled = True
    elif at[0] != NULL:
        at[0].references += 1
    else:
        new = <ProfCallback *> GOMP_PLUGIN_malloc_cleared(sizeof(ProfCallback))
        new.callback = callback
        new.references = 1
        new.enabled = True
        if event_ends(event):
            at = &prof_callbacks[event]
        new.next = at[0]
        at[0] = new
    gompy_lock_release(&gompy_prof_lock)


cdef public void acc_prof_unregister(int event, void *function, int how) noexcept nogil:
    """The reverse of acc_prof_register."""
    cdef acc_prof_callback callback = <acc_prof_callback> function
    cdef ProfCallback **at
    cdef ProfCallback *old
    if not gompy_load(&prof_enabled) or prof_toggles(event, callback, how, False):
        return
    gompy_lock_acquire(&gompy_prof_lock)
    at = find_callback(event, callback)
    old = at[0]
    if old != NULL and how == ACC_TOGGLE:
        old.enabled = False
    elif old != NULL:
        old.references -= 1
        if old.references == 0:
            at[0] = old.next
            free(old)
    gompy_lock_release(&gompy_prof_lock)


cdef public void *acc_prof_lookup(const char *name) noexcept nogil:
    """Routines of the implementation for tools: none."""
    return NULL


cdef public void acc_register_library(void *register_fn, void *unregister_fn, void *lookup_fn) noexcept nogil:
    """A tool defines this; the library has nothing to register."""


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
    prof_dispatch(<AccProfInfo *> info, <AccEventInfo *> event, <AccApiInfo *> api)


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


cdef void prof_call(ProfScope *scope, GoaccThread *thr, int queue) noexcept nogil:
    """Begin of an API call: a plugin's events inside it will know of it."""
    scope.on = False
    if not gompy_load(&prof_enabled) or thr == NULL or thr.prof_info != NULL or not prof_wanted(thr):
        return
    scope.on = True
    scope.thread = thr
    if thr.dev != NULL:
        prof_fill(scope, thr.dev.type, thr.dev.target_id, queue)
    else:
        prof_fill(scope, -1, -1, queue)
    thr.prof_info = &scope.info
    thr.api_info = &scope.api


cdef void prof_event(ProfScope *scope, int event) noexcept nogil:
    if scope.on:
        scope.info.event_type = event
        scope.event.event_type = event
        prof_dispatch(&scope.info, &scope.event, &scope.api)


cdef void prof_construct(ProfScope *scope, GoaccThread *thr, int construct, int event, int queue) noexcept nogil:
    """Begin of a construct."""
    scope.on = False
    if not gompy_load(&prof_enabled) or not prof_wanted(thr):
        return
    scope.on = True
    scope.thread = thr
    prof_fill(scope, thr.dev.type, thr.dev.target_id, queue)
    scope.event.parent_construct = construct
    thr.prof_info = &scope.info
    thr.api_info = &scope.api
    prof_event(scope, event)


cdef void prof_on_host(ProfScope *scope) noexcept nogil:
    if scope.on:
        scope.info.device_type = ACC_DEVICE_HOST
        scope.api.device_type = ACC_DEVICE_HOST


cdef void prof_queue(ProfScope *scope, int queue) noexcept nogil:
    if scope.on:
        scope.info.async_arg = queue
        scope.info.async_queue = queue


cdef void prof_inner(ProfScope *scope, AccEventInfo *inner, int event) noexcept nogil:
    """An event inside a construct, with an event structure (and tool_info) of its own."""
    if not scope.on:
        return
    if event == ACC_EV_ENTER_DATA_START or event == ACC_EV_EXIT_DATA_START:
        memset(inner, 0, sizeof(AccEventInfo))
        inner.valid_bytes = ACC_OTHER_EVENT_BYTES
        inner.parent_construct = scope.event.parent_construct
        inner.implicit = 1
    scope.info.event_type = event
    inner.event_type = event
    prof_dispatch(&scope.info, inner, &scope.api)


cdef void prof_end(ProfScope *scope) noexcept nogil:
    """End of a call or construct."""
    if scope.on:
        scope.thread.prof_info = NULL
        scope.thread.api_info = NULL
