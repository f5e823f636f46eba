"""What is known of address registers where they are set, as LLVM IR: which lanes' addresses lie as an access has them.

It is asked for where the register is used, in blocks that LLVM would compute it in anew; so who asks gets a word that
is made behind each definition.  The places for that are empty lines, filled when the function is complete.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .syntax import Immediate, Instruction, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from .records import dataclass


@dataclass(slots=True, frozen=True)
class Way:
    """The lanes in 1 or 2 pieces; in each, addresses are `step` bytes apart."""

    pieces: int
    step: int

    @property
    def lanes(self) -> int:
        """Lanes of a piece."""
        return 32 // self.pieces


def numbers(values: list[int], kind: str = "i32") -> str:
    """A constant vector."""
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def shuffled(em: Emitter, kind: str, one: str, two: str, order: list[int]) -> str:
    """A shufflevector of vectors of a type `<n x T>`."""
    return em.new(f"shufflevector {kind} {one}, {kind} {two}, <{len(order)} x i32> {numbers(order)}")


def firsts_of(em: Emitter, base: Value, way: Way) -> list[str]:
    """The first address of each piece."""
    return [em.new(f"extractelement {base.typed}, i32 {piece * way.lanes}") for piece in range(way.pieces)]


def matching(em: Emitter, base: Value, way: Way, first: str = "") -> str:
    """The word of lanes whose addresses are as the way has them, from that of lane 0 on (or `first`, in its place)."""
    if way.pieces == 1:  # the form that LLVM folds best
        first = first or em.new(f"extractelement {base.typed}, i32 0")
        start = em.splat(Value("i64", False, first)).text
    else:
        start = shuffled(em, base.full, base.text, "poison", [i // way.lanes * way.lanes for i in range(32)])
    distance = em.new(f"sub <32 x i64> {base.text}, {start}")
    wanted = numbers([i % way.lanes * way.step for i in range(32)], "i64")
    match = em.new(f"icmp eq <32 x i64> {distance}, {wanted}")
    return em.new(f"bitcast <32 x i1> {match} to i32")


def known(em: Emitter, register: Register, way: Way) -> tuple[str, list[str]]:
    """The word of lanes that lie as the way has them, and the first address of each piece."""
    slots = em.asked.get((register, way))
    if slots is None:
        slots = em.asked[register, way] = [em.alloca(kind, 8) for kind in ("i32", *["i64"] * way.pieces)]
        em.begin += [f"  store i{64 if at else 32} 0, ptr {slot}" for at, slot in enumerate(slots)]
    word = em.new(f"load i32, ptr {slots[0]}")
    return word, [em.new(f"load i64, ptr {slot}") for slot in slots[1:]]


def complete(em: Emitter) -> None:
    """Fill in what has been asked for, and what that asks for."""
    lines = em.lines
    done: set[tuple[Register, object]] = set()
    while len(done) < len(em.asked):
        for register, way in [one for one in em.asked if one not in done]:
            assert isinstance(way, Way)
            done.add((register, way))
            slots = em.asked[register, way]
            for at, value, active, code in em.definitions.get(register, ()):
                em.lines = [lines[at]] if lines[at] else []
                some = active if way.pieces == 1 and active != "%m" else ""
                word, firsts = made(em, code, way) or looked_at(em, em.fit(value, "i64"), way, some)
                for what, slot in zip((f"i32 {word}", *[f"i64 {first}" for first in firsts]), slots, strict=True):
                    em.put(f"store {what}, ptr {slot}")
                lines[at] = "\n".join(em.lines)
    em.lines = lines


def looked_at(em: Emitter, base: Value, way: Way, some: str) -> tuple[str, list[str]]:
    """The word and the first addresses by all lanes' addresses; `some`: lanes that were set just now.

    Lane 0 may be one of the others then, and have what it had before, or what was computed of that: the first of these
    tells where it would be.
    """
    if not some:
        return held(em, matching(em, base, way)), firsts_of(em, base, way)
    lane = em.new(f"and i32 {em.new(f'call i32 @llvm.cttz.i32(i32 {some}, i1 false)')}, 31")
    first = em.new(f"extractelement {base.typed}, i32 {lane}")
    if way.step:
        wide = em.new(f"zext i32 {lane} to i64")
        first = em.new(f"sub i64 {first}, {em.new(f'mul i64 {wide}, {way.step}')}")
    return held(em, matching(em, base, way, first)), [first]


def held(em: Emitter, word: str) -> str:
    """LLVM takes a vector of bits to where its word is used, and all that it is made of, but for this."""
    return em.new(f'call i32 asm "", "=r,0"(i32 {word})')


def made(em: Emitter, code: Instruction | None, way: Way) -> tuple[str, list[str]] | None:
    """The same by what made the register, if that is enough."""
    if code is None or code.guard is not None or not isinstance(code.operands[0], Register):
        return None
    sources = code.operands[1:]
    varying = [s for s in sources if isinstance(s, Register) and s in em.a.varying]
    if len(varying) != 1 or not all(isinstance(s, Register | Immediate) for s in sources):
        return None
    source = varying[0]
    if code.base in ("mul", "mad", "cvt"):
        return widened(em, code, source, way)
    if source.type not in LONG or code.mods[-1:] not in LONG_MODS:
        return None
    if code.base in ("mov", "cvta"):  # addresses of all spaces are generic ones
        return known(em, source, way)
    if len(code.mods) != 1:
        return None
    if code.base == "shl" and sources[0] is source:
        by = em.strides().constant(sources[1])
        if by is None or not 0 < by < 8 or way.step % (1 << by):
            return None
        word, firsts = known(em, source, Way(way.pieces, way.step >> by))
        return word, [em.new(f"shl i64 {first}, {by}") for first in firsts]
    if code.base == "add" or (code.base == "sub" and sources[0] is source):
        word, firsts = known(em, source, way)
        by_all = em.read(sources[1 - sources.index(source)], "u64").text
        return word, [em.new(f"{code.base} i64 {first}, {by_all}") for first in firsts]
    return None


LONG = frozenset(("u64", "s64", "b64"))
LONG_MODS = [(kind,) for kind in LONG]


def widened(em: Emitter, code: Instruction, source: Register, way: Way) -> tuple[str, list[str]] | None:
    """Of a product, sum of one or conversion that makes 64 bits of 32: the lanes are as far apart as before if the 32
    bits do not wrap around between the first and the last.
    """
    sources = code.operands[1:]
    stride, factor = em.exact().of(source), 1
    if code.base == "cvt":
        if code.mods not in (("u64", "u32"), ("s64", "s32")):
            return None
    else:
        number = em.strides().constant(sources[1]) if sources[0] is source else None
        if code.mods not in (("wide", "u32"), ("wide", "s32")) or number is None:
            return None
        factor = number
    if way.pieces != 1 or not stride or stride * factor != way.step or not 0 < stride < 1 << 16 or factor < 0:
        return None
    signed = "s32" in code.mods
    first = em.new(f"extractelement {em.load_register(source).typed}, i32 0")
    call = f"call {{i32, i1}} @llvm.{'sadd' if signed else 'uadd'}.with.overflow.i32(i32 {first}, i32 {31 * stride})"
    wraps = em.new(f"extractvalue {{i32, i1}} {em.new(call)}, 1")
    address = em.new(f"{'sext' if signed else 'zext'} i32 {first} to i64")
    if factor != 1:
        address = em.new(f"mul i64 {address}, {factor}")
    if code.base == "mad":
        address = em.new(f"add i64 {address}, {em.read(sources[2], 'u64').text}")
    return held(em, em.new(f"select i1 {wraps}, i32 0, i32 -1")), [address]
