# Events for subscribers (gompy/native/hooks.h).  Off, each place that tells one costs a branch on `hooks_on`, which is
# not taken.

from gompy.native.hooks cimport *

cdef extern from *:
    """
    #define gompy_rare(x) __builtin_expect ((x) != 0, 0)
    /* A function for rare cases that its caller must not take in: it would pay for its registers each time.  */
    #define gompy_apart(f) ({ __typeof__ (f) *gompy_f = (f); __asm__ ("" : "+r" (gompy_f)); gompy_f; })
    static __thread struct gompy_construct *gompy_construct_now;
    """
    bint rare "gompy_rare"(unsigned) noexcept nogil
    Construct *construct_now "gompy_construct_now"  # the thread's innermost

cdef struct Subscriber:
    unsigned kinds
    hook_fn fn

cdef enum:
    HOOK_ENTRIES = 1 << 30  # no kind: GOMP_DEBUG or the checks are told of entries, removals and launches
    HOOK_EVER = 1 << 29  # no kind: somebody has asked for anything.  It stays, for a construct ends as it began

cdef unsigned hooks_on  # the kinds that anybody wants, HOOK_ENTRIES and HOOK_EVER
cdef Subscriber subscribers[8]  # GOMPY_SUBSCRIBERS
cdef uint64_t constructs_told
cdef pthread_mutex_t subscribers_lock  # zeros: PTHREAD_MUTEX_INITIALIZER


cdef inline bint has_hooks(unsigned kinds) noexcept nogil:
    """Whether anybody wants to know of an event of these kinds."""
    return rare(hooks_on & kinds)


cdef inline bint anybody_asks() noexcept nogil:
    """Whether anybody wants to know of anything, or did: one bit, so that the look is one instruction and a branch."""
    return rare(hooks_on & HOOK_EVER)


cdef inline bint entries_told() noexcept nogil:
    """Whether anybody is told of a directive's entries: hooks, GOMP_DEBUG, the checks."""
    return rare(hooks_on & (HOOK_MAP | HOOK_ENTRIES))


cdef void want_entries() noexcept nogil:
    """GOMP_DEBUG or the checks are on, and may be until the program ends."""
    global hooks_on
    pthread_mutex_lock(&subscribers_lock)
    hooks_on |= HOOK_ENTRIES | HOOK_EVER
    pthread_mutex_unlock(&subscribers_lock)


cdef public int gompy_subscribe(unsigned kinds, hook_fn fn) noexcept nogil:
    """Have a function called for the events of some kinds.  A slot, or -1 if all are taken."""
    global hooks_on
    cdef int slot, found = -1
    pthread_mutex_lock(&subscribers_lock)
    for slot in range(GOMPY_SUBSCRIBERS):
        if subscribers[slot].fn == NULL:
            subscribers[slot].kinds = kinds
            gompy_store_ptr(<void *> &subscribers[slot].fn, <void *> fn)
            hooks_on |= kinds | HOOK_EVER
            found = slot
            break
    pthread_mutex_unlock(&subscribers_lock)
    return found


cdef public void gompy_unsubscribe(int slot) noexcept nogil:
    """Call it no more.  A thread that is in it may still be."""
    global hooks_on
    cdef unsigned kinds
    cdef int i
    if slot < 0 or slot >= GOMPY_SUBSCRIBERS:
        return
    pthread_mutex_lock(&subscribers_lock)
    gompy_store_ptr(<void *> &subscribers[slot].fn, NULL)
    subscribers[slot].kinds = 0
    kinds = hooks_on & (HOOK_ENTRIES | HOOK_EVER)
    for i in range(GOMPY_SUBSCRIBERS):
        kinds |= subscribers[i].kinds
    hooks_on = kinds
    pthread_mutex_unlock(&subscribers_lock)


cdef void tell_event(HookEvent *event, int phase) noexcept nogil:
    """Call the subscribers; at an end in the reverse order."""
    cdef hook_fn fn
    cdef int i, slot
    event.phase = phase
    for i in range(GOMPY_SUBSCRIBERS):
        slot = GOMPY_SUBSCRIBERS - 1 - i if phase == PHASE_END else i
        if subscribers[slot].kinds & <unsigned> event.kind:
            fn = <hook_fn> gompy_load_ptr(<void *> &subscribers[slot].fn)
            if fn != NULL:
                fn(event, slot)


