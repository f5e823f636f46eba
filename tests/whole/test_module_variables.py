"""Module-level C variables have no initialisers where no interpreter runs the module's body: they start as zero.

One that seemed to start as 1 gave two workers of a device one number; regions with teams then waited for ever.
"""

from __future__ import annotations

from pathlib import Path

import cython_graph
import pytest
from Cython.Compiler import Nodes

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_INTERPRETER = (
    "gompy/runtime/libgompy.pyx",
    "gompy/plugins/intelmic/plugin.pyx",
    "gompy/plugins/intelmic/target_main.pyx",
    "gompy/plugins/nvptx/plugin.pyx",
    "gompy/plugins/null/plugin.pyx",
    "gompy/plugins/remote/plugin.pyx",
    "gompy/plugins/remote/worker.pyx",
    "gompy/plugins/python/image_runtime.pyx",
    "gompy/cuda/libcuda.pyx",
    "gompy/ptx/executor.pyx",
    "gompy/driver/as_filter.pyx",
)


def initialised(node: Nodes.Node) -> list[str]:
    """The module's C variables that have an initialiser, functions' own left out."""
    found: list[str] = []
    for child in cython_graph.children(node):
        if isinstance(child, Nodes.CVarDefNode):
            found += [cython_graph.declared(item) for item in child.declarators if cython_graph.default_of(item)]
        elif isinstance(child, Nodes.StatListNode):
            found += initialised(child)
    return found


@pytest.mark.parametrize("source", WITHOUT_INTERPRETER)
def test_no_variable_has_an_initialiser(source: str) -> None:
    assert initialised(cython_graph.parse(ROOT / source)) == []


def test_one_would_be_found(tmp_path: Path) -> None:
    text = "cdef int a = 1, b\ncdef char *c = NULL\ncdef int f() noexcept:\n    cdef int d = 2\n    return d\n"
    (tmp_path / "lib.pyx").write_text(text)
    assert initialised(cython_graph.parse(tmp_path / "lib.pyx")) == ["a", "c"]
