"""Memory nodes of the emulated driver's graphs: what they allocate, when it is there, and what may not be done."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import Structure, byref, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_graphs import Maker, handles
from cuda_tools import ILLEGAL_ADDRESS, INVALID_VALUE, NOT_SUPPORTED, SUCCESS, Driver, has_driver, has_executor

pytestmark = [has_driver, has_executor]
ALLOC, FREE = 10, 11
AUTO_FREE = 1
USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)
NON_BLOCKING = 1


class AllocNode(Structure):
    """CUDA_MEM_ALLOC_NODE_PARAMS; CUmemPoolProps has 88 bytes."""

    _fields_ = (
        ("kind", c_int),
        ("handles", c_int),
        ("location", c_int * 2),
        ("rest", c_uint64 * 9),
        ("access", c_void_p),
        ("accesses", c_size_t),
        ("size", c_size_t),
        ("address", c_uint64),
    )


class AnyNode(Structure):
    """CUgraphNodeParams of a node that allocates."""

    _fields_ = (("kind", c_int), ("reserved", c_int * 3), ("of", AllocNode), ("room", c_uint64 * 15))


def wanted(size: int) -> AllocNode:
    return AllocNode(kind=1, location=(1, 0), size=size)


def allocate(cuda: Driver, graph: c_void_p, size: int = 64, before: Sequence[c_void_p] = ()) -> tuple[c_void_p, int]:
    """A node and its address."""
    to, of = c_void_p(), wanted(size)
    cuda.ok("cuGraphAddMemAllocNode", byref(to), graph, handles(before) if before else None, len(before), byref(of))
    return to, of.address


def free(cuda: Driver, graph: c_void_p, address: int, before: Sequence[c_void_p] = ()) -> c_void_p:
    """A node."""
    to = c_void_p()
    cuda.ok("cuGraphAddMemFreeNode", byref(to), graph, handles(before) if before else None, len(before), address)
    return to


def bytes_of(cuda: Driver, which: int) -> int:
    """An attribute of the device's graphs."""
    value = c_uint64()
    cuda.ok("cuDeviceGetGraphMemAttribute", 0, which, byref(value))
    return value.value


def word(cuda: Driver, memory: int) -> int:
    return int(struct.unpack("<I", cuda.get(memory, 4))[0])


def test_memory_inside_of_a_graph(cuda: Driver, maker: Maker) -> None:
    """Allocated, used and freed by each launch, at one address."""
    out, seed = cuda.alloc(4), cuda.alloc(4)
    cuda.ok("cuMemsetD32_v2", seed, 5, 1)
    graph = maker.graph()
    node, memory = allocate(cuda, graph)
    first = maker.add(graph, maker.launch(memory, seed, 3, 1), [node])
    second = maker.add(graph, maker.launch(out, memory, 2, 7), [first])
    last = free(cuda, graph, memory, [second])
    found, kind = AllocNode(), c_int()
    cuda.ok("cuGraphMemAllocNodeGetParams", node, byref(found))
    assert (found.size, found.address, list(found.location)) == (64, memory, [1, 0])
    address = c_uint64()
    cuda.ok("cuGraphMemFreeNodeGetParams", last, byref(address))
    assert address.value == memory
    for handle, number in ((node, ALLOC), (last, FREE)):
        cuda.ok("cuGraphNodeGetType", handle, byref(kind))
        assert kind.value == number
    executable = maker.ready(graph)
    for number in (5, 6):
        cuda.ok("cuMemsetD32_v2", seed, number, 1)
        maker.run(executable)
        assert word(cuda, out) == (number * 3 + 1) * 2 + 7
    assert (bytes_of(cuda, USED), bytes_of(cuda, USED_HIGH), bytes_of(cuda, RESERVED)) == (0, 64, 64)
    assert cuda.cuMemFree_v2(memory) == INVALID_VALUE  # the graph's own to free
    cuda.ok("cuGraphExecDestroy", executable)
    cuda.ok("cuGraphDestroy", graph)
    assert (bytes_of(cuda, RESERVED), bytes_of(cuda, RESERVED_HIGH)) == (0, 64)
    cuda.ok("cuDeviceSetGraphMemAttribute", 0, RESERVED_HIGH, byref(c_uint64(0)))
    assert bytes_of(cuda, RESERVED_HIGH) == 0
    cuda.ok("cuDeviceGraphMemTrim", 0)


