"""The stock libgomp-plugin-nvptx.so.1 under libgompy.

Asked where it may be of use, quiet where there is no GPU, and, with a driver library that the test makes, used like any
other device.
"""

from __future__ import annotations

import ctypes.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from driver_tools import Tools, has_all, make_wrappers, needs
from plugin_tools import SMALL, build

NVPTX = "nvptx-none"


def found(tool: str) -> bool:
    """Whether gcc has a file for the nvptx target."""
    answer = subprocess.run(["gcc", f"-print-prog-name={tool}"], capture_output=True, text=True).stdout.strip()
    return "/" in answer and Path(answer).exists()


def has_plugin() -> bool:
    """Whether the dynamic linker finds the plugin."""
    try:
        listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return False
    return "libgomp-plugin-nvptx.so.1" in listed


pytestmark = [
    has_all,
    needs("gcc"),
    pytest.mark.skipif(not has_plugin(), reason="libgomp-plugin-nvptx1 is not installed"),
    pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="there is a CUDA driver"),
]
has_compiler = pytest.mark.skipif(
    not (shutil.which("gcc") and found(f"accel/{NVPTX}/mkoffload")), reason="gcc-12-offload-nvptx is not installed"
)
BOTH = ["-foffload=nvptx-none,x86_64-intelmicemul-linux-gnu", "-foffload-options=nvptx-none=-Wa,--no-verify"]
"""--no-verify: the assembler would have a ptxas of the day check code for a GPU that it has forgotten."""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return Tools(make_wrappers(tmp_path_factory.mktemp("bin")), tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def small(tools: Tools) -> Path:
    return build(tools, "small.c", SMALL)


@pytest.fixture(scope="module")
def both(tools: Tools) -> Path:
    """SMALL with an image for each of the two targets."""
    return build(tools, "both.c", SMALL, *BOTH)


def opened(tools: Tools, program: Path, **env: str) -> bool:
    """Whether the plugin is loaded in a run of a program."""
    done = tools.run(program, env={"LD_DEBUG": "files", **env})
    assert done.stdout == "s 4\n"
    return "libgomp-plugin-nvptx.so.1 [0];  generating link map" in done.stderr


def test_it_finds_no_device_and_says_nothing(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "intelmic,nvptx", "GOMPY_STATS": "1"})
    assert done.stdout == "s 4\n" and done.stderr == "libgompy: regions: 1 on device 0 (intelmic), 0 on the host\n"
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx"})
    assert (done.returncode, done.stdout, done.stderr) == (0, "s 4\n", "")


def test_the_reason_is_told_to_who_asks(tools: Tools, small: Path) -> None:
    done = tools.run(small, env={"GOMPY_PLUGINS": "nvptx", "OMP_TARGET_OFFLOAD": "mandatory"})
    assert done.returncode == 1 and "no device of plugin nvptx: it finds no device" in done.stderr
    assert "OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found" in done.stderr


