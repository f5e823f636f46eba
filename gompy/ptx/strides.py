"""How far apart the addresses of neighbouring threads are, as far as the code tells.

A guess, by which vectors.py chooses the way of an access that is tried first.  It is tested where the code runs: a
wrong one costs time.
"""

from __future__ import annotations

from .flow import defined
from .syntax import Call, Immediate, Instruction, Memory, Operand, Register, Special, Symbol
from .uniform import Analysis

COPIES = frozenset(("mov", "cvt", "cvta"))
SUMS = frozenset(("add", "or", "xor"))
PARTS = frozenset(("and", "shr", "div", "rem"))
WIDTHS = frozenset(("32", "64"))
TURNS = 8
"""Passes over a function; each can only make more registers unknown."""


class Strides:
    """The strides of a function's registers: what is added from one thread of a row to the next.

    `found` has those of registers that vary: None where it is unknown, nothing before a definition has been looked at.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.a = analysis
        self.constants: dict[Register, int | None] = {}
        self.found: dict[Register, int | None] = {}
        self.scattered: set[Register] = set()  # computed from what each lane has loaded for itself, or from `chosen`
        self.chosen: set[Register] = set()  # set to different numbers, of which branches choose for each lane
        codes = []
        numbers: dict[Register, int] = {}
        for block in analysis.blocks:
            for code in block.code:
                for register in defined(code):
                    number = number_of(code)
                    self.constants[register] = None if register in self.constants else number
                    if number is not None and numbers.setdefault(register, number) != number:
                        self.chosen.add(register)
                    if register in analysis.varying:
                        codes.append((register, code))
        for _ in range(TURNS):
            if sum([self.look(register, code) for register, code in codes]) == 0:
                break
        else:
            self.found = dict.fromkeys(analysis.varying)
        self.scattered |= self.chosen
        for _ in range(TURNS):
            before = len(self.scattered)
            self.scattered.update(register for register, code in codes if self.is_scattered(code))
            if len(self.scattered) == before:
                break

    def is_scattered(self, code: Instruction | Call) -> bool:
        """Whether a result is what a lane loads, or computed from that or from other such numbers."""
        if isinstance(code, Call):
            return False
        if code.base == "ld":
            memory = code.operands[1]
            return isinstance(memory, Memory) and memory.base in self.a.varying and "param" not in code.mods
        return any(source in self.scattered for source in code.operands[1:] if isinstance(source, Register))

    def look(self, register: Register, code: Instruction | Call) -> bool:
        """Take a definition in; whether it changed what is known."""
        if isinstance(code, Call):
            stride = None
        else:
            sources = code.operands[1:]
            if any(isinstance(s, Register) and s in self.a.varying and s not in self.found for s in sources):
                return False
            stride = None if register in self.chosen else self.result(code)
        if register not in self.found:
            self.found[register] = stride
            return True
        if self.found[register] in (stride, None):
            return False
        self.found[register] = None
        return True

    def constant(self, operand: Operand) -> int | None:
        """An operand's value, if it is a number, or a register that is set to one and to nothing else."""
        if isinstance(operand, Immediate):
            return operand.value
        return self.constants.get(operand) if isinstance(operand, Register) else None

    def of(self, operand: Operand) -> int | None:
        """The stride of an operand; None: unknown."""
        if isinstance(operand, Special):
            return 1 if operand.name in ("%tid.x", "%laneid") else None if operand.name.startswith("%lane") else 0
        if not isinstance(operand, Register):
            return 0 if isinstance(operand, Immediate | Symbol) else None
        return self.found.get(operand) if operand in self.a.varying else 0

    def result(self, code: Instruction) -> int | None:
        """The stride of an instruction's result."""
        base, sources = code.base, code.operands[1:]
        if base == "ld":
            memory = sources[0]
            return 0 if isinstance(memory, Memory) and self.of(memory.base) == 0 and "param" not in code.mods else None
        strides = [self.of(source) for source in sources]
        if None in strides or code.guard is not None:
            return None
        one, two, three = ([stride or 0 for stride in strides] + [0, 0, 0])[:3]
        if base in ("mul", "mad"):
            product = self.product(sources, one, two)
            return None if product is None else product + three
        if not any(strides) or base in COPIES:
            return one
        if base in SUMS:
            return one + two
        if base == "sub":
            return one - two
        if base == "shl":
            by = self.constant(sources[1])
            return one << by if by is not None and 0 <= by < 32 else None
        if base == "selp":
            return one if one == two else None
        return self.part(code, one) if base in PARTS and two == 0 else None

    def part(self, code: Instruction, one: int) -> int | None:
        """The stride of some of the bits of a number, of its quotient or remainder: those that tell warps apart, as in
        `i / 32` and `i % 32`, if the first lane's number is a multiple of what the lanes take.
        """
        number = self.constant(code.operands[-1])
        taken = one * (32 if self.a.rows else 16)
        if number is None or one <= 0 or not code.mods or code.mods[-1][1:] not in WIDTHS:
            return one if code.base == "and" else None
        whole = (1 << int(code.mods[-1][1:])) - 1
        number &= whole
        if code.base == "and":
            outside = whole & ~number
            return 0 if outside & (outside + 1) == 0 and outside >= taken - 1 else one
        if code.base == "rem":
            return one if number % taken == 0 else None
        by = 1 << min(number, 64) if code.base == "shr" else number
        if by == 0 or (by < taken and one % by):
            return None
        return one // by if by < taken else 0 if by % taken == 0 else None

    def product(self, sources: tuple[Operand, ...], one: int, two: int) -> int | None:
        """The stride of a product, of the factors' strides."""
        if one == 0 and two == 0:
            return 0
        if one and two:
            return None
        factor = self.constant(sources[1] if one else sources[0])
        return None if factor is None else (one or two) * factor


