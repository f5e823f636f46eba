"""Functions put into those that call them, where a lock is taken in one function and given back in another.

locks.py has the lanes that have a lock run as far as its release before the others try again.  It sees one function.
So what it needs to see becomes one: functions that wait for a lock and come back with it, those that try once and are
called by a loop, and then those that may give it back.  What is not about locks stays as it is: a function of which no
more is known with others in it is compiled without them.

A function whose name another object may define otherwise stays a call.  C++ allows several definitions of an inline
function only if they are the same, so of `.weak` ones those with a C++ name are taken.
"""

from __future__ import annotations

from . import locks
from .flow import Block, build_blocks
from .opcodes import MEETS, OPCODES, STACK
from .places import Places
from .syntax import (
    Call,
    Function,
    Instruction,
    Label,
    Memory,
    Module,
    Not,
    Operand,
    Pair,
    Register,
    Statement,
    Symbol,
    Variable,
    Vector,
)
from .webs import split_webs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 200
"""Statements of a function that tries for a lock or gives it back."""
LARGEST = 20000
"""Statements of what a function with others in it may become."""
MERGED = "merged"
"""The linkage of `.param` variables that lanes write at different times: what others wrote stays."""
MANGLED = "_Z"
"""How names of C++ begin."""


class Inlining:
    """The functions of a module with others in them."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.made: dict[str, Function] = {}
        self.giving: dict[str, Function] = {}
        self.under_way: set[str] = set()
        self.facts: dict[str, locks.Waits] = {}
        self.looking: set[str] | None = None
        self.count = 0

    def of(self, function: Function) -> Function:
        """What is compiled for a function as V or E."""
        if not self.may_wait(function):
            return function
        made = self.expanded(function)
        if made is function or self.waits(made).released <= self.waits(function).released:
            return function
        return made

    def may_wait(self, function: Function) -> bool:
        """Whether a function calls others, and one of them, or it itself, may wait for a lock."""
        if self.looking is None:
            self.looking = self.find_looking()
        called = {target_name(code) for code in function.body or () if isinstance(code, Call)}
        return bool(called) and (function.name in self.looking or not called.isdisjoint(self.looking))

    def find_looking(self) -> set[str]:
        """The functions that look at memory as those do that wait, and those that call them."""
        callers: dict[str, set[str]] = {}
        todo: list[str] = []
        for name, function in self.module.functions.items():
            for code in function.body or ():
                if isinstance(code, Call):
                    callers.setdefault(target_name(code), set()).add(name)
                elif isinstance(code, Instruction) and locks.looks(code) and (not todo or todo[-1] != name):
                    todo.append(name)
        todo += [alias for alias, (name, _, _) in self.module.aliases.items() if name in set(todo)]
        found: set[str] = set()
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += callers.get(name, ())
        return found

    def expanded(self, function: Function) -> Function:
        """A function with what waits for locks in it, and what may give them back."""
        if function.name not in self.made:
            self.under_way.add(function.name)
            self.made[function.name] = self.expand(function) if self.may_wait(function) else function
            self.under_way.discard(function.name)
        return self.made[function.name]

    def expand(self, function: Function) -> Function:
        """See expanded."""
        blocks = build_blocks(function, self.module.name)
        turning = self.in_loops(blocks)

        def wanted(call: Call, other: Function) -> bool:
            return self.takes(other) or (id(call) in turning and tries(other))

        made = self.put_in(function, wanted, self.expanded)
        return self.with_givers(made) if self.waits(made).unreleased else made

    def with_givers(self, function: Function) -> Function:
        """A function with what may give back locks in it."""
        return self.put_in(function, lambda _, other: self.gives(other), self.giver)

    def giver(self, function: Function) -> Function:
        """The same of a function that another one calls to give back a lock."""
        if function.name not in self.giving:
            self.under_way.add(function.name)
            self.giving[function.name] = self.with_givers(self.expanded(function))
            self.under_way.discard(function.name)
        return self.giving[function.name]

    def in_loops(self, blocks: list[Block]) -> set[int]:
        """id() of the calls in loops."""
        found: set[int] = set()
        for head, latches in locks.back_edges(blocks).items():
            for block in locks.natural_loop(head, latches):
                found |= {id(code) for code in block.code if isinstance(code, Call)}
        return found

    def callee(self, call: Call) -> Function | None:
        """The function of a call, if it can be put where the call is."""
        if not isinstance(call.target, Symbol):
            return None
        found = self.module.function(call.target.name)
        if found is None or found.body is None or found.entry or found.shared or found.noreturn:
            return None
        linkage = self.module.aliases.get(call.target.name, ("", found.linkage, 0))[1]
        if linkage in ("weak", "common") and not found.name.startswith(MANGLED):
            return None
        if found.name in self.under_way or any(effect_of(code) == STACK for code in found.body):
            return None
        return found

    def put_in(
        self, function: Function, wanted: Callable[[Call, Function], bool], made_of: Callable[[Function], Function]
    ) -> Function:
        """A function with those of its calls in it that are wanted, each as `made_of` it; itself if there is none."""
        chosen: dict[int, Function] = {}
        size = len(function.body or ())
        for code in function.body or ():
            other = self.callee(code) if isinstance(code, Call) else None
            if other is None or not isinstance(code, Call) or not same_sizes(function, code, other):
                continue
            other = made_of(other)
            if size + len(other.body or ()) <= LARGEST and wanted(code, other):
                chosen[id(code)] = other
                size += len(other.body or ())
        if not chosen:
            return function
        made = like(function)
        body: list[Statement] = []
        for code in function.body or ():
            if id(code) in chosen and isinstance(code, Call):
                self.count += 1
                body += Body(made, code, chosen[id(code)], f"@{self.count}").statements()
            else:
                body.append(code)
        made.body = body
        return made

    def waits(self, function: Function) -> locks.Waits:
        """What is known of the loops of a function that wait for locks."""
        key = f"{function.name} {len(function.body or ())}"
        if key not in self.facts:
            blocks = build_blocks(function, self.module.name)
            split_webs(blocks, list(function.registers))
            self.facts[key] = locks.waits(function, blocks)
        return self.facts[key]

    def takes(self, function: Function) -> bool:
        """Whether a function comes back with a lock."""
        return self.waits(function).unreleased > 0

    def gives(self, function: Function) -> bool:
        """Whether a function may give back a lock."""
        body = function.body or ()
        if len(body) > SMALL or any(effect_of(code) == MEETS for code in body):
            return False
        places = Places(function, build_blocks(function, self.module.name))
        return any(isinstance(c, Instruction) and locks.may_release(c) and not places.stores_own(c) for c in body)


def target_name(call: Call) -> str:
    """The name that a call has; "" of one by an address."""
    return call.target.name if isinstance(call.target, Symbol) else ""


def tries(function: Function) -> bool:
    """Whether a function may try for a lock once."""
    body = function.body or ()
    return len(body) <= SMALL and any(isinstance(code, Instruction) and locks.looks(code) for code in body)


def effect_of(code: Statement) -> str:
    """What an instruction does besides its result."""
    record = OPCODES.get(code.base) if isinstance(code, Instruction) else None
    return record.effect if record is not None else ""


def same_sizes(caller: Function, call: Call, callee: Function) -> bool:
    """Whether a call passes what the function takes: it is an error otherwise, which the call's lowering tells."""
    sizes = {v.name: v.size for v in (*caller.params, *caller.parameters, *caller.results)}

    def given(operands: tuple[Operand, ...]) -> list[int]:
        return [sizes.get(operand.name, -1) if isinstance(operand, Symbol) else -1 for operand in operands]

    results = [v.size for v in callee.results]
    return given(call.arguments) == [v.size for v in callee.parameters] and given(call.results) in ([], results)


