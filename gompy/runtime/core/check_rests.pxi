# `gompy run --check`: what checks do as they rest, and begin again (check_rest.h, check_rest_watch.h).

cdef extern from "core/check_stale.h" nogil:
    unsigned gompy_rest_share
    bint gompy_rest_is_due()
    bint gompy_rest_ends(uintptr_t where)
    void gompy_begin_rest()
    void gompy_rest_launched()
    void gompy_rest_changes(int device, uintptr_t target, uintptr_t host, size_t size, size_t least)
    bint gompy_rest_follows(int device, uintptr_t host, uintptr_t target, size_t size)
    void gompy_rest_forget_unmet()
    void gompy_rest_drop_all()
    unsigned gompy_track_count
    enum:
        REST_SMALL "GOMPY_REST_SMALL"


cdef void track_node(const DeviceDescr *dev, SplayNode *node, bint as_loaded) noexcept nogil:
    """Follow what is mapped already; as_loaded: a variable that both sides have as its image had it."""
    gompy_stale_new(dev.number, node.host_start, device_address(node, node.host_start),
                    node.host_end - node.host_start, as_loaded, as_loaded, False)


cdef inline void note_spent(uint64_t begin) noexcept nogil:
    """What has been done since then was for the checks; 0: it is too little to be measured."""
    global gompy_stale_time
    if begin:
        gompy_stale_time += gompy_now() - begin


cdef bint has_rested  # the host has changed variables of images since these were loaded, or regions have


cdef uint64_t devices_spent(uint64_t *ran) noexcept nogil:
    """What checks have taken of the devices' time, nanoseconds, by the clock; ran: of those that do not measure so.

    The emulated GPU's threads ask for their processor time.
    """
    cdef uint64_t spent = 0
    cdef int i
    ran[0] = 0
    for i in range(num_devices):
        if devices[i].state != DEVICE_INITIALIZED:
            continue
        if devices[i].type == GOMP_DEVICE_NVIDIA_PTX:
            ran[0] += device_check_spent(&devices[i])
        else:
            spent += device_check_spent(&devices[i])
    return spent


cdef void begin_rest() noexcept nogil:
    """The next constructs are not followed (check_rest.h)."""
    global has_rested
    cdef int i
    has_rested = True
    gompy_begin_rest()
    for i in range(num_devices):
        if devices[i].state == DEVICE_INITIALIZED:
            device_check_less(&devices[i], True)


cdef void follow_again() noexcept nogil:
    """After a rest: what is mapped is followed from here on.

    Of what was not followed before (check_rest_watch.h) it is not known whether it was copied to its device: the host's
    changes are not told before it is again.
    """
    cdef RangeCursor place
    cdef SplayNode *node
    cdef int i
    for i in range(num_devices):
        if devices[i].state != DEVICE_INITIALIZED:
            continue
        device_check_less(&devices[i], False)
        if not gompy_tracking or not gompy_lock_try(&devices[i].lock):
            continue
        place = all_ranges(&devices[i].mem_map)
        while True:
            node = next_range(&place)
            if node == NULL:
                break
            if node.host_end - node.host_start > 1 and \
                    not gompy_rest_follows(i, node.host_start, device_address(node, node.host_start),
                                           node.host_end - node.host_start):
                track_node(&devices[i], node, False)
        gompy_lock_release(&devices[i].lock)
    gompy_rest_forget_unmet()


cdef void bound_time(const HookEvent *event) noexcept nogil:
    """An outermost construct begins or ends: have the checks rest, or begin again (check_rest.h)."""
    cdef uint64_t begin
    pthread_mutex_lock(&gompy_stale_lock)
    if event.phase == PHASE_BEGIN and gompy_rest_ends(<uintptr_t> event.construct.where):
        begin = gompy_now()
        follow_again()
        note_spent(begin)
    elif event.phase == PHASE_END and gompy_rest_is_due():
        begin_rest()
    pthread_mutex_unlock(&gompy_stale_lock)


cdef void note_in_rest(const HookEvent *event) noexcept nogil:
    """What happens to mappings that are followed in a rest (check_rest_watch.h)."""
    if gompy_track_count == 0:
        return
    pthread_mutex_lock(&gompy_stale_lock)
    if event.kind == HOOK_LAUNCH and event.phase == PHASE_END:
        gompy_rest_launched()
    elif event.kind == HOOK_COPY and event.detail == COPY_WITHIN:
        gompy_rest_drop_all()
    elif event.kind == HOOK_COPY and event.phase == PHASE_BEGIN:
        gompy_rest_changes(event.device, event.target, event.host, event.size, REST_SMALL)
    elif event.kind == HOOK_COPY and event.good:
        gompy_stale_copied(event.device, event.target, event.host, event.size, event.detail == COPY_TO_DEVICE, False)
    elif event.kind == HOOK_MAP and (event.detail == MAP_NEW or event.detail == MAP_ATTACHED):
        gompy_rest_changes(event.device, event.target, event.host, event.size, 0)
    pthread_mutex_unlock(&gompy_stale_lock)


cdef extern from "<stdlib.h>" nogil:
    long strtol(const char *text, char **end, int base)


cdef unsigned check_share(unsigned share) noexcept nogil:
    """Percent of the program's time that checks may take, by GOMPY_CHECK_SHARE."""
    cdef const char *text = secure_getenv(b"GOMPY_CHECK_SHARE")
    cdef char *end
    cdef long given
    if text == NULL or not text[0]:
        return share
    given = strtol(text, &end, 10)
    if end[0] or given < 0 or given > 100:
        gompy_note(b"GOMPY_CHECK_SHARE=%s: a share of the program's time is a number from 0 to 100 (percent)", text)
        return share
    return <unsigned> given
