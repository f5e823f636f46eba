# Streams: queues of operations, each with a thread that works it off.
#
# Every operation gets a ticket, in the order of the calls.  The default (legacy) stream's operation waits for all
# earlier ones of the context's blocking streams, and theirs wait for earlier ones of the default stream; waiting for an
# event is waiting until its stream has nothing left up to a ticket.  A thread that has to wait for a stream does the
# stream's next operation itself where it can (not the program's callbacks): a launch and a wait cost no switch between
# threads.  When that happens again and again, the stream's thread is not woken for each operation but looks every
# POLL_NS, and seldomer the longer that goes on: each look interrupts who is at work.  An operation that nobody waits
# for is late by a small part of the time before it.  What the thread finds it leaves alone until it has seen it twice:
# the thread that has queued it is about to do it, and a thread that takes it away has to be waited for, and woken for
# each of the next operations.
#
# All of this is guarded by work_lock; operations run without it.

cdef enum:
    POLL_NS = 200000
    SECOND_LOOK_NS = 20000     # after what may be started was seen for the first time
    SELDOM = 8                 # times POLL_NS, at most
    LATE = 8                   # the part of the time of operations that others did by which the next may be late
    POLLS = 50                 # times POLL_NS without a new operation, then it sleeps
    HELPED = 4                 # operations in a row


cdef stream *create_stream(context *c, unsigned flags, int priority) noexcept nogil:
    """A stream of a context; the first one is its default stream."""
    global all_streams, streams_made
    cdef stream *s = <stream *>new_handle(STREAM)
    if s == NULL:
        return NULL
    s.of = c
    s.flags = flags
    s.priority = priority
    pthread_cond_init(&s.wake, NULL)
    pthread_mutex_lock(&work_lock)
    if c.streams != NULL:
        streams_made += 1
        s.number = streams_made
    s.next = c.streams
    c.streams = s
    s.next_all = all_streams
    all_streams = s
    pthread_mutex_unlock(&work_lock)
    return s


cdef void remove_stream(stream *s) noexcept nogil:
    """Take a stream without operations out of the lists, and free it.  With work_lock held."""
    global all_streams
    cdef stream **p = &s.of.streams
    while p[0] != s:
        p = &p[0].next
    p[0] = s.next
    p = &all_streams
    while p[0] != s:
        p = &p[0].next_all
    p[0] = s.next_all
    pthread_cond_destroy(&s.wake)
    forget_list(&s.tips)
    leave_place(s)
    free(s.spare)
    s.spare = NULL  # who has looked the stream up before it went still looks there
    free_handle(STREAM, s)
    pthread_cond_broadcast(&work_done)


cdef inline bint done_up_to(stream *s, uint64_t ticket) noexcept nogil:
    """Whether a stream has finished all operations up to a ticket."""
    return s.first == NULL or s.first.ticket > ticket


cdef bint may_start(stream *s) noexcept nogil:
    """Whether the stream's first operation may start now."""
    cdef op *o = s.first
    cdef stream *t
    if o == NULL or s.running:
        return False
    if s == s.of.default_stream:
        t = s.of.streams
        while t != NULL:
            if t != s and not t.flags & CU_STREAM_NON_BLOCKING and not done_up_to(t, o.ticket):
                return False
            t = t.next
    elif not s.flags & CU_STREAM_NON_BLOCKING and not done_up_to(s.of.default_stream, o.ticket):
        return False
    if o.kind == WAIT_OP and o.awaited.head.serial == o.awaited_serial:
        return done_up_to(o.awaited, o.awaited_ticket)
    return True


cdef int use_memory(op *o) noexcept nogil:
    """Do an operation that uses device memory; only a kernel can fail."""
    if o.order != NULL and o.kind != LAUNCH_OP:
        note_op(o)
    o.config.order = o.order
    if o.kind == COPY_OP:
        copy_bytes(&o.copy)
    elif o.kind == FILL_OP:
        fill_bytes(&o.fill)
    else:
        return run_kernel(o.kernel, &o.config)
    return CUDA_SUCCESS