def like(function: Function) -> Function:
    """A function with lists of its own."""
    made = Function(
        function.name, function.entry, function.linkage, function.results, function.parameters, function.line
    )
    made.registers, made.locals = list(function.registers), list(function.locals)
    made.params, made.shared = list(function.params), function.shared
    made.max_threads, made.noreturn = function.max_threads, function.noreturn
    return made


def renamed_variable(variable: Variable, name: str, linkage: str) -> Variable:
    """A variable under another name."""
    return Variable(name, "param", variable.type, variable.count, variable.align, linkage, variable.line)


class Body:
    """A function's body where a call of it was."""

    def __init__(self, caller: Function, call: Call, callee: Function, mark: str) -> None:
        self.call, self.callee, self.mark = call, callee, mark
        self.names: dict[str, str] = {}
        passed = {o.name for o in (*call.arguments, *call.results) if isinstance(o, Symbol)}
        for at, variable in enumerate(caller.params):
            if variable.name in passed:
                caller.params[at] = renamed_variable(variable, variable.name, MERGED)
        for formals, operands in ((callee.parameters, call.arguments), (callee.results, call.results)):
            for variable, operand in zip(formals, operands, strict=bool(operands)):
                if isinstance(operand, Symbol):
                    self.names[variable.name] = operand.name
        for variable in callee.results if not call.results else ():
            self.names[variable.name] = variable.name + mark
            caller.params.append(renamed_variable(variable, variable.name + mark, MERGED))
        for variable in callee.params:
            self.names[variable.name] = variable.name + mark
            caller.params.append(renamed_variable(variable, variable.name + mark, variable.linkage))
        for variable in callee.locals:
            self.names[variable.name] = variable.name + mark
            copy = renamed_variable(variable, variable.name + mark, variable.linkage)
            copy.space, copy.initial, copy.element = variable.space, variable.initial, variable.element
            caller.locals.append(copy)
        self.registers: dict[Register, Register] = {}
        for register in callee.registers:
            self.registers[register] = Register(register.name, register.type, len(caller.registers))
            caller.registers.append(self.registers[register])

    def statements(self) -> list[Statement]:
        """The statements."""
        end = f"end{self.mark}"
        found: list[Statement] = []
        if self.call.guard is not None:
            found.append(branch(end, self.call.line, self.call.guard, not self.call.negated))
        for code in self.callee.body or ():
            guard = self.registers[code.guard] if not isinstance(code, Label) and code.guard is not None else None
            if isinstance(code, Label):
                found.append(Label(code.name + self.mark, code.line))
            elif isinstance(code, Call):
                results, arguments = self.all(code.results), self.all(code.arguments)
                target = self.operand(code.target)
                assert isinstance(target, Symbol | Register)
                found.append(
                    Call(results, target, arguments, code.prototype, code.line, guard, code.negated, code.opcode)
                )
            elif code.base == "ret":
                found.append(branch(end, code.line, guard, code.negated))
            elif code.base == "bra" and isinstance(label := code.operands[0], Symbol):
                found.append(branch(label.name + self.mark, code.line, guard, code.negated))
            else:
                operands = self.all(code.operands)
                found.append(Instruction(code.opcode, operands, code.line, guard, code.negated, code.base, code.mods))
        found.append(Label(end, self.call.line))
        return found

    def all(self, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        """Operands by their names in the caller."""
        return tuple(self.operand(operand) for operand in operands)

    def operand(self, operand: Operand) -> Operand:
        """An operand by its names in the caller."""
        if isinstance(operand, Register):
            return self.registers[operand]
        if isinstance(operand, Symbol):
            return Symbol(self.names.get(operand.name, operand.name), operand.offset)
        if isinstance(operand, Memory):
            base = self.operand(operand.base)
            assert not isinstance(base, Memory | Vector | Not | Pair)
            return Memory(base, operand.offset)  # type: ignore[arg-type]
        if isinstance(operand, Vector):
            return Vector(self.all(operand.items))
        if isinstance(operand, Not):
            return Not(self.registers[operand.register])
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first), self.operand(operand.second))
        return operand


def branch(label: str, line: int, guard: Register | None = None, negated: bool = False) -> Instruction:
    """A jump."""
    return Instruction("bra", (Symbol(label),), line, guard, negated, "bra")
