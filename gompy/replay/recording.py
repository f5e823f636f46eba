"""The file of ``gompy record``: lines of JSON, some followed by raw bytes (docs/replay.md).

The file may come from anywhere: what is not as the runtime writes it is one line of ``UserError``.  A file that ends in
the middle, as that of a killed program does, is read as far as it is whole.
"""

from __future__ import annotations

import json
import mmap
import os
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gompy import UserError

VERSION: Final = 1
KERNEL_BY_CLANG: Final = 0xFFFF
"""In place of a function's first dimension (gompy/native/launch_words.pxd)."""
MAGIC: Final = b'{"is": "gompy recording"'
KERNELS: Final = "cuda"
"""The kind of an image whose functions are kernels of CUDA, launched by the program itself."""
COOPERATIVE: Final = "cooperative kernel"
"""In the place of a directive: its blocks may wait for each other."""
LONGEST: Final = 1 << 28
"""Bytes of a line."""
WORD: Final = 1 << 64


class Span(NamedTuple):
    """A piece of device memory and the number of its contents, -1: they are not in the file."""

    start: int
    size: int
    blob: int


class Mapped(NamedTuple):
    """A range of the program that is mapped, in bytes; ``target``: its device address."""

    host: int
    size: int
    target: int


class Name(NamedTuple):
    """What the program calls mapped memory.

    ``base``: the host address of the element with index 0, 0: not known; ``element``: bytes of one, 0: not known;
    ``scalar``: ``f8``, ``i4``, ``u1``, what elements are made of, empty: not known.
    """

    name: str
    base: int
    element: int
    scalar: str


@dataclass
class Image:
    """A device image: an ELF file for intelmic, PTX texts for nvptx, or a module of kernels of CUDA."""

    number: int
    kind: str
    version: int
    start: int
    size: int
    clang: bool = False
    objects: list[int] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    functions: list[tuple[str, int, int, int]] = field(default_factory=list)
    indirect: list[int] = field(default_factory=list)

    @property
    def by_clang(self) -> bool:
        """Whether it has no tables, or those of a GPU, of clang's."""
        return self.clang or (self.kind == "nvptx" and any(entry[1] == KERNEL_BY_CLANG for entry in self.functions))


@dataclass
class Loaded:
    """An image on a device: ``functions`` pairs of device addresses, then those of variables."""

    image: int
    device: int
    functions: int
    table: list[tuple[int, int]]


