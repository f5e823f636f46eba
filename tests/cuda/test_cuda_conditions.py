"""The emulated CUDA driver's conditional nodes and user objects: what is left when all is destroyed, and wrong uses.

tests/programs/cuda/conditions.cu shows what they do."""

from __future__ import annotations

import ctypes
import struct
import time
from ctypes import byref, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest
from cuda_graphs import Maker
from cuda_tools import HOST_FUNCTION, INVALID_VALUE, Driver, has_driver, has_executor

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
CONDITIONAL, IF, WHILE, SWITCH = 13, 0, 1, 2
GRAPHS, NODES, EXECUTABLES, OBJECTS = 9, 10, 11, 13

SET = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry count (.param .u64 handle, .param .u64 left)
{
  .reg .u64 %d<2>;
  .reg .u32 %r;
  ld.param.u64 %d0, [handle];
  ld.param.u64 %d1, [left];
  ld.global.u32 %r, [%d1];
  sub.u32 %r, %r, 1;
  st.global.u32 [%d1], %r;
  st.volatile.u32 [%d0], %r;
  ret;
}
"""


def described(handle: int, kind: int, size: int) -> Any:
    """CUgraphNodeParams."""
    text = struct.pack("<iiiiQiIQQ", CONDITIONAL, 0, 0, 0, handle, kind, size, 0, 0)
    return ctypes.create_string_buffer(text.ljust(256, b"\0"), 256)


def bodies(node: Any, count: int) -> list[c_void_p]:
    """The graphs that the driver has answered."""
    (at,) = struct.unpack_from("<Q", node.raw, 32)
    return [c_void_p(word) for word in (c_uint64 * count).from_address(at)]


def conditional(cuda: Driver, graph: c_void_p, kind: int, size: int, first: int = 0) -> tuple[int, list[c_void_p]]:
    """A node with its handle."""
    handle, to, node = c_uint64(), c_void_p(), None
    cuda.ok("cuGraphConditionalHandleCreate", byref(handle), graph, None, first, 1)
    node = described(handle.value, kind, size)
    cuda.ok("cuGraphAddNode", byref(to), graph, None, 0, node)
    return handle.value, bodies(node, size)


def living(cuda: Driver) -> list[int]:
    return [cuda.library.gompy_cuda_living(kind) for kind in (GRAPHS, NODES, EXECUTABLES, OBJECTS)]


def test_nothing_is_left(tmp_path: Path) -> None:
    """A loop in a switch, cloned, launched, and destroyed while it may still run: the memory of words goes, too."""
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    maker = Maker(cuda)
    count = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", SET), b"count")
    memory = cuda.put(struct.pack("<II", 0, 5))
    before, free = living(cuda), cuda.info()[0] if hasattr(cuda, "info") else None
    graph = maker.graph()
    _, cases = conditional(cuda, graph, SWITCH, 3, first=1)
    handle, loop = conditional(cuda, cases[1], WHILE, 1, first=1)
    launch = maker.launch(memory, memory, 1, 0)
    launch.function = count
    launch.params = params = (c_void_p * 2)()
    words = (c_uint64(handle), c_uint64(memory + 4))
    params[0], params[1] = (ctypes.addressof(word) for word in words)
    maker.add(loop[0], launch)
    maker.add(loop[0], maker.launch(memory, memory, 1, 1))
    clone = cuda.handle("cuGraphClone", graph)
    executables = [maker.ready(graph), maker.ready(clone)]
    maker.run(executables[0])
    assert struct.unpack("<II", cuda.get(memory, 8)) == (5, 0)
    cuda.ok("cuMemsetD32_v2", memory + 4, 200, 1)
    cuda.ok("cuGraphLaunch", executables[1], None)
    for executable in executables:
        cuda.ok("cuGraphExecDestroy", executable)
    cuda.ok("cuGraphDestroy", graph)
    cuda.ok("cuGraphDestroy", clone)
    cuda.ok("cuCtxSynchronize")
    assert struct.unpack("<II", cuda.get(memory, 8)) == (205, 0)
    assert living(cuda) == before
    assert free is None or cuda.info()[0] == free


def test_a_body_whose_memory_is_gone(tmp_path: Path) -> None:
    """The launch is taken, as what is in a body is looked at when it is done; then the context has the error."""
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    maker, graph = Maker(cuda), c_void_p()
    memory, gone = cuda.put(bytes(8)), cuda.put(bytes(8))
    graph = maker.graph()
    _, (body,) = conditional(cuda, graph, IF, 1, first=1)
    maker.add(body, maker.copy(memory, gone, 4))
    executable = maker.ready(graph)
    cuda.ok("cuMemFree_v2", gone)
    cuda.ok("cuGraphLaunch", executable, None)
    assert cuda.cuCtxSynchronize() == INVALID_VALUE


@pytest.mark.parametrize(("kind", "size"), [(IF, 0), (IF, 3), (WHILE, 2), (3, 1), (-1, 1)])
def test_nodes_that_are_none(tmp_path: Path, kind: int, size: int) -> None:
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    maker, handle, to = Maker(cuda), c_uint64(), c_void_p()
    graph = maker.graph()
    cuda.ok("cuGraphConditionalHandleCreate", byref(handle), graph, None, 0, 0)
    before = living(cuda)
    assert cuda.cuGraphAddNode(byref(to), graph, None, 0, described(handle.value, kind, size)) == INVALID_VALUE
    assert cuda.cuGraphAddNode(byref(to), graph, None, 0, described(handle.value + 4, IF, 1)) == INVALID_VALUE
    assert living(cuda) == before
    cuda.ok("cuGraphAddNode", byref(to), graph, None, 0, described(handle.value, IF, 2))


def test_graphs_hold_objects(tmp_path: Path) -> None:
    """Clones and executables do, each once; the function is called once, by a thread of the driver."""
    cuda = Driver(tmp_path / "driver")
    cuda.context()
    called: list[int] = []
    destroy = HOST_FUNCTION(lambda data: called.append(data or 0))
    item, graph = c_void_p(), Maker(cuda).graph()
    cuda.ok("cuUserObjectCreate", byref(item), c_void_p(77), destroy, 3, 1)
    assert cuda.cuGraphRetainUserObject(graph, item, 4, 1) == INVALID_VALUE
    cuda.ok("cuGraphRetainUserObject", graph, item, 3, 1)
    clone = cuda.handle("cuGraphClone", graph)
    executable = cuda.handle("cuGraphInstantiateWithFlags", clone, 0)
    cuda.ok("cuGraphDestroy", graph)
    cuda.ok("cuGraphDestroy", clone)
    assert (living(cuda)[3], called) == (1, [])
    cuda.ok("cuGraphExecDestroy", executable)
    until = time.monotonic() + 60
    while living(cuda)[3] and time.monotonic() < until:
        time.sleep(0.001)
    assert (living(cuda)[3], called) == (0, [77])
    assert cuda.cuUserObjectRelease(item, 1) == INVALID_VALUE
