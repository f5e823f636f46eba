"""Whole OpenACC programs on the emulated device, in C, C++ and Fortran, and what they print when they are wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from intelmic_driver import PLUGIN

BIN = Path(sys.executable).parent
if not PLUGIN.exists() or not (BIN / "gompcc").exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

WRAPPERS = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}


def build(folder: Path, source: str, *options: str, name: str = "prog.c") -> Path:
    """Compile an OpenACC program."""
    path = folder / name
    path.write_text(source)
    program = path.with_suffix(".exe")
    words = [BIN / WRAPPERS[path.suffix], "-fopenacc", *options, "-o", program, path]
    subprocess.run(words, check=True, cwd=folder)
    return program


def run(program: Path, timeout: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    """Run it with a clean set of variables and these."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OFFLOAD_EMUL", "OMP_", "GOMP_", "ACC_"))}
    return subprocess.run([program], capture_output=True, text=True, env=clean | env, timeout=timeout, check=False)


def output(folder: Path, source: str, *options: str, name: str = "prog.c", **env: str) -> str:
    """What a good program prints."""
    done = run(build(folder, source, *options, name=name), **env)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


CONSTRUCTS = """
#include <openacc.h>
#include <stdio.h>
#define N 1000
int declared[4] = { 1, 2, 3, 4 };
#pragma acc declare copyin (declared)
int main (void)
{
  static int a[N], b[N];
  int *p = a, where = 0, sum = 0, total = 0;
  for (int i = 0; i < N; i++)
    a[i] = i;
#pragma acc parallel loop copyin (a) copyout (b) reduction (+:sum)
  for (int i = 0; i < N; i++)
    {
      b[i] = 2 * a[i];
      sum += a[i];
    }
  printf ("parallel %d %d\\n", b[N - 1], sum);
#pragma acc kernels loop copy (b)
  for (int i = 0; i < N; i++)
    b[i]++;
#pragma acc serial copyout (where)
  where = acc_on_device (acc_device_not_host) + 2 * acc_on_device (acc_device_host);
  printf ("kernels %d serial %d\\n", b[1], where);
#pragma acc enter data copyin (a)
  a[3] = 77;
#pragma acc update device (a[3:1])
#pragma acc data present (a)
  {
#pragma acc host_data use_device (a)
    printf ("host_data %d\\n", (void *) a == acc_deviceptr (p));
#pragma acc parallel loop present (a)
    for (int i = 0; i < N; i++)
      a[i] += declared[3];
  }
  printf ("before %d ", a[3]);
#pragma acc update self (a[3:1])
  printf ("after %d %d\\n", a[3], a[4]);
#pragma acc exit data copyout (a)
  printf ("exit %d present %d\\n", a[4], acc_is_present (a, sizeof a));
#pragma acc parallel if (0) copy (total)
  total = acc_on_device (acc_device_host);
  printf ("if %d\\n", total);
}
"""
CONSTRUCTS_OUTPUT = """parallel 1998 499500
kernels 3 serial 1
host_data 1
before 77 after 81 4
exit 8 present 0
if 1
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name", ["prog.c", "prog.cc"])
def test_constructs(tmp_path: Path, name: str, level: str) -> None:
    """Each construct does what it says, on the device."""
    assert output(tmp_path, CONSTRUCTS, level, name=name) == CONSTRUCTS_OUTPUT


def test_the_regions_run_on_the_device(tmp_path: Path) -> None:
    """The runtime's own count says so: all but the one with if (0)."""
    done = run(build(tmp_path, CONSTRUCTS, "-O1"), GOMPY_STATS="1")
    assert "regions: 4 on device 0 (intelmic), 1 on the host" in done.stderr


def test_acc_device_type_host(tmp_path: Path) -> None:
    """ACC_DEVICE_TYPE=host: the same results but for what shows that memory is shared."""
    done = run(build(tmp_path, CONSTRUCTS, "-O1"), ACC_DEVICE_TYPE="host")
    assert done.returncode == 0 and "serial 2\n" in done.stdout and "before 81" in done.stdout


