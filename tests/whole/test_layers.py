"""Imports and calls run downwards: between rooms, between modules, and between the files of each compiled library.

Here, too, is what keeps such files readable: names that say something, functions of a page, lines of 120 columns.
"""

from __future__ import annotations

import ast
from pathlib import Path

import cython_graph
import networkx
import pytest

ROOT = Path(__file__).resolve().parents[2]

MAY_IMPORT = {
    "gompy": set[str](),
    "gompy.records": set[str](),
    "gompy.abi": set[str](),
    "gompy.native": {"gompy.abi"},
    "gompy.objects": {"gompy", "gompy.abi"},
    "gompy.tools": {"gompy", "gompy.abi", "gompy.objects"},
    "gompy.clang_link": {"gompy", "gompy.abi", "gompy.objects", "gompy.tools"},
    "gompy.dg": set[str](),
    "gompy.gdb": set[str](),
    "gompy.plugins": set[str](),
    "gompy.profiler": set[str](),
    "gompy.nvml": set[str](),
    "gompy.ptx": {"gompy.records", "gompy.abi"},
    "crtoffload": {"gompy.objects"},
    "gompy.access": set[str](),
    "mkoffload": {
        *("gompy", "gompy.abi", "gompy.access", "gompy.objects", "gompy.tools", "gompy.accel", "gompy.ptx"),
    },
    "lto_wrapper": {"gompy", "gompy.abi", "gompy.objects", "gompy.tools", "mkoffload"},
    "gompy.regions": {"gompy", "gompy.abi", "gompy.objects"},
    "gompy.driver": {"gompy", "gompy.abi", "gompy.access", "gompy.objects", "gompy.tools", "gompy.regions"},
    "gompy.virtual": {"gompy", "gompy.abi", "gompy.objects", "gompy.plugins", "gompy.remote"},
    "gompy.opencl": {"gompy", "gompy.regions", "gompy.plugins", "gompy.virtual"},
    "gompy.remote": set[str](),
    "gompy.accel": {"gompy", "gompy.abi", "gompy.objects", "gompy.tools", "gompy.driver"},
    "gompy.cudart": {"gompy", "gompy.abi", "gompy.objects", "gompy.tools", "gompy.driver", "gompy.ptx"},
    "gompy.nvrtc": {"gompy", "gompy.abi", "gompy.cudart", "gompy.driver", "gompy.tools"},
    "gompy.check": {"gompy", "gompy.records", "gompy.abi", "gompy.objects", "gompy.tools"},
    "gompy.replay": {"gompy", "gompy.abi", "gompy.objects", "gompy.check", "gompy.plugins"},
    "gompy.cli": {
        *("gompy", "gompy.abi", "gompy.objects", "gompy.tools", "gompy.driver", "gompy.accel", "gompy.check"),
        *("gompy.regions", "gompy.opencl", "gompy.remote", "gompy.replay", "gompy.cudart", "gompy.virtual"),
        "gompy.records",
    },
    "gompy.notebook": {"gompy", "gompy.cli"},
    "testsuite": {
        *("gompy.abi", "gompy.accel", "gompy.check", "gompy.dg", "gompy.driver", "gompy.objects", "gompy.tools"),
    },
    "benchmarks": {"gompy.remote"},
    "examples": {"gompy.driver", "gompy.plugins"},
}
"""Room: the rooms that it may import, lazily or not."""

LIBRARIES = (
    "gompy/runtime/libgompy.pyx",
    "gompy/plugins/intelmic/plugin.pyx",
    "gompy/plugins/intelmic/target_main.pyx",
    "gompy/plugins/nvptx/plugin.pyx",
    "gompy/plugins/llvm/plugin.pyx",
    "gompy/plugins/null/plugin.pyx",
    "gompy/plugins/shared/plugin.pyx",
    "gompy/plugins/python/plugin.pyx",
    "gompy/plugins/python/image_runtime.pyx",
    "gompy/plugins/remote/plugin.pyx",
    "gompy/plugins/remote/worker.pyx",
    "gompy/rtl/plugin.pyx",
    "gompy/cuda/libcuda.pyx",
    "gompy/cudart/libcudart.pyx",
    "gompy/nvrtc/libnvrtc.pyx",
    "gompy/nvml/libnvml.pyx",
    "gompy/profiler/profiler.pyx",
    "gompy/ptx/executor.pyx",
    "gompy/driver/as_filter.pyx",
)
"""What is compiled of several files, by its .pyx file."""


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


@pytest.mark.slow
def test_rooms_import_only_what_they_may(arrows: dict[str, set[str]]) -> None:
    """A room that imports another one is allowed to."""
    found = {(room_of(name), room_of(target)) for name, targets in arrows.items() for target in targets}
    wrong = {(a, b) for a, b in found if a != b and b not in MAY_IMPORT.get(a, set())}
    assert not wrong


def test_allowed_imports_have_no_circle() -> None:
    """The rule itself runs downwards."""
    assert networkx.is_directed_acyclic_graph(networkx.DiGraph(MAY_IMPORT))


