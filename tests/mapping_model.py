"""OpenMP's mapping rules in simple Python: a list of mapped ranges, each with a counter and the device's bytes.

The rules are those of GCC 12's libgomp (and OpenMP 5.1, 2.21.7.1), stated without trees or blocks; where libgomp does
what the specification does not mean, the model follows the specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

FRESH = 0xA5
"""What new memory of the test device holds."""

Entry = tuple[int, int, str]
"""Offset in the host memory, size, kind (a name of libgompy.MAP_KINDS)."""

COPY_TO = {"to", "tofrom", "always_to", "always_tofrom"}
COPY_FROM = {"from", "tofrom", "always_from", "always_tofrom"}
ALWAYS_TO = {"always_to", "always_tofrom"}
ALWAYS_FROM = {"always_from", "always_tofrom"}


class Refused(Exception):
    """The program would end with a message."""


@dataclass
class Counter:
    """A reference count; None counts nothing (declare target).  Members of a struct share one."""

    value: int | None = 0


@dataclass(eq=False)
class Mapping:
    """A mapped range of the host memory."""

    start: int
    end: int
    counter: Counter
    data: bytearray
    group: int = 0  # struct members mapped together
    attached: bool = False  # a pointer that has the device's value: copies leave it alone


@dataclass
class Record:
    """What the end of a construct has to do for one entry."""

    mapping: Mapping
    start: int
    end: int
    copy_from: bool
    always_from: bool


@dataclass
class Model:
    """Host memory, mapped ranges and the target data constructs that are open."""

    host: bytearray
    mapped: list[Mapping] = field(default_factory=list)
    open: list[list[Record | None]] = field(default_factory=list)
    groups: int = 0

    def overlapping(self, start: int, end: int) -> list[Mapping]:
        """Mappings that share a byte with a range; an empty range is in what has it strictly inside."""
        found = [m for m in self.mapped if not (end <= m.start or start >= m.end)]
        if start == end:
            found += [m for m in self.mapped if m.start == m.end == start]
        return found

    def new(self, start: int, end: int, counter: Counter, kind: str) -> Mapping:
        data = bytearray(self.host[start:end]) if kind in COPY_TO else bytearray([FRESH]) * (end - start)
        mapping = Mapping(start, end, counter, data)
        self.mapped.append(mapping)
        return mapping

    def map(self, entries: list[Entry], touched: list[Counter]) -> list[Record | None]:
        """Begin of a construct; `touched` has the counters that this construct has changed.

        A record for each entry, None for a section without length that is nowhere in what was mapped before.
        """
        records: list[Record | None] = []
        before = list(self.mapped)
        for start, size, kind in entries:
            end = start + size
            if kind == "zero_len_array_section":
                found = [m for m in self.overlapping(start, start + 1) if m in before]
                if found:
                    self.count_up(found[0], touched)
                records.append(Record(found[0], start, end, False, False) if found else None)
                continue
            found = self.overlapping(start, end)
            if found:
                mapping = found[0]
                if len(found) > 1 or mapping.start > start or mapping.end < end:
                    raise Refused("Trying to map into device")
                if kind in ALWAYS_TO and not mapping.attached:
                    mapping.data[start - mapping.start : end - mapping.start] = self.host[start:end]
            else:
                mapping = self.new(start, end, Counter(0), kind)
            self.count_up(mapping, touched)
            records.append(Record(mapping, start, end, kind in COPY_FROM, kind in ALWAYS_FROM))
        return records

    def map_struct(
        self, members: list[Entry], touched: list[Counter], first: int, pointers: Sequence[int] = ()
    ) -> list[Record | None]:
        """A STRUCT entry and its members; `first` is the struct's offset.

        pointers: where the struct has pointers that the construct attaches and does not list: if the struct is new,
        they come and go with the members.
        """
        whole = self.overlapping(first, members[-1][0] + members[-1][1])
        records: list[Record | None] = []
        if not whole:
            self.groups += 1
            counter = Counter(0)
            for start, size, kind in members:
                mapping = self.new(start, start + size, counter, kind)
                mapping.group = self.groups
                self.count_up(mapping, touched)
                records.append(Record(mapping, start, start + size, kind in COPY_FROM, kind in ALWAYS_FROM))
            for start in pointers:
                pointer = self.new(start, start + 8, counter, "alloc")
                pointer.group, pointer.attached = self.groups, True
            return records
        for start, size, kind in members:
            inside = [m for m in whole if m.start <= start and start + size <= m.end]
            if not inside or inside[0].group != whole[0].group:
                raise Refused("structure element when other mapped elements")
            records += self.map([(start, size, kind)], touched)
        return records

    def count_up(self, mapping: Mapping, touched: list[Counter]) -> None:
        counter = mapping.counter
        if counter.value is not None and not any(counter is t for t in touched):
            counter.value += 1
            touched.append(counter)

    def count_down(self, mapping: Mapping, touched: list[Counter], delete: bool) -> tuple[bool, bool]:
        """(copy, remove): the counter is 0 because of this construct, and became so just now."""
        counter = mapping.counter
        if counter.value is None:
            return False, False
        if any(counter is t for t in touched):
            return counter.value == 0, False
        touched.append(counter)
        if counter.value == 0:
            return False, False
        counter.value = 0 if delete else counter.value - 1
        return counter.value == 0, counter.value == 0

    def copy_back(self, mapping: Mapping, start: int, end: int) -> None:
        start, end = max(start, mapping.start), min(end, mapping.end)
        if start < end and not mapping.attached:
            self.host[start:end] = mapping.data[start - mapping.start : end - mapping.start]

    def remove(self, counters: list[Counter]) -> None:
        self.mapped = [m for m in self.mapped if not any(m.counter is c for c in counters)]

    def unmap(self, records: list[Record | None]) -> None:
        """End of target or target data."""
        touched: list[Counter] = []
        gone: list[Counter] = []
        for r in records:
            mapping = None if r is None else r.mapping if r.mapping in self.mapped else self.mapped_since(r)
            if r is None or mapping is None:
                continue
            copy, remove = self.count_down(mapping, touched, False)
            if (copy and r.copy_from) or r.always_from:
                self.copy_back(mapping, r.start, r.end)
            if remove:
                gone.append(mapping.counter)
        self.remove(gone)

    def mapped_since(self, record: Record) -> Mapping | None:
        """What maps all of a list item now whose mapping went within the construct (OpenMP 5.1, 2.21.7.1)."""
        start, end = record.start, record.end
        if start == end:
            start, end = record.mapping.start, record.mapping.end
        found = self.overlapping(start, end)
        return found[0] if len(found) == 1 and found[0].start <= start and end <= found[0].end else None

    def exit(self, entries: list[Entry]) -> None:
        """exit data."""
        touched: list[Counter] = []
        gone: list[Counter] = []
        for start, size, kind in entries:
            zero_length = kind.endswith("zero_len_array_section") and size == 0
            found = self.overlapping(start, start + 1 if zero_length else start + size)
            if not found:
                continue
            copy, remove = self.count_down(found[0], touched, kind in ("delete", "delete_zero_len_array_section"))
            if (copy and kind == "from") or kind == "always_from":
                self.copy_back(found[0], start, start + size)
            if remove:
                gone.append(found[0].counter)
        self.remove(gone)

    def update(self, entries: list[Entry]) -> None:
        """target update."""
        for start, size, kind in entries:
            found = self.overlapping(start, start + size)
            if size == 0 or not found:
                continue
            mapping = found[0]
            if len(found) > 1 or mapping.start > start or mapping.end < start + size:
                raise Refused("Trying to update")
            part = slice(start - mapping.start, start + size - mapping.start)
            if kind == "to":
                mapping.data[part] = self.host[start : start + size]
            else:
                self.host[start : start + size] = mapping.data[part]
