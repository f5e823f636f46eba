"""Registers that hold one constant in all lanes, by place: what a barrier need not keep (fission.py)."""

from __future__ import annotations

from .flow import Block, defined
from .syntax import Call, FloatImmediate, Immediate, Instruction, Register

Constant = tuple[Immediate | FloatImmediate, str]
"""A constant, and the type that `mov` reads it as."""
Known = dict[Register, Constant | None]
"""What registers hold; None: it is not one constant."""


def target(code: Instruction | Call) -> Register | None:
    """The register that a move without a guard sets."""
    if not isinstance(code, Instruction) or code.base != "mov" or code.guard is not None or len(code.mods) != 1:
        return None
    register = code.operands[0]
    return register if isinstance(register, Register) else None


def moved(code: Instruction, known: Known) -> Constant | None:
    """The constant that a move reads."""
    source = code.operands[1]
    if isinstance(source, Immediate | FloatImmediate):
        return source, code.mods[0]
    if isinstance(source, Register) and isinstance(code.operands[0], Register):
        return known.get(source) if source.type == code.operands[0].type else None
    return None


def candidates(blocks: list[Block]) -> set[Register]:
    """Registers that are set to a constant somewhere, and those that are set to one of these."""
    moves = [code for block in blocks for code in block.code if isinstance(code, Instruction) and target(code)]
    found: set[Register] = set()
    while True:
        before = len(found)
        for code in moves:
            register, source = target(code), code.operands[1]
            if register and (isinstance(source, Immediate | FloatImmediate) or source in found):
                found.add(register)
        if len(found) == before:
            return found


def step(code: Instruction | Call, known: Known) -> None:
    """What is known behind an instruction."""
    register = target(code)
    if register in known and isinstance(code, Instruction):
        known[register] = moved(code, known)
        return
    for register in defined(code):
        if register in known:
            known[register] = None


class Constants:
    """The constants of a function at its places.

    What a lane has is set on the way that it takes, so that masks change nothing.
    """

    def __init__(self, blocks: list[Block]) -> None:
        self.wanted = candidates(blocks)
        self.begins: list[Known] = [{} for _ in blocks]
        if not self.wanted:
            return
        self.begins[0] = dict.fromkeys(self.wanted)
        todo = [blocks[0]]
        while todo:
            block = todo.pop()
            known = self.behind(block, len(block.code))
            for successor in block.successors:
                before = self.begins[successor.index]
                after = {r: value if before.get(r, value) == value else None for r, value in known.items()}
                if after != before:
                    self.begins[successor.index] = after
                    todo.append(successor)

    def behind(self, block: Block, count: int) -> Known:
        """What is known behind the first instructions of a block."""
        known = dict(self.begins[block.index])
        for code in block.code[:count]:
            step(code, known)
        return known

    def at(self, block: Block, place: int) -> dict[Register, Constant]:
        """The constants in front of an instruction of a block."""
        return {register: value for register, value in self.behind(block, place).items() if value is not None}
