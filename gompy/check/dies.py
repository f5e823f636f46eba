"""Where in a file's DWARF to look: entries that have certain bytes are found without reading all the others.

A program of C++ has a million entries, for which pyelftools takes ten seconds; what a finding asks for are a few.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

WORD: Final = 8
AT_ADDRESS: Final = rb"(?s)(?=[\x09-\x7f]\x03(.{8}))"
"""A short location expression, after its length, that begins with DW_OP_addr."""
OP_ADDR: Final = 0x03
OP_ADDRX: Final = 0xA1
AT_INDEX: Final = rb"[\x02-\x7f]\xa1"
"""One that begins with DW_OP_addrx, as clang writes it in DWARF 5: the address is in .debug_addr."""


class Bytes:
    """The bytes of .debug_info; ``limits``: the file's addresses."""

    def __init__(self, dwarf: Any, limits: tuple[int, int]) -> None:
        stream = dwarf.debug_info_sec.stream
        stream.seek(0)
        self.data: bytes = stream.read()
        self.limits = limits
        self.indexed = dwarf.debug_addr_sec is not None

    def variables(self) -> list[int]:
        """Where something may be that is a variable's place: an expression with an address of the file."""
        low, high = self.limits
        found = [
            match.start()
            for match in re.finditer(AT_ADDRESS, self.data)
            if low <= int.from_bytes(match[1], "little") < high
        ]
        if self.indexed:
            found = sorted(found + [match.start() for match in re.finditer(AT_INDEX, self.data)])
        return found

    def word(self, address: int) -> list[int]:
        """Where an address stands."""
        word, at, found = address.to_bytes(WORD, "little"), -1, []
        while (at := self.data.find(word, at + 1)) >= 0:
            found.append(at)
        return found


def in_unit(unit: Any, offsets: list[int]) -> list[int]:
    """Those within a unit; ``offsets`` is sorted."""
    end = unit.cu_offset + unit["unit_length"] + unit.structs.initial_length_field_size()
    return offsets[bisect_left(offsets, unit.cu_offset) : bisect_left(offsets, end)]


def leading_to(die: Any, offsets: list[int]) -> Iterator[tuple[Any, list[int]]]:
    """Children of an entry that have one of these offsets, or may have it below, with those; ``offsets`` are within
    the entry.
    """
    if not offsets:
        return
    for child in die.iter_children():
        if child.offset > offsets[-1]:
            return
        begin, behind = bisect_left(offsets, child.offset), _end(child)
        there = offsets[begin : bisect_left(offsets, behind) if behind is not None else None]
        if there:
            yield child, there


def below(die: Any, offsets: list[int]) -> Iterator[Any]:
    """All such entries below one, each before its own children."""
    for child, there in leading_to(die, offsets):
        yield child
        yield from below(child, there)


def _end(die: Any) -> int | None:
    """Where an entry and its children end; None where that is not said: only of a last one."""
    if not die.has_children:
        return int(die.offset + die.size)
    sibling = die.attributes.get("DW_AT_sibling")
    if sibling is None:
        return None
    return int(sibling.value) + (0 if sibling.form == "DW_FORM_ref_addr" else die.cu.cu_offset)


@lru_cache(maxsize=8)
def _type_units(dwarf: Any) -> dict[int, Any]:
    """Units of types (-fdebug-types-section) by their signatures."""
    return {unit["type_signature"]: unit for unit in dwarf.iter_CUs() if unit.header.get("type_signature") is not None}


def type_of(die: Any) -> Any:
    """The type that a DIE names; of units of types pyelftools looks for DWARF 4's alone, in .debug_types."""
    try:
        return die.get_DIE_from_attribute("DW_AT_type")
    except KeyError:
        unit = _type_units(die.cu.dwarfinfo)[die.attributes["DW_AT_type"].raw_value]
        return unit.get_DIE_from_refaddr(unit.cu_offset + unit["type_offset"])
