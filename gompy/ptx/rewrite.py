"""Instructions that the parser writes as others, so that what they hide can be seen: the carry flag, indexed branches.

    add.cc.u32 %a, %b, %c;    →  add.cc.u32 %a|%cc, %b, %c;          the flag is a predicate register of the function
    addc.u32 %a, %b, %c;      →  addc.u32 %a, %b, %c, %cc;
    bar.red.popc.u32 %a, …    →  a family of its own (`barred`), for it has a destination
    mbarrier.arrive.b64 %a, … →  the same (`mbarrived`)
    wmma.load…, wmma.store…   →  families of their own (`wmmaloaded`, `wmmastored`): one reads, the other writes
    mma.sp…                   →  the same (`mmasparse`)
    brx.idx %i, list;         →  comparisons and branches

(PTX ISA 9.7.2, "Extended-Precision Integer Arithmetic"; 9.7.12 `brx.idx`; 9.7.13 `bar.red`.)
"""

from __future__ import annotations

from .syntax import Function, Immediate, Instruction, Label, Pair, PtxError, Register, Statement, Symbol, Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FLAG = "%cc@"
FRAME = "alloca@"
"""An empty local variable: a function that takes local memory gives back what is above its frame."""
DIRECT = 4
"""Targets of an indexed branch that are compared one after the other; more are halved."""


def flag(function: Function) -> Register:
    """The carry flag of a function."""
    for register in reversed(function.registers):
        if register.name == FLAG:
            return register
    register = Register(FLAG, "pred", len(function.registers))
    function.registers.append(register)
    return register


def written_out(function: Function, code: Instruction) -> Instruction:
    """An instruction of opcodes.REWRITTEN with its flag as an operand; others as they are."""
    base = code.base
    if base in ("bar", "barrier"):
        if "red" in code.mods:
            code.base = "barred"
        return code
    if base == "mbarrier":
        if code.mods[:1] not in (("init",), ("inval",), ("expect_tx",), ("complete_tx",)):
            code.base = "mbarrived"
        return code
    if base == "wmma":
        code.base = {"load": "wmmaloaded", "store": "wmmastored"}.get(code.mods[0] if code.mods else "", base)
        return code
    if base == "mma":
        code.base = "mmasparse" if code.mods[:1] in (("sp",), ("sp::ordered_metadata",)) else base
        return code
    if base == "alloca":
        if not function.locals:
            function.locals.append(Variable(FRAME, "local", "b8", 0, 8, "", code.line))
        return code
    out, into = "cc" in code.mods, base[-1] == "c"
    if not out and not into:
        return code
    operands = code.operands
    if not operands:
        return code  # told by the lowering
    if out:
        operands = (Pair(operands[0], flag(function)), *operands[1:])
    if into:
        operands = (*operands, flag(function))
    code.operands, code.base = operands, "carry"
    return code


class Switches:
    """The indexed branches of a function; `targets`: its `.branchtargets` lists."""

    def __init__(self, function: Function, targets: dict[str, list[str]], name: str) -> None:
        self.function, self.targets, self.name = function, targets, name
        self.count = 0

    def label(self) -> str:
        """A new label."""
        self.count += 1
        return f"brx@{self.count}"

    def compare(self, test: str, code: Instruction, value: int) -> tuple[Instruction, Register]:
        """`setp` of the index with a constant, and its result."""
        result = Register(f"%brx@{len(self.function.registers)}", "pred", len(self.function.registers))
        self.function.registers.append(result)
        operands = (result, code.operands[0], Immediate(value))
        return Instruction(f"setp.{test}.u32", operands, code.line, None, False, "setp", (test, "u32")), result

    def jump(self, target: str, code: Instruction, guard: Register | None = None, negated: bool = False) -> Instruction:
        """`bra`."""
        return Instruction("bra", (Symbol(target),), code.line, guard, negated, "bra", ())

    def choose(self, code: Instruction, targets: list[str], first: int) -> Iterator[Statement]:
        """Branch to one of the targets, the first of which has the index `first`; beyond the end to the last one."""
        if len(targets) > DIRECT:
            half = len(targets) // 2
            test, lower = self.compare("lt", code, first + half)
            low = self.label()
            yield test
            yield self.jump(low, code, lower)
            yield from self.choose(code, targets[half:], first + half)
            yield Label(low, code.line)
            targets = targets[:half]
            yield from self.choose(code, targets, first)
            return
        for index, target in enumerate(targets[:-1]):
            test, equal = self.compare("eq", code, first + index)
            yield test
            yield self.jump(target, code, equal)
        yield self.jump(targets[-1], code)

    def expand(self, code: Instruction) -> Iterator[Statement]:
        """The statements for one `brx.idx`."""
        if code.opcode not in ("brx.idx", "brx.idx.uni"):
            raise PtxError(f"unknown opcode '{code.opcode}'", code.line, self.name)
        index, name = (*code.operands, None, None)[:2]
        if not isinstance(index, Register | Immediate) or not isinstance(name, Symbol) or len(code.operands) != 2:
            raise PtxError("'brx.idx' needs an index and a list of labels", code.line, self.name)
        targets = self.targets.get(name.name)
        if not targets:
            raise PtxError(f"'{name.name}' is no '.branchtargets' list", code.line, self.name)
        skip = ""
        if code.guard is not None:
            skip = self.label()
            yield self.jump(skip, code, code.guard, not code.negated)
        yield from self.choose(code, targets, 0)
        if skip:
            yield Label(skip, code.line)


def expand_switches(function: Function, targets: dict[str, list[str]], name: str) -> None:
    """Write the indexed branches of a body out."""
    switches = Switches(function, targets, name)
    body: list[Statement] = []
    for statement in function.body or ():
        if isinstance(statement, Instruction) and statement.base == "brx":
            body += switches.expand(statement)
        else:
            body.append(statement)
    function.body = body
