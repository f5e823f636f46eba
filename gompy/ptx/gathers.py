"""Accesses of words at an address for each lane that are hardly rows, as LLVM IR: gathers and scatters, inline.

Two kinds are made so: accesses of shared memory whose strides are unknown, once they are seen to be no rows; and those
of device memory at an address that was computed from what a lane has loaded (`a[index[i]]`, the edges of a graph, rows
of a sparse matrix), or from numbers of which branches choose (the edges
of a tile), which are not even looked at for rows.  Others go through slow.py, which is a call, but fetches
further lines ahead where each lane goes through a row of its own.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import shared_room
from .emit import Emitter, Value
from .syntax import Operand, Register

SIZES = frozenset((4, 8))
"""Bytes of what the processor gathers."""
DEVICE = frozenset(("", "global"))


def direct(em: Emitter, operand: Operand | None, size: int, count: int, space: str) -> bool:
    """Whether an access is a gather or scatter at once."""
    if not em.fast or em.checked or count != 1 or size not in SIZES or space not in DEVICE:
        return False
    return isinstance(operand, Register) and em.strides().of(operand) is None and operand in em.strides().scattered


def apart(em: Emitter, size: int, count: int, space: str) -> bool:
    """Whether an access of shared memory that is no row is one."""
    return em.fast and not em.checked and count == 1 and size in SIZES and space == "shared"


def second(em: Emitter, operand: Operand | None, size: int, count: int, space: str) -> bool:
    """Whether it is one where it is seen to be no row."""
    return apart(em, size, count, space) and isinstance(operand, Register) and em.strides().of(operand) is None


def there(em: Emitter, address: Value, size: int, space: str) -> tuple[str, Value]:
    """Whether all active lanes' words are in the memory (i1), and how far each is from its begin.

    One comparison does for the place and for a multiple of the size: the low bits come to the top.
    """
    by = size.bit_length() - 1
    if space == "shared":
        first: Value = em.ints("i64", abi.SHARED_BASE)
        room = shared_room(em)
    else:
        base, room = em.limits()
        first = Value("i64", False, base)
    words = em.once(f"%words_{space}_{size}", f"%words_{space}_{size} = lshr i64 {room}, {by}")
    far = em.op("sub", address, first)
    number = em.intrinsic("fshr", far, far, em.splat(em.ints("i64", by)))
    inside = em.bits(em.op("icmp ult", number, Value("i64", False, words), result="i1"))
    off = em.new(f"xor i32 {em.active}, -1")
    return em.new(f"icmp eq i32 {em.new(f'or i32 {inside}, {off}')}, -1"), far


def places(em: Emitter, address: Value, far: Value, space: str) -> str:
    """The host's pointers, and the mask, as arguments of LLVM's gather and scatter."""
    if space == "shared":
        return em.new(f"getelementptr i8, ptr %shared, {far.typed}")
    return em.new(f"inttoptr {address.typed} to <32 x ptr>")


def name_of(llvm: str) -> str:
    """How LLVM writes a vector's type in names of intrinsics."""
    return "v32" + {"float": "f32", "double": "f64"}.get(llvm, llvm)


def load(em: Emitter, address: Value, llvm: str, size: int, space: str, slow: str) -> tuple[str, str]:
    """Test, gather, and leave the block open: its label, the values; who cannot goes to `slow`."""
    test, far = there(em, address, size, space)
    inside = em.fresh("gather")
    em.put(f"br i1 {test}, label %{inside}, label %{slow}, !prof !1")
    em.label(inside)
    where = places(em, address, far, space)
    kind = f"<32 x {llvm}>"
    mask = em.lanes(em.active)
    call = f"call {kind} @llvm.masked.gather.{name_of(llvm)}.v32p0(<32 x ptr> {where}, i32 {size}, "
    return inside, em.new(f"{call}<32 x i1> {mask}, {kind} zeroinitializer)")


def store(em: Emitter, address: Value, value: Value, size: int, space: str, slow: str) -> None:
    """Test, scatter, and leave the block open; who cannot goes to `slow`."""
    test, far = there(em, address, size, space)
    inside = em.fresh("scatter")
    em.put(f"br i1 {test}, label %{inside}, label %{slow}, !prof !1")
    em.label(inside)
    where = places(em, address, far, space)
    call = f"call void @llvm.masked.scatter.{name_of(value.type)}.v32p0({value.typed}, <32 x ptr> {where}, i32 {size}, "
    em.put(f"{call}<32 x i1> {em.lanes(em.active)})")
