# Regions, and copies from the device.
#
# With a region's end come back the bytes that its construct will probably copy from the device next: the contents of
# the block that its variables are in, all if they are few, else what was copied after its last run.  They are used
# only while nothing else can have changed the device's memory.

cdef enum:
    SMALL_SNAPSHOT = 8192


cdef RemoteLearned *learned_of(RemoteDevice *d, const void *function) noexcept nogil:
    """What is known of a region."""
    cdef RemoteLearned *known = &d.learned[(<uintptr_t>function >> 4 ^ <uintptr_t>function >> 12) % LEARNED]
    if known.function != function:
        known.function = function
        known.low = 0
        known.high = 0
    return known


cdef void choose_snapshot(RemoteDevice *d, remote_launch *launch) noexcept nogil:
    """What is to come back; the caller has the state lock."""
    cdef RemoteLearned *known
    launch.start = launch.variables
    launch.bytes = 0
    if d.last_bytes == 0 or d.last_bytes == ~<uint64_t>0:
        return
    if d.last_bytes <= SMALL_SNAPSHOT:
        launch.bytes = d.last_bytes
        return
    known = learned_of(d, <const void *>launch.function)
    if known.high > known.low and known.high - known.low <= REMOTE_SNAPSHOT and known.high <= d.last_bytes:
        launch.start = launch.variables + known.low
        launch.bytes = known.high - known.low


cdef size_t count_words(void **args, uint64_t *words) noexcept nogil:
    """The launch arguments, with the closing NULL."""
    cdef size_t n = 0
    if args != NULL:
        while args[n] != NULL and n < REMOTE_ARGUMENTS - 2:
            words[n] = <uint64_t>args[n]
            n += 1
            if words[n - 1] & <uint64_t>GOMP_TARGET_ARG_SUBSEQUENT_PARAM:
                words[n] = <uint64_t>args[n]
                n += 1
    words[n] = 0
    return n + 1


cdef void run_frame(RemoteDevice *d, uint32_t kind, remote_launch *launch, uint64_t *words,
                    size_t count) noexcept nogil:
    """Run a region to its end."""
    cdef remote_frame frame
    cdef RemoteCall *call
    cdef bint alone
    cdef uint64_t extent
    if load32(&d.lost, RELAXED):
        return
    extent = block_extent(d, launch.variables) if launch.variables else 0
    pthread_mutex_lock(&d.state_lock)
    d.last_function = <const void *>launch.function
    d.last_variables = launch.variables
    d.last_bytes = extent
    launch.start = launch.bytes = 0
    alone = d.flying == 0
    if alone:
        choose_snapshot(d, launch)
    d.snapshot_bytes = 0
    pthread_mutex_unlock(&d.state_lock)
    call = new_call(d, d.snapshot if alone else NULL, launch.bytes, <const void *>launch.function, False)
    frame.kind = kind
    frame.status = 0
    frame.id = call.id
    post_frame(d, &frame, launch, sizeof(launch[0]), words, count * sizeof(uint64_t))
    flush_frames(d)
    await_call(d, call)
    pthread_mutex_lock(&d.state_lock)
    # Another thread may have begun, and ended, a region since this one's end: the bytes may be that one's.
    if alone and d.flying == 0 and d.changes == call.changes and call.size == launch.bytes:
        d.snapshot_start = launch.start
        d.snapshot_bytes = launch.bytes
        d.snapshot_at = d.changes
    pthread_mutex_unlock(&d.state_lock)
    end_call(d, call, False)


cdef void run_region(RemoteDevice *d, uint32_t kind, void *function, void *variables, void **args) noexcept nogil:
    cdef remote_launch launch
    cdef uint64_t words[64]
    cdef size_t count = count_words(args, words)
    launch.function = <uint64_t>function
    launch.variables = <uint64_t>variables
    run_frame(d, kind, &launch, words, count)


