"""64-bit little-endian ELF files and archive members: their numbers, sections, symbols and relocations.

One reader with two faces.  ``Elf`` is for the link: gompcc, lto-wrapper and mkoffload start for every one, and
pyelftools' import alone takes longer than they may.  view.py's ``ElfView`` is for tools that show what is in a file: it
checks all that it reads, and says where in the file something is wrong.

Sources: System V ABI, ELF-64 object file format; binutils' include/elf/common.h; liblto_plugin's naming of archive
members, ``lib.a@0xOFFSET`` (GCC lto-plugin.c).
"""

from __future__ import annotations

import os
import struct
from _collections import _tuplegetter  # type: ignore[import-not-found]  # namedtuple's, without its module

from gompy import UserError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

ET_REL = 1
ET_EXEC = 2
ET_DYN = 3
EM_X86_64 = 62
EM_AARCH64 = 183
EM_AMDGPU = 224
PT_LOAD = 1
SHT_NULL = 0
SHT_PROGBITS = 1
SHT_SYMTAB = 2
SHT_STRTAB = 3
SHT_RELA = 4
SHT_DYNAMIC = 6
SHT_NOBITS = 8
SHT_DYNSYM = 11
SHT_INIT_ARRAY = 14
SHT_FINI_ARRAY = 15
SHT_PREINIT_ARRAY = 16
SHT_GROUP = 17
SHT_SYMTAB_SHNDX = 18
SHF_WRITE = 1
SHF_ALLOC = 2
SHF_EXECINSTR = 4
SHF_GROUP = 0x200
SHF_TLS = 0x400
SHF_COMPRESSED = 0x800
SHF_GNU_RETAIN = 1 << 21
SHF_EXCLUDE = 1 << 31
SHN_UNDEF = 0
SHN_LORESERVE = 0xFF00
SHN_ABS = 0xFFF1
SHN_COMMON = 0xFFF2
SHN_XINDEX = 0xFFFF
STB_LOCAL = 0
STB_GLOBAL = 1
STB_WEAK = 2
STT_OBJECT = 1
STT_FUNC = 2
STT_SECTION = 3
STT_FILE = 4
STT_TLS = 6
STV_HIDDEN = 2
DT_NEEDED = 1
DT_FLAGS_1 = 0x6FFFFFFB
DF_1_PIE = 0x08000000
OTHER_FORMATS = {
    b"BC\xc0\xde": "LLVM IR",
    b"MZ": "a program of Windows (PE)",
    b"\x64\x86": "an object of Windows (COFF)",
    b"\xcf\xfa\xed\xfe": "Mach-O",
    b"\xca\xfe\xba\xbe": "Mach-O",
}
"""By how files begin: x86-64's, and those for several processors."""

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
PHDR = struct.Struct("<IIQQQQQQ")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QIIq")  # r_info split: type (low word), symbol (high word)

MAX_NAMES = 1 << 26
"""Characters of all names together; more can only come from names that overlap in a small string table."""
MANY_NAMES = 4096
"""Bytes of a string table from which on it is quicker to take all of it apart than to look up name by name."""


