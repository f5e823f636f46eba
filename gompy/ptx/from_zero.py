"""Shared memory without a name: addresses that a kernel counts from the beginning of its block's (Halide writes so).

On a GPU the window of `.shared` begins at 0.  Here it begins at SHARED_BASE, which addresses of variables have in them;
an object that has no such variable, and gets no address of another, can only mean numbers from 0 on.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .syntax import Immediate, Instruction, Memory, Module, Operand, Register

ACCESSES = frozenset(("ld", "st", "atom", "red"))


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


def moved(operand: Operand) -> Operand:
    """An address where the window begins."""
    if isinstance(operand, Memory) and isinstance(operand.base, Register | Immediate):
        return Memory(operand.base, operand.offset + abi.SHARED_BASE)
    return operand


def move(module: Module) -> None:
    """Give the accesses of an object the addresses that they have here."""
    if not counts_from_zero(module):
        return
    for function in module.functions.values():
        for code in function.body or ():
            if isinstance(code, Instruction) and code.base in ACCESSES and any(
                mod.partition("::")[0] == "shared" for mod in code.mods
            ):  # fmt: skip
                code.operands = tuple(map(moved, code.operands))