FORTRAN = """
program p
  use openacc
  implicit none
  type t
    integer, allocatable :: x(:)
  end type
  type(t) :: v
  integer :: i, s
  logical :: dev
  allocate (v%x(50))
  v%x = 1
  s = 0
  !$acc enter data copyin(v)
  !$acc enter data copyin(v%x)
  !$acc parallel loop present(v) reduction(+:s) copyout(dev)
  do i = 1, 50
    v%x(i) = v%x(i) + i
    s = s + v%x(i)
    dev = acc_on_device (acc_device_not_host)
  end do
  !$acc exit data copyout(v%x)
  !$acc exit data delete(v)
  print '(3(i0,1x),l1)', s, v%x(50), acc_get_num_devices (acc_device_not_host), dev
end program
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_fortran(tmp_path: Path, level: str) -> None:
    """An allocatable component, the module's interfaces, acc_on_device."""
    assert output(tmp_path, FORTRAN, level, name="prog.f90") == "1325 51 1 T\n"


MEETING = """
#include <openacc.h>
#include <stdio.h>
#include <unistd.h>
#pragma acc routine seq
extern int usleep (unsigned);
int begun[2], go;
int main (void)
{
  int x = 1, y = 1;
#pragma acc enter data copyin (begun, go)
#pragma acc parallel async (1) copy (x) present (begun, go)
  {
    __atomic_store_n (&begun[0], 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n (&begun[1], __ATOMIC_SEQ_CST) || !__atomic_load_n (&go, __ATOMIC_SEQ_CST))
      usleep (100);
    x += 1;
  }
#pragma acc parallel async (2) copy (y) present (begun, go)
  {
    __atomic_store_n (&begun[1], 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n (&begun[0], __ATOMIC_SEQ_CST))
      usleep (100);
    y += 1;
  }
#pragma acc parallel async (2) wait (1) copy (y)
  y *= 10;
  int early = acc_async_test (1) + acc_async_test (2);
  go = 1;
#pragma acc update device (go)
#pragma acc wait
  printf ("%d %d early %d late %d\\n", x, y, early, acc_async_test_all ());
}
"""


def test_queues_are_asynchronous(tmp_path: Path) -> None:
    """Two regions that wait for each other overlap; a third one waits for both, and sees what the second left.

    The first lasts until the host lets it go, which it does when it has queued all.
    """
    assert output(tmp_path, MEETING, "-O1") == "2 20 early 0 late 1\n"


def test_queues_that_use_the_same_data_in_turn(tmp_path: Path) -> None:
    """What one queue has still to copy to the host is there before another reads it, large objects and attached too."""
    source = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#pragma acc routine seq
extern int usleep (unsigned);
typedef struct { int *a, *b; } pair;
int main (void)
{
  enum { N = 20000, TIMES = 20 };
  pair m = { calloc (N, sizeof (int)), calloc (N, sizeof (int)) };
  int *a = m.a, *b = m.b, small = 0, bad = 0;
#pragma acc enter data copyin (m)
  for (int i = 0; i < TIMES; i++)
    {
#pragma acc parallel copy (small) async (i % 3)
      { usleep (10000); small++; }
#pragma acc parallel loop copy (m.a[0:N]) async (i % 2)
      for (int j = 0; j < N; j++)
        m.a[j]++;
#pragma acc parallel loop copy (m.b[0:100]) async ((i + 1) % 2)
      for (int j = 0; j < 100; j++)
        m.b[j]++;
    }
#pragma acc exit data copyout (m) wait (0, 1, 2)
  for (int i = 0; i < 100; i++)
    bad += m.a[N - 1 - i] != TIMES || m.b[i] != TIMES;
  printf ("%d %d %d %d\\n", small, bad, m.a == a, m.b == b);
}
"""
    assert output(tmp_path, source, "-O1") == "20 0 1 1\n"


def test_scalars_that_change_while_queues_work(tmp_path: Path) -> None:
    """In a data construct GCC maps the bounds of a block as tofrom: the program may go on to the next block anyway."""
    source = """
