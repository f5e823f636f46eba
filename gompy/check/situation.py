"""What is so at a record of a log: what is mapped, and was; who has launched what; the findings so far."""

from __future__ import annotations

from gompy.check.associated import State
from gompy.check.blocks import Blocks
from gompy.check.findings import Finding, Note
from gompy.check.log import Event, Frame, Log
from gompy.check.mapped import Mapping, made_here
from gompy.check.names import Names, Place


def last_at(known: list[tuple[int, Mapping]], device: int, address: int) -> Mapping | None:
    """The last of what was on devices at an address."""
    for number, mapping in reversed(known):
        if number == device and mapping.address <= address < mapping.address + max(mapping.size, 1):
            return mapping
    return None


class Situation:
    """It is that of the record which is looked at; every finding comes to it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.names = Names(log)
        self.state = State(self.names, self.touching, self.on_device_range)
        self.blocks = Blocks(self.names)
        self.found: dict[tuple[str, str, str, int], Finding] = {}
        self.live: dict[tuple[int, int], Mapping] = {}
        self.gone: list[tuple[int, Mapping]] = []
        self.variables: list[tuple[int, Mapping]] = []  # of images, which the host has changed
        self.marked: set[tuple[int, int]] = set()
        self.frame: Frame | None = None
        self.thread = 0  # whose record it is
        self.acc = False
        self.launched: dict[tuple[int, int], Event] = {}  # by device and thread, the last launch last
        self.failed: dict[int, Event] = {}  # by thread
        self.queued: dict[tuple[int, int, int], tuple[str, Place]] = {}

    def add(self, finding: Finding) -> None:
        """Note a finding, or that it was met again."""
        before = self.found.setdefault(finding.key(), finding)
        if before is not finding:
            before.count += 1

    def place(self, event: Event) -> Place:
        """Where in the program a record's construct is."""
        return self.names.place_of(event)

    def launch_of(self) -> tuple[int, Event | None]:
        """The region that the thread has launched last, and its device; of a driver's own thread any thread's last."""
        found = next(((d, e) for (d, thread), e in reversed(self.launched.items()) if thread == self.thread), None)
        if found is None and self.launched:
            (device, _), event = next(reversed(self.launched.items()))
            return device, event
        return found or (0, None)

    def directive(self) -> Place:
        """Where that region's directive is."""
        _, launch = self.launch_of()
        return self.place(launch) if launch is not None else Place()

    def about(self, event: Event, kind: str, place: Place, message: str, name: str) -> Finding:
        """A finding of the memory that a record is about, whose name is known by now."""
        return Finding(kind, place, message, event.device, variable=name, start=event.start, size=event.size)

    def was_mapped(self, device: int, address: int) -> Mapping | None:
        """What was mapped last at a host address, and is no longer."""
        for number, mapping in reversed(self.gone):
            if number == device and mapping.start <= address < mapping.start + max(mapping.size, 1):
                return mapping
        return None

    def touching(self, device: int, start: int, size: int) -> Mapping | None:
        """What is mapped and has bytes of a range of the host."""
        for (number, _), mapping in self.live.items():
            if number == device and mapping.start < start + size and start < mapping.start + mapping.size:
                return mapping
        return None

    def was_on_device(self, device: int, address: int) -> Mapping | None:
        return last_at(self.gone, device, address)

    def on_device(self, device: int, address: int) -> Mapping | None:
        return self.on_device_range(device, address, 1)

    def on_device_range(self, device: int, address: int, size: int) -> Mapping | None:
        """What is mapped to bytes of a range of the device."""
        for (number, _), mapping in self.live.items():
            if (
                number == device
                and mapping.address < address + size
                and address < mapping.address + max(mapping.size, 1)
            ):
                return mapping
        return None

    def variable_at(self, device: int, address: int) -> Mapping | None:
        """The variable of an image at an address of the device, if the host has changed it."""
        return last_at(self.variables, device, address)

    def mapped_first(self, device: int, start: int) -> Mapping | None:
        """The first mapping that began at an address of the host."""
        for number, mapping in self.gone:
            if number == device and mapping.start == start:
                return mapping
        return self.live.get((device, start))

    def nearest(self, device: int, address: int) -> list[Note]:
        near = [m for (number, _), m in self.live.items() if number == device]
        if not near:
            return []
        best = min(near, key=lambda m: min(abs(address - m.start), abs(address - m.start - m.size)))
        return [Note(best.place, f"nearest mapping: {best}, mapped here ({best.what})")]

    def history(self, gone: Mapping) -> list[Note]:
        notes = [made_here(gone)]
        if gone.gone is not None:
            notes.append(Note(gone.gone, f"removed here ({gone.gone_by})"))
        return notes

    def pointed_to(self, event: Event, start: int) -> Mapping | None:
        """What the program's pointer at an address points to, if that is mapped."""
        behind = self.names.word(start, event.frame) if self.names.is_pointer(start, event.frame) else None
        return self.touching(event.device, behind, 1) if behind else None
