"""Video instructions on the halves or bytes of words: vadd2, vset4 and the others (PTX ISA 9.7.17, "SIMD Video
Instructions"), whose parts stand where they are: clang makes CUDA's SIMD intrinsics (`__vadd4`) of them.

rare.py loads this module when such an opcode is met.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .forms import WORDS, lanes_of, operands, unknown
from .half import word
from .syntax import Instruction

COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def parts(em: Emitter, code: Instruction) -> None:
    """OP2 and OP4 .dtype.atype.btype{.sat, .add} d, a, b, c and vset .atype.btype.cmp{.add}: each part for itself, and
    with .add all of them added to c.  What has two types of sign takes each operand by its own."""
    base, bits = code.base[:-1], 16 if code.base[-1] == "2" else 8
    mods = list(code.mods)
    compare = mods.pop(2) if base == "vset" and len(mods) > 2 else ""
    kinds, rest = mods[: 2 if compare else 3], mods[2 if compare else 3 :]
    if compare:
        kinds.insert(0, "u32")
    if len(kinds) != 3 or any(kind not in WORDS for kind in kinds) or rest not in ([], ["sat"], ["add"]):
        unknown(em, code)
    if (base == "vset") != (compare in COMPARISONS) or (compare and rest == ["sat"]):
        unknown(em, code)
    operands(em, code)
    a, b, total = (em.read(o, "b32") for o in code.operands[1:])
    signs = [kind == "s32" for kind in kinds]
    results = [
        part_of(em, base, compare, signs, x, y)
        for x, y in zip(lanes_of(em, a, bits, signs[1]), lanes_of(em, b, bits, signs[2]), strict=True)
    ]
    if rest == ["add"]:
        for result in results:
            total = em.op("add", total, result)
        em.write(code.operands[0], total)
        return
    if rest == ["sat"]:
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signs[0] else (0, (1 << bits) - 1)
        results = [em.intrinsic("smax", em.intrinsic("smin", r, word(em, most)), word(em, least)) for r in results]
    found = em.op("and", results[0], word(em, (1 << bits) - 1))
    for n, result in enumerate(results[1:], 1):
        kept = em.op("and", result, word(em, (1 << bits) - 1))
        found = em.op("or", found, em.op("shl", kept, word(em, bits * n)))
    em.write(code.operands[0], found)


def part_of(em: Emitter, base: str, compare: str, signs: list[bool], x: Value, y: Value) -> Value:
    """One part's result, as a word that may be wider than the part."""
    if compare:
        # Parts are words with their signs: 16 bits without one are not negative.
        holds = em.op(f"icmp {compare if compare in ('eq', 'ne') else 's' + compare}", x, y, result="i1")
        return em.select(holds, word(em, 1), word(em, 0))
    if base in ("vadd", "vsub"):
        return em.op(base[1:], x, y)
    if base in ("vmin", "vmax"):
        return em.intrinsic("s" + base[1:], x, y)
    if base == "vabsdiff":
        return em.op("sub", em.intrinsic("smax", x, y), em.intrinsic("smin", x, y))
    both = em.op("add", x, y)  # vavrg: away from zero where it is not negative
    up = em.op("icmp sge", both, word(em, 0), result="i1")
    return em.op("ashr", em.op("add", both, em.select(up, word(em, 1), word(em, 0))), word(em, 1))
