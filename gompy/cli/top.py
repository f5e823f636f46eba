"""``gompy top PROCESS``: what a running program does on its devices, as nvidia-smi and top show it.

The program need not have been started by gompy run.  Exit status: 0; 1 no such program; 2 usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from gompy import plural
from gompy.cli.arguments import command_parser

if TYPE_CHECKING:
    from gompy.cli.top_process import Device, Process, Sample

SCHEMA: Final = 1
EXAMPLES: Final = """\
examples:
  gompy top 1234              devices and regions of process 1234, until it ends or Ctrl-C
  gompy top prog              of the process whose program has that name
  gompy top --once prog       one table, rates over one interval
  gompy top --json prog       the same for a program

exit status: 0; 1 there is no such program of yours with target regions; 2 usage"""


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "top", "Show what a running program does on its devices: launches, copies, memory, regions.", EXAMPLES
    )
    parser.add_argument("process", metavar="PROCESS", help="its number, or the name of its program")
    parser.add_argument("--once", action="store_true", help="print once, and end")
    parser.add_argument("--json", action="store_true", help="print one object, and end")
    parser.add_argument("--interval", type=_seconds, default=1.0, metavar="S", help="seconds between two looks (1)")
    return parser


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0.01 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 0.01 to 3600")
    return value


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy top``); the exit status."""
    options = _parser().parse_args(argv)
    from gompy.cli.top_process import Process, TopError, find
    from gompy.tools.toolmain import one_line

    try:
        process = Process(find(options.process))
        before = process.sample()
        time.sleep(options.interval)
        if options.once or options.json:
            return _once(process, before, process.sample(), options.json)
        return _live(process, before, options.interval)
    except TopError as error:
        print(f"gompy top: error: {one_line(str(error))}", file=sys.stderr)
        return 1


def _once(process: Process, before: Sample, now: Sample, as_json: bool) -> int:
    if as_json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps(report(process, before, now)) + "\n")
    else:
        print("\n".join(table(report(process, before, now))))
    return 0


def _live(process: Process, before: Sample, interval: float) -> int:
    """Draw over and over until the process ends; on no terminal one table behind the other."""
    from rich.live import Live
    from rich.text import Text

    from gompy.cli.top_process import Ended

    try:
        with Live(auto_refresh=False) if sys.stdout.isatty() else nullcontext() as live:
            while True:
                now = process.sample()
                lines = table(report(process, before, now))
                if live is not None:
                    live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)
                else:
                    print("\n".join([*lines, ""]), flush=True)
                before = now
                time.sleep(interval)
    except KeyboardInterrupt:
        return 0
    except Ended as end:
        print(f"gompy top: {end}", file=sys.stderr)
        return 0


def report(process: Process, before: Sample, now: Sample) -> dict[str, Any]:
    """Counters, and rates a second since the look before."""
    seconds = max(now.when - before.when, 1e-6)
    old = {device.number: device for device in before.devices}
    running = [device.number for device in now.devices if device.name == "intelmic" and device.state == "running"]
    memory = dict(zip(running, now.memory, strict=True)) if len(running) == len(now.memory) else {}
    return {
        "schema": SCHEMA,
        "process": process.pid,
        "program": process.name,
        "host_regions": now.host_regions,
        "host_regions_rate": (now.host_regions - before.host_regions) / seconds,
        "devices": [
            _device(process, device, old.get(device.number), seconds) | {"memory": memory.get(device.number)}
            for device in now.devices
        ],
    }


def _device(process: Process, device: Device, old: Device | None, seconds: float) -> dict[str, Any]:
    was = old.regions if old else {}
    regions = [
        {"region": name, "calls": calls, "rate": max(calls - was.get(address, 0), 0) / seconds}
        for address, calls in device.regions.items()
        if (name := process.region(address))
    ]
    return {
        "device": device.number,
        "kind": device.name,
        "state": device.state,
        "launches": device.launches,
        "launches_rate": (device.launches - (old.launches if old else 0)) / seconds,
        "mappings": device.mappings,
        "bytes_to": device.bytes_to,
        "bytes_to_rate": (device.bytes_to - (old.bytes_to if old else 0)) / seconds,
        "bytes_from": device.bytes_from,
        "bytes_from_rate": (device.bytes_from - (old.bytes_from if old else 0)) / seconds,
        "regions": sorted(regions, key=lambda row: (-row["rate"], -row["calls"], row["region"])),
    }


def table(found: dict[str, Any]) -> list[str]:
    """The words for a report."""
    from gompy.cli.inspect_text import grid

    on_host = plural(found["host_regions"], "region")
    lines = [f"{found['program']} (process {found['process']}), {on_host} on the host", ""]
    heading = ("device", "kind", "state", "memory", "mappings", "launches", "1/s", "MB/s to", "MB/s from")
    rows = [
        (
            *(str(device["device"]), device["kind"], device["state"]),
            "-" if device["memory"] is None else f"{device['memory'] / 2**20:.0f} MiB",
            *(str(device["mappings"]), str(device["launches"]), f"{device['launches_rate']:.0f}"),
            *(f"{device['bytes_to_rate'] / 1e6:.1f}", f"{device['bytes_from_rate'] / 1e6:.1f}"),
        )
        for device in found["devices"]
    ]
    lines += [line[2:] for line, _style in grid(heading, rows, (3, 4, 5, 6, 7, 8))]
    regions = [
        (row["region"], str(device["device"]), str(row["calls"]), f"{row['rate']:.0f}")
        for device in found["devices"]
        for row in device["regions"]
    ]
    if regions:
        lines += ["", *(line[2:] for line, _style in grid(("region", "device", "calls", "1/s"), regions, (2, 3)))]
    return lines
