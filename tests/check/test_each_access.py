"""gompcc -foffload-check: which programs it takes, and what is not reported."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
CHECK = "-foffload-check"


def run(folder: Path, *command: str, good: bool = True) -> subprocess.CompletedProcess[str]:
    """A command in a folder."""
    env = {**os.environ, "GOMPY_ACCEL": "gcc", "LC_ALL": "C"}
    words = [str(BIN / command[0]) if command[0].startswith("gomp") else command[0], *command[1:]]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=good, timeout=300)


def source(folder: Path, name: str, text: str) -> str:
    """A file."""
    (folder / name).write_text(text)
    return name


ORDERED = """
#include <stdio.h>
#include <omp.h>
int main (void)
{
  int data[64], flag = 0, sum = 0, last = 0, done = 0;
  omp_lock_t lock;
  for (int i = 0; i < 64; i++) data[i] = 0;
#pragma omp target map(tofrom: data, flag, sum)
#pragma omp parallel num_threads(2)
  {
    /* one thread hands its work over by a flag */
    if (omp_get_thread_num () == 0)
      {
        for (int i = 0; i < 64; i++) data[i] = i;
#pragma omp atomic write seq_cst
        flag = 1;
      }
    else
      {
        int seen = 0;
        while (!seen)
          {
#pragma omp atomic read seq_cst
            seen = flag;
          }
        for (int i = 0; i < 64; i++) sum += data[i];
      }
  }
#pragma omp target teams num_teams(8) map(tofrom: data, done, last)
  {
    /* the team that comes last has what all have done */
    int before, all = 0;
    data[omp_get_team_num ()] = 5;
#pragma omp parallel num_threads(1)
    {
#pragma omp atomic capture seq_cst
      before = done++;
    }
    if (before == omp_get_num_teams () - 1)
      {
        for (int i = 0; i < omp_get_num_teams (); i++) all += data[i];
        last = all;
      }
  }
#pragma omp target map(tofrom: sum) map(alloc: lock)
  {
    omp_init_lock (&lock);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 10; i++)
      {
        omp_set_lock (&lock);
        sum++;
        omp_unset_lock (&lock);
      }
  }
  printf ("%d %d\\n", sum, last > 0);
  return 0;
}
"""

LOOPS = """
#include <stdio.h>
int main (void)
{
  int a[200], b[200], chosen = 0;
  for (int i = 0; i < 200; i++) a[i] = b[i] = i;
#pragma omp target map(tofrom: a, b, chosen)
#pragma omp parallel num_threads(3)
  {
    int mine = 0;
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 200; i++) a[i]++;
#pragma omp for schedule(guided)
    for (int i = 0; i < 200; i++) b[i] += a[199 - i];
#pragma omp sections
    {
#pragma omp section
      a[0] = b[0];
#pragma omp section
      a[1] = b[1];
    }
#pragma omp single copyprivate(mine)
    mine = a[0] + a[1];
#pragma omp barrier
#pragma omp master
    chosen = mine;
#pragma omp barrier
#pragma omp for ordered
    for (int i = 0; i < 20; i++)
#pragma omp ordered
      b[100] += chosen;
  }
#pragma omp target parallel for schedule(runtime) map(tofrom: a)
  for (int i = 0; i < 200; i++) a[i] *= 2;
#pragma omp target parallel for schedule(nonmonotonic: dynamic, 4) map(tofrom: a)
  for (int i = 0; i < 200; i++) a[i] *= 2;
#pragma omp target map(tofrom: a)
#pragma omp parallel sections
  {
#pragma omp section
    a[3] = 1;
#pragma omp section
    a[4] = 1;
  }
  for (int r = 0; r < 3; r++)
