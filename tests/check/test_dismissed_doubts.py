"""`gompy run --check` on the emulated GPU: reads of counters, which are dismissed, take no place among those told."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

PLACES = """
#include <stdio.h>
#pragma omp declare target
int c[25], plain;
#pragma omp end declare target
#define ONE(i) c[i] += 1;
#define FIVE(i) ONE (i) ONE (i + 1) ONE (i + 2) ONE (i + 3) ONE (i + 4)
int
main (void)
{
  int sum = 0;
  #pragma omp target
  ;
  for (int i = 0; i < 25; i++)
    c[i] = i + 1;
  #pragma omp target
  {
    FIVE (0) FIVE (5) FIVE (10) FIVE (15) FIVE (20)
  }
  plain = 3;
  #pragma omp target map(tofrom: sum)
  sum += plain;
  printf ("%d\\n", sum);
}
"""


def test_counters_leave_room_for_a_stale_variable(tmp_path: Path) -> None:
    """Each counter has a state of its own on each side; there are more of them than places that are told."""
    (tmp_path / "a.c").write_text(PLACES)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "-foffload=nvptx-none", "a.c"], cwd=tmp_path, check=True)
    command = [BIN / "gompy", "run", "--device", "nvptx", "--check", "./a.out"]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (86, "0\n"), done.stderr
    assert done.stderr.count("[stale-device]") == 1 and "reads plain (byte 0 of 4)" in done.stderr, done.stderr
