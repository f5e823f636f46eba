"""What is known of address registers where they are set, as LLVM IR: which lanes' addresses lie as an access has them.

It is asked for where the register is used, in blocks that LLVM would compute it in anew; so who asks gets a word that
is made behind each definition.  The places for that are empty lines, filled when the function is complete.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import LLVM_TYPE, Emitter, Value
from .syntax import Immediate, Instruction, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass


DEPTH = 4
"""Instructions, one by what the one before made, that are followed back; a register may be made of itself."""


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
    if register in em.a.progressions:
        if (way.pieces, way.step) == (1, em.a.progressions[register]) and register.type in LONG:
            return "-1", [em.first_of(register).text]
        base = em.fit(em.load_register(register), "i64")
        return matching(em, base, way), firsts_of(em, base, way)
    slots = em.asked.get((register, way))
    if slots is None:
        kinds = kinds_of(way, counted_back(em, register, way))
        slots = em.asked[register, way] = [em.alloca(kind, 8) for kind in kinds]
        em.begin += [f"  store {kind} 0, ptr {slot}" for kind, slot in zip(kinds, slots, strict=True)]
    kinds = kinds_of(way, len(slots) > 1 + way.pieces)
    word, *firsts = [em.new(f"load {kind}, ptr {slot}") for kind, slot in zip(kinds, slots, strict=True)]
    if len(firsts) > way.pieces:
        every, some = firsts.pop(), word
        word = em.new(f"select i1 {every}, i32 -1, i32 {some}")
        em.mostly[word] = every, some
    return word, firsts


def kinds_of(way: Way, back: bool) -> tuple[str, ...]:
    """The LLVM types of what is kept of a register: the word, each piece's first address; and of one that is counted
    `back`, whether all lanes lie so, where the word says nothing."""
    return ("i32", *["i64"] * way.pieces, *["i1"] * back)


def complete(em: Emitter) -> None:
    """Fill in what has been asked for, and what that asks for."""
    lines = em.lines
    done: set[tuple[Register, object]] = set()
    while len(done) < len(em.asked):
        for register, way in [one for one in em.asked if one not in done]:
            assert isinstance(way, Way)
            done.add((register, way))
            slots = em.asked[register, way]
            kinds = kinds_of(way, len(slots) > 1 + way.pieces)
            for at, value, active, code in em.definitions.get(register, ()):
                em.lines = [lines[at]] if lines[at] else []
                some = active if way.pieces == 1 and active != "%m" else ""
                word, firsts = made(em, code, way) or looked_at(em, em.fit(value, "i64"), way, some)
                kept = [word, *firsts]
                if len(slots) > len(kept):
                    every, kept[0] = em.mostly.get(word, ("false", word))
                    kept.append(every)
                for kind, what, slot in zip(kinds, kept, slots, strict=True):
                    em.put(f"store {kind} {what}, ptr {slot}")
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
    if way == Way(1, 1) and em.a.warps is not None and em.a.warps.lanes(code.operands[0]):
        if em.a.warps.lane(code.operands[0]):
            return "-1", ["0"]
        return "-1", [em.new(f"extractelement {em.fit(em.load_register(code.operands[0]), 'i64').typed}, i32 0")]
    if len(varying) == 2:
        return added(em, code, varying[0], varying[1], way)
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


def added(em: Emitter, code: Instruction, one: Register, two: Register, way: Way) -> tuple[str, list[str]] | None:
    """Of a sum of two numbers of each lane's: by what is known of both, if no lanes need to be looked at for that."""
    if code.base != "add" or len(code.mods) != 1 or code.mods not in LONG_MODS or one is two:
        return None
    steps = [em.strides().of(register) for register in (one, two)]
    if None in steps or sum(step or 0 for step in steps) != way.step:
        return None
    ways = [Way(way.pieces, step or 0) for step in steps]
    if not all(is_widened(em, register, its) for register, its in zip((one, two), ways, strict=True)):
        return None
    word, firsts = known(em, one, ways[0])
    other, seconds = known(em, two, ways[1])
    sums = [em.new(f"add i64 {a}, {b}") for a, b in zip(firsts, seconds, strict=True)]
    return em.new(f"and i32 {word}, {other}"), sums


def is_widened(em: Emitter, register: Register, way: Way) -> bool:
    """Whether all that sets a register is what `widened` knows of."""
    if register in em.a.progressions:
        return way == Way(1, em.a.progressions[register]) and register.type in LONG
    made_by = [code for _, _, _, code in em.definitions.get(register, ())]
    if register.type not in LONG or not made_by:
        return False
    for code in made_by:
        if code is None or code.guard is not None or code.base not in ("mul", "cvt"):
            return False
        source = code.operands[1]
        if not isinstance(source, Register) or source not in em.a.varying or factor_of(em, code, source, way) is None:
            return False
    return True


def factor_of(em: Emitter, code: Instruction, source: Register, way: Way) -> int | None:
    """The factor that makes 64 bits of 32 which are as far apart as the way has them; None: it is no such code."""
    sources = code.operands[1:]
    if LLVM_TYPE.get(source.type) != "i32":
        return None
    stride = em.exact().of(source)
    number: int | None = 1
    if code.base == "cvt":
        if code.mods not in (("u64", "u32"), ("s64", "s32")):
            return None
    else:
        number = em.strides().constant(sources[1]) if sources[0] is source else None
        if code.mods not in (("wide", "u32"), ("wide", "s32")):
            return None
    if number is None or number < 0 or stride is None or not 0 <= stride < 1 << 16 or stride * number != way.step:
        return None
    return None if stride == 0 and way.pieces == 1 else number


