"""Variables of images, whose addresses change with the backend: what the program was told stays good.

The program knows the addresses of the first backend.  They are translated in copies.  In a region's arguments, in
pointers that are attached and in blocks that move, a word that is such an address is taken for a pointer: an image's
variables are few and lie where no other data has its values by chance.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

WORD, LOW = 8, 16
"""Bytes of a pointer; bits of it that are looked at one by one."""
Place = tuple[int, int, int]
"""Of something that has moved: its old address, its bytes, its new address."""


class Moved(NamedTuple):
    """A variable: where the program takes it to be, its bytes, where it is."""

    told: int
    size: int
    now: int


class Variables:
    """All variables of a program's images on the backend of now."""

    def __init__(self) -> None:
        self.all: dict[int, list[Moved]] = {}
        """Those of each image, which its address tells."""

    def add(self, image: int, told: list[tuple[int, int]]) -> None:
        """An image was loaded by the program; told: start and end of its variables."""
        self.all[image] = [Moved(start, end - start, start) for start, end in told]

    def drop(self, image: int) -> None:
        """It was unloaded."""
        self.all.pop(image, None)

    def settle(self, image: int, now: list[tuple[int, int]]) -> list[Place]:
        """A backend has loaded an image again, with its variables there.  Returns what has moved."""
        before = self.all[image]
        self.all[image] = [Moved(old.told, old.size, start) for old, (start, _) in zip(before, now, strict=True)]
        return [(old.now, old.size, start) for old, (start, _) in zip(before, now, strict=True)]

    def where(self, address: int) -> int:
        """Where something is that the program takes to be at an address."""
        for one in itertools.chain.from_iterable(self.all.values()):
            if one.told <= address < one.told + max(one.size, 1):
                return address - one.told + one.now
        return address

    def told_to_now(self) -> list[Place]:
        """For pointers that come from the program."""
        return [
            (one.told, one.size, one.now)
            for one in itertools.chain.from_iterable(self.all.values())
            if one.told != one.now
        ]


def point(data: bytes, places: list[Place]) -> bytes:
    """Data with its pointers to what has moved changed."""
    changed: bytearray | None = None
    for start, size, to in places:
        end = start + max(size, 1)
        # All that a range's addresses have in common but for the last two bytes: looked for, not looped over.
        for part in range(start >> LOW, (end - 1 >> LOW) + 1):
            common = part.to_bytes(WORD - LOW // 8, "little")
            at = data.find(common)
            while at >= 0:
                word = at - LOW // 8
                if word >= 0 and word % WORD == 0:
                    value = int.from_bytes(data[word : word + WORD], "little")
                    if start <= value < end:
                        changed = changed or bytearray(data)
                        changed[word : word + WORD] = (value - start + to).to_bytes(WORD, "little")
                at = data.find(common, at + 1)
    return data if changed is None else bytes(changed)
