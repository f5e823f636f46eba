"""Images that GCC made, launched the way libgomp's nvptx plugin launches them (block (32, threads), soft stacks)."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from nvptx_tools import has_compiler

from gompy.ptx.device import LIBRARY, Device, ExecutorError, Module

pytestmark = [has_compiler, pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")]

OPENMP = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
struct work { long n; double *a, *b, *c; int count, limit; double sum; };
void vector_add (struct work *p)
{
#pragma omp target teams distribute parallel for simd is_device_ptr(p)
  for (int i = 0; i < 5000; i++) p->c[i] = p->a[i] + p->b[i];
}
void diverge (struct work *p)
{
#pragma omp target parallel for simd is_device_ptr(p)
  for (int i = 0; i < 500; i++)
    {
      double x = p->a[i];
      int steps = 0;
      while (x > 1.5) { x = x / 2; if (steps % 3 == 1) x -= 0.25; steps++; }
      p->c[i] = i % 5 == 0 ? sin (p->a[i]) : steps;
    }
}
void reduce (struct work *p)
{
  double s = 0;
#pragma omp target parallel for simd is_device_ptr(p) reduction(+:s)
  for (int i = 0; i < 1000; i++) { s += p->a[i]; if (i == 999) p->limit = 7; }
}
void critical (struct work *p)
{
#pragma omp target teams num_teams(3) is_device_ptr(p)
#pragma omp parallel num_threads(4)
  {
#pragma omp critical
    p->count++;
#pragma omp atomic
    p->limit += 2;
#pragma omp barrier
#pragma omp for
    for (int i = 0; i < 100; i++)
      {
        double d = i;
#pragma omp critical (best)
        if (d > p->sum) p->sum = d;
      }
  }
}
void print (struct work *p)
{
#pragma omp target is_device_ptr(p)
  printf ("count %d, sum %.2f, %s\n", p->count, p->sum, "text");
}
void fail (struct work *p)
{
#pragma omp target is_device_ptr(p)
  if (p->count == 3) abort ();
}
int main (void)
{
  struct work w = { 0 };
  vector_add (&w); diverge (&w); reduce (&w); critical (&w); print (&w); fail (&w);
  return 0;
}
"""

OPENACC = r"""
__attribute__ ((noipa)) void gangs (double *restrict a, double *restrict c)
{
#pragma acc parallel loop gang worker vector num_gangs(3) num_workers(4) vector_length(32) deviceptr(a, c)
  for (int i = 0; i < 3000; i++) c[i] = a[i] * 2 + (i % 3 ? 1 : a[(i * 7) % 3000]);
}
__attribute__ ((noipa)) void rows (double *restrict a, double *restrict c)
{
#pragma acc parallel loop gang num_gangs(2) num_workers(4) vector_length(32) deviceptr(a, c)
  for (int i = 0; i < 20; i++)
    {
      double s = 0;
#pragma acc loop worker vector reduction(+:s)
      for (int j = 0; j < 100; j++) s += a[i * 100 + j];
      c[i] = s;
    }
}
int main (void) { gangs (0, 0); rows (0, 0); return 0; }
"""


NESTED = r"""
struct work { long n; double *a, *b, *c; int count, limit; double sum; };
void nested (struct work *p)
{
  auto double twice (double);
#pragma omp target parallel for is_device_ptr(p)
  for (int i = 0; i < 500; i++) p->c[i] = twice (p->a[i]);
  double twice (double x) { return 2 * x + 1; }
}
int main (void) { struct work w = { 0 }; nested (&w); return 0; }
"""


