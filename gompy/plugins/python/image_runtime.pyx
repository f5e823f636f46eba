# cython: language_level=3
"""libgompy-image.so.1: what tells an image's code that it runs on a device.

Loaded with RTLD_GLOBAL before an image, into a process that is a device (images.py), it answers OpenMP's device
routines
before libgomp does.
"""

include "image_state.pxi"
include "../intelmic/device_answers.pxi"
include "../intelmic/device_interop.pxi"