#pragma omp target teams distribute map(tofrom: a, b)
    for (int i = 0; i < 20; i++)
      {
#pragma omp parallel for
        for (int j = 0; j < 10; j++) a[10 * i + j] += r;
#pragma omp parallel for
        for (int j = 0; j < 10; j++) b[10 * i + j] += a[10 * i + 9 - j];
      }
  printf ("%d\\n", a[3]);
  return 0;
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("text", [ORDERED, LOOPS], ids=["ordered", "loops"])
def test_accesses_in_an_order_are_no_race(tmp_path: Path, text: str, level: str) -> None:
    run(tmp_path, "gompcc", "-g", level, "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert done.stderr == ""


@pytest.mark.slow
def test_objects_and_a_library(tmp_path: Path) -> None:
    """Compiled apart, linked with a library that is checked, too; its region reads what nothing has written."""
    source(
        tmp_path,
        "part.c",
        "int part (int *a)\n{\n  int sum = 0;\n#pragma omp target map(tofrom: sum)\n"
        "  for (int i = 0; i < 9; i++) sum += a[i];\n  return sum;\n}\n",
    )
    source(
        tmp_path,
        "main.c",
        "#include <stdio.h>\nint part (int *);\nint main (void)\n{\n  int a[9];\n"
        "#pragma omp target data map(alloc: a)\n  {\n#pragma omp target\n    for (int i = 0; i < 8; i++) a[i] = i;\n"
        '    printf ("%d\\n", part (a));\n  }\n  return 0;\n}\n',
    )
    for name in ("part", "main"):
        run(tmp_path, "gompcc", "-g", "-fPIC", "-fopenmp", CHECK, "-c", f"{name}.c")
    run(tmp_path, "gompcc", "-fopenmp", CHECK, "-shared", "part.o", "-o", "libpart.so")
    run(tmp_path, "gompcc", "-fopenmp", CHECK, "main.o", "-L.", "-lpart", "-Wl,-rpath,$ORIGIN", "-o", "main")
    done = run(tmp_path, "gompy", "run", "--check", "./main", good=False)
    assert done.returncode == 86
    assert "part.c:5: error: region part._omp_fn.0 on device 0 reads a" in done.stderr
    assert "(byte 32 of 36) [unset]" in done.stderr


def test_nothing_is_told_without_a_check(tmp_path: Path) -> None:
    text = (ROOT / "testsuite" / "check" / "race-single.c").read_text()
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    done = run(tmp_path, "./a")
    assert done.stderr == ""


def test_tasks_are_not_judged(tmp_path: Path) -> None:
    text = (
        "#include <stdio.h>\nint main (void)\n{\n  int x = 0;\n#pragma omp target map(tofrom: x)\n"
        "#pragma omp parallel num_threads(2)\n#pragma omp single\n  {\n#pragma omp task depend(out: x)\n    x = 1;\n"
        '#pragma omp task depend(in: x)\n    x += 1;\n  }\n  printf ("%d\\n", x);\n  return 0;\n}\n'
    )
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("2\n", "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("name", ["race-teams", "race-stencil", "race-histogram"])
def test_races_are_found_on_one_processor(tmp_path: Path, name: str) -> None:
    """Where the region leaves the number of teams and threads to the device."""
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, str(ROOT / "testsuite" / "check" / f"{name}.c"), "-o", "a")
    one = str(min(os.sched_getaffinity(0)))
    done = run(tmp_path, "taskset", "-c", one, str(BIN / "gompy"), "run", "--check", "./a", good=False)
    assert done.returncode == 86
    assert "by another thread of it, and nothing says which is first [race]" in done.stderr


def test_the_program_s_own_number_of_threads_goes_first(tmp_path: Path) -> None:
    text = (
        "#include <stdio.h>\n#include <omp.h>\nint main (void)\n{\n  int teams = 0, threads = 0;\n"
        "#pragma omp target teams map(from: teams, threads)\n#pragma omp parallel\n"
        "  if (omp_get_team_num () == 0 && omp_get_thread_num () == 0)\n    {\n"
        "      teams = omp_get_num_teams ();\n      threads = omp_get_num_threads ();\n    }\n"
        '  printf ("%d %d\\n", teams, threads);\n  return 0;\n}\n'
    )
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    one = str(min(os.sched_getaffinity(0)))
    command = ["taskset", "-c", one, str(BIN / "gompy"), "run", "--check", "./a"]
    assert run(tmp_path, *command).stdout == "2 1\n"
    assert run(tmp_path, "env", "OMP_NUM_TEAMS=1", "OMP_NUM_THREADS=1", *command).stdout == "1 1\n"


FAILED = """
#include <stdio.h>
int main (void)
{
  int data[64] = {0}, sum = 0, flag = 0;
#pragma omp target teams num_teams(2) map(tofrom: data, sum, flag)
#pragma omp distribute dist_schedule(static, 1)
  for (int t = 0; t < 2; t++)
    if (t == 0)
      {
        for (int i = 0; i < 64; i++) data[i] = i;
        __atomic_store_n (&flag, 1, __ATOMIC_RELEASE);
      }
    else
      {
        int none;
        do
          none = 0;
        while (__atomic_compare_exchange_n (&flag, &none, 0, 0, __ATOMIC_RELAXED, __ATOMIC_ACQUIRE));
        for (int i = 0; i < 64; i++) sum += data[i];
      }
  printf ("%d\\n", sum);
  return 0;
}
"""


def test_an_exchange_that_fails_has_an_order_of_its_own(tmp_path: Path) -> None:
    """By what it reads then, with `acquire`, a team knows of another; C17 and OpenMP's `fail` clause have that."""
    words = ("-g", "-fopenmp", "-Wno-invalid-memory-model", CHECK, source(tmp_path, "a.c", FAILED), "-o", "a")
    run(tmp_path, "gompcc", *words)
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("2016\n", "")


FORMER = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include "gompy/native/access.h"
enum { n = 5000 };
#pragma omp declare target
extern struct gompy_access gompy_access __attribute__ ((weak));
static int __attribute__ ((noinline, noclone)) get (const int *p) { return *p; }
static void wait (const int *flag)
{
  int seen;
  do
    {
      #pragma omp atomic read acquire
      seen = *flag;
    }
  while (!seen);
}
#pragma omp end declare target
int main (void)
{
  int *p = calloc (n, sizeof *p), begun = 0, ready = 0, ended = 0, sum = 0;
  #pragma omp target
  {
    gompy_access.hooked = GOMPY_HOOKED_FORMERLY;
    gompy_access.pause = NULL;
  }
  #pragma omp target teams num_teams(2) map(tofrom: p[:n], sum) map(to: ended)
  #pragma omp distribute dist_schedule(static, 1)
  for (int t = 0; t < 2; t++)
    if (t == 0)
      {
        for (int i = 0; i < n; i++) p[i] = i;
        #pragma omp atomic write release
        ended = 1;
      }
    else
      {
        wait (&ended);
        for (int i = 0; i < n; i++) sum += p[i];
      }
  #pragma omp target map(tofrom: p[:n], sum) map(to: ready, begun)
  #pragma omp parallel num_threads(2)
  if (omp_get_thread_num () == 0)
    for (int i = 0; i < 150; i++)
      {
        if (i == 100)
          {
            #pragma omp atomic write
            begun = 1;
            wait (&ready);
          }
        sum += get (p + i);
      }
  else
    {
      wait (&begun);
      for (int i = 100; i < 150; i++) p[i] = 1;
      #pragma omp atomic write release
      ready = 1;
    }
  printf ("%d\\n", sum);
  return 0;
}
"""


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hooks_that_do_not_tell_what_a_thread_may_know(tmp_path: Path, level: str) -> None:
    """As images of before `pause` have them: a flag that is waited for orders teams, and threads, nonetheless."""
    words = ("gompcc", "-g", level, "-fopenmp", CHECK, f"-I{ROOT}", source(tmp_path, "a.c", FORMER), "-o", "a")
    run(tmp_path, *words)
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("12502500\n", "")


@pytest.mark.slow
def test_atomic_operations_of_a_library_are_not_judged(tmp_path: Path) -> None:
    """Those on objects of more than 16 bytes are libatomic's."""
    text = """
#include <omp.h>
#include <stdio.h>
struct large { long a, b, c; };
int main (void)
{
  int data[64] = {0}, sum = 0;
  struct large flag = {0}, one = {1}, seen;
#pragma omp target parallel num_threads(2) map(tofrom: data, sum, flag) firstprivate(one) private(seen)
  if (omp_get_thread_num () == 0)
    {
      for (int i = 0; i < 64; i++) data[i] = i;
      __atomic_store (&flag, &one, __ATOMIC_RELEASE);
    }
  else
    {
      do __atomic_load (&flag, &seen, __ATOMIC_ACQUIRE); while (!seen.a);
      for (int i = 0; i < 64; i++) sum += data[i];
    }
  printf ("%d\\n", sum);
  return 0;
}
"""
    words = ("-latomic", "-foffload-options=-latomic")
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, source(tmp_path, "a.c", text), *words, "-o", "a")
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("2016\n", "")


def test_memory_that_is_used_again_is_not_stale(tmp_path: Path) -> None:
    """A block that a region has changed is freed; the next one at its place has nothing to do with it."""
    text = (
        "#include <stdio.h>\n#include <stdlib.h>\nint main (void)\n{\n  int n = 100, sum = 0;\n"
        "  int *a = calloc (n, sizeof *a), *b;\n#pragma omp target map(to: a[0:n])\n"
        "  for (int i = 0; i < n; i++) a[i] = i;\n  free (a);\n  b = calloc (n, sizeof *b);\n"
        '  for (int i = 0; i < n; i++) sum += b[i];\n  printf ("%d\\n", sum);\n  return 0;\n}\n'
    )
    run(tmp_path, "gompcc", "-g", "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_frame_of_an_array_is_left(tmp_path: Path, level: str) -> None:
    """What `exit` has on the stack, when main has returned, lies where an array was that a region wrote in part."""
    text = (
        "#include <stdio.h>\nint main (void)\n{\n  double a[256], b[65552], sum = 0;\n"
        "  for (int i = 0; i < 256; i++) a[i] = i;\n#pragma omp target map(to: a) map(from: b)\n"
        "  for (int i = 0; i < 256; i++) b[i] = a[i];\n  for (int i = 0; i < 256; i++) sum += b[i];\n"
        '  printf ("%g\\n", sum);\n  return 0;\n}\n'
    )
    run(tmp_path, "gompcc", "-g", level, "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
    done = run(tmp_path, "gompy", "run", "--check", "./a")
    assert (done.stdout, done.stderr) == ("32640\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((CHECK,), "‘-foffload-check’ without ‘-fopenmp’ or ‘-fopenacc’"),
        (("-fopenmp", CHECK, "-fsanitize=thread"), "‘-foffload-check’ and ‘-fsanitize=thread’ exclude each other"),
    ],
)
def test_what_it_does_not_go_with(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    source(tmp_path, "a.c", "int main (void) { return 0; }\n")
    done = run(tmp_path, "gompcc", *words, "a.c", "-o", "a", good=False)
    assert done.returncode == 1
    assert said.replace("‘", "'").replace("’", "'") in done.stderr.replace("‘", "'").replace("’", "'")


@pytest.mark.slow
def test_what_memset_writes_is_written(tmp_path: Path) -> None:
    """Also where the compiler would have written it inline, or made memset of a loop."""
    text = """
#include <stdio.h>
#include <string.h>
struct pair { int x, y[5]; };
int main (void)
{
  char a[1000], b[24], c[24];
  struct pair p, q;
  long sum = 0, big[40];
#pragma omp target data map(alloc: a, b, c, p, q, big)
  {
#pragma omp target
    {
      memset (a, 3, sizeof a);
      memset (b, 1, sizeof b);
      memcpy (c, b, sizeof c);
      for (int i = 0; i < 40; i++) big[i] = 0;
      p = (struct pair) { 4 };
      q = p;
    }
#pragma omp target map(tofrom: sum)
    for (int i = 0; i < 24; i++) sum += a[40 * i] + b[i] + c[i] + q.y[i % 5] + big[i];
  }
  printf ("%ld\\n", sum);
  return 0;
}
"""
    for level in ("-O0", "-O2", "-O3"):
        run(tmp_path, "gompcc", "-g", level, "-fopenmp", CHECK, source(tmp_path, "a.c", text), "-o", "a")
        done = run(tmp_path, "gompy", "run", "--check", "./a")
        assert (done.stdout, done.stderr) == ("120\n", "")


def test_a_language_is_named(tmp_path: Path) -> None:
    """What is linked stays an object behind -x."""
    source(tmp_path, "a.txt", "int main (void)\n{\n  int x = 1;\n#pragma omp target map(x)\n  x--;\n  return x;\n}\n")
    run(tmp_path, "gompcc", "-fopenmp", CHECK, "-x", "c", "a.txt", "-o", "a")
    assert run(tmp_path, "./a").stdout == ""


def test_with_no_device_code_at_all(tmp_path: Path) -> None:
    source(tmp_path, "a.c", "int main (void) { return 0; }\n")
    run(tmp_path, "gompcc", "-fopenmp", "-foffload=disable", CHECK, "a.c", "-o", "a")