def image(folder: Path, source: str, option: str, level: str = "-O2") -> list[bytes]:
    """The PTX objects of a program."""
    (folder / "prog.c").write_text(source)
    command = ["gcc", level, option, "-foffload=nvptx-none", "-foffload-options=nvptx-none=-Wa,--no-verify"]
    command += ["-foffload-options=-lm", "-save-temps", "prog.c", "-lm", "-o", "prog"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    data = (folder / "prog.xnvptx-none.mkoffload").read_bytes()
    return [part for part in data.split(b"\0") if part.strip()]


class Program:
    """A loaded image and its kernels by the name of the function that they were written in."""

    def __init__(self, device: Device, objects: list[bytes]) -> None:
        self.device = device
        self.module: Module = device.load(*objects)
        names = re.findall(rb"\.entry\s+((\w+)\$_omp_fn\$\d+)", b"\n".join(objects))
        self.kernels = {short.decode(): name.decode() for name, short in names}

    def run(self, name: str, variables: list[int], teams: int = 1, threads: int = 8) -> None:
        """As GOMP_OFFLOAD_run does."""
        block = self.device.upload(struct.pack(f"<{len(variables)}Q", *variables))
        stacks = self.device.allocate(131072 * teams * threads)
        kernel = self.module.function(self.kernels[name])
        kernel.launch((teams, 1, 1), (32, threads, 1), [block, stacks, 131072])

    def run_acc(self, name: str, variables: list[int], dims: tuple[int, int, int]) -> None:
        """As openacc_exec does: one parameter, the address of the addresses of the mapped variables."""
        slots = [self.device.upload(struct.pack("<Q", v)) for v in variables]
        block = self.device.upload(struct.pack(f"<{len(slots)}Q", *slots))
        gangs, workers, vector = dims
        self.module.function(self.kernels[name]).launch((gangs, 1, 1), (vector, workers, 1), [block])


class Work:
    """`struct work` in device memory."""

    FORMAT = "<4q2id"

    def __init__(self, device: Device) -> None:
        self.device = device
        rng = np.random.default_rng(3)
        self.a, self.b = rng.random(5000) * 100, rng.random(5000)
        self.places = [device.upload(x.tobytes()) for x in (self.a, self.b, np.zeros(5000))]
        self.address = device.upload(struct.pack(self.FORMAT, 5000, *self.places, 3, 0, 2.5))

    @property
    def c(self) -> np.ndarray:
        return np.frombuffer(self.device.download(self.places[2], 40000))

    def fields(self) -> tuple[int, int, float]:
        """count, limit, sum."""
        data = self.device.download(self.address, struct.calcsize(self.FORMAT))
        found = struct.unpack(self.FORMAT, data)
        return found[4], found[5], found[6]


@pytest.fixture(scope="module")
def openmp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with Device(1 << 29) as device:
            yield Program(device, image(tmp_path_factory.mktemp("openmp"), OPENMP, "-fopenmp"))


@pytest.mark.slow(sample=1)
@pytest.mark.parametrize(("teams", "threads"), [(1, 1), (4, 8), (2, 3)])
def test_simd_loop_over_teams(openmp: Program, teams: int, threads: int) -> None:
    work = Work(openmp.device)
    openmp.run("vector_add", [work.address], teams, threads)
    assert (work.c == work.a + work.b).all()


def test_divergent_simd_loop_with_a_library_function(openmp: Program) -> None:
    work = Work(openmp.device)
    openmp.run("diverge", [work.address])

    def model(i: int, x: float) -> float:
        if i % 5 == 0:
            return float(np.sin(x))
        steps = 0
        while x > 1.5:
            x /= 2
            if steps % 3 == 1:
                x -= 0.25
            steps += 1
        return steps

    assert np.allclose(work.c[:500], [model(i, x) for i, x in enumerate(work.a[:500].tolist())], rtol=1e-15, atol=0)


def test_critical_atomic_barrier_and_reduction(openmp: Program) -> None:
    work = Work(openmp.device)
    openmp.run("critical", [work.address], teams=3, threads=4)
    assert work.fields() == (3 + 12, 24, 99.0)


def test_static_chain_of_a_nested_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GCC passes it as a register, beside `.param` variables."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    objects = image(tmp_path, NESTED, "-fopenmp", "-O0")
    assert any(re.search(rb"call .*%chain\)", text) for text in objects)
    with Device(1 << 28) as device:
        work = Work(device)
        frame = device.upload(bytes(64))  # of `nested`: GCC maps it
        Program(device, objects).run("nested", [frame, work.address])
        assert (work.c[:500] == 2 * work.a[:500] + 1).all() and not work.c[500:].any()


def test_printf(openmp: Program) -> None:
    openmp.device.output = ""
    openmp.run("print", [Work(openmp.device).address])
    assert openmp.device.output == "count 3, sum 2.50, text\n"


def test_abort_is_a_failed_launch(openmp: Program) -> None:
    with pytest.raises(ExecutorError) as caught:
        openmp.run("fail", [Work(openmp.device).address])
    assert caught.value.code == 719
    assert "trap in 'abort'" in caught.value.log and "kernel 'fail$_omp_fn$0'" in caught.value.log


def test_host_pointer_in_a_region(openmp: Program) -> None:
    keep = np.zeros(100)
    with pytest.raises(ExecutorError) as caught:
        openmp.run("vector_add", [keep.ctypes.data])
    assert caught.value.code == 700
    assert f"{keep.ctypes.data:#x}"[:-2] in caught.value.log


def test_second_module_of_the_same_image(openmp: Program, tmp_path: Path) -> None:
    """Two modules in one device have variables of their own; the code comes from the cache."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    other = Program(openmp.device, image(tmp_path, OPENMP, "-fopenmp"))
    work = Work(openmp.device)
    other.run("vector_add", [work.address], 2, 2)
    assert (work.c == work.a + work.b).all()
    first, second = (p.module.variable("gomp_global_icv")[0] for p in (openmp, other))
    assert first != second


def test_openacc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with Device(1 << 26) as device:
        program = Program(device, image(tmp_path, OPENACC, "-fopenacc"))
        a = np.random.default_rng(5).random(3000)
        place, out = device.upload(a.tobytes()), device.upload(bytes(24000))
        program.run_acc("gangs", [out, place], (3, 4, 32))
        i = np.arange(3000)
        want = a * 2 + np.where(i % 3 != 0, 1, a[(i * 7) % 3000])
        assert np.allclose(np.frombuffer(device.download(out, 24000)), want)
        program.run_acc("rows", [out, place], (2, 4, 32))
        got = np.frombuffer(device.download(out, 160))
        assert np.allclose(got, a[:2000].reshape(20, 100).sum(axis=1))
