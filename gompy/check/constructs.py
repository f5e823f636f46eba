"""What constructs and routines do wrong: what is not mapped, or not as much of it, or still is at the end."""

from __future__ import annotations

import re

from gompy.abi import gomp
from gompy.check.associated import routine_finding
from gompy.check.copied import copied_finding, refused_copy
from gompy.check.failed import failed_finding
from gompy.check.findings import Finding, Note
from gompy.check.log import Event
from gompy.check.mapped import POINTERS, amount, made_here
from gompy.check.mends import mend
from gompy.check.names import WORD
from gompy.check.refused import in_words, refused
from gompy.check.situation import Situation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import replace
    from typing import Final
else:
    from gompy.records import replace

PRESENT: Final = r"present clause: (?:!acc_is_present|not present[a-z ]*) \((?:addr: )?(0x[0-9a-f]+), (?:size: )?(\d+)"


def overlap(distance: int) -> str:
    """Where a section begins in what is mapped, or the other way round."""
    if distance > 0:
        return f", from its byte {distance} on"
    return f", from byte {-distance} of these on" if distance else ""


def absent(now: Situation, event: Event) -> None:
    """A construct, or routine, is about what is not mapped."""
    if event.start == 0 or event.size == 0 or event.kind in POINTERS:
        return  # nothing is there: at address 0 a Fortran argument that is absent
    mapping = now.touching(event.device, event.start, event.size)
    if mapping is not None and (event.start < mapping.start or event.size > mapping.start + mapping.size - event.start):
        _beyond_mapped(now, event, event.start, event.size, mapping.start, mapping.size)
        return
    name = now.names.of(event)
    what = (event.what or "target").removeprefix("target ")
    said = f"{what} of {name or 'memory'} ({amount(event.size)}), which is not mapped to device {event.device}"
    finding = now.about(event, "not-present", now.place(event), said, name)
    gone = now.was_mapped(event.device, event.start)
    target = now.pointed_to(event, event.start) if event.size == WORD else None
    if target is not None and target.item.endswith("]"):
        finding.message += f"; the {amount(target.size)} that it points to are"
        finding.notes += now.history(target)
        finding.mend = f"name the section, {target.item}: {name} alone is the pointer"
    elif gone is not None:
        finding.notes += now.history(gone)
        finding.mend = _of_removed(what, gone.gone_by)
    if not finding.mend and "update" in what:
        finding.mend = mend("not-present", now.names.item(event, name) or "it", finding.place.file, now.acc)
    elif not finding.mend:
        finding.mend = f"remove {name or 'it'} from this {what}, or add the enter data that is missing"
    now.add(finding)


def _of_removed(what: str, remover: str) -> str:
    """What is to be done about a construct behind the one that has removed the mapping; empty: as if none had been."""
    if not remover.startswith("the end of "):
        return f"remove this {what}, or the {remover} before it"
    if not remover.endswith(" data"):
        return ""  # a region's own mapping was never meant to last
    return f"move this {what} before {remover}" if "update" in what else f"remove this {what}: {remover} is before it"


def failure(now: Situation, event: Event, text: str) -> None:
    """A construct cannot be mapped, or a routine is refused."""
    if (missing := re.search(PRESENT, text)) is not None:
        _not_present(now, event, int(missing[1], 16), int(missing[2]))
        return
    if (finding := routine_finding(text, event, now.place(event), now.state)) is not None:
        gone = now.was_mapped(event.device, finding.start) if finding.kind == "not-present" else None
        finding.notes += now.history(gone) if gone is not None else []
        now.add(finding)
        return
    beyond = refused(text)
    if beyond is None:
        copy = refused_copy(text, event)
        finding = copied_finding(copy, now.place(event), now.blocks, now.state) if copy is not None else None
        if finding is not None and finding.variable:
            now.add(finding)
            return
        now.add(failed_finding(text, event, now.place(event), now.state))
        return
    start, size = beyond.start, beyond.size
    if beyond.old and not beyond.old_size:
        _around_pointer(now, event, start, size, beyond.old)
        return
    mapping = now.touching(event.device, start, size) if not beyond.old_size else None
    if not beyond.old_size and mapping is None:
        absent(now, replace(event, kind=gomp.GOMP_MAP_TO, start=start, size=size))
        return
    old, old_size = (beyond.old, beyond.old_size) if mapping is None else (mapping.start, mapping.size)
    _beyond_mapped(now, event, start, size, old, old_size)


def _beyond_mapped(now: Situation, event: Event, start: int, size: int, old: int, old_size: int) -> None:
    """A construct is to do more with an object than is mapped of it."""
    mapping = now.live.get((event.device, old))
    name = mapping.name if mapping is not None else now.names.at(start, size, event.frame)
    verb, mended = in_words(event.what)
    finding = Finding(
        "extension",
        now.place(event),
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
    now.add(finding)


def _around_pointer(now: Situation, event: Event, start: int, size: int, pointer: int) -> None:
    """A construct has mapped a pointer by itself before the object that it is a member of; its entry has no bytes."""
    name = now.names.at(start, size, event.frame)
    finding = Finding(
        "extension",
        now.place(event),
        f"{event.what or 'target'} is to map {amount(size)} of {name or 'memory'}, but has mapped the pointer at byte "
        f"{pointer - start} of these by itself before",
        event.device,
        variable=name,
        start=start,
        size=size,
        mend=f"map {name or 'it'} by an enter data, and what its pointers point to by the next one",
    )
    now.add(finding)


def _not_present(now: Situation, event: Event, start: int, size: int) -> None:
    """A present clause, and what it names is not mapped."""
    name = now.names.at(start, size, event.frame)
    said = f"present clause for {name or 'memory'} ({amount(size)}), which is not mapped to device {event.device}"
    finding = now.about(replace(event, start=start, size=size), "not-present", now.place(event), said, name)
    gone = now.was_mapped(event.device, start)
    finding.notes += now.history(gone) if gone is not None else now.nearest(event.device, start)
    finding.mend = mend("not-present", name or "it", finding.place.file, now.acc)
    mapping = now.pointed_to(event, start)
    if mapping is not None and mapping.item:
        finding.notes = [Note(mapping.place, f"what it points to, {mapping.item}, mapped here ({mapping.what})")]
        finding.mend = f"name {mapping.item} in that clause"
    now.add(finding)


def left(now: Situation, event: Event) -> None:
    """Something is mapped when the program ends."""
    mapping = now.live.get((event.device, event.start))
    if mapping is None or not mapping.kept:  # a region's own, which runs still: a handler or thread ends the program
        return
    name = mapping.name or now.names.of(event)
    again = f", {event.count} times" if event.count > 1 else ""
    device = event.device
    said = f"{name or 'memory'} ({amount(event.size)}) is still mapped to device {device} when the program ends{again}"
    finding = now.about(event, "still-mapped", mapping.place, said, name)
    finding.mend = f"an exit data for {name or 'it'} to each enter data"
    now.add(finding)


def past_block(now: Situation, event: Event) -> None:
    """A construct maps, and copies, more than malloc has given there."""
    before = event.address
    name = now.names.of(replace(event, start=event.start + before, size=event.size - before))
    if before:
        where, mended = f"begins {amount(before)} later", f"map {name or 'it'} from its first element on"
    else:
        where = f"ends after {event.count}"
        mended = f"map no more of {name or 'it'} than was allocated, or allocate more"
    size, what = amount(event.size), event.what or "target"
    said = f"{what} is to map {size} of {name or 'memory'}, whose block of the heap {where}"
    finding = now.about(event, "past-block", now.place(event), said, name)
    finding.mend = mended
    now.add(finding)