#include <stdio.h>
#define H 64
#define W 100
static unsigned char in[H][W], out[H][W];
int main (void)
{
  int bad = 0;
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      in[y][x] = y + x;
#pragma acc data create (in, out)
  {
    for (int b = 0; b < 32; b++)
      {
        long start = b * 2, end = start + 2;
#pragma acc update device (in[start:2]) async (b % 2)
#pragma acc parallel loop collapse (2) async (b % 2)
        for (long y = start; y < end; y++)
          for (int x = 0; x < W; x++)
            out[y][x] = in[y][x] + 1;
#pragma acc update self (out[start:2]) async (b % 2)
      }
#pragma acc wait
  }
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      bad += out[y][x] != (unsigned char) (y + x + 1);
  printf ("%d\\n", bad);
}
"""
    program = build(tmp_path, source, "-O1")
    for _ in range(5):
        done = run(program)
        assert done.stdout == "0\n" and not done.stderr, done


def test_queues_end_in_any_order(tmp_path: Path) -> None:
    """A program that ends while a queue has still to come to its wait for another, which is empty by then."""
    source = """
#include <unistd.h>
#pragma acc routine seq
extern int usleep (unsigned);
int main (void)
{
#pragma acc parallel async (0)
  usleep (100000);
#pragma acc parallel async (1)
  usleep (500000);
#pragma acc parallel async (1) wait (0)
  ;
}
"""
    # The allocator fills what is freed, here so that the queue would seem to have done fewer jobs than were waited for.
    done = run(build(tmp_path, source, "-O1"), MALLOC_PERTURB_="255", timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_attached_pointers_come_back_as_they_are(tmp_path: Path) -> None:
    """A copy to the host that finds a pointer still attached brings the device's address, as in libgomp."""
    source = """
#include <openacc.h>
#include <stdio.h>
struct { int *p; int n; } s, t;
int x[4];
int main (void)
{
  s.p = t.p = x;
  void *device;
#pragma acc enter data copyin (x, t)
#pragma acc data copy (s)
  {
    device = acc_deviceptr (x);
#pragma acc enter data attach (s.p, t.p)
#pragma acc parallel present (s)
    s.n = 5;
  }
#pragma acc exit data copyout (t)
  printf ("%d %d %d\\n", s.p == device, t.p == device, s.n);
  s.p = t.p = x;
#pragma acc enter data copyin (t)
#pragma acc data copy (s)
  {
#pragma acc enter data attach (s.p, t.p)
#pragma acc exit data detach (s.p)
  }
#pragma acc exit data detach (t.p)
#pragma acc exit data copyout (t)
  printf ("%d %d\\n", s.p == x, t.p == x);
}
"""
    assert output(tmp_path, source, "-O1") == "1 1 5\n1 1\n"


NO_LENGTH = """
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  int none = argc - 1, *a = calloc (100, sizeof *a), *b = calloc (100, sizeof *b);
#pragma acc enter data create (a[0:none]) copyin (b[0:100])
#pragma acc update self (a[0:none], b[7:none])
#pragma acc update device (b[0:none])
#pragma acc update self (a[0:none]) if_present async (1)
#pragma acc data copy (a[0:none]) present (b[0:none])
  ;
#pragma acc enter data create (b[0:none])
#pragma acc exit data delete (b[0:100])
  printf ("%d %d\\n", acc_is_present (a, 1), acc_is_present (b, 400));
#pragma acc exit data copyout (b[0:none]) delete (a[0:none])
  printf ("%d\\n", acc_is_present (b, 1));
#pragma acc enter data copyin (b[0:100])
#pragma acc enter data copyin (b[0:100])
#pragma acc exit data delete (b[0:none]) finalize
  printf ("%d\\n", acc_is_present (b, 1));
}
"""


def test_sections_without_length(tmp_path: Path) -> None:
    """A length that is 0 at run time: nothing is mapped or copied, and what is mapped there is counted."""
    assert output(tmp_path, NO_LENGTH) == "0 1\n0\n0\n"


