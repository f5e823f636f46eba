"""The emulated CUDA driver: contexts, streams, events, callbacks."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import cuda_tools
import pytest
from cuda_tools import (
    CALLBACK,
    CONTEXT_IS_DESTROYED,
    HOST_FUNCTION,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_PERMITTED,
    NOT_READY,
    STREAMS,
    SUCCESS,
    Driver,
    has_driver,
)
from driver_tools import for_preload

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "driver")


class Gate:
    """A callback that holds a stream until it is opened, and notes that it was called."""

    def __init__(self) -> None:
        self.opened, self.entered = threading.Event(), threading.Event()
        self.status: int | None = None
        self.call = CALLBACK(self._call)

    def _call(self, stream: int | None, status: int, data: int | None) -> None:
        self.status = status
        self.entered.set()
        self.opened.wait(60)

    def close(self, cuda: Driver, stream: c_void_p | None) -> None:
        """Put it into a stream and wait until the stream is held."""
        cuda.ok("cuStreamAddCallback", stream, self.call, None, 0)
        assert self.entered.wait(60)


def test_contexts_are_a_stack(cuda: Driver) -> None:
    cuda.ok("cuInit", 0)
    now, device = c_void_p(), c_int()
    cuda.ok("cuCtxGetCurrent", byref(now))
    assert now.value is None
    assert cuda.cuCtxGetDevice(byref(device)) == INVALID_CONTEXT
    assert cuda.cuCtxPopCurrent_v2(byref(now)) == INVALID_CONTEXT
    one, two = cuda.context(), cuda.context()
    cuda.ok("cuCtxGetCurrent", byref(now))
    assert now.value == two.value
    cuda.ok("cuCtxPopCurrent_v2", byref(now))
    assert now.value == two.value
    cuda.ok("cuCtxGetCurrent", byref(now))
    assert now.value == one.value
    cuda.ok("cuCtxPushCurrent_v2", two)
    cuda.ok("cuCtxDestroy_v2", two)  # the current one: popped
    cuda.ok("cuCtxGetCurrent", byref(now))
    assert now.value == one.value
    assert cuda.cuCtxPushCurrent_v2(two) == INVALID_CONTEXT
    assert cuda.cuCtxDestroy_v2(two) == INVALID_CONTEXT
    assert cuda.cuCtxPushCurrent_v2(None) == INVALID_CONTEXT
    cuda.ok("cuCtxSetCurrent", None)
    assert cuda.cuCtxSynchronize() == INVALID_CONTEXT


def test_each_thread_has_its_own_stack(cuda: Driver) -> None:
    context = cuda.context()
    answers: list[int] = []

    def other() -> None:
        answers.append(cuda.cuCtxSynchronize())
        answers.append(cuda.cuCtxPushCurrent_v2(context))
        answers.append(cuda.cuCtxSynchronize())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert answers == [INVALID_CONTEXT, SUCCESS, SUCCESS]


def test_a_context_that_another_thread_destroyed(cuda: Driver) -> None:
    context = cuda.context()
    thread = threading.Thread(target=lambda: cuda.ok("cuCtxDestroy_v2", context))
    thread.start()
    thread.join()
    assert cuda.cuCtxSynchronize() == CONTEXT_IS_DESTROYED
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 1) == CONTEXT_IS_DESTROYED
    cuda.ok("cuCtxPopCurrent_v2", None)
    assert cuda.cuCtxSynchronize() == INVALID_CONTEXT


def test_bad_arguments_of_contexts(cuda: Driver) -> None:
    cuda.ok("cuInit", 0)
    to = c_void_p()
    assert cuda.cuCtxCreate_v2(byref(to), 0, 1) == INVALID_DEVICE
    assert cuda.cuCtxCreate_v2(byref(to), 3, 0) == INVALID_VALUE
    assert cuda.cuCtxCreate_v2(None, 0, 0) == INVALID_VALUE
    garbage = ctypes.create_string_buffer(4096)
    for word in (ctypes.addressof(garbage), 1, (1 << 64) - 8, 0x123456789):
        assert cuda.cuCtxDestroy_v2(word) == INVALID_CONTEXT
        assert cuda.cuCtxSetCurrent(word) == INVALID_CONTEXT


def test_primary_contexts_are_counted(cuda: Driver) -> None:
    cuda.ok("cuInit", 0)
    one, two, flags, active = c_void_p(), c_void_p(), c_uint(), c_int()
    cuda.ok("cuDevicePrimaryCtxGetState", 0, byref(flags), byref(active))
    assert active.value == 0
    assert cuda.cuDevicePrimaryCtxRelease_v2(0) == INVALID_CONTEXT
    cuda.ok("cuDevicePrimaryCtxRetain", byref(one), 0)
    cuda.ok("cuDevicePrimaryCtxRetain", byref(two), 0)
    assert one.value == two.value
    assert cuda.cuCtxDestroy_v2(one) == INVALID_CONTEXT
    cuda.ok("cuCtxSetCurrent", one)
    cuda.alloc(100)
    cuda.ok("cuDevicePrimaryCtxRelease_v2", 0)
    cuda.ok("cuCtxSynchronize")
    cuda.ok("cuDevicePrimaryCtxRelease_v2", 0)
    assert cuda.cuCtxSynchronize() == CONTEXT_IS_DESTROYED
    assert cuda.living() == [0] * 6


def test_limits_and_configurations(cuda: Driver) -> None:
    cuda.context()
    size, value = c_size_t(), c_int()
    cuda.ok("cuCtxGetLimit", byref(size), 2)
    assert size.value == 8 << 20  # the heap of device code
    cuda.ok("cuCtxSetLimit", 2, 64 << 20)
    cuda.ok("cuCtxGetLimit", byref(size), 2)
    assert size.value == 64 << 20
    assert cuda.cuCtxSetLimit(99, 1) == INVALID_VALUE
    cuda.ok("cuCtxSetCacheConfig", 2)
    cuda.ok("cuCtxGetCacheConfig", byref(value))
    assert value.value == 2
    assert cuda.cuCtxSetCacheConfig(4) == INVALID_VALUE


def test_handles_of_the_wrong_kind(cuda: Driver) -> None:
    context = cuda.context()
    stream, event = cuda.handle("cuStreamCreate", 0), cuda.handle("cuEventCreate", 0)
    garbage = ctypes.addressof(ctypes.create_string_buffer(4096))
    assert stream.value is not None
    for word in (context, event, garbage, stream.value + 8):
        assert cuda.cuStreamSynchronize(word) == INVALID_HANDLE
        assert cuda.cuStreamDestroy_v2(word) == INVALID_HANDLE
    for word in (context, stream, garbage, None):
        assert cuda.cuEventSynchronize(word) == INVALID_HANDLE
        assert cuda.cuEventRecord(word, stream) == INVALID_HANDLE
    assert cuda.cuModuleUnload(stream) == INVALID_HANDLE
    assert cuda.cuLinkDestroy(stream) == INVALID_HANDLE
    assert cuda.cuFuncGetAttribute(byref(c_int()), 0, stream) == INVALID_HANDLE
    assert cuda.cuLaunchKernel(stream, 1, 1, 1, 1, 1, 1, 0, None, None, None) == INVALID_HANDLE
    cuda.ok("cuStreamDestroy_v2", stream)
    cuda.ok("cuEventDestroy_v2", event)
    assert cuda.cuStreamDestroy_v2(stream) == INVALID_HANDLE == cuda.cuStreamQuery(stream)
    assert cuda.cuEventDestroy_v2(event) == INVALID_HANDLE == cuda.cuEventQuery(event)
    assert cuda.cuStreamDestroy_v2(None) == INVALID_HANDLE
    assert cuda.cuStreamCreate(byref(c_void_p()), 2) == INVALID_VALUE


def test_a_stream_works_while_the_program_goes_on(cuda: Driver) -> None:
    cuda.context()
    stream, gate = cuda.handle("cuStreamCreate", 1), Gate()
    address = cuda.put(bytes(8))
    gate.close(cuda, stream)
    cuda.ok("cuMemsetD8Async", address, 7, 8, stream)
    assert cuda.cuStreamQuery(stream) == NOT_READY
    gate.opened.set()
    cuda.ok("cuStreamSynchronize", stream)
    assert cuda.cuStreamQuery(stream) == SUCCESS
    assert gate.status == SUCCESS
    assert cuda.get(address, 8) == b"\7" * 8


@pytest.mark.parametrize("waited", [3, 5, 40])
@pytest.mark.parametrize("rest", [0, 0.001, 0.05])
def test_a_stream_works_after_operations_that_others_did(cuda: Driver, waited: int, rest: float) -> None:
    # its thread looks by itself, and seldomer, while the program waits for each operation at once
    cuda.context()
    stream, address = cuda.handle("cuStreamCreate", 1), cuda.put(bytes(8))
    for _ in range(3):
        for _ in range(waited):
            cuda.ok("cuMemsetD8Async", address, 7, 8, stream)
            cuda.ok("cuStreamSynchronize", stream)
        time.sleep(rest)
        cuda.ok("cuMemsetD8Async", address, 8, 8, stream)
        end = time.monotonic() + 60
        while cuda.cuStreamQuery(stream) == NOT_READY:
            assert time.monotonic() < end


LATE = """
import ctypes, sys, time
from pathlib import Path
from cuda_tools import Driver

