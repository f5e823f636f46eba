# cuStream*, and calls of the program in the order of a stream.


cdef public int cuStreamCreateWithPriority(void **to, unsigned flags, int priority) noexcept nogil:
    """A stream; priorities are kept, without effect."""
    cdef context *c
    cdef stream *s
    cdef int r = current_context(&c)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL or flags > CU_STREAM_NON_BLOCKING:
        return CUDA_ERROR_INVALID_VALUE
    s = create_stream(c, flags, 0 if priority > 0 else -5 if priority < -5 else priority)
    if s == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    to[0] = s
    return CUDA_SUCCESS


cdef public int cuStreamCreate(void **to, unsigned flags) noexcept nogil:
    """A stream: CU_STREAM_DEFAULT or CU_STREAM_NON_BLOCKING."""
    return cuStreamCreateWithPriority(to, flags, 0)


cdef public int cuStreamDestroy_v2(void *p) noexcept nogil:
    """Destroy a stream; what is queued is still done."""
    cdef stream *s = <stream *>p
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    if <size_t>p <= 2 or not is_handle(STREAM, p) or s == s.of.default_stream:
        return CUDA_ERROR_INVALID_HANDLE
    pthread_mutex_lock(&work_lock)
    if s.captured != NULL and s.captured.origin == s:
        s.captured.spoilt = True
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    if s.captured != NULL:
        if not list_all(&s.captured.loose, &s.tips):
            s.captured.spoilt = True
        leave_capture(s)
    if not bury_handle(STREAM, s):
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_INVALID_HANDLE
    s.ending = True
    if s.worker:
        rouse_worker(s)
    else:
        while s.first != NULL:
            pthread_cond_wait(&work_done, &work_lock)
        remove_stream(s)
    pthread_mutex_unlock(&work_lock)
    return CUDA_SUCCESS


cdef public int cuStreamDestroy(void *p) noexcept nogil:
    """The name before CUDA 4.0."""
    return cuStreamDestroy_v2(p)


cdef public int cuStreamQuery(void *p) noexcept nogil:
    """Whether a stream has nothing left to do: CUDA_SUCCESS or CUDA_ERROR_NOT_READY."""
    cdef stream *s = NULL
    cdef bint idle
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    r = refuse_captured(s)
    if r != CUDA_SUCCESS:
        pthread_mutex_unlock(&work_lock)
        return r
    idle = s.first == NULL
    if idle:
        host_sees_stream(s)
    if s.polling and not idle:
        rouse_worker(s)  # the program does not wait, so it will not help
    pthread_mutex_unlock(&work_lock)
    return s.of.failure if idle else CUDA_ERROR_NOT_READY


cdef public int cuStreamSynchronize(void *p) noexcept nogil:
    """Wait for a stream."""
    cdef stream *s = NULL
    cdef context *c
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    c = s.of
    pthread_mutex_lock(&work_lock)
    r = refuse_captured(s)
    if r == CUDA_SUCCESS:
        work_until(s, last_ticket)
        host_sees_stream(s)
    pthread_mutex_unlock(&work_lock)
    return r if r != CUDA_SUCCESS else c.failure


