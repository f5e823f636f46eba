"""Device memory that the program itself asks for (omp_target_alloc, acc_malloc): used when freed, or by the host."""

from __future__ import annotations

from gompy.check.findings import Finding, Note
from gompy.check.log import Event, Frame
from gompy.check.mapped import Mapping, made_here
from gompy.check.mends import mend
from gompy.check.names import Names, Place


class Block(Mapping):
    """As a mapping it has no address of the host; while it lives, no name of its own."""

    __slots__ = ()

    def _called(self) -> str:
        """What had its address when it was freed."""
        return self.names.pointer_to(self.address, self.removed.frame) if self.removed is not None else ""


class Blocks:
    """Blocks by device and address."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.live: dict[tuple[int, int], Mapping] = {}
        self.gone: list[tuple[int, Mapping]] = []

    def alloc(self, event: Event) -> None:
        """One more."""
        self.live[event.device, event.address] = Block(0, event.size, event.address, event.what, self.names, event)

    def freed(self, event: Event) -> None:
        """One less; a variable has its address still."""
        block = self.live.pop((event.device, event.address), None)
        if block is not None:
            block.removed, block.gone_by = event, event.what
            self.gone.append((event.device, block))

    def pointer_to(self, block: Mapping, frame: Frame | None) -> str:
        """The variable of a frame, or of the program, that has a block's address."""
        return self.names.pointer_to(block.address, frame)

    def at(self, device: int, address: int) -> Mapping | None:
        """The block at an address that was freed last."""
        for number, block in reversed(self.gone):
            if number == device and block.address <= address < block.address + max(block.size, 1):
                return block
        return None

    def around(self, device: int, address: int) -> Mapping | None:
        """The block that an address lies in."""
        exact = self.live.get((device, address))
        if exact is not None and exact.size:
            return exact
        for (number, begin), block in self.live.items():
            if number == device and begin <= address < begin + block.size:
                return block
        return None

    def not_freed(self, event: Event, place: Place, mapped: Mapping | None) -> Finding:
        """A routine is to free what is no block, or no longer one."""
        gone = next((b for n, b in reversed(self.gone) if (n, b.address) == (event.device, event.address)), None)
        around = self.around(event.device, event.address)
        about = gone or mapped or around
        name = about.name if about is not None else self.names.at(event.address, 1, event.frame)
        if about is around is not None:
            name = self.pointer_to(around, event.frame)
        subject, given = name or "memory", "acc_malloc" if event.what.startswith("acc_") else "omp_target_alloc"
        if gone is not None:
            why, what = "which has been freed", f"free {name or 'it'} once"
        elif mapped is not None:
            why, what = "which a construct has mapped", f"end the mapping of {name or 'it'} (exit data)"
        elif around is not None:
            distance = event.address - around.address
            why, what = f"by an address within it, from its byte {distance} on", f"free where {name or 'it'} begins"
        elif self.names.at(event.address, 1, event.frame):
            why, what = "which is the host's", f"free what {given} has returned"
        else:
            why, what = "which is no block of the device", f"free what {given} has returned"
        text = f"{event.what} is to free {subject} on device {event.device}, {why}"
        finding = Finding("not-present", place, text, event.device, "", name, mend=what)
        if about is not None:
            finding.notes.append(made_here(about, subject))
        if gone is not None:
            finding.notes.append(Note(gone.gone or Place(), f"freed here ({gone.gone_by})"))
        return finding

    def used_freed(self, region: str, place: Place, device: int, block: Mapping) -> Finding:
        """A region uses it after that."""
        name = block.name or "device memory"
        finding = Finding(
            "unmapped-since",
            place,
            f"{name} is used in region {region} on device {device}, but it has been freed there",
            device,
            region,
            block.name,
            size=block.size,
            mend=f"free {block.name or 'it'} after the region",
        )
        finding.notes.append(made_here(block, name))
        finding.notes.append(Note(block.gone or Place(), f"freed here ({block.gone_by})"))
        return finding

    def used_by_host(self, event: Event, device: int, block: Mapping, frame: Frame | None, acc: bool) -> Finding:
        """The host uses a device's address, of a block or of what is mapped."""
        name = block.name if block.start else self.pointer_to(block, frame)
        at = event.start - block.address
        freed = at < 0  # malloc's head
        where = "" if freed else f" (byte {at} of {block.size})"
        finding = Finding(
            "fault",
            self.names.place(event.where),
            f"the host {'frees' if freed else 'uses'} {name or 'memory'}{where} at its address on device {device}",
            device,
            variable=name,
            start=event.start,
            size=block.size,
        )
        finding.notes.append(made_here(block, name))
        finding.mend = mend("mapped" if block.start else "allocated", name or "it", finding.place.file, acc)
        if freed and not block.start:
            routine = "acc_free" if block.what.startswith("acc_") else "omp_target_free"
            finding.mend = f"free {name or 'it'} by {routine}"
        return finding
