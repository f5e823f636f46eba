"""The emulated CUDA driver with GOMPY_CHECK: kernels run without looks at what they access while checks rest."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from cuda_tools import ILLEGAL_ADDRESS, NOT_SUPPORTED, SUCCESS, Driver, has_driver, has_executor
from test_cuda_gate import access
from test_cuda_late_marks import Model, Program
from test_cuda_modules import launch

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
LEAST = 8
SIZE = 1 << 17
GAP = SIZE // 2
KERNELS = b"""
.version 6.0
.target sm_35
.address_size 64
.extern .func (.param .u64 p) malloc(.param .u64 n);
.extern .func free(.param .u64 p);
.global .align 8 .u64 kept;
.visible .global .align 8 .u64 told = 5;
.func (.param .u32 r) twice(.param .u32 v)
{
  .reg .u32 %v;
  ld.param.u32 %v, [v]; add.u32 %v, %v, %v; st.param.u32 [r], %v;
  ret;
}
.func (.param .u32 r) square(.param .u32 v)
{
  .reg .u32 %v;
  ld.param.u32 %v, [v]; mul.lo.u32 %v, %v, %v; st.param.u32 [r], %v;
  ret;
}
.global .align 8 .u64 table[2] = { twice, square };
.visible .entry keep(.param .u64 to)
{
  .reg .u64 %f;
  mov.u64 %f, square; st.global.u64 [kept], %f;
  ret;
}
.visible .entry apply(.param .u64 to)
{
  .reg .u64 %to, %f, %g, %same; .reg .u32 %v; .reg .pred %p;
  ld.param.u64 %to, [to];
  ld.global.u64 %f, [kept];
  { .param .u32 r; .param .u32 v; st.param.u32 [v], 7;
    k: .callprototype (.param .u32 _) _ (.param .u32 _);
    call (r), %f, (v), k; ld.param.u32 %v, [r]; st.global.u32 [%to], %v; }
  ld.global.u64 %g, [table];
  { .param .u32 r; .param .u32 v; st.param.u32 [v], 7;
    t: .callprototype (.param .u32 _) _ (.param .u32 _);
    call (r), %g, (v), t; ld.param.u32 %v, [r]; st.global.u32 [%to+4], %v; }
  { .param .u32 r; .param .u32 v; st.param.u32 [v], 9;
    call (r), twice, (v); ld.param.u32 %v, [r]; st.global.u32 [%to+8], %v; }
  mov.u64 %same, square; setp.eq.u64 %p, %f, %same; selp.u32 %v, 1, 0, %p; st.global.u32 [%to+12], %v;
  ret;
}
.visible .entry make(.param .u64 to)
{
  .reg .u64 %to, %a;
  ld.param.u64 %to, [to];
  { .param .u64 p; .param .u64 n; st.param.u64 [n], 256; call (p), malloc, (n); ld.param.u64 %a, [p]; }
  st.global.u32 [%a+252], 77;
  st.global.u64 [%to], %a;
  ret;
}
.visible .entry drop(.param .u64 to)
{
  .reg .u64 %to, %a; .reg .u32 %v;
  ld.param.u64 %to, [to];
  ld.global.u64 %a, [%to];
  ld.global.u32 %v, [%a+252]; st.global.u32 [%to+8], %v;
  { .param .u64 p; st.param.u64 [p], %a; call free, (p); }
  ret;
}
.extern .shared .align 4 .b8 room[];
.visible .entry share(.param .u64 to)
{
  .reg .u64 %to, %a; .reg .u32 %i, %o, %v;
  ld.param.u64 %to, [to];
  mov.u32 %i, %tid.x; shl.b32 %o, %i, 2; mov.u32 %v, room; add.u32 %o, %o, %v;
  st.shared.u32 [%o], %i;
  bar.sync 0;
  xor.b32 %i, %i, 1; shl.b32 %o, %i, 2; add.u32 %o, %o, %v; ld.shared.u32 %v, [%o];
  mov.u32 %i, %tid.x; mul.wide.u32 %a, %i, 4; add.u64 %to, %to, %a; st.global.u32 [%to], %v;
  ret;
}
"""


class Resting(Program):
    """Kernels that run, some of them without looks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.more = self.cuda.handle("cuModuleLoadData", KERNELS)

    def rest(self, on: bool) -> None:
        self.cuda.ok("gompy_rest_looks", int(on))

    def known(self, *names: bytes) -> None:
        """These have been looked at often enough."""
        block = self.cuda.put(bytes(4096))
        for name in names:
            for _ in range(LEAST):
                assert self.kernel(name, block) == SUCCESS
        self.free(block)

    def gap(self) -> int:
        """An address between two that are allocated: what looks finds there, and nothing else does."""
        block = self.cuda.put(bytes(SIZE))
        self.cuda.ok("gompy_close_gap", c_uint64(block + GAP), c_size_t(64))
        return block + GAP

    def run(self, name: bytes, address: int, block: int = 1, shared: int = 0) -> None:
        function = self.cuda.handle("cuModuleGetFunction", self.more, name)
        value = c_uint64(address)
        words = (c_void_p * 1)(ctypes.addressof(value))
        self.cuda.ok("cuLaunchKernel", function, 1, 1, 1, block, 1, 1, shared, None, words, None)
        self.cuda.ok("cuCtxSynchronize")

    def numbers(self, address: int, count: int) -> list[int]:
        data = self.cuda.get(address, 4 * count)
        return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 4 * count, 4)]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resting:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    return Resting(tmp_path / "driver")


