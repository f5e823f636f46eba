"""Programs for nvptx on the emulated GPU: compiler, host object, runtime, plugin and driver together."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, needs
from nvptx_tools import has_compiler, make_tools, under_stock
from plugin_tools import DEATHS, MAPS, build

from gompy.driver import paths

pytestmark = [has_all, needs("gcc"), has_compiler, has_driver, has_executor]
NOTE = "libgompy: nvptx: no CUDA device, regions run on the emulated GPU (GOMPY_CUDA=emulated or real to choose)\n"

SUM = r"""
#include <math.h>
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
static double weight (int i) { return sqrt (i); }
int device = -1;
#pragma omp end declare target
int late[4] = { 1, 2, 3, 4 };
#pragma omp declare target link (late)
int main (void)
{
  double a[1000], sum = 0;
  int where = 1, number = -2;
#pragma omp target teams distribute parallel for map(from: a)
  for (int i = 0; i < 1000; i++)
    a[i] = weight (i);
#pragma omp target teams distribute parallel for simd map(to: a) reduction(+: sum)
  for (int i = 0; i < 1000; i++)
    sum += a[i] * a[i];
#pragma omp target map(from: where, number) map(tofrom: late)
  { where = omp_is_initial_device (); number = omp_get_device_num (); late[1] *= 21; device = 5; }
#pragma omp target update from(device)
  printf ("%.1f %d %d %d %d\n", sum, where, number, late[1], device);
  return 0;
}
"""
ACC = r"""
#include <openacc.h>
#include <stdio.h>
#define N 1000
int a[N], b[N];
int main (void)
{
  int sum = 0;
#pragma acc data copyin(a) copyout(b)
  {
#pragma acc parallel loop gang vector async(1)
    for (int i = 0; i < N; i++) b[i] = i;
#pragma acc parallel loop gang worker vector async(1)
    for (int i = 0; i < N; i++) b[i] += a[i] + 1;
#pragma acc wait(1) async(2)
#pragma acc parallel loop reduction(+: sum) copy(sum) num_gangs(3) num_workers(2) vector_length(64) async(2)
    for (int i = 0; i < N; i++) sum += b[i];
#pragma acc wait
  }
  printf ("%d %d %d\n", sum, b[N - 1], acc_get_device_type () == acc_device_nvidia);
  return 0;
}
"""
THREADS = r"""
#include <omp.h>
#include <stdio.h>
int main (void)
{
  int total[8] = { 0 };
#pragma omp parallel for num_threads(8)
  for (int t = 0; t < 8; t++)
    for (int i = 0; i < 20; i++)
      {
        int s = i;
#pragma omp target map(tofrom: s) firstprivate(t)
        s += t;
        total[t] += s;
      }
#pragma omp parallel
#pragma omp single
  for (int t = 0; t < 8; t++)
    {
#pragma omp target nowait map(tofrom: total[t:1]) depend(inout: total[t])
      total[t] += 1000;
    }
  for (int t = 0; t < 8; t++)
    printf ("%d ", total[t]);
  printf ("\n");
  return 0;
}
"""
ALLOCATES = r"""
#include <assert.h>
#include <stdio.h>
struct Pair { int first; double rest[4]; Pair (int x) : first (x) { rest[3] = x; } };
template <class T> static T *hide (T *p) { asm volatile ("" : "+r" (p)); return p; }
int main (int argc, char **)
{
  int r = 0, n = 5, s = 0;
#pragma omp target map(r) firstprivate(n)
  {
    int *p = hide (new int[n]);
    for (int i = 0; i < n; i++)
      p[i] = i;
    for (int i = 0; i < n; i++)
      r += p[i];
    delete[] p;
    Pair *q = hide (new Pair (7));
    r += q->first + q->rest[3];
    delete q;
  }
#pragma omp target teams distribute parallel for reduction(+: s) num_threads(4)
  for (int i = 0; i < 64; i++)
    {
      int *p = hide (new int (i));
      assert (*p == i);
      s += *p;
      delete p;
    }
  printf ("%d %d\n", r, s);
#pragma omp target firstprivate(argc)
  assert (argc == 1);
  return 0;
}
"""
NEWER_LAUNCH = r"""
#include <stdint.h>
#include <stdio.h>
typedef void target_ext (int, void (*) (void *), size_t, void **, size_t *, unsigned short *, unsigned, void **,
                         void **);
