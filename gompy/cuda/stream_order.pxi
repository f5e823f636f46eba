# GOMPY_CHECK=race: what comes before each operation of a stream, for races between streams (gompy/ptx/race_streams.h).
#
# A stream has a place; what is known is a ticket for each place: all operations of that stream up to it come before.
# Events carry it from stream to stream, waits to the program.  Threads of the program are taken to tell each other
# what they know at once.  All of this is guarded by work_lock.

cdef uint64_t host_known[PTX_ORDER_STREAMS]
cdef uint64_t gone_known[2][PTX_ORDER_STREAMS]  # by streams that are gone: the blocking ones, the others
cdef stream *placed_streams[PTX_ORDER_STREAMS]


cdef inline bint follows_order() noexcept nogil:
    """Whether anybody asks."""
    return checking & PTX_CHECK_RACE != 0


cdef inline bint has_sides() noexcept nogil:
    """Whether some operation may run beside others: in a stream that the program has made, or on another device."""
    return streams_made or devices_used > 1


cdef void join_known(uint64_t *to, const uint64_t *of) noexcept nogil:
    """Who knows one knows the other."""
    cdef int i
    if to == NULL or of == NULL:
        return
    for i in range(PTX_ORDER_STREAMS):
        to[i] = max(to[i], of[i])


cdef void note_asker() noexcept nogil:
    """Where this thread asks for operations now.  Without work_lock: finding it waits for the loader, whom a library's
    constructor may hold that waits for that lock."""
    if number_in_log != NULL and cuda_thread.asker == 0:
        cuda_thread.asker = number_in_log()
    if follows_order() and has_sides():
        find_callers(cuda_thread.callers)


cdef void find_place(stream *s) noexcept nogil:
    """Give a stream its place, if there is one left."""
    cdef uint32_t i
    for i in range(PTX_ORDER_STREAMS):
        if placed_streams[i] == NULL:
            placed_streams[i] = s
            s.place = i + 1
            return


cdef void leave_place(stream *s) noexcept nogil:
    """A stream goes: it has done its work."""
    join_known(gone_known[s.flags & CU_STREAM_NON_BLOCKING], s.known)
    free(s.known)
    s.known = NULL
    if s.place:
        placed_streams[s.place - 1] = NULL
        s.place = 0


cdef bint renew_known(stream *s) noexcept nogil:
    """What would come before an operation now.  False: it is not followed."""
    cdef stream *t
    cdef stream *usual = s.of.default_stream
    if s.known == NULL:
        s.known = <uint64_t *>calloc(PTX_ORDER_STREAMS, sizeof(uint64_t))
    if s.known == NULL:
        return False
    join_known(s.known, host_known)
    if s == usual:
        join_known(s.known, gone_known[0])
        t = s.of.streams
        while t != NULL:
            if t != s and not t.flags & CU_STREAM_NON_BLOCKING:
                join_known(s.known, t.known)
            t = t.next
    elif usual != NULL and not s.flags & CU_STREAM_NON_BLOCKING:
        join_known(s.known, usual.known)
    return True


cdef void order_op(stream *s, op *o) noexcept nogil:
    """An operation is queued: what comes before it."""
    if not renew_known(s):
        return
    if o.kind not in (COPY_OP, FILL_OP, LAUNCH_OP) and not (o.kind == FOLLOW_OP and o.in_order):
        return
    if not s.place:
        find_place(s)
    if not s.place:
        return
    s.known[s.place - 1] = o.ticket
    if not has_sides():
        return  # there is nothing beside it
    o.order = <ptx_order *>malloc(sizeof(ptx_order))
    if o.order == NULL:
        return
    o.order.stream = s.place - 1
    o.order.number = s.number
    o.order.device = s.of.device.ordinal + 1 if gpu_count > 1 else 0
    o.order.ticket = o.ticket
    memcpy(o.order.callers, cuda_thread.callers, sizeof(o.order.callers))
    o.order.name_caller = name_caller
    memcpy(o.order.before, s.known, sizeof(o.order.before))
    memcpy(o.order.always, host_known, sizeof(o.order.always))


