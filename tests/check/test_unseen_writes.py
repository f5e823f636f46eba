"""`gompy run --check`: what the program may have written while nobody watched it is not taken for the device's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from test_check_reports import sees_system_calls

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
COMPILER = [BIN / "gompcc", "-g", "-O1", "-fopenmp", "-foffload=x86_64-intelmicemul-linux-gnu", "-pthread"]

GONE = """
#include <stdio.h>
#include <stdlib.h>
#define N 400
#define SIZE 2500
static double *rows[N];
int main (int argc, char **argv)
{
  double sum = 0;
  int way = atoi (argv[1]);
  for (int i = 0; i < N; i++)
    {
      rows[i] = malloc (SIZE * sizeof (double));
      for (int j = 0; j < SIZE; j++)
        rows[i][j] = i + j;
    }
  for (int i = 0; i < N; i++)
    {
      double *row = rows[i];
#pragma omp target map(to: row[:SIZE])
      for (int j = 0; j < SIZE; j++)
        row[j] += 1;
    }
  if (way == 0)  /* used again */
    {
      for (int i = 0; i < N; i++)
        free (rows[i]);
      for (int i = 0; i < N; i++)
        rows[i] = malloc (SIZE * sizeof (double));
    }
  for (int i = 0; i < N && way < 2; i++)
    for (int j = 0; j < SIZE; j++)
      rows[i][j] = j;
#pragma omp target map(from: sum)
  sum = 1;
  for (int i = 0; i < N && way < 2; i++)
    for (int j = 0; j < SIZE; j++)
      sum += rows[i][j];
  sum += rows[N - 1][way];
  printf ("%g\\n", sum);
}
"""

UNSEEN = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define SIZE 2500
static volatile int stop;
static void *awake (void *unused)
{
  while (!stop)
    usleep (100);
  return unused;
}
__attribute__ ((optimize ("O3", "fast-math"))) static double total (const double *of)
{
  double sum = 0;
  for (int j = 0; j < SIZE; j++)
    sum += of[j];
  return sum;
}
int main (int argc, char **argv)
{
  double sum = 0, *row = malloc (SIZE * sizeof (double)), *copy = malloc (SIZE * sizeof (double));
  pthread_t thread;
  int thread_awake = argv[1][0] == 't', read = argv[1][1] - '0', step = argv[1][2] - '0';
  for (int j = 0; j < SIZE; j++)
    row[j] = 0.7390851332151607 * j + 2;
#pragma omp target enter data map(to: row[:SIZE])
#pragma omp target
  for (int j = 0; j < SIZE; j++)
    row[j] += 1;
  if (thread_awake)
    pthread_create (&thread, NULL, awake, NULL);
  else
    access ("/", R_OK);  /* ends the watch */
#pragma omp target map(from: sum)
  sum = 1;
  if (!thread_awake)
    access ("/", R_OK);
  for (int j = 0; j < SIZE; j += step)
    row[j] = 7.1828182845904523 * j + .1;
  stop = 1;
  if (thread_awake)
    pthread_join (thread, NULL);
#pragma omp target map(from: sum)
  sum = 1;
  if (read == 0)
    for (int j = 0; j < SIZE; j++)
      sum += row[j];
  else if (read == 1)
    sum += total (row);
  else
    sum += ((double *) memcpy (copy, row, SIZE * sizeof (double)))[7];
  printf ("%d\\n", sum > 0);
#pragma omp target exit data map(delete: row[:SIZE])
}
"""


def check(folder: Path, text: str, way: str) -> tuple[int, str]:
    """Compile and check a program: its status, and what is said."""
    sees_system_calls()
    (folder / "a.c").write_text(text)
    subprocess.run([*COMPILER, "a.c"], cwd=folder, check=True, timeout=300)
    done = subprocess.run(
        [BIN / "gompy", "run", "--check", "./a.out", way], cwd=folder, capture_output=True, text=True, timeout=300
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("way", ["0", "1"])
def test_many_arrays_that_have_gone_and_are_written_anew(tmp_path: Path, way: str) -> None:
    status, said = check(tmp_path, GONE, way)
    assert status == 0, said


def test_the_last_of_many_arrays_that_have_gone_is_watched(tmp_path: Path) -> None:
    """Where one of its 400 regions has ended while a thread was awake, all that have gone are forgotten: once more."""
    for _ in range(10):
        status, said = check(tmp_path, GONE, "2")
        if status:
            break
    assert status == 86 and "a.c:39: error: the host reads" in said, said


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("read", ["0", "1", "2"], ids=["numbers", "vectors", "memcpy"])
@pytest.mark.parametrize("unwatched", ["t", "s"], ids=["a thread is awake", "a system call"])
def test_numbers_that_were_written_unseen_are_the_programs(tmp_path: Path, unwatched: str, read: str) -> None:
    status, said = check(tmp_path, UNSEEN, f"{unwatched}{read}1")
    assert status == 0, said


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("read", ["0", "1", "2"], ids=["numbers", "vectors", "memcpy"])
@pytest.mark.parametrize("unwatched", ["t", "s"], ids=["a thread is awake", "a system call"])
def test_numbers_beside_those_are_the_devices(tmp_path: Path, unwatched: str, read: str) -> None:
    status, said = check(tmp_path, UNSEEN, f"{unwatched}{read}4")
    assert status == 86 and "[stale-host]" in said, said


PAIRS = """
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static struct { int ours, devices; } pairs[2000], copy[2000];
int main (void)
{
  int got = 0;
#pragma omp target enter data map(to: pairs)
#pragma omp target
  for (int i = 0; i < 2000; i++)
    pairs[i].devices = i + 1;
  access ("/", R_OK);  /* ends the watch */
  for (int i = 0; i < 2000; i++)
    pairs[i].ours = i + 1;
#pragma omp target map(from: got)
  got = 1;
  memcpy (copy, pairs, sizeof copy);
  printf ("%d\\n", copy[1999].ours);
#pragma omp target exit data map(delete: pairs)
}
"""


def test_of_pairs_that_a_library_reads_one_is_the_devices(tmp_path: Path) -> None:
    status, said = check(tmp_path, PAIRS, "")
    assert status == 86 and "[stale-host]" in said, said
