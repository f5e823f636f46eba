"""Gathers and scatters of a[i], `i` of 32 bits in each lane and `a` the same in all, as LLVM IR.

The processor's own gathers take such numbers: 16 words of 32 bits at a time, where addresses of 64 bits are 8.  Whether
all are in device memory is tested on the numbers, too: how far `a` is from both ends of it is computed once for a warp.
"""

from __future__ import annotations

from .backend import gathers_slowly
from .emit import LLVM_TYPE, Emitter, Value
from .flow import defined
from .gathers import name_of
from .syntax import TYPE_BYTES, Call, Instruction, Memory, Operand, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

LONG = frozenset(("u64", "s64", "b64"))
WIDE = {("wide", "s32"): True, ("wide", "u32"): False}
"""Of products of 64 bits: whether the factors have signs."""
WIDENED = {("s64", "s32"): True, ("u64", "u32"): False}
"""The same of conversions."""
TOP = 1 << 31
WORD = 4
"""Bytes of what is loaded lane after lane where gathers are slow."""


@dataclass(slots=True)
class Indexed:
    """An access: the array, bytes to add to it, the number, whether that has a sign."""

    array: Operand
    offset: int
    number: Register
    signed: bool


def indexed(em: Emitter, operand: Operand | None, offset: int, size: int) -> Indexed | None:
    """What the statement at hand accesses by a register, if the register was made so in its block."""
    codes = em.a.blocks[em.block].code
    at = next((i for i, code in enumerate(codes) if code is em.code), 0)
    return indexed_at(em, codes, at, (operand, offset, size))


def indexed_at(
    em: Emitter, codes: list[Instruction | Call], at: int, access: tuple[Operand | None, int, int]
) -> Indexed | None:
    """The same of an access at a place of a block: register, offset, bytes."""
    operand, offset, size = access
    whole = made(codes, at, operand)
    if whole is None:
        return None
    where, code = whole
    sources = code.operands[1:]
    if code.base == "mad" and code.mods in WIDE:
        number, factor, array = sources
        if isinstance(number, Register) and em.strides().constant(factor) == size:
            return checked(em, codes, (where, where, at), Indexed(array, offset, number, WIDE[code.mods]))
        return None
    if code.base != "add" or code.mods[:1] not in [(kind,) for kind in LONG]:
        return None
    for array, product in (sources, sources[::-1]):
        found = factors(em, codes, where, product, size)
        if found is not None:
            return checked(em, codes, (found[0], where, at), Indexed(array, offset, found[1], found[2]))
    return None


def made(codes: list[Instruction | Call], at: int, operand: Operand | None) -> tuple[int, Instruction] | None:
    """The instruction that set a register before place `at` of a block, and its place."""
    for place in range(at - 1, -1, -1):
        code = codes[place]
        if operand in defined(code):
            return (place, code) if isinstance(code, Instruction) and code.guard is None else None
    return None


def factors(
    em: Emitter, codes: list[Instruction | Call], at: int, product: Operand, size: int
) -> tuple[int, Register, bool] | None:
    """The number that was multiplied by `size`: where it was read, the register, whether it has a sign."""
    found = made(codes, at, product)
    if found is None:
        return None
    where, code = found
    if code.base == "mul" and code.mods in WIDE:
        number, factor = code.operands[1:]
        if isinstance(number, Register) and em.strides().constant(factor) == size:
            return where, number, WIDE[code.mods]
        return None
    if code.base != "shl" or code.mods != ("b64",) or em.strides().constant(code.operands[2]) != size.bit_length() - 1:
        return None
    wide = made(codes, where, code.operands[1])
    if wide is None or wide[1].base != "cvt" or wide[1].mods not in WIDENED:
        return None
    number = wide[1].operands[1]
    return (wide[0], number, WIDENED[wide[1].mods]) if isinstance(number, Register) else None


def numbers(em: Emitter, codes: list[Instruction | Call]) -> set[int]:
    """The loads of a block whose values are such numbers of loads in it, by the identity of the statement."""
    found = set()
    for at, code in enumerate(codes):
        if not isinstance(code, Instruction) or code.base != "ld" or len(code.operands) != 2 or not code.mods:
            continue
        memory, size = code.operands[1], TYPE_BYTES.get(code.mods[-1], 0)
        if not isinstance(memory, Memory) or memory.base not in em.strides().scattered:
            continue
        access = indexed_at(em, codes, at, (memory.base, memory.offset, size))
        origin = made(codes, at, access.number) if access is not None else None
        if origin is not None and origin[1].base == "ld":
            found.add(id(origin[1]))
    return found


def checked(
    em: Emitter, codes: list[Instruction | Call], places: tuple[int, int, int], found: Indexed
) -> Indexed | None:
    """`found`, if array and number are still what they were at the first two places, where they were read."""
    read, summed, at = places
    varying = em.a.varying
    if not isinstance(found.array, Register) or found.array in varying or found.number not in varying:
        return None
    if LLVM_TYPE.get(found.number.type) != "i32" or LLVM_TYPE.get(found.array.type) != "i64":
        return None
    if any(found.number in defined(code) for code in codes[read:at]):
        return None
    return None if any(found.array in defined(code) for code in codes[summed:at]) else found


