"""Words, numbers and operands of PTX: what the parser of declarations and statements (parser.py) is made of."""

from __future__ import annotations

import struct

from .opcodes import Opcode
from .syntax import (
    FloatImmediate,
    Function,
    Immediate,
    Instruction,
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
    + [f"%reserved_smem_offset_{which}" for which in ("begin", "end", "cap", "0", "1")]
)
"""Special registers (PTX ISA, section 10) but for `%envreg0`… and `%pm0`…"""


def is_special(word: str) -> bool:
    """Whether a name is a special register's."""
    return word in SPECIAL or any(
        word.startswith(p) and word[len(p) :].removesuffix("_64").isdigit() for p in ("%envreg", "%pm")
    )


def is_count(word: str) -> bool:
    """Whether a word is a number that the index of an object has room for."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def architecture(module: Module) -> int:
    """The number in `.target sm_N`; 0 if there is none."""
    digits = module.target.removeprefix("sm_").rstrip("af")
    return int(digits) if is_count(digits) else 0


def float_bits(text: str, width: int) -> int:
    """The bits of a decimal floating constant."""
    if width == 32:
        return int.from_bytes(struct.pack("<f", float(text)), "little")
    return int.from_bytes(struct.pack("<d", float(text)), "little")


def without_octals(name: str) -> str:
    """A file's name with the bytes that LLVM's assembly printer writes as three octal digits: all beyond ASCII."""
    if "\\" not in name:
        return name
    import re  # at the start it would cost more than the rest

    data = name.encode("utf-8", "surrogateescape")
    whole = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8) & 0xFF]), data)
    return whole.decode("utf-8", "surrogateescape")


class Operands:
    """Where the parser stands in an object's text, and what is declared there."""

    def __init__(self, text: str, name: str) -> None:
        self.module = Module(name)
        self.line = 1
        self.words, self.lines, directives = cut(text)
        self.at = -1
        self.word = ""
        self.scope: dict[str, Register | Vector] = {}
        self.variable_scope: dict[str, str] = {}
        self.function: Function | None = None
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
        if len(numbers) < 2 or not (is_count(numbers[0]) and is_count(numbers[1].rstrip(","))):
            self.fail(f"'.loc' needs a file number and a line: {word!r}")
        self.module.locations.append(Location(self.line, int(numbers[0]), int(numbers[1].rstrip(","))))

    def source_file(self, word: str) -> None:
        """`.file NUMBER "NAME"`."""
        head, quote, rest = word.partition('"')
        name, end, _ = rest.partition('"')
        number = head.removeprefix(".file").strip()
        if not (quote and end and is_count(number)):
            self.fail(f"'.file' needs a number and a name: {word!r}")
        self.module.files[int(number)] = without_octals(name)

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
                value = int(word, 16)
            else:
                value = int(word, 8) if len(word) > 1 and word[0] == "0" else int(word)
        except ValueError:
            self.fail(f"'{word[:40]}' is not an integer")
            raise
        if value >> 64:
            self.fail(f"'{word[:40]}' does not fit into 64 bits")
        return value

    # --- operands -----------------------------------------------------------------------------------------------------

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
            if not isinstance(register, Register) or register.type != "pred":
                self.fail("'!' needs a predicate register")
            return Not(register)
        return self.constant()

    def check_operands(self, code: Instruction, record: Opcode) -> None:
        """The operands of an instruction must be as many as its opcode's, for what follows counts on that."""
        from .absent import is_ptx

        if is_ptx(code):
            return
        self.line = code.line
        if record.count <= len(code.operands) <= record.most:
            self.fail(f"operand {record.address + 1} of '{code.opcode}' must be an address")
        self.fail(f"'{code.opcode}' needs {record.numbers()} operands, {len(code.operands)} given")

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
            elif word[0] == "%" and word[-2:] == ".w" and word[1:-2] in COORDINATES:
                return Immediate(0)  # the ISA: unused, and always zero
            elif word[0] == "%" and word not in self.variable_scope and not self.is_parameter(word):
                self.fail(f"unknown register '{word}'")
            else:
                name = self.variable_scope.get(word, word)
                chosen = self.scope.get(self.words[self.at + 1]) if self.word == "[" else None
                if isinstance(chosen, Register):
                    return self.chosen_element(word, name, chosen)
                offset = self.element(word, name) if self.word == "[" else 0
                offset += self.integer() if self.word in ("+", "-") else 0
                return Symbol(name, offset)
        assert found is not None
        if self.word == "|":
            self.advance()
            return Pair(found, self.named_operand())
        return found

    def size_of_element(self, name: str, shown: str) -> int:
        """Bytes of an element of a variable."""
        function = self.function
        assert function is not None
        own = {variable.name: variable for variable in (*function.shared, *function.locals)}
        variable = own.get(name) or self.module.variables.get(name)
        if variable is None or not variable.element:
            self.fail(f"'{shown}' is not an element of an array with one dimension")
        assert variable is not None
        return variable.element

    def element(self, word: str, name: str) -> int:
        """`[3]` after a variable's name: bytes before that element (tinygrad writes so)."""
        self.expect("[")
        index = self.integer()
        self.expect("]")
        return index * self.size_of_element(name, f"{word}[{index}]")

    def chosen_element(self, word: str, name: str, index: Register) -> Memory:
        """`[%r]` or `[%r + 1]` after a variable's name (Dr.Jit writes so): what makes its address goes before."""
        self.advance()
        self.advance()
        offset = self.integer() if self.word in ("+", "-") else 0
        self.expect("]")
        size = self.size_of_element(name, f"{word}[{index.name}]")
        function = self.function
        assert function is not None and function.body is not None
        if index.type not in ("b32", "u32", "s32", "b64", "u64", "s64"):
            self.fail(f"'{index.name}' of .{index.type} is no index")
        start, place = (Register(f"%{name}@", "b64", len(function.registers) + i) for i in (0, 1))
        function.registers += (start, place)
        mods = ("lo", "u64") if index.type[1:] == "64" else ("wide", "s32" if index.type == "s32" else "u32")
        self.before("mov", ("u64",), start, Symbol(name))
        self.before("mad", mods, place, index, Immediate(size), start)
        return Memory(place, offset * size)

    def before(self, base: str, mods: tuple[str, ...], *operands: Operand) -> None:
        """An instruction ahead of the one that is read."""
        function = self.function
        assert function is not None and function.body is not None
        opcode = ".".join((base, *mods))
        function.body.append(Instruction(opcode, operands, self.line, None, False, base, mods))

    def is_parameter(self, name: str) -> bool:
        """Whether the function at hand has this parameter or result."""
        function = self.function
        assert function is not None
        return any(v.name == name for v in function.parameters) or any(v.name == name for v in function.results)

    def memory(self) -> Memory | Vector:
        """`[base + offset]`; of a texture and coordinates, `[texture, {x, y}]`, all of them one after the other."""
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
        if self.word == ",":
            return self.place_in_texture(base)
        self.expect("]")
        if isinstance(base, Symbol):
            return Memory(Symbol(base.name), base.offset + offset)
        return Memory(base, offset)

    def place_in_texture(self, base: Operand) -> Vector:
        """What follows in `[texture, {x, y}]`."""
        found = [base]
        while self.accept(","):
            operand = self.operand()
            found += operand.items if isinstance(operand, Vector) else (operand,)
        self.expect("]")
        return Vector(tuple(found))

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
