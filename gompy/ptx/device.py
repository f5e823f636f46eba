"""The executor from Python: a device with plain memory, on which PTX is linked, loaded and launched.

with Device() as device:
    kernel = device.load(text).function("add")
    a = device.upload(bytes_of_a)
    kernel.launch(grid=(1, 1, 1), block=(32, 1, 1), arguments=[a])
    device.download(a, size)
"""

from __future__ import annotations

import ctypes as c
import mmap
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from gompy.abi import ptx as abi

LIBRARY = Path(__file__).resolve().parents[1] / "_native" / "lib" / "libgompy-ptx.so.1"


CHECK_MEMORY, CHECK_INIT, CHECK_SYNC, CHECK_RACE = 1, 2, 4, 8
"""`enum ptx_check`; see `Device`."""


class CMemory(c.Structure):
    """`ptx_memory` of executor.h."""

    ALLOC = c.CFUNCTYPE(c.c_uint64, c.c_void_p, c.c_size_t, c.c_size_t, c.c_char_p, c.c_uint)
    FREE = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64)
    MALLOC = c.CFUNCTYPE(c.c_uint64, c.c_void_p, c.c_size_t)
    PRINT = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t)
    DESCRIBE = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_void_p, c.c_size_t)
    WARN = c.CFUNCTYPE(None, c.c_void_p, c.c_uint64, c.c_char_p)
    _fields_ = (
        ("base", c.c_uint64),
        ("size", c.c_uint64),
        ("user", c.c_void_p),
        ("alloc_variable", ALLOC),
        ("free_variable", FREE),
        ("heap_malloc", MALLOC),
        ("heap_free", FREE),
        ("print", PRINT),
        ("describe", DESCRIBE),
        ("shadow", c.c_void_p),
        ("warn", WARN),
        ("hosts", c.c_void_p),
        ("reach", c.c_void_p),
        ("whose", c.c_void_p),
        ("whole", c.c_uint64),
        ("whole_size", c.c_uint64),
        ("states", c.c_void_p),
        ("host_wrote", c.c_void_p),
    )


class CObject(c.Structure):
    """`ptx_object`."""

    _fields_ = (("text", c.c_char_p), ("size", c.c_size_t), ("name", c.c_char_p))


class CError(c.Structure):
    """`ptx_error`."""

    _fields_ = (
        ("code", c.c_int),
        ("line", c.c_int),
        ("source_line", c.c_int),
        ("ctaid", c.c_uint32 * 3),
        ("tid", c.c_uint32 * 3),
        ("address", c.c_uint64),
        ("kernel", c.c_char * 160),
        ("function", c.c_char * 160),
        ("object", c.c_char * 160),
        ("source", c.c_char * 256),
        ("message", c.c_char * 768),
    )


class CAttributes(c.Structure):
    """`ptx_attributes`."""

    _fields_ = (
        ("max_threads_per_block", c.c_uint32),
        ("registers", c.c_uint32),
        ("shared_bytes", c.c_uint64),
        ("const_bytes", c.c_uint64),
        ("local_bytes", c.c_uint64),
        ("param_bytes", c.c_uint64),
        ("num_params", c.c_uint32),
        ("ptx_version", c.c_uint32),
    )


class CConfig(c.Structure):
    """`ptx_launch_config`."""

    _fields_ = (
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("shared_bytes", c.c_uint32),
        ("threads", c.c_uint32),
        ("seed", c.c_uint32),
        ("together", c.c_uint32),
        ("params", c.c_void_p),
        ("params_size", c.c_size_t),
        ("workspace", c.c_uint64),
        ("order", c.c_void_p),
        ("asker", c.c_uint64),
        ("memory", c.c_void_p),
        ("ran", c.c_void_p),
    )


class ExecutorError(Exception):
    """A call failed: `code` is the CUresult, `log` what the linker or kernel said, `error` the record of a launch."""

    def __init__(self, code: int, log: str, error: CError | None = None) -> None:
        super().__init__(f"{code}: {log}")
        self.code = code
        self.log = log
        self.error = error


