# cython: language_level=3
"""libgompy-image.so.1: what tells an image's code that it runs on a device.

Loaded with RTLD_GLOBAL before an image, into a process that is a device (images.py), it answers OpenMP's device routines
before libgomp does.
"""

from libc.stdint cimport int32_t, int64_t

cdef public int gompy_image_device


cdef inline int device_number() noexcept nogil:
    return gompy_image_device


include "../intelmic/device_answers.pxi"
