"""`gompy run --check`: large ranges, of which hashes are kept until one side changes a part, and contents then."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define N 200000
int main (int argc, char **argv)
{
  int way = argc > 1 ? atoi (argv[1]) : 0;
  int *a = malloc (N * sizeof *a), *b = malloc (N * sizeof *b);
  long sum = 0;
  for (int i = 0; i < N; i++) a[i] = i, b[i] = 2 * i;
#pragma omp target data map(to: a[:N]) map(tofrom: b[:N])
  {
#pragma omp target
    for (int i = 0; i < N; i++) b[i] += a[i];
    if (way == 1)          /* stale on the host: read of what the region wrote */
      sum += b[N / 2];
    if (way == 2)          /* stale on device */
      { a[N / 2] = 7;
#pragma omp target map(tofrom: sum)
        for (int i = N / 2 - 5; i < N / 2 + 5; i++) sum += a[i];
      }
    if (way == 3)          /* partial update, right */
      { for (int i = 100; i < 200; i++) a[i] = 1;
#pragma omp target update to(a[100:100])
#pragma omp target map(tofrom: sum)
        for (int i = 0; i < N; i++) sum += a[i];
#pragma omp target update from(b[1000:50])
        sum += b[1020];
      }
    if (way == 4)          /* partial update of less than was changed: stale on the device */
      { for (int i = 100; i < 201; i++) a[i] = 1;
#pragma omp target update to(a[100:100])
#pragma omp target map(tofrom: sum)
        for (int i = 0; i < N; i++) sum += a[i];
      }
    if (way == 5)          /* update from of part, read behind it: stale on the host */
      {
#pragma omp target update from(b[1000:50])
        sum += b[1049];
        sum += b[1050];
      }
    if (way == 6)          /* whole updates in a loop, right */
      for (int k = 0; k < 5; k++)
        {
          for (int i = 0; i < N; i++) a[i] += k;
#pragma omp target update to(a[:N])
#pragma omp target
          for (int i = 0; i < N; i++) b[i] += a[i];
#pragma omp target update from(b[:N])
          sum += b[k];
        }
    if (way == 7)          /* the last update is missing: stale on the device */
      { for (int i = 0; i < N; i++) a[i] += 1;
#pragma omp target update to(a[:N])
        a[70000]++;
#pragma omp target map(tofrom: sum)
        for (int i = 0; i < N; i++) sum += a[i];
      }
    if (way == 8)          /* updated from, region again, read: stale on the host */
      {
#pragma omp target update from(b[:N])
        sum += b[3];
#pragma omp target
        for (int i = 0; i < N; i++) b[i] += 1;
        sum += b[N - 1];
      }
  }
  if (way == 10 || way == 11) /* both sides change one part, the host while it is not watched */
    {
#pragma omp target data map(to: a[:N])
      {
#pragma omp target
        a[0] = 3;
        if (fork () == 0)
          _exit (0);
        wait (NULL);
        a[100] = 7;
#pragma omp target map(tofrom: sum)
        sum += a[way == 10 ? 100 : 200];
        if (way == 11)
          sum += a[0];
      }
    }
  if (way >= 12)           /* a construct copies all of a mapped array to the device and back */
    {
#pragma omp target enter data map(to: b[:N])
#pragma omp target map(always, tofrom: b[:N])
      for (int i = 0; i < N; i++)
        b[i]++;
      for (int i = 0; i < N; i++)
        b[i] = 3;
#pragma omp target map(tofrom: sum)
      sum += way == 12 ? b[5] : 1;
      sum += b[5];
#pragma omp target exit data map(delete: b[:N])
    }
  if (way == 9)            /* a region writes a mapped-to array, which the host reads behind */
    {
#pragma omp target data map(to: a[:N])
      {
#pragma omp target
        for (int i = 0; i < N; i++) a[i] = 3;
      }
      sum += a[N / 3];
    }
  printf ("%ld\n", sum);
  return 0;
}
"""

HOST = "the host reads {}, which device 0 has changed, and which has not been copied back since"
DEVICE = "on device 0 reads {}, which the host has changed since it was copied there"
SAYS = {
    "nothing between": "",
    "the host reads what a region has written": HOST.format("b (byte 400000 of 800000)"),
    "the host writes, a region reads": DEVICE.format("a (byte 400000 of 800000)"),
    "updates of parts": "",
    "an update of less than was changed": DEVICE.format("a (byte 800 of 800000)"),
    "a read behind what was updated": HOST.format("b (byte 4200 of 800000)"),
    "updates of all in a loop": "",
    "a write behind an update of all": DEVICE.format("a (byte 280000 of 800000)"),
    "a region behind an update of all": HOST.format("b (byte 799996 of 800000)"),
    "a range that has ended": HOST.format("a (byte 266664 of 800000)"),
    "both write one part, a region reads": DEVICE.format("a (byte 400 of 800000)"),
    "both write one part, the host reads": HOST.format("a (byte 0 of 800000)"),
    "copied back, changed, and a region reads": DEVICE.format("b (byte 20 of 800000)"),
    "copied back, changed, and the host reads": "",
}
"""By the number of the program's way."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c", "-o", "a"], cwd=folder, check=True)
    return folder / "a"


@pytest.mark.parametrize("way", SAYS)
def test_what_is_found(program: Path, way: str) -> None:
    """The same as where contents are kept, which they were before."""
    command = [str(BIN / "gompy"), "run", "--check", str(program), str(list(SAYS).index(way))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if ": error: " in line]
    assert len(errors) == (SAYS[way] != ""), done.stderr
    assert all(SAYS[way] in error for error in errors), done.stderr
