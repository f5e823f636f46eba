"""The plots of `make bench`: for each report benchmarks/out/NAME.svg.

Bars of ratios to the peer, on a logarithmic axis with 1 in its middle: left of it gompy takes less.  Of what was
measured against a number of mappings, cost against that number (many.py).  Needs matplotlib (the extra ``bench``).
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import OUT, save
from ispras.plots import NoPlotsError, load
from many import draw_many

Report = dict[str, Any]
COLOURS = {"gompy": "#2b6cb0", "slower": "#b7791f", "LLVM": "#c05621"}


@dataclass(frozen=True)
class Bar:
    """A ratio of times, gompy's to the peer's; the range that the middle half of runs is in, if it is known."""

    title: str
    ratio: float
    low: float | None = None
    high: float | None = None
    wanted: float | None = None


def command_bars(report: Report) -> list[Bar]:
    """Of commands in turns: the first against each other one."""
    present = [line for line in report["results"] if not line.get("missing")]
    first = present[0]
    return [
        Bar(
            f"{first['name']} : {line['name']}",
            first["median"] / line["median"],
            first["quartiles"][0] / line["median"],
            first["quartiles"][2] / line["median"],
        )
        for line in present[1:]
    ]


def device_bars(report: Report) -> list[Bar]:
    """Of the device's measurements and of many mappings; a bandwidth as the time that the same copy takes."""
    found = []
    for line in report["results"]:
        if "LLVM" not in line:
            continue
        wanted = line.get("wanted")
        if wanted and line.get("bandwidth"):
            wanted = 1 / wanted
        ratio = line["gompy"]["median"] / line["LLVM"]["median"]
        low = high = None
        if "rounds" in line["gompy"]:
            theirs = line["LLVM"]["median"]
            rounds = [statistics.median(batches) / theirs for batches in line["gompy"]["rounds"]]
            if len(rounds) > 1:
                low, _, high = statistics.quantiles(rounds, n=4)
        found.append(Bar(line["title"], ratio, low, high, wanted))
    return found


def turn_bars(report: Report) -> list[Bar]:
    """Of two builds: now against before."""
    return [Bar(line["title"], line["now"]["median"] / line["before"]["median"]) for line in report["results"]]


def driver_bars(report: Report) -> list[Bar]:
    """Of an nvptx device: gompy's runtime and plugin against GCC's, for each driver."""
    return [
        Bar(f"{line['name']}, {driver} driver", line["gompy"] / line["gcc"])
        for driver, lines in report["drivers"].items()
        for line in lines
    ]


def latency_bars(report: Report) -> list[Bar]:
    """Of what a launch costs inside a program: the device against a call on the host."""
    return [Bar(line["name"], line["device"] / line["host"]) for line in report["results"] if line["host"]]


def logarithmic(axes: Any) -> None:
    """The horizontal axis, with plain numbers."""
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="both", labelsize=7)


def draw_bars(pyplot: Any, report: Report, bars: list[Bar]) -> Any:
    """Ratios: the figure."""
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.28 * len(bars)))
    rows = range(len(bars))
    axes.barh(
        rows,
        [bar.ratio - 1 for bar in bars],
        left=1,
        color=[COLOURS["gompy" if bar.ratio <= 1 else "slower"] for bar in bars],
    )
    for row, bar in enumerate(bars):
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [row, row], color="black", linewidth=1)
        if bar.wanted is not None:
            axes.plot([bar.wanted, bar.wanted], [row - 0.4, row + 0.4], color="black", linewidth=1, linestyle=":")
        axes.annotate(f" {bar.ratio:.2f}", (max(bar.ratio, 1, bar.high or 0), row), va="center", fontsize=7)
    logarithmic(axes)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(rows, [bar.title for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("time, of the peer's (dotted: wanted; line: the middle half of rounds)", fontsize=8)
    axes.set_title(report.get("title", report["name"]), fontsize=9)
    return figure


def draw_crowd(pyplot: Any, report: Report) -> Any:
    """Each run's median in each of the conditions: the figure."""
    figure, axes = pyplot.subplots(figsize=(8, 1.2 + 0.5 * len(report["results"])))
    for row, line in enumerate(report["results"]):
        for name, shift in (("gompy", -0.12), ("LLVM", 0.12)):
            times = [run["median"] / 1e3 for run in line.get(name, [])]
            axes.plot(
                times, [row + shift] * len(times), "o", markersize=4, color=COLOURS[name], label=None if row else name
            )
    logarithmic(axes)
    axes.xaxis.set_minor_formatter("")
    axes.set_yticks(range(len(report["results"])), [line["title"] for line in report["results"]], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("a run's median, µs", fontsize=8)
    axes.set_title(report["title"], fontsize=9)
    axes.legend(fontsize=8)
    return figure


BARS = {
    "link": command_bars,
    "compile": command_bars,
    "program": command_bars,
    "ptx": command_bars,
    "latency": latency_bars,
    "llvm": device_bars,
    "clang": device_bars,
    "rests": device_bars,
    "nvptx": driver_bars,
    "turns": turn_bars,
    "unhooked": turn_bars,
    "check-any": turn_bars,
    "check-exact": turn_bars,
}


def draw(report: Report) -> Path | None:
    """A report's plot; None if nothing in it can be drawn.  Raises NoPlotsError."""
    pyplot = load()
    pyplot.rcParams["svg.hashsalt"] = "gompy"
    if report["name"] in ("many", "most"):
        figure = draw_many(pyplot, report)
    elif report["name"] == "crowd":
        figure = draw_crowd(pyplot, report)
    else:
        bars = BARS[report["name"]](report)
        if not bars:
            return None
        figure = draw_bars(pyplot, report, bars)
    figure.tight_layout()
    OUT.mkdir(exist_ok=True)
    path = OUT / f"{report['name']}.svg"
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path


def keep(report: Report) -> None:
    """Write a report to benchmarks/out, and draw it."""
    save(report)
    try:
        path = draw(report)
    except NoPlotsError as error:
        print(f"  {error}")
        return
    if path:
        print(f"  plot: {path}")
