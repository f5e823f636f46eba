"""What kernels of CUDA are replayed on: the driver, emulated or the machine's own."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Final

from gompy import UserError
from gompy.plugins.compiled import LIBDIR
from gompy.replay.devices import Failed, Pairs, Place, is_emulated, see_stores, stores_seen
from gompy.replay.recording import COOPERATIVE, KERNELS, Image, Recording, Region

EMULATED: Final = os.path.join(os.path.dirname(LIBDIR), "cuda", "libcuda.so.1")
SHARED_ALWAYS: Final = 48 << 10
"""Bytes of dynamic shared memory that a kernel may have without being asked."""
MAX_DYNAMIC_SHARED: Final = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
ATTRIBUTE_COOPERATIVE: Final = 2
"""CU_LAUNCH_ATTRIBUTE_COOPERATIVE."""
PARAM_POINTER: Final = 1
PARAM_SIZE: Final = 2
"""CU_LAUNCH_PARAM_BUFFER_*."""
p, n, i, u = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint


class Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("kind", i), ("apart", i), ("value", i), ("rest", i * 15)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", u * 3),
        ("block", u * 3),
        ("shared", u),
        ("stream", p),
        ("attributes", ctypes.POINTER(Attribute)),
        ("count", u),
    ]


class Kernels(Place):
    """A GPU, without OpenMP's or OpenACC's runtime."""

    kind = KERNELS

    def __init__(self) -> None:
        self.emulated = is_emulated()
        try:
            self.driver = ctypes.CDLL(EMULATED if self.emulated else "libcuda.so.1")
        except OSError as error:
            raise UserError(f"there is no CUDA driver: {error}") from None
        self.blocks: list[int] = []
        self.names: dict[int, str] = {}
        device, context = i(), p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *arguments: Any) -> None:
        """UserError: a call has failed."""
        code = getattr(self.driver, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(code, ctypes.byref(text))
            raise UserError(f"{name}: {(text.value or str(code).encode()).decode()}")

    def load(self, recording: Recording, image: Image) -> Pairs:
        module = p()
        try:
            self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(recording.bytes_of(image)))
        except UserError as error:
            raise UserError(f"{recording.path}: its image {image.number} cannot be loaded: {error}") from None
        pairs = []
        for name, *_ in image.functions:
            function = p()
            self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
            pairs.append((function.value or 0, (function.value or 0) + 1))
            self.names[function.value or 0] = name
        for name in image.variables:
            at, size = ctypes.c_uint64(), n()
            self._call("cuModuleGetGlobal_v2", ctypes.byref(at), ctypes.byref(size), module, name.encode())
            pairs.append((at.value, at.value + size.value))
        return pairs

    def place(self, spans: list[tuple[int, int]]) -> list[int]:
        for _, size in spans:
            block = ctypes.c_uint64()
            try:
                self._call("cuMemAlloc_v2", ctypes.byref(block), n(size))
            except UserError:
                self.release()
                raise UserError(f"no room on the device for a block of {size} bytes") from None
            self.blocks.append(block.value)
        return list(self.blocks)

    def release(self) -> None:
        for block in self.blocks:
            self._call("cuMemFree_v2", ctypes.c_uint64(block))
        self.blocks = []

    def write(self, address: int, data: bytes) -> None:
        if data:
            self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, n(len(data)))

    def read(self, address: int, size: int) -> bytes:
        block = ctypes.create_string_buffer(size)
        if size:
            self._call("cuMemcpyDtoH_v2", block, ctypes.c_uint64(address), n(size))
        return block.raw

    def run(self, function: int, arguments: int, region: Region, words: list[int]) -> None:
        _, _, _, shared, *sizes, size = region.shape or [0] * 11
        if shared > SHARED_ALWAYS:
            self._call("cuFuncSetAttribute", p(function), MAX_DYNAMIC_SHARED, i(shared))
        data = b"".join(word.to_bytes(8, "little") for word in words)
        buffer, length = ctypes.create_string_buffer(data, len(data) + 1), n(size)
        extra = (p * 5)(PARAM_POINTER, ctypes.addressof(buffer), PARAM_SIZE, ctypes.addressof(length))
        together = Attribute(ATTRIBUTE_COOPERATIVE, 0, 1)
        config = Config((u * 3)(*sizes[:3]), (u * 3)(*sizes[3:]), shared, None, ctypes.pointer(together))
        config.count = region.what == COOPERATIVE
        try:
            self._call("cuLaunchKernelEx", ctypes.byref(config), p(function), None, extra)
            self._call("cuCtxSynchronize")
        except UserError as error:
            raise Failed(f"the kernel has failed: {error}") from None

    def watch(self, ranges: list[tuple[int, int]]) -> None:
        if not self.emulated:
            super().watch(ranges)
        see_stores(ranges)

    def stores(self, recording: Recording) -> list[dict[str, Any]]:
        return stores_seen()
