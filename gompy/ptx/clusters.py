"""Clusters of blocks: each block is one of its own, so its shared memory is all of the cluster's (PTX ISA 9.7.13).

The registers of clusters are in rare.py.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import Emitter, Value
from .forms import operands, unknown
from .memory import barrier_told
from .syntax import Instruction

NOWHERE = 0
"""The address of what other blocks of a cluster would have: none, so that accesses fail."""


def kind_of(em: Emitter, code: Instruction) -> str:
    """The type of mapa and getctarank."""
    if code.mods not in (("u32",), ("u64",), ("shared::cluster", "u32"), ("shared::cluster", "u64")):
        unknown(em, code)
    return code.mods[-1]


def map_address(em: Emitter, code: Instruction) -> None:
    """mapa d, a, b: where the block of rank b has what is at `a` here."""
    kind = kind_of(em, code)
    operands(em, code)
    address, rank = em.read(code.operands[1], kind), em.read(code.operands[2], "u32")
    own = em.op("icmp eq", rank, em.ints("i32", 0), result="i1")
    em.write(code.operands[0], em.select(own, address, em.ints(address.type, NOWHERE)))


def rank_of(em: Emitter, code: Instruction) -> None:
    """getctarank d, a: the rank of the block whose shared memory an address is of."""
    kind = kind_of(em, code)
    operands(em, code)
    em.write(code.operands[0], Value("i64" if kind == "u64" else "i32", False, "0"))


def barrier(em: Emitter, code: Instruction) -> None:
    """barrier.cluster.arrive{.release, .relaxed}{.aligned}, barrier.cluster.wait{.acquire}{.aligned}."""
    mods = [m for m in code.mods if m != "aligned"]
    kinds = {"release": "cluster_arrive", "relaxed": "cluster_relaxed", "acquire": "cluster_wait"}
    orders = {"arrive": ("release", "relaxed"), "wait": ("acquire",)}
    allowed = orders.get(mods[1], ()) if len(mods) > 1 else ()
    order = mods[2] if len(mods) == 3 else allowed[0] if len(mods) == 2 and allowed else ""
    if mods[:1] != ["cluster"] or order not in allowed:
        unknown(em, code)
    if code.operands:
        em.fail(f"'{code.opcode}' needs 0 operands, {len(code.operands)} given")
    kind = abi.BARRIER_KINDS.index(kinds[order])
    if em.checked:
        kind += barrier_told(em, code)
    number = abi.CLUSTER_BARRIER
    em.helper("barrier", f"ptr %w, i32 {em.active}, i32 {kind}, i32 {number}, i32 0, {em.site()}")
