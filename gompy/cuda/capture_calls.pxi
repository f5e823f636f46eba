# cuStreamBeginCapture and its relatives: how a capture begins, grows by hand, is asked for, and ends.


cdef int begin_capture(void *p, graph *into, const node_list *before, int mode) noexcept nogil:
    """Capture what is asked of a stream from now on, into a new graph (NULL) or behind nodes of one."""
    global captures, capture_number
    cdef stream *s = NULL
    cdef capture *c
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if not CU_STREAM_CAPTURE_MODE_GLOBAL <= mode <= CU_STREAM_CAPTURE_MODE_RELAXED:
        return CUDA_ERROR_INVALID_VALUE
    if s == s.of.default_stream:
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    c = <capture *>calloc(1, sizeof(capture))
    if c == NULL:
        return CUDA_ERROR_OUT_OF_MEMORY
    c.origin, c.mode, c.given = s, mode, into != NULL
    pthread_mutex_lock(&work_lock)
    c.into = into if into != NULL else new_graph(False)
    if not s.head.live:
        r = CUDA_ERROR_INVALID_HANDLE
    elif s.captured != NULL or (c.into != NULL and c.into.growing != NULL):
        r = CUDA_ERROR_ILLEGAL_STATE
    elif c.into == NULL or (before != NULL and not list_all(&s.tips, before)):
        r = CUDA_ERROR_OUT_OF_MEMORY
    if r == CUDA_SUCCESS:
        capture_number += 1
        c.number, c.thread = capture_number, this_thread_number()
        c.into.growing = s.captured = c
        c.next = captures
        captures = c
    elif into == NULL and c.into != NULL:
        free_graph(c.into)
    pthread_mutex_unlock(&work_lock)
    if r != CUDA_SUCCESS:
        free(c)
    return r


cdef public int cuStreamBeginCapture_v2(void *p, int mode) noexcept nogil:
    """Not of the default stream: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED."""
    return begin_capture(p, NULL, NULL, mode)


cdef public int cuStreamBeginCapture(void *p) noexcept nogil:
    """CUDA 10.0's: a global capture."""
    return begin_capture(p, NULL, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL)


cdef public int cuStreamBeginCaptureToGraph(void *p, void *into, void **before, const uint64_t *edges, size_t n,
                                            int mode) noexcept nogil:
    """Into a graph of the program's, behind some of its nodes."""
    cdef node_list known
    cdef int r = api_state()
    if r != CUDA_SUCCESS:
        return r
    memset(&known, 0, sizeof(known))
    pthread_mutex_lock(&work_lock)
    r = check_nodes(into, before, edges, n, &known)
    pthread_mutex_unlock(&work_lock)
    if r == CUDA_SUCCESS:
        r = begin_capture(p, <graph *>into, &known, mode)
    forget_list(&known)
    return r


cdef public int cuStreamEndCapture(void *p, void **to) noexcept nogil:
    """The graph; NULL and an error if something went wrong meanwhile.  Who captures into a graph has it already."""
    cdef stream *s = NULL
    cdef capture *c
    cdef graph *made = NULL
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    pthread_mutex_lock(&work_lock)
    c = s.captured
    if c == NULL:
        r = CUDA_ERROR_ILLEGAL_STATE
    elif to == NULL and not c.given:
        r = CUDA_ERROR_INVALID_VALUE
    elif c.origin != s:
        c.spoilt = True
        r = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
    elif c.mode != CU_STREAM_CAPTURE_MODE_RELAXED and c.thread != cuda_thread_number:
        r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
    else:
        if c.spoilt:
            r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
        elif not all_joined(c):
            r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED
        else:
            made = c.into
        end_capture(c, made != NULL)
        if to != NULL:
            to[0] = made
    pthread_mutex_unlock(&work_lock)
    return r


