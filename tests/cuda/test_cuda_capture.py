"""The emulated CUDA driver's stream capture: what becomes a graph, and what may not be captured."""

from __future__ import annotations

import ctypes
import random
import struct
import threading
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from itertools import pairwise
from pathlib import Path

import pytest
from cuda_graphs import Maker, handles, words
from cuda_tools import (
    CALLBACK,
    CAPTURE_IMPLICIT,
    CAPTURE_INVALIDATED,
    CAPTURE_ISOLATION,
    CAPTURE_MERGE,
    CAPTURE_UNJOINED,
    CAPTURE_UNMATCHED,
    CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD,
    CAPTURED_EVENT,
    HOST_FUNCTION,
    ILLEGAL_STATE,
    INVALID_VALUE,
    SUCCESS,
    Driver,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
GLOBAL, BY_THREAD, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
BLOCKING, FREE = 0, 1


def launch(maker: Maker, stream: c_void_p | None, to: int, of: int, a: int, b: int) -> None:
    """to = of * a + b, by a stream."""
    params = words(c_uint64(to), c_uint64(of), c_uint(a), c_uint(b))
    maker.cuda.ok("cuLaunchKernel", maker.muladd, 1, 1, 1, 1, 1, 1, 0, stream, params, None)


def status(cuda: Driver, stream: c_void_p | None) -> int:
    found = c_int(9)
    cuda.ok("cuStreamIsCapturing", stream, byref(found))
    return found.value


def ended(cuda: Driver, stream: c_void_p) -> tuple[int, int | None]:
    """The answer of the capture's end, and the graph."""
    graph = c_void_p(99)
    return cuda.cuStreamEndCapture(stream, byref(graph)), graph.value


def spoilt(cuda: Driver, stream: c_void_p) -> bool:
    """Whether the capture is, which ends."""
    return status(cuda, stream) == INVALIDATED and ended(cuda, stream) == (CAPTURE_INVALIDATED, None)


def numbers(cuda: Driver, memory: int, n: int) -> list[int]:
    return list(struct.unpack(f"<{n}I", cuda.get(memory, 4 * n)))


def test_what_is_captured_is_done_by_launches(cuda: Driver, maker: Maker) -> None:
    """Kernels, fills, copies between device and host, calls; nothing is done before."""
    memory, stream = cuda.put(struct.pack("<4I", 1, 2, 3, 4)), cuda.handle("cuStreamCreate", FREE)
    source, target, seen = c_uint(70), c_uint(), []
    function = HOST_FUNCTION(lambda _: seen.append(target.value))
    cuda.ok("cuStreamBeginCapture_v2", stream, GLOBAL)
    launch(maker, stream, memory, memory + 4, 10, 1)
    cuda.ok("cuMemsetD32Async", memory + 4, 50, 1, stream)
    cuda.ok("cuMemcpyDtoDAsync_v2", memory + 8, memory, 4, stream)
    cuda.ok("cuMemcpyHtoDAsync_v2", memory + 12, ctypes.addressof(source), 4, stream)
    cuda.ok("cuMemcpyDtoHAsync_v2", ctypes.addressof(target), memory + 8, 4, stream)
    cuda.ok("cuLaunchHostFunc", stream, function, None)
    assert status(cuda, stream) == ACTIVE
    graph = cuda.handle_last("cuStreamEndCapture", stream)
    assert status(cuda, stream) == NONE
    assert numbers(cuda, memory, 4) == [1, 2, 3, 4] and seen == []
    nodes, kind, kinds = maker.nodes(graph), c_int(), []
    for node in nodes:
        cuda.ok("cuGraphNodeGetType", node, byref(kind))
        kinds.append(kind.value)
    assert kinds == [0, 2, 1, 1, 1, 3]
    for one, two in pairwise(nodes):
        assert maker.nodes(c_void_p(two), "cuGraphNodeGetDependencies") == [one]
    executable = maker.ready(graph)
    source.value = 71  # read by each launch
    maker.run(executable, stream)
    assert numbers(cuda, memory, 4) == [21, 50, 21, 71] and seen == [21]
    maker.run(executable, stream)
    assert numbers(cuda, memory, 4) == [501, 50, 501, 71] and seen == [21, 501]


@pytest.mark.parametrize("seed", range(8))
def test_streams_and_events_become_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Random work of several streams, which wait for each other by events: the graph's nodes, brought into another
    order each time, give what the streams give."""
    monkeypatch.setenv("GOMPY_CUDA_SEED", str(seed))
    cuda = Driver(tmp_path / "driver").typed()
    cuda.context()
    maker, dice = Maker(cuda), random.Random(seed)
    streams = [cuda.handle("cuStreamCreate", FREE) for _ in range(4)]
    events = [cuda.handle("cuEventCreate", 2) for _ in range(5)]
    start = bytes(dice.randrange(256) for _ in range(16 * len(streams)))
    memory = cuda.put(start)
    plan: list[tuple[str, int, int, int]] = []
    for _ in range(40):  # a stream writes its own cells only, and reads another's after waiting for it
        one, two = dice.sample(range(len(streams)), 2)
        plan.append((dice.choice(("own", "own", "swap")), one, two, dice.randrange(3, 99)))

    def wait(one: int, two: int) -> None:
        """The first stream waits for the second."""
        event = events[dice.randrange(len(events))]
        cuda.ok("cuEventRecord", event, streams[two])
        cuda.ok("cuStreamWaitEvent", streams[one], event, 0)

    def work() -> None:
        for other in range(1, len(streams)):
            wait(other, 0)
        for kind, one, two, a in plan:
            cell = memory + 16 * one + 4 * (a % 4)
            if kind == "own":
                launch(maker, streams[one], cell, memory + 16 * one, a, one)
            else:
                wait(one, two)
                launch(maker, streams[one], cell, memory + 16 * two + 4 * (a // 7 % 4), a, two)
                wait(two, one)  # before it writes what was read
        for other in range(1, len(streams)):
            wait(0, other)

    work()
    cuda.ok("cuCtxSynchronize")
    want = cuda.get(memory, len(start))
    cuda.ok("cuStreamBeginCapture_v2", streams[0], RELAXED)
    work()
    graph = cuda.handle_last("cuStreamEndCapture", streams[0])
    assert len(maker.nodes(graph)) == len(plan)
    for _ in range(3):
        cuda.ok("cuMemcpyHtoD_v2", memory, start, len(start))
        maker.run(maker.ready(graph), streams[1])
        assert cuda.get(memory, len(start)) == want


def test_capture_is_asked_for(cuda: Driver, maker: Maker) -> None:
    """Numbers, the graph, what the next node waits for; and that is changed by hand."""
    memory, stream = cuda.put(bytes(4)), cuda.handle("cuStreamCreate", FREE)
    found, number, graph, before, n = c_int(), c_uint64(), c_void_p(), ctypes.POINTER(c_void_p)(), c_size_t()
    seen = []
    for _ in range(2):
        cuda.ok("cuStreamBeginCapture_v2", stream, BY_THREAD)
        launch(maker, stream, memory, memory, 1, 1)
        cuda.ok("cuStreamGetCaptureInfo_v2", stream, byref(found), byref(number), byref(graph), byref(before), byref(n))
        assert (found.value, n.value) == (ACTIVE, 1)
        assert maker.nodes(graph) == [before[0]]
        extra = maker.add(graph, None)
        cuda.ok("cuStreamUpdateCaptureDependencies", stream, handles([extra]), 1, 0)
        launch(maker, stream, memory, memory, 1, 1)
        last = c_void_p(maker.nodes(graph)[-1])
        assert len(maker.nodes(last, "cuGraphNodeGetDependencies")) == 2
        cuda.ok("cuStreamUpdateCaptureDependencies", stream, handles([extra]), 1, 1)
        assert cuda.cuGraphDestroyNode(extra) == INVALID_VALUE
        assert cuda.cuGraphDestroy(graph) == INVALID_VALUE
        assert ended(cuda, stream) == (SUCCESS, graph.value)
        seen.append(number.value)
    assert seen[0] != seen[1]
    again = c_void_p(graph.value)
    cuda.ok("cuStreamBeginCaptureToGraph", stream, again, handles([last]), None, 1, GLOBAL)
    launch(maker, stream, memory, memory, 1, 1)
    assert ended(cuda, stream) == (SUCCESS, again.value)
    assert len(maker.nodes(again)) == 4
    maker.run(maker.ready(again))
    assert numbers(cuda, memory, 1) == [3]


def test_a_launch_of_a_graph_is_captured(cuda: Driver, maker: Maker) -> None:
    memory, stream = cuda.put(bytes(4)), cuda.handle("cuStreamCreate", FREE)
    graph, event, happened = maker.graph(), cuda.handle("cuEventCreate", 0), cuda.handle("cuEventCreate", 0)
    maker.add(graph, maker.launch(memory, memory, 1, 2))
    executable = maker.ready(graph)
    cuda.ok("cuEventRecord", happened, stream)
    cuda.ok("cuStreamBeginCapture_v2", stream, GLOBAL)
    cuda.ok("cuStreamWaitEvent", stream, happened, 1)  # CU_EVENT_WAIT_EXTERNAL
    cuda.ok("cuGraphLaunch", executable, stream)
    cuda.ok("cuEventRecordWithFlags", event, stream, 1)  # CU_EVENT_RECORD_EXTERNAL
    outer = cuda.handle_last("cuStreamEndCapture", stream)
    kind, kinds = c_int(), []
    for node in maker.nodes(outer):
        cuda.ok("cuGraphNodeGetType", node, byref(kind))
        kinds.append(kind.value)
    assert kinds == [6, 4, 7]
    assert cuda.cuEventElapsedTime(ctypes.pointer(ctypes.c_float()), happened, event) == 400  # not recorded yet
    maker.run(maker.ready(outer), stream)
    assert numbers(cuda, memory, 1) == [2]
    cuda.ok("cuEventElapsedTime", ctypes.pointer(ctypes.c_float()), happened, event)
    assert cuda.cuEventRecordWithFlags(event, stream, 1) == INVALID_VALUE
    assert cuda.cuStreamWaitEvent(stream, event, 1) == INVALID_VALUE


def test_what_spoils_a_capture(cuda: Driver, maker: Maker) -> None:
    memory, event = cuda.alloc(64), cuda.handle("cuEventCreate", 0)
    free, blocking = cuda.handle("cuStreamCreate", FREE), cuda.handle("cuStreamCreate", BLOCKING)
    callback = CALLBACK(lambda *_: None)
    address, buffer = c_uint64(), ctypes.create_string_buffer(4)
    for stream, answer, call in (
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuStreamSynchronize(free)),
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuStreamQuery(free)),
        (free, CAPTURE_UNSUPPORTED, cuda.cuCtxSynchronize),
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuStreamAddCallback(free, callback, None, 0)),
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuMemAlloc_v2(byref(address), 4)),
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuMemFree_v2(memory)),
        (free, CAPTURE_UNSUPPORTED, lambda: cuda.cuStreamDestroy_v2(free)),
        (blocking, CAPTURE_IMPLICIT, lambda: cuda.cuMemcpyHtoD_v2(memory, buffer, 4)),
        (blocking, CAPTURE_IMPLICIT, lambda: cuda.cuMemsetD8Async(memory, 0, 4, None)),
        (blocking, CAPTURE_IMPLICIT, lambda: cuda.cuStreamSynchronize(None)),
        (blocking, CAPTURE_IMPLICIT, lambda: cuda.cuEventRecord(event, None)),
        (free, CAPTURE_ISOLATION, lambda: cuda.cuStreamWaitEvent(free, event, 0)),
        (free, INVALID_VALUE, lambda: cuda.cuMemFreeAsync(memory, free)),  # not of a graph
    ):
        cuda.ok("cuStreamBeginCapture_v2", stream, GLOBAL)
        assert call() == answer
        assert cuda.cuMemsetD8Async(memory, 0, 4, stream) == CAPTURE_INVALIDATED
        assert spoilt(cuda, stream)
        cuda.ok("cuMemsetD8Async", memory, 0, 4, stream)
    cuda.ok("cuStreamBeginCapture_v2", blocking, GLOBAL)
    assert cuda.cuStreamIsCapturing(None, byref(c_int())) == CAPTURE_IMPLICIT  # asking does no harm
    cuda.ok("cuMemsetD8Async", memory, 0, 4, free)  # nor does another stream
    cuda.ok("cuEventRecord", event, blocking)
    assert cuda.cuEventQuery(event) == CAPTURED_EVENT
    assert spoilt(cuda, blocking)
    cuda.ok("cuStreamBeginCapture_v2", blocking, GLOBAL)
    cuda.ok("cuEventRecord", event, blocking)
    assert cuda.cuEventSynchronize(event) == CAPTURED_EVENT
    assert spoilt(cuda, blocking)
    assert cuda.cuEventQuery(event) == SUCCESS  # the capture is over, and before there was no record


def test_captures_begin_and_end_in_order(cuda: Driver, maker: Maker) -> None:
    one, two = cuda.handle("cuStreamCreate", FREE), cuda.handle("cuStreamCreate", FREE)
    event, other = cuda.handle("cuEventCreate", 2), cuda.handle("cuEventCreate", 2)
    memory = cuda.alloc(4)
    assert cuda.cuStreamBeginCapture_v2(None, GLOBAL) == CAPTURE_UNSUPPORTED
    assert cuda.cuStreamBeginCapture_v2(one, 3) == INVALID_VALUE
    assert ended(cuda, one)[0] == ILLEGAL_STATE
    cuda.ok("cuStreamBeginCapture_v2", one, GLOBAL)
    assert cuda.cuStreamBeginCapture_v2(one, GLOBAL) == ILLEGAL_STATE
    cuda.ok("cuEventRecord", event, one)
    cuda.ok("cuStreamWaitEvent", two, event, 0)  # joins
    assert status(cuda, two) == ACTIVE
    assert ended(cuda, two)[0] == CAPTURE_UNMATCHED
    assert spoilt(cuda, one)
    assert status(cuda, two) == NONE
    cuda.ok("cuStreamBeginCapture_v2", one, GLOBAL)
    launch(maker, one, memory, memory, 1, 1)
    cuda.ok("cuEventRecord", event, one)
    cuda.ok("cuStreamWaitEvent", two, event, 0)
    launch(maker, two, memory, memory, 1, 1)
    assert ended(cuda, one) == (CAPTURE_UNJOINED, None)
    assert status(cuda, two) == NONE
    for stream, mark in ((one, event), (two, other)):
        cuda.ok("cuStreamBeginCapture_v2", stream, GLOBAL)
        cuda.ok("cuEventRecord", mark, stream)
    assert cuda.cuStreamWaitEvent(one, other, 0) == CAPTURE_MERGE
    assert spoilt(cuda, one) and spoilt(cuda, two)
    assert [cuda.gompy_cuda_living(kind) for kind in (9, 10)] == [0, 0]
    cuda.ok("cuStreamBeginCapture_v2", one, GLOBAL)
    launch(maker, one, memory, memory, 1, 1)
    cuda.ok("cuEventRecord", event, one)
    cuda.ok("cuStreamWaitEvent", two, event, 0)
    launch(maker, two, memory, memory, 1, 1)
    cuda.ok("cuEventRecord", event, two)
    cuda.ok("cuStreamDestroy_v2", two)  # what it did is joined below
    cuda.ok("cuStreamWaitEvent", one, event, 0)
    assert ended(cuda, one)[0] == SUCCESS


@pytest.mark.parametrize(
    ("mode", "own", "others", "answers"),
    [
        (GLOBAL, GLOBAL, GLOBAL, (CAPTURE_UNSUPPORTED, CAPTURE_UNSUPPORTED)),
        (GLOBAL, BY_THREAD, BY_THREAD, (CAPTURE_UNSUPPORTED, SUCCESS)),
        (BY_THREAD, GLOBAL, GLOBAL, (CAPTURE_UNSUPPORTED, SUCCESS)),
        (GLOBAL, RELAXED, RELAXED, (SUCCESS, SUCCESS)),
        (RELAXED, GLOBAL, GLOBAL, (SUCCESS, SUCCESS)),
    ],
)
def test_modes(cuda: Driver, mode: int, own: int, others: int, answers: tuple[int, int]) -> None:
    """Which threads a capture keeps from allocating, by its mode and theirs; only relaxed ones end anywhere."""
    context, stream = cuda.context(), cuda.handle("cuStreamCreate", FREE)
    found: list[int] = []

    def allocate(exchanged: int) -> int:
        cuda.ok("cuThreadExchangeStreamCaptureMode", byref(c_int(exchanged)))
        return cuda.cuMemAlloc_v2(byref(c_uint64()), 4)

    def elsewhere() -> None:
        cuda.ok("cuCtxSetCurrent", context)
        found.append(allocate(others))
        found.append(cuda.cuStreamEndCapture(stream, byref(c_void_p())))

    cuda.ok("cuStreamBeginCapture_v2", stream, mode)
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    ending = found[1]
    if mode == RELAXED:
        assert ending == (SUCCESS if found[0] == SUCCESS else CAPTURE_INVALIDATED)
        cuda.ok("cuStreamBeginCapture_v2", stream, mode)
    else:
        assert ending == CAPTURE_WRONG_THREAD
    assert (allocate(own), found[0]) == answers
    assert ended(cuda, stream)[0] == (SUCCESS if answers == (SUCCESS, SUCCESS) else CAPTURE_INVALIDATED)


def test_a_context_ends_with_its_captures(cuda: Driver, maker: Maker) -> None:
    context, stream = c_void_p(), cuda.handle("cuStreamCreate", FREE)
    cuda.ok("cuCtxGetCurrent", byref(context))
    memory = cuda.alloc(4)
    cuda.ok("cuStreamBeginCapture_v2", stream, GLOBAL)
    launch(maker, stream, memory, memory, 1, 1)
    cuda.ok("cuCtxDestroy_v2", context)
    assert cuda.living() == [0] * 6
    assert [cuda.gompy_cuda_living(kind) for kind in (9, 10)] == [0, 0]
    cuda.context()
    cuda.alloc(4)
