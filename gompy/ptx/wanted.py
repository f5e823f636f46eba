"""Whether code is made for a debugger: all that a usual start loads of it (debugging.py)."""

from __future__ import annotations

import os

DEBUGGER = bool(os.environ.get("GOMPY_CUDA_DEBUG"))
"""gdb is to find lines, frames, variables and registers in the kernels (docs/environment.md)."""
REGISTERS = os.environ.get("GOMPY_CUDA_DEBUG") == "2"
"""Registers, too, where variables are known."""
