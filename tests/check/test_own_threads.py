"""`gompy run --check`: the emulated GPU's own threads say by themselves whether they sleep."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_check_reports import sees_system_calls

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"

COUNTED = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
struct counts { int threads, awake; };
static int a[1000];
static void
regions (void)
{
  for (int k = 0; k < 20; k++)
    {
      #pragma omp target teams distribute parallel for num_teams (8)
      for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 2000; j++)
          a[i] += j ^ a[i];
    }
}
static int
tasks (void)
{
  int n = 0;
  DIR *folder = opendir ("/proc/self/task");
  for (struct dirent *e; (e = readdir (folder)) != NULL;)
    n += e->d_name[0] != '.';
  closedir (folder);
  return n;
}
int
main (void)
{
  struct counts *(*of) (void) = (struct counts *(*) (void)) dlsym (RTLD_DEFAULT, "gompy_own_threads");
  volatile struct counts *counts = of ();
  for (int round = 0; round < 3; round++)
    {
      regions ();
      for (int tries = 0; tries < 3000 && counts->awake; tries++)
        usleep (10000);
      printf ("%d %d\\n", tasks () - 1 - counts->threads, counts->awake);
    }
  return counts->threads < 1;
}
"""

READS = """
#include <stdio.h>
static int a[1000];
static long
reads (void)
{
  char line[80];
  long found = -1;
  FILE *f = fopen ("/proc/self/io", "r");
  while (f && fgets (line, sizeof line, f))
    sscanf (line, "syscr: %ld", &found);
  if (f)
    fclose (f);
  return found;
}
static void
regions (int count)
{
  for (int k = 0; k < count; k++)
    {
      #pragma omp target teams distribute parallel for num_teams (1)
      for (int i = 0; i < 1000; i++)
        a[i]++;
    }
}
int
main (void)
{
  long before;
  #pragma omp target data map (tofrom: a)
  {
    regions (20);
    before = reads ();
    regions (200);
    printf ("%ld\\n", before < 0 ? -1 : reads () - before);
  }
  return 0;
}
"""

STARTS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
struct counts { int threads, awake; };
static struct counts *counts;
static int a[4096] __attribute__ ((aligned (4096)));
static volatile int started, done, failed;
static void *
sleeper (void *p)
{
  pause ();
  return p;
}
int
sched_yield (void)
{
  pthread_t t;
  if (started || counts == NULL)
    return 0;
  pthread_create (&t, NULL, sleeper, NULL);
  pthread_setname_np (t, "gompy-stream");
  counts->awake--;
  started = 1;
  return 0;
}
static void *
other (void *p)
{
  static char read_back[4096];
  int ends[2];
  if (pipe (ends))
    return p;
  while (!started)
    ;
  for (int i = 0; i < 2000; i++)
    if (write (ends[1], a, 4096) != 4096)
      failed++;
    else if (read (ends[0], read_back, 4096) != 4096)
      break;
  done = 1;
  return p;
}
int
main (void)
{
  struct counts *(*of) (void) = (struct counts *(*) (void)) dlsym (RTLD_DEFAULT, "gompy_own_threads");
  pthread_t t;
  #pragma omp target data map (tofrom: a)
  {
    pthread_create (&t, NULL, other, NULL);
    counts = of ();
    counts->awake++;
    counts->threads++;
    #pragma omp target map (tofrom: a)
    a[0]++;
    while (started && !done)
      ;
  }
  printf ("%d %d\\n", started, failed);
  fflush (stdout);
  _exit (0);
}
"""


def run(folder: Path, text: str, *words: str) -> str:
    """What a program for the emulated GPU prints."""
    (folder / "a.c").write_text(text)
    options = ["-g", "-O1", "-fopenmp", "-foffload=nvptx-none"]
    subprocess.run([BIN / "gompcc", *options, "a.c"], cwd=folder, check=True, timeout=300)
    env = {**os.environ, "LC_ALL": "C", "GOMPY_PLUGINS": "nvptx"}
    done = subprocess.run([*words, "./a.out"], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_are_counted_and_sleep_in_the_end(tmp_path: Path) -> None:
    assert run(tmp_path, COUNTED) == "0 0\n" * 3


def test_no_state_is_read_for_each_region(tmp_path: Path) -> None:
    """Whether the threads sleep is asked behind each region, as the program may read next what that has written."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    reads = int(run(tmp_path, READS, str(BIN / "gompy"), "run", "--check"))
    if reads < 0:
        pytest.skip("this system does not count reads")
    assert reads < 300  # one a region is the look at what it has written; it was another one for each thread


def test_a_thread_that_starts_while_another_is_awake(tmp_path: Path) -> None:
    """It is counted before it is there, where it was taken for that other one: whose write got EFAULT."""
    if not sees_system_calls():
        pytest.skip("this system does not dispatch system calls")
    (tmp_path / "a.c").write_text(STARTS)
    subprocess.run([BIN / "gompcc", "-g", "-O1", "-fopenmp", "a.c"], cwd=tmp_path, check=True, timeout=300)
    command = [BIN / "gompy", "run", "--check", "./a.out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "1 0\n"
