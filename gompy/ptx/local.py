"""Local memory at an address that all lanes have, as LLVM IR: a word of each lane's own, in one row (runs.pxi)."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import lanes_load, lanes_store
from .emit import BITS, Emitter, Value


def begin(em: Emitter, address: str, size: int, fast: str, slow: str) -> tuple[str, str]:
    """Test a scalar address of local memory, begin `fast`: the row of 32 words of 8 bytes, and the bit within them."""
    offset = em.new(f"sub i64 {address}, {abi.LOCAL_BASE}")
    room = em.once(
        "%local_room",
        f"%local_room1 = getelementptr i8, ptr %w, i64 {abi.WARP['local_size']}",
        "%local_room = load i64, ptr %local_room1, !invariant.load !0",
        f"%local1 = getelementptr i8, ptr %w, i64 {abi.WARP['local']}",
        "%local = load ptr, ptr %local1, !invariant.load !0",
    )
    inside = em.new(f"icmp ult i64 {offset}, {room}")
    low = em.new(f"and i64 {offset}, {size - 1}")
    test = em.new(f"and i1 {inside}, {em.new(f'icmp eq i64 {low}, 0')}")
    em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    em.label(fast)
    row = em.new(f"shl i64 {em.new(f'and i64 {offset}, -8')}, 5")
    place = em.new(f"getelementptr i8, ptr %local, i64 {row}")
    return place, em.new(f"shl i64 {em.new(f'and i64 {offset}, 7')}, 3")


def load(em: Emitter, address: Value, llvm: str, size: int) -> Value:
    """A load from an address of local memory that is the same in all lanes: each has its own word there."""
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    place, shift = begin(em, address.text, size, fast, slow)
    row = Value("i64", True, em.new(f"load <32 x i64>, ptr {place}, align 8"))
    if size < 8:
        row = em.op("lshr", row, Value("i64", False, shift))
    quick = em.fit(row, llvm)
    em.put(f"br label %{done}")
    em.label(slow)
    other = lanes_load(em, address, llvm, size)
    em.join(done)
    return Value(llvm, True, em.new(f"phi <32 x {llvm}> [ {quick.text}, %{fast} ], [ {other.text}, %{slow} ]"))


def store(em: Emitter, address: Value, value: Value) -> None:
    """A store to such an address."""
    size = max(BITS[value.type] // 8, 1)
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    word = em.splat(em.fit(value, "i64"))
    place, shift = begin(em, address.text, size, fast, slow)
    old = Value("i64", True, em.new(f"load <32 x i64>, ptr {place}, align 8"))
    new = word
    if size < 8:
        hole = em.new(f"shl i64 {(1 << 8 * size) - 1}, {shift}")
        rest = Value("i64", False, em.new(f"xor i64 {hole}, -1"))
        new = em.op("or", em.op("and", old, rest), em.op("shl", word, Value("i64", False, shift)))
    kept = em.new(f"select <32 x i1> {em.lanes(em.active)}, {new.typed}, {old.typed}")
    em.put(f"store <32 x i64> {kept}, ptr {place}, align 8")
    em.put(f"br label %{done}")
    em.label(slow)
    lanes_store(em, address, value, size)
    em.join(done)
