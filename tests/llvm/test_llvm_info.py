"""LIBOMPTARGET_INFO: the same program says the same with LLVM's library and with ours, but for addresses.

Of a copy from or to what is not mapped LLVM's library tells the name of the nearest mapping, which it is not.  Ours has
no name there.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from llvm_tools import PROGRAMS, compile_clang, environment, needs_clang

pytestmark = needs_clang

STOCK = {"LD_LIBRARY_PATH": "/usr/lib/llvm-16/lib"}


def told(program: Path, **more: str) -> list[str]:
    """The lines that a program writes to standard error, without addresses."""
    done = subprocess.run([program], env=environment(**more), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return re.sub(r"0x[0-9a-f]+", "0x", done.stderr).splitlines()


def same(ours: list[str], llvms: list[str]) -> bool:
    """Whether lines are equal, but for the name in a copy that ours has none for."""
    nameless = ["Copying data" in line and line.endswith("Name=unknown") for line in ours]
    if len(ours) != len(llvms):
        return False
    return ours == [
        re.sub(r"Name=.*", "Name=unknown", line) if without else line
        for line, without in zip(llvms, nameless, strict=True)
    ]


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("level", [-1, 1, 2, 4, 8, 16, 32])
def test_each_level(program: Path, level: int) -> None:
    lines = told(program, **STOCK, LIBOMPTARGET_INFO=str(level))
    assert lines
    assert same(told(program, LIBOMPTARGET_INFO=str(level)), lines)


@pytest.mark.parametrize("more", [{"OFFLOAD_EMUL_NUM": "2"}, {"GOMPY_SHARED_MEMORY": "1"}])
def test_other_devices(program: Path, more: dict[str, str]) -> None:
    """The device that is the program itself says it as well."""
    assert same(told(program, **more, LIBOMPTARGET_INFO="-1"), told(program, **STOCK, LIBOMPTARGET_INFO="-1"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_clang(tmp_path_factory.mktemp("info"), PROGRAMS / "info.c", "-g")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("options", [[], ["-g"]])
def test_maps(tmp_path: Path, options: list[str]) -> None:
    """A program that is compiled without -g has no places to tell."""
    program = compile_clang(tmp_path, PROGRAMS / "maps.c", *options)
    assert same(told(program, LIBOMPTARGET_INFO="-1"), told(program, **STOCK, LIBOMPTARGET_INFO="-1"))


@pytest.mark.slow
def test_pointers_counts_sizes(tmp_path: Path) -> None:
    """A pointer attached again is not copied; DELETE shows counts of 1; what goes shows the last construct's size."""
    program = compile_clang(tmp_path, PROGRAMS / "info_more.c", "-g", "-fopenmp-extensions")
    assert same(told(program, LIBOMPTARGET_INFO="-1"), told(program, **STOCK, LIBOMPTARGET_INFO="-1"))
