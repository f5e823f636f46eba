"""LLVM IR of one function in one version: values, registers, and small helpers.  lower.py drives it.

A uniform register is a scalar, a varying one a vector of 32 lanes; registers are allocas that LLVM turns into SSA.
"""

from __future__ import annotations

import os
import struct

from gompy.abi import ptx as abi

from . import wanted
from .backend import has_masks
from .strides import Exact, Strides
from .sums import Sums
from .syntax import (
    TYPE_BYTES,
    Call,
    FloatImmediate,
    Immediate,
    Instruction,
    Not,
    Operand,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
)
from .uniform import Analysis, single_definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import NoReturn

    from .conflicts import Conflicts
else:
    from gompy.records import dataclass

IOTA = {n: "<" + ", ".join(f"i64 {i * n}" for i in range(32)) + ">" for n in (1, 2, 4, 8)}
"""32 offsets of elements of n bytes, which follow each other."""
LLVM_TYPE = {
    "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "b32": "i32", "u32": "i32",
    "s32": "i32", "f32": "float", "b64": "i64", "u64": "i64", "s64": "i64", "f64": "double", "pred": "i1",
    "f16": "i16", "bf16": "i16", "f16x2": "i32", "bf16x2": "i32",
}  # fmt: skip
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
FULL = "<32 x i1>"
OWN_BITS = "<" + ", ".join(f"i32 {1 << lane}" for lane in range(32)) + ">"
"""Each lane's bit of a mask word."""
ADDRESSES = frozenset(("i32", "i64"))
LONGEST = 512
"""Bytes of the longest access: 32 vectors of 16 bytes."""


@dataclass(slots=True, frozen=True)
class Value:
    """An SSA value or constant: element type, one for all lanes or one for each, text."""

    type: str
    vector: bool
    text: str

    @property
    def full(self) -> str:
        """The LLVM type."""
        return f"<32 x {self.type}>" if self.vector else self.type

    @property
    def typed(self) -> str:
        """Type and text, as an argument."""
        return f"{self.full} {self.text}"


@dataclass(slots=True, frozen=True)
class ParamPlace:
    """Where a `.param` variable's value is: host memory; `scale` is 32 if there is one value for each lane."""

    pointer: str
    scale: int
    size: int


@dataclass(slots=True)
class SeenLines:
    """What a function keeps of the lines of 64 bytes of which it has seen that all are written (seen.py)."""

    slots: list[str]
    places: list[int]  # lines of text where they are forgotten
    loops: dict[tuple[int, int], tuple[dict[Register, list[Instruction | Call]], bool]]  # what is known of some


class Links:
    """The words of a unit's link table, filled in when the code is loaded.  Word 0 is the unit itself."""

    def __init__(self) -> None:
        self.index: dict[tuple[str, str], int] = {("unit", ""): 0}
        self.slow: dict[str, str] = {}  # declarations of shared functions that are called

    def word(self, kind: str, name: str) -> int:
        """The index of the word for a symbol; kinds: `symbol` (its address) and `function` (its descriptor)."""
        return self.index.setdefault((kind, name), len(self.index))


