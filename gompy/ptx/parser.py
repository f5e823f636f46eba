"""The parser: PTX text to `syntax.Module`.

The whole text is cut into words first (words.pyx); a recursive descent over the words is the grammar, here for
declarations and statements, in operands.py for what they consist of.
What is unknown is an error with its line.
Registers are resolved while reading, so that scopes (`{ … }` with registers of the same name) are gone afterwards.
"""

from __future__ import annotations

from .arguments import expand_calls, formal_registers, needs_variables
from .opcodes import OPCODES, REWRITTEN
from .operands import Operands, is_count
from .rewrite import expand_switches, written_out
from .syntax import (
    TYPE_BYTES,
    Call,
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
    Label,
    Memory,
    Module,
    Operand,
    PtxError,
    Register,
    Symbol,
    Variable,
    Vector,
)
from .wanted import DEBUGGER

GCC_BEGINS = "// BEGIN PREAMBLE"
"""The first line of what GCC writes (GCC, config/nvptx/nvptx.cc: nvptx_file_start)."""
LIBRARIES = (
    *("GOMP_", "gomp_", "GOACC_", "goacc_", "omp_", "acc_", "_gfortran", "__gomp", "__nvptx", "__atomic_"),
    *("mem", "str"),
)
"""How names of functions of its libraries begin."""
LINKAGE = {".visible": "visible", ".extern": "extern", ".weak": "weak", ".common": "common"}
SPACES = {".global", ".const", ".shared", ".local", ".param", ".reg"}
VECTORS = {".v2": 2, ".v4": 4}
MOST_REGISTERS = 1 << 18
"""Registers of a function; nvcc's largest kernels have some ten thousand."""
MOST_VARIABLES = 1 << 16
"""Variables that one `x<N>` declares."""
MOST_BYTES = 1 << 46
"""Bytes of a variable: no device has more."""
MOST_PARAMETER_BYTES = 1 << 20
"""Bytes of a parameter of a function, which lies on a stack."""
MOST_KERNEL_BYTES = 32764
"""Bytes of a kernel's parameters (PTX ISA, .param)."""
MOST_ALIGN = 1 << 20