cdef bint recall_snapshot(RemoteDevice *d, void *to, uint64_t start, uint64_t size) noexcept nogil:
    """Whether the bytes have come with the last region's end; what is copied after a region is learned."""
    cdef RemoteLearned *known
    cdef uint64_t low
    cdef bint found = False
    pthread_mutex_lock(&d.state_lock)
    low = start - d.last_variables
    if low < d.last_bytes and size <= d.last_bytes - low and d.last_bytes > SMALL_SNAPSHOT:
        known = learned_of(d, d.last_function)
        if known.high == known.low:
            known.low = low
            known.high = low + size
        if low < known.low:
            known.low = low
        if low + size > known.high:
            known.high = low + size
    if d.snapshot_bytes and d.snapshot_at == d.changes and d.flying == 0 and start >= d.snapshot_start and \
            start - d.snapshot_start <= d.snapshot_bytes and size <= d.snapshot_bytes - (start - d.snapshot_start):
        memcpy(to, d.snapshot + (start - d.snapshot_start), size)
        found = True
    pthread_mutex_unlock(&d.state_lock)
    return found


cdef bint write_device(RemoteDevice *d, uint64_t to, const void *what, uint64_t size) noexcept nogil:
    """Queue a copy to the device; the host's data has been read when this returns."""
    if size:
        note_change(d)
        tell_worker(d, REMOTE_WRITE, &to, 1, what, size)
    return load32(&d.lost, RELAXED) == 0


cdef bint read_device(RemoteDevice *d, void *to, uint64_t start, uint64_t size) noexcept nogil:
    """Copy from the device."""
    cdef uint64_t words[2]
    cdef remote_frame frame
    cdef RemoteCall *call
    cdef bint good
    if load32(&d.lost, RELAXED):
        return False
    if size == 0 or recall_snapshot(d, to, start, size):
        return True
    words[0] = start
    words[1] = size
    call = new_call(d, to, size, NULL, False)
    frame.kind = REMOTE_READ
    frame.status = 0
    frame.id = call.id
    post_frame(d, &frame, words, sizeof(words), NULL, 0)
    flush_frames(d)
    await_call(d, call)
    good = call.status == 0 and call.size == size
    end_call(d, call, False)
    return good


cdef void *flush_later(void *arg) noexcept nogil:
    """The thread that sends regions of nowait, as many at a time as there are."""
    cdef RemoteDevice *d = <RemoteDevice *>arg
    cdef uint32_t seen
    while True:
        seen = load32(&d.flush_word, ACQUIRE)
        if seen == 0:
            futex_wait(&d.flush_word, 0, -1)
            continue
        usleep(50)  # a burst goes out in few writes
        store32(&d.flush_word, 0, SEQ_CST)
        flush_frames(d)
    return NULL


cdef bint start_flusher(RemoteDevice *d) noexcept nogil:
    """It takes no signals: those are the program's own threads'."""
    cdef pthread_t thread
    pthread_mutex_lock(&d.block_lock)
    if not d.flusher and remote_thread(&thread, flush_later, d) == 0:
        pthread_detach(thread)
        d.flusher = True
    pthread_mutex_unlock(&d.block_lock)
    return d.flusher


cdef uint64_t start_later(RemoteDevice *d, void *function, void *variables, void **args) noexcept nogil:
    """Start a region of nowait; a ticket, 0: it has to be run."""
    cdef remote_launch launch
    cdef remote_frame frame
    cdef uint64_t words[64]
    cdef size_t count = count_words(args, words)
    cdef RemoteCall *call
    if load32(&d.lost, RELAXED) or not (d.flusher or start_flusher(d)):
        return 0
    call = new_call(d, NULL, 0, function, True)
    if call == NULL:
        return 0
    launch.function = <uint64_t>function
    launch.variables = <uint64_t>variables
    launch.start = 0
    launch.bytes = 0
    frame.kind = REMOTE_LATER
    frame.status = 0
    frame.id = call.id
    post_frame(d, &frame, &launch, sizeof(launch), words, count * sizeof(uint64_t))
    if d.later_calls == 1:
        flush_frames(d)
    elif exchange32(&d.flush_word, 1, SEQ_CST) == 0:
        futex_wake(&d.flush_word, 1)
    return frame.id


cdef void await_later(RemoteDevice *d, uint64_t ticket) noexcept nogil:
    cdef RemoteCall *call = &d.calls[ticket % CALLS]
    if load32(&d.lost, RELAXED):
        return
    if not call.done:
        flush_frames(d)
        await_call(d, call)
    end_call(d, call, True)
