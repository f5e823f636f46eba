"""Registers whose lanes are as far apart as the code says, whatever the numbers are: the first lane's and a step.

Such a register is kept as one number.  That of all lanes is made where it is used, which on most ways is nowhere: an
access by the register needs its first lane's only.  Numbers of 32 bits are of this kind as long as they are sums and
products by constants (strides.Exact); those of 64 bits also where nothing wraps around in the widening (warps.py).
"""

from __future__ import annotations

from .emit import LLVM_TYPE, Emitter, Value
from .flow import defined, is_meeting
from .strides import COPIES, WORDS, Exact
from .syntax import Instruction, Operand, Register, Special

LONGS = frozenset(("u64", "s64", "b64"))
LINEAR = frozenset(("mov", "add", "sub", "shl"))
PAIRS = {"add": "add", "sub": "sub", "and": "and", "or": "or", "xor": "xor", "rem": "urem"}
"""Operations on two numbers of one type, as LLVM calls them; all but sums by what warps.py knows."""
WIDE = {("u64", "u32"), ("s64", "s32")}


class Progressions(Exact):
    """The steps of such registers, of 32 and of 64 bits."""

    def wraps(self, code: Instruction) -> bool:
        """Whether an instruction keeps lanes apart as they are."""
        if super().wraps(code):
            return True
        if code.guard is not None or not code.mods or len(code.operands) < 2:
            return False
        mods = code.mods
        if code.base == "cvta":
            return mods[-1] in LONGS
        if code.base in ("mul", "mad"):
            if mods[0] == "lo":
                return len(mods) == 2 and mods[1] in LONGS
            return mods[0] == "wide" and mods[-1] in WORDS and self.widens(code.operands[1:3])
        if code.base == "cvt":
            return mods in WIDE and self.widens(code.operands[1:])
        return code.base in LINEAR and len(mods) == 1 and mods[0] in LONGS

    def widens(self, sources: tuple[Operand, ...]) -> bool:
        """Whether what varies of numbers of 32 bits cannot wrap around between lanes."""
        warps = self.a.warps
        return warps is not None and all(
            warps.lanes(one) for one in sources if isinstance(one, Register) and one in self.a.varying
        )


def found(em: Emitter, apart: set[int]) -> dict[Register, int]:
    """The registers of a function, with their steps; `apart`: blocks whose lanes go one after the other."""
    a = em.a
    if not em.fast or em.checked or not a.rows or a.version == "S" or not a.varying:
        return {}
    steps = {register: step for register, step in Progressions(a).found.items() if step and register in a.varying}
    for index in apart:
        for code in a.blocks[index].code:
            for register in defined(code):
                steps.pop(register, None)
    return {register: step for register, step in steps.items() if LLVM_TYPE.get(register.type) in ("i32", "i64")}


def define(em: Emitter, code: Instruction) -> None:
    """An instruction that sets such a register, for the first lane."""
    target = code.operands[0]
    assert isinstance(target, Register)
    base, mods, sources = code.base, code.mods, code.operands[1:]
    kind = mods[-1]
    if base in ("mul", "mad"):
        wide = LLVM_TYPE[kind] if mods[0] == "lo" else "i64"
        one, two = (em.fit(first(em, source, kind), wide, kind[0] == "s") for source in sources[:2])
        value = em.op("mul", one, two)
        if base == "mad":
            value = em.op("add", value, first(em, sources[2], {"i32": "u32", "i64": "u64"}[wide]))
    elif base in PAIRS:
        value = em.op(PAIRS[base], first(em, sources[0], kind), first(em, sources[1], kind))
    elif base == "shl":
        number = em.strides().constant(sources[1])
        value = em.op("shl", first(em, sources[0], kind), em.ints(LLVM_TYPE[kind], number or 0))
    else:
        assert base in COPIES, base
        value = first(em, sources[0], kind)
    em.put(f"store {em.fit(value, LLVM_TYPE[target.type], kind[0] == 's').typed}, ptr {em.slot(target)}")
    em.changed[target] = len(em.lines)


def compared(em: Emitter, code: Instruction, operand: Operand, kind: str) -> Value:
    """A source of a comparison.  All lanes' numbers are made once for those of a block, and of all behind the first
    one where no barrier is: LLVM does not see that two are the same, as vectors of one number are shuffles."""
    if not isinstance(operand, Register) or operand not in em.a.progressions or em.lane or code.guard is not None:
        return em.read(operand, kind)
    key = (operand, em.changed.get(operand, 0))
    if key not in em.spreads:
        em.spreads[key] = em.block, em.load_register(operand)
    return em.fit(em.spreads[key][1], LLVM_TYPE[kind], kind[0] == "s")


def keep_first(em: Emitter) -> None:
    """At the begin of a block: what the first one has made is there, unless the warp comes from behind a barrier."""
    if not em.spreads:
        return
    single = em.single()
    keeps = em.block != 0 and not any(is_meeting(code) for block in em.a.blocks for code in block.code)
    em.spreads = {key: made for key, made in em.spreads.items() if keeps and made[0] == 0 and key[0] in single}


def first(em: Emitter, operand: Operand, kind: str) -> Value:
    """The first lane's number, as a PTX type."""
    if isinstance(operand, Register) and operand in em.a.progressions:
        return em.fit(em.first_of(operand), LLVM_TYPE[kind], kind[0] == "s")
    if isinstance(operand, Special) and operand.name == "%laneid":
        return em.ints(LLVM_TYPE[kind], 0)
    if isinstance(operand, Special) and operand.name == "%tid.x":
        return em.fit(Value("i32", False, em.warp_field("tid", "i32")), LLVM_TYPE[kind])
    value = em.read(operand, kind)
    return Value(value.type, False, em.new(f"extractelement {value.typed}, i32 0")) if value.vector else value
