"""Reading and patching of 64-bit little-endian ELF relocatables and shared objects, for the tools on the hot path.

Small on purpose: gompcc, lto-wrapper and mkoffload start for every link, and pyelftools' import alone takes longer than
they may.  Covers section headers (with the > 65280 section escape), symbols, RELA relocations and archive members named
as the linker plugin does (``lib.a@0xOFFSET``).

Source: System V ABI, ELF-64 object file format; liblto_plugin's naming of archive members (GCC lto-plugin.c).
"""

from __future__ import annotations

import os
import struct

from gompy import UserError

SHT_NULL = 0
SHT_PROGBITS = 1
SHT_SYMTAB = 2
SHT_STRTAB = 3
SHT_RELA = 4
SHT_NOBITS = 8
SHT_INIT_ARRAY = 14
SHT_FINI_ARRAY = 15
SHT_PREINIT_ARRAY = 16
SHT_GROUP = 17
SHT_SYMTAB_SHNDX = 18
SHF_WRITE = 1
SHF_ALLOC = 2
SHF_EXECINSTR = 4
SHF_GNU_RETAIN = 1 << 21
SHF_EXCLUDE = 1 << 31
SHN_UNDEF = 0
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
ET_REL = 1
ET_DYN = 3
EM_X86_64 = 62

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR = struct.Struct("<IIQQQQIIQQ")
SYM = struct.Struct("<IBBHQQ")
RELA = struct.Struct("<QIIq")  # r_info split: type (low word), symbol (high word)


class ElfError(UserError):
    """A file that cannot be read as what it should be: ``name: cause`` is the whole message."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"{name}: {cause}")
        self.name = name
        self.cause = cause


class Section:
    """One section header, with its name resolved."""

    __slots__ = (
        "addr",
        "addralign",
        "entsize",
        "flags",
        "index",
        "info",
        "link",
        "name",
        "name_offset",
        "offset",
        "size",
        "type",
    )

    def __init__(self, index: int, fields: tuple[int, ...]) -> None:
        self.index = index
        self.name = ""
        self.name_offset, self.type, self.flags, self.addr, self.offset, self.size = fields[:6]
        self.link, self.info, self.addralign, self.entsize = fields[6:]

    def __repr__(self) -> str:
        return f"Section({self.index}, {self.name!r}, type={self.type}, size={self.size})"


class Symbol:
    """One symbol table entry; ``shndx`` is the real section index, also beyond 65280 sections."""

    __slots__ = ("bind", "index", "name", "shndx", "size", "type", "value", "visibility")

    def __init__(self, index: int, name: str, info: int, other: int, shndx: int, value: int, size: int) -> None:
        self.index = index
        self.name = name
        self.type = info & 15
        self.bind = info >> 4
        self.visibility = other & 3
        self.shndx = shndx
        self.value = value
        self.size = size

    def __repr__(self) -> str:
        return f"Symbol({self.index}, {self.name!r}, shndx={self.shndx}, value={self.value:#x})"


class Elf:
    """An ELF file in memory.  Raises ElfError for what is no 64-bit little-endian ELF or is cut short."""

    def __init__(self, data: bytes | bytearray, name: str) -> None:
        self.data = data
        self.name = name
        size = len(data)
        if size < EHDR.size or data[:4] != b"\x7fELF":
            raise ElfError(name, "not an ELF file")
        if data[4] != 2 or data[5] != 1:
            raise ElfError(name, "not a 64-bit little-endian ELF file")
        header = EHDR.unpack_from(data)
        self.type: int = header[1]
        self.machine: int = header[2]
        self.shoff: int = header[6]
        count, strings = header[12], header[13]
        self.sections: list[Section] = []
        if self.shoff == 0:
            return
        if header[11] != SHDR.size or self.shoff + SHDR.size > size:
            raise ElfError(name, "damaged ELF file: section headers lie outside of it")
        first = SHDR.unpack_from(data, self.shoff)
        count = count or first[5]
        strings = first[6] if strings == SHN_XINDEX else strings
        end = self.shoff + count * SHDR.size
        if end > size or strings >= count:
            raise ElfError(name, "damaged ELF file: section headers lie outside of it")
        sections = [Section(i, f) for i, f in enumerate(SHDR.iter_unpack(memoryview(data)[self.shoff : end]))]
        self.shstrndx = strings
        names = self._bytes(sections[strings])
        for section in sections:
            start = section.name_offset
            stop = names.find(b"\0", start)
            if stop < 0:
                raise ElfError(name, f"damaged ELF file: section {section.index} has no name")
            section.name = names[start:stop].decode("utf-8", "surrogateescape")
        self.sections = sections

    def _bytes(self, section: Section) -> bytes:
        if section.type == SHT_NOBITS:
            return b""
        end = section.offset + section.size
        if end > len(self.data):
            raise ElfError(self.name, f"damaged ELF file: section {section.index} lies outside of it")
        return bytes(self.data[section.offset : end])

    def content(self, section: Section) -> bytes:
        """The section's bytes (none for NOBITS)."""
        return self._bytes(section)

    def find(self, name: str) -> Section | None:
        """First section of that name."""
        for section in self.sections:
            if section.name == name:
                return section
        return None

    def symbols(self) -> list[Symbol]:
        """Entries of the (one) SHT_SYMTAB, with entry 0; empty if the file is stripped."""
        table = next((s for s in self.sections if s.type == SHT_SYMTAB), None)
        if table is None:
            return []
        if table.link >= len(self.sections):
            raise ElfError(self.name, "damaged ELF file: symbol table without names")
        strings = self._bytes(self.sections[table.link])
        wide: tuple[int, ...] = ()
        extended = next((s for s in self.sections if s.type == SHT_SYMTAB_SHNDX and s.link == table.index), None)
        if extended is not None:
            content = self._bytes(extended)
            wide = struct.unpack(f"<{len(content) // 4}I", content[: len(content) & ~3])
        content = self._bytes(table)
        result = []
        for i, (at, info, other, shndx, value, size) in enumerate(
            SYM.iter_unpack(content[: len(content) // SYM.size * SYM.size])
        ):
            stop = strings.find(b"\0", at)
            text = strings[at:stop].decode("utf-8", "surrogateescape") if stop >= 0 else ""
            if shndx == SHN_XINDEX and i < len(wide):
                shndx = wide[i]
            result.append(Symbol(i, text, info, other, shndx, value, size))
        return result

    def relocations(self, section: Section) -> list[tuple[int, int, int, int]]:
        """``(offset, type, symbol index, addend)`` of every RELA entry for that section, in file order."""
        result: list[tuple[int, int, int, int]] = []
        for rela in self.sections:
            if rela.type == SHT_RELA and rela.info == section.index:
                content = self._bytes(rela)
                result += RELA.iter_unpack(content[: len(content) // RELA.size * RELA.size])
        return result


def split_member(name: str) -> tuple[str, int | None]:
    """``lib.a@0x9c`` → (``lib.a``, 0x9c); a name without an offset, or that exists as it is → (name, None)."""
    path, at, offset = name.rpartition("@")
    if not at or not path:
        return name, None
    try:
        value = int(offset, 0)
    except ValueError:
        return name, None
    if os.path.exists(name):
        return name, None
    return path, value


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
