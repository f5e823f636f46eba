"""libomptarget.so.16 of gompy has LLVM's names, soname and version node."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from llvm_tools import LIBDIR

from gompy.abi import llvm

STOCK = Path("/usr/lib/llvm-16/lib/libomptarget.so.16")


def names(library: Path) -> set[str]:
    """What a library defines, with the version nodes."""
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {line.split()[2] for line in out.splitlines()} - {llvm.VERSION_NODE}


@pytest.mark.parametrize("soname", llvm.SONAMES)
def test_names_are_in_the_version_node(soname: str) -> None:
    assert names(LIBDIR / soname) == {f"{name}@@{llvm.VERSION_NODE}" for name in llvm.exports(soname)}


@pytest.mark.skipif(not STOCK.exists(), reason="not installed: libomp-16-dev")
def test_names_are_those_of_llvm() -> None:
    assert names(LIBDIR / "libomptarget.so.16") == {name for name in names(STOCK) if name.endswith(llvm.VERSION_NODE)}


def test_it_finds_libgompy_beside_itself() -> None:
    out = subprocess.run(["readelf", "-d", LIBDIR / "libomptarget.so.16"], capture_output=True, text=True, check=True)
    assert re.search(r"SONAME.*\[libomptarget\.so\.16\]", out.stdout)
    assert re.search(r"RUNPATH.*\[\$ORIGIN/\.\./lib\]", out.stdout)