def widened(em: Emitter, code: Instruction, source: Register, way: Way) -> tuple[str, list[str]] | None:
    """Of a product, sum of one or conversion that makes 64 bits of 32: the lanes are as far apart as before if the 32
    bits do not wrap around between the first and the last.
    """
    factor = factor_of(em, code, source, way)
    if factor is None or way.pieces != (1 if em.a.rows else 2):
        return None
    stride = em.exact().of(source) or 0
    value = em.load_register(source).typed
    signed = "s32" in code.mods
    bad = "" if em.a.rows else unless_halves(em)
    never = em.a.warps is not None and em.a.warps.lanes(source)
    firsts, word = [], "-1"
    back = is_back(em, code, way)
    for piece in range(way.pieces):
        first = em.new(f"extractelement {value}, i32 {piece * way.lanes}")
        wide = f"{'sext' if signed else 'zext'} i32 {first} to i64"
        if stride and not never:
            call = f"call {{i32, i1}} @llvm.{'sadd' if signed else 'uadd'}.with.overflow.i32("
            pair = em.new(f"{call}i32 {first}, i32 {(way.lanes - 1) * stride})")
            wraps = em.new(f"extractvalue {{i32, i1}} {pair}, 1")
            if back:
                word, wide = behind_zero(em, first, pair, wraps)
            else:
                bad = em.new(f"or i1 {bad}, {wraps}") if bad else wraps
        address = em.new(wide)
        if factor != 1:
            address = em.new(f"mul i64 {address}, {factor}")
        if code.base == "mad":
            address = em.new(f"add i64 {address}, {em.read(code.operands[3], 'u64').text}")
        firsts.append(address)
    if bad:
        # Of rows it is one comparison, which LLVM may make where it is wanted; of halves, it would make four there.
        word = em.new(f"select i1 {bad}, i32 0, i32 -1")
        word = word if way.pieces == 1 else held(em, word)
    return word, firsts


def is_back(em: Emitter, code: Instruction, way: Way) -> bool:
    """Whether what `widened` knows of may begin before zero: unsigned numbers that follow each other (`tid - 1`)."""
    source = code.operands[1]
    if way.pieces != 1 or not em.a.rows or not isinstance(source, Register) or "u32" not in code.mods:
        return False
    if em.a.warps is not None and em.a.warps.lanes(source):
        return False
    return em.exact().of(source) == 1 and factor_of(em, code, source, way) is not None


def counted_back(em: Emitter, register: Register, way: Way, depth: int = DEPTH) -> bool:
    """Whether all that sets a register so far is an address by such numbers."""
    made_by = [code for _, _, _, code in em.definitions.get(register, ())]
    return depth > 0 and bool(made_by) and all(is_counted_back(em, code, way, depth - 1) for code in made_by)


def is_counted_back(em: Emitter, code: Instruction | None, way: Way, depth: int) -> bool:
    """Whether an instruction makes an address by such numbers, or of one."""
    if code is None or code.guard is not None or way.pieces != 1:
        return False
    sources = [s for s in code.operands[1:] if isinstance(s, Register) and s in em.a.varying]
    if len(sources) != 1:
        return False
    if code.base in ("mul", "mad", "cvt"):
        return is_back(em, code, way)
    by = em.strides().constant(code.operands[2]) if code.base == "shl" else 0
    if by is None or not 0 <= by < 8:
        return False
    if code.base not in ("add", "sub", "mov", "cvta", "shl") or sources[0].type not in LONG:
        return False
    return counted_back(em, sources[0], Way(1, way.step >> by), depth)


def behind_zero(em: Emitter, first: str, pair: str, wraps: str) -> tuple[str, str]:
    """Of numbers of 32 bits that follow each other and may wrap around (`tid - 1`, in lane 0): the word of the lanes
    that lie as the last one does, and the first number of 64 bits, counted back from that.

    `pair`: the last number, and whether it `wraps` (i1).
    """
    left_out = em.new(f"and i32 {em.new(f'sub i32 0, {first}')}, 31")
    some = em.new(f"shl i32 -1, {left_out}")
    every = em.new(f"xor i1 {wraps}, true")
    word = em.new(f"select i1 {every}, i32 -1, i32 {some}")
    em.mostly[word] = every, some
    last = em.new(f"extractvalue {{i32, i1}} {pair}, 0")
    return word, f"sub i64 {em.new(f'zext i32 {last} to i64')}, 31"


def unless_halves(em: Emitter) -> str:
    """Whether rows of the block are no multiple of 16 threads, so that half a warp may lie in two (i1)."""
    return em.once(
        "%odd_rows",
        f"%odd_rows1 = getelementptr i8, ptr %w, i64 {abi.WARP['ntid']}",
        "%odd_rows2 = load i32, ptr %odd_rows1, align 4, !invariant.load !0",
        "%odd_rows3 = and i32 %odd_rows2, 15",
        "%odd_rows = icmp ne i32 %odd_rows3, 0",
    )
