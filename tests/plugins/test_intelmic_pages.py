"""Pages of the emulated device: what a large copy enters in both sides' page tables, and that it takes no more memory.

Counted are page faults and the memory of the device's file, never times.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers

pytestmark = has_all

FAULTS = r"""
static long
faults (void)
{
  struct rusage r;
  getrusage (RUSAGE_SELF, &r);
  return r.ru_minflt;
}
"""

PAGES = (
    r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
"""
    + FAULTS
    + r"""
/* Memory that the device's file has, in KiB.  */
static long
kept (void)
{
  long sum = 0;
  char path[300], name[300];
  DIR *fds = opendir ("/proc/self/fd");
  for (struct dirent *e; fds && (e = readdir (fds));)
    {
      struct stat s;
      ssize_t n;
      snprintf (path, sizeof path, "/proc/self/fd/%.200s", e->d_name);
      if ((n = readlink (path, name, sizeof name - 1)) <= 0)
	continue;
      name[n] = 0;
      if (strstr (name, "gompy-device") && stat (path, &s) == 0)
	sum += s.st_blocks / 2;
    }
  if (fds)
    closedir (fds);
  return sum;
}

#pragma omp declare target
long touch (char *p, size_t n);
#pragma omp end declare target

long
touch (char *p, size_t n)
{
  struct rusage before, after;
  getrusage (RUSAGE_SELF, &before);
  for (size_t i = 0; i < n; i += 4096)
    p[i] = (char) (i >> 12);
  getrusage (RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

int
main (int argc, char **argv)
{
  size_t n = (size_t) atoi (argv[1]) << 10, at = (size_t) atoi (argv[2]), part = (size_t) atoi (argv[3]) << 10;
  char *p = malloc (n), *back = malloc (n);
  long host, device, memory, wrong = 0;
  int d = omp_get_default_device ();
  #pragma omp target
  ;
  for (size_t i = 0; i < n; i++)
    p[i] = (char) (i * 7 + (i >> 12));
  memset (back, 0, n);
  char *q = omp_target_alloc (n, d);
  if (!q)
    return 2;
  memory = kept ();
  if (omp_target_memcpy (q, p, part, at, at, d, omp_get_initial_device ()))
    return 3;
  memory = kept () - memory;
  host = faults ();
  if (omp_target_memcpy (q, p, part, at, at, d, omp_get_initial_device ()))
    return 4;
  host = faults () - host;
  if (omp_target_memcpy (back, q, part, at, at, omp_get_initial_device (), d))
    return 5;
  wrong += memcmp (back + at, p + at, part) != 0;
  char *mine = q + at;
  #pragma omp target is_device_ptr (mine) map (from: device)
  device = touch (mine, part);
  if (omp_target_memcpy (back, q, part, at, at, omp_get_initial_device (), d))
    return 6;
  for (size_t i = 0; i < part; i++)
    wrong += back[at + i] != (i % 4096 ? p[at + i] : (char) (i >> 12));
  printf ("%ld %ld %ld %ld\n", host, device, memory, wrong);
  omp_target_free (q, d);
  return 0;
}
"""
)

SMALL = r"""
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* KiB that a field of /proc/self/smaps has for the device's memory.  */
static long
mapped (const char *field)
{
  char line[512];
  long sum = 0;
  int ours = 0;
  FILE *f = fopen ("/proc/self/smaps", "r");
  while (f && fgets (line, sizeof line, f))
    if (strchr (line, '-') && strchr (line, '-') < strchr (line, ' '))
      ours = strstr (line, "gompy-device") != NULL;
    else if (ours && !strncmp (line, field, strlen (field)))
      sum += atol (line + strlen (field));
  if (f)
    fclose (f);
  return sum;
}

int
main (int argc, char **argv)
{
  long n = atol (argv[1]), wrong = 0, before;
  int d = omp_get_default_device (), host = omp_get_initial_device ();
  char **p = malloc (n * sizeof *p), one[64], back[64];
  omp_target_free (omp_target_alloc (64, d), d);
  before = mapped ("Rss:");
  for (long i = 0; i < n; i++)
    {
      memset (one, (int) i, sizeof one);
      if (!(p[i] = omp_target_alloc (sizeof one, d)) || omp_target_memcpy (p[i], one, sizeof one, 0, 0, d, host))
	return 1;
    }
  printf ("%ld %ld ", mapped ("Rss:") - before, mapped ("ShmemPmdMapped:"));
  for (long i = n; i-- > 0;)
    {
      memset (one, (int) i, sizeof one);
      wrong += omp_target_memcpy (back, p[i], sizeof back, 0, 0, host, d) || memcmp (one, back, sizeof one);
      omp_target_free (p[i], d);
    }
  printf ("%ld\n", wrong);
  return 0;
}
"""

