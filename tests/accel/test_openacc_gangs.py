"""Gangs, workers and vector lanes on the emulated MIC, by the plugin for lto1 (gompy/accel/hooks/openacc.cc).

What each lane does is held against what OpenACC says of it; GCC's own tests (testsuite/expected/intelmic.txt, ``one
gang:``) ask for the same in many more ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from accel_tools import call
from intelmic_driver import PLUGIN

from gompy.accel import host, packages
from gompy.accel.errors import AccelError
from gompy.tools import accelstore as store

if not PLUGIN.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)
try:
    HEADERS = packages.plugin_headers(host.choose())
except AccelError:
    HEADERS = None
if HEADERS is None:
    pytest.skip("no headers for plugins of the compiler (gcc-12-plugin-dev)", allow_module_level=True)

HEAD = """\
#include <openacc.h>
#include <stdio.h>
#define gang() __builtin_goacc_parlevel_id (0)
#define worker() __builtin_goacc_parlevel_id (1)
#define lane() __builtin_goacc_parlevel_id (2)
"""
LEVELS = ("-O0", "-O2", "-O3")
CORPUS = Path(__file__).resolve().parent.parent.parent / "testsuite" / "check"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with the plugin, built as a user would."""
    folder = tmp_path_factory.mktemp("data")
    done = call("gompy", "accel", "build", "--openacc", XDG_DATA_HOME=str(folder))
    assert re.search(r"/openacc\.so: built for gcc ", done.stdout)
    yield folder


def run(folder: Path, data: Path, body: str, *options: str, **env: str) -> str:
    """Compile a program, link it with the plugin that ``data`` has, run it: what it prints."""
    (folder / "p.c").write_text(HEAD + body)
    call("gompcc", "-fopenacc", *options, "p.c", "-o", "p", cwd=folder, XDG_DATA_HOME=str(data))
    return call("./p", cwd=folder, ACC_DEVICE_TYPE="intelmic", **env).stdout


COORDINATES = """
#define N 1003
int at[N][3];
int main (void)
{
  int wrong = 0;
#pragma acc parallel loop gang worker vector num_gangs(7) num_workers(3) vector_length(4) copyout(at)
  for (int i = 0; i < N; i++)
    {
      at[i][0] = gang ();
      at[i][1] = worker ();
      at[i][2] = lane ();
    }
  int block = (N + 7 * 12 - 1) / (7 * 12) * 12;
  for (int i = 0; i < N; i++)
    wrong += at[i][0] != i / block || at[i][1] != i % block % 12 / 4 || at[i][2] != i % 4;
  printf ("%d\\n", wrong);
}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_each_iteration_has_its_lane(tmp_path: Path, data: Path, level: str) -> None:
    """A gang has a block of the iterations, which its workers and lanes take in turn (omp-expand.cc)."""
    assert run(tmp_path, data, COORDINATES, level) == "0\n"


def test_without_the_plugin_there_is_one_lane(tmp_path: Path) -> None:
    body = """
int main (void)
{
  int most = 0, sizes = 0;
#pragma acc parallel loop num_gangs(7) num_workers(3) vector_length(4) reduction(max: most)
  for (int i = 0; i < 100; i++)
    most = most > gang () + worker () + lane () ? most : gang () + worker () + lane ();
  printf ("%d\\n", most);
}
"""
    assert run(tmp_path, tmp_path / "none", body, "-O2") == "0\n"


REDUCTIONS = """
int main (void)
{
  int n = %d;
  long sum = 5, check = 5;
  int all = 0, gangs = 3;
  double product = 1;
#pragma acc parallel num_gangs(n) num_workers(4) vector_length(8) reduction(+: gangs) copy(sum, all, product)
  {
    gangs++;
    #pragma acc loop %s reduction(+: sum) reduction(|: all) reduction(*: product)
    for (int i = 0; i < 1000; i++)
      {
        sum += i + 0 * lane ();
        all |= 1 << i %% 9;
        if (i %% 100 == 0)
          product *= 2;
      }
  }
  for (int i = 0; i < 1000; i++)
    check += i;
  printf ("%%d %%d %%d %%g\\n", gangs, sum == check, all, product);
}
"""


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("clause", ["gang", "gang worker", "gang vector", "gang worker vector"])
def test_reductions_over_lanes(tmp_path: Path, data: Path, clause: str, level: str) -> None:
    """The number of gangs is known only when the program runs."""
    assert run(tmp_path, data, REDUCTIONS % (6, clause), level) == "9 1 511 1024\n"


@pytest.mark.parametrize("clause", ["worker", "vector", "worker vector", "seq"])
def test_reductions_within_one_gang(tmp_path: Path, data: Path, clause: str) -> None:
    assert run(tmp_path, data, REDUCTIONS % (1, clause), "-O2") == "4 1 511 1024\n"


def test_reduction_variable_is_assigned(tmp_path: Path, data: Path) -> None:
    """Also a single gang begins with the neutral value: GCC PR88852."""
    body = """
