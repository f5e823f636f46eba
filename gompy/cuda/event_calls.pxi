# cuEvent*.


cdef public int cuEventCreate(void **to, unsigned flags) noexcept nogil:
    """An event: CU_EVENT_BLOCKING_SYNC (without effect), CU_EVENT_DISABLE_TIMING, with it CU_EVENT_INTERPROCESS."""
    cdef context *c
    cdef event *e
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags & ~<unsigned>(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING
                                         | CU_EVENT_INTERPROCESS) or (flags & CU_EVENT_INTERPROCESS and not flags
                                                                      & CU_EVENT_DISABLE_TIMING):
        return CUDA_ERROR_INVALID_VALUE
    e = <event *>new_handle(EVENT)
    if e == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    if flags & CU_EVENT_INTERPROCESS and not share_event(e):
        free_handle(EVENT, e)
        return CUDA_ERROR_OUT_OF_MEMORY
    e.flags = flags
    e.of_context = c
    to[0] = e
    return CUDA_SUCCESS


cdef public int cuEventDestroy_v2(void *p) noexcept nogil:
    """Destroy an event; records that are under way end without it."""
    cdef event *e = <event *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(EVENT, p):
        return CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_lock(&work_lock)
    if not bury_handle(EVENT, e):
        r = CUDA_ERROR_INVALID_HANDLE
    elif e.head.held == 0:
        free_event(e)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuEventDestroy(void *p) noexcept nogil:
    """The name before CUDA 4.0."""
    return cuEventDestroy_v2(p)