extern target_ext __real_GOMP_target_ext;
void __wrap_GOMP_target_ext (int device, void (*fn) (void *), size_t n, void **host, size_t *sizes,
                             unsigned short *kinds, unsigned flags, void **depend, void **args)
{
  for (int i = 0; args[i] != NULL; i++)  /* num_teams 1, as gcc 12 says it; gcc 13 and later: -2 */
    if (args[i] == (void *) 0x10100)
      args[i] = (void *) (intptr_t) ((-2l << 16) | 0x100);
  __real_GOMP_target_ext (device, fn, n, host, sizes, kinds, flags, depend, args);
}
int main (void)
{
  int y = 0, teams = 0;
#pragma omp target map(tofrom: y, teams)
  { y += 2; __atomic_fetch_add (&teams, 1, __ATOMIC_RELAXED); }
  printf ("%d %d\n", y, teams);
}
"""
"""A target without teams launched as gcc 13 and later do."""
FRAMES = r"""
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
__attribute__ ((noinline)) static int deeper (int t)
{
  volatile int v[50000];
  int bad = 0;
  for (int i = 0; i < 50000; i++)
    v[i] = i ^ t;
#pragma omp barrier
  for (int i = 0; i < 50000; i++)
    bad += v[i] != (i ^ t);
  return bad;
}
#pragma omp end declare target
int main (void)
{
  int bad = 0, worse = 0;
#pragma omp target parallel num_threads(4) map(tofrom: bad, worse) reduction(+: bad, worse)
  {
    volatile int v[75000];
    int t = 1 + omp_get_thread_num ();
    for (int i = 0; i < 75000; i++)
      v[i] = i * t;
    worse += deeper (t);
    for (int i = 0; i < 75000; i++)
      bad += v[i] != i * t;
  }
  printf ("%d %d\n", bad, worse);
  return 0;
}
"""
TASKS = r"""
#include <stdio.h>
int main (void)
{
  int x[24], y[24], done = 0;
  for (int i = 0; i < 24; i++)
    x[i] = y[i] = i;
#pragma omp target map(tofrom: x, y, done)
#pragma omp parallel num_threads(8)
  {
#pragma omp single
#pragma omp taskloop
    for (int i = 0; i < 24; i++)
      x[i] += 2;
#pragma omp single
#pragma omp taskloop simd num_tasks(5)
    for (int i = 0; i < 24; i++)
      y[i] = x[i];
#pragma omp masked
    for (int i = 0; i < 5; i++)
      {
#pragma omp task depend(inout: done)
        done++;
      }
  }
  for (int i = 0; i < 24; i++)
    if (y[i] != i + 2)
      return 1;
  printf ("%d\n", done);
  return 0;
}
"""
TRAP = r"""
#include <stdlib.h>
void work (void)
{
#pragma omp target
  abort ();
}
int main (void) { work (); return 0; }
"""
LIBRARY = r"""
#pragma omp declare target
int state = 30;
#pragma omp end declare target
int library (int x)
{
#pragma omp target map(x)
  x += state++;
  return x;
}
"""
OPENS = r"""
#include <dlfcn.h>
#include <stdio.h>
int main (void)
{
  int x = 1;
#pragma omp target map(x)
  x++;
  for (int i = 0; i < 2; i++)
    {
      void *h = dlopen ("./liblibrary.so", RTLD_NOW);
      int (*f) (int) = (int (*) (int)) dlsym (h, "library");
      x = f (x);
      printf ("%d\n", x);
      dlclose (h);
    }
  return 0;
}
"""
FORKS = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int region (void)
{
  int s = 1;
#pragma omp target map(s)
  s++;
  return s;
}
int main (void)
{
  int status, s = region ();
  if (fork () == 0)
    _exit (region () == 2 ? 7 : 8);
  wait (&status);
  printf ("%d %d %d\n", s, WEXITSTATUS (status), region ());
  return 0;
}
"""

QUEUES = r"""
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
int main (void)
{
  size_t big = 70 << 20;
  char *host = malloc (big), *other = malloc (big);
  int x[10] = { 0 };
  for (int round = 0; round < 3; round++)
    {
      char *dev = acc_create (host, big);
#pragma acc enter data create(other[0:big])
#pragma acc parallel loop deviceptr(dev) async(1)
      for (int i = 0; i < 1000000; i++) dev[i] = i;
#pragma acc parallel loop copy(x) async(2)
      for (int i = 0; i < 10; i++) x[i] += i;
#pragma acc exit data delete(other[0:big]) async(1)
      acc_delete (host, big);
    }
  acc_wait_all ();
  printf ("%d\n", x[9]);
}
"""

