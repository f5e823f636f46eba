"""Addresses of all lanes, computed once more where they are seldom needed, as LLVM IR.

Code for rows needs the first lane's address only; all of them are for what cannot be done as rows, out of the way.
LLVM computes what is needed in several places in front of all, and keeps it in registers or on the stack.  So the last
steps of the computation are made again in that place, from registers that are kept as one number and a step.
"""

from __future__ import annotations

from .bases import LONG, LONG_MODS
from .emit import BITS, LLVM_TYPE, Emitter, Value
from .syntax import Immediate, Instruction, Operand, Register

DEPTH = 4
"""Instructions that are made again on the way to one register, at most."""
WIDE = frozenset(("u32", "s32"))
CONVERSIONS = (("u64", "u32"), ("s64", "s32"))


def again(em: Emitter, register: Register | None) -> Value | None:
    """A 64-bit register's value in all lanes; None: it is not made in this block, of such registers alone."""
    if register is None or register not in em.a.varying or not possible(em, register, len(em.lines), DEPTH):
        return None
    return made(em, register)


def step(em: Emitter, register: Register, end: int) -> tuple[int, Instruction] | None:
    """The instruction that gave all lanes of a register what it has, and its line; none if that is of another block,
    or not what the register had in line `end`."""
    found = em.definitions.get(register)
    if not found:
        return None
    at, _, _, code = found[-1]
    return None if code is None or not em.straight <= at < end else (at, code)


def possible(em: Emitter, register: Register, end: int, depth: int) -> bool:
    """Whether what a 64-bit register has in line `end` can be computed again."""
    found = step(em, register, end) if depth and register.type in LONG else None
    if found is None:
        return False
    at, code = found
    return is_step(code) and all(is_kept(em, source, at, depth) for source in code.operands[1:])


def is_kept(em: Emitter, source: Operand, at: int, depth: int) -> bool:
    """Whether a source of the instruction in front of line `at` has the same value still, or can be computed again."""
    if not isinstance(source, Register):
        return isinstance(source, Immediate)
    if source in em.a.varying and source not in em.a.progressions:
        return possible(em, source, at, depth - 1)
    return em.changed.get(source, 0) <= at


def is_step(code: Instruction) -> bool:
    """Whether an instruction is one that can be made again."""
    if code.guard is not None:
        return False
    if code.base in ("add", "sub", "mov"):
        return code.mods in LONG_MODS
    if code.base == "shl":
        by = code.operands[2]
        return code.mods in LONG_MODS and isinstance(by, Immediate) and 0 <= by.value < BITS["i64"]
    if code.base == "cvt":
        return code.mods in CONVERSIONS
    return code.base in ("mul", "mad") and len(code.mods) == 2 and code.mods[0] == "wide" and code.mods[1] in WIDE


def made(em: Emitter, register: Register) -> Value:
    """The result of the instruction that made one."""
    code = em.definitions[register][-1][3]
    assert code is not None
    sources = code.operands[1:]
    if code.base in ("cvt", "mul", "mad"):
        kind = code.mods[1]
        wide = [em.cast("sext" if kind[0] == "s" else "zext", of(em, s, kind), "i64") for s in sources[:2]]
        product = wide[0] if code.base == "cvt" else em.op("mul", *wide)
        return em.op("add", product, of(em, sources[2], "u64")) if code.base == "mad" else product
    values = [of(em, source, "u64") for source in sources]
    return em.splat(values[0]) if code.base == "mov" else em.op(code.base, *values)


def of(em: Emitter, operand: Operand, kind: str) -> Value:
    """A source; LLVM does not see that it has computed the same of one before."""
    if not isinstance(operand, Register) or operand not in em.a.varying:
        return em.read(operand, kind)
    if operand not in em.a.progressions:
        return made(em, operand)
    first = em.first_of(operand)
    hidden = em.new(f'call {first.type} asm "", "=r,0"({first.typed})')
    return em.fit(em.spread(operand, Value(first.type, False, hidden)), LLVM_TYPE[kind])
