"""`gompy run --check`: what is told of a construct that comes while checks rest (check_withheld.h), and before."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gompy.abi.check_log import Op
from gompy.check.log import read_log

BIN = Path(__file__).resolve().parents[2] / ".venv" / "bin"
DEVICES = {"mic": "x86_64-intelmicemul-linux-gnu", "gpu": "nvptx-none"}

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define N 1000
static int g[N], hidden[N];
static int is (const char *how, const char *what, int last) { return last && strcmp (how, what) == 0; }
static void go (const char *how, int times)
{
  int *p = calloc (N, sizeof (int)), *q = calloc (N, sizeof (int)), sum = 0, local[N] = { 0 };
  for (int i = 0; i < times; i++)
    {
      int last = i == times - 1, at = is (how, "beyond", last) ? N + 3000 : 3;
      if (!is (how, "leak", last))
        {
          #pragma omp target enter data map(to: p[:N])
        }
      #pragma omp target map(tofrom: q[:N], sum) map(to: local)
      { q[i % N]++; sum += local[i % N] + q[at]; }
      if (is (how, "absent", last))
        {
          #pragma omp target update from(g[:10])
        }
      if (is (how, "twice", last))
        {
          #pragma omp target exit data map(delete: p[:N])
        }
      if (is (how, "grow", last))
        {
          #pragma omp target enter data map(to: q[:10])
          #pragma omp target enter data map(to: q[:N])
        }
      if (!is (how, "keep", last))
        {
          #pragma omp target exit data map(release: p[:N])
        }
      if (is (how, "member", 1))
        {
          struct { int *first, count; } pair = { hidden, last };
          #pragma omp target map(to: pair) map(tofrom: sum)
          sum += pair.count ? pair.first[5] : 0;
        }
      if (is (how, "unmapped", last))
        {
          #pragma omp target map(tofrom: sum)
          sum += p[5];
        }
    }
}
int main (int argc, char **argv)
{
  go (argv[1], 12);
  go (argv[1], 40);
  return 0;
}
"""

MANY = """
#include <stdlib.h>
static char *all;
static void enter (int i)
{
  char *a = all + 300 * i, *b = a + 100, *c = b + 100;
  #pragma omp target enter data map(to: a[:64], b[:64], c[:64])
}
static void leave (int i)
{
  char *a = all + 300 * i, *b = a + 100, *c = b + 100;
  #pragma omp target exit data map(delete: a[:64], b[:64], c[:64])
}
int main (int argc, char **argv)
{
  all = calloc (500, 300);
  for (int i = 0; i < 500; i++)
    enter (i);
  for (int i = 0; i < 500; i++)
    if (argc == 1 || i != 250)
      leave (i);
  return 0;
}
"""

PARTS = """
#include <stdlib.h>
#define N 1000
int main (void)
{
  int *p = calloc (N, sizeof (int)), *part = p + 100, sum = 0;
  for (int i = 0; i < 100; i++)
    {
      #pragma omp target data map(to: part[:50], p[:N])
      {
        #pragma omp target map(tofrom: sum) map(to: part[:50], p[:N])
        sum += p[i] + part[4];
      }
      #pragma omp target map(tofrom: sum) map(to: part[:50], p[:N])
      sum += p[i] + part[4];
    }
  return sum;
}
"""

ENDS = """
#include <stdlib.h>
#define N 1000
extern void *__libc_malloc (size_t);
static int armed;
void *malloc (size_t n)  /* a handler of the program's that comes now does the same */
{
  if (armed && n > 3000 && n < 6000)
    exit (3);
  return __libc_malloc (n);
}
static void go (int *p)
{
  volatile char large[3000] = { 0 };
  for (int i = 0; i < 100; i++)
    {
      armed = i > 50;
      #pragma omp target enter data map(to: p[:N])
      #pragma omp target exit data map(delete: p[:N])
    }
  armed = large[0];
}
int main (void)
{
  go (calloc (N, sizeof (int)));
  return 0;
}
"""

