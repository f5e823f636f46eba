"""What addresses and values are computed from: whether two instructions have one place is seen by comparing that.

An origin is what a chain of moves, additions, conversions and loads begins with, and the bytes that are added.  What a
function keeps in its own local memory, as compilers do without optimisation, or hands to itself in a `.param` variable
(inlining.py) is followed from its only store.  Other memory is taken to stay as it is.
"""

from __future__ import annotations

from .flow import Block, defined, flat
from .opcodes import LANEWISE, OPCODES
from .syntax import Call, Function, Immediate, Instruction, Memory, Operand, Register, Special, Symbol

DEPTH = 48
"""Definitions that are followed at most."""
NESTED = 6
"""Of these, those that a computation counts for: its operands are followed from there on."""
ROUNDS = 4
"""How often own variables' stores are looked at anew: an address may come from another such variable."""

Place = tuple[object, int]
"""What an address is computed from, and the bytes from there on.  What it is computed from: a register, a special
register, a symbol's name, a constant, a `Loaded` or a `Computed`."""


class Node(tuple[object, ...]):
    """Something made of other places; equal to one of its kind that is made of the same."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and tuple.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, tuple(self)))


class Loaded(Node):
    """What is in memory at a place."""


class Computed(Node):
    """An opcode, and what its operands are."""


def definitions(blocks: list[Block]) -> dict[Register, Instruction | Call | None]:
    """What sets each register that is set once; None: several do, or under a guard."""
    found: dict[Register, Instruction | Call | None] = {}
    for block in blocks:
        for code in block.code:
            for register in defined(code):
                found[register] = None if register in found or code.guard is not None else code
    return found


class Places:
    """The places of a function whose registers are webs."""

    def __init__(self, function: Function, blocks: list[Block]) -> None:
        self.single = definitions(blocks)
        self.own = {variable.name for variable in (*function.locals, *function.params)}
        self.given = {variable.name for variable in function.parameters}
        self.stored: dict[Place, Operand | None] = {}
        for _ in range(ROUNDS):
            found = self.stores(blocks)
            if found == self.stored:
                break
            self.stored = found

    def stores(self, blocks: list[Block]) -> dict[Place, Operand | None]:
        """What is stored to own variables, by place; None: by several instructions, or not always."""
        found: dict[Place, Operand | None] = {}
        for block in blocks:
            for code in block.code:
                if isinstance(code, Call):
                    found.update(((o.name, 0), None) for o in code.results if isinstance(o, Symbol))
                elif self.stores_own(code) and isinstance(memory := code.operands[0], Memory):
                    place = self.of(memory.base, memory.offset)
                    value = code.operands[1] if code.guard is None and len(code.operands) == 2 else None
                    found[place] = None if place in found else value
        return found

    def stores_own(self, code: Instruction) -> bool:
        """Whether an instruction stores to a local or `.param` variable of the function."""
        memory = code.operands[0] if code.base == "st" else None
        return isinstance(memory, Memory) and self.of(memory.base, memory.offset)[0] in self.own

    def of(self, base: Operand, offset: int = 0, depth: int = DEPTH) -> Place:
        """What an operand is, `offset` bytes on."""
        while depth > 0:
            depth -= 1
            if isinstance(base, Symbol):
                return base.name, offset + base.offset
            code = self.single.get(base) if isinstance(base, Register) else None
            if not isinstance(code, Instruction) or len(code.operands) < 2 or code.operands[0] != base:
                break
            source = code.operands[1]
            if code.base == "add" and isinstance(by := code.operands[2], Immediate):
                base, offset = source, offset + by.value
            elif code.base in ("mov", "cvta"):
                base = source
            elif code.base == "ld" and isinstance(source, Memory):
                at = self.of(source.base, source.offset, depth)
                value = self.stored.get(at)
                if value is None:
                    return Loaded(at), offset
                base = value
            elif OPCODES[code.base].lanes == LANEWISE and not OPCODES[code.base].effect:
                return Computed((code.opcode, *(self.of(o, 0, depth - NESTED) for o in code.operands[1:]))), offset
            else:
                break
        return base, offset

    def changes(self, base: object, inside: set[Register], stored: set[Place]) -> bool:
        """Whether an origin is not the same in each turn of a loop that sets registers and stores to own variables."""
        if isinstance(base, Loaded):
            return base in stored or self.changes(base[0], inside, stored)
        if isinstance(base, Computed):
            return any(self.changes(part[0], inside, stored) for part in base[1:] if isinstance(part, tuple))
        return isinstance(base, Register) and base in inside

    def settled(self, operand: Operand, inside: set[Register]) -> bool:
        """Whether a value is known to be the same in each turn of a loop: none that it loads or computes anew."""
        if not any(register in inside for register in flat(operand)):
            return True
        base = self.of(operand)[0]
        if isinstance(base, Loaded):
            return base[0] in self.given
        return isinstance(base, Immediate | Symbol | Special | str) or (
            isinstance(base, Register) and base not in inside
        )
