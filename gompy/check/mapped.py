"""What is, or was, on a device, as findings speak of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gompy.abi import gomp
from gompy.check.findings import Note
from gompy.check.log import Frame
from gompy.check.names import Place

POINTERS: Final = frozenset(
    (
        gomp.GOMP_MAP_POINTER,
        gomp.GOMP_MAP_TO_PSET,
        gomp.GOMP_MAP_ALWAYS_POINTER,
        gomp.GOMP_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION,
        gomp.GOMP_MAP_IF_PRESENT,
    )
)
"""Entries that are the compiler's own, beside those of the object that a clause names."""


@dataclass(slots=True)
class Mapping:
    """A range that is, or was, mapped."""

    start: int
    size: int
    address: int
    name: str
    place: Place
    what: str
    frame: Frame | None = None
    gone: Place | None = None
    gone_by: str = ""
    item: str = ""  # as a clause has it: of a pointer, a[0:16]
    region: int = 0  # the function of the region that it was made for
    kept: bool = True  # not by a region alone: a construct that names data, or a routine, has it

    def __str__(self) -> str:
        return f"{self.name or 'memory'}, {amount(self.size)}"


def made_here(mapping: Mapping, name: str = "") -> Note:
    """Where it was mapped; where a block of the program's own was allocated, which has no address of the host."""
    what = f"{name or mapping.name or 'memory'}, {amount(mapping.size)}"
    return Note(mapping.place, f"{what}, {'mapped' if mapping.start else 'allocated'} here ({mapping.what})")


def amount(size: int) -> str:
    """Bytes in words."""
    return f"{size} byte{'' if size == 1 else 's'}"
