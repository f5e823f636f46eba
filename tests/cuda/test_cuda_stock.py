"""Stock gcc, stock libgomp, Debian's libgomp-plugin-nvptx.so.1: nothing of ours but the emulated CUDA driver."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from cuda_tools import SETTINGS, has_driver, has_executor

from gompy.driver import paths


def found(tool: str) -> bool:
    """Whether gcc has a file for the nvptx target."""
    try:
        answer = subprocess.run(["gcc", f"-print-prog-name={tool}"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return False
    return "/" in answer and Path(answer).exists()


def has_plugin() -> bool:
    """Whether the dynamic linker finds the plugin."""
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return False
    return "libgomp-plugin-nvptx.so.1" in listed


pytestmark = [
    pytest.mark.timeout(600),  # on a busy machine, with no code of libgomp's device part kept yet
    has_driver,
    has_executor,
    pytest.mark.skipif(not has_plugin(), reason="libgomp-plugin-nvptx1 is not installed"),
    pytest.mark.skipif(not found("accel/nvptx-none/mkoffload"), reason="gcc-12-offload-nvptx is not installed"),
]


class Stock:
    """Builds and runs programs; each is built once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def build(self, name: str, text: str, *options: str) -> Path:
        """Compile with stock gcc for nvptx."""
        source = self.folder / f"{name}.c"
        source.write_text(text)
        command = ["gcc", "-O2", "-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify -lm"]
        subprocess.run([*command, *options, source, "-o", self.folder / name, "-lm"], check=True, capture_output=True)
        return self.folder / name

    def run(self, program: Path, **env: str) -> subprocess.CompletedProcess[str]:
        """Run with the emulated driver."""
        clean = {key: value for key, value in os.environ.items() if key not in SETTINGS and not key.startswith("OMP_")}
        whole = {**clean, "LD_LIBRARY_PATH": paths.CUDALIBDIR, "OMP_TARGET_OFFLOAD": "mandatory", **env}
        return subprocess.run([program], env=whole, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    return Stock(tmp_path_factory.mktemp("stock"))


OPENMP = r"""
#include <math.h>
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
int table[8] = { 3, 1, 4, 1, 5, 9, 2, 6 };
static int twice (int x) { return 2 * x; }
#pragma omp end declare target
int main (void)
{
  enum { N = 10000 };
  static double a[N], b[N];
  double sum = 0;
  int host = 1, teams = 0, threads = 0, got = 0;
  for (int i = 0; i < N; i++) a[i] = i;
#pragma omp target map(tofrom: host, got)
  { host = omp_is_initial_device (); for (int i = 0; i < 8; i++) got += twice (table[i]); }
  printf ("host %d, table %d\n", host, got);
#pragma omp target teams distribute parallel for simd map(to: a) map(from: b)
  for (int i = 0; i < N; i++) b[i] = sqrt (a[i]) + 1;
#pragma omp target teams distribute parallel for reduction(+: sum) map(to: b) map(tofrom: sum)
  for (int i = 0; i < N; i++) sum += b[i];
  printf ("sum %.6f\n", sum);
#pragma omp target teams num_teams (3) thread_limit (4) map(tofrom: teams, threads)
  {
    if (omp_get_team_num () == 0) teams = omp_get_num_teams ();
#pragma omp parallel num_threads (4)
    {
#pragma omp atomic
      threads++;
    }
  }
  printf ("teams %d, threads %d\n", teams, threads);
#pragma omp target
  printf ("from the device: %d %s\n", 42, "text");
  int *p = omp_target_alloc (100 * sizeof (int), 0), back[100];
#pragma omp target is_device_ptr(p)
  for (int i = 0; i < 100; i++) p[i] = i * i;
  omp_target_memcpy (back, p, sizeof back, 0, 0, omp_get_initial_device (), 0);
  omp_target_free (p, 0);
  printf ("back %d\n", back[99]);
  return 0;
}
"""
OPENACC = r"""
#include <openacc.h>
#include <stdio.h>
int main (void)
{
  enum { N = 5000 };
  static float a[N], b[N];
  float sum = 0;
  for (int i = 0; i < N; i++) a[i] = i % 7;
#pragma acc parallel loop gang vector copyin(a) copyout(b) num_gangs(4)
  for (int i = 0; i < N; i++) b[i] = 2 * a[i];
#pragma acc parallel loop reduction(+: sum) copyin(b) num_gangs(4)
  for (int i = 0; i < N; i++) sum += b[i];
  printf ("%g\n", sum);
#pragma acc enter data copyin(a) create(b) async(1)
#pragma acc parallel loop present(a, b) async(1) num_gangs(2)
  for (int i = 0; i < N; i++) b[i] = a[i] + 1;
#pragma acc parallel loop present(a, b) async(1) num_gangs(2)
  for (int i = 0; i < N; i++) b[i] *= 3;
#pragma acc update host(b) async(1)
#pragma acc wait(1)
#pragma acc exit data delete(a, b)
  printf ("%g %g\n", b[0], b[6]);
  printf ("%d %s\n", acc_get_num_devices (acc_device_nvidia),
          acc_get_property_string (0, acc_device_nvidia, acc_property_name));
  return 0;
}
"""
HOST_POINTER = r"""
#include <stdlib.h>
int main (void)
{
  int *p = malloc (100000 * sizeof (int));
#pragma omp target
  ;
#pragma omp target is_device_ptr(p)
  p[5] = 1;
  return 0;
}
"""
ORDER = r"""
#include <stdio.h>
int main (void)
{
  fputs ("one\n", stderr);
#pragma omp target
  printf ("two\n");
  fputs ("three\n", stderr);
  return 0;
}
"""
ABORT = r"""
#include <stdlib.h>
int main (void)
{
#pragma omp target
  abort ();
  return 0;
}
"""


@pytest.fixture(scope="module")
def openmp(stock: Stock) -> Path:
    return stock.build("openmp", OPENMP, "-fopenmp")


def test_openmp(stock: Stock, openmp: Path) -> None:
    done = stock.run(openmp)
    assert done.returncode == 0, done.stderr
    total = sum(i**0.5 + 1 for i in range(10000))
    assert done.stdout.splitlines() == [
        "host 0, table 62",
        f"sum {total:.6f}",
        "teams 3, threads 12",
        "from the device: 42 text",
        "back 9801",
    ]
    assert done.stderr == ""


def test_statistics(stock: Stock, openmp: Path, tmp_path: Path) -> None:
    done = stock.run(openmp, GOMPY_CUDA_STATS="1")
    assert re.fullmatch(r"libcuda \(gompy\): device 0: 6 kernels, \d+ bytes in, \d+ bytes out\n", done.stderr)
    file = tmp_path / "stats"
    for _ in range(2):
        stock.run(openmp, GOMPY_CUDA_STATS=str(file))
    assert file.read_text() == 2 * done.stderr


def test_openmp_checked(stock: Stock, openmp: Path) -> None:
    done = stock.run(openmp, GOMPY_CHECK="1", GOMPY_CUDA_MEMORY="1G")
    assert (done.returncode, done.stderr) == (0, "")
    assert "teams 3, threads 12" in done.stdout


def test_openacc(stock: Stock) -> None:
    program = stock.build("openacc", OPENACC, "-fopenacc")
    done = stock.run(program, GOMPY_CUDA_DEVICES="sm_70,sm_70")
    assert done.returncode == 0, done.stderr
    total = sum(2 * (i % 7) for i in range(5000))
    assert done.stdout.splitlines() == [f"{total:g}", "3 21", "2 gompy emulated GPU (sm_70)"]


def test_a_pointer_that_was_never_mapped(stock: Stock) -> None:
    program = stock.build("pointer", HOST_POINTER, "-fopenmp")
    done = stock.run(program)
    assert done.returncode == 1
    first = done.stderr.splitlines()[0]
    assert re.match(r"libcuda \(gompy\): error: illegal address 0x[0-9a-f]+ written \(4 bytes\) in ", first)
    assert "kernel 'main$_omp_fn$" in first and "; not device memory; nearest: block of " in first
    assert "libgomp: cuCtxSynchronize error: an illegal memory access was encountered" in done.stderr


def test_what_the_device_prints_is_there_when_the_region_ends(stock: Stock, tmp_path: Path) -> None:
    program = stock.build("order", ORDER, "-fopenmp")
    env = {**os.environ, "LD_LIBRARY_PATH": paths.CUDALIBDIR, "OMP_TARGET_OFFLOAD": "mandatory"}
    done = subprocess.run([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    assert done.stdout == "one\ntwo\nthree\n"


def test_abort(stock: Stock) -> None:
    done = stock.run(stock.build("abort", ABORT, "-fopenmp"))
    assert done.returncode == 1
    assert "cuCtxSynchronize error: unspecified launch failure (perhaps abort was called)" in done.stderr


def test_no_device_leaves_it_to_the_host(stock: Stock, openmp: Path) -> None:
    done = stock.run(openmp, GOMPY_CUDA_DEVICES="0", OMP_TARGET_OFFLOAD="default")
    assert "host 1, table 62" in done.stdout
