"""`gompy run --check`: what a region has left behind in memory that is freed, and given out again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
DEVICES = {"intelmic": "x86_64-intelmicemul-linux-gnu", "nvptx": "nvptx-none"}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned scratch (int n, int times)
{
  int *t = calloc (n, sizeof (int));
  unsigned s = 0;
  #pragma omp target enter data map(to: t[:n])
  for (int k = 0; k < times; k++)
    {
      #pragma omp target map(alloc: t[:n])
      for (int i = 0; i < n; i++)
        t[i] = k + 7;
      for (int i = 0; i < n; i += 16)
        t[i] = i;
      for (int i = 0; i < n; i += 16)
        s = s * 31 + t[i];
    }
  #pragma omp target exit data map(release: t[:n])
  free (t);
  return s;
}
static unsigned left (int n, int times)
{
  int *a = malloc (n * sizeof (int));
  unsigned s = 0;
  for (int k = 0; k < times; k++)
    {
      memset (a, 255, n * sizeof (int));
      s += a[n / 2];
      char *p = malloc (n * 2);
      #pragma omp target map(to: a[:n])
      for (int i = 0; i < n; i++)
        a[i] = 0;
      free (a);
      memset (p, k, n * 2);
      a = malloc (n * sizeof (int));
      free (p);
    }
  free (a);
  return s;
}
int main (void)
{
  unsigned s = 0;
  for (int k = 0; k < 12; k++)
    {
      s = s * 31 + left (9165, 3);
      s = s * 31 + scratch (100, 4);
      s = s * 31 + left (700, 2);
      s = s * 31 + scratch (5000, 2);
    }
  printf ("%u\\n", s);
  return 0;
}
"""


@pytest.mark.parametrize("device", list(DEVICES))
def test_memory_that_is_given_out_again_is_not_stale(tmp_path: Path, device: str) -> None:
    """Who reads it then is malloc, or the runtime, that have written there while a construct ran."""
    (tmp_path / "freed.c").write_text(PROGRAM)
    command = [BIN / "gompcc", "-g", "-O2", "-fopenmp", f"-foffload={DEVICES[device]}", "freed.c", "-o", "freed"]
    subprocess.run(command, cwd=tmp_path, check=True)
    env = {**os.environ, "GOMPY_CUDA": "emulated"}
    plain = subprocess.run([tmp_path / "freed"], env=env, capture_output=True, text=True, check=True)
    command = [BIN / "gompy", "run", "--check", "--device", device, tmp_path / "freed"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert (done.returncode, done.stdout, errors) == (0, plain.stdout, [])