CONSTANT = """
static const int table[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const struct { const char *name; int value; } pairs[2] = { { "one", 1 }, { "two", 2 } };
int constants (int k)
{
  int s = 0;
#pragma acc parallel copy (s)
  s += table[k];
#pragma acc parallel copy (s) async (1)
  s += table[k + 1] + pairs[k].value;
#pragma acc wait
#pragma acc enter data copyin (table)
#pragma acc update self (table)
#pragma acc exit data copyout (table)
  return s;
}
"""
CONSTANT_MAIN = """
#include <stdio.h>
int constants (int);
int main (int argc, char **argv) { printf ("%d\\n", constants (argc)); }
"""
CONSTANT_LIBRARY = """
#include <dlfcn.h>
#include <stdio.h>
int main (int argc, char **argv)
{
  for (int round = 0; round < 2; round++)
    {
      void *library = dlopen ("./constants.so", RTLD_NOW);
      int (*constants) (int) = library ? (int (*) (int)) dlsym (library, "constants") : NULL;
      if (constants == NULL)
        return puts (dlerror ()), 1;
      printf ("%d\\n", constants (argc));
      dlclose (library);
    }
}
"""
CONSTANT_FORTRAN = """
program p
  implicit none
  real, parameter :: w(3) = [1., 2., 4.]
  real :: s
  integer :: i, k
  s = 0
  k = 3
  !$acc parallel loop reduction(+:s)
  do i = 1, k
    s = s + w(i)
  end do
  print '(f4.1)', s
  call add(3)
contains
  subroutine add(n)
    integer :: n, j
    real :: t(3)
    !$acc kernels copyout(t)
    do j = 1, n
      t(j) = w(j) + n
    end do
    !$acc end kernels
    print '(3f4.1)', t
  end subroutine
end program
"""


@pytest.mark.slow(sample=3)
@pytest.mark.parametrize("option", ["-pie", "-no-pie", "-Wl,-z,norelro", "-Wl,-z,noseparate-code"])
def test_constants_are_not_copied_back(tmp_path: Path, option: str) -> None:
    """GCC 12 has a region copy the constants that it reads to the device and back; the host's cannot be written."""
    assert output(tmp_path, CONSTANT + CONSTANT_MAIN, option) == "7\n"


def test_constants_of_a_library(tmp_path: Path) -> None:
    build(tmp_path, CONSTANT, "-fPIC", "-shared", name="constants.c").rename(tmp_path / "constants.so")
    program = build(tmp_path, CONSTANT_LIBRARY)
    done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n7\n", "")


def test_constants_of_fortran(tmp_path: Path) -> None:
    assert output(tmp_path, CONSTANT_FORTRAN, name="prog.f90") == " 7.0\n 4.0 5.0 7.0\n"


DECLARED = """
#include <openacc.h>
#include <stdio.h>
int v = 2;
#pragma acc declare create (v)
int main (void)
{
  int k = 0;
  v = 3;
#pragma acc update device (v)
  acc_update_device (&v, sizeof v);
#pragma acc parallel copyout (k)
  k = v;
  printf ("%d\\n", k);
#pragma acc update self (v)
}
"""


def test_an_update_that_gcc_has_emptied_is_told(tmp_path: Path) -> None:
    """GCC 12 compiles nothing of it; once a program."""
    program = build(tmp_path, DECLARED)
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "3\n")
    assert (
        done.stderr.count(
            "libgompy: an OpenACC update has nothing to update: GCC 12 leaves variables of 'acc declare' out; "
            "acc_update_device and acc_update_self work\n"
        )
        == 1
    )
    assert run(program, ACC_DEVICE_TYPE="host").stderr == ""


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="lld is not installed")
def test_a_program_without_device_code_says_what_helps(tmp_path: Path) -> None:
    program = build(tmp_path, CONSTANT + CONSTANT_MAIN, "-fuse-ld=lld")
    done = run(program)
    assert done.returncode == 1
    assert done.stderr == (
        "\nlibgomp: target function wasn't mapped: the program has no device code; ACC_DEVICE_TYPE=host runs it on the "
        "host\n"
    )
    assert run(program, ACC_DEVICE_TYPE="host").stdout == "7\n"


