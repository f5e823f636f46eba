"""device.c built by gompcc and by clang for LLVM's host device (libomptarget.rtl.x86_64), measured in turns.

Two servers of measurements live side by side and answer one short burst (some milliseconds) each in turn, so that what
else the machine does meets both.  A round's value is the median of its batches.  Shown are the median over the rounds,
and the lowest tenth of all batches, which is what is left where other programs take processors away: gompy's device
is a process of its own and needs a second one, LLVM's is the program itself.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import CLANG, GOMPCC, HERE, BenchError, checked, llvm_environment

COPIED = 256 << 20
ROUNDS = 40
LARGE_ROUNDS = 12
FIRST_ROUNDS = 9
TIMEOUT = 60


@dataclass(frozen=True)
class Measurement:
    """A measurement of device.c; the ratio gompy / LLVM that is wanted: times at most, bandwidths at least."""

    name: str
    title: str
    wanted: float | None = None
    rounds: int = ROUNDS
    bandwidth: bool = False


MEASUREMENTS = (
    Measurement("launch", "empty launch", 3),
    Measurement("three-new", "launch, three new maps of 800 bytes", 2),
    Measurement("three-present", "launch, the same three present"),
    Measurement("rested", "empty launch after 5 ms of rest"),
    Measurement("update-to", "target update to, 800 bytes", 1),
    Measurement("update-from", "target update from, 800 bytes", 1),
    Measurement("enter", "enter data to, 800 bytes", 1),
    Measurement("exit", "exit data from, 800 bytes", 1),
    Measurement("enter-alloc", "enter data alloc", 1),
    Measurement("exit-release", "exit data release", 1),
    Measurement("data-present", "target data, present"),
    Measurement("look-up", "omp_target_is_present, 64 objects mapped"),
    Measurement("alloc-free-small", "omp_target_alloc + free, 1 KiB"),
    Measurement("alloc-free-large", "omp_target_alloc + free, 4 MiB"),
    Measurement("copy-4k", "omp_target_memcpy to, 4 KiB"),
    Measurement("copy-to", "copy of 256 MiB to a used buffer", 0.9, LARGE_ROUNDS, True),
    Measurement("copy-from", "copy of 256 MiB from it", 0.9, LARGE_ROUNDS, True),
    Measurement("alloc-copy-free", "alloc, copy of 256 MiB to, free", 0.9, LARGE_ROUNDS, True),
    Measurement("map-large", "enter data to, exit data from, 256 MiB", None, LARGE_ROUNDS, True),
    Measurement("first", "first copy of 256 MiB of a program", 1.5, FIRST_ROUNDS, True),
    Measurement("first-second", "second update of 256 MiB after alloc", 1 / 1.05, FIRST_ROUNDS, True),
    Measurement("first-region", "first region over 256 MiB just copied", None, FIRST_ROUNDS),
    Measurement("first-use", "enter data alloc, update, first region", 1.1, FIRST_ROUNDS),
)


@dataclass
class Side:
    """One build of device.c: its program, its server, and times in nanoseconds by measurement and round."""

    name: str
    program: Path
    server: subprocess.Popen[str] | None = None
    times: dict[str, list[list[float]]] = field(default_factory=dict)

    def start(self, environment: dict[str, str]) -> None:
        """Start the server.  Raises BenchError."""
        self.server = subprocess.Popen(
            [str(self.program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
        if self.read() != "ready":
            raise BenchError(f"{self.program.name} ({self.name}) doesn't start")

    def read(self) -> str:
        """One line of the server's."""
        assert self.server is not None and self.server.stdout is not None
        return self.server.stdout.readline().strip()

    def burst(self, name: str) -> None:
        """Have a measurement done once.  Raises BenchError."""
        assert self.server is not None and self.server.stdin is not None
        try:
            self.server.stdin.write(f"{name}\n")
            self.server.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.read()
        if not line:
            raise BenchError(f"{self.program.name} ({self.name}) ended in the measurement {name}")
        self.times.setdefault(name, []).append([float(word) for word in line.split()])

    def first(self, name: str, environment: dict[str, str]) -> None:
        """What a new process does once with a large piece of memory."""
        text = checked([str(self.program), name], self.program.parent, environment)
        self.times.setdefault(name, []).append([float(text)])

    def stop(self) -> None:
        """End the server."""
        if self.server is not None and self.server.stdin is not None:
            self.server.stdin.close()
            try:
                self.server.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()

    def median(self, name: str) -> float:
        """Nanoseconds: of the rounds' medians."""
        return statistics.median(statistics.median(batches) for batches in self.times[name])

    def low(self, name: str) -> float:
        """Nanoseconds: the lowest tenth of all batches."""
        batches = sorted(value for one in self.times[name] for value in one)
        return batches[len(batches) // 10]


def build(directory: Path, environment: dict[str, str]) -> tuple[list[Side], str]:
    """Both programs; why LLVM's cannot be had, or an empty text.  Raises BenchError if gompcc fails."""
    common = ["-O2", "-fopenmp", str(HERE / "device.c"), "-o"]
    ours = directory / "device-gompy"
    theirs = directory / "device-llvm"
    checked([GOMPCC, *common, str(ours)], directory, environment)
    try:
        checked([CLANG, "-fopenmp-targets=x86_64-pc-linux-gnu", *common, str(theirs)], directory, environment)
        checked([str(theirs), "first"], directory, environment)
    except BenchError as error:
        lines = str(error).splitlines()
        said = lines[1] if len(lines) > 1 else lines[0]
        return [Side("gompy", ours)], f"{CLANG} makes no program for its x86_64 device: {said}"
    return [Side("gompy", ours), Side("LLVM", theirs)], ""


def rounds(
    sides: list[Side], environment: dict[str, str], measurements: tuple[Measurement, ...] = MEASUREMENTS
) -> None:
    """All rounds, the order of the sides turned each time."""
    try:
        for side in sides:
            side.start(environment)
        for turn in range(max(m.rounds for m in measurements)):
            for measurement in measurements:
                if turn < measurement.rounds:
                    for side in sides if turn % 2 == 0 else reversed(sides):
                        if measurement.name.startswith("first"):
                            side.first(measurement.name, environment)
                        else:
                            side.burst(measurement.name)
    finally:
        for side in sides:
            side.stop()


def judged(measurement: Measurement, ratio: float) -> str:
    """What to say of a ratio."""
    if measurement.wanted is None:
        return ""
    good = ratio >= measurement.wanted if measurement.bandwidth else ratio <= measurement.wanted
    sign = "≥" if measurement.bandwidth else "≤"
    return f"{sign} {measurement.wanted:g} {'ok' if good else 'MISSED'}"


def compared(sides: list[Side], measurements: tuple[Measurement, ...] = MEASUREMENTS) -> list[dict[str, Any]]:
    """A row for each measurement, with ratios if there are two sides."""
    results: list[dict[str, Any]] = []
    for m in measurements:
        row: dict[str, Any] = {"name": m.name, "title": m.title, "wanted": m.wanted, "bandwidth": m.bandwidth}
        for side in sides:
            row[side.name] = {"median": side.median(m.name), "low": side.low(m.name), "rounds": side.times[m.name]}
        if len(sides) > 1:
            for key in ("median", "low"):
                ours, theirs = row["gompy"][key], row["LLVM"][key]
                row[f"ratio_{key}"] = theirs / ours if m.bandwidth else ours / theirs
            row["verdict"] = judged(m, row["ratio_median"])
        results.append(row)
    return results


def llvm(directory: Path, environment: dict[str, str]) -> dict[str, Any]:
    """Build, measure, compare.  Raises BenchError."""
    with contextlib.suppress(BenchError):  # no clang: there is no such side
        environment = llvm_environment(environment)
    sides, missing = build(directory, environment)
    load = [os.getloadavg()[0]]
    rounds(sides, environment)
    load.append(os.getloadavg()[0])
    return {
        "name": "llvm",
        "title": "A device: gompy's (a process) and LLVM's x86_64 (in the program), device.c, in turns",
        "unit": "ns",
        "missing": missing,
        "load": load,
        "results": compared(sides),
    }


def shown(nanoseconds: float, bandwidth: bool) -> str:
    """A time in ns or µs, or the bandwidth of the large copy."""
    if bandwidth:
        return f"{COPIED / nanoseconds:.1f} GB/s"
    return f"{nanoseconds:.0f} ns" if nanoseconds < 10000 else f"{nanoseconds / 1e3:.0f} µs"


def show_llvm(report: dict[str, Any]) -> None:
    """The table of llvm()."""
    print(f"\n{report['title']}")
    if "skipped" in report:
        print(f"  skipped: {report['skipped']}")
        return
    print(
        f"  load average before and after: {report['load'][0]:.1f}, {report['load'][1]:.1f} on {os.cpu_count()} cores"
    )
    if report["missing"]:
        print(f"  LLVM skipped: {report['missing']}")
    print(f"  {'':42} {'median of rounds':>22}  ratio   {'lowest tenth':>22}  ratio   wanted")
    for row in report["results"]:
        cells = []
        for key in ("median", "low"):
            ours = shown(row["gompy"][key], row["bandwidth"])
            theirs = shown(row["LLVM"][key], row["bandwidth"]) if "LLVM" in row else "-"
            ratio = f"{row[f'ratio_{key}']:5.2f}" if "LLVM" in row else "    -"
            cells.append(f"{ours:>10} /{theirs:>10}  {ratio}")
        print(f"  {row['title']:42} {'   '.join(cells)}   {row.get('verdict', '')}".rstrip())
