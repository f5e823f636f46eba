"""libcudart's calls from a C program that gcc builds, with PTX of our own: no clang is needed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from cuda_tools import SETTINGS, has_driver
from driver_tools import needs

from gompy.cudart import clang
from gompy.objects import fatbin

pytestmark = [has_driver, needs("gcc")]
ROOT = Path(__file__).resolve().parents[2]
PTX = """\
.version 6.0
.target sm_60
.address_size 64

.visible .global .align 4 .u32 amount = 3;

.visible .entry add (.param .u64 array, .param .u32 count)
{
  .reg .pred %p;
  .reg .u32 %r<6>;
  .reg .u64 %d<3>;
  ld.param.u64 %d1, [array];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p, %r5, %r1;
  @%p bra done;
  mad.wide.u32 %d2, %r5, 4, %d1;
  ld.global.u32 %r2, [%d2];
  ld.global.u32 %r3, [amount];
  add.u32 %r2, %r2, %r3;
  st.global.u32 [%d2], %r2;
done:
  ret;
}
"""
FUTURE = PTX.replace("sm_60", "sm_90").replace("add.u32", "sub.u32")


def build(folder: Path, container: bytes, source: str = "cudart_calls.c") -> Path:
    """The program, with a fat binary in it."""
    (folder / "container").write_bytes(container)
    program = folder / "calls"
    command = ["gcc", "-std=gnu11", "-Wall", "-Werror", '-DCONTAINER="container"', f"-I{clang.INCLUDE}"]
    command += [str(ROOT / "tests/programs" / source), "-o", str(program), *clang.link_words([])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return program


def run(program: Path, **settings: str) -> tuple[int, str, str]:
    """Run it on one emulated GPU."""
    env = {name: value for name, value in os.environ.items() if name not in (*SETTINGS, "LD_LIBRARY_PATH")}
    env |= {"GOMPY_CUDA": "emulated", "GOMPY_CUDA_DEVICES": "1", "GOMPY_CUDA_MEMORY": "64M", **settings}
    done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program whose fat binary has PTX for the device, and for one that is newer."""
    return build(tmp_path_factory.mktemp("calls"), fatbin.pack([(60, PTX.encode()), (90, FUTURE.encode())]))


def test_calls_of_a_c_program(program: Path) -> None:
    """Devices, copies, kernels, errors that stay, a reset; the program checks itself."""
    status, out, err = run(program)
    assert (status, out) == (0, "all is well\n"), err
    lines = err.splitlines()
    assert (
        lines[0]
        == "libcudart (gompy): error: cudaOccupancyMaxActiveClusters is not implemented (cudaErrorNotSupported)"
    )
    assert lines[1].startswith("libcuda (gompy): error: illegal address ")
    assert "in 'add'" in lines[1]
    assert len(lines) == 2


@pytest.mark.parametrize("seed", ["0", "3"])
def test_graphs_of_a_c_program(tmp_path: Path, seed: str) -> None:
    """Captured and explicit ones; the program checks itself."""
    program = build(tmp_path, fatbin.pack([(60, PTX.encode())]), "cudart_graphs.c")
    assert run(program, GOMPY_CUDA_SEED=seed) == (0, "all is well\n", "")


def test_a_device_older_than_all_ptx(tmp_path: Path) -> None:
    """There is nothing to load, and the call says so."""
    program = build(tmp_path, fatbin.pack([(90, FUTURE.encode())]))
    status, out, _ = run(program)
    assert (status, out.partition(": ")[2]) == (1, "cudaErrorNoKernelImageForDevice, not cudaSuccess\n")


@pytest.mark.parametrize("container", [b"", b"\0" * 64, fatbin.pack([])], ids=["nothing", "zeros", "empty"])
def test_a_container_that_is_none(tmp_path: Path, container: bytes) -> None:
    """Neither is one without files, or one that is cut off."""
    status, out, _ = run(build(tmp_path, container + bytes(64)))
    assert (status, "cudaErrorNoKernelImageForDevice" in out) == (1, True)


def test_ptx_that_is_wrong(tmp_path: Path) -> None:
    """The driver's words reach the user."""
    program = build(tmp_path, fatbin.pack([(60, PTX.replace("ret;", "frobnicate;").encode())]))
    status, out, err = run(program)
    assert (status, "cudaErrorInvalidPtx" in out) == (1, True)
    assert "unknown opcode 'frobnicate'" in err


def test_compressed_ptx_is_refused_by_name(tmp_path: Path) -> None:
    """Other compilers' containers may have it."""
    data = bytearray(fatbin.pack([(60, PTX.encode())]))
    data[16 + 41] |= 0x20  # flags: packed
    _, out, err = run(build(tmp_path, bytes(data)))
    assert "cudaErrorNoKernelImageForDevice" in out
    assert "compressed" in err


def test_no_device(program: Path) -> None:
    """The first call says it."""
    status, out, err = run(program, GOMPY_CUDA_DEVICES="0")
    assert (status, out.partition(": ")[2]) == (1, "cudaErrorNoDevice, not cudaSuccess\n")
    assert err == "libcudart (gompy): error: GOMPY_CUDA=emulated: no CUDA-capable device is detected\n"


def test_a_choice_that_is_none(program: Path) -> None:
    """One line, and the calls fail."""
    status, out, err = run(program, GOMPY_CUDA="maybe")
    assert (status, "cudaErrorInitializationError" in out) == (1, True)
    assert err == "libcudart (gompy): error: GOMPY_CUDA=maybe is not one of real, emulated, auto\n"
