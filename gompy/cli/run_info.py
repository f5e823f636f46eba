"""``gompy run --info``: tables of regions and variables, told when the program has ended.

What ran where and when is of the runtime's trace (GOMPY_TRACE_FILE); what was copied in vain, and the names of memory
that is no global variable, are of the log of checks (GOMPY_CHECK_LOG).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gompy import UserError
from gompy.abi.check_log import Copy
from gompy.cli.table import columns
from gompy.cli.trace_events import Places, Trace, read, region_of

if TYPE_CHECKING:
    from gompy.check.log import Event, Frame, Log


@dataclass
class Region:
    """A region on one device, or on the host."""

    where: str = ""
    runs: int = 0
    time: float = 0
    to_device: int = 0
    to_host: int = 0


@dataclass
class Variable:
    """What the program mapped, by name: the largest size, and its copies."""

    where: str = ""
    size: int = 0
    mapped: int = 0
    copies: int = 0
    to_device: int = 0
    to_host: int = 0
    redundant: int = 0
    needless: int = 0

    def copied(self, event: Event, last: dict[tuple[Any, ...], int]) -> None:
        """Count a copy; ``last``: what each range's contents hashed to when it was copied the last time."""
        to_device = bool(event.flags & Copy.TO_DEVICE)
        self.copies += 1
        self.to_device += event.size if to_device else 0
        self.to_host += 0 if to_device else event.size
        # To the device: what went there the last time.  From it: what the host had.
        key = (event.device, event.start, event.size, to_device)
        if (last.get(key) == event.count) if to_device else event.flags & Copy.SAME:
            self.redundant += 1
            self.needless += event.size
        last[key] = event.count


def told(trace: str, log: str) -> Iterator[str]:
    """The tables' lines; none for a program that has not used a device's runtime."""
    from gompy.check.log import read_log

    try:
        with open(log, "rb") as binary:
            records = read_log(binary.read())
        rows = add_regions(read(trace), Places())
    except (FileNotFoundError, UserError):
        return
    variables = add_variables(records)
    if rows:
        yield ""
        yield from columns(
            ["region", "where", "runs", "ms", "to device", "from device", "on"],
            [
                [
                    name,
                    row.where or "?",
                    str(row.runs),
                    f"{row.time / 1000:.3f}",
                    str(row.to_device),
                    str(row.to_host),
                    on,
                ]
                for (name, on), row in sorted(rows.items(), key=lambda item: -item[1].time)
            ],
        )
    if records.full:
        yield "gompy run: --info: the log was full: of variables, what came later is left out"
    if variables:
        yield ""
        yield from columns(
            [
                "variable",
                "where",
                "bytes",
                "mapped",
                "copies",
                "to device",
                "from device",
                "redundant",
                "bytes of these",
            ],
            [
                [
                    *(name, row.where or "?", str(row.size), str(row.mapped), str(row.copies)),
                    *(str(row.to_device), str(row.to_host), str(row.redundant), str(row.needless)),
                ]
                for name, row in sorted(variables.items(), key=lambda item: -item[1].to_device - item[1].to_host)
            ],
        )


def add_regions(trace: Trace, places: Places) -> dict[tuple[str, str], Region]:
    """Regions by name and place, with what their own directives copied."""
    rows: dict[tuple[str, str], Region] = {}
    where: dict[str, str] = {}
    for span in trace.of("construct"):
        name = region_of(span.name)
        if name:
            where[name] = places.line(span.args.get("at", ""))
    for span in trace.of("launch", "fallback"):
        on = f"device {span.args['device']}" if span.kind == "launch" else f"the host: {span.args['reason']}"
        name = span.args["region"]
        row = rows.setdefault((name, on), Region(where.get(name, "")))
        row.runs += 1
        row.time += span.time
    for span in trace.of("copy"):
        row_of = rows.get((region_of(str(span.args.get("of", ""))), f"device {span.args['device']}"))
        if row_of is not None:
            row_of.to_device += span.args["bytes"] if span.name == "copy to device" else 0
            row_of.to_host += span.args["bytes"] if span.name == "copy to host" else 0
    return rows


def add_variables(log: Log) -> dict[str, Variable]:
    """Variables by name, in the order in which they were met."""
    from gompy.abi.check_log import Entry, Op
    from gompy.check.mapped import POINTERS
    from gompy.check.names import Names

    names = Names(log)
    found: dict[str, Variable] = {}
    last: dict[tuple[Any, ...], int] = {}
    waiting: dict[int, list[Event]] = defaultdict(list)
    named: dict[int, tuple[Frame | None, str]] = {}
    owner: dict[int, str] = {}  # by host address: the name that its mapping was made by

    def variable(name: str, event: Event) -> Variable:
        if name not in found:
            found[name] = Variable(str(names.place_of(event)) if event.frame is not None else "")
        return found[name]

    for event in log.events:
        if event.kind in POINTERS or event.size == 0:
            continue
        if event.op == Op.COPY:
            frame, name = named.get(event.start, (None, ""))
            if name and (frame is event.frame or not event.flags & Copy.TO_DEVICE):
                variable(name, event).copied(event, last)
            else:  # what it is of is told when its directive has mapped all
                waiting[event.start].append(event)
        elif event.op in (Op.ENTRY, Op.UPDATE) and not event.flags & (Entry.ATTACH | Entry.OWN | Entry.UNMAPPED):
            fresh = bool(event.flags & Entry.NEW) and event.op == Op.ENTRY
            name = "" if fresh else owner.get(event.start, "")  # what mapped it calls it, not a parameter met later
            name = name or names.of(event) or f"{event.size} bytes at {event.start:#x}"
            if fresh:
                owner[event.start] = name
            named[event.start] = event.frame, name
            row = variable(name, event)
            row.size = max(row.size, event.size)
            row.mapped += fresh
            for copy in waiting.pop(event.start, ()):
                row.copied(copy, last)
    for copies in waiting.values():
        for copy in copies:
            variable(names.of(copy) or f"{copy.size} bytes at {copy.start:#x}", copy).copied(copy, last)
    return found


def names_of(log: Log) -> dict[str, str]:
    """Names of mapped memory by ``0xADDRESS+SIZE``, where all mappings there have one name."""
    from gompy.abi.check_log import Entry, Op
    from gompy.check.mapped import POINTERS
    from gompy.check.names import Names

    names = Names(log)
    found: dict[str, str] = {}
    for event in log.events:
        if event.op != Op.ENTRY or not event.flags & Entry.NEW or event.kind in POINTERS or event.size == 0:
            continue
        name, key = names.of(event), f"{event.start:#x}+{event.size}"
        found[key] = name if found.setdefault(key, name) == name else ""
    return {key: name for key, name in found.items() if name}
