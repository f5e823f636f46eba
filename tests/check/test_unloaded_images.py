"""`gompy run --check` of a program that closes libraries with regions: variables, and pages with marks, go along."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

LIBRARY = """
#pragma omp declare target
int g[PAGES * 1024];
#pragma omp end declare target
int use (int reads)
{
  int sum = 0;
  #pragma omp target
  ;
  for (int i = 0; i < PAGES * 1024; i++)
    g[i]++;
  #pragma omp target map(tofrom: sum)
  if (reads)
    sum += g[PAGES * 512];
  return sum;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *
open_it (const char *name)
{
  void *library = dlopen (name, RTLD_NOW);
  if (library == NULL)
    abort ();
  return library;
}
static int
use (void *library, int reads)
{
  return ((int (*) (int)) dlsym (library, "use")) (reads);
}
int main (void)
{
  for (int i = 0; i < 3; i++)
    {
      void *large = open_it ("./large.so"), *larger;
      use (large, 0);
      larger = open_it ("./larger.so");
      dlclose (large);
      use (larger, READS);
      dlclose (larger);
    }
  puts ("done");
}
"""


def checked(folder: Path, reads: str) -> subprocess.CompletedProcess[str]:
    """The program, under the check, on the emulated MIC.  Both libraries have more than half of the marked pages."""
    (folder / "lib.c").write_text(LIBRARY)
    (folder / "program.c").write_text(PROGRAM.replace("READS", reads))
    for name, pages in (("large.so", 40), ("larger.so", 45)):
        words = [BIN / "gompcc", "-g", "-O1", "-fopenmp", "-shared", "-fPIC", f"-DPAGES={pages}", "lib.c", "-o", name]
        subprocess.run(words, cwd=folder, check=True)
    subprocess.run([BIN / "gompcc", "-g", "program.c", "-ldl", "-o", "program"], cwd=folder, check=True)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--any", "--check", "./program"]
    env = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_variables_of_a_closed_library_are_not_looked_at(tmp_path: Path) -> None:
    done = checked(tmp_path, "0")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_pages_of_a_closed_library_give_their_marks_back(tmp_path: Path) -> None:
    done = checked(tmp_path, "i == 2")
    assert done.returncode == 86 and done.stderr.count("[stale-device]") == 1, done.stderr