cdef void share_order(op *o, const op *of) noexcept nogil:
    """An operation is done as a part of another one."""
    if of.order == NULL:
        return
    o.order = <ptx_order *>malloc(sizeof(ptx_order))
    if o.order != NULL:
        o.order[0] = of.order[0]


cdef void leave_unknown(const stream *s, ptx_order *order) noexcept nogil:
    """An operation begins: what comes before all that is still to come does so for what others have queued, too.

    That may have been queued before the program knew so much.  Of a stream's operations the first knows least.
    """
    cdef stream *t = all_streams
    cdef const op *o
    cdef int i
    while t != NULL:
        o = t.first if t != s else NULL
        while o != NULL and o.order == NULL:
            o = o.next
        if o != NULL:
            for i in range(PTX_ORDER_STREAMS):
                order.always[i] = min(order.always[i], o.order.before[i])
        t = t.next_all


cdef void record_order(event *e, stream *s) noexcept nogil:
    """An event is recorded in a stream."""
    if not follows_order() or not renew_known(s):
        return
    if e.known == NULL:
        e.known = <uint64_t *>malloc(PTX_ORDER_STREAMS * sizeof(uint64_t))
    if e.known != NULL:
        memcpy(e.known, s.known, PTX_ORDER_STREAMS * sizeof(uint64_t))


cdef void await_order(stream *s, event *e) noexcept nogil:
    """A stream waits for an event."""
    if follows_order() and renew_known(s):
        join_known(s.known, e.known)


cdef void await_all_streams(stream *s) noexcept nogil:
    """A stream waits for a word that any other one may write: of all that was asked of them it is taken to know."""
    cdef stream *t = all_streams
    if not follows_order() or not renew_known(s):
        return
    while t != NULL:
        join_known(s.known, t.known)
        t = t.next_all


cdef void value_has_come(stream *s) noexcept nogil:
    """The word that a stream has waited for was written: what was asked of others meanwhile is known to it, too.

    The write may have been asked for behind the wait, and what is queued in the stream behind both.
    """
    cdef op *o
    pthread_mutex_lock(&work_lock)
    if follows_order() and s.known != NULL:
        await_all_streams(s)
        o = s.first
        while o != NULL:
            if o.order != NULL:
                join_known(o.order.before, s.known)
            o = o.next
    pthread_mutex_unlock(&work_lock)


cdef void host_sees_event(event *e) noexcept nogil:
    """The program knows that an event has happened."""
    if follows_order():
        join_known(host_known, e.known)


cdef void host_sees_stream(stream *s) noexcept nogil:
    """The program knows that a stream has done its work."""
    if follows_order():
        join_known(host_known, s.known)


cdef void host_sees_context(context *c) noexcept nogil:
    """The program knows that all streams of a context have."""
    cdef stream *s = c.streams
    if not follows_order():
        return
    join_known(host_known, gone_known[0])
    join_known(host_known, gone_known[1])
    while s != NULL:
        join_known(host_known, s.known)
        s = s.next


cdef void note_side(const op *o, const char *what, const char *address, uint64_t size, uint64_t rows, uint64_t pitch,
                    int writes) noexcept nogil:
    """Rows that are no kernel's."""
    cdef gpu *g = gpu_of(<uint64_t>address)
    if g != NULL and size and need_executor():
        ptx.note(&g.view, o.order, o.config.asker, what, <uint64_t>address, size, rows, pitch, writes)


cdef void note_op(const op *o) noexcept nogil:
    """What a copy or a fill accesses.  Without work_lock."""
    cdef size_t z
    if o.kind == FILL_OP:
        note_side(o, b"a fill", o.fill.to, o.fill.count * o.fill.unit, o.fill.height, o.fill.pitch, 1)
        return
    for z in range(o.copy.depth):
        note_side(o, b"a copy", o.copy.of + z * o.copy.of_slice, o.copy.width, o.copy.height, o.copy.of_pitch, 0)
        note_side(o, b"a copy", o.copy.to + z * o.copy.to_slice, o.copy.width, o.copy.height, o.copy.to_pitch, 1)