KEPT = r"""
#include <omp.h>
#include <stdio.h>
#define N 40000
static void *p[N];
static void round (int size, int step)
{
  for (int i = 0; i < N; i++) p[i] = omp_target_alloc (size + i * step, 0);
  for (int i = 0; i < N; i++) omp_target_free (p[i], 0);
}
int main (void)
{
#pragma omp target
  ;
  round (64, 0);
  round (80, 8);
  round (84, 8);
  puts ("done");
  return 0;
}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return make_tools(tmp_path_factory, GOMPY_CUDA="emulated", GOMPY_STATS="1")


@pytest.mark.parametrize("target", ["nvptx-none", "intelmic"])
def test_launch_words_of_newer_compilers(tools: Tools, target: str) -> None:
    tools.write("newer.c", NEWER_LAUNCH)
    words = ["-fopenmp", "-O1", f"-foffload={target}", "-Wl,--wrap=GOMP_target_ext", "newer.c", "-o", f"newer-{target}"]
    tools.ok("gompcc", *words)
    assert tools.ok(f"./newer-{target}") == "2 1\n"


def test_auto_takes_it_and_says_so(tools: Tools) -> None:
    program = build(tools, "sum.c", SUM, "-foffload=nvptx-none", "-lm")
    done = tools.run(program, env={"GOMPY_CUDA": "auto"})
    assert done.stdout == "499500.0 0 0 42 5\n"
    assert done.stderr == NOTE + "libgompy: regions: 3 on device 0 (nvptx), 0 on the host\n"
    done = tools.run(program)
    assert done.stdout == "499500.0 0 0 42 5\n" and NOTE not in done.stderr
    done = tools.run(program, env={"GOMPY_CUDA": "real"})
    assert done.stdout == "499500.0 1 0 42 5\n" and "3 on the host: there is no device" in done.stderr


def test_launches_wake_no_thread(tools: Tools) -> None:
    """The stream's thread leaves regions to the thread that waits for them: it took one of ten, and slept as often.

    On a busy machine the thread that waits loses its processor between the two steps, and the stream's is woken: the
    quietest of five runs counts.
    """
    source = Path(__file__).resolve().parent.parent / "programs" / "stream_wakes.c"
    program = build(tools, "wakes.c", source.read_text(), "-foffload=nvptx-none")
    assert min(int(tools.ok(program, "20000")) for _ in range(5)) < 20000 // 50


@pytest.mark.slow
def test_tasks_of_a_region(tools: Tools) -> None:
    """One thread makes tasks while others have not come to a barrier: GCC 12's libgomp hangs (nvptx_errata.py)."""
    program = build(tools, "tasks.c", TASKS, "-foffload=nvptx-none")
    done = tools.run("timeout", "90", program)
    assert (done.returncode, done.stdout) == (0, "5\n")


@needs("g++")
def test_new_and_assert(tools: Tools) -> None:
    """What GCC 12's libraries for nvptx lack (nvptx_library.py)."""
    program = build(tools, "allocates.cc", ALLOCATES, "-foffload=nvptx-none")
    assert tools.run(program).stdout == "24 2016\n"
    done = tools.run(program, "more")
    assert done.returncode == 1 and "in region main._omp_fn." in done.stderr
    assert done.stdout.endswith("allocates.cc:31: int main(int, char**): Assertion `argc == 1' failed.\n")


def test_beside_the_emulated_mic(tools: Tools) -> None:
    program = build(tools, "both.c", SUM, "-foffload=intelmic,nvptx-none", "-lm")
    for number in range(2):
        done = tools.run(program, env={"OMP_DEFAULT_DEVICE": str(number)})
        assert done.stdout == f"499500.0 0 {number} 42 5\n"
        assert f"3 on device {number}" in done.stderr


def test_mappings_of_every_kind(tools: Tools) -> None:
    program = build(tools, "maps.c", MAPS, "-foffload=nvptx-none")
    done = tools.run(program)
    assert done.returncode == 0 and "line" not in done.stdout, done.stdout + done.stderr


