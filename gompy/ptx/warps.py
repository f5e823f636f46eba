"""Numbers of threads that tell warps and lanes apart: `i / 32` is the same in all lanes, `i % 32` counts them.

Where warps are 32 threads of a row, `%tid.x` is a multiple of 32 and the lane.  So is what is made of it by adding
multiples of 32, as `%ctaid.x * %ntid.x + %tid.x` is if rows of blocks are such multiples: code that takes this for
granted is `aligned`, and the executor runs it for such blocks only.  Sums of that kind have no carry between the lane's
five bits and the others, whatever wraps around.
"""

from __future__ import annotations

from .syntax import Immediate, Instruction, Operand, Register, Special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .syntax import Call

MULTIPLE, LANES, OTHER = "multiple", "lanes", ""
"""Kinds of numbers: the same multiple of 32 in all lanes; such a one and the lane; all others."""
LANE_BITS = 31
WHOLE = frozenset(("u32", "s32", "b32", "u64", "s64", "b64"))
SUMS = frozenset(("add", "or", "xor"))
BY_PARTS = frozenset(("shr", "and", "div"))
"""Opcodes that may leave nothing of the lane."""
OF_ALL = frozenset(("%ntid", "%ctaid", "%nctaid"))
"""Special registers that all lanes have the same in."""
DEPTH = 24
"""Definitions that are followed at most."""


