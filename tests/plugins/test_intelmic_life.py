"""Whole programs on the emulated device: libraries, fork, pauses, copies between devices, the environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN, devices_of
from test_intelmic_programs import BIN, build, run

if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

SOURCE = r"""
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int omp_target_memcpy_rect_async (void *, const void *, size_t, int, const size_t *, const size_t *,
                                         const size_t *, const size_t *, const size_t *, int, int, int, omp_depend_t *);
int global = 1;
#pragma omp declare target to (global)

static int on_device (void)
{
  int host = 1;
#pragma omp target map (from: host)
  host = omp_is_initial_device ();
  return !host;
}

static void pause_all (void)
{
  int array[4] = { 1, 2, 3, 4 }, sum = 0, inside = 0, mapped;
#pragma omp target enter data map (to: array)
#pragma omp target
  { global += 10; array[0] = 100; }
#pragma omp parallel num_threads (2)
  ;
  int soft = omp_pause_resource_all (omp_pause_soft), hard = omp_pause_resource_all (omp_pause_hard);
  int one = omp_pause_resource (omp_pause_hard, 0);
  int host = omp_pause_resource (omp_pause_soft, omp_get_initial_device ());
  int none = omp_pause_resource (omp_pause_soft, 17), negative = omp_pause_resource (omp_pause_soft, -1);
  mapped = omp_target_is_present (array, 0);
#pragma omp target teams distribute parallel for num_teams (2) map (tofrom: array) reduction (+: sum)
  for (int i = 0; i < 4; i++)
    sum += array[i] + global;
#pragma omp parallel num_threads (2)
#pragma omp master
  inside = omp_pause_resource_all (omp_pause_soft);
#pragma omp target exit data map (from: array)
#pragma omp target update from (global)
  printf ("%d %d %d %d %d %d %d %d %d %d %d %d\n", soft, hard, one, host, none, negative, inside, mapped, sum, array[0],
          global, on_device ());
}

/* Library after library, each with an image of its own, used, mapped and closed. */
static void libraries (void)
{
  int total = 0;
  on_device ();
  for (int round = 0; round < 3; round++)
    {
      void *one = dlopen ("./libone.so", RTLD_NOW), *two = dlopen ("./libtwo.so", RTLD_NOW | RTLD_LOCAL);
      if (!one || !two)
        puts (dlerror ());
      int (*f) (int) = (int (*) (int)) dlsym (one, "work"), (*g) (int) = (int (*) (int)) dlsym (two, "work");
      total += f (1) + g (2) + f (3);
      if (round == 1)
        {
          dlclose (two);
          total += f (4);
          dlclose (one);
        }
      else
        {
          dlclose (one);
          total += g (5);
          dlclose (two);
        }
    }
  printf ("%d %d\n", total, on_device ());
}

static void forks (void)
{
  int before = on_device (), data[2] = { 5, 6 }, status;
#pragma omp target enter data map (to: data)
  fflush (stdout);
  pid_t child = fork ();
  if (child == 0)
    {
      int x = 0;
#pragma omp target map (from: x)
      x = 41 + omp_is_initial_device ();
      printf ("child %d present %d\n", x, omp_target_is_present (data, 0));
      fflush (stdout);
      exit (4);
    }
  waitpid (child, &status, 0);
#pragma omp target map (tofrom: data)
  data[0] *= 2;
#pragma omp target exit data map (from: data)
  printf ("parent %d %d %d %d %d\n", before, WEXITSTATUS (status), data[0], data[1], on_device ());
}

/* A child that was forked before the first region has a device of its own. */
static void forks_early (void)
{
  int status;
  pid_t child = fork ();
  if (child == 0)
    exit (on_device () ? 6 : 7);
  waitpid (child, &status, 0);
  printf ("%d %d\n", WEXITSTATUS (status), on_device ());
}

