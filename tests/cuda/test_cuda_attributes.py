"""Attributes of graphs' kernels, and copies of boxes between contexts."""

from __future__ import annotations

from ctypes import byref, c_int, c_uint, c_uint64, create_string_buffer

import pytest
from cuda_graphs import DEVICE, KernelNode, Maker
from cuda_tools import (
    INVALID_CONTEXT,
    INVALID_VALUE,
    NOT_SUPPORTED,
    SUCCESS,
    Driver,
    Memcpy3D,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
WINDOW, COOPERATIVE, CLUSTER, PRIORITY, STREAM_POLICY = 1, 2, 4, 8, 3
TOO_LARGE = 720


def asked(cuda: Driver, node: object, which: int) -> bytes:
    """An attribute, 64 bytes."""
    value = create_string_buffer(b"\x55" * 64, 64)
    cuda.ok("cuGraphKernelNodeGetAttribute", node, which, value)
    return value.raw


def grid(node: KernelNode, blocks: int) -> KernelNode:
    node.grid = (c_uint * 3)(blocks, 1, 1)
    return node


def test_what_is_set_can_be_asked_for(cuda: Driver, maker: Maker) -> None:
    memory = cuda.put(bytes(8))
    graph = maker.graph()
    node, other = (maker.add(graph, maker.launch(memory, memory, 1, 1)) for _ in "ab")
    for which in (WINDOW, COOPERATIVE, CLUSTER, PRIORITY):
        assert asked(cuda, node, which) == bytes(64)
    window = bytes(range(64))
    cuda.ok("cuGraphKernelNodeSetAttribute", node, WINDOW, window)
    alone = bytes(c_uint64(1 << 32 | 1)) + b"\1" + bytes(55)
    cuda.ok("cuGraphKernelNodeSetAttribute", node, CLUSTER, alone)
    assert (asked(cuda, node, WINDOW), asked(cuda, node, PRIORITY)) == (window, bytes(64))
    assert (asked(cuda, node, CLUSTER), asked(cuda, other, CLUSTER)) == (alone, bytes(64))
    assert asked(cuda, other, WINDOW) == bytes(64)


def test_a_clone_has_them(cuda: Driver, maker: Maker) -> None:
    memory = cuda.put(bytes(8))
    graph = maker.graph()
    node = maker.add(graph, maker.launch(memory, memory, 1, 1))
    cuda.ok("cuGraphKernelNodeSetAttribute", node, PRIORITY, bytes(c_int(-2)) + bytes(60))
    clone = cuda.handle("cuGraphClone", graph)
    twin = cuda.handle("cuGraphNodeFindInClone", node, clone)
    assert asked(cuda, twin, PRIORITY)[:4] == bytes(c_int(-2))


def test_copies_take_all_of_them(cuda: Driver, maker: Maker) -> None:
    memory = cuda.put(bytes(8))
    graph = maker.graph()
    node, other = (maker.add(graph, maker.launch(memory, memory, 1, 1)) for _ in "ab")
    cuda.ok("cuGraphKernelNodeSetAttribute", node, COOPERATIVE, bytes(c_int(1)) + bytes(60))
    cuda.ok("cuGraphKernelNodeSetAttribute", other, PRIORITY, bytes(c_int(5)) + bytes(60))
    cuda.ok("cuGraphKernelNodeCopyAttributes", other, node)
    assert (asked(cuda, other, COOPERATIVE)[0], asked(cuda, other, PRIORITY)) == (1, bytes(64))
    copy = maker.add(graph, maker.copy(memory + 4, memory, 4))
    assert cuda.cuGraphKernelNodeCopyAttributes(other, copy) == INVALID_VALUE
    assert cuda.cuGraphKernelNodeCopyAttributes(copy, node) == INVALID_VALUE


def test_what_is_refused(cuda: Driver, maker: Maker) -> None:
    memory = cuda.put(bytes(8))
    graph = maker.graph()
    node = maker.add(graph, maker.launch(memory, memory, 1, 1))
    copy = maker.add(graph, maker.copy(memory + 4, memory, 4))
    value = create_string_buffer(64)
    assert cuda.cuGraphKernelNodeSetAttribute(node, STREAM_POLICY, value) == INVALID_VALUE
    assert cuda.cuGraphKernelNodeGetAttribute(node, STREAM_POLICY, value) == INVALID_VALUE
    assert cuda.cuGraphKernelNodeGetAttribute(node, -1, value) == INVALID_VALUE
    assert cuda.cuGraphKernelNodeGetAttribute(node, PRIORITY, None) == INVALID_VALUE
    assert cuda.cuGraphKernelNodeGetAttribute(copy, PRIORITY, value) == INVALID_VALUE
    for large in (2, 1 << 31):
        assert cuda.cuGraphKernelNodeSetAttribute(node, CLUSTER, bytes(c_uint(large)) + bytes(60)) == NOT_SUPPORTED


def test_blocks_that_run_together(cuda: Driver, maker: Maker) -> None:
    """It stays when the node is changed; a grid that has no room is refused then."""
    memory = cuda.put(bytes(8))
    graph = maker.graph()
    node = maker.add(graph, grid(maker.launch(memory, memory, 1, 1), 2))
    cuda.ok("cuGraphKernelNodeSetAttribute", node, COOPERATIVE, bytes(c_int(1)) + bytes(60))
    cuda.ok("cuGraphKernelNodeSetParams", node, byref(maker.launch(memory, memory, 1, 7)))
    assert asked(cuda, node, COOPERATIVE)[0] == 1
    large = grid(maker.launch(memory, memory, 1, 7), 100000)
    assert cuda.cuGraphKernelNodeSetParams(node, byref(large)) == TOO_LARGE
    maker.run(maker.ready(graph))
    assert cuda.get(memory, 4) == bytes(c_int(7))
    apart = maker.add(graph, large)
    assert cuda.cuGraphKernelNodeSetAttribute(apart, COOPERATIVE, bytes(c_int(1)) + bytes(60)) == TOO_LARGE
    assert asked(cuda, apart, COOPERATIVE) == bytes(64)


def test_boxes_between_contexts(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "2")
    one = cuda.context(0)
    first = cuda.put(bytes(range(64)))
    two = cuda.context(1)
    second = cuda.put(bytes(64))
    box = Memcpy3D(srcMemoryType=DEVICE, dstMemoryType=DEVICE, WidthInBytes=2, Height=2, Depth=2)
    box.srcDevice, box.srcPitch, box.srcHeight, box.srcXInBytes = first, 4, 4, 1
    box.dstDevice, box.dstPitch, box.dstHeight = second, 8, 2
    assert cuda.cuMemcpy3DPeer(byref(box)) == INVALID_CONTEXT
    box.reserved0, box.reserved1 = one, two
    assert cuda.cuMemcpy3DPeer(None) == INVALID_VALUE
    cuda.ok("cuMemcpy3DPeer", byref(box))
    want = bytearray(64)
    for z in range(2):
        for y in range(2):
            for x in range(2):
                want[16 * z + 8 * y + x] = 16 * z + 4 * y + x + 1
    assert cuda.get(second, 64) == bytes(want)
    stream = cuda.handle("cuStreamCreate", 0)
    box.dstXInBytes = 4
    assert cuda.cuMemcpy3DPeerAsync(byref(box), stream) == SUCCESS
    cuda.ok("cuStreamSynchronize", stream)
    assert cuda.get(second, 8) == bytes([1, 2, 0, 0, 1, 2, 0, 0])
