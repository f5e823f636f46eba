"""What clang's offloading puts into objects and programs: entries of regions and variables, and device images.

An object has its images in sections of type SHT_LLVM_OFFLOADING; a linked file has a descriptor that points to each.
The descriptor is found by what points to the entries, so stripped files show the same.  Sources: LLVM 16's omptarget.h
(__tgt_bin_desc, __tgt_device_image, __tgt_offload_entry), Frontend/Offloading; LLVM 20's entries of 56 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from gompy.abi import llvm
from gompy.objects.elf import SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, STT_FUNC, STT_SECTION, Section
from gompy.objects.images import Finder
from gompy.objects.offload_binary import MAGIC, OffloadBinary, read_all, read_one
from gompy.objects.view import Damaged, ElfView

MAX_IMAGES: Final = 1 << 10
DESCRIPTOR: Final = 32
"""Bytes of __tgt_bin_desc: number of images, the images, first and last entry."""
IMAGE_RECORD: Final = 32
"""Bytes of __tgt_device_image: begin and end of the image, first and last entry."""
REGION_PREFIX: Final = "__omp_offloading_"
FLAG_NAMES: Final = (
    (llvm.TGT_ENTRY_LINK, "link"),
    (llvm.TGT_ENTRY_CTOR, "constructor"),
    (llvm.TGT_ENTRY_DTOR, "destructor"),
    (llvm.TGT_ENTRY_INDIRECT, "indirect"),
    (llvm.TGT_ENTRY_REQUIRES, "requires"),
)


class ClangEntry(NamedTuple):
    """One entry of the host's table; a region has size 0.

    ``section``: of a relocatable's address.  ``table``: the address of a linked file's table: it may have several.
    """

    name: str | None
    address: int | None
    size: int
    flags: int
    section: str = ""
    table: int = 0

    @property
    def in_image(self) -> bool:
        """Whether an image has a symbol of that name: not for what ``omp requires`` says."""
        return not self.flags & llvm.TGT_ENTRY_REQUIRES

    @property
    def is_region(self) -> bool:
        """Whether it is a region, no variable, constructor or destructor."""
        return not self.size and not self.flags


@dataclass
class ClangImage:
    """One image: ``address`` is that of its binary in the host file, ``room`` what stands there in bytes.

    ``record``: address of the registered record, 0 in an object; ``descriptor``: of the descriptor that it belongs to;
    ``table``: of the entries that are registered with it.
    """

    binary: OffloadBinary
    address: int = 0
    room: int = 0
    record: int = 0
    descriptor: int = 0
    wrapped: bool = True
    table: int = 0

    @property
    def target(self) -> str:
        """Its triple, and the architecture where it has one."""
        return "-".join(word for word in (self.binary.triple or "unknown", self.binary.arch) if word)

    @property
    def extension(self) -> str:
        """How files of this kind are called: a linked ELF image is a library."""
        return "so" if self.record and self.binary.extension == "o" else self.binary.extension

    @property
    def size(self) -> int:
        """Bytes of the image."""
        return len(self.binary.image)

    @property
    def files(self) -> list[bytes]:
        """Its contents."""
        return [self.binary.image]

    @cached_property
    def symbols(self) -> dict[str, int] | None:
        """Names of what the image defines, with sizes; None where its form does not tell.  Raises Damaged."""
        image = self.binary.image
        if image.startswith(b"\x7fELF"):
            return _defined(ElfView(image, f"image for {self.target}"))
        if re.match(rb"\s*(?://[^\n]*\s*)*\.version\s", image):
            found = re.findall(rb"\.(?:entry|global|const)\b[^;={(]*?([\w$]+)\s*[\[({=;]", image)
            return {name.decode("ascii", "replace"): 0 for name in found}
        return None

    def lacking(self, entries: list[ClangEntry]) -> list[ClangEntry]:
        """Entries that the image does not define.  Raises Damaged."""
        known = self.symbols
        if known is None:
            return []
        own = [entry for entry in entries if entry.table in (0, self.table)]
        return [entry for entry in own if entry.name is not None and entry.in_image and entry.name not in known]

    def differing(self, entries: list[ClangEntry]) -> list[tuple[ClangEntry, int]]:
        """Variables of another size in the image, with that size.  Raises Damaged."""
        known = self.symbols or {}
        pairs = [(entry, known.get(entry.name or "", 0)) for entry in entries if entry.size and entry.in_image]
        return [(entry, size) for entry, size in pairs if size not in (0, entry.size)]


@dataclass
class ClangTables:
    """What a file has of clang's."""

    entries: list[ClangEntry] = field(default_factory=list)
    images: list[ClangImage] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)


def _defined(elf: ElfView) -> dict[str, int]:
    """Names that a file defines for others, with sizes."""
    kind = SHT_SYMTAB if elf.relocatable else SHT_DYNSYM
    tables = [section for section in elf.sections if section.type == kind]
    symbols = [symbol for table in tables for symbol in elf.symbols(table)]
    return {s.name: s.size for s in symbols if s.shndx and s.name and s.type != STT_SECTION and s.bind}


def is_clang_image(elf: ElfView) -> bool:
    """Whether the file itself is a device image: a library that exports regions."""
    if elf.kind != "shared":
        return False
    tables = [section for section in elf.sections if section.type == SHT_DYNSYM]
    symbols = [symbol for table in tables for symbol in elf.symbols(table)]
    return any(s.shndx and s.type == STT_FUNC and s.name.startswith(REGION_PREFIX) for s in symbols)


