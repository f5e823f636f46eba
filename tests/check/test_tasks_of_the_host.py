"""`gompy run --check` numbers the program's tasks: they and their data are as they are without it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"

CANCELLED = """
#include <atomic>
#include <cstdio>
static std::atomic<int> alive, copies, run;
struct item
{
  int v;
  item (int x) : v (x) { alive++; }
  item (const item &other) : v (other.v) { alive++; copies++; }
  ~item () { alive--; }
};
int
main ()
{
  bool on_device = false;
  #pragma omp target map(from: on_device)
  on_device = true;
  #pragma omp parallel num_threads(2)
  #pragma omp single
  {
    item one (3);
    #pragma omp taskgroup
    {
      #pragma omp task
      {
        #pragma omp cancel taskgroup
      }
      for (bool begun = true; begun;)  // until no task is begun any longer
        {
          begun = false;
          #pragma omp task if(0) shared(begun)
          begun = true;
        }
      for (int i = 0; i < 100; i++)
        {
          #pragma omp task firstprivate(one)
          run += one.v;
        }
    }
  }
  std::printf ("%d alive, %d copied, %d run, %d\\n", alive.load (), copies.load (), run.load (), on_device);
}
"""
PASSED = """
#include <stdint.h>
#include <stdio.h>
int
main (void)
{
  int wrong = 0, shared = 0, on_device = 0;
  #pragma omp target map(from: on_device)
  on_device = 1;
  #pragma omp parallel num_threads(2)
  #pragma omp single
  for (int k = 0; k < 200; k++)
    {
      long double wide[3] = { k, k + 1, k + 2 };
      _Alignas (64) char line[64] = { (char) k };
      char odd[13] = { [12] = (char) k };
      #pragma omp task firstprivate(wide, line, odd, k) shared(wrong)
      if (wide[2] != k + 2 || line[0] != (char) k || odd[12] != (char) k || (uintptr_t) line % 64)
        #pragma omp atomic
        wrong++;
      #pragma omp task if(0) firstprivate(wide, k) shared(shared, wrong)
      {
        shared += wide[0] == k;
        wide[0] = -1;
      }
      if (wide[0] != k)
        #pragma omp atomic
        wrong++;
      #pragma omp task if(k % 2) firstprivate(odd, k) shared(wrong)
      if (odd[12] != (char) k)
        #pragma omp atomic
        wrong++;
    }
  printf ("%d wrong, %d, %d\\n", wrong, shared, on_device);
}
"""


def run(folder: Path, *command: str) -> str:
    """What a program prints that is cancelled where it asks for it."""
    env = {**os.environ, "OMP_CANCELLATION": "true"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(
    ("name", "text", "printed"),
    [
        ("a.cc", CANCELLED, "0 alive, 0 copied, 0 run, 1\n"),
        ("a.c", PASSED, "0 wrong, 200, 1\n"),
    ],
)
def test_the_data_of_tasks(tmp_path: Path, name: str, text: str, printed: str) -> None:
    (tmp_path / name).write_text(text)
    compiler = "gompc++" if name.endswith(".cc") else "gompcc"
    subprocess.run([BIN / compiler, "-g", "-O1", "-fopenmp", name], cwd=tmp_path, check=True)
    assert run(tmp_path, "./a.out") == printed
    assert run(tmp_path, str(BIN / "gompy"), "run", "--device", "intelmic", "--check", "./a.out") == printed
