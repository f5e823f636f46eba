# Stream capture: what is asked of a stream becomes nodes of a graph, and is not done.
#
# A capture begins in one stream.  Another takes part from when it waits for an event that was recorded in one that
# does, and must be joined to the first before the end.  What can't be captured is refused, and the capture is spoilt.
# All of this is guarded by work_lock.

cdef struct capture:
    capture *next
    uint64_t number
    graph *into
    bint given                 # the program's own graph: cuStreamBeginCaptureToGraph
    stream *origin
    int mode
    bint spoilt
    uint64_t thread
    node_list loose            # the last nodes of streams that were destroyed meanwhile

cdef capture *captures
cdef uint64_t capture_number
cdef uint64_t thread_number

cdef extern from *:
    """
    static __thread int cuda_capture_mode;
    static __thread unsigned long long cuda_thread_number;
    """
    int cuda_capture_mode              # cuThreadExchangeStreamCaptureMode
    unsigned long long cuda_thread_number


cdef uint64_t this_thread_number() noexcept nogil:
    """A number that no other thread of this process has had."""
    global thread_number, cuda_thread_number
    if cuda_thread_number == 0:
        thread_number += 1
        cuda_thread_number = thread_number
    return cuda_thread_number


cdef capture *capture_of_event(const event *e) noexcept nogil:
    """The capture in which an event was recorded last, if it goes on."""
    cdef capture *c = captures
    if e.captured == 0:
        return NULL
    while c != NULL and c.number != e.captured:
        c = c.next
    return c


cdef void spoil_captures(context *c) noexcept nogil:
    """Of all blocking streams of a context."""
    cdef stream *s = c.streams
    while s != NULL:
        if s.captured != NULL and not s.flags & CU_STREAM_NON_BLOCKING:
            s.captured.spoilt = True
        s = s.next


cdef bint blocking_captured(const context *c) noexcept nogil:
    """Whether a blocking stream of a context is captured: the default stream would wait for it."""
    cdef const stream *s = c.streams
    while s != NULL:
        if s.captured != NULL and not s.flags & CU_STREAM_NON_BLOCKING:
            return True
        s = s.next
    return False


cdef int look_for_capture(stream *s, capture **to) noexcept nogil:
    """The capture that a stream takes part in, or NULL; an error if it is spoilt, or if the default stream would wait
    for one."""
    to[0] = NULL
    if captures == NULL:
        return CUDA_SUCCESS
    if s == s.of.default_stream and blocking_captured(s.of):
        spoil_captures(s.of)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    if s.captured != NULL and s.captured.spoilt:
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    to[0] = s.captured
    return CUDA_SUCCESS


cdef int refuse_captured(stream *s) noexcept nogil:
    """For what can't be asked of a stream that is captured.  With work_lock held."""
    cdef capture *c = NULL
    cdef int r = look_for_capture(s, &c)
    if c != NULL:
        c.spoilt = True
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return r


cdef int refuse_unsafe() noexcept nogil:
    """For calls that may wait for a device: none in a thread that captures, nor beside a global capture of another
    (cuThreadExchangeStreamCaptureMode).  Without work_lock."""
    cdef capture *c
    cdef bint own
    cdef int r = CUDA_SUCCESS
    if captures == NULL or cuda_capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED:
        return CUDA_SUCCESS
    pthread_mutex_lock(&work_lock)
    c = captures
    while c != NULL:
        own = c.thread == cuda_thread_number
        if (own and c.mode != CU_STREAM_CAPTURE_MODE_RELAXED) or (
            not own
            and c.mode == CU_STREAM_CAPTURE_MODE_GLOBAL
            and cuda_capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
        ):
            c.spoilt = True
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        c = c.next
    pthread_mutex_unlock(&work_lock)
    return r


cdef int refuse_wait(context *c) noexcept nogil:
    """For waiting for all of a context.  Without work_lock."""
    cdef stream *s
    cdef int r = CUDA_SUCCESS
    if captures == NULL:
        return r
    pthread_mutex_lock(&work_lock)
    s = c.streams
    while s != NULL:
        if s.captured != NULL:
            s.captured.spoilt = True
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        s = s.next
    pthread_mutex_unlock(&work_lock)
    return r


cdef node *capture_node(stream *s, int kind, op *work, size_t extra) noexcept nogil:
    """A node that comes after what the stream did last in its capture; NULL: no memory."""
    cdef node *n = add_node(s.captured.into, kind, work, extra, &s.tips)
    if n != NULL:
        s.tips.count = 0
        list_node(&s.tips, n)  # there is room, or the stream has had no node yet
        if s.tips.count == 0:
            s.captured.spoilt = True
    return n


