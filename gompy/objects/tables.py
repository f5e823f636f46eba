"""The offload tables of a file: which functions and variables, in which order, with which names and addresses.

One reader serves relocatables (entries are relocations), linked files with or without ``.symtab`` (the symbols around
the tables, or the sections themselves with the dynamic relocations applied) and intelmic images
(``__OFFLOAD_TARGET_TABLE__``).  Layout of an entry: a function is one address, a variable an address and a size whose
top bit marks ``declare target link`` (GCC 12: omp-offload.cc, libgomp/target.c).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gompy.objects import names
from gompy.objects.elf import SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, STT_FUNC, STT_OBJECT, Section
from gompy.objects.view import ElfView, Pointer, text

MAX_NAME: Final = 48
TABLE_SYMBOLS: Final = (names.TARGET_TABLE, names.GOMPY_HOST_TABLE, names.HOST_TABLE)
"""Symbols of four-pointer tables; the first that a file has is the one that is registered."""


class Entry(NamedTuple):
    """One entry: ``address`` is None for a symbol of another file; ``section`` and its offset for a relocatable."""

    name: str | None
    address: int | None
    section: str = ""
    size: int = 0
    link: bool = False


@dataclass
class Tables:
    """Functions and variables in table order; ``source`` says what bounded them: symbols, table or section.

    ``indirect``: functions of ``declare target indirect`` (GCC 14).
    """

    funcs: list[Entry] = field(default_factory=list)
    vars: list[Entry] = field(default_factory=list)
    source: str = ""
    indirect: list[Entry] = field(default_factory=list)


class ObjectRecord(NamedTuple):
    """A record of the section gompy_offload_objects (names.OBJECT_RECORD)."""

    id: int
    funcs: int
    vars: int
    name: str


def _table_sections(elf: ElfView, name: str) -> list[Section]:
    return [s for s in elf.sections if s.name == name and s.size]


def _bounds(elf: ElfView) -> tuple[dict[str, int], list[int] | None]:
    """Addresses of the symbols around the tables, and the four pointers of a host's or image's table."""
    wanted = names.TABLE_BOUNDS
    found: dict[str, int] = {}
    for table in elf.sections:
        if table.type in (SHT_SYMTAB, SHT_DYNSYM):
            for symbol in elf.symbols(table):
                if symbol.name in wanted or symbol.name in TABLE_SYMBOLS:
                    address = elf.space.symbol_address(symbol)
                    if address is not None:
                        found.setdefault(symbol.name, address)
    at = next((found[name] for name in TABLE_SYMBOLS if name in found), None)
    words = elf.space.words(at, 4) if at is not None else None
    if words is None or any(word.address is None for word in words):
        return found, None
    return found, [word.address or 0 for word in words]


def _span(elf: ElfView, section_name: str, begin: int, end: int, unit: int) -> list[Pointer]:
    """The words between two addresses.  Raises Damaged where they don't bound a table."""
    if begin == end:
        return []
    place = elf.space.place(begin)
    section = place[0] if place else elf.by_name.get(section_name)
    if end < begin or (end - begin) % unit:
        raise elf.damaged(section, 0, f"the table from {begin:#x} to {end:#x} is no whole number of entries")
    words = elf.space.words(begin, (end - begin) // 8) if place and place[0].type != SHT_NOBITS else None
    if words is None:
        raise elf.damaged(section, 0, f"the table from {begin:#x} to {end:#x} is not in the file")
    return words


def _section_words(elf: ElfView, name: str, unit: int) -> list[Pointer]:
    """The words of all sections of a name."""
    words: list[Pointer] = []
    for section in _table_sections(elf, name):
        if section.type == SHT_NOBITS:
            raise elf.damaged(section, 0, "the table has no contents")
        data = elf.contents(section)
        if len(data) % unit:
            raise elf.damaged(section, 0, f"{len(data)} bytes are no whole number of entries of {unit} bytes")
        base = elf.space.base.get(section.index)
        if base is None:
            raise elf.damaged(section, 0, "the table is not allocated")
        found = elf.space.words(base, len(data) // 8)
        if found is None:
            raise elf.damaged(section, 0, "the table is not in the file")
        words += found
    return words


def read_tables(elf: ElfView) -> Tables:
    """The file's offload tables.  Raises Damaged."""
    result = Tables()
    bounds, table = ({}, None) if elf.relocatable else _bounds(elf)
    fb, fe, vb, ve = (
        bounds.get(name)
        for name in (names.FUNC_TABLE_BEGIN, names.FUNC_TABLE_END, names.VAR_TABLE_BEGIN, names.VAR_TABLE_END)
    )
    if table:
        result.source = next(name for name in TABLE_SYMBOLS if name in bounds)
        if result.source == names.GOMPY_HOST_TABLE:
            table[3] = max(table[3], ve or 0)  # its constructor does so (mkoffload/hostobject.py)
        funcs = _span(elf, names.OFFLOAD_FUNC_SECTION, table[0], table[1], names.FUNC_ENTRY_SIZE)
        variables = _span(elf, names.OFFLOAD_VAR_SECTION, table[2], table[3], names.VAR_ENTRY_SIZE)
    elif fb is not None and fe is not None and vb is not None and ve is not None:
        result.source = "symbols"
        funcs = _span(elf, names.OFFLOAD_FUNC_SECTION, fb, fe, names.FUNC_ENTRY_SIZE)
        variables = _span(elf, names.OFFLOAD_VAR_SECTION, vb, ve, names.VAR_ENTRY_SIZE)
    else:
        funcs = _section_words(elf, names.OFFLOAD_FUNC_SECTION, names.FUNC_ENTRY_SIZE)
        variables = _section_words(elf, names.OFFLOAD_VAR_SECTION, names.VAR_ENTRY_SIZE)
        result.source = "sections" if funcs or variables else ""
    if funcs:
        result.funcs = _entries(elf, funcs, None, STT_FUNC)
    if variables:
        result.vars = _entries(elf, variables[::2], variables[1::2], STT_OBJECT)
    first, last = (bounds.get(name) for name in (names.IND_FUNC_TABLE_BEGIN, names.IND_FUNC_TABLE_END))
    if first is not None and last is not None:
        indirect = _span(elf, names.OFFLOAD_IND_FUNC_SECTION, first, last, names.FUNC_ENTRY_SIZE)
    else:
        indirect = _section_words(elf, names.OFFLOAD_IND_FUNC_SECTION, names.FUNC_ENTRY_SIZE)
    if indirect:
        result.indirect = _entries(elf, indirect, None, STT_FUNC)
    return result


def _entries(elf: ElfView, words: list[Pointer], sizes: list[Pointer] | None, kind: int) -> list[Entry]:
    """Entries of words: names by the symbol at the address, else of the relocation."""
    by_address = elf.space.names((w.address for w in words if w.address is not None), kind)
    entries: list[Entry] = []
    relocatable, place = elf.relocatable, elf.space.place
    low, high, section = 1, 0, ""  # bounds and name of the section of the entry before
    start = 0
    for index, word in enumerate(words):
        address = word.address
        name = word.symbol
        if address is not None:
            # The relocation's symbol counts if it is there itself: of two names for one address the object chose that.
            if name is None or word.addend:
                name = by_address.get(address)
            if relocatable:
                if not low <= address < high:
                    found = place(address)
                    if found is not None:
                        section, start = found[0].name, address - found[1]
                        low, high = start, start + found[0].size
                    else:
                        section, low, high, start = "", 1, 0, 0
                address -= start
        raw = sizes[index].address or 0 if sizes else 0
        entries.append(
            Entry(
                name,
                address,
                section if relocatable and address is not None else "",
                raw & ~names.LINK_BIT,
                bool(raw & names.LINK_BIT),
            )
        )
    return entries


def read_records(elf: ElfView) -> list[ObjectRecord]:
    """The records that the assembler filter put beside the tables, in link order.  Raises Damaged."""
    records: list[ObjectRecord] = []
    for section in elf.sections:
        if section.name != names.OBJECT_RECORD_SECTION:
            continue
        data = elf.contents(section)
        if len(data) % names.OBJECT_RECORD_SIZE:
            raise elf.damaged(section, 0, f"{len(data)} bytes are no whole number of records")
        for number, name_id in enumerate(struct.iter_unpack(names.OBJECT_RECORD, data)):
            identity, funcs, variables, name = name_id
            if b"\0" not in name:
                offset = number * names.OBJECT_RECORD_SIZE
                raise elf.damaged(section, offset, f"record {number}: no NUL in {MAX_NAME} bytes of name")
            records.append(ObjectRecord(identity, funcs, variables, text(name[: name.index(b"\0")])))
    return records


def check_records(elf: ElfView, tables: Tables, records: list[ObjectRecord]) -> str | None:
    """What is wrong with the records of a file, beside its tables: more entries announced than there are."""
    funcs, variables = sum(r.funcs for r in records), sum(r.vars for r in records)
    if funcs > len(tables.funcs) or variables > len(tables.vars):
        return (
            f"the object records announce {funcs} functions and {variables} variables, "
            f"the tables have {len(tables.funcs)} and {len(tables.vars)}"
        )
    return None
