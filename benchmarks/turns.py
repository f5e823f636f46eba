#!/usr/bin/env python3
"""Measure this tree against another build of gompy, in turns: `turns.py TREE`, TREE with its .venv.

The same source is compiled by both; launches, maps and copies are measured by two servers side by side (llvm.py says
how), then compile, link and a whole program by alternating commands.  A ratio is this tree's time / the other's.
Writes benchmarks/out/turns.json and turns.svg.  Exit status 1 if a program failed, 2 for wrong arguments; a ratio is
never a failure.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import GOMPCC, HERE, checked, run_as_command, timed
from draw import keep
from llvm import MEASUREMENTS, Side, rounds, shown

RUNS = 30
CANNY = str(HERE.parent / "examples" / "canny" / "canny.c")


def device_rows(compilers: dict[str, str], directory: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """All measurements of device.c, nanoseconds.  Raises BenchError."""
    sides = []
    for name, compiler in compilers.items():
        program = directory / f"device-{name}"
        checked([compiler, "-O2", "-fopenmp", str(HERE / "device.c"), "-o", str(program)], directory, environment)
        sides.append(Side(name, program))
    rounds(sides, environment)
    return side_rows(sides)


def side_rows(sides: list[Side]) -> list[dict[str, Any]]:
    """What sides have measured, nanoseconds."""
    return [
        {"title": m.title, "bandwidth": m.bandwidth}
        | {side.name: {"median": side.median(m.name), "low": side.low(m.name)} for side in sides}
        for m in MEASUREMENTS
    ]


def command_rows(compilers: dict[str, str], directory: Path, environment: dict[str, str]) -> list[dict[str, Any]]:
    """Whole commands, nanoseconds.  Raises BenchError."""
    found = []
    for title, words in (
        ("compile of examples/canny/canny.c", ["-O2", "-fopenmp", "-c", CANNY, "-o", "canny.o"]),
        ("link of two objects", ["-O2", "-fopenmp", "first.o", "second.o", "-o", "two"]),
        ("a program with one empty region", []),
    ):
        times: dict[str, list[float]] = {name: [] for name in compilers}
        for name, compiler in compilers.items():
            own = directory / name
            own.mkdir(exist_ok=True)
            for part in ("first", "second"):
                checked(
                    [compiler, "-O2", "-fopenmp", "-c", str(HERE / f"{part}.c"), "-o", f"{part}.o"], own, environment
                )
            checked([compiler, "-O2", "-fopenmp", str(HERE / "empty.c"), "-o", "empty"], own, environment)
        for turn in range(RUNS + 1):
            for name in compilers if turn % 2 == 0 else reversed(compilers):
                seconds, _ = timed([compilers[name], *words] if words else ["./empty"], directory / name, environment)
                if turn:  # the first warms up
                    times[name].append(1e9 * seconds)
        found.append(
            {"title": title, "bandwidth": False}
            | {name: {"median": statistics.median(t), "low": sorted(t)[len(t) // 10]} for name, t in times.items()}
        )
    return found


def show(rows: list[dict[str, Any]]) -> None:
    """The table: both trees' times and their ratio, as medians and as the lowest tenth."""
    print(f"  {'':42} {'median: now / before':>24} ratio  {'lowest tenth':>24} ratio")
    for row in rows:
        cells = []
        for key in ("median", "low"):
            now, before = row["now"][key], row["before"][key]
            texts = [shown(value, row["bandwidth"]) for value in (now, before)]
            cells.append(f"{texts[0]:>11} /{texts[1]:>11} {now / before:5.2f}")
        print(f"  {row['title']:42} {'  '.join(cells)}")


def finish(name: str, title: str, compared: str, rows: list[dict[str, Any]], load_before: float) -> None:
    """Show what was measured and keep it as a report; `compared`: what the ratio is of.  The load average is noted."""
    load = [load_before, os.getloadavg()[0]]
    print(f"{compared}; load before and after: {load[0]:.1f}, {load[1]:.1f} on {os.cpu_count()} cores")
    show(rows)
    keep({"name": name, "title": title, "unit": "ns", "load": load, "results": rows})


def main() -> int:
    """Compare."""
    if len(sys.argv) != 2 or not Path(sys.argv[1], ".venv/bin/gompcc").exists():
        print("usage: turns.py TREE: another build of gompy, with its .venv/bin/gompcc", file=sys.stderr)
        return 2
    compilers = {"now": GOMPCC, "before": str(Path(sys.argv[1]).resolve() / ".venv/bin/gompcc")}
    environment = {**os.environ, "LC_ALL": "C"}
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        rows = device_rows(compilers, Path(name), environment)
        rows += command_rows(compilers, Path(name), environment)
    finish("turns", "This build against another", "Two builds in turns", rows, load)
    return 0


if __name__ == "__main__":
    run_as_command(main, "TREE")
