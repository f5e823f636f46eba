"""Two recordings of one program, of different devices: the first region whose memory differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gompy.replay.comparing import Difference, Measure, Piece, compare_piece, label
from gompy.replay.moving import Moves
from gompy.replay.recording import Mapped, Recording, Region, Span

Key = tuple[object, ...]
Side = tuple[Recording, Region, list[Span]]
"""A region of a recording, and the memory before or after it."""


@dataclass(frozen=True)
class Found:
    """Where two runs part: a region of the first, whether before or after it, and what differs."""

    region: Region
    when: str
    differences: list[Difference]
    why: str = ""
    other: Region | None = None


def keyed(region: Region) -> dict[Key, Mapped]:
    """What is mapped, by what it is in any run: the entry of its directive, else its name."""
    by_target: dict[int, Key] = {}
    for entry in region.maps:
        for item in region.objects:
            if item.target <= entry[4] < item.target + max(item.size, 1):
                by_target.setdefault(item.target, ("entry", entry[0], item.size))
    found: dict[Key, Mapped] = {}
    times: Counter[Key] = Counter()
    for item in region.objects:
        name = region.names.get(item.host)
        key = by_target.get(item.target) or ("name", name.name if name is not None else "", item.size)
        times[key] += 1
        found[(*key, times[key])] = item
    variables = {pair[0] for loaded in region.loaded for pair in loaded.table[loaded.functions :]}
    for span in region.memory:
        inside = any(span.start <= item.target < span.start + max(span.size, 1) for item in region.objects)
        if not inside and span.start not in variables and span.start != region.arguments:
            times["block", span.size] += 1  # the program's own, in the order in which it made them
            found["block", span.size, times["block", span.size]] = Mapped(0, span.size, span.start)
    return found


def contents_of(recording: Recording, spans: list[Span], item: Mapped) -> bytes | None:
    """What is in mapped memory; None: that is not recorded."""
    for span in spans:
        if span.blob >= 0 and span.start <= item.target and item.target + item.size <= span.start + span.size:
            at = item.target - span.start
            return recording.contents(span)[at : at + item.size]
    return None


class Pair(NamedTuple):
    """Mapped memory on both devices that differs; the second's contents with the first's pointers."""

    piece: Piece
    label: str
    targets: tuple[int, int]
    contents: tuple[bytes, bytes]


def differences(first: Side, second: Side, measure: Measure) -> Iterator[Difference]:
    """What differs of the memory of a region on two devices; pointers to the same count as the same."""
    for pair in different_pairs(first, second):
        difference = compare_piece(pair.piece, pair.label, *pair.contents, measure)
        if difference is not None:
            yield difference


def different_pairs(first: Side, second: Side) -> Iterator[Pair]:
    """What of the memory of a region does not have the same bytes on two devices."""
    ours, theirs = keyed(first[1]), keyed(second[1])
    both = [(item, theirs[key]) for key, item in ours.items() if key in theirs and theirs[key].size == item.size]
    moves = Moves([(b.target, a.target, a.size) for a, b in both])
    hosts = Moves([(b.host, a.host, a.size) for a, b in both if a.host])
    for a, b in both:
        left, right = contents_of(first[0], first[2], a), contents_of(second[0], second[2], b)
        if left is None or right is None or left == right:
            continue
        right = hosts.contents(moves.contents(right, b.target)[0], b.target)[0]
        name = first[1].names.get(a.host)
        piece = Piece(0, 0, a.size, a.host, name)
        yield Pair(piece, label(piece, a.target), (a.target, b.target), (left, right))


def paired(first: Recording, second: Recording) -> Iterator[tuple[Region, Region]]:
    """The launches that are the same in two runs, in the first one's order.

    A run that dropped a region left out others beside it, too: then launches of a function are counted instead.  Files
    may have functions of one name, which count by themselves: what is not the only one of its launch has no pair.
    """
    if not first.disturbed and not second.disturbed:
        yield from zip(first.regions, second.regions, strict=False)
        return
    others = by_launch(second.kept)
    for key, region in by_launch(first.kept).items():
        if key in others:
            yield region, others[key]


def by_launch(regions: list[Region]) -> dict[Key, Region]:
    """Regions by what is the same in any run, if that is one region's alone."""
    keys = [(region.function, region.place, region.launch) for region in regions]
    times = Counter(keys)
    return {key: region for key, region in zip(keys, regions, strict=True) if region.function and times[key] == 1}


def bisect(first: Recording, second: Recording, measure: Measure) -> tuple[Found | None, int]:
    """The first difference, if there is one, and how many regions were compared."""
    number = 0
    for a, b in paired(first, second):
        if a.function != b.function:
            return Found(a, "before", [], f"the other run launches {b.function or '?'} next"), number
        found = list(differences((first, a, a.memory), (second, b, b.memory), measure))
        if found:
            return Found(a, "before", found), number
        if a.after is None or b.after is None:
            if first.limit is None and second.limit is None and (a.after is None) != (b.after is None):
                return Found(a, "after", [], "only one of the runs came to its end"), number
            return None, number
        found = list(differences((first, a, a.after), (second, b, b.after), measure))
        if found:
            return Found(a, "after", found, other=b), number
        number += 1
    if first.disturbed or second.disturbed:
        return None, number  # what only one of them has may have run beside others
    shorter, longer = sorted((first, second), key=lambda recording: len(recording.regions))
    both = len(shorter.regions)
    if len(longer.regions) > both and first.limit is None and second.limit is None:
        return Found(longer.regions[both], "before", [], "only one of the runs launches it"), number
    return None, number
