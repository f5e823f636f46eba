"""`gompy run --check` and huge pages: the program's own (MAP_HUGETLB), and those of arrays that are mapped often."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

PROGRAM = """#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#define N (1 << 19)
int
main (void)
{
  int *a = mmap (NULL, N * sizeof *a, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (a == MAP_FAILED)
    return 77;
  a[20000] = 1;
#pragma omp target enter data map(to : a[0 : N])
#pragma omp target
  a[20000]++;
  printf ("%d\\n", a[20000]);
#pragma omp target exit data map(delete : a[0 : N])
}
"""


def test_memory_of_huge_pages_is_not_watched(tmp_path: Path) -> None:
    """Such pages cannot be closed by 4 KiB, nor opened: the program's read came again for ever."""
    free = re.search(r"HugePages_Free: *(\d+)", Path("/proc/meminfo").read_text())
    if free is None or free[1] == "0":
        pytest.skip("no huge pages here (vm.nr_hugepages)")
    (tmp_path / "prog.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 77:
        pytest.skip("others have the huge pages")
    assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)


AGAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N (1 << 21)
static long
huge (void)
{
  char line[200];
  long kib = 0;
  FILE *f = fopen ("/proc/self/smaps_rollup", "r");
  while (f && fgets (line, sizeof line, f))
    sscanf (line, "AnonHugePages: %ld", &kib);
  if (f)
    fclose (f);
  return kib;
}

int
main (int argc, char **argv)
{
  int changes = argc > 1, *a = malloc (N * sizeof *a), *b = malloc (N * sizeof *b), wrong = 0, sum = 0;
  for (int i = 0; i < N; i++)
    a[i] = i % 7;
  for (int round = 0; round < 20; round++)
    {
      if (changes || round == 13)
        a[round * 100003] += 100;
#pragma omp target data map(to : a[:N]) map(from : b[:N])
      {
#pragma omp target teams distribute parallel for
        for (int i = 0; i < N; i++)
          b[i] = a[i] + round;
      }
      for (int i = 0; i < N; i++)
        wrong += b[i] != a[i] + round;
    }
  printf ("%d %d\n", wrong, huge () > 0);
  fflush (stdout);
#pragma omp target data map(to : a[:N]) map(from : b[:N])
  {
    a[N / 2] = 1000;
#pragma omp target map(tofrom : sum)
    for (int i = 0; i < N; i++)
      b[i] = 0, sum += a[i];
    wrong = b[N / 3];
  }
  return sum + wrong == 0;
}
"""


@pytest.mark.parametrize("words", [[], ["changes"]])
def test_arrays_that_are_mapped_again_and_again(tmp_path: Path, words: list[str]) -> None:
    """They get huge pages; what changes is seen as before."""
    release = [int(number) for number in re.findall(r"\d+", platform.release())[:2]]
    if release < [6, 11] or not Path("/sys/kernel/mm/transparent_hugepage").exists():
        pytest.skip("this system is not asked for huge pages")
    (tmp_path / "prog.c").write_text(AGAIN)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "0 1\n"
    assert "reads a (byte 4194304 of 8388608), which the host has changed since it was copied there" in done.stderr
    assert "the host reads b (byte 2796200 of 8388608), which device 0 has changed" in done.stderr
