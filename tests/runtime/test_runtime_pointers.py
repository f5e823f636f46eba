"""Pointers of structs that the compiler leaves out, its own on the stack, those to what is not mapped."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from runtime_tools import GFORTRAN, LIBGOMPY, build_plugin, compile_program, run

from gompy.runtime.libgompy import MAP_KINDS, Device

K = MAP_KINDS
WORD = struct.Struct("Q")

HEAD = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#define CHECK(x) do { if (!(x)) { printf ("line %d: %s\\n", __LINE__, #x); exit (1); } } while (0)
typedef struct { double *b; int n; int *a; char far[200]; long *c; int m; } S;
static S filled (int n) {
  S s = { malloc (n * sizeof (double)), n, malloc (n * sizeof (int)), "", malloc (n * sizeof (long)), 5 };
  for (int i = 0; i < n; i++) { s.a[i] = 1; s.b[i] = 2; s.c[i] = 3; }
  return s;
}
"""

PROGRAMS = {
    "members first": """
int main (void) {
  S s = filled (100); int sum = 0, v[100];
  #pragma omp target map(to: s.m) map(to: s.a[:s.n], s.b[:s.n], s.c[:s.n]) map(from: v)
  for (int i = 0; i < 100; i++) v[i] = s.a[i] + s.b[i] + s.c[i] + s.m;
  for (int i = 0; i < 100; i++) sum += v[i];
  CHECK (sum == 1100);
  #pragma omp target map(to: s.m) map(s.a[0:0]) map(from: sum)   /* no length, nothing mapped: its value is kept */
  sum = s.a != 0;
  CHECK (sum);
  S none = { 0 };
  #pragma omp target map(to: none.m) map(none.a[0:none.n]) map(from: sum)
  sum = none.a == 0;
  CHECK (sum);
}""",
    "through a pointer, section first": """
__attribute__ ((noinline)) static int f (S *q) {
  int sum = 0;
  #pragma omp target map(to: q->n) map(tofrom: q->b[:q->n], q->c[0:q->n]) map(tofrom: sum)
  for (int i = 0; i < q->n; i++) { sum += q->b[i] + q->c[i]; q->c[i] = 7; }
  return sum;
}
int main (void) {
  S s = filled (10);
  CHECK (f (&s) == 50 && s.c[9] == 7 && s.b[9] == 2);
  CHECK (!omp_target_is_present (&s.b, 0) && !omp_target_is_present (&s.n, 0));
}""",
    "enter data": """
int main (void) {
  S s = filled (10), *q = &s; int sum = 0;
  #pragma omp target enter data map(to: s.m) map(to: s.a[:s.n], s.c[:s.n])
  CHECK (omp_target_is_present (&s.a, 0) && omp_target_is_present (&s.m, 0) && !omp_target_is_present (&s.b, 0));
  for (int round = 0; round < 2; round++) {
    #pragma omp target map(tofrom: sum) map(to: s.m) map(s.a[:s.n], s.c[:s.n])
    for (int i = 0; i < 10; i++) { sum += s.a[i] + s.c[i]; s.c[i] += s.m; }
  }
  CHECK (sum == 2 * 40 + 50 && s.c[3] == 3);
  #pragma omp target data map(to: s.m) map(s.a[:s.n])
  {
    #pragma omp target update from(s.c[:s.n])
  }
  CHECK (s.c[3] == 13);
  #pragma omp target exit data map(release: s.m) map(from: s.c[:s.n]) map(release: s.a[:s.n])
  CHECK (!omp_target_is_present (&s.a, 0) && !omp_target_is_present (s.a, 0) && q->c[0] == 13);
}""",
    "two structs, and a pointer of neither": """
int main (void) {
  S s = filled (10), t = filled (10); int sum = 0; struct { S one; } u = { filled (10) };
  S *far = malloc (4 << 20); *far = filled (10);
  #pragma omp target enter data map(to: u)
  #pragma omp target map(to: t.m, s.m) map(to: s.a[:s.n], t.c[:t.n], u.one.b[:t.n]) map(tofrom: sum)
  for (int i = 0; i < 10; i++) sum += s.a[i] * s.m + t.c[i] * t.m + u.one.b[i];
  CHECK (sum == 50 + 150 + 20);
  #pragma omp target enter data map(to: s.m) map(to: far->a[:10])
  CHECK (!omp_target_is_present (&far->a, 0) && omp_target_is_present (far->a, 0));
}""",
    "a member that is a reference to a pointer": """
#ifdef __cplusplus
struct R { int *&p; int n;
  int sum () { int s = 0;
    #pragma omp target map(to: p[0:n]) map(tofrom: s)
    for (int i = 0; i < n; i++) s += p[i];
    return s; } };
int main (void) { int v[4] = { 1, 2, 3, 4 }, *p = v; R r = { p, 4 }; CHECK (r.sum () == 10); }
#endif""",
    "device memory without is_device_ptr": """
int main (void) {
  int dev = omp_get_default_device (), *p = omp_target_alloc (40, dev), sum = 0, ok = 0; S s = { 0 };
  #pragma omp target
  for (int i = 0; i < 10; i++) p[i] = i;
  #pragma omp target map(tofrom: sum)
  for (int i = 0; i < 10; i++) sum += p[i];
  CHECK (sum == 45);
  s.a = p;
  #pragma omp target map(to: s) map(s.a[0:0]) map(from: ok)
  ok = s.a[9] == 9;
  CHECK (ok);
  omp_target_free (p, dev);
}""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pointers")
    build_plugin(folder)
    return folder


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(folder: Path, tmp_path: Path, name: str) -> None:
    language = "c++" if "__cplusplus" in PROGRAMS[name] else "c"
    source = HEAD.replace("static S filled", "#ifndef __cplusplus\nstatic S filled") + "#endif\n" + PROGRAMS[name]
    program = compile_program(tmp_path, source, "-Wl,--no-as-needed", str(LIBGOMPY), language=language)
    done = run(folder, program, FAKE_LOG=str(tmp_path / "log"))
    assert (done.rc, done.out) == (0, ""), done.err
    assert ", 0 on the host" in done.stats
    assert len(done.err.splitlines()) == 1, "nothing but the statistics"


def test_a_pointer_that_finds_no_place_is_told_of(folder: Path, tmp_path: Path) -> None:
    """The struct is there, mapped without the pointer: it cannot grow."""
    source = """
int main (void) {
  S s = filled (10); int ok = 0; printf ("%p %p\\n", (void *) &s.a, (void *) &s);
  #pragma omp target enter data map(to: s.m)
  for (int i = 0; i < 3; i++)
    #pragma omp target map(to: s.m) map(to: s.a[:s.n]) map(from: ok)
    ok = s.m;
  CHECK (ok == 5);
}"""
    done = run(folder, compile_program(tmp_path, HEAD + source), FAKE_LOG=str(tmp_path / "log"))
    pointer, base = done.out.split()
    line, stats = done.err.splitlines()
    assert line == (
        f"libgompy: region main._omp_fn.0: the pointer at {pointer} (map entry 3 of 5) has no place on device 0, and "
        f"does not get the address of its section: its struct, from {base}, is mapped without it; "
        "map all of them at once"
    )
    assert (done.rc, "3 on device 0" in stats) == (0, True)


def test_unmapped_pointers_become_null_if_asked_for(folder: Path, tmp_path: Path) -> None:
    """OpenMP 5.0, libgomp 12."""
    source = """
int main (void) {
  int x, *p = &x, bad = 9;
  #pragma omp target map(from: bad)
  bad = p != 0;
  return bad;
}"""
    program = compile_program(tmp_path, HEAD + source)
    log = str(tmp_path / "log")
    assert [run(folder, program, FAKE_LOG=log, GOMPY_UNMAPPED=v).rc for v in ("null", "keep")] == [0, 1]
    assert run(folder, program, FAKE_LOG=log).rc == 1


# --- on the mapping functions themselves ------------------------------------------------------------------------------


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.close()


def test_regions_in_flight_have_pointers_of_their_own(device: Device) -> None:
    """Two regions are passed one address of a pointer, with another value each."""
    data = ctypes.create_string_buffer(64)
    base = ctypes.addressof(data)
    temporary = ctypes.c_uint64(base)
    entries = [(base, 32, K["to"]), (ctypes.addressof(temporary), 0, K["pointer"])]
    others = [(base + 32, 32, K["to"]), (ctypes.addressof(temporary), 0, K["pointer"])]

    def outer(first: list[int]) -> None:
        def inner(second: list[int]) -> None:
            assert [WORD.unpack(device.read(words[1], 8))[0] for words in (first, second)] == [first[0], second[0]]
            assert device.mappings()[0][2] != first[1]

        temporary.value = base + 32
        device.target(others, inner)

    device.target(entries, outer)


FORTRAN = """
program main
  implicit none
  integer, parameter :: n = 1000, m = 12
  integer :: a(n, m), i, bad
  a = 0
  bad = 0
  do i = 1, m
    call sections (i)
  end do
  !$omp taskwait
  do i = 1, m
    if (any (a(1:n - i, i) /= i) .or. any (a(n - i + 1:, i) /= 0)) bad = bad + 1
  end do
  do i = 1, m
    call shapes (a(1:n - i, i), i)
  end do
  !$omp taskwait
  do i = 1, m
    if (any (a(1:n - i, i) /= 2 * i) .or. any (a(n - i + 1:, i) /= 0)) bad = bad + 10
  end do
  do i = 1, m
    call later (a(1:n - i, i), i)
  end do
  !$omp taskwait
  do i = 1, m
    if (any (a(1:n - i, i) /= 3 * i) .or. any (a(n - i + 1:, i) /= 0)) bad = bad + 100
  end do
  print *, bad
contains
  subroutine sections (k)
    integer, intent (in) :: k
    integer :: j
    !$omp target nowait map(tofrom: a(1:n - k, k)) firstprivate(k)
    do j = 1, n - k
      a(j, k) = k
    end do
    !$omp end target
  end subroutine
  subroutine shapes (b, k)      ! bounds are passed as addresses on the stack
    integer :: b(:), k, j
    !$omp target nowait map(tofrom: b) firstprivate(k)
    do j = 1, size (b)
      b(j) = 2 * k
    end do
    !$omp end target
  end subroutine
  subroutine later (b, k)       ! not launched before the subroutine has returned
    integer :: b(:), k, j
    !$omp target nowait map(tofrom: b) firstprivate(k) depend(inout: a)
    do j = 1, size (b)
      b(j) = 3 * k
    end do
    !$omp end target
  end subroutine
end program
"""


@pytest.mark.slow(sample=2)
@pytest.mark.skipif(GFORTRAN is None, reason="no gfortran")
@pytest.mark.parametrize("where", ["device", "host"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_fortran_regions_in_flight(tmp_path: Path, where: str, level: str) -> None:
    """gfortran's temporaries: pointers to the begin of a section, bounds of assumed-shape arguments."""
    build_plugin(tmp_path, "-DASYNC", *(["-DNDEV=0"] if where == "host" else []))
    program = compile_program(tmp_path, FORTRAN, level, language="fortran")
    done = run(tmp_path, program)
    assert (done.rc, done.out.split()) == (0, ["0"]), done.err
    assert (", 0 on the host" in done.stats) == (where == "device")