def test_modules_import_in_no_circle(arrows: dict[str, set[str]]) -> None:
    """Also imports inside of functions count."""
    graph = networkx.DiGraph(arrows)
    circles = {frozenset(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1}
    assert not circles


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("source", LIBRARIES)
def test_files_of_a_library_use_what_stands_below(source: str) -> None:
    """Functions, variables, types and numbers of a later file are used in no earlier one."""
    upward = [f"{use.source}:{use.line}: {use.name} of {use.target}" for use in cython_graph.library(source).upward()]
    assert not upward


RUNTIME_ROOMS = {
    "core": {"core"},
    "doors/openmp": {"doors/openmp", "core"},
    "doors/openacc": {"doors/openacc", "core"},
    "doors/llvm": {"doors/llvm", "core"},
}
"""A folder of gompy/runtime: the folders whose files its own may use.  Tools and what is above them may use all."""


def runtime_room(file: str) -> str:
    """The folder of RUNTIME_ROOMS that a file stands in, or "" for what is above them."""
    return next((room for room in RUNTIME_ROOMS if file.startswith(room + "/")), "")


def test_the_core_knows_no_door_and_doors_know_no_other() -> None:
    """Each door translates an ABI into the core's terms."""
    wrong = {
        f"{use.source}:{use.line}: {use.name} of {use.target}"
        for use in cython_graph.library("gompy/runtime/libgompy.pyx").uses
        if (room := runtime_room(use.source)) and runtime_room(use.target) not in RUNTIME_ROOMS[room]
    }
    assert not wrong


def test_every_library_is_looked_at() -> None:
    """What setup.py builds from several files stands in the list above."""
    built = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "gompy").rglob("*.pyx")
        if len(cython_graph.included(path)) > 1 or path.name == "plugin.pyx"
    }
    assert built == set(LIBRARIES)


LONG = {
    "gompy/driver/as_edit.pxi:edit_object": "one pass over an ELF file: each step needs the tables of those before",
    "gompy/plugins/intelmic/images.pxi:load_image": "steps that each undo those before when they fail",
    "gompy/ptx/link.pxi:open_objects": "one loop: what is in the cache, what must be compiled",
    "gompy/ptx/print.pxi:print_lane": "printf's own state machine",
    "gompy/runtime/core/mapping/plan.pxi:plan_entries": "the first pass over all map kinds, a case each",
    "gompy/ptx/flow.py:build_blocks": "one loop over the statements of a function",
    "gompy/dg/plan.py:directive": "a case for each dg- directive",
    "tests/ptx/test_ptx_opcodes.py:forms": "a table",
}
"""Functions of more than 80 lines, with the reason."""


@pytest.mark.parametrize("source", LIBRARIES)
def test_names_of_a_shared_namespace_have_two_words(source: str) -> None:
    """`take` or `say` in one file says nothing to a reader of the other thirty."""
    found = {
        item.name for item in cython_graph.functions(source) if not item.public and "_" not in item.name.strip("_")
    }
    assert not found


@pytest.mark.slow
def test_functions_fit_on_a_page() -> None:
    """At most 80 lines, but for those with a reason."""
    found = set()
    for source in LIBRARIES:
        folder = Path(source).parent
        found |= {f"{folder / item.file}:{item.name}" for item in cython_graph.functions(source) if item.lines > 80}
    for room in ("gompy", "mkoffload", "lto_wrapper", "crtoffload", "testsuite", "tests"):
        for path in (ROOT / room).rglob("*.py"):
            if not {"_native", "out"} & {*path.parts}:
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 80:
                        found.add(f"{path.relative_to(ROOT)}:{node.name}")
    assert not found - set(LONG)


COMPILED = (".pyx", ".pxi", ".pxd", ".h")


def compiled_sources() -> list[Path]:
    """The sources of the compiled parts."""
    return [path for path in (ROOT / "gompy").rglob("*") if path.suffix in COMPILED and "_native" not in path.parts]


def test_lines_have_at_most_120_columns() -> None:
    """As ruff holds it for Python."""
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in compiled_sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not wide


def test_no_two_files_of_a_room_have_one_name() -> None:
    """A room is a folder with what is below it; a .pxd, .pyi or .h tells of the file beside it."""
    places: dict[tuple[Path, str], Path] = {}
    for path in sorted([*compiled_sources(), *(ROOT / "gompy").rglob("*.py")]):
        if path.suffix in (".py", ".pyx", ".pxi") and path.stem not in ("__init__", "__main__"):
            parts = path.relative_to(ROOT).parts
            room = Path(*parts[: 3 if parts[1] == "plugins" and len(parts) > 3 else 2])
            other = places.setdefault((room, path.stem), path)
            assert other == path, f"{other.relative_to(ROOT)} and {path.relative_to(ROOT)}"


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


def test_no_mark_of_a_merge_is_left() -> None:
    """In a docstring it would even compile."""
    marks = ("<" * 7 + " ", ">" * 7 + " ")
    rooms = ("gompy", "mkoffload", "lto_wrapper", "crtoffload", "tests", "testsuite", "docs", "examples", "benchmarks")
    left = {
        str(path.relative_to(ROOT))
        for room in rooms
        for path in (ROOT / room).rglob("*")
        if path.suffix in (*COMPILED, ".py", ".md", ".c", ".txt") and not {"_native", "out"} & {*path.parts}
        if any(line.startswith(marks) for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
    }
    assert not left
