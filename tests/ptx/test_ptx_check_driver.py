"""GOMPY_CHECK in the emulated CUDA driver: what the host does to device memory, and programs of stock gcc."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from ctypes import addressof, byref, c_size_t, c_uint64, c_void_p
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from cuda_tools import ILLEGAL_ADDRESS, INVALID_VALUE, SETTINGS, SUCCESS, Driver, Memcpy2D, has_driver, has_executor
from test_cuda_modules import launch
from test_cuda_stock import found, has_plugin

from gompy.driver import paths

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]

KERNELS = b"""
.version 6.0
.target sm_35
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from)
{
  .reg .u64 %a, %b, %x; .reg .u32 %t, %v;
  ld.param.u64 %a, [to]; ld.param.u64 %b, [from];
  mov.u32 %t, %tid.x; cvt.u64.u32 %x, %t; add.u64 %a, %a, %x; add.u64 %b, %b, %x;
  ld.global.u8 %v, [%b];
  st.global.u8 [%a], %v;
  ret;
}
"""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Driver]:
    """A driver with a context, by GOMPY_CHECK's value."""

    def make(check: str) -> Driver:
        monkeypatch.setenv("GOMPY_CHECK", check)
        made = Driver(tmp_path / f"driver{check}")
        made.context()
        return made

    return make


def copy(cuda: Driver, to: int, of: int, n: int) -> int:
    """Copy bytes by a kernel; the answer of the synchronisation."""
    module = cuda.handle("cuModuleLoadData", KERNELS)
    function = cuda.handle("cuModuleGetFunction", module, b"copy")
    assert launch(cuda, function, c_uint64(to), c_uint64(of), block=n) == SUCCESS
    answer: int = cuda.cuCtxSynchronize()
    return answer


def test_one_byte_behind_a_block(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str]) -> None:
    """Exact whatever the size."""
    cuda = driver("1")
    source, target = cuda.put(bytes(64)), cuda.alloc(33)
    assert copy(cuda, target, source, 33) == SUCCESS
    assert capfd.readouterr().err == ""
    assert copy(cuda, target, source, 34) == ILLEGAL_ADDRESS
    err = capfd.readouterr().err
    assert f"illegal address {target + 33:#x} written (1 bytes) in 'copy' at PTX:11" in err
    assert "thread (33,0,0); 0 bytes past the end of a block of 33 bytes" in err


def test_one_byte_before_a_block(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str]) -> None:
    """It is that block's, whichever come behind it: where it begins it has bytes that are nobody's."""
    cuda = driver("1")
    source = cuda.put(bytes(64))
    target, _ = cuda.alloc(33), cuda.alloc(33)
    assert copy(cuda, target - 1, source, 1) == ILLEGAL_ADDRESS
    assert f"; 1 bytes before a block of 33 bytes at {target:#x}\n" in capfd.readouterr().err


def test_words_choose_checks(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str]) -> None:
    cuda = driver("init")
    assert copy(cuda, cuda.alloc(33), cuda.alloc(64), 34) == SUCCESS
    assert "read (1 bytes) that was never written" in capfd.readouterr().err
    cuda = driver("sync,memory")
    assert copy(cuda, cuda.alloc(33), cuda.alloc(64), 33) == SUCCESS
    assert capfd.readouterr().err == ""
    assert copy(cuda, cuda.alloc(33), cuda.alloc(64), 34) == ILLEGAL_ADDRESS


@pytest.mark.parametrize("value", ["yes", "memory,", "memory,races"])
def test_a_word_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], value: str
) -> None:
    monkeypatch.setenv("GOMPY_CHECK", value)
    assert Driver(tmp_path / "driver").cuInit(0) == INVALID_VALUE
    assert capfd.readouterr().err == (
        f"libcuda (gompy): error: GOMPY_CHECK='{value}': neither 0 nor 1 nor a list of memory, init, sync, race, leak "
        "such as memory,sync\n"
    )


