"""libgomp-plugin-nvptx.so.1 with a CUDA driver that the test makes: which driver, which calls, and what is said.

The same programs run on GCC's own plugin, where it is installed, under the stock libgomp.
"""

from __future__ import annotations

import ctypes.util
import re
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, needs
from nvptx_tools import build_driver, has_compiler, has_stock_plugin, make_tools, under_stock
from plugin_tools import SMALL, build

from gompy.driver import paths

pytestmark = [
    has_all,
    needs("gcc"),
    pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="there is a CUDA driver"),
]
BOTH = ["-foffload=nvptx-none,x86_64-intelmicemul-linux-gnu"]
LOOP = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main (int argc, char **argv)
{
  int times = atoi (argv[1]), teams = argc > 2 ? atoi (argv[2]) : 0, sum = 0;
  for (int i = 0; i < times; i++)
    {
      int s = i;
      if (teams)
        {
#pragma omp target teams num_teams(teams) thread_limit(3) map(tofrom: s)
          s = -1;
        }
      else
        {
#pragma omp target map(tofrom: s)
          s = -1;
        }
      sum += s;
    }
  printf ("sum %d\n", sum);
  return 0;
}
"""
MEMORY = r"""
#include <omp.h>
#include <stdio.h>
#include <string.h>
int main (void)
{
  char data[1000], back[1000];
  memset (data, 7, sizeof data);
  void *p = omp_target_alloc (1000, 0), *q = omp_target_alloc (1000, 0);
  int h = omp_get_initial_device ();
  int ok = p && q && p != q;
  ok &= !omp_target_memcpy (p, data, 1000, 0, 0, 0, h) && !omp_target_memcpy (q, p, 1000, 0, 0, 0, 0);
  ok &= !omp_target_memcpy (back, q, 1000, 0, 0, h, 0) && !memcmp (data, back, 1000);
  omp_target_free (p, 0);
  void *again = omp_target_alloc (1000, 0);
  printf ("%s %s\n", ok ? "copied" : "wrong", again == p ? "kept" : "new");
  printf ("%d\n", omp_target_memcpy (q, data, 1001, 0, 0, 0, h));
  return 0;
}
"""
THREE = r"""
#include <omp.h>
#include <stdio.h>
int main (void)
{
  printf ("%d devices\n", omp_get_num_devices ());
  for (int d = 0; d < omp_get_num_devices (); d++)
    {
      int s = 0;
#pragma omp target map(tofrom: s) device(d)
      s = 1;
      printf ("%d: %d\n", d, s);
    }
  return 0;
}
"""
ACC = r"""
#include <openacc.h>
#include <stdio.h>
int main (void)
{
  int a = 1, b = 2, c = 3;
#pragma acc parallel copy(a)
  a = 5;
#pragma acc parallel copy(b) num_gangs(4) num_workers(2) vector_length(32)
  b = 5;
#pragma acc enter data copyin(c)
  for (int i = 0; i < 20; i++)
    {
#pragma acc parallel present(c) async(1)
      c = 5;
    }
#pragma acc wait(1) async(2)
#pragma acc wait
#pragma acc exit data copyout(c)
  printf ("%d %d %d\n", a, b, c);
  printf ("%d %d\n", acc_get_current_cuda_context () != 0, acc_get_cuda_stream (1) != 0);
  printf ("%s, %s, %s\n", acc_get_property_string (0, acc_device_nvidia, acc_property_name),
          acc_get_property_string (0, acc_device_nvidia, acc_property_vendor),
          acc_get_property_string (0, acc_device_nvidia, acc_property_driver));
  return 0;
}
"""


STREAMS = r"""
#include <acc_prof.h>
#include <openacc.h>
#include <stdio.h>
static int events[acc_ev_last];
static void note (acc_prof_info *p, acc_event_info *e, acc_api_info *a)
{
  events[e->event_type]++;
  if (e->event_type == acc_ev_enqueue_launch_start)
    printf ("%s %zu %zu %zu\n", e->launch_event.kernel_name, e->launch_event.num_gangs, e->launch_event.num_workers,
            e->launch_event.vector_length);
}
int main (void)
{
  for (int e = acc_ev_none + 1; e < acc_ev_last; e++)
    acc_prof_register (e, note, 0);
  int a = 1;
  acc_set_cuda_stream (3, (void *) 0x1230);
#pragma acc parallel copy(a) async(3) num_gangs(2) num_workers(1) vector_length(32)
  a = 2;
  printf ("%d\n", acc_get_cuda_stream (3) == (void *) 0x1230);
  acc_wait_all ();
#pragma acc parallel copy(a) num_gangs(3) num_workers(1) vector_length(32)
  a = 2;
  printf ("%d %d %d %d\n", events[acc_ev_enqueue_launch_start], events[acc_ev_enqueue_launch_end],
          events[acc_ev_alloc] > 1, events[acc_ev_enqueue_upload_start] == events[acc_ev_enqueue_upload_end]);
  return 0;
}
"""


NO_QUEUE = r"""
#include <openacc.h>
int main (void)
{
#pragma acc parallel async(1)
  ;
  void *stream = acc_get_cuda_stream (1);
  return acc_set_cuda_stream (acc_async_sync, stream) != 0 || acc_get_cuda_stream (acc_async_sync) != 0;
}
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return make_tools(tmp_path_factory, GOMPY_CUDA="real")


