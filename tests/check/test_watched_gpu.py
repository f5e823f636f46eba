"""Pages of the program's that stay closed while kernels of the emulated GPU run, which are in the same process."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_check_reports import sees_system_calls
from test_watched_host import check

# The driver writes what a kernel prints by the C library's fwrite, which is the program's own here.
PRINTS = r"""
#include <stdio.h>
#include <string.h>
#include <unistd.h>
enum { n = 200000 };
static int a[n], closed, asked;
size_t fwrite (const void *text, size_t size, size_t count, FILE *file)
{
  char line[512], access[8];
  unsigned long low, high, address = (unsigned long) (a + n / 2);
  FILE *maps = fopen ("/proc/self/maps", "r");
  while (fgets (line, sizeof line, maps))
    if (sscanf (line, "%lx-%lx %7s", &low, &high, access) == 3 && low <= address && address < high)
      closed += strcmp (access, "---p") == 0;
  fclose (maps);
  asked++;
  return count;
}
int main (void)
{
  #pragma omp target enter data map(to: a)
  for (int turn = 0; turn < 3; turn++)
    #pragma omp target
    {
      printf ("%d\n", turn);
      for (int i = 0; i < n; i++)
        a[i] = i + turn;
    }
  fprintf (stderr, "%d %d\n", asked, closed);
  READ
  #pragma omp target exit data map(delete: a)
}
"""

REGISTERED = r"""
#include <dlfcn.h>
#include <stdio.h>
enum { n = 200000 };
static int a[n];
int main (void)
{
  void *driver = NULL;
  #pragma omp target enter data map(to: a)
  driver = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  int (*share) (void *, size_t, unsigned) = (int (*) (void *, size_t, unsigned)) dlsym (driver, "cuMemHostRegister_v2");
  if (share == NULL || share (a, sizeof a, 0) != 0)
    return 2;
  int *own = a, sum = 0;
  for (int turn = 0; turn < 3; turn++)
    {
      #pragma omp target
      for (int i = 0; i < n; i++)
        a[i] = turn;
      #pragma omp target is_device_ptr(own) map(from: sum)
      sum = own[n / 2] + own[n / 3];
    }
  printf ("%d\n", sum);
  #pragma omp target exit data map(delete: a)
}
"""

SHARED = r"""
#include <stdio.h>
#include <dlfcn.h>
enum { n = 200000 };
int main (int argc, char **argv)
{
  int dummy = 0, sum = 0, *own = NULL;
  #pragma omp target map(tofrom: dummy)
  dummy++;
  void *driver = dlopen ("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  int (*pinned) (void *, size_t) = (int (*) (void *, size_t)) dlsym (driver, "cuMemAllocHost_v2");
  int (*managed) (void *, size_t, unsigned) = (int (*) (void *, size_t, unsigned)) dlsym (driver, "cuMemAllocManaged");
  if (pinned == NULL || managed == NULL || ALLOCATE != 0)
    return 2;
  for (int i = 0; i < n; i++)
    own[i] = 3;
  int *a = own;
  #pragma omp target enter data map(to: a[:n])
  for (int turn = 0; turn < 3; turn++)
    {
      #pragma omp target map(a[:0])
      for (int i = 0; i < n; i++)
        a[i] = turn;
      #pragma omp target is_device_ptr(own) map(from: sum)
      sum = own[n / 2] + own[n / 3];
    }
  printf ("%d\n", sum);
  #pragma omp target exit data map(delete: a[:n])
  FREE
}
"""

STACK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { n = 1 << 19 };
static void with_frame (int *large)
{
  int *other = calloc (n, sizeof (int));
  int beside[1024];
  #pragma omp target data map(large[:n]) map(alloc: other[:n], beside)
  for (int turn = 0; turn < 4; turn++)
    {
      #pragma omp target
      for (int i = 0; i < 1024; i++)
        beside[i] = i;
      #pragma omp target
      for (int i = 0; i < n; i++)
        large[i] = other[i] = beside[1] + i;
    }
  free (other);
}
int main (void)
{
  int *large = calloc (n, sizeof (int)), *copy = malloc (n * sizeof (int));
  for (int turn = 0; turn < 6; turn++)
    {
      memcpy (copy, large, n * sizeof (int));
      with_frame (copy);
    }
  printf ("%d\n", copy[5]);
}
"""


@pytest.mark.skipif(not sees_system_calls(), reason="this system does not dispatch system calls")
@pytest.mark.parametrize(("read", "code"), [("", 0), ("return a[7];", 86)], ids=["unread", "read"])
def test_pages_stay_closed_while_a_kernel_runs(tmp_path: Path, read: str, code: int) -> None:
    """From the second region on, behind which they were watched; and they still are behind the last one."""
    done = check(tmp_path, "nvptx", PRINTS.replace("READ", read))
    assert "3 2\n" in done.stderr and done.stderr.count("[stale-host]") == (code != 0), done.stderr
    assert done.returncode == code


def test_what_kernels_may_come_to_is_open(tmp_path: Path) -> None:
    """The program has registered its array, and kernels use it at its address."""
    done = check(tmp_path, "nvptx", REGISTERED)
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


@pytest.mark.parametrize(
    ("allocate", "free"),
    [
        ("pinned (&own, n * sizeof (int))", "cuMemFreeHost"),
        ("managed (&own, n * sizeof (int), 1)", "cuMemFree_v2"),
    ],
    ids=["pinned", "managed"],
)
def test_what_the_host_and_kernels_both_have_is_open(tmp_path: Path, allocate: str, free: str) -> None:
    """The program maps such memory, and kernels use it at its own address, too."""
    freed = f'return ((int (*) (void *)) dlsym (driver, "{free}")) (own);'
    done = check(tmp_path, "nvptx", SHARED.replace("ALLOCATE", allocate).replace("FREE", freed))
    assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr


def test_pages_of_the_frames_of_a_construct_itself(tmp_path: Path) -> None:
    """An array of the caller's frame is closed when a construct begins, and its pages have frames of the runtime's.

    Where the stack begins is up to chance."""
    for _ in range(4):
        done = check(tmp_path, "nvptx", STACK)
        assert (done.returncode, done.stdout) == (0, "6\n"), done.stderr
