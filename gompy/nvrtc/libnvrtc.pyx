# cython: language_level=3, cdivision=True, boundscheck=False, wraparound=False, initializedcheck=False
"""libnvrtc.so.12: CUDA C++ compiled at run time (docs/nvrtc.md), by clang in a process of its own.

Names and numbers are NVRTC's (gompy/abi/nvrtc.py).
"""

cdef extern from "absent.h":
    pass

include "libc.pxi"
include "bytes.pxi"
include "programs.pxi"
include "answers.pxi"
include "version_calls.pxi"
include "program_calls.pxi"
include "result_calls.pxi"