@pytest.fixture(scope="module")
def small(tools: Tools) -> Path:
    return build(tools, "small.c", SMALL)


@pytest.fixture(scope="module")
def both(tools: Tools) -> Path:
    """SMALL with an image for each of the two targets."""
    return build(tools, "both.c", SMALL, *BOTH)


@pytest.fixture(scope="module")
def loop(tools: Tools) -> Path:
    return build(tools, "loop.c", LOOP, "-foffload=nvptx-none")


@pytest.fixture(scope="module")
def driver(tools: Tools) -> Path:
    return build_driver(tools, tools.work / "cuda")


class Ran:
    """A run with the test's driver: what was printed, and the driver's calls."""

    def __init__(self, tools: Tools, driver: Path, log: Path, *command: str | Path, **env: str) -> None:
        path = str(driver) + (":" + env.pop("LIBRARIES") if "LIBRARIES" in env else "")
        done = tools.run(*command, env={"LD_LIBRARY_PATH": path, "FAKE_LOG": str(log), **env})
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.lines = log.read_text().splitlines() if log.exists() else []

    def count(self, start: str) -> int:
        return sum(line.startswith(start) for line in self.lines)

    @property
    def launches(self) -> list[str]:
        return [line for line in self.lines if line.startswith("launch ")]


def opened(tools: Tools, program: Path, **env: str) -> bool:
    """Whether the plugin is loaded in a run of a program."""
    done = tools.run(program, env={"LD_DEBUG": "files", **env})
    assert done.stdout == "s 4\n"
    return "libgomp-plugin-nvptx.so.1 [0];  generating link map" in done.stderr


# --- which plugin, which driver ---------------------------------------------------------------------------------------


def test_without_a_driver_it_has_no_device_and_says_nothing(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "intelmic,nvptx", "GOMPY_STATS": "1"})
    assert done.stdout == "s 4\n" and done.stderr == "libgompy: regions: 1 on device 0 (intelmic), 0 on the host\n"
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "s 4\n", "")


