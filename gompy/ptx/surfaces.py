"""suld.b, sust.b, sured.b: bytes of surfaces; sust.p, sured.p: elements; and suq (PTX ISA 9.7.11), by the executor
(surface_bytes.pxi)."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import Emitter, Value
from .forms import operands, unknown
from .matrix import laid_out
from .syntax import Immediate, Instruction, Operand, Vector
from .textures import DIMENSIONS, OF_A_SURFACE, asked, handle_of

CACHED = frozenset(("ca", "cg", "cs", "cv", "wb", "wt"))
COUNTS = {"v2": 2, "v4": 4}
REDUCED = {
    "add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32",), "or": ("b32",),
}  # fmt: skip
"""Types of sured.b by its operation."""
BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8}


def split(em: Emitter, code: Instruction) -> tuple[int, int, int, int]:
    """Of suld.b.geometry{.cached}{.v2, .v4}.type.mode: coordinates, components, bytes of one, the word for the op.

    sust.p has no cached, no layers, and .b32.
    """
    mods = [mod for mod in code.mods if mod not in CACHED]
    count = COUNTS.get(mods[2], 1) if len(mods) == 5 else 1
    formatted = code.base == "sust" and mods[:1] == ["p"]
    if len(mods) != (5 if count > 1 else 4) or not (mods[0] == "b" or formatted) or mods[1] not in DIMENSIONS:
        unknown(em, code)
    if formatted and (mods[-2] != "b32" or mods[1][0] == "a" or len(mods) != len(code.mods)):
        unknown(em, code)
    if mods[-2] not in BYTES or mods[-1] not in abi.SURFACE_MODES or count * BYTES[mods[-2]] > 16:
        unknown(em, code)
    coordinates, size = DIMENSIONS[mods[1]], BYTES[mods[-2]]
    word = coordinates - 1 | abi.SURFACE_LAYERED if mods[1][0] == "a" else coordinates
    word |= abi.SURFACE_MODES.index(mods[-1]) << abi.SURFACE_MODE
    word |= abi.SURFACE_FORMATTED if formatted else 0
    return coordinates, count, size, word | size << abi.SURFACE_BYTES | count << abi.SURFACE_COUNT


def place_of(em: Emitter, code: Instruction, operand: Operand, coordinates: int) -> str:
    """The two arguments for `[surface, {x, y}]`."""
    given = (coordinates, 4 if coordinates == 3 else coordinates)
    if not isinstance(operand, Vector) or len(operand.items) - 1 not in given:
        em.fail(f"'{code.opcode}' needs a surface and {coordinates} coordinates")
    handles = em.spill(handle_of(em, code, operand.items[0]), 1)
    items = (*operand.items[1 : coordinates + 1], *[Immediate(0)] * (3 - coordinates))
    return f"ptr {handles}, ptr {laid_out(em, items, 32)}"


def components(em: Emitter, code: Instruction, operand: Operand, count: int) -> tuple[Operand, ...]:
    """What is read or written: as many as the form has."""
    items: tuple[Operand, ...] = operand.items if isinstance(operand, Vector) else (operand,)
    if len(items) != count:
        em.fail(f"'{code.opcode}' needs {count} components")
    return items


def load(em: Emitter, code: Instruction) -> None:
    """suld.b d, [surface, {x}]: x in bytes."""
    coordinates, count, size, word = split(em, code)
    operands(em, code)
    targets = components(em, code, code.operands[0], count)
    place = place_of(em, code, code.operands[1], coordinates)
    data = em.alloca(f"[{count} x <32 x i64>]")
    em.helper("surface", f"ptr %w, i32 {em.active}, i32 {word}, {place}, ptr {data}, {em.site()}")
    for index, target in enumerate(targets):
        row = em.new(f"getelementptr <32 x i64>, ptr {data}, i32 {index}")
        value = Value("i64", True, em.new(f"load <32 x i64>, ptr {row}, align 64"))
        em.write(target, em.fit(value, f"i{max(8 * size, 16)}"))


def store(em: Emitter, code: Instruction) -> None:
    """sust.b [surface, {x}], a: x in bytes; sust.p: x in elements, whose format the components get."""
    coordinates, count, size, word = split(em, code)
    operands(em, code)
    place = place_of(em, code, code.operands[0], coordinates)
    data = em.alloca(f"[{count} x <32 x i64>]")
    for index, item in enumerate(components(em, code, code.operands[1], count)):
        value = em.fit(em.splat(em.fit(em.read(item, f"b{max(8 * size, 16)}"), f"i{max(8 * size, 16)}")), "i64")
        row = em.new(f"getelementptr <32 x i64>, ptr {data}, i32 {index}")
        em.put(f"store {value.typed}, ptr {row}, align 64")
    word |= abi.SURFACE_STORE
    em.helper("surface", f"ptr %w, i32 {em.active}, i32 {word}, {place}, ptr {data}, {em.site()}")


def reduce(em: Emitter, code: Instruction) -> None:
    """sured.b.operation.geometry.type.mode [surface, {x}], a: x in bytes; sured.p: x in elements."""
    mods = code.mods
    if len(mods) != 5 or mods[0] not in ("b", "p") or mods[1] not in REDUCED or mods[2] not in ("1d", "2d", "3d"):
        unknown(em, code)
    kinds = REDUCED[mods[1]] if mods[0] == "b" else ("b32", "b64")
    if mods[3] not in kinds or mods[4] not in abi.SURFACE_MODES:
        unknown(em, code)
    operands(em, code)
    coordinates, size = DIMENSIONS[mods[2]], int(mods[3][1:]) // 8
    word = coordinates | abi.SURFACE_MODES.index(mods[4]) << abi.SURFACE_MODE
    word |= size << abi.SURFACE_BYTES | 1 << abi.SURFACE_COUNT
    word |= 1 + abi.SURFACE_REDUCTIONS.index(mods[1]) << abi.SURFACE_REDUCE
    word |= abi.SURFACE_SIGNED if mods[3][0] == "s" else 0
    word |= abi.SURFACE_FORMATTED if mods[0] == "p" else 0
    place = place_of(em, code, code.operands[0], coordinates)
    (item,) = components(em, code, code.operands[1], 1)
    data = em.alloca("<32 x i64>")
    value = em.fit(em.splat(em.read(item, mods[3])), "i64")
    em.put(f"store {value.typed}, ptr {data}, align 64")
    em.helper("surface", f"ptr %w, i32 {em.active}, i32 {word}, {place}, ptr {data}, {em.site()}")


def query(em: Emitter, code: Instruction) -> None:
    """suq.attribute.b32 d, [a]: what a surface is."""
    if len(code.mods) != 2 or code.mods[0] not in OF_A_SURFACE | {"memory_layout"} or code.mods[1] != "b32":
        unknown(em, code)
    operands(em, code)
    asked(em, code, code.mods[0], abi.QUERY_SURFACE)
