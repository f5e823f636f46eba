"""``gompy run --show-maps``: what each directive mapped, in the words of the source.

The order and the outcome are of the runtime's trace (GOMPY_TRACE_FILE); the names are of the log of checks
(GOMPY_CHECK_LOG), which has the frames in which the directives stand.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gompy.cli.trace_events import Places, region_of
from gompy.records import replace

if TYPE_CHECKING:
    from gompy.check.log import Event
    from gompy.check.names import Names

ROUTINES = ("omp_target_", "acc_malloc", "acc_free", "acc_memcpy")
"""What constructs begin with whose copies and memory are the program's own."""


class Teller:
    """The words for a trace's events."""

    def __init__(self, names: Names) -> None:
        from gompy.abi.check_log import Op

        self.names = names
        self.places = Places()
        self.sections: dict[tuple[str, int], str] = {}  # by host address and size: what it was called last
        self.entries: dict[int, deque[Event]] = defaultdict(deque)
        self.kinds = (Op.ENTRY, Op.UPDATE, Op.EXIT, Op.ABSENT)
        self.ops = {"updated": Op.UPDATE, "kept": Op.EXIT, "removed": Op.EXIT, "not present": Op.ABSENT}
        self.ops |= dict.fromkeys(("new", "present", "attached", "firstprivate"), Op.ENTRY)
        self.last: dict[int, Event] = {}  # by host address
        self.inside: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
        # Of the directive that a host's thread is in; the device's tracks have its number.
        self.where: dict[int, str] = {}
        self.regions: dict[str, str] = {}  # where the directive of each stands
        self.take(names.log.events)

    def take(self, events: list[Event]) -> None:
        """Records of the log, in their order."""
        for event in events:
            if event.op in self.kinds:
                self.entries[event.start].append(event)

    def lines(self, events: list[dict[str, Any]]) -> Iterator[str]:
        """A line for each map, region, and copy or block of memory of a routine."""
        inside, places = self.inside, self.where
        for event in events:
            track = (event["pid"], event["tid"])
            if event["ph"] == "E":
                if inside[track]:
                    inside[track].pop()
                continue
            if event["ph"] == "B":
                inside[track].append(event)
            if event["ph"] == "M":
                continue
            if event["cat"] == "construct":
                place = self.places.line(event["args"].get("at", ""))
                places[event["tid"]] = self.regions[region_of(event["name"])] = place
            line = self.line(event, inside[track])
            if line:
                place = places.get(event["tid"], "")
                if event["cat"] == "launch":  # of a queue, which is no thread's
                    place = place or self.regions.get(event["args"]["region"], "")
                yield f"{place} {line}" if place else line

    def line(self, event: dict[str, Any], inside: list[dict[str, Any]]) -> str:
        """The words for an event; empty for one that is part of another."""
        kind, args = event["cat"], event["args"]
        if kind == "map":
            return self.mapped(event["name"], args)
        if kind == "launch":
            return f"region {args['region']} on device {args['device']}"
        if kind == "fallback":
            return f"region {args['region']} on the host: {args['reason']}"
        directive = str(args.get("of", "")).partition(" in ")[0]
        if not directive.startswith(ROUTINES):
            return ""
        if kind == "memory":
            size = f"{args['size']} bytes, " if event["name"] == "alloc" else ""
            return f"{directive}: {size}device {args['target']}"
        if kind == "copy":
            arrow = "<-" if event["name"] == "copy to host" else "->"
            return f"{directive}: host {args['host']} {arrow} device {args['target']}, {args['bytes']} bytes"
        return ""

    def mapped(self, state: str, args: dict[str, Any]) -> str:
        """``map(tofrom: a[0:16]) host 0x1 -> device 0x2, new, count 1, 64 bytes to``."""
        directive = str(args.get("of", ""))
        section = self.section(state, directive, args)
        update = "update" in directive.partition(" in ")[0]
        if state == "firstprivate":
            return f"firstprivate({section}) host {args['host']} -> device {args['target']}, {args['size']} bytes to"
        if state == "not present" and args["map"] == "attach":
            return ""  # of a pointer that is not mapped itself: nobody asked for that
        clause = f"update {args['map']}({section})" if update else f"map({args['map']}: {section})"
        if state == "not present":
            return f"{clause} host {args['host']}, not present"
        back = state in ("kept", "removed") or (update and args["map"].endswith("from"))
        words = [f"{clause} host {args['host']} {'<-' if back else '->'} device {args['target']}", state]
        if state != "removed" and args["count"]:
            words.append(f"count {args['count']}")
        if args["bytes"]:
            words.append(f"{args['bytes']} bytes {'from' if back else 'to'}")
        return ", ".join(words)

    def section(self, state: str, directive: str, args: dict[str, Any]) -> str:
        """What the program calls the memory; its size where that is not known."""
        host, size = args["host"], args["size"]
        implicit = "(implicit)" in directive  # the end of OpenACC's compute construct
        at_end = state in ("kept", "removed") and ("exit data" not in directive or implicit)
        if not at_end:
            event = self.entry(state, int(host, 16), size)
            name = self.names.section(event) if event is not None else ""
            if name:
                self.sections[host, size] = name
        return self.sections.get((host, size)) or args.get("variable") or f"{size} bytes"

    def entry(self, state: str, start: int, size: int) -> Event | None:
        """The log's record of an entry; the last one of the same memory where it has none (OpenACC's update)."""
        waiting = self.entries.get(start)
        if waiting and waiting[0].op == self.ops.get(state, waiting[0].op):
            self.last[start] = waiting.popleft()
            return self.last[start]
        last = self.last.get(start)
        if last is None or last.size == size:
            return last
        return replace(last, size=size, payload=b"")
