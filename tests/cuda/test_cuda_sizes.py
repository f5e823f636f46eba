"""The emulated CUDA driver: sizes that no memory has; memory and handles that another thread gives back meanwhile."""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Callable
from ctypes import byref, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    HOST_FUNCTION,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    OUT_OF_MEMORY,
    SUCCESS,
    Driver,
    Memcpy2D,
    Memcpy3D,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
SIZES = [1 << 63, 1 << 62, (1 << 62) + 16, (1 << 64) - 1, (1 << 64) - 16, 1 << 60, 1 << 40, 1 << 32]
REFUSED = {INVALID_VALUE, OUT_OF_MEMORY}
BLOCK = 4096
PTX = ".version 6.0\n.target sm_35\n.address_size 64\n"
KERNEL = PTX + ".visible .entry k (.param .u64 o) { .reg .u64 %o; ld.param.u64 %o, [o]; st.u64 [%o], %o; ret; }\n"


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "driver")


def rectangle(p: int, q: int, **changes: int) -> Memcpy2D:
    """4 lines of 16 bytes in blocks with lines of 64, changed."""
    c = Memcpy2D(srcMemoryType=2, dstMemoryType=2, srcDevice=p, dstDevice=q, WidthInBytes=16, Height=4)
    c.srcPitch = c.dstPitch = 64
    for name, value in changes.items():
        setattr(c, name, value)
    return c


def cuboid(p: int, q: int, **changes: int) -> Memcpy3D:
    """2 slices of 2 lines of 16 bytes, changed."""
    c = Memcpy3D(srcMemoryType=2, dstMemoryType=2, srcDevice=p, dstDevice=q, WidthInBytes=16, Height=2, Depth=2)
    c.srcPitch = c.dstPitch = 64
    c.srcHeight = c.dstHeight = 4
    for name, value in changes.items():
        setattr(c, name, value)
    return c