def test_a_kernel_runs_without_looks_that_had_some(program: Resting, capfd: pytest.CaptureFixture[str]) -> None:
    program.known(b"write")
    gap = program.gap()
    program.rest(True)
    for _ in range(3):
        assert program.kernel(b"write", gap) == SUCCESS
    assert capfd.readouterr().err == ""
    assert program.kernel(b"read", gap) == ILLEGAL_ADDRESS  # its first launch
    assert f"illegal address {gap:#x}" in capfd.readouterr().err


def test_each_kernel_has_some_with_looks(program: Resting) -> None:
    program.rest(True)
    for _ in range(LEAST - 1):
        assert program.kernel(b"write", program.used(4)) == SUCCESS
    assert program.kernel(b"write", program.gap()) == ILLEGAL_ADDRESS


def test_the_rest_ends(program: Resting) -> None:
    program.known(b"write")
    gap = program.gap()
    program.rest(True)
    assert program.kernel(b"write", gap) == SUCCESS
    program.rest(False)
    assert program.kernel(b"write", gap) == ILLEGAL_ADDRESS


def test_kernels_of_a_graph_choose_as_they_run(program: Resting) -> None:
    program.known(b"write")
    cuda, gap = program.cuda.typed(), c_uint64(program.gap())
    stream = cuda.handle("cuStreamCreate", c_uint32(1))
    function = cuda.handle("cuModuleGetFunction", program.module, b"write")
    words = (c_void_p * 1)(ctypes.addressof(gap))
    cuda.ok("cuStreamBeginCapture_v2", stream, 0)
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, stream, words, None)
    graph = cuda.handle_last("cuStreamEndCapture", stream)
    run = cuda.handle("cuGraphInstantiateWithFlags", graph, 0)
    for rests, answer in ((True, SUCCESS), (False, ILLEGAL_ADDRESS)):
        program.rest(rests)
        cuda.ok("cuGraphLaunch", run, stream)
        assert cuda.cuStreamSynchronize(stream) == answer


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        ("1", SUCCESS),
        ("memory", SUCCESS),
        ("init", SUCCESS),
        ("sync", NOT_SUPPORTED),
        ("race", NOT_SUPPORTED),
        ("memory,race", NOT_SUPPORTED),
        ("0", NOT_SUPPORTED),
    ],
)
def test_what_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str, answer: int) -> None:
    """A kernel whose races are looked for changes what is known of the next one's; barriers take little."""
    monkeypatch.setenv("GOMPY_CHECK", check)
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    assert cuda.gompy_rest_looks(1) == answer


