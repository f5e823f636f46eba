# Resource limits: gompy/native/limits.h.

cdef extern from "gompy/native/limits.h" nogil:
    const char *gompy_limit_hint(int error)
    bint gompy_few_addresses()
