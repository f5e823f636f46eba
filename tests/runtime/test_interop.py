"""Interoperability objects (``omp interop``, GCC 15): the emulated MIC's stream, CUDA's handles on the emulated GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from cuda_tools import has_driver, has_executor
from driver_tools import Tools, has_all, needs
from nvptx_tools import has_compiler, make_tools

pytestmark = [has_all, needs("gcc")]
PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "interop.c"
MIC = """\
fr_id: omp_interop_t, 100, 0 -3 -3
fr_name: const char *, "gompy", -5 -5 0
vendor: int, 100, 0 -3 -3
vendor_name: const char *, "gompy", -5 -5 0
device_num: int, 0, 0 -3 -3
platform: N/A, 1 1 1
device: int, 0, 0 -3 -3
device_context: N/A, 1 1 1
targetsync: void *, pointer, 0 0 -4
stream: right
ended
"""
GPU = """\
fr_id: omp_interop_t, 2, 0 -3 -3
fr_name: const char *, "cuda_driver", -5 -5 0
vendor: int, 11, 0 -3 -3
vendor_name: const char *, "nvidia", -5 -5 0
device_num: int, 0, 0 -3 -3
platform: N/A, 1 1 1
device: CUdevice, 0, 0 -3 -3
device_context: CUcontext, pointer, 0 0 -4
targetsync: CUstream, pointer, 0 0 -4
stream: right
ended
"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    return make_tools(tmp_path_factory, GOMPY_CUDA="emulated")


def build(tools: Tools, name: str, target: str) -> Path:
    """Compile the program for a target."""
    output = tools.work / name
    tools.ok("gompcc", "-O1", "-fopenmp", f"-foffload={target}", PROGRAM, "-ldl", "-o", output)
    return output


def test_an_emulated_stream(tools: Tools) -> None:
    """Calls and copies come in order; ``use`` waits; ``destroy`` with nowait is ordered by depend."""
    done = tools.run(build(tools, "mic", "intelmic"))
    assert (done.stdout, done.returncode) == (MIC, 0), done.stderr


def test_two_devices(tools: Tools) -> None:
    """The object of a device that is not the first has the program's number and the plugin's."""
    done = tools.run(build(tools, "two", "intelmic"), env={"OFFLOAD_EMUL_NUM": "2", "OMP_DEFAULT_DEVICE": "1"})
    assert "device_num: int, 1, " in done.stdout and "\ndevice: int, 1, " in done.stdout


@has_compiler
@has_driver
@has_executor
def test_cuda_handles(tools: Tools) -> None:
    """The program's own calls of the driver work with context and stream; the second preference is taken."""
    done = tools.run(build(tools, "gpu", "nvptx-none"))
    assert (done.stdout, done.returncode) == (GPU, 0), done.stderr
