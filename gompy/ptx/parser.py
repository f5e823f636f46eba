"""The parser: PTX text to `syntax.Module`.

The whole text is cut into words first (words.pyx); a recursive descent over the words is the grammar.
What is unknown is an error with its line.
Registers are resolved while reading, so that scopes (`{ … }` with registers of the same name) are gone afterwards.
"""

from __future__ import annotations

import struct

from .arguments import expand_calls, formal_registers, needs_variables
from .rewrite import BASES, expand_switches, written_out
from .syntax import (
    TYPE_BYTES,
    Call,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Label,
    Location,
    Memory,
    Module,
    Not,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
)
from .words import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

COORDINATES = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
SPECIAL = frozenset(
    [f"%{name}{axis}" for name in COORDINATES for axis in ("", ".x", ".y", ".z")]
    + [f"%{name}" for name in ("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid")]
    + ["%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"]
    + [f"%lanemask_{relation}" for relation in ("eq", "le", "lt", "ge", "gt")]
    + ["%total_smem_size", "%dynamic_smem_size", "%aggr_smem_size", "%cluster_ctarank", "%cluster_nctarank"]
    + ["%is_explicit_cluster", "%current_graph_exec"]
)
"""Special registers (PTX ISA, section 10) but for `%envreg0`… and `%pm0`…"""
LINKAGE = {".visible": "visible", ".extern": "extern", ".weak": "weak", ".common": "common"}
SPACES = {".global", ".const", ".shared", ".local", ".param", ".reg"}
VECTORS = {".v2": 2, ".v4": 4}


def is_special(word: str) -> bool:
    """Whether a name is a special register's."""
    return word in SPECIAL or any(
        word.startswith(p) and word[len(p) :].removesuffix("_64").isdigit() for p in ("%envreg", "%pm")
    )


def float_bits(text: str, width: int) -> int:
    """The bits of a decimal floating constant."""
    if width == 32:
        return int.from_bytes(struct.pack("<f", float(text)), "little")
    return int.from_bytes(struct.pack("<d", float(text)), "little")