def test_a_seed_that_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOMPY_CUDA_SEED", "-1")
    assert Driver(tmp_path / "driver").cuInit(0) == INVALID_VALUE
    assert capfd.readouterr().err == (
        "libcuda (gompy): error: GOMPY_CUDA_SEED='-1': not a number from 0 to 4294967295\n"
    )


def written(cuda: Driver, way: str) -> int:
    """64 bytes of device memory that the host has written in a way."""
    address = cuda.alloc(64)
    if way == "copy":
        cuda.ok("cuMemcpyHtoD_v2", address, bytes(64), 64)
    elif way == "async":
        stream = cuda.handle("cuStreamCreate", 0)
        cuda.ok("cuMemcpyHtoDAsync_v2", address, bytes(64), 64, stream)
        cuda.ok("cuStreamSynchronize", stream)
    elif way == "fill":
        cuda.ok("cuMemsetD32_v2", address, 7, 16)
    elif way == "unified":
        cuda.ok("cuMemcpy", address, cuda.put(bytes(64)), 64)
    elif way == "rectangle":
        data = (c_uint64 * 8)()
        shape = Memcpy2D(srcMemoryType=1, srcHost=addressof(data), dstMemoryType=2, dstDevice=address, WidthInBytes=16)
        shape.Height, shape.srcPitch, shape.dstPitch = 4, 16, 16
        cuda.ok("cuMemcpy2D_v2", byref(shape))
    elif way == "pinned":
        to = c_void_p()
        cuda.ok("cuMemHostAlloc", byref(to), 64, 0)
        return to.value or 0
    elif way == "managed":
        managed = c_uint64()
        cuda.ok("cuMemAllocManaged", byref(managed), 64, 1)
        return managed.value
    return address


@pytest.mark.parametrize("way", ["copy", "async", "fill", "unified", "rectangle", "pinned", "managed"])
def test_what_the_host_writes(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str], way: str) -> None:
    cuda = driver("1")
    assert copy(cuda, cuda.alloc(64), written(cuda, way), 64) == SUCCESS
    assert capfd.readouterr().err == ""


def test_copies_of_what_nobody_wrote(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str]) -> None:
    """A device's copy is as written as its source; half of it here."""
    cuda = driver("1")
    source, target, out = cuda.alloc(64), cuda.put(bytes(64)), cuda.alloc(64)
    cuda.ok("cuMemsetD8_v2", source, 1, 32)
    cuda.ok("cuMemcpyDtoD_v2", target, source, 64)
    assert copy(cuda, out, target, 32) == SUCCESS
    assert capfd.readouterr().err == ""
    assert copy(cuda, out, target, 64) == SUCCESS
    first, second = capfd.readouterr().err.splitlines()
    assert re.fullmatch(
        rf"libcuda \(gompy\): warning: device memory at {target + 32:#x} read \(1 bytes\) that was never written in "
        r"'copy' at PTX:10, kernel 'copy', block \(0,0,0\), thread \(32,0,0\); "
        r"32 bytes into a block of 64 bytes at 0x[0-9a-f]+",
        first,
    )
    assert second == "libcuda (gompy): warning: kernel 'copy': 31 more of these in this launch"


@pytest.mark.parametrize("way", ["host", "device", "fill"])
def test_closed_gaps_stay_closed(driver: Callable[[str], Driver], capfd: pytest.CaptureFixture[str], way: str) -> None:
    """A runtime closes what lies between the objects of a block; copies of the whole block go over it."""
    cuda = driver("1")
    block, out = cuda.alloc(64), cuda.alloc(64)
    assert cuda.library.gompy_close_gap(c_uint64(block + 24), c_size_t(8)) == SUCCESS
    if way == "host":
        cuda.ok("cuMemcpyHtoD_v2", block, bytes(64), 64)
    elif way == "device":
        cuda.ok("cuMemcpyDtoD_v2", block, cuda.put(bytes(64)), 64)
    else:
        cuda.ok("cuMemsetD8_v2", block, 1, 64)
    assert copy(cuda, out, block, 24) == SUCCESS
    assert copy(cuda, out, block + 32, 32) == SUCCESS
    assert capfd.readouterr().err == ""
    assert copy(cuda, out, block, 25) == ILLEGAL_ADDRESS
    assert "thread (24,0,0)" in capfd.readouterr().err


