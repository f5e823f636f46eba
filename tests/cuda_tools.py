"""The emulated CUDA driver through ctypes: each test gets a copy of the library, with a state of its own."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest

from gompy.abi import cuda_calls
from gompy.cudart import clang
from gompy.driver import paths
from gompy.driver.errors import DriverError

LIBRARY = Path(paths.CUDALIBDIR) / "libcuda.so.1"
EXECUTOR = Path(paths.LIBDIR) / "libgompy-ptx.so.1"
has_driver = pytest.mark.skipif(not LIBRARY.exists(), reason="the compiled parts are not built")


def _no_compiler() -> str:
    """Why CUDA C++ is not compiled here, or ""."""
    try:
        compiler = clang.chosen()
    except DriverError as error:
        return str(error)
    command = [compiler.path, "-print-targets"]
    targets = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return "" if "nvptx64" in targets else f"{compiler.path} has no nvptx64"


def skip_unknown(architecture: int) -> None:
    """Skip a test whose architecture the chosen clang is too old for."""
    chosen = clang.chosen()
    if architecture > 86 and clang.release(chosen.path) < 16:
        pytest.skip(f"{chosen.words[0]} does not know sm_{architecture}")


needs_cuda_compiler = pytest.mark.skipif(bool(_no_compiler()), reason=_no_compiler())
has_executor = pytest.mark.skipif(not EXECUTOR.exists(), reason="the PTX executor is not built")

SUCCESS = 0
INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 1, 2, 3
NO_DEVICE, INVALID_DEVICE = 100, 101
INVALID_IMAGE, INVALID_CONTEXT, NO_BINARY_FOR_GPU, INVALID_PTX = 200, 201, 209, 218
FILE_NOT_FOUND, SYMBOL_NOT_FOUND = 301, 302
INVALID_HANDLE, NOT_FOUND, NOT_READY = 400, 500, 600
ILLEGAL_ADDRESS, LAUNCH_OUT_OF_RESOURCES = 700, 701
CONTEXT_IS_DESTROYED, ALREADY_REGISTERED, NOT_REGISTERED = 709, 712, 713
ASSERT, LAUNCH_FAILED, NOT_PERMITTED, NOT_SUPPORTED = 710, 719, 800, 801
ILLEGAL_STATE, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_MERGE = 401, 900, 901, 902
CAPTURE_UNMATCHED, CAPTURE_UNJOINED, CAPTURE_ISOLATION, CAPTURE_IMPLICIT = 903, 904, 905, 906
CAPTURED_EVENT, CAPTURE_WRONG_THREAD, UPDATE_FAILURE = 907, 908, 910

CONTEXTS, STREAMS, EVENTS, MODULES, FUNCTIONS, LINKS = range(6)
SETTINGS = [
    "GOMPY_CUDA_DEVICES",
    "GOMPY_CUDA_ARCH",
    "GOMPY_CUDA_MEMORY",
    "GOMPY_CUDA_SMS",
    "GOMPY_CUDA_VERSION",
    "GOMPY_CUDA_PEERS",
    "GOMPY_CUDA_TRACE",
    "GOMPY_CHECK",
    "CUDA_VISIBLE_DEVICES",
]

CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)


class Memcpy2D(Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = (
        ("srcXInBytes", c_size_t),
        ("srcY", c_size_t),
        ("srcMemoryType", c_uint),
        ("srcHost", c_void_p),
        ("srcDevice", c_uint64),
        ("srcArray", c_void_p),
        ("srcPitch", c_size_t),
        ("dstXInBytes", c_size_t),
        ("dstY", c_size_t),
        ("dstMemoryType", c_uint),
        ("dstHost", c_void_p),
        ("dstDevice", c_uint64),
        ("dstArray", c_void_p),
        ("dstPitch", c_size_t),
        ("WidthInBytes", c_size_t),
        ("Height", c_size_t),
    )


class Memcpy3D(Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = (
        ("srcXInBytes", c_size_t),
        ("srcY", c_size_t),
        ("srcZ", c_size_t),
        ("srcLOD", c_size_t),
        ("srcMemoryType", c_uint),
        ("srcHost", c_void_p),
        ("srcDevice", c_uint64),
        ("srcArray", c_void_p),
        ("reserved0", c_void_p),
        ("srcPitch", c_size_t),
        ("srcHeight", c_size_t),
        ("dstXInBytes", c_size_t),
        ("dstY", c_size_t),
        ("dstZ", c_size_t),
        ("dstLOD", c_size_t),
        ("dstMemoryType", c_uint),
        ("dstHost", c_void_p),
        ("dstDevice", c_uint64),
        ("dstArray", c_void_p),
        ("reserved1", c_void_p),
        ("dstPitch", c_size_t),
        ("dstHeight", c_size_t),
        ("WidthInBytes", c_size_t),
        ("Height", c_size_t),
        ("Depth", c_size_t),
    )


P = c_void_p
PP = POINTER(c_void_p)
U64P = POINTER(c_uint64)
SIZES = POINTER(c_size_t)
INTS = POINTER(c_int)
ARGUMENTS: dict[str, list[Any]] = {
    "cuInit": [c_uint],
    "cuMemAlloc_v2": [U64P, c_size_t],
    "cuMemFree_v2": [c_uint64],
    "cuMemAllocManaged": [U64P, c_size_t, c_uint],
    "cuMemAllocPitch_v2": [U64P, SIZES, c_size_t, c_size_t, c_uint],
    "cuMemGetAddressRange_v2": [U64P, SIZES, c_uint64],
    "cuMemcpyHtoD_v2": [c_uint64, P, c_size_t],
    "cuMemcpyDtoH_v2": [P, c_uint64, c_size_t],
    "cuMemcpyDtoD_v2": [c_uint64, c_uint64, c_size_t],
    "cuMemcpy": [c_uint64, c_uint64, c_size_t],
    "cuMemcpyPeer": [c_uint64, P, c_uint64, P, c_size_t],
    "cuMemcpyHtoDAsync_v2": [c_uint64, P, c_size_t, P],
    "cuMemcpyDtoHAsync_v2": [P, c_uint64, c_size_t, P],
    "cuMemcpyDtoDAsync_v2": [c_uint64, c_uint64, c_size_t, P],
    "cuMemsetD8_v2": [c_uint64, ctypes.c_ubyte, c_size_t],
    "cuMemsetD16_v2": [c_uint64, ctypes.c_ushort, c_size_t],
    "cuMemsetD32_v2": [c_uint64, c_uint, c_size_t],
    "cuMemsetD2D32_v2": [c_uint64, c_size_t, c_uint, c_size_t, c_size_t],
    "cuMemsetD8Async": [c_uint64, ctypes.c_ubyte, c_size_t, P],
    "cuMemHostAlloc": [PP, c_size_t, c_uint],
    "cuMemAllocHost_v2": [PP, c_size_t],
    "cuMemFreeHost": [P],
    "cuMemHostGetDevicePointer_v2": [U64P, P, c_uint],
    "cuMemHostRegister_v2": [P, c_size_t, c_uint],
    "cuMemHostUnregister": [P],
    "cuPointerGetAttribute": [P, c_int, c_uint64],
    "cuMemFreeAsync": [c_uint64, P],
    "cuMemAllocAsync": [U64P, c_size_t, P],
    "cuCtxCreate_v2": [PP, c_uint, c_int],
    "cuCtxDestroy_v2": [P],
    "cuCtxPushCurrent_v2": [P],
    "cuCtxPopCurrent_v2": [PP],
    "cuCtxSetCurrent": [P],
    "cuCtxGetCurrent": [PP],
    "cuCtxSetLimit": [c_int, c_size_t],
    "cuCtxGetLimit": [SIZES, c_int],
    "cuStreamCreate": [PP, c_uint],
    "cuStreamDestroy_v2": [P],
    "cuStreamQuery": [P],
    "cuStreamSynchronize": [P],
    "cuStreamWaitEvent": [P, P, c_uint],
    "cuStreamAddCallback": [P, CALLBACK, P, c_uint],
    "cuLaunchHostFunc": [P, HOST_FUNCTION, P],
    "cuEventCreate": [PP, c_uint],
    "cuEventDestroy_v2": [P],
    "cuEventRecord": [P, P],
    "cuEventQuery": [P],
    "cuEventSynchronize": [P],
    "cuEventElapsedTime": [POINTER(ctypes.c_float), P, P],
    "cuLinkCreate_v2": [c_uint, INTS, PP, PP],
    "cuLinkAddData_v2": [P, c_int, P, c_size_t, c_char_p, c_uint, INTS, PP],
    "cuLinkComplete": [P, PP, SIZES],
    "cuLinkDestroy": [P],
    "cuModuleLoadData": [PP, P],
    "cuModuleLoadDataEx": [PP, P, c_uint, INTS, PP],
    "cuModuleLoad": [PP, c_char_p],
    "cuModuleUnload": [P],
    "cuModuleGetFunction": [PP, P, c_char_p],
    "cuModuleGetGlobal_v2": [U64P, SIZES, P, c_char_p],
    "cuFuncGetAttribute": [INTS, c_int, P],
    "cuLaunchKernel": [P, *[c_uint] * 7, P, P, P],
    "cuOccupancyMaxPotentialBlockSize": [INTS, INTS, P, P, c_size_t, c_int],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [INTS, P, c_int, c_size_t],
    "cuGetProcAddress": [c_char_p, PP, c_int, c_uint64],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
    "gompy_cuda_living": [c_int],
}


class Driver:
    """A copy of the library; functions by attribute, with their argument types."""

    def __init__(self, folder: Path) -> None:
        (folder / "cuda").mkdir(parents=True)
        (folder / "lib").symlink_to(paths.LIBDIR)
        self.path = folder / "cuda" / "libcuda.so.1"
        shutil.copy(LIBRARY, self.path)
        self.library = ctypes.CDLL(str(self.path))
        for name, types in ARGUMENTS.items():
            function = getattr(self.library, name)
            function.argtypes = types
            function.restype = c_size_t if name == "gompy_cuda_living" else c_int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)

    def ok(self, name: str, *arguments: Any) -> None:
        """Call a function that must succeed."""
        answer = getattr(self.library, name)(*arguments)
        assert answer == SUCCESS, f"{name}: {answer}"

    def context(self, device: int = 0) -> c_void_p:
        """A context, current; the driver is initialised if need be."""
        self.ok("cuInit", 0)
        to = c_void_p()
        self.ok("cuCtxCreate_v2", byref(to), 0, device)
        return to

    def handle(self, name: str, *arguments: Any) -> c_void_p:
        """What a function that returns a handle first returns."""
        to = c_void_p()
        self.ok(name, byref(to), *arguments)
        return to

    def handle_last(self, name: str, *arguments: Any) -> c_void_p:
        """What a function that returns a handle last returns."""
        to = c_void_p()
        self.ok(name, *arguments, byref(to))
        return to

    def alloc(self, size: int) -> int:
        """Device memory."""
        to = c_uint64()
        self.ok("cuMemAlloc_v2", byref(to), size)
        return to.value

    def put(self, data: bytes) -> int:
        """Device memory with contents."""
        address = self.alloc(len(data))
        self.ok("cuMemcpyHtoD_v2", address, data, len(data))
        return address

    def get(self, address: int, size: int) -> bytes:
        """The contents of device memory."""
        to = ctypes.create_string_buffer(size)
        self.ok("cuMemcpyDtoH_v2", to, address, size)
        return to.raw

    def attribute(self, number: int, device: int = 0) -> int:
        """cuDeviceGetAttribute."""
        to = c_int()
        self.ok("cuDeviceGetAttribute", byref(to), number, device)
        return to.value

    def living(self) -> list[int]:
        """Handles alive, by kind."""
        return [self.gompy_cuda_living(kind) for kind in range(6)]

    def typed(self) -> Driver:
        """All functions with the argument types of the table of calls."""
        kinds = {"i": c_int, "u": c_uint, "s": c_size_t, "t": c_char_p}
        for call in cuda_calls.all_calls():
            if call.here and not getattr(self.library, call.name).argtypes:
                types = [kinds.get(kind, c_void_p) for _, kind in call.parameters]
                getattr(self.library, call.name).argtypes = types
        return self
