"""Imports and calls run downwards: between rooms, between modules, and between the files of each compiled library.

Known exceptions are listed with their names.  The lists only shrink: an arrow that is gone must leave its list, too.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import cython_graph
import networkx
import pytest

ROOT = Path(__file__).resolve().parent.parent

MAY_IMPORT = {
    "gompy": set[str](),
    "gompy.abi": set[str](),
    "gompy.native": {"gompy.abi"},
    "gompy.objects": {"gompy", "gompy.abi"},
    "gompy.tools": {"gompy", "gompy.objects"},
    "gompy.dg": set[str](),
    "gompy.plugins": set[str](),
    "gompy.ptx": set[str](),
    "crtoffload": {"gompy.objects"},
    "mkoffload": {"gompy", "gompy.abi", "gompy.objects", "gompy.tools", "gompy.accel", "gompy.ptx"},
    "lto_wrapper": {"gompy", "gompy.objects", "gompy.tools", "mkoffload"},
    "gompy.driver": {"gompy", "gompy.objects", "gompy.tools"},
    "gompy.accel": {"gompy", "gompy.objects", "gompy.tools", "gompy.driver"},
    "gompy.cli": {"gompy.objects", "gompy.tools", "gompy.driver", "gompy.accel"},
    "testsuite": {"gompy.dg", "gompy.driver"},
    "benchmarks": set[str](),
    "examples": {"gompy.plugins"},
}
"""Room: the rooms that it may import, lazily or not."""

KNOWN_IMPORTS = {("gompy.accel", "mkoffload")}
"""Imports between rooms that are not allowed and not mended yet."""

KNOWN_CIRCLES = {
    frozenset({"gompy.ptx.checks", "gompy.ptx.memory"}),
    frozenset({"mkoffload.accel", "mkoffload.intelmic"}),
}
"""Modules that import each other, by imports inside of functions."""

KNOWN_UPWARD = {
    "gompy/runtime/libgompy.pyx": {
        "copy.pxi -> goacc_async.pxi",
        "devices.pxi -> goacc_async.pxi",
        "devices.pxi -> goacc_threads.pxi",
        "devices.pxi -> stats.pxi",
        "goacc_data.pxi -> acc_memory.pxi",
        "goacc_data.pxi -> acc_update.pxi",
        "goacc_profiling.pxi -> goacc_threads.pxi",
        "guards.pxi -> devices.pxi",
        "images.pxi -> devices.pxi",
        "map.pxi -> unmap.pxi",
        "report.pxi -> plugin_table.pxi",
        "tasks.pxi -> data.pxi",
        "tasks.pxi -> launch.pxi",
        "unmap.pxi -> goacc_async.pxi",
    },
    "gompy/plugins/intelmic/plugin.pyx": {
        "acc_queue.pxi -> plugin.pyx",
        "copies.pxi -> fault_report.pxi",
        "guards.pxi -> fault_report.pxi",
        "launch.pxi -> fault_report.pxi",
        "sanitizers.pxi -> images.pxi",
        "spawn.pxi -> guards.pxi",
    },
    "gompy/plugins/intelmic/target_main.pyx": {
        "device_answers.pxi -> device_shims.pxi",
        "device_images.pxi -> device_sanitizers.pxi",
        "device_layout.pxi -> device_sanitizers.pxi",
    },
    "gompy/plugins/nvptx/plugin.pyx": {"devices.pxi -> memory.pxi"},
    "gompy/plugins/null/plugin.pyx": set[str](),
    "gompy/plugins/python/plugin.pyx": set[str](),
    "gompy/plugins/python/image_runtime.pyx": {"device_answers.pxi -> image_runtime.pyx"},
    "gompy/cuda/libcuda.pyx": {
        "contexts.pxi -> memory.pxi",
        "contexts.pxi -> modules.pxi",
        "contexts.pxi -> streams.pxi",
        "copies.pxi -> allocation.pxi",
        "devices.pxi -> libcuda.pyx",
        "devices.pxi -> memory.pxi",
        "executor.pxi -> contexts.pxi",
        "memory.pxi -> allocation.pxi",
        "streams.pxi -> copies.pxi",
        "streams.pxi -> events.pxi",
        "streams.pxi -> launch.pxi",
    },
    "gompy/ptx/executor.pyx": {
        "lanes.pxi -> print.pxi",
        "lanes.pxi -> schedule.pxi",
        "load.pxi -> check.pxi",
        "load.pxi -> lanes.pxi",
        "load.pxi -> print.pxi",
        "print.pxi -> check.pxi",
        "schedule.pxi -> check.pxi",
    },
    "gompy/driver/as_filter.pyx": set[str](),
}
"""Library: its uses of what a file defines that is included later."""


def modules() -> dict[str, Path]:
    """The project's Python modules, and compiled ones by their .pyi."""
    found: dict[str, Path] = {}
    for room in ("gompy", "mkoffload", "lto_wrapper", "crtoffload", "testsuite", "benchmarks", "examples"):
        for path in sorted((ROOT / room).rglob("*.py*")):
            if path.suffix in (".py", ".pyi") and "_native" not in path.parts and "out" not in path.parts:
                found.setdefault(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), path)
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The project's modules that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            parts = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*parts, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names}
    return {item for item in found if item in known and item != name}


