"""Names of what is mapped in recorded regions, by the log of checks of the same run and the program's DWARF."""

from __future__ import annotations

import json
from typing import Any

from gompy.abi.check_log import Op
from gompy.check.dwarf import Variable
from gompy.check.log import Event, Log, read_log
from gompy.check.names import Names
from gompy.replay.recording import Mapped, Recording, Region


def add_names(path: str, log_path: str) -> int:
    """Append lines with names to a recording; how many regions it has.  UserError: it is no recording."""
    recording = Recording(path)
    try:
        with open(log_path, "rb") as file:
            log = read_log(file.read())
    except FileNotFoundError:
        return len(recording.regions)
    lines = [json.dumps(line) + "\n" for line in named(recording.regions, log)]
    if recording.end == len(recording.data):  # behind a line that was cut off nothing can be read
        with open(path, "a", encoding="ascii") as file:
            file.writelines(lines)
    return len(recording.regions)


def named(regions: list[Region], log: Log) -> list[dict[str, Any]]:
    """A line for each region."""
    names = Names(log)
    latest: dict[int, Event] = {}
    lines = []
    waiting = iter(regions)
    region = next(waiting, None)
    for event in log.events:
        if event.op == Op.ENTRY:
            latest[event.start] = event
        if event.op != Op.LAUNCH or region is None or region.host != event.where:
            continue
        place = str(names.place(event.frame.pc - 1)) if event.frame is not None else ""
        found = [name_of(names, mapped, latest.get(mapped.host)) for mapped in region.objects]
        lines.append(
            {
                "is": "names",
                "region": region.number,
                "place": "" if place == "?" else place,
                "names": [entry for entry in found if entry],
            }
        )
        region = next(waiting, None)
    return lines


def name_of(names: Names, mapped: Mapped, event: Event | None) -> list[Any]:
    """Host address, name, address of the element 0, bytes of an element, scalar; empty: not known."""
    frame = event.frame if event is not None else None
    name = names.of(event) if event is not None else names.at(mapped.host, mapped.size, None)
    if not name:
        return []
    variable: Variable | None = next((v for v in names.variables(frame) if v.name == name), None)
    if variable is None:
        return [mapped.host, name, 0, 0, ""]
    base: int | None = variable.address
    if variable.points and not variable.address <= mapped.host < variable.address + max(variable.size, 1):
        base = names.begin(variable, frame)
    elif variable.points:
        return [mapped.host, name, 0, 0, ""]  # the pointer itself
    return [mapped.host, name, base or 0, variable.element, variable.scalar]