@pytest.mark.parametrize("call", ["cuMemFree_v2", "cuMemFreeAsync"])
def test_memory_that_a_launch_leaves(cuda: Driver, maker: Maker, call: str) -> None:
    """It is there until the program frees it; a launch before that is refused, and does nothing."""
    seed = cuda.alloc(4)
    cuda.ok("cuMemsetD32_v2", seed, 9, 1)
    graph = maker.graph()
    node, memory = allocate(cuda, graph)
    maker.add(graph, maker.launch(memory, seed, 1, 1), [node])
    executable = maker.ready(graph)
    stream = cuda.handle("cuStreamCreate", 0)
    arguments = (memory,) if call == "cuMemFree_v2" else (memory, stream)
    assert getattr(cuda, call)(*arguments) == INVALID_VALUE  # nothing has been launched
    for _ in range(2):
        maker.run(executable, stream)
        assert word(cuda, memory) == 10
        assert cuda.cuGraphLaunch(executable, stream) == INVALID_VALUE
        cuda.ok(call, *arguments)
        assert getattr(cuda, call)(*arguments) == INVALID_VALUE
    maker.run(executable, stream)
    cuda.ok("cuGraphExecDestroy", executable)
    cuda.ok("cuGraphDestroy", graph)
    assert word(cuda, memory) == 10  # the program's own now
    cuda.ok(call, *arguments)
    cuda.ok("cuStreamSynchronize", stream)
    assert cuda.cuMemsetD32_v2(memory, 0, 1) == INVALID_VALUE


def test_another_graph_frees(cuda: Driver, maker: Maker) -> None:
    one, two = maker.graph(), maker.graph()
    _, memory = allocate(cuda, one)
    free(cuda, two, memory)
    first, second = maker.ready(one), maker.ready(two)
    assert cuda.cuGraphLaunch(second, None) == INVALID_VALUE
    for _ in range(2):
        maker.run(first)
        assert bytes_of(cuda, USED) == 64
        maker.run(second)
        assert bytes_of(cuda, USED) == 0


def test_freed_before_each_launch(cuda: Driver, maker: Maker) -> None:
    graph = maker.graph()
    _, memory = allocate(cuda, graph)
    executable = cuda.handle("cuGraphInstantiateWithFlags", graph, AUTO_FREE)
    for _ in range(3):
        maker.run(executable)
    cuda.ok("cuMemFree_v2", memory)


def test_the_block_stays_while_a_launch_uses_it(cuda: Driver, maker: Maker) -> None:
    """Who has launched may destroy the graph: its memory is not given to others before the launch is over."""
    out, seed = cuda.alloc(4), cuda.alloc(4)
    cuda.ok("cuMemsetD32_v2", seed, 3, 1)
    stream = cuda.handle("cuStreamCreate", NON_BLOCKING)
    for _ in range(20):
        graph = maker.graph()
        node, memory = allocate(cuda, graph)
        last = node
        for _ in range(10):
            last = maker.add(graph, maker.launch(memory, seed, 1, 1), [last])
        last = maker.add(graph, maker.launch(out, memory, 1, 1), [last])
        free(cuda, graph, memory, [last])
        executable = maker.ready(graph)
        cuda.ok("cuGraphLaunch", executable, stream)
        cuda.ok("cuGraphExecDestroy", executable)
        cuda.ok("cuGraphDestroy", graph)
        other = cuda.alloc(64)
        cuda.ok("cuMemsetD32Async", other, 77, 16, None)
        cuda.ok("cuStreamSynchronize", stream)
        cuda.ok("cuCtxSynchronize")
        assert word(cuda, out) == 5
        assert word(cuda, other) == 77
        cuda.ok("cuMemFree_v2", other)


def test_what_such_graphs_may_not(cuda: Driver, maker: Maker) -> None:
    graph, other, to = maker.graph(), maker.graph(), c_void_p()
    node, memory = allocate(cuda, graph)
    maker.add(other, None)
    empty = maker.add(graph, None, [node])
    free(cuda, graph, memory, [empty])
    assert cuda.cuGraphAddMemFreeNode(byref(to), graph, None, 0, memory) == INVALID_VALUE  # twice
    assert cuda.cuGraphAddMemFreeNode(byref(to), graph, None, 0, cuda.alloc(4)) == INVALID_VALUE
    assert cuda.cuGraphClone(byref(to), graph) == NOT_SUPPORTED
    assert cuda.cuGraphDestroyNode(empty) == NOT_SUPPORTED
    assert cuda.cuGraphRemoveDependencies(graph, handles([node]), handles([empty]), 1) == NOT_SUPPORTED
    assert cuda.cuGraphAddChildGraphNode(byref(to), other, None, 0, graph) == NOT_SUPPORTED
    outer, inner, of = maker.graph(), c_void_p(), wanted(64)
    cuda.ok("cuGraphAddChildGraphNode", byref(to), outer, None, 0, other)
    cuda.ok("cuGraphChildGraphNodeGetGraph", to, byref(inner))
    assert cuda.cuGraphAddMemAllocNode(byref(to), inner, None, 0, byref(of)) == NOT_SUPPORTED
    assert cuda.cuGraphAddMemFreeNode(byref(to), inner, None, 0, memory) == NOT_SUPPORTED
    for call, stream in (("alloc", cuda.handle("cuStreamCreate", 0)), ("free", cuda.handle("cuStreamCreate", 0))):
        cuda.ok("cuStreamBeginCaptureToGraph", stream, inner, None, None, 0, 0)
        arguments = (byref(c_uint64()), 64, stream) if call == "alloc" else (memory, stream)
        assert getattr(cuda, f"cuMem{call.capitalize()}Async")(*arguments) == NOT_SUPPORTED
        assert cuda.cuStreamEndCapture(stream, byref(to)) != SUCCESS
    executable = maker.ready(graph)
    assert cuda.cuGraphInstantiateWithFlags(byref(to), graph, 0) == NOT_SUPPORTED  # there is one
    cuda.ok("cuGraphExecDestroy", executable)
    cuda.ok("cuGraphExecDestroy", maker.ready(graph))
    for field, value, answer in (
        ("kind", 2, INVALID_VALUE),
        ("size", 0, INVALID_VALUE),
        ("handles", 1, NOT_SUPPORTED),
        ("size", 1 << 60, 2),
    ):
        of = wanted(64)
        setattr(of, field, value)
        assert cuda.cuGraphAddMemAllocNode(byref(to), other, None, 0, byref(of)) == answer
    assert len(maker.nodes(other)) == 1


