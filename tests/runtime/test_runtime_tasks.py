"""nowait and depend: target tasks among the program's own tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_tools import Run, build_plugin, compile_program, run

HEAD = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define CHECK(x) do { if (!(x)) { printf ("line %d: %s\\n", __LINE__, #x); exit (1); } } while (0)
"""

CHAIN = """
int main (void) {
  int a[100], b = 0, order = 0;
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 100; i++) a[i] = i;
    #pragma omp target enter data map(alloc: a)
    #pragma omp parallel num_threads(THREADS)
    #pragma omp single
    {
      #pragma omp task depend(out: a) shared(order)
      { usleep (500); order = 1; }
      #pragma omp target update to(a) nowait depend(inout: a)
      for (int k = 0; k < 5; k++)
        #pragma omp target nowait depend(inout: a) firstprivate(k) map(a)
        for (int i = 0; i < 100; i++) a[i] = a[i] * 2 + k;
      #pragma omp target update from(a) nowait depend(inout: a)
      #pragma omp task depend(in: a) shared(b)
      b = a[10];
      #pragma omp target depend(in: a) map(from: order)
      order = 2;
      CHECK (order == 2);
      #pragma omp taskwait
      CHECK (b == ((((10 * 2) * 2 + 1) * 2 + 2) * 2 + 3) * 2 + 4);
      #pragma omp target exit data map(release: a) nowait depend(in: a)
    }
    CHECK (!omp_target_is_present (a, 0));
  }
  return 0;
}"""

OVERLAP = """
int main (void) {
  volatile int flag = 0, *pf = &flag; int out = 0;
  #pragma omp parallel num_threads(1)
  {
    #pragma omp target nowait map(tofrom: out) is_device_ptr(pf)
    { while (!*pf) usleep (10); out = 5; }
    flag = 1;                     /* the region waits for what the encountering thread does after it */
    #pragma omp taskwait
    CHECK (out == 5);
  }
  flag = 0;
  #pragma omp parallel num_threads(2)
  #pragma omp master
  {
    #pragma omp taskgroup
    {
      #pragma omp target nowait map(tofrom: out) is_device_ptr(pf)
      { while (!*pf) usleep (10); out++; }
      flag = 1;
    }
    CHECK (out == 6);
    #pragma omp target nowait map(tofrom: out)
    { usleep (2000); out++; }
  }
  CHECK (out == 7);               /* the barrier waits */
  return 0;
}"""

PRIVATE = """
struct S { int v[40]; };
static void launch (int *out, int base) {
  struct S s;
  int n = base;
  for (int i = 0; i < 40; i++) s.v[i] = base + i;
  #pragma omp target nowait firstprivate(s, n) map(tofrom: out[0:1]) depend(inout: out[0])
  { usleep (300); out[0] += s.v[39] + n; }
  for (int i = 0; i < 40; i++) s.v[i] = -1;
}
int main (void) {
  int out = 0;
  #pragma omp parallel num_threads(2)
  #pragma omp single
  for (int i = 0; i < 10; i++) launch (&out, i);
  CHECK (out == 2 * 45 + 390);
  out = 0;
  for (int i = 0; i < 10; i++) launch (&out, i);
  #pragma omp taskwait
  CHECK (out == 2 * 45 + 390);
  return 0;
}"""

UNDEFERRED = """
int main (void) {                 /* GCC 12's libgomp frees the record of a task that is on the stack */
  int x = 0;
  #pragma omp task shared(x)
  {
    #pragma omp target nowait map(tofrom: x)
    x++;
    #pragma omp taskwait
  }
  CHECK (x == 1);
  #pragma omp taskloop shared(x)
  for (int i = 0; i < 4; i++) {
    #pragma omp target nowait map(tofrom: x)
    x++;
  }
  #pragma omp taskloop shared(x)
  for (unsigned long i = 0; i < 4; i++) {
    #pragma omp target nowait map(tofrom: x)
    x++;
  }
  CHECK (x == 9);
  #pragma omp target nowait map(tofrom: x)
  x++;
  #pragma omp taskwait
  #pragma omp task shared(x)      /* now there is a team */
  {
    #pragma omp target nowait map(tofrom: x) depend(inout: x)
    x++;
    #pragma omp taskwait
  }
  #pragma omp taskwait
  CHECK (x == 11);
  return 0;
}"""

PROGRAMS = {"undeferred": UNDEFERRED, "chain": CHAIN, "overlap": OVERLAP, "private": PRIVATE}
MODES = {"sync": [], "async": ["-DASYNC"], "none": ["-DNDEV=0"]}


def go(tmp_path: Path, name: str, options: list[str], **environment: str) -> Run:
    """Run a program on a variant of the plugin."""
    build_plugin(tmp_path, *options)
    threads = environment.pop("threads", "4")
    program = compile_program(tmp_path, HEAD + PROGRAMS[name], f"-DTHREADS={threads}")
    return run(tmp_path, program, **environment)


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_order_with_tasks(tmp_path: Path, mode: str, threads: str) -> None:
    done = go(tmp_path, "chain", MODES[mode], threads=threads)
    assert (done.rc, done.out) == (0, ""), done.err
    assert done.calls("run") + done.calls("async_run") == 120
    assert (done.calls("async_run") == 100) == (mode == "async")
    assert done.calls("alloc") == done.calls("free")


@pytest.mark.parametrize("environment", [{}, {"FAKE_EARLY": "1"}])
def test_end_reported_from_anywhere(tmp_path: Path, environment: dict[str, str]) -> None:
    """By another thread, or by the launching one before async_run returns."""
    done = go(tmp_path, "chain", MODES["async"], **environment)
    assert (done.rc, done.out) == (0, ""), done.err
    assert done.calls("completion") == 100


def test_regions_overlap_the_encountering_thread(tmp_path: Path) -> None:
    done = go(tmp_path, "overlap", MODES["async"])
    assert (done.rc, done.out) == (0, ""), done.err
    assert done.calls("async_run") == 3


@pytest.mark.parametrize("mode", MODES)
def test_in_explicit_tasks_outside_of_teams(tmp_path: Path, mode: str) -> None:
    done = go(tmp_path, "undeferred", MODES[mode])
    assert (done.rc, done.out) == (0, ""), done.err
    assert done.calls("alloc") == done.calls("free")


@pytest.mark.parametrize("mode", MODES)
def test_firstprivate_has_the_value_of_the_construct(tmp_path: Path, mode: str) -> None:
    done = go(tmp_path, "private", MODES[mode])
    assert (done.rc, done.out) == (0, ""), done.err
    if mode == "none":
        assert "20 on the host" in done.stats
