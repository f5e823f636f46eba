"""From the log of a run to findings: every record in its order, with what is mapped then and by whom."""

from __future__ import annotations

from functools import partial

from gompy.abi.check_log import FAILED, Copy, Entry, Op
from gompy.check import constructs, host, told
from gompy.check.copied import copied_finding
from gompy.check.findings import ADVICE, Finding
from gompy.check.log import Event, Log
from gompy.check.mapped import POINTERS, Mapping, amount
from gompy.check.mends import is_openacc, mend
from gompy.check.situation import Situation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import Final

    Step = Callable[[Event], object]
    """What is done at a record."""
else:
    from gompy.records import dataclass

OFTEN: Final = 3
WORTH: Final = 4096
"""How many needless copies of one object, and how many bytes of them, are worth advice."""


NEW: Final = Entry.NEW.value
ATTACH: Final = Entry.ATTACH.value
TO_DEVICE: Final = Copy.TO_DEVICE.value
SAME: Final = Copy.SAME.value
"""Numbers: at each record an operation of a flag's own class would take longer than all the rest."""


def names_data(what: str) -> bool:
    """Whether a construct, or routine, maps and launches no region: target data, enter data, acc_copyin."""
    return what.endswith("data") or what.startswith(("acc_", "omp_"))


@dataclass(slots=True)
class Copies:
    """Copies of one object to, or from, one device that changed nothing."""

    first: Event
    size: int
    needless: int = 0
    last: int = -1


class Analysis:
    """One pass over a log."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.now = Situation(log)
        self.copies: dict[tuple[int, int, int, bool], Copies] = {}
        self.entered: dict[int, Event] = {}  # by thread
        self.own: dict[tuple[int, int], Mapping] = {}  # live, and not kept
        self.made: dict[tuple[int, int], list[Mapping]] = {}  # by device and thread, for the region launched next

    def run(self) -> list[Finding]:
        """The findings, errors first, in the order in which they were met."""
        now = self.now
        steps: dict[int, Step] = {
            Op.ENTRY: self._entry,
            Op.REMOVE: self._remove,
            Op.ABSENT: self._absent,
            Op.EXIT: now.names.met,
            Op.UPDATE: now.names.met,
            Op.COPY: self._copy,
            Op.LAUNCH: self._launch,
            Op.TEXT: partial(told.told, now),
            Op.LEFT: partial(constructs.left, now),
            Op.STALE: partial(host.stale, now),
            Op.FLIGHT: partial(host.flight, now),
            Op.QUEUED: partial(host.queued, now),
            Op.BLOCK: partial(constructs.past_block, now),
            Op.HOST_FAULT: partial(host.host_fault, now),
            Op.ALLOC: self._alloc,
            Op.FREED: self._freed,
            Op.COPIED: self._copied,
        }
        for event in self.log.events:
            step = steps.get(event.op)
            if step is not None:
                now.frame = event.frame
                now.thread = event.thread
                now.acc = is_openacc(event.what) if event.what else now.acc
                step(event)
        self._advise()
        return sorted(now.found.values(), key=lambda f: f.severity == ADVICE)

    def _entry(self, event: Event) -> None:
        names, flags = self.now.names, event.flags
        if flags & ATTACH:
            self._attach(event)
        self.entered[event.thread] = event
        if flags & NEW and (names.later or names.elements):
            names.later.append(partial(names.elements.pop, event.start, None))
        names.met(event)
        if not flags & NEW and names_data(event.what):
            self._keep(event)
        if flags & NEW and not flags & ATTACH and event.kind not in POINTERS:
            what = event.what or "target"
            mapping = Mapping(event.start, event.size, event.address, what, names, event, met=names.count)
            self.now.live[event.device, event.start] = mapping
            if not names_data(what):
                self.made.setdefault((event.device, event.thread), []).append(mapping)

    def _keep(self, event: Event) -> None:
        """What names data has all of a region's own mapping, or a part."""
        for (device, start), mapping in list(self.own.items()):
            if device == event.device and start <= event.start < start + max(mapping.size, 1):
                self.own.pop((device, start)).kept = True

    def _attach(self, event: Event) -> None:
        """A pointer that a construct attaches stands behind what it points to."""
        item = self.entered.get(event.thread)
        mapping = self.now.live.get((event.device, item.start)) if item is not None else None
        if item is not None and mapping is not None:
            self.now.names.later.append(partial(self._name, event, item, mapping))

    def _name(self, event: Event, item: Event, mapping: Mapping) -> None:
        name = self.now.names.attached(event, item)
        if name:
            mapping.name = name
            mapping.item = self.now.names.item(item, name)

    def _remove(self, event: Event) -> None:
        mapping = self.now.live.pop((event.device, event.start), None)
        self.own.pop((event.device, event.start), None)
        if mapping is not None:
            mapping.removed = event
            mapping.gone_by = f"the end of {event.what or mapping.what}" if "exit" not in event.what else event.what
            self.now.gone.append((event.device, mapping))

    def _launch(self, event: Event) -> None:
        self.now.launched.pop((event.device, event.thread), None)
        self.now.launched[event.device, event.thread] = event
        for mapping in self.made.pop((event.device, event.thread), []):
            mapping.region = event.where
            # clang does not say which construct an entry is of: one call has both, the entry and the region.
            if event.frame is not None and mapping.made is not None and mapping.made.frame is event.frame:
                mapping.kept = False
                self.own[event.device, mapping.start] = mapping

    def _absent(self, event: Event) -> None:
        if event.kind == FAILED:
            self.now.failed[event.thread] = event
        else:
            constructs.absent(self.now, event)

    def _copy(self, event: Event) -> None:
        to = bool(event.flags & TO_DEVICE)
        key = event.device, event.start, event.size, to
        copies = self.copies.get(key)
        if copies is None:
            copies = self.copies[key] = Copies(event, event.size)
        if copies.last == event.count if to else event.flags & SAME:
            copies.needless += 1
        copies.last = event.count

    def _advise(self) -> None:
        for (device, start, size, to), copies in self.copies.items():
            if copies.needless < OFTEN or copies.needless * size < WORTH:
                continue
            mapping = self.now.mapped_first(device, start)
            name = (mapping.name if mapping is not None else "") or self.now.names.known_at(start)
            place = mapping.place if mapping is not None else self.now.place(copies.first)
            way = "to" if to else "from"
            self.now.add(
                Finding(
                    "redundant",
                    place,
                    f"{name or 'memory'} ({amount(size)}) was copied {way} device {device} {copies.needless} times "
                    "with the contents that it had there already",
                    device,
                    variable=name,
                    start=start,
                    size=size,
                    severity=ADVICE,
                    mend=mend("redundant-to" if to else "redundant-from", name, place.file, self.now.acc),
                )
            )

    def _alloc(self, event: Event) -> None:
        self.now.blocks.alloc(event)

    def _freed(self, event: Event) -> None:
        if event.kind == FAILED:
            self.now.add(
                self.now.blocks.not_freed(event, self.now.place(event), self.now.on_device(event.device, event.address))
            )
        else:
            self.now.blocks.freed(event)

    def _copied(self, event: Event) -> None:
        finding = copied_finding(event, self.now.place(event), self.now.blocks, self.now.state)
        if finding is not None:
            self.now.add(finding)


def analyse(log: Log) -> list[Finding]:
    """The findings of a run."""
    return Analysis(log).run()