def room_of(module: str) -> str:
    """The room that a module stands in."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "gompy" and len(parts) > 1 else parts[0]


@pytest.fixture(scope="module")
def arrows() -> dict[str, set[str]]:
    """Each module with what it imports."""
    known = modules()
    return {name: imports(name, path, known) for name, path in known.items()}


def test_rooms_import_only_what_they_may(arrows: dict[str, set[str]]) -> None:
    """A room that imports another one is allowed to, or is a known exception."""
    found = {(room_of(name), room_of(target)) for name, targets in arrows.items() for target in targets}
    wrong = {(a, b) for a, b in found if a != b and b not in MAY_IMPORT.get(a, set())}
    assert wrong == KNOWN_IMPORTS


def test_allowed_imports_have_no_circle() -> None:
    """The rule itself runs downwards."""
    assert networkx.is_directed_acyclic_graph(networkx.DiGraph(MAY_IMPORT))


def test_modules_import_in_no_circle(arrows: dict[str, set[str]]) -> None:
    """Also imports inside of functions count."""
    graph = networkx.DiGraph(arrows)
    circles = {frozenset(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1}
    assert circles == KNOWN_CIRCLES


@pytest.mark.parametrize("source", KNOWN_UPWARD)
def test_files_of_a_library_use_what_stands_below(source: str) -> None:
    """Functions, variables, types and numbers of a later file are used in no earlier one."""
    names: dict[str, set[str]] = defaultdict(set)
    for use in cython_graph.library(source).upward():
        names[f"{use.source} -> {use.target}"].add(use.name)
    new = {arrow: used for arrow, used in names.items() if arrow not in KNOWN_UPWARD[source]}
    gone = KNOWN_UPWARD[source] - set(names)
    assert (new, gone) == ({}, set())


def test_every_library_is_looked_at() -> None:
    """What setup.py builds from several files stands in the list above."""
    built = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gompy").rglob("*.pyx")
        if len(cython_graph.included(path)) > 1 or path.name == "plugin.pyx"
    }
    assert built == set(KNOWN_UPWARD)


def test_an_upward_call_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph sees calls, globals and types, and takes no local name for one."""
    (tmp_path / "low.pxi").write_text(
        "cdef int count\ncdef int low() noexcept nogil:\n    return high() + top\n"
        "cdef int other(int top) noexcept nogil:\n    cdef int high = top\n    return high\n"
    )
    (tmp_path / "high.pxi").write_text("cdef int top\ncdef int high() noexcept nogil:\n    return low() + count\n")
    (tmp_path / "lib.pyx").write_text('include "low.pxi"\ninclude "high.pxi"\n')
    monkeypatch.setattr(cython_graph, "ROOT", tmp_path)
    found = cython_graph.library("lib.pyx")
    assert [(use.line, use.name) for use in found.upward()] == [(3, "high"), (3, "top")]
    assert {use.name for use in found.uses if use.source == "high.pxi"} == {"low", "count"}
