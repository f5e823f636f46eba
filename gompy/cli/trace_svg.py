"""A trace drawn: a line for each track, time from left to right, in one SVG file."""

from __future__ import annotations

from html import escape
from typing import Final

from gompy.cli.trace_events import DEVICE_PID, Trace

COLOURS: Final = {
    "construct": "#8fb8de",
    "fallback": "#e08e79",
    "launch": "#6aa84f",
    "copy": "#f1c232",
    "memory": "#b4a7d6",
    "image": "#999999",
    "device": "#cccccc",
    "queue": "#dddddd",
}
WIDTH: Final = 1200
LABEL: Final = 190
BAR: Final = 16
MOST: Final = 20000
"""Bars: more are not drawn, for no viewer would show them."""


def draw(trace: Trace) -> str:
    """The picture."""
    scale = (WIDTH - LABEL - 10) / (trace.length or 1)
    rows: list[str] = []
    top = 30
    drawn = 0
    for track in sorted(trace.tracks, key=lambda t: (t[0] >= DEVICE_PID, t)):
        spans = sorted((s for s in trace.spans if s.track == track), key=lambda s: (s.begin, -s.end))
        ends: list[float] = []
        deepest = 1
        for span in spans[: MOST - drawn]:
            while ends and ends[-1] <= span.begin:
                ends.pop()
            ends.append(span.end)
            deepest = max(deepest, len(ends))
            text = escape(f"{span.name}, {span.time:.1f} µs" + ("" if span.over else ", not over"))
            rows.append(
                f'<rect x="{LABEL + span.begin * scale:.2f}" y="{top + (len(ends) - 1) * BAR}" '
                f'width="{max(span.time * scale, 0.5):.2f}" height="{BAR - 2}" fill="{COLOURS.get(span.kind, "#eee")}">'
                f"<title>{text}</title></rect>"
            )
        drawn += len(spans)
        process = trace.processes.get(track[0], "")
        rows.append(f'<text x="4" y="{top + 12}">{escape(f"{process}: {trace.tracks[track]}")}</text>')
        top += deepest * BAR + 8
    legend = "".join(
        f'<rect x="{LABEL + 110 * i}" y="6" width="12" height="12" fill="{colour}"/>'
        f'<text x="{LABEL + 110 * i + 16}" y="16">{kind}</text>'
        for i, (kind, colour) in enumerate(COLOURS.items())
    )
    rows.append(f'<text x="{LABEL}" y="{top + 10}">0</text>')
    rows.append(f'<text x="{WIDTH - 10}" y="{top + 10}" text-anchor="end">{trace.length / 1000:.3f} ms</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top + 20}" font-family="sans-serif" '
        f'font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n{legend}\n' + "\n".join(rows) + "\n</svg>\n"
    )