SINCE = """
#include <stdlib.h>
#include <string.h>
#define N 1000
static int is (const char *how, const char *what) { return strcmp (how, what) == 0; }
static int *enter (int *a, int n)
{
  int *kept = NULL;
  #pragma omp target enter data map(to: a[0:n])
  #pragma omp target data use_device_ptr(a)
  kept = a;
  return kept;
}
static void leave (int *a, int n)
{
  #pragma omp target exit data map(release: a[0:n])
}
int main (int argc, char **argv)
{
  const char *how = argv[1];
  int sum = 0, *kept = NULL, *a = NULL;
  for (int i = 0; i < 60; i++)
    {
      int last = i == 59;
      a = calloc (2 * N + 1000 * i, sizeof (int));
      if (is (how, "data"))
        {
          #pragma omp target data map(to: a[0:N]) use_device_ptr(a)
          kept = a;
        }
      else if (is (how, "region"))
        {
          #pragma omp target map(to: a[0:N]) map(from: kept)
          kept = a;
        }
      else
        {
          kept = enter (a, 2 * N);
          if (is (how, "again") && last)
            {
              leave (a, 2 * N);
              kept = a;
            }
          #pragma omp target map(tofrom: sum) is_device_ptr(kept)
          sum += kept[i];
          leave (a, 2 * N);
          if (is (how, "twice") && last)
            leave (a, 2 * N);
        }
    }
  if (is (how, "part") || is (how, "behind"))  /* it is followed again, and has the address anew */
    {
      #pragma omp target data map(to: a[0:N])
      sum++;
    }
  if (!is (how, "device") && !is (how, "data") && !is (how, "region"))
    kept = is (how, "behind") ? a + N : a;
  #pragma omp target map(tofrom: sum) is_device_ptr(kept)
  sum += kept[5];
  return 0;
}
"""

THREADS = """
#include <stdlib.h>
#include <omp.h>
#define N 1000
static void work (int times, int leak)
{
  int *p = calloc (N, sizeof (int)), *q = calloc (N, sizeof (int)), sum = 0;
  for (int i = 0; i < times; i++)
    {
      #pragma omp target enter data map(to: p[:N])
      #pragma omp target map(tofrom: q[:N])
      { q[i % N]++; p[i % N]++; }
      if (!leak || i < times - 1)
        {
          #pragma omp target exit data map(release: p[:N])
        }
    }
  for (int i = 0; i < N; i++)
    sum += q[i];
  if (sum != times)
    abort ();
}
int main (int argc, char **argv)
{
  #pragma omp parallel num_threads(4)
  work (100, argc > 1 && omp_get_thread_num () == 2);
  work (50, 0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("withheld")
    texts = {"one": PROGRAM, "threads": THREADS, "many": MANY, "parts": PARTS, "ends": ENDS, "since": SINCE}
    for name, text in texts.items():
        (folder / f"{name}.c").write_text(text)
        for device, target in DEVICES.items():
            words = ["-g", "-O0", "-fopenmp", f"-foffload={target}", f"{name}.c", "-o", f"{name}-{device}"]
            subprocess.run([str(BIN / "gompcc"), *words], cwd=folder, check=True)
    return folder


def told(program: Path, share: str, *arguments: str) -> tuple[int, str]:
    """The status, and what is told without advice and addresses."""
    command = [str(BIN / "gompy"), "run", "--check", str(program), *arguments]
    env = {**os.environ, "GOMPY_CHECK_SHARE": share, "GOMPY_CUDA": "emulated"}
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
    left_out = re.compile("advice:|mend: a target data around|were looked at in part")
    lines = [line for line in run.stderr.splitlines() if not left_out.search(line)]
    return run.returncode, re.sub("0x[0-9a-f]+", "0x", "\n".join(lines))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("none", ""),
        ("leak", "p (4000 bytes), which is not mapped to device 0 (2 times) [not-present]"),
        ("beyond", "region go._omp_fn.0 on device 0"),
        ("absent", "update of g (40 bytes), which is not mapped to device 0 (2 times) [not-present]"),
        ("twice", "exit data of p (4000 bytes), which is not mapped to device 0 (2 times) [not-present]"),
        ("grow", "4000 bytes of q, of which 40 bytes are mapped to device 0 already [extension]"),
        ("keep", "p (4000 bytes) is still mapped to device 0 when the program ends (2 times) [still-mapped]"),
        ("member", "hidden is used in region go._omp_fn.1 on device 0, but it is not mapped there [unmapped]"),
        ("unmapped", "p is used in region go._omp_fn.2 on device 0, but it is no longer mapped there [unmapped-since]"),
    ],
)
def test_it_is_told_as_without_rests(programs: Path, device: str, how: str, kind: str) -> None:
    """The first call of the function ends within a rest, too; a finding ends the program in it, or it comes again."""
    status, text = told(programs / f"one-{device}", "0", how)
    assert kind in text and (status == 0) == (how == "none")
    followed = told(programs / f"one-{device}", "100", how)
    if (how, device) == ("beyond", "gpu"):  # its kernels do not look then: the access itself has failed
        assert status == followed[0]
    else:
        assert (status, text) == followed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("share", ["0", "1"])
@pytest.mark.parametrize(
    ("how", "size", "kind"),
    [
        ("device", 8000, "unmapped-since"),
        ("host", 8000, "unmapped-since"),
        ("data", 4000, "unmapped-since"),
        ("region", 4000, "unmapped-since"),
        ("again", 8000, "unmapped-since"),
        ("part", 4000, "unmapped-since"),
        ("behind", 8000, "unmapped-since"),
        ("twice", 8000, "not-present"),
    ],
)
def test_who_has_unmapped_it_within_a_rest(
    programs: Path, device: str, share: str, how: str, size: int, kind: str
) -> None:
    """Each round maps other memory, and unmaps it; a region uses the last one's later, by an address on either side."""
    status, text = told(programs / f"since-{device}", share, how)
    assert status != 0 and f"[{kind}]" in text and f"note: a, {size} bytes, mapped here" in text
    assert "removed here" in text
    assert (status, text) == told(programs / f"since-{device}", "100", how)


