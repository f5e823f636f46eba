"""The first store whose result differs between two devices: a region is run again on both, with its stores watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from gompy import UserError
from gompy.replay import REAL
from gompy.replay.bisecting import contents_of, different_pairs
from gompy.replay.comparing import Element, Measure, numbers
from gompy.replay.recording import Mapped, Recording, Region
from gompy.replay.running import stores_of

MOST: Final = 4096
"""Elements that are watched."""
SEEN_ON: Final = {"intelmic": "host", "host": "host", "nvptx": "nvptx", REAL: REAL}
"""Where the stores of a kind of device are seen: the emulated MIC's code is this machine's."""


class Store(NamedTuple):
    """One that has been done: its number among all, the element's contents behind it, where and by whom."""

    number: int
    value: bytes
    place: str
    who: str

    def text(self, kind: str, element: Element) -> str:
        """In a part of a line."""
        return f"{kind} {element.text(self.value)} at {self.place}" + (f", {self.who}" if self.who else "")


@dataclass(frozen=True)
class Watched:
    """An element that differs, and its device address in both recordings."""

    element: Element
    addresses: tuple[int, int]


class FirstStore(NamedTuple):
    """Where the stores to an element part: how many were the same, and the next one of each, None: there is none."""

    element: Element
    same: int
    stores: tuple[Store | None, Store | None]

    def text(self, kinds: tuple[str, str]) -> str:
        """In a line."""
        parts = [
            store.text(kind, self.element) if store is not None else f"{kind} none"
            for store, kind in zip(self.stores, kinds, strict=True)
        ]
        before = f" (after {self.same} equal ones)" if self.same else ""
        return f"the first store that differs is to {self.element.place}{before}: {'; '.join(parts)}"


def elements(first: tuple[Recording, Region], second: tuple[Recording, Region], measure: Measure) -> list[Watched]:
    """What differs after a region, up to MOST elements."""
    from gompy.replay.comparing import different_elements

    found: list[Watched] = []
    for pair in different_pairs((*first, first[1].after or []), (*second, second[1].after or [])):
        some = different_elements(pair.piece, pair.label, *pair.contents, measure, MOST - len(found))
        found += [Watched(e, (pair.targets[0] + e.offset, pair.targets[1] + e.offset)) for e in some]
    return found


def changes(watched: list[Watched], side: int, recording: Recording, region: Region, kind: str) -> list[list[Store]]:
    """The stores of a region's second life that changed each element.  UserError: they are not to be had."""
    ranges = [(w.addresses[side], w.element.size) for w in watched]
    found: list[list[Store]] = [[] for _ in watched]
    now = [contents_of(recording, region.memory, Mapped(0, size, start)) for start, size in ranges]
    at = {start: number for number, (start, _) in enumerate(ranges)}
    sizes = {size for _, size in ranges}
    for number, store in enumerate(stores_of(recording, region, SEEN_ON[kind], ranges)):
        low, data = store["address"], bytes.fromhex(store["value"])
        for index in {at[start] for start in range(low - max(sizes) + 1, low + len(data)) if start in at}:
            start, size = ranges[index]
            old = now[index] or bytes(size)
            begin, end = max(start, low) - start, min(start + size, low + len(data)) - start
            new = old[:begin] + data[start + begin - low : start + end - low] + old[end:]
            if end > begin and new != old:
                now[index] = new
                found[index].append(Store(number, new, store["place"], store["who"]))
    return found


def first_store(
    first: tuple[Recording, Region, str], second: tuple[Recording, Region, str], measure: Measure
) -> FirstStore | None:
    """The first store of the first device, in its order, whose result differs from that of the second's.

    None: when the region runs again its stores do not differ.  UserError: they cannot be seen.
    """
    watched = elements(first[:2], second[:2], measure)
    ours = changes(watched, 0, *first)
    theirs = changes(watched, 1, *second)
    best: tuple[int, FirstStore] | None = None
    for w, a, b in zip(watched, ours, theirs, strict=True):
        same = 0
        while same < min(len(a), len(b)) and equal(w.element, a[same].value, b[same].value, measure):
            same += 1
        if same == len(a) == len(b):
            continue
        one, other = (a[same] if same < len(a) else None), (b[same] if same < len(b) else None)
        order = one.number if one is not None else 1 << 62
        if best is None or order < best[0]:
            best = order, FirstStore(w.element, same, (one, other))
    return best[1] if best is not None else None


def equal(element: Element, a: bytes, b: bytes, measure: Measure) -> bool:
    """Whether two values of an element count as the same."""
    return measure.same(numbers(a, element.code)[0], numbers(b, element.code)[0])


def explain(first: tuple[Recording, Region, str], second: tuple[Recording, Region, str], measure: Measure) -> str:
    """A line about the first store, or why there is none."""
    try:
        found = first_store(first, second, measure)
    except UserError as error:
        return f"its stores cannot be seen: {error}"
    if found is None:
        return "run again, alone, its stores do not differ"
    return found.text((first[2], second[2]))
