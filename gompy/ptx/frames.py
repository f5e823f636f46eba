"""The frames of GCC's OpenMP functions, as far as no other thread knows them (GOMPY_CHECK=race).

Their variables are in device memory: each thread has a stack there, whose end is a word of `__nvptx_stacks` in shared
memory (GCC, config/nvptx/nvptx.cc: nvptx_declare_function_name).  Where a function runs as one thread, and gives the
address of its frame to nobody, nothing that it does there can race.
"""

from __future__ import annotations

from .flow import defined, flat, used
from .opcodes import LANEWISE, OPCODES
from .syntax import Call, Instruction, Memory, Operand, Register, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .uniform import Analysis

STACKS = "__nvptx_stacks"
MOVES = frozenset(("mov", "cvta"))


def memory_number(code: Instruction) -> int:
    """Which operand of a load or store is the address."""
    return 0 if code.base == "st" else 1


class Frames:
    """`own`: registers of a function whose values are addresses in its frame; none where somebody may know it."""

    def __init__(self, analysis: Analysis) -> None:
        self.codes = [code for block in analysis.blocks for code in block.code]
        self.own: frozenset[Register] = frozenset()
        self.slots: set[Register] = set()  # addresses of words of __nvptx_stacks
        self.tainted: set[Register] = set()  # what is computed of addresses in the frame
        self.definitions: dict[Register, list[Instruction]] = {}
        if analysis.version == "S" and not analysis.divergent and self.has_stack():
            self.find(analysis.varying)

    def has_stack(self) -> bool:
        """Whether the function looks for its stack."""
        return any(
            isinstance(operand, Symbol) and operand.name == STACKS
            for code in self.codes
            if isinstance(code, Instruction)
            for operand in code.operands
        )

    def find(self, varying: set[Register]) -> None:
        """Fill in what the registers are."""
        for code in self.codes:
            if isinstance(code, Instruction):
                for register in defined(code):
                    self.definitions.setdefault(register, []).append(code)
        self.slots = self.all_made(self.makes_slot)
        self.taint()
        if not any(map(self.escapes, self.codes)):
            own = self.all_made(self.makes_address)
            if own.isdisjoint(varying):
                self.own = frozenset(own)

    def all_made(self, makes: Callable[[Instruction, set[Register]], bool]) -> set[Register]:
        """The registers all of whose definitions are such, given that those which they are made of are."""
        found = set(self.definitions)
        while wrong := {r for r in found if not all(makes(code, found) for code in self.definitions[r])}:
            found -= wrong
        return found

    def moves(self, code: Instruction, found: set[Register]) -> bool:
        """Whether an instruction's result is one of some addresses, or that many bytes from one."""
        sources = code.operands[1:]
        if code.base in MOVES:
            return sources[0] in found
        if code.base == "sub":
            return sources[0] in found and self.is_number(sources[1])
        return code.base == "add" and any(
            one in found and self.is_number(other) for one, other in (sources[:2], sources[1::-1])
        )

    def is_number(self, operand: Operand) -> bool:
        """Whether an operand has nothing to do with the frame."""
        return self.tainted.isdisjoint(flat(operand))

    def makes_slot(self, code: Instruction, found: set[Register]) -> bool:
        """Whether an instruction makes an address in __nvptx_stacks."""
        source = code.operands[1] if code.base in MOVES else None
        return source.name == STACKS if isinstance(source, Symbol) else self.moves(code, found)

    def is_of_slot(self, code: Instruction) -> bool:
        """Whether a load or store is of a word there."""
        memory = code.operands[memory_number(code)]
        return isinstance(memory, Memory) and memory.base in self.slots

    def makes_address(self, code: Instruction, found: set[Register]) -> bool:
        """Whether an instruction makes an address in the frame."""
        return self.is_of_slot(code) if code.base == "ld" else self.moves(code, found)

    def taint(self) -> None:
        """Find what is computed of them."""
        changed = True
        while changed:
            before = len(self.tainted)
            for register, codes in self.definitions.items():
                for code in codes:
                    if self.is_of_slot(code) if code.base == "ld" else not self.tainted.isdisjoint(used(code)):
                        self.tainted.add(register)
            changed = len(self.tainted) != before

    def escapes(self, code: Instruction | Call) -> bool:
        """Whether an instruction makes such a value known elsewhere."""
        if self.tainted.isdisjoint(used(code)):
            return False
        if isinstance(code, Call):
            return True
        if code.base in ("ld", "st"):
            number = memory_number(code)
            values = code.operands[number + 1 :] if code.base == "st" else ()
            return not all(map(self.is_number, values)) and not self.is_of_slot(code)
        known = OPCODES[code.base]
        return known.lanes != LANEWISE or known.effect != ""
