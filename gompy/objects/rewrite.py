"""Changing a linked ELF file without linking it again: words, code, and one more segment with contents of its own.

Everything that the file has keeps its address, so symbols, DWARF and relocations stay right.  (lief 1.0 was tried: its
builder moves .bss and shortens .dynamic, and where it shifts a PIE, DWARF speaks of other addresses.)

A new segment stands at the end of the file.  Its program header takes the place of PT_GNU_PROPERTY's, whose note a
PT_NOTE has as well (glibc looks at either); so the headers stay where they are.  (With headers that are moved, and with
lief's, GNU strip makes a file of which the segment is lost: such a file is refused.)
"""

from __future__ import annotations

import struct
from typing import Final

from gompy import UserError
from gompy.objects.elf import SHF_ALLOC, SHT_NOBITS, SHT_RELA, Section
from gompy.objects.view import ElfView

PT_LOAD: Final = 1
PT_NOTE: Final = 4
PT_GNU_PROPERTY: Final = 0x6474E553
PF_R: Final = 4
SHT_PROGBITS: Final = 1
PAGE: Final = 0x1000
ALIGN: Final = 64
_PHDR: Final = struct.Struct("<IIQQQQQQ")
_SHDR: Final = struct.Struct("<IIQQQQIIQQ")


class RewriteError(UserError):
    """Why a file cannot be changed."""


def given(files: int) -> str:
    """``1 is given``, ``2 are given``: of files for an image that has another number of them."""
    return f"{files} {'is' if files == 1 else 'are'} given"


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _spare(segments: list[list[int]]) -> int | None:
    """The program header that another one makes superfluous."""
    notes = [(one[2], one[2] + one[5]) for one in segments if one[0] == PT_NOTE]
    for index, one in enumerate(segments):
        if one[0] == PT_GNU_PROPERTY and any(low <= one[2] and one[2] + one[5] <= high for low, high in notes):
            return index
    return None


class Rewriter:
    """A copy of a file's bytes and the changes to it; ``elf`` stays as the file is."""

    def __init__(self, elf: ElfView) -> None:
        self.elf = elf
        self.data = bytearray(elf.data)

    def _offset(self, address: int, size: int) -> int:
        """Where ``size`` bytes of an address stand in the file."""
        place = self.elf.space.place(address)
        if place is None or place[0].type == SHT_NOBITS or place[1] + size > place[0].size:
            raise RewriteError(f"{self.elf.file}: the {size} bytes at {address:#x} are not in the file")
        return place[0].offset + place[1]

    def write(self, address: int, content: bytes) -> None:
        """Put bytes in the place of others."""
        offset = self._offset(address, len(content))
        self.data[offset : offset + len(content)] = content

    def number(self, address: int, value: int) -> None:
        """Change a word that is no pointer."""
        self.write(address, struct.pack("<Q", value))

    def pointer(self, address: int, value: int) -> None:
        """Change a word that points into the file: its relocation, too, if it has one.

        Without (no PIE, or DT_RELR) the word is all.  RewriteError for a word that is a symbol's.
        """
        offset = self._offset(address, 8)
        for section in self.elf.sections:
            if section.type != SHT_RELA or not section.flags & SHF_ALLOC:
                continue
            for number, (where, _kind, symbol, _addend) in enumerate(self.elf.rela_entries(section)):
                if where == address:
                    if symbol:
                        raise RewriteError(f"{self.elf.file}: the word at {address:#x} is bound to a symbol")
                    struct.pack_into("<q", self.data, section.offset + 24 * number + 16, value)
                    if not any(self.data[offset : offset + 8]):
                        return
        struct.pack_into("<Q", self.data, offset, value)

    def returns(self, address: int) -> None:
        """Have the function at an address return at once."""
        start = self._offset(address, 5)
        self.data[start + 4 * (self.data[start : start + 4] == b"\xf3\x0f\x1e\xfa")] = 0xC3  # behind endbr64

    def append(self, content: bytes, like: Section) -> int:
        """Add a segment of read-only data, with a section of the name of another; its address.  Only once."""
        header = struct.unpack_from("<16sHHIQQQIHHHHHH", self.data)
        phoff, shoff, phentsize, phnum, shnum = header[5], header[6], header[9], header[10], header[12]
        if phentsize != _PHDR.size or not 0 < shnum < 0xFEFF:
            raise RewriteError(f"{self.elf.file}: its program headers cannot be extended")
        segments = [list(_PHDR.unpack_from(self.data, phoff + i * _PHDR.size)) for i in range(phnum)]
        loads = [segment for segment in segments if segment[0] == PT_LOAD]
        if not loads:
            raise RewriteError(f"{self.elf.file}: it has no loadable segments")
        spare = _spare(segments)
        if spare is None:
            raise RewriteError(
                f"{self.elf.file}: no program header to spare for the image's {len(content)} bytes (gold and mold "
                "leave none, nor do many libraries); put in one that is not larger than the present one, or link again"
            )
        address = _up(max(segment[3] + segment[6] for segment in loads), PAGE)
        at, size = _up(len(self.data), PAGE), len(content)
        del segments[spare]
        last = max(i for i, segment in enumerate(segments) if segment[0] == PT_LOAD)
        segments.insert(last + 1, [PT_LOAD, PF_R, at, address, address, size, size, PAGE])
        self.data[phoff : phoff + phnum * _PHDR.size] = b"".join(_PHDR.pack(*one) for one in segments)
        self.data += bytes(at - len(self.data))
        sections_at = _up(at + len(content), 8)
        sections = bytes(self.data[shoff : shoff + shnum * _SHDR.size])
        name = struct.unpack_from("<I", sections, like.index * _SHDR.size)[0]
        self.data += content + bytes(sections_at - at - len(content))
        self.data += sections
        self.data += _SHDR.pack(name, SHT_PROGBITS, SHF_ALLOC, address, at, len(content), 0, 0, ALIGN, 0)
        struct.pack_into("<Q", self.data, 40, sections_at)
        struct.pack_into("<H", self.data, 60, shnum + 1)
        return int(address)