cdef void new_event(HookEvent *event, int kind, int detail, const DeviceDescr *dev) noexcept nogil:
    memset(event, 0, sizeof(HookEvent))
    event.kind = kind
    event.detail = detail
    event.good = True
    event.device = dev.number if dev != NULL else -1
    event.device_name = dev.name if dev != NULL else <const char *> b"host"
    event.construct = construct_now
    event.map_kind = -1
    event.queue = dev.queue if dev != NULL else NULL


# --- constructs
# ------------------------------------------------------------------------------------------------------------

cdef void tell_construct(Construct *construct, const DeviceDescr *dev, int phase) noexcept nogil:
    cdef HookEvent event
    new_event(&event, HOOK_CONSTRUCT, 0, dev)
    event.construct = construct
    event.region = construct.region
    memcpy(event.own, construct.own, sizeof(event.own))
    tell_event(&event, phase)
    memcpy(construct.own, event.own, sizeof(event.own))


cdef void begin_construct(Construct *construct, const char *what, const void *where, const void *region,
                          const DeviceDescr *dev, int code=0, void *door=NULL) noexcept nogil:
    global construct_now
    memset(construct, 0, sizeof(Construct))
    gompy_count(&constructs_told)
    construct.on = True
    construct.number = gompy_read_count(&constructs_told)
    construct.what = what
    construct.where = where
    construct.region = region
    construct.code = code
    construct.door = door
    construct.device = dev.number if dev != NULL else -1
    construct.outer = construct_now
    construct_now = construct
    if hooks_on & HOOK_CONSTRUCT:
        tell_construct(construct, dev, PHASE_BEGIN)


cdef void end_construct(Construct *construct, const DeviceDescr *dev) noexcept nogil:
    global construct_now
    if hooks_on & HOOK_CONSTRUCT:
        tell_construct(construct, dev, PHASE_END)
    construct_now = construct.outer


cdef inline void enter_construct(Construct *construct, const char *what, const void *where, const void *region,
                                 const DeviceDescr *dev) noexcept nogil:
    """A directive or a routine begins.  what, where, region: as in Construct; dev: NULL for the host."""
    if anybody_asks():
        begin_construct(construct, what, where, region, dev)


cdef inline bint is_told(const Construct *construct) noexcept nogil:
    """Whether a construct in which the thread is was told when it began; if not, nothing has been written to it."""
    return anybody_asks() and construct_now == construct


ctypedef void (*leave_told_fn)(Construct *, const DeviceDescr *) noexcept nogil

cdef extern from *:
    leave_told_fn apart_leave "gompy_apart"(leave_told_fn) noexcept nogil


cdef void leave_told(Construct *construct, const DeviceDescr *dev) noexcept nogil:
    """leave_construct, of one that was told when it began, or was not."""
    if is_told(construct):
        end_construct(construct, dev)


cdef inline void leave_construct(Construct *construct, const DeviceDescr *dev) noexcept nogil:
    if anybody_asks():
        apart_leave(leave_told)(construct, dev)


# --- regions on the host
# -----------------------------------------------------------------------------------------------------

cdef inline void tell_fallback(HookEvent *event, const void *region, const char *reason) noexcept nogil:
    """A region runs on the host next, for a reason, NULL where the program asked for it."""
    event.kind = 0
    if has_hooks(HOOK_FALLBACK):
        new_event(event, HOOK_FALLBACK, 0, NULL)
        event.region = region
        event.reason = reason if reason != NULL else HOST_PROGRAM
        tell_event(event, PHASE_BEGIN)


cdef inline void tell_fallback_end(HookEvent *event) noexcept nogil:
    if rare(event.kind):
        tell_event(event, PHASE_END)


# --- mappings
# ------------------------------------------------------------------------------------------------------------------

cdef void tell_map(const DeviceDescr *dev, int detail, int kind, const char *words, size_t entry, uintptr_t host,
                   size_t size, uintptr_t target, uintptr_t count, size_t bytes) noexcept nogil:
    """What became of an entry of a directive."""
    cdef HookEvent event
    new_event(&event, HOOK_MAP, detail, dev)
    event.map_kind = kind
    event.map_words = words
    event.entry = entry
    event.host = host
    event.size = size
    event.target = target
    event.count = count
    event.bytes = bytes
    tell_event(&event, PHASE_ONCE)
