"""Layered drawing of the graph of inspect_graph.py: SVG of our own, or Graphviz's language.

Columns from left to right are the stations of the trip.  An edge over several columns gets an invisible node in each,
so that it passes between boxes, not through them; the order in a column is found by barycentre sweeps, the heights by
relaxation that keeps the order (Sugiyama, Tagawa, Toda 1981).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import networkx as nx

HEADINGS: Final[dict[str, str]] = {
    "object": "objects",
    "ir": "IR",
    "linked": "linked files",
    "image": "device images",
    "region": "regions",
    "function": "functions",
    "variable": "variables",
}
FILLS: Final[dict[str, str]] = {
    "object": "#dbe9f9",
    "ir": "#eceff1",
    "linked": "#d9f0dd",
    "image": "#eadcf5",
    "region": "#ffe3c8",
    "function": "#ffffff",
    "variable": "#fff5bf",
}
EDGES: Final[dict[str, tuple[str, str]]] = {
    "contains": ("#78909c", "contains"),
    "linked": ("#2e7d32", "linked into"),
    "compiled": ("#7b1fa2", "compiled to"),
    "entry": ("#e08a3c", "table entry"),
    "calls": ("#1565c0", "calls"),
    "uses": ("#b59b00", "uses"),
}
CHAR: Final = 6.9
"""Width of a character of the 11.5 pixel monospaced font, a bit generous."""
LINE: Final = 15
PAD: Final = 8
GAP: Final = 16
COLUMN_GAP: Final = 64
MARGIN: Final = 24
TOP: Final = 56
MAX_LABEL: Final = 34
SWEEPS: Final = 12

Key = tuple[Any, ...]


@dataclass
class Box:
    """A node, or (``lines`` empty) the place where an edge crosses a column."""

    key: Key
    layer: str
    lines: list[str] = field(default_factory=list)
    full: str = ""
    y: float = 0.0
    before: list[Box] = field(default_factory=list)
    after: list[Box] = field(default_factory=list)
    dashed: bool = False

    @property
    def height(self) -> float:
        """Height in pixels."""
        return len(self.lines) * LINE + 2 * PAD if self.lines else 4.0

    @property
    def middle(self) -> float:
        """The middle's y."""
        return self.y + self.height / 2


def shorten(line: str, limit: int = MAX_LABEL) -> str:
    """A label with its middle cut out if it is too long."""
    if len(line) <= limit:
        return line
    head = (limit - 1) // 2
    return line[:head] + "…" + line[-(limit - 1 - head) :]


def _columns(graph: nx.DiGraph) -> list[str]:
    """Names of the columns in use; ``function/1`` is the second of the functions."""
    used: set[str] = {_column_of(data) for _key, data in graph.nodes(data=True)}
    order = list(HEADINGS)
    return sorted(used, key=lambda name: (order.index(name.partition("/")[0]), name))


def _column_of(data: dict[str, Any]) -> str:
    return f"function/{data.get('depth', 0)}" if data["layer"] == "function" else str(data["layer"])


def _box(key: Key, data: dict[str, Any]) -> Box:
    details = [*([data["size"]] if "size" in data else []), *data["details"]]
    shown = details if len(details) <= 5 else [*details[:4], f"and {len(details) - 4} more"]
    lines = [shorten(line) for line in (data["title"], *shown)]
    return Box(key, data["layer"], lines, "\n".join((data["title"], *details)), dashed=bool(data.get("external")))


