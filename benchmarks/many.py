"""many.c and a program of many regions: what maps and regions cost where there are many, against LLVM's host device.

floor.c stands beside it: what the same mappings ask of the memory, without any runtime, where a leaf of an index is
searched and where the place in it is known.  Each measurement is a program of its own, built by gompcc and by clang, in
turns.  Shown are medians over the runs: of a run's median, and of its lowest tenth, which is what is left where other
programs take processors away.
"""

from __future__ import annotations

import json
import os
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import CLANG, GCC, GOMPCC, HERE, BenchError, checked, llvm_environment, show_head, timed

SIZES = (1_000, 10_000, 100_000, 1_000_000)
MOST = 10_000_000
FLOORS = ("searched", "ordered")
RUNS = 3
REGIONS = 1000
RANGE_TITLES = {
    "enter": "enter data to",
    "look-up": "omp_target_is_present",
    "launch": "launch, one array present",
    "exit": "exit data from",
}
CONSTRUCT_TITLES = {
    "new": "launch, 64 new maps",
    "present": "launch, 64 present maps",
    "struct": "launch, struct of 64 attached members",
}


@dataclass
class Build:
    """One build of the programs: its name, its compiler's words, its environment."""

    name: str
    command: list[str]
    environment: dict[str, str]
    directory: Path
    found: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def compile(self, source: Path, program: str) -> None:
        """Build a program.  Raises BenchError."""
        self.directory.mkdir(exist_ok=True)
        checked([*self.command, "-O2", "-fopenmp", str(source), "-o", program], self.directory, self.environment)

    def measure(self, *words: str) -> None:
        """Run many.c once with some words.  Raises BenchError."""
        text = checked(["./many", *words], self.directory, self.environment)
        self.found.setdefault(" ".join(words), []).append(json.loads(text))

    def time_regions(self) -> None:
        """The program of many regions, nanoseconds from its start to its end.  Raises BenchError."""
        took = 1e9 * timed(["./regions"], self.directory, self.environment)[0]
        self.found.setdefault("regions", []).append({"regions": {"median": took, "low": took}})

    def value(self, what: str, name: str, key: str = "") -> float:
        """The median over the runs."""
        runs = [run[name] for run in self.found[what]]
        return float(statistics.median(run[key] if key else run for run in runs))


def regions_source(directory: Path, number: int = REGIONS) -> Path:
    """A program that launches many regions, each once."""
    source = directory / "regions.c"
    parts = [
        f"__attribute__ ((noinline)) static void\nrun{i} (void)\n"
        f"{{\n#pragma omp target map(tofrom: x)\n  x += {i};\n}}\n"
        for i in range(number)
    ]
    calls = "".join(f"  run{i} ();\n" for i in range(number))
    total = sum(range(number))
    source.write_text(f"static int x;\n{''.join(parts)}\nint\nmain (void)\n{{\n{calls}  return x != {total};\n}}\n")
    return source


def builds(directory: Path, environment: dict[str, str]) -> tuple[list[Build], str]:
    """Both builds; why LLVM's cannot be had, or an empty text.  Raises BenchError if gompcc fails."""
    ours = Build("gompy", [GOMPCC], environment, directory / "gompy")
    source = regions_source(directory)
    ours.compile(HERE / "many.c", "many")
    ours.compile(source, "regions")
    try:
        words = [CLANG, "-fopenmp-targets=x86_64-pc-linux-gnu"]
        theirs = Build("LLVM", words, llvm_environment(environment), directory / "llvm")
        theirs.compile(HERE / "many.c", "many")
        theirs.compile(source, "regions")
        checked(["./many", "ranges", "100"], theirs.directory, theirs.environment)
    except BenchError as error:
        lines = str(error).splitlines()
        return [ours], f"{CLANG} makes no program for its x86_64 device: {lines[1] if len(lines) > 1 else lines[0]}"
    return [ours, theirs], ""


def floor(directory: Path, environment: dict[str, str]) -> Build:
    """The program without a runtime, as a further build.  Raises BenchError."""
    build = Build("floor", [GCC], environment, directory / "floor")
    build.compile(HERE / "floor.c", "many")
    return build