cdef int use_memory_in_turn(op *o) noexcept nogil:
    """The same while kernels are recorded."""
    cdef bint taken = o.kind != LAUNCH_OP or o.launched[0] != BY_RUNTIME
    cdef bint mine = taken and take_turn()
    cdef uint64_t number = begin_recorded(o) if mine else 0
    cdef int r = use_memory(o)
    if mine:
        end_recorded(o, number, r)
    elif taken:
        leave_apart()
    return r


cdef void perform_op(stream *s, op *o) noexcept nogil:
    """Do an operation.  After an error of the context only callbacks and events are done, so that nobody waits for
    ever."""
    cdef context *c = s.of
    cdef int r
    if o.kind == CALLBACK_OP:
        cuda_thread.in_callback = 1
        o.call(NULL if s == c.default_stream else s, c.failure, o.data)
        cuda_thread.in_callback = 0
    elif o.kind == RECORD_OP:
        event_happens(o.of_event, o.number)
    elif o.kind == SHARED_OP:
        event_awaited(o.of_event.shared, o.number)
    elif o.kind == FOLLOW_OP or o.kind == VALUE_OP:
        o.follow(s, o)
    elif o.kind == WAIT_OP or c.failure != CUDA_SUCCESS:
        pass
    elif o.kind in (COPY_OP, FILL_OP, LAUNCH_OP):
        open_gate()
        r = use_memory_in_turn(o) if recording_kernels() else use_memory(o)
        close_gate()
        if r != CUDA_SUCCESS:
            c.failure = o.kernel.of.of.failure = r
    elif o.kind == HOST_OP:
        cuda_thread.in_callback = 1
        o.host_call(o.data)
        cuda_thread.in_callback = 0
    elif o.kind == FREE_OP:
        free_block_at(o.address, ALLOCATION, MANAGED)
    elif o.kind == MEMORY_OP:
        mark_shadow(o.address, o.number, <int><size_t>o.data)


cdef inline void be_awake(stream *s) noexcept nogil:
    """A stream's thread has woken, or will.  With work_lock held."""
    if s.asleep:
        s.asleep = False
        gompy_own_wakes()


cdef inline void fall_asleep(stream *s) noexcept nogil:
    """It is about to wait.  With work_lock held."""
    s.asleep = True
    gompy_own_rests()


cdef void rouse_worker(stream *s) noexcept nogil:
    """Let a stream's thread look for work.  With work_lock held."""
    be_awake(s)
    pthread_cond_signal(&s.wake)


cdef void do_first(stream *s) noexcept nogil:
    """Do the stream's first operation, which is ready.  With work_lock held; it is let go meanwhile."""
    cdef op *o = s.first
    cdef stream *t
    s.running = True
    if o.kind == CALLBACK_OP or o.kind == HOST_OP:
        host_sees_stream(s)  # from its first statement on the program may tell
    elif o.order != NULL:
        leave_unknown(s, o.order)
    pthread_mutex_unlock(&work_lock)
    perform_op(s, o)
    let_go_blocks(o)
    pthread_mutex_lock(&work_lock)
    forget_order(o)
    s.running = False
    s.first = o.next
    if s.first == NULL:
        s.last = NULL
    if o.kind == RECORD_OP or o.kind == SHARED_OP:
        event_released(o.of_event)
    elif o.kind == LAUNCH_OP:
        o.kernel.of.launches -= 1
    if o.kind == LAUNCH_OP and o.on_heap and s.spare == NULL:
        s.spare = o
    elif o.on_heap:
        free(o)
    t = all_streams
    while t != NULL:
        if t.worker and not t.running and (t.first != NULL or t.ending):
            rouse_worker(t)
        t = t.next_all
    pthread_cond_broadcast(&work_done)


cdef inline int wait_between(uint64_t helped_ns) noexcept nogil:
    """How long the stream's thread does not look, in POLL_NS, after so long a time in which others did its work."""
    cdef uint64_t times = helped_ns // (LATE * POLL_NS)
    return <int> min(max(times, <uint64_t> 1), <uint64_t> SELDOM)