def test_memory_that_is_given_out_again_is_unwritten(
    driver: Callable[[str], Driver], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Freed blocks come back when the addresses are used up; large ones drop their shadow's pages."""
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "8M")
    cuda = driver("1")
    seen = set()
    for _ in range(12):
        address = cuda.alloc(3 << 20)
        again = address in seen
        seen.add(address)
        assert copy(cuda, cuda.alloc(1), address + (1 << 20), 1) == SUCCESS
        cuda.ok("cuMemsetD8_v2", address, 0, 3 << 20)
        cuda.ok("cuMemFree_v2", address)
        assert "never written" in capfd.readouterr().err
    assert again


# --- programs of stock gcc -------------------------------------------------------------------------------------------

FAULTY = r"""
#include <stdlib.h>
#include <stdio.h>
int main (int argc, char **argv)
{
  int n = 1000, extra = argc > 1 ? atoi (argv[1]) : 0;
  int *a = malloc (n * sizeof *a), sum = 0;
  for (int i = 0; i < n; i++) a[i] = i;
  if (extra >= 0)
#pragma omp target teams distribute parallel for simd map(tofrom: a[:n])
    for (int i = 0; i < n + extra; i++)
      a[i] += 1;
  else if (extra == -1)
#pragma omp target teams distribute parallel for simd map(from: a[:n])
    for (int i = 0; i < n; i++)
      a[i] += 1;
  if (extra <= -2)
#pragma omp target parallel num_threads(-1 - extra) map(tofrom: a[:n])
    {
      int large[33000];
      for (int i = 0; i < 33000; i++)
        large[i] = i + a[i % n];
      for (int i = 0; i < 33000; i++)
#pragma omp atomic
        a[i % n] += large[i];
    }
  for (int i = 0; i < n; i++) sum += a[i];
  printf ("%d\n", extra < 0 ? 0 : sum);
}
"""

