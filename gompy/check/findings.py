"""What a check has found, and the kinds of it."""

from __future__ import annotations

import re

from gompy.check.names import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
    from typing import Final
else:
    from gompy.records import dataclass, field

ERROR: Final = "error"
ADVICE: Final = "advice"
ELEMENT: Final = r"\[\d+\]\."
"""Of a member's name, in an array of structures that a pointer points to: ``q[3].w``; of the first it is ``q->w``."""

KINDS: Final = {
    "unmapped": "a region uses what is not mapped to its device",
    "unmapped-since": "a region uses, or a routine copies, what was mapped or allocated, and is no longer",
    "past-section": "a region goes beyond what is mapped of an object",
    "past-block": "a construct maps, and copies, more than malloc has given there, or a routine more than a block has",
    "unset": "a region reads memory of the device that nothing has written",
    "unset-host": "the host reads what was copied from memory of the device that nothing had written",
    "stale-device": "a region reads what the host has changed since it was copied there",
    "stale-host": "the host reads what a region has changed, and what was not copied back",
    "race": "two accesses to the same memory, one of them a write, that nothing puts in an order",
    "still-mapped": "something is mapped when the program ends",
    "not-present": "exit data, update or a present clause of what is not mapped, or a routine frees what is no block",
    "extension": "a construct maps more of an object than is mapped already",
    "mapping": "a construct cannot be mapped",
    "fault": "a region ends by a fault, or the host uses, or frees, an address of a device's memory",
    "redundant": "copies that change nothing",
}


@dataclass(slots=True)
class Note:
    """A further line of a finding, with the place that it is about."""

    place: Place
    text: str


@dataclass(slots=True)
class Finding:
    """One of them; ``count``: how often it was met."""

    kind: str
    place: Place
    message: str
    device: int = 0
    region: str = ""
    variable: str = ""
    start: int = 0
    size: int = 0
    severity: str = ERROR
    mend: str = ""
    notes: list[Note] = field(default_factory=list)
    count: int = 1

    def key(self) -> tuple[str, str, str, int]:
        """What makes two findings the same one; of an array of structures one element is as another."""
        return self.kind, str(self.place), re.sub(ELEMENT, "->", self.variable), self.device
