"""Peer access: kernels of one device that use another one's memory."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from ctypes import Structure, byref, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest
from cuda_tools import (
    ILLEGAL_ADDRESS,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    SETTINGS,
    SUCCESS,
    Driver,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
PEER_ACCESS_UNSUPPORTED, ALREADY_ENABLED, NOT_ENABLED, TOO_MANY_PEERS = 217, 704, 705, 711
RANK, ACCESS, ATOMICS, ARRAYS = 1, 2, 3, 4
NONE, READ, BOTH = 0, 1, 3
STEP = 2 << 20
ONES = struct.pack("<64I", *[1] * 64)

ADD = """.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 to, .param .u64 of)
{
  .reg .u64 %rd<4>; .reg .u32 %r<4>;
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd0, %r0, 4;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [of];
  add.u64 %rd1, %rd1, %rd0;
  add.u64 %rd2, %rd2, %rd0;
  ld.global.u32 %r1, [%rd1];
  ld.global.u32 %r2, [%rd2];
  add.u32 %r1, %r1, %r2;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry count(.param .u64 to, .param .u64 of)
{
  .reg .u64 %rd<2>; .reg .u32 %r<2>;
  ld.param.u64 %rd0, [to];
  red.global.sys.add.u32 [%rd0], 1;
  ld.param.u64 %rd1, [of];
  atom.global.sys.add.u32 %r0, [%rd1], 2;
  ret;
}
.visible .entry total(.param .u64 to, .param .u64 of)
{
  .reg .u64 %rd<3>; .reg .u32 %r<3>; .reg .pred %p;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [of];
  add.u64 %rd0, %rd2, 256;
  mov.u32 %r0, 0;
$L: ld.global.u32 %r1, [%rd2];
  add.u32 %r0, %r0, %r1;
  add.u64 %rd2, %rd2, 4;
  setp.ne.u64 %p, %rd2, %rd0;
  @%p bra $L;
  st.global.u32 [%rd1], %r0;
  ret;
}
.visible .entry twice(.param .u64 to, .param .u64 of)
{
  .reg .u64 %rd<4>; .reg .u32 %r<9>;
  mov.u32 %r0, %tid.x;
  and.b32 %r0, %r0, 15;
  mul.wide.u32 %rd0, %r0, 16;
  ld.param.u64 %rd1, [to];
  ld.param.u64 %rd2, [of];
  add.u64 %rd1, %rd1, %rd0;
  add.u64 %rd2, %rd2, %rd0;
  ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2];
  shl.b32 %r1, %r1, 1;
  shl.b32 %r2, %r2, 1;
  shl.b32 %r3, %r3, 1;
  shl.b32 %r4, %r4, 1;
  st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};
  ret;
}
"""


class Place(Structure):
    """CUmemLocation."""

    _fields_ = (("type", c_int), ("id", c_int))


class Access(Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", Place), ("flags", c_int))


class Properties(Structure):
    """CUmemAllocationProp, or the beginning of CUmemPoolProps."""

    _fields_ = (("type", c_int), ("handles", c_int), ("location", Place), ("rest", c_uint64 * 9))


class Machine:
    """Several devices with a context and the kernels each; the first one is current."""

    def __init__(self, cuda: Driver, count: int = 2) -> None:
        self.cuda = cuda
        self.contexts = [cuda.context(device) for device in range(count)]
        self.kernels: dict[tuple[int, str], c_void_p] = {}
        for device, context in enumerate(self.contexts):
            cuda.ok("cuCtxSetCurrent", context)
            module = cuda.handle("cuModuleLoadData", ADD.encode())
            for name in ("add", "count", "total", "twice"):
                self.kernels[device, name] = cuda.handle("cuModuleGetFunction", module, name.encode())
        self.on(0)

    def on(self, device: int) -> None:
        """Its context is current."""
        self.cuda.ok("cuCtxSetCurrent", self.contexts[device])

    def enable(self, device: int, peer: int) -> int:
        """Kernels of a device may use a peer's memory."""
        self.on(device)
        return int(self.cuda.cuCtxEnablePeerAccess(self.contexts[peer], 0))

    def put(self, device: int, data: bytes) -> int:
        """Memory of a device, with contents."""
        self.on(device)
        return self.cuda.put(data)

    def launch(self, device: int, name: str, to: int, of: int, threads: int = 64) -> int:
        """Run a kernel; the context's answer."""
        self.on(device)
        values = c_uint64(to), c_uint64(of)
        words = (c_void_p * 2)(*(ctypes.addressof(v) for v in values))
        kernel = self.kernels[device, name]
        self.cuda.ok("cuLaunchKernel", kernel, 1, 1, 1, threads, 1, 1, 0, None, words, None)
        return int(self.cuda.cuCtxSynchronize())


