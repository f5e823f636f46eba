# Types of the interface between the runtime and device plugins: gompy/native/plugin_types.h.

from libc.stdint cimport uintptr_t

cdef extern from *:
    ctypedef bint c_bool "_Bool"  # the interface's bool: only the low byte of a result is defined

cdef extern from "gompy/native/plugin_types.h":
    struct AddrPair "gompy_addr_pair":
        uintptr_t start
        uintptr_t end

    struct InteropObject "gompy_interop":
        void *stream
        void *device_data
        int fr
        int device_num
