"""From the log of a run to findings: every record in its order, with what is mapped then and by whom."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Final

from gompy.abi import gomp
from gompy.abi.check_log import FAILED, Copy, Entry, Flight, Op, Stale
from gompy.check.associated import State, is_associated, routine_finding
from gompy.check.blocks import Blocks
from gompy.check.copied import copied_finding, refused_copy
from gompy.check.failed import failed_finding
from gompy.check.findings import ADVICE, Finding, Note
from gompy.check.log import Event, Frame, Log
from gompy.check.mapped import Mapping, amount, made_here
from gompy.check.mends import is_openacc, mend
from gompy.check.names import HEAD, WORD, Names, Place
from gompy.check.readable import demangled, gpu_name
from gompy.check.refused import in_words, refused
from gompy.check.streams import stream_finding, stream_race

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

OFTEN: Final = 3
WORTH: Final = 4096
"""How many needless copies of one object, and how many bytes of them, are worth advice."""

PLACE_MIC: Final = r"(?: \((?:[^\n]*: )?([^:\n]*):(\d+)\))?"
PLACE_GPU: Final = r"(?: at ([^:\n]*):(\d+))?"
"""Where messages name a line: a file's name may have blanks and parentheses, a library's stands before it."""
REGION_MIC: Final = rf"region ([^\n]+?)(?:, in [^\n]+?)?{PLACE_MIC}: "
"""Names of C++ may have blanks, too: `f<long, unsigned long>._omp_fn.0`."""
FAULT_MIC: Final = re.compile(rf"{REGION_MIC}(signal \d+ \([^)]*\)(?:: (.*))?)")
ADDRESS: Final = re.compile(r"address (0x[0-9a-f]+) (.*)", re.DOTALL)
FAULT_GPU: Final = re.compile(
    rf"illegal address (0x[0-9a-f]+) (\w+) \(\d+ bytes\) in '[^']+'{PLACE_GPU}"
    r".*?, kernel '([^']+)'.*?; (.*)",
    re.DOTALL,
)
ENDED_GPU: Final = re.compile(rf"launch failed: (.+?) in '[^']+'{PLACE_GPU}.*?, kernel '([^']+)', block", re.DOTALL)
NEWLIB: Final = "/newlib/libc/"
"""What the path of a source of the device's C library has."""
READ_GPU: Final = re.compile(
    r"device memory at (0x[0-9a-f]+) read \((\d+) bytes\) that (was never written|the host has changed [a-z ]*) in "
    rf"'[^']+'{PLACE_GPU}.*?, kernel '([^']+)'",
    re.DOTALL,
)
READ_MIC: Final = re.compile(rf"{REGION_MIC}address (0x[0-9a-f]+) is read, which (nothing|the host)")
RACE_MIC: Final = re.compile(
    rf"{REGION_MIC}address (0x[0-9a-f]+) is (read|written), "
    rf"which another thread has (read|written){PLACE_MIC}, and nothing"
)
RACE_GPU: Final = re.compile(
    r"race on \w+ memory at (0x[0-9a-f]+) \(\d+ bytes\): (read|written|updated atomically) in '[^']+'"
    rf"{PLACE_GPU}.*?, and (read|written|updated atomically) in '[^']+'{PLACE_GPU}.*?"
    r"kernel '([^']+)'",
    re.DOTALL,
)
BEYOND: Final = re.compile(
    r"(?:is )?(\d+) bytes (past the end of|before) the (\d+) bytes that are mapped from the host's (0x[0-9a-f]+)"
)
PRESENT: Final = re.compile(
    r"present clause: (?:!acc_is_present|not present[a-z ]*) \((?:addr: )?(0x[0-9a-f]+), (?:size: )?(\d+)"
)


@dataclass(slots=True)
class Copies:
    """Copies of one object to, or from, one device that changed nothing."""

    place: Place
    name: str
    size: int
    needless: int = 0
    last: int = -1


def where_beyond(distance: int, before: bool) -> str:
    """Where an address is that a region should not use."""
    if before:
        return f"{amount(distance)} before its begin"
    return f"{amount(distance)} behind its end" if distance else "the byte behind its end"


