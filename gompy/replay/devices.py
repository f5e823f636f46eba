"""What regions are replayed on: a device by its plugin, without libgompy's mappings, or this process itself.

Only for a process of its own (worker.py): a region that fails ends it.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
from abc import ABC, abstractmethod
from typing import Any, Final

from gompy import UserError
from gompy.abi import gomp
from gompy.abi.llvm import ACCEL_LLVM
from gompy.objects import tables
from gompy.objects.names import IMAGE_ABI, IMAGE_MAGIC
from gompy.objects.view import ElfView
from gompy.plugins.compiled import Pair, load_runtime, open_plugin
from gompy.replay.recording import Image, Recording, Region

PAGE: Final = mmap.PAGESIZE
ARENA: Final = 1 << 40
"""What the address of the emulated MIC's memory is a multiple of, where nothing is in its way (device_layout.pxi)."""
Pairs = list[tuple[int, int]]
p, n, i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class PtxFunction(ctypes.Structure):
    """struct targ_fn_launch."""

    _fields_ = [("name", ctypes.c_char_p), ("dim", ctypes.c_uint16 * 3)]


class PtxObject(ctypes.Structure):
    """struct targ_ptx_obj."""

    _fields_ = [("code", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class PtxData(ctypes.Structure):
    """struct nvptx_tdata, with the member of GCC 14."""

    _fields_ = [
        ("objects", ctypes.POINTER(PtxObject)),
        ("num_objects", ctypes.c_uint),
        ("variables", ctypes.POINTER(ctypes.c_char_p)),
        ("num_variables", ctypes.c_uint),
        ("functions", ctypes.POINTER(PtxFunction)),
        ("num_functions", ctypes.c_uint),
        ("num_indirect", ctypes.c_uint),
        ("indirect", ctypes.POINTER(ctypes.c_uint64)),  # this and the next: of clang's images
        ("places", ctypes.POINTER(ctypes.c_uint64)),
    ]


class KernelLaunch(ctypes.Structure):
    """gompy/native/launch_words.pxd."""

    _fields_ = [
        ("words", ctypes.POINTER(ctypes.c_uint64)),
        ("count", ctypes.c_uint),
        ("teams", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("rounds", ctypes.c_uint64),
        ("shared", ctypes.c_uint),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("size", ctypes.c_size_t),
    ]


class Symbol(ctypes.Structure):
    """struct mic_symbol (gompy/plugins/target_data.pxi)."""

    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_uint64)]


class ClangData(ctypes.Structure):
    """struct mic_target_data, of an image by clang (gompy/plugins/target_data.pxi)."""

    _fields_ = [
        ("image_start", ctypes.c_void_p),
        ("image_end", ctypes.c_void_p),
        ("magic", ctypes.c_uint64),
        ("abi", ctypes.c_uint32),
        ("accel", ctypes.c_uint32),
        ("image_funcs", ctypes.c_uint64),
        ("image_vars", ctypes.c_uint64),
        ("host_begin", ctypes.c_void_p),
        ("host_end", ctypes.c_void_p),
        ("objects", ctypes.POINTER(Symbol)),
        ("num_objects", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
    ]


class Failed(UserError):
    """A region has failed, and nothing runs any more where it was run."""


class Place(ABC):
    """Something that runs regions."""

    kind = ""
    """Of the images that it takes."""

    @abstractmethod
    def load(self, recording: Recording, image: Image) -> Pairs:
        """Load an image; where its functions and variables are.  UserError: it cannot."""

    @abstractmethod
    def place(self, spans: list[tuple[int, int]]) -> list[int]:
        """Have memory for some (address, bytes), at those addresses if that can be; where each is."""

    @abstractmethod
    def release(self) -> None:
        """Give that memory back."""

    @abstractmethod
    def write(self, address: int, data: bytes) -> None:
        """Copy to it."""

    @abstractmethod
    def read(self, address: int, size: int) -> bytes:
        """Copy from it."""

    @abstractmethod
    def run(self, function: int, arguments: int, region: Region, words: list[int]) -> None:
        """Run a region to its end; ``words``: its arguments, which are at ``arguments``, too."""

    def watch(self, ranges: list[tuple[int, int]]) -> None:
        """See what is stored to some (address, bytes).  UserError: that cannot be."""
        raise UserError(f"not implemented for {self.kind}")

    def stores(self, recording: Recording) -> list[dict[str, Any]]:
        """What was stored there, in its order: ``address``, ``value`` (hexadecimal), ``place``, ``who``."""
        raise NotImplementedError


def functions_of(recording: Recording, image: Image) -> list[str]:
    """The names of an image's functions, in the order of its table."""
    if image.kind == "nvptx" or image.clang:
        return [entry[0] for entry in image.functions]
    try:
        found = tables.read_tables(ElfView(recording.bytes_of(image), "image"))
    except Exception:  # the file may have been changed by anybody
        raise UserError(f"{recording.path}: its image {image.number} is damaged") from None
    return [entry.name or "" for entry in found.funcs]


def variables_of(recording: Recording, image: Image) -> list[str]:
    """The names of an image's variables."""
    if image.kind == "nvptx" or image.clang:
        return image.variables
    return [entry.name or "" for entry in tables.read_tables(ElfView(recording.bytes_of(image), "image")).vars]


def sizes_of(recording: Recording, image: Image) -> list[int]:
    """The bytes of the variables of an image by clang, as it was loaded."""
    for region in recording.regions:
        for loaded in region.loaded:
            if loaded.image == image.number:
                return [end - start for start, end in loaded.table[loaded.functions :]]
    return [0] * len(image.variables)


def has_gpu() -> bool:
    """Whether this machine has a driver with a device."""
    count = i()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        return not driver.cuInit(0) and not driver.cuDeviceGetCount(ctypes.byref(count)) and count.value > 0
    except (OSError, AttributeError):
        return False


def is_emulated() -> bool:
    """Whether GOMPY_CUDA, or that there is no other GPU, means the emulated driver."""
    choice = os.environ.get("GOMPY_CUDA", "auto") or "auto"
    return choice == "emulated" or (choice == "auto" and not has_gpu())


def see_stores(ranges: list[tuple[int, int]]) -> None:
    """Have the emulated GPU note what is stored to some (address, bytes)."""
    with open(os.environ["GOMPY_CUDA_STORES"], "w", encoding="ascii") as file:
        file.writelines(f"{start:x} {size:x}\n" for start, size in ranges)


def stores_seen() -> list[dict[str, Any]]:
    """What it has noted.  UserError: nothing, so it is another one."""
    path = os.environ["GOMPY_CUDA_STORES"] + ".log"
    if not os.path.exists(path):
        raise UserError("the GPU is no emulated one")
    with open(path, encoding="utf-8", errors="replace") as file:
        return [json.loads(line) for line in file]


class Plugged(Place):
    """A device of a plugin."""

    def __init__(self, kind: str, openacc: bool) -> None:
        self.kind = kind
        self.keep: list[Any] = []
        self.blocks: list[int] = []
        runtime = load_runtime()
        self.calls = open_plugin(kind)
        if kind == "nvptx" and is_emulated():
            os.environ["GOMPY_CUDA"] = "emulated"  # the plugin looks for a program that has code for it
        if self.calls["get_num_devices"](0) < 1:
            raise UserError(f"there is no device of kind {kind}")
        if openacc and kind == "nvptx":
            runtime.acc_init(gomp.GOMP_DEVICE_NVIDIA_PTX)  # the plugin wants to know the thread's device
        elif not self.calls["init_device"](0):
            raise UserError(f"the device of kind {kind} cannot be made ready")

    def load(self, recording: Recording, image: Image) -> Pairs:
        content = ctypes.create_string_buffer(recording.bytes_of(image), image.size)
        if image.kind == "nvptx":
            data, version = self._ptx(image, content), image.version
        elif image.clang:
            data, version = self._by_clang(recording, image, content), image.version
        else:
            start = ctypes.addressof(content)
            data, version = (p * 2)(start, start + image.size), 0  # what GCC's own mkoffload registers
        table = ctypes.POINTER(Pair)()
        self.keep += [content, data, table]
        at = ctypes.addressof(data)
        count = self.calls["load_image"](0, version, at, ctypes.addressof(table), None, None)
        if count < 0:
            raise UserError(f"{recording.path}: its image {image.number} cannot be loaded")
        return [(table[k].start, table[k].end) for k in range(count)]

    def _by_clang(self, recording: Recording, image: Image, content: Any) -> Any:
        names = [*functions_of(recording, image), *image.variables]
        sizes = [0] * len(image.functions) + sizes_of(recording, image)
        symbols = (Symbol * (len(names) + 1))()
        for symbol, name, size in zip(symbols, names, sizes, strict=False):
            symbol.name, symbol.size = name.encode("latin-1", "replace"), size
        indirect = (ctypes.c_uint64 * (len(image.indirect) + 1))(*image.indirect)
        self.keep += [symbols, indirect]
        at, hosts = ctypes.addressof(content), ctypes.addressof(indirect)
        return ClangData(
            *(at, at + image.size, IMAGE_MAGIC, IMAGE_ABI, ACCEL_LLVM),
            *(len(image.functions), len(image.variables), hosts, hosts + 8 * len(image.indirect)),
            *(symbols, len(names), recording.path.encode()),
        )

    def _ptx(self, image: Image, content: Any) -> Any:
        objects = (PtxObject * (len(image.objects) + 1))()
        at = ctypes.addressof(content)
        for entry, size in zip(objects, image.objects, strict=False):
            entry.code, entry.size = at, size
            at += size
        functions = (PtxFunction * (len(image.functions) + 1))()
        for function, (name, *dims) in zip(functions, image.functions, strict=False):
            function.name, function.dim = name.encode("latin-1", "replace"), (ctypes.c_uint16 * 3)(*dims)
        names = [name.encode("latin-1", "replace") for name in image.variables]
        variables = (ctypes.c_char_p * (len(names) + 1))(*names)
        indirect = (ctypes.c_uint64 * (len(image.indirect) + 1))(*image.indirect)
        places = (ctypes.c_uint64 * (2 * len(names) + 1))()
        self.keep += [objects, functions, variables, indirect, places]
        return PtxData(
            *(objects, len(image.objects), variables, len(names), functions, len(image.functions)),
            *(len(image.indirect), indirect, places),
        )

    def place(self, spans: list[tuple[int, int]]) -> list[int]:
        if self.kind == "intelmic" and self._has_at_once(spans):
            return [start for start, _ in spans]
        found = []
        for _, size in spans:
            block = self.calls["alloc"](0, size)
            if not block:
                raise UserError(f"no room on the device for a block of {size} bytes")
            found.append(block)
        self.blocks = found
        return found

    def _has_at_once(self, spans: list[tuple[int, int]]) -> bool:
        """Whether the emulated MIC has its memory where it had it, as it usually does: it copies to any of it."""
        first = self.calls["alloc"](0, 64) or 0
        self.calls["free"](0, first)
        base = first & -ARENA
        return first - base < 1 << 20 and all(
            base <= start and start + size <= base + self.calls["openacc_get_property"](0, gomp.GOACC_PROPERTY_MEMORY)
            for start, size in spans
        )

    def release(self) -> None:
        for block in self.blocks:
            self.calls["free"](0, block)
        self.blocks = []

    def write(self, address: int, data: bytes) -> None:
        if data and not self.calls["host2dev"](0, address, data, len(data)):
            raise UserError(f"{len(data)} bytes cannot be copied to the device")

    def read(self, address: int, size: int) -> bytes:
        block = ctypes.create_string_buffer(size)
        if size and not self.calls["dev2host"](0, ctypes.addressof(block), address, size):
            raise UserError(f"{size} bytes cannot be copied from the device")
        return block.raw

    def run(self, function: int, arguments: int, region: Region, words: list[int]) -> None:
        if region.dims is not None and self.kind == "nvptx":
            values = (p * (len(words) + 1))(*words)
            dims = (ctypes.c_uint * 3)(*region.dims)
            self.keep += [values, dims]
            at = ctypes.addressof(values)
            self.calls["openacc_exec"](function, len(words), at, at, ctypes.addressof(dims), None)
            return
        if region.shape is not None:
            teams, threads, rounds, shared, *sizes, size = region.shape
            held = (ctypes.c_uint64 * (len(words) + 1))(*words)
            grid, block = (ctypes.c_uint * 3)(*sizes[:3]), (ctypes.c_uint * 3)(*sizes[3:])
            launch = KernelLaunch(held, len(words), teams, threads, rounds, shared, grid, block, size)
            self.calls["run"](0, function, ctypes.addressof(launch), None)
            return
        limits = (ctypes.c_int64 * (len(region.limits) + 1))(
            *(limit if limit < 1 << 63 else 0 for limit in region.limits)
        )
        self.calls["run"](0, function, arguments, ctypes.addressof(limits))

    def watch(self, ranges: list[tuple[int, int]]) -> None:
        if self.kind != "nvptx" or os.environ.get("GOMPY_CUDA") == "real":
            super().watch(ranges)
        see_stores(ranges)

    def stores(self, recording: Recording) -> list[dict[str, Any]]:
        return stores_seen()


class Here(Place):
    """This process: the image's code for the emulated MIC is x86-64 code, and runs here as well."""

    kind = "intelmic"

    def __init__(self) -> None:
        from gompy.plugins.python.images import become_device

        become_device(0)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = p
        self.libc.mmap.argtypes = [p, n, i, i, i, ctypes.c_long]
        self.libc.munmap.argtypes = [p, n]
        self.mapped: list[tuple[int, int]] = []
        self.images: list[Any] = []
        self.callers: set[int] = set()
        self._callers = (ctypes.c_char * 1024)()  # their addresses stand for the device's function that calls kernels

    def load(self, recording: Recording, image: Image) -> Pairs:
        from gompy.plugins.python.images import LoadedImage

        if image.clang:
            return self._load_by_clang(recording, image)
        try:
            loaded = LoadedImage(recording.bytes_of(image))
        except (OSError, ValueError) as error:
            raise UserError(f"{recording.path}: its image {image.number} cannot be loaded: {error}") from None
        self.images.append(loaded)
        functions = [(word, word + 1) for word in loaded.table.functions]
        return functions + [(start, start + size) for start, size in loaded.table.variables]

    def _load_by_clang(self, recording: Recording, image: Image) -> Pairs:
        """Its functions by name; the last one of the table is a device's own, which calls kernels."""
        from gompy.plugins.python.images import Opened

        try:
            loaded = Opened(recording.bytes_of(image))
            names = [*functions_of(recording, image)[:-1], *image.variables]
            words = [ctypes.addressof(ctypes.c_char.in_dll(loaded.library, name)) for name in names]
        except (OSError, ValueError) as error:
            raise UserError(f"{recording.path}: its image {image.number} cannot be loaded: {error}") from None
        self.images.append(loaded)
        caller = ctypes.addressof(self._callers) + len(self.callers)
        self.callers.add(caller)
        kernels = len(image.functions) - 1
        variables = zip(words[kernels:], sizes_of(recording, image), strict=False)
        return [(word, word + 1) for word in (*words[:kernels], caller)] + [(at, at + size) for at, size in variables]

    def place(self, spans: list[tuple[int, int]]) -> list[int]:
        pages: list[list[int]] = []
        for start, size in sorted(spans):
            low, high = start & -PAGE, (start + max(size, 1) + PAGE - 1) & -PAGE
            if pages and low <= pages[-1][1]:
                pages[-1][1] = max(high, pages[-1][1])
            else:
                pages.append([low, high])
        if all(self._map(low, high - low, low) for low, high in pages):
            return [start for start, _ in spans]
        self.release()
        found = []
        for start, size in spans:
            room = (size + 2 * PAGE - 1) & -PAGE
            block = self._map(0, room, 0)
            if not block:
                raise UserError(f"no room for a block of {size} bytes")
            found.append(block + start % 64)
        return found

    def _map(self, address: int, size: int, wanted: int) -> int:
        """Pages, at an address if one is wanted; 0: there is no room."""
        fixed = 0x100000 if wanted else 0  # MAP_FIXED_NOREPLACE
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed
        block = self.libc.mmap(address, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if block in (None, (1 << 64) - 1):
            return 0
        self.mapped.append((block, size))
        if wanted and block != wanted:
            return 0
        return int(block)

    def release(self) -> None:
        for address, size in self.mapped:
            self.libc.munmap(address, size)
        self.mapped = []

    def write(self, address: int, data: bytes) -> None:
        ctypes.memmove(address, data, len(data))

    def read(self, address: int, size: int) -> bytes:
        return ctypes.string_at(address, size)

    def watch(self, ranges: list[tuple[int, int]]) -> None:
        from gompy.replay import watch

        try:
            watch.begin(ranges)
        except (OSError, ValueError) as error:
            raise UserError(str(error)) from None

    def stores(self, recording: Recording) -> list[dict[str, Any]]:
        from gompy.replay import watch

        places = Code(self.images)
        return [
            {"address": address, "value": after.hex(), "place": places.at(pc), "who": ""}
            for pc, address, before, after in watch.end()
            if after != before
        ]

    def run(self, function: int, arguments: int, region: Region, words: list[int]) -> None:
        from gompy.plugins.python.images import LoadedImage

        if function not in self.callers:
            LoadedImage.call(function, arguments)
            return
        kernel, count, *values = (ctypes.c_uint64 * (2 + self.words_at(arguments))).from_address(arguments)
        ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * count)(kernel)(*values)
        ctypes.CDLL(None).fflush(None)

    @staticmethod
    def words_at(block: int) -> int:
        """How many words a kernel by clang has: its block begins with its address and their number."""
        return int(ctypes.c_uint64.from_address(block + 8).value)


class Code:
    """Where in the source code of this process comes from: of images, else only the file that it is in."""

    def __init__(self, images: list[Any]) -> None:
        self.images = {os.fstat(image.file).st_ino: image for image in images}
        self.sources: dict[int, Any] = {}
        self.known: dict[int, str] = {}
        self.maps: list[tuple[int, int, int, str, int]] = []  # begin, end, file's number, its name, where it begins
        bases: dict[tuple[int, str], int] = {}
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                ends, _, _, _, inode, *name = line.split(maxsplit=5)
                low, high = (int(end, 16) for end in ends.split("-"))
                key = int(inode), name[0].strip() if name else ""
                self.maps.append((low, high, *key, bases.setdefault(key, low)))

    def at(self, pc: int) -> str:
        """``FILE:LINE``, a library's name, or ``?``."""
        if pc not in self.known:
            self.known[pc] = self._look(pc)
        return self.known[pc]

    def _look(self, pc: int) -> str:
        for low, high, inode, name, base in self.maps:
            if not low <= pc < high:
                continue
            if inode in self.images and "gompy-image" in name:
                return self._line(inode, base, pc)
            return os.path.basename(name) or "?"
        return "?"

    def _line(self, inode: int, base: int, pc: int) -> str:
        from gompy.check.dwarf import Source

        try:
            if inode not in self.sources:
                with open(f"/proc/self/fd/{self.images[inode].file}", "rb") as file:
                    self.sources[inode] = Source(file.read(), base)
            name, line = self.sources[inode].line(pc)
        except Exception:  # pyelftools meets damage with whatever its parsers raise
            return "?"
        return f"{name}:{line}" if line else f"the image's code at {pc - base:#x} (-g gives lines)"
