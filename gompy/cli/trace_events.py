"""The events of a trace file (GOMPY_TRACE_FILE), and what they add up to."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gompy import UserError

DEVICE_PID: Final = 1000000
"""What a device's number is added to for the number of its process in the file (gompy/runtime/tools/trace_file.pxi)."""
REGION_WORDS: Final = ("target nowait ", "target ", "acc parallel ")
LIMIT: Final = "gompy_limit"
"""The last event of a file that has reached its size (trace_file.pxi)."""
NAMES: Final = "gompy_names"
"""The event in which ``gompy run`` tells the names of memory that is no global variable."""
IMPLICIT: Final = ("acc enter data (implicit) ", "acc exit data (implicit) ")
"""What the begin and the end of OpenACC's compute construct copy is told as of constructs of their own."""


def region_of(construct: str) -> str:
    """The region of ``target main._omp_fn.0``; empty for a directive without one."""
    words = next((words for words in REGION_WORDS + IMPLICIT if construct.startswith(words)), None)
    return construct.removeprefix(words) if words is not None and " in " not in construct else ""


@dataclass
class Span:
    """Something that took time, on a track; ``over``: its end is in the file."""

    name: str
    kind: str
    track: tuple[int, int]
    begin: float
    end: float
    args: dict[str, Any]
    over: bool = True

    @property
    def time(self) -> float:
        """Microseconds."""
        return self.end - self.begin


@dataclass
class Trace:
    """A file's events."""

    spans: list[Span] = field(default_factory=list)
    maps: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    processes: dict[int, str] = field(default_factory=dict)
    tracks: dict[tuple[int, int], str] = field(default_factory=dict)
    length: float = 0
    full: bool = False
    names: dict[str, str] = field(default_factory=dict)

    def of(self, *kinds: str) -> Iterator[Span]:
        """The spans of these kinds."""
        return (span for span in self.spans if span.kind in kinds)


