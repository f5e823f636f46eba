"""A bounds-checked view of a 64-bit little-endian ELF file, for the tools that show what is in a file.

The reader is elf.py's; here all that it reads is checked, and whatever is wrong with a file is named by section and
file offset (``Damaged``).  Besides: the file as it lies in memory, with tables of 100,000 pointers read in bulk.
Layouts: System V gABI, AMD64 psABI.
"""

from __future__ import annotations

import struct
from _collections import _tuplegetter  # type: ignore[import-not-found]  # namedtuple's, without its module
from bisect import bisect_right

from gompy import UserError
from gompy.objects.elf import (
    DF_1_PIE,
    DT_FLAGS_1,
    EM_AARCH64,
    EM_AMDGPU,
    EM_X86_64,
    ET_DYN,
    ET_EXEC,
    ET_REL,
    RELA,
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHF_TLS,
    SHN_LORESERVE,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_RELA,
    SHT_SYMTAB,
    STT_FILE,
    STT_SECTION,
    STT_TLS,
    Elf,
    Section,
    Symbol,
)

TYPE_CHECKING = False  # importing typing would cost `gompy run` two milliseconds
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, NamedTuple

MACHINES: Final[dict[int, str]] = {EM_X86_64: "x86_64", EM_AARCH64: "aarch64", EM_AMDGPU: "amdgcn"}
FLAG_LETTERS: Final = (
    (0x1, "W"),
    (0x2, "A"),
    (0x4, "X"),
    (0x10, "M"),
    (0x20, "S"),
    (0x40, "I"),
    (0x80, "L"),
    (0x100, "O"),
    (0x200, "G"),
    (0x400, "T"),
    (0x800, "C"),
    (0x200000, "R"),
    (0x10000000, "l"),
    (0x80000000, "E"),
)
"""Section flags in the letters and the order of readelf -S."""

# Relocations that put a pointer into memory: by machine, {type: "relative" or "symbol"}.
POINTER_RELOCATIONS: Final[dict[int, dict[int, str]]] = {
    EM_X86_64: {1: "symbol", 6: "symbol", 7: "symbol", 8: "relative"},  # 64, GLOB_DAT, JUMP_SLOT, RELATIVE
    EM_AARCH64: {257: "symbol", 1025: "symbol", 1027: "relative"},
    EM_AMDGPU: {3: "symbol", 13: "relative"},
}

RELOCATABLE_BASE: Final = 0x10000
"""Where the made-up addresses of a relocatable's sections begin (AddressSpace)."""


class Damaged(UserError):
    """A file that contradicts itself; the text is ``FILE: section S at offset 0x…: cause``."""

    def __init__(self, file: str, section: str, offset: int, cause: str) -> None:
        where = f"section {section} at offset {offset:#x}" if section else f"offset {offset:#x}"
        super().__init__(f"{file}: {where}: {cause}")
        self.cause = cause


if TYPE_CHECKING:

    class Pointer(NamedTuple):
        """What a word in memory points to: an address, or the name of a symbol that another file defines."""

        address: int | None
        symbol: str | None
        addend: int = 0

else:

    class Pointer(tuple):
        """As above."""

        __slots__ = ()
        address, symbol, addend = (_tuplegetter(i, "") for i in range(3))

        def __new__(cls, address, symbol, addend=0):
            return tuple.__new__(cls, (address, symbol, addend))

        def __repr__(self) -> str:
            return f"Pointer(address={self.address!r}, symbol={self.symbol!r}, addend={self.addend!r})"


def text(name: bytes) -> str:
    """Decode a name; bytes that are not UTF-8 stay visible and printable."""
    decoded = name.decode("utf-8", "backslashreplace")
    if decoded.isprintable():
        return decoded
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in decoded)


def flag_letters(section: Section) -> str:
    """The section's flags as readelf prints them."""
    return "".join(letter for bit, letter in FLAG_LETTERS if section.flags & bit)


