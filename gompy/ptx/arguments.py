"""Registers and constants in a call's lists, and formal parameters that are registers, become `.param` variables.

PTX passes arguments and results of `.func` functions in `.param` variables or in registers, and arguments as constants
(PTX ISA 7.1, and `call` in 9.7.12).  GCC passes the static chain of nested functions as a register.
After the parser only `.param` variables are left:

    call (%r), f, (%x, 3);  →  st.param.u32 [a], %x; st.param.u32 [b], 3; call (c), f, (a, b); ld.param.u32 %r, [c];
"""

from __future__ import annotations

from .syntax import (
    TYPE_BYTES,
    Call,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Memory,
    Module,
    Operand,
    PtxError,
    Register,
    Sink,
    Statement,
    Symbol,
    Variable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

Prototypes = dict[str, Function]
"""The `.callprototype`s of a function's body, by label."""


def needs_variables(code: Call) -> bool:
    """Whether something else than names is in the call's lists."""
    return not all(isinstance(operand, Symbol) for operand in code.results + code.arguments)


def store(name: str, kind: str, value: Operand, code: Call | Instruction) -> Instruction:
    """`st.param`, with the guard of `code`."""
    target = Memory(Symbol(name))
    return Instruction(f"st.param.{kind}", (target, value), code.line, code.guard, code.negated, "st", ("param", kind))


def load(target: Operand, name: str, kind: str, code: Call | Instruction) -> Instruction:
    """`ld.param`, with the guard of `code`."""
    source = Memory(Symbol(name))
    return Instruction(f"ld.param.{kind}", (target, source), code.line, code.guard, code.negated, "ld", ("param", kind))


def scratch(function: Function) -> Register:
    """A new register for a predicate's value, which is passed as a byte."""
    register = Register(f"%pred@{len(function.registers)}", "u32", len(function.registers))
    function.registers.append(register)
    return register


def store_predicate(function: Function, name: str, value: Operand, code: Call | Instruction) -> list[Instruction]:
    """A predicate, or a constant, to a `.param` variable of one byte."""
    if isinstance(value, Immediate):
        return [store(name, "u8", Immediate(int(value.value != 0)), code)]
    byte = scratch(function)
    operands = (byte, Immediate(1), Immediate(0), value)
    return [Instruction("selp.u32", operands, code.line, None, False, "selp", ("u32",)), store(name, "u8", byte, code)]


def load_predicate(function: Function, target: Register, name: str, code: Call | Instruction) -> list[Instruction]:
    """A predicate from a `.param` variable."""
    byte = scratch(function)
    operands = (target, byte, Immediate(0))
    test = Instruction("setp.ne.u32", operands, code.line, code.guard, code.negated, "setp", ("ne", "u32"))
    return [load(byte, name, "u8", code), test]


class Calls:
    """The calls of one function's body."""

    def __init__(self, module: Module, function: Function, prototypes: Prototypes) -> None:
        self.module = module
        self.function = function
        self.prototypes = prototypes
        self.count = 0

    def fail(self, message: str, code: Call) -> PtxError:
        """A diagnostic for the call."""
        return PtxError(message, code.line, self.module.name)

    def callee(self, code: Call) -> Function | None:
        """What is known of the function that is called."""
        if code.prototype is not None:
            return self.prototypes.get(code.prototype)
        if not isinstance(code.target, Symbol):
            return None
        name = code.target.name
        return self.module.functions.get(name) or self.module.declarations.get(name)

    def kind(self, operand: Operand, formals: list[Variable] | None, at: int, code: Call) -> str:
        """The type in which operand number `at` is passed: the callee's; without a declaration the register's."""
        if not isinstance(operand, Register | Immediate | FloatImmediate | Sink):
            raise self.fail("an argument of 'call' must be a '.param' variable, a register or a constant", code)
        if formals is None:
            if not isinstance(operand, Register):
                raise self.fail("a constant as argument of 'call' needs the function's declaration", code)
            formal = None
            kind = operand.type
        else:
            if at >= len(formals):
                raise self.fail(f"'call' passes {at + 1} operands, the function has {len(formals)}", code)
            formal = formals[at]
            kind = formal.type
            if formal.count != 1:
                raise self.fail(f"an array of {formal.size} bytes is passed in a '.param' variable", code)
        if (kind == "pred") != (isinstance(operand, Register) and operand.type == "pred") and not (
            kind == "pred" and isinstance(operand, Immediate | Sink)
        ):
            raise self.fail("a predicate is passed where the function has another type, or the other way round", code)
        if isinstance(operand, Register) and TYPE_BYTES[operand.type] < TYPE_BYTES[kind]:
            raise self.fail(f"'{operand.name}' is '.{operand.type}', the function has '.{kind}' there", code)
        return kind

    def variable(self, kind: str, line: int) -> str:
        """A new `.param` variable of the function."""
        name = f"call@{self.count}"
        self.count += 1
        self.function.params.append(Variable(name, "param", kind, 1, TYPE_BYTES[kind], "", line))
        return name

    def expand(self, code: Call) -> Iterator[Statement]:
        """The call with its stores before and its loads after it."""
        callee = self.callee(code)
        after: list[Instruction] = []
        arguments: list[Operand] = []
        results: list[Operand] = []
        for at, operand in enumerate(code.arguments):
            if not isinstance(operand, Symbol):
                if isinstance(operand, Sink):
                    raise self.fail("'_' is no argument of 'call'", code)
                kind = self.kind(operand, callee.parameters if callee else None, at, code)
                name = self.variable(kind, code.line)
                if kind == "pred":
                    yield from store_predicate(self.function, name, operand, code)
                else:
                    yield store(name, kind, operand, code)
                operand = Symbol(name)
            arguments.append(operand)
        for at, operand in enumerate(code.results):
            if not isinstance(operand, Symbol):
                if isinstance(operand, Immediate | FloatImmediate):
                    raise self.fail("a constant is no result of 'call'", code)
                kind = self.kind(operand, callee.results if callee else None, at, code)
                name = self.variable(kind, code.line)
                if isinstance(operand, Register) and kind == "pred":
                    after += load_predicate(self.function, operand, name, code)
                elif isinstance(operand, Register):
                    after.append(load(operand, name, kind, code))
                operand = Symbol(name)
            results.append(operand)
        code.results, code.arguments = tuple(results), tuple(arguments)
        yield code
        yield from after


def expand_calls(module: Module, function: Function, prototypes: Prototypes) -> None:
    """Change the calls of a body so that their lists have names only."""
    calls = Calls(module, function, prototypes)
    body: list[Statement] = []
    for statement in function.body or ():
        if isinstance(statement, Call) and needs_variables(statement):
            body += calls.expand(statement)
        else:
            body.append(statement)
    function.body = body


def formal_registers(function: Function, registers: list[Register]) -> None:
    """Formal parameters in registers: loads where the body begins, stores of the results where it returns.

    `registers`: those of the formals in `.reg`, results first.
    """
    formals = [v for v in function.results + function.parameters if v.space == "reg"]
    own = {v.name: register for v, register in zip(formals, registers, strict=True)}
    body: list[Statement] = []
    start = Instruction("mov", (), function.line)
    for variable in function.parameters:
        if variable.name in own and variable.type == "pred":
            body += load_predicate(function, own[variable.name], variable.name, start)
        elif variable.name in own:
            body.append(load(own[variable.name], variable.name, variable.type, start))
    results = [v for v in function.results if v.name in own]

    def leave(code: Instruction) -> Iterator[Instruction]:
        for v in results:
            if v.type == "pred":
                yield from store_predicate(function, v.name, own[v.name], code)
            else:
                yield store(v.name, v.type, own[v.name], code)

    for statement in function.body or ():
        if isinstance(statement, Instruction) and statement.base == "ret":
            body += leave(statement)
        body.append(statement)
    body += leave(start)
    function.body = body
