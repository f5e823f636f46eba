"""Comparisons of a thread's number with what all lanes have (`i < n`, `tid == 0`), as LLVM IR: a word of lanes.

A number that is a multiple of 32 and the lane (warps.py) is below a bound in the first lanes, as many as the bound is
further than lane 0's number.  That takes a few operations on one number.  32 comparisons, whose bits are gathered in a
word, take more, on the units that all vectors need.  A word is what branches and guards want.
"""

from __future__ import annotations

from .emit import LLVM_TYPE, Emitter, Value
from .flow import Block, used
from .syntax import Call, Instruction, Operand, Register, Special
from .warps import LANE_BITS

BELOW = {"lt": (0, False), "lo": (0, False), "le": (1, False), "ls": (1, False)}
BELOW |= {"ge": (0, True), "hs": (0, True), "gt": (1, True), "hi": (1, True)}
"""Comparisons as those below a bound: what is added to it, and whether the others are meant."""
TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "lo": "hi", "hi": "lo", "ls": "hs", "hs": "ls"}
"""The same with both sides exchanged."""
KINDS = frozenset(("u32", "s32"))
LANES = LANE_BITS + 1
COMBINES = frozenset(("and", "or", "xor", "not"))
DEPTH = 6
"""Predicates that are followed at most."""


def compare(em: Emitter, code: Instruction) -> Value | None:
    """`setp` of such numbers; None: it is another one, or its lanes are wanted one by one."""
    if not em.fast or em.checked or em.lane or code.base != "setp" or len(code.mods) != 2 or code.guard is not None:
        return None
    if len(code.operands) != 3:
        return None  # told by what makes the others
    (name, kind), (target, one, other) = code.mods, code.operands
    if kind not in KINDS or not isinstance(target, Register) or target in values(em):
        return None
    if not counts(em, one):
        one, other, name = other, one, TURNED.get(name, name)
    if not counts(em, one) or name not in ("eq", "ne", *BELOW) or varies(em, other):
        return None
    wide = "sext" if kind[0] == "s" else "zext"
    first, bound = em.cast(wide, first_of(em, one), "i64").text, em.cast(wide, em.read(other, kind), "i64").text
    if name in ("eq", "ne"):
        word, others = at_place(em, first, bound), name == "ne"
    else:
        more, below = BELOW[name]
        number = em.strides().constant(other)
        if number is None:
            word = beyond(em, first, em.new(f"add i64 {bound}, {more}") if more else bound)
        else:
            word = beyond_number(em, first, as_kind(number, kind) + more)
        others = not below
    return Value("i1", True, em.lanes(em.new(f"xor i32 {word}, -1") if others else word))


def as_kind(number: int, kind: str) -> int:
    """A constant as a number of a type of 32 bits."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if kind[0] == "s" and number >> 31 else number


def at_place(em: Emitter, first: str, place: str) -> str:
    """The word of the lane with a number."""
    at = em.new(f"sub i64 {place}, {first}")
    here = em.new(f"icmp ult i64 {at}, {LANES}")
    lane = em.new(f"and i64 {at}, {LANE_BITS}")
    word = em.new(f"trunc i64 {em.new(f'shl i64 1, {lane}')} to i32")
    return em.new(f"select i1 {here}, i32 {word}, i32 0")


def beyond(em: Emitter, first: str, bound: str) -> str:
    """The word of the lanes at a bound and beyond it."""
    low = em.new(f"icmp slt i64 {first}, {bound}")
    count = em.new(f"sub i64 {bound}, {first}")
    some = em.new(f"icmp slt i64 {count}, {LANES}")
    lanes = em.new(f"and i64 {count}, 63")
    part = em.new(f"trunc i64 {em.new(f'shl i64 -1, {lanes}')} to i32")
    part = em.new(f"select i1 {some}, i32 {part}, i32 0")
    return em.new(f"select i1 {low}, i32 {part}, i32 -1")


def beyond_number(em: Emitter, first: str, number: int) -> str:
    """The same of a constant: which multiple of 32 is lane 0's number?"""
    multiple, lanes = number & ~LANE_BITS, number & LANE_BITS
    word = "-1"
    if lanes:
        here = em.new(f"icmp eq i64 {first}, {multiple}")
        word = em.new(f"select i1 {here}, i32 {-1 << lanes}, i32 -1")
    return em.new(f"select i1 {em.new(f'icmp slt i64 {first}, {multiple}')}, i32 0, i32 {word}")


def counts(em: Emitter, operand: Operand) -> bool:
    """Whether an operand is a number of a thread, of 32 bits, that is kept as lane 0's."""
    if isinstance(operand, Special):
        return operand.name == "%tid.x" and em.a.rows
    if not isinstance(operand, Register) or operand not in em.a.progressions or em.a.warps is None:
        return False
    return LLVM_TYPE[operand.type] == "i32" and em.a.progressions[operand] == 1 and em.a.warps.lanes(operand)


def first_of(em: Emitter, operand: Operand) -> Value:
    """Lane 0's number."""
    if isinstance(operand, Register):
        return em.first_of(operand)
    return Value("i32", False, em.warp_field("tid", "i32"))


def varies(em: Emitter, operand: Operand) -> bool:
    """Whether lanes may have different numbers."""
    if isinstance(operand, Register):
        return operand in em.a.varying
    return isinstance(operand, Special) and operand.name.partition(".")[0] not in ("%ntid", "%ctaid", "%nctaid")


def most_have_all(em: Emitter) -> bool:
    """Whether all lanes of most warps are likely to be in the block at hand: who is there is told by bounds of numbers
    that count threads (`if (i < n)`), which are in one warp of a row."""
    return not em.guarded and comes_by_bounds(em, em.a.blocks[em.block], DEPTH)


def comes_by_bounds(em: Emitter, block: Block, depth: int) -> bool:
    """Whether all ways into a block are chosen by such bounds."""
    if depth == 0 or not block.predecessors:
        return False
    return all(
        comes_by_bounds(em, before, depth - 1) if before.guard is None else is_bound(em, before.guard, DEPTH)
        for before in block.predecessors
    )


def is_bound(em: Emitter, register: Operand, depth: int) -> bool:
    """Whether a predicate compares such numbers with what all lanes have, or combines such comparisons."""
    if not isinstance(register, Register) or depth == 0:
        return False
    if register not in em.a.varying:
        return True
    code = em.single().get(register)
    if not isinstance(code, Instruction) or code.guard is not None:
        return False
    if code.base in ("and", "or", "not"):
        return all(is_bound(em, source, depth - 1) for source in code.operands[1:])
    sources = code.operands[1:]
    return code.base == "setp" and code.mods[0] in BELOW and any(one in em.a.progressions for one in sources)


def values(em: Emitter) -> set[Register]:
    """The predicates that are more than guards, and parts of others, of a function."""
    if em.compared is None:
        em.compared = {
            register
            for block in em.a.blocks
            for code in block.code
            if not isinstance(code, Call)
            for register in used(code)
            if register is not code.guard and register.type == "pred" and code.base not in COMBINES
        }
    return em.compared
