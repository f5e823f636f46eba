# What the plugin knows of the user's class, and of its own state in the process.

cdef enum:
    REASON_SIZE = 1024

cdef struct DeviceFacts:
    # Of the user's object; read once.
    const char *name
    int type
    int count
    unsigned capabilities
    bint asks_can_run

cdef DeviceFacts facts
cdef int opened  # 1 ready, -1 refused
cdef int in_fork
cdef int ended  # the process's interpreter is gone