@dataclass
class Region:
    """One launch.  ``words``: its arguments; ``limits``: of teams and threads; ``dims``: OpenACC's gangs and so on.

    ``shape``: of a kernel by clang on a GPU: teams, threads, rounds, shared memory, grid, block, bytes of parameters.
    """

    number: int
    device: int
    kind: str
    function: str
    host: int
    word: int
    what: str
    at: str
    arguments: int
    words: list[int]
    limits: list[int]
    dims: list[int] | None
    maps: list[list[Any]]
    objects: list[Mapped]
    memory: list[Span]
    loaded: list[Loaded]
    after: list[Span] | None = None
    names: dict[int, Name] = field(default_factory=dict)
    place: str = ""
    shape: list[int] | None = None
    dropped: bool = False  # it ran beside others: its memory says nothing
    launch: int = 0  # how often its function was launched before, recorded or not

    @property
    def home(self) -> Loaded | None:
        """What was loaded with its function."""
        for loaded in self.loaded:
            if any(pair[0] == self.word for pair in loaded.table[: loaded.functions]):
                return loaded
        return None

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel of CUDA that the program has launched."""
        return self.what in ("kernel", COOPERATIVE) and self.shape is not None

    def name(self) -> str:
        """Its number and function, for messages; a kernel's without C++'s mangling."""
        function = self.function
        if self.is_kernel:
            from gompy.check.readable import demangled

            function = demangled(function)
        return f"region {self.number} {function or '?'}"


class Recording:
    """A file, open as long as this object lives.  UserError: it cannot be read, or is none."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                if not os.fstat(file.fileno()).st_size:
                    raise UserError(f"{path}: empty, no recording of gompy record")
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror}") from None
        except ValueError:
            raise UserError(f"{path}: no regular file") from None
        self.program = ""
        self.images: dict[int, Image] = {}
        self.regions: list[Region] = []
        self.blobs: list[tuple[int, int]] = []
        self.loaded: list[Loaded] = []
        self.limit: int | None = None
        self.whole = False
        self.end = 0  # of the last whole line
        if self.data[: len(MAGIC)] != MAGIC:
            raise UserError(f"{path}: no recording of gompy record")
        self._read()

    @property
    def kept(self) -> list[Region]:
        """The regions that ran by themselves."""
        return [region for region in self.regions if not region.dropped]

    @property
    def disturbed(self) -> bool:
        """Whether regions ran beside others, and are left out."""
        return any(region.dropped for region in self.regions)

    def contents(self, span: Span) -> bytes:
        """The bytes of a piece of memory; zeros where the file has none."""
        if span.blob < 0:
            return bytes(span.size)
        start, size = self.blobs[span.blob]
        return self.data[start : start + size]

    def bytes_of(self, image: Image) -> bytes:
        """An image's contents."""
        return self.data[image.start : image.start + image.size]

    def _read(self) -> None:
        at = 0
        while at < len(self.data):
            end = self.data.find(b"\n", at, at + LONGEST)
            if end < 0:
                return  # the program ended in the middle of it
            try:
                line = json.loads(self.data[at:end])
                if not isinstance(line, dict):
                    raise ValueError
                follow = number(line.get("bytes", 0))
                if follow > len(self.data) - end - 1:
                    return
                self._line(line, end + 1, follow)
            except (ValueError, KeyError, TypeError, IndexError, RecursionError):
                raise UserError(f"{self.path}: damaged at byte {at}") from None
            at = self.end = end + 1 + follow

    def _line(self, line: dict[str, Any], start: int, follow: int) -> None:
        kind = line.get("is")
        if kind == "gompy recording":
            if number(line["version"]) != VERSION:
                raise UserError(f"{self.path}: of version {line['version']}, this gompy reads {VERSION}")
            self.program = text(line["program"])
        elif kind == "image":
            self._image(line, start, follow)
        elif kind == "loaded":
            table = [(number(a), number(b)) for a, b in line["table"]]
            found = Loaded(number(line["image"]), number(line["device"]), number(line["functions"]), table)
            if found.image not in self.images or found.functions > len(table):
                raise ValueError
            self.loaded = [known for known in self.loaded if (known.image, known.device) != (found.image, found.device)]
            self.loaded.append(found)
        elif kind == "unloaded":
            gone = number(line["image"]), number(line["device"])
            self.loaded = [known for known in self.loaded if (known.image, known.device) != gone]
        elif kind == "blob":
            if number(line["blob"]) != len(self.blobs):
                raise ValueError
            self.blobs.append((start, follow))
        elif kind == "region":
            self._region(line)
        elif kind == "after":
            region = self.regions[number(line["region"])]
            there = {(span.start, span.size) for span in region.memory}
            region.after = [span for span in self._spans(line["memory"]) if (span.start, span.size) in there]
        elif kind == "dropped":
            self.regions[number(line["region"])].dropped = True
        elif kind == "names":
            self._names(line)
        elif kind == "limit":
            self.limit = number(line["limit"])
        elif kind == "end":
            self.whole = True

    def _image(self, line: dict[str, Any], start: int, follow: int) -> None:
        image = Image(number(line["image"]), text(line["kind"]), number(line["version"]), start, follow)
        image.clang = line.get("clang") is True
        image.objects = [number(size) for size in line.get("objects", ())]
        image.variables = [text(name) for name in line.get("variables", ())]
        image.indirect = [number(address) for address in line.get("indirect", ())]
        for name, x, y, z in line.get("functions", ()):
            image.functions.append((text(name), number(x, 1 << 16), number(y, 1 << 16), number(z, 1 << 16)))
        if sum(image.objects) > follow or len(image.indirect) > len(image.variables):
            raise ValueError
        self.images[image.number] = image

    def _region(self, line: dict[str, Any]) -> None:
        if number(line["region"]) != len(self.regions):
            raise ValueError
        dims = [number(n, 1 << 32) for n in line["dims"]] if "dims" in line else None
        shape = [signed(n) for n in line["shape"]] if "shape" in line else None
        if (dims is not None and len(dims) != 3) or (shape is not None and len(shape) != 11):
            raise ValueError
        self.regions.append(
            Region(
                *(number(line["region"]), number(line["device"]), text(line["name"]), text(line["function"])),
                *(number(line["host"]), number(line["word"]), text(line["what"])),
                *(text(line.get("at", "")), number(line["arguments"])),
                [number(word) for word in line["words"]],
                [signed(word) for word in line["limits"]],
                dims,
                [[*(signed(n) for n in entry[:5]), text(entry[5])] for entry in line["maps"]],
                [Mapped(*(number(n) for n in entry)) for entry in line["objects"]],
                self._spans(line["memory"]),
                [known for known in self.loaded if known.device == line["device"]],
                shape=shape,
                launch=number(line.get("launch", 0)),
            )
        )

    def _spans(self, entries: Any) -> list[Span]:
        found = []
        for start, size, blob in entries:
            span = Span(number(start), number(size), signed(blob))
            if span.blob >= len(self.blobs) or (span.blob >= 0 and self.blobs[span.blob][1] != span.size):
                raise ValueError
            if span.blob < 0 and span.size > len(self.data):
                raise ValueError
            found.append(span)
        return found

    def _names(self, line: dict[str, Any]) -> None:
        region = self.regions[number(line["region"])]
        region.place = text(line.get("place", ""))
        for host, name, base, element, scalar in line["names"]:
            known = text(scalar)
            if known and (len(known) > 3 or known[0] not in "fiu" or not known[1:].isdecimal()):
                raise ValueError
            region.names[number(host)] = Name(text(name), number(base), number(element), known)


def number(value: Any, below: int = WORD) -> int:
    """An integer from 0 on; ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
        raise ValueError
    return value


def signed(value: Any) -> int:
    """An integer of 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not -(WORD // 2) <= value < WORD:
        raise ValueError
    return value


def text(value: Any) -> str:
    """A string, without signs that would change what a terminal shows."""
    if not isinstance(value, str):
        raise ValueError
    return "".join(sign if sign.isprintable() else "?" for sign in value)
