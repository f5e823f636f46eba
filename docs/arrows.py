#!/usr/bin/env python3
"""Draw which file of a compiled library uses which: `arrows.py LIBRARY.pyx OUT.svg [TREE]`.

Files stand in the order in which the library includes them, the lowest layer at the bottom.  Grey arcs are uses of what
stands below, red ones of what stands above.  The graph is the one that tests/whole/test_layers.py holds.
"""

from __future__ import annotations

import sys
from collections import Counter
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import cython_graph  # noqa: E402

ROW, SIDE, LABEL = 16, 260, 230
COLOURS = ("#1f6f8b", "#99582a", "#5b7553", "#6a4c93", "#b5446e", "#444444")


def arc(x: int, begin: int, end: int, weight: int, upward: bool) -> str:
    """One arrow from a row to another, on the left if it leads upward."""
    reach = min(SIDE - 12, 14 + abs(begin - end) * 0.42)
    side = x - reach if upward else x + reach
    colour, dark = ("#d1242f", 0.8) if upward else ("#777777", 0.35)
    width = 0.6 + min(weight, 24) / 10
    return (
        f'<path d="M{x},{begin} C{side:.0f},{begin} {side:.0f},{end} {x},{end}" fill="none" stroke="{colour}" '
        f'stroke-opacity="{dark}" stroke-width="{width:.1f}" marker-end="url(#{"up" if upward else "down"})"/>'
    )


def drawing(source: str) -> str:
    """The SVG text of a library."""
    graph = cython_graph.library(source)
    rows = {name: (len(graph.order) - index) * ROW + 30 for index, name in enumerate(graph.order)}
    rooms = list(dict.fromkeys(str(Path(name).parent) for name in graph.order))
    pairs = Counter((use.source, use.target) for use in graph.uses)
    up = sum(rows[target] < rows[begin] for begin, target in pairs)
    left, right, width = SIDE, SIDE + LABEL, 2 * SIDE + LABEL
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{len(rows) * ROW + 60}" '
        'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/><defs>'
    ]
    for name, colour in (("up", "#d1242f"), ("down", "#777777")):
        parts.append(
            f'<marker id="{name}" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" '
            'markerUnits="userSpaceOnUse" orient="auto">'
            f'<path d="M0,0 L6,3 L0,6 z" fill="{colour}"/></marker>'
        )
    parts.append(f'</defs><text x="8" y="18" font-size="13">{escape(source)}: {len(rows)} files, ')
    parts.append(f"{len(pairs)} arrows, {up} of them upward</text>")
    for (begin, target), weight in sorted(pairs.items()):
        upward = rows[target] < rows[begin]
        parts.append(arc(left if upward else right, rows[begin] - 4, rows[target] - 4, weight, upward))
    for name, y in rows.items():
        colour = COLOURS[rooms.index(str(Path(name).parent)) % len(COLOURS)]
        middle = (left + right) // 2
        parts.append(f'<text x="{middle}" y="{y}" text-anchor="middle" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> int:
    """The command line."""
    if len(sys.argv) not in (3, 4):
        print("usage: arrows.py LIBRARY.pyx OUT.svg [TREE]", file=sys.stderr)
        return 2
    if len(sys.argv) == 4:
        cython_graph.ROOT = Path(sys.argv[3]).resolve()
    Path(sys.argv[2]).write_text(drawing(sys.argv[1]), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
