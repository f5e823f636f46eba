"""libgomp-plugin-nvptx.so.1 on a driver as strict as a GPU's: callbacks, errors that stay, stacks, contexts.

What the emulated driver could not show: its threads have stack enough, and all its contexts see all its memory.
"""

from __future__ import annotations

import ctypes.util
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs
from nvptx_tools import CUDA, build_driver, has_compiler, make_tools
from plugin_tools import build
from test_nvptx_plugin import LOOP, Ran

from gompy.driver import paths

pytestmark = [
    has_all,
    has_compiler,
    needs("gcc"),
    pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="there is a CUDA driver"),
]
QUEUES = r"""
#include <openacc.h>
#include <stdio.h>
int main (void)
{
  static int a[4], big[1 << 24];
  for (int i = 0; i < 4; i++)
    {
#pragma acc parallel copy(a) copyin(big) async(i)
      a[0] = 1;
    }
#pragma acc wait
  printf ("%d\n", a[0]);
  return 0;
}
"""
OWN = r"""
#include <stdio.h>
int cuCtxCreate_v2 (void **, unsigned, int);
int main (void)
{
  void *c;
  int s = 0;
  cuCtxCreate_v2 (&c, 0, 0);
#pragma omp target map(tofrom: s)
  s = 1;
  printf ("%d\n", s);
  return 0;
}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return make_tools(tmp_path_factory, GOMPY_CUDA="real")


@pytest.fixture(scope="module")
def driver(tools: Tools) -> Path:
    return build_driver(tools, tools.work / "cuda")


@pytest.fixture(scope="module")
def loop(tools: Tools) -> Path:
    return build(tools, "loop.c", LOOP, "-foffload=nvptx-none")


@pytest.mark.parametrize("check", ["", "1"])
def test_callbacks_do_not_call_the_driver(tools: Tools, driver: Path, tmp_path: Path, check: str) -> None:
    """What a construct in a queue has mapped is freed in one; large blocks go back, and all with GOMPY_CHECK."""
    tools.write("queues.c", QUEUES)
    tools.ok("gompcc", "-fopenacc", "-foffload=nvptx-none", "queues.c", "-o", "queues")
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "queues", GOMPY_PLUGINS="nvptx", GOMPY_CHECK=check)
    assert (ran.status, ran.out, ran.err) == (0, "77\n", "")
    assert ran.count("cuStreamAddCallback") >= 4
    assert not [line for line in ran.lines if line.endswith("in a callback")]
    assert ran.count("cuMemAlloc") == ran.count("cuMemFree")


@pytest.mark.parametrize("failing", ["cuMemcpyDtoH_v2=700", "cuMemcpyHtoD_v2=719", "cuMemAlloc_v2=702"])
def test_an_error_that_stays_is_told_once(tools: Tools, loop: Path, driver: Path, tmp_path: Path, failing: str) -> None:
    """A kernel's fault may be noticed by any later call, and all after that repeat it."""
    function, code = failing.split("=")
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL=failing, FAKE_LATER=code)
    assert ran.status == 1 and ran.err.count(f"{function.removesuffix('_v2')} error: ") == 1
    assert ran.err.count(" error: ") == 1


def test_an_error_of_a_wait_is_told_once(tools: Tools, driver: Path, tmp_path: Path) -> None:
    """Whatever its number (here a GPU's compiler that is missing): it is that of the work that was waited for."""
    tools.write("queues.c", QUEUES)
    tools.ok("gompcc", "-fopenacc", "-foffload=nvptx-none", "queues.c", "-o", "queues")
    failing = {"FAKE_FAIL": "cuStreamSynchronize=221", "FAKE_LATER": "221"}
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "queues", GOMPY_PLUGINS="nvptx", **failing)
    assert ran.status == 1 and ran.err.count("cuStreamSynchronize error: ") == 1
    assert ran.err.count(" error: ") == 1


def test_a_driver_that_is_taken_down_is_no_failure(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    """CUDA_ERROR_DEINITIALIZED where devices are finalised."""
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL="cuMemFree_v2=4", FAKE_LATER="4")
    assert (ran.status, ran.out, ran.err) == (0, "sum 77\n", "")


