"""The tables of gompy/abi say what GCC's own headers say, and the .pxd files are made from them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gompy.abi import gomp, gomp_newer, interop, llvm, map_kinds
from gompy.native import generate
from gompy.objects import names
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


def header_with_interop() -> Path | None:
    """The omp.h of a gcc of this machine that has interoperability objects."""
    for name in ("gcc", "gcc-15", "gcc-16"):
        if shutil.which(name):
            command = [name, "-print-file-name=include/omp.h"]
            path = Path(subprocess.run(command, capture_output=True, text=True).stdout.strip())
            if path.exists() and "omp_interop_t" in path.read_text(encoding="utf-8"):
                return path
    return None


def test_numbers_of_omp_h(tmp_path: Path) -> None:
    """Foreign runtimes, properties and return codes have the header's values."""
    header = header_with_interop()
    if header is None:
        pytest.skip("no gcc 15 or newer, whose omp.h has omp_interop_t")
    names = {name: value for name, value in generate.numbers(interop).items() if name.startswith("OMP_I")}
    file = tmp_path / "check.c"
    text = "".join(f'_Static_assert ({name.lower()} == {value}, "{name}");\n' for name, value in names.items())
    file.write_text(f'#include "{header}"\n{text}')
    done = subprocess.run(["gcc", "-fsyntax-only", str(file)], capture_output=True, text=True, check=False)
    assert len(names) > 20 and done.stderr == ""


@pytest.mark.slow(sample=14)
@pytest.mark.parametrize("name", generate.texts())
def test_the_files_are_made_from_the_tables(name: str) -> None:
    """The build has run since the table was changed."""
    assert (generate.HERE / name).read_text(encoding="utf-8") == generate.texts()[name]


def test_every_map_kind_has_a_row() -> None:
    """A number that is a kind, and not a mask, stands in map_kinds.py; properties there are known ones."""
    masks = {"GOMP_MAP_IMPLICIT", "GOMP_MAP_STRUCT_UNORD"}  # the latter is read as GOMP_MAP_STRUCT
    numbers = {
        value
        for name, value in (generate.numbers(gomp) | generate.numbers(gomp_newer)).items()
        if name.startswith("GOMP_MAP_") and not name.startswith("GOMP_MAP_FLAG_") and name not in masks
    }
    assert set(map_kinds.KINDS) == numbers
    assert {name for _, found in map_kinds.KINDS.values() for name in found} == set(map_kinds.PROPERTIES)


def test_properties_agree_with_the_flags_of_the_numbers() -> None:
    """The enum's own masks (to, from, special, force) say of plain kinds what the table says."""
    always_present = gomp_newer.GOMP_MAP_ALWAYS_PRESENT_TO & ~gomp.GOMP_MAP_FLAG_TO
    for kind, (_, properties) in map_kinds.KINDS.items():
        if kind & always_present == always_present:
            assert ("to" in properties) == bool(kind & gomp.GOMP_MAP_FLAG_TO), hex(kind)
            assert ("from" in properties) == bool(kind & gomp.GOMP_MAP_FLAG_FROM), hex(kind)
            continue
        if kind & gomp.GOMP_MAP_FLAG_SPECIAL or kind & ~gomp.GOMP_MAP_FLAG_FORCE >= gomp.GOMP_MAP_ATTACH:
            assert not {"to", "from"} & set(properties)
            continue
        assert ("to" in properties) == bool(kind & gomp.GOMP_MAP_FLAG_TO), hex(kind)
        assert ("from" in properties) == bool(kind & gomp.GOMP_MAP_FLAG_FROM), hex(kind)
        assert ("new_only" in properties) == bool(kind & gomp.GOMP_MAP_FLAG_FORCE), hex(kind)


def test_images_tell_apart_what_made_them() -> None:
    """An image by the accelerator compiler has tables; by clang it has names, and the plugins read it otherwise."""
    assert len({names.ACCEL_STOCK, names.ACCEL_TRUE, llvm.ACCEL_LLVM}) == 3
