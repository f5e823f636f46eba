# The processors of this machine that the process may use: gompy/native/processors.h.

cdef extern from "gompy/native/processors.h" nogil:
    int available_cpus "gompy_available_cpus"()
