"""OpenCL's devices behind the device that is changed while a program runs: their memory is the process's own."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from gompy.opencl.device import OpenCL
from gompy.plugins.python import Launch
from gompy.virtual import find
from gompy.virtual.backend import RefusedError, Run
from gompy.virtual.swap_backends import ProcessBackend, SwapError

PROBE = "kernel void gompy_probe (ulong at) { *(global ulong *) at = at; }"
"""Whether work items reach what the process has mapped itself."""


@functools.cache
def _devices() -> OpenCL:
    """Looked for once: a change of device is to be quick.  Raises RefusedError."""
    return OpenCL()


@functools.cache
def _kernel(device: int, function: str, path: str, written: int) -> Run | None:
    """A file's kernel, built once for each time that it was written; None after a message."""
    try:
        return _devices().load(device, function, path)
    except (OSError, RefusedError) as error:
        print(f"gompy: {error}", file=sys.stderr, flush=True)
        return None


class OpenCLBackend(ProcessBackend):
    """``opencl:N``: regions with a kernel in GOMPY_KERNELS run as that, others as code of the image on the same data.

    The N-th device of gompy.opencl.device.OpenCL.  Its work items must reach any memory of the process, as the data's
    addresses are chosen here: a processor's do, and those of devices with fine-grained system memory.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        number = name.partition(":")[2] or "0"
        if not number.isdecimal():
            raise SwapError(f"{name}: {number} is no number of a device")
        try:
            self.opencl = _devices()
        except RefusedError as error:
            raise SwapError(f"{name}: {error}") from None
        self.device = int(number)
        if self.device >= self.opencl.num_devices:
            raise SwapError(f"{name}: there is no such device; OpenCL has {self.opencl.num_devices}")
        self.kernels: dict[int, tuple[Run, str]] = {}

    def open(self, size: int) -> int:
        start = super().open(size)
        try:
            self._probe(start)
        except SwapError:
            self.close()
            raise
        return start

    def _probe(self, address: int) -> None:
        """Raises SwapError if the device does not reach the process's memory."""
        cl: Any = self.opencl.cl
        device = self.opencl.devices[self.device]
        system = device.svm_capabilities & cl.device_svm_capabilities.FINE_GRAIN_SYSTEM
        if not system and not device.type & cl.device_type.CPU:
            raise SwapError(f"{self.name}: {device.name}: no fine-grained system memory, so addresses would not stay")
        import numpy

        try:
            program = cl.Program(self.opencl.contexts[self.device], PROBE).build()
            kernel = cl.Kernel(program, "gompy_probe")
            kernel.set_args(numpy.uint64(address))
            cl.enqueue_nd_range_kernel(self.opencl.queues[self.device], kernel, (1,), None).wait()
        except cl.Error as error:
            raise SwapError(f"{self.name}: {device.name}: {' '.join(str(error).split())}") from None
        if int.from_bytes(self.read(address, 8), "little") != address:
            raise SwapError(f"{self.name}: {device.name}: it does not reach the process's memory")
        self.write(address, bytes(8))

    def load(self, data: bytes) -> list[tuple[int, int]]:
        pairs = super().load(data)
        for (word, _), function in zip(pairs, self.names(data), strict=False):
            paths = [path for path in find.files(function, self.opencl) if path.endswith(self.opencl.suffixes)]
            kernels = ((_kernel(self.device, function, path, os.stat(path).st_mtime_ns), path) for path in paths)
            found = next(((run, path) for run, path in kernels if run is not None), None)
            if found is not None:
                self.kernels[word] = found
        return pairs

    def where(self, function: int) -> str:
        how = self.kernels[function][1] if function in self.kernels else "the image's code"
        return f"{self.name}: {how}"

    def run(self, function: int, arguments: int, launch: Launch) -> None:
        if function in self.kernels:
            self.kernels[function][0](arguments, launch)
        else:
            super().run(function, arguments, launch)