int main (void)
{
  int x = 123;
#pragma acc parallel num_gangs(1) reduction(+: x)
  x = 23;
  printf ("%d\\n", x);
}
"""
    assert run(tmp_path, data, body, "-O2") == "146\n"


TOGETHER = """
int main (void)
{
  int here = 0, met = 0;
#pragma acc parallel num_gangs(4) copy(here, met)
  {
    __atomic_add_fetch (&here, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n (&here, __ATOMIC_SEQ_CST) != 4)
      ;
    __atomic_add_fetch (&met, 1, __ATOMIC_SEQ_CST);
  }
  printf ("%d\\n", met);
}
"""


def test_gangs_run_at_the_same_time(tmp_path: Path, data: Path) -> None:
    """Each waits for the others, which one thread would do for ever."""
    assert run(tmp_path, data, TOGETHER, "-O2", OFFLOAD_EMUL_TEAMS="4") == "4\n"


def test_gangs_by_default_are_as_many_as_may_run(tmp_path: Path, data: Path) -> None:
    body = """
int main (void)
{
  int seen[64] = { 0 }, gangs = 0;
#pragma acc parallel loop copy(seen)
  for (int i = 0; i < 6400; i++)
    seen[gang ()] = 1;
  for (int i = 0; i < 64; i++)
    gangs += seen[i];
  printf ("%d\\n", gangs);
}
"""
    assert run(tmp_path, data, body, "-O2", OFFLOAD_EMUL_TEAMS="5") == "5\n"
    assert run(tmp_path, data, body, "-O2", "-fopenacc-dim=9", OFFLOAD_EMUL_TEAMS="2") == "9\n"
    serial = body.replace("parallel loop", "serial loop")
    assert run(tmp_path, data, serial, "-O2", OFFLOAD_EMUL_TEAMS="5") == "1\n"


ROUTINES = """
#define N 500
int at[N];
#pragma acc routine seq
int __attribute__ ((noinline)) place (void)
{
  return gang () << 16 | worker () << 8 | lane ();
}
#pragma acc routine %s
void __attribute__ ((noinline)) fill (int *a)
{
#pragma acc loop %s
  for (int i = 0; i < N; i++)
    a[i] = place ();
}
int main (void)
{
  int used = 0;
  char seen[1 << 20] = { 0 };
#pragma acc parallel num_gangs(4) num_workers(3) vector_length(8) copyout(at)
  fill (at);
  for (int i = 0; i < N; i++)
    used += !seen[at[i]]++;
  printf ("%%d\\n", used);
}
"""


@pytest.mark.parametrize(
    ("clause", "lanes"), [("gang", 4), ("worker", 3), ("vector", 8), ("worker vector", 24), ("gang worker vector", 96)]
)
def test_routines_have_their_callers_lanes(tmp_path: Path, data: Path, clause: str, lanes: int) -> None:
    level = clause.split()[0]
    assert run(tmp_path, data, ROUTINES % (level, clause), "-O2") == f"{lanes}\n"


def test_queues(tmp_path: Path, data: Path) -> None:
    """Sizes known only at the launch, of regions that wait in queues."""
    body = """
int main (void)
{
  int count[3] = { 0 };
  for (int n = 1; n < 4; n++)
    {
#pragma acc parallel num_gangs(n * n) copy(count[n - 1 : 1]) async(n)
      {
#pragma acc atomic
        count[n - 1]++;
      }
    }
#pragma acc wait
  printf ("%d %d %d\\n", count[0], count[1], count[2]);
}
"""
    assert run(tmp_path, data, body, "-O2") == "1 4 9\n"


TILES = """
int hits[17][23];
int main (void)
{
  int wrong = 0;
#pragma acc parallel loop tile(4, 5) gang vector num_gangs(3) vector_length(8) copy(hits)
  for (int i = 0; i < 17; i++)
    for (int j = 0; j < 23; j++)
      hits[i][j] += i * j + 1;
  for (int i = 0; i < 17; i++)
    for (int j = 0; j < 23; j++)
      wrong += hits[i][j] != i * j + 1;
  printf ("%d\\n", wrong);
}
"""


def test_tiles_that_do_not_fit(tmp_path: Path, data: Path) -> None:
    """expand_oacc_collapse_vars goes wrong for such lengths, but not with tiles of one iteration."""
    assert run(tmp_path, data, TILES, "-O2") == "0\n"


def test_lanes_that_nobody_sees_are_not_made(tmp_path: Path, data: Path) -> None:
    """So a vector loop stays one loop over neighbours, which the compiler makes SIMD code of."""
    body = """
