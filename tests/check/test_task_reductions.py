"""Reductions of tasks under ``gompy run --check``: libgomp finds them by the first word of a parallel region's data."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

PROGRAM = """\
#include <stdio.h>
int main (void)
{{
  int sum = 1, seen[16];
{directive} num_threads(5) reduction(task, +: sum)
  for (int i = 0; i < 16; i++)
    {{
      seen[i] = 2 * i;
      #pragma omp task in_reduction(+: sum) firstprivate(i)
      sum += i;
    }}
  printf ("%d %d\\n", sum, seen[15]);
  return 0;
}}
"""
HOST = """\
  #pragma omp target map(from: seen)
  for (int i = 0; i < 16; i++)
    seen[i] = 0;
  #pragma omp parallel for"""
DEVICE = "#pragma omp target parallel for map(tofrom: sum) map(from: seen)"


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("directive", [HOST, DEVICE], ids=["host", "device"])
@pytest.mark.parametrize("check", [(), ("-foffload-check",)], ids=["any", "exact"])
def test_tasks_that_are_reduced(tmp_path: Path, directive: str, check: tuple[str, ...]) -> None:
    (tmp_path / "p.c").write_text(PROGRAM.format(directive=directive))
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "LC_ALL": "C"}
    for command in (["gompcc", "-g", "-O1", "-fopenmp", *check, "p.c", "-o", "p"], ["gompy", "run", "--check", "./p"]):
        command[0] = str(BIN / command[0])
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == "121 30\n"