def _entries(elf: ElfView, section: Section, unit: int) -> Iterator[ClangEntry]:
    """The entries of one section.  Raises Damaged."""
    base = elf.space.base.get(section.index)
    if section.type == SHT_NOBITS or base is None or section.size % unit:
        raise elf.damaged(section, 0, f"its {section.size} bytes are no table of entries of {unit} bytes")
    words = elf.space.words(base, section.size // 8)
    if words is None:
        raise elf.damaged(section, 0, "the table is not in the file")
    step = unit // 8
    for at in range(0, len(words), step):
        one = words[at : at + step]
        if unit == llvm.ENTRY_SIZE:
            where, name, size, flags = one
            bits = (flags.address or 0) & 0xFFFFFFFF
        else:
            where, name, size = one[2:5]
            bits = (one[1].address or 0) >> 32
        found = _entry(elf, where.address, where.symbol, name.address, size.address or 0, bits)
        yield found if elf.relocatable else found._replace(table=section.address)


def _entry(
    elf: ElfView, address: int | None, symbol: str | None, name: int | None, size: int, flags: int
) -> ClangEntry:
    shown = (elf.space.string(name) if name else None) or symbol
    place = elf.space.place(address) if address is not None and elf.relocatable else None
    if place is None:
        return ClangEntry(shown, address, size, flags)
    return ClangEntry(shown, place[1], size, flags, place[0].name)


def _descriptors(elf: ElfView, finder: Finder, tables: list[Section]) -> Iterator[tuple[int, int, int, int]]:
    """Address of each descriptor, number and address of its images, address of its entries."""
    seen: set[int] = set()
    for table in tables:
        begin, end = table.address, table.address + table.size
        for where in finder.pointing(begin):
            words = finder.words(where - 16, 4)
            if words is None or words[2:] != [begin, end] or words[0] > MAX_IMAGES or where in seen:
                continue
            records = finder.words(words[1], 4 * words[0]) if words[0] else []
            if records is not None and all(records[i : i + 2] == [begin, end] for i in range(2, len(records), 4)):
                seen.add(where)
                yield where - 16, words[0], words[1], begin


def _linked(elf: ElfView, result: ClangTables, tables: list[Section]) -> None:
    """The images that a linked file registers.  Raises Damaged."""
    finder = Finder(elf)
    for descriptor, count, records, table in _descriptors(elf, finder, tables):
        result.descriptors.append(descriptor)
        words = (finder.words(records, 4 * count) if count else []) or []
        for number in range(count):
            start, end = words[4 * number : 4 * number + 2]
            data = elf.space.read(start, end - start) if start <= end else None
            if data is None:
                where = f"the image from {start:#x} to {end:#x} is not in the file"
                raise elf.damaged(None, 0, where)
            place = elf.space.place(start)
            offset = place[0].offset + place[1] if place is not None else 0
            wrapped = data.startswith(MAGIC)
            if wrapped:
                binary = read_one(data, elf.file, 0, place[0].name if place else "", offset)
            else:  # clang before 15
                binary = OffloadBinary(data, {}, llvm.IMG_OBJECT if data.startswith(b"\x7fELF") else 0)
            record = records + IMAGE_RECORD * number
            result.images.append(ClangImage(binary, start, end - start, record, descriptor, wrapped, table))


def _is_table(section: str, name: str) -> bool:
    """Whether it has entries; those of an object by --relocatable have a hash behind the name."""
    return section == name or re.fullmatch(rf"{name}_[0-9a-f]{{1,16}}", section) is not None


def read_clang(elf: ElfView) -> ClangTables:
    """What a file has of clang's.  Raises Damaged."""
    result = ClangTables()
    tables = []
    for name, unit in ((llvm.ENTRIES_SECTION, llvm.ENTRY_SIZE), (llvm.NEWER_ENTRIES_SECTION, llvm.NEWER_ENTRY_SIZE)):
        found = [section for section in elf.sections if _is_table(section.name, name) and section.size]
        tables += found
        for section in found:
            result.entries += _entries(elf, section, unit)
    if not elf.relocatable and tables:
        _linked(elf, result, tables)
    if not result.descriptors:
        for section in elf.sections:
            if section.type == llvm.SHT_LLVM_OFFLOADING or section.name == llvm.LINKED_SECTION:
                base = elf.space.base.get(section.index, 0)
                for binary in read_all(elf.contents(section), elf.file, section.name, section.offset):
                    result.images.append(ClangImage(binary, base + binary.at if base else 0, binary.size))
    return result


def read_binaries(data: bytes, file: str) -> ClangTables:
    """The binaries of a file that has nothing else.  Raises Damaged."""
    return ClangTables(images=[ClangImage(binary, binary.at, binary.size) for binary in read_all(data, file)])


def names_of_flags(flags: int) -> list[str]:
    """An entry's flags in words."""
    return [name for bit, name in FLAG_NAMES if flags & bit]


__all__ = (
    "ClangEntry",
    "ClangImage",
    "ClangTables",
    "Damaged",
    "is_clang_image",
    "names_of_flags",
    "read_binaries",
    "read_clang",
)
