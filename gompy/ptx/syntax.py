"""What a PTX object is made of: the nodes that the parser makes (PTX ISA, sections 4 to 7)."""

from __future__ import annotations

from gompy.abi.ptx import TEXTURE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field

    from .source_variables import SourceVariable
else:
    from gompy.records import dataclass, field

TYPE_BYTES = {
    "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4,
    "b64": 8, "u64": 8, "s64": 8, "f64": 8, "pred": 1,
    "bf16": 2, "f16x2": 4, "bf16x2": 4, "texref": TEXTURE_BYTES,
    "surfref": TEXTURE_BYTES,
}  # fmt: skip
"""Size in bytes of each fundamental type."""


class PtxError(Exception):
    """A diagnostic: what is wrong, in which object, on which line."""

    def __init__(self, message: str, line: int = 0, name: str = "", supported: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.name = name
        self.unsupported = supported

    def __str__(self) -> str:
        where = f"{self.name}:{self.line}: " if self.name and self.line else f"{self.name}: " if self.name else ""
        return f"{where}error: {self.message}"


class Gone(PtxError):
    """The text is not in the cache any more: the executor has a copy."""


class Unsupported(PtxError):
    """Valid PTX that the compiler does not implement."""


@dataclass(slots=True, eq=False)
class Register:
    """A virtual register (or one element of a vector register); identity is the object."""

    name: str
    type: str
    number: int = 0


@dataclass(slots=True, frozen=True)
class Special:
    """A special register: `%tid.x`, `%laneid`, …"""

    name: str


@dataclass(slots=True, frozen=True)
class Immediate:
    """An integer constant."""

    value: int


@dataclass(slots=True, frozen=True)
class FloatImmediate:
    """A floating constant: the bits, and of which width they are (32, 64)."""

    bits: int
    width: int


@dataclass(slots=True, frozen=True)
class Symbol:
    """The address of a variable, function, parameter or label, plus an offset."""

    name: str
    offset: int = 0


@dataclass(slots=True, frozen=True)
class Memory:
    """`[base + offset]`."""

    base: Register | Symbol | Immediate
    offset: int = 0


@dataclass(slots=True, frozen=True)
class Vector:
    """`{a, b}`, or a whole vector register."""

    items: tuple[Operand, ...]


@dataclass(slots=True, frozen=True)
class Not:
    """`!%p` as a source operand."""

    register: Register


@dataclass(slots=True, frozen=True)
class Pair:
    """`%p|%q`: two destinations."""

    first: Operand
    second: Operand


@dataclass(slots=True, frozen=True)
class Sink:
    """`_`: a destination that nobody reads."""


Operand = Register | Special | Immediate | FloatImmediate | Symbol | Memory | Vector | Not | Pair | Sink


@dataclass(slots=True)
class Instruction:
    """One instruction.  `opcode` is written out (`ld.param.u64`); `guard` is the predicate of `@%p`, negated or not."""

    opcode: str
    operands: tuple[Operand, ...]
    line: int
    guard: Register | None = None
    negated: bool = False
    base: str = ""
    mods: tuple[str, ...] = ()


@dataclass(slots=True)
class Call:
    """`call (ret), target, (arguments), prototype;`: names of `.param` variables (or registers, immediates)."""

    results: tuple[Operand, ...]
    target: Symbol | Register
    arguments: tuple[Operand, ...]
    prototype: str | None
    line: int
    guard: Register | None = None
    negated: bool = False
    opcode: str = "call"


def copied(code: Instruction | Call) -> Instruction | Call:
    """A node like another one; operands are shared."""
    if isinstance(code, Call):
        return Call(
            code.results, code.target, code.arguments, code.prototype, code.line, code.guard, code.negated, code.opcode
        )
    return Instruction(code.opcode, code.operands, code.line, code.guard, code.negated, code.base, code.mods)


@dataclass(slots=True)
class Label:
    """A label of the function's body."""

    name: str
    line: int


@dataclass(slots=True)
class Variable:
    """A declared variable; `count` elements of `type` (0: size unknown), bytes, alignment, initial values."""

    name: str
    space: str
    type: str
    count: int
    align: int
    linkage: str = ""
    line: int = 0
    initial: list[int | float | Symbol | FloatImmediate] | None = None
    element: int = 0  # bytes from one index to the next; 0: there are several indices
    managed: bool = False  # .attribute(.managed): the host uses it, too

    @property
    def size(self) -> int:
        """Bytes."""
        return TYPE_BYTES[self.type] * self.count


@dataclass(slots=True)
class Location:
    """A `.loc`: from `line` of the PTX on, the source is line `source_line` of file number `file`."""

    line: int
    file: int
    source_line: int


Statement = Instruction | Call | Label


@dataclass(slots=True)
class Function:
    """A `.func` or `.entry`: `body` is None for a declaration."""

    name: str
    entry: bool
    linkage: str
    results: list[Variable]
    parameters: list[Variable]
    line: int
    body: list[Statement] | None = None
    registers: list[Register] = field(default_factory=list)
    locals: list[Variable] = field(default_factory=list)
    params: list[Variable] = field(default_factory=list)
    shared: list[Variable] = field(default_factory=list)
    max_threads: int = 0
    noreturn: bool = False


@dataclass(slots=True)
class Module:
    """One PTX object."""

    name: str
    version: tuple[int, int] = (0, 0)
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    declarations: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    aliases: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    """Second names of functions: the first name (of one in `functions`), the linkage, the line."""
    files: dict[int, str] = field(default_factory=dict)
    locations: list[Location] = field(default_factory=list)
    by_gcc: bool = False
    library: bool = False
    """Whether it is of a compiler's libraries: what its functions do for each other is not the program's."""
    text: str = ""
    """What it was read from, where code is made for a debugger."""
    variables_of: dict[str, list[SourceVariable]] | None = None
    """What source_variables.py finds in it."""

    def function(self, name: str) -> Function | None:
        """What is defined under a name, which may be an alias."""
        return self.functions.get(self.aliases[name][0] if name in self.aliases else name)
