"""What is, or was, on a device, as findings speak of it."""

from __future__ import annotations

from gompy.abi import gomp
from gompy.check.findings import Note
from gompy.check.log import Event
from gompy.check.names import Names, Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Final
else:
    from gompy.records import dataclass

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
    """A range that is, or was, mapped; its name and places are looked for when a finding asks: most are never told."""

    start: int
    size: int
    address: int
    what: str
    names: Names
    made: Event | None = None
    removed: Event | None = None
    met: int = 0  # how many records had been, with that
    gone_by: str = ""
    region: int = 0  # the function of the region that it was made for
    kept: bool = True  # not by a region alone: a construct that names data, or a routine, has it
    _name: str = ""
    _item: str = ""

    def __str__(self) -> str:
        return f"{self.name or 'memory'}, {amount(self.size)}"

    @property
    def name(self) -> str:
        """What the program calls it."""
        self.names.settle()
        self._name = self._name or self._called()
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def item(self) -> str:
        """It as a clause has it: of a pointer, ``a[0:16]``."""
        self.names.settle()
        if not self._item:
            self._item = self.names.item(self.made, self.name) if self.made is not None else self.name
        return self._item

    @item.setter
    def item(self, item: str) -> None:
        self._item = item

    def _called(self) -> str:
        return self.names.then(self.made, self.met) if self.made is not None else ""

    @property
    def place(self) -> Place:
        """The construct, or routine, that made it."""
        return self.names.place_of(self.made)

    @property
    def gone(self) -> Place | None:
        """What removed it."""
        return self.names.place_of(self.removed) if self.removed is not None else None


def made_here(mapping: Mapping, name: str = "") -> Note:
    """Where it was mapped; where a block of the program's own was allocated, which has no address of the host."""
    what = f"{name or mapping.name or 'memory'}, {amount(mapping.size)}"
    return Note(mapping.place, f"{what}, {'mapped' if mapping.start else 'allocated'} here ({mapping.what})")


def amount(size: int) -> str:
    """Bytes in words."""
    return f"{size} byte{'' if size == 1 else 's'}"