cdef int await_shared(stream *s, event *e) noexcept nogil:
    """A stream waits for what processes have recorded so far."""
    cdef op *o = new_op(SHARED_OP, 0)
    cdef int r
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    o.of_event, o.number = e, load64(&e.shared.recorded, ACQUIRE)
    pthread_mutex_lock(&work_lock)
    e.head.held += 1
    pthread_mutex_unlock(&work_lock)
    r = submit_op(s, o)
    if r != CUDA_SUCCESS:
        pthread_mutex_lock(&work_lock)
        event_released(e)
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuStreamWaitEvent(void *p, void *e, unsigned flags) noexcept nogil:
    """What comes later on the stream waits for what the event recorded last."""
    cdef stream *s = NULL
    cdef event *of = <event *>e
    cdef op *o
    cdef bint taken = False
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if not is_handle(EVENT, e):
        return CUDA_ERROR_INVALID_HANDLE
    if flags > CU_EVENT_WAIT_EXTERNAL:
        return CUDA_ERROR_INVALID_VALUE
    if captures != NULL or flags:
        r = wait_in_capture(s, of, flags, &taken)
        if r != CUDA_SUCCESS or taken:
            return r
    if follows_order():
        pthread_mutex_lock(&work_lock)
        await_order(s, of)
        pthread_mutex_unlock(&work_lock)
    if has_happened(of):
        return CUDA_SUCCESS
    if of.shared != NULL:
        return await_shared(s, of)
    o = new_op(WAIT_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    o.awaited, o.awaited_serial, o.awaited_ticket = of.of, of.stream_serial, of.ticket
    return submit_op(s, o)


cdef public int cuStreamAddCallback(void *p, stream_callback call, void *data, unsigned flags) noexcept nogil:
    """The stream's thread calls a function of the program, which may not use the API (CUDA_ERROR_NOT_PERMITTED)."""
    cdef stream *s = NULL
    cdef op *o
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if call == NULL or flags != 0:
        return CUDA_ERROR_INVALID_VALUE
    o = new_op(CALLBACK_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    o.call, o.data = call, data
    return submit_op(s, o)


cdef public int cuLaunchHostFunc(void *p, host_function call, void *data) noexcept nogil:
    """The stream's thread calls a function of the program, unless an error came first."""
    cdef stream *s = NULL
    cdef op *o
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if call == NULL:
        return CUDA_ERROR_INVALID_VALUE
    o = new_op(HOST_OP, 0)
    if o == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    o.host_call, o.data = call, data
    return submit_op(s, o)


cdef public int cuStreamGetFlags(void *p, unsigned *to) noexcept nogil:
    """CU_STREAM_DEFAULT or CU_STREAM_NON_BLOCKING."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = s.flags
    return CUDA_SUCCESS


cdef public int cuStreamGetPriority(void *p, int *to) noexcept nogil:
    """The priority, within the range."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = s.priority
    return CUDA_SUCCESS


cdef public int cuStreamGetDevice(void *p, int *to) noexcept nogil:
    """The device that does its work."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = device_number(s.of.device)
    return CUDA_SUCCESS


cdef int find_attribute(void *p, int kind, const void *value, stream **to, int *row) noexcept nogil:
    """What a call about a stream's attribute begins with: those that have no effect on an emulated device are kept."""
    cdef int r = enter_stream(p, to)
    row[0] = 0 if kind == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW else 1
    if r == CUDA_SUCCESS and value == NULL:
        r = CUDA_ERROR_INVALID_VALUE
    if r == CUDA_SUCCESS and kind not in (
        CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
    ):
        r = CUDA_ERROR_INVALID_VALUE
    return r


cdef public int cuStreamSetAttribute(void *p, int kind, const void *value) noexcept nogil:
    """Keep an attribute."""
    cdef stream *s = NULL
    cdef int row = 0
    cdef int r = find_attribute(p, kind, value, &s, &row)
    if r == CUDA_SUCCESS:
        memcpy(s.attributes[row], value, sizeof(s.attributes[row]))
    return r


cdef public int cuStreamGetAttribute(void *p, int kind, void *value) noexcept nogil:
    """The attribute that was set, or zeros."""
    cdef stream *s = NULL
    cdef int row = 0
    cdef int r = find_attribute(p, kind, value, &s, &row)
    if r == CUDA_SUCCESS:
        memcpy(value, s.attributes[row], sizeof(s.attributes[row]))
    return r


cdef public int cuStreamCopyAttributes(void *p, void *q) noexcept nogil:
    """To p from q."""
    cdef stream *s = NULL
    cdef stream *t = NULL
    cdef int r = enter_stream(p, &s)
    if r == CUDA_SUCCESS:
        r = enter_stream(q, &t)
    if r == CUDA_SUCCESS:
        memcpy(s.attributes, t.attributes, sizeof(s.attributes))
    return r


cdef public int cuStreamGetCtx(void *p, void **to) noexcept nogil:
    """The stream's context."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = s.of
    return CUDA_SUCCESS


cdef public int cuStreamGetId(void *p, unsigned long long *to) noexcept nogil:
    """A number that no other stream of this process has had."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    to[0] = s.head.serial
    return CUDA_SUCCESS


cdef public int cuStreamAttachMemAsync(void *p, CUdeviceptr address, size_t length, unsigned flags) noexcept nogil:
    """Managed memory is visible everywhere: nothing to do."""
    cdef stream *s = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    return check_device_range(address, length)
