"""Images of the type that gompcc makes, loaded into the process that asks: for devices whose code runs on this machine.

A device that wants memory of its own uses this in a process of its own (examples/python_device).
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from gompy.plugins.python.device import Table

TABLE = "__OFFLOAD_TARGET_TABLE__"
LINK_BIT = 1 << 63
"""In the size of a variable's entry: ``declare target link``."""
RUNTIME = "libgompy-image.so.1"


def become_device(number: int) -> None:
    """Make this process a device: code that is loaded afterwards is told so by omp_is_initial_device and its kin.

    That is only so in a process in which nothing has loaded libgomp before.  Raises OSError if a file is missing.
    """
    path = Path(__file__).resolve().parents[2] / "_native" / "lib" / RUNTIME
    library = ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    ctypes.c_int.in_dll(library, "gompy_image_device").value = number


class Opened:
    """The library of an image in this process.  Raises OSError with the dynamic linker's words if it cannot load."""

    def __init__(self, data: bytes) -> None:
        self.file = os.memfd_create("gompy-image")
        with open(self.file, "wb", closefd=False) as file:
            file.write(data)
        self.library = ctypes.CDLL(f"/proc/self/fd/{self.file}")


class LoadedImage(Opened):
    """An image in this process, with its table.  Raises OSError as Opened does."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        ends = (ctypes.POINTER(ctypes.c_uint64) * 4).in_dll(self.library, TABLE)
        begins = [ctypes.cast(end, ctypes.c_void_p).value or 0 for end in ends]
        variables = (begins[3] - begins[2]) // 16
        self.table = Table(
            [ends[0][i] for i in range((begins[1] - begins[0]) // 8)],
            [(ends[2][2 * i], ends[2][2 * i + 1] & ~LINK_BIT) for i in range(variables)],
        )

    @staticmethod
    def call(function: int, variables: int) -> None:
        """Run a region; other threads of Python go on meanwhile.  What it has printed is out when this returns."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(variables)
        ctypes.CDLL(None).fflush(None)
