"""crowd.c: what regions cost where host and device share processors with each other and with busy loops.

Each run is a program of its own, built by gompcc and by clang for LLVM's host device, in turns: how the scheduler
happens to place two processes holds for whole runs.  So the worst run counts, and is measured in round trips of two
threads that wake each other on one processor, which the same program has measured.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import CLANG, GOMPCC, HERE, BenchError, checked, llvm_environment, show_head
from share import NoGroupError, half_a_processor

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
    half: bool = False  # in a control group with half a processor


MODES = (
    Mode("empty launch", ("launch",)),
    Mode("the same, one processor has a busy loop", ("launch", "1", "pinned")),
    Mode("the same, all on one processor", ("launch",), True),
    Mode("the same, 10 busy loops", ("launch", "10"), judged=False),
    Mode("the same, in a control group with half a processor", ("launch",), judged=False, half=True),
    Mode("nowait, in batches of 1000", ("nowait",)),
)


def run_once(mode: Mode, program: Path, directory: Path, environment: dict[str, str]) -> dict[str, float]:
    """One run in a mode's conditions.  Raises BenchError, NoGroupError."""
    command = [str(program), *mode.arguments]
    if mode.one_processor:
        command = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
    if not mode.half:
        found: dict[str, float] = json.loads(checked(command, directory, environment))
        return found
    with half_a_processor() as words:
        found = json.loads(checked([*words, *command], directory, environment))
    return found


def crowd(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Build, run in turns.  Raises BenchError if gompcc fails."""
    with contextlib.suppress(BenchError):  # no clang: there is no such side
        environment = llvm_environment(environment)
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
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    load = [os.getloadavg()[0]]
    no_group = ""
    for turn in range(RUNS):
        for mode in MODES:
            for name in programs if turn % 2 == 0 else reversed(programs):
                try:
                    run = run_once(mode, programs[name], directory, environment)
                except NoGroupError as error:
                    no_group = str(error)
                    continue
                if name == "gompy" and run["on_host"]:
                    raise BenchError("crowd: its regions ran on the host")
                runs.setdefault((mode.title, name), []).append(run)
    load.append(os.getloadavg()[0])
    return {
        "name": "crowd",
        "title": f"Where processors are shared, {RUNS} runs each, in turns",
        "unit": "ns",
        "missing": missing,
        "no-group": no_group,
        "load": load,
        "results": [
            {"title": m.title, **{name: runs[m.title, name] for name in programs if (m.title, name) in runs}}
            for m in MODES
        ],
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
    show_head(report, "a run's median, µs", {"missing": "LLVM", "no-group": "half a processor"})
    print(f"  {'':50} {'best':>8} {'median':>8} {'worst':>8}")
    for mode, row in zip(MODES, report["results"], strict=True):
        for name in ("gompy", "LLVM"):
            if name in row:
                times = sorted(run["median"] / 1e3 for run in row[name])
                title = mode.title if name == "gompy" else "  LLVM"
                text = f"  {title:50} {times[0]:8.2f} {statistics.median(times):8.2f} {times[-1]:8.2f}"
                print(f"{text}   {verdict(mode, row[name]) if name == 'gompy' else ''}".rstrip())
