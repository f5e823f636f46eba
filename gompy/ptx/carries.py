"""Extended-precision integer arithmetic as LLVM IR: add.cc, addc, sub.cc, subc, mad.cc, madc (PTX ISA 9.7.2).

rewrite.py has made the carry flag an operand: destination `%d|%cc` for `.cc`, a last source for `addc` and the like.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .forms import operands, unknown
from .operations import high_product
from .syntax import Instruction, Pair

KINDS = ("u32", "s32", "u64", "s64")


def sum_of(em: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """a + b and its carry."""
    total = em.op("add", a, b)
    return total, em.op("icmp ult", total, a, result="i1")


def difference(em: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """a - b and its borrow."""
    return em.op("sub", a, b), em.op("icmp ult", a, b, result="i1")


def carry(em: Emitter, code: Instruction) -> None:
    """All of them."""
    name = code.opcode.partition(".")[0]
    out, into = "cc" in code.mods, name[-1] == "c"
    multiplies = name[:3] == "mad"
    mods = [m for m in code.mods if m != "cc"]
    if not mods or mods[-1] not in KINDS or mods[:-1] not in ([["lo"], ["hi"]] if multiplies else [[]]):
        unknown(em, code)
    kind = mods[-1]
    operands(em, code, 3 + multiplies + into)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if multiplies:
        product = em.op("mul", a, b) if mods[0] == "lo" else high_product(em, kind, a, b)
        a, b = product, em.read(code.operands[3], kind)
    step = difference if name[:3] == "sub" else sum_of
    result, first = step(em, a, b)
    if into:
        flag = em.cast("zext", em.read(code.operands[-1], "pred"), result.type)
        result, second = step(em, result, flag)
        first = em.op("or", first, second)
    target = code.operands[0]
    if out:
        assert isinstance(target, Pair)
        em.write(target.second, first)
        target = target.first
    em.write(target, result, kind[0] == "s")
