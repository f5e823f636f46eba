"""Stores of a lane that it does or does not do, by what it has found, without a branch, as scalar LLVM IR (singly.py).

Where a lane walks over edges, `if (level[edge] < 0) next[edge] = now + 1` depends on what is in memory: no processor
foretells it, and each wrong guess takes as long as several turns.  So such a short arm is always gone through.  Where
the lane would not have come, it loads and stores at a place of no meaning, as the other may have no pages, and
registers keep what they had.
"""

from __future__ import annotations

from .emit import BITS, Emitter, Value
from .flow import Block, defined
from .syntax import Call, Memory
from .uniform import Analysis

SIMPLE = frozenset(
    ("add", "and", "cvt", "cvta", "ld", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "selp", "setp", "shl",
     "shr", "st", "sub", "xor")
)  # fmt: skip
"""What a lane may do for nothing."""
LONGEST = 8
"""Instructions of an arm at most."""
STORES = 2
"""Stores of an arm at most."""


def arm_of(a: Analysis, block: Block, part: range) -> Block | None:
    """The arm of a branch that is gone through in any case: it has stores, and both ways meet behind it, among the
    blocks of a part."""
    if block.kind != "branch":
        return None
    for arm, join in (block.successors, block.successors[::-1]):
        if arm.kind != "jump" or arm.successors != [join] or arm.predecessors != [block] or arm is join:
            continue
        if arm.index in part and join.index in part and is_short(a, arm):
            return arm
    return None


def is_short(a: Analysis, arm: Block) -> bool:
    """Whether an arm is some stores and little else; it loads only what each turn of the loop loads from one place."""
    around = [(head, end) for head, end in a.loops.items() if head <= arm.index <= end]
    if not around or len(arm.code) > LONGEST:
        return False
    head, end = min(around, key=lambda one: one[1] - one[0])
    moving = {r for block in a.blocks[head : end + 1] for code in block.code for r in defined(code)}
    stores = 0
    for code in arm.code:
        if isinstance(code, Call) or code.guard is not None or code.base not in SIMPLE:
            return False
        stores += code.base == "st"
        if code.base == "ld" and any(isinstance(o, Memory) and o.base in moving for o in code.operands):
            return False
    return 0 < stores <= STORES


def accessed(em: Emitter, place: str) -> str:
    """What an access by a pointer is of."""
    unread = em.once("%unread", "%unread1 = alloca i64, align 8", "%unread = ptrtoint ptr %unread1 to i64")
    whole = Value("i64", False, em.new(f"ptrtoint ptr {place} to i64"))
    return em.new(f"inttoptr {chosen(em, em.only, whole, Value('i64', False, unread)).typed} to ptr")


def chosen(em: Emitter, guard: str, one: Value, other: Value) -> Value:
    """`one` if the guard is set (i1), else `other`.

    By bits of whose origin LLVM is told nothing: it would make a branch of its own `select`.
    """
    kind = "i64" if BITS[one.type] == 64 else "i32"
    first, second = em.fit(one, kind), em.fit(other, kind)
    mask = em.new(f"sext i1 {guard} to {kind}")
    bits = Value(kind, False, em.new(f'call {kind} asm "", "=r,0"({kind} {mask})'))
    return em.fit(em.op("xor", second, em.op("and", em.op("xor", first, second), bits)), one.type)
