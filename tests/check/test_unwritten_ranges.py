"""`gompy run --check`: large arrays that are copied again and again as they are (check_unwritten.h).

What changes them is noticed however it does: what the kernel notes of writes is asked for, and of nothing else.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

# A round copies the array to the device; after the fifth something is done to it, or not.
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#define BYTES (4ul << 20)
#define N (BYTES / sizeof (int))
static int *new_memory (int *at)
{
  return mmap (at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}
static int change (int *a, int way)
{
  int numbers[2] = { 5, 6 }, fd;
  struct iovec to = { a + N / 3, sizeof numbers }, from = { numbers, sizeof numbers };
  switch (way)
    {
    case 1: a[N / 2] = 7; return 1;                             /* a store */
    case 2: a[0] = 7; return 1;
    case 3: a[N - 1] = 7; return 1;
    case 4: return (fd = open ("/proc/self/exe", O_RDONLY)) >= 0 && read (fd, a + N / 2, 4096) == 4096;
    case 5: return process_vm_writev (getpid (), &from, 1, &to, 1, 0) > 0;
    case 6: return madvise (a + N / 4, 8192, MADV_DONTNEED) == 0; /* pages of zeros */
    case 7: munmap (a, BYTES); return new_memory (a) == a;      /* all of zeros */
    case 8: return mprotect (a, BYTES, PROT_READ) == 0 && mprotect (a, BYTES, PROT_READ | PROT_WRITE) == 0;
    case 9: if (fork () == 0) { a[5] = 4; _exit (0); } return wait (NULL) > 0; /* the child has its own */
    case 10: return mmap (a + N / 2, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
                          open ("/proc/self/exe", O_RDONLY), 0) != MAP_FAILED;
    case 11: memset (a, 9, BYTES); return 1;
    }
  return 1;
}
/* A mapping that is moved, of which one array is copied as it is while another one's pages are held.  */
static int move_all (void)
{
  int *all = mmap (NULL, 4 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int *held = all + N, *same = all + 2 * N + N / 2, sum = 0;
  for (size_t i = 0; i < 4 * N; i++)
    all[i] = 1;
#pragma omp target data map(from: held[:N])
  {
#pragma omp target
    for (size_t i = 0; i < N; i++)
      held[i] = 2;
    for (int round = 0; round < 6; round++)
      {
#pragma omp target map(to: same[:N]) map(tofrom: sum)
        sum += same[round];
      }
  }
  return mremap (all, 4 * BYTES, 8 * BYTES, MREMAP_MAYMOVE) == MAP_FAILED;
}
int main (int argc, char **argv)
{
  if (argc > 2)
    return move_all ();
  int *a = new_memory (NULL), way = argc > 1 ? atoi (argv[1]) : 0, sum = 0;
  for (size_t i = 0; i < N; i++)
    a[i] = (int) i + 1;
  for (int round = 0; round < 10; round++)
    {
#pragma omp target map(to: a[:N]) map(tofrom: sum)
      sum += a[round];
      if (round == 5 && !change (a, way))
        return 2;
    }
#pragma omp target data map(to: a[:N])
  if (way == 12)
    {
      a[N / 2] = 3;
#pragma omp target map(tofrom: sum)
      sum += a[N / 2];
    }
  return 0;
}
"""
SAME = {
    "nothing": 10, "a store": 9, "a store at the begin": 9, "a store at the end": 9, "read": 9, "process_vm_writev": 9,
    "pages given back": 9, "all given back, and new": 9, "closed and opened": 10, "a child's store": 10,
    "a page of a file": 9, "all of it": 9,
}  # fmt: skip
"""By the number of the program's way: how often the array is copied as it was."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unwritten")
    (folder / "a.c").write_text(PROGRAM)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c", "-o", "a"], cwd=folder, check=True)
    return folder / "a"


def run(program: Path, *ways: int) -> subprocess.CompletedProcess[str]:
    command = [BIN / "gompy", "run", "--check", program, *map(str, ways)]
    return subprocess.run(command, cwd=program.parent, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("way", SAME)
def test_what_was_copied_as_it_was(program: Path, way: str) -> None:
    done = run(program, list(SAME).index(way))
    assert done.returncode == 0, done.stderr
    assert f"copied to device 0 {SAME[way]} times with the contents that it had there already" in done.stderr


def test_a_store_after_the_copy_is_stale_on_the_device(program: Path) -> None:
    done = run(program, 12)
    assert done.returncode == 86, done.stderr
    assert "reads a (byte 2097152 of 4194304), which the host has changed since it was copied there" in done.stderr


def test_a_mapping_with_arrays_of_both_kinds_can_be_moved(program: Path) -> None:
    done = run(program, 0, 1)
    assert done.returncode == 0, done.stderr
    assert "copied to device 0 5 times with the contents that it had there already" in done.stderr
