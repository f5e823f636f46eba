# Ranges that a program names itself, as NVTX's and ROC-TX's functions have them: in the trace file they stand on the
# thread's track.  A library of the same functions that the program has, too, is called as well.

cdef extern from *:
    """
    static __thread int gompy_range_depth;
    static void gompy_set_depth (int depth) { gompy_range_depth = depth; }
    """
    int gompy_range_depth
    void gompy_set_depth(int depth) noexcept nogil

cdef enum:
    NO_RANGES = -2  # NVTX_NO_PUSH_POP_TRACKING: nobody listens
    RANGE_WORDS = 800

ctypedef int (*range_push_fn)(const char *name) noexcept nogil
ctypedef int (*range_pop_fn)() noexcept nogil
ctypedef void (*range_mark_fn)(const char *name) noexcept nogil


cdef void write_range(const char *phase, const char *name) noexcept nogil:
    """An event of the calling thread's track; name: not for an end."""
    cdef char line[TRACE_LINE]
    cdef char words[RANGE_WORDS]
    cdef char thread[100]
    cdef int tid = gompy_tid()
    cdef double time = <double> (now_ns() - trace_file.begin) / 1000
    snprintf(thread, sizeof(thread), b"thread %d", tid)
    pthread_mutex_lock(&trace_file.lock)
    name_track(trace_file.pid, tid, b"host", thread)
    if name == NULL:
        snprintf(line, sizeof(line), b"{\"ph\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f}", phase, trace_file.pid,
                 tid, time)
    else:
        trace_escape(words, sizeof(words), name)
        snprintf(line, sizeof(line), b"{\"ph\": \"%s\", \"name\": \"%s\", \"cat\": \"range\", \"pid\": %d, "
                 b"\"tid\": %d, \"ts\": %.3f, \"s\": \"t\", \"args\": {}}", phase, words, trace_file.pid, tid, time)
    trace_append(line, strlen(line))
    pthread_mutex_unlock(&trace_file.lock)


cdef inline bint tells_ranges() noexcept nogil:
    return trace_file.end != 0 and getpid() == trace_file.pid


cdef int push_range(const char *function, const char *name) noexcept nogil:
    """The depth of a new range, from 0."""
    cdef range_push_fn other = <range_push_fn> dlsym(RTLD_NEXT, function)
    cdef int depth = other(name) if other != NULL else NO_RANGES
    if tells_ranges():
        write_range(b"B", name if name != NULL else <const char *> b"")
        depth = gompy_range_depth
        gompy_set_depth(depth + 1)
    return depth


cdef int pop_range(const char *function) noexcept nogil:
    """The depth of the range that ends; negative: there is none."""
    cdef range_pop_fn other = <range_pop_fn> dlsym(RTLD_NEXT, function)
    cdef int depth = other() if other != NULL else NO_RANGES
    if tells_ranges():
        depth = -1
        if gompy_range_depth > 0:
            depth = gompy_range_depth - 1
            gompy_set_depth(depth)
            write_range(b"E", NULL)
    return depth


cdef void mark_range(const char *function, const char *name) noexcept nogil:
    """A moment."""
    cdef range_mark_fn other = <range_mark_fn> dlsym(RTLD_NEXT, function)
    if other != NULL:
        other(name)
    if tells_ranges() and name != NULL:
        write_range(b"i", name)


cdef public int range_push_nvtx "nvtxRangePushA"(const char *name) noexcept nogil:
    """NVTX: a range begins in the calling thread."""
    return push_range(b"nvtxRangePushA", name)


cdef public int range_pop_nvtx "nvtxRangePop"() noexcept nogil:
    """NVTX: the calling thread's innermost range ends."""
    return pop_range(b"nvtxRangePop")


cdef public void range_mark_nvtx "nvtxMarkA"(const char *name) noexcept nogil:
    """NVTX: a moment."""
    mark_range(b"nvtxMarkA", name)


cdef public int range_push_roctx "roctxRangePushA"(const char *name) noexcept nogil:
    """ROC-TX: the same."""
    return push_range(b"roctxRangePushA", name)


cdef public int range_pop_roctx "roctxRangePop"() noexcept nogil:
    """ROC-TX: the same."""
    return pop_range(b"roctxRangePop")


cdef public void range_mark_roctx "roctxMarkA"(const char *name) noexcept nogil:
    """ROC-TX: the same."""
    mark_range(b"roctxMarkA", name)
