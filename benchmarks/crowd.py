"""crowd.c: what regions cost where host and device share processors with each other and with busy loops.

Each run is a program of its own, built by gompcc and by clang for LLVM's host device, in turns: how the scheduler
happens to place two processes holds for whole runs.  So the worst run counts, and is measured in round trips of two
threads that wake each other on one processor, which the same program has measured.
"""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import CLANG, GOMPCC, HERE, BenchError, checked

RUNS = 12
TRIPS = 3  # the worst run may cost so many round trips
NOWAIT_NS = 3000


@dataclass(frozen=True)
class Mode:
    """A way to run crowd.c, and whether its worst run is judged."""

    title: str
    arguments: tuple[str, ...]
    one_processor: bool = False
    judged: bool = True


MODES = (
    Mode("empty launch", ("launch",)),
    Mode("the same, one processor has a busy loop", ("launch", "1", "pinned")),
    Mode("the same, all on one processor", ("launch",), True),
    Mode("the same, 10 busy loops", ("launch", "10"), judged=False),
    Mode("nowait, in batches of 1000", ("nowait",)),
)


def crowd(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Build, run in turns.  Raises BenchError if gompcc fails."""
    programs = {"gompy": directory / "crowd-gompy"}
    missing = ""
    common = ["-O2", "-fopenmp", str(HERE / "crowd.c"), "-o"]
    checked([GOMPCC, *common, str(programs["gompy"])], directory, environment)
    try:
        program = directory / "crowd-llvm"
        checked([CLANG, "-fopenmp-targets=x86_64-pc-linux-gnu", *common, str(program)], directory, environment)
        checked([str(program), "launch"], directory, environment)
        programs["LLVM"] = program
    except BenchError as error:
        missing = f"{CLANG} makes no program for its x86_64 device: {str(error).splitlines()[-1]}"
    processor = str(min(os.sched_getaffinity(0)))
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    for turn in range(RUNS):
        for mode in MODES:
            before = ["taskset", "-c", processor] if mode.one_processor else []
            for name in programs if turn % 2 == 0 else reversed(programs):
                command = [*before, str(programs[name]), *mode.arguments]
                run = json.loads(checked(command, directory, environment))
                if name == "gompy" and run["on_host"]:
                    raise BenchError("crowd: its regions ran on the host")
                runs.setdefault((mode.title, name), []).append(run)
    return {
        "name": "crowd",
        "title": f"Where processors are shared, {RUNS} runs each, in turns",
        "unit": "ns",
        "missing": missing,
        "results": [{"title": m.title, **{name: runs[m.title, name] for name in programs}} for m in MODES],
    }


def verdict(mode: Mode, runs: list[dict[str, float]]) -> str:
    """What to say of gompy's runs."""
    if "processor_time" in runs[0]:
        used = statistics.median(run["processor_time"] for run in runs)
        good = max(used, statistics.median(run["median"] for run in runs)) <= NOWAIT_NS
        return f"{used / 1e3:.2f} µs of processor time; both ≤ {NOWAIT_NS / 1e3:g} {'ok' if good else 'MISSED'}"
    trip = statistics.median(run["round_trip"] for run in runs)
    worst = max(run["median"] for run in runs) / trip
    text = f"worst {worst:.2f} round trips of {trip / 1e3:.1f} µs"
    return f"{text}; ≤ {TRIPS} {'ok' if worst <= TRIPS else 'MISSED'}" if mode.judged else text


def show_crowd(report: dict[str, Any]) -> None:
    """The table of crowd()."""
    print(f"\n{report['title']} (a run's median, µs)")
    if report["missing"]:
        print(f"  LLVM skipped: {report['missing']}")
    print(f"  {'':42} {'best':>8} {'median':>8} {'worst':>8}")
    for mode, row in zip(MODES, report["results"], strict=True):
        for name in ("gompy", "LLVM"):
            if name in row:
                times = sorted(run["median"] / 1e3 for run in row[name])
                title = mode.title if name == "gompy" else "  LLVM"
                text = f"  {title:42} {times[0]:8.2f} {statistics.median(times):8.2f} {times[-1]:8.2f}"
                print(f"{text}   {verdict(mode, row[name]) if name == 'gompy' else ''}".rstrip())
