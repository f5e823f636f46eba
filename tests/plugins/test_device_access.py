"""device_access.h alone: two threads that access one place at the same time, as they do behind a barrier."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WHAT = ("one", "part", "all", "mixed", "atomic", "atomic part", "atomic all")

PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "gompy/plugins/intelmic/protocol.h"
#include "gompy/plugins/intelmic/device_marks.h"
#include "gompy/plugins/intelmic/device_access.h"

enum { SIZE = 1 << 20, ROUNDS = 20000, SPINS = 20000 };
static char *base;
static void *group;
static pthread_barrier_t barrier;
static _Atomic int found, arrived, over;
static __thread int number;

int
omp_get_thread_num (void)
{
  return number;
}

int
mic_is_image_code (uintptr_t pc)
{
  return pc != 0;
}

static void
mic_access_found (unsigned mark, uint64_t address, const void *pc, uint64_t other)
{
  found += mark >= MIC_RACE_WRITE_WRITE && address >= (uintptr_t) base && pc != NULL && other != 0;
}

static void
mic_access_dies (uint64_t address, const void *pc)
{
  abort ();
}

/* WHAT: which accesses; in each round they are to another place.  */
static void
meet (const char *what, int round)
{
  uintptr_t at = (uintptr_t) base + (unsigned) round * 64 % (SIZE - 4096) + 2048, block = at & -(uintptr_t) MIC_BLOCK;
  int writes = number == 1 || strncmp (what, "read", 4) != 0, n = strstr (what, "part") ? 16 : 128;
  const void *pc = (const void *) (0x1000 + (uintptr_t) number);
  if (strstr (what, "one"))
    (writes ? gompy_access.write : gompy_access.read) (at, 4, pc);
  else if (strstr (what, "mixed") && number)
    gompy_access.write (block + 512, 4, pc);
  else if (strstr (what, "atomic") && number)
    gompy_access.atomic (block + 64, 4, 1, pc);
  else if (strstr (what, "atomic") && !strstr (what, "part") && !strstr (what, "all"))
    (writes ? gompy_access.write : gompy_access.read) (block + 64, 4, pc); /* some begin a walk, noted at its end */
  else
    found += !gompy_access.range (block, 8, n, 8 | (writes ? GOMPY_RANGE_WRITES : 0), pc); /* it is to tell of each */
}

/* Together, where there is a processor for each.  */
static void
arrive (int round)
{
  atomic_fetch_add (&arrived, 1);
  for (int spins = 0; atomic_load (&arrived) < 2 * (round + 1); spins++)
    if (spins > SPINS)
      sched_yield ();
}

static void *
run (void *what)
{
  struct gompy_place before;
  int lost = 0, round;
  time_t end = time (NULL) + 5;
  for (round = 0; round < ROUNDS && !over; round++)
    {
      if (number == 0)
        {
          mic_begin_launch ();
          mic_begin_team ();
          group = gompy_access.fork ();
          found = 0;
        }
      pthread_barrier_wait (&barrier);
      gompy_access.enter (group, &before);
      arrive (round);
      meet (what, round);
      gompy_access.leave (&before);
      pthread_barrier_wait (&barrier);
      if (number == 0)
        {
          lost += found == 0;
          gompy_access.join (group);
          mic_end_team ();
          mic_end_launch ();
          over = time (NULL) > end;
        }
      pthread_barrier_wait (&barrier);
    }
  if (number == 0)
    printf ("%d lost\n", lost);
  if (lost != 0)
    fprintf (stderr, "of %d\n", round);
  return NULL;
}

static void *
second (void *what)
{
  number = 1;
  return run (what);
}

int
main (int count, char **words)
{
  static struct mic_outer outer;
  static uint32_t changes[MIC_CHANGES];
  unsigned char *marks = malloc (SIZE);
  pthread_t other;
  base = mmap (NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset (marks, MIC_MARK_GOOD, SIZE);
  mic_watch_marks (marks, base, SIZE, &outer);
  if (count != 2 || !mic_watch_accesses ((uintptr_t) base, SIZE, changes, 0))
    return 1;
  pthread_barrier_init (&barrier, NULL, 2);
  pthread_create (&other, NULL, second, words[1]);
  run (words[1]);
  return pthread_join (other, NULL);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program above, which takes the name of a case."""
    folder = tmp_path_factory.mktemp("access")
    (folder / "access.c").write_text(PROGRAM)
    words = ["gcc", "-O2", "-pthread", f"-I{ROOT}", folder / "access.c", "-o", folder / "access"]
    subprocess.run(words, check=True)
    return folder / "access"


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the marks are those of x86-64")
@pytest.mark.parametrize("what", [*WHAT, *(f"read {what}" for what in WHAT)])
def test_accesses_at_the_same_time_race(program: Path, what: str) -> None:
    """Each looked for the note of the other, then both noted: of 20000 writes to one word 2000 were missed."""
    done = subprocess.run([program, what], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("0 lost\n", "", 0)
