"""gompy/native/cpu_features.h: what the processor can, and that nobody is asked at a program's start."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from driver_tools import ROOT, has_all

PROGRAM = """
#include "gompy/native/cpu_features.h"
#include <stdio.h>
int main (void)
{
  printf ("%d %d\\n", gompy_has_avx2 (), gompy_has_avx2 ());
  printf ("%d %d\\n", gompy_has_avx512 (), gompy_has_avx512 ());
  printf ("%d\\n", __builtin_cpu_supports ("avx2") != 0);
  printf ("%d\\n", __builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512dq"));
}
"""
STARTED = ("libgompy.so.1", "libgomp-plugin-intelmic.so.1", "offload_target_main")
"""What each program starts with a device of its own."""


def test_it_says_what_gcc_says(tmp_path: Path) -> None:
    """libgcc asks the processor and the system for the same."""
    (tmp_path / "a.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-I", ROOT, "a.c"], cwd=tmp_path, check=True)
    lines = subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line.split() for line in lines[:2]] == [[theirs] * 2 for theirs in lines[2:]]


@has_all
@pytest.mark.parametrize("name", STARTED)
def test_nobody_is_asked_at_the_start(name: str) -> None:
    """libgcc's constructor for __builtin_cpu_supports: ten instructions that a monitor answers."""
    path = ROOT / "gompy" / "_native" / "lib" / name
    symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    if not symbols:
        pytest.skip("without symbols")
    assert "__cpu_indicator_init" not in symbols