def test_any_node(cuda: Driver, maker: Maker) -> None:
    """cuGraphAddNode: the address comes back in the parameters."""
    graph, to = maker.graph(), c_void_p()
    of = AnyNode(kind=ALLOC, of=wanted(32))
    cuda.ok("cuGraphAddNode", byref(to), graph, None, 0, byref(of))
    end = AnyNode(kind=FREE)
    ctypes.memmove(byref(end, 16), byref(c_uint64(of.of.address)), 8)
    cuda.ok("cuGraphAddNode", byref(c_void_p()), graph, handles([to]), 1, byref(end))
    assert cuda.cuGraphNodeSetParams(to, byref(of)) == NOT_SUPPORTED
    maker.run(maker.ready(graph))
    assert bytes_of(cuda, USED_HIGH) == 32


def test_captured(cuda: Driver, maker: Maker) -> None:
    """cuMemAllocAsync and cuMemFreeAsync of a stream that is captured are nodes."""
    out, seed, memory = cuda.alloc(4), cuda.alloc(4), c_uint64()
    cuda.ok("cuMemsetD32_v2", seed, 4, 1)
    stream = cuda.handle("cuStreamCreate", NON_BLOCKING)
    cuda.ok("cuStreamBeginCapture_v2", stream, 0)
    cuda.ok("cuMemAllocAsync", byref(memory), 64, stream)
    cuda.ok("cuMemcpyDtoDAsync_v2", memory.value, seed, 4, stream)
    cuda.ok("cuMemcpyDtoDAsync_v2", out, memory.value, 4, stream)
    cuda.ok("cuMemFreeAsync", memory.value, stream)
    graph = c_void_p()
    cuda.ok("cuStreamEndCapture", stream, byref(graph))
    assert len(maker.nodes(graph)) == 4
    executable = maker.ready(graph)
    for number in (4, 8):
        cuda.ok("cuMemsetD32_v2", seed, number, 1)
        maker.run(executable, stream)
        assert word(cuda, out) == number
    assert bytes_of(cuda, USED) == 0
    cuda.ok("cuStreamBeginCapture_v2", stream, 0)
    assert cuda.cuGraphLaunch(executable, stream) == NOT_SUPPORTED  # it would be a child
    assert cuda.cuStreamEndCapture(stream, byref(graph)) != SUCCESS


def test_the_picture(cuda: Driver, maker: Maker, tmp_path: Path) -> None:
    graph = maker.graph()
    _, memory = allocate(cuda, graph)
    free(cuda, graph, memory)
    cuda.ok("cuGraphDebugDotPrint", graph, str(tmp_path / "graph.dot").encode(), 0)
    text = (tmp_path / "graph.dot").read_text()
    assert "MEM_ALLOC" in text and "MEM_FREE" in text and f"{memory:#x}" in text


def test_use_behind_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """With GOMPY_CHECK: what comes after the node that frees finds no memory."""
    monkeypatch.setenv("GOMPY_CHECK", "memory")
    cuda = Driver(tmp_path / "driver").typed()
    cuda.context()
    maker = Maker(cuda)
    out, graph = cuda.alloc(4), maker.graph()
    node, memory = allocate(cuda, graph)
    first = maker.add(graph, maker.launch(memory, out, 1, 1), [node])
    last = free(cuda, graph, memory, [first])
    executable = maker.ready(graph)
    maker.run(executable)
    cuda.ok("cuGraphExecDestroy", executable)
    maker.add(graph, maker.launch(out, memory, 1, 1), [last])
    cuda.ok("cuGraphLaunch", maker.ready(graph), None)
    assert cuda.cuStreamSynchronize(None) == ILLEGAL_ADDRESS
    assert f"illegal address {memory:#x} read (4 bytes) in 'muladd'" in capfd.readouterr().err
