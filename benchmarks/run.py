#!/usr/bin/env python3
"""Measure gompy against named peers, in one run, taking turns; medians and ratios.

Writes a table to standard output, what was measured to benchmarks/out/*.json and plots to benchmarks/out/*.svg.
Exit status 1 if a program failed.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clang import clang
from common import GCC, GOMPCC, HERE, BenchError, checked, run_as_command, timed
from crowd import crowd, show_crowd
from draw import keep
from llvm import llvm, show_llvm
from many import MOST, SIZES, many, show_many
from nvptx import STOCK_OPTIONS as NVPTX
from nvptx import nvptx, show_nvptx
from rests import rests, show_rests

RUNS = 20


@dataclass
class Contender:
    """One of several ways to do the same: its name, its command, or why it cannot take part.

    seconds: by the clock, each run.  used: of the processor, by the command and all that it has started.
    """

    name: str
    command: list[str]
    missing: str = ""
    seconds: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.seconds)

    def run(self, directory: Path, environment: dict[str, str]) -> None:
        """Once, with its times."""
        seconds, used = timed(self.command, directory, environment)
        self.seconds.append(seconds)
        self.used.append(used)


@dataclass
class Contest:
    """Contenders that are measured in turns; ratios are to the first."""

    name: str
    title: str
    contenders: list[Contender]
    load: tuple[float, float] = (0.0, 0.0)  # before and after

    def run(self, directory: Path, runs: int, environment: dict[str, str]) -> None:
        """Warm every contender up once, then measure in turns, the order reversed each time."""
        present = [c for c in self.contenders if not c.missing]
        for contender in present:
            checked(contender.command, directory, environment)
        before = os.getloadavg()[0]
        for turn in range(runs):
            for contender in present if turn % 2 == 0 else reversed(present):
                contender.run(directory, environment)
        self.load = before, os.getloadavg()[0]

    def report(self) -> dict[str, Any]:
        """What was measured, for a file."""
        return {
            "name": self.name,
            "title": self.title,
            "unit": "s",
            "load": self.load,
            "results": [
                {"name": c.name, "command": shlex.join(c.command), "missing": c.missing}
                if c.missing
                else {
                    "name": c.name,
                    "command": shlex.join(c.command),
                    "median": c.median,
                    "quartiles": statistics.quantiles(c.seconds, n=4),
                    "seconds": c.seconds,
                    "used": c.used,
                }
                for c in self.contenders
            ],
        }

    def show(self) -> None:
        """The table of this contest."""
        print(f"\n{self.title}\n  load average before and after: {self.load[0]:.1f}, {self.load[1]:.1f}")
        print(f"  {'':44} {'by the clock':>12}  {'quartiles':^20} {'processor':>9}   the first's share")
        first = self.contenders[0]
        for c in self.contenders:
            if c.missing:
                print(f"  {c.name:44} skipped: {c.missing}")
                continue
            low, _, high = statistics.quantiles(c.seconds, n=4)
            used, least = statistics.median(c.used), statistics.median(first.used)
            spread = f"({1e3 * low:.1f} .. {1e3 * high:.1f})"
            ratio = "" if c is first else f"   {first.median / c.median:.2f}, {least / used:.2f}"
            print(f"  {c.name:44} {1e3 * c.median:9.1f} ms  {spread:^20} {1e3 * used:6.1f} ms{ratio}")


def nvptx_missing(directory: Path, environment: dict[str, str]) -> str:
    """Why the stock compiler cannot link for nvptx; empty if it can."""
    command = [GCC, "-O2", "-fopenmp", *NVPTX, str(HERE / "first.c"), str(HERE / "second.c"), "-o", "probe"]
    try:
        checked(command, directory, environment)
    except BenchError as error:
        last = str(error).splitlines()
        return f"{GCC} has no working nvptx offloading (gcc-12-offload-nvptx): {last[1] if len(last) > 1 else last[0]}"
    return ""


def link(directory: Path, environment: dict[str, str]) -> Contest:
    """Linking the same two objects, made by gompcc."""
    for name in ("first", "second"):
        checked([GOMPCC, "-O2", "-fopenmp", "-c", str(HERE / f"{name}.c"), "-o", f"{name}.o"], directory, environment)
    objects = ["first.o", "second.o"]
    return Contest(
        "link",
        "Link of a program of two objects (the same objects)",
        [
            Contender("gompcc, an image that was made before", [GOMPCC, "-O2", "-fopenmp", *objects, "-o", "with-mic"]),
            Contender(
                "gompcc, the image made anew",
                ["env", "GOMPY_LINK_CACHE=0", GOMPCC, "-O2", "-fopenmp", *objects, "-o", "anew"],
            ),
            Contender(
                f"{GCC} -foffload=nvptx-none",
                [GCC, "-O2", "-fopenmp", *NVPTX, *objects, "-o", "with-nvptx"],
                nvptx_missing(directory, environment),
            ),
            Contender(
                f"{GCC} -foffload=disable", [GCC, "-O2", "-fopenmp", "-foffload=disable", *objects, "-o", "without"]
            ),
        ],
    )


def compile_(directory: Path, environment: dict[str, str]) -> Contest:
    """Compiling one file of the Canny example."""
    source = str(HERE.parent / "examples" / "canny" / "canny.c")
    common = ["-O2", "-fopenmp", "-c", source, "-o"]
    return Contest(
        "compile",
        "Compilation of examples/canny/canny.c",
        [
            Contender("gompcc -c", [GOMPCC, *common, "a.o"]),
            Contender(f"{GCC} -c", [GCC, *common, "b.o"]),
            Contender(f"{GCC} -c -foffload=disable", [GCC, "-foffload=disable", *common, "c.o"]),
        ],
    )


def program(directory: Path, environment: dict[str, str]) -> Contest:
    """Running a whole program with one empty region; bare.c is the same with no more of a device than its process."""
    source = str(HERE / "empty.c")
    checked([GOMPCC, "-O2", "-fopenmp", source, "-o", "empty"], directory, environment)
    checked([GCC, "-O2", "-fopenmp", "-foffload=disable", source, "-o", "empty-host"], directory, environment)
    bare = str(HERE / "bare.c")
    options = ["-O2", "-fopenmp", "-foffload=disable", bare, "-Wl,--no-as-needed", "-lm"]
    checked([GCC, *options, "-o", "bare"], directory, environment)
    checked([GCC, "-O2", "-shared", "-fPIC", "-DIMAGE", bare, "-o", "image.so"], directory, environment)
    return Contest(
        "program",
        "A whole program with one empty region",
        [
            Contender("gompcc, on the emulated device", ["./empty"]),
            Contender(f"{GCC} -foffload=disable, on the host", ["./empty-host"]),
            Contender("the same, starting one more bare process", ["./bare", "./image.so"]),
        ],
    )


def ptx(directory: Path, environment: dict[str, str]) -> Contest:
    """Running a program for nvptx on the emulated GPU for the first time, and again."""
    sources = [str(HERE / f"{name}.c") for name in ("first", "second")]
    checked([GOMPCC, "-O2", "-fopenmp", "-foffload=nvptx-none", *sources, "-o", "ptx"], directory, environment)
    words = "GOMPY_CUDA=emulated OMP_TARGET_OFFLOAD=mandatory exec ./ptx"
    return Contest(
        "ptx",
        "A program of two objects on the emulated GPU",
        [
            Contender("its PTX compiled", ["sh", "-c", f"rm -rf none; XDG_CACHE_HOME=$PWD/none {words}"]),
            Contender("its PTX compiled before", ["sh", "-c", f"XDG_CACHE_HOME=$PWD/some {words}"]),
        ],
    )


def latency(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """What a launch and maps cost inside a program: on the device and, for comparison, by stock gcc on the host."""
    source = str(HERE / "latency.c")
    checked([GOMPCC, "-O2", "-fopenmp", source, "-o", "latency"], directory, environment)
    checked([GCC, "-O2", "-fopenmp", "-foffload=disable", source, "-o", "latency-host"], directory, environment)
    device: list[dict[str, Any]] = []
    host: list[dict[str, Any]] = []
    for _ in range(3):
        device.append(json.loads(checked(["./latency"], directory, environment)))
        host.append(json.loads(checked(["./latency-host"], directory, environment)))
    if device[0]["on_host"]:
        raise BenchError("latency: its regions ran on the host")
    names = [name for name in device[0] if name != "on_host"]
    return {
        "name": "latency",
        "title": "A region and its maps, inside a program",
        "unit": "ns",
        "results": [
            {
                "name": name,
                "device": statistics.median(d[name]["median"] for d in device),
                "device_lowest": min(d[name]["lowest"] for d in device),
                "host": statistics.median(h[name]["median"] for h in host),
            }
            for name in names
        ],
    }


def show_latency(report: dict[str, Any]) -> None:
    """The table of latency()."""
    print(f"\n{report['title']} (medians, µs)")
    print(f"  {'':44} {'intelmic':>10} {'lowest':>10} {'stock host':>11}")
    for row in report["results"]:
        device, lowest, host = (row[key] / 1e3 for key in ("device", "device_lowest", "host"))
        print(f"  {row['name']:44} {device:>10.2f} {lowest:>10.2f} {host:>11.2f}")


CONTESTS: tuple[Callable[[Path, dict[str, str]], Contest], ...] = (link, compile_, program, ptx)


def main() -> int:
    """Run the benchmarks named (link, compile, program, ptx, latency, llvm, clang, crowd, rests, many, nvptx), or all;
    most."""
    names = [c.__name__.rstrip("_") for c in CONTESTS]
    names += ["latency", "llvm", "clang", "crowd", "rests", "many", "nvptx"]
    wanted = sys.argv[1:] or names
    names = [*names, "most"]  # only by its name: it takes minutes, and gigabytes
    unknown = set(wanted) - set(names)
    if unknown:
        print(
            f"run.py: error: no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names)}",
            file=sys.stderr,
        )
        return 2
    environment = {**os.environ, "LC_ALL": "C"}
    with tempfile.TemporaryDirectory(prefix="gompy-bench-") as name:
        directory = Path(name)
        for make in CONTESTS:
            if make.__name__.rstrip("_") in wanted:
                contest = make(directory, environment)
                contest.run(directory, RUNS, environment)
                contest.show()
                keep(contest.report())
        if "latency" in wanted:
            report = latency(directory, environment)
            show_latency(report)
            keep(report)
        if "llvm" in wanted:
            report = llvm(directory, environment)
            show_llvm(report)
            keep(report)
        if "clang" in wanted:
            report = clang(directory, environment)
            show_llvm(report)
            keep(report)
        if "crowd" in wanted:
            report = crowd(directory, environment)
            show_crowd(report)
            keep(report)
        if "rests" in wanted:
            report = rests(directory, environment)
            show_rests(report)
            keep(report)
        for what, sizes in (("many", SIZES), ("most", (MOST,))):
            if what in wanted:
                (directory / what).mkdir()
                report = many(directory / what, environment, sizes)
                show_many(report)
                keep(report)
        if "nvptx" in wanted:
            missing = nvptx_missing(directory, environment)
            if missing:
                print(f"\nA region on an nvptx device: {missing}")
            else:
                report = nvptx(directory, environment)
                show_nvptx(report)
                keep(report)
    return 0


if __name__ == "__main__":
    run_as_command(main, "[NAME...]")
