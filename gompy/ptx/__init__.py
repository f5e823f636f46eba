"""PTX on the CPU: a parser, a checker, a compiler to native code (through LLVM) and the executor that runs it.

`executor.h` is what the emulated CUDA driver calls; `python -m gompy.ptx` is the compiler that the executor starts for
objects that are not in its cache (docs/ptx.md).
"""
