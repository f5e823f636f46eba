"""`gompy run --check`: the host writes what it had before, over what a region has written, and reads that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

PROGRAM = """
#include <stdlib.h>
#include <string.h>
int main (int argc, char **argv)
{
  int n = atoi (argv[1]), *a = calloc (n, sizeof (int)), b = 0, s = 0;
  #pragma omp target enter data map(to: b)
  if (argv[2][0] == 't')
    {
      #pragma omp target enter data map(to: a[:n])
    }
  else  /* scratch memory of both sides */
    {
      #pragma omp target enter data map(alloc: a[:n])
      for (int i = 0; i < n; i++)
        a[i] = 5;
    }
  #pragma omp target map(alloc: a[:n])
  for (int i = 0; i < n; i++)
    a[i] = 7;
  if (argv[2][1] == 'm')
    memset (a, 0, n * sizeof (int));
  else
    for (int i = argv[2][1] == 's'; i < n; i++)
      a[i] = 0;
  #pragma omp target map(alloc: b)
  b = 3;
  for (int i = 0; i < n; i++)
    s += a[i];
  #pragma omp target exit data map(delete: a[:n], b)
  return s;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("same")
    (folder / "same.c").write_text(PROGRAM)
    subprocess.run([str(BIN / "gompcc"), "-g", "-O1", "-fopenmp", "same.c", "-o", "same"], cwd=folder, check=True)
    return folder / "same"


def checked(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "GOMPY_CHECK_SHARE": "100"}
    command = [str(BIN / "gompy"), "run", "--check", str(program), *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("number", ["10", "1000", "100000"])
@pytest.mark.parametrize("how", ["tl", "tm", "al", "am"])
def test_what_it_had_is_the_host_s_again_after_another_region(program: Path, number: str, how: str) -> None:
    """The device's was newer again when the next region had ended."""
    run = checked(program, number, how)
    assert run.returncode == 0, run.stderr
    assert "error" not in run.stderr


@pytest.mark.parametrize("number", ["10", "1000", "100000"])
def test_what_it_has_not_written_is_the_device_s(program: Path, number: str) -> None:
    run = checked(program, number, "ts")
    assert "(byte 0 of" in run.stderr and "[stale-host]" in run.stderr, run.stderr
