"""Events of several processes: cuIpcGetEventHandle, cuIpcOpenEventHandle."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from ctypes import byref, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    EVENTS,
    HOST_FUNCTION,
    INVALID_CONTEXT,
    INVALID_HANDLE,
    INVALID_VALUE,
    LAUNCH_FAILED,
    LIBRARY,
    NOT_READY,
    NOT_SUPPORTED,
    SUCCESS,
    Driver,
    has_driver,
)

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
SHARED = 2 | 4  # without time
NON_BLOCKING = 1


class Handle(ctypes.Structure):
    """CUipcEventHandle."""

    _fields_ = (("reserved", ctypes.c_char * 64),)


PEER = f"""
import ctypes, sys, time
cuda = ctypes.CDLL({str(LIBRARY)!r})
class Handle(ctypes.Structure): _fields_ = (("reserved", ctypes.c_char * 64),)
cuda.cuIpcOpenEventHandle.argtypes = [ctypes.c_void_p, Handle]
for name in ("cuEventQuery", "cuEventSynchronize", "cuEventDestroy_v2", "cuStreamSynchronize"):
    getattr(cuda, name).argtypes = [ctypes.c_void_p]
cuda.cuEventRecord.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
cuda.cuStreamWaitEvent.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint]
cuda.cuLaunchHostFunc.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
p, e, s = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0); cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0); cuda.cuStreamCreate(ctypes.byref(s), 1)
assert cuda.cuIpcOpenEventHandle(ctypes.byref(e), Handle.from_buffer_copy(bytes.fromhex(sys.argv[1]))) == 0
def say(*words): print(*words, flush=True)
"""


@pytest.fixture
def cuda(tmp_path: Path) -> Iterator[Driver]:
    driver = Driver(tmp_path / "driver").typed()
    driver.cuIpcOpenEventHandle.argtypes = [c_void_p, Handle]
    context = driver.context()
    yield driver
    driver.ok("cuCtxDestroy_v2", context)


def handle_of(cuda: Driver, event: c_void_p) -> Handle:
    handle = Handle()
    cuda.ok("cuIpcGetEventHandle", byref(handle), event)
    return handle


def peer(text: str, handle: Handle) -> subprocess.Popen[str]:
    """Another process, which has the event open as `e`."""
    words = [sys.executable, "-c", PEER + text, ctypes.string_at(byref(handle), 64).hex()]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class Held:
    """A stream that is held by a call of the program until `go`."""

    def __init__(self, cuda: Driver) -> None:
        self.cuda, self.gate = cuda, threading.Event()
        self.stream = cuda.handle("cuStreamCreate", NON_BLOCKING)
        self.call = HOST_FUNCTION(lambda _: self.gate.wait(60) and None)
        cuda.ok("cuLaunchHostFunc", self.stream, self.call, None)

    def go(self) -> None:
        self.gate.set()
        self.cuda.ok("cuStreamSynchronize", self.stream)


def test_another_process_sees_a_record(cuda: Driver) -> None:
    """Never recorded: nothing to wait for; while the stream is held not ready; then passed."""
    event = cuda.handle("cuEventCreate", SHARED)
    text = """
say(cuda.cuEventQuery(e), cuda.cuEventSynchronize(e))
input(); say(cuda.cuEventQuery(e), cuda.cuStreamWaitEvent(s, e, 0), cuda.cuStreamSynchronize(s), cuda.cuEventQuery(e))
say(cuda.cuEventSynchronize(e), cuda.cuEventDestroy_v2(e))
"""
    with peer(text, handle_of(cuda, event)) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "0 0\n"
        held = Held(cuda)
        cuda.ok("cuEventRecord", event, held.stream)
        assert cuda.cuEventQuery(event) == NOT_READY
        threading.Timer(0.3, held.gate.set).start()
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == f"{NOT_READY} 0 0 0\n"
        assert other.stdout.readline() == "0 0\n"
    assert other.returncode == 0
    cuda.ok("cuEventSynchronize", event)
    cuda.ok("cuEventDestroy_v2", event)
    assert cuda.library.gompy_cuda_living(EVENTS) == 0


def test_another_process_records(cuda: Driver) -> None:
    """A stream here waits for what the other has recorded; the event may be destroyed meanwhile."""
    event = cuda.handle("cuEventCreate", SHARED)
    text = """
