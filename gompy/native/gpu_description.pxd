from libc.stdint cimport uint8_t, uint64_t

cdef extern from "gompy/native/gpu_description.h" nogil:
    ctypedef struct gpu_description "struct gompy_gpu_description":
        int arch, clock, memory_clock, bus_width, bus, slot, driver_version
        uint64_t bytes
        uint8_t uuid[16]
        char name[96]
