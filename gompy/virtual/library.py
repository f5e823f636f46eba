"""Devices and regions of shared libraries: the two structures of gompy_virtual.h, checked when they are found."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from gompy.plugins.python import Launch
from gompy.virtual.backend import Backend, RefusedError, Run

VERSION: Final = 1
"""GOMPY_VIRTUAL_VERSION."""
INCLUDE: Final = Path(__file__).resolve().parent / "include"
INIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
FINI = ctypes.CFUNCTYPE(None, ctypes.c_int)
ALLOC = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64)
FREE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint64)
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32)


class DeviceStruct(ctypes.Structure):
    """``struct gompy_device``."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("identifier", ctypes.c_char_p),
        ("num_devices", ctypes.c_uint32),
        ("shares_memory", ctypes.c_uint32),
        ("init", INIT),
        ("fini", FINI),
        ("alloc", ALLOC),
        ("free", FREE),
        ("write", WRITE),
        ("read", READ),
    )


class RegionStruct(ctypes.Structure):
    """``struct gompy_region``."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("function", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("run", RUN),
    )


class LibraryRegion(NamedTuple):
    """An implementation in a library: of which function, for which device ("": each that shares memory)."""

    path: str
    function: str
    device: str
    call: Callable[[int, int, int, int], int]

    def bind(self, device: int) -> Run:
        """Ready to run on a device."""

        def run(variables: int, launch: Launch) -> None:
            status = self.call(device, variables, launch.num_teams, launch.thread_limit)
            if status:
                raise RuntimeError(f"{self.path}: {self.function}: status {status}")

        return run


class Library(Backend):
    """The device of a library."""

    def __init__(self, path: str, found: DeviceStruct) -> None:
        self.path, self.found = path, found
        self.identifier = found.identifier.decode()
        self.num_devices = found.num_devices
        self.shares_memory = bool(found.shares_memory)

    def init(self, device: int) -> None:
        if self.found.init:
            self._check(self.found.init(device), "init")

    def fini(self, device: int) -> None:
        if self.found.fini:
            self.found.fini(device)

    def alloc(self, device: int, size: int) -> int:
        address = int(self.found.alloc(device, size))
        if not address:
            raise MemoryError(f"{self.path}: no {size} bytes left")
        return address

    def free(self, device: int, address: int) -> None:
        self.found.free(device, address)

    def write(self, device: int, address: int, data: memoryview) -> None:
        block = (ctypes.c_char * len(data)).from_buffer_copy(data)
        self._check(self.found.write(device, address, ctypes.addressof(block), len(data)), "write")

    def read(self, device: int, data: memoryview, address: int) -> None:
        block = (ctypes.c_char * len(data))()
        self._check(self.found.read(device, ctypes.addressof(block), address, len(data)), "read")
        data[:] = block.raw

    def _check(self, status: int, what: str) -> None:
        if status:
            raise RuntimeError(f"{self.path}: {what}: status {status}")


def _open(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        raise RefusedError(f"{path}: {error}") from None


def _head(path: str, what: str, found: DeviceStruct | RegionStruct) -> None:
    if found.version != VERSION:
        raise RefusedError(f"{path}: {what} is of version {found.version} of gompy_virtual.h, not {VERSION}")
    if found.size < ctypes.sizeof(found):
        raise RefusedError(f"{path}: {what} says that it has {found.size} bytes, not {ctypes.sizeof(found)}")


def device_of(path: str) -> Library | None:
    """The device that a library exports; None: it has none.  Raises RefusedError."""
    library = _open(path)
    try:
        found = DeviceStruct.in_dll(library, "gompy_device")
    except ValueError:
        return None
    _head(path, "gompy_device", found)
    missing = [name for name in ("identifier", "alloc", "free", "write", "read") if not getattr(found, name)]
    if missing or not found.num_devices:
        raise RefusedError(f"{path}: gompy_device has no {', '.join(missing) or 'devices'}")
    return Library(path, found)


def regions_of(path: str) -> Iterator[LibraryRegion]:
    """The implementations that a library exports.  Raises RefusedError."""
    library = _open(path)
    size, number = ctypes.sizeof(RegionStruct), 0
    try:
        start = ctypes.addressof(RegionStruct.in_dll(library, "gompy_regions"))
    except ValueError:
        return
    while (found := RegionStruct.from_address(start + number * size)).version:
        _head(path, f"gompy_regions[{number}]", found)
        if found.size != size or not found.function or not found.run:
            raise RefusedError(f"{path}: gompy_regions[{number}] has no function, no run, or another size")
        yield LibraryRegion(path, found.function.decode(), (found.device or b"").decode(), found.run)
        number += 1