def begin(em: Emitter, found: Indexed, size: int, slow: str) -> tuple[str, str]:
    """Go to `slow` unless all that is accessed is in device memory: the label behind it, and the pointers."""
    base, limit = em.limits()
    by = size.bit_length() - 1
    start = em.read(found.array, "u64").text
    if found.offset:
        start = em.new(f"add i64 {start}, {found.offset}")
    far = em.new(f"sub i64 {start}, {base}")
    fits = em.new(f"icmp ule i64 {far}, {limit}")
    odd = em.new(f"and i64 {start}, {size - 1}")
    fits = em.new(f"and i1 {fits}, {em.new(f'icmp eq i64 {odd}, 0')}")
    room = em.new(f"lshr i64 {em.new(f'sub i64 {limit}, {far}')}, {by}")
    most = em.new(f"call i64 @llvm.umin.i64(i64 {room}, i64 {TOP - 1})")
    number = em.load_register(found.number)
    lowest = number
    if found.signed:
        behind = em.new(f"call i64 @llvm.umin.i64(i64 {em.new(f'lshr i64 {far}, {by}')}, i64 {TOP})")
        most = em.new(f"add i64 {most}, {behind}")
        lowest = em.op("add", number, Value("i32", False, em.new(f"trunc i64 {behind} to i32")))
    word = em.bits(em.op("icmp ule", lowest, Value("i32", False, em.new(f"trunc i64 {most} to i32")), result="i1"))
    off = em.new(f"xor i32 {em.active}, -1")
    every = em.new(f"icmp eq i32 {em.new(f'or i32 {word}, {off}')}, -1")
    test = em.new(f"and i1 {fits}, {every}")
    inside = em.fresh("indexed")
    em.put(f"br i1 {test}, label %{inside}, label %{slow}, !prof !1")
    em.label(inside)
    pointer = em.new(f"inttoptr i64 {start} to ptr")
    own = em.new(f"freeze {number.typed}")  # LLVM would take a widened one from another block, and gather by that
    wide = em.new(f"sext <32 x i32> {own} to <32 x i64>")
    return inside, em.new(f"getelementptr i{8 * size}, ptr {pointer}, <32 x i64> {wide}")


def load(em: Emitter, found: Indexed, llvm: str, size: int, slow: str) -> tuple[str, str]:
    """Test, gather, and leave the block open: its label, the elements."""
    inside, where = begin(em, found, size, slow)
    kind = f"<32 x {llvm}>"
    call = f"call {kind} @llvm.masked.gather.{name_of(llvm)}.v32p0(<32 x ptr> {where}, i32 {size}, "
    call += f"<32 x i1> {em.lanes(em.active)}, {kind} zeroinitializer)"
    if size != WORD or not gathers_slowly():
        return inside, em.new(call)
    every, some, both = em.fresh("every"), em.fresh("some"), em.fresh("both")
    em.put(f"br i1 {em.new(f'icmp eq i32 {em.active}, -1')}, label %{every}, label %{some}, !prof !1")
    em.label(every)
    whole = one_by_one(em, found, llvm)
    em.put(f"br label %{both}")
    em.label(some)
    part = em.new(call)
    em.join(both)
    return both, em.new(f"phi {kind} [ {whole}, %{every} ], [ {part}, %{some} ]")


def one_by_one(em: Emitter, found: Indexed, llvm: str) -> str:
    """The elements of all lanes by a load each: more of them are under way at a time than of a gather in microcode.

    The lanes' numbers go through memory, as in additions.py.
    """
    start = em.read(found.array, "u64")
    if found.offset:
        start = em.op("add", start, em.ints("i64", found.offset))
    pointer = em.new(f"inttoptr {start.typed} to ptr")
    row = em.alloca("<32 x i32>")
    em.put(f"store {em.load_register(found.number).typed}, ptr {row}, align 64")
    em.put(f'call void asm sideeffect "", "r,~{{memory}}"(ptr {row})')
    whole = "poison"
    for lane in range(32):
        number = em.new(f"load i32, ptr {em.new(f'getelementptr i32, ptr {row}, i64 {lane}')}, align 4")
        place = em.new(f"getelementptr {llvm}, ptr {pointer}, i32 {number}")
        word = em.new(f"load {llvm}, ptr {place}, align {WORD}")
        whole = em.new(f"insertelement <32 x {llvm}> {whole}, {llvm} {word}, i32 {lane}")
    return whole


def store(em: Emitter, found: Indexed, value: Value, size: int, slow: str) -> None:
    """Test, scatter, and leave the block open."""
    _, where = begin(em, found, size, slow)
    call = f"call void @llvm.masked.scatter.{name_of(value.type)}.v32p0({value.typed}, <32 x ptr> {where}, i32 {size}, "
    em.put(f"{call}<32 x i1> {em.lanes(em.active)})")