class Layout:
    """Boxes in columns, edges as chains of boxes."""

    def __init__(self, graph: nx.DiGraph) -> None:
        self.graph = graph
        self.names = _columns(graph)
        self.columns: list[list[Box]] = [[] for _ in self.names]
        self.chains: list[tuple[str, list[Box]]] = []
        self.bent: list[tuple[str, Box, Box]] = []
        place: dict[Key, tuple[int, Box]] = {}
        for key, data in graph.nodes(data=True):
            column = self.names.index(_column_of(data))
            box = _box(key, data)
            place[key] = (column, box)
            self.columns[column].append(box)
        for source, target, data in graph.edges(data=True):
            (from_column, first), (to_column, last) = place[source], place[target]
            if to_column <= from_column:
                self.bent.append((data["kind"], first, last))
                continue
            chain = [first]
            for column in range(from_column + 1, to_column):
                crossing = Box(("edge", source, target, column), data["kind"])
                self.columns[column].append(crossing)
                chain.append(crossing)
            chain.append(last)
            for one, other in pairwise(chain):
                one.after.append(other)
                other.before.append(one)
            self.chains.append((data["kind"], chain))
        self.column_of = {id(box): number for number, column in enumerate(self.columns) for box in column}
        self._order()
        self._heights()
        self._widths()

    def _order(self) -> None:
        """Barycentre sweeps, forth and back; the best order by number of crossings is kept."""
        best, least = [list(column) for column in self.columns], self._crossings()
        for sweep in range(SWEEPS):
            forth = sweep % 2 == 0
            for column in self.columns if forth else reversed(self.columns):
                near = {id(b): b.before if forth else b.after for b in column}
                rank = {id(b): i for other in self.columns for i, b in enumerate(other)}
                wanted = {
                    id(b): sum(rank[id(n)] for n in near[id(b)]) / len(near[id(b)]) if near[id(b)] else rank[id(b)]
                    for b in column
                }
                column.sort(key=lambda b: wanted[id(b)])
            crossings = self._crossings()
            if crossings < least:
                best, least = [list(column) for column in self.columns], crossings
        self.columns = best

    def _crossings(self) -> int:
        """Pairs of edges between neighbouring columns that cross (counted by insertion, n log n)."""
        from bisect import bisect_right, insort

        total = 0
        for column, following in pairwise(self.columns):
            rank = {id(b): i for i, b in enumerate(following)}
            ends: list[int] = []
            for box in column:
                mine = sorted(rank[id(n)] for n in box.after)
                total += sum(len(ends) - bisect_right(ends, end) for end in mine)
                for end in mine:
                    insort(ends, end)
        return total

    def _heights(self) -> None:
        """Draw every box towards its neighbours without changing the order or closing the gaps."""
        for column in self.columns:
            y = 0.0
            for box in column:
                box.y = y
                y += box.height + _gap(box)
        for turn in range(24):
            columns = self.columns if turn % 2 == 0 else self.columns[::-1]
            for column in columns:
                wanted = []
                for box in column:
                    near = box.before + box.after
                    goal = sum(n.middle for n in near) / len(near) - box.height / 2 if near else box.y
                    wanted.append(goal)
                for box, y in zip(column, _spread(column, wanted), strict=True):
                    box.y = y
        top = min((box.y for column in self.columns for box in column), default=0.0)
        for column in self.columns:
            for box in column:
                box.y += TOP + MARGIN - top

    def _widths(self) -> None:
        self.left: list[float] = []
        self.width: list[float] = []
        x = float(MARGIN)
        for name, column in zip(self.names, self.columns, strict=True):
            longest = max((len(line) for box in column for line in box.lines), default=4)
            width = max(longest, len(HEADINGS[name.partition("/")[0]])) * CHAR + 2 * PAD
            self.left.append(x)
            self.width.append(width)
            x += width + COLUMN_GAP
        self.total_width = x - COLUMN_GAP + MARGIN + 24
        bottom = max((box.y + box.height for column in self.columns for box in column), default=TOP)
        self.total_height = bottom + MARGIN + 40


def _gap(box: Box) -> float:
    return GAP if box.lines else 8.0


def _spread(column: list[Box], wanted: list[float]) -> list[float]:
    """Heights near the wanted ones without overlap: the mean of pushing down from the top and up from the bottom."""
    down: list[float] = []
    for i, (_box, goal) in enumerate(zip(column, wanted, strict=True)):
        down.append(max(goal, down[-1] + column[i - 1].height + _gap(column[i - 1])) if i else goal)
    up = [0.0] * len(column)
    for i in range(len(column) - 1, -1, -1):
        box = column[i]
        up[i] = min(wanted[i], up[i + 1] - box.height - _gap(box)) if i + 1 < len(column) else wanted[i]
    return [(a + b) / 2 for a, b in zip(down, up, strict=True)]


def to_svg(graph: nx.DiGraph) -> str:
    """The drawing."""
    layout = Layout(graph)
    width, height = layout.total_width, layout.total_height
    legend_width = MARGIN * 2 + sum(len(label) * CHAR + 56 for _colour, label in EDGES.values())
    width = max(width, legend_width)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        'font-size="11.5">',
        "<title>The trip of the offload data in these files</title>",
        "<defs>",
        *(
            f'<marker id="{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0 0.8 L8 4 L0 7.2 z" fill="{colour}"/></marker>'
            for kind, (colour, _label) in EDGES.items()
        ),
        "</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    parts += _headings(layout)
    parts += [_edge(layout, kind, chain) for kind, chain in layout.chains]
    parts += [_bent(layout, kind, source, target) for kind, source, target in layout.bent]
    for number, column in enumerate(layout.columns):
        parts += [_node(layout, number, box) for box in column if box.lines]
    parts += _legend(graph, height)
    parts.append("</svg>\n")
    return "\n".join(parts)