def test_its_services_are_libgompys(tools: Tools, small: Path) -> None:
    env = {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1", "GOMPY_PLUGINS": "nvptx"}
    text = tools.run(small, env=env).stderr
    form = r"binding file \S*libgomp-plugin-nvptx\.so\.1 \[0\] to (\S*) \[0\]: normal symbol `(GOMP_PLUGIN_\w+)'"
    bound = {name: Path(file).name for file, name in re.findall(form, text)}
    for name in ("malloc", "malloc_cleared", "debug", "error", "fatal"):
        assert bound[f"GOMP_PLUGIN_{name}"] == "libgompy.so.1"
    assert set(bound.values()) <= {"libgompy.so.1", "libgomp.so.1"}


def test_a_program_without_an_image_for_it_does_not_load_it(tools: Tools, small: Path) -> None:
    assert not opened(tools, small)
    assert opened(tools, small, GOMPY_PLUGINS="nvptx,intelmic")


@has_compiler
def test_a_program_with_an_image_for_it_does(tools: Tools, both: Path) -> None:
    assert opened(tools, both)
    assert not opened(tools, both, GOMPY_PLUGINS="intelmic")
    assert not opened(tools, both, OMP_TARGET_OFFLOAD="disabled")
    done = tools.run(both, env={"GOMPY_STATS": "1"})
    assert done.stderr == "libgompy: regions: 1 on device 0 (intelmic), 0 on the host\n"


CUDA = r"""
/* A driver for tests: one GPU whose memory is malloc'ed; a launch sets the int that the first argument points to.  */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef unsigned long long ptr;
static int context, queue;
static ptr bases[64]; static size_t sizes[64];
static int count;
static ptr take (size_t n) { ptr p = (ptr) (uintptr_t) calloc (1, n); bases[count] = p; sizes[count++] = n; return p; }
#define OK { return 0; }
int cuInit (unsigned f) OK
int cuDriverGetVersion (int *v) { *v = 12000; return 0; }
int cuDeviceGetCount (int *n) { *n = 1; return 0; }
int cuDeviceGet (int *d, int n) { *d = n; return 0; }
int cuDeviceGetName (char *s, int n, int d) { snprintf (s, n, "test"); return 0; }
int cuDeviceTotalMem_v2 (size_t *n, int d) { *n = 1 << 30; return 0; }
int cuMemGetInfo_v2 (size_t *a, size_t *b) { *a = *b = 1 << 30; return 0; }
int cuDeviceGetAttribute (int *v, int a, int d)
{ *v = a == 10 ? 32 : a == 1 ? 1024 : a == 39 ? 2048 : a == 12 || a == 82 ? 65536 : a == 16 ? 2 : 1; return 0; }
int cuCtxGetDevice (int *d) { if (!context) return 201; *d = 0; return 0; }
int cuCtxGetCurrent (void **c) { *c = context ? &context : 0; return 0; }
int cuCtxCreate_v2 (void **c, unsigned f, int d) { context = 1; *c = &context; return 0; }
int cuCtxPushCurrent_v2 (void *c) OK
int cuCtxPopCurrent_v2 (void **c) { *c = &context; return 0; }
int cuCtxDestroy_v2 (void *c) { context = 0; fputs ("cuda: destroyed\n", stderr); return 0; }
int cuCtxSynchronize (void) OK
int cuLinkCreate_v2 (unsigned n, int *o, void **v, void **s) { *s = &queue; return 0; }
int cuLinkAddData_v2 (void *s, int t, void *d, size_t n, const char *f, unsigned k, int *o, void **v)
{ if (strstr (d, "BEGIN FUNCTION DEF: main")) fputs ("cuda: code\n", stderr); return 0; }
int cuLinkComplete (void *s, void **image, size_t *n) { *image = &queue; *n = 8; return 0; }
int cuLinkDestroy (void *s) OK
int cuModuleLoadData (void **m, const void *i) { *m = &queue; return 0; }
int cuModuleUnload (void *m) OK
int cuModuleGetFunction (void **f, void *m, const char *name) { *f = strdup (name); return 0; }
int cuFuncGetAttribute (int *v, int a, void *f) { *v = a == 4 ? 32 : 1024; return 0; }
int cuModuleGetGlobal_v2 (ptr *p, size_t *n, void *m, const char *name)
{ if (name[0] == '_') return 500; ptr q = take (4); if (p) *p = q; if (n) *n = 4; return 0; }
int cuMemAlloc_v2 (ptr *p, size_t n) { *p = take (n); return 0; }
int cuMemFree_v2 (ptr p) OK
int cuMemGetAddressRange_v2 (ptr *b, size_t *n, ptr p)
{
  for (int i = 0; i < count; i++)
    if (p - bases[i] < sizes[i]) { if (b) *b = bases[i]; if (n) *n = sizes[i]; return 0; }
  return 1;
}
int cuMemcpyHtoD_v2 (ptr d, const void *s, size_t n) { memcpy ((void *) (uintptr_t) d, s, n); return 0; }
int cuMemcpyDtoH_v2 (void *d, ptr s, size_t n) { memcpy (d, (void *) (uintptr_t) s, n); return 0; }
int cuMemcpyDtoDAsync_v2 (ptr d, ptr s, size_t n, void *q)
{ memcpy ((void *) (uintptr_t) d, (void *) (uintptr_t) s, n); return 0; }
int cuLaunchKernel (void *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                    void *stream, void **params, void **extra)
{ int **vars = **(int ****) (extra + 1); **vars = 77; fprintf (stderr, "cuda: launch %s\n", (char *) f); return 0; }
"""
UNUSED = """cuGetErrorString cuStreamCreate cuStreamDestroy_v2 cuStreamQuery cuStreamSynchronize cuStreamAddCallback
cuStreamWaitEvent cuEventCreate cuEventRecord cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuEventDestroy_v2
cuEventElapsedTime cuEventQuery cuEventSynchronize cuMemAllocHost_v2 cuMemFreeHost cuMemcpy cuMemHostGetDevicePointer_v2
cuModuleLoad cuLinkAddData cuLinkCreate"""


@pytest.fixture(scope="module")
def driver(tools: Tools) -> Path:
    """A folder with a libcuda.so.1 that has what the plugin asks for."""
    folder = tools.work / "cuda"
    functions = "".join(f"int {name} (void) {{ return 999; }}\n" for name in UNUSED.split())
    source = tools.write("cuda/cuda.c", CUDA + functions)
    tools.ok("gcc", "-O1", "-shared", "-fPIC", "-w", source, "-o", folder / "libcuda.so.1")
    return folder


@has_compiler
def test_with_a_driver_its_device_runs_regions(tools: Tools, both: Path, driver: Path) -> None:
    env = {"LD_LIBRARY_PATH": str(driver), "GOMPY_STATS": "1"}
    done = tools.run(both, env={**env, "OMP_DEFAULT_DEVICE": "1"})
    assert (done.returncode, done.stdout) == (0, "s 77\n"), done.stderr
    assert "cuda: launch main$_omp_fn$0" in done.stderr and "1 on device 1 (nvptx)" in done.stderr
    assert done.stderr.count("cuda: destroyed") == 1  # finalised at exit
    done = tools.run(both, env={**env, "OMP_DEFAULT_DEVICE": "0"})
    assert done.stdout == "s 4\n" and "1 on device 0 (intelmic)" in done.stderr and "launch" not in done.stderr
    done = tools.run(both, env={**env, "GOMPY_PLUGINS": "nvptx", "OMP_TARGET_OFFLOAD": "mandatory"})
    assert done.stdout == "s 77\n" and "1 on device 0 (nvptx)" in done.stderr


def test_a_device_without_an_image_leaves_the_region_to_the_host(tools: Tools, small: Path, driver: Path) -> None:
    env = {"LD_LIBRARY_PATH": str(driver), "GOMPY_STATS": "1", "GOMPY_PLUGINS": "nvptx"}
    done = tools.run(small, env=env)
    assert done.stdout == "s 4\n" and "1 on the host: no image for the device has the region's code" in done.stderr