@pytest.fixture(name="make")
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """Makes machines of as many devices, with settings."""

    def make(count: int = 2, **settings: str) -> Machine:
        for name in SETTINGS:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("GOMPY_CUDA_DEVICES", str(count))
        monkeypatch.setenv("GOMPY_CUDA_MEMORY", "1G")
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        return Machine(Driver(tmp_path / "driver").typed(), count)

    return make


def words(data: bytes) -> list[int]:
    """Its numbers."""
    return list(struct.unpack(f"<{len(data) // 4}I", data))


def test_what_is_asked_of_two_devices(make: Callable[..., Machine]) -> None:
    cuda, value = make().cuda, c_int(7)
    for one, other, can in ((0, 1, 1), (1, 0, 1), (0, 0, 0)):
        cuda.ok("cuDeviceCanAccessPeer", byref(value), one, other)
        assert value.value == can
    assert cuda.cuDeviceCanAccessPeer(byref(value), 0, 2) == INVALID_DEVICE
    assert cuda.cuDeviceCanAccessPeer(None, 0, 1) == INVALID_VALUE
    for kind, want in ((RANK, 0), (ACCESS, 1), (ATOMICS, 1), (ARRAYS, 1)):
        cuda.ok("cuDeviceGetP2PAttribute", byref(value), kind, 0, 1)
        assert value.value == want
    assert cuda.cuDeviceGetP2PAttribute(byref(value), 9, 0, 1) == INVALID_VALUE
    assert cuda.cuDeviceGetP2PAttribute(None, ACCESS, 0, 1) == INVALID_VALUE
    assert cuda.cuDeviceGetP2PAttribute(byref(value), ACCESS, 1, 1) == INVALID_DEVICE


def test_enabling_and_disabling(make: Callable[..., Machine]) -> None:
    machine = make()
    cuda, (one, two) = machine.cuda, machine.contexts
    assert cuda.cuCtxDisablePeerAccess(two) == NOT_ENABLED
    assert cuda.cuCtxEnablePeerAccess(two, 1) == INVALID_VALUE
    assert cuda.cuCtxEnablePeerAccess(one, 0) == INVALID_CONTEXT
    assert cuda.cuCtxEnablePeerAccess(None, 0) == INVALID_CONTEXT
    assert cuda.cuCtxDisablePeerAccess(None) == INVALID_CONTEXT
    assert cuda.cuCtxEnablePeerAccess(two, 0) == SUCCESS
    assert cuda.cuCtxEnablePeerAccess(two, 0) == ALREADY_ENABLED
    machine.on(1)
    assert cuda.cuCtxDisablePeerAccess(one) == NOT_ENABLED
    machine.on(0)
    assert cuda.cuCtxDisablePeerAccess(two) == SUCCESS
    assert cuda.cuCtxDisablePeerAccess(two) == NOT_ENABLED
    same = cuda.context(0)
    assert cuda.cuCtxEnablePeerAccess(one, 0) == INVALID_DEVICE
    cuda.ok("cuCtxDestroy_v2", same)
    for _ in machine.contexts:
        cuda.ok("cuCtxSetCurrent", None)
    assert cuda.cuCtxEnablePeerAccess(two, 0) == INVALID_CONTEXT


