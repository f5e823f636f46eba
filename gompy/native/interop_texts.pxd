# What host, devices and plugins have in common for interoperability objects: gompy/native/interop.h.

cdef extern from "gompy/native/interop.h" nogil:
    const char *gompy_interop_name(int property)
    const char *gompy_interop_code(int code, int last)
    int gompy_interop_choice(const char *list, int separator, int (*takes)(int) noexcept nogil)