def test_time_grows_with_the_number_of_blocks_and_no_faster(tools: Tools) -> None:
    """Blocks that are kept for the next allocation: of one size, and of as many sizes as blocks; then the end."""
    program = build(tools, "kept.c", KEPT, "-foffload=nvptx-none")
    done = tools.run("timeout", "40", program)
    assert done.returncode == 0 and done.stdout == "done\n", done.stdout + done.stderr


def test_several_gpus_and_threads(tools: Tools) -> None:
    program = build(tools, "threads.c", THREADS, "-foffload=nvptx-none")
    expected = " ".join(str(190 + 20 * t + 1000) for t in range(8)) + " \n"
    done = tools.run(program, env={"GOMPY_CUDA_DEVICES": "2", "OMP_DEFAULT_DEVICE": "1"})
    assert done.stdout == expected and "168 on device 1 (nvptx)" in done.stderr


def test_a_region_whose_dependence_is_met_behind_it(tools: Tools) -> None:
    """nowait and depend: the thread goes on, and fulfils the event that the region waits for."""
    source = Path(__file__).resolve().parent.parent / "programs" / "check_depend_detach.c"
    program = build(tools, "detach.c", source.read_text(), "-foffload=nvptx-none")
    done = tools.run("timeout", "60", program)
    assert (done.returncode, done.stdout) == (0, "1 9\n") and "1 on device 0 (nvptx)" in done.stderr


@under_stock
def test_openacc_under_the_stock_libgomp(tools: Tools) -> None:
    """The thread data, queues and default dimensions that OpenACC wants of a plugin."""
    tools.write("acc.c", ACC)
    tools.ok("gcc", "-fopenacc", "-O2", "-foffload=nvptx-none", "-foffload=-Wa,--no-verify", "acc.c", "-o", "acc")
    done = tools.run(tools.work / "acc", env={"LD_LIBRARY_PATH": paths.LIBDIR, "GOMP_DEBUG": "1"})
    assert done.stdout == "500500 1000 1\n", done.stderr[-2000:]
    assert "nvptx_exec: kernel main$_omp_fn$2: launch gangs=3, workers=2, vectors=64" in done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "1"])
def test_memory_goes_back_while_queues_give_theirs(tools: Tools, check: str) -> None:
    """The driver's free waits for the queues, in which there are frees as well; blocks of this size are not kept."""
    tools.write("queues.c", QUEUES)
    tools.ok("gompcc", "-fopenacc", "-O1", "-foffload=nvptx-none", "queues.c", "-o", "queues")
    done = tools.run("timeout", "60", tools.work / "queues", env={"GOMPY_CHECK": check})
    assert (done.returncode, done.stdout) == (0, "27\n"), done.stderr


def test_a_trap_names_its_region(tools: Tools) -> None:
    program = build(tools, "trap.c", TRAP, "-foffload=nvptx-none")
    done = tools.run(program)
    assert done.returncode == 1 and done.stderr.count("libgomp: ") == 1
    said = "cuCtxSynchronize error: unspecified launch failure (perhaps abort was called); CUDA_ERROR_LAUNCH_FAILED"
    assert f"libgomp: {said} in region work._omp_fn.0 on device 0 (" in done.stderr


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize("check", ["0", "1"])
def test_a_failure_beside_other_threads(tools: Tools, check: str) -> None:
    """The program ends, whatever the others are doing, and nothing is said of what can't be given back."""
    program = build(tools, "deaths.c", DEATHS, "-foffload=nvptx-none")
    for mode in ("0", "1") * 3:
        done = tools.run("timeout", "20", program, mode, env={"GOMPY_CHECK": check})
        assert done.returncode == 1 and "illegal address 0x8 written" in done.stderr, (mode, done)
        assert "finalization" not in done.stderr


def test_libraries_that_come_and_go(tools: Tools) -> None:
    tools.write("library.c", LIBRARY)
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "-fPIC", "-shared", "library.c", "-o", "liblibrary.so")
    program = build(tools, "opens.c", OPENS, "-foffload=nvptx-none")
    done = tools.run(program)
    assert done.stdout == "32\n62\n" and "3 on device 0 (nvptx)" in done.stderr


def test_a_forked_child_runs_on_the_host(tools: Tools) -> None:
    done = tools.run(build(tools, "forks.c", FORKS, "-foffload=nvptx-none"))
    assert done.stdout == "2 7 2\n" and "2 on device 0 (nvptx)" in done.stderr


