# Which interface the runtime speaks that loads a plugin: gompy/native/runtime_interface.h.

cdef extern from "gompy/native/runtime_interface.h" nogil:
    unsigned gompy_answer_version()
    int gompy_answer_count(unsigned mask, unsigned fulfilled, int count)
    bint gompy_newer_runtime()