cdef int capture_status(void *p, int *to, stream **of) noexcept nogil:
    """CU_STREAM_CAPTURE_STATUS_*, and the stream.  With work_lock held if it succeeds."""
    cdef int r = enter_stream(p, of)
    cdef stream *s = of[0]
    if r != CUDA_SUCCESS:
        return r
    if to == NULL:
        return CUDA_ERROR_INVALID_VALUE
    pthread_mutex_lock(&work_lock)
    if s == s.of.default_stream and blocking_captured(s.of):
        pthread_mutex_unlock(&work_lock)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    to[0] = CU_STREAM_CAPTURE_STATUS_NONE
    if s.captured != NULL:
        to[0] = CU_STREAM_CAPTURE_STATUS_INVALIDATED if s.captured.spoilt else CU_STREAM_CAPTURE_STATUS_ACTIVE
    return CUDA_SUCCESS


cdef public int cuStreamIsCapturing(void *p, int *to) noexcept nogil:
    """CU_STREAM_CAPTURE_STATUS_*."""
    cdef stream *s = NULL
    cdef int r = capture_status(p, to, &s)
    if r == CUDA_SUCCESS:
        pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuStreamGetCaptureInfo_v2(void *p, int *to, uint64_t *number, void **into, const void **before,
                                          size_t *n) noexcept nogil:
    """The capture's number, its graph, and the nodes that the next one comes after.  Nothing is answered but the status
    where none goes on."""
    cdef stream *s = NULL
    cdef int r = capture_status(p, to, &s)
    if r != CUDA_SUCCESS:
        return r
    if to[0] == CU_STREAM_CAPTURE_STATUS_ACTIVE:
        if number != NULL:
            number[0] = s.captured.number
        if into != NULL:
            into[0] = s.captured.into
        if before != NULL:
            before[0] = s.tips.of
        if n != NULL:
            n[0] = s.tips.count
    pthread_mutex_unlock(&work_lock)
    return r


cdef public int cuStreamGetCaptureInfo(void *p, int *to, uint64_t *number) noexcept nogil:
    """CUDA 10.1's."""
    return cuStreamGetCaptureInfo_v2(p, to, number, NULL, NULL, NULL)


cdef public int cuStreamGetCaptureInfo_v3(void *p, int *to, uint64_t *number, void **into, const void **before,
                                          const void **edges, size_t *n) noexcept nogil:
    """CUDA 12.3's; edges have no data."""
    if edges != NULL:
        edges[0] = NULL
    return cuStreamGetCaptureInfo_v2(p, to, number, into, before, n)


cdef public int cuStreamUpdateCaptureDependencies_v2(void *p, void **before, const uint64_t *edges, size_t n,
                                                     unsigned flags) noexcept nogil:
    """The nodes that the next one comes after: these too, or these alone (CU_STREAM_SET_CAPTURE_DEPENDENCIES)."""
    cdef stream *s = NULL
    cdef capture *c = NULL
    cdef node_list known
    cdef int r = enter_stream(p, &s)
    if r != CUDA_SUCCESS:
        return r
    if flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES:
        return CUDA_ERROR_INVALID_VALUE
    memset(&known, 0, sizeof(known))
    pthread_mutex_lock(&work_lock)
    r = look_for_capture(s, &c)
    if r == CUDA_SUCCESS:
        r = CUDA_ERROR_ILLEGAL_STATE if c == NULL else check_nodes(c.into, before, edges, n, &known)
    if r == CUDA_SUCCESS:
        if flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES:
            forget_list(&s.tips)
        if not list_all(&s.tips, &known):
            r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&work_lock)
    forget_list(&known)
    return r


cdef public int cuStreamUpdateCaptureDependencies(void *p, void **before, size_t n, unsigned flags) noexcept nogil:
    """CUDA 11.3's."""
    return cuStreamUpdateCaptureDependencies_v2(p, before, NULL, n, flags)


cdef public int cuThreadExchangeStreamCaptureMode(int *mode) noexcept nogil:
    """The thread's mode (CU_STREAM_CAPTURE_MODE_*), and the one before: which calls captures forbid it."""
    cdef int r = api_state()
    cdef int before = cuda_capture_mode
    global cuda_capture_mode
    if r != CUDA_SUCCESS:
        return r
    if mode == NULL or not CU_STREAM_CAPTURE_MODE_GLOBAL <= mode[0] <= CU_STREAM_CAPTURE_MODE_RELAXED:
        return CUDA_ERROR_INVALID_VALUE
    cuda_capture_mode = mode[0]
    mode[0] = before
    return CUDA_SUCCESS