def row(sides: list[Build], title: str, what: str, name: str) -> dict[str, Any]:
    """One measurement of all builds."""
    found: dict[str, Any] = {"title": title, "name": name, "what": what}
    for side in sides:
        found[side.name] = {key: side.value(what, name, key) for key in ("median", "low")}
    return found


def many(directory: Path, environment: dict[str, str], sizes: tuple[int, ...]) -> dict[str, Any]:
    """Build, measure.  Raises BenchError."""
    sides, missing = builds(directory, environment)
    least = floor(directory, environment)
    load_before = os.getloadavg()[0]
    runs = RUNS if sizes == SIZES else 1
    for turn in range(runs):
        for side in sides if turn % 2 == 0 else reversed(sides):
            for size in sizes:
                side.measure("ranges", str(size))
            side.measure("constructs")
            side.time_regions()
        for size in sizes:
            for way in FLOORS:
                least.measure(str(size), way)
    rows = []
    totals = []
    for size in sizes:
        what = f"ranges {size}"
        rows += [row(sides, f"{title}, among {size}", what, name) for name, title in RANGE_TITLES.items()]
        keys = ("bytes", "enter-all", "exit-all")
        totals.append({"size": size} | {side.name: {key: side.value(what, key) for key in keys} for side in sides})
        for way in FLOORS:
            totals[-1][f"{least.name}, {way}"] = {key: least.value(f"{size} {way}", key) for key in keys}
    rows += [row(sides, title, "constructs", name) for name, title in CONSTRUCT_TITLES.items()]
    rows.append(row(sides, f"a program with {REGIONS} regions", "regions", "regions"))
    return {
        "name": "many" if sizes == SIZES else "most",
        "title": "Many mappings, many maps, many regions: gompy's device and LLVM's x86_64, in turns",
        "unit": "ns",
        "missing": missing,
        "load": [load_before, os.getloadavg()[0]],
        "results": rows,
        "totals": totals,
        "runs": {side.name: side.found for side in [*sides, least]},
    }


def shown(nanoseconds: float) -> str:
    """A time in ns, µs or ms."""
    if nanoseconds < 1e4:
        return f"{nanoseconds:.0f} ns"
    return f"{nanoseconds / 1e3:.1f} µs" if nanoseconds < 1e6 else f"{nanoseconds / 1e6:.1f} ms"


def show_many(report: dict[str, Any]) -> None:
    """The tables of many()."""
    show_head(report, "", {"missing": "LLVM"})
    print(f"  {'':42} {'median':>22}  ratio   {'lowest tenth':>22}  ratio")
    for line in report["results"]:
        cells = []
        for key in ("median", "low"):
            ours = line["gompy"][key]
            theirs = line["LLVM"][key] if "LLVM" in line else None
            ratio = f"{ours / theirs:5.2f}" if theirs else "    -"
            cells.append(f"{shown(ours):>10} /{shown(theirs) if theirs else '-':>10}  {ratio}")
        print(f"  {line['title']:42} {'   '.join(cells)}")
    print(f"\n  {'mappings of 64 bytes':>24} {'':15} {'bytes of each':>14} {'enter all':>12} {'exit all':>12}")
    for line in report["totals"]:
        for name, t in line.items():
            if name != "size":
                enter, leave = t["enter-all"], t["exit-all"]
                print(f"  {line['size']:>24} {name:15} {t['bytes']:14.0f} {enter:10.2f} s {leave:10.2f} s")


def draw_many(pyplot: Any, report: dict[str, Any]) -> Any:
    """Cost against the number of mappings: the figure."""
    figure, axes = pyplot.subplots(1, len(RANGE_TITLES), figsize=(3.4 * len(RANGE_TITLES), 3.2), sharey=True)
    sizes = [line["size"] for line in report["totals"]]
    for part, (name, title) in zip(axes, RANGE_TITLES.items(), strict=True):
        for side, marker in (("gompy", "o"), ("LLVM", "s")):
            lines = [r for r in report["results"] if r["name"] == name and side in r]
            if lines:
                part.loglog(sizes, [r[side]["median"] for r in lines], marker=marker, label=side)
        part.set_title(title, fontsize=9)
        part.set_xlabel("mappings")
    axes[0].set_ylabel("ns")
    axes[0].legend(fontsize=8)
    return figure