#define MOST 6000
/* A block of `dims` dimensions goes from one place to another: all else there stays. */
static int rectangle (int dims, int from, int to, int async)
{
  size_t full[5] = { 5, 4, 6, 3, 7 }, other[5] = { 6, 5, 4, 4, 8 }, volume[5] = { 3, 2, 4, 2, 5 };
  size_t at[5] = { 1, 2, 0, 1, 2 }, away[5] = { 2, 0, 0, 2, 3 };
  static int source[MOST], target[MOST], expected[MOST];
  int host = omp_get_initial_device (), bad = 0;
  size_t n = 1, m = 1, cells = 1;
  for (int i = 0; i < dims; i++)
    n *= full[i], m *= other[i], cells *= volume[i];
  for (size_t i = 0; i < n; i++)
    source[i] = 1000 + i;
  for (size_t i = 0; i < m; i++)
    target[i] = expected[i] = -(int) i;
  for (size_t c = 0; c < cells; c++)
    {
      size_t rest = c, index[5], p = 0, q = 0;
      for (int i = dims - 1; i >= 0; i--)
        index[i] = rest % volume[i], rest /= volume[i];
      for (int i = 0; i < dims; i++)
        p = p * full[i] + at[i] + index[i], q = q * other[i] + away[i] + index[i];
      expected[q] = source[p];
    }
  int *s = omp_target_alloc (n * sizeof (int), from), *t = omp_target_alloc (m * sizeof (int), to);
  bad += omp_target_memcpy (s, source, n * sizeof (int), 0, 0, from, host) != 0;
  bad += omp_target_memcpy (t, target, m * sizeof (int), 0, 0, to, host) != 0;
  if (async)
    {
      bad += omp_target_memcpy_rect_async (t, s, sizeof (int), dims, volume, away, at, other, full, to, from, 0,
                                           NULL) != 0;
#pragma omp taskwait
    }
  else
    bad += omp_target_memcpy_rect (t, s, sizeof (int), dims, volume, away, at, other, full, to, from) != 0;
  bad += omp_target_memcpy (target, t, m * sizeof (int), 0, 0, host, to) != 0;
  for (size_t i = 0; i < m; i++)
    bad += target[i] != expected[i];
  omp_target_free (s, from);
  omp_target_free (t, to);
  return bad;
}

static void rectangles (void)
{
  int places[3] = { 0, 1, omp_get_initial_device () }, bad = 0, count = 0;
  for (int dims = 1; dims <= 5; dims++)
    for (int i = 0; i < 9; i++)
      for (int async = 0; async < 2; async++, count++)
        if (rectangle (dims, places[i % 3], places[i / 3], async))
          printf ("dims %d, %d to %d, async %d\n", dims, places[i % 3], places[i / 3], async), bad++;
#pragma omp parallel num_threads (3)
#pragma omp single
  bad += rectangle (3, 0, 1, 1) + rectangle (2, 1, 0, 1);
  int most = omp_target_memcpy_rect (NULL, NULL, 4, 5, NULL, NULL, NULL, NULL, NULL, 0, 1);
  printf ("%d of %d, %d\n", bad, count, most >= 5);
}

static void display (void) { omp_display_env (1); }

