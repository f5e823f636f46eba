# Whether a debugger has the process (traced.h).

cdef extern from "gompy/native/traced.h" nogil:
    bint gompy_is_traced()