cdef int capture_work(stream *s, op *o) noexcept nogil:
    """An operation of a stream that is captured becomes a node, which has it from now on."""
    cdef node *n
    cdef CUDA_MEMCPY3D *d
    cdef size_t extra = 0
    cdef int kind = CU_GRAPH_NODE_TYPE_HOST
    if o.kind == CALLBACK_OP or o.kind == SHARED_OP or o.kind == VALUE_OP:
        s.captured.spoilt = True
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    if o.kind == COPY_OP:
        kind = CU_GRAPH_NODE_TYPE_MEMCPY
    elif o.kind == FILL_OP:
        kind = CU_GRAPH_NODE_TYPE_MEMSET
    elif o.kind == LAUNCH_OP:
        kind = CU_GRAPH_NODE_TYPE_KERNEL
        extra = o.config.params_size + 16
    elif o.kind == RECORD_OP:
        kind = CU_GRAPH_NODE_TYPE_EVENT_RECORD
    elif o.kind == WAIT_OP:
        kind = CU_GRAPH_NODE_TYPE_WAIT_EVENT
    n = capture_node(s, kind, o, extra)
    if n == NULL:
        s.captured.spoilt = True
        return CUDA_ERROR_OUT_OF_MEMORY
    if kind == CU_GRAPH_NODE_TYPE_MEMCPY:
        d = &n.copy
        d.srcMemoryType = d.dstMemoryType = CU_MEMORYTYPE_UNIFIED
        d.srcDevice, d.dstDevice = <CUdeviceptr>o.copy.of, <CUdeviceptr>o.copy.to
        d.srcPitch, d.dstPitch = o.copy.of_pitch, o.copy.to_pitch
        d.srcHeight = o.copy.of_slice / o.copy.of_pitch if o.copy.of_pitch else 0
        d.dstHeight = o.copy.to_slice / o.copy.to_pitch if o.copy.to_pitch else 0
        d.WidthInBytes, d.Height, d.Depth = o.copy.width, o.copy.height, o.copy.depth
    return CUDA_SUCCESS


cdef void leave_capture(stream *s) noexcept nogil:
    """A stream does what is asked of it again."""
    s.captured = NULL
    forget_list(&s.tips)


cdef void end_capture(capture *c, bint keep) noexcept nogil:
    """All streams leave it; its graph stays or goes."""
    cdef capture **link = &captures
    cdef stream *s = all_streams
    while s != NULL:
        if s.captured == c:
            leave_capture(s)
        s = s.next_all
    while link[0] != c:
        link = &link[0].next
    link[0] = c.next
    c.into.growing = NULL
    if not keep and not c.given:
        free_graph(c.into)
    forget_list(&c.loose)
    free(c)


cdef void abandon_captures(context *c) noexcept nogil:
    """A context ends: so do captures that its streams take part in."""
    cdef stream *s
    pthread_mutex_lock(&work_lock)
    s = c.streams
    while s != NULL:
        if s.captured != NULL:
            end_capture(s.captured, False)
        s = s.next
    pthread_mutex_unlock(&work_lock)


cdef bint all_joined(capture *c) noexcept nogil:
    """Whether all that was captured comes before the last nodes of the stream in which it began."""
    cdef graph *g = c.into
    cdef node *n = g.first
    cdef stream *s = all_streams
    cdef node_list waiting
    cdef size_t at = 0, i
    cdef bint joined = True
    memset(&waiting, 0, sizeof(waiting))
    while n != NULL:
        n.mark = 0
        n = n.next
    joined = list_all(&waiting, &c.origin.tips)
    while joined and at < waiting.count:
        n = waiting.of[at]
        at += 1
        n.mark = 1
        for i in range(n.before.count):
            if n.before.of[i].mark == 0:
                n.before.of[i].mark = 1
                # Marked, so that it comes once: no need to look for it.
                if waiting.count == waiting.room:
                    joined = joined and list_node(&waiting, n.before.of[i])
                else:
                    waiting.of[waiting.count] = n.before.of[i]
                    waiting.count += 1
    forget_list(&waiting)
    for i in range(c.loose.count):
        joined = joined and c.loose.of[i].mark == 1
    while s != NULL:
        if s.captured == c:
            for i in range(s.tips.count):
                joined = joined and s.tips.of[i].mark == 1
        s = s.next_all
    return joined


cdef int submit_captured(stream *s, op *o) noexcept nogil:
    """An operation that only a capture can have; it is freed if there is none."""
    cdef capture *c = NULL
    cdef int r
    pthread_mutex_lock(&work_lock)
    r = look_for_capture(s, &c)
    if r == CUDA_SUCCESS:
        r = CUDA_ERROR_INVALID_VALUE if c == NULL else capture_work(s, o)
    pthread_mutex_unlock(&work_lock)
    if r != CUDA_SUCCESS:
        free(o)
    return r


cdef int wait_in_capture(stream *s, event *e, unsigned flags, bint *taken) noexcept nogil:
    """What waiting for an event is where something is captured: `taken` if it is no usual wait."""
    cdef capture *own = NULL
    cdef capture *other
    cdef op *o
    cdef int r
    if flags & CU_EVENT_WAIT_EXTERNAL:
        taken[0] = True
        o = new_op(WAIT_OP, 0)
        if o == NULL:
            return CUDA_ERROR_OUT_OF_MEMORY
        o.of_event = e
        return submit_captured(s, o)
    pthread_mutex_lock(&work_lock)
    r = look_for_capture(s, &own)
    other = capture_of_event(e)
    taken[0] = own != NULL or other != NULL
    if r != CUDA_SUCCESS or not taken[0]:
        pass
    elif other == NULL:
        own.spoilt = True
        r = CUDA_ERROR_STREAM_CAPTURE_ISOLATION
    elif other.spoilt:
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    elif own == NULL and s == s.of.default_stream:
        other.spoilt = True
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
    elif own != NULL and own != other:
        own.spoilt = other.spoilt = True
        r = CUDA_ERROR_STREAM_CAPTURE_MERGE
    else:
        s.captured = other
        if not list_all(&s.tips, &e.marks):
            other.spoilt = True
            r = CUDA_ERROR_OUT_OF_MEMORY
    pthread_mutex_unlock(&work_lock)
    return r