cdef void *stream_worker(void *p) noexcept nogil:
    """A stream's thread."""
    cdef stream *s = <stream *>p
    cdef timespec until
    cdef uint64_t seen = 0
    cdef uint64_t ready = 0  # the operation that might have been started at the last look
    cdef uint64_t begun = 0  # when others began to do its work
    cdef int polls = 0, times
    pthread_mutex_lock(&work_lock)
    while True:
        if may_start(s) and (s.helped < HELPED or s.first.ticket == ready or s.ending):
            s.helped = 0
            polls = 0
            begun = 0
            do_first(s)
        elif s.ending and s.first == NULL:
            break
        elif s.helped >= HELPED and (polls < POLLS or may_start(s)) and not s.ending:
            begun = begun if begun else now_ns()
            times = wait_between(now_ns() - begun)
            s.polling = not s.running or times == SELDOM
            if not s.polling:
                times = SELDOM  # who comes next wakes it
            polls = polls + times if s.appended == seen else 0
            seen = s.appended
            ready = s.first.ticket if may_start(s) else 0
            clock_gettime(CLOCK_MONOTONIC, &until)
            add_time(&until, SECOND_LOOK_NS if ready else POLL_NS * times)
            fall_asleep(s)
            pthread_cond_clockwait(&s.wake, &work_lock, CLOCK_MONOTONIC, &until)
            be_awake(s)
            s.polling = False
        else:
            polls = 0
            begun = 0
            fall_asleep(s)
            pthread_cond_wait(&s.wake, &work_lock)
            be_awake(s)
    remove_stream(s)
    gompy_own_ends()
    pthread_mutex_unlock(&work_lock)
    return NULL


cdef bint start_worker(stream *s) noexcept nogil:
    """Give a stream its thread.  It takes none of the program's signals but those of its own faults.  With work_lock
    held."""
    cdef pthread_t thread
    cdef pthread_attr_t attributes
    cdef sigset_t everything, before
    cdef bint good
    sigfillset(&everything)
    sigdelset(&everything, SIGSEGV)  # the executor's: a kernel's bad address
    sigdelset(&everything, SIGBUS)
    sigdelset(&everything, SIGFPE)
    sigdelset(&everything, SIGILL)
    sigdelset(&everything, SIGTRAP)
    pthread_sigmask(SIG_SETMASK, &everything, &before)
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED)
    gompy_own_begins()
    good = pthread_create(&thread, &attributes, stream_worker, s) == 0
    if good:
        pthread_setname_np(thread, b"gompy-stream")  # at once: check_watch.h asks before it has run
    else:
        gompy_own_ends()
    pthread_attr_destroy(&attributes)
    pthread_sigmask(SIG_SETMASK, &before, NULL)
    s.worker = good
    return good


cdef void append_op(stream *s, op *o) noexcept nogil:
    """Queue an operation.  With work_lock held."""
    global last_ticket
    last_ticket += 1
    o.ticket = last_ticket
    if follows_order():
        order_op(s, o)
    o.config.asker = cuda_thread.asker
    s.appended += 1
    o.next = NULL
    if s.last != NULL:
        s.last.next = o
    else:
        s.first = o
    s.last = o


cdef void work_until(stream *s, uint64_t ticket) noexcept nogil:
    """Wait until a stream has finished all operations up to a ticket, helping.  With work_lock held."""
    cdef uint64_t serial = s.head.serial
    while s.head.serial == serial and not done_up_to(s, ticket):
        if may_start(s) and s.first.kind != CALLBACK_OP and s.first.kind != HOST_OP:
            s.helped += 1
            do_first(s)
        else:
            pthread_cond_wait(&work_done, &work_lock)


cdef int enter_op(stream *s, op *o, bint *queued) noexcept nogil:
    """Queue an operation for the stream's thread, or enter it into what is captured of the stream; after an error it is
    the caller's.  Another thread may have destroyed the stream since it was looked up.  With work_lock held."""
    cdef capture *taken = NULL
    cdef int r = look_for_capture(s, &taken) if s.head.live else CUDA_ERROR_INVALID_HANDLE
    queued[0] = False
    if r == CUDA_SUCCESS and taken != NULL:
        return capture_work(s, o)
    if r == CUDA_SUCCESS and not s.worker and not start_worker(s):
        r = CUDA_ERROR_OUT_OF_MEMORY
    if r != CUDA_SUCCESS:
        return r
    append_op(s, o)
    queued[0] = True
    if not s.polling:
        rouse_worker(s)
    return CUDA_SUCCESS