class Parser(Operands):
    """One object's parse; `parse` returns the module."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.used: dict[str, int] = {}
        self.prototypes: dict[str, Function] = {}
        self.prototype = ""  # the label of the `.callprototype` (or `.branchtargets`) at hand
        self.targets: dict[str, list[str]] = {}  # lists of `.branchtargets`
        self.early_aliases: list[tuple[int, str, str]] = []  # of functions that are defined further below
        self.switches = False  # whether the function has `brx.idx`
        self.register_calls: list[tuple[Function, dict[str, Function]]] = []  # bodies with calls to be expanded

    # --- the object ----------------------------------------------------------------------------------------------

    def parse(self) -> Module:
        """The whole text."""
        try:
            return self.whole()
        except RecursionError:
            raise PtxError("nested too deeply", self.line, self.module.name) from None

    def whole(self) -> Module:
        """The same, for texts that are not nested deeply."""
        module = self.module
        while self.word:
            word = self.word
            if word == ".version":
                self.advance()
                major, _, minor = self.advance().partition(".")
                if not (is_count(major) and is_count(minor)):
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
        for line, name, target in self.early_aliases:
            self.second_name(line, name, target)
        for function, prototypes in self.register_calls:
            expand_calls(module, function, prototypes)
        return module

    def alias(self) -> None:
        """`.alias NAME, FUNCTION;`: a function that has been declared is one that is defined.

        The assembler for GCC 15 and 16 writes all of them before the definitions.
        """
        line = self.line
        self.advance()
        name = self.identifier()
        self.expect(",")
        target = self.identifier()
        self.expect(";")
        if target in self.module.declarations and target not in self.module.functions:
            self.early_aliases.append((line, name, target))
        else:
            self.second_name(line, name, target)

    def second_name(self, line: int, name: str, target: str) -> None:
        """A function under another name."""
        module = self.module
        self.check_new(name)
        declared = module.declarations.get(name)
        function = module.function(target)
        if declared is None or function is None or function.entry:
            text = f"'.alias {name}, {target}' needs a declared function and one that is defined before"
            raise PtxError(text, line, module.name)
        module.aliases[name] = function.name, declared.linkage.replace("extern", ""), line

    def check_new(self, name: str) -> None:
        """A function has one definition, be it an alias."""
        module = self.module
        if name in module.functions or name in module.aliases:
            line = module.functions[name].line if name in module.functions else module.aliases[name][2]
            self.fail(f"'{name}' is defined twice (the first is on line {line})")

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

    def variable_head(self) -> tuple[str, int, int, str, bool]:
        """Space, alignment, vector length, type, and whether it is managed, that start a variable's declaration."""
        space, align, vector, kind, managed = self.advance()[1:], 0, 1, "", False
        while True:
            word = self.word
            if word == ".align":
                self.advance()
                align = self.integer()
                if not 0 < align <= MOST_ALIGN or align & (align - 1):
                    self.fail(f"an alignment is a power of two, {MOST_ALIGN} at most: {align}")
            elif word in VECTORS:
                vector = VECTORS[self.advance()]
            elif word == ".attribute":
                self.advance()
                self.expect("(")
                while self.word and self.word != ")":
                    managed |= self.advance() == ".managed"
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
        if managed and space != "global":
            self.fail(f"'.attribute(.managed)' is for .global variables, not for .{space} ones")
        return space, align, vector, kind, managed

    def variables(self, linkage: str) -> list[Variable]:
        """A declaration of variables in memory, up to its `;`."""
        space, align, vector, kind, managed = self.variable_head()
        found = []
        while True:
            line = self.line
            name = self.identifier()
            if self.accept("<"):
                size = align or TYPE_BYTES[kind] * vector
                number = self.integer()
                if not 0 <= number <= MOST_VARIABLES:
                    self.fail(f"'{name}<{number}>' are more than {MOST_VARIABLES} variables")
                for index in range(number):
                    found.append(Variable(f"{name}{index}", space, kind, vector, size, linkage, line, managed=managed))
                self.expect(">")
                if not self.accept(","):
                    break
                continue
            count, dimensions = vector, 0
            while self.accept("["):
                dimensions += 1
                count *= 0 if self.word == "]" else self.integer()
                self.expect("]")
            initial = None
            if self.accept("="):
                initial = self.initializer()
                if count == 0:
                    count = len(initial)
            if count == 0 and not (dimensions and linkage == "extern") and space == "param":
                self.fail(f"'{name}' has no size")
            self.check_size(name, space, count * TYPE_BYTES[kind])
            natural = TYPE_BYTES[kind] * vector
            element = natural if dimensions < 2 else 0
            found.append(Variable(name, space, kind, count, align or natural, linkage, line, initial, element, managed))
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def check_size(self, name: str, space: str, size: int) -> None:
        """A variable or parameter of a function must be of a size that there can be."""
        most = MOST_PARAMETER_BYTES if space == "param" else MOST_BYTES
        if not 0 <= size <= most:
            self.fail(f"'{name}' has {size} bytes: {most} at most")

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
        taken = sum(parameter.size + parameter.align - 1 for parameter in parameters)
        if entry and taken > MOST_KERNEL_BYTES:
            self.fail(f"kernel '{name}' takes {taken} bytes of parameters: {MOST_KERNEL_BYTES} at most")
        while self.word.startswith("."):
            word = self.advance()
            if word == ".noreturn":
                function.noreturn = True
            elif word in (".maxntid", ".reqntid", ".minnctapersm", ".maxnreg", ".maxnctapersm"):
                value = self.integer()
                while self.accept(","):
                    value *= self.integer()
                if not 0 <= value < 1 << 31:
                    self.fail(f"'{word} {value}' is out of range")
                if word in (".maxntid", ".reqntid"):
                    function.max_threads = value
            elif word in (".maxclusterrank", ".reqnctapercluster"):
                blocks = self.integer()
                while self.accept(","):
                    blocks *= self.integer()
                if word == ".reqnctapercluster" and blocks != 1:
                    self.fail(f"'{word} {blocks}': clusters of more than one block are not implemented")
            elif word == ".explicitcluster":
                continue
            elif word == ".pragma":
                self.advance()
                self.accept(";")
            else:
                self.fail(f"unknown directive '{word}'")
        if self.word == "{":
            self.check_new(name)
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
            space, align, vector, kind, _ = self.variable_head()
            name = self.identifier() if self.word not in (",", ")") else ""
            count = vector
            while self.accept("["):
                count *= 0 if self.word == "]" else self.integer()
                self.expect("]")
            self.check_size(name, "param", count * TYPE_BYTES[kind])
            found.append(Variable(name, space, kind, count, align or TYPE_BYTES[kind] * vector, "", line))
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def body(self, function: Function) -> None:
        """`{ … }` of a function."""
        self.function, function.body = function, []
        self.scope, self.variable_scope, self.prototypes = {}, {}, {}
        self.used = {v.name: 1 for v in function.results + function.parameters}
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
        self.scope.pop(variable.name, None)
        variable.name = own

    def registers(self, function: Function) -> None:
        """`.reg .u32 %a, %b<3>;`"""
        _, _, vector, kind, _ = self.variable_head()
        while True:
            name = self.identifier()
            if self.accept("<"):
                count = self.integer()
                if not 0 <= count <= MOST_REGISTERS - len(function.registers):
                    self.fail(f"function '{function.name}' has more than {MOST_REGISTERS} registers: '{name}<{count}>'")
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
        if base in REWRITTEN:
            assert self.function is not None
            code = written_out(self.function, code)
        record = OPCODES[code.base]
        if not record.count <= len(code.operands) <= record.most or (
            record.address >= 0 and not isinstance(code.operands[record.address], Memory)
        ):
            self.check_operands(code, record)
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


def is_library(module: Module) -> bool:
    """Whether an object is of the compiler's libraries: it has no kernel, and some of its functions are known."""
    if any(function.entry for function in module.functions.values()):
        return False
    return any(name.startswith(LIBRARIES) for name in (*module.functions, *module.aliases))


def parse(text: str, name: str = "ptx") -> Module:
    """Parse one object; raises `PtxError` with the line."""
    module = Parser(text.split("\0", 1)[0], name).parse()
    module.by_gcc = text.lstrip().startswith(GCC_BEGINS)
    module.library = is_library(module)
    if ".shared" in text and not module.library:
        from .from_zero import move

        move(module)
    if DEBUGGER:
        module.text = text
    return module
