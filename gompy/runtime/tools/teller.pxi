# GOMPY_TRACE: what each directive does, told beside the program (teller.h).

cdef extern from "tools/teller.h" nogil:
    char *gompy_told_trace
    char *gompy_told_log
    bint gompy_teller_wanted(const char *where)
    void gompy_teller_begin(const char *where, const char *trace, const char *log)
    void gompy_teller_end()


cdef const char *given_or(const char *variable, const char *other) noexcept nogil:
    """What a variable of the environment says, else `other`; NULL for an empty one."""
    cdef const char *value = secure_getenv(variable)
    if value == NULL or not value[0]:
        value = other
    return value if value[0] else NULL


cdef const char *trace_path() noexcept nogil:
    """Where the trace is to be written; NULL: nowhere."""
    return given_or(b"GOMPY_TRACE_FILE", gompy_told_trace)


cdef const char *log_path() noexcept nogil:
    """Where the log of checks is to be written; NULL: nowhere."""
    return given_or(b"GOMPY_CHECK_LOG", gompy_told_log)