stock = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(not has_plugin(), reason="libgomp-plugin-nvptx1 is not installed"),
    pytest.mark.skipif(not found("accel/nvptx-none/mkoffload"), reason="gcc-12-offload-nvptx is not installed"),
]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The program above, with stock gcc and libgomp."""
    folder = tmp_path_factory.mktemp("stock")
    (folder / "faulty.c").write_text(FAULTY)
    command = ["gcc", "-O2", "-g", "-no-pie", "-fopenmp", "-foffload=nvptx-none"]
    command += ["-foffload-options=nvptx-none=-Wa,--no-verify", "faulty.c", "-o", "faulty"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if key not in SETTINGS and not key.startswith("OMP_")}
        env = {**clean, "LD_LIBRARY_PATH": paths.CUDALIBDIR, "OMP_TARGET_OFFLOAD": "mandatory", "GOMPY_CHECK": "1"}
        return subprocess.run([folder / "faulty", *arguments], env=env, capture_output=True, text=True, timeout=300)

    return run


class TestStockPrograms:
    """Stock gcc, stock libgomp, Debian's plugin."""

    pytestmark = stock

    def test_right(self, faulty: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = faulty()
        assert (done.returncode, done.stdout, done.stderr) == (0, "500500\n", "")

    def test_beyond_the_end(self, faulty: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = faulty("100")
        assert done.returncode != 0
        # Before it there may be warnings: of the bytes by which libgomp aligns the block.
        assert re.search(
            r"libcuda \(gompy\): error: illegal address 0x[0-9a-f]+ (read|written) \(4 bytes.*\) in "
            r"'main\$_omp_fn\$\d+' at faulty.c:1[12] \(object \d+:\d+\), kernel 'main\$_omp_fn\$\d+', "
            r"block \(\d+,0,0\), thread \(\d+,\d+,0\); "
            r"\d+ bytes (into|past the end of) a block of \d+ bytes at 0x[0-9a-f]+",
            done.stderr,
        ), done.stderr
        assert "libgomp: cuCtxSynchronize error: an illegal memory access was encountered" in done.stderr

    @pytest.mark.parametrize("warps", [1, 4])
    def test_a_stack_that_is_too_small(
        self, faulty: Callable[..., subprocess.CompletedProcess[str]], warps: int
    ) -> None:
        """Of one warp, below which nothing is, and of several, below each of which is another's."""
        done = faulty(str(-1 - warps))
        assert done.returncode != 0
        told = ", \\d+ bytes below the stacks of the warps, 131072 bytes each\n"
        if warps > 1:
            told = f"(; the stack of a warp, 131072 bytes, is exhausted\n|{told})"
        assert re.search(rf" at faulty.c:2\d \(.*{told}", done.stderr), done.stderr

    def test_never_written(self, faulty: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = faulty("-1")
        assert (done.returncode, done.stdout) == (0, "0\n")
        first, second = done.stderr.splitlines()
        assert "device memory at 0x" in first and " read (4 bytes) that was never written in 'main$_omp_fn$" in first
        assert re.search(r" at faulty.c:1[56] \(object", first)
        assert second.endswith("': 999 more of these in this launch")


HEAP = b"""
.version 6.0
.target sm_35
.address_size 64
.extern .func (.param .u64 r) malloc (.param .u64 n);
.extern .func free (.param .u64 p);
.visible .entry blocks(.param .u64 to)
{
  .reg .u64 %a, %n; .reg .u32 %i; .reg .pred %p;
  ld.param.u64 %a, [to]; mov.u32 %i, 0; mov.u64 %n, 2784;
again:
  { .param .u64 n; .param .u64 r; st.param.u64 [n], %n; call (r), malloc, (n); ld.param.u64 %n, [r]; }
  st.global.u64 [%a], %n;
  { .param .u64 p; st.param.u64 [p], %n; call free, (p); }
  mov.u64 %n, 2784; add.u64 %a, %a, 8; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 1000; @%p bra again;
  ret;
}
"""


def test_small_blocks_are_given_out_again(driver: Callable[[str], Driver]) -> None:
    """Not at once, so that a use of a freed one is told of; but new pages each time would be what a region costs."""
    cuda = driver("1")
    out = cuda.put(bytes(8000))
    function = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", HEAP), b"blocks")
    assert launch(cuda, function, c_uint64(out), block=1) == SUCCESS
    assert cuda.cuCtxSynchronize() == SUCCESS
    of_heap = [int.from_bytes(cuda.get(out + 8 * i, 8), "little") for i in range(1000)]
    of_program = []
    for _ in range(1000):
        of_program.append(cuda.alloc(4000))
        cuda.ok("cuMemFree_v2", c_uint64(of_program[-1]))
    for blocks in (of_heap, of_program):
        assert 0 not in blocks
        assert 100 <= len(set(blocks)) <= 300


def test_blocks_of_teams_are_given_out_again_before_others(driver: Callable[[str], Driver]) -> None:
    """GCC's teams have blocks of one size.  What the last launch has freed rests, and so does the program's own."""
    cuda = driver("1")
    out = cuda.put(bytes(8 * 16))
    teams, own = (
        cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", text), b"blocks")
        for text in (HEAP.replace(b"1000", b"16"), HEAP.replace(b"1000", b"1").replace(b"2784", b"96"))
    )

    def run(function: c_void_p, count: int) -> set[int]:
        assert launch(cuda, function, c_uint64(out), block=1) == SUCCESS
        assert cuda.cuCtxSynchronize() == SUCCESS
        return {int.from_bytes(cuda.get(out + 8 * i, 8), "little") for i in range(count)}

    first = run(own, 1)
    launches = [run(teams, 16) for _ in range(14)]
    assert all(len(blocks) == 16 for blocks in launches)
    assert not any(before & after for before, after in pairwise(launches))
    assert len(set.union(*launches)) <= 80
    assert not run(own, 1) & first