THREADS = """
#include <openacc.h>
#include <pthread.h>
#include <stdio.h>
static int a[100], b[100], *d;
static void *in_a_thread (void *which)
{
  switch ((long) which)
    {
    case 0: acc_wait (1); break;
    case 1: acc_wait_all (); break;
    case 2: while (!acc_async_test (1)) ; break;
    case 3: while (!acc_async_test_all ()) ; break;
    case 4: acc_copyout (a, sizeof a); break;
    case 5: acc_memcpy_from_device (b, d, sizeof b); break;
    case 6: acc_wait_async (1, 2); break;
    case 7: acc_free (d); break;
    case 8: acc_delete (a, sizeof a); break;
    }
  return NULL;
}
int main (void)
{
  pthread_t t;
  acc_wait_all ();
  d = acc_malloc (sizeof b);
#pragma acc enter data create (a)
#pragma acc parallel loop present (a) deviceptr (d) async (1)
  for (int i = 0; i < 100; i++)
    a[i] = d[i] = i;
  for (long which = 0; which < 9; which++)
    {
      pthread_create (&t, NULL, in_a_thread, (void *) which);
      pthread_join (t, NULL);
    }
  printf ("%d %d %d\\n", a[99], b[98], acc_is_present (a, 4));
}
"""


def test_threads_that_begin_with_any_call(tmp_path: Path) -> None:
    assert output(tmp_path, THREADS) == "99 98 0\n"


@pytest.mark.parametrize("wanted", ["1", "0"])
def test_error_stop_has_a_backtrace(tmp_path: Path, wanted: str) -> None:
    """error stop in a region ends the program as on the host: with a backtrace by default."""
    source = """
program main
  print *, "before"
  !$acc parallel
  error stop 35
  !$acc end parallel
  print *, "after"
end program
"""
    program = build(tmp_path, source, "-g", name="stops.f90")
    done = run(program, **({} if wanted == "1" else {"GFORTRAN_ERROR_BACKTRACE": "0"}))
    assert done.returncode == 35
    assert "ERROR STOP 35" in done.stderr
    assert ("Error termination. Backtrace:" in done.stderr) == (wanted == "1"), done.stderr
    assert ("stops.f90:5" in done.stderr) == (wanted == "1"), done.stderr


def test_values_of_the_call_go_into_a_queue(tmp_path: Path) -> None:
    """firstprivate in a queue: what the variable was at the construct."""
    source = """
#include <stdio.h>
#include <unistd.h>
#pragma acc routine seq
extern int usleep (unsigned);
int main (void)
{
  int seen[4] = { 0 };
  struct { long v[9]; } s = { { 0 } };
#pragma acc data copyout (seen)
  {
#pragma acc parallel async (1)
    usleep (100000);
    for (int i = 0; i < 4; i++)
      {
        s.v[8] = i;
#pragma acc parallel async (1) firstprivate (s, i) present (seen)
        seen[i] = 10 * s.v[8] + i;
      }
#pragma acc wait (1)
  }
  for (int i = 0; i < 4; i++)
    printf ("%d ", seen[i]);
}
"""
    assert output(tmp_path, source, "-O1") == "0 11 22 33 "


ERRORS = {
    "acc_copyin (0, 8);": r"\[\(nil\),\+8\] is a bad range",
    "acc_update_device (a, sizeof a);": r"\[0x[0-9a-f]+,40\] is not mapped",
    "acc_copyin (a, 8); acc_copyin (a, 16);": r"\[0x[0-9a-f]+,\+16\] not mapped",
    "acc_set_device_num (3, acc_device_not_host);": "device 3 out of range",
    "acc_shutdown (acc_device_host); acc_shutdown (acc_device_host);": "no device initialized",
    "acc_get_num_devices ((acc_device_t) 99);": "unknown device type 99",
    "acc_init (acc_device_nvidia);": "device type nvidia not supported",
    "acc_wait (-7);": r"invalid async-argument: -7",
    "acc_map_data (a, acc_malloc (40), 40); acc_map_data (a, acc_malloc (40), 40);": r"host address .* already mapped",
    "acc_create (a, 40); acc_unmap_data (a);": "refusing to unmap block .* that has not been mapped by 'acc_map_data'",
    "acc_free (acc_create (a, 40));": "refusing to free device memory space at 0x[0-9a-f]+ that is still mapped",
    "acc_free ((char *) acc_malloc (512) + 256);": "error in freeing device memory in acc_free",
    "acc_memcpy_to_device (acc_malloc (64), a, 4000);": "invalid size",
    "acc_memcpy_to_device (a, a, 4);": "invalid host or device address",
    "acc_create (p, sizeof *p); acc_detach ((void **) p);": "no attachment counters for struct",
    "\n#pragma acc parallel present (a)\n  a[0] = 1;": r"present clause: !acc_is_present \(0x[0-9a-f]+, 40 \(0x28\)\)",
}


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize("statement", ERRORS)
def test_errors_have_libgomps_texts(tmp_path: Path, statement: str) -> None:
    """A mistake ends the program with status 1 and libgomp's line."""
    source = f"""
#include <openacc.h>
int a[10];
int *pointer = a, **p = &pointer;
int main (void)
{{
  acc_set_device_type (acc_device_not_host);
  acc_is_present (a, 4);
  {statement.replace("acc_shutdown", "acc_init (acc_device_host); acc_shutdown", 1)}
  return 0;
}}
"""
    done = run(build(tmp_path, source, "-w"))
    assert done.returncode == 1
    assert re.search(f"\nlibgomp: {ERRORS[statement]}", done.stderr), done.stderr


