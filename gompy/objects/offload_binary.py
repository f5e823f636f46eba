"""OffloadBinary: how clang's tools wrap a device image, read and written.

A header, one entry, strings that describe the image, the image.  Sources: llvm/Object/OffloadBinary.h and
MC/StringTableBuilder.h of LLVM 16.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gompy.abi import llvm
from gompy.objects.view import Damaged, text

MAGIC: Final = struct.pack("<I", llvm.OFFLOAD_BINARY_MAGIC)
_HEAD: Final = struct.Struct("<IIQQQ")
_ENTRY: Final = struct.Struct("<HHIQQQQ")
_PAIR: Final = struct.Struct("<QQ")
_UNIT: Final = 8
_MOST_STRINGS: Final = 1 << 12


def _up(value: int) -> int:
    return -(-value // _UNIT) * _UNIT


@dataclass
class OffloadBinary:
    """One image and what is said of it; ``size`` is that of the whole, ``at`` where it and its image were found."""

    image: bytes
    strings: dict[str, str] = field(default_factory=dict)
    image_kind: int = llvm.IMG_OBJECT
    offload_kind: int = llvm.OFK_OPENMP
    flags: int = 0
    size: int = 0
    at: int = 0
    image_at: int = 0

    @property
    def triple(self) -> str:
        """The target that the image is for."""
        return self.strings.get("triple", "")

    @property
    def arch(self) -> str:
        """Which processor of that target; often empty."""
        return self.strings.get("arch", "")

    @property
    def kind(self) -> str:
        """What the image is, in llvm-objdump's words."""
        known = self.image_kind < len(llvm.IMAGE_KINDS)
        return llvm.IMAGE_KINDS[self.image_kind] if known else f"kind {self.image_kind}"

    @property
    def producer(self) -> str:
        """For which language's runtime it is."""
        known = self.offload_kind < len(llvm.OFFLOAD_KINDS)
        return llvm.OFFLOAD_KINDS[self.offload_kind] if known else f"producer {self.offload_kind}"

    @property
    def extension(self) -> str:
        """How files with such an image are called."""
        known = 0 < self.image_kind < len(llvm.IMAGE_EXTENSIONS)
        return llvm.IMAGE_EXTENSIONS[self.image_kind] if known else "img"


class _Reader:
    """One binary in a larger text, each number checked before it is used."""

    def __init__(self, data: bytes, at: int, file: str, section: str, offset: int) -> None:
        self.data, self.at, self.file, self.section, self.offset = data, at, file, section, offset
        self.left = len(data) - at

    def damaged(self, at: int, cause: str) -> Damaged:
        return Damaged(self.file, self.section, self.offset + self.at + at, f"OffloadBinary: {cause}")

    def read(self) -> OffloadBinary:
        smallest = _HEAD.size + _ENTRY.size
        if self.left < smallest:
            raise self.damaged(0, f"{self.left} bytes are too few for one")
        magic, version, size, entry, entry_size = _HEAD.unpack_from(self.data, self.at)
        if magic != llvm.OFFLOAD_BINARY_MAGIC:
            raise self.damaged(0, f"its magic is {self.data[self.at : self.at + 4].hex()}, not {MAGIC.hex()}")
        if version != llvm.OFFLOAD_BINARY_VERSION:
            raise self.damaged(4, f"version {version} is not implemented, only {llvm.OFFLOAD_BINARY_VERSION}")
        if not smallest <= size <= self.left:
            raise self.damaged(8, f"its {size} bytes are not there: {self.left} are")
        if entry > size - _ENTRY.size or entry_size < _ENTRY.size:
            raise self.damaged(16, f"its entry of {entry_size} bytes at {entry:#x} lies outside of it")
        kind, producer, flags, strings, count, image, length = _ENTRY.unpack_from(self.data, self.at + entry)
        if image > size or length > size - image:
            raise self.damaged(entry + 24, f"its image of {length} bytes at {image:#x} lies outside of it")
        start = self.at + image
        found = OffloadBinary(self.data[start : start + length], {}, kind, producer, flags, size, self.at, start)
        if count > _MOST_STRINGS or strings > size or count * _PAIR.size > size - strings:
            raise self.damaged(entry + 8, f"its {count} strings at {strings:#x} lie outside of it")
        for number in range(count):
            where = strings + number * _PAIR.size
            key, value = _PAIR.unpack_from(self.data, self.at + where)
            found.strings[self._string(key, size, where)] = self._string(value, size, where + 8)
        return found

    def _string(self, offset: int, size: int, where: int) -> str:
        end = self.data.find(b"\0", self.at + offset, self.at + size) if offset < size else -1
        if end < 0:
            raise self.damaged(where, f"a string at {offset:#x} does not end in it")
        return text(self.data[self.at + offset : end])


def read_one(data: bytes, file: str, at: int = 0, section: str = "", offset: int = 0) -> OffloadBinary:
    """The binary at a place of some bytes; these stand at ``offset`` of the file.  Raises Damaged."""
    return _Reader(data, at, file, section, offset).read()


def read_all(data: bytes, file: str, section: str = "", offset: int = 0) -> Iterator[OffloadBinary]:
    """All binaries of a file or section, with zeros between them perhaps.  Raises Damaged."""
    at = 0
    while at < len(data):
        if not any(data[at : at + _UNIT]):  # a linker has aligned what follows
            at += _UNIT
            continue
        found = read_one(data, file, at, section, offset)
        yield found
        at = _up(at + found.size)


def _string_table(strings: set[str]) -> tuple[bytes, dict[str, int]]:
    """The strings as LLVM puts them together: from the last by their ends on, tails of others shared."""
    table, places = bytearray(b"\0"), {"": 0}
    before = b""
    end = 0
    for word in sorted((string.encode("utf-8", "surrogateescape") for string in strings), key=lambda w: w[::-1])[::-1]:
        if not word:
            continue
        if not before.endswith(word):
            table += word + b"\0"
            before, end = word, len(table) - 1
        places[word.decode("utf-8", "surrogateescape")] = end - len(word)
    return bytes(table), places


def packed(image: bytes, strings: Mapping[str, str], image_kind: int, offload_kind: int = llvm.OFK_OPENMP) -> bytes:
    """A binary with that image: for strings in the order triple, arch the bytes are clang-offload-packager-16's."""
    table, places = _string_table({*strings, *strings.values()})
    map_at = _HEAD.size + _ENTRY.size
    table_at = map_at + _PAIR.size * len(strings)
    image_at = _up(table_at + len(table))
    size = _up(image_at + len(image))
    pairs = b"".join(_PAIR.pack(table_at + places[key], table_at + places[value]) for key, value in strings.items())
    head = _HEAD.pack(llvm.OFFLOAD_BINARY_MAGIC, llvm.OFFLOAD_BINARY_VERSION, size, _HEAD.size, _ENTRY.size)
    entry = _ENTRY.pack(image_kind, offload_kind, 0, map_at, len(strings), image_at, len(image))
    return (head + entry + pairs + table).ljust(image_at, b"\0") + image.ljust(size - image_at, b"\0")
