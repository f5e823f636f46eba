"""What the host does wrong: it reads what is stale or unset, does not wait, or uses an address of a device."""

from __future__ import annotations

from gompy.abi.check_log import Flight, Stale
from gompy.check.findings import Note
from gompy.check.log import Event
from gompy.check.mapped import Mapping, made_here
from gompy.check.mends import mend
from gompy.check.names import HEAD, Place
from gompy.check.readable import demangled
from gompy.check.situation import Situation


def stale(now: Situation, event: Event) -> None:
    """The host reads what a region has changed, or what nothing had written; or it changes what a device has."""
    if event.kind == 0:
        now.marked.add((event.device, event.start))
        if (event.device, event.start) not in now.live:
            name = now.names.of(event)
            variable = Mapping(event.start, event.size, event.address, "", now.names)
            variable.name = variable.item = name
            now.variables.append((event.device, variable))
        return
    place = now.names.place(event.where)
    gone = now.was_mapped(event.device, event.start) if event.flags & Stale.GONE else None
    mapping = gone or now.live.get((event.device, event.start))
    name = mapping.name if mapping is not None else now.names.of(event)
    unset = bool(event.flags & Stale.UNSET)
    if unset:
        why = f"which was copied from memory of device {event.device} that nothing had written"
    else:
        why = f"which device {event.device} has changed, and which has not been copied back since"
    where = place if place.line or mapping is None else mapping.gone or mapping.place
    said = f"the host reads {name or 'memory'} (byte {event.count} of {event.size}), {why}"
    finding = now.about(event, "unset-host" if unset else "stale-host", where, said, name)
    item = mapping.item if mapping is not None else name
    kind = finding.kind if unset or gone is None else "stale-host-gone"
    finding.mend = mend(kind, item, finding.place.file, now.acc)
    launch = next((e for (d, _), e in reversed(now.launched.items()) if d == event.device), None)
    if gone is not None:
        finding.notes += now.history(gone)
    elif mapping is not None:
        finding.notes.append(made_here(mapping))
    if launch is not None:
        finding.notes.append(Note(now.place(launch), f"the last region on device {event.device}"))
    now.add(finding)


def queued(now: Situation, event: Event) -> None:
    """A copy was put into a queue."""
    mapping = now.live.get((event.device, event.start))
    name = mapping.name if mapping is not None else now.names.of(event)
    now.queued[event.device, event.start, event.size] = name, now.place(event)


def _flight_queued(now: Situation, event: Event) -> None:
    """The host has used what a queue copies, and has not waited for that."""
    name, put = now.queued.get((event.device, event.start, event.size), ("", Place()))
    used, way = "written" if event.kind else "read", "from" if event.flags & Flight.BACK else "to"
    said = (
        f"{name or 'memory'} (byte {event.count} of {event.size}) is {used} by the host, which has not waited for "
        f"the queue that copies it {way} device {event.device}"
    )
    finding = now.about(event, "race", now.names.place(event.where), said, name)
    finding.mend = mend("race-host", name, finding.place.file, True)
    finding.notes.append(Note(put, "it is put into the queue here, with async"))
    now.add(finding)


def flight(now: Situation, event: Event) -> None:
    """The host has used what a region that ran beside it mapped."""
    if event.flags & Flight.QUEUED:
        _flight_queued(now, event)
        return
    mapping = now.live.get((event.device, event.start)) or now.was_mapped(event.device, event.start)
    name = mapping.name if mapping is not None else now.names.of(event)
    done, begins = "written" if event.kind else "read", now.place(event) if mapping is None else mapping.place
    function = demangled(now.names.function(mapping.region)) if mapping is not None else ""
    region = f"region {function}" if function else "a region"
    said = (
        f"{name or 'memory'} (byte {event.count} of {event.size}) is {done} by the host, which has not waited for "
        f"{region} on device {event.device} that maps it"
    )
    finding = now.about(event, "race", now.names.place(event.where) if event.where else begins, said, name)
    finding.region = function
    mended = "race-host-task" if event.flags & Flight.DEPEND else "race-host"
    finding.mend = mend(mended, name, finding.place.file, now.acc)
    finding.notes.append(Note(begins, f"{region} begins here, with nowait, and maps {name or 'it'}"))
    now.add(finding)


def host_fault(now: Situation, event: Event) -> None:
    """The program ends by a fault; of interest is one at an address of a device's, or where free looks."""
    known = [*now.blocks.live.items(), *now.live.items()]
    frame = now.log.events[-1].frame or now.frame
    for (device, _), block in known:
        if block.address - HEAD <= event.start < block.address + block.size:
            now.add(now.blocks.used_by_host(event, device, block, frame, now.acc))
            return
