"""The base class of a device written in Python, and what its methods are given.

The methods mirror the GOMP_OFFLOAD_* functions of GCC 12's plugin interface (libgomp: libgomp-plugin.h); success is a
return, failure an exception, which ends the program's construct with one line that names class, method and cause.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

INTEL_MIC = 6
"""The device type of the images that gompcc makes by default (GCC 12: include/gomp-constants.h)."""
SHARED_MEMORY = 1
NATIVE_EXEC = 2
OPENMP = 4
"""Capabilities (GCC 12: libgomp-plugin.h)."""


class Image(NamedTuple):
    """A device image that the program registered.

    address: of its target data in the host's memory, which tells images apart; version: the device half of the version
    that it was registered with; data: the ELF file, for images of type INTEL_MIC, else empty.
    """

    address: int
    version: int
    data: bytes


class Table(NamedTuple):
    """What load_image answers, in the order of the image's own tables.

    functions: a word for each, any number but 0, which run is given; variables: device address and size in bytes;
    device_number: address of an int that is to hold the device's number in the program, if the image has one.
    """

    functions: list[int]
    variables: list[tuple[int, int]]
    device_number: int | None = None


class Launch(NamedTuple):
    """What the construct asks for; 0 where it leaves that to the device."""

    num_teams: int
    thread_limit: int


class Device(ABC):
    """A kind of device.  One object serves all devices of the kind; ``device`` is a number from 0 to num_devices - 1.

    Device addresses are numbers of the device's own choosing, other than 0; an address that the methods are given may
    lie anywhere in a block that alloc returned or in a variable of an image.  load_image, alloc, free and the copies
    are called by one thread at a time for each device, run by as many as the program has.  The global interpreter lock
    is taken for each call.
    """

    name: str = "python"
    """The kind's name, for messages and statistics."""
    type: int = INTEL_MIC
    """The type of the images that the device takes."""
    num_devices: int = 1
    """How many there are; read once."""
    capabilities: int = OPENMP
    """With SHARED_MEMORY nothing is mapped; with NATIVE_EXEC run is given the address of the host's function."""

    def init(self, device: int) -> None:  # noqa: B027 - to be overridden where there is something to do
        """Make a device ready; called at its first use."""

    def fini(self, device: int) -> None:  # noqa: B027
        """End a device; called at the program's exit."""

    @abstractmethod
    def load_image(self, device: int, image: Image) -> Table:
        """Load an image; returns where its functions and variables are."""

    def unload_image(self, device: int, image: Image) -> None:  # noqa: B027
        """Drop an image: the shared library that had it was closed."""

    @abstractmethod
    def alloc(self, device: int, size: int) -> int:
        """Allocate ``size`` bytes; returns the device address.  Blocks should be aligned to 64 bytes at least."""

    @abstractmethod
    def free(self, device: int, address: int) -> None:
        """Free a block."""

    @abstractmethod
    def host2dev(self, device: int, address: int, data: memoryview) -> None:
        """Copy bytes to the device.  ``data`` is the host's memory and valid only until the method returns."""

    @abstractmethod
    def dev2host(self, device: int, data: memoryview, address: int) -> None:
        """Copy ``len(data)`` bytes from the device into ``data``, which is valid only until the method returns."""

    def dev2dev(self, device: int, target: int, source: int, size: int) -> None:
        """Copy within a device; by way of the host if a device has nothing better."""
        block = bytearray(size)
        self.dev2host(device, memoryview(block), source)
        self.host2dev(device, target, memoryview(block).toreadonly())

    def can_run(self, function: int) -> bool:
        """Whether a region can run here; if not, the host runs it."""
        return True

    @abstractmethod
    def run(self, device: int, function: int, variables: int, launch: Launch) -> None:
        """Run a region to its end.

        function: its word in the Table; variables: device address of its arguments, 0 if it has none.
        """
