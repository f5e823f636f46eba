"""GOMPY_CHECK on the emulated GPU under libgompy: gaps between the objects that a construct maps."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import has_all, needs
from nvptx_tools import has_compiler

pytestmark = [has_all, needs("gcc"), has_compiler, has_driver, has_executor]
BIN = Path(sys.executable).parent

SOURCE = """#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  int n = atoi (argv[1]), *a = calloc (100, sizeof *a), *b = calloc (100, sizeof *b);
  char c[13] = "";
  struct { int n; int *p; } s = { 1, b };
#pragma omp target map(tofrom: a[10:50], b[0:100], c)
  { c[12] = 1; b[99] = 1; a[n] = 7; }
#pragma omp target map(tofrom: s.n) map(to: s.p) map(tofrom: s.p[0:100])
  { s.n++; s.p[n] += 2; }
  printf ("%d %d %d %d\\n", a[n], b[n], c[12], s.n);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three objects in one construct, then a struct with an attached pointer."""
    folder = tmp_path_factory.mktemp("gaps")
    (folder / "gaps.c").write_text(SOURCE)
    words = [BIN / "gompcc", "-fopenmp", "-foffload=nvptx-none", "-g", "-O1", "-w", "-o", "gaps", "gaps.c"]
    subprocess.run(words, check=True, cwd=folder)
    return folder / "gaps"


def run(program: Path, index: int, check: str) -> subprocess.CompletedProcess[str]:
    """On the emulated GPU."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_", "GOMPY_"))}
    clean |= {"GOMPY_CUDA": "emulated", "GOMPY_CHECK": check}
    return subprocess.run([program, str(index)], capture_output=True, text=True, env=clean, timeout=100, check=False)


@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize("index", [10, 59])
def test_what_is_right_runs(program: Path, index: int, check: str) -> None:
    """First and last elements."""
    done = run(program, index, check)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7 2 1 2\n", "")


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (60, "0 bytes past the end of the 200 bytes"),
        (62, "8 bytes past the end of the 200 bytes"),
        (9, "4 bytes before the 200 bytes"),
    ],
)
def test_one_too_far(program: Path, index: int, text: str) -> None:
    """Exactly, at both ends, although libgompy puts all objects of a construct into one block."""
    done = run(program, index, "1")
    assert done.returncode == 1
    assert re.search(
        rf"illegal address 0x[0-9a-f]+ written \(4 bytes\) in .*gaps\.c:9 .*; {text} that are mapped from the host's ",
        done.stderr,
    ), done.stderr
    assert "CUDA_ERROR_ILLEGAL_ADDRESS in region main._omp_fn.0" in done.stderr
