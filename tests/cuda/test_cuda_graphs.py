"""The emulated CUDA driver's graphs: what a launch does is what the operations do one after the other."""

from __future__ import annotations

import ctypes
import random
import struct
import threading
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest
from cuda_graphs import COPY, EMPTY, GRAPH, HOST, KERNEL, FillNode, HostNode, KernelNode, Maker, Update, handles
from cuda_tools import (
    HOST_FUNCTION,
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    UPDATE_FAILURE,
    Driver,
    Memcpy3D,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
CELLS = 6


def cells(cuda: Driver, memory: int, n: int = CELLS) -> list[int]:
    return list(struct.unpack(f"<{n}I", cuda.get(memory, 4 * n)))


class Step:
    """An operation on cells, as Python does it and as a node does."""

    def __init__(self, dice: random.Random) -> None:
        self.kind = dice.choice((KERNEL, KERNEL, KERNEL, COPY, "fill", EMPTY))
        self.to, self.of = dice.randrange(CELLS), dice.randrange(CELLS)
        self.a, self.b = dice.randrange(3, 99) | 1, dice.randrange(1 << 16)

    def reads(self) -> set[int]:
        return {self.of} if self.kind in (KERNEL, COPY) else set()

    def writes(self) -> set[int]:
        return {self.to} if self.kind != EMPTY else set()

    def conflicts(self, other: Step) -> bool:
        """Whether their order matters."""
        return bool(self.writes() & (other.reads() | other.writes()) or self.reads() & other.writes())

    def do(self, values: list[int]) -> None:
        if self.kind == KERNEL:
            values[self.to] = (values[self.of] * self.a + self.b) % (1 << 32)
        elif self.kind == COPY:
            values[self.to] = values[self.of]
        elif self.kind == "fill":
            values[self.to] = self.b

    def node(self, maker: Maker, memory: int) -> KernelNode | Memcpy3D | FillNode | None:
        to, of = memory + 4 * self.to, memory + 4 * self.of
        if self.kind == KERNEL:
            return maker.launch(to, of, self.a, self.b)
        if self.kind == COPY:
            return maker.copy(to, of, 4)
        return FillNode(to, 0, self.b, 4, 1, 1) if self.kind == "fill" else None


@pytest.mark.parametrize("seed", range(12))
def test_any_graph_is_its_operations_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Nodes are added in any order, with edges wherever the order matters and some more; one part may be a child."""
    monkeypatch.setenv("GOMPY_CUDA_SEED", str(seed // 2))
    cuda = Driver(tmp_path / "driver").typed()
    cuda.context()
    maker, dice = Maker(cuda), random.Random(seed)
    steps = [Step(dice) for _ in range(dice.randrange(2, 40))]
    start = [dice.randrange(1 << 32) for _ in range(CELLS)]
    memory = cuda.put(struct.pack(f"<{CELLS}I", *start))
    graph, part = maker.graph(), dice.randrange(len(steps) + 1)
    nodes: dict[int, c_void_p] = {}
    for at in sorted(range(part), key=lambda _: dice.random()):
        nodes[at] = maker.add(graph, steps[at].node(maker, memory))
    for at in range(part):
        for before in range(at):
            if steps[before].conflicts(steps[at]) or dice.random() < 0.05:
                cuda.ok("cuGraphAddDependencies", graph, handles([nodes[before]]), handles([nodes[at]]), 1)
    if part < len(steps):
        child, inner = maker.graph(), []
        for step in steps[part:]:
            inner.append(maker.add(child, step.node(maker, memory), inner[-1:]))
        maker.add(graph, child, list(nodes.values()))
        cuda.ok("cuGraphDestroy", child)
    executable = maker.ready(graph)
    cuda.ok("cuGraphDestroy", graph)
    values = start
    for _ in range(2):
        maker.run(executable)
        for step in steps:
            step.do(values)
        assert cells(cuda, memory) == values
    cuda.ok("cuGraphExecDestroy", executable)
    assert [cuda.gompy_cuda_living(kind) for kind in (9, 10, 11)] == [0, 0, 0]


def test_a_launch_has_the_parameters_of_its_time(cuda: Driver, maker: Maker) -> None:
    """Those of the node when the graph was made executable, or of the executable when it was launched."""
    memory = cuda.put(bytes(8))
    graph, stream = maker.graph(), cuda.handle("cuStreamCreate", 0)
    node = maker.add(graph, maker.launch(memory, memory, 1, 5))
    executable = maker.ready(graph)
    cuda.ok("cuGraphKernelNodeSetParams", node, byref(maker.launch(memory, memory, 1, 1000)))
    maker.run(executable, stream)
    assert cells(cuda, memory, 2) == [5, 0]
    gate = threading.Event()
    held = HOST_FUNCTION(lambda _: gate.wait(60) and None)
    cuda.ok("cuLaunchHostFunc", stream, held, None)
    cuda.ok("cuGraphLaunch", executable, stream)  # + 5, later
    cuda.ok("cuGraphExecKernelNodeSetParams", executable, node, byref(maker.launch(memory + 4, memory, 10, 0)))
    gate.set()
    cuda.ok("cuGraphLaunch", executable, stream)
    cuda.ok("cuGraphExecDestroy", executable)  # what was launched is still done
    cuda.ok("cuStreamSynchronize", stream)
    assert cells(cuda, memory, 2) == [10, 100]
    got = KernelNode()
    cuda.ok("cuGraphKernelNodeGetParams", node, byref(got))
    assert (got.function, list(got.grid), list(got.block)) == (maker.muladd.value, [1] * 3, [1] * 3)
    assert c_uint.from_address(got.params[3]).value == 1000


def test_order_on_streams(cuda: Driver, maker: Maker) -> None:
    """After what was asked of the stream before, before what comes later; events of graphs are events."""
    memory = cuda.put(struct.pack("<I", 3))
    graph, one, two = maker.graph(), cuda.handle("cuStreamCreate", 1), cuda.handle("cuStreamCreate", 1)
    event, to = cuda.handle("cuEventCreate", 2), c_void_p()
    node = maker.add(graph, maker.launch(memory, memory, 2, 0))
    cuda.ok("cuGraphAddEventRecordNode", byref(to), graph, handles([node]), 1, event)
    got = c_void_p()
    cuda.ok("cuGraphEventRecordNodeGetEvent", to, byref(got))
    assert got.value == event.value
    executable = maker.ready(graph)
    other = maker.graph()
    cuda.ok("cuGraphAddEventWaitNode", byref(to), other, None, 0, event)
    maker.add(other, maker.launch(memory, memory, 10, 1), [to])
    then = maker.ready(other)
    gate = threading.Event()
    held = HOST_FUNCTION(lambda _: gate.wait(60) and None)
    for _ in range(3):
        gate.clear()
        cuda.ok("cuLaunchHostFunc", one, held, None)
        cuda.ok("cuGraphLaunch", executable, one)
        cuda.ok("cuGraphLaunch", then, two)
        gate.set()
        cuda.ok("cuStreamSynchronize", two)
    cuda.ok("cuStreamSynchronize", one)
    assert cells(cuda, memory, 1) == [((3 * 20 + 1) * 20 + 1) * 20 + 1]


def test_host_nodes_and_host_memory(cuda: Driver, maker: Maker) -> None:
    """Copies from and to the program's memory when the graph runs; a call between them."""
    memory = cuda.alloc(4)
    source, target, seen = c_uint(1), c_uint(), []

    def call(data: int | None) -> None:
        seen.append((data, target.value))
        source.value += 1

    function, graph = HOST_FUNCTION(call), maker.graph()
    into = Memcpy3D(srcMemoryType=1, srcHost=ctypes.addressof(source), dstMemoryType=2, dstDevice=memory)
    out = Memcpy3D(srcMemoryType=2, srcDevice=memory, dstMemoryType=1, dstHost=ctypes.addressof(target))
    for described in (into, out):
        described.WidthInBytes, described.Height, described.Depth = 4, 1, 1
    first = maker.add(graph, into)
    second = maker.add(graph, maker.launch(memory, memory, 10, 0), [first])
    third = maker.add(graph, out, [second])
    maker.add(graph, HostNode(ctypes.cast(function, c_void_p), 7), [third])
    executable = maker.ready(graph)
    for _ in range(3):
        maker.run(executable)
    assert seen == [(7, 10), (7, 20), (7, 30)]


def test_launches_of_an_executable_wait_for_each_other(cuda: Driver, maker: Maker) -> None:
    """In whatever streams they are."""
    second = threading.Event()
    begun, beside = [], []

    def call(_: int | None) -> None:
        begun.append(len(begun))
        if len(begun) == 1:
            beside.append(second.wait(0.2))
        second.set()

    function, graph = HOST_FUNCTION(call), maker.graph()
    maker.add(graph, HostNode(ctypes.cast(function, c_void_p), 0))
    executable = maker.ready(graph)
    streams = [cuda.handle("cuStreamCreate", 1) for _ in "ab"]
    for stream in streams:
        cuda.ok("cuGraphLaunch", executable, stream)
    for stream in streams:
        cuda.ok("cuStreamSynchronize", stream)
    assert (begun, beside) == ([0, 1], [False])


def test_questions_about_a_graph(cuda: Driver, maker: Maker) -> None:
    """Nodes, roots, edges, neighbours, types; a clone has nodes of its own."""
    memory, graph, kind = cuda.alloc(64), maker.graph(), c_int()
    a = maker.add(graph, None)
    b = maker.add(graph, FillNode(memory, 0, 1, 1, 8, 1), [a])
    c = maker.add(graph, maker.copy(memory + 8, memory, 8), [a])
    d = maker.add(graph, maker.launch(memory, memory, 1, 1), [b, c])
    assert maker.nodes(graph) == [node.value for node in (a, b, c, d)]
    assert maker.nodes(graph, "cuGraphGetRootNodes") == [a.value]
    assert maker.nodes(d, "cuGraphNodeGetDependencies") == [b.value, c.value]
    assert maker.nodes(a, "cuGraphNodeGetDependentNodes") == [b.value, c.value]
    types = []
    for node in (a, b, c, d):
        cuda.ok("cuGraphNodeGetType", node, byref(kind))
        types.append(kind.value)
    assert types == [5, 2, 1, 0]
    n = c_size_t(6)
    first, then = (c_void_p * 6)(), (c_void_p * 6)()
    cuda.ok("cuGraphGetEdges", graph, first, then, byref(n))
    edges = [(a, b), (a, c), (b, d), (c, d)]
    assert n.value == 4
    assert list(zip(first, then, strict=True)) == [(x.value, y.value) for x, y in edges] + [(None, None)] * 2
    clone = cuda.handle("cuGraphClone", graph)
    copied = cuda.handle("cuGraphNodeFindInClone", c, clone)
    assert copied.value not in maker.nodes(graph) and copied.value == maker.nodes(clone)[2]
    assert cuda.cuGraphNodeFindInClone(byref(copied), c, graph) == INVALID_VALUE
    cuda.ok("cuGraphDestroyNode", c)
    assert maker.nodes(graph) == [node.value for node in (a, b, d)]
    assert maker.nodes(d, "cuGraphNodeGetDependencies") == [b.value]
    assert len(maker.nodes(clone)) == 4
    got, described = FillNode(), Memcpy3D()
    cuda.ok("cuGraphMemsetNodeGetParams", b, byref(got))
    assert (got.to, got.value, got.unit, got.width, got.height) == (memory, 1, 1, 8, 1)
    cuda.ok("cuGraphMemcpyNodeGetParams", maker.nodes(clone)[2], byref(described))
    assert (described.srcDevice, described.dstDevice, described.WidthInBytes) == (memory, memory + 8, 8)
    assert cuda.cuGraphMemcpyNodeGetParams(b, byref(described)) == INVALID_VALUE
    holder, child = maker.add(graph, clone), c_void_p()
    cuda.ok("cuGraphChildGraphNodeGetGraph", holder, byref(child))
    assert child.value != clone.value and len(maker.nodes(child)) == 4
    assert cuda.cuGraphDestroy(child) == INVALID_VALUE


def test_what_is_refused(cuda: Driver, maker: Maker) -> None:
    memory, graph, other, to = cuda.alloc(64), maker.graph(), maker.graph(), c_void_p()
    a, b = maker.add(graph, None), maker.add(graph, None)
    stranger = maker.add(other, None)
    add = cuda.cuGraphAddEmptyNode
    assert add(byref(to), graph, handles([stranger]), 1) == INVALID_VALUE
    assert add(byref(to), graph, handles([a, a]), 2) == INVALID_VALUE
    assert add(byref(to), a, None, 0) == INVALID_VALUE
    assert add(byref(to), graph, None, 1) == INVALID_VALUE
    for described in (
        maker.copy(memory, memory + 60, 8),
        maker.copy(memory, 4096, 4),
        maker.copy(memory, memory + 8, 0),
    ):
        assert cuda.cuGraphAddMemcpyNode(byref(to), graph, None, 0, byref(described), None) == INVALID_VALUE
    for at, unit, width in ((0, 3, 1), (1, 4, 1), (0, 4, 17)):
        wrong = FillNode(memory + at, 0, 1, unit, width, 1)
        assert cuda.cuGraphAddMemsetNode(byref(to), graph, None, 0, byref(wrong), None) == INVALID_VALUE
    large = maker.launch(memory, memory, 1, 1)
    large.block = (2000, 1, 1)
    assert cuda.cuGraphAddKernelNode(byref(to), graph, None, 0, byref(large)) == INVALID_VALUE
    edges = [handles([x]) for x in (a, b)]
    cuda.ok("cuGraphAddDependencies", graph, edges[0], edges[1], 1)
    assert cuda.cuGraphAddDependencies(graph, edges[0], edges[1], 1) == INVALID_VALUE  # it is there
    assert cuda.cuGraphRemoveDependencies(graph, edges[1], edges[0], 1) == INVALID_VALUE
    cuda.ok("cuGraphAddDependencies", graph, edges[1], edges[0], 1)
    log, wrong_node = ctypes.create_string_buffer(64), c_void_p()
    assert cuda.cuGraphInstantiate_v2(byref(to), graph, byref(wrong_node), log, 64) == INVALID_VALUE
    assert wrong_node.value in (a.value, b.value) and log.value == b"nodes of the graph wait for each other"
    cuda.ok("cuGraphRemoveDependencies", graph, edges[1], edges[0], 1)
    executable = maker.ready(graph)
    launch = maker.launch(memory, memory, 1, 1)
    assert cuda.cuGraphExecKernelNodeSetParams(executable, a, byref(launch)) == INVALID_VALUE
    assert cuda.cuGraphLaunch(graph, None) == INVALID_VALUE
    cuda.ok("cuGraphDestroy", graph)
    assert cuda.cuGraphDestroy(graph) == INVALID_VALUE
    for word in (0, 1, memory, a.value):
        assert cuda.cuGraphDestroyNode(word) == INVALID_VALUE
        assert cuda.cuGraphExecDestroy(word) == INVALID_VALUE


def test_what_a_graph_needs_may_go(cuda: Driver, maker: Maker) -> None:
    """A launch that can't be done does nothing."""
    memory, gone = cuda.put(struct.pack("<I", 1)), cuda.alloc(64)
    graph = maker.graph()
    first = maker.add(graph, maker.launch(memory, memory, 1, 1))
    maker.add(graph, maker.copy(gone, memory, 4), [first])
    executable = maker.ready(graph)
    maker.run(executable)
    cuda.ok("cuMemFree_v2", gone)
    assert cuda.cuGraphLaunch(executable, None) == INVALID_VALUE
    cuda.ok("cuCtxSynchronize")
    assert cells(cuda, memory, 1) == [2]
    single = maker.graph()
    maker.add(single, maker.launch(memory, memory, 1, 1))
    executable = maker.ready(single)
    cuda.ok("cuModuleUnload", maker.module)
    assert cuda.cuGraphLaunch(executable, None) == INVALID_HANDLE


def test_updates(cuda: Driver, maker: Maker) -> None:
    """Another graph of the same shape; nodes that are left out; a child's share."""
    memory = cuda.put(bytes(12))

    def graph(amount: int, value: int, *, longer: bool = False) -> tuple[c_void_p, list[c_void_p]]:
        made, inner = maker.graph(), maker.graph()
        maker.add(inner, maker.launch(memory + 8, memory + 8, 1, amount))
        a = maker.add(made, maker.launch(memory, memory, 1, amount))
        b = maker.add(made, FillNode(memory + 4, 0, value, 4, 1, 1), [a])
        c = maker.add(made, inner, [b])
        return made, [a, b, c, *([maker.add(made, None)] if longer else [])]

    one, nodes = graph(1, 7)
    executable = maker.ready(one)
    maker.run(executable)
    assert cells(cuda, memory, 3) == [1, 7, 1]
    update, (other, _) = Update(), graph(10, 8)
    cuda.ok("cuGraphExecUpdate_v2", executable, other, byref(update))
    assert update.result == 0
    maker.run(executable)
    assert cells(cuda, memory, 3) == [11, 8, 11]
    longer, _ = graph(100, 9, longer=True)
    assert cuda.cuGraphExecUpdate_v2(executable, longer, byref(update)) == UPDATE_FAILURE
    assert update.result == 2
    kinds = maker.graph()
    maker.add(kinds, None, [maker.add(kinds, None, [maker.add(kinds, None)])])
    assert cuda.cuGraphExecUpdate_v2(executable, kinds, byref(update)) == UPDATE_FAILURE
    assert update.result == 3
    enabled = c_uint(7)
    cuda.ok("cuGraphNodeSetEnabled", executable, nodes[0], 0)
    cuda.ok("cuGraphNodeGetEnabled", executable, nodes[0], byref(enabled))
    assert enabled.value == 0
    assert cuda.cuGraphNodeSetEnabled(executable, nodes[2], 0) == INVALID_VALUE
    cuda.ok("cuGraphExecMemsetNodeSetParams", executable, nodes[1], byref(FillNode(memory + 4, 0, 5, 4, 1, 1)), None)
    inner = maker.graph()
    maker.add(inner, maker.launch(memory + 8, memory + 8, 2, 0))
    cuda.ok("cuGraphExecChildGraphNodeSetParams", executable, nodes[2], inner)
    maker.run(executable)
    assert cells(cuda, memory, 3) == [11, 5, 22]
    cuda.ok("cuGraphNodeSetEnabled", executable, nodes[0], 1)
    maker.run(executable)
    assert cells(cuda, memory, 3) == [21, 5, 44]


def test_nodes_of_any_kind(cuda: Driver, maker: Maker) -> None:
    """CUgraphNodeParams: the kind, and behind it what the kind has."""
    memory, graph, to = cuda.put(bytes(8)), maker.graph(), c_void_p()

    def described(kind: int, content: Any = None) -> bytes:
        return (struct.pack("<iiii", kind, 0, 0, 0) + (bytes(content) if content else b"")).ljust(256, b"\0")

    launch = maker.launch(memory, memory, 1, 3)
    cuda.ok("cuGraphAddNode", byref(to), graph, None, 0, described(KERNEL, launch))
    node = c_void_p(to.value)
    copied = bytes(16) + bytes(maker.copy(memory + 4, memory, 4))
    cuda.ok("cuGraphAddNode_v2", byref(to), graph, handles([node]), None, 1, described(COPY, copied))
    port = (c_uint64 * 1)(1)
    assert cuda.cuGraphAddNode_v2(byref(to), graph, handles([node]), port, 1, described(EMPTY)) == 801
    assert cuda.cuGraphAddNode(byref(to), graph, None, 0, described(9)) == 801  # a wait for a semaphore
    executable = maker.ready(graph)
    maker.run(executable)
    launch = maker.launch(memory, memory, 1, 4)
    cuda.ok("cuGraphExecNodeSetParams", executable, node, described(KERNEL, launch))
    maker.run(executable)
    assert cells(cuda, memory, 2) == [7, 7]
    assert cuda.cuGraphNodeSetParams(node, described(HOST, HostNode(None, None))) == INVALID_VALUE
    assert cuda.cuGraphNodeSetParams(node, described(GRAPH)) == INVALID_VALUE


def test_a_kernel_that_fails(cuda: Driver, maker: Maker, capfd: pytest.CaptureFixture[str]) -> None:
    """What comes after it is left out; the error stays with the context."""
    memory, graph = cuda.alloc(4), maker.graph()
    node = maker.add(graph, maker.launch(memory, 8, 1, 1))
    called: list[int] = []
    function = HOST_FUNCTION(lambda _: called.append(1))
    maker.add(graph, HostNode(ctypes.cast(function, c_void_p), None), [node])
    cuda.ok("cuGraphLaunch", maker.ready(graph), None)
    assert cuda.cuCtxSynchronize() == 700
    assert called == []
    assert "illegal address 0x8 read (4 bytes) in 'muladd'" in capfd.readouterr().err


def test_a_picture_for_dot(cuda: Driver, maker: Maker, tmp_path: Path) -> None:
    memory, graph = cuda.alloc(8), maker.graph()
    first = maker.add(graph, maker.launch(memory, memory, 1, 1))
    maker.add(graph, FillNode(memory, 0, 1, 4, 2, 1), [first])
    maker.add(graph, cuda.handle("cuGraphClone", graph), [first])
    cuda.ok("cuGraphDebugDotPrint", graph, str(tmp_path / "graph.dot").encode(), 0)
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph dot {\n") and text.count("{") == text.count("}")
    assert '"graph_0_node_0" -> "graph_0_node_1";' in text and '"graph_1_node_0" -> "graph_1_node_1";' in text
    assert "KERNEL\nmuladd\n(1,1,1) x (1,1,1), 0" in text
    assert cuda.cuGraphDebugDotPrint(graph, b"/nowhere/at/all", 0) == 304


def test_instantiate_by_its_names(cuda: Driver, maker: Maker) -> None:
    """cuGetProcAddress gives cuGraphInstantiate in the form of the asked version."""
    graph, to, flags = maker.graph(), c_void_p(), c_uint64()
    addresses = []
    for version in (10000, 11000, 12000):
        cuda.ok("cuGetProcAddress", b"cuGraphInstantiate", byref(to), version, 0)
        addresses.append(to.value)
    assert addresses[2] == ctypes.cast(cuda.library.cuGraphInstantiateWithFlags, c_void_p).value
    assert len(set(addresses)) == 3
    assert cuda.cuGetProcAddress(b"cuGraphInstantiat", byref(to), 12000, 0) == NOT_FOUND
    how = (c_uint64 * 4)(8)
    cuda.ok("cuGraphInstantiateWithParams", byref(to), graph, how)
    cuda.ok("cuGraphExecGetFlags", to, byref(flags))
    assert flags.value == 8
    assert cuda.cuGraphInstantiateWithFlags(byref(to), graph, 4) == 801  # launches by kernels
    name = c_char_p()
    assert cuda.cuGetErrorName(UPDATE_FAILURE, byref(name)) == SUCCESS
    assert name.value == b"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE"
