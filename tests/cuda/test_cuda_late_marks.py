"""The emulated CUDA driver with GOMPY_CHECK: marks of large blocks are made late, and are the same then."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from cuda_tools import ILLEGAL_ADDRESS, SUCCESS, Driver, has_driver, has_executor
from test_cuda_modules import launch

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
MIB = 1 << 20
LARGE = 12 * MIB + 4096
KERNELS = b"""
.version 6.0
.target sm_35
.address_size 64
.visible .entry read(.param .u64 of)
{
  .reg .u64 %of; .reg .u32 %v;
  ld.param.u64 %of, [of]; ld.global.u8 %v, [%of];
  ret;
}
.visible .entry write(.param .u64 to)
{
  .reg .u64 %to;
  ld.param.u64 %to, [to]; st.global.u8 [%to], 1;
  ret;
}
.visible .entry await(.param .u64 box)
{
  .reg .u64 %box, %of; .reg .u32 %v; .reg .pred %p;
  ld.param.u64 %box, [box];
  st.volatile.global.u64 [%box+8], 1;
$L: ld.volatile.global.u64 %of, [%box];
  setp.eq.u64 %p, %of, 0;
  @%p bra $L;
  ld.global.u8 %v, [%of];
  st.volatile.global.u64 [%box], 0;
  ret;
}
"""


class Program:
    """A driver with kernels of one thread."""

    def __init__(self, folder: Path) -> None:
        self.cuda = Driver(folder)
        self.cuda.context()
        self.module = self.cuda.handle("cuModuleLoadData", KERNELS)

    def kernel(self, name: bytes, address: int) -> int:
        """The answer of a launch, when it has ended."""
        function = self.cuda.handle("cuModuleGetFunction", self.module, name)
        assert launch(self.cuda, function, c_uint64(address), block=1) == SUCCESS
        return int(self.cuda.cuCtxSynchronize())

    def copy(self, to: int, data: bytes) -> None:
        self.cuda.ok("cuMemcpyHtoD_v2", c_uint64(to), data, c_size_t(len(data)))

    def free(self, of: int) -> None:
        self.cuda.ok("cuMemFree_v2", c_uint64(of))

    def unset(self, of: int, size: int) -> bytes:
        """A byte for each: whether nothing has written it."""
        answer = ctypes.create_string_buffer(size)
        self.cuda.ok("gompy_shadow_unset", c_uint64(of), answer, c_size_t(size))
        return answer.raw

    def used(self, size: int) -> int:
        """A block that a kernel has seen, all of it written."""
        block = self.cuda.put(bytes(size))
        assert self.kernel(b"read", block) == SUCCESS
        return block


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    return Program(tmp_path / "driver")


@pytest.mark.parametrize("way", [b"read", b"write"])
@pytest.mark.parametrize("at", [0, LARGE // 2, LARGE - 1])
def test_freed_memory_whose_marks_another_block_has(
    program: Program, capfd: pytest.CaptureFixture[str], way: bytes, at: int
) -> None:
    freed = program.used(LARGE)
    program.free(freed)
    new = program.cuda.put(bytes(LARGE))
    assert program.kernel(b"read", new + LARGE - 1) == SUCCESS
    assert capfd.readouterr().err == ""
    assert program.kernel(way, freed + at) == ILLEGAL_ADDRESS
    assert f"illegal address {freed + at:#x}" in capfd.readouterr().err


@pytest.mark.parametrize("at", [0, LARGE // 2, LARGE - 1])
def test_freed_memory_whose_marks_none_has(program: Program, capfd: pytest.CaptureFixture[str], at: int) -> None:
    freed, other = program.used(LARGE), program.used(16)
    program.free(freed)
    assert program.kernel(b"read", other) == SUCCESS
    assert program.kernel(b"read", freed + at) == ILLEGAL_ADDRESS
    assert f"illegal address {freed + at:#x}" in capfd.readouterr().err


@pytest.mark.parametrize("size", [LARGE, 4 * MIB, 40 * MIB])
def test_a_new_block_with_marks_of_a_freed_one_is_unwritten(
    program: Program, capfd: pytest.CaptureFixture[str], size: int
) -> None:
    """But for what has been copied to it: all of it is allocated."""
    program.free(program.used(LARGE))
    new = program.cuda.alloc(size)
    program.copy(new + 1000, bytes(size // 2))
    assert program.kernel(b"read", new + 1000) == SUCCESS
    assert program.kernel(b"read", new + 1000 + size // 2 - 1) == SUCCESS
    assert program.kernel(b"write", new + size - 1) == SUCCESS
    assert capfd.readouterr().err == ""
    for at in (0, 999, 1000 + size // 2, size - 2):
        assert program.kernel(b"read", new + at) == SUCCESS
    # A place is told once.
    assert f"device memory at {new:#x} read" in capfd.readouterr().err
    expected = b"\1" * 1000 + bytes(size // 2) + b"\1" * (size - 1001 - size // 2) + b"\0"
    assert program.unset(new, size) == expected


def test_small_blocks_where_a_large_one_was_freed(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    """Its addresses are given out again before a kernel runs; their marks stay where they are."""
    blocks = [program.used(LARGE) for _ in range(6)]
    for block in blocks:
        program.free(block)
    small = [program.cuda.put(b"x" * 40) for _ in range(300)]
    large = program.cuda.put(bytes(LARGE))
    for block in (*small, large):
        assert program.kernel(b"read", block) == SUCCESS
        assert program.kernel(b"write", block + 39) == SUCCESS
    assert capfd.readouterr().err == ""


def test_a_gap_in_a_new_block(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    """Copies do not open it."""
    new = program.cuda.alloc(LARGE)
    assert program.cuda.library.gompy_close_gap(c_uint64(new + MIB), c_size_t(100)) == SUCCESS
    program.copy(new, bytes(LARGE))
    assert program.kernel(b"read", new + MIB - 1) == SUCCESS
    assert program.kernel(b"read", new + MIB + 100) == SUCCESS
    assert capfd.readouterr().err == ""
    assert program.kernel(b"read", new + MIB + 99) == ILLEGAL_ADDRESS
    assert f"illegal address {new + MIB + 99:#x}" in capfd.readouterr().err


@pytest.mark.parametrize("written", [True, False])
def test_a_kernel_that_runs_already_sees_new_blocks(
    program: Program, capfd: pytest.CaptureFixture[str], written: bool
) -> None:
    """It is told their addresses by memory that the host shares."""
    cuda, box = program.cuda, c_uint64()
    program.free(program.used(LARGE))
    cuda.ok("cuMemAllocManaged", byref(box), c_size_t(16), c_uint32(1))
    word, begun = (c_uint64.from_address(box.value + at) for at in (0, 8))
    word.value = begun.value = 0
    first, second = (cuda.handle("cuStreamCreate", c_uint32(1)) for _ in range(2))
    function = cuda.handle("cuModuleGetFunction", program.module, b"await")
    words = (c_void_p * 1)(ctypes.addressof(box))
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, first, words, None)
    while not begun.value:
        time.sleep(0.001)
    new, data = cuda.alloc(LARGE), bytes(LARGE)
    if written:
        cuda.ok("cuMemcpyHtoDAsync_v2", c_uint64(new), data, c_size_t(LARGE), second)
        cuda.ok("cuStreamSynchronize", second)
    word.value = new + LARGE // 2
    assert cuda.cuCtxSynchronize() == SUCCESS
    err = capfd.readouterr().err
    assert word.value == 0 and (err == "" if written else f"device memory at {new + LARGE // 2:#x} read" in err), err


def test_new_memory_that_is_copied_on(program: Program) -> None:
    """On the device it is as unwritten as what it came from."""
    program.free(program.used(LARGE))
    of, to = program.cuda.alloc(LARGE), program.cuda.alloc(LARGE)
    program.copy(of, bytes(LARGE // 2))
    program.cuda.ok("cuMemcpyDtoD_v2", c_uint64(to), c_uint64(of), c_size_t(LARGE))
    expected = bytes(LARGE // 2) + b"\1" * (LARGE - LARGE // 2)
    assert program.unset(to, LARGE) == expected == program.unset(of, LARGE)


class Model:
    """Blocks, and what of them is written."""

    def __init__(self, program: Program, seed: int) -> None:
        self.program = program
        self.random = random.Random(seed)
        self.blocks: dict[int, bytearray] = {}

    def part(self) -> tuple[int, bytearray, int, int]:
        """Of a block, one that is there: all of it, or from a byte to another one."""
        address = self.random.choice(list(self.blocks))
        marks = self.blocks[address]
        if self.random.random() < 0.4:
            return address, marks, 0, len(marks)
        size = self.random.choice((1, 700, 70_000, len(marks))) % len(marks) + 1
        at = self.random.randrange(len(marks) - size + 1)
        return address, marks, at, size

    def alloc(self) -> None:
        size = self.random.choice((100, 65_536, 200_001, 4 * MIB, LARGE, LARGE, 17 * MIB + 13))
        self.blocks[self.program.cuda.alloc(size)] = bytearray(b"\1" * size)

    def free(self) -> None:
        address = self.random.choice(list(self.blocks))
        self.program.free(address)
        del self.blocks[address]

    def copy(self) -> None:
        address, marks, at, size = self.part()
        self.program.copy(address + at, bytes(size))
        marks[at : at + size] = bytes(size)

    def fill(self) -> None:
        address, marks, at, size = self.part()
        self.program.cuda.ok("cuMemsetD8_v2", address + at, 7, size)
        marks[at : at + size] = bytes(size)

    def copy_on(self) -> None:
        address, marks, at, size = self.part()
        other, others, to, most = self.part()
        if other != address:
            size = min(size, most)
            self.program.cuda.ok("cuMemcpyDtoD_v2", c_uint64(other + to), c_uint64(address + at), c_size_t(size))
            others[to : to + size] = marks[at : at + size]

    def write(self) -> None:
        address, marks, at, _ = self.part()
        assert self.program.kernel(b"write", address + at) == SUCCESS
        marks[at] = 0

    def look(self) -> None:
        address, marks, at, size = self.part()
        assert self.program.unset(address + at, size) == marks[at : at + size], (hex(address), at, size)


@pytest.mark.parametrize("seed", range(6))
def test_marks_by_a_model(program: Program, seed: int) -> None:
    """Whatever comes first: copies, kernels, looks, other blocks."""
    model = Model(program, seed)
    steps: list[Callable[[], None]] = [
        model.alloc, model.alloc, model.free, model.free, model.copy, model.copy, model.fill, model.copy_on,
        model.write, model.look,
    ]  # fmt: skip
    for _ in range(150):
        step = model.alloc if len(model.blocks) < 2 else model.free if len(model.blocks) > 6 else None
        (step or model.random.choice(steps))()
    for address, marks in model.blocks.items():
        assert program.unset(address, len(marks)) == marks, hex(address)


def test_freed_blocks_of_a_model(program: Program, capfd: pytest.CaptureFixture[str]) -> None:
    """Their marks are gone, wherever those of others have come from."""
    model = Model(program, 7)
    for _ in range(40):
        for step in (model.alloc, model.alloc, model.copy, model.write, model.free, model.free):
            step()
    freed = program.used(LARGE)
    program.free(freed)
    for _ in range(3):
        model.alloc()
    assert program.kernel(b"write", freed + LARGE // 3) == ILLEGAL_ADDRESS
    assert f"illegal address {freed + LARGE // 3:#x}" in capfd.readouterr().err


def test_blocks_take_turns_with_few_pages_of_the_shadow(program: Program) -> None:
    """A block gets those of the one that was freed before, whatever addresses it has."""
    faults = []
    for _ in range(12):
        block = program.used(LARGE)
        program.free(block)
        faults.append(minor_faults())
    assert faults[-1] - faults[5] < LARGE // 4096 // 4, faults


def minor_faults() -> int:
    """Of this process so far."""
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[7])


OLDER = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
void *mremap(void *of, size_t size, size_t wanted, int flags, ...)
{
  va_list rest;
  va_start(rest, flags);
  void *to = va_arg(rest, void *);
  va_end(rest);
  unsigned long first, end, at = (unsigned long) of;
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (flags & MREMAP_FIXED && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx", &first, &end) == 2 && first <= at && at < end && end - at < size)
      {
        fclose(maps);
        munmap(to, size);
        puts("a hole");
        errno = EFAULT;
        return MAP_FAILED;
      }
  fclose(maps);
  void *answer = (void *) syscall(SYS_mremap, of, size, wanted, flags, to);
  if (flags & MREMAP_FIXED && answer != MAP_FAILED)
    puts(size == 2 << 20 ? "moved one" : "moved several");
  return answer;
}
"""
BLOCKS = """
import sys
from pathlib import Path
from test_cuda_late_marks import MIB, SUCCESS, Program
program = Program(Path(sys.argv[1]))
for size in (12, 40, 40, 24):
    block = program.used(size * MIB)
    assert program.kernel(b"write", block + size * MIB - 1) == SUCCESS
    program.free(block)
"""


def test_pages_of_several_mappings_leave_no_hole(tmp_path: Path) -> None:
    """Before Linux 6.17 several mappings can't be moved at once, and what is to be there is gone then: another thread
    could get those addresses."""
    (tmp_path / "older.c").write_text(OLDER)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "older.c", "-o", tmp_path / "older.so"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(tmp_path / "older.so"), "GOMPY_CHECK": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", BLOCKS, tmp_path / "driver"], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.splitlines()) == {"moved one", "moved several"}
