"""OpenCL's devices behind the virtual device: memory is shared virtual memory, so pointers stay pointers."""

from __future__ import annotations

import importlib
from typing import Any

from gompy.opencl.words import kernel_name
from gompy.plugins.python import Launch
from gompy.virtual.backend import ALIGN, Backend, RefusedError, Run

STANDARD = "-cl-std=CL1.2"
ITEMS = 64
"""Work items for each compute unit of the device; kernels take any number."""


class OpenCL(Backend):
    """Every OpenCL device that has fine-grained shared virtual memory, in the order of its platforms."""

    identifier = "opencl"
    suffixes = (".cl",)

    def __init__(self) -> None:
        try:
            pyopencl: Any = importlib.import_module("pyopencl")
        except ImportError as error:
            raise RefusedError(f"{error.name} is not installed: pip install 'gompy[opencl]'") from None
        self.cl = pyopencl
        self.devices: list[Any] = []
        refused = []
        try:
            platforms = pyopencl.get_platforms()
        except pyopencl.Error as error:
            raise RefusedError(f"no OpenCL platform: {' '.join(str(error).split())}") from None
        fine = pyopencl.device_svm_capabilities.FINE_GRAIN_BUFFER
        for platform in platforms:
            for device in platform.get_devices():
                if device.svm_capabilities & fine:
                    self.devices.append(device)
                else:
                    refused.append(f"{device.name}: no fine-grained shared virtual memory")
        if not self.devices:
            raise RefusedError("; ".join(refused) or "no OpenCL device")
        self.num_devices = len(self.devices)
        self.contexts = [pyopencl.Context([device]) for device in self.devices]
        self.queues = [pyopencl.CommandQueue(context) for context in self.contexts]
        self.blocks: dict[int, Any] = {}

    def alloc(self, device: int, size: int) -> int:
        flags = self.cl.svm_mem_flags
        kind = flags.READ_WRITE | flags.SVM_FINE_GRAIN_BUFFER
        block = self.cl.SVMAllocation(self.contexts[device], max(size, 1), ALIGN, kind)
        address = int(block.svm_ptr)
        self.blocks[address] = block
        return address

    def free(self, device: int, address: int) -> None:
        self.blocks.pop(address).release()

    def load(self, device: int, function: str, path: str) -> Run:
        """Build a kernel; it is given the address of its arguments, a word each."""
        cl, name = self.cl, kernel_name(function)
        with open(path, encoding="utf-8") as file:
            source = file.read()
        try:
            program = cl.Program(self.contexts[device], source).build([STANDARD])
            kernel = cl.Kernel(program, name)
        except cl.Error as error:
            text = str(error)
            first = next((line for line in text.splitlines() if "error:" in line), text.splitlines()[0])
            raise RefusedError(f"{path}: {first.strip()}") from None
        size = (self.devices[device].max_compute_units * ITEMS,)

        def run(variables: int, launch: Launch) -> None:
            import numpy

            kernel.set_args(numpy.uint64(variables))
            cl.enqueue_nd_range_kernel(self.queues[device], kernel, size, None).wait()

        return run
