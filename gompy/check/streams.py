"""Races between operations of two streams, or OpenACC's queues, as the emulated CUDA driver tells them."""

from __future__ import annotations

import os
import re

from gompy.check.findings import Finding, Note
from gompy.check.mapped import Mapping
from gompy.check.mends import mend
from gompy.check.names import Place
from gompy.check.readable import gpu_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Final
else:
    from gompy.records import dataclass

SIDE: Final = (
    r"(read|written|updated atomically) (?:by (a copy|a fill)|in '([^']+)'(?: at ([^:\n]*):(\d+))?[^\n]*?) "
    r"in stream \d+(?: \(([^()\n]*):(\d+)\))?"
)
"""What is done, by what, where; and where the program has asked for it."""
BETWEEN: Final = (
    rf"race on device memory at (0x[0-9a-f]+) \(\d+ bytes\): {SIDE}, and {SIDE}(?:, kernel '[^']+')?: no event"
)


@dataclass(frozen=True)
class Side:
    """One of the two."""

    verb: str
    who: str
    place: Place
    asked: Place
    region: str

    @staticmethod
    def of(verb: str, copy: str | None, function: str | None, *places: str | None) -> Side:
        """From the words of the message."""
        at, asked = (
            Place(os.path.basename(file or ""), int(line or 0))
            for file, line in zip(places[::2], places[1::2], strict=True)
        )
        region = gpu_name(function) if function else ""
        return Side(verb, f"in region {region}" if region else f"by {copy}", at if region else asked, asked, region)


def stream_race(text: str) -> tuple[int, Side, Side] | None:
    """The address and both sides, a write first; None for another message."""
    match = re.search(BETWEEN, text)
    if match is None:
        return None
    groups = match.groups()
    first, second = sorted(
        (Side.of(*groups[1:8]), Side.of(*groups[8:15])), key=lambda side: (side.verb == "read", str(side.place))
    )
    return int(match[1], 16), first, second


def stream_finding(device: int, mapping: Mapping | None, race: tuple[int, Side, Side], acc: bool) -> Finding:
    """What is told of it."""
    address, one, other = race
    name = mapping.name if mapping is not None else ""
    part = f" (byte {address - mapping.address} of {mapping.size})" if mapping is not None else ""
    finding = Finding(
        "race",
        one.place,
        f"{name or 'memory'}{part} is {one.verb} {one.who} on device {device}, and {other.verb} {other.who} beside it "
        "in another queue, and nothing says which is first",
        device,
        one.region,
        name,
        mapping.start if mapping is not None else 0,
        mapping.size if mapping is not None else 0,
        mend=mend("race-queues", name, one.place.file, acc),
    )
    finding.notes.append(Note(other.place, f"it is {other.verb} here {other.who}"))
    finding.notes += [Note(side.asked, f"region {side.region} begins here") for side in (one, other) if side.region]
    return finding
