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
