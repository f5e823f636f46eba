"""`gompy run --check`: what a thread of a region writes while another one is at a page is not taken for unset."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

TWO = """
#include <omp.h>
#include <stdio.h>
int
main (void)
{
  int wrong = 0;
  for (int run = 0; run < 300; run++)
    {
      int *p = omp_target_alloc (2 * sizeof *p, 0), sum = 0;
      #pragma omp target parallel num_threads(2) is_device_ptr(p)
      INNER
      p[NUMBER] = 1;
      #pragma omp target is_device_ptr(p) map(tofrom: sum)
      sum = p[0] + p[1];
      wrong += sum != 2;
      omp_target_free (p, 0);
    }
  printf ("%d\\n", wrong);
}
"""


@pytest.mark.parametrize(
    ("inner", "number"),
    [("", "omp_get_thread_num ()"), ('_Pragma ("omp parallel num_threads(1)")', "omp_get_ancestor_thread_num (1)")],
    ids=["a team", "each in a nested team of one"],
)
def test_two_threads_write_to_new_memory_at_once(tmp_path: Path, inner: str, number: str) -> None:
    # Either thread may come to the page first, and be at its write while the other one makes its own.
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "OFFLOAD_EMUL_MEM": "64M"}
    (tmp_path / "two.c").write_text(TWO.replace("INNER", inner).replace("NUMBER", number))
    subprocess.run([BIN / "gompcc", "-g", "-fopenmp", "two.c", "-o", "two"], check=True, cwd=tmp_path, env=env)
    command = [BIN / "gompy", "run", "--device", "intelmic", "--check", "./two"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr
