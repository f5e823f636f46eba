"""-foffload-check tells, when that is compiled, what a region assigns to a copy of the host's (hooks/loops_lost.h).

In GCC 12's own testsuite there are three such assignments, none of them meant: of ``err`` in libgomp.c/target-23.c and
libgomp.c++/target-12.C, whose second regions can find nothing wrong, and of ``sep`` in libgomp.c++/target-19.C.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gompy.accel import host, packages

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / ".venv" / "bin"
pytestmark = pytest.mark.skipif(
    not packages.plugin_headers(host.choose()), reason="no headers for plugins of the compiler (gcc-12-plugin-dev)"
)
LOST = re.compile(r"^\S+?:(\d+):\d+: warning: what the region assigns to '(\w+)' is lost", re.MULTILINE)


def compiled(folder: Path, name: str, text: str, *options: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """By the compiler for the name, without carets; CHECK: with -foffload-check."""
    (folder / name).write_text(text)
    tool = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}[Path(name).suffix]
    words = [BIN / tool, "-g", "-O1", "-fopenmp", "-fopenacc", "-fdiagnostics-plain-output"]
    env = {**os.environ, "LC_ALL": "C"}
    command = [*words, *(["-foffload-check"] if check else []), "-c", *options, name]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


SUM = (ROOT / "examples" / "diagnosis" / "sum.c").read_text()
TEXT = (
    "what the region assigns to 'sum' is lost: without a clause it is 'firstprivate'; 'map(tofrom: sum)' or a "
    "reduction brings it back"
)


def test_what_is_said(tmp_path: Path) -> None:
    done = compiled(tmp_path, "sum.c", SUM)
    assert done.returncode == 0
    assert done.stderr == (
        "sum.c: In function 'main':\n"
        f"sum.c:11:9: warning: {TEXT} [-Woffload-lost]\n"
        "sum.c:9:11: note: the region\n"
        "sum.c:12:3: note: 'sum' is read here\n"
    )


def test_the_option_is_enough(tmp_path: Path) -> None:
    quiet = compiled(tmp_path, "sum.c", SUM, check=False)
    assert (quiet.returncode, quiet.stderr) == (0, "")
    done = compiled(tmp_path, "sum.c", SUM, "-Woffload-lost", check=False)
    assert f"sum.c:11:9: warning: {TEXT} [-Woffload-lost]\n" in done.stderr
    assert b"__tsan" not in (tmp_path / "sum.o").read_bytes()


def test_without_the_plugin_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CHECK_PLUGIN", "0")
    done = compiled(tmp_path, "sum.c", SUM, "-Woffload-lost", check=False)
    assert (done.returncode, done.stderr) == (
        0,
        "gompcc: warning: '-Woffload-lost' has no effect: its plugin is not built for this gcc; "
        "'gompy accel build --check' builds it\n",
    )


@pytest.mark.parametrize("options", [["-Wno-offload-lost"], ["-w"], ["-Werror=offload-lost", "-Wno-offload-lost"]])
def test_it_can_be_off(tmp_path: Path, options: list[str]) -> None:
    done = compiled(tmp_path, "sum.c", SUM, *options)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_can_be_an_error(tmp_path: Path) -> None:
    done = compiled(tmp_path, "sum.c", SUM, "-Werror=offload-lost")
    assert done.returncode == 1
    assert f"sum.c:11:9: error: {TEXT} [-Werror=offload-lost]\n" in done.stderr
    assert not (tmp_path / "sum.o").exists()


WRONG = """\
int global;
void init (void);

int
atomic (int *a, int n)
{
  int sum = 0;
  #pragma omp target teams distribute parallel for map(to: a[:n])
  for (int i = 0; i < n; i++)
    {
      #pragma omp atomic
      sum += a[i];             /* WRONG */
    }
  return sum;
}

int
nested (int *a, int n)
{
  double sum = 0;
  #pragma omp target map(to: a[:n])
  #pragma omp parallel for reduction(+: sum) /* WRONG */
  for (int i = 0; i < n; i++)
    sum += a[i];
  return (int) sum;
}

int
rounds (int *a, int n)
{
  int more = 1, count = 0;
  while (more)
    {
      more = 0;
      count++;
      #pragma omp target map(a[:n])
      for (int i = 0; i < n; i++)
        if (a[i])
          {
            a[i]--;
            more = 1;          /* WRONG */
          }
    }
  return count;
}

int
all (int *a)
{
  #pragma omp target map(a[:1])
  global = a[0];               /* WRONG */
  return global;
}

int
gangs (int *a, int n)
{
  int sum = 0;
  #pragma acc parallel loop copyin(a[:n])
  for (int i = 0; i < n; i++)
    sum += a[i];               /* WRONG */
  return sum;
}
"""
WRONG += """
void add (int *, int);
#pragma omp declare target (add)

int
of_tasks (int *a, int n)
{
  int sum = 0;
  #pragma omp target map(to: a[:n])
  #pragma omp parallel
  #pragma omp single
  #pragma omp taskgroup task_reduction(+: sum) /* WRONG */
  for (int i = 0; i < n; i++)
    #pragma omp task in_reduction(+: sum)
    add (&sum, a[i]);
  return sum;
}

int
of_a_scope (int *a, int n)
{
  int sum = 0;
  #pragma omp target map(to: a[:n])
  #pragma omp parallel
  #pragma omp scope reduction(+: sum) /* WRONG */
  add (&sum, a[0]);
  return sum;
}
"""
RIGHT = """\
int global;
void init (void);
int use (int *);

int
reduced (int *a, int n)
{
  int sum = 0;
  #pragma omp target teams distribute parallel for map(to: a[:n]) reduction(+: sum)
  for (int i = 0; i < n; i++)
    sum += a[i];
  return sum;
}

int
scoped (int *a, int n)
{
  int sum = 0;
  #pragma omp target map(a[:n])
  #pragma omp parallel
  {
    a[0] = sum;
    #pragma omp scope private(sum)
    {
      sum = a[1];
      a[2] = sum;
    }
  }
  return sum;
}

int
counters (int *a, int n)
{
  int i, t;
  #pragma omp target map(a[:n])
  for (i = 0; i < n; i++)
    {
      t = a[i];
      a[i] = t + 1;
    }
  for (i = 0; i < n; i++)
    if (a[i])
      return i;
  t = 3;
  return t;
}

int
another (int *a)
{
  #pragma omp target map(a[:1])
  global = a[0];
  init ();
  return global;
}

int
meant (int n)
{
  int s = 0, t = 1, u = 2;
  #pragma omp target firstprivate(s) private(t)
  s = t = n;
  #pragma omp target defaultmap(tofrom: scalar)
  u = n;
  return s + t + u;
}

int
given (int n)
{
  int s = 0;
  #pragma omp target
  s = n;
  return use (&s);
}

int
anew (int *a, int n)
{
  int t;
  for (int k = 0; k < n; k++)
    {
      #pragma omp target map(a[:n])
      {
        t = a[k];
        a[k] = t * 2;
      }
    }
  return n;
}

int
inner (int *a, int n)
{
  int s = 3;
  #pragma omp target parallel for private(s) map(a[:n])
  for (int i = 0; i < n; i++)
    {
      s = a[i];
      a[i] = s * 2;
    }
  return s;
}

int
other_ways (int *a)
{
  int s = 0, t = 0, u = 0, *p = &u;
  #pragma omp target map(a[:1])
  s = t = u = a[0];
  __asm__ ("" : "=r" (s));
  #pragma omp atomic write
  t = 5;
  *p = 7;
  return s + t + u;
}

int
kernels (int *a)
{
  int s = 0;
  #pragma acc kernels copyin(a[:1])
  s = a[0];
  return s;
}
"""
TEMPLATE = """\
template <typename T> T
low (T *a)
{
  T best = 0;
  #pragma omp target map(to: a[:8])
  best = a[0];                 // WRONG
  return best;
}
struct table
{
  int n;
  int most (int *a)
  {
    int found = -1;
    #pragma omp target map(to: a[:8])
    for (int i = 0; i < 8; i++)
      if (a[i] > found)
        found = a[i];          // WRONG
    return found + n;
  }
};
double
both (double *d, int *a)
{
  table t = { 8 };
  return low (d) + t.most (a);
}
"""
FORTRAN = """\
program main
  integer :: a(8), s, t, i
  s = 0
  t = 0
  a = 1
  !$omp target map(to: a)
  do i = 1, 8
    s = s + a(i)               ! WRONG
  end do
  !$omp end target
  !$omp target teams distribute parallel do map(to: a) reduction(+: t)
  do i = 1, 8
    t = t + a(i)
  end do
  print *, s, t
end program
"""


ROUNDS = """\
int
sure (int *a)
{
  int t, i, n;
  #pragma omp target map(a[:8])
  for (i = 0; i < 8; i++)
    {
      t = a[i];
      a[i] = t + 1;
    }
  n = 4;
  for (i = 0; i < n; i++)
    t = a[i];
  return t + i;
}

int
backward (int *a)
{
  int t = 0, i;
  #pragma omp target map(a[:8])
  a[0] = t = a[1];
  for (i = 7; i >= 0; i--)
    for (int k = 0; k < 2; k++)
      t = a[i] + k;
  return t;
}

int
open_end (int *a, int n)
{
  int t = 0;
  #pragma omp target map(a[:8])
  a[0] = t = a[1];             /* WRONG */
  for (int i = 0; i < n; i++)
    t = a[i];
  return t;
}

int
never (int *a)
{
  int t = 0, n = 0;
  #pragma omp target map(a[:8])
  a[0] = t = a[1];             /* WRONG */
  for (int i = 0; i < n; i++)
    t = a[i];
  return t;
}

int
left (int *a)
{
  int t = 0;
  #pragma omp target map(a[:8])
  a[0] = t = a[1];             /* WRONG */
  for (int i = 0; i < 8; i++)
    {
      if (a[i])
        break;
      t = a[i];
    }
  return t;
}

int
changed (int *a, void (*get) (int *))
{
  int t = 0, n = 4;
  get (&n);
  #pragma omp target map(a[:8])
  a[0] = t = a[1];             /* WRONG */
  for (int i = 0; i < n; i++)
    t = a[i];
  return t;
}

int
stored (int *a)
{
  int t = 0, *p = a;
  #pragma omp target map(from: t)
  t = 1;
  #pragma omp target map(a[:8])
  {
    #pragma omp parallel for
    for (int i = 0; i < 8; i++)
      if (p[i])
        #pragma omp critical
        p[i]--;
    a[7] = 1;
    t = a[1];                  /* WRONG */
    a[6] = 2;
  }
  return t;
}

int
within (int *a)
{
  int t = 0;
  #pragma omp target map(a[:8])
  a[0] = t = a[1];             /* WRONG */
  for (int i = 0; i < 8; i++)
    a[i] += t;
  return a[0];
}
"""


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize(
    ("name", "text"),
    [("wrong.c", WRONG), ("rounds.c", ROUNDS), ("rounds.cc", ROUNDS), ("right.c", RIGHT), ("both.cc", TEMPLATE)],
)
def test_what_is_lost(tmp_path: Path, name: str, text: str) -> None:
    done = compiled(tmp_path, name, text)
    assert done.returncode == 0
    expected = [line for line, what in enumerate(text.splitlines(), 1) if "WRONG" in what]
    assert sorted(int(line) for line, _ in LOST.findall(done.stderr)) == expected, done.stderr


def test_fortran(tmp_path: Path) -> None:
    done = compiled(tmp_path, "s.f90", FORTRAN)
    assert done.returncode == 0
    assert re.findall(r"s\.f90:(\d+):\d+: Warning: what the region assigns to '(\w)'", done.stderr) == [("8", "s")]
