# The profiling interface of OpenACC 2.6 (libgomp: oacc-profiling.c): callbacks of the program or of a library that
# ACC_PROFLIB names.  The stock libgomp loads those libraries at its start and gives them this acc_prof_register, since
# it comes first in the search order.


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
    cdef ProfCallback **at
    cdef ProfCallback *new
    if not gompy_load(&prof_enabled):
        prof_enable()
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