import threading
gate = threading.Event()
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gate.wait(60) and None)
cuda.cuLaunchHostFunc(s, ctypes.cast(call, ctypes.c_void_p), None)
say(cuda.cuEventRecord(e, s))
input(); gate.set(); say(cuda.cuStreamSynchronize(s))
input()
"""
    with peer(text, handle_of(cuda, event)) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "0\n"
        stream, memory = cuda.handle("cuStreamCreate", NON_BLOCKING), cuda.alloc(4)
        assert cuda.cuEventQuery(event) == NOT_READY
        cuda.ok("cuStreamWaitEvent", stream, event, 0)
        cuda.ok("cuMemsetD32Async", memory, 5, 1, stream)
        cuda.ok("cuEventDestroy_v2", event)
        time.sleep(0.05)
        assert cuda.cuStreamQuery(stream) == NOT_READY
        other.stdin.write("\n")
        other.stdin.flush()
        cuda.ok("cuStreamSynchronize", stream)
        assert cuda.get(memory, 4) == b"\5\0\0\0"
        other.stdin.write("\n")
    assert cuda.library.gompy_cuda_living(EVENTS) == 0


@pytest.mark.parametrize("reaped", [True, False])
def test_a_process_that_dies(cuda: Driver, reaped: bool) -> None:
    """What it has recorded does not happen any more: who waits is told, also its parent, who has not yet asked."""
    event = cuda.handle("cuEventCreate", SHARED)
    text = """
call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: time.sleep(300))
cuda.cuLaunchHostFunc(s, ctypes.cast(call, ctypes.c_void_p), None)
say(cuda.cuEventRecord(e, s))
input()
"""
    with peer(text, handle_of(cuda, event)) as other:
        assert other.stdout is not None and other.stdout.readline() == "0\n"
        assert cuda.cuEventQuery(event) == NOT_READY
        other.send_signal(signal.SIGKILL)
        if reaped:
            other.wait()
        alarm = threading.Timer(60, other.wait)  # without which a failure would take for ever
        alarm.start()
        assert cuda.cuEventSynchronize(event) == LAUNCH_FAILED
        assert cuda.cuEventQuery(event) == LAUNCH_FAILED
        assert (other.returncode is not None) == reaped
        alarm.cancel()
    stream = cuda.handle("cuStreamCreate", NON_BLOCKING)
    cuda.ok("cuStreamWaitEvent", stream, event, 0)
    cuda.ok("cuStreamSynchronize", stream)  # not for ever
    cuda.ok("cuEventRecord", event, stream)
    cuda.ok("cuEventSynchronize", event)


def test_misuse(cuda: Driver) -> None:
    handle, to, p = Handle(), c_void_p(), c_void_p()
    usual, shared = cuda.handle("cuEventCreate", 0), cuda.handle("cuEventCreate", SHARED)
    assert cuda.cuEventCreate(byref(p), 4) == INVALID_VALUE  # its time is nobody's
    assert cuda.cuIpcGetEventHandle(byref(handle), usual) == INVALID_HANDLE
    assert cuda.cuIpcGetEventHandle(byref(handle), None) == INVALID_HANDLE
    assert cuda.cuIpcGetEventHandle(None, shared) == INVALID_VALUE
    assert cuda.cuIpcOpenEventHandle(byref(to), handle) == INVALID_VALUE
    own = handle_of(cuda, shared)
    assert cuda.cuIpcOpenEventHandle(byref(to), own) == INVALID_CONTEXT
    gone = bytearray(ctypes.string_at(byref(own), 64))
    gone[4:8] = os.getppid().to_bytes(4, "little")
    assert cuda.cuIpcOpenEventHandle(byref(to), Handle.from_buffer_copy(gone)) == 205
    graph = cuda.handle("cuGraphCreate", 0)
    assert cuda.cuGraphAddEventRecordNode(byref(to), graph, None, 0, shared) == NOT_SUPPORTED
    cuda.ok("cuEventRecord", shared, None)
    assert cuda.cuEventQuery(shared) == SUCCESS
    assert cuda.cuEventElapsedTime(byref(ctypes.c_float()), shared, shared) == INVALID_HANDLE