class Warps:
    """The kinds of a function's registers.

    `version`: one of uniform.py.  `rows`: warps are 32 threads of a row.  `varying`: the registers that vary, which may
    become more.  `single`: what sets those that are set once.  `mixes`: whether lanes that are off keep what a register
    had before.
    `aligned`: whether something that is known needs rows of blocks that are multiples of 32.
    """

    def __init__(
        self,
        version: str,
        rows: bool,
        varying: set[Register],
        single: dict[Register, Instruction | Call],
        mixes: Callable[[Register], bool],
    ) -> None:
        self.varying, self.single, self.mixes = varying, single, mixes
        self.applies = rows and version != "S"
        self.kernel = version == "E"
        self.found: dict[Register, tuple[str, bool]] = {}
        self.aligned = False

    def again(self) -> None:
        """More registers vary than before."""
        self.found.clear()
        self.aligned = False

    # --- what others ask -----------------------------------------------------------------------------------------

    def uniform(self, code: Instruction) -> bool:
        """Whether an instruction leaves nothing of the lane: all lanes have one result, that of lane 0."""
        if not self.applies or code.base not in BY_PARTS or len(code.mods) != 1 or code.mods[0] not in WHOLE:
            return False
        number = self.constant(code.operands[2])
        if number is None or not self.drops(code, number):
            return False
        kind, needs = self.kind(code.operands[1])
        self.aligned |= kind == LANES and needs
        return kind == LANES

    def lanes(self, operand: Operand) -> bool:
        """Whether a number of 32 or 64 bits is a multiple of 32 and the lane, in all lanes."""
        if not self.applies or not isinstance(operand, Register):
            return False
        kind, needs = self.kind(operand)
        return kind == LANES and (self.aligned or not needs)

    def lane(self, operand: Operand) -> bool:
        """Whether it is the lane's number."""
        if isinstance(operand, Special):
            return operand.name == "%laneid"
        if not isinstance(operand, Register) or not self.lanes(operand):
            return False
        code = self.single[operand]
        if not isinstance(code, Instruction):
            return False
        if code.base in ("mov", "cvt"):
            return self.lane(code.operands[1])
        return (code.base, self.constant(code.operands[2])) in (("and", LANE_BITS), ("rem", LANE_BITS + 1))

    # --- how it is found -----------------------------------------------------------------------------------------

    def drops(self, code: Instruction, number: int) -> bool:
        """Whether an operation by a number takes the lane away."""
        if code.base == "shr":
            return LANE_BITS.bit_length() <= number < 32
        if code.base == "and":
            return not number & LANE_BITS
        return number > 0 and not number & LANE_BITS and code.mods[0][0] == "u"

    def constant(self, operand: Operand) -> int | None:
        """An operand's value, if it is a number, or a register that is set to one."""
        if isinstance(operand, Register):
            code = self.single.get(operand)
            if not isinstance(code, Instruction) or code.base != "mov":
                return None
            operand = code.operands[1]
        return operand.value if isinstance(operand, Immediate) else None

    def varies(self, operand: Operand) -> bool:
        """Whether an operand may differ between lanes."""
        if isinstance(operand, Register):
            return operand in self.varying
        return not isinstance(operand, Immediate) and getattr(operand, "name", "").partition(".")[0] not in OF_ALL

    def kind(self, operand: Operand, depth: int = DEPTH) -> tuple[str, bool]:
        """The kind of a number, and whether it needs rows that are multiples of 32."""
        if isinstance(operand, Immediate):
            return (OTHER if operand.value & LANE_BITS else MULTIPLE), False
        if isinstance(operand, Special):
            if operand.name == "%ntid.x":  # of a function's own launches only kernels know
                return (MULTIPLE, True) if self.kernel else (OTHER, False)
            return (LANES if operand.name in ("%tid.x", "%laneid") else OTHER), False
        if not isinstance(operand, Register) or depth == 0:
            return OTHER, False
        if operand not in self.found:
            self.found[operand] = OTHER, False
            code = self.single.get(operand)
            if isinstance(code, Instruction) and code.mods and not self.mixes(operand):
                found = self.result(code, depth - 1)
                if found[0] == LANES or (found[0] == MULTIPLE and operand not in self.varying):
                    self.found[operand] = found
        return self.found[operand]

    def result(self, code: Instruction, depth: int) -> tuple[str, bool]:
        """The kind of an instruction's result."""
        base, sources = code.base, code.operands[1:]
        if not WHOLE.issuperset(code.mods[-1:]):
            return OTHER, False
        if len(code.mods) == 2:
            if base in ("mul", "mad"):
                return self.product(code, depth) if code.mods[0] in ("lo", "wide") else (OTHER, False)
            return self.kind(sources[0], depth) if base == "cvt" and WHOLE.issuperset(code.mods) else (OTHER, False)
        if base == "mov":
            return self.kind(sources[0], depth)
        if base in SUMS:
            return total(self.kind(sources[0], depth), self.kind(sources[1], depth))
        if base == "sub":
            one, two = self.kind(sources[0], depth), self.kind(sources[1], depth)
            return total(one, two) if two[0] == MULTIPLE else (OTHER, False)
        number = self.constant(sources[1]) if len(sources) == 2 else None
        return (OTHER, False) if number is None else self.by_constant(code, number, depth)

    def by_constant(self, code: Instruction, number: int, depth: int) -> tuple[str, bool]:
        """The kind of an operation by a constant."""
        base, sources = code.base, code.operands[1:]
        if base == "shl":
            fits = number >= LANE_BITS.bit_length() and not self.varies(sources[0])
            return (MULTIPLE if fits else OTHER), False
        kind, needs = self.kind(sources[0], depth)
        if base == "and" and (kind == MULTIPLE or (kind == LANES and number & LANE_BITS == LANE_BITS)):
            return kind, needs
        if base == "and" and kind == LANES and not number & LANE_BITS:
            return MULTIPLE, needs
        if base == "rem" and number > 0 and not number & LANE_BITS and code.mods[0][0] == "u":
            return kind, needs
        return OTHER, False

    def product(self, code: Instruction, depth: int) -> tuple[str, bool]:
        """The kind of a product, or of a sum of one."""
        one, two = code.operands[1:3]
        if self.varies(one) or self.varies(two):
            return OTHER, False
        kinds = [found for found in (self.kind(one, depth), self.kind(two, depth)) if found[0] == MULTIPLE]
        if not kinds:
            return OTHER, False
        whole = min(kinds, key=lambda found: found[1])
        return whole if code.base == "mul" else total(whole, self.kind(code.operands[3], depth))


def total(one: tuple[str, bool], two: tuple[str, bool]) -> tuple[str, bool]:
    """The kind of a sum."""
    if OTHER in (one[0], two[0]) or (one[0] == LANES and two[0] == LANES):
        return OTHER, False
    return (LANES if LANES in (one[0], two[0]) else MULTIPLE), one[1] or two[1]
