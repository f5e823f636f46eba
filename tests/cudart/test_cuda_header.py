"""cuda.h for programs: what a toolkit's header has, and a program of the driver interface."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuda_tools import has_driver, needs_cuda_compiler
from driver_tools import needs
from test_cuda_cc import PROGRAMS, call

from gompy.abi import cuda_calls, cuda_enumerations, cuda_types
from gompy.cudart import clang
from gompy.native import generate_cuda_header

STRUCTURES = (
    *("CUdevprop", "CUexecAffinityParam", "CUctxCreateParams", "CUmemAllocationProp", "CUmemAccessDesc"),
    *("CUmemPoolProps", "CUDA_MEMCPY2D", "CUDA_MEMCPY3D", "CUDA_ARRAY_DESCRIPTOR", "CUDA_ARRAY3D_DESCRIPTOR"),
    *("CUDA_RESOURCE_DESC", "CUDA_TEXTURE_DESC", "CUDA_RESOURCE_VIEW_DESC", "CUlaunchAttribute", "CUlaunchConfig"),
    *("CUstreamBatchMemOpParams", "CUgraphEdgeData", "CUDA_KERNEL_NODE_PARAMS_v1", "CUDA_KERNEL_NODE_PARAMS"),
    *("CUDA_MEMSET_NODE_PARAMS", "CUDA_MEM_ALLOC_NODE_PARAMS", "CUDA_CONDITIONAL_NODE_PARAMS", "CUgraphNodeParams"),
    *("CUDA_GRAPH_INSTANTIATE_PARAMS", "CUgraphExecUpdateResultInfo", "CUipcMemHandle", "CUuuid"),
)
MEMBERS = (
    *("CUDA_MEMCPY3D.Depth", "CUDA_MEMCPY2D.dstPitch", "CUDA_RESOURCE_DESC.flags", "CUDA_TEXTURE_DESC.borderColor"),
    *("CUgraphNodeParams.kernel.ctx", "CUgraphNodeParams.memcpy.copyParams", "CUgraphNodeParams.conditional.ctx"),
    *("CUlaunchAttribute.value.priority", "CUmemPoolProps.usage", "CUDA_RESOURCE_VIEW_DESC.lastLayer"),
    *("CUstreamBatchMemOpParams.waitValue.alias", "CUDA_MEM_ALLOC_NODE_PARAMS.dptr"),
)


def toolkit() -> Path:
    """NVIDIA's header, where it is installed."""
    headers = sorted(Path("/usr/local").glob("cuda*/include/cuda.h"))
    if not headers:
        pytest.skip("no CUDA toolkit is installed below /usr/local")
    return headers[-1]


def said(lines: list[str], folder: Path, *words: str) -> str:
    """What gcc says of a text."""
    file = folder / "check.c"
    file.write_text("\n".join([*lines, ""]))
    command = ["gcc", "-fsyntax-only", "-Wall", *words, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@needs("gcc")
def test_toolkit_has_the_same(tmp_path: Path) -> None:
    """Each call's types, each number: a declaration that differs is an error of gcc's."""
    lines = ["#define __CUDA_API_VERSION_INTERNAL", f'#include "{toolkit()}"', '#include "cudaProfiler.h"']
    for one in cuda_calls.all_calls():
        if one.here:
            lines.append(f"CUresult {one.name} ({', '.join(generate_cuda_header.parameters(one)) or 'void'});")
    for name in cuda_enumerations.ENUMERATIONS:
        members = generate_cuda_header.members(name).items()
        lines += [f'_Static_assert ((int) {member} == (int) {number}u, "{member}");' for member, number in members]
    assert len(lines) > 1000
    assert said(lines, tmp_path, f"-I{toolkit().parent}") == ""


def layout(header: str, include: Path, folder: Path) -> str:
    """Sizes and places of members by a header."""
    folder.mkdir()
    shown = [f"sizeof ({name})" for name in STRUCTURES]
    shown += [f"__builtin_offsetof ({m.partition('.')[0]}, {m.partition('.')[2]})" for m in MEMBERS]
    lines = [f'#include "{header}"', "#include <stdio.h>", "int main (void) {"]
    lines += [f'printf ("%s: %zu\\n", "{what}", {what});' for what in shown]
    (folder / "show.c").write_text("\n".join([*lines, "}", ""]))
    command = ["gcc", "-w", f"-I{include}", "show.c", "-o", "show"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return subprocess.run(["./show"], cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout


@has_driver
@needs("gcc")
def test_structures_are_the_toolkits(tmp_path: Path) -> None:
    theirs = layout(str(toolkit()), toolkit().parent, tmp_path / "theirs")
    assert layout("cuda.h", Path(clang.INCLUDE), tmp_path / "ours") == theirs


def test_names_lead_to_the_forms_of_a_version() -> None:
    names = generate_cuda_header.newest(12000)
    assert names["cuMemAlloc"] == "cuMemAlloc_v2"
    assert names["cuCtxCreate"] == "cuCtxCreate_v2"
    assert names["cuGraphInstantiate"] == "cuGraphInstantiateWithFlags"
    assert names["cuStreamGetCaptureInfo"] == "cuStreamGetCaptureInfo_v2"
    assert "cuMemPrefetchAsync" not in names
    assert generate_cuda_header.newest(13000)["cuMemPrefetchAsync"] == "cuMemPrefetchAsync_v2"


def test_tables_have_no_more_than_the_calls_have() -> None:
    """A name without a parameter would stay unseen."""
    calls = [call for call in cuda_calls.all_calls() if call.here]
    names = {name for call in calls for name, _ in call.parameters}
    places = {f"{call.name}.{name}" for call in calls for name, _ in call.parameters}
    assert {name for listed in cuda_types.TYPES.values() for name in listed.split()} <= names
    assert {place for listed in cuda_types.EXCEPTIONS.values() for place in listed.split()} <= places


@has_driver
@needs("gcc")
def test_threads_own_streams(tmp_path: Path) -> None:
    """By the macro the calls are those for the thread's own default stream."""
    source = tmp_path / "own.c"
    source.write_text('#include "cuda.h"\nint f (void) { return cuStreamBeginCapture (0, 0) + cuCtxSynchronize (); }\n')
    command = ["gcc", "-E", "-DCUDA_API_PER_THREAD_DEFAULT_STREAM", f"-I{clang.INCLUDE}", str(source)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "return cuStreamBeginCapture_v2_ptsz (0, 0) + cuCtxSynchronize ();" in text


@pytest.mark.slow
@needs_cuda_compiler
@has_driver
def test_program_of_the_driver_interface(tmp_path: Path) -> None:
    (tmp_path / "add.cu").write_text(
        'extern "C" __global__ void add (const float *a, const float *b, float *c, int n)\n'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }\n"
    )
    assert call(tmp_path, "cc", "--ptx", "add.cu").stderr == ""
    done = call(tmp_path, "cc", "-Wall", str(PROGRAMS / "cuda_driver.cpp"), "-lcuda", "-o", "prog")
    assert (done.returncode, done.stderr) == (0, "")
    ran = call(tmp_path, "run", "./prog", "add.ptx", GOMPY_CUDA_ARCH="sm_80")
    assert (ran.returncode, ran.stdout) == (0, "array 16 x 16\n0 wrong, version 12000, sm_8x\n")
