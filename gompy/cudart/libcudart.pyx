# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libcudart.so.12: the CUDA runtime API (docs/cuda-runtime.md) over any CUDA driver, the emulated one or a machine's.

Names and numbers are the API's own (gompy/abi/cudart*.py); behaviour follows the CUDA Runtime API reference.  Of
programs' fat binaries the PTX is used.
"""

include "libc.pxi"
include "driver.pxi"
include "contexts.pxi"
include "registry.pxi"
include "images.pxi"
include "linked.pxi"
include "managed.pxi"
include "loaded.pxi"
include "registration_calls.pxi"
include "error_calls.pxi"
include "device_calls.pxi"
include "memory_calls.pxi"
include "copy_calls.pxi"
include "stream_calls.pxi"
include "kernel_calls.pxi"
include "texture_calls.pxi"
include "array_calls.pxi"
include "graph_calls.pxi"
