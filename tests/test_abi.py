"""The tables of gompy/abi say what GCC's own headers say, and the .pxd files are made from them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gompy.abi import gomp
from gompy.native import generate
from testsuite.gcc_suite import source

HEADERS = ("gomp-constants.h", "libgomp-plugin.h")
NOT_IN_THEM = {"GOMP_CANCEL_PARALLEL", "GOMP_CANCEL_TASKGROUP"}
"""Members of libgomp.h's enum gomp_cancel_kind; that header cannot be included alone."""


@pytest.fixture(scope="module")
def gcc_headers() -> Path:
    """The folder with GCC 12's include/ and libgomp/, from Debian's source package."""
    folder = source.cache_directory()
    if not (folder / ".complete").exists():
        pytest.skip(f"{source.PACKAGE} is not unpacked; `make gcc-tests` does it")
    return folder


def compiles(text: str, headers: Path, tmp_path: Path) -> str:
    """What gcc says of a C text that includes GCC's headers; empty if it takes it."""
    file = tmp_path / "check.c"
    file.write_text("".join(f'#include "{name}"\n' for name in HEADERS) + text)
    folders = [f"-I{headers / 'include'}", f"-I{headers / 'libgomp'}"]
    return subprocess.run(
        ["gcc", "-fsyntax-only", "-Wall", *folders, str(file)], capture_output=True, text=True, check=False
    ).stderr


def test_numbers_are_those_of_the_headers(gcc_headers: Path, tmp_path: Path) -> None:
    """Each has GCC's name and GCC's value."""
    names = {name: value for name, value in generate.numbers(gomp).items() if name not in NOT_IN_THEM}
    assert len(names) > 60
    text = "".join(f'_Static_assert (({name}) == {value}, "{name}");\n' for name, value in names.items())
    assert compiles(text, gcc_headers, tmp_path) == ""


def test_a_wrong_number_is_found(gcc_headers: Path, tmp_path: Path) -> None:
    """The comparison can fail."""
    assert "static assertion failed" in compiles('_Static_assert (GOMP_MAP_TO == 2, "");\n', gcc_headers, tmp_path)


@pytest.mark.parametrize("name", sorted(NOT_IN_THEM))
def test_numbers_of_libgomp_h(gcc_headers: Path, name: str) -> None:
    """Read from the enum's text."""
    text = (gcc_headers / "libgomp" / "libgomp.h").read_text(encoding="utf-8")
    found = re.search(rf"\b{name} = (\d+)", text)
    assert found and int(found[1]) == getattr(gomp, name)


@pytest.mark.parametrize("name", generate.TABLES)
def test_the_pxd_files_are_made_from_the_tables(name: str) -> None:
    """The build has run since the table was changed."""
    assert (generate.HERE / f"{name}.pxd").read_text(encoding="utf-8") == generate.pxd(generate.TABLES[name])
