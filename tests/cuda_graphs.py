"""Graphs of the emulated CUDA driver in tests: parameters of nodes, and a kernel whose order shows in its result."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any

from cuda_tools import Driver, Memcpy3D

KERNEL, COPY, FILL, HOST, GRAPH, EMPTY, WAIT, RECORD = range(8)
DEVICE, UNIFIED = 2, 4

MULADD = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry muladd (.param .u64 to, .param .u64 of, .param .u32 a, .param .u32 b)
{
  .reg .u64 %d<2>;
  .reg .u32 %r<3>;
  ld.param.u64 %d0, [to];
  ld.param.u64 %d1, [of];
  ld.param.u32 %r0, [a];
  ld.param.u32 %r1, [b];
  ld.global.u32 %r2, [%d1];
  mad.lo.u32 %r2, %r2, %r0, %r1;
  st.global.u32 [%d0], %r2;
  ret;
}
"""


class KernelNode(Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = (
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("params", POINTER(c_void_p)),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    )


class FillNode(Structure):
    """CUDA_MEMSET_NODE_PARAMS."""

    _fields_ = (
        ("to", c_uint64),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("unit", c_uint),
        ("width", c_size_t),
        ("height", c_size_t),
    )


class HostNode(Structure):
    """CUDA_HOST_NODE_PARAMS."""

    _fields_ = (("call", c_void_p), ("data", c_void_p))


class Update(Structure):
    """CUgraphExecUpdateResultInfo."""

    _fields_ = (("result", c_int), ("wrong", c_void_p), ("before", c_void_p))


def words(*values: Any) -> Any:
    """Pointers to a launch's parameters, which stay with them."""
    found = (c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    found.values = values
    return found


def handles(nodes: Sequence[c_void_p]) -> Any:
    """An array of handles."""
    return (c_void_p * len(nodes))(*(node.value for node in nodes))


class Maker:
    """Nodes of graphs; the kernel is of the current context."""

    def __init__(self, cuda: Driver) -> None:
        self.cuda = cuda
        module = cuda.handle("cuModuleLoadData", MULADD)
        self.muladd = cuda.handle("cuModuleGetFunction", module, b"muladd")
        self.module = module

    def graph(self) -> c_void_p:
        return self.cuda.handle("cuGraphCreate", 0)

    def launch(self, to: int, of: int, a: int, b: int) -> KernelNode:
        """to = of * a + b."""
        params = words(c_uint64(to), c_uint64(of), c_uint(a), c_uint(b))
        found = KernelNode(self.muladd, (1, 1, 1), (1, 1, 1), 0, params)
        found.kept = params
        return found

    def copy(self, to: int, of: int, size: int, kind: int = DEVICE) -> Memcpy3D:
        found = Memcpy3D(WidthInBytes=size, Height=1, Depth=1)
        found.srcMemoryType, found.dstMemoryType = kind, kind
        found.srcDevice, found.dstDevice = of, to
        return found

    def add(self, graph: c_void_p, what: Any, before: Sequence[c_void_p] = ()) -> c_void_p:
        """A node: of the structures above, a graph's handle for a child, None for nothing."""
        to, n = c_void_p(), len(before)
        head = (byref(to), graph, handles(before) if n else None, n)
        if isinstance(what, KernelNode):
            self.cuda.ok("cuGraphAddKernelNode", *head, byref(what))
        elif isinstance(what, Memcpy3D):
            self.cuda.ok("cuGraphAddMemcpyNode", *head, byref(what), None)
        elif isinstance(what, FillNode):
            self.cuda.ok("cuGraphAddMemsetNode", *head, byref(what), None)
        elif isinstance(what, HostNode):
            self.cuda.ok("cuGraphAddHostNode", *head, byref(what))
        elif isinstance(what, c_void_p):
            self.cuda.ok("cuGraphAddChildGraphNode", *head, what)
        else:
            self.cuda.ok("cuGraphAddEmptyNode", *head)
        return to

    def ready(self, graph: c_void_p) -> c_void_p:
        return self.cuda.handle("cuGraphInstantiateWithFlags", graph, 0)

    def run(self, executable: c_void_p, stream: c_void_p | None = None) -> None:
        """Launch and wait."""
        self.cuda.ok("cuGraphLaunch", executable, stream)
        self.cuda.ok("cuStreamSynchronize", stream)

    def nodes(self, graph: c_void_p, call: str = "cuGraphGetNodes") -> list[int | None]:
        """The answer of a call that gives nodes."""
        n = c_size_t()
        self.cuda.ok(call, graph, None, byref(n))
        found = (c_void_p * max(n.value, 1))()
        self.cuda.ok(call, graph, found, byref(n))
        return list(found)[: n.value]
