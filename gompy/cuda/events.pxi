# Events: marks in streams, with the time when they were passed; the structure is in shared_events.pxi.


cdef void event_happens(event *e, uint64_t number) noexcept nogil:
    """A stream passes a record.  Without work_lock."""
    pthread_mutex_lock(&work_lock)
    e.when = now_ms()
    e.happened = number
    if e.shared != NULL:
        event_passed(e.shared, number)
    pthread_mutex_unlock(&work_lock)


cdef void event_released(event *e) noexcept nogil:
    """A record is over; a destroyed event goes with its last one.  With work_lock held."""
    e.head.held -= 1
    if e.head.held == 0 and not e.head.live:
        free_event(e)


cdef void free_event(event *e) noexcept nogil:
    """It goes, with what it remembers.  With work_lock held."""
    forget_list(&e.marks)
    free(e.known)
    leave_event(e)
    free_handle(EVENT, e)
