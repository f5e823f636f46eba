# GOMPY_CHECK: pages of a device's memory are opened and closed, and closed blocks are kept for a while (guards.pxi).

cdef extern from *:
    """
    #define GUARD_IDLE_BYTES (32ull << 20) /* more would have every new block take pages that are new, too */
    """
    uint64_t GUARD_IDLE_BYTES


cdef void change_later(mic_device *d, uint64_t offset, uint64_t n, bint access) noexcept nogil:
    """Have pages opened or closed before anything else begins on the device."""
    cdef mic_guards *guards = &d.control.guards
    cdef mic_guard *change
    pthread_mutex_lock(&d.commands)
    if guards.tail - load32(&guards.head, ACQUIRE) == <uint32_t>MIC_GUARDS:
        run_command(d, MIC_OP_PROTECT, 0, 0, 0)
    change = &guards.list[guards.tail % <uint32_t>MIC_GUARDS]
    change.offset = offset
    change.size = n
    change.access = access
    store32(&guards.tail, guards.tail + 1, RELEASE)
    pthread_mutex_unlock(&d.commands)


cdef void open_pages(mic_device *d, uint64_t offset, uint64_t n, bint access) noexcept nogil:
    """Give the device access to pages of its memory, or take it away.

    Each closed page between open ones costs the kernel two mappings; when there are too many (vm.max_map_count), pages
    stay open, which is told once.
    """
    cdef int64_t error
    if n == 0:
        return
    if d.marks != NULL:
        change_later(d, offset, n, access)
        return
    pthread_mutex_lock(&d.commands)
    error = run_command(d, MIC_OP_POISON if d.preload[0] else MIC_OP_PROTECT, offset, n, access)
    pthread_mutex_unlock(&d.commands)
    if error and access:
        GOMP_PLUGIN_fatal(b"device %d (intelmic): GOMPY_CHECK: %s (vm.max_map_count is the limit of guarded blocks)",
                          d.number, strerror(<int>error))
    if error:
        tell_no_guards(d, <int>error)


cdef void keep_idle(mic_device *d, uint64_t start, uint64_t bytes) noexcept nogil:
    """Keep the run of a closed block for a while: it is not given out again."""
    cdef uint64_t offset
    cdef arena *a
    cdef mic_idle *idle
    pthread_mutex_lock(&d.idle_lock)
    while d.next_idle - d.oldest_idle == GUARD_IDLE or \
            (d.next_idle != d.oldest_idle and d.idle_bytes + bytes > GUARD_IDLE_BYTES):
        # It may be used again: closed, until it is.
        idle = &d.idle[d.oldest_idle % GUARD_IDLE]
        d.oldest_idle += 1
        d.idle_bytes -= idle.bytes
        offset = idle.offset
        a = arena_of(d, &offset)
        arena_free(a, offset)
    idle = &d.idle[d.next_idle % GUARD_IDLE]
    idle.offset = start
    idle.bytes = bytes
    d.next_idle += 1
    d.idle_bytes += bytes
    pthread_mutex_unlock(&d.idle_lock)
