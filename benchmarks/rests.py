"""rests.c: an empty region after rests, on gompy's device and LLVM's, beside the wake-ups of two processes alone.

wakes.c is that floor: there and back by futexes between two processes that do nothing else, on one processor, on two,
and where the system puts them.  Rests of one length have a rhythm that a device can learn, irregular ones have none.
At a real-time priority other programs keep out; it takes the right to it.
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

RUNS = 5
ROUNDS = 60
REAL_TIME = ("chrt", "-f", "10")
PLACES = {"one": "futexes, one processor", "two": "futexes, two processors", "free": "futexes, where the system wants"}
PEER = 2
"""Times of LLVM's device that are wanted at most."""


@dataclass(frozen=True)
class Mode:
    """Rests, and the words before a command."""

    title: str
    shortest: int
    spread: int
    before: tuple[str, ...] = ()


MODES = (
    Mode("5 ms", 5000, 0),
    Mode("5 to 7.5 ms", 5000, 2500),
    Mode("5 ms, real-time priority", 5000, 0, REAL_TIME),
    Mode("5 to 7.5 ms, real-time priority", 5000, 2500, REAL_TIME),
)


def builds(directory: Path, environment: dict[str, str]) -> tuple[dict[str, str], str]:
    """The programs by their names; why LLVM's cannot be had, or an empty text.  Raises BenchError."""
    checked([GOMPCC, "-O2", "-fopenmp", str(HERE / "rests.c"), "-o", "rests-gompy"], directory, environment)
    checked(["gcc", "-O2", str(HERE / "wakes.c"), "-o", "wakes"], directory, environment)
    try:
        words = [CLANG, "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O2", str(HERE / "rests.c")]
        checked([*words, "-o", "rests-llvm"], directory, environment)
        checked(["./rests-llvm", "10", "1"], directory, environment)
    except BenchError as error:
        return {"gompy": "./rests-gompy"}, f"{CLANG} makes no program for its device: {str(error).splitlines()[-1]}"
    return {"gompy": "./rests-gompy", "LLVM": "./rests-llvm"}, ""


def floor(text: str) -> dict[str, dict[str, float]]:
    """What wakes.c said: by the place of the two processes."""
    lines = [line.split() for line in text.splitlines()[1:]]
    return {place: {"median": float(median), "low": float(low)} for _, place, median, low in lines}


def run_mode(
    mode: Mode, programs: dict[str, str], directory: Path, environment: dict[str, str], turn: int
) -> dict[str, dict[str, float]]:
    """All sides once, in an order that changes.  Raises BenchError."""
    rest = [str(ROUNDS), str(mode.shortest), str(mode.spread)]
    found: dict[str, dict[str, float]] = {}
    for name in programs if turn % 2 == 0 else reversed(programs):
        found[name] = json.loads(checked([*mode.before, programs[name], *rest], directory, environment))
        if name == "gompy" and found[name]["on_host"]:
            raise BenchError("rests: its regions ran on the host")
    return found | floor(checked([*mode.before, "./wakes", *rest, "futex"], directory, environment))


def rests(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Build, run in turns.  Raises BenchError."""
    with contextlib.suppress(BenchError):  # no clang: there is no such side
        environment = llvm_environment(environment)
    programs, missing = builds(directory, environment)
    no_right = ""
    try:
        checked([*REAL_TIME, "true"], directory, environment)
    except BenchError as error:
        no_right = str(error).splitlines()[-1]
    modes = [mode for mode in MODES if not (mode.before and no_right)]
    load = [os.getloadavg()[0]]
    runs: dict[str, list[dict[str, dict[str, float]]]] = {}
    for turn in range(RUNS):
        for mode in modes:
            runs.setdefault(mode.title, []).append(run_mode(mode, programs, directory, environment, turn))
    load.append(os.getloadavg()[0])
    results: list[dict[str, Any]] = []
    for title, seen in runs.items():
        row: dict[str, Any] = {"title": f"empty launch after {title}"}
        for side in seen[0]:
            row[side] = {key: statistics.median(run[side][key] for run in seen) for key in ("median", "low")}
        results.append(row)
    return {
        "name": "rests",
        "title": f"After a rest, {RUNS} runs each, in turns",
        "unit": "ns",
        "missing": missing,
        "no-right": no_right,
        "load": load,
        "results": results,
    }


def show_rests(report: dict[str, Any]) -> None:
    """The table of rests()."""
    show_head(report, "medians and lowest tenths, µs", {"missing": "LLVM", "no-right": "real-time priority"})
    names = {"LLVM": "LLVM", **PLACES}
    for row in report["results"]:
        ours = row["gompy"]
        print(f"  {row['title']:54} {ours['median'] / 1e3:8.1f} {ours['low'] / 1e3:8.1f}")
        for side, name in names.items():
            if side not in row:
                continue
            ratio = ours["median"] / row[side]["median"]
            text = f"    {name:52} {row[side]['median'] / 1e3:8.1f} {row[side]['low'] / 1e3:8.1f}   {ratio:.2f}"
            print(text + (f"   ≤ {PEER} {'ok' if ratio <= PEER else 'MISSED'}" if side == "LLVM" else ""))
