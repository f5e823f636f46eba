"""What of device memory is all written is noted for loops (spans.h): whoever takes that away takes the note back."""

from __future__ import annotations

import struct
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint8, c_uint64, c_void_p
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from cuda_tools import ILLEGAL_ADDRESS, SUCCESS, Driver, has_driver, has_executor
from test_cuda_modules import launch

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
COUNT = 3000
"""Words of an array: each question is about many blocks."""
KERNELS = b"""
.version 6.0
.target sm_35
.address_size 64
.visible .global .align 4 .u32 table[3000];
.visible .entry total(.param .u64 to, .param .u64 of, .param .u64 count)
{
  .reg .u64 %to, %of, %n; .reg .u32 %v, %sum; .reg .pred %p;
  ld.param.u64 %to, [to]; ld.param.u64 %of, [of]; ld.param.u64 %n, [count];
  mov.u32 %sum, 0;
$L: ld.global.u32 %v, [%of];
  add.u32 %sum, %sum, %v; add.u64 %of, %of, 4; sub.u64 %n, %n, 1;
  setp.ne.u64 %p, %n, 0;
  @%p bra $L;
  st.global.u32 [%to], %sum;
  ret;
}
"""


class Program:
    """A driver with a kernel that adds the words of an array up."""

    def __init__(self, folder: Path) -> None:
        self.cuda = Driver(folder)
        self.cuda.context()
        self.module = self.cuda.handle("cuModuleLoadData", KERNELS)
        self.kernel = self.cuda.handle("cuModuleGetFunction", self.module, b"total")
        self.to = self.cuda.alloc(4)

    def total(self, of: int, count: int = COUNT) -> int:
        """The answer of a launch."""
        answer = launch(self.cuda, self.kernel, c_uint64(self.to), c_uint64(of), c_uint64(count), block=1)
        assert answer == SUCCESS
        return int(self.cuda.cuCtxSynchronize())

    def known(self, of: int) -> int:
        """An array of which is noted that all is written."""
        for _ in range(2):
            assert self.total(of) == SUCCESS
            assert struct.unpack("<I", self.cuda.get(self.to, 4)) == (0,)
        return of

    def array(self) -> int:
        """Such a one."""
        return self.known(self.cuda.put(bytes(4 * COUNT)))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    return Program(tmp_path / "driver")


def free(program: Program, of: int) -> None:
    program.cuda.ok("cuMemFree_v2", of)


def close_a_gap(program: Program, of: int) -> None:
    assert program.cuda.library.gompy_close_gap(c_uint64(of), c_size_t(4)) == SUCCESS


@pytest.mark.parametrize("way", [free, close_a_gap])
def test_memory_that_is_not_allocated_any_longer(
    program: Program, capfd: pytest.CaptureFixture[str], way: Callable[[Program, int], None]
) -> None:
    of = program.array()
    way(program, of)
    assert program.total(of) == ILLEGAL_ADDRESS
    assert f"illegal address {of:#x} read (4 bytes) in 'total'" in capfd.readouterr().err


def test_a_gap_in_the_middle(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    of = program.array()
    close_a_gap(program, of + 8000)
    assert program.total(of) == ILLEGAL_ADDRESS
    assert f"illegal address {of + 8000:#x} read (4 bytes) in 'total'" in capfd.readouterr().err


def test_memory_that_a_stream_frees(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    of = c_uint64()
    program.cuda.ok("cuMemAllocAsync", byref(of), 4 * COUNT, None)
    program.cuda.ok("cuMemsetD8_v2", of, 0, 4 * COUNT)
    address = program.known(of.value)
    program.cuda.ok("cuMemFreeAsync", of, None)
    assert program.total(address) == ILLEGAL_ADDRESS
    assert f"illegal address {address:#x} read (4 bytes) in 'total'" in capfd.readouterr().err


@pytest.mark.parametrize("pinned", [False, True])
def test_memory_of_the_host_too(program: Program, capfd: pytest.CaptureFixture[str], pinned: bool) -> None:
    of = c_uint64()
    if pinned:
        of.value = program.cuda.handle("cuMemHostAlloc", 4 * COUNT, 0).value or 0
    else:
        program.cuda.ok("cuMemAllocManaged", byref(of), 4 * COUNT, 1)
    program.cuda.ok("cuMemsetD8_v2", of, 0, 4 * COUNT)
    address = program.known(of.value)
    program.cuda.ok("cuMemFreeHost", c_void_p(address)) if pinned else free(program, address)
    assert program.total(address) == ILLEGAL_ADDRESS
    assert f"illegal address {address:#x} read (4 bytes) in 'total'" in capfd.readouterr().err


def test_a_variable_of_a_module_that_is_unloaded(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    cuda, of, size = program.cuda, c_uint64(), c_size_t()
    module = cuda.handle("cuModuleLoadData", KERNELS)
    cuda.ok("cuModuleGetGlobal_v2", byref(of), byref(size), module, b"table")
    address = program.known(of.value)
    cuda.ok("cuModuleUnload", module)
    assert program.total(address) == ILLEGAL_ADDRESS
    assert f"illegal address {address:#x} read (4 bytes) in 'total'" in capfd.readouterr().err


def test_a_copy_of_what_nobody_wrote(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    of, fresh = program.array(), program.cuda.alloc(4)
    program.cuda.ok("cuMemcpyDtoD_v2", of + 8000, fresh, 4)
    assert program.total(of) == SUCCESS
    assert f"{of + 8000:#x} read (4 bytes) that was never written in 'total'" in capfd.readouterr().err
    program.cuda.ok("cuMemsetD8_v2", of + 8000, 0, 4)
    program.known(of)
    assert capfd.readouterr().err == ""


def test_what_the_host_has_newer(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    """And has no longer."""
    of = program.array()
    marks = (c_uint8 * 4)(1, 1, 1, 1)
    stale = program.cuda.library.gompy_shadow_stale
    assert stale(c_uint64(of + 8000), marks, c_size_t(4)) == SUCCESS
    assert program.total(of) == SUCCESS
    assert f"{of + 8000:#x} read (4 bytes)" in capfd.readouterr().err
    assert stale(c_uint64(of + 8000), (c_uint8 * 4)(), c_size_t(4)) == SUCCESS
    program.known(of)
    assert capfd.readouterr().err == ""


def test_memory_that_is_given_out_again(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    """Its bytes are unwritten."""
    seen = set()
    for _ in range(400):
        of = program.cuda.alloc(4 * COUNT)
        if of in seen:
            break
        seen.add(of)
        program.cuda.ok("cuMemsetD8_v2", of, 0, 4 * COUNT)
        assert program.total(of) == SUCCESS
        free(program, of)
    assert of in seen, "no address comes again"
    assert program.total(of) == SUCCESS
    assert f"{of:#x} read (4 bytes) that was never written in 'total'" in capfd.readouterr().err
