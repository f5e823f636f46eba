# cython: language_level=3
"""The functions that libnvidia-ml.so.1 exports (calls.h), made of gompy/abi/nvml.py."""

cdef extern from "calls.h":
    pass