def below(p: int) -> int:
    """A page of the program's memory right below what is mapped around an address of the device."""
    runs = [[int(end, 16) for end in line.split()[0].split("-")] for line in open("/proc/self/maps")]
    start = next(start for start, end in runs if start <= p < end)
    while any(end == start for _, end in runs):  # the device's window is several mappings
        start = next(start_ for start_, end in runs if end == start)
    libc = ctypes.CDLL(None)
    libc.mmap.restype, libc.mmap.argtypes = c_uint64, (c_uint64, c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    MAP_FIXED_NOREPLACE, PRIVATE_ANONYMOUS = 0x100000, 0x22
    page = libc.mmap(start - 4096, 4096, 3, MAP_FIXED_NOREPLACE | PRIVATE_ANONYMOUS, -1, 0)
    assert page in (start - 4096, (1 << 64) - 1)  # there, or was there for an earlier call
    return start - 4096


Z = c_size_t
Call = Callable[[Driver, int, int, int], int]
CALLS: dict[str, Call] = {
    "memset 8": lambda d, p, q, n: d.cuMemsetD8_v2(p, 1, n),
    "memset 16": lambda d, p, q, n: d.cuMemsetD16_v2(p, 1, n),
    "memset 32": lambda d, p, q, n: d.cuMemsetD32_v2(p, 1, n),
    "memset async": lambda d, p, q, n: d.cuMemsetD8Async(p, 1, n, None),
    "memset 32 async": lambda d, p, q, n: d.cuMemsetD32Async(c_uint64(p), 1, Z(n), None),
    "memset 2D height": lambda d, p, q, n: d.cuMemsetD2D32_v2(p, 64, 1, 4, n),
    "memset 2D pitch": lambda d, p, q, n: d.cuMemsetD2D32_v2(p, n, 1, 4, 4),
    "memset 2D width": lambda d, p, q, n: d.cuMemsetD2D32_v2(p, 64, 1, n, 1),
    "memset 2D": lambda d, p, q, n: d.cuMemsetD2D8_v2(c_uint64(p), Z(n), 1, Z(n), Z(n)),
    "memset 2D async": lambda d, p, q, n: d.cuMemsetD2D8Async(c_uint64(p), Z(n), 1, Z(n), Z(n), None),
    "copy": lambda d, p, q, n: d.cuMemcpyDtoD_v2(p, q, n),
    "copy async": lambda d, p, q, n: d.cuMemcpyDtoDAsync_v2(p, q, n, None),
    "copy of any": lambda d, p, q, n: d.cuMemcpy(p, q, n),
    "copy far to": lambda d, p, q, n: d.cuMemcpyDtoD_v2((p + n) % (1 << 64), q, 16),
    "copy from the host": lambda d, p, q, n: d.cuMemcpyHtoD_v2(p, b"x" * 16, n),
    "copy to the host": lambda d, p, q, n: d.cuMemcpyDtoH_v2(ctypes.create_string_buffer(16), p, n),
    "copy from the last host address": lambda d, p, q, n: d.cuMemcpyHtoD_v2(p, c_void_p((1 << 64) - 16), 4096),
    "copy to pinned memory": lambda d, p, q, n: d.cuMemcpyDtoH_v2(d.handle("cuMemHostAlloc", 16, 0), p, BLOCK),
    **{
        f"2D {field}": lambda d, p, q, n, field=field: d.cuMemcpy2D_v2(byref(rectangle(p, q, **{field: n})))  # type: ignore[misc]
        for field in ("srcPitch", "dstPitch", "Height", "srcY", "dstY", "srcXInBytes", "dstXInBytes", "WidthInBytes")
    },
    "2D wide": lambda d, p, q, n: d.cuMemcpy2D_v2(byref(rectangle(p, q, WidthInBytes=n, srcPitch=n, dstPitch=n))),
    "2D async": lambda d, p, q, n: d.cuMemcpy2DAsync_v2(byref(rectangle(p, q, Height=n)), None),
    **{
        f"3D {field}": lambda d, p, q, n, field=field: d.cuMemcpy3D_v2(byref(cuboid(p, q, **{field: n})))  # type: ignore[misc]
        for field in ("Depth", "Height", "srcHeight", "dstHeight", "srcZ", "dstZ", "srcY", "dstPitch", "WidthInBytes")
    },
    "3D dense": lambda d, p, q, n: d.cuMemcpy3D_v2(byref(cuboid(p, q, srcHeight=0, srcY=n, dstHeight=0, dstY=n))),
    "3D async": lambda d, p, q, n: d.cuMemcpy3DAsync_v2(byref(cuboid(p, q, srcZ=n)), None),
    "alloc": lambda d, p, q, n: d.cuMemAlloc_v2(byref(c_uint64()), n),
    "alloc async": lambda d, p, q, n: d.cuMemAllocAsync(byref(c_uint64()), n, None),
    "alloc managed": lambda d, p, q, n: d.cuMemAllocManaged(byref(c_uint64()), n, 1),
    "alloc pitch": lambda d, p, q, n: d.cuMemAllocPitch_v2(byref(c_uint64()), byref(c_size_t()), n, n, 16),
    "alloc pitch height": lambda d, p, q, n: d.cuMemAllocPitch_v2(byref(c_uint64()), byref(c_size_t()), 16, n, 16),
    "alloc pitch width": lambda d, p, q, n: d.cuMemAllocPitch_v2(byref(c_uint64()), byref(c_size_t()), n, 1, 16),
    "alloc on the host": lambda d, p, q, n: d.cuMemAllocHost_v2(byref(c_void_p()), n),
    "alloc on the host, mapped": lambda d, p, q, n: d.cuMemHostAlloc(byref(c_void_p()), n, 2),
    "register": lambda d, p, q, n: d.cuMemHostRegister_v2(c_void_p(0x1000), n, 0),
    "register too much": lambda d, p, q, n: d.cuMemHostRegister_v2(c_void_p(below(p)), n, 0),
    "prefetch": lambda d, p, q, n: d.cuMemPrefetchAsync(c_uint64(p), Z(n), 0, None),
    "heap": lambda d, p, q, n: d.cuCtxSetLimit(2, n) if n > 1 << 32 else INVALID_VALUE,
}


@pytest.mark.slow(sample=15)
@pytest.mark.parametrize("name", CALLS)
def test_absurd_sizes_are_refused(cuda: Driver, name: str) -> None:
    """No size, pitch, height or offset beyond what there is: neither accepted nor followed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # a wild write ends a process of its own
        cuda.context()
        p, q = cuda.put(b"p" * BLOCK), cuda.put(b"q" * BLOCK)
        answers = [CALLS[name](cuda, p, q, n) for n in SIZES]
        intact = cuda.get(p, BLOCK) == b"p" * BLOCK and cuda.get(q, BLOCK) == b"q" * BLOCK
        os.write(writing, struct.pack(f"<{len(SIZES)}i?", *answers, intact))
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        data = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    *answers, intact = struct.unpack(f"<{len(SIZES)}i?", data)
    assert {n: a for n, a in zip(SIZES, answers, strict=True) if a not in REFUSED} == {} and intact


@has_executor
def test_absurd_launches_are_refused(cuda: Driver) -> None:
    cuda.context()
    module = cuda.handle("cuModuleLoadData", KERNEL.encode())
    kernel = cuda.handle("cuModuleGetFunction", module, b"k")
    target = c_uint64(cuda.alloc(64))
    argument = (c_void_p * 1)(ctypes.addressof(target))
    most = (1 << 32) - 1
    for grid, block, shared in (
        ((most, 1, 1), (1, 1, 1), 0),
        ((1, most, most), (1, 1, 1), 0),
        ((1, 1, 1), (1 << 16, 1 << 16, 1 << 16), 0),
        ((1, 1, 1), (most, most, 2), 0),
        ((1, 1, 1), (1, 1, 1), most),
    ):
        assert cuda.cuLaunchKernel(kernel, *grid, *block, shared, None, argument, None) == INVALID_VALUE
    blocks = ctypes.c_int(7)
    for shared_bytes in (1 << 32, (1 << 64) - 1024, (1 << 64) - 1):
        cuda.ok("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), kernel, 32, shared_bytes)
        assert blocks.value == 0
    left = cuda.library.cuOccupancyAvailableDynamicSMemPerBlock
    assert left(byref(c_size_t()), kernel, 1, (1 << 31) - 1) == INVALID_VALUE


@has_executor
def test_damaged_images_are_refused(cuda: Driver) -> None:
    """What cuLinkComplete makes, with other numbers in its heads."""
    cuda.context()
    link = cuda.handle_last("cuLinkCreate_v2", 0, None, None)
    cuda.ok("cuLinkAddData_v2", link, 1, KERNEL.encode(), len(KERNEL), b"k", 0, None, None)
    image, size = c_void_p(), c_size_t()
    cuda.ok("cuLinkComplete", link, byref(image), byref(size))
    assert image.value
    data = ctypes.string_at(image.value, size.value)
    cuda.ok("cuLinkDestroy", link)
    heads = {"size": 8, "objects": 24, "size of one": 32, "length of one": 40}
    for what, at in heads.items():
        for value in (0, 1, 31, 1 << 40, 1 << 63, (1 << 64) - 1):
            bad = data[:at] + struct.pack("<Q", value) + data[at + 8 :]
            if (what, value) in (("length of one", 0), ("length of one", 1), ("length of one", 31), ("objects", 1)):
                continue  # less text, or the same: that is for the parser
            assert cuda.cuModuleLoadData(byref(c_void_p()), bad) == INVALID_IMAGE, (what, value)
    named = data[:48] + b"n" * 48 + data[96:]
    assert cuda.cuModuleLoadData(byref(c_void_p()), named) == INVALID_IMAGE


class Held:
    """A stream that is kept from working by a function of the host's until `release`."""

    def __init__(self, cuda: Driver) -> None:
        self.gate = threading.Event()
        self.stream = cuda.handle("cuStreamCreate", 1)
        self.function = HOST_FUNCTION(lambda _: (self.gate.wait(60), None)[1])
        cuda.ok("cuLaunchHostFunc", self.stream, self.function, None)


@pytest.mark.parametrize("what", ["copy", "fill"])
def test_memory_is_not_given_out_again_while_it_is_written(cuda: Driver, what: str) -> None:
    """A copy that is queued writes into no block that is younger than it, whoever frees its own meanwhile."""
    cuda.context()
    held, other = Held(cuda), cuda.handle("cuStreamCreate", 1)
    old, source = cuda.put(b"o" * BLOCK), cuda.put(b"s" * BLOCK)
    if what == "copy":
        cuda.ok("cuMemcpyDtoDAsync_v2", old, source, BLOCK, held.stream)
    else:
        cuda.ok("cuMemsetD8Async", old, 0x73, BLOCK, held.stream)
    cuda.ok("cuMemFreeAsync", old, other)
    cuda.ok("cuStreamSynchronize", other)
    assert cuda.cuMemFreeAsync(old, other) == INVALID_VALUE  # it is gone for the program
    assert cuda.cuMemcpyDtoH_v2(ctypes.create_string_buffer(1), old, 1) == INVALID_VALUE
    young = cuda.put(b"y" * BLOCK)
    held.gate.set()
    cuda.ok("cuStreamSynchronize", held.stream)
    assert cuda.get(young, BLOCK) == b"y" * BLOCK
    unused, total = c_size_t(), c_size_t()
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    assert total.value - unused.value == 2 * BLOCK  # and then it is free


def test_a_block_is_freed_once(cuda: Driver) -> None:
    """Two streams free the same block; what got its address meanwhile stays."""
    cuda.context()
    held, other = Held(cuda), cuda.handle("cuStreamCreate", 1)
    old = cuda.alloc(BLOCK)
    cuda.ok("cuMemFreeAsync", old, held.stream)
    cuda.ok("cuMemFreeAsync", old, other)
    cuda.ok("cuStreamSynchronize", other)
    young = cuda.put(b"y" * BLOCK)
    held.gate.set()
    cuda.ok("cuStreamSynchronize", held.stream)
    assert cuda.get(young, BLOCK) == b"y" * BLOCK


@pytest.mark.slow
@has_executor
def test_threads_that_destroy_what_others_use(cuda: Driver) -> None:
    """Streams, events, modules and memory go while other threads call with them: an answer each time, no hang."""
    context = cuda.context()
    rounds = 150
    shared: dict[str, int | None] = {}
    stop = threading.Event()
    answers: set[int] = set()

    def use() -> None:
        cuda.ok("cuCtxSetCurrent", context)
        host = ctypes.create_string_buffer(BLOCK)
        while not stop.is_set():
            stream, event, block, kernel = (shared.get(k) for k in ("stream", "event", "block", "kernel"))
            if stream and event and block and kernel:
                argument = (c_void_p * 1)(ctypes.addressof(target))
                answers.add(cuda.cuMemcpyHtoDAsync_v2(block, host, BLOCK, stream))
                answers.add(cuda.cuMemcpyDtoH_v2(host, block, BLOCK))
                answers.add(cuda.cuMemsetD8Async(block, 1, BLOCK, stream))
                answers.add(cuda.cuEventRecord(event, stream))
                answers.add(cuda.cuStreamWaitEvent(stream, event, 0))
                answers.add(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, argument, None))
                answers.add(cuda.cuStreamSynchronize(stream))

    target = c_uint64(cuda.alloc(64))
    users = [threading.Thread(target=use) for _ in range(2)]
    for thread in users:
        thread.start()
    try:
        for _ in range(rounds):
            module = cuda.handle("cuModuleLoadData", KERNEL.encode())
            shared["kernel"] = cuda.handle("cuModuleGetFunction", module, b"k").value
            shared["stream"] = cuda.handle("cuStreamCreate", 1).value
            shared["event"] = cuda.handle("cuEventCreate", 2).value
            shared["block"] = cuda.alloc(BLOCK)
            stop.wait(0.002)
            cuda.ok("cuMemFree_v2", shared["block"])
            cuda.ok("cuStreamDestroy_v2", shared["stream"])
            cuda.ok("cuEventDestroy_v2", shared["event"])
            cuda.ok("cuModuleUnload", module)
    finally:
        stop.set()
        for thread in users:
            thread.join(60)
    assert not any(thread.is_alive() for thread in users)
    assert answers <= {SUCCESS, INVALID_VALUE, INVALID_HANDLE}
    cuda.ok("cuCtxSynchronize")


def test_two_threads_destroy_the_same(cuda: Driver) -> None:
    """One of them does, the other is told that there is nothing."""
    context = cuda.context()
    for name, make in (("cuStreamDestroy_v2", "cuStreamCreate"), ("cuEventDestroy_v2", "cuEventCreate")):
        for _ in range(50):
            handle = cuda.handle(make, 0)
            answers: list[int] = []
            start = threading.Barrier(2)

            def destroy(
                name: str = name,
                handle: c_void_p = handle,
                answers: list[int] = answers,
                start: threading.Barrier = start,
            ) -> None:
                cuda.ok("cuCtxSetCurrent", context)
                start.wait()
                answers.append(getattr(cuda, name)(handle))

            threads = [threading.Thread(target=destroy) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(answers) == [SUCCESS, INVALID_HANDLE]
