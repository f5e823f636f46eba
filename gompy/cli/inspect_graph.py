"""``gompy inspect --graph``: the trip of the files that were named, as a picture.

Objects, the IR in them, what they were linked to, the images, the regions in the tables, and the functions and
variables that the regions' code names.  This module makes the graph (networkx); inspect_layout.py draws it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Protocol

from gompy import plural
from gompy.cli.inspect_calls import CodeReader, PtxReader, Uses
from gompy.objects import names
from gompy.objects.naming import plain_name
from gompy.objects.view import Damaged

if TYPE_CHECKING:
    import networkx as nx

    from gompy.cli.inspect_report import Inspected
    from gompy.objects.images import Image

MAX_NODES: Final = 400
MAX_DEPTH: Final = 3
"""How far calls are followed from a region."""
MAX_FUNCTIONS: Final = 60
LAYERS: Final = ("object", "ir", "linked", "image", "region", "function", "variable")


class GraphTooLarge(Exception):
    """More nodes than a picture can show."""


class _Reader(Protocol):
    def uses(self, name: str) -> Uses: ...


def _size(count: int) -> str:
    return (
        f"{count} B" if count < 10_000 else f"{count / 1000:.0f} kB" if count < 10_000_000 else f"{count / 1e6:.0f} MB"
    )


class Trip:
    """The graph under construction.

    A region or table variable is one node wherever it turns up: its key is its name and the number of its occurrence,
    counted over all objects, over each linked file, and over each image that no host file carries.
    """

    def __init__(self) -> None:
        import networkx

        self.graph: nx.DiGraph = networkx.DiGraph()
        self._object_count: Counter[tuple[str, str]] = Counter()
        self._functions = 0

    def node(self, key: tuple[Any, ...], layer: str, title: str, detail: str = "", **more: Any) -> tuple[Any, ...]:
        """Add a node, or a line of detail to one that is there."""
        if key not in self.graph:
            if len(self.graph) >= MAX_NODES:
                raise GraphTooLarge(f"a graph is drawn of up to {MAX_NODES} nodes, these files have more")
            self.graph.add_node(key, layer=layer, title=title, details=[], **more)
        details: list[str] = self.graph.nodes[key]["details"]
        if detail and detail not in details:
            details.append(detail)
        return key

    def edge(self, source: tuple[Any, ...], target: tuple[Any, ...], kind: str) -> None:
        """Add an edge once."""
        if source != target and not self.graph.has_edge(source, target):
            self.graph.add_edge(source, target, kind=kind)

    def add(self, part: Inspected, number: int) -> tuple[Any, ...]:
        """Add one file; its node."""
        report = part.report
        relocatable = part.elf is not None and part.elf.relocatable
        layer = {"device image": "image", "ptx": "image"}.get(report["kind"], "object" if relocatable else "linked")
        title = PurePath(report["file"]).name
        key = self.node(("file", number), layer, title, f"{report['kind']}, {_size(report['size'])}")
        for record in part.records:
            self.node(key, layer, title, f"record {record.name}: {record.funcs} f, {record.vars} v")
        for unit, _refs in part.units:
            ir_name = {"offload": "offload IR", "lto": "LTO IR", "device-ir": "device IR"}.get(unit.family, unit.family)
            ir = ("ir", number, unit.family, unit.id)
            self.node(ir, "ir", ir_name, f"{unit.id}", family=unit.family)
            self.node(ir, "ir", ir_name, f"{unit.sections} streams, {_size(unit.size)}")
            self.edge(key, ir, "contains")
        count = self._object_count if relocatable else Counter[tuple[str, str]]()
        local = self._entries(part, key, count)
        if part.elf is not None:
            self._calls(local, _elf_reader(part))
        elif report["kind"] == "ptx":
            self._calls(local, _empty_reader())
        for index, image in enumerate(part.images):
            self._image(part, key, (number, index), image, local)
        return key

    def _entries(
        self, part: Inspected, owner: tuple[Any, ...], count: Counter[tuple[str, str]]
    ) -> dict[tuple[str, str], tuple[Any, ...]]:
        """Nodes of a file's table entries; returns them by kind and name, for the edges."""
        local: dict[tuple[str, str], tuple[Any, ...]] = {}
        short = self.graph.nodes[owner]["title"]
        for layer, entries in (("region", part.host.funcs), ("variable", part.host.vars)):
            for index, entry in enumerate(entries):
                name = plain_name(entry.name) if entry.name else f"entry {index}"
                occurrence = count[layer, name]
                count[layer, name] += 1
                key = (layer, name, occurrence)
                table = "funcs" if layer == "region" else "vars"
                self.node(key, layer, name, f"{short} {table}[{index}]", table=True)
                if layer == "variable":
                    link = ", link" if entry.link else ""
                    self.graph.nodes[key]["size"] = f"{entry.size} bytes{link}"
                else:
                    self.edge(owner, key, "entry")
                if entry.name:
                    local.setdefault((layer, entry.name), key)
        return local

    def _image(
        self,
        part: Inspected,
        owner: tuple[Any, ...],
        number: tuple[int, int],
        image: Image,
        host_nodes: dict[tuple[str, str], tuple[Any, ...]],
    ) -> None:
        key = ("image", *number)
        self.node(key, "image", f"image {number[1]}", image.target)
        lengths = f"{plural(len(image.tables.funcs), 'function')}, {plural(len(image.tables.vars), 'variable')}"
        self.node(key, "image", "", lengths, target=image.target)
        self.node(key, "image", "", _size(image.size), target=image.target)
        self.graph.nodes[key]["accel"] = image.accel
        self.graph.nodes[key]["target"] = image.target
        self.edge(owner, key, "contains")
        pairing = image.pair(part.host, part.records)
        local: dict[tuple[str, str], tuple[Any, ...]] = {}
        for layer, pairs, host, device in (
            ("region", pairing.funcs, part.host.funcs, image.tables.funcs),
            ("variable", pairing.vars, part.host.vars, image.tables.vars),
        ):
            partner = {theirs: mine for mine, theirs in pairs if theirs is not None}
            by_name = {plain_name(name): node for (kind, name), node in host_nodes.items() if kind == layer}
            for index, entry in enumerate(device):
                mine = partner.get(index)
                host_name = host[mine].name if mine is not None and mine < len(host) else None
                node = host_nodes.get((layer, host_name)) if host_name else None
                if entry.name and host_name and plain_name(entry.name) != plain_name(host_name):
                    node = by_name.get(plain_name(entry.name))  # paired wrongly (--check says so): draw what it is
                if node is None:
                    name = plain_name(entry.name) if entry.name else f"entry {index}"
                    node = self.node((layer, name, 0), layer, name, table=True)
                table = "funcs" if layer == "region" else "vars"
                self.node(node, layer, "", f"image {number[1]} {table}[{index}]")
                if layer == "region":
                    self.edge(key, node, "entry")
                if entry.name:
                    local.setdefault((layer, entry.name), node)
        reader: _Reader
        if image.target == names.TARGET_NVPTX:
            reader = PtxReader(image.files)
        else:
            reader = _image_reader(image)
        self._calls(local, reader)

    def _calls(self, local: dict[tuple[str, str], tuple[Any, ...]], reader: _Reader) -> None:
        """Follow the code from the regions; ``local``: the file's own table entries by kind and name."""
        todo = [(key, name, 0) for (layer, name), key in local.items() if layer == "region"]
        seen: set[str] = set()
        while todo:
            key, name, depth = todo.pop(0)
            if name in seen:
                continue
            seen.add(name)
            uses = reader.uses(name)
            for variable in uses.variables:
                node = local.get(("variable", variable))
                if node is None:
                    plain = plain_name(variable)
                    node = self.node(("variable", plain, 0), "variable", plain)
                self.edge(key, node, "uses")
            for called in (*uses.calls, *uses.external):
                node = local.get(("region", called)) or ("function", plain_name(called))
                if node not in self.graph:
                    if self._functions >= MAX_FUNCTIONS:
                        continue
                    self._functions += 1
                    self.node(node, "function", plain_name(called), external=called in uses.external, depth=depth)
                elif called not in uses.external and self.graph.nodes[node]["layer"] == "function":
                    self.graph.nodes[node]["external"] = False
                self.edge(key, node, "calls")
                if called not in uses.external and depth + 1 < MAX_DEPTH:
                    todo.append((node, called, depth + 1))

    def join(self, parts: list[tuple[Inspected, tuple[Any, ...]]]) -> None:
        """Edges between the files: an object whose entries a linked file's tables have; IR to the images made of it."""
        for part, key in parts:
            if part.elf is None or part.elf.relocatable or self.graph.nodes[key]["layer"] != "linked":
                continue
            mine = {record.id for record in part.records if record.id}
            regions = {node for node in self.graph.successors(key) if node[0] == "region"}
            for other, node in parts:
                if other.elf is None or not other.elf.relocatable:
                    continue
                ids = {record.id for record in other.records if record.id}
                theirs = {n for n in self.graph.successors(node) if n[0] == "region"}
                if not (ids & mine if ids and mine else theirs and theirs <= regions):
                    continue
                self.edge(node, key, "linked")
                self._join_ir(node, key)

    def _join_ir(self, node: tuple[Any, ...], linked: tuple[Any, ...]) -> None:
        graph = self.graph
        for image in [n for n in graph.successors(linked) if n[0] == "image"]:
            ours = graph.nodes[image]["accel"] == names.ACCEL_STOCK
            for ir in [n for n in graph.successors(node) if n[0] == "ir"]:
                family = graph.nodes[ir]["family"]
                if family in (("lto", "device-ir") if ours else ("offload",)):
                    self.edge(ir, image, "compiled")


