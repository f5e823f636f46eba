"""How far apart the addresses of neighbouring threads are, as far as the code tells: a guess, by which memory.py chooses
the way of an access that is tried first.  A wrong guess costs time; it is tested where the code runs.
"""

from __future__ import annotations

from .flow import defined
from .syntax import Call, Immediate, Instruction, Memory, Operand, Register, Special, Symbol
from .uniform import Analysis

UNKNOWN = None
DEPTH = 40
"""Definitions that are followed."""
COPIES = frozenset(("mov", "cvt", "cvta"))
SUMS = frozenset(("add", "or", "xor"))


class Strides:
    """The strides of a function's registers: what is added from one thread of a row to the next."""

    def __init__(self, analysis: Analysis) -> None:
        self.a = analysis
        self.definitions: dict[Register, list[Instruction | Call]] = {}
        for block in analysis.blocks:
            for code in block.code:
                for register in defined(code):
                    self.definitions.setdefault(register, []).append(code)
        self.found: dict[Register, int | None] = {}
        self.open: set[Register] = set()

    def constant(self, operand: Operand) -> int | None:
        """An operand's value, if it is a number, or a register that is set to one and to nothing else."""
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Register):
            codes = self.definitions.get(operand, ())
            if len(codes) == 1 and isinstance(codes[0], Instruction) and codes[0].base == "mov":
                code = codes[0]
                if code.guard is None and isinstance(code.operands[1], Immediate):
                    return code.operands[1].value
        return None

    def of(self, operand: Operand, depth: int = DEPTH) -> int | None:
        """The stride of an operand; None: unknown."""
        if isinstance(operand, Special):
            return 1 if operand.name in ("%tid.x", "%laneid") else 0 if operand.name[1:5] != "lane" else UNKNOWN
        if not isinstance(operand, Register):
            return 0 if isinstance(operand, Immediate | Symbol) else UNKNOWN
        if operand not in self.a.varying:
            return 0
        if operand in self.found:
            return self.found[operand]
        codes = self.definitions.get(operand)
        if depth == 0 or not codes:
            return UNKNOWN
        self.open.add(operand)
        seen: set[int | None] = set()
        for code in codes:
            if any(item in self.open for item in getattr(code, "operands", ())[1:]) and self.steps(code):
                continue  # a loop's variable, and what is added in a turn
            seen.add(UNKNOWN if isinstance(code, Call) else self.result(code, depth - 1))
        self.open.discard(operand)
        stride = seen.pop() if len(seen) == 1 else UNKNOWN
        if not self.open:
            self.found[operand] = stride
        return stride

    def steps(self, code: Instruction | Call) -> bool:
        """Whether what an instruction adds to a variable of a loop is the same in all threads of a row."""
        return (
            isinstance(code, Instruction)
            and (code.base in COPIES or code.base in ("add", "sub"))
            and all(item in self.open or self.of(item, 8) == 0 for item in code.operands[1:])
        )

    def result(self, code: Instruction, depth: int) -> int | None:
        """The stride of an instruction's result."""
        base, sources = code.base, code.operands[1:]
        if base == "ld":
            return self.loaded(sources[0], depth)
        strides = [self.of(source, depth) for source in sources]
        if all(stride == 0 for stride in strides):
            return 0
        if any(stride is UNKNOWN for stride in strides):
            return UNKNOWN
        one, two = strides[0] or 0, (strides[1] or 0) if len(strides) > 1 else 0
        if base in COPIES:
            return one
        if base in SUMS:
            return one + two
        if base == "sub":
            return one - two
        if base == "selp":
            return one if one == two else UNKNOWN
        if base == "and":
            return one if two == 0 else UNKNOWN
        if base == "shl":
            by = self.constant(sources[1])
            return one << by if by is not None and 0 <= by < 32 else UNKNOWN
        if base in ("mul", "mad"):
            product = self.product(sources, one, two)
            if product is UNKNOWN or base == "mul":
                return product
            return product + (strides[2] or 0)
        return UNKNOWN

    def loaded(self, operand: Operand, depth: int) -> int | None:
        """What is loaded from one address is the same."""
        if not isinstance(operand, Memory) or isinstance(operand.base, Symbol):
            return UNKNOWN
        return 0 if self.of(operand.base, depth) == 0 else UNKNOWN

    def product(self, sources: tuple[Operand, ...], one: int, two: int) -> int | None:
        """The stride of a product, of the factors' strides."""
        if one == 0 and two == 0:
            return 0
        if two == 0:
            factor = self.constant(sources[1])
            return None if factor is None else one * factor
        if one == 0:
            factor = self.constant(sources[0])
            return None if factor is None else two * factor
        return UNKNOWN
