# cython: language_level=3
"""The functions that libcuda.so.1 exports (calls.h), made of gompy/abi/cuda_calls.py."""

cdef extern from "calls.h":
    pass