def test_deep_stacks(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    """A 64th of the memory (1 GiB) for 2 multiprocessors of 2048 threads, where the linker does not know enough."""
    variable = "GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE"
    assert Ran(tools, driver, tmp_path / "1", loop, "1").count("limit") == 0
    assert "limit 0 4096" in Ran(tools, driver, tmp_path / "2", loop, "1", FAKE_DEEP="1").lines
    ran = Ran(tools, driver, tmp_path / "3", loop, "1", FAKE_DEEP="1", **{variable: "3333"})
    assert "limit 0 3333" in ran.lines and ran.count("limit") == 1
    assert Ran(tools, driver, tmp_path / "4", loop, "1", FAKE_DEEP="1", **{variable: "0"}).count("limit") == 0
    ran = Ran(tools, driver, tmp_path / "5", loop, "1", **{variable: "lots"})
    assert f"{variable}=lots: not a number of bytes" in ran.err
    ran = Ran(tools, driver, tmp_path / "6", loop, "1", FAKE_DEEP="1", FAKE_FAIL="cuCtxSetLimit=2")
    assert ran.out == "sum 77\n"  # less than the default will do as well


def test_too_deep_a_recursion_is_explained(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_DEEP="1", FAKE_FAIL="cuCtxSynchronize=700")
    assert ran.status == 1
    assert "each thread has 4096 bytes of stack (GOMP_NVPTX_NATIVE_GPU_THREAD_STACK_SIZE for more)" in ran.err


def test_fewer_teams_where_there_is_no_room_for_their_stacks(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    """8 teams of 3 warps want 3 MiB."""
    ran = Ran(tools, driver, tmp_path / "1", loop, "1", "8", FAKE_MEMORY="2000000")
    assert ran.out == "sum 77\n" and "grid 4 block 32,3" in ran.launches[0] and ran.launches[0].endswith(" stacks")
    ran = Ran(tools, driver, tmp_path / "2", loop, "1", "8", FAKE_MEMORY="200000")
    assert ran.status == 1 and "cuMemAlloc error: out of memory" in ran.err


def test_the_context_is_the_one_that_libraries_on_cuda_have(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    ran = Ran(tools, driver, tmp_path / "1", loop, "1")
    assert ran.count("cuDevicePrimaryCtxRetain") == ran.count("cuDevicePrimaryCtxRelease") == 1
    assert ran.count("cuCtxCreate") == ran.count("cuCtxDestroy") == 0
    assert ran.count("cuModuleUnload") == 1 and ran.count("cuMemAlloc") == ran.count("cuMemFree")
    old = build_driver(tools, tmp_path / "old", CUDA.replace("cuDevicePrimaryCtx", "absent"))
    ran = Ran(tools, old, tmp_path / "2", loop, "1")
    assert ran.out == "sum 77\n" and ran.count("cuCtxCreate") == ran.count("cuCtxDestroy") == 1


def test_a_context_of_the_program_is_used_and_stays(tools: Tools, driver: Path, tmp_path: Path) -> None:
    tools.write("own.c", OWN)
    tools.ok("gompcc", "-fopenmp", "-foffload=nvptx-none", "own.c", "-o", "own", f"-L{driver}", "-l:libcuda.so.1")
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "own")
    assert (ran.status, ran.out, ran.err) == (0, "77\n", "")
    assert ran.count("cuCtxCreate") == 1 and ran.count("cuCtxDestroy") == ran.count("cuDevicePrimaryCtx") == 0
    assert ran.count("cuModuleUnload") == 1 and ran.count("cuMemAlloc") == ran.count("cuMemFree")


def test_memory_of_no_size(tools: Tools, driver: Path, tmp_path: Path) -> None:
    """A driver refuses to allocate it; OpenMP has nothing against it."""
    text = """#include <omp.h>
#include <stdio.h>
int main (void) { void *p = omp_target_alloc (0, 0); printf ("%d\\n", p != 0); omp_target_free (p, 0); return 0; }
"""
    program = build(tools, "none.c", text, "-foffload=nvptx-none")
    ran = Ran(tools, driver, tmp_path / "log", program, GOMPY_PLUGINS="nvptx")
    assert (ran.status, ran.out, ran.err) == (0, "1\n", "")


@pytest.mark.parametrize(("code", "why"), [("803", "cuInit: trouble (CUDA_ERROR_TROUBLE)"), ("100", "no CUDA device")])
def test_a_driver_that_is_broken_is_told(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path, code: str, why: str
) -> None:
    """A GPU that is not used because its driver and its kernel module do not fit: not without a word."""
    if not Path(paths.CUDALIBDIR, "libcuda.so.1").exists():
        pytest.skip("the emulated driver is not built")
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL=f"cuInit={code}", GOMPY_CUDA="auto")
    assert (ran.status, ran.out) == (0, "sum -1\n")
    assert (
        ran.err == f"libgompy: nvptx: {why}, regions run on the emulated GPU (GOMPY_CUDA=emulated or real to choose)\n"
    )
