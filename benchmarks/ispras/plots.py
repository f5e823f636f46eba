"""Plots of the sweeps, in the manner of figures 2 to 4 of the paper: PNG and SVG, logarithmic axes.

Needs matplotlib (the extra ``bench`` of gompy).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

MISSING = "plots need matplotlib: pip install 'gompy[bench]' (or matplotlib itself)"
MARKERS = "osv^Dx*+<>"
LEGEND_INSIDE = 8
Point = dict[str, Any]
Line = tuple[str, list[tuple[float, float]]]


class NoPlotsError(Exception):
    """matplotlib is not installed."""


def load() -> Any:
    """matplotlib.pyplot, drawing into files only.  Raises NoPlotsError."""
    try:
        import matplotlib
    except ImportError:
        raise NoPlotsError(MISSING) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def seconds(point: Point) -> float:
    """The median of a point's regions."""
    return float(statistics.median(point["region"]))


def launch(point: Point) -> str:
    """A point's launch in words."""
    if not point["teams"] or not point["threads"]:
        return "the runtime's choice"
    return f"{many(point['teams'], 'teams')} × {many(point['threads'], 'threads')}"


def many(count: int, things: str) -> str:
    """``1 team``, ``2 teams``."""
    return f"{count} {things if count != 1 else things[:-1]}"


def grouped(points: list[Point], key: Callable[[Point], Any]) -> dict[Any, list[Point]]:
    """Points by a key, in the order of their first appearance."""
    result: dict[Any, list[Point]] = {}
    for point in points:
        result.setdefault(key(point), []).append(point)
    return result


def by_size(run: dict[str, Any]) -> tuple[list[Line], list[Line]]:
    """Figure 2: time over the size, a line for each launch (with simd); and the native loop."""
    points = [p for p in run["points"] if p["simd"]] or run["points"]
    lines = [
        (launch(group[0]), [(p["n"], seconds(p)) for p in group])
        for group in grouped(points, lambda p: (p["teams"], p["threads"])).values()
    ]
    sizes = grouped(points, lambda p: p["n"])
    native = [(n, statistics.median(t for p in group for t in p["native"])) for n, group in sizes.items()]
    return lines, [("one core, native", native)]


def largest(run: dict[str, Any]) -> list[Point]:
    """The points of the largest size whose launch was given."""
    points = [p for p in run["points"] if p["teams"] and p["threads"]]
    size = max((p["n"] for p in points), default=0)
    return [p for p in points if p["n"] == size]


def speedup(run: dict[str, Any]) -> list[Line]:
    """Figure 3: time without simd by time with it, over the number of teams, a line for each number of threads."""
    pairs = grouped(largest(run), lambda p: (p["threads"], p["teams"]))
    lines: dict[int, list[tuple[float, float]]] = {}
    for (threads, teams), group in pairs.items():
        times = {p["simd"]: seconds(p) for p in group}
        if len(times) == 2:
            lines.setdefault(threads, []).append((teams, times[0] / times[1]))
    return [(many(threads, "threads"), line) for threads, line in lines.items()]


def over(run: dict[str, Any], axis: str, other: str) -> list[Line]:
    """Figure 4: time at the largest size over teams or threads, a line for each number of the other (with simd)."""
    points = [p for p in largest(run) if p["simd"]] or largest(run)
    return [
        (many(value, other), [(p[axis], seconds(p)) for p in group])
        for value, group in grouped(points, lambda p: p[other]).items()
    ]


def draw(runs: list[dict[str, Any]], out: Path) -> list[Path]:
    """The plots of all runs, three files (each as PNG and SVG) for each of them.  Raises NoPlotsError."""
    pyplot = load()
    made: list[Path] = []
    for run in runs:
        who = f"{run['bench']}, {run['model']}, {run['device']} ({run['runtime']})"
        name = f"ispras-{run['device']}-{run['bench']}-{run['model']}-{run['runtime']}"
        size = "matrix, elements" if run["bench"] == "mul-matr-vec" else "vector, elements"
        lines, native = by_size(run)
        made += figure(pyplot, out / f"{name}-size", who, [("", size, "time of a region, s", lines, native)])
        n = max((p["n"] for p in largest(run)), default=0)
        given = f"{who}, n = {n}"
        if any(len(line) > 1 for _, line in speedup(run)):
            panel = ("", "teams", "time without simd / time with simd", speedup(run), [])
            made += figure(pyplot, out / f"{name}-simd", given, [panel])
        panels = [
            ("", "teams", "time of a region, s", over(run, "teams", "threads"), []),
            ("", "threads in a team", "time of a region, s", over(run, "threads", "teams"), []),
        ]
        if any(len(line) > 1 for panel in panels for _, line in panel[3]):
            made += figure(pyplot, out / f"{name}-launch", given, panels)
    return made


def figure(
    pyplot: Any, path: Path, title: str, panels: list[tuple[str, str, str, list[Line], list[Line]]]
) -> list[Path]:
    """One figure with its panels (title, x, y, lines, dashed lines) side by side, axes to base 2 and 10; its files."""
    picture, axes = pyplot.subplots(1, len(panels), figsize=(6.4 * len(panels), 4.8), squeeze=False, sharey=True)
    for ax, (subtitle, x, y, lines, dashed) in zip(axes[0], panels, strict=True):
        for i, (label, line) in enumerate(lines):
            ax.plot(*zip(*line, strict=True), marker=MARKERS[i % len(MARKERS)], markersize=4, linewidth=1, label=label)
        for label, line in dashed:
            ax.plot(*zip(*line, strict=True), "k--", linewidth=1, label=label)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=10)
        ax.set(xlabel=x, ylabel=y, title=subtitle)
        ax.grid(True, which="major", linewidth=0.3)
        if len(lines) > LEGEND_INSIDE:
            ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
        else:
            ax.legend(fontsize=7)
    picture.suptitle(title, fontsize=10)
    picture.tight_layout()
    made = []
    for kind in ("png", "svg"):
        file = path.with_name(f"{path.name}.{kind}")
        picture.savefig(file, dpi=120)
        made.append(file)
    pyplot.close(picture)
    return made