int main (int argc, char **argv)
{
  static const struct { const char *name; void (*run) (void); } all[] = { { "pause_all", pause_all },
    { "libraries", libraries }, { "forks", forks }, { "forks_early", forks_early }, { "rectangles", rectangles },
    { "display", display } };
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp (argv[1], all[i].name) == 0)
      all[i].run ();
  return 0;
}
"""
FORKED = "\nlibgomp: device 0 (intelmic): not usable in a forked child of a program that has used devices\n"
LIBRARY = r"""
static int calls;
#pragma omp declare target to (calls)
int work (int x)
{{
  static int table[100];
  int r = 0;
#pragma omp target enter data map (to: table)
#pragma omp target map (from: r)
  r = x * {0} + ++calls + table[x];
#pragma omp target exit data map (delete: table)
  return r;
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that the tests run, beside two libraries."""
    folder = tmp_path_factory.mktemp("life")
    for name, number in (("one", 10), ("two", 100)):
        (folder / f"{name}.c").write_text(LIBRARY.format(number))
        command = [BIN / "gompcc", "-O1", "-fopenmp", "-shared", "-fPIC", f"{name}.c", "-o", f"lib{name}.so"]
        subprocess.run(command, check=True, cwd=folder)
    return build(folder, SOURCE, "-O1", "-w", name="life.c")


def ask(program: Path, what: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run one of the program's parts on two devices."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_"))}
    return subprocess.run(
        [program, what],
        capture_output=True,
        text=True,
        env=clean | {"OFFLOAD_EMUL_NUM": "2"} | env,
        timeout=60,
        check=False,
        cwd=program.parent,
    )


def expected_of_libraries() -> int:
    """What work () returns, summed up: the count of calls starts anew with each loading."""
    total = 0
    for number in range(3):
        total += (10 + 1) + (200 + 1) + (30 + 2)
        total += (40 + 3) if number == 1 else (500 + 2)
    return total


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("pause_all", "0 0 0 0 -1 -1 -1 1 153 100 11 1\n"),
        ("libraries", f"{expected_of_libraries()} 1\n"),
        ("forks", "child 42 present 0\nparent 1 4 10 6 1\n"),
        ("forks_early", "6 1\n"),
        ("rectangles", "0 of 90, 1\n"),
    ],
)
def test_life(program: Path, what: str, answer: str) -> None:
    """Each part says what it found; nothing is left behind."""
    done = ask(program, what)
    messages = FORKED if what == "forks" else ""
    assert (done.stdout, done.stderr, done.returncode) == (answer, messages, 0)
    assert devices_of(os.getpid()) == []


def section(text: str, name: str) -> dict[str, str]:
    """The variables between a list's first and last line; libgomp of gcc 13 and later says whose they are: [all]."""
    body = text.partition(f"{name} DISPLAY ENVIRONMENT BEGIN\n")[2].partition(f"{name} DISPLAY ENVIRONMENT END\n")[0]
    pairs = (line.strip().removeprefix("[all] ").partition(" = ") for line in body.splitlines())
    return {a: b.strip("'") for a, _, b in pairs}


def test_display_of_the_environment(program: Path) -> None:
    """Behind the stock list, ours, in true and in verbose form, and with the devices' own variables."""
    done = ask(
        program, "none", OMP_DISPLAY_ENV=" True ", OMP_NUM_THREADS_DEV="3", OMP_SCHEDULE_DEV_1="dynamic", FOO_DEV="1"
    )
    assert done.stderr.index("OPENMP DISPLAY ENVIRONMENT END") < done.stderr.index("GOMPY DISPLAY ENVIRONMENT BEGIN")
    assert section(done.stderr, "OPENMP")["OMP_TARGET_OFFLOAD"] == "DEFAULT"
    ours = section(done.stderr, "GOMPY")
    assert ours == {
        "GOMPY_PLUGINS": "intelmic",
        "OFFLOAD_EMUL_NUM": "2",
        "OFFLOAD_EMUL_MEM": "64G",
        "OFFLOAD_EMUL_TEAMS": str(len(os.sched_getaffinity(0))),
        "OMP_NUM_THREADS_DEV": "3",
        "OMP_SCHEDULE_DEV_1": "dynamic",
    }
    verbose = section(ask(program, "none", OMP_DISPLAY_ENV="VERBOSE", OFFLOAD_EMUL_MEM="1G").stderr, "GOMPY")
    assert verbose["OFFLOAD_EMUL_MEM"] == "1G" and verbose["GOMP_DEBUG"] == "0" and "GOMPY_CHECK" in verbose
    assert section(ask(program, "display").stderr, "GOMPY").keys() == verbose.keys()
    ours = section(ask(program, "none", OMP_DISPLAY_ENV="true", OMP_TARGET_OFFLOAD="mandatory").stderr, "GOMPY")
    assert (ours["OMP_DEFAULT_DEVICE"], ours["OMP_TARGET_OFFLOAD"]) == ("0", "MANDATORY")
    for value in ("false", "nonsense"):
        assert "GOMPY DISPLAY" not in ask(program, "none", OMP_DISPLAY_ENV=value).stderr
    null = section(ask(program, "none", OMP_DISPLAY_ENV="true", GOMPY_PLUGINS="null").stderr, "GOMPY")
    assert null == {"GOMPY_PLUGINS": "null"}


def test_display_does_not_start_a_device(tmp_path: Path) -> None:
    """A region's device does not print a list of its own."""
    program = build(tmp_path, "int main (void)\n{\n#pragma omp target\n  ;\n  return 0;\n}\n")
    assert run(program, OMP_DISPLAY_ENV="true").stderr.count("ENVIRONMENT BEGIN") == 2