class ElfView(Elf):
    """The file's header, sections, symbols and relocations.

    ``data``: the whole file; ``file``: its name in messages.  Raises Damaged.
    """

    strict = True
    decode = staticmethod(text)

    def __init__(self, data: bytes, file: str) -> None:
        self.file = file
        super().__init__(data, file)
        self.data: bytes = data
        self.by_name: dict[str, Section] = {}
        for section in self.sections:
            self.by_name.setdefault(section.name, section)
        self._space: AddressSpace | None = None

    def flaw(self, section: str, offset: int, brief: str, exact: str) -> Damaged:
        """The error that names the place."""
        return Damaged(self.file, section, offset, exact)

    def damaged(self, section: Section | None, offset: int, cause: str) -> Damaged:
        """An error about the byte ``offset`` of a section."""
        if section is None:
            return Damaged(self.file, "", offset, cause)
        return Damaged(self.file, section.name, section.offset + offset, cause)

    @property
    def relocatable(self) -> bool:
        """Whether it is a ``.o``."""
        return self.type == ET_REL

    @property
    def kind(self) -> str:
        """``relocatable``, ``executable`` or ``shared``, as file(1) would say (a PIE has an interpreter)."""
        if self.type == ET_REL:
            return "relocatable"
        if self.type == ET_DYN and ".interp" not in self.by_name and not self._pie():
            return "shared"
        return "executable" if self.type in (ET_EXEC, ET_DYN) else f"ELF type {self.type}"

    def _pie(self) -> bool:
        """Whether ``.dynamic`` says so: a static PIE has no interpreter."""
        dynamic = self.by_name.get(".dynamic")
        if dynamic is None or dynamic.type == SHT_NOBITS or dynamic.offset + dynamic.size > len(self.data):
            return False
        data = self.contents(dynamic)
        entries = struct.iter_unpack("<QQ", data[: len(data) // 16 * 16])
        return any(tag == DT_FLAGS_1 and value & DF_1_PIE for tag, value in entries)

    def contents(self, section: Section) -> bytes:
        """The section's bytes in the file; none for NOBITS."""
        if section.flags & SHF_COMPRESSED and section.type != SHT_NOBITS:
            raise self.damaged(section, 0, "SHF_COMPRESSED sections are not supported")
        return super().contents(section)

    def symbol_table(self) -> Section | None:
        """``.symtab``, or ``.dynsym`` of a stripped file."""
        tables = {s.type: s for s in reversed(self.sections) if s.type in (SHT_SYMTAB, SHT_DYNSYM)}
        return tables.get(SHT_SYMTAB) or tables.get(SHT_DYNSYM)

    def symbols(self, table: Section | None = None) -> list[Symbol]:
        """All symbols of a table (default: symbol_table())."""
        table = table or self.symbol_table()
        return self.symbols_of(table) if table is not None else []

    @property
    def space(self) -> AddressSpace:
        """The file as it lies in memory."""
        if self._space is None:
            self._space = AddressSpace(self)
        return self._space


class AddressSpace:
    """Allocated sections by address, pointers with the relocations applied.

    A relocatable's sections get made-up addresses one after another, so that tables of objects and of linked files are
    read by the same code; ``place`` turns such an address back to section and offset.
    """

    def __init__(self, elf: ElfView) -> None:
        self.elf = elf
        self.base: dict[int, int] = {}
        spans: list[tuple[int, int, Section]] = []
        cursor = RELOCATABLE_BASE
        for section in elf.sections:
            if not section.flags & SHF_ALLOC or (not section.size and not elf.relocatable):
                continue
            if section.type == SHT_NOBITS and section.flags & SHF_TLS:
                continue
            if elf.relocatable:
                address = (cursor + 15) & ~15
                cursor = address + section.size + 16
            else:
                address = section.address
            self.base[section.index] = address
            spans.append((address, address + section.size, section))
        spans.sort(key=lambda span: (span[0], span[1]))
        self._starts = [span[0] for span in spans]
        self._spans = spans
        self._dynamic: dict[int, Pointer] | None = None
        self._patched: dict[int, dict[int, Pointer]] = {}

    def place(self, address: int) -> tuple[Section, int] | None:
        """The section that holds an address, and the offset in it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address > self._spans[at][1]:
            return None
        if address == self._spans[at][1] and not self.elf.relocatable:
            return None
        return self._spans[at][2], address - self._spans[at][0]

    def read(self, address: int, size: int) -> bytes | None:
        """``size`` bytes as the file has them, or None where it has none."""
        found = self.place(address)
        if found is None or found[0].type == SHT_NOBITS or found[1] + size > found[0].size:
            return None
        section, offset = found
        start = section.offset + offset
        data = self.elf.data[start : start + size]
        return data if len(data) == size else None

    def string(self, address: int) -> str | None:
        """The NUL-terminated string at an address."""
        found = self.place(address)
        if found is None or found[0].type == SHT_NOBITS:
            return None
        section, offset = found
        end = self.elf.data.find(b"\0", section.offset + offset, section.offset + section.size)
        return None if end < 0 else text(self.elf.data[section.offset + offset : end])

    def symbol_address(self, symbol: Symbol) -> int | None:
        """Where a symbol is defined; None if elsewhere."""
        if symbol.shndx == 0 or symbol.shndx >= SHN_LORESERVE:
            return None
        if not self.elf.relocatable:
            return symbol.value
        base = self.base.get(symbol.shndx)
        return None if base is None else base + symbol.value

    def _dynamic_pointers(self) -> dict[int, Pointer]:
        """Address to pointer, of all dynamic relocations that write one."""
        if self._dynamic is None:
            elf, self._dynamic = self.elf, {}
            kinds = POINTER_RELOCATIONS.get(elf.machine, {})
            for section in elf.sections:
                if section.type == SHT_RELA and section.flags & SHF_ALLOC:
                    self._pointers_of(section, 0, kinds, self._dynamic)
        return self._dynamic

    def _pointers_of(self, section: Section, base: int, kinds: dict[int, str], into: dict[int, Pointer]) -> None:
        elf = self.elf
        relocations = elf.rela_entries(section)
        symbols: list[Symbol] | None = None
        new = tuple.__new__  # of a NamedTuple: half the time, and this loop runs once for each table entry
        mask = (1 << 64) - 1
        for number, (offset, kind, symbol, addend) in enumerate(relocations):
            how = kinds.get(kind)
            if how == "relative":
                into[base + offset] = new(Pointer, (addend & mask, None, 0))
            elif how == "symbol":
                if symbols is None:
                    if not 0 < section.link < len(elf.sections):
                        raise elf.damaged(section, 0, f"symbol table {section.link} of {len(elf.sections)} sections")
                    symbols = elf.symbols(elf.sections[section.link])
                if symbol >= len(symbols):
                    raise elf.damaged(
                        section, number * RELA.size, f"relocation {number}: symbol {symbol} of {len(symbols)}"
                    )
                target = symbols[symbol]
                address = self.symbol_address(target)
                name = target.name if target.type != STT_SECTION else None
                where = None if address is None else (address + addend) & mask
                into[base + offset] = new(Pointer, (where, name, addend))

    def pointers(self, section: Section) -> dict[int, Pointer]:
        """Relocated words that lie in a section, by address."""
        if section.index not in self._patched:
            into: dict[int, Pointer] = {}
            if self.elf.relocatable:
                kinds = POINTER_RELOCATIONS.get(self.elf.machine, {})
                for patch in self.elf.sections:
                    if patch.type == SHT_RELA and patch.info == section.index:
                        self._pointers_of(patch, self.base[section.index], kinds, into)
            else:
                into = self._dynamic_pointers()
            self._patched[section.index] = into
        return self._patched[section.index]

    def words(self, address: int, count: int) -> list[Pointer] | None:
        """``count`` 8-byte words from an address, relocated; None where the file has not that many bytes."""
        found = self.place(address)
        if found is None:
            return None
        data = self.read(address, 8 * count)
        if data is None:
            return None
        patched = self.pointers(found[0])
        plain = memoryview(data).cast("Q").tolist()
        get = patched.get
        return [get(address + 8 * i) or Pointer(value, None) for i, value in enumerate(plain)]

    def names(self, addresses: Iterable[int], wanted: int) -> dict[int, str]:
        """The symbol at each of the addresses, if there is one.

        ``wanted``: STT_FUNC or STT_OBJECT; of several symbols at one address the one of that type wins, then one with a
        size, then an outlined region's, then a global one.
        """
        needed = set(addresses)
        best: dict[int, tuple[int, str]] = {}
        elf = self.elf
        tables = [s for s in elf.sections if s.type == SHT_SYMTAB] or [s for s in elf.sections if s.type == SHT_DYNSYM]
        relocatable, base = elf.relocatable, self.base
        for table in tables:
            for symbol in elf.symbols(table):
                name, kind, bind, section, value, size, _, _ = symbol
                if relocatable:
                    start = base.get(section)
                    if start is None:
                        continue
                    value += start
                elif not section:
                    continue
                if value not in needed or not name or kind in (STT_SECTION, STT_FILE, STT_TLS):
                    continue
                score = 8 * (kind == wanted) + 4 * (size > 0) + 2 * ("._omp_fn." in name) + (bind != 0)
                if value not in best or score > best[value][0]:
                    best[value] = (score, name)
        return {address: name for address, (_score, name) in best.items()}
