# Events, as they come, into rows.


cdef ProfileRow *row_of_construct(const Construct *construct) noexcept nogil:
    """A region's row, or a directive's.  The lock is held."""
    cdef ProfileRow *row
    cdef char words[64]
    if construct == NULL:
        return find_row(ROW_DIRECTIVE, 0, 0, b"in a queue")
    if construct.region != NULL:
        row = find_row(ROW_REGION, <uintptr_t> construct.region, 0, b"")
    else:
        snprintf(words, sizeof(words), b"%s", construct.what)
        row = find_row(ROW_DIRECTIVE, <uintptr_t> construct.where, 0, words)
    if row != NULL and row.where == 0:
        row.where = <uintptr_t> construct.where
    return row


cdef ProfileRow *row_of_device(const HookEvent *event) noexcept nogil:
    cdef char name[64]
    snprintf(name, sizeof(name), b"device %d (%.40s)", event.device, event.device_name)
    return find_row(ROW_DEVICE, <uintptr_t> event.device, 0, name)


cdef void add_time(ProfileRow *row, uint64_t time) noexcept nogil:
    row.timed += 1
    row.time += time
    if time > row.longest:
        row.longest = time


cdef void add_construct(const HookEvent *event, uint64_t time) noexcept nogil:
    """A directive or a routine is over; regions are counted where they are launched."""
    cdef ProfileRow *row = row_of_construct(event.construct)
    if row != NULL and row.kind == ROW_DIRECTIVE:
        row.count += 1
        add_time(row, time)


cdef void add_region(const HookEvent *event, uint64_t time) noexcept nogil:
    cdef ProfileRow *row = find_row(ROW_REGION, <uintptr_t> event.region, 0, b"")
    if row == NULL:
        return
    row.count += 1
    if event.construct != NULL and event.construct.region == event.region and row.where == 0:
        row.where = <uintptr_t> event.construct.where
    if event.kind == HOOK_FALLBACK:
        row.on_host += 1
        add_time(row, time)
        return
    row.device = event.device
    if event.detail == LAUNCH_NOW:
        add_time(row, time)
    row = row_of_device(event)
    if row != NULL:
        row.count += 1


cdef void add_copy(ProfileRow *row, const HookEvent *event, uint64_t time) noexcept nogil:
    if row == NULL:
        return
    row.copies += 1
    row.copying += time
    if event.detail == COPY_TO_DEVICE:
        row.to_device += event.bytes
    elif event.detail == COPY_TO_HOST:
        row.to_host += event.bytes


cdef void add_map(const HookEvent *event) noexcept nogil:
    """An entry of a directive: what it is called is looked up at the end."""
    cdef bint back = event.detail == MAP_KEPT or event.detail == MAP_REMOVED or (
        event.detail == MAP_UPDATED and event.map_words != NULL and strcmp(event.map_words, b"from") == 0)
    cdef ProfileRow *row
    if event.detail == MAP_OWN or event.detail == MAP_ATTACHED or event.detail == MAP_ABSENT:
        return
    row = find_row(ROW_VARIABLE, event.host, event.size, b"")
    if row == NULL:
        return
    if row.where == 0 and event.construct != NULL:
        row.where = <uintptr_t> event.construct.where
    row.count += event.detail == MAP_NEW
    row.copies += event.bytes > 0
    if back:
        row.to_host += event.bytes
    else:
        row.to_device += event.bytes


cdef void add_event(const HookEvent *event, uint64_t time) noexcept nogil:
    """The lock is held."""
    cdef ProfileRow *row
    if event.kind == HOOK_CONSTRUCT:
        add_construct(event, time)
    elif event.kind == HOOK_LAUNCH or event.kind == HOOK_FALLBACK:
        add_region(event, time)
    elif event.kind == HOOK_COPY:
        add_copy(row_of_construct(event.construct), event, time)
        add_copy(row_of_device(event), event, time)
    elif event.kind == HOOK_ALLOC and event.good:
        row = row_of_device(event)
        if row != NULL:
            row.allocated += event.size
    elif event.kind == HOOK_MAP:
        add_map(event)


cdef void profile_hook(HookEvent *event, int slot) noexcept nogil:
    """An event of the program, in the thread that does it."""
    cdef uint64_t now
    if profile.over:
        return
    now = now_ns()
    if event.phase == PHASE_BEGIN:
        event.own[slot] = now
        return
    pthread_mutex_lock(&profile.lock)
    add_event(event, now - event.own[slot])
    pthread_mutex_unlock(&profile.lock)