def _headings(layout: Layout) -> Iterable[str]:
    for number, name in enumerate(layout.names):
        layer, _, depth = name.partition("/")
        if depth not in ("", "0") and f"{layer}/0" in layout.names:
            continue
        middle = layout.left[number] + layout.width[number] / 2
        yield (
            f'<text x="{middle:.1f}" y="34" text-anchor="middle" font-size="13" font-weight="bold" '
            f'fill="#455a64">{HEADINGS[layer]}</text>'
        )


def _edge(layout: Layout, kind: str, chain: list[Box]) -> str:
    """A chain as a curve: horizontal across columns, an S between them."""
    column = layout.column_of[id(chain[0])]
    x, y = layout.left[column] + layout.width[column], chain[0].middle
    path = [f"M{x:.1f} {y:.1f}"]
    for box in chain[1:]:
        column = layout.column_of[id(box)]
        x2, y2 = layout.left[column], box.middle
        bend = (x2 - x) / 2
        path.append(f"C{x + bend:.1f} {y:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}")
        x, y = x2, y2
        if not box.lines:
            x = layout.left[column] + layout.width[column]
            path.append(f"L{x:.1f} {y:.1f}")
    return _path(kind, " ".join(path))


def _bent(layout: Layout, kind: str, source: Box, target: Box) -> str:
    """An edge to the same column or back: around the right side."""
    first, last = layout.column_of[id(source)], layout.column_of[id(target)]
    x1, x2 = (layout.left[c] + layout.width[c] for c in (first, last))
    bulge = max(x1, x2) + COLUMN_GAP * 0.6
    y1, y2 = source.middle + 4, target.middle + 4
    return _path(kind, f"M{x1:.1f} {y1:.1f} C{bulge:.1f} {y1:.1f} {bulge:.1f} {y2:.1f} {x2:.1f} {y2:.1f}")


def _path(kind: str, path: str) -> str:
    colour = EDGES[kind][0]
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.3" marker-end="url(#{kind})"/>'


def _node(layout: Layout, number: int, box: Box) -> str:
    x, width = layout.left[number], layout.width[number]
    radius = {"region": 8, "function": 8, "variable": 14}.get(box.layer, 2)
    dash = ' stroke-dasharray="4 3"' if box.dashed else ""
    parts = [
        f"<g><title>{escape(box.full)}</title>",
        f'<rect x="{x:.1f}" y="{box.y:.1f}" width="{width:.1f}" height="{box.height:.1f}" rx="{radius}" '
        f'fill="{FILLS[box.layer]}" stroke="#607d8b"{dash}/>',
    ]
    for i, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if i == 0 else ' fill="#455a64"'
        y = box.y + PAD + LINE * i + 11
        parts.append(f'<text x="{x + PAD:.1f}" y="{y:.1f}"{weight}>{escape(line)}</text>')
    return "".join([*parts, "</g>"])


def _legend(graph: nx.DiGraph, height: float) -> Iterable[str]:
    used = {data["kind"] for _source, _target, data in graph.edges(data=True)}
    x = float(MARGIN)
    for kind, (colour, label) in EDGES.items():
        if kind not in used:
            continue
        y = height - MARGIN
        yield f'<path d="M{x:.1f} {y:.1f} h28" stroke="{colour}" stroke-width="1.6" marker-end="url(#{kind})"/>'
        yield f'<text x="{x + 34:.1f}" y="{y + 4:.1f}" fill="#455a64">{label}</text>'
        x += len(label) * CHAR + 56


def to_dot(graph: nx.DiGraph) -> str:
    """The graph for Graphviz's dot."""
    numbers = {key: f"n{i}" for i, key in enumerate(graph.nodes)}
    lines = ["digraph trip {", "  rankdir=LR;", '  node [shape=box, style="filled,rounded", fontname="monospace"];']
    for key, data in graph.nodes(data=True):
        box = _box(key, data)
        label = "\\n".join(_quoted(line) for line in box.lines)
        dashed = ', style="filled,rounded,dashed"' if box.dashed else ""
        lines.append(f'  {numbers[key]} [label="{label}", fillcolor="{FILLS[box.layer]}"{dashed}];')
    for layer in HEADINGS:
        members = [numbers[key] for key, data in graph.nodes(data=True) if data["layer"] == layer != "function"]
        if members:
            lines.append(f"  {{ rank=same; {'; '.join(members)}; }}")
    for source, target, data in graph.edges(data=True):
        colour, label = EDGES[data["kind"]]
        lines.append(f'  {numbers[source]} -> {numbers[target]} [color="{colour}", tooltip="{label}"];')
    return "\n".join([*lines, "}", ""])


def _quoted(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"', '\\"')
