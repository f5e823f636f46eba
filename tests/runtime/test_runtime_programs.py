"""Whole programs with each kind of map, on a device with memory of its own."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from runtime_tools import GFORTRAN, LIBGOMPY, build_plugin, compile_program, run

HEAD = """
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define CHECK(x) do { if (!(x)) { printf ("line %d: %s\\n", __LINE__, #x); exit (1); } } while (0)
"""

PROGRAMS = {
    "kinds": """
int main (void) {
  int to[4] = {1, 2, 3, 4}, from[4] = {9, 9, 9, 9}, both[4] = {5, 6, 7, 8}, scratch[4] = {1, 1, 1, 1}, fresh = 0;
  #pragma omp target map(to: to) map(from: from, fresh) map(tofrom: both) map(alloc: scratch)
  {
    fresh = scratch[0];
    for (int i = 0; i < 4; i++) { scratch[i] = i; from[i] = to[i] * 10; both[i] += to[i]; to[i] = 0; }
  }
  CHECK (fresh != 1);                                  /* alloc does not copy in */
  for (int i = 0; i < 4; i++)
    CHECK (to[i] == i + 1 && from[i] == (i + 1) * 10 && both[i] == 6 + 2 * i && scratch[i] == 1);
}""",
    "mapped anew inside": """
int main (void) {                                      /* at the end it counts whether the item is there then */
  int dev = omp_get_default_device ();
  struct { int x, y, z; } s = {1, 2, 3};
  int a[10], b[10];
  for (int i = 0; i < 10; i++) a[i] = b[i] = 9;
  #pragma omp target data map(tofrom: a[8:2])
  {
    #pragma omp target exit data map(delete: a[8:2])
    #pragma omp target enter data map(alloc: a)
    #pragma omp target map(alloc: a)
    for (int i = 0; i < 10; i++) a[i] = i;
  }
  for (int i = 0; i < 10; i++) CHECK (a[i] == (i < 8 ? 9 : i));
  CHECK (!omp_target_is_present (a, dev));
  #pragma omp target data map(tofrom: b)
  {
    #pragma omp target exit data map(delete: b)
    #pragma omp target enter data map(to: b[2:3])      /* not all of it: nothing is done */
  }
  CHECK (b[3] == 9 && omp_target_is_present (&b[3], dev) && !omp_target_is_present (b, dev));
  #pragma omp target exit data map(delete: b[2:3])
  #pragma omp target data map(tofrom: s.x, s.z)
  {
    #pragma omp target exit data map(delete: s.x, s.z)
    #pragma omp target enter data map(to: s)
    #pragma omp target enter data map(to: s)
    #pragma omp target map(alloc: s)
    { s.x = 11; s.y = 12; s.z = 13; }
  }
  CHECK (s.x == 1 && s.z == 3 && omp_target_is_present (&s, dev));  /* one less of two, for both members */
  #pragma omp target exit data map(from: s)
  CHECK (s.x == 11 && s.y == 12 && s.z == 13 && !omp_target_is_present (&s, dev));
  #pragma omp target data map(tofrom: s) map(always, from: a)
  {
    #pragma omp target exit data map(delete: s, a)
  }
  CHECK (s.x == 11 && a[9] == 9);
}""",
    "objects that go together": """
static void some (int turn) {                          /* in one copy, of sizes that grow and shrink */
  static const int most[] = {16, 500, 4000, 30, 1000, 2000};
  int n = most[turn % 6], wrong = 0;
  int *a = malloc (n * sizeof *a), *b = malloc (n * sizeof *b), *c = malloc (n * sizeof *c);
  for (int i = 0; i < n; i++) { a[i] = turn + i; b[i] = 3 * i; c[i] = turn; }
  #pragma omp target map(to: a[:n], b[:n], c[:n]) map(tofrom: wrong)
  for (int i = 0; i < n; i++) wrong += a[i] != turn + i || b[i] != 3 * i || c[i] != turn;
  CHECK (!wrong);
  free (a); free (b); free (c);
}
int main (void) {
  for (int turn = 0; turn < 30; turn++) some (turn);
  #pragma omp parallel for num_threads(4)
  for (int turn = 0; turn < 200; turn++) some (turn);
}""",
    "firstprivate": """
int main (void) {
  double d = 2.5; struct { int a; char b[30]; } s = {7, "text"}; int i = 3, ok = 0; int *p = &i;
  #pragma omp target firstprivate(d, s, i) is_device_ptr(p) map(from: ok)
  { ok = d == 2.5 && s.a == 7 && !strcmp (s.b, "text") && i == 3 && p != 0; d = 0; s.a = 0; i = 0; }
  CHECK (ok && d == 2.5 && s.a == 7 && i == 3);
}""",
    "always": """
int main (void) {
  int a = 1, b = 1, in = 0;
  #pragma omp target data map(tofrom: a, b)
  {
    a = 5; b = 5;
    #pragma omp target map(always, to: a) map(tofrom: b) map(from: in)
    { in = a * 10 + b; a = 6; b = 6; }
    CHECK (in == 51 && a == 5 && b == 5);
    #pragma omp target map(always, from: a) map(from: b)
    { a = 7; b = 7; }
    CHECK (a == 7 && b == 5);
  }
  CHECK (a == 7 && b == 7);
}""",
    "enter_exit": """
int main (void) {
  int n = 100, *p = malloc (n * sizeof *p);
  for (int i = 0; i < n; i++) p[i] = i;
  #pragma omp target enter data map(to: p[0:n])
  CHECK (omp_target_is_present (p, 0) && omp_target_is_present (p + 99, 0) && !omp_target_is_present (p + 100, 0));
  #pragma omp target enter data map(to: p[10:5])
  #pragma omp target
  for (int i = 0; i < 100; i++) p[i] += 1000;
  CHECK (p[3] == 3);
  #pragma omp target exit data map(from: p[10:5])
  CHECK (p[12] == 12);                                 /* still referenced */
  #pragma omp target exit data map(from: p[0:n])
  CHECK (p[12] == 1012 && p[99] == 1099 && !omp_target_is_present (p, 0));
  #pragma omp target enter data map(alloc: p[0:n])
  #pragma omp target enter data map(alloc: p[0:n])
  #pragma omp target exit data map(delete: p[0:n])
  CHECK (!omp_target_is_present (p, 0) && p[12] == 1012);
  #pragma omp target exit data map(release: p[0:n])
}""",
    "update": """
int main (void) {
  int a[10], ok = 0;
  for (int i = 0; i < 10; i++) a[i] = i;
  #pragma omp target data map(to: a)
  {
    a[3] = 33; a[4] = 44;
    #pragma omp target update to(a[3:1])
    #pragma omp target map(from: ok)
    { ok = a[3] == 33 && a[4] == 4; a[5] = 55; a[6] = 66; }
    CHECK (ok);
    #pragma omp target update from(a[5:1])
    CHECK (a[5] == 55 && a[6] == 6);
    #pragma omp target update to(a[0:0])
  }
}""",
    "struct_members": """
struct S { int a, b; int arr[8]; int *p; int n; };
int main (void) {
  struct S s = {.a = 1, .b = 2, .n = 4};
  s.p = malloc (4 * sizeof (int));
  for (int i = 0; i < 4; i++) s.p[i] = i;
  s.arr[2] = 20;
  #pragma omp target map(tofrom: s.a, s.arr)
  { s.a += s.arr[2]; s.arr[3] = 30; }
  CHECK (s.a == 21 && s.arr[3] == 30 && s.b == 2);
  #pragma omp target map(tofrom: s.p[0:4])
  for (int i = 0; i < 4; i++) s.p[i] *= 2;
  CHECK (s.p[3] == 6);
  int *before = s.p;
  #pragma omp target enter data map(to: s.p, s.a) map(to: s.p[0:4])
  #pragma omp target map(s.p[0:4])
  { s.p[1] = 111; }
  #pragma omp target map(s.a)
  { s.a = 77; }
  CHECK (s.p == before && s.p[1] == 2 && s.a == 21);
  #pragma omp target exit data map(from: s.p[0:4], s.a) map(release: s.p)
  CHECK (s.p == before && s.p[1] == 111 && s.a == 77);
}""",
    "zero_length": """
int main (void) {
  int a[10] = {0}, *inside = a + 3, *outside = malloc (4), ok = 0, n = 0;
  char *value = getenv ("GOMPY_UNMAPPED") ? 0 : (char *) outside, *expected = value;  /* OpenMP 5.0: NULL; 5.1: kept */
  #pragma omp target data map(tofrom: a)
  {
    #pragma omp target map(from: ok) map(to: value) is_device_ptr(expected)
    { ok = (char *) outside == expected && inside != 0; inside[1] = 42; }
    CHECK (ok);
    #pragma omp target map(inside[0:n]) map(from: ok)
    { ok = inside[1] == 42; }
    CHECK (ok);
  }
  CHECK (a[4] == 42);
}""",
    "use_device": """
int main (void) {
  int a[4] = {1, 2, 3, 4}, out[4], *p = a;
  #pragma omp target data map(tofrom: a) use_device_addr(a)
  {
    int *d = a;
    CHECK (d != p);
    #pragma omp target is_device_ptr(d)
    d[2] = 33;
    CHECK (!omp_target_memcpy (out, d, sizeof out, 0, 0, omp_get_initial_device (), 0));
    CHECK (out[2] == 33 && out[3] == 4);
  }
  CHECK (a[2] == 33);
  #pragma omp target data map(to: a)
  #pragma omp target data use_device_ptr(p)
  CHECK (p != a);
  CHECK (p == a);
}""",
    "api": """
int main (void) {
  int host = omp_get_initial_device (), v[4] = {1, 2, 3, 4}, w[4] = {0};
  CHECK (host == 1 && omp_get_num_devices () == 1 && omp_is_initial_device () && omp_get_device_num () == 1);
  int *d = omp_target_alloc (sizeof v, 0);
  CHECK (d && !omp_target_memcpy (d, v, sizeof v, 0, 0, 0, host));
  CHECK (!omp_target_memcpy (d, d, 8, 8, 0, 0, 0));
  CHECK (!omp_target_memcpy (w, d, sizeof w, 0, 0, host, 0) && w[2] == 1 && w[3] == 2);
  CHECK (omp_target_memcpy (w, d, 4, 0, 0, 7, 0) == 22 && omp_target_memcpy (w, d, 4, 0, 0, -3, 0) == 22);
  CHECK (!omp_target_memcpy (w, d, 4, 0, 0, -1, 0));  /* omp_initial_device, from GCC 13 and OpenMP 5.2 on */
  CHECK (!omp_target_associate_ptr (v, d, sizeof v, 0, 0) && !omp_target_associate_ptr (v, d, sizeof v, 0, 0));
  CHECK (omp_target_associate_ptr (v, d + 1, sizeof v, 0, 0) == 22);
  CHECK (omp_target_associate_ptr (v, d, sizeof v, 0, host) == 22);
  CHECK (omp_target_is_present (v, 0));
  #pragma omp target map(tofrom: v)
  v[0] = 50;
  CHECK (v[0] == 1);                                   /* infinite count: never copied without always */
  #pragma omp target update from(v)
  CHECK (v[0] == 50);
  CHECK (omp_target_disassociate_ptr (v + 1, 0) == 22);
  CHECK (!omp_target_disassociate_ptr (v, 0) && omp_target_disassociate_ptr (v, 0) == 22);
  CHECK (!omp_target_is_present (v, 0) && !omp_target_is_present (NULL, 0) && omp_target_is_present (v, host));
  CHECK (omp_target_is_present (v, -1) && !omp_target_is_present (v, -3) && !omp_target_is_present (v, 9));
  omp_target_free (d, 0); omp_target_free (NULL, 0); omp_target_free (w, -3); omp_target_free (w, 9);
  CHECK (!omp_target_alloc (8, -3) && !omp_target_alloc (8, 2));
  char *h = omp_target_alloc (8, host); CHECK (h); omp_target_free (h, host);
  char from[6][6], to[6][6]; memset (to, '.', 36); for (int i = 0; i < 36; i++) from[i / 6][i % 6] = 'a' + i;
  char *m = omp_target_alloc (36, 0);
  size_t vol[2] = {2, 3}, o1[2] = {1, 2}, o2[2] = {0, 1}, dim[2] = {6, 6};
  CHECK (omp_target_memcpy_rect (NULL, NULL, 1, 0, 0, 0, 0, 0, 0, 0, 0) > 2);
  CHECK (!omp_target_memcpy_rect (m, from, 1, 2, vol, o1, o2, dim, dim, 0, host));
  CHECK (!omp_target_memcpy_rect (to, m, 1, 2, vol, o2, o1, dim, dim, host, 0));
  CHECK (to[0][1] == from[0][1] && to[1][3] == from[1][3] && to[0][0] == '.' && to[2][1] == '.');
  CHECK (omp_target_memcpy_rect (to, m, (size_t) 1 << 62, 2, vol, o1, o2, dim, dim, host, 0) == 22);
  omp_target_free (m, 0);
  CHECK (!omp_pause_resource (omp_pause_soft, 0) && omp_pause_resource (omp_pause_soft, 5) == -1);
  omp_set_default_device (3); CHECK (omp_get_default_device () == 3);
  omp_set_default_device (-4); CHECK (omp_get_default_device () == STOCK_DEFAULT_AFTER_MINUS_4);
}""",
    "api_gcc13": """
void *omp_get_mapped_ptr (const void *, int);
int omp_target_is_accessible (const void *, size_t, int);
int omp_target_memcpy_async (void *, const void *, size_t, size_t, size_t, int, int, int, omp_depend_t *);
int omp_target_memcpy_rect_async (void *, const void *, size_t, int, const size_t *, const size_t *, const size_t *,
                                  const size_t *, const size_t *, int, int, int, omp_depend_t *);
int main (void) {
  int v[4] = {1, 2, 3, 4}, w[4] = {0}, host = omp_get_initial_device ();
  CHECK (!omp_get_mapped_ptr (v, 0) && omp_get_mapped_ptr (v, host) == v && !omp_get_mapped_ptr (v, 7));
  CHECK (!omp_target_is_accessible (v, 4, 0) && omp_target_is_accessible (v, 4, host));
  CHECK (!omp_target_is_accessible (NULL, 4, host) && !omp_target_is_accessible (v, 0, host));
  #pragma omp target data map(to: v)
  {
    char *d = omp_get_mapped_ptr (v, 0);
    CHECK (d && omp_get_mapped_ptr (v + 2, 0) == d + 8);
    #pragma omp parallel
    #pragma omp single
    {
      omp_depend_t dep;
      #pragma omp depobj(dep) depend(inout: w)
      CHECK (!omp_target_memcpy_async (d, v + 2, 8, 0, 0, 0, host, 0, NULL));
      #pragma omp taskwait
      CHECK (!omp_target_memcpy_async (w, d, 16, 0, 0, host, 0, 1, &dep));
      #pragma omp task depend(inout: w)
      w[3] *= 10;
      #pragma omp taskwait
    }
    CHECK (w[0] == 3 && w[1] == 4 && w[2] == 3 && w[3] == 40);
    size_t vol[1] = {2}, zero[1] = {0}, two[1] = {2}, dim[1] = {4};
    CHECK (!omp_target_memcpy_rect_async (w, d, 4, 1, vol, zero, two, dim, dim, host, 0, 0, NULL));
    CHECK (w[0] == 3 && w[1] == 4);
    CHECK (omp_target_memcpy_async (w, d, 4, 0, 0, 9, 0, 0, NULL) == 22);
  }
}""",
    "nested_data": """
int main (void) {
  int a[8] = {0};
  for (int i = 0; i < 3; i++)
    #pragma omp target data map(tofrom: a)
    {
      #pragma omp target data map(tofrom: a[2:4]) if(i == 1)
      {
        #pragma omp target data map(to: a) device(omp_get_initial_device ())
        #pragma omp target
        a[3]++;
      }
      CHECK (a[3] == i);
    }
  CHECK (a[3] == 3);
}""",
    "delete_inside": """
int main (void) {                /* the keys go, the construct that maps them lasts */
  int *p = calloc (10, sizeof (int));
  #pragma omp target enter data map(to: p[0:10])
  #pragma omp target data map(tofrom: p[0:10])
  {
    #pragma omp target exit data map(delete: p[0:10])
    CHECK (!omp_target_is_present (p, 0));
    #pragma omp target map(tofrom: p[0:10])
    p[1] = 5;
    CHECK (p[1] == 5);
  }
  CHECK (p[1] == 5 && !omp_target_is_present (p, 0));
}""",
    "many": """
int main (void) {
  enum { N = 300 };
  int *p[N]; long sum = 0;
  for (int i = 0; i < N; i++) {
    p[i] = malloc (1000 + i); p[i][0] = i;
    #pragma omp target enter data map(to: p[i][0:10])
  }
  for (int i = N - 1; i >= 0; i--) {
    int *q = p[i];
    #pragma omp target map(q[0:10]) map(tofrom: sum)
    sum += q[0];
  }
  CHECK (sum == (long) N * (N - 1) / 2);
  for (int i = 0; i < N; i += 2) {
    #pragma omp target exit data map(release: p[i][0:10])
  }
  for (int i = 0; i < N; i++) CHECK (omp_target_is_present (p[i], 0) == i % 2);
}""",
    "threads": """
int main (void) {
  int bad = 0;
  #pragma omp parallel num_threads(8) reduction(+: bad)
  for (int r = 0; r < 200; r++) {
    int v[16], me = omp_get_thread_num ();
    for (int i = 0; i < 16; i++) v[i] = me;
    #pragma omp target data map(tofrom: v)
    #pragma omp target map(v)
    for (int i = 0; i < 16; i++) v[i] += r;
    for (int i = 0; i < 16; i++) bad += v[i] != me + r;
  }
  CHECK (!bad);
}""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    build_plugin(folder)
    return folder


@cache
def stock_default_after(device: int) -> int:
    """The default device of the stock libgomp after one was set: 12's makes 0 of negative ones, newer ones do not."""
    script = "import ctypes, sys; l = ctypes.CDLL('libgomp.so.1'); n = int(sys.argv[1])\n"
    script += "l.omp_set_default_device(n); print(l.omp_get_default_device())"
    done = subprocess.run([sys.executable, "-c", script, str(device)], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(folder: Path, tmp_path: Path, name: str) -> None:
    options = ("-Wl,--no-as-needed", str(LIBGOMPY), f"-DSTOCK_DEFAULT_AFTER_MINUS_4={stock_default_after(-4)}")
    program = compile_program(tmp_path, HEAD + PROGRAMS[name], *options)
    done = run(folder, program, FAKE_LOG=str(tmp_path / "log"))
    log = (tmp_path / "log").read_text().splitlines()
    assert (done.rc, done.out) == (0, ""), done.err
    if name != "nested_data" and "omp target" in PROGRAMS[name].replace("omp target data", ""):
        assert ", 0 on the host" in done.stats
    allocs = sum(line.startswith("alloc") for line in log)
    frees = sum(line.startswith("free") for line in log)
    if name != "many":
        assert allocs == frees, "a block of device memory stays"


@pytest.mark.skipif(GFORTRAN is None, reason="no gfortran")
def test_fortran_pointer_components(folder: Path, tmp_path: Path) -> None:
    """enter data of a structure's pointers: each gets the device's address of its own target (gfortran 12 and 13)."""
    program = compile_program(
        tmp_path,
        """
program main
  implicit none
  type t
    integer :: first
    integer, pointer :: a(:), b(:)
    integer :: last
  end type
  type(t) :: v
  integer :: sums(2)
  allocate (v%a(5), v%b(2:4))
  v%a = [1, 2, 3, 4, 5]; v%b = [10, 20, 30]
  !$omp target enter data map(to: v%a, v%b)
  v%a = 0
  !$omp target map(from: sums)
    sums = [sum (v%a), sum (v%b)]
    if (lbound (v%b, 1) /= 2 .or. ubound (v%b, 1) /= 4) sums = -1
  !$omp end target
  print *, sums
end program
""",
        language="fortran",
    )
    result = run(folder, program)
    assert (result.rc, result.out.split()) == (0, ["15", "60"]), result.err


@pytest.mark.skipif(GFORTRAN is None, reason="no gfortran")
def test_fortran_descriptors(folder: Path, tmp_path: Path) -> None:
    """Allocatable and pointer arrays: descriptor, its data pointer, and what happens when it is allocated later."""
    program = compile_program(
        tmp_path,
        """
program main
  use omp_lib
  implicit none
  integer, allocatable :: a(:), late(:)
  integer, pointer :: p(:)
  integer :: i, total, n
  allocate (a(5:14)); allocate (p(4))
  a = [(i, i = 1, 10)]; p = 2
  total = 0
  !$omp target map(tofrom: a, total) map(to: p)
  total = sum (a) + sum (p) + lbound (a, 1)
  a(6) = 100
  !$omp end target
  if (total /= 55 + 8 + 5) stop 1
  if (a(6) /= 100 .or. a(5) /= 1) stop 2
  !$omp target enter data map(to: a)
  !$omp target
  a = a + 1
  !$omp end target
  if (a(6) /= 100) stop 3
  !$omp target update from(a(6:7))
  if (a(6) /= 101 .or. a(5) /= 1) stop 4
  !$omp target exit data map(from: a)
  if (a(5) /= 2) stop 5
  !$omp target data map(tofrom: late)
  n = 0
  allocate (late(3)); late = [7, 8, 9]
  !$omp target map(tofrom: late, n)
  if (allocated (late)) n = sum (late)
  !$omp end target
  deallocate (late)
  !$omp end target data
  if (n /= 24) stop 6
  call omp_set_default_device (1)
  if (omp_get_default_device () /= 1 .or. omp_get_num_devices () /= 1 .or. .not. omp_is_initial_device ()) stop 7
  if (omp_get_initial_device () /= 1 .or. omp_get_device_num () /= 1) stop 8
end program
""",
        language="fortran",
    )
    done = run(folder, program, FAKE_LOG=str(tmp_path / "log"))
    assert (done.rc, done.out) == (0, ""), done.err
    assert ", 0 on the host" in done.stats


def test_one_copy_for_small_things(folder: Path, tmp_path: Path) -> None:
    """The argument words and small objects go to the device in one copy; no maps, no calls but run."""
    program = compile_program(
        tmp_path,
        HEAD
        + """
int main (void) {
  int a = 1, b = 2, c[10] = {0}; static char big[100000]; double d = 3;
  #pragma omp target map(tofrom: a, b, c) firstprivate(d) map(to: big)
  a = b + c[0] + d + big[5];
  CHECK (a == 5);
  #pragma omp target
  { }
}""",
    )
    log = tmp_path / "log"
    done = run(folder, program, FAKE_LOG=str(log))
    assert done.rc == 0, done.out
    calls = [line.split()[0] for line in log.read_text().splitlines()]
    assert calls == [
        *("init", "alloc", "host2dev", "host2dev", "run", "dev2host", "dev2host", "dev2host", "free"),
        *("run", "fini"),
    ]
