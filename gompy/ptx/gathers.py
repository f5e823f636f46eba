"""Accesses of words at an address for each lane that are hardly rows, as LLVM IR: gathers and scatters, inline.

Three kinds are made so: accesses of shared memory whose strides are unknown, once they are seen to be no rows; those
of device memory at an address that was computed from what a lane has loaded (`a[index[i]]`, the edges of a graph, rows
of a sparse matrix), or from numbers of which branches choose (the edges
of a tile), which are not even looked at for rows; and vectors (`.v2`, `.v4`), whose words of 32 bits are gathered in
pairs.  Others go through slow.py, which is a call, but fetches further lines ahead where each lane goes through a row
of its own.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import shared_room
from .bases import held
from .emit import LONGEST, Emitter, Value
from .syntax import Memory, Operand, Register

SIZES = frozenset((4, 8))
"""Bytes of what the processor gathers."""
DEVICE = frozenset(("", "global"))
PLACES = frozenset((*DEVICE, "shared"))
PAIR = 8
"""Bytes that a gather takes of a vector."""


def direct(em: Emitter, operand: Operand | None, size: int, count: int, space: str) -> bool:
    """Whether an access is a gather or scatter at once."""
    if not em.fast or em.shadowed or count != 1 or size not in SIZES or space not in DEVICE:
        return False
    return isinstance(operand, Register) and em.strides().of(operand) is None and operand in em.strides().scattered


def apart(em: Emitter, size: int, count: int, space: str) -> bool:
    """Whether an access that is no row is one."""
    if not em.fast or em.shadowed or size not in SIZES:
        return False
    return space == "shared" if count == 1 else space in PLACES


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
    inside = held(em, em.bits(em.op("icmp ult", number, Value("i64", False, words), result="i1")))
    off = em.new(f"xor i32 {em.active}, -1")
    return em.new(f"icmp eq i32 {em.new(f'or i32 {inside}, {off}')}, -1"), far


def places(em: Emitter, address: Value, far: Value, space: str) -> str:
    """The host's pointers, and the mask, as arguments of LLVM's gather and scatter."""
    if space == "shared":
        return em.new(f"getelementptr i8, ptr %shared, {far.typed}")
    return em.new(f"inttoptr {address.typed} to <32 x ptr>")


def name_of(llvm: str, lanes: int = 32) -> str:
    """How LLVM writes a vector's type in names of intrinsics."""
    return f"v{lanes}" + {"float": "f32", "double": "f64"}.get(llvm, llvm)


def lowest(em: Emitter, operand: Operand | None, offset: int, size: int) -> int:
    """The lowest offset of accesses by the same base in a block, if all are near, and as far apart as whole accesses
    are: one test does for them (emit.LONGEST); else this one's."""
    codes = em.a.blocks[em.block].code
    found = [o.offset for c in codes for o in getattr(c, "operands", ()) if isinstance(o, Memory) and o.base == operand]
    least = min(found, default=offset)
    if max(found, default=offset) - least > LONGEST // 2 or any((at - least) % size for at in found):
        return offset
    return least


def known(em: Emitter, operand: Operand | None, offset: int, size: int, space: str) -> str:
    """Whether all active lanes' accesses of device memory by a register are in it (i1), asked once in a block; nothing
    where there is no such register."""
    if space not in DEVICE or not isinstance(operand, Register):
        return ""
    least = lowest(em, operand, offset, size)
    key = (operand, len(em.definitions.get(operand, ())), least, size, em.active)
    if key not in em.tested:
        base = em.fit(em.load_register(operand), "i64")
        word, _ = there(em, further(em, base, least), size, "global")
        if em.code is None or em.code.guard is not None:
            return word
        em.tested[key] = word
    return em.tested[key]


def load(
    em: Emitter, address: Value, kind: tuple[str, int, int], space: str, slow: str, known: str = ""
) -> tuple[str, list[str]]:
    """Test, gather `kind` (LLVM type, its bytes, how many), and leave the block open: its label, the elements; who
    cannot goes to `slow`.  `known`: the test is made."""
    llvm, size, count = kind
    test, far = (known, address) if known else there(em, address, size * count, space)
    inside = em.fresh("gather")
    em.put(f"br i1 {test}, label %{inside}, label %{slow}, !prof !1")
    em.label(inside)
    mask = em.lanes(em.active)
    word, unit = (llvm, size) if count == 1 else (f"i{8 * PAIR}", PAIR)
    found = []
    for at in range(0, size * count, unit):
        where = places(em, further(em, address, at), further(em, far, at), space)
        call = f"call <32 x {word}> @llvm.masked.gather.{name_of(word)}.v32p0(<32 x ptr> {where}, i32 {unit}, "
        whole = Value(word, True, em.new(f"{call}<32 x i1> {mask}, <32 x {word}> zeroinitializer)"))
        for part in range(unit // size):
            shifted = em.op("lshr", whole, em.ints(word, 8 * size * part)) if part else whole
            found.append(em.fit(shifted, llvm).text)
    return inside, found


def store(em: Emitter, address: Value, values: list[Value], size: int, space: str, slow: str, known: str = "") -> None:
    """Test, scatter, and leave the block open; who cannot goes to `slow`.  `known`: the test is made."""
    count = len(values)
    test, far = (known, address) if known else there(em, address, size * count, space)
    inside = em.fresh("scatter")
    em.put(f"br i1 {test}, label %{inside}, label %{slow}, !prof !1")
    em.label(inside)
    mask = em.lanes(em.active)
    unit = size if count == 1 else PAIR
    for at in range(0, size * count, unit):
        word = values[at // size]
        if unit != size:
            low, high = (em.fit(value, f"i{8 * PAIR}") for value in values[at // size : at // size + 2])
            word = em.op("or", low, em.op("shl", high, em.ints(high.type, 8 * size)))
        where = places(em, further(em, address, at), further(em, far, at), space)
        call = f"call void @llvm.masked.scatter.{name_of(word.type)}.v32p0({word.typed}, <32 x ptr> {where}, "
        em.put(f"{call}i32 {unit}, <32 x i1> {mask})")


def further(em: Emitter, address: Value, by: int) -> Value:
    """Addresses further on."""
    return em.op("add", address, em.ints("i64", by)) if by else address