@needs("gfortran")
def test_fortran(tools: Tools) -> None:
    text = (
        "program a\n real :: x(3) = [1., 4., 9.]\n complex :: z\n integer :: k\n!$omp target map(x, z)\n"
        " x = sqrt (x)\n z = cmplx (sum (x), maxval (x)) ** 2\n!$omp end target\n"
        " print '(3f5.1, 2f7.1)', x, z\nend\n"
    )
    tools.write("a.f90", text)
    tools.ok("gompfortran", "-fopenmp", "-foffload=nvptx-none", "a.f90", "-o", "fortran")
    done = tools.run(tools.work / "fortran")
    assert done.stdout == "  1.0  2.0  3.0   27.0   36.0\n" and "1 on device 0 (nvptx)" in done.stderr


@pytest.mark.slow
def test_frames_larger_than_gccs_stacks(tools: Tools) -> None:
    """A warp's own 300 KB, and another function's: GCC's plugin gives each warp 128 KiB."""
    program = build(tools, "frames.c", FRAMES, "-foffload=nvptx-none", "-O0")
    for check in ("", "1"):
        done = tools.run(program, env={"GOMPY_CHECK": check, "GOMP_DEBUG": ""})
        assert done.returncode == 0 and done.stdout == "0 0\n", done.stdout + done.stderr


def test_without_the_emulated_driver(tools: Tools, tmp_path: Path) -> None:
    """An installation without it: nothing is found, and "emulated" is told so."""
    folder = tmp_path / "lib"
    folder.mkdir()
    for name in ("libgompy.so.1", "libgomp-plugin-nvptx.so.1"):
        (folder / name).write_bytes((Path(paths.LIBDIR) / name).read_bytes())
    program = build(tools, "alone.c", FORKS.replace("fork () == 0", "0"), "-foffload=nvptx-none")
    env = {"LD_PRELOAD": "libgompy.so.1", "LD_LIBRARY_PATH": str(folder)}
    done = tools.run(program, env=env)
    assert "GOMPY_CUDA=emulated, but there is no " in done.stderr and "2 on the host: there is no device" in done.stderr
    done = tools.run(program, env={**env, "GOMPY_CUDA": "auto"})
    assert done.stderr == "libgompy: regions: 2 on the host: there is no device\n"


def test_archive_members_that_are_not_linked(tools: Tools) -> None:
    """GCC PR109128: a common symbol draws the member to the linker plugin, its tables do not get into the program."""
    tools.write(
        "member.c",
        """#define PASTE(a, b) a##b
#define NAME(a, b) PASTE (a, b)
int NAME (common_, N);
#pragma omp declare target
int NAME (var_, N) = N;
#pragma omp end declare target
int NAME (f_, N) (int x)
{
#pragma omp target map(tofrom: x)
  x += NAME (var_, N);
  return x;
}
""",
    )
    tools.write("main.c", "int common_1, f_2 (int), f_3 (int);\nint main (void) { return f_3 (f_2 (10)) != 15; }\n")
    for number in (1, 2, 3):
        tools.ok("gompcc", "-fopenmp", "-fcommon", "-O1", "-c", f"-DN={number}", "member.c", "-o", f"m{number}.o")
    tools.ok("ar", "rcs", "libparts.a", "m1.o", "m2.o", "m3.o")
    tools.ok("gompcc", "-fopenmp", "-fcommon", "-foffload=nvptx-none", "main.c", "libparts.a", "-o", "prog")
    done = tools.run("./prog", env={"GOMPY_STATS": "1"})
    assert done.returncode == 0, done.stderr
    assert "regions: 2 on device 0 (nvptx), 0 on the host" in done.stderr
    assert "not linked" in tools.ok("gompy", "inspect", "--table", "images", "prog")


@pytest.mark.parametrize(
    ("limit", "named"),
    [
        ("-d 2000", "private memory is limited: ulimit -d"),
        ("-v 400000", "address space is limited: ulimit -v"),
    ],
)
def test_a_limit_that_leaves_no_room_for_the_driver_is_named(tools: Tools, limit: str, named: str) -> None:
    program = build(tools, "limited.c", SUM, "-foffload=nvptx-none", "-lm")
    done = tools.run("sh", "-c", f"ulimit {limit}; exec {shlex.quote(str(program))}")
    assert f"cuInit: out of memory (CUDA_ERROR_OUT_OF_MEMORY) ({named})" in done.stderr
