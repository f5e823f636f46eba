"""CUDA C++ as users write it, a program for each subject: `tests/programs/cuda`.  Each compares with the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler, skip_unknown
from test_cuda_cc import PROGRAMS, call, compiled, result

from gompy.cudart import clang

FOLDER = PROGRAMS / "cuda"
ARCHITECTURES = {
    "eighths": ("sm_80", "sm_89"),
    "groups_parts": ("sm_70", "sm_80"),
    "halves": ("sm_70", "sm_80"),
    "primitives": ("sm_70",),
    "standard": ("sm_70", "sm_80"),
}
"""Where code differs by architecture, or the default is to be tried; else sm_80."""

pytestmark = [needs_cuda_compiler, has_driver]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "architecture"),
    [(p.stem, arch) for p in sorted(FOLDER.glob("*.cu")) for arch in ARCHITECTURES.get(p.stem, ("sm_80",))],
)
def test_program(name: str, architecture: str, tmp_path: Path) -> None:
    skip_unknown(int(architecture.removeprefix("sm_")))
    program = compiled(tmp_path, FOLDER / f"{name}.cu", "-std=c++17", "-O2", f"-arch={architecture}")
    settings = {"GOMPY_CUDA_ARCH": architecture} if architecture > "sm_80" else {}
    assert result(program, **settings) == (0, f"{name}: right\n", "")


@pytest.mark.slow
def test_locks_that_nothing_is_inlined_for(tmp_path: Path) -> None:
    """At -O0 all of it is calls, and all variables are in memory."""
    program = compiled(tmp_path, FOLDER / "locks_apart.cu", "-std=c++17", "-O0", "-arch=sm_80")
    assert result(program) == (0, "locks_apart: right\n", "")


@pytest.mark.slow
def test_variables_without_a_value(tmp_path: Path) -> None:
    """A lane that passes what it has not set to a shuffle must not make clang drop the condition before it: sums of
    whole warps were counted once a lane (`gompy.cudart.clang.UNSET`)."""
    (tmp_path / "leader.cu").write_text("""
#include <cstdio>
__global__ void count (int *sum, int *places)
{
  unsigned lanes = __activemask ();
  int lane = threadIdx.x % 32, place;
  if (lane == 0) place = atomicAdd (sum, __popc (lanes));
  places[threadIdx.x] = __shfl_sync (lanes, place, 0) + lane;
}
int main ()
{
  int *d, *places, sum, got[32];
  cudaMalloc (&d, 4); cudaMalloc (&places, 128); cudaMemset (d, 0, 4);
  count<<<1, 32>>> (d, places);
  cudaMemcpy (&sum, d, 4, cudaMemcpyDeviceToHost); cudaMemcpy (got, places, 128, cudaMemcpyDeviceToHost);
  std::printf ("%d %d\\n", sum, got[31]);
}
""")
    assert result(compiled(tmp_path, tmp_path / "leader.cu")) == (0, "32 31\n", "")


UNNAMED = """
#include <cstdio>
namespace
{
__constant__ int hidden;
static __constant__ int kept;
}
__global__ void sum (int *to) { *to = hidden + kept; }
int main ()
{
  int value = 3, *to;
  cudaMalloc (&to, sizeof value);
  std::puts (cudaGetErrorName (cudaMemcpyToSymbol (kept, &value, sizeof value)));
  std::puts (cudaGetErrorName (cudaMemcpyToSymbol (hidden, &value, sizeof value)));
  sum<<<1, 1>>> (to);
}
"""


def test_a_variable_that_clang_left_out(tmp_path: Path) -> None:
    """Older releases take those of unnamed namespaces for constants, unless they are static: it is told by name."""
    if clang.release(clang.chosen().path) > 16:
        pytest.skip("this clang may have mended it")
    (tmp_path / "unnamed.cu").write_text(UNNAMED)
    assert result(compiled(tmp_path, tmp_path / "unnamed.cu")) == (
        0,
        "cudaSuccess\ncudaErrorInvalidSymbol\n",
        "libcudart (gompy): error: the device code has no variable '_ZN12_GLOBAL__N_16hiddenE': some releases of "
        "clang leave out those of unnamed namespaces and types that are not static\n",
    )


def test_boxes_between_two_devices(tmp_path: Path) -> None:
    program = compiled(tmp_path, FOLDER / "peers.cu", "-std=c++17")
    assert result(program, GOMPY_CUDA_DEVICES="2") == (0, "peers: right\n", "")


@pytest.mark.parametrize(("devices", "check"), [("2", "0"), ("3", "0"), ("2", "memory,init,sync")])
def test_several_devices(tmp_path: Path, devices: str, check: str) -> None:
    """Their kernels use each other's memory, and wait for each other by it."""
    program = compiled(tmp_path, FOLDER / "several_devices.cu", "-std=c++17")
    assert result(program, GOMPY_CUDA_DEVICES=devices, GOMPY_CHECK=check) == (0, "several_devices: right\n", "")


def test_clusters_of_several_blocks(tmp_path: Path) -> None:
    """They are refused by name; of one block they are what no cluster is (asked.cu)."""
    (tmp_path / "a.cu").write_text("__global__ void __cluster_dims__ (2, 1, 1) k () {}\n")
    done = call(tmp_path, "cc", "-c", "a.cu")
    assert done.returncode == 1
    assert "clusters of more than one block are not implemented by gompy\n" in done.stderr