FIRST = (
    r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#define N (24ul << 20)
"""
    + FAULTS
    + r"""
int
main (void)
{
  int d = omp_get_default_device (), host = omp_get_initial_device ();
  char *p = malloc (N), *q = omp_target_alloc (N, d);
  long before;
  memset (p, 1, N);
  before = faults ();
  if (!q || omp_target_memcpy (q, p, N - 10000, 5000, 5000, d, host))
    return 1;
  printf ("%ld\n", faults () - before);
  return 0;
}
"""
)

ERRNO = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
enum { n = 4 << 20 };
int
main (void)
{
  int *a = malloc (n * sizeof *a), seen = 0;
  prctl (PR_SET_THP_DISABLE, 1, 0, 0, 0);
  #pragma omp target map(from: a[:n], seen)
  {
    errno = 77;
    for (int i = 0; i < n; i++)
      a[i] = i;
    seen = errno;
  }
  printf ("%d %d\n", a[n - 1], seen);
}
"""

MOST = r"""
#include <omp.h>
#include <stdio.h>
int
main (void)
{
  void *p = omp_target_alloc (6 << 20, omp_get_default_device ());
  printf ("%d\n", p != NULL);
}
"""


def collapses() -> bool:
    """Whether the kernel makes a huge page of shared memory when it is asked to (MADV_COLLAPSE)."""
    release = [int(number) for number in re.findall(r"\d+", platform.release())[:2]]
    return release >= [6, 1] and Path("/sys/kernel/mm/transparent_hugepage").exists()


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    """The compilers, with the program compiled."""
    made = Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))
    made.ok("gompcc", "-O1", "-fopenmp", made.write("pages.c", PAGES), "-o", "pages")
    return made


def counts(tools: Tools, *arguments: int, limit: str = "") -> tuple[int, int, int]:
    """Page faults of the host's second copy and of the device's first region; KiB that the first copy took."""
    words = " ".join(str(a) for a in arguments)
    done = subprocess.run(
        ["bash", "-c", f"{limit} exec ./pages {words}"], cwd=tools.work, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    host, device, memory, wrong = (int(word) for word in done.stdout.split())
    assert wrong == 0
    return host, device, memory


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    ("kib", "at", "part"),
    [(32768, 0, 32768), (32768, 4096, 20000), (65536, 5000, 40000), (24576, 123456, 8192)],
    ids=["whole", "part", "unaligned", "one-huge-page-inside"],
)
def test_pages_are_entered_with_the_first_copy(tools: Tools, kib: int, at: int, part: int) -> None:
    """Neither the next copy nor the first region takes a fault for each page, or for each sixteen."""
    host, device, memory = counts(tools, kib, at, part)
    assert host < part // 4 // 32 + 16
    assert device < part // 4 // 32 + 16
    assert part <= memory <= part + 64  # pages, and what argument blocks take: nothing that was not copied to


def test_pages_are_entered_under_the_check(tools: Tools) -> None:
    """Closed pages of the device's are copied to like others: not by a fault each."""
    tools.ok("gompcc", "-O1", "-fopenmp", tools.write("first.c", FIRST), "-o", "first")
    environment = dict(os.environ, GOMPY_CHECK="1")
    done = subprocess.run(
        ["./first"], cwd=tools.work, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) < (24 << 10) // 4 // 8  # not one a page, as slow huge pages may come to


@pytest.mark.parametrize(
    ("program", "memory", "shown"),
    [(ERRNO, "256M", "4194303 77\n"), (MOST, "8M", "1\n")],
    ids=["the region's errno", "most of a small memory"],
)
def test_huge_pages_that_are_not_to_be_had_change_nothing(tools: Tools, program: str, memory: str, shown: str) -> None:
    """Under the check: an array that a region fills, and a block with no room for whole huge pages."""
    tools.ok("gompcc", "-O1", "-fopenmp", tools.write("none.c", program), "-o", "none")
    environment = dict(os.environ, GOMPY_CHECK="1", OFFLOAD_EMUL_MEM=memory)
    done = subprocess.run(
        ["./none"], cwd=tools.work, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == shown


def test_less_than_a_huge_page_takes_no_huge_page(tools: Tools) -> None:
    """Only what is copied to gets memory."""
    _, _, memory = counts(tools, 65536, 0, 2000)
    assert 2000 <= memory <= 2064


@pytest.mark.parametrize("limit", ["ulimit -f 200000;", "ulimit -v 4000000;", "ulimit -d 400000;"])
def test_limits(tools: Tools, limit: str) -> None:
    """Where sizes are limited the copies are right all the same."""
    counts(tools, 32768, 4096, 20000, limit=limit)


def test_many_pieces(tools: Tools) -> None:
    """A program without huge pages (PR_SET_THP_DISABLE is inherited) copies by other means, with as few faults."""
    prefix = "import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"
    program = Path(tools.work, "pages")
    done = subprocess.run(
        ["python3", "-c", prefix, str(program), "32768", "4096", "30000"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    host, device, memory, wrong = (int(word) for word in done.stdout.split())
    assert wrong == 0
    assert host < 30000 // 4 // 32 + 16
    assert device < 30000 // 4 // 32 + 16
    assert memory <= 30064


@pytest.mark.parametrize(("blocks", "huge"), [(100_000, False), (700_000, True)])
def test_many_small_blocks_are_on_huge_pages(tools: Tools, blocks: int, huge: bool) -> None:
    """From 32 MiB of them on, what they grow into; that is no more memory, but for the last huge page."""
    tools.ok("gompcc", "-O1", "-fopenmp", tools.write("small.c", SMALL), "-o", "small")
    done = subprocess.run(["./small", str(blocks)], cwd=tools.work, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    memory, on_huge, wrong = (int(word) for word in done.stdout.split())
    assert wrong == 0
    assert blocks // 16 - 64 <= memory <= blocks // 16 + 2048 + 64
    assert (on_huge > 0) == (huge and collapses())
