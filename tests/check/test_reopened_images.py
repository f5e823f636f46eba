"""-foffload-check: libraries that a program opens one after another, each where the former one was."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from link_tools import elf, symbols

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

LIBRARY = """#pragma omp declare target
static int __attribute__ ((noinline, noclone)) f (int *q)
{
#ifdef W
  q[0] = 1, q[1] = 2, q[2] = 3, q[3] = 4;
  return 0;
#else
  return q[0] + q[1] + q[2] + q[3] == 77;
#endif
}
#pragma omp end declare target
void run (int *p, int n)
{
#pragma omp target parallel num_threads(2) map(tofrom: p[:1000])
  if (f (p + n))
    __builtin_trap ();
}
"""
PROGRAM = """#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int p[1000];
int main (int n, char **v)
{
#pragma omp target enter data map(to: p)

#pragma omp target
;
for (int i = 1; i < n; i++)
    {
      void *l = dlopen (v[i], RTLD_NOW);
      void (*run) (int *, int) = dlsym (l, "run");
      for (int k = 0; k < 5; k++) run (p, 4);
      dlclose (l);
    }
}
"""


def rows_of(folder: Path, name: str) -> list[int]:
    """Where a library's image has the site of its first row, which is that in `f`; [] without gcc's plugin."""
    command = [str(BIN / "gompy"), "images", "extract", f"{name}.so", "--to", f"{name}.images"]
    subprocess.run(command, cwd=folder, check=True, timeout=300, capture_output=True)
    (image,) = (folder / f"{name}.images").iterdir()
    return [symbol[1] for symbol in symbols(elf(image)) if re.fullmatch(r"gompy_site\.\d+\.0", symbol[0])]


@pytest.mark.parametrize("names", [("nR", "nW"), ("nW", "nR")])
def test_a_row_is_not_taken_for_a_closed_librarys(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Writes were noted as the reads that were there before, and lost; reads as writes, a false alarm.

    Names and texts are such that both rows lie at one address.  Where a gcc lays them out otherwise that says nothing.
    """
    (tmp_path / "n.c").write_text(LIBRARY)
    (tmp_path / "program.c").write_text(PROGRAM)
    words = [str(BIN / "gompcc"), "-g", "-O2", "-fopenmp", "-foffload-check"]
    for name in names:
        command = [*words, f"-D{name[1]}", "-fPIC", "-shared", "n.c", "-o", f"{name}.so"]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
    first, second = (rows_of(tmp_path, name) for name in names)
    if first != second:
        pytest.skip(f"this gcc has the rows of both libraries at two addresses: {first} and {second}")
    subprocess.run([*words, "program.c", "-ldl", "-o", "program"], cwd=tmp_path, check=True, timeout=300)
    libraries = [f"./{name}.so" for name in names]
    run = [str(BIN / "gompy"), "run", "--device", "intelmic", "--check", "./program", *libraries]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(run, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert set(re.findall(r"n\.c:(\d+): error: .*\[race\]", done.stderr)) == {"5"}, done.stderr
    assert done.returncode == 86, done.stderr
