"""``gompy run --info``: tables of regions and variables, told when the program has ended.

What ran where and when is of the runtime's trace (GOMPY_TRACE_FILE); what was copied in vain, and the names of memory
that is no global variable, are of the log of checks (GOMPY_CHECK_LOG).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gompy import UserError
from gompy.cli.table import columns
from gompy.cli.trace_events import REGION_WORDS, Places, Trace, read

if TYPE_CHECKING:
    from gompy.check.log import Log


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


def region_of(construct: str) -> str:
    """The region of ``target main._omp_fn.0``; empty for a directive without one."""
    words = next((words for words in REGION_WORDS if construct.startswith(words)), None)
    return construct.removeprefix(words) if words is not None and " in " not in construct else ""


def add_variables(log: Log) -> dict[str, Variable]:
    """Variables by name, in the order in which they were met."""
    from gompy.abi.check_log import Copy, Entry, Op
    from gompy.check.analysis import POINTERS
    from gompy.check.names import Names

    names = Names(log)
    found: dict[str, Variable] = {}
    last: dict[tuple[Any, ...], int] = {}
    for event in log.events:
        if event.op not in (Op.ENTRY, Op.COPY) or event.kind in POINTERS or event.size == 0:
            continue
        entry = event.op == Op.ENTRY
        if entry and (event.flags & (Entry.ATTACH | Entry.OWN | Entry.UNMAPPED)):
            continue
        name = names.of(event) or f"{event.size} bytes at {event.start:#x}"
        row = found.get(name)
        if row is None:
            place = str(names.place(event.frame.pc - 1)) if event.frame is not None else ""
            row = found[name] = Variable(place)
        if entry:
            row.size = max(row.size, event.size)
            row.mapped += bool(event.flags & Entry.NEW)
            continue
        to_device = bool(event.flags & Copy.TO_DEVICE)
        row.copies += 1
        row.to_device += event.size if to_device else 0
        row.to_host += 0 if to_device else event.size
        # To the device: what went there the last time.  From it: what the host had.
        key = (event.device, event.start, event.size, to_device)
        if (last.get(key) == event.count) if to_device else event.flags & Copy.SAME:
            row.redundant += 1
            row.needless += event.size
        last[key] = event.count
    return found