class _Nothing:
    def uses(self, _name: str) -> Uses:
        return Uses()


def _empty_reader() -> _Reader:
    return _Nothing()


def _elf_reader(part: Inspected) -> _Reader:
    try:
        return _Guarded(CodeReader(part.elf)) if part.elf is not None else _Nothing()
    except Damaged:
        return _Nothing()  # the report has said what is wrong


def _image_reader(image: Image) -> _Reader:
    from gompy.objects.view import ElfView

    try:
        return _Guarded(CodeReader(ElfView(image.files[0], "image")))
    except Damaged:
        return _Nothing()


class _Guarded:
    """A reader whose damaged sections name nothing (the report has their errors)."""

    def __init__(self, reader: CodeReader) -> None:
        self.reader = reader

    def uses(self, name: str) -> Uses:
        """See CodeReader."""
        try:
            return self.reader.uses(name)
        except Damaged:
            return Uses()


def build(inspected: list[Inspected]) -> nx.DiGraph:
    """The graph of some files.  Raises GraphTooLarge."""
    trip = Trip()
    parts = [part for whole in inspected for part in whole.parts() if not part.empty]
    trip.join([(part, trip.add(part, number)) for number, part in enumerate(parts)])
    return trip.graph


def draw(inspected: list[Inspected], svg: bool) -> str:
    """The graph as SVG, or in Graphviz's language."""
    from gompy.cli import inspect_layout

    graph = build(inspected)
    return inspect_layout.to_svg(graph) if svg else inspect_layout.to_dot(graph)
