"""What regions do wrong: faults, what they read that is unset or stale, races between their threads."""

from __future__ import annotations

import re

from gompy.check.associated import is_associated
from gompy.check.findings import Finding, Note
from gompy.check.mapped import Mapping, amount, made_here
from gompy.check.mends import mend
from gompy.check.names import Place
from gompy.check.situation import Situation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BEYOND: Final = (
    r"(?:is )?(\d+) bytes (past the end of|before) the (\d+) bytes that are mapped from the host's (0x[0-9a-f]+)"
)


def where_beyond(distance: int, before: bool) -> str:
    """Where an address is that a region should not use."""
    if before:
        return f"{amount(distance)} before its begin"
    return f"{amount(distance)} behind its end" if distance else "the byte behind its end"


def begins(now: Situation, region: str) -> Note:
    """Where a region's directive is."""
    return Note(now.directive(), f"region {region} begins here")


def part_of(mapping: Mapping | None, address: int) -> str:
    """Which byte of an object is at an address of the device."""
    return f" (byte {address - mapping.address} of {mapping.size})" if mapping is not None else ""


def fault(now: Situation, region: str, place: Place, address: int, why: str) -> None:
    """A region has used an address that is not mapped to its device."""
    device, launch = now.launch_of()
    now.frame = launch.frame if launch is not None else now.frame
    if match := re.search(BEYOND, why):
        beyond(now, region, place, device, match)
        return
    if "freed block" in why and (block := now.blocks.at(device, address)) is not None:
        finding = now.blocks.used_freed(region, place, device, block)
        finding.notes.append(begins(now, region))
        now.add(finding)
        return
    on_host = "is the host's" in why or "not device memory" in why
    gone = now.was_mapped(device, address) if on_host else now.was_on_device(device, address)
    name = now.names.at(address, 1, now.frame) if on_host else ""
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
        finding.notes += now.history(gone)
    elif on_host and (mapping := now.touching(device, address, 1)) is not None:
        name = mapping.name or name
        finding = Finding(
            "unmapped",
            place,
            f"{name or 'memory'} is mapped to device {device}, but region {region} uses its address on the host",
            device,
            region,
            name,
            address,
            mend=mend("unnamed", mapping.item or name or "it", place.file, now.acc),
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
            mend=mend("unmapped", name or "it", place.file, now.acc),
        )
        finding.notes += now.nearest(device, address)
    else:
        colon = "" if why.startswith("is ") else ":"
        ended(now, region, place, f"address {address:#x}{colon} {why}")
        return
    finding.notes.append(begins(now, region))
    now.add(finding)


def ended(now: Situation, region: str, place: Place, why: str) -> None:
    """A region has ended by something else than what is mapped."""
    device, _ = now.launch_of()
    message = f"region {region} on device {device}: {why}"
    finding = Finding("fault", place if place.line else now.directive(), message, device, region)
    if place.line:
        finding.notes.append(begins(now, region))
    now.add(finding)


def beyond(now: Situation, region: str, place: Place, device: int, match: re.Match[str]) -> None:
    """A region has gone beyond what is mapped of an object."""
    distance, side, size, host = int(match[1]), match[2], int(match[3]), int(match[4], 16)
    mapping = now.live.get((device, host))
    name = mapping.name if mapping is not None else now.names.at(host, size, now.frame)
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
    finding.notes.append(begins(now, region))
    now.add(finding)


def read_doubtful(now: Situation, region: str, place: Place, address: int, size: int, changed: bool) -> None:
    """A region has read memory of the device that nothing wrote, or of which the host has newer contents."""
    device, _ = now.launch_of()
    mapping = now.on_device(device, address) or now.variable_at(device, address)
    if changed or (mapping is not None and (device, mapping.start) in now.marked):
        _read_stale(now, region, place, address, mapping)
    else:
        _read_unset(now, region, place, address, size)


def _read_stale(now: Situation, region: str, place: Place, address: int, mapping: Mapping | None) -> None:
    """It is that the host has newer contents."""
    device, _ = now.launch_of()
    name = mapping.name if mapping is not None else ""
    finding = Finding(
        "stale-device",
        place,
        f"region {region} on device {device} reads {name or 'memory'}{part_of(mapping, address)}, "
        "which the host has changed since it was copied there",
        device,
        region,
        name,
        mapping.start if mapping is not None else 0,
        mapping.size if mapping is not None else 0,
        mend=mend("stale-device", mapping.item if mapping is not None else "", place.file, now.acc),
    )
    if mapping is not None and mapping.what:
        finding.notes.append(made_here(mapping))
    finding.notes.append(begins(now, region))
    now.add(finding)


def _read_unset(now: Situation, region: str, place: Place, address: int, size: int) -> None:
    """A region has read memory of the device that nothing wrote."""
    device, _ = now.launch_of()
    mapping = now.on_device(device, address)
    name = mapping.name if mapping is not None else ""
    finding = Finding(
        "unset",
        place,
        f"region {region} on device {device} reads {name or 'device memory'}, which nothing has written there"
        + (part_of(mapping, address) if name else ""),
        device,
        region,
        name,
        mapping.start if mapping is not None else 0,
        size,
        mend=mend("unset-associated" if is_associated(mapping) else "unset", mapping.item, place.file, now.acc)
        if mapping and name
        else "write it first",
    )
    if mapping is not None:
        finding.notes.append(made_here(mapping))
    finding.notes.append(begins(now, region))
    now.add(finding)


def race(now: Situation, region: str, address: int, done: tuple[str, str], places: tuple[Place, Place]) -> None:
    """Two threads of a region have used the same memory; ``done``, ``places``: of the later one, then the other."""
    device, _ = now.launch_of()
    mapping = now.on_device(device, address)
    name = mapping.name if mapping is not None else ""
    what = f"{name or 'memory'}{part_of(mapping, address)}"
    # Which is seen first is chance: a write is told of, then the other one.
    (verb, place), (other, there) = sorted(zip(done, places, strict=True), key=lambda a: (a[0] == "read", str(a[1])))
    finding = Finding(
        "race",
        place,
        f"{what} is {verb} in region {region} on device {device}, and {other} by another thread "
        "of it, and nothing says which is first",
        device,
        region,
        name,
        mapping.start if mapping is not None else 0,
        mapping.size if mapping is not None else 0,
        mend=mend("race", name, place.file, now.acc),
    )
    finding.notes.append(Note(there, f"it is {other} here by the other thread"))
    finding.notes.append(begins(now, region))
    now.found.setdefault(finding.key(), finding)  # how often is not known