PROFILE = """
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <string.h>
static void event (acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
  printf ("%d", p->event_type);
  if (p->event_type == acc_ev_enqueue_launch_start)
    printf ("(%d)", strstr (e->launch_event.kernel_name, "main") != NULL);
  if (p->event_type == acc_ev_alloc)
    printf ("(%zu)", e->data_event.bytes);
  printf (" ");
}
void acc_register_library (acc_prof_reg reg, acc_prof_reg unreg, acc_prof_lookup_func lookup)
{
  for (int i = acc_ev_device_init_start; i < acc_ev_last; i++)
    reg ((acc_event_t) i, event, acc_reg);
}
int main (void)
{
  static int x[100];
  acc_register_library (acc_prof_register, acc_prof_unregister, 0);
#pragma acc parallel copy (x)
  x[0] = 1;
  printf ("\\n%d\\n", x[0]);
}
"""


def test_profiling_events(tmp_path: Path) -> None:
    """A region's events in their order: device, construct, data with its block (as libgomp 7 more), launch."""
    text = output(tmp_path, PROFILE, "-O1", "-w")
    assert text.splitlines() == ["1 2 16 10 8(407) 11 18(1) 19 12 9 13 17 ", "1"]


BLOCKS = """
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
static const char *taken;
static void event (acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
  const char *block = e->data_event.device_ptr;
  if (p->event_type == acc_ev_alloc)
    taken = block;
  printf ("%s %zu %d\\n", p->event_type == acc_ev_alloc ? "alloc" : "free",
          p->event_type == acc_ev_alloc ? e->data_event.bytes : 0, block == taken);
}
static void begins (void *host)
{
  printf ("begins %d\\n", taken <= (char *) acc_deviceptr (host) && (char *) acc_deviceptr (host) - taken < 8);
}
int main (void)
{
  static int x[100], y[5];
  char *h = malloc (1000);
  acc_init (acc_device_not_host);
  acc_prof_register (acc_ev_alloc, event, acc_reg);
  acc_prof_register (acc_ev_free, event, acc_reg);
#pragma acc enter data create (h[0:1000])
  begins (h);
#pragma acc exit data delete (h[0:1000])
#pragma acc data copyin (x)
  begins (x);
#pragma acc parallel copy (x) copyin (y)
  x[0] = y[0];
  acc_free (acc_malloc (24));
  acc_prof_unregister (acc_ev_alloc, event, acc_reg);
#pragma acc enter data create (x)
#pragma acc exit data delete (x)
}
"""
TOLD_BLOCKS = """\
alloc 1007 1
begins 1
free 0 1
alloc 407 1
begins 1
free 0 1
alloc 427 1
free 0 1
alloc 24 1
free 0 1
free 0 0
"""


def test_profiling_events_tell_blocks_without_the_gaps_of_checks(tmp_path: Path) -> None:
    """The sizes of blocks and where they begin are those of a run without GOMPY_CHECK."""
    program = build(tmp_path, BLOCKS, "-O1", "-w")
    plain, checked = run(program), run(program, GOMPY_CHECK="1")
    assert (plain.returncode, plain.stdout) == (0, TOLD_BLOCKS)
    assert (checked.returncode, checked.stdout) == (0, TOLD_BLOCKS)