class Parser:
    """One object's parse; `parse` returns the module."""

    def __init__(self, text: str, name: str) -> None:
        self.module = Module(name)
        self.line = 1
        self.words, self.lines, directives = cut(text)
        self.at = -1
        self.word = ""
        self.scope: dict[str, Register | Vector] = {}
        self.variable_scope: dict[str, str] = {}
        self.function: Function | None = None
        self.used: dict[str, int] = {}
        self.prototypes: dict[str, Function] = {}
        self.prototype = ""  # the label of the `.callprototype` (or `.branchtargets`) at hand
        self.targets: dict[str, list[str]] = {}  # lists of `.branchtargets`
        self.switches = False  # whether the function has `brx.idx`
        self.register_calls: list[tuple[Function, dict[str, Function]]] = []  # bodies with calls to be expanded
        for self.line, word in directives:
            if word[1] == "l":
                self.location(word)
            else:
                self.source_file(word)
        self.advance()

    # --- words ---------------------------------------------------------------------------------------------------

    def advance(self) -> str:
        """Step to the next word; returns the word left behind."""
        left = self.word
        self.at = at = self.at + 1
        self.word = self.words[at]
        self.line = self.lines[at]
        return left

    def location(self, word: str) -> None:
        """`.loc FILE LINE COLUMN`."""
        numbers = word.split()[1:3]
        if len(numbers) < 2 or not (numbers[0].isdigit() and numbers[1].rstrip(",").isdigit()):
            self.fail(f"'.loc' needs a file number and a line: {word!r}")
        self.module.locations.append(Location(self.line, int(numbers[0]), int(numbers[1].rstrip(","))))

    def source_file(self, word: str) -> None:
        """`.file NUMBER "NAME"`."""
        head, quote, rest = word.partition('"')
        name, end, _ = rest.partition('"')
        number = head.removeprefix(".file").strip()
        if not (quote and end and number.isdigit()):
            self.fail(f"'.file' needs a number and a name: {word!r}")
        self.module.files[int(number)] = name

    def fail(self, message: str) -> NoReturn:
        """Raise the diagnostic for the word at hand."""
        raise PtxError(message, self.line, self.module.name)

    def expect(self, word: str) -> None:
        """The next word must be this one."""
        if self.word != word:
            self.fail(f"expected '{word}' before '{self.word or 'end of file'}'")
        self.advance()

    def accept(self, word: str) -> bool:
        """Take the word if it is there."""
        if self.word == word:
            self.advance()
            return True
        return False

    def identifier(self) -> str:
        """A name."""
        word = self.word
        if not (word and (word[0].isalpha() or word[0] in "_$%")):
            self.fail(f"expected a name before '{word or 'end of file'}'")
        self.advance()
        return word

    def integer(self) -> int:
        """An integer constant expression: a number with signs."""
        sign = 1
        while self.word in "+-" and self.word:
            sign = -sign if self.advance() == "-" else sign
        word = self.word
        if not word[:1].isdigit():
            self.fail(f"expected a number before '{word or 'end of file'}'")
        self.advance()
        return sign * self.number(word)

    def number(self, word: str) -> int:
        """The value of an integer word."""
        try:
            word = word.rstrip("U")
            if word[:2] in ("0x", "0X"):
                return int(word, 16)
            return int(word, 8) if len(word) > 1 and word[0] == "0" else int(word)
        except ValueError:
            self.fail(f"'{word}' is not an integer")
            raise

    # --- the object ----------------------------------------------------------------------------------------------

    def parse(self) -> Module:
        """The whole text."""
        module = self.module
        while self.word:
            word = self.word
            if word == ".version":
                self.advance()
                major, _, minor = self.advance().partition(".")
                if not (major.isdigit() and minor.isdigit()):
                    self.fail("'.version' needs a number such as 6.0")
                module.version = (int(major), int(minor))
            elif word == ".target":
                self.advance()
                module.target = self.advance()
                while self.accept(","):
                    self.advance()
            elif word == ".address_size":
                self.advance()
                if self.integer() != 64:
                    self.fail("only '.address_size 64' is supported")
            elif word in (".section", ".pragma"):
                self.skip_directive()
            elif word == ";":
                self.advance()
            elif word == ".alias":
                self.alias()
            else:
                self.declaration()
        if module.version == (0, 0):
            raise PtxError("no '.version' directive: this is not PTX", 1, module.name)
        for function, prototypes in self.register_calls:
            expand_calls(module, function, prototypes)
        return module

    def alias(self) -> None:
        """`.alias NAME, FUNCTION;`: a function that has been declared is one that has been defined."""
        line = self.line
        self.advance()
        name = self.identifier()
        self.expect(",")
        target = self.identifier()
        self.expect(";")
        functions = self.module.functions
        if name in functions:
            self.fail(f"'{name}' is defined twice (the first is on line {functions[name].line})")
        declared = self.module.declarations.get(name)
        if declared is None or target not in functions or functions[target].entry:
            text = f"'.alias {name}, {target}' needs a declared function and one that is defined before"
            raise PtxError(text, line, self.module.name)
        from copy import deepcopy

        function = deepcopy(functions[target])
        function.name, function.linkage = name, declared.linkage.replace("extern", "")
        functions[name] = function
        for known, prototypes in self.register_calls:
            if known is functions[target]:
                self.register_calls.append((function, prototypes))
                break

    def skip_directive(self) -> None:
        """A directive that means nothing to us: up to `;` or through its braces."""
        while self.word and self.word not in ";{":
            self.advance()
        if self.accept("{"):
            while self.word and self.word != "}":
                self.advance()
        self.advance()

    def declaration(self) -> None:
        """A variable or function at the top level."""
        linkage = ""
        while self.word in LINKAGE:
            linkage = LINKAGE[self.advance()]
        if self.word in (".func", ".entry"):
            self.function_declaration(linkage)
        elif self.word in (".global", ".const", ".shared"):
            for variable in self.variables(linkage):
                known = self.module.variables.get(variable.name)
                if known is None or known.linkage == "extern":
                    self.module.variables[variable.name] = variable
                elif variable.linkage != "extern":
                    self.fail(f"'{variable.name}' is defined twice (the first is on line {known.line})")
        else:
            self.fail(f"unknown directive '{self.word}'")

    def variable_head(self) -> tuple[str, int, int, str]:
        """Space, alignment, vector length and type that start a variable's declaration."""
        space, align, vector, kind = self.advance()[1:], 0, 1, ""
        while True:
            word = self.word
            if word == ".align":
                self.advance()
                align = self.integer()
            elif word in VECTORS:
                vector = VECTORS[self.advance()]
            elif word == ".attribute":
                self.advance()
                self.expect("(")
                while self.word and self.word != ")":
                    self.advance()
                self.expect(")")
            elif word == ".ptr":
                self.advance()
                while self.word in SPACES:
                    self.advance()
            elif word[:1] == "." and word[1:] in TYPE_BYTES:
                kind = self.advance()[1:]
            else:
                break
        if not kind:
            self.fail(f"expected a type before '{self.word or 'end of file'}'")
        return space, align, vector, kind

    def variables(self, linkage: str) -> list[Variable]:
        """A declaration of variables in memory, up to its `;`."""
        space, align, vector, kind = self.variable_head()
        found = []
        while True:
            line = self.line
            name = self.identifier()
            if self.accept("<"):
                size = align or TYPE_BYTES[kind] * vector
                for index in range(self.integer()):
                    found.append(Variable(f"{name}{index}", space, kind, vector, size, linkage, line))
                self.expect(">")
                if not self.accept(","):
                    break
                continue
            count, array = vector, False
            while self.accept("["):
                array = True
                count *= 0 if self.word == "]" else self.integer()
                self.expect("]")
            initial = None
            if self.accept("="):
                initial = self.initializer()
                if count == 0:
                    count = len(initial)
            if count == 0 and not (array and linkage == "extern") and space == "param":
                self.fail(f"'{name}' has no size")
            found.append(Variable(name, space, kind, count, align or TYPE_BYTES[kind] * vector, linkage, line, initial))
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def initializer(self) -> list[int | float | Symbol | FloatImmediate]:
        """Initial values: a constant, or constants in braces (nested ones are flattened)."""
        if self.accept("{"):
            values: list[int | float | Symbol | FloatImmediate] = []
            while self.word != "}":
                values += self.initializer()
                if not self.accept(","):
                    break
            self.expect("}")
            return values
        word = self.word
        if word[:1].isalpha() or word[:1] in ("_", "$"):
            return [self.symbol_value()]
        operand = self.constant()
        if isinstance(operand, Immediate):
            return [operand.value]
        return [operand]

    def symbol_value(self) -> Symbol:
        """An address in an initializer: `name`, `name + 8`, `generic(name) + 8`."""
        name = self.identifier()
        if name == "generic":
            self.expect("(")
            name = self.identifier()
            self.expect(")")
        offset = self.integer() if self.word in ("+", "-") else 0
        return Symbol(name, offset)

    # --- functions -----------------------------------------------------------------------------------------------

    def function_declaration(self, linkage: str) -> None:
        """`.func (results) name (parameters) attributes ;` or a body."""
        entry = self.advance() == ".entry"
        line = self.line
        results = self.parameter_list() if self.word == "(" else []
        name = self.identifier()
        parameters = self.parameter_list() if self.word == "(" else []
        function = Function(name, entry, linkage, results, parameters, line)
        while self.word.startswith("."):
            word = self.advance()
            if word == ".noreturn":
                function.noreturn = True
            elif word in (".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxnctapersm"):
                value = self.integer()
                while self.accept(","):
                    value *= self.integer()
                if word in (".maxntid", ".reqntid"):
                    function.max_threads = value
            elif word == ".pragma":
                self.advance()
                self.accept(";")
            else:
                self.fail(f"unknown directive '{word}'")
        if self.word == "{":
            known = self.module.functions.get(name)
            if known is not None:
                self.fail(f"'{name}' is defined twice (the first is on line {known.line})")
            if linkage == "" and name in self.module.declarations:
                function.linkage = self.module.declarations[name].linkage.replace("extern", "")
            self.body(function)
            self.module.functions[name] = function
        else:
            self.expect(";")
            self.module.declarations.setdefault(name, function)

    def parameter_list(self) -> list[Variable]:
        """`(.param .u64 %a, …)`."""
        self.expect("(")
        found = []
        while self.word != ")":
            if self.word not in (".param", ".reg"):
                self.fail(f"expected '.param' before '{self.word or 'end of file'}'")
            line = self.line
            space, align, vector, kind = self.variable_head()
            name = self.identifier() if self.word not in (",", ")") else ""
            count = vector
            while self.accept("["):
                count *= 0 if self.word == "]" else self.integer()
                self.expect("]")
            found.append(Variable(name, space, kind, count, align or TYPE_BYTES[kind] * vector, "", line))
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def body(self, function: Function) -> None:
        """`{ … }` of a function."""
        self.function, function.body = function, []
        self.scope, self.variable_scope, self.used, self.prototypes = {}, {}, {}, {}
        self.targets, self.switches = {}, False
        self.expect("{")
        formals = [v for v in function.results + function.parameters if v.space == "reg"]
        for variable in formals:
            self.register(function, variable.name, variable.type, 1)
        registers = function.registers[:]
        self.block(function)
        if formals:
            formal_registers(function, registers)
        if self.switches:
            expand_switches(function, self.targets, self.module.name)
        self.function = None

    def block(self, function: Function) -> None:
        """The statements up to the `}` of this scope, which is taken."""
        body = function.body
        assert body is not None
        outer, outer_variables = self.scope, self.variable_scope
        while True:
            word = self.word
            if word == "}":
                self.advance()
                break
            if word == "{":
                self.advance()
                # Most scopes declare something: a copy that shares the registers of the outer one.
                self.scope, self.variable_scope = dict(outer), dict(outer_variables)
                self.block(function)
                self.scope, self.variable_scope = outer, outer_variables
            elif word[:1] == ".":
                self.body_directive(function)
            elif word == "@":
                self.advance()
                negated = self.accept("!")
                name = self.identifier()
                guard = self.scope.get(name)
                if not isinstance(guard, Register) or guard.type != "pred":
                    self.fail(f"'{name}' is not a predicate register")
                body.append(self.instruction(guard, negated))
            elif word == ";":
                self.advance()
            elif word == "":
                self.fail(f"end of file in function '{function.name}'")
            else:
                line = self.line
                if self.words[self.at + 1] == ":":
                    name = self.identifier()
                    self.advance()
                    if self.word not in (".callprototype", ".branchtargets"):
                        body.append(Label(name, line))
                    else:
                        self.prototype = name
                else:
                    body.append(self.instruction(None, False))

    def body_directive(self, function: Function) -> None:
        """A declaration inside a function."""
        word = self.word
        if word == ".reg":
            self.registers(function)
        elif word == ".param":
            for variable in self.variables(""):
                self.local_name(variable)
                function.params.append(variable)
        elif word == ".local":
            for variable in self.variables(""):
                self.local_name(variable)
                function.locals.append(variable)
        elif word == ".shared":
            for variable in self.variables(""):
                self.local_name(variable)
                function.shared.append(variable)
        elif word in (".global", ".const"):
            for variable in self.variables(""):
                self.local_name(variable)
                self.module.variables[variable.name] = variable
        elif word == ".callprototype":
            line = self.line
            self.advance()
            results = self.parameter_list() if self.word == "(" else []
            self.identifier()
            parameters = self.parameter_list() if self.word == "(" else []
            while self.word.startswith("."):
                self.advance()
            self.expect(";")
            self.prototypes[self.prototype] = Function(self.prototype, False, "", results, parameters, line)
        elif word == ".branchtargets":
            self.advance()
            names = [self.identifier()]
            while self.accept(","):
                names.append(self.identifier())
            self.expect(";")
            self.targets[self.prototype] = names
        elif word in (".pragma", ".section") or word == ".calltargets":
            self.skip_directive()
        else:
            self.fail(f"unknown directive '{word}'")

    def local_name(self, variable: Variable) -> None:
        """Give a variable of a scope a name that is its own in the function."""
        assert self.function is not None
        count = self.used.get(variable.name, 0)
        self.used[variable.name] = count + 1
        own = (
            f"{variable.name}@{count}"
            if count or variable.space in ("local", "shared", "global", "const")
            else variable.name
        )
        if own != variable.name and variable.space in ("shared", "global", "const"):
            own = f"{self.function.name}@{own}"
        self.variable_scope[variable.name] = own
        variable.name = own

    def registers(self, function: Function) -> None:
        """`.reg .u32 %a, %b<3>;`"""
        _, _, vector, kind = self.variable_head()
        while True:
            name = self.identifier()
            if self.accept("<"):
                count = self.integer()
                self.expect(">")
                for index in range(count):
                    self.register(function, f"{name}{index}", kind, vector)
            else:
                self.register(function, name, kind, vector)
            if not self.accept(","):
                break
        self.expect(";")

    def register(self, function: Function, name: str, kind: str, vector: int) -> None:
        """Declare one register; a vector register is that many registers."""
        pool = function.registers
        if vector == 1:
            self.scope[name] = register = Register(name, kind, len(pool))
            pool.append(register)
            return
        parts = []
        for part in "xyzw"[:vector]:
            self.scope[f"{name}.{part}"] = register = Register(f"{name}.{part}", kind, len(pool))
            pool.append(register)
            parts.append(register)
        self.scope[name] = Vector(tuple(parts))

    # --- instructions --------------------------------------------------------------------------------------------

    def instruction(self, guard: Register | None, negated: bool) -> Instruction | Call:
        """One instruction, its `;` taken."""
        line = self.line
        opcode = self.identifier()
        if opcode == "call" or opcode == "call.uni":
            return self.call(opcode, line, guard, negated)
        operands: list[Operand] = []
        if self.word != ";":
            while True:
                operands.append(self.operand())
                if self.word == ",":
                    self.advance()
                else:
                    break
        if self.word != ";":
            self.fail(f"expected ';' before '{self.word or 'end of file'}'")
        self.advance()
        base, _, rest = opcode.partition(".")
        mods = tuple(rest.split(".")) if rest else ()
        code = Instruction(opcode, tuple(operands), line, guard, negated, base, mods)
        if base in BASES:
            assert self.function is not None
            return written_out(self.function, code)
        self.switches |= base == "brx"
        return code

    def call(self, opcode: str, line: int, guard: Register | None, negated: bool) -> Call:
        """`call (ret), target, (arguments), prototype;`."""
        results: tuple[Operand, ...] = ()
        if self.word == "(":
            results = self.call_list()
            self.expect(",")
        target = self.operand()
        if not isinstance(target, Symbol | Register):
            self.fail("the target of 'call' must be a function or a register")
        arguments: tuple[Operand, ...] = ()
        prototype = None
        while self.accept(","):
            if self.word == "(":
                arguments = self.call_list()
            else:
                prototype = self.identifier()
        self.expect(";")
        code = Call(results, target, arguments, prototype, line, guard, negated, opcode)
        if needs_variables(code):
            assert self.function is not None
            if not self.register_calls or self.register_calls[-1][0] is not self.function:
                self.register_calls.append((self.function, self.prototypes))
        return code

    def call_list(self) -> tuple[Operand, ...]:
        """`(a, b)`."""
        self.expect("(")
        found = []
        while self.word != ")":
            found.append(self.operand())
            if not self.accept(","):
                break
        self.expect(")")
        return tuple(found)

    def operand(self) -> Operand:
        """One operand."""
        word = self.word
        first = word[:1]
        if first == "%" or first == "$" or first == "_" or first.isalpha():
            return self.named_operand()
        if first == "[":
            return self.memory()
        if first == "{":
            self.advance()
            items = []
            while True:
                items.append(self.operand())
                if not self.accept(","):
                    break
            self.expect("}")
            return Vector(tuple(items))
        if first == "!":
            self.advance()
            register = self.operand()
            if not isinstance(register, Register):
                self.fail("'!' needs a predicate register")
            return Not(register)
        return self.constant()

    def named_operand(self) -> Operand:
        """A register, special register, symbol, or a pair of destinations."""
        word = self.word
        found: Operand | None = self.scope.get(word)
        self.advance()
        if found is None:
            if word == "_":
                found = Sink()
            elif word == "WARP_SZ":
                return Immediate(32)
            elif word[0] == "%" and is_special(word):
                return Special(word)
            elif word[0] == "%" and word not in self.variable_scope and not self.is_parameter(word):
                self.fail(f"unknown register '{word}'")
            else:
                offset = self.integer() if self.word in ("+", "-") else 0
                return Symbol(self.variable_scope.get(word, word), offset)
        assert found is not None
        if self.word == "|":
            self.advance()
            return Pair(found, self.named_operand())
        return found

    def is_parameter(self, name: str) -> bool:
        """Whether the function at hand has this parameter or result."""
        function = self.function
        assert function is not None
        return any(v.name == name for v in function.parameters) or any(v.name == name for v in function.results)

    def memory(self) -> Memory:
        """`[base + offset]`."""
        self.advance()
        base: Operand
        if self.word[:1].isdigit():
            base = Immediate(self.integer())
        else:
            base = self.named_operand()
        if not isinstance(base, Register | Symbol | Immediate):
            self.fail("an address must be a register, a name or a number")
        offset = 0
        while self.word in ("+", "-"):
            if self.word == "+":
                self.advance()
            offset += self.integer()
        self.expect("]")
        if isinstance(base, Symbol):
            return Memory(Symbol(base.name), base.offset + offset)
        return Memory(base, offset)

    def constant(self) -> Immediate | FloatImmediate:
        """A number."""
        sign = 1
        while self.word in ("+", "-"):
            sign = -sign if self.advance() == "-" else sign
        word = self.word
        if word[:2] in ("0f", "0F") and len(word) == 10:
            self.advance()
            return FloatImmediate(int(word[2:], 16) ^ (0x80000000 if sign < 0 else 0), 32)
        if word[:2] in ("0d", "0D") and len(word) == 18:
            self.advance()
            return FloatImmediate(int(word[2:], 16) ^ (1 << 63 if sign < 0 else 0), 64)
        if word[:1].isdigit() and ("." in word or ("e" in word.lower() and word[:2].lower() != "0x")):
            self.advance()
            return FloatImmediate(float_bits(word, 64) ^ (1 << 63 if sign < 0 else 0), 64)
        return Immediate(sign * self.integer())


def parse(text: str, name: str = "ptx") -> Module:
    """Parse one object; raises `PtxError` with the line."""
    return Parser(text.split("\0", 1)[0], name).parse()
