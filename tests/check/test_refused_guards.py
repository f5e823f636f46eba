"""`gompy run --check` where the kernel closes no more pages: results are right, and no finding is false."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#define N 100000
#define MOST 200000
int
main (void)
{
  int *a = malloc (N * sizeof *a), *b = malloc (N * sizeof *b), wrong = 0, made = 0;
#pragma omp target enter data map(alloc: b[ : N])
#pragma omp target map(tofrom: made)
  while (made < MOST
         && mmap (0, 4096, made & 1 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
    made++;
  for (int times = 0; times < 2; times++)
    {
#pragma omp target map(from: a[ : N])
      for (int i = 0; i < N; i++)
        a[i] = b[i] = i + times;
#pragma omp target update from(b[ : N])
      for (int i = 0; i < N; i++)
        wrong += (a[i] != i + times) + (b[i] != i + times);
    }
  printf (made < MOST ? "%d wrong\\n" : "%d wrong, without a limit of mappings\\n", wrong);
  free (a);
#pragma omp target exit data map(delete: b[ : N])
  free (b);
  return 0;
}
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="marks are of this machine")
def test_new_memory_is_not_filled_over_what_a_region_has_written(tmp_path: Path) -> None:
    """Pages that all are open let nobody see their first use: they are filled before that."""
    limit = int(Path("/proc/sys/vm/max_map_count").read_text())
    if limit > 150000:
        pytest.skip("the kernel has a higher limit of mappings")
    (tmp_path / "prog.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "prog.c", "-o", "prog"], check=True, cwd=tmp_path)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./prog"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "0 wrong\n", done.stderr
    assert done.returncode == 0, done.stderr