def test_as_many_peers_as_there_is_room_for(make: Callable[..., Machine]) -> None:
    """Those that are gone leave theirs to others."""
    machine = make()
    cuda = machine.cuda
    others = [cuda.context(1) for _ in range(17)]
    machine.on(0)
    answers = [cuda.cuCtxEnablePeerAccess(other, 0) for other in others]
    assert answers == [SUCCESS] * 16 + [TOO_MANY_PEERS]
    cuda.ok("cuCtxDestroy_v2", others[3])
    assert cuda.cuCtxEnablePeerAccess(others[16], 0) == SUCCESS
    assert cuda.cuCtxEnablePeerAccess(others[5], 0) == ALREADY_ENABLED
    assert cuda.cuCtxEnablePeerAccess(machine.contexts[1], 0) == TOO_MANY_PEERS


@has_executor
@pytest.mark.parametrize("check", ["0", "1", "race", "memory,race"])
@pytest.mark.parametrize("name", ["add", "count", "twice"])
def test_kernels_use_a_peers_memory(make: Callable[..., Machine], name: str, check: str) -> None:
    machine = make(GOMPY_CHECK=check)
    to, of = machine.put(0, ONES), machine.put(1, bytes(range(256)))
    assert machine.enable(0, 1) == machine.enable(1, 0) == SUCCESS
    assert machine.launch(0, name, to, of) == machine.launch(1, name, of, to) == SUCCESS
    mine, other = [1] * 64, words(bytes(range(256)))
    if name == "add":
        mine = [(a + b) & 0xFFFFFFFF for a, b in zip(mine, other, strict=True)]
        other = [(a + b) & 0xFFFFFFFF for a, b in zip(mine, other, strict=True)]
    elif name == "twice":
        mine = [2 * a & 0xFFFFFFFF for a in other]
        other = [2 * a & 0xFFFFFFFF for a in mine]
    else:
        mine[0] += 64 + 128
        other[0] += 128 + 64
    assert words(machine.cuda.get(to, 256)) == mine
    assert words(machine.cuda.get(of, 256)) == other


@has_executor
@pytest.mark.parametrize("check", ["0", "1", "race"])
def test_what_is_not_enabled_is_an_illegal_address(
    make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], check: str
) -> None:
    machine = make(GOMPY_CHECK=check)
    to, of = machine.put(0, ONES), machine.put(1, ONES)
    assert machine.enable(1, 0) == SUCCESS  # the other way only
    assert machine.launch(0, "add", to, of, 32) == ILLEGAL_ADDRESS
    err = capfd.readouterr().err
    assert f"illegal address 0x{of:x} read (4 bytes) in 'add'" in err
    assert (
        "; 0 bytes into a block of 256 bytes at "
        f"0x{of:x} of device 1: peer access from device 0 is not enabled (cuCtxEnablePeerAccess)\n"
    ) in err
    assert machine.launch(1, "add", of, to) == SUCCESS


@has_executor
def test_disabled_again(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str]) -> None:
    machine = make()
    to, of = machine.put(0, ONES), machine.put(1, ONES)
    assert machine.enable(0, 1) == SUCCESS
    assert machine.launch(0, "add", to, of) == SUCCESS
    machine.cuda.ok("cuCtxDisablePeerAccess", machine.contexts[1])
    assert machine.launch(0, "add", of, to) == ILLEGAL_ADDRESS
    assert "peer access from device 0 is not enabled" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_a_peers_context_that_is_gone(make: Callable[..., Machine], check: str) -> None:
    machine = make(GOMPY_CHECK=check)
    to = machine.put(0, ONES)
    other = machine.cuda.context(1)
    of = machine.cuda.put(ONES)
    machine.on(0)
    machine.cuda.ok("cuCtxEnablePeerAccess", other, 0)
    assert machine.launch(0, "add", to, of) == SUCCESS
    machine.cuda.ok("cuCtxDestroy_v2", other)
    of = machine.put(1, ONES)
    assert machine.launch(0, "add", to, of) == ILLEGAL_ADDRESS


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_a_device_between(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], check: str) -> None:
    """The first device may use the third's memory, and not that of the second, which lies between them."""
    machine = make(3, GOMPY_CHECK=check)
    to, near, far = (machine.put(device, ONES) for device in range(3))
    assert machine.enable(0, 2) == SUCCESS
    assert machine.launch(0, "add", to, far) == machine.launch(0, "count", far, to) == SUCCESS
    assert machine.launch(0, "twice", far, to) == SUCCESS
    assert words(machine.cuda.get(far, 256)) == [2 * (2 + 128), *[4] * 63]
    assert machine.launch(0, "add", to, near) == ILLEGAL_ADDRESS
    assert "of device 1: peer access from device 0 is not enabled" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("count", [2, 3])
