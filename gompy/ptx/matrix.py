"""Matrices that the lanes of a warp have pieces of: mma, ldmatrix, stmatrix, movmatrix (PTX ISA 9.7.14.5).

Products are the executor's (matrix.h); loads, stores and the transposition are shuffles of lanes.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import racing
from .access import address_of
from .emit import Emitter, Value
from .forms import operands, unknown
from .memory import load_value, store_value
from .syntax import Instruction, Memory, Operand, Register, Vector

BITS = {
    "f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "f32": 32, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1,
    "e4m3": 8, "e5m2": 8,
}  # fmt: skip
"""Bits of an element; a register holds as many as fit into 32 bits, or one of 64."""
SHAPES = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "s4": ("m8n8k32", "m16n8k32", "m16n8k64"),
    "b1": ("m8n8k128", "m16n8k128", "m16n8k256"),
}
"""Shapes by the type of what is multiplied; unsigned integers have those of signed ones."""
SIGNED = {"u8": "s8", "u4": "s4"}
LANES = range(32)


def sums(kind: str) -> tuple[str, ...]:
    """The types of what is added to products of a type, and of the result."""
    if kind in ("f16", "e4m3", "e5m2"):
        return ("f16", "f32")
    if kind == "f64":
        return ("f64",)
    return ("f32",) if kind in ("bf16", "tf32") else ("s32",)


def split(
    em: Emitter, code: Instruction, given: tuple[str, ...], shapes: dict[str, tuple[str, ...]]
) -> tuple[str, list[str], int]:
    """Of words of an opcode: the shape, one of `shapes`; the types of d, a, b and c, and which of abi.MATRIX_WAYS."""
    mods = [m for m in given if m != "kind::f8f6f4"]
    way = 0
    if mods[-1:] == ["popc"] and len(mods) > 2 and mods[-2] in ("xor", "and"):
        way = abi.MATRIX_WAYS.index(mods[-2])
        mods = mods[:-2]
    if mods[:2] != ["sync", "aligned"] or mods[3:5] != ["row", "col"]:
        unknown(em, code)
    if mods[5:6] == ["satfinite"]:
        way = abi.MATRIX_WAYS.index("satfinite")
        del mods[5]
    types = mods[5:]
    if len(types) != 4 or any(kind not in BITS for kind in types):
        unknown(em, code)
    d, a, b, c = types
    base = SIGNED.get(a, a)
    alike = a == b or base == SIGNED.get(b, b) or {a, b} == {"e4m3", "e5m2"}
    if not alike or d not in sums(a) or c not in sums(a) or mods[2] not in shapes.get(base, ()):
        unknown(em, code)
    if (base in ("f16", "e4m3", "e5m2") and c != d) or (a == "b1") != (way > 1) or (way == 1 and d != "s32"):
        unknown(em, code)
    return mods[2], types, way


def quads(em: Emitter, code: Instruction) -> None:
    """mma.sync.aligned.m8n8k4 of .f16: four products, each by eight lanes; layouts are free."""
    layouts, kinds = code.mods[3:5], list(code.mods[5:])
    if not {*layouts} <= {"row", "col"} or len(kinds) != 4 or kinds[1:3] != ["f16", "f16"]:
        unknown(em, code)
    d, c = kinds[0], kinds[3]
    if not {d, c} <= {"f16", "f32"} or (c == "f32" and d != "f32"):
        unknown(em, code)
    operands(em, code)
    counts = {"f16": 4, "f32": 8}
    targets = registers(em, code, 0, counts[d])
    blocks = [laid_out(em, registers(em, code, at, count), 32) for at, count in enumerate((2, 2, counts[c]), start=1)]
    way = (4 if layouts[0] == "col" else 0) | (8 if layouts[1] == "row" else 0)
    for target, value in zip(targets, product(em, (8, 4), kinds, way, blocks, counts[d]), strict=True):
        em.write(target, value)


def registers(em: Emitter, code: Instruction, at: int, count: int) -> tuple[Operand, ...]:
    """The registers of an operand."""
    operand = code.operands[at]
    found = operand.items if isinstance(operand, Vector) else (operand,)
    if len(found) != count:
        em.fail(f"operand {at + 1} of '{code.opcode}' must be {count} registers")
    return found


def laid_out(em: Emitter, items: tuple[Operand, ...], bits: int) -> str:
    """Registers in memory, one row of 32 lanes each."""
    kind = f"i{bits}"
    block = em.alloca(f"[{len(items)} x <32 x {kind}>]")
    for index, item in enumerate(items):
        value = em.splat(em.fit(em.read(item, f"b{bits}"), kind))
        place = em.new(f"getelementptr <32 x {kind}>, ptr {block}, i32 {index}")
        em.put(f"store {value.typed}, ptr {place}, align 64")
    return block


def product(
    em: Emitter, shape: tuple[int, int], kinds: list[str], way: int, blocks: list[str], count: int
) -> list[Value]:
    """The `count` registers of a * b + c; `shape`: rows and depth; `kinds`: of d, a, b, c; `blocks`: of a, b, c."""
    d, a, b, c = kinds
    wide = 64 if a == "f64" else 32
    out = em.alloca(f"[{count} x <32 x i{wide}>]")
    types = sum(abi.MATRIX_TYPES.index(kind) << 4 * at for at, kind in enumerate((a, b, c, d))) | way << 16
    places = ", ".join(f"ptr {block}" for block in (*blocks, out))
    em.helper("matrix", f"ptr %w, i32 {em.active}, i32 {shape[0] | shape[1] << 8}, i32 {types}, {places}")
    found = []
    for index in range(count):
        place = em.new(f"getelementptr <32 x i{wide}>, ptr {out}, i32 {index}")
        found.append(Value(f"i{wide}", True, em.new(f"load <32 x i{wide}>, ptr {place}, align 64")))
    return found


def multiply(em: Emitter, code: Instruction) -> None:
    """mma.sync.aligned.SHAPE.row.col.types d, a, b, c: d = a * b + c, of all lanes."""
    if code.mods[:3] == ("sync", "aligned", "m8n8k4") and "f64" not in code.mods:
        quads(em, code)
        return
    shape, kinds, way = split(em, code, code.mods, SHAPES)
    operands(em, code)
    rows, deep = int(shape[1 : shape.index("n")]), int(shape[shape.index("k") + 1 :])
    wide = 64 if kinds[1] == "f64" else 32
    elements = (rows * 8, rows * deep, deep * 8, rows * 8)
    counts = [size * BITS[kind] // (32 * wide) for size, kind in zip(elements, kinds, strict=True)]
    targets = registers(em, code, 0, counts[0])
    blocks = [laid_out(em, registers(em, code, at, counts[at]), wide) for at in (1, 2, 3)]
    for target, value in zip(targets, product(em, (rows, deep), kinds, way, blocks, counts[0]), strict=True):
        em.write(target, value)


def picked(em: Emitter, value: Value, lanes: list[int]) -> Value:
    """What other lanes have."""
    value = em.splat(value)
    order = ", ".join(f"i32 {lane}" for lane in lanes)
    return Value(value.type, True, em.new(f"shufflevector {value.typed}, {value.full} poison, <32 x i32> <{order}>"))


def offsets(numbers: list[int]) -> Value:
    """A number for each lane."""
    return Value("i64", True, "<" + ", ".join(f"i64 {number}" for number in numbers) + ">")


def form(em: Emitter, code: Instruction) -> tuple[int, bool]:
    """How many matrices, and whether they are transposed; the address is one of shared memory."""
    mods = [m.partition("::")[0] for m in code.mods]
    known = ["sync", "aligned", "m8n8"]
    if (
        mods[:3] != known
        or mods[-1:] != ["b16"]
        or any(m not in ("x1", "x2", "x4", "trans", "shared") for m in mods[3:-1])
    ):
        unknown(em, code)
    counts = [int(m[1]) for m in mods[3:-1] if m[0] == "x"]
    if len(counts) != 1 or len(set(mods)) != len(mods):
        unknown(em, code)
    return counts[0], "trans" in mods


def rows_of(em: Emitter, code: Instruction, at: int) -> Value:
    """The addresses that lanes give: of a row each, eight lanes for a matrix."""
    memory = code.operands[at]
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    return address_of(em, memory)


def places_of(em: Emitter, rows: Value, matrix: int, transposed: bool) -> list[Value]:
    """Where the two elements of each lane are: one address where they follow each other."""
    if not transposed:
        row = picked(em, rows, [8 * matrix + lane // 4 for lane in LANES])
        return [em.op("add", row, offsets([lane % 4 * 4 for lane in LANES]))]
    column = offsets([lane // 4 * 2 for lane in LANES])
    lanes = [[8 * matrix + lane % 4 * 2 + i for lane in LANES] for i in (0, 1)]
    return [em.op("add", picked(em, rows, some), column) for some in lanes]


def told(em: Emitter, places: list[Value], writes: bool) -> None:
    """Tell of the accesses of a matrix where races are looked for."""
    for place in places if em.racing else ():
        racing.plain(em, place, 4 // len(places), writes, "shared")


def load(em: Emitter, code: Instruction) -> None:
    """ldmatrix: lane n of a matrix has elements 2 (n % 4) and the next of row n / 4, or, transposed, of that column."""
    count, transposed = form(em, code)
    operands(em, code)
    targets = registers(em, code, 0, count)
    rows = rows_of(em, code, 1)
    values = []
    for matrix in range(count):
        places = places_of(em, rows, matrix, transposed)
        kind = "b16" if transposed else "b32"
        told(em, places, False)
        parts = [em.cast("zext", load_value(em, place, kind, True, "shared"), "i32") for place in places]
        if transposed:
            parts = [em.op("or", parts[0], em.op("shl", parts[1], em.ints("i32", 16)))]
        values.append(parts[0])
    for target, value in zip(targets, values, strict=True):  # a destination may be the address's register
        em.write(target, value)


def store(em: Emitter, code: Instruction) -> None:
    """stmatrix: the other way round."""
    count, transposed = form(em, code)
    operands(em, code)
    items = registers(em, code, 1, count)
    rows = rows_of(em, code, 0)
    for matrix, item in enumerate(items):
        value = em.splat(em.read(item, "b32"))
        places = places_of(em, rows, matrix, transposed)
        told(em, places, True)
        if not transposed:
            store_value(em, places[0], value, "shared")
            continue
        store_value(em, places[0], em.cast("trunc", value, "i16"), "shared")
        store_value(em, places[1], em.cast("trunc", em.op("lshr", value, em.ints("i32", 16)), "i16"), "shared")


def transpose(em: Emitter, code: Instruction) -> None:
    """movmatrix.sync.aligned.m8n8.trans.b16 d, a."""
    if code.mods != ("sync", "aligned", "m8n8", "trans", "b16"):
        unknown(em, code)
    operands(em, code)
    if not isinstance(code.operands[1], Register):
        em.fail(f"'{code.opcode}' needs a register")
    value = em.read(code.operands[1], "b32")
    shift = Value("i32", True, "<" + ", ".join(f"i32 {lane // 4 % 2 * 16}" for lane in LANES) + ">")
    parts = []
    for i in (0, 1):
        whole = picked(em, value, [(lane % 4 * 2 + i) * 4 + lane // 8 for lane in LANES])
        parts.append(em.op("and", em.op("lshr", whole, shift), em.ints("i32", 0xFFFF)))
    em.write(code.operands[0], em.op("or", parts[0], em.op("shl", parts[1], em.ints("i32", 16))))
