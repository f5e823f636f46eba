"""Pointers in memory that has come to lie elsewhere.

A word of eight bytes at a multiple of eight whose value lies in memory that was recorded counts as a pointer.  So a
number that happens to be such an address is moved, too; where all memory is at its recorded address nothing is.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import Final

WORD: Final = 8


class Moves:
    """Pieces of memory, from an address to another: ``(from, to, bytes)`` each."""

    def __init__(self, moves: list[tuple[int, int, int]]) -> None:
        self.moves = sorted(moves)
        self.starts = [move[0] for move in self.moves]
        self.moved = any(old != new for old, new, _ in self.moves)
        self.highs = sorted(
            {high for old, _, size in self.moves for high in range(old >> 32, ((old + size) >> 32) + 1)}
        )

    def reversed(self) -> Moves:
        """The way back."""
        return Moves([(new, old, size) for old, new, size in self.moves])

    def address(self, value: int) -> int:
        """Where an address has gone; one past the end of a piece goes with it."""
        at = bisect.bisect_right(self.starts, value) - 1
        if at >= 0:
            old, new, size = self.moves[at]
            if value <= old + size:
                return value - old + new
        return value

    def contents(self, data: bytes, address: int) -> tuple[bytes, int]:
        """Contents of memory at an address with its pointers moved, and how many there were."""
        count = 0
        if not self.moved:
            return data, 0
        changed = bytearray(data)
        for at in self._candidates(data, -address % WORD):
            value = int.from_bytes(data[at : at + WORD], "little")
            new = self.address(value)
            if new != value:
                changed[at : at + WORD] = new.to_bytes(WORD, "little")
                count += 1
        return bytes(changed), count

    def _candidates(self, data: bytes, first: int) -> Iterator[int]:
        """Offsets of words whose upper half is that of a piece."""
        for high in self.highs:
            half = high.to_bytes(4, "little")
            at = data.find(half, first + 4)
            while at >= 0:
                if (at - 4 - first) % WORD == 0:
                    yield at - 4
                at = data.find(half, at + 1)