def test_the_end_of_a_peers_block(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], count: int) -> None:
    """GOMPY_CHECK sees it, and what was freed or never written, also where the executor has to ask."""
    machine = make(count, GOMPY_CHECK="1")
    last = count - 1
    assert machine.enable(0, last) == SUCCESS
    to = machine.put(0, ONES * 2)
    machine.on(last)
    fresh, short = machine.cuda.alloc(256), machine.cuda.put(ONES)
    assert machine.launch(0, "add", to, fresh, 32) == SUCCESS
    err = capfd.readouterr().err
    assert f"warning: device memory at 0x{fresh:x} read (4 bytes) that was never written in 'add'" in err
    assert f"; 0 bytes into a block of 256 bytes at 0x{fresh:x} of device {last}\n" in err
    assert machine.launch(0, "add", to, short, 65) == ILLEGAL_ADDRESS
    assert f"; 0 bytes past the end of a block of 256 bytes at 0x{short:x} of device {last}\n" in capfd.readouterr().err


@has_executor
def test_a_peers_freed_block(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str]) -> None:
    machine = make(GOMPY_CHECK="1")
    assert machine.enable(0, 1) == SUCCESS
    to, gone = machine.put(0, ONES), machine.put(1, ONES)
    machine.cuda.ok("cuMemFree_v2", gone)
    assert machine.launch(0, "add", to, gone, 32) == ILLEGAL_ADDRESS
    assert f"; 0 bytes into a freed block of 256 bytes at 0x{gone:x} of device 1\n" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("device", [0, 1, 2])
def test_loops_over_a_peers_block(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], device: int) -> None:
    """Whoever is the first of the devices in a row: what is noted of blocks (spans.h) is each one's own."""
    machine = make(3, GOMPY_CHECK="1")
    peer = (device + 1) % 3
    assert all(machine.enable(device, other) == SUCCESS for other in range(3) if other != device)
    to, of = machine.put(device, ONES), machine.put(peer, ONES)
    for _ in range(2):
        assert machine.launch(device, "total", to, of, 1) == SUCCESS
        assert words(machine.cuda.get(to, 4)) == [64]
    machine.on(peer)
    machine.cuda.ok("cuMemFree_v2", of)
    assert machine.launch(device, "total", to, of, 1) == ILLEGAL_ADDRESS
    assert f"; 0 bytes into a freed block of 256 bytes at 0x{of:x}" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_host_and_managed_memory_is_everybodys(make: Callable[..., Machine], check: str) -> None:
    """Of whichever device's context it was asked, without peer access."""
    machine = make(GOMPY_CHECK=check)
    cuda, shared = machine.cuda, c_uint64()
    cuda.ok("cuMemAllocManaged", byref(shared), 256, 1)
    pinned = cuda.handle("cuMemHostAlloc", 256, 0).value
    assert pinned is not None
    ctypes.memmove(shared.value or 0, ONES, 256)
    ctypes.memmove(pinned, ONES, 256)
    assert machine.launch(1, "add", shared.value, pinned) == SUCCESS
    assert machine.launch(1, "count", pinned, shared.value) == SUCCESS
    assert words(ctypes.string_at(shared.value or 0, 256)) == [2 + 128, *[2] * 63]
    assert words(ctypes.string_at(pinned, 256)) == [65, *[1] * 63]


