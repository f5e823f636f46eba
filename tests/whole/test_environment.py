"""docs/environment.md names every variable that the product reads, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "environment.md"
ROOMS = ("gompy", "mkoffload", "lto_wrapper", "crtoffload", "benchmarks")
NAME = re.compile(r"""["']((?:GOMPY|OFFLOAD|OMP|GOMP|ACC|XDG|CUDA|COLLECT|GCC)_[A-Z0-9_]*[A-Z0-9])["']""")
DECLARED = re.compile(r"""^ +(?:int |size_t |uint64_t |const char \*)?[A-Z][A-Z0-9_]* "\w+"$""", re.MULTILINE)
"""A number that a Cython file declares: its name and, in quotes, that in C."""

NOT_VARIABLES = {
    "CUDA_SUCCESS",
    "GOMPY_HAS",
    "GOMPY_IMAGE_MAGIC",
    "OMP_INITIAL_DEVICE",
    "GOMPY_LINK_BIT",
    "GOMPY_SIZE_UNKNOWN",
    "GOMPY_SLOW_FILE",
    "GOMPY_SLOW_FILE_CHECKED",
    "GOMPY_SOFT_STACK",
    "OMP_WAIT_POLICY",  # libgomp's own: the bench sets it, nothing of ours reads it
}
"""C names that Cython declarations and tables have in quotes."""
BEGINNINGS = (
    *("CUDA_ERROR_", "CUDA_GRAPH_INSTANTIATE_", "CUDA_POINTER_ATTRIBUTE_"),  # enumerators of cuda.h
    *("CUDA_ARRAY_DESCRIPTOR", "CUDA_ARRAY3D_DESCRIPTOR", "CUDA_MEMCPY2D", "CUDA_MEMCPY3D"),  # and its structures
    *("OMP_PROC", "GCC_RUNTEST", "GCC_UNDER"),
)
"""How such names begin, of which there are many."""


def in_sources() -> dict[str, str]:
    """Each variable that stands in quotes in the product, with one file that names it."""
    found: dict[str, str] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".h") and "_native" not in path.parts:
                for name in NAME.findall(DECLARED.sub("", path.read_text(encoding="utf-8"))):
                    found.setdefault(name, str(path.relative_to(ROOT)))
    return {name: file for name, file in found.items() if name not in NOT_VARIABLES and not name.startswith(BEGINNINGS)}


def rows() -> list[list[str]]:
    """The cells of the page's tables."""
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def on_page() -> list[str]:
    """The variables in the tables' first column."""
    return [name for row in rows() for name in re.findall(r"`([A-Z0-9_]+)`", row[0])]


def test_every_variable_that_is_read_is_on_the_page() -> None:
    """A new variable needs its row."""
    assert {name: file for name, file in in_sources().items() if name not in on_page()} == {}


@pytest.mark.slow
def test_every_variable_on_the_page_is_read() -> None:
    """A variable that is gone takes its row along."""
    text = "".join(
        path.read_text(encoding="utf-8")
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.suffix in (".py", ".pyx", ".pxi", ".pxd", ".h") and "_native" not in path.parts
    )
    assert [name for name in on_page() if not re.search(rf"\b{name}\b", text)] == []


def test_no_variable_stands_twice() -> None:
    """One row each."""
    names = on_page()
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("row", [row for row in rows() if len(row) > 2], ids=lambda row: row[0].strip("`"))
def test_the_page_that_says_more_names_the_variable(row: list[str]) -> None:
    """The last column leads to a page that has the variable."""
    for page in re.findall(r"\]\(([a-z-]+\.md)\)", row[-1]):
        assert row[0].strip("`") in (ROOT / "docs" / page).read_text(encoding="utf-8"), page
