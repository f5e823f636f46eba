# Programs.  A handle is the program's address; it is looked up, so that one that was destroyed is an error.
#
# Any number of threads may use a program: one after the other.  Who destroys it waits for nobody; the last user frees
# it.

cdef struct nvrtc_program:
    nvrtc_program *next
    int users
    bint destroyed, compiled, has_ptx, machine
    pthread_mutex_t lock
    byte_buffer asked        # records: the name, the source, headers, name expressions
    byte_buffer log, ptx
    byte_buffer expressions  # strings, each with its NUL
    byte_buffer lowered      # likewise, in the same order

cdef nvrtc_program *living = NULL


cdef nvrtc_program *enter_program(void *handle) noexcept nogil:
    """The program of a handle, for this thread alone; NULL if there is none."""
    cdef nvrtc_program *p
    pthread_mutex_lock(&nvrtc_lock)
    p = living
    while p != NULL and p != handle:
        p = p.next
    if p != NULL:
        p.users += 1
    pthread_mutex_unlock(&nvrtc_lock)
    if p != NULL:
        pthread_mutex_lock(&p.lock)
    return p


cdef int leave_program(nvrtc_program *p, int result) noexcept nogil:
    """The end of a call; its result."""
    cdef bint last
    pthread_mutex_unlock(&p.lock)
    pthread_mutex_lock(&nvrtc_lock)
    p.users -= 1
    last = p.destroyed and p.users == 0
    pthread_mutex_unlock(&nvrtc_lock)
    if last:
        free_program(p)
    return result


cdef void free_program(nvrtc_program *p) noexcept nogil:
    """All of it."""
    free_bytes(&p.asked)
    free_bytes(&p.log)
    free_bytes(&p.ptx)
    free_bytes(&p.expressions)
    free_bytes(&p.lowered)
    pthread_mutex_destroy(&p.lock)
    free(p)


cdef void enlist_program(nvrtc_program *p) noexcept nogil:
    """From now on its handle is valid."""
    global living
    pthread_mutex_lock(&nvrtc_lock)
    p.next = living
    living = p
    pthread_mutex_unlock(&nvrtc_lock)


cdef bint delist_program(void *handle) noexcept nogil:
    """From now on it is not; false if it was not."""
    global living
    cdef nvrtc_program **at = &living
    cdef nvrtc_program *p
    cdef bint unused
    pthread_mutex_lock(&nvrtc_lock)
    while at[0] != NULL and at[0] != handle:
        at = &at[0].next
    p = at[0]
    if p == NULL:
        pthread_mutex_unlock(&nvrtc_lock)
        return False
    at[0] = p.next
    p.destroyed = True
    unused = p.users == 0
    pthread_mutex_unlock(&nvrtc_lock)
    if unused:
        free_program(p)
    return True


cdef const char *same_place(const byte_buffer *strings, const byte_buffer *others, const char *text) noexcept nogil:
    """Of two lists of strings, that of the other one that stands where the text does in the first; NULL if none."""
    cdef size_t at = 0, other = 0
    while at < strings.size and other < others.size:
        if strcmp(strings.data + at, text) == 0:
            return others.data + other
        at += strlen(strings.data + at) + 1
        other += strlen(others.data + other) + 1
    return NULL