class ElfError(UserError):
    """A file that cannot be read as what it should be: ``name: cause`` is the whole message."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"{name}: {cause}")
        self.name = name
        self.cause = cause


class Section:
    """One section header, with its name resolved."""

    __slots__ = (
        *("address", "align", "entsize", "flags", "index", "info"),
        *("link", "name", "name_offset", "offset", "size", "type"),
    )

    def __init__(self, index: int, name: str, fields: tuple[int, ...]) -> None:
        self.index = index
        self.name = name
        self.name_offset, self.type, self.flags, self.address, self.offset, self.size = fields[:6]
        self.link, self.info, self.align, self.entsize = fields[6:]

    def __repr__(self) -> str:
        return f"Section({self.index}, {self.name!r}, type={self.type}, size={self.size})"


if TYPE_CHECKING:

    class Symbol(NamedTuple):
        """One symbol table entry; ``shndx`` is the real section index, also beyond 65280 sections."""

        name: str
        type: int
        bind: int
        shndx: int
        value: int
        size: int
        number: int
        visibility: int

else:

    class Symbol(tuple):
        """As above: a file may have 100,000 of them."""

        __slots__ = ()
        name, type, bind, shndx, value, size, number, visibility = (_tuplegetter(i, "") for i in range(8))

        def __repr__(self) -> str:
            return f"Symbol({self.number}, {self.name!r}, shndx={self.shndx}, value={self.value:#x})"


def _names_by_offset(strings: bytes) -> dict[int, str]:
    """A string table's whole names by offset; empty for one with unprintable names, which are decoded one by one."""
    try:
        joined = strings.decode("ascii")
    except UnicodeDecodeError:
        return {}
    if not joined.replace("\0", "").isprintable():
        return {}
    from itertools import accumulate

    found = joined.split("\0")
    return dict(zip(accumulate((len(name) + 1 for name in found), initial=0), found, strict=False))


