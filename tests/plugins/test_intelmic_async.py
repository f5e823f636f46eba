"""nowait on the emulated device: regions overlap, in a parallel region and outside; orders with tasks are kept."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN
from test_intelmic_programs import BIN, build

if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

SOURCE = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Regions on two devices.  Each says that it has begun and lasts until it is told to end, which happens when both have
   begun: who waited for a region in its construct, or began them one by one, would wait for ever. */
static void two (int *a, int *b)
{
  int begun[2] = { 0, 0 }, end[2] = { 0, 0 };
  for (int d = 0; d < 2; d++)
    {
#pragma omp target enter data map (to: begun, end) device (d)
    }
#pragma omp target nowait device (0) map (tofrom: a[:1])
  {
    __atomic_store_n (&begun[0], 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n (&end[0], __ATOMIC_SEQ_CST))
      usleep (100);
    a[0] += 1 + omp_get_device_num ();
  }
#pragma omp target nowait device (1) map (tofrom: b[:1])
  {
    __atomic_store_n (&begun[1], 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n (&end[1], __ATOMIC_SEQ_CST))
      usleep (100);
    b[0] += 1 + omp_get_device_num ();
  }
  for (int d = 0; d < 2; d++)
    while (!begun[d])
      {
        usleep (100);
#pragma omp target update from (begun[d:1]) device (d)
      }
  printf ("%d %d, ", *a, *b);
  for (int d = 0; d < 2; d++)
    {
      end[d] = 1;
#pragma omp target update to (end[d:1]) device (d)
    }
#pragma omp taskwait
  printf ("%d %d\n", *a, *b);
  for (int d = 0; d < 2; d++)
    {
#pragma omp target exit data map (delete: begun, end) device (d)
    }
}

static void overlap (void)
{
  int a = 10, b = 20;
  two (&a, &b);
#pragma omp parallel num_threads (2)
#pragma omp single
  two (&a, &b);
}

/* A chain through both devices and the host. */
static void chain (void)
{
  int x = 1, seen = 0;
#pragma omp target enter data map (to: x) device (0)
#pragma omp target nowait depend (out: x) map (tofrom: x) device (0)
  { usleep (50000); x = x * 10 + 2; }
#pragma omp target update from (x) device (0) nowait depend (inout: x)
#pragma omp task depend (inout: x) shared (x)
  x = x * 10 + 3;
#pragma omp target nowait depend (inout: x) map (tofrom: x) device (1)
  { usleep (20000); x = x * 10 + 4; }
#pragma omp task depend (in: x) shared (x, seen)
  seen = x;
#pragma omp taskwait
  printf ("%d %d\n", x, seen);
#pragma omp target exit data map (delete: x) device (0)
#pragma omp target depend (in: x) map (tofrom: x)   /* without nowait: waits for what it depends on */
  x++;
#pragma omp target nowait depend (out: x) map (tofrom: x)
  { usleep (30000); x = 7; }
#pragma omp taskwait depend (in: x)
  printf ("%d\n", x);
#pragma omp target nowait depend (out: x) map (tofrom: x)
  { usleep (30000); x = 8; }
#pragma omp target map (tofrom: seen) depend (in: x)
  seen = 9;
  printf ("%d %d\n", x, seen);
}

static void groups (void)
{
  int a[8] = { 0 }, sum = 0;
#pragma omp taskgroup
  {
    for (int i = 0; i < 8; i++)
      {
#pragma omp target nowait map (tofrom: a[i:1]) firstprivate (i) device (i % 2)
        { usleep (10000); a[i] = i + 1; }
      }
  }
  for (int i = 0; i < 8; i++)
    sum += a[i];
  printf ("%d\n", sum);
#pragma omp parallel num_threads (2)
  {
#pragma omp single nowait
#pragma omp target nowait map (tofrom: a[:1])
    { usleep (20000); a[0] = 100; }
#pragma omp barrier
#pragma omp single
    printf ("%d\n", a[0]);
  }
}

/* A detached task ends when a task that waits for a region says so. */
static void detached (void)
{
  int x = 0, order = 0;
  omp_event_handle_t event;
#pragma omp parallel num_threads (2)
#pragma omp single
  {
#pragma omp task detach (event) depend (out: order) shared (x)
    x = 1;
#pragma omp target nowait depend (out: x) map (from: x)
    { usleep (30000); x = 5; }
#pragma omp task depend (in: x) firstprivate (event)
    omp_fulfill_event (event);
#pragma omp task depend (in: order) shared (order, x)
    order = x;
  }
  printf ("%d\n", order);
}

/* Nobody waits: the end of the program does. */
static void unawaited (void)
{
  static int x, go;
#pragma omp target enter data map (to: go)
#pragma omp target nowait map (tofrom: x) map (to: go)
  {
    while (!__atomic_load_n (&go, __ATOMIC_SEQ_CST))
      usleep (100);
    usleep (50000);
    printf ("region\n");
  }
  printf ("main\n");
  fflush (stdout);
  go = 1;
#pragma omp target update to (go)
}

/* Many more than may be deferred. */
static void many (void)
{
  static int a[500];
  int sum = 0;
  for (int i = 0; i < 500; i++)
    {
#pragma omp target nowait map (tofrom: a[i:1]) firstprivate (i)
      a[i] = i;
    }
#pragma omp taskwait
  for (int i = 0; i < 500; i++)
    sum += a[i];
  printf ("%d\n", sum);
}

static void forked (void)
{
  static int x;
#pragma omp target nowait map (tofrom: x)
  { usleep (100000); x = 1; }
  pid_t child = fork ();
  if (child == 0)
    exit (3);
  int status;
  waitpid (child, &status, 0);
#pragma omp taskwait
  printf ("%d %d\n", x, WEXITSTATUS (status));
}

static void dies (void)
{
#pragma omp target nowait
  *(volatile int *) 16 = 1;
#pragma omp target nowait
  usleep (1000);
#pragma omp taskwait
}

/* After nowait a region on the host still has level 0 and finishes its own tasks. */
static void host (void)
{
  int x = 0, done = 0;
#pragma omp target nowait map (tofrom: x)
  x = 1;
#pragma omp target device (omp_get_initial_device ()) map (tofrom: done)
  {
#pragma omp task shared (done)
    done = 1;
  }
  int early = done;
#pragma omp taskwait
  printf ("%d %d %d\n", x, early, done);
}

int main (int argc, char **argv)
{
  static const struct { const char *name; void (*run) (void); } all[] = { { "overlap", overlap }, { "chain", chain },
    { "groups", groups }, { "detached", detached }, { "unawaited", unawaited }, { "many", many }, { "forked", forked },
    { "dies", dies }, { "host", host } };
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp (argv[1], all[i].name) == 0)
      all[i].run ();
  return 0;
}
"""
EXPECTED = {
    "overlap": "10 20, 11 22\n11 22, 12 24\n",
    "chain": "1234 1234\n7\n8 9\n",
    "groups": "36\n100\n",
    "detached": "5\n",
    "unawaited": "main\nregion\n",
    "many": f"{499 * 250}\n",
    "forked": "1 3\n",
    "host": "1 1 1\n",
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that the tests run."""
    return build(tmp_path_factory.mktemp("async"), SOURCE, "-O1", name="async.c")


def ask(program: Path, what: str) -> subprocess.CompletedProcess[str]:
    """Run one of the program's parts on two devices."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    env = clean | {"OFFLOAD_EMUL_NUM": "2", "OMP_TARGET_OFFLOAD": "default" if what == "host" else "mandatory"}
    return subprocess.run([program, what], capture_output=True, text=True, env=env, timeout=60, check=False)


@pytest.mark.parametrize("what", list(EXPECTED))
def test_nowait(program: Path, what: str) -> None:
    """Values that depend on the order; an end that depends on its absence."""
    done = ask(program, what)
    assert (done.stdout, done.stderr, done.returncode) == (EXPECTED[what], "", 0)


def test_region_that_dies_unawaited(program: Path) -> None:
    """The program ends with the message, and does not wait for what cannot come any more."""
    done = ask(program, "dies")
    assert done.returncode == 1
    assert done.stderr.count("signal 11 (Segmentation fault): address 0x10") == 1