def test_the_log_has_the_regions_that_are_followed(programs: Path, tmp_path: Path) -> None:
    """And the mappings of no others: they have all ended."""
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(tmp_path / "log"), "GOMPY_CHECK_SHARE": "0"}
    subprocess.run([str(programs / "one-mic"), "none"], env=env, check=True, timeout=60)
    events = read_log((tmp_path / "log").read_bytes()).events
    launches = sum(event.op == Op.LAUNCH for event in events)
    assert 1 <= launches <= 8  # of 52
    assert sum(event.op == Op.ENTRY for event in events) <= 4 * 8
    assert not any(event.op == Op.LEFT for event in events)


def test_a_part_that_is_named_besides_ends_with_its_array(programs: Path, tmp_path: Path) -> None:
    """Only what is mapped as a whole has a record of its end."""
    env = {**os.environ, "GOMPY_CHECK": "1", "GOMPY_CHECK_LOG": str(tmp_path / "log"), "GOMPY_CHECK_SHARE": "0"}
    subprocess.run([str(programs / "parts-mic")], env=env, check=True, timeout=60)
    events = read_log((tmp_path / "log").read_bytes()).events
    assert sum(event.op == Op.ENTRY for event in events) <= 6 * 12


@pytest.mark.parametrize("device", DEVICES)
def test_threads_that_rest_tell_what_one_of_them_has_left(programs: Path, device: str) -> None:
    program = programs / f"threads-{device}"
    status, text = told(program, "0", "leak")
    assert status == 86 and "p (4000 bytes) is still mapped to device 0 when the program ends [still-mapped]" in text
    assert (status, text) == told(program, "100", "leak")
    assert told(program, "0") == (0, "")


def test_more_is_mapped_than_waits(programs: Path) -> None:
    """Three at a time, of which the last construct that has room for any has none for all."""
    assert told(programs / "many-mic", "0") == (0, "")
    status, text = told(programs / "many-mic", "0", "leave")
    assert status == 86 and "b (64 bytes) is still mapped to device 0 when the program ends [still-mapped]" in text
    assert (status, text) == told(programs / "many-mic", "100", "leave")


def test_the_program_ends_as_a_frame_is_kept(programs: Path) -> None:
    """The end has what waits said, by the thread that is at it."""
    status, text = told(programs / "ends-mic", "0")
    assert status == 86 and "p (4000 bytes) is still mapped to device 0 when the program ends [still-mapped]" in text