cdef public int cuEventRecord(void *p, void *q) noexcept nogil:
    """Put a mark into a stream."""
    cdef event *e = <event *>p
    cdef stream *s = NULL
    cdef capture *taken = NULL
    cdef op *o
    cdef int r = enter_stream(q, &s)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(EVENT, p) or e.of_context != s.of:
        return CUDA_ERROR_INVALID_HANDLE
    o = new_op(RECORD_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_lock(&work_lock)
    if not is_handle(EVENT, p) or not s.head.live:  # another thread has destroyed one of them
        pthread_mutex_unlock(&work_lock)
        free(o)
        return CUDA_ERROR_INVALID_HANDLE
    r = look_for_capture(s, &taken)
    if r != CUDA_SUCCESS or taken != NULL:
        if taken != NULL:
            forget_list(&e.marks)
            e.captured = taken.number
            r = CUDA_SUCCESS if list_all(&e.marks, &s.tips) else CUDA_ERROR_OUT_OF_MEMORY
        pthread_mutex_unlock(&work_lock)
        free(o)
        return r
    e.captured = 0
    record_order(e, s)
    if s.first == NULL and ready_for_record(s):  # nothing to wait for: it has happened
        e.number = e.happened = next_record(e)
        e.when = now_ms()
        if e.shared != NULL:
            event_passed(e.shared, e.number)
        pthread_mutex_unlock(&work_lock)
        free(o)
        return CUDA_SUCCESS
    if not s.worker and not start_worker(s):
        pthread_mutex_unlock(&work_lock)
        free(o)
        return CUDA_ERROR_OUT_OF_MEMORY
    e.number = next_record(e)
    e.head.held += 1
    o.of_event = e
    o.number = e.number
    append_op(s, o)
    e.of = s
    e.stream_serial = s.head.serial
    e.ticket = o.ticket
    rouse_worker(s)
    pthread_mutex_unlock(&work_lock)
    return CUDA_SUCCESS


cdef bint ready_for_record(stream *s) noexcept nogil:
    """Whether an operation that came now could start at once.  With work_lock held."""
    cdef stream *t
    if s == s.of.default_stream:
        t = s.of.streams
        while t != NULL:
            if t != s and not t.flags & CU_STREAM_NON_BLOCKING and t.first != NULL:
                return False
            t = t.next
        return True
    return s.flags & CU_STREAM_NON_BLOCKING or s.of.default_stream.first == NULL


cdef public int cuEventRecordWithFlags(void *p, void *q, unsigned flags) noexcept nogil:
    """As cuEventRecord; CU_EVENT_RECORD_EXTERNAL: the graph that is captured will record it."""
    cdef event *e = <event *>p
    cdef stream *s = NULL
    cdef op *o
    cdef int r
    if flags != CU_EVENT_RECORD_EXTERNAL:
        return cuEventRecord(p, q) if flags == 0 else CUDA_ERROR_INVALID_VALUE
    r = enter_stream(q, &s)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(EVENT, p) or e.of_context != s.of:
        return CUDA_ERROR_INVALID_HANDLE
    if s.captured == NULL:
        return CUDA_ERROR_INVALID_VALUE
    o = new_op(RECORD_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    o.of_event = e
    return submit_captured(s, o)


cdef int refuse_captured_event(event *e) noexcept nogil:
    """For questions about an event whose last record is a capture's.  Without work_lock."""
    cdef capture *c
    pthread_mutex_lock(&work_lock)
    c = capture_of_event(e)
    if c != NULL:
        c.spoilt = True
    pthread_mutex_unlock(&work_lock)
    return CUDA_SUCCESS if c == NULL else CUDA_ERROR_CAPTURED_EVENT


cdef int enter_event(void *p, event **to) noexcept nogil:
    """What a call about an event begins with."""
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(EVENT, p):
        return CUDA_ERROR_INVALID_HANDLE
    to[0] = <event *>p
    if is_handle(CONTEXT, to[0].of_context):
        return to[0].of_context.failure
    return CUDA_ERROR_CONTEXT_IS_DESTROYED


cdef public int cuEventQuery(void *p) noexcept nogil:
    """Whether the last record was passed: CUDA_SUCCESS (also if there is none) or CUDA_ERROR_NOT_READY.

    CUDA_ERROR_LAUNCH_FAILED: another process has recorded it, and is gone.
    """
    cdef event *e = NULL
    cdef int r = enter_event(p, &e)
    if r == CUDA_SUCCESS:
        r = refuse_captured_event(e)
    if r == CUDA_SUCCESS:
        r = refuse_unsafe()
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    if not has_happened(e):
        r = CUDA_ERROR_NOT_READY
        if e.shared != NULL and event_lost(e.shared, load64(&e.shared.recorded, ACQUIRE)):
            r = CUDA_ERROR_LAUNCH_FAILED
    else:
        host_sees_event(e)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuEventSynchronize(void *p) noexcept nogil:
    """Wait until the last record was passed."""
    cdef event *e = NULL
    cdef context *c
    cdef bint there = True
    cdef int r = enter_event(p, &e)
    if r == CUDA_SUCCESS:
        r = refuse_captured_event(e)
    if r != CUDA_SUCCESS:
        return r
    c = e.of_context
    pthread_mutex_lock(&work_lock)
    if e.number != e.happened:
        work_until(e.of, e.ticket)
    host_sees_event(e)
    e.head.held += 1
    pthread_mutex_unlock(&work_lock)
    if e.shared != NULL:
        there = event_awaited(e.shared, load64(&e.shared.recorded, ACQUIRE))
    pthread_mutex_lock(&work_lock)
    event_released(e)
    pthread_mutex_unlock(&work_lock)
    return c.failure if there else CUDA_ERROR_LAUNCH_FAILED


cdef public int cuEventElapsedTime(float *to, void *p, void *q) noexcept nogil:
    """Milliseconds between two events."""
    cdef event *start = NULL
    cdef event *end = NULL
    cdef int r = enter_event(p, &start)
    if r == CUDA_SUCCESS:
        r = enter_event(q, &end)
    if r == CUDA_SUCCESS:
        r = refuse_captured_event(start)
    if r == CUDA_SUCCESS:
        r = refuse_captured_event(end)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if (start.flags | end.flags) & CU_EVENT_DISABLE_TIMING or start.number == 0 or end.number == 0:
        r = CUDA_ERROR_INVALID_HANDLE
    elif start.number != start.happened or end.number != end.happened:
        r = CUDA_ERROR_NOT_READY
    else:
        to[0] = <float>(end.when - start.when)
        host_sees_event(end)
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuEventElapsedTime_v2(float *to, void *p, void *q) noexcept nogil:
    """CUDA 13's."""
    return cuEventElapsedTime(to, p, q)
