"""`gompy run --check`: large arrays that are only copied from the device: nothing of them is kept (GOMPY_PART_BARE)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define N 200000
static void other_call (void)  /* after which nothing is watched until the next construct */
{
  if (fork () == 0)
    _exit (0);
  wait (NULL);
}
int main (int argc, char **argv)
{
  int way = argc > 1 ? atoi (argv[1]) : 0, sum = 0, step = way == 5 ? 2 : 1, most = way == 4 ? N / 2 : N;
  int *c = malloc (N * sizeof *c);
  for (int i = 0; i < N; i++)
    c[i] = 5;
#pragma omp target data map(from: c[:N])
  {
    if (way == 3)
      for (int i = 0; i < N; i++)
        c[i] = 6;
#pragma omp target
    for (int i = 0; i < most; i += step)
      c[i] = i;
    if (way == 1 || way == 3)
      sum = c[N / 2];
    if (way == 2)
      for (int i = 0; i < N; i++)
        c[i] = 3, sum += c[i];
    if (way == 4)
      sum = c[N / 2 + 5000];
    if (way == 5)
      for (int i = 1; i < N; i += 2)
        sum += c[i];
    if (way >= 6)
      {
        other_call ();
        c[0] = 7;
#pragma omp target map(tofrom: sum)
        sum++;
        sum += way == 6 ? c[1] : way == 7 ? c[0] : c[N - 1];
      }
    if (way >= 4)
#pragma omp target
      for (int i = 0; i < N; i++)
        c[i] = i;
  }
  printf ("%d\n", c[5] + sum);
  return 0;
}
"""

HOST = "the host reads c (byte {} of 800000), which device 0 has changed, and which has not been copied back since"
SAYS = {
    "nothing between": "",
    "the host reads what a region has written": HOST.format(400000),
    "the host writes it anew": "",
    "a region writes over what the host has just written": HOST.format(400000),
    "what no region has written": "",
    "what a region has left out, element by element": "",
    "after a system call, beside what the host has written": HOST.format(4),
    "after one, what the host has written": "",
    "after one, far from there": HOST.format(799996),
}
"""By the number of the program's way."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c", "-o", "a"], cwd=folder, check=True)
    return folder / "a"


@pytest.mark.parametrize("way", SAYS)
def test_what_is_found(program: Path, way: str) -> None:
    command = [BIN / "gompy", "run", "--check", program, str(list(SAYS).index(way))]
    done = subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == (86 if SAYS[way] else 0), done.stderr
    assert SAYS[way] in done.stderr and done.stderr.count(" error: ") == bool(SAYS[way]), done.stderr
