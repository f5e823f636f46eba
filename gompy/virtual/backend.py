"""What a backend of the virtual device is, and the simplest one: memory of the program's own process."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from gompy.plugins.python import Launch

Run = Callable[[int, Launch], None]
"""An implementation, ready to run: given the device address of its arguments and what the construct asks for."""
ALIGN = 64


class RefusedError(Exception):
    """A backend or an implementation that cannot be used; the text says why."""


class Implementation(NamedTuple):
    """A region's implementation for the backends of a name.

    function: the outlined function (``gompy regions`` lists them); device: a backend's identifier, or "" for each that
    shares memory with the program; run: as Run.
    """

    function: str
    device: str
    run: Run


class Backend(ABC):
    """Devices of one kind behind the virtual device.  Addresses are numbers of its own choosing, other than 0."""

    identifier: str = ""
    """The name that implementations give to be joined with it."""
    num_devices: int = 1
    shares_memory: bool = True
    """Whether its addresses are the process's: then code of the image, and Python, can run on its memory."""
    suffixes: tuple[str, ...] = ()
    """Of files that it can make implementations of."""

    def init(self, device: int) -> None:  # noqa: B027 - to be overridden where there is something to do
        """Make a device ready."""

    def fini(self, device: int) -> None:  # noqa: B027
        """End a device."""

    @abstractmethod
    def alloc(self, device: int, size: int) -> int:
        """Allocate; returns the device address."""

    @abstractmethod
    def free(self, device: int, address: int) -> None:
        """Free a block."""

    def write(self, device: int, address: int, data: memoryview) -> None:
        """Copy to the device."""
        size = len(data)
        ctypes.memmove(address, (ctypes.c_char * size).from_buffer_copy(data), size)

    def read(self, device: int, data: memoryview, address: int) -> None:
        """Copy from the device."""
        data[:] = (ctypes.c_char * len(data)).from_address(address).raw

    def load(self, device: int, function: str, path: str) -> Run:
        """Make an implementation of a file with one of the suffixes.  Raises RefusedError."""
        raise RefusedError(f"{path}: {self.identifier} takes no such files")


class Memory(Backend):
    """The process's own memory: mappings are real, code is the image's or Python's."""

    identifier = "memory"

    def __init__(self) -> None:
        self.blocks: dict[int, ctypes.Array[ctypes.c_char]] = {}

    def alloc(self, device: int, size: int) -> int:
        block = ctypes.create_string_buffer(size + ALIGN)
        address = (ctypes.addressof(block) + ALIGN - 1) & -ALIGN
        self.blocks[address] = block
        return address

    def free(self, device: int, address: int) -> None:
        del self.blocks[address]