cuda = Driver(Path(sys.argv[1]))
cuda.context()
stream, address = cuda.handle("cuStreamCreate", 1), cuda.put(bytes(8))
there = ctypes.c_ubyte.from_address(address)  # a question would wake the stream's thread
noted = ctypes.c_int64.in_dll(ctypes.CDLL(None), "cond_waits_noted")
for _ in range(int(sys.argv[2])):
    first, times = time.monotonic_ns(), 0
    while times < 8 or time.monotonic_ns() < first + 4_000_000:
        times += 1
        cuda.ok("cuMemsetD8Async", address, 7, 8, stream)
        cuda.ok("cuStreamSynchronize", stream)
    before = noted.value
    cuda.ok("cuMemsetD8Async", address, 8, 8, stream)
    queued = time.monotonic_ns()
    while there.value == 7:
        time.sleep(0)
    waits = (ctypes.c_int64 * 4 * noted.value).in_dll(ctypes.CDLL(None), "cond_waits")
    print(first, queued, *(number for wait in waits[before:] for number in wait))
"""


def test_what_nobody_waits_for_is_late_by_a_part_of_the_time_before(tmp_path: Path) -> None:
    """The stream's thread looks after an eighth of the time before, or 0.2 ms, and once more; or it is woken.

    What it asks for is looked at: how long it then sleeps, the system decides.
    """
    library = tmp_path / "cond_waits.so"
    source = Path(__file__).resolve().parents[1] / "programs" / "cond_waits.c"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    paths = [str(Path(cuda_tools.__file__).parent), *sys.path]
    env = {**os.environ, "LD_PRELOAD": for_preload(library, tmp_path), "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, "-c", LATE, str(tmp_path / "driver"), "20"]
    done = subprocess.run(words, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=100)
    assert (done.stderr, done.returncode) == ("", 0)
    looked = 0
    for line in done.stdout.splitlines():
        first, queued, *numbers = (int(word) for word in line.split())
        waits = [numbers[at : at + 4] for at in range(0, len(numbers), 4)]
        looks = [(begin, asked) for begin, asked, _end, timed_out in waits if timed_out and asked > queued]
        assert len(looks) <= 2, looks
        for begin, asked in looks:
            assert asked - begin <= max(200_000, (begin - first) // 8)
        looked += len(looks)
    assert looked > 0


def test_streams_do_not_wait_for_each_other(cuda: Driver) -> None:
    cuda.context()
    one, two, gate = cuda.handle("cuStreamCreate", 0), cuda.handle("cuStreamCreate", 0), Gate()
    address = cuda.put(bytes(8))
    gate.close(cuda, one)
    cuda.ok("cuMemsetD8Async", address, 7, 8, two)
    cuda.ok("cuStreamSynchronize", two)
    assert cuda.cuStreamQuery(one) == NOT_READY
    gate.opened.set()


def test_the_default_stream_waits_for_the_others_and_they_for_it(cuda: Driver) -> None:
    cuda.context()
    blocking, free, gate = cuda.handle("cuStreamCreate", 0), cuda.handle("cuStreamCreate", 1), Gate()
    address = cuda.put(bytes(3))
    gate.close(cuda, blocking)
    cuda.ok("cuMemsetD8Async", address, 1, 1, None)  # after the gate
    cuda.ok("cuMemsetD8Async", address + 1, 2, 1, cuda.handle("cuStreamCreate", 0))  # after the default stream's
    cuda.ok("cuMemsetD8Async", address + 2, 3, 1, free)
    cuda.ok("cuStreamSynchronize", free)
    assert cuda.cuStreamQuery(None) == NOT_READY
    assert ctypes.string_at(address, 3) == b"\0\0\3"
    gate.opened.set()
    cuda.ok("cuCtxSynchronize")
    assert cuda.get(address, 3) == b"\1\2\3"


def test_events_order_streams(cuda: Driver) -> None:
    cuda.context()
    one, two, gate = cuda.handle("cuStreamCreate", 1), cuda.handle("cuStreamCreate", 1), Gate()
    event, address = cuda.handle("cuEventCreate", 2), cuda.put(bytes(2))
    assert cuda.cuEventQuery(event) == SUCCESS  # never recorded
    gate.close(cuda, one)
    cuda.ok("cuMemsetD8Async", address, 1, 1, one)
    cuda.ok("cuEventRecord", event, one)
    cuda.ok("cuStreamWaitEvent", two, event, 0)
    cuda.ok("cuEventDestroy_v2", event)  # waits are kept
    cuda.ok("cuMemcpyDtoDAsync_v2", address + 1, address, 1, two)
    time.sleep(0.02)
    assert cuda.cuStreamQuery(two) == NOT_READY
    gate.opened.set()
    cuda.ok("cuStreamSynchronize", two)
    assert cuda.get(address, 2) == b"\1\1"
    assert cuda.living()[2] == 0


def test_an_event_across_contexts(cuda: Driver) -> None:
    first = cuda.context()
    one, gate, event = cuda.handle("cuStreamCreate", 1), Gate(), cuda.handle("cuEventCreate", 2)
    gate.close(cuda, one)
    cuda.ok("cuEventRecord", event, one)
    cuda.context()
    two = cuda.handle("cuStreamCreate", 1)
    assert cuda.cuEventRecord(event, two) == INVALID_HANDLE  # of another context
    cuda.ok("cuStreamWaitEvent", two, event, 0)
    assert cuda.cuStreamQuery(two) == NOT_READY
    gate.opened.set()
    cuda.ok("cuStreamSynchronize", two)
    cuda.ok("cuCtxDestroy_v2", first)
    assert cuda.cuEventQuery(event) == CONTEXT_IS_DESTROYED


def test_time_between_events(cuda: Driver) -> None:
    cuda.context()
    stream, gate = cuda.handle("cuStreamCreate", 0), Gate()
    start, end, untimed = (cuda.handle("cuEventCreate", flags) for flags in (0, 0, 2))
    ms = c_float()
    assert cuda.cuEventElapsedTime(byref(ms), start, end) == INVALID_HANDLE  # not recorded
    cuda.ok("cuEventRecord", start, stream)
    gate.close(cuda, stream)
    cuda.ok("cuEventRecord", end, stream)
    cuda.ok("cuEventRecord", untimed, stream)
    assert cuda.cuEventElapsedTime(byref(ms), start, end) == NOT_READY
    assert cuda.cuEventQuery(end) == NOT_READY
    time.sleep(0.03)
    gate.opened.set()
    cuda.ok("cuEventSynchronize", end)
    cuda.ok("cuEventElapsedTime", byref(ms), start, end)
    assert 29 < ms.value < 20000
    cuda.ok("cuStreamSynchronize", stream)
    assert cuda.cuEventElapsedTime(byref(ms), start, untimed) == INVALID_HANDLE


def test_callbacks_may_not_use_the_api(cuda: Driver) -> None:
    cuda.context()
    answers: list[int] = []
    stream, address = cuda.handle("cuStreamCreate", 0), cuda.alloc(10)

    def call(_stream: int | None, status: int, data: int | None) -> None:
        base, size = c_uint64(), c_size_t()
        answers.append(status)
        answers.append(data or 0)
        answers.append(cuda.cuMemGetAddressRange_v2(byref(base), byref(size), address))
        answers.append(cuda.cuCtxSynchronize())

    def host(data: int | None) -> None:
        answers.append(cuda.cuMemFree_v2(address))

    one, two = CALLBACK(call), HOST_FUNCTION(host)
    cuda.ok("cuStreamAddCallback", stream, one, 77, 0)
    cuda.ok("cuLaunchHostFunc", stream, two, None)
    cuda.ok("cuStreamSynchronize", stream)
    assert answers == [SUCCESS, 77, NOT_PERMITTED, NOT_PERMITTED, NOT_PERMITTED]
    assert cuda.cuStreamAddCallback(stream, one, None, 1) == INVALID_VALUE


def test_a_destroyed_stream_finishes_its_work(cuda: Driver) -> None:
    cuda.context()
    stream, gate, address = cuda.handle("cuStreamCreate", 1), Gate(), cuda.put(bytes(4))
    gate.close(cuda, stream)
    cuda.ok("cuMemsetD8Async", address, 9, 4, stream)
    cuda.ok("cuStreamDestroy_v2", stream)
    assert cuda.cuStreamQuery(stream) == INVALID_HANDLE
    gate.opened.set()
    cuda.ok("cuCtxSynchronize")
    assert cuda.get(address, 4) == b"\t" * 4
    until = time.monotonic() + 60
    while cuda.gompy_cuda_living(STREAMS) > 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert cuda.gompy_cuda_living(STREAMS) == 1  # the default stream


def test_a_context_ends_when_its_work_has(cuda: Driver) -> None:
    context = cuda.context()
    stream, gate = cuda.handle("cuStreamCreate", 1), Gate()
    done: list[int] = []
    after = HOST_FUNCTION(lambda data: done.append(1))
    gate.close(cuda, stream)
    cuda.ok("cuLaunchHostFunc", stream, after, None)
    threading.Timer(0.05, gate.opened.set).start()
    cuda.ok("cuCtxDestroy_v2", context)
    assert done == [1]
    assert cuda.living() == [0] * 6


def test_freeing_waits_for_the_work(cuda: Driver) -> None:
    cuda.context()
    stream, gate, address = cuda.handle("cuStreamCreate", 1), Gate(), cuda.put(bytes(4))
    gate.close(cuda, stream)
    cuda.ok("cuMemsetD8Async", address, 9, 4, stream)
    threading.Timer(0.05, gate.opened.set).start()
    cuda.ok("cuMemFree_v2", address)
    assert gate.opened.is_set() and cuda.cuStreamQuery(stream) == SUCCESS


def test_pageable_and_pinned_copies(cuda: Driver) -> None:
    """From pageable memory the source is read before the call returns; from pinned memory when its turn comes."""
    cuda.context()
    stream, gate, address = cuda.handle("cuStreamCreate", 1), Gate(), cuda.put(bytes(8))
    pageable, pinned = ctypes.create_string_buffer(b"old1", 4), c_void_p()
    cuda.ok("cuMemAllocHost_v2", byref(pinned), 8)
    assert pinned.value is not None
    ctypes.memmove(pinned.value, b"old2", 4)
    gate.close(cuda, stream)
    cuda.ok("cuMemcpyHtoDAsync_v2", address, pageable, 4, stream)
    cuda.ok("cuMemcpyHtoDAsync_v2", address + 4, pinned, 4, stream)
    pageable.raw = b"new1"
    ctypes.memmove(pinned.value, b"new2", 4)
    gate.opened.set()
    back = ctypes.create_string_buffer(8)
    cuda.ok("cuMemcpyDtoHAsync_v2", back, address, 8, stream)  # to pageable memory: done when it returns
    assert back.raw == b"old1new2"


def test_per_thread_streams(cuda: Driver) -> None:
    cuda.context()
    address = cuda.put(bytes(4))
    cuda.ok("cuMemsetD8Async", address, 9, 4, 2)  # CU_STREAM_PER_THREAD
    cuda.ok("cuStreamSynchronize", 2)
    assert cuda.get(address, 4) == b"\t" * 4
    assert cuda.gompy_cuda_living(STREAMS) == 2


def test_many_threads_many_streams(cuda: Driver) -> None:
    """Every stream's operations come in order, whoever waits."""
    context = cuda.context()
    failures: list[str] = []

    def work(number: int) -> None:
        cuda.ok("cuCtxPushCurrent_v2", context)
        stream = cuda.handle("cuStreamCreate", number & 1)
        address = cuda.put(bytes(64))
        host = ctypes.create_string_buffer(64)
        for turn in range(30):
            cuda.ok("cuMemsetD8Async", address, turn, 64, stream)
            cuda.ok("cuMemcpyDtoDAsync_v2", address + 32, address, 32, stream)
            cuda.ok("cuMemsetD8Async", address, 255, 32, stream)
            cuda.ok("cuMemcpyDtoHAsync_v2", host, address, 64, stream)
            cuda.ok("cuStreamSynchronize", stream)
            if host.raw != b"\xff" * 32 + bytes([turn]) * 32:
                failures.append(f"thread {number}, turn {turn}: {host.raw!r}")
        cuda.ok("cuMemFree_v2", address)
        cuda.ok("cuStreamDestroy_v2", stream)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    cuda.ok("cuCtxDestroy_v2", context)
    assert cuda.living() == [0] * 6
