# Events: marks in streams, with the time when they were passed.

cdef struct event:
    handle_head head
    uint32_t flags
    uint64_t number            # of the last record; 0 = never
    uint64_t happened          # number of the last record that was passed
    double when                # ms
    stream *of                 # where it was recorded last
    uint64_t stream_serial, ticket
    context *of_context
    uint64_t captured          # the capture in which it was recorded last, by its number
    node_list marks            # what comes before it there


cdef void event_happens(event *e, uint64_t number) noexcept nogil:
    """A stream passes a record.  Without work_lock."""
    pthread_mutex_lock(&work_lock)
    e.when = now_ms()
    e.happened = number
    pthread_mutex_unlock(&work_lock)


cdef void event_released(event *e) noexcept nogil:
    """A record is over; a destroyed event goes with its last one.  With work_lock held."""
    e.head.held -= 1
    if e.head.held == 0 and not e.head.live:
        free_event(e)


cdef void free_event(event *e) noexcept nogil:
    """It goes, with what it remembers.  With work_lock held."""
    forget_list(&e.marks)
    free_handle(EVENT, e)