@pytest.mark.parametrize("size", [100, SIZE, 12 << 20])
def test_what_a_kernel_without_looks_may_have_written_is_not_told(
    program: Resting, capfd: pytest.CaptureFixture[str], size: int
) -> None:
    program.known(b"write")
    before = program.cuda.alloc(size)
    program.rest(True)
    within = program.cuda.alloc(size)
    assert program.kernel(b"write", before) == SUCCESS
    late = program.cuda.alloc(size)
    assert program.kernel(b"write", late + size - 1) == SUCCESS
    for block in (before, within, late):
        assert program.kernel(b"read", block + size - 1) == SUCCESS
    program.rest(False)
    for block in (before, within, late):
        assert program.kernel(b"read", block + size // 2) == SUCCESS
        assert program.unset(block, size) == bytes(size)
    assert capfd.readouterr().err == ""
    after = program.cuda.alloc(size)
    assert program.kernel(b"read", after) == SUCCESS
    assert f"device memory at {after:#x} read" in capfd.readouterr().err


def test_a_rest_in_which_nothing_ran_changes_no_mark(program: Resting) -> None:
    block = program.cuda.alloc(SIZE)
    program.copy(block, bytes(GAP))
    program.rest(True)
    program.rest(False)
    assert program.unset(block, SIZE) == bytes(GAP) + b"\1" * (SIZE - GAP)


@pytest.mark.parametrize("ends", [True, False])
def test_what_the_host_has_changed_since(program: Resting, capfd: pytest.CaptureFixture[str], ends: bool) -> None:
    """Writes that nothing has marked came before that."""
    program.known(b"write")
    block = program.cuda.put(bytes(SIZE))
    program.rest(True)
    assert program.kernel(b"write", block) == SUCCESS
    if ends:
        program.rest(False)
    program.cuda.ok("gompy_shadow_stale", c_uint64(block), b"\1" * 4, c_size_t(4))
    assert program.kernel(b"read", block + 3) == SUCCESS
    assert "that the host has changed since it was copied there" in capfd.readouterr().err


def test_a_kernel_with_looks_beside_one_without(program: Resting, capfd: pytest.CaptureFixture[str]) -> None:
    """It comes to what the other one writes, which is not marked."""
    program.known(b"write")
    cuda, box = program.cuda, c_uint64()
    cuda.ok("cuMemAllocManaged", byref(box), c_size_t(16), c_uint32(1))
    word, begun = (c_uint64.from_address(box.value + at) for at in (0, 8))
    word.value = begun.value = 0
    first, second = (cuda.handle("cuStreamCreate", c_uint32(1)) for _ in range(2))
    program.rest(True)
    waits, writes = (cuda.handle("cuModuleGetFunction", program.module, name) for name in (b"await", b"write"))
    words = (c_void_p * 1)(ctypes.addressof(box))
    cuda.ok("cuLaunchKernel", waits, 1, 1, 1, 1, 1, 1, 0, first, words, None)
    while not begun.value:
        time.sleep(0.001)
    new = c_uint64(cuda.alloc(SIZE))
    words = (c_void_p * 1)(ctypes.addressof(new))
    cuda.ok("cuLaunchKernel", writes, 1, 1, 1, 1, 1, 1, 0, second, words, None)
    cuda.ok("cuStreamSynchronize", second)
    word.value = new.value
    assert cuda.cuCtxSynchronize() == SUCCESS
    assert word.value == 0 and capfd.readouterr().err == ""


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("applied", [True, False])
def test_functions_have_one_address(program: Resting, kept: bool, applied: bool) -> None:
    """In memory, in initial values and where code compares them; each calls its own kind of code."""
    out = program.cuda.alloc(64)
    for _ in range(LEAST):
        program.run(b"keep", out)
        program.run(b"apply", out)
    program.rest(kept)
    program.run(b"keep", out)
    program.rest(applied)
    program.run(b"apply", out)
    assert program.numbers(out, 4) == [49, 14, 18, 1]


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("dropped", [True, False])
def test_memory_that_kernels_ask_for(
    program: Resting, capfd: pytest.CaptureFixture[str], made: bool, dropped: bool
) -> None:
    out = program.cuda.put(bytes(64))
    for _ in range(LEAST):
        program.run(b"make", out)
        program.run(b"drop", out)
    for _ in range(5):
        program.rest(made)
        program.run(b"make", out)
        program.rest(dropped)
        program.run(b"drop", out)
        assert program.numbers(out + 8, 1) == [77]
    freed = int.from_bytes(program.cuda.get(out, 8), "little")
    assert capfd.readouterr().err == ""
    assert program.kernel(b"read", freed) == ILLEGAL_ADDRESS


def test_device_memory_stays_open(program: Resting) -> None:
    """To open and close it is part of what checks take."""
    block = program.cuda.put(bytes(SIZE))
    assert access(block) == "--"
    program.rest(True)
    program.cuda.get(block, 4)
    assert access(block) == access(program.cuda.alloc(SIZE)) == "rw"
    program.rest(False)
    program.cuda.get(block, 4)
    assert access(block) == "--"


def test_variables_are_the_same(program: Resting) -> None:
    address, size = c_uint64(), c_size_t()
    program.cuda.ok("cuModuleGetGlobal_v2", byref(address), byref(size), program.more, b"told")
    program.known(b"write")
    program.rest(True)
    assert program.kernel(b"write", address.value) == SUCCESS
    assert program.cuda.get(address.value, 8) == (1).to_bytes(8, "little")


def test_dynamic_shared_memory(program: Resting, capfd: pytest.CaptureFixture[str]) -> None:
    out = program.cuda.alloc(256)
    for turn in range(LEAST + 6):
        program.rest(turn % 3 > 0)
        program.run(b"share", out, block=64, shared=256)
        assert program.numbers(out, 64) == [i ^ 1 for i in range(64)]
    assert capfd.readouterr().err == ""


def test_a_kernel_goes_on_with_looks_where_the_other_code_is_not_to_be_had(
    program: Resting, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = KERNELS + b"// %d\n" % time.time_ns()
    program.module = program.cuda.handle("cuModuleLoadData", text)
    out = program.cuda.alloc(64)
    for name in (b"keep", b"apply", b"make", b"drop"):
        assert program.kernel(name, out) == SUCCESS
    monkeypatch.setenv("GOMPY_PYTHON", "/bin/false")
    program.rest(True)
    for _ in range(LEAST + 3):
        assert program.kernel(b"apply", out) == SUCCESS
    assert program.numbers(out, 4) == [49, 14, 18, 1]
    assert capfd.readouterr().err == ""
    assert program.kernel(b"apply", program.gap()) == ILLEGAL_ADDRESS


def test_modules_go_with_both_codes(program: Resting) -> None:
    out = program.cuda.put(bytes(64))
    for _ in range(3):
        program.rest(False)
        for _ in range(LEAST):
            program.run(b"apply" if _ else b"keep", out)
        program.rest(True)
        for _ in range(3):
            program.run(b"apply", out)
        program.cuda.ok("cuModuleUnload", program.more)
        program.more = program.cuda.handle("cuModuleLoadData", KERNELS)


def test_what_it_takes_is_measured(program: Resting) -> None:
    def spent() -> int:
        to = c_uint64()
        program.cuda.ok("gompy_looks_time", byref(to), 0)
        return to.value

    before = spent()
    program.known(b"write")
    assert spent() > before
    to = c_uint64()
    assert program.cuda.gompy_looks_time(byref(to), 99) != SUCCESS


class RestingModel(Model):
    """With a kernel that makes marks only while checks don't rest; they are made when somebody looks, or the rest
    ends."""

    rests = False
    lacks = False

    def settle(self) -> None:
        for marks in self.blocks.values() if self.lacks else ():
            marks[:] = bytes(len(marks))
        self.lacks = False

    def turn(self) -> None:
        self.rests = not self.rests
        self.program.cuda.ok("gompy_rest_looks", int(self.rests))
        if not self.rests:
            self.settle()

    def write(self) -> None:
        super().write()
        self.lacks = self.lacks or self.rests

    def copy_on(self) -> None:
        self.settle()
        self.program.unset(next(iter(self.blocks)), 1)
        super().copy_on()

    def look(self) -> None:
        self.settle()
        super().look()


@pytest.mark.parametrize("seed", range(6))
def test_marks_by_a_model(program: Resting, seed: int) -> None:
    program.known(b"write")
    model = RestingModel(program, seed)
    steps: list[Callable[[], None]] = [
        model.alloc, model.alloc, model.free, model.free, model.copy, model.copy, model.copy_on, model.write,
        model.write, model.look, model.turn,
    ]  # fmt: skip
    for _ in range(150):
        step = model.alloc if len(model.blocks) < 2 else model.free if len(model.blocks) > 6 else None
        (step or model.random.choice(steps))()
    model.settle()
    for address, marks in model.blocks.items():
        assert program.unset(address, len(marks)) == marks, hex(address)
    launch(program.cuda, program.cuda.handle("cuModuleGetFunction", program.module, b"read"), c_uint64(address))
    assert program.cuda.cuCtxSynchronize() == SUCCESS
