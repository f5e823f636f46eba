# The Python that this installation runs by: gompy/native/interpreter.h.

cdef extern from "gompy/native/interpreter.h" nogil:
    bint gompy_python_of(const char *root, char *path, size_t size)
