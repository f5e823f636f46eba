"""What the device that can be changed runs on: a plugin's device, or the program's own process.

All have their memory at the same addresses, so that pointers in the program's data stay right when it moves.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
from abc import ABC, abstractmethod
from typing import Any

from gompy.abi import gomp
from gompy.objects import tables
from gompy.objects.view import ElfView
from gompy.plugins.compiled import Pair, load_runtime, open_plugin
from gompy.plugins.python import Launch
from gompy.plugins.python.images import LoadedImage

FIRST = 0x180200000000
"""Where the emulated MIC's device 0 has its first large block, where nothing is in its way (device_layout.pxi)."""
NOREPLACE, NORESERVE = 0x100000, 0x4000
"""MAP_FIXED_NOREPLACE and MAP_NORESERVE of Linux."""


class SwapError(Exception):
    """A backend cannot be used; the text says why."""


class SwapBackend(ABC):
    """Memory at given addresses, and code that works on it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def open(self, size: int) -> int:
        """Begin: the address of ``size`` bytes of memory.  Raises SwapError."""

    @abstractmethod
    def close(self) -> None:
        """End; its memory is gone."""

    @abstractmethod
    def load(self, data: bytes) -> list[tuple[int, int]]:
        """Load an image; start and end of its functions and variables, in its tables' order.  Raises SwapError."""

    @abstractmethod
    def write(self, address: int, data: memoryview | bytes) -> None:
        """Copy to its memory.  Raises SwapError."""

    @abstractmethod
    def read(self, address: int, size: int) -> bytes:
        """Copy from its memory.  Raises SwapError."""

    @abstractmethod
    def run(self, function: int, arguments: int, launch: Launch) -> None:
        """Run a region to its end."""

    def where(self, function: int) -> str:
        """Where a function runs, and as what: for statistics."""
        return self.name

    @staticmethod
    def names(data: bytes) -> list[str]:
        """The names of an image's functions, in its table's order."""
        return [entry.name or "" for entry in tables.read_tables(ElfView(data, "image")).funcs]


class PluginBackend(SwapBackend):
    """A device of a compiled plugin: ``intelmic``, ``remote:N``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        kind, _, number = name.partition(":")
        if not (number or "0").isdecimal():
            raise SwapError(f"{name}: {number} is no number of a device")
        self.number = int(number or "0")
        load_runtime()
        try:
            self.calls = open_plugin(kind)
        except OSError as error:
            raise SwapError(f"{name}: {error}") from None
        self.keep: list[Any] = []

    def open(self, size: int) -> int:
        found = self.calls["get_num_devices"](0)
        if self.number >= found:
            raise SwapError(f"{self.name}: there is no such device; the plugin has {found}")
        if not self.calls["init_device"](self.number):
            raise SwapError(f"{self.name}: the device cannot be made ready")
        start = self.calls["alloc"](self.number, size)
        if not start:
            self.close()
            raise SwapError(f"{self.name}: no room for {size} bytes (GOMPY_SWAP_MEMORY says how many there are to be)")
        return int(start)

    def close(self) -> None:
        self.calls["fini_device"](self.number)
        self.keep = []

    def load(self, data: bytes) -> list[tuple[int, int]]:
        content = ctypes.create_string_buffer(data, len(data))
        start = ctypes.addressof(content)
        ends = (ctypes.c_void_p * 2)(start, start + len(data))
        self.keep += [content, ends]
        return self.load_at(0, ctypes.addressof(ends))

    def load_at(self, version: int, address: int) -> list[tuple[int, int]]:
        """Load what has been registered with a version; its pairs.  Raises SwapError."""
        table = ctypes.POINTER(Pair)()
        self.keep.append(table)
        count = self.calls["load_image"](self.number, version, address, ctypes.addressof(table), None, None)
        if count < 0:
            raise SwapError(f"{self.name}: an image of the program cannot be loaded")
        return [(table[k].start, table[k].end) for k in range(count)]

    def write(self, address: int, data: memoryview | bytes) -> None:
        size = len(data)
        if isinstance(data, memoryview):
            block = (ctypes.c_char * size).from_buffer_copy(data)
        else:
            block = ctypes.create_string_buffer(data, size)
        if size and not self.calls["host2dev"](self.number, address, ctypes.addressof(block), size):
            raise SwapError(f"{self.name}: {size} bytes cannot be copied to the device")

    def read(self, address: int, size: int) -> bytes:
        block = ctypes.create_string_buffer(size)
        if size and not self.calls["dev2host"](self.number, ctypes.addressof(block), address, size):
            raise SwapError(f"{self.name}: {size} bytes cannot be copied from the device")
        return block.raw

    def run(self, function: int, arguments: int, launch: Launch) -> None:
        wanted = (
            (gomp.GOMP_TARGET_ARG_NUM_TEAMS, launch.num_teams),
            (gomp.GOMP_TARGET_ARG_THREAD_LIMIT, launch.thread_limit),
        )
        given = [value << gomp.GOMP_TARGET_ARG_VALUE_SHIFT | word for word, value in wanted if value]
        words = (ctypes.c_int64 * (len(given) + 1))(*given)
        self.calls["run"](self.number, function, arguments or None, ctypes.addressof(words))


class ProcessBackend(SwapBackend):
    """The program's own process: ``memory``."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long]
        self.libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.start = self.size = 0
        self.images: dict[bytes, LoadedImage] = {}

    def open(self, size: int) -> int:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NOREPLACE | NORESERVE
        start = self.libc.mmap(FIRST, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if start != FIRST:
            why = os.strerror(ctypes.get_errno())
            if start and start != (1 << 64) - 1:
                self.libc.munmap(start, size)
            raise SwapError(f"{self.name}: no room for {size} bytes at {FIRST:#x}: {why}")
        self.start, self.size = FIRST, size
        return FIRST

    def close(self) -> None:
        self.libc.munmap(self.start, self.size)
        self.start = self.size = 0

    def load(self, data: bytes) -> list[tuple[int, int]]:
        try:
            # Kept: an image with variables of its own, which would be old by now, allows no change of device.
            loaded = self.images.get(data) or LoadedImage(data)
            self.images[data] = loaded
        except (OSError, ValueError) as error:
            raise SwapError(f"{self.name}: an image of the program cannot be loaded: {error}") from None
        functions = [(word, word + 1) for word in loaded.table.functions]
        return functions + [(start, start + size) for start, size in loaded.table.variables]

    def write(self, address: int, data: memoryview | bytes) -> None:
        size = len(data)
        block = bytes(data)
        ctypes.memmove(address, block, size)

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def run(self, function: int, arguments: int, launch: Launch) -> None:
        LoadedImage.call(function, arguments)


OURS = {
    "memory": "gompy.virtual.swap_backends:ProcessBackend",
    "intelmic": "gompy.virtual.swap_backends:PluginBackend",
    "nvptx": "gompy.virtual.swap_gpu:GpuBackend",
    "opencl": "gompy.opencl.swap:OpenCLBackend",
    "remote": "gompy.virtual.swap_backends:PluginBackend",
}
"""Kinds of backends: the part of a name before its number."""
NUMBERED = ("opencl", "remote")


def make_backend(name: str) -> SwapBackend:
    """The backend of a name.  Raises SwapError."""
    kind, colon, _ = name.partition(":")
    if kind not in OURS or (colon and kind not in NUMBERED):
        known = ", ".join(f"{one}:N" if one in NUMBERED else one for one in OURS)
        raise SwapError(f"{name}: there is no such backend; there are {known}")
    module, _, found = OURS[kind].partition(":")
    made: SwapBackend = getattr(importlib.import_module(module), found)(name)
    return made
