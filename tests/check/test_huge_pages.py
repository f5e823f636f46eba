"""`gompy run --check` of a program whose arrays have huge pages of their own (MAP_HUGETLB)."""

from __future__ import annotations

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
