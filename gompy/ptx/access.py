"""Addresses in loads and stores, and accesses that the executor does lane by lane."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import Emitter, Value
from .syntax import Immediate, Memory, Symbol


def address_of(em: Emitter, memory: Memory, extra: int = 0) -> Value:
    """The generic address that `[base + offset]` names."""
    offset = memory.offset + extra
    if isinstance(memory.base, Immediate):
        return em.ints("i64", memory.base.value + offset)
    if isinstance(memory.base, Symbol):
        return em.address(Symbol(memory.base.name, memory.base.offset + offset))
    base = em.fit(em.load_register(memory.base), "i64")
    return em.op("add", base, em.ints("i64", offset)) if offset else base


def in_memory(em: Emitter, address: str) -> str:
    """Whether a scalar address is in device memory (i1); the last bytes of it are left to the executor."""
    base, limit = em.limits()
    return em.new(f"icmp ule i64 {em.new(f'sub i64 {address}, {base}')}, {limit}")


def in_shared(em: Emitter, address: str) -> tuple[str, str]:
    """Whether an address is in shared memory (i1), and the host pointer."""
    offset = em.new(f"sub i64 {address}, {abi.SHARED_BASE}")
    inside = em.new(f"icmp ult i64 {offset}, {shared_room(em)}")
    return inside, em.new(f"getelementptr i8, ptr %shared, i64 {offset}")


def shared_room(em: Emitter) -> str:
    """The bytes of shared memory; its host address is in `%shared` then."""
    return em.once(
        "%room",
        f"%room1 = getelementptr i8, ptr %w, i64 {abi.WARP['shared_size']}",
        "%room = load i64, ptr %room1, !invariant.load !0",
        f"%shared1 = getelementptr i8, ptr %w, i64 {abi.WARP['shared']}",
        "%shared = load ptr, ptr %shared1, !invariant.load !0",
    )


def shared_memory(em: Emitter, address: str, size: int) -> tuple[str, str]:
    """Whether `size` bytes at a scalar address are in shared memory (i1), and the host pointer."""
    offset = em.new(f"sub i64 {address}, {abi.SHARED_BASE}")
    room = shared_room(em)
    left = em.once(f"%room_{size}", f"%room_{size} = call i64 @llvm.usub.sat.i64(i64 {room}, i64 {size - 1})")
    inside = em.new(f"icmp ult i64 {offset}, {left}")
    return inside, em.new(f"getelementptr i8, ptr %shared, i64 {offset}")


def lanes_load(em: Emitter, address: Value, llvm: str, size: int) -> Value:
    """A load by the executor, lane by lane."""
    kind = f"i{8 * size}"
    text = em.slow(f"<32 x {kind}>", f"load{size}", ("<32 x i64>", em.splat(address).text))
    return em.cast("bitcast", Value(kind, True, text), llvm)


def lanes_store(em: Emitter, address: Value, value: Value, size: int) -> None:
    """A store by the executor, lane by lane."""
    data = em.fit(em.splat(value), f"i{8 * size}")
    em.slow("void", f"store{size}", ("<32 x i64>", em.splat(address).text), (data.full, data.text))
