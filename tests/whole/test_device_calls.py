"""One file of the runtime calls a device's functions: core/device_calls.pxi, where the events are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cython_graph
import pytest
from Cython.Compiler import ExprNodes, Nodes

Place = tuple[str, int, str, bool]
LIBRARY = "gompy/runtime/libgompy.pyx"
CALLER = "core/device_calls.pxi"
FILLERS = {"core/plugins.pxi", "tools/test_device.pxi", "tools/python_view.pxi", "doors/openacc/acc_threads.pxi"}
"""Files that fill a table of functions, or the host's: they name its members and call none."""


def members(tree: Nodes.Node) -> set[str]:
    """The names of PluginOps's members."""
    if isinstance(tree, Nodes.CStructOrUnionDefNode) and tree.name == "PluginOps":
        return {cython_graph.declared(d) for attribute in tree.attributes for d in attribute.declarators}
    return {name for child in cython_graph.children(tree) for name in members(child)}


def named(node: Any, names: set[str], folder: Path, found: set[Place], called: bool = False) -> None:
    """Collect where `ops.NAME` is read or called: file, line, name, whether it is called."""
    if isinstance(node, ExprNodes.AttributeNode) and node.attribute in names:
        table = node.obj.attribute if isinstance(node.obj, ExprNodes.AttributeNode) else getattr(node.obj, "name", "")
        if table == "ops":
            found.add((cython_graph.file_of(node, folder), node.pos[1], str(node.attribute), called))
    for child in cython_graph.children(node):
        named(child, names, folder, found, isinstance(node, ExprNodes.CallNode) and child is node.function)


def uses(pyx: Path) -> set[Place]:
    """All such places of a library."""
    tree = cython_graph.parse(pyx)
    found: set[Place] = set()
    named(tree, members(tree), pyx.parent, found)
    return found


@pytest.mark.slow
def test_one_file_calls_devices() -> None:
    """Others neither call a device's functions nor ask for one, but for the files that fill the table."""
    found = uses(cython_graph.ROOT / LIBRARY)
    assert {name for file, _, name, called in found if file == CALLER and called} >= {
        "alloc", "free", "host2dev", "dev2host", "dev2dev", "run", "async_run", "load_image", "acc_exec",
        "acc_async_host2dev", "acc_async_synchronize", "init_device",
    }  # fmt: skip
    assert {(file, line, name) for file, line, name, called in found if called and file != CALLER} == set()
    assert {file for file, *_ in found} <= {CALLER, *FILLERS}


@pytest.mark.parametrize("call", ["dev.ops.run(1)", "ops.run(1)", "base[2].ops.run(1)"])
def test_a_call_elsewhere_is_found(tmp_path: Path, call: str) -> None:
    """Whatever the table is reached by."""
    (tmp_path / "low.pxi").write_text(
        "cdef struct PluginOps:\n    int (*run)(int n) noexcept nogil\n    int other\n"
        "cdef struct Device:\n    PluginOps ops\n    int run\n"
    )
    (tmp_path / "high.pxi").write_text(
        f"cdef int high(Device *dev, PluginOps *ops, Device *base) noexcept nogil:\n    return dev.run + 1 + {call}\n"
    )
    (tmp_path / "lib.pyx").write_text('include "low.pxi"\ninclude "high.pxi"\n')
    assert uses(tmp_path / "lib.pyx") == {("high.pxi", 2, "run", True)}
