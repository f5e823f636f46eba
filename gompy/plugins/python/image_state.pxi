# Which device this process is; images.py sets it.

from libc.stdint cimport int32_t, int64_t

cdef public int gompy_image_device


cdef inline int device_number() noexcept nogil:
    return gompy_image_device