def overlap(distance: int) -> str:
    """Where a section begins in what is mapped, or the other way round."""
    if distance > 0:
        return f", from its byte {distance} on"
    return f", from byte {-distance} of these on" if distance else ""


def last_at(known: list[tuple[int, Mapping]], device: int, address: int) -> Mapping | None:
    """The last of what was on devices at an address."""
    for number, mapping in reversed(known):
        if number == device and mapping.address <= address < mapping.address + max(mapping.size, 1):
            return mapping
    return None


class Analysis:
    """One pass over a log."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.names = Names(log)
        self.state = State(self.names, self._touching, self._on_device_range)
        self.found: dict[tuple[str, str, str, int], Finding] = {}
        self.live: dict[tuple[int, int], Mapping] = {}
        self.gone: list[tuple[int, Mapping]] = []
        self.copies: dict[tuple[int, int, int, bool], Copies] = {}
        self.frame: Frame | None = None
        self.thread = 0  # whose record it is
        self.launched: dict[tuple[int, int], Event] = {}  # by device and thread, the last launch last
        self.entered: dict[int, Event] = {}  # by thread
        self.failed: dict[int, Event] = {}  # by thread
        self.marked: set[tuple[int, int]] = set()
        self.variables: list[tuple[int, Mapping]] = []  # of images, which the host has changed
        self.acc = False
        self.blocks = Blocks(self.names)
        self.queued: dict[tuple[int, int, int], tuple[str, Place]] = {}
        self.made: dict[int, list[Mapping]] = {}  # by thread, since its last launch

    def run(self) -> list[Finding]:
        """The findings, errors first, in the order in which they were met."""
        steps = {
            Op.ENTRY: self._entry,
            Op.REMOVE: self._remove,
            Op.ABSENT: self._absent,
            Op.EXIT: self.names.of,
            Op.UPDATE: self.names.of,
            Op.COPY: self._copy,
            Op.LAUNCH: self._launch,
            Op.TEXT: self._text,
            Op.LEFT: self._left,
            Op.STALE: self._stale,
            Op.FLIGHT: self._flight,
            Op.QUEUED: self._queued,
            Op.BLOCK: self._past_block,
            Op.HOST_FAULT: self._host_fault,
            Op.ALLOC: self._alloc,
            Op.FREED: self._freed,
            Op.COPIED: self._copied,
        }
        for event in self.log.events:
            step = steps.get(Op(event.op))
            if step is not None:
                self.frame = event.frame
                self.thread = event.thread
                self.acc = is_openacc(event.what) if event.what else self.acc
                step(event)
        self._advise()
        return sorted(self.found.values(), key=lambda f: f.severity == ADVICE)

    def add(self, finding: Finding) -> None:
        """Note a finding, or that it was met again."""
        before = self.found.setdefault(finding.key(), finding)
        if before is not finding:
            before.count += 1

    def place(self, event: Event) -> Place:
        """Where in the program a record's construct is."""
        return self.names.place(event.frame.pc - 1) if event.frame is not None else Place()

    # --- what happens -----------------------------------------------------------------------------------------------

    def _entry(self, event: Event) -> None:
        if event.flags & Entry.ATTACH:
            self._attach(event)
        self.entered[event.thread] = event
        if event.flags & Entry.NEW:
            self.names.elements.pop(event.start, None)
        name = self.names.of(event)
        if event.flags & Entry.NEW and not event.flags & Entry.ATTACH and event.kind not in POINTERS:
            what = event.what or "target"
            mapping = self.live[event.device, event.start] = Mapping(
                event.start,
                event.size,
                event.address,
                name,
                self.place(event),
                what,
                event.frame,
                item=self.names.item(event, name),
            )
            self.made.setdefault(event.thread, []).append(mapping)

    def _attach(self, event: Event) -> None:
        """A pointer that a construct attaches stands behind what it points to."""
        item = self.entered.get(event.thread)
        mapping = self.live.get((event.device, item.start)) if item is not None else None
        if item is None or mapping is None:
            return
        name = self.names.attached(event, item)
        if name:
            mapping.name = name
            mapping.item = self.names.item(item, name)

    def _remove(self, event: Event) -> None:
        mapping = self.live.pop((event.device, event.start), None)
        if mapping is not None:
            mapping.gone = self.place(event)
            mapping.gone_by = f"the end of {event.what or 'target'}" if "exit" not in event.what else event.what
            self.gone.append((event.device, mapping))

    def _launch(self, event: Event) -> None:
        self.launched.pop((event.device, event.thread), None)
        self.launched[event.device, event.thread] = event
        for mapping in self.made.pop(event.thread, []):
            mapping.region = event.where

    def _absent(self, event: Event) -> None:
        if event.kind == FAILED:
            self.failed[event.thread] = event
            return
        if event.start == 0 or event.size == 0 or event.kind in POINTERS:
            return  # nothing is there: at address 0 a Fortran argument that is absent
        mapping = self._touching(event.device, event.start, event.size)
        if mapping is not None and (
            event.start < mapping.start or event.size > mapping.start + mapping.size - event.start
        ):
            self._beyond_mapped(event, event.start, event.size, mapping.start, mapping.size)
            return
        name = self.names.of(event)
        what = event.what.removeprefix("target ")
        finding = Finding(
            "not-present",
            self.place(event),
            f"{what} of {name or 'memory'} ({amount(event.size)}), which is not mapped to device {event.device}",
            event.device,
            variable=name,
            start=event.start,
            size=event.size,
        )
        gone = self._was_mapped(event.device, event.start)
        target = self._pointed_to(event, event.start) if event.size == WORD else None
        if target is not None and target.item.endswith("]"):
            finding.message += f"; the {amount(target.size)} that it points to are"
            finding.notes += self._history(target)
            finding.mend = f"name the section, {target.item}: {name} alone is the pointer"
        elif gone is not None:
            finding.notes += self._history(gone)
            finding.mend = f"remove this {what}, or the {gone.gone_by} before it"
        elif "update" in what:
            finding.mend = mend("not-present", self.names.item(event, name) or "it", finding.place.file, self.acc)
        else:
            finding.mend = f"remove {name or 'it'} from this {what}, or add the enter data that is missing"
        self.add(finding)

    def _pointed_to(self, event: Event, start: int) -> Mapping | None:
        """What the program's pointer at an address points to, if that is mapped."""
        behind = self.names.word(start, event.frame) if self.names.is_pointer(start, event.frame) else None
        return self._touching(event.device, behind, 1) if behind else None

    def _left(self, event: Event) -> None:
        mapping = self.live.get((event.device, event.start))
        if mapping is None:
            return
        name = mapping.name or self.names.of(event)
        again = f", {event.count} times" if event.count > 1 else ""
        self.add(
            Finding(
                "still-mapped",
                mapping.place,
                f"{name or 'memory'} ({amount(event.size)}) is still mapped to device {event.device} when the program "
                f"ends{again}",
                event.device,
                variable=name,
                start=event.start,
                size=event.size,
                mend=f"an exit data for {name or 'it'} to each enter data",
            )
        )

    def _copy(self, event: Event) -> None:
        to = bool(event.flags & Copy.TO_DEVICE)
        key = event.device, event.start, event.size, to
        copies = self.copies.get(key)
        if copies is None:
            place = self.place(event)
            copies = self.copies[key] = Copies(place, self.names.known.get(event.start, ""), event.size)
        if copies.last == event.count if to else event.flags & Copy.SAME:
            copies.needless += 1
        copies.last = event.count

    def _advise(self) -> None:
        for (device, start, size, to), copies in self.copies.items():
            if copies.needless < OFTEN or copies.needless * size < WORTH:
                continue
            name = copies.name or self.names.known.get(start, "")
            way = "to" if to else "from"
            self.add(
                Finding(
                    "redundant",
                    self._mapped_at(device, start) or copies.place,
                    f"{name or 'memory'} ({amount(size)}) was copied {way} device {device} {copies.needless} times "
                    "with the contents that it had there already",
                    device,
                    variable=name,
                    start=start,
                    size=size,
                    severity=ADVICE,
                    mend=mend("redundant-to" if to else "redundant-from", name, copies.place.file, self.acc),
                )
            )

    # --- what the program was told ------------------------------------------------------------------------------------

    def _text(self, event: Event) -> None:
        text = event.payload.decode("utf-8", "replace").strip()
        if match := FAULT_MIC.search(text):
            region, file, line, signal, why = match.groups()
            region, place = demangled(region), Place(file or "", int(line or 0))
            if fault := ADDRESS.fullmatch(why or ""):
                self._fault(region, place, int(fault[1], 16), fault[2])
            else:
                self._ended(region, place, why if why and why.startswith("address ") else signal)
        elif match := FAULT_GPU.search(text):
            address, _, file, line, region, why = match.groups()
            self._fault(gpu_name(region), gpu_place(file, line), int(address, 16), why)
        elif match := ENDED_GPU.search(text):
            why, file, line, region = match.groups()
            library = file is not None and NEWLIB in file
            self._ended(gpu_name(region), Place() if library else gpu_place(file, line), why)
        elif match := READ_MIC.search(text):
            region, file, line, address, who = match.groups()
            place = Place(file or "", int(line or 0))
            self._read_doubtful(demangled(region), place, int(address, 16), 1, who == "the host")
        elif match := RACE_MIC.search(text):
            region, file, line, address, now, before, other, at = match.groups()
            places = Place(file or "", int(line or 0)), Place(other or "", int(at or 0))
            self._race(demangled(region), int(address, 16), (now, before), places)
        elif (queues := stream_race(text)) is not None:
            device, _ = self.launch_of()
            finding = stream_finding(device, self._on_device(device, queues[0]), queues, self.acc)
            self.found.setdefault(finding.key(), finding)
        elif match := RACE_GPU.search(text):
            address, before, other, at, now, file, line, region = match.groups()
            places = gpu_place(file, line), gpu_place(other, at)
            self._race(gpu_name(region), int(address, 16), (now, before), places)
        elif match := READ_GPU.search(text):
            address, size, what, file, line, region = match.groups()
            place, changed = gpu_place(file, line), what.startswith("the host")
            self._read_doubtful(gpu_name(region), place, int(address, 16), int(size), changed)
        elif event.thread in self.failed and text.startswith("libgomp: "):
            self._failure(self.failed.pop(event.thread), text.removeprefix("libgomp: "))

    def _fault(self, region: str, place: Place, address: int, why: str) -> None:
        device, launch = self.launch_of()
        self.frame = launch.frame if launch is not None else self.frame
        directive = self.place(launch) if launch is not None else Place()
        if match := BEYOND.search(why):
            self._beyond(region, place, device, directive, match)
            return
        if "freed block" in why and (block := self.blocks.at(device, address)) is not None:
            finding = self.blocks.used_freed(region, place, device, block)
            finding.notes.append(Note(directive, f"region {region} begins here"))
            self.add(finding)
            return
        on_host = "is the host's" in why or "not device memory" in why
        gone = self._was_mapped(device, address) if on_host else self._was_on_device(device, address)
        name = self.names.at(address, 1, self.frame) if on_host else ""
        if gone is not None:
            name = gone.name or name
            finding = Finding(
                "unmapped-since",
                place,
                f"{name or 'memory'} is used in region {region} on device {device}, but it is no longer mapped there",
                device,
                region,
                name,
                gone.start,
                gone.size,
                mend=f"remove it after the region, or map {name or 'it'} again at the region's directive",
            )
            finding.notes += self._history(gone)
        elif on_host and (mapping := self._touching(device, address, 1)) is not None:
            name = mapping.name or name
            finding = Finding(
                "unmapped",
                place,
                f"{name or 'memory'} is mapped to device {device}, but region {region} uses its address on the host",
                device,
                region,
                name,
                address,
                mend=mend("unnamed", mapping.item or name or "it", place.file, self.acc),
            )
            finding.notes.append(made_here(mapping))
        elif on_host:
            finding = Finding(
                "unmapped",
                place,
                f"{name or f'memory at {address:#x}'} is used in region {region} on device {device}, but it is not "
                "mapped there",
                device,
                region,
                name,
                address,
                mend=mend("unmapped", name or "it", place.file, self.acc),
            )
            finding.notes += self._nearest(device, address)
        else:
            colon = "" if why.startswith("is ") else ":"
            self._ended(region, place, f"address {address:#x}{colon} {why}")
            return
        finding.notes.append(Note(directive, f"region {region} begins here"))
        self.add(finding)

    def _ended(self, region: str, place: Place, why: str) -> None:
        """A region has ended by something else than what is mapped."""
        device, launch = self.launch_of()
        directive = self.place(launch) if launch is not None else Place()
        message = f"region {region} on device {device}: {why}"
        finding = Finding("fault", place if place.line else directive, message, device, region)
        if place.line:
            finding.notes.append(Note(directive, f"region {region} begins here"))
        self.add(finding)

    def _beyond(self, region: str, place: Place, device: int, directive: Place, match: re.Match[str]) -> None:
        distance, side, size, host = int(match[1]), match[2], int(match[3]), int(match[4], 16)
        mapping = self.live.get((device, host))
        name = mapping.name if mapping is not None else self.names.at(host, size, self.frame)
        finding = Finding(
            "past-section",
            place,
            f"region {region} on device {device} goes beyond what is mapped of {name or 'memory'} ({amount(size)}), "
            f"to {where_beyond(distance, side == 'before')}",
            device,
            region,
            name,
            host,
            size,
            mend=f"map a larger section of {name or 'it'}, or check the index",
        )
        if mapping is not None:
            finding.notes.append(made_here(mapping))
        finding.notes.append(Note(directive, f"region {region} begins here"))
        self.add(finding)

    def _stale(self, event: Event) -> None:
        if event.kind == 0:
            self.marked.add((event.device, event.start))
            if (event.device, event.start) not in self.live:
                name = self.names.of(event)
                self.variables.append(
                    (event.device, Mapping(event.start, event.size, event.address, name, Place(), "", item=name))
                )
            return
        place = self.names.place(event.where)
        gone = self._was_mapped(event.device, event.start) if event.flags & Stale.GONE else None
        mapping = gone or self.live.get((event.device, event.start))
        name = mapping.name if mapping is not None else self.names.of(event)
        unset = bool(event.flags & Stale.UNSET)
        if unset:
            why = f"which was copied from memory of device {event.device} that nothing had written"
        else:
            why = f"which device {event.device} has changed, and which has not been copied back since"
        finding = Finding(
            "unset-host" if unset else "stale-host",
            place if place.line or mapping is None else mapping.gone or mapping.place,
            f"the host reads {name or 'memory'} (byte {event.count} of {event.size}), {why}",
            event.device,
            variable=name,
            start=event.start,
            size=event.size,
        )
        item = mapping.item if mapping is not None else name
        kind = finding.kind if unset or gone is None else "stale-host-gone"
        finding.mend = mend(kind, item, finding.place.file, self.acc)
        launch = next((e for (d, _), e in reversed(self.launched.items()) if d == event.device), None)
        if gone is not None:
            finding.notes += self._history(gone)
        elif mapping is not None:
            finding.notes.append(made_here(mapping))
        if launch is not None:
            finding.notes.append(Note(self.place(launch), f"the last region on device {event.device}"))
        self.add(finding)

    def _past_block(self, event: Event) -> None:
        """A construct maps, and copies, more than malloc has given there."""
        before = event.address
        name = self.names.of(replace(event, start=event.start + before, size=event.size - before))
        if before:
            where, mended = f"begins {amount(before)} later", f"map {name or 'it'} from its first element on"
        else:
            where = f"ends after {event.count}"
            mended = f"map no more of {name or 'it'} than was allocated, or allocate more"
        finding = Finding(
            "past-block",
            self.place(event),
            f"{event.what or 'target'} is to map {amount(event.size)} of {name or 'memory'}, "
            f"whose block of the heap {where}",
            event.device,
            variable=name,
            start=event.start,
            size=event.size,
            mend=mended,
        )
        self.add(finding)

    def _queued(self, event: Event) -> None:
        """A copy was put into a queue."""
        mapping = self.live.get((event.device, event.start))
        name = mapping.name if mapping is not None else self.names.of(event)
        self.queued[event.device, event.start, event.size] = name, self.place(event)

    def _flight_queued(self, event: Event) -> None:
        """The host has used what a queue copies, and has not waited for that."""
        name, put = self.queued.get((event.device, event.start, event.size), ("", Place()))
        used, way = "written" if event.kind else "read", "from" if event.flags & Flight.BACK else "to"
        finding = Finding(
            "race",
            self.names.place(event.where),
            f"{name or 'memory'} (byte {event.count} of {event.size}) is {used} by the host, which has not waited for "
            f"the queue that copies it {way} device {event.device}",
            event.device,
            variable=name,
            start=event.start,
            size=event.size,
        )
        finding.mend = mend("race-host", name, finding.place.file, True)
        finding.notes.append(Note(put, "it is put into the queue here, with async"))
        self.add(finding)

    def _flight(self, event: Event) -> None:
        """The host has used what a region that ran beside it mapped."""
        if event.flags & Flight.QUEUED:
            self._flight_queued(event)
            return
        mapping = self.live.get((event.device, event.start)) or self._was_mapped(event.device, event.start)
        name = mapping.name if mapping is not None else self.names.of(event)
        done, begins = "written" if event.kind else "read", self.place(event) if mapping is None else mapping.place
        function = demangled(self.names.function(mapping.region)) if mapping is not None else ""
        region = f"region {function}" if function else "a region"
        finding = Finding(
            "race",
            self.names.place(event.where) if event.where else begins,
            f"{name or 'memory'} (byte {event.count} of {event.size}) is {done} by the host, which has not waited for "
            f"{region} on device {event.device} that maps it",
            event.device,
            function,
            name,
            event.start,
            event.size,
        )
        mended = "race-host-task" if event.flags & Flight.DEPEND else "race-host"
        finding.mend = mend(mended, name, finding.place.file, self.acc)
        finding.notes.append(Note(begins, f"{region} begins here, with nowait, and maps {name or 'it'}"))
        self.add(finding)

    def _read_doubtful(self, region: str, place: Place, address: int, size: int, changed: bool) -> None:
        """A region has read memory of the device that nothing wrote, or of which the host has newer contents."""
        device, _ = self.launch_of()
        mapping = self._on_device(device, address) or self._variable_at(device, address)
        if changed or (mapping is not None and (device, mapping.start) in self.marked):
            self._read_stale(region, place, address, mapping)
        else:
            self._read_unset(region, place, address, size)

    def _read_stale(self, region: str, place: Place, address: int, mapping: Mapping | None) -> None:
        device, launch = self.launch_of()
        name = mapping.name if mapping is not None else ""
        part = f" (byte {address - mapping.address} of {mapping.size})" if mapping is not None else ""
        finding = Finding(
            "stale-device",
            place,
            f"region {region} on device {device} reads {name or 'memory'}{part}, which the host has changed since it "
            "was copied there",
            device,
            region,
            name,
            mapping.start if mapping is not None else 0,
            mapping.size if mapping is not None else 0,
            mend=mend("stale-device", mapping.item if mapping is not None else "", place.file, self.acc),
        )
        if mapping is not None and mapping.what:
            finding.notes.append(made_here(mapping))
        finding.notes.append(
            Note(self.place(launch) if launch is not None else Place(), f"region {region} begins here")
        )
        self.add(finding)

    def _read_unset(self, region: str, place: Place, address: int, size: int) -> None:
        """A region has read memory of the device that nothing wrote."""
        device, launch = self.launch_of()
        directive = self.place(launch) if launch is not None else Place()
        mapping = self._on_device(device, address)
        name = mapping.name if mapping is not None else ""
        finding = Finding(
            "unset",
            place,
            f"region {region} on device {device} reads {name or 'device memory'}, which nothing has written there"
            + (f" (byte {address - mapping.address} of {mapping.size})" if mapping is not None and name else ""),
            device,
            region,
            name,
            mapping.start if mapping is not None else 0,
            size,
            mend=mend("unset-associated" if is_associated(mapping) else "unset", mapping.item, place.file, self.acc)
            if mapping and name
            else "write it first",
        )
        if mapping is not None:
            finding.notes.append(made_here(mapping))
        finding.notes.append(Note(directive, f"region {region} begins here"))
        self.add(finding)

    def _race(self, region: str, address: int, done: tuple[str, str], places: tuple[Place, Place]) -> None:
        """Two threads of a region have used the same memory; ``done``, ``places``: of the later one, then the other."""
        device, launch = self.launch_of()
        mapping = self._on_device(device, address)
        name = mapping.name if mapping is not None else ""
        part = f" (byte {address - mapping.address} of {mapping.size})" if mapping is not None else ""
        # Which is seen first is chance: a write is told of, then the other one.
        (verb, place), (other, there) = sorted(
            zip(done, places, strict=True), key=lambda a: (a[0] == "read", str(a[1]))
        )
        finding = Finding(
            "race",
            place,
            f"{name or 'memory'}{part} is {verb} in region {region} on device {device}, and {other} by another thread "
            "of it, and nothing says which is first",
            device,
            region,
            name,
            mapping.start if mapping is not None else 0,
            mapping.size if mapping is not None else 0,
            mend=mend("race", name, place.file, self.acc),
        )
        finding.notes.append(Note(there, f"it is {other} here by the other thread"))
        finding.notes.append(
            Note(self.place(launch) if launch is not None else Place(), f"region {region} begins here")
        )
        self.found.setdefault(finding.key(), finding)  # how often is not known

    def _failure(self, event: Event, text: str) -> None:
        if (absent := PRESENT.search(text)) is not None:
            self._not_present(event, int(absent[1], 16), int(absent[2]))
            return
        if (finding := routine_finding(text, event, self.place(event), self.state)) is not None:
            gone = self._was_mapped(event.device, finding.start) if finding.kind == "not-present" else None
            finding.notes += self._history(gone) if gone is not None else []
            self.add(finding)
            return
        beyond = refused(text)
        if beyond is None:
            copy = refused_copy(text, event)
            finding = copied_finding(copy, self.place(event), self.blocks, self.state) if copy is not None else None
            if finding is not None and finding.variable:
                self.add(finding)
                return
            self.add(failed_finding(text, event, self.place(event), self.state))
            return
        start, size = beyond.start, beyond.size
        mapping = self._touching(event.device, start, size) if not beyond.old_size else None
        if not beyond.old_size and mapping is None:
            self._absent(replace(event, kind=gomp.GOMP_MAP_TO, start=start, size=size))
            return
        old, old_size = (beyond.old, beyond.old_size) if mapping is None else (mapping.start, mapping.size)
        self._beyond_mapped(event, start, size, old, old_size)

    def _beyond_mapped(self, event: Event, start: int, size: int, old: int, old_size: int) -> None:
        """A construct is to do more with an object than is mapped of it."""
        mapping = self.live.get((event.device, old))
        name = mapping.name if mapping is not None else self.names.at(start, size, event.frame)
        verb, mended = in_words(event.what)
        finding = Finding(
            "extension",
            self.place(event),
            f"{event.what or 'target'} is to {verb} {amount(size)} of {name or 'memory'}, of which {amount(old_size)} "
            f"are mapped to device {event.device}" + (" already" if verb == "map" else "") + overlap(start - old),
            event.device,
            variable=name,
            start=start,
            size=size,
            mend=mended.format(name or "it"),
        )
        if mapping is not None:
            finding.notes.append(made_here(mapping))
        self.add(finding)

    def _not_present(self, event: Event, start: int, size: int) -> None:
        """A present clause, and what it names is not mapped."""
        name = self.names.at(start, size, event.frame)
        finding = Finding(
            "not-present",
            self.place(event),
            f"present clause for {name or 'memory'} ({amount(size)}), which is not mapped to device {event.device}",
            event.device,
            variable=name,
            start=start,
            size=size,
        )
        gone = self._was_mapped(event.device, start)
        finding.notes += self._history(gone) if gone is not None else self._nearest(event.device, start)
        finding.mend = mend("not-present", name or "it", finding.place.file, self.acc)
        mapping = self._pointed_to(event, start)
        if mapping is not None and mapping.item:
            finding.notes = [Note(mapping.place, f"what it points to, {mapping.item}, mapped here ({mapping.what})")]
            finding.mend = f"name {mapping.item} in that clause"
        self.add(finding)

    # --- device memory that the program itself asks for -------------------------------------------------------------

    def _alloc(self, event: Event) -> None:
        self.blocks.alloc(event, self.place(event))

    def _freed(self, event: Event) -> None:
        if event.kind == FAILED:
            self.add(self.blocks.not_freed(event, self.place(event), self._on_device(event.device, event.address)))
        else:
            self.blocks.freed(event, self.place(event))

    def _copied(self, event: Event) -> None:
        finding = copied_finding(event, self.place(event), self.blocks, self.state)
        if finding is not None:
            self.add(finding)

    def _host_fault(self, event: Event) -> None:
        """The program ends by a fault; of interest is one at an address of a device's, or where free looks."""
        known = [*self.blocks.live.items(), *self.live.items()]
        frame = self.log.events[-1].frame or self.frame
        for (device, _), block in known:
            if block.address - HEAD <= event.start < block.address + block.size:
                self.add(self.blocks.used_by_host(event, device, block, frame, self.acc))
                return

    # --- what is mapped -----------------------------------------------------------------------------------------------

    def launch_of(self) -> tuple[int, Event | None]:
        """The region that the thread has launched last, and its device; of a driver's own thread any thread's last."""
        found = next(((d, e) for (d, thread), e in reversed(self.launched.items()) if thread == self.thread), None)
        if found is None and self.launched:
            (device, _), event = next(reversed(self.launched.items()))
            return device, event
        return found or (0, None)

    def _was_mapped(self, device: int, address: int) -> Mapping | None:
        """What was mapped last at a host address, and is no longer."""
        for number, mapping in reversed(self.gone):
            if number == device and mapping.start <= address < mapping.start + max(mapping.size, 1):
                return mapping
        return None

    def _touching(self, device: int, start: int, size: int) -> Mapping | None:
        """What is mapped and has bytes of a range of the host."""
        for (number, _), mapping in self.live.items():
            if number == device and mapping.start < start + size and start < mapping.start + mapping.size:
                return mapping
        return None

    def _was_on_device(self, device: int, address: int) -> Mapping | None:
        return last_at(self.gone, device, address)

    def _on_device(self, device: int, address: int) -> Mapping | None:
        return self._on_device_range(device, address, 1)

    def _on_device_range(self, device: int, address: int, size: int) -> Mapping | None:
        """What is mapped to bytes of a range of the device."""
        for (number, _), mapping in self.live.items():
            if (
                number == device
                and mapping.address < address + size
                and address < mapping.address + max(mapping.size, 1)
            ):
                return mapping
        return None

    def _variable_at(self, device: int, address: int) -> Mapping | None:
        """The variable of an image at an address of the device, if the host has changed it."""
        return last_at(self.variables, device, address)

    def _mapped_at(self, device: int, start: int) -> Place | None:
        """Where a range was mapped first."""
        for number, mapping in self.gone:
            if number == device and mapping.start == start:
                return mapping.place
        live = self.live.get((device, start))
        return live.place if live is not None else None

    def _nearest(self, device: int, address: int) -> list[Note]:
        near = [m for (number, _), m in self.live.items() if number == device]
        if not near:
            return []
        best = min(near, key=lambda m: min(abs(address - m.start), abs(address - m.start - m.size)))
        return [Note(best.place, f"nearest mapping: {best}, mapped here ({best.what})")]

    def _history(self, gone: Mapping) -> list[Note]:
        notes = [made_here(gone)]
        if gone.gone is not None:
            notes.append(Note(gone.gone, f"removed here ({gone.gone_by})"))
        return notes


def gpu_place(file: str | None, line: str | None) -> Place:
    """A line of source as the driver tells it, which has the whole path."""
    return Place(os.path.basename(file or ""), int(line or 0))


def analyse(log: Log) -> list[Finding]:
    """The findings of a run."""
    return Analysis(log).run()