def library() -> c.CDLL:
    """The executor."""
    return c.CDLL(str(LIBRARY))


class Kernel:
    """An entry of a loaded module."""

    def __init__(self, module: Module, handle: c.c_void_p, name: str) -> None:
        self.module, self.handle, self.name = module, handle, name

    def attributes(self) -> CAttributes:
        """`ptx_function_attributes`."""
        found = CAttributes()
        self.module.device.lib.ptx_function_attributes(self.handle, c.byref(found))
        return found

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[int] | bytes = (),
        shared: int = 0,
        threads: int = 0,
        seed: int = 0,
        together: bool = False,
    ) -> None:
        """Run to the end; `arguments` are 8-byte words, or the parameter block itself.

        `threads`: host threads at most, 0 for all; `seed`: of the order of blocks and warps, 0 for that of their
        numbers; `together`: blocks may wait for each other.  Raises `ExecutorError`.
        """
        data = (
            arguments
            if isinstance(arguments, bytes)
            else b"".join((a & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little") for a in arguments)
        )
        buffer = c.create_string_buffer(data, max(len(data), 8))
        sizes = (c.c_uint32 * 3)(*grid), (c.c_uint32 * 3)(*block)
        workspace = self.module.device.upload(bytes(8)) if together else 0
        config = CConfig(*sizes, shared, threads, seed, together, c.addressof(buffer), len(data), workspace)
        error = CError()
        code = self.module.device.lib.ptx_launch(self.handle, c.byref(config), c.byref(error))
        if code:
            raise ExecutorError(code, error.message.decode("utf-8", "replace"), error)


class Module:
    """A module in a device's memory."""

    def __init__(self, device: Device, handle: c.c_void_p) -> None:
        self.device, self.handle = device, handle

    def function(self, name: str) -> Kernel:
        """An entry."""
        handle = c.c_void_p()
        code = self.device.lib.ptx_find_function(self.handle, name.encode(), c.byref(handle))
        if code:
            raise ExecutorError(code, f"no kernel '{name}'")
        return Kernel(self, handle, name)

    def variable(self, name: str) -> tuple[int, int]:
        """Address and size of a variable."""
        address, size = c.c_uint64(), c.c_uint64()
        code = self.device.lib.ptx_find_variable(self.handle, name.encode(), c.byref(address), c.byref(size))
        if code:
            raise ExecutorError(code, f"no variable '{name}'")
        return address.value, size.value


class Device:
    """Memory (one anonymous mapping, addresses handed out upwards), and what kernels printed (`output`).

    `check`: CHECK_MEMORY, CHECK_INIT, CHECK_SYNC or several; what kernels that go on are told is in `warnings`.
    """

    def __init__(self, size: int = 1 << 28, check: int = 0) -> None:
        self.lib = library()
        for name in ("ptx_unload", "ptx_image_free"):
            getattr(self.lib, name).argtypes = [c.c_void_p]
            getattr(self.lib, name).restype = None
        self.memory = mmap.mmap(-1, size)
        self.anchor = c.c_char.from_buffer(self.memory)
        self.base = c.addressof(self.anchor)
        self.top = self.base + 4096
        self.end = self.base + size
        self.output = ""
        self.live = 0
        self.check = check
        self.warnings: list[str] = []
        self.shadow = mmap.mmap(-1, size) if check else None
        self.shadow_anchor = c.c_char.from_buffer(self.shadow) if self.shadow is not None else None
        self.states = (c.c_uint8 * ((size >> abi.WHOLE_SHIFT) + 1 if check else 0))()
        self.blocks: list[tuple[int, int]] = []
        self.lock = threading.Lock()
        self.modules: list[Module] = []
        self.callbacks = CMemory(
            self.base,
            size,
            None,
            CMemory.ALLOC(lambda _, size, align, name, managed: self.allocate(size, align)),
            CMemory.FREE(lambda _, address: None),
            CMemory.MALLOC(self.heap_malloc),
            CMemory.FREE(self.heap_free),
            CMemory.PRINT(self.print),
            CMemory.DESCRIBE(self.describe if check else 0),
            c.addressof(self.shadow_anchor) if self.shadow_anchor is not None else None,
            CMemory.WARN(self.warn),
            None,
            None,
            None,
            0,
            0,
            c.addressof(self.states),
            None,
        )

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Unload the modules."""
        for module in self.modules:
            self.lib.ptx_unload(module.handle)
        self.modules = []

    def allocate(self, size: int, align: int = 256) -> int:
        """Device memory."""
        with self.lock:
            address = -(-self.top // max(align, 16)) * max(align, 16)
            if address + size > self.end:
                return 0
            self.top = address + size + (1 if self.check else 0)
            if self.check:
                self.blocks.append((address, size))
        self.mark(address, size, 1)
        return address

    def mark(self, address: int, size: int, value: int) -> None:
        """In the shadow: 0 not allocated, 1 allocated, 3 written."""
        if self.shadow is not None:
            at = address - self.base
            self.shadow[at : at + size] = bytes([value]) * size
            first, last = at >> abi.WHOLE_SHIFT, at + max(size, 1) - 1 >> abi.WHOLE_SHIFT
            c.memset(c.addressof(self.states) + first, 0, last - first + 1)

    def free(self, address: int) -> None:
        """A block is no longer allocated; its address is not given out again."""
        size = next(size for start, size in self.blocks if start == address)
        self.mark(address, size, 0)

    def describe(self, _: object, address: int, text: int, size: int) -> None:
        """The block before a bad address."""
        start, length = max((b for b in self.blocks if b[0] <= address), default=(0, 0))
        into = address - start
        words = f"{into} bytes into" if into < length else f"{into - length} bytes past the end of"
        line = f"{words} a block of {length} bytes".encode()[: size - 1] + b"\0"
        c.memmove(text, line, len(line))

    def warn(self, _: object, asker: int, text: bytes) -> None:
        """A mistake after which a kernel goes on."""
        with self.lock:
            self.warnings.append(text.decode("utf-8", "replace"))

    def heap_malloc(self, _: object, size: int) -> int:
        """malloc of device code."""
        self.live += 1
        return self.allocate(size, 16)

    def heap_free(self, _: object, address: int) -> None:
        """free of device code: counted only."""
        self.live -= 1

    def print(self, _: object, text: int, length: int) -> None:
        """What a kernel printed."""
        with self.lock:
            self.output += c.string_at(text, length).decode("utf-8", "replace")

    def upload(self, data: bytes) -> int:
        """Device memory with these bytes."""
        address = self.allocate(max(len(data), 1))
        c.memmove(address, data, len(data))
        self.mark(address, len(data), 3)
        return address

    def download(self, address: int, size: int) -> bytes:
        """Bytes of device memory."""
        return c.string_at(address, size)

    def load(self, *texts: str | bytes, names: Sequence[str] = ()) -> Module:
        """Link objects and load them.  Raises `ExecutorError` with the link's log."""
        data = [t.encode("utf-8", "surrogateescape") if isinstance(t, str) else t for t in texts]
        objects = (CObject * len(data))(
            *(CObject(t, len(t), names[i].encode() if i < len(names) else None) for i, t in enumerate(data))
        )
        log = c.create_string_buffer(16384)
        image = c.c_void_p()
        code = self.lib.ptx_link(
            objects, c.c_size_t(len(data)), c.c_uint(self.check), c.byref(image), log, c.c_size_t(len(log))
        )
        if code:
            raise ExecutorError(code, log.value.decode("utf-8", "replace"))
        handle, error = c.c_void_p(), CError()
        code = self.lib.ptx_load(image, c.byref(self.callbacks), c.byref(handle), c.byref(error))
        self.lib.ptx_image_free(image)
        if code:
            raise ExecutorError(code, error.message.decode("utf-8", "replace"))
        module = Module(self, handle)
        self.modules.append(module)
        return module
