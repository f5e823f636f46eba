# Which CUDA driver is used, and where the emulated one lies: gompy/native/driver_choice.h.

cdef extern from "gompy/native/driver_choice.h" nogil:
    enum:
        GOMPY_DRIVER_AUTO
        GOMPY_DRIVER_REAL
        GOMPY_DRIVER_EMULATED
        GOMPY_DRIVER_UNKNOWN
    int gompy_driver_choice()
    bint gompy_emulated_driver(char *path, size_t size)