class Elf:
    """An ELF file in memory, as the link reads it.

    Raises ElfError for what is no 64-bit little-endian ELF or is cut short; a symbol without a name, or a table that
    ends within an entry, is no reason not to link.
    """

    strict = False

    def __init__(self, data: bytes | bytearray, name: str) -> None:
        self.data = data
        self.name = name
        self.sections: list[Section] = []
        self._symbols: dict[int, list[Symbol]] = {}
        size = len(data)
        if size < EHDR.size or data[:4] != b"\x7fELF":
            cut = size < EHDR.size and (data[:4] or b"?") in b"\x7fELF"
            other = next((name for magic, name in OTHER_FORMATS.items() if data.startswith(magic)), "")
            exact = f"not an ELF file but {other}" if other else "not an ELF file"
            exact = "the file ends within the ELF header" if cut else exact if size else "the file is empty"
            raise self.flaw("", size if cut else 0, "not an ELF file", exact)
        if data[4] != 2 or data[5] != 1:
            bits, order = "64-bit" if data[4] == 2 else "32-bit", "little" if data[5] == 1 else "big"
            exact = f"a {bits} {order}-endian ELF file; only 64-bit little-endian ones are supported"
            raise self.flaw("", 4, "not a 64-bit little-endian ELF file", exact)
        header = EHDR.unpack_from(data)
        self.osabi: int = data[7]
        self.type: int = header[1]
        self.machine: int = header[2]
        self.shoff: int = header[6]
        self.shstrndx: int = header[13]
        if self.shoff:
            self._read_sections(header[11], header[12])

    def flaw(self, section: str, offset: int, brief: str, exact: str) -> UserError:
        """The error for what is wrong at that offset of the file: here ``brief``, for who asks what, ``exact``."""
        return ElfError(self.name, brief)

    @staticmethod
    def decode(name: bytes) -> str:
        """A name as text from which its bytes can be had again."""
        return name.decode("utf-8", "surrogateescape")

    def _read_sections(self, entsize: int, count: int) -> None:
        data, start = self.data, self.shoff
        outside = "damaged ELF file: section headers lie outside of it"
        if entsize != SHDR.size:
            raise self.flaw("", 58, outside, f"section headers of {entsize} bytes instead of {SHDR.size}")
        if start + SHDR.size > len(data):
            raise self.flaw("", start, outside, "the section headers lie beyond the end of the file")
        first = SHDR.unpack_from(data, start)
        count = count or first[5]
        if self.shstrndx == SHN_XINDEX:
            self.shstrndx = first[6]
        end = start + count * SHDR.size
        if end > len(data):
            raise self.flaw("", start, outside, f"the {count} section headers lie beyond the end of the file")
        raw = list(SHDR.iter_unpack(memoryview(data)[start:end]))
        names = b"\0"
        if self.shstrndx:
            if self.shstrndx >= count:
                raise self.flaw("", 62, outside, f"section name table {self.shstrndx} of {count} sections")
            names = self._slice(Section(self.shstrndx, ".shstrtab", raw[self.shstrndx]))
        find, decode, append = names.find, self.decode, self.sections.append
        total = 0
        for index, fields in enumerate(raw):
            at = fields[0]
            stop = find(b"\0", at)
            if stop < 0:
                raise self.flaw(
                    f"[{index}]",
                    start + index * SHDR.size,
                    f"damaged ELF file: section {index} has no name",
                    f"name {at:#x} beyond the section name table",
                )
            total += stop - at
            if total > MAX_NAMES:
                exact = "the section names overlap"
                raise self.flaw(f"[{index}]", start, f"damaged ELF file: {exact}", exact)
            append(Section(index, decode(names[at:stop]), fields))

    def _slice(self, section: Section) -> bytes:
        end = section.offset + section.size
        if end > len(self.data):
            raise self.flaw(
                section.name,
                section.offset,
                f"damaged ELF file: section {section.index} lies outside of it",
                f"{section.size} bytes reach beyond the end of the file ({len(self.data)} bytes)",
            )
        return bytes(self.data[section.offset : end])

    def contents(self, section: Section) -> bytes:
        """The section's bytes in the file; none for NOBITS."""
        return self._slice(section) if section.type != SHT_NOBITS else b""

    def loaded(self) -> list[tuple[int, int]]:
        """Begin and end of each segment that is loaded."""
        _, _, _, _, _, start, _, _, _, size, count, _, _, _ = EHDR.unpack_from(self.data)
        if size != PHDR.size or start + count * size > len(self.data):
            return []
        headers = PHDR.iter_unpack(memoryview(self.data)[start : start + count * size])
        return [(address, address + memory) for kind, _, _, address, _, _, memory, _ in headers if kind == PT_LOAD]

    def find(self, name: str) -> Section | None:
        """First section of that name."""
        for section in self.sections:
            if section.name == name:
                return section
        return None

    def symbols(self) -> list[Symbol]:
        """Entries of the (one) SHT_SYMTAB, with entry 0; empty if the file is stripped."""
        table = next((s for s in self.sections if s.type == SHT_SYMTAB), None)
        return self.symbols_of(table) if table is not None else []

    def symbols_of(self, table: Section) -> list[Symbol]:
        """Entries of a symbol table, read once."""
        found = self._symbols.get(table.index)
        if found is None:
            found = self._symbols[table.index] = self._read_symbols(table)
        return found

    def _read_symbols(self, table: Section) -> list[Symbol]:
        data = self.contents(table)
        strict, known = self.strict, len(self.sections)
        if len(data) % SYM.size:
            if strict:
                raise self.flaw(table.name, table.offset, "", f"{len(data)} bytes are no whole number of symbols")
            data = data[: len(data) // SYM.size * SYM.size]
        if table.link >= known:
            exact = f"string table {table.link} of {known} sections"
            raise self.flaw(table.name, table.offset, "damaged ELF file: symbol table without names", exact)
        strings = self.contents(self.sections[table.link])
        if strict and not strings.endswith(b"\0"):
            strings += b"\0"
        wide: tuple[int, ...] | memoryview[int] = ()
        extended = next((s for s in self.sections if s.type == SHT_SYMTAB_SHNDX and s.link == table.index), None)
        if extended is not None:
            wide = memoryview(self.contents(extended)[: len(data) // 6 // 4 * 4]).cast("I")
        result: list[Symbol] = []
        overlapping = 0
        known_name = (_names_by_offset(strings) if len(strings) > MANY_NAMES else {}).get
        append, find, new = result.append, strings.find, tuple.__new__
        for number, (at, info, other, shndx, value, size) in enumerate(SYM.iter_unpack(data)):
            name = known_name(at)
            if name is None:  # the tail of another name, or damage
                end = find(b"\0", at)
                if end < 0 and strict:
                    exact = f"symbol {number}: name {at:#x} beyond the string table"
                    raise self.flaw(table.name, table.offset + number * SYM.size, "", exact)
                name = self.decode(strings[at:end]) if end >= 0 else ""
                overlapping += len(name)
                if overlapping > MAX_NAMES:
                    exact = "the symbols' names overlap"
                    where = table.offset + number * SYM.size
                    raise self.flaw(table.name, where, f"damaged ELF file: {exact}", exact)
            if shndx == SHN_XINDEX and number < len(wide):
                shndx = wide[number]
            if strict and known <= shndx < SHN_LORESERVE:
                exact = f"symbol {number}: section {shndx} of {known}"
                raise self.flaw(table.name, table.offset + number * SYM.size, "", exact)
            append(new(Symbol, (name, info & 15, info >> 4, shndx, value, size, number, other & 3)))
        return result

    def rela_entries(self, rela: Section) -> list[tuple[int, int, int, int]]:
        """``(offset, type, symbol index, addend)`` of a RELA section's entries."""
        data = self.contents(rela)
        if len(data) % RELA.size:
            if self.strict:
                raise self.flaw(rela.name, rela.offset, "", f"{len(data)} bytes are no whole number of relocations")
            data = data[: len(data) // RELA.size * RELA.size]
        return list(RELA.iter_unpack(data))

    def relocations(self, section: Section) -> list[tuple[int, int, int, int]]:
        """The entries of all RELA sections for that section, in file order."""
        result: list[tuple[int, int, int, int]] = []
        for rela in self.sections:
            if rela.type == SHT_RELA and rela.info == section.index:
                result += self.rela_entries(rela)
        return result


def member_reference(name: str) -> tuple[str, int] | None:
    """``lib.a@0x9c`` as (``lib.a``, 0x9c), the offset of the member's contents; None for any other name."""
    path, _, offset = name.rpartition("@")
    digits, base = (offset[2:], 16) if offset[:2] in ("0x", "0X") else (offset, 10)
    try:
        return (path, int(digits, base)) if path and digits.isalnum() else None
    except ValueError:
        return None


def split_member(name: str) -> tuple[str, int | None]:
    """The archive and the offset in it; a name without an offset, or that exists as it is → (name, None)."""
    found = member_reference(name)
    return (name, None) if found is None or os.path.exists(name) else found


def member_name(path: str, offset: int) -> str:
    """Name of the archive member whose contents are at that offset; empty if the file does not tell (a thin archive).

    Long names stand in a member of their own, ``//``, before all others (binutils' include/aout/ar.h).
    """
    try:
        with open(path, "rb") as file:
            if offset < 68 or file.read(8) != b"!<arch>\n":
                return ""
            file.seek(offset - 60)
            field = file.read(16).rstrip()
            at = 8
            while field[:1] == b"/" and field[1:].isdigit():
                file.seek(at)
                header = file.read(60)
                if len(header) < 60 or at >= offset:
                    return ""
                size = int(header[48:58])
                if header[:3] == b"// ":
                    field = file.read(size)[int(field[1:]) :].partition(b"\n")[0]
                    break
                at += 60 + size + (size & 1)
            return field.removesuffix(b"/").decode("utf-8", "surrogateescape")
    except (OSError, ValueError):
        return ""


def read_object(name: str) -> bytes:
    """The bytes of an object file or archive member as the linker plugin names it.  Raises ElfError if unreadable."""
    path, offset = split_member(name)
    try:
        with open(path, "rb") as file:
            if offset is None:
                return file.read()
            size = -1
            if offset >= 60:
                file.seek(offset - 60)
                header = file.read(60)
                if header[58:60] == b"`\n" and header[48:58].strip().isdigit():
                    size = int(header[48:58])
            file.seek(offset)
            return file.read(size)
    except (OSError, ValueError, OverflowError) as error:
        raise ElfError(name, getattr(error, "strerror", None) or str(error)) from None


def open_object(name: str) -> Elf:
    """Read and parse an object file or archive member."""
    return Elf(read_object(name), name)
