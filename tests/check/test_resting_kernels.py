"""`gompy run --check`: kernels of the emulated GPU run without looks while checks rest (gompy/cuda/looks.pxi)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

BEYOND = """
#include <stdlib.h>
int main (int argc, char **argv)
{
  int n = 1000, times = atoi (argv[1]), bad = atoi (argv[2]), *a = calloc (n, sizeof *a);
  #pragma omp target enter data map(to: a[:n])
  for (int i = 0; i < times; i++)
    {
      int at = i == bad ? n : 0;
      #pragma omp target map(alloc: a[:n])
      a[at]++;
    }
  if (argc > 3)
    {
      #pragma omp target map(alloc: a[:n])
      a[n] = 1;
    }
  #pragma omp target exit data map(from: a[:n])
  return a[0] != times - (bad >= 0);
}
"""

MANY = """
#include <stdlib.h>
#define N 20000
#pragma omp declare target
static int shared[N];
static int *list[64];
static int (*kept[2]) (int);
static int twice (int v) { return 2 * v; }
static int square (int v) { return v * v; }
#pragma omp end declare target
int main (int argc, char **argv)
{
  int times = atoi (argv[1]), wrong = 0;
  int *a = malloc (N * sizeof (int));
  for (int i = 0; i < N; i++)
    a[i] = i;
  #pragma omp target enter data map(to: a[:N])
  for (int t = 0; t < times; t++)
    {
      int *fresh = malloc (N * sizeof (int)), sum = 0, out[64];
      #pragma omp target
      for (int i = 0; i < 2; i++)
        kept[i] = i == t % 2 ? twice : square;
      #pragma omp target enter data map(alloc: fresh[:N])
      #pragma omp target teams distribute parallel for map(alloc: fresh[:N], a[:N])
      for (int i = 0; i < N; i++)
        {
          fresh[i] = a[i] + t;
          shared[i] += kept[i % 2] (i % 7);
        }
      #pragma omp target teams distribute parallel for num_teams(4)
      for (int i = 0; i < 64; i++)
        {
          list[i] = malloc (i * 4 + 4);
          list[i][i] = i;
        }
      #pragma omp target teams distribute parallel for reduction(+: sum) map(alloc: fresh[:N])
      for (int i = 0; i < N; i++)
        sum += fresh[i] - t;
      #pragma omp target map(from: out)
      for (int i = 0; i < 64; i++)
        {
          out[i] = list[i][i];
          free (list[i]);
        }
      #pragma omp target exit data map(release: fresh[:N])
      for (int i = 0; i < 64; i++)
        wrong += out[i] != i;
      wrong += sum != N * (N - 1) / 2;
      free (fresh);
      if (t == times / 2)
        {
          #pragma omp target teams distribute parallel for map(alloc: a[:N])
          for (int i = 0; i < N; i++)
            a[i] = a[i] - shared[i] + shared[i];
        }
    }
  int *once = malloc (N * sizeof (int));
  #pragma omp target map(from: once[:N]) map(alloc: a[:N])
  for (int i = 0; i < N; i++)
    once[i] = a[i] + shared[i];
  wrong += once[0] != 0;
  #pragma omp target exit data map(from: a[:N])
  return wrong != 0;
}
"""

QUEUES = """
#include <stdlib.h>
#define N 20000
int main (int argc, char **argv)
{
  int times = atoi (argv[1]), wrong = 0, *a = calloc (N, sizeof (int)), *b = malloc (N * sizeof (int));
  #pragma acc enter data copyin(a[:N]) create(b[:N])
  for (int t = 0; t < times; t++)
    {
      #pragma acc parallel loop present(a[:N], b[:N]) async(1)
      for (int i = 0; i < N; i++)
        b[i] = a[i] + 1;
      #pragma acc parallel loop present(a[:N], b[:N]) async(1)
      for (int i = 0; i < N; i++)
        a[i] = b[i];
      if (t % 5 == 0)
        {
          #pragma acc update self(a[:N]) async(1)
          #pragma acc wait(1)
          wrong += a[N / 2] != t + 1;
        }
    }
  #pragma acc wait
  #pragma acc exit data copyout(a[:N]) delete(b[:N])
  return wrong != 0 || a[7] != times;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("resting")
    for name, text in (("beyond", BEYOND), ("many", MANY), ("queues", QUEUES)):
        (folder / f"{name}.c").write_text(text)
        way = "-fopenacc" if name == "queues" else "-fopenmp"
        words = ["-g", "-O2", way, "-foffload=nvptx-none", f"{name}.c", "-o", name]
        subprocess.run([str(BIN / "gompcc"), *words], cwd=folder, check=True)
    return folder


def checked(program: Path, share: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "gompy"), "run", "--check", str(program), *arguments]
    env = {**os.environ, "GOMPY_CHECK_SHARE": share, "GOMPY_CUDA": "emulated"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("share", "words", "told"),
    [
        ("0", ("30", "-1"), False),
        ("0", ("30", "20"), False),
        ("0", ("30", "4"), True),
        ("0", ("30", "-1", "new"), True),
        ("100", ("30", "20"), True),
        ("100", ("30", "-1"), False),
    ],
)
def test_a_region_that_is_new_is_looked_at(programs: Path, share: str, words: tuple[str, ...], told: bool) -> None:
    """One that has run some times is not, while checks rest."""
    run = checked(programs / "beyond", share, *words)
    assert ("[past-section]" in run.stderr) == told, run.stderr
    assert run.returncode == (86 if told else 0), run.stderr


@pytest.mark.parametrize("share", ["0", "1", "15", "100"])
def test_a_right_program_stays_right(programs: Path, share: str) -> None:
    """With memory that kernels ask for, functions in memory, variables, and new memory."""
    run = checked(programs / "many", share, "60")
    assert run.returncode == 0, run.stderr
    assert "error" not in run.stderr
    assert ("were looked at in part" in run.stderr) or share != "0"


@pytest.mark.parametrize("share", ["0", "1", "100"])
def test_queues(programs: Path, share: str) -> None:
    run = checked(programs / "queues", share, "60")
    assert run.returncode == 0, run.stderr
    assert "error" not in run.stderr