def pool_of(machine: Machine, device: int) -> Any:
    """A pool of a device's memory."""
    properties = Properties(1, 0, Place(1, device))
    return machine.cuda.handle("cuMemPoolCreate", byref(properties))


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_pools_say_who_uses_their_memory(
    make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], check: str
) -> None:
    """Peer access of contexts does not count for it, and it needs none."""
    machine = make(GOMPY_CHECK=check)
    cuda, memory, flags = machine.cuda, c_uint64(), c_int(7)
    pool, to = pool_of(machine, 0), machine.put(1, ONES)
    machine.on(0)
    cuda.ok("cuMemAllocFromPoolAsync", byref(memory), 256, pool, None)
    cuda.ok("cuMemcpyHtoD_v2", memory.value, ONES, 256)
    ask = byref(flags), pool, byref(Place(1, 1))
    cuda.ok("cuMemPoolGetAccess", *ask)
    assert flags.value == NONE
    for wanted, answer in ((Access(Place(1, 1), READ), NOT_SUPPORTED), (Access(Place(1, 1), 2), INVALID_VALUE)):
        assert cuda.cuMemPoolSetAccess(pool, byref(wanted), 1) == answer
    assert cuda.cuMemPoolSetAccess(pool, byref(Access(Place(1, 2), BOTH)), 1) == INVALID_VALUE
    assert cuda.cuMemPoolSetAccess(pool, byref(Access(Place(1, 0), NONE)), 1) == INVALID_VALUE
    cuda.ok("cuMemPoolSetAccess", pool, byref(Access(Place(1, 1), BOTH)), 1)
    cuda.ok("cuMemPoolGetAccess", *ask)
    assert flags.value == BOTH
    assert machine.launch(1, "add", to, memory.value) == SUCCESS
    cuda.ok("cuMemPoolSetAccess", pool, byref(Access(Place(1, 1), NONE)), 1)
    assert machine.enable(1, 0) == SUCCESS
    assert machine.launch(1, "add", to, memory.value) == ILLEGAL_ADDRESS
    assert "of device 0: peer access from device 1 is not enabled (cuMemPoolSetAccess)\n" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_mappings_say_who_uses_them(
    make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], check: str
) -> None:
    machine = make(GOMPY_CHECK=check)
    cuda, address, flags = machine.cuda, c_uint64(), c_uint64()
    to = machine.put(1, ONES)
    machine.on(0)
    cuda.ok("cuMemAddressReserve", byref(address), STEP, 0, 0, 0)
    memory = cuda.handle("cuMemCreate", STEP, byref(Properties(1, 0, Place(1, 0))), 0)
    cuda.ok("cuMemMap", address.value, STEP, 0, memory, 0)
    both = (Access * 2)(Access(Place(1, 0), BOTH), Access(Place(1, 1), BOTH))
    cuda.ok("cuMemSetAccess", address.value, STEP, both, 2)
    cuda.ok("cuMemGetAccess", byref(flags), byref(Place(1, 1)), address.value)
    assert flags.value == BOTH
    cuda.ok("cuMemcpyHtoD_v2", address.value, ONES, 256)
    assert machine.launch(1, "add", to, address.value) == SUCCESS
    cuda.ok("cuMemSetAccess", address.value, STEP, byref(Access(Place(1, 1), NONE)), 1)
    cuda.ok("cuMemGetAccess", byref(flags), byref(Place(1, 1)), address.value)
    assert flags.value == NONE
    assert machine.enable(1, 0) == SUCCESS
    assert machine.launch(1, "add", to, address.value) == ILLEGAL_ADDRESS
    assert "of device 0: peer access from device 1 is not enabled (cuMemSetAccess)\n" in capfd.readouterr().err