def test_a_program_without_an_image_gets_no_emulated_device(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx", "GOMPY_CUDA": "auto", "GOMPY_STATS": "1"})
    assert done.stdout == "s 4\n" and done.stderr == "libgompy: regions: 1 on the host: there is no device\n"


def test_the_reason_is_told_to_who_asks(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx", "OMP_TARGET_OFFLOAD": "mandatory", "GOMP_DEBUG": "1"})
    assert done.returncode == 1 and "no device of plugin nvptx: it finds no device" in done.stderr
    assert "OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found" in done.stderr
    assert "nvptx: no CUDA device: libcuda.so.1: cannot open shared object file" in done.stderr


def test_an_unknown_driver_is_an_error_and_no_device(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx", "GOMPY_CUDA": "imagined"})
    assert done.stdout == "s 4\n" and "GOMPY_CUDA=imagined is not one of real, emulated, auto" in done.stderr


def test_its_services_are_libgompys(tools: Tools, small: Path) -> None:
    env = {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "GOMPY_PLUGINS": "nvptx"}
    text = tools.run(small, env=env).stderr
    form = r"binding file \S*libgomp-plugin-nvptx\.so\.1 \[0\] to (\S*) \[0\]: normal symbol `(GOMP_PLUGIN_\w+)'"
    bound = {name: Path(file).name for file, name in re.findall(form, text)}
    for name in ("malloc", "debug", "error", "fatal"):
        assert bound[f"GOMP_PLUGIN_{name}"] == "libgompy.so.1"
    assert "goacc_thread" in " ".join(bound)
    assert set(bound.values()) <= {"libgompy.so.1", "libgomp.so.1"}


@has_compiler
def test_it_is_loaded_where_there_is_an_image_for_it(tools: Tools, small: Path, both: Path) -> None:
    assert not opened(tools, small)
    assert opened(tools, small, GOMPY_PLUGINS="nvptx,intelmic")
    assert opened(tools, both)
    assert not opened(tools, both, GOMPY_PLUGINS="intelmic")
    assert not opened(tools, both, OMP_TARGET_OFFLOAD="disabled")
    done = tools.run(both, env={"GOMPY_STATS": "1"})
    assert done.stderr == "libgompy: regions: 1 on device 0 (intelmic), 0 on the host\n"


@has_compiler
def test_a_program_with_an_image_for_it_alone_has_its_devices_alone(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", GOMPY_STATS="1")
    assert ran.out == "sum 77\n" and ran.err == "libgompy: regions: 1 on device 0 (nvptx), 0 on the host\n"


@has_compiler
def test_a_driver_that_lacks_a_function_is_not_used(tools: Tools, loop: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    tools.write("none.c", "int cuInit (unsigned f) { return 0; }\n")
    tools.ok("gcc", "-shared", "-fPIC", "none.c", "-o", folder / "libcuda.so.1")
    done = tools.run(loop, "1", env={"LD_LIBRARY_PATH": str(folder), "GOMP_DEBUG": "1"})
    assert done.stdout == "sum -1\n" and "libcuda.so.1 has no cuDriverGetVersion" in done.stderr


# --- what it does -----------------------------------------------------------------------------------------------------


@has_compiler
def test_the_devices_numbers_follow_the_plugins_order(tools: Tools, both: Path, driver: Path, tmp_path: Path) -> None:
    ran = Ran(tools, driver, tmp_path / "1", both, GOMPY_STATS="1", OMP_DEFAULT_DEVICE="1")
    assert (ran.status, ran.out) == (0, "s 77\n") and "1 on device 1 (nvptx)" in ran.err
    assert len(ran.launches) == 1 and "main$_omp_fn$0" in ran.launches[0]
    assert ran.count("cuDevicePrimaryCtxRelease") == 1  # finalised at exit
    ran = Ran(tools, driver, tmp_path / "2", both, GOMPY_STATS="1", OMP_DEFAULT_DEVICE="0")
    assert ran.out == "s 4\n" and "1 on device 0 (intelmic)" in ran.err and not ran.launches
    ran = Ran(tools, driver, tmp_path / "3", both, GOMPY_PLUGINS="nvptx", OMP_TARGET_OFFLOAD="mandatory")
    assert ran.out == "s 77\n"


@has_compiler
def test_several_devices(tools: Tools, driver: Path, tmp_path: Path) -> None:
    program = build(tools, "three.c", THREE, "-foffload=nvptx-none")
    ran = Ran(tools, driver, tmp_path / "log", program, FAKE_DEVICES="3")
    assert ran.out == "3 devices\n0: 77\n1: 77\n2: 77\n" and ran.status == 0
    assert ran.count("cuDevicePrimaryCtxRetain") == ran.count("cuDevicePrimaryCtxRelease") == 3


@has_compiler
def test_a_region_in_a_loop_asks_the_driver_for_the_least(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    """The second region and those after it: two copies, the launch and its end; nothing is allocated or looked up."""
    ran = Ran(tools, driver, tmp_path / "log", loop, "4")
    assert ran.out == "sum 308\n" and ran.status == 0 and len(ran.launches) == 4
    at = [i for i, line in enumerate(ran.lines) if line == "cuLaunchKernel"]
    between = [line for line in ran.lines[at[2] + 1 : at[3] + 1] if line not in ("cuCtxGetCurrent", ran.launches[3])]
    assert between == ["cuCtxSynchronize", "cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel"]
    assert ran.count("cuMemAlloc") == ran.count("cuMemFree") <= 3


@has_compiler
def test_launch_dimensions(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    """As GCC's plugin: 8 warps and what the registers allow where the program says nothing."""
    ran = Ran(tools, driver, tmp_path / "1", loop, "1", "5")
    assert "grid 5 block 32,3 stream (nil) stacks" in ran.launches[0] and ran.out == "sum 77\n"
    ran = Ran(tools, driver, tmp_path / "2", loop, "1", "1000")
    assert "grid 42 block 32,3" in ran.launches[0]  # 65536 / (32 * 32 * 3) * 2
    ran = Ran(tools, driver, tmp_path / "3", loop, "1")
    assert "grid 1 block 32,8" in ran.launches[0]


@has_compiler
def test_the_devices_icvs_hold_for_teams_without_clauses(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    """OMP_NUM_TEAMS and OMP_TEAMS_THREAD_LIMIT of the device; clauses, and regions without teams, do as before."""
    env = {"OMP_NUM_TEAMS_DEV": "7", "OMP_TEAMS_THREAD_LIMIT_DEV_0": "2", "OMP_TEAMS_THREAD_LIMIT_ALL": "6"}
    source = (
        "int main (void)\n{\n  int s = 0;\n#pragma omp target teams map(tofrom: s)\n  s = 1;\n  return s != 77;\n}\n"
    )
    ran = Ran(tools, driver, tmp_path / "1", build(tools, "teams.c", source, "-foffload=nvptx-none"), **env)
    assert "grid 7 block 32,2 " in ran.launches[0]
    ran = Ran(tools, driver, tmp_path / "2", loop, "1", "5", **env)
    assert "grid 5 block 32,3 " in ran.launches[0]
    ran = Ran(tools, driver, tmp_path / "3", loop, "1", **env)
    assert "grid 1 block 32,8 " in ran.launches[0]


@has_compiler
def test_memory_is_kept_for_the_next_allocation_of_its_size(tools: Tools, driver: Path, tmp_path: Path) -> None:
    program = build(tools, "memory.c", MEMORY, "-foffload=nvptx-none")
    env = {"GOMPY_PLUGINS": "nvptx"}
    ran = Ran(tools, driver, tmp_path / "1", program, **env)
    assert ran.out.startswith("copied kept\n") and "invalid size" in ran.err
    assert ran.out.splitlines()[1] != "0"
    ran = Ran(tools, driver, tmp_path / "2", program, GOMPY_CHECK="1", **env)
    assert ran.out.startswith("copied") and ran.count("cuMemAlloc") == 3


@has_compiler
def test_what_is_kept_goes_back_when_memory_is_short(tools: Tools, driver: Path, tmp_path: Path) -> None:
    text = MEMORY.replace("void *again = omp_target_alloc (1000, 0);", "void *again = omp_target_alloc (1500, 0);")
    program = build(tools, "short.c", text, "-foffload=nvptx-none")
    ran = Ran(tools, driver, tmp_path / "log", program, FAKE_MEMORY="2600", GOMPY_PLUGINS="nvptx")
    assert ran.out.startswith("copied") and ran.count("cuMemAlloc") == 4


@has_compiler
def test_optimisation_level_of_the_drivers_compiler(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    assert Ran(tools, driver, tmp_path / "1", loop, "1").count("level") == 0
    assert "level 2" in Ran(tools, driver, tmp_path / "2", loop, "1", GOMP_NVPTX_JIT=" -O4  -O2").lines
    ran = Ran(tools, driver, tmp_path / "3", loop, "1", GOMP_NVPTX_JIT="-O7")
    assert "GOMP_NVPTX_JIT=-O7: not -O0 to -O4" in ran.err and ran.count("level") == 0


@has_compiler
def test_the_stream_of_synchronous_constructs_is_not_set(tools: Tools, driver: Path, tmp_path: Path) -> None:
    """libgomp's text (oacc-cuda.c), which GCC's acc_set_cuda_stream-1.c looks for."""
    tools.write("queue.c", NO_QUEUE)
    tools.ok("gompcc", "-fopenacc", "-foffload=nvptx-none", "queue.c", "-o", "queue")
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "queue", GOMP_DEBUG="1")
    assert ran.status == 0
    assert 'Refusing request to set CUDA stream associated with "acc_async_sync"' in ran.err


# --- errors -----------------------------------------------------------------------------------------------------------


@has_compiler
@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (
            "cuCtxSynchronize=719",
            "cuCtxSynchronize error: unspecified launch failure (perhaps abort was called); CUDA_ERROR_LAUNCH_FAILED "
            "in region main._omp_fn.1 on device 0 (recorder 0)",
        ),
        ("cuLaunchKernel=7", "cuLaunchKernel error: trouble; CUDA_ERROR_TROUBLE in region main._omp_fn.1 on device 0"),
        ("cuLinkComplete=7", "Link error log line 3: what is this"),
        ("cuLinkAddData_v2=7", "cuLinkAddData (ptx_code) error: trouble (CUDA_ERROR_TROUBLE)"),
        ("cuModuleGetFunction=7", "cuModuleGetFunction (main$_omp_fn$"),
        ("cuMemAlloc_v2=2", "cuMemAlloc error: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"),
        ("cuMemcpyHtoD_v2=7", "cuMemcpyHtoD error: trouble (CUDA_ERROR_TROUBLE)"),
        ("cuDevicePrimaryCtxRetain=7", "cuDevicePrimaryCtxRetain error: trouble (CUDA_ERROR_TROUBLE)"),
    ],
)
def test_the_drivers_errors(tools: Tools, loop: Path, driver: Path, tmp_path: Path, failing: str, said: str) -> None:
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL=failing)
    assert ran.status == 1 and said in ran.err.replace("_fn.0 ", "_fn.1 ") and "Traceback" not in ran.err


@has_compiler
def test_after_a_failure_on_the_device_nothing_more_is_said(
    tools: Tools, loop: Path, driver: Path, tmp_path: Path
) -> None:
    """Every later call would repeat the error."""
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL="cuCtxSynchronize=719", FAKE_LATER="719")
    assert ran.status == 1 and ran.err.count("error") == 1 and ran.lines[-1] == "cuCtxSynchronize"


@has_compiler
def test_a_driver_that_cannot_start_has_no_devices(tools: Tools, loop: Path, driver: Path, tmp_path: Path) -> None:
    ran = Ran(tools, driver, tmp_path / "log", loop, "1", FAKE_FAIL="cuInit=100", GOMP_DEBUG="1")
    assert ran.out == "sum -1\n" and "no CUDA device: cuInit: trouble (CUDA_ERROR_TROUBLE)" in ran.err


# --- beside GCC's own -------------------------------------------------------------------------------------------------

stock = pytest.mark.skipif(not has_stock_plugin(), reason="libgomp-plugin-nvptx1 is not installed")


@has_compiler
@stock
@under_stock
def test_ours_and_gccs_do_the_same_under_the_stock_libgomp(tools: Tools, driver: Path, tmp_path: Path) -> None:
    tools.write("loop2.c", LOOP)
    tools.ok("gcc", "-fopenmp", "-O2", "-foffload=nvptx-none", "-foffload=-Wa,--no-verify", "loop2.c", "-o", "loop2")
    theirs = Ran(tools, driver, tmp_path / "1", tools.work / "loop2", "3", "5")
    ours = Ran(tools, driver, tmp_path / "2", tools.work / "loop2", "3", "5", LIBRARIES=paths.LIBDIR)
    assert theirs.out == ours.out == "sum 231\n" and theirs.err == ours.err == ""
    assert theirs.launches == ours.launches
    assert len(ours.lines) < len(theirs.lines)


@has_compiler
@stock
@under_stock
@pytest.mark.parametrize("plugin", ["ours", "gcc's"])
def test_openacc_under_the_stock_libgomp(tools: Tools, driver: Path, tmp_path: Path, plugin: str) -> None:
    tools.write("acc.c", ACC)
    if not (tools.work / "acc").exists():
        tools.ok("gcc", "-fopenacc", "-O2", "-foffload=nvptx-none", "-foffload=-Wa,--no-verify", "acc.c", "-o", "acc")
    env = {"LIBRARIES": paths.LIBDIR} if plugin == "ours" else {}
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "acc", **env)
    assert ran.out == "77 77 77\n1 1\nrecorder 0, Nvidia, CUDA Driver 12.4\n" and ran.err == "" and ran.status == 0
    assert len(ran.launches) == 22 and "grid 4 block 32,2 stream (nil)" in ran.launches[1]
    assert len({line.rpartition("stream ")[2] for line in ran.launches[2:]}) == 1  # one queue, not the default one
    # The runtime itself asks for 20 callbacks.
    assert (ran.count("cuMemAlloc") < 8, ran.count("cuStreamAddCallback")) == (
        (plugin == "ours"),
        20 + 20 * (plugin != "ours"),
    )


@has_compiler
@stock
@under_stock
@pytest.mark.parametrize("plugin", ["ours", "gcc's"])
def test_the_programs_streams_and_profiling(tools: Tools, driver: Path, tmp_path: Path, plugin: str) -> None:
    tools.write("streams.c", STREAMS)
    if not (tools.work / "streams").exists():
        options = ["-fopenacc", "-O2", "-foffload=nvptx-none", "-foffload=-Wa,--no-verify"]
        tools.ok("gcc", *options, "streams.c", "-o", "streams")
    env = {"LIBRARIES": paths.LIBDIR} if plugin == "ours" else {}
    ran = Ran(tools, driver, tmp_path / "log", tools.work / "streams", **env)
    assert ran.out == "main$_omp_fn$0 2 1 32\n1\nmain$_omp_fn$1 3 1 32\n2 2 1 1\n" and ran.err == ""
    assert "stream 0x1230" in ran.launches[0] and "stream (nil)" in ran.launches[1]
    # GCC's destroys the program's own stream at the end.
    assert ran.count("cuStreamDestroy") == ran.count("cuStreamCreate") + (plugin != "ours")