class Emitter:
    """The text of one function; `lines` grows."""

    def __init__(self, analysis: Analysis, links: Links, name: str, kind: int = abi.PLAIN) -> None:
        self.a = analysis
        self.checked = kind != abi.PLAIN  # each warp by itself, and what happens is told
        self.shadowed = kind in (abi.CHECKED, abi.BOTH)  # accesses are held against their memory's shadow (checks.py)
        self.racing = kind in (abi.RACING, abi.BOTH)  # and told to who looks for races (racing.py)
        self.links = links
        self.name = name
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.begin: list[str] = []  # stores where a warp begins, behind `entry`
        self.count = 0
        self.line = 0
        self.mask = "%m"
        self.lane = ""  # the number of the one lane that code is for (singly.py)
        self.seen: SeenLines | None = None  # of code that is held against the shadow (seen.py)
        self.trusted: set[int] = set()  # accesses that need no look at it, by their identity (spans.py)
        self.otherwise = ""  # there, where to go on if an access is not of device memory
        self.below = 0  # … bytes to the lowest place that is accessed by the same base
        self.sure = False  # … whether an access by the same base before it was of device memory
        self.only = ""  # … whether its accesses are done (i1), where that is no branch's matter (unbranched.py)
        self.active = "%m"  # the mask of the instruction at hand: the block's and its guard's
        self.guarded = False
        self.block = 0
        self.slots: dict[Register, str] = {}
        self.local_offset: dict[str, int] = {}
        self.params: dict[str, ParamPlace] = {}
        self.kernel_params: ParamPlace | None = None  # a kernel's parameters as a block, and where they are in it:
        self.param_offset: dict[str, int] = {}
        self.known: set[str] = set()
        self.barriers: dict[int, int] = {}  # of checked code: their numbers, by the identity of the statement
        self.notes = 0  # of accesses whose races are looked for (racing.py)
        self.merge_params: set[str] = set()  # results: lanes write them in different blocks
        self.fast = not os.environ.get("GOMPY_PTX_PLAIN")
        self.guesses: Strides | None = None
        self.certain: Exact | None = None
        self.additions: Sums | None = None
        self.rows_read: set[int] | None = None  # loads whose next row is fetched with them (ahead.py)
        self.defined_once: dict[Register, Instruction | Call] | None = None
        self.compared: set[Register] | None = None  # predicates that are more than guards (bounds.py)
        self.code: Instruction | Call | None = None  # the statement at hand
        self.merged: set[int] = set()  # numbers of registers that keep what lanes that are off had before
        # Of addresses, as the next: the line behind it, the value, the lanes that it was set for, what made it if that
        # is all lanes' (bases.py).
        self.definitions: dict[Register, list[tuple[int, Value, str, Instruction | None]]] = {}
        self.changed: dict[Register, int] = {}  # the line behind what last set a register that is kept as one number
        self.spreads: dict[tuple[Register, int], tuple[int, Value]] = {}  # made in which block (progressions.compared)
        self.straight = 0  # the line from which on neither branches nor barriers are between instructions (again.py)
        self.asked: dict[tuple[Register, object], list[str]] = {}
        self.mostly: dict[str, tuple[str, str]] = {}  # of a word: whether it is all lanes (i1), and what it is if not
        self.tested: dict[tuple[object, ...], str] = {}  # in a block, as far as its next barrier (gathers.py)

    def strides(self) -> Strides:
        """How far apart neighbouring threads' addresses are."""
        if self.guesses is None:
            self.guesses = Strides(self.a)
        return self.guesses

    def exact(self) -> Exact:
        """Where these are certain."""
        if self.certain is None:
            self.certain = Exact(self.a)
        return self.certain

    def single(self) -> dict[Register, Instruction | Call]:
        """What sets the registers that are set once."""
        if self.defined_once is None:
            self.defined_once = single_definitions(self.a.blocks)
        return self.defined_once

    def sums(self) -> Sums:
        """The atomic operations that nobody waits for."""
        if self.additions is None:
            self.additions = Sums(self.a)
        return self.additions

    # --- text ----------------------------------------------------------------------------------------------------

    def fail(self, message: str) -> NoReturn:
        """Raise a diagnostic for the instruction at hand."""
        raise PtxError(message, self.line, self.name)

    def new(self, text: str) -> str:
        """Append `%x = text`, return `%x`."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def put(self, text: str) -> None:
        """Append a line."""
        self.lines.append("  " + text)

    def fresh(self, stem: str) -> str:
        """A new label."""
        self.count += 1
        return f"{stem}{self.count}"

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def join(self, name: str) -> None:
        """Begin a block that this one goes on to."""
        self.put(f"br label %{name}")
        self.label(name)

    def seldom(self, test: str, way: str, behind: str) -> str:
        """Begin a block, named after WAY, where TEST (i1) holds, which is seldom; the label at which others go on."""
        way, behind = self.fresh(way), self.fresh(behind)
        self.put(f"br i1 {test}, label %{way}, label %{behind}, !prof !2")
        self.label(way)
        return behind

    def alloca(self, kind: str, align: int = 64) -> str:
        """A slot in the frame."""
        self.count += 1
        name = f"%a{self.count}"
        self.entry.append(f"  {name} = alloca {kind}, align {align}")
        return name

    def scratch(self, index: int) -> str:
        """One of the function's 256-byte scratch areas, for calls of the executor."""
        key = f"%scratch{index}"
        line = f"  {key} = alloca <32 x i64>, align 64"
        if line not in self.entry:
            self.entry.append(line)
        return key

    # --- values --------------------------------------------------------------------------------------------------

    def ints(self, kind: str, value: int) -> Value:
        """An integer constant."""
        bits = BITS[kind]
        return Value(kind, False, str(value & ((1 << bits) - 1)))

    def splat(self, value: Value) -> Value:
        """The value in all lanes."""
        if value.vector:
            return value
        if value.text[0] != "%":
            return Value(value.type, True, f"splat ({value.type} {value.text})")
        one = self.new(f"insertelement <32 x {value.type}> poison, {value.type} {value.text}, i32 0")
        return Value(
            value.type,
            True,
            self.new(
                f"shufflevector <32 x {value.type}> {one}, <32 x {value.type}> poison, <32 x i32> zeroinitializer"
            ),
        )

    def same(self, *values: Value) -> tuple[Value, ...]:
        """All as vectors if one of them is."""
        if any(v.vector for v in values):
            return tuple(self.splat(v) for v in values)
        return values

    def op(self, name: str, *values: Value, result: str = "") -> Value:
        """A binary or unary LLVM instruction on values of one type; `result`: the result's element type."""
        values = self.same(*values)
        first = values[0]
        text = self.new(f"{name} {first.full} " + ", ".join(v.text for v in values))
        return Value(result or first.type, first.vector, text)

    def intrinsic(self, name: str, *values: Value, extra: str = "", result: str = "") -> Value:
        """A call of an LLVM intrinsic overloaded on its first argument (and result)."""
        values = self.same(*values)
        first = values[0]
        kind = {"float": "f32", "double": "f64"}.get(first.type, first.type)
        suffix = f"v32{kind}" if first.vector else kind
        out = Value(result or first.type, first.vector, "")
        if result:
            kind = {"float": "f32", "double": "f64"}.get(result, result)
            suffix = (f"v32{kind}." if first.vector else f"{kind}.") + suffix
        arguments = ", ".join(v.typed for v in values) + extra
        return Value(out.type, out.vector, self.new(f"call {out.full} @llvm.{name}.{suffix}({arguments})"))

    def cast(self, name: str, value: Value, kind: str) -> Value:
        """A conversion instruction."""
        if value.type == kind:
            return value
        out = Value(kind, value.vector, "")
        return Value(kind, value.vector, self.new(f"{name} {value.typed} to {out.full}"))

    def fit(self, value: Value, kind: str, signed: bool = False) -> Value:
        """The same bits as another type: widened, cut or reinterpreted."""
        if value.type == kind:
            return value
        if value.type in ("float", "double"):
            value = self.cast("bitcast", value, f"i{BITS[value.type]}")
        whole = f"i{BITS[kind]}"
        have, want = BITS[value.type], BITS[whole]
        if have < want:
            value = self.cast("sext" if signed else "zext", value, whole)
        elif have > want:
            value = self.cast("trunc", value, whole)
        return self.cast("bitcast", value, kind)

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """`condition ? yes : no`."""
        if condition.vector or yes.vector or no.vector:
            yes, no = self.splat(yes), self.splat(no)
        if condition.vector:
            pass
        text = self.new(f"select {condition.typed}, {yes.typed}, {no.typed}")
        return Value(yes.type, yes.vector, text)

    def lanes(self, mask: str) -> str:
        """A mask word as a vector of bits."""
        return self.new(f"bitcast i32 {mask} to {FULL}")

    def apart(self, mask: str) -> str:
        """The same for an access of rows: without registers for masks LLVM would take the word apart, a bit after the
        other (four instructions for each), where each lane can look at its own."""
        if has_masks():
            return self.lanes(mask)
        own = self.op("and", self.splat(Value("i32", False, mask)), Value("i32", True, OWN_BITS))
        return self.op("icmp ne", own, self.splat(self.ints("i32", 0)), result="i1").text

    def bits(self, value: Value) -> str:
        """A vector of bits as a mask word."""
        return self.new(f"bitcast {FULL} {self.splat(value).text} to i32")

    def first_lane(self, value: Value) -> Value:
        """The value of the first active lane."""
        if not value.vector:
            return value
        lane = self.new(f"call i32 @llvm.cttz.i32(i32 {self.active}, i1 false)")
        lane = self.new(f"and i32 {lane}, 31")
        return Value(value.type, False, self.new(f"extractelement {value.typed}, i32 {lane}"))

    def any_lane(self, value: Value) -> Value:
        """The value that the statement at hand has for all active lanes; where it is known by what the number of a
        thread is made of, lane 0 has it as well."""
        code = self.code
        if isinstance(code, Instruction) and self.a.warps is not None and self.a.warps.uniform(code):
            return Value(value.type, False, self.new(f"extractelement {value.typed}, i32 0"))
        return self.first_lane(value)

    # --- operands ------------------------------------------------------------------------------------------------

    def slot(self, register: Register) -> str:
        """The alloca of a register."""
        name = self.slots.get(register)
        if name is None:
            kind = LLVM_TYPE.get(register.type)
            if kind is None:
                self.fail(f"registers of type '.{register.type}' are not implemented")
            full = self.slot_type(register)
            name = self.slots[register] = self.alloca(full, 64 if full[0] == "<" else 8)
            if full[0] == "<" or not self.surely_set(register):
                self.begin.append(f"  store {full} zeroinitializer, ptr {name}")
        return name

    def surely_set(self, register: Register) -> bool:
        """Whether one instruction sets a register, and comes first wherever it is read: it needs no value before.

        LLVM follows a slot with one store at once; for each other one it looks for the blocks where values meet.
        """
        from_start = wanted.DEBUGGER or self.a.live[0] >> register.number & 1
        return not from_start and register in self.single()

    def slot_type(self, register: Register) -> str:
        """The LLVM type of a register's alloca."""
        kind = str(LLVM_TYPE.get(register.type))
        return f"<32 x {kind}>" if register in self.a.varying and register not in self.a.progressions else kind

    def load_register(self, register: Register) -> Value:
        """A register's value."""
        if register in self.a.progressions:
            return self.spread(register)
        slot = self.slot(register)
        value = Value(LLVM_TYPE[register.type], register in self.a.varying, "")
        return Value(value.type, value.vector, self.new(f"load {value.full}, ptr {slot}"))

    def first_of(self, register: Register) -> Value:
        """The first lane's number, of a register that has steps (progressions.py)."""
        kind = LLVM_TYPE[register.type]
        return Value(kind, False, self.new(f"load {kind}, ptr {self.slot(register)}"))

    def spread(self, register: Register, first: Value | None = None) -> Value:
        """All lanes' numbers of such a register; `first`: the first lane's, if it has been read."""
        value, bits = first or self.first_of(register), BITS[LLVM_TYPE[register.type]]
        step = self.a.progressions[register]
        steps = ", ".join(f"{value.type} {lane * step & (1 << bits) - 1}" for lane in range(32))
        return self.op("add", value, Value(value.type, True, f"<{steps}>"))

    def read(self, operand: Operand, kind: str) -> Value:
        """A source operand as PTX type `kind`."""
        llvm = LLVM_TYPE.get(kind)
        if llvm is None:
            self.fail(f"type '.{kind}' is not implemented")
        if isinstance(operand, Register):
            value = self.load_register(operand)
            return value if value.type == llvm else self.fit(value, llvm, kind[0] == "s")
        if isinstance(operand, Immediate):
            if llvm in ("float", "double"):
                return self.float_constant(struct.unpack("<Q", struct.pack("<d", float(operand.value)))[0], 64, llvm)
            return self.ints(llvm, operand.value)
        if isinstance(operand, FloatImmediate):
            return self.float_constant(operand.bits, operand.width, llvm)
        if isinstance(operand, Special):
            return self.fit(self.special(operand.name), llvm)
        if isinstance(operand, Symbol):
            return self.fit(self.address(operand), llvm)
        if isinstance(operand, Not) and kind == "pred":
            value = self.load_register(operand.register)
            return self.op("xor", value, Value("i1", False, "true"))
        self.fail("this operand cannot be read here")

    def float_constant(self, bits: int, width: int, llvm: str) -> Value:
        """A floating constant of the wanted width."""
        if width == 64 and llvm == "float":
            number = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
            try:
                bits = int.from_bytes(struct.pack("<f", number), "little")
            except OverflowError:
                bits = 0xFF800000 if number < 0 else 0x7F800000
        elif width == 32 and llvm == "double":
            bits = int.from_bytes(struct.pack("<d", struct.unpack("<f", bits.to_bytes(4, "little"))[0]), "little")
        if llvm not in ("float", "double"):
            return self.ints(llvm, bits)
        return Value(llvm, False, f"bitcast (i{BITS[llvm]} {bits} to {llvm})")

    def warp_field(self, field: str, kind: str, offset: int = 0) -> str:
        """A field of the warp that does not change while the kernel runs."""
        place = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP[field] + offset}")
        return self.new(f"load {kind}, ptr {place}, align 4, !invariant.load !0")

    def special(self, name: str) -> Value:
        """A special register."""
        base, _, axis = name.partition(".")
        offset = 4 * "xyz".index(axis or "x")
        if base == "%tid" and self.lane:
            place = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['tid'] + 32 * offset}")
            place = self.new(f"getelementptr i32, ptr {place}, i32 {self.lane}")
            return Value("i32", False, self.new(f"load i32, ptr {place}, align 4, !invariant.load !0"))
        if base == "%tid":
            if name == "%tid.x" or not self.a.rows:
                place = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['tid'] + 32 * offset}")
                return Value("i32", True, self.new(f"load <32 x i32>, ptr {place}, align 64, !invariant.load !0"))
            return Value("i32", False, self.warp_field("tid", "i32", 32 * offset))
        if base in ("%ntid", "%ctaid", "%nctaid"):
            return Value("i32", False, self.warp_field(base[1:], "i32", offset))
        if base == "%laneid":
            if self.lane:
                return Value("i32", False, self.lane)
            return Value("i32", True, "<" + ", ".join(f"i32 {i}" for i in range(32)) + ">")
        if base.startswith("%lanemask_"):
            kind = base[10:]
            at = [1 << i for i in range(32)]
            words = {
                "eq": at,
                "lt": [b - 1 for b in at],
                "le": [2 * b - 1 for b in at],
                "gt": [0xFFFFFFFF & ~(2 * b - 1) for b in at],
                "ge": [0xFFFFFFFF & ~(b - 1) for b in at],
            }[kind]
            return Value("i32", True, "<" + ", ".join(f"i32 {word}" for word in words) + ">")
        if base == "%warpid":
            return Value("i32", False, self.warp_field("warpid", "i32"))
        if base == "%nwarpid":
            return self.ints("i32", 32)
        if base in ("%smid", "%gridid"):
            return self.ints("i32", 0)
        if base == "%nsmid":
            return self.ints("i32", 1)
        if base in ("%clock", "%clock64", "%globaltimer"):
            which = 1 if base == "%globaltimer" else 0
            value = Value("i64", False, self.helper("clock", f"ptr %w, i32 {which}", "i64"))
            return self.fit(value, "i32") if base == "%clock" else value
        return self.rare_special(name)

    def mark_now(self, address: str, size: int) -> None:
        """Mark what is to be written, if it is not marked later (spans.py)."""
        raise NotImplementedError(address)

    def ends_turn(self, code: Instruction) -> bool:
        """Whether a barrier is where the block's next warp goes on in the same call: it is made then (fission.py)."""
        raise NotImplementedError(code.opcode)

    def conflicts(self) -> Conflicts:
        """Which accesses can race at all."""
        raise NotImplementedError

    def from_row(self, register: Register | None) -> Value | None:
        """A register's value in all lanes by the warp's row, if there is one and has it (fission.py)."""
        raise NotImplementedError(register)

    def rare_special(self, name: str) -> Value:
        """A special register that GCC 12's code does not have (lower.py)."""
        raise NotImplementedError(name)

    def address(self, symbol: Symbol) -> Value:
        """The generic address of a symbol; of a kernel's parameter its place among them."""
        if symbol.name in self.local_offset:
            base = self.new("load i64, ptr %frame")
            offset = self.local_offset[symbol.name] + symbol.offset
            return Value("i64", False, self.new(f"add i64 {base}, {offset}"))
        if symbol.name in self.param_offset:
            return self.ints("i64", self.param_offset[symbol.name] + symbol.offset)
        if symbol.name in self.params:
            self.fail("the address of a function's '.param' variable is not implemented")
        word = self.links.word("symbol", symbol.name)
        base = self.new(f"load i64, ptr getelementptr (i8, ptr @links, i64 {8 * word}), !invariant.load !0")
        if symbol.offset:
            base = self.new(f"add i64 {base}, {symbol.offset}")
        return Value("i64", False, base)

    def write(self, operand: Operand, value: Value, signed: bool = False) -> None:
        """Write a destination for the active lanes."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            self.fail("this operand cannot be written")
        slot = self.slot(operand)
        value = self.fit(value, LLVM_TYPE[operand.type], signed)
        if operand not in self.a.varying:
            if value.vector:
                value = self.any_lane(value)
            self.put(f"store {value.typed}, ptr {slot}")
            self.changed[operand] = len(self.lines)
            return
        value = self.splat(value)
        made_by = self.code if isinstance(self.code, Instruction) else None
        if self.guarded or (self.block in self.a.divergent and self.a.keep.get(self.block, 0) >> operand.number & 1):
            made_by = None
            self.merged.add(operand.number)
            old = self.new(f"load {value.full}, ptr {slot}")
            value = Value(
                value.type,
                True,
                self.new(f"select {FULL} {self.lanes(self.active)}, {value.typed}, {value.full} {old}"),
            )
        self.put(f"store {value.typed}, ptr {slot}")
        self.noted(operand, value, made_by)

    def put_back(self, register: Register, row: str, kind: str) -> None:
        """A register's elements are in memory, as `kind`: also those of lanes that are off."""
        own = LLVM_TYPE[register.type]
        value = Value(kind, True, self.new(f"load <32 x {kind}>, ptr {row}, align 64"))
        value = self.fit(value, own)
        self.merged.add(register.number)
        self.put(f"store {value.typed}, ptr {self.slot(register)}")
        self.noted(register, value, None)

    def noted(self, operand: Register, value: Value, made_by: Instruction | None) -> None:
        """What bases.py asks of a register that has been set."""
        if self.fast and not self.shadowed and value.type in ADDRESSES:
            self.definitions.setdefault(operand, []).append((len(self.lines), value, self.active, made_by))
            self.lines.append("")

    # --- calls of the executor -----------------------------------------------------------------------------------

    def once(self, name: str, *texts: str) -> str:
        """A value that is computed where the function begins, the first time that it is asked for."""
        if name not in self.known:
            self.known.add(name)
            self.entry += [f"  {text}" for text in texts]
        return name

    def limits(self) -> tuple[str, str]:
        """The first address of device memory, and its size less what the longest access takes (32 times 16 bytes)."""
        self.once("%base", "%base = load i64, ptr %w, !invariant.load !0")
        self.once(
            "%limit",
            f"%limit1 = getelementptr i8, ptr %w, i64 {abi.WARP['size']}",
            "%limit2 = load i64, ptr %limit1, !invariant.load !0",
            f"%limit = sub i64 %limit2, {LONGEST}",
        )
        return "%base", "%limit"

    def trap_if_full(self, over: str, mask: str) -> None:
        """End the kernel if the lanes' local memory does not suffice (`over`: an i1)."""
        good = self.seldom(over, "full", "room")
        self.helper("trap", f"ptr %w, i32 {mask}, i32 {abi.TRAPS.index('local_memory')}, {self.site()}")
        self.put("unreachable")
        self.label(good)

    def helper(self, name: str, arguments: str, result: str = "void", *, keeps: bool = False) -> str:
        """Call one of `abi.OPS`; KEEPS: it keeps all registers."""
        ways = "#3" if keeps else "#1"
        table = self.once(
            "%ops",
            f"%ops1 = getelementptr i8, ptr %w, i64 {abi.WARP['ops']}",
            "%ops = load ptr, ptr %ops1, !invariant.load !0",
        )
        place = self.new(f"getelementptr i8, ptr {table}, i64 {8 * abi.OP_INDEX[name]}")
        function = self.new(f"load ptr, ptr {place}, !invariant.load !0")
        if result == "void":
            self.put(f"call void {function}({arguments}) {ways}")
            return ""
        return self.new(f"call {result} {function}({arguments}) {ways}")

    def site(self) -> str:
        """The last two arguments of most helpers: the unit and the line."""
        unit = self.new("load ptr, ptr @links, !invariant.load !0")
        return f"ptr {unit}, i32 {self.line}"

    def slow(self, result: str, name: str, *arguments: tuple[str, str]) -> str:
        """Call one of the functions that all units share (slow.py)."""
        name = abi.SLOW_PREFIXES[self.shadowed] + name
        kinds = ", ".join(kind for kind, _ in arguments)
        self.links.slow[name] = f"declare {result} @{name}(ptr, i32, {kinds}, ptr, i32) #2"
        values = ", ".join(f"{kind} {text}" for kind, text in arguments)
        text = f"call {result} @{name}(ptr %w, i32 {self.active}, {values}, {self.site()}) #1"
        if result == "void":
            self.put(text)
            return ""
        return self.new(text)

    def spill(self, value: Value, index: int, kind: str = "") -> str:
        """Store a value, one element a lane, in scratch area `index`."""
        if kind:
            value = self.fit(value, kind)
        value = self.splat(value)
        place = self.scratch(index)
        self.put(f"store {value.typed}, ptr {place}, align 64")
        return place


def bytes_of(kind: str) -> int:
    """Size of a PTX type in memory."""
    return TYPE_BYTES[kind]