WORDS = frozenset(("u32", "s32", "b32"))


class Exact(Strides):
    """Strides of 32-bit registers that hold whatever the numbers are: sums and products of 32 bits wrap around in all
    lanes alike.  A register that keeps what lanes that are off had before has none.

    Where warps are no rows of a block, they are those within 16 lanes, of blocks whose rows are a multiple of that.
    """

    def __init__(self, analysis: Analysis) -> None:
        self.mixed = {
            id(code)
            for block in analysis.blocks
            if block.index in analysis.divergent
            for code in block.code
            for register in defined(code)
            if analysis.keep.get(block.index, 0) >> register.number & 1
        }
        super().__init__(analysis)

    def look(self, register: Register, code: Instruction | Call) -> bool:
        """Take a definition in; whether it changed what is known."""
        if self.a.warps is not None and self.a.warps.lanes(register):
            known = self.found.get(register, 0)
            self.found[register] = 1
            return known != 1
        if id(code) in self.mixed or (not isinstance(code, Call) and not self.wraps(code)):
            known = self.found.get(register, 0)
            self.found[register] = None
            return known is not None
        return super().look(register, code)

    def wraps(self, code: Instruction) -> bool:
        """Whether an instruction is one of those."""
        if code.guard is not None or not code.mods or code.mods[-1] not in WORDS or len(code.operands) < 2:
            return False
        if code.base in ("mul", "mad"):
            return code.mods[0] == "lo" and len(code.mods) == 2
        return code.base in ("mov", "add", "sub", "shl") and len(code.mods) == 1

    def of(self, operand: Operand) -> int | None:
        """The stride of an operand; None: unknown."""
        if isinstance(operand, Special) and operand.name[:4] == "%tid":
            return int(operand.name == "%tid.x")
        return super().of(operand)


def number_of(code: Instruction | Call) -> int | None:
    """What an instruction sets its result to, if that is a number."""
    if not isinstance(code, Instruction) or code.base != "mov" or code.guard is not None:
        return None
    source = code.operands[1]
    return source.value if isinstance(source, Immediate) else None