cdef int submit_op(stream *s, op *o) noexcept nogil:
    """enter_op for what is no launch; it is freed if that can't be."""
    cdef block *pins[2]
    cdef bint queued
    cdef int r
    pins[0], pins[1] = o.pins[0], o.pins[1]
    note_asker()
    pthread_mutex_lock(&work_lock)
    r = enter_op(s, o, &queued)
    pthread_mutex_unlock(&work_lock)
    if not queued:
        unpin_block(pins[0])
        unpin_block(pins[1])
    if r != CUDA_SUCCESS:
        free(o)
    return r


cdef int submit_and_wait(stream *s, op *o) noexcept nogil:
    """Queue an operation of the caller's and wait for its end."""
    cdef context *c = s.of
    cdef int r
    note_asker()
    pthread_mutex_lock(&work_lock)
    r = refuse_captured(s) if s.head.live else CUDA_ERROR_INVALID_HANDLE
    if r != CUDA_SUCCESS:
        pthread_mutex_unlock(&work_lock)
        let_go(o)
        return r
    append_op(s, o)
    work_until(s, o.ticket)
    host_sees_stream(s)
    pthread_mutex_unlock(&work_lock)
    return c.failure


cdef void wait_for_context(context *c) noexcept nogil:
    """Wait for all work of a context that there is now."""
    cdef uint64_t now
    cdef stream *s
    pthread_mutex_lock(&work_lock)
    now = last_ticket
    while True:
        s = c.streams
        while s != NULL and done_up_to(s, now):
            s = s.next
        if s == NULL:
            break
        work_until(s, now)
    host_sees_context(c)
    pthread_mutex_unlock(&work_lock)


cdef void end_streams(context *c) noexcept nogil:
    """A context ends: its streams finish and go."""
    cdef stream *s
    cdef stream *after
    abandon_captures(c)
    wait_for_context(c)
    pthread_mutex_lock(&work_lock)
    s = c.streams
    while s != NULL:
        after = s.next
        bury_handle(STREAM, s)
        s.ending = True
        if s.worker:
            rouse_worker(s)
        else:
            remove_stream(s)
        s = after
    while c.streams != NULL:
        pthread_cond_wait(&work_done, &work_lock)
    pthread_mutex_unlock(&work_lock)


cdef int find_stream(context *c, void *p, stream **to) noexcept nogil:
    """The stream that a word stands for: NULL and 1 the default stream, 2 the thread's own, else a handle."""
    cdef stream *s
    if <size_t>p == 2 or (p == NULL and own_stream_calls):
        s = <stream *>cuda_thread.own_stream
        if s == NULL or not is_handle(STREAM,
                                      s) or s.head.serial != cuda_thread.own_serial or cuda_thread.own_context != c:
            s = create_stream(c, 0, 0)
            if s == NULL:
                return CUDA_ERROR_OUT_OF_MEMORY
            cuda_thread.own_stream, cuda_thread.own_serial, cuda_thread.own_context = s, s.head.serial, c
        to[0] = s
        return CUDA_SUCCESS
    if <size_t>p <= 1:
        to[0] = c.default_stream
        return CUDA_SUCCESS
    if not is_handle(STREAM, p):
        return CUDA_ERROR_INVALID_HANDLE
    to[0] = <stream *>p
    return CUDA_SUCCESS


cdef int enter_stream(void *p, stream **to) noexcept nogil:
    """What a call about a stream begins with: the current context and the stream."""
    cdef context *c
    cdef int r
    if <size_t>p > 2 and is_handle(STREAM, p):  # any context's
        r = api_state()
        to[0] = <stream *>p
        return r if r != CUDA_SUCCESS else to[0].of.failure
    r = current_context(&c)
    return r if r != CUDA_SUCCESS else find_stream(c, p, to)