SAME_ADDRESS = """
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
void GOMP_PLUGIN_goacc_profiling_dispatch (acc_prof_info *, acc_event_info *, acc_api_info *);
static char *taken, *wanted;
static int others, freed;
static acc_prof_info first;
static void event (acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
  char *block = (char *) e->data_event.device_ptr;
  if (p->event_type == acc_ev_alloc)
    {
      taken = block;
      first = *p;
    }
  else if (p->device_number != first.device_number)
    others += block != wanted;
  else
    freed = block == taken;
}
int main (void)
{
  char *h = malloc (1000);
  acc_init (acc_device_not_host);
  acc_prof_register (acc_ev_alloc, event, acc_reg);
  acc_prof_register (acc_ev_free, event, acc_reg);
#pragma acc enter data create (h[0:1000])
  for (wanted = taken - 16384; wanted <= taken; wanted++)
    {
      acc_prof_info other = first;
      acc_event_info e = { acc_ev_free };
      acc_api_info api = { 0 };
      other.event_type = e.event_type = acc_ev_free;
      other.device_number++;
      e.data_event.device_ptr = wanted;
      GOMP_PLUGIN_goacc_profiling_dispatch (&other, &e, &api);
    }
#pragma acc exit data delete (h[0:1000])
  printf ("%d changed, %d\\n", others, freed);
}
"""


def test_profiling_events_of_two_devices_with_blocks_at_one_address(tmp_path: Path) -> None:
    """A plugin tells of another device's blocks, one at each place where this one's can begin."""
    program = build(tmp_path, SAME_ADDRESS, "-O1", "-w")
    plain, checked = run(program), run(program, GOMPY_CHECK="1")
    assert (plain.returncode, plain.stdout) == (checked.returncode, checked.stdout) == (0, "0 changed, 1\n")


def test_a_dead_device_ends_a_waiting_program(tmp_path: Path) -> None:
    """A fault in a queue is told, and the program does not hang at its end."""
    source = """
#include <stdlib.h>
int main (void)
{
  int *p = malloc (40);
#pragma acc parallel async (1) deviceptr (p)
  p[0] = 1;
#pragma acc wait (1)
  return 0;
}
"""
    done = run(build(tmp_path, source, "-O1", "-g"), timeout=60)
    assert done.returncode == 1 and "main._omp_fn.0 (prog.c:7): signal 11" in done.stderr


def test_properties(tmp_path: Path) -> None:
    """The device answers as its own kind."""
    source = """
#include <openacc.h>
#include <stdio.h>
int main (void)
{
  acc_device_t t = acc_get_device_type ();
  printf ("%d %s %d\\n", t, acc_get_property_string (0, t, acc_property_name), acc_get_num_devices (t));
  printf ("%zu\\n", acc_get_property (1, acc_device_not_host, acc_property_memory) >> 20);
}
"""
    text = output(tmp_path, source, OFFLOAD_EMUL_NUM="2", OFFLOAD_EMUL_MEM="256M")
    assert text == "6 intelmic 2\n256\n"


TWO_LANGUAGES = """
program both
  use iso_c_binding
  use openacc
  interface
    integer(c_int) function from_c () bind(c)
      import c_int
    end function
  end interface
  integer :: here
  here = 7
  !$acc parallel copy(here)
  here = merge (1, 0, acc_on_device (acc_device_not_host))
  !$acc end parallel
  print '(2i2)', from_c (), here
end program
"""
FROM_C = """
#include <openacc.h>
int from_c (void)
{
  int r = 7;
#pragma acc parallel copy(r)
  r = acc_on_device (acc_device_not_host) ? 1 : 0;
  return r;
}
"""


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("more", [[], ["-save-temps"], ["-flto"], ["-foffload-options=-O1"]], ids=" ".join)
def test_c_and_fortran_in_one_command(tmp_path: Path, more: list[str]) -> None:
    """Each asks where it is, and neither compiler warns of an option of the other."""
    (tmp_path / "m.f90").write_text(TWO_LANGUAGES)
    (tmp_path / "c.c").write_text(FROM_C)
    command = [str(BIN / "gompfortran"), "-fopenacc", "-O1", *more, "c.c", "m.f90", "-o", "both"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert built.stderr == ""
    done = run(tmp_path / "both")
    assert (done.returncode, done.stdout, done.stderr) == (0, " 1 1\n", "")
