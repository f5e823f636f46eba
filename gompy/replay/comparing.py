"""What differs between two contents of mapped memory: which variable, which element, both values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NamedTuple

from gompy.replay.recording import Name, Region, Span

CODES: Final = {"f4": "f", "f8": "d"} | {
    f"{letter}{size}": code.upper() if letter == "u" else code
    for letter in "iu"
    for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
}
"""Scalars as memoryview calls them."""
CHUNK: Final = 1 << 16


@dataclass(frozen=True)
class Measure:
    """When values differ: numbers with a fraction beyond a tolerance, relative to the larger one from 1 on.

    ``scalar``: what elements are where names do not say it, as in Name.
    """

    tolerance: float = 0.0
    scalar: str = ""

    def same(self, a: Any, b: Any) -> bool:
        """Whether two values count as the same."""
        if a == b or (a != a and b != b):  # the same, or both no number
            return True
        if not isinstance(a, float) or not isinstance(b, float) or not math.isfinite(a) or not math.isfinite(b):
            return False
        return bool(abs(a - b) <= self.tolerance * max(1.0, abs(a), abs(b)))


@dataclass(frozen=True)
class Difference:
    """The first element of a variable that differs, and how many do, of how many."""

    place: str
    before: str
    now: str
    count: int
    elements: int
    name: str

    def text(self, first: str, second: str) -> str:
        """In a line; what the two contents are called."""
        many = f"; {self.count} of {self.elements} elements of {self.name} differ" if self.elements > 1 else ""
        return f"{self.place}: {first} {self.before}, {second} {self.now}{many}"


class Element(NamedTuple):
    """An element that differs: what it is called, where in its piece, its bytes, and what they are, as struct's."""

    place: str
    offset: int
    size: int
    code: str

    def text(self, data: bytes) -> str:
        """Its contents as a value."""
        return shown(numbers(data, self.code)[0], self.code)


@dataclass(frozen=True)
class Piece:
    """A part of a region's memory that is compared: its contents are at ``offset`` of those of a span."""

    span: int
    offset: int
    size: int
    host: int
    name: Name | None


def pieces(region: Region, spans: list[Span]) -> Iterator[Piece]:
    """What the program can see of a region's memory: what is mapped, and blocks that are the program's own.

    A construct's block has its arguments and private copies besides; those nobody sees.
    """
    for index, span in enumerate(spans):
        inside = [item for item in region.objects if span.start <= item.target < span.start + max(span.size, 1)]
        for item in inside:
            size = min(item.size, span.start + span.size - item.target)
            yield Piece(index, item.target - span.start, size, item.host, region.names.get(item.host))
        if not inside and not span.start <= region.arguments < span.start + max(span.size, 1):
            yield Piece(index, 0, span.size, 0, None)


def label(piece: Piece, address: int) -> str:
    """What a piece at a device address is called."""
    if piece.name is not None:
        return piece.name.name
    if piece.host:
        return f"{piece.size} bytes of host {piece.host:#x}"
    return f"block of {piece.size} bytes at device {address:#x}"


def compare(region: Region, before: list[bytes], now: list[bytes], measure: Measure) -> list[Difference]:
    """What differs of a region's memory after it; contents in the order of ``region.after``."""
    spans = region.after or []
    found = []
    for piece in pieces(region, spans):
        a = before[piece.span][piece.offset : piece.offset + piece.size]
        b = now[piece.span][piece.offset : piece.offset + piece.size]
        difference = compare_piece(piece, label(piece, spans[piece.span].start), a, b, measure)
        if difference is not None:
            found.append(difference)
    return found


def element_of(piece: Piece, measure: Measure) -> tuple[str, int]:
    """The code and the size of a piece's elements; bytes where its type is not known."""
    scalar = (piece.name.scalar if piece.name is not None else "") or measure.scalar
    return (CODES[scalar], int(scalar[1:])) if scalar in CODES else ("B", 1)


def differing(a: bytes, b: bytes, code: str, unit: int, measure: Measure) -> Iterator[int]:
    """Where the elements begin that differ, of those that both have whole."""
    size = min(len(a), len(b)) // unit * unit
    for start in range(0, size, CHUNK):
        x, y = a[start : min(start + CHUNK, size)], b[start : min(start + CHUNK, size)]
        if x == y:
            continue
        for index, (one, other) in enumerate(zip(numbers(x, code), numbers(y, code), strict=True)):
            if one != other and not measure.same(one, other):
                yield start + index * unit


def compare_piece(piece: Piece, name: str, a: bytes, b: bytes, measure: Measure) -> Difference | None:
    """What differs of one."""
    if a == b:
        return None
    code, unit = element_of(piece, measure)
    first, count = -1, 0
    size = min(len(a), len(b)) // unit * unit
    for count, at in enumerate(differing(a, b, code, unit, measure), 1):
        first = at if count == 1 else first
    if first < 0 and (len(a) == len(b) == size or a[size:] == b[size:]):
        return None
    if first < 0:
        first, count = size, 1
        code, unit = "B", 1
    old, new = (shown(numbers(data[first : first + unit], code)[0], code) for data in (a, b))
    return Difference(place(piece, name, first, unit), old, new, count, len(a) // unit, name)


def different_elements(piece: Piece, name: str, a: bytes, b: bytes, measure: Measure, most: int) -> list[Element]:
    """The elements that differ, up to a number."""
    code, unit = element_of(piece, measure)
    found = islice(differing(a, b, code, unit, measure), most)
    return [Element(place(piece, name, at, unit), at, unit, code) for at in found]


def numbers(data: bytes, code: str) -> Any:
    """Bytes as numbers of a kind."""
    view: Any = memoryview(data)
    return view.cast(code)


def shown(value: Any, code: str) -> str:
    """A value in a line."""
    if code == "B":
        return f"{value:#04x}"
    return f"{value:.9g}" if code == "f" else f"{value:.17g}" if code == "d" else str(value)


def place(piece: Piece, name: str, offset: int, unit: int) -> str:
    """``x[3]``, or a number where elements have no names."""
    known = piece.name
    if known is not None and known.base and known.element:
        at, rest = divmod(piece.host + offset - known.base, known.element)
        return f"{name}[{at}]" + (f", byte {rest}" if rest else "")
    if piece.size == unit:
        return name
    return f"{name}, element {offset // unit + 1}" if unit > 1 else f"{name}, byte {offset}"