def read(path: str) -> Trace:
    """Read a trace; UserError where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(f"{path}: not JSON") from None
    if not isinstance(events, list):
        raise UserError(f"{path}: not a trace: no list of events")
    trace = Trace()
    try:
        _take(trace, events)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise UserError(f"{path}: not a trace of gompy's") from None
    return trace


def _take(trace: Trace, events: list[Any]) -> None:
    open_spans: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for event in events:
        track = (int(event["pid"]), int(event["tid"]))
        what = event["ph"]
        if what == "M":
            _take_word(trace, event, track)
            continue
        at = float(event["ts"])
        trace.length = max(trace.length, at + float(event.get("dur", 0)))
        if what == "E":
            if open_spans[track]:
                span = open_spans[track].pop()
                span.end, span.over = at, True
        elif what == "i" and event["cat"] == "map":
            trace.maps.append((event["name"], event["args"]))
        elif what in ("B", "X"):
            end = at + float(event.get("dur", 0))
            span = Span(event["name"], event["cat"], track, at, end, event["args"], what == "X")
            trace.spans.append(span)
            if what == "B":
                open_spans[track].append(span)
    for spans in open_spans.values():
        for span in spans:
            span.end = trace.length


def _take_word(trace: Trace, event: dict[str, Any], track: tuple[int, int]) -> None:
    """What is said of the trace itself."""
    if event["name"] == "process_name":
        trace.processes[track[0]] = event["args"]["name"]
    elif event["name"] == LIMIT:
        trace.full = True
    elif event["name"] == NAMES:
        trace.names.update((str(at), str(name)) for at, name in event["args"].items())
    else:
        trace.tracks[track] = event["args"]["name"]


def add_names(path: str, names: dict[str, str]) -> None:
    """Put the names of mapped memory, by ``0xADDRESS+SIZE``, into a trace that is whole, and stays so.  OSError."""
    event = {"ph": "M", "name": NAMES, "pid": 0, "tid": 0, "args": names}
    last = b"\n]\n"
    with open(path, "r+b", buffering=0) as file:
        end = file.seek(-len(last), os.SEEK_END)
        if file.read() != last:
            return
        data = f"{',' if end > 1 else ''}\n{json.dumps(event)}".encode() + last
        written = 0
        try:
            file.seek(end)
            written = file.write(data)
        finally:
            if written != len(data):  # on a full disk, what has found room goes again
                file.truncate(end)
                file.seek(end)
                file.write(last)


class Places:
    """Lines of source for the ``FILE+0xOFFSET`` of events; empty where there is no debug information."""

    def __init__(self) -> None:
        self._files: dict[str, Any] = {}
        self._known: dict[str, str] = {}

    def line(self, at: str) -> str:
        """``hello.c:8`` of a place."""
        if at not in self._known:
            path, _, offset = at.rpartition("+")
            try:
                self._known[at] = self._lines(path).covering(int(offset, 16)) if path else ""
            except (OSError, ValueError, UserError):
                self._known[at] = ""
        return self._known[at]

    def _lines(self, path: str) -> Any:
        from gompy.objects.lines import Lines
        from gompy.objects.view import ElfView

        if path not in self._files:
            with open(path, "rb") as file:
                self._files[path] = Lines(ElfView(file.read(), os.path.basename(path)))
        return self._files[path]


@dataclass
class Row:
    """Totals of one region, directive, variable or device."""

    where: str = ""
    count: int = 0
    time: float = 0
    on: Counter[str] = field(default_factory=Counter)
    to_device: int = 0
    to_host: int = 0
    copies: int = 0
    size: int = 0


@dataclass
class Totals:
    """What a trace adds up to."""

    ranges: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    regions: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    directives: dict[tuple[str, str], Row] = field(default_factory=lambda: defaultdict(Row))
    variables: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    devices: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))


def add_up(trace: Trace, places: Places) -> Totals:
    """The totals of a trace."""
    totals = Totals()
    for span in trace.of("range"):
        totals.ranges[span.name].count += 1
        totals.ranges[span.name].time += span.time
    for span in trace.of("construct"):
        _add_construct(totals, span, places)
    for span in trace.of("launch", "fallback"):
        row = totals.regions[span.args["region"]]
        row.count += 1
        row.time += span.time
        row.on[f"device {span.args['device']}" if span.kind == "launch" else f"the host: {span.args['reason']}"] += 1
    # A region without waiting goes on till its end is waited for: what it took is not the launch.
    for span in trace.of("copy", "memory", "launch"):
        row = totals.devices[trace.processes.get(DEVICE_PID + span.args["device"], f"device {span.args['device']}")]
        if span.kind == "copy":
            row.copies += 1
            row.to_device += span.args["bytes"] if span.name == "copy to device" else 0
            row.to_host += span.args["bytes"] if span.name == "copy to host" else 0
            row.time += span.time
        elif span.kind == "launch":
            row.count += 1
        elif span.name == "alloc":
            row.size += span.args["size"]
    for state, args in trace.maps:
        _add_map(totals, state, args, trace.names)
    return totals


def _add_construct(totals: Totals, span: Span, places: Places) -> None:
    where = places.line(span.args.get("at", ""))
    words = next((words for words in REGION_WORDS if span.name.startswith(words)), None)
    if words is not None and " in " not in span.name:
        totals.regions[span.name.removeprefix(words)].where = where
        return
    row = totals.directives[span.name, where]
    row.count += 1
    row.time += span.time


def _add_map(totals: Totals, state: str, args: dict[str, Any], names: dict[str, str]) -> None:
    if state in ("firstprivate", "attached", "not present"):
        return
    name = args.get("variable") or names.get(f"{args['host']}+{args['size']}")
    row = totals.variables[name or f"{args['size']} bytes at {args['host']}"]
    row.size = max(row.size, args["size"])
    back = state in ("kept", "removed") or (state == "updated" and args["map"] == "from")
    row.to_host += args["bytes"] if back else 0
    row.to_device += 0 if back else args["bytes"]
    row.count += state == "new"
    row.copies += args["bytes"] > 0