class Allocation(Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS."""

    _fields_ = (
        ("properties", Properties),
        ("access", ctypes.POINTER(Access)),
        ("count", c_size_t),
        ("size", c_size_t),
        ("address", c_uint64),
    )


@has_executor
@pytest.mark.parametrize("flags", [NONE, BOTH])
def test_memory_of_a_graph_says_who_uses_it(
    make: Callable[..., Machine], capfd: pytest.CaptureFixture[str], flags: int
) -> None:
    machine = make()
    cuda = machine.cuda
    to = machine.put(1, ONES)
    machine.on(0)
    graph = cuda.handle("cuGraphCreate", 0)
    wanted = Access(Place(1, 1), flags)
    node = Allocation(Properties(1, 0, Place(1, 0)), ctypes.pointer(wanted), 1, 256, 0)
    assert ctypes.sizeof(node) == 120
    cuda.handle("cuGraphAddMemAllocNode", graph, None, 0, byref(node))
    ready = cuda.handle("cuGraphInstantiateWithFlags", graph, 0)
    cuda.ok("cuGraphLaunch", ready, None)
    cuda.ok("cuCtxSynchronize")
    cuda.ok("cuMemcpyHtoD_v2", node.address, ONES, 256)
    assert machine.launch(1, "add", to, node.address) == (SUCCESS if flags else ILLEGAL_ADDRESS)
    if not flags:
        words_of_it = "peer access from device 1 is not enabled (access of the node that allocates)\n"
        assert words_of_it in capfd.readouterr().err


@has_executor
def test_devices_that_are_no_peers(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str]) -> None:
    """GOMPY_CUDA_PEERS=0: what a program does then can be tried."""
    machine = make(GOMPY_CUDA_PEERS="0")
    cuda, value = machine.cuda, c_int(7)
    cuda.ok("cuDeviceCanAccessPeer", byref(value), 0, 1)
    assert value.value == 0
    for kind in (RANK, ACCESS, ATOMICS, ARRAYS):
        cuda.ok("cuDeviceGetP2PAttribute", byref(value), kind, 0, 1)
        assert value.value == 0
    assert machine.enable(0, 1) == PEER_ACCESS_UNSUPPORTED
    access = byref(Access(Place(1, 1), BOTH))
    assert cuda.cuMemPoolSetAccess(pool_of(machine, 0), access, 1) == PEER_ACCESS_UNSUPPORTED
    to, of = machine.put(0, ONES), machine.put(1, ONES)
    cuda.ok("cuMemcpyPeer", to, machine.contexts[0], of, machine.contexts[1], 256)
    assert machine.launch(0, "add", to, of) == ILLEGAL_ADDRESS
    assert "peer access from device 0 is not enabled" in capfd.readouterr().err


@has_executor
@pytest.mark.parametrize("check", ["0", "1"])
def test_mappings_of_another_device_alone(make: Callable[..., Machine], check: str) -> None:
    """The device whose memory it is has no access; when nobody has any the pages are closed."""
    machine = make(GOMPY_CHECK=check)
    cuda, address, flags = machine.cuda, c_uint64(), c_uint64(7)
    to = machine.put(1, ONES)
    machine.on(0)
    cuda.ok("cuMemAddressReserve", byref(address), STEP, 0, 0, 0)
    memory = cuda.handle("cuMemCreate", STEP, byref(Properties(1, 0, Place(1, 0))), 0)
    cuda.ok("cuMemMap", address.value, STEP, 0, memory, 0)
    cuda.ok("cuMemSetAccess", address.value, STEP, byref(Access(Place(1, 1), BOTH)), 1)
    assert machine.launch(1, "add", to, address.value) == SUCCESS
    cuda.ok("cuMemGetAccess", byref(flags), byref(Place(1, 0)), address.value)
    assert flags.value == NONE
    cuda.ok("cuMemSetAccess", address.value, STEP, byref(Access(Place(1, 0), BOTH)), 1)
    cuda.ok("cuMemSetAccess", address.value, STEP, byref(Access(Place(1, 0), NONE)), 1)
    assert machine.launch(1, "add", to, address.value) == SUCCESS
    cuda.ok("cuMemSetAccess", address.value, STEP, byref(Access(Place(1, 1), NONE)), 1)
    assert machine.launch(1, "add", to, address.value) == ILLEGAL_ADDRESS


@has_executor
def test_a_copy_between_devices_waits_for_both(make: Callable[..., Machine], capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing else puts their default streams in an order."""
    machine = make(GOMPY_CHECK="race")
    mine, other, ones = machine.put(0, ONES), machine.put(1, ONES), machine.put(1, ONES)
    values = c_uint64(other), c_uint64(ones)
    pointers = (c_void_p * 2)(*(ctypes.addressof(v) for v in values))
    for _ in range(3):
        machine.on(1)
        machine.cuda.ok("cuLaunchKernel", machine.kernels[1, "add"], 1, 1, 1, 64, 1, 1, 0, None, pointers, None)
        machine.on(0)
        machine.cuda.ok("cuMemcpyPeer", mine, machine.contexts[0], other, machine.contexts[1], 256)
    assert words(machine.cuda.get(mine, 256)) == [4] * 64
    assert capfd.readouterr().err == ""