void scale (float *restrict x, int n)
{
#pragma acc parallel loop gang vector vector_length(128) copy(x[0:n])
  for (int i = 0; i < n; i++)
    x[i] *= 2;
}
int main (void)
{
  float x[100] = { 1 };
  scale (x, 100);
  printf ("%g\\n", x[0]);
}
"""
    (tmp_path / "p.c").write_text(HEAD + body)
    told = ("-O3", "-foffload=intelmic=-fopt-info-vec", "p.c", "-o", "p")
    done = call("gompcc", "-fopenacc", *told, cwd=tmp_path, XDG_DATA_HOME=str(data))
    assert "loop vectorized" in done.stdout + done.stderr
    assert call("./p", cwd=tmp_path).stdout == "2\n"


def test_races_between_gangs_are_found(tmp_path: Path, data: Path) -> None:
    """As between teams: two gangs add to one variable, and nothing says which is first."""
    body = """
int main (void)
{
  int x = 0;
#pragma acc parallel num_gangs(4) copy(x)
  x++;
  return 0;
}
"""
    (tmp_path / "p.c").write_text(body)
    words = ("-fopenacc", "-g", "-O0", "-foffload-check", "p.c", "-o", "p")
    call("gompcc", *words, cwd=tmp_path, XDG_DATA_HOME=str(data))
    done = call("./p", cwd=tmp_path, check=False, GOMPY_CHECK="1")
    assert "which another thread has written (p.c:6), and nothing says which is first" in done.stderr


@pytest.mark.parametrize("name", ["gangs.c", "gangs.f90", "reduction.c", "workers.f90"])
def test_races_of_the_corpus_are_found(tmp_path: Path, data: Path, name: str) -> None:
    """Those that need more than one gang, and none in their right twins.

    At the end of a reduction each gang releases a lock; that orders nothing for a gang that has taken none yet.
    """
    source = CORPUS / f"race-acc-{name}"
    right = source.with_name(f"{source.stem}-right{source.suffix}")
    compiler = "gompfortran" if source.suffix == ".f90" else "gompcc"
    for path, races in ((source, True), (right, False)):
        words = ("-fopenacc", "-g", "-foffload-check", str(path), "-o", "p")
        call(compiler, *words, cwd=tmp_path, XDG_DATA_HOME=str(data))
        done = call("./p", cwd=tmp_path, check=False, ACC_DEVICE_TYPE="intelmic", GOMPY_CHECK="1")
        assert ("nothing says which is first" in done.stderr) == races, done.stderr


def test_fortran(tmp_path: Path, data: Path) -> None:
    (tmp_path / "p.f90").write_text(
        """\
program p
  implicit none
  integer :: i, gangs
  real(8) :: total
  logical :: all
  total = 0
  gangs = 0
  all = .true.
  !$acc parallel num_gangs(5) reduction(+: gangs)
  gangs = gangs + 1
  !$acc end parallel
  !$acc parallel loop gang vector num_gangs(5) reduction(+: total) reduction(.and.: all)
  do i = 1, 1000
    total = total + i
    all = all .and. i < 1001
  end do
  print '(i0,1x,f0.1,1x,l1)', gangs, total, all
end program
"""
    )
    call("gompfortran", "-fopenacc", "-O2", "p.f90", "-o", "p", cwd=tmp_path, XDG_DATA_HOME=str(data))
    assert call("./p", cwd=tmp_path).stdout == "5 500500.0 T\n"


def test_a_plugin_of_another_compiler_is_not_loaded(tmp_path: Path, data: Path) -> None:
    """After an upgrade of gcc its objects would not fit: the link goes on without it."""
    (folder,) = (data / "gompy" / "accel").iterdir()
    other = tmp_path / "other" / "gompy" / "accel" / folder.name
    other.mkdir(parents=True)
    (other / store.OPENACC).write_bytes((folder / store.OPENACC).read_bytes())
    (other / store.OPENACC).chmod(0o755)
    conf = store.read_conf(str(folder / store.CONF)) | {"host_identity": "0123"}
    store.write_conf(str(other / store.CONF), conf)
    assert run(tmp_path, tmp_path / "other", COORDINATES.replace("wrong);", "wrong > 0);"), "-O2") == "1\n"


def test_building_twice_says_so(data: Path) -> None:
    done = call("gompy", "accel", "build", "--openacc", XDG_DATA_HOME=str(data))
    assert "is built already" in done.stdout


def test_list_and_remove(data: Path, tmp_path: Path) -> None:
    """A folder with the plugin alone is one of them."""
    env = {"XDG_DATA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    (tmp_path / "gompy").symlink_to(data / "gompy")
    (folder,) = (data / "gompy" / "accel").iterdir()
    listed = call("gompy", "accel", "list", **env).stdout
    assert "no accelerator compiler is built" in listed
    assert f"{folder.name}  gcc " in listed and "  plugin for OpenACC  " in listed and "(in use)" in listed
    (tmp_path / "gompy").unlink()
    other = tmp_path / "gompy" / "accel" / folder.name
    other.mkdir(parents=True)
    for name in (store.OPENACC, store.CONF):
        (other / name).write_bytes((folder / name).read_bytes())
        (other / name).chmod(0o755)
    assert f"{other}: removed" in call("gompy", "accel", "remove", **env).stdout
    assert not other.exists()
