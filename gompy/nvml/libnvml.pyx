# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libnvidia-ml.so.1: NVML for the emulated GPUs (docs/cuda.md, Monitors).

What a device is comes from libcuda.so.1 in the same folder; what it does is read from the memory of the processes that
use it.  Names and structures are NVML's (gompy/abi/nvml.py).
"""

cdef extern from "gompy/native/nvml_names.h":
    pass

include "libc.pxi"
include "gpus.pxi"
include "processes.pxi"
include "utilisation.pxi"
include "system_calls.pxi"
include "device_calls.pxi"
include "usage_calls.pxi"
