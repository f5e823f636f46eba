"""Programs that end, or are short of descriptors, while the emulated GPU has a region to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, needs
from nvptx_tools import make_tools

ENDS = r"""
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int *begun;
static void *spin (void *at)
{
  volatile int *word = at;
#pragma omp target is_device_ptr (word)
  for (*word = 1; *word; )
    ;
  return NULL;
}
static void *leave (void *unused) { exit (7); }
int main (int argc, char **argv)
{
  pthread_t thread;
  int one = 0;
  int *word = omp_target_alloc (sizeof *word, 0);
  omp_target_memcpy (word, &one, sizeof one, 0, 0, 0, omp_get_initial_device ());
  pthread_create (&thread, NULL, spin, word);
  usleep (200000);
  if (argv[1][0] == 't')
    {
      pthread_create (&thread, NULL, leave, NULL);
      pause ();
    }
  if (argv[1][0] == 'e')
    exit (5);
  return 6;
}
"""
SUM = r"""
#include <stdio.h>
int main (void)
{
  int sum = 0;
#pragma omp target map(tofrom: sum)
  for (int i = 0; i <= 100; i++)
    sum += i;
  printf ("%d\n", sum);
}
"""

pytestmark = [needs("gcc"), has_driver, has_executor]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    made = make_tools(tmp_path_factory, GOMPY_CUDA="emulated")
    options = ("-fopenmp", "-foffload=nvptx-none", "-pthread")
    made.ok("gompcc", *options, made.write("ends.c", ENDS), "-o", "ends")
    made.ok("gompcc", *options, made.write("sum.c", SUM), "-o", "sum")
    return made


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("check", ["0", "1"])
@pytest.mark.parametrize(("how", "status"), [("exit", 5), ("return", 6), ("thread", 7)])
def test_a_region_that_never_ends_is_left_behind(tools: Tools, how: str, status: int, check: str) -> None:
    """The end of the program does not wait for it."""
    done = tools.run("timeout", "-s", "KILL", "30", "./ends", how, env={"GOMPY_CHECK": check})
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")


@pytest.mark.parametrize("limit", [4, 5])
def test_few_open_files_are_named(tools: Tools, tmp_path: Path, limit: int) -> None:
    """A number that the limit excludes is not an invalid argument."""
    want = (
        "error: the PTX compiler cannot be started: a file in memory: Too many open files"
        " (open files are limited: ulimit -n)"
    )
    done = tools.run("sh", "-c", f"ulimit -n {limit}; exec ./sum", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert done.returncode == 1 and want in done.stderr
