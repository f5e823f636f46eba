"""Shared memory without a name: addresses that a kernel counts from the beginning of its block's (Halide writes so).

On a GPU the window of `.shared` begins at 0.  Here it begins at SHARED_BASE, which addresses of variables have in them;
an object that has no such variable, and gets no address of another, can only mean numbers from 0 on.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .syntax import Function, Immediate, Instruction, Memory, Module, Operand, Register, Statement

SHORT = frozenset(("b32", "u32", "s32"))


def counts_from_zero(module: Module) -> bool:
    """Whether its addresses of shared memory are such numbers: it has kernels alone, and no other source of any."""
    if any(variable.space == "shared" for variable in module.variables.values()) or module.declarations:
        return False
    for function in module.functions.values():
        if not function.entry or function.shared:
            return False
        for code in function.body or ():
            if isinstance(code, Instruction) and code.base in ("cvta", "mapa") and "shared" in code.opcode:
                return False
    return True


def moved(function: Function, code: Instruction, operand: Operand, before: list[Statement]) -> Operand:
    """An address where the window begins.  One of 32 bits may be less than 0 but for its offset, so it is added to
    BEFORE the access, where it wraps around as on a GPU."""
    if not isinstance(operand, Memory) or not isinstance(operand.base, Register | Immediate):
        return operand
    base = operand.base
    if isinstance(base, Immediate) or base.type not in SHORT:
        return Memory(base, operand.offset + abi.SHARED_BASE)
    place = Register(f"{base.name}@", "u32", len(function.registers))
    function.registers.append(place)
    sources = (place, base, Immediate(abi.SHARED_BASE))
    before.append(Instruction("add.u32", sources, code.line, None, False, "add", ("u32",)))
    return Memory(place, operand.offset)


def is_shared(code: Instruction) -> bool:
    """Whether an instruction's addresses are of shared memory by its text."""
    return any(mod.partition("::")[0] == "shared" for mod in code.mods)


def places(code: Instruction) -> tuple[int, ...]:
    """Which operands of an instruction on shared memory may be addresses of it: cp.async has one in other memory."""
    if code.base == "cp":
        return (1,) if code.mods[2:3] == ("global",) else (0, 3) if code.mods[1:2] == ("bulk",) else (0,)
    return tuple(range(len(code.operands)))


def move(module: Module) -> None:
    """Give the accesses of an object the addresses that they have here."""
    if not counts_from_zero(module):
        return
    for function in module.functions.values():
        if not function.body:
            continue
        body: list[Statement] = []
        for code in function.body:
            if isinstance(code, Instruction) and is_shared(code):
                its = places(code)
                code.operands = tuple(
                    moved(function, code, operand, body) if at in its else operand
                    for at, operand in enumerate(code.operands)
                )
            body.append(code)
        function.body = body
