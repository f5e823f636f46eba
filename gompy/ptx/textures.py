"""tex on 1, 2 and 3 dimensions, on layers, cubes and levels of mipmapped arrays, tld4, txq (PTX ISA 9.7.10), by
texture.h."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import Emitter, Value
from .forms import operands, unknown
from .matrix import laid_out
from .syntax import Immediate, Instruction, Memory, Operand, Register, Symbol, Vector

DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3}
"""Coordinates; of layers the number of the layer is the first."""
CUBES = {"cube": 3, "acube": 4}
"""The same: a direction, which chooses a face and a place there."""
FIRST = Immediate(0)
"""The level of a texture that has no others."""
OF_A_SURFACE = frozenset(("width", "height", "depth", "channel_data_type", "channel_order", "array_size"))
"""What both kinds can be asked for."""


def handle_of(em: Emitter, code: Instruction, operand: Operand) -> Value:
    """A texture: an object's handle in a register, or the name of a reference."""
    if not isinstance(operand, Register | Symbol):
        em.fail(f"'{code.opcode}' needs a texture")
    return em.read(operand, "b64")


def is_handle(operand: Operand) -> bool:
    """Whether an operand is no coordinate: the handle of a sampler."""
    return isinstance(operand, Symbol) or (isinstance(operand, Register) and operand.type in ("b64", "u64", "s64"))


def level_of(em: Emitter, code: Instruction, mode: str, count: int) -> str:
    """The argument for which level is read: .level's number, or .grad's two vectors of as many steps as coordinates."""
    if mode == "level":
        return laid_out(em, (code.operands[2],), 32)
    steps: list[Operand] = []
    for operand in code.operands[2:] if mode == "grad" else ():
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if len(items) not in (count, 4 if count == 3 else count):
            em.fail(f"'{code.opcode}' needs {count} steps to either side")
        steps += (*items[:count], *[Immediate(0)] * (3 - count))
    return laid_out(em, tuple(steps), 32) if steps else "null"


def fetch(em: Emitter, code: Instruction) -> None:
    """tex{.base, .level, .grad}.geometry.v4.type.f32 or .s32 {d, d, d, d}, [texture, {x, y, z}]{, level or steps}."""
    mods, mode = code.mods, ""
    if mods[:1] in (("base",), ("level",), ("grad",)):
        mode, mods = mods[0], mods[1:]
    if len(mods) != 4 or mods[1] != "v4" or mods[2] not in ("f32", "s32", "u32"):
        unknown(em, code)
    if mods[0] not in DIMENSIONS and mods[0] not in CUBES:
        unknown(em, code)
    if mods[3] not in ("f32", "s32") or (mods[0] in CUBES and mods[3] != "f32"):
        unknown(em, code)
    if mode and (mods[3] != "f32" or (mode == "grad" and mods[0] in CUBES)):
        unknown(em, code)
    operands(em, code, {"level": 3, "grad": 4}.get(mode, 2))
    word = (4 if mods[3] == "f32" else 0) | {"level": abi.TEXTURE_LEVEL, "grad": abi.TEXTURE_GRADIENT}.get(mode, 0)
    read(em, code, mods[0], word, mode)


def gather(em: Emitter, code: Instruction) -> None:
    """tld4.component.geometry.v4.type.f32 {d, d, d, d}, [texture, {x, y}]."""
    mods = code.mods
    if len(mods) != 5 or mods[0] not in ("r", "g", "b", "a") or mods[1] not in ("2d", "a2d", *CUBES):
        unknown(em, code)
    if mods[2] != "v4" or mods[3] not in ("f32", "s32", "u32") or mods[4] != "f32":
        unknown(em, code)
    if len(code.operands) > 2:
        em.fail(f"'{code.opcode}' with offsets, or for depths, is not implemented")
    operands(em, code)
    read(em, code, mods[1], 4 | abi.TEXTURE_GATHER | "rgba".index(mods[0]) << abi.TEXTURE_COMPONENT, "")


def read(em: Emitter, code: Instruction, geometry: str, word: int, mode: str) -> None:
    """What both have: a texture and coordinates, four results."""
    targets, place = code.operands[:2]
    cube = geometry in CUBES
    count = CUBES[geometry] if cube else DIMENSIONS[geometry]
    if not isinstance(targets, Vector) or len(targets.items) != 4:
        em.fail(f"'{code.opcode}' needs a vector of 4 destinations")
    if isinstance(place, Vector) and len(place.items) == count + 2 and is_handle(place.items[1]):
        em.fail(f"'{code.opcode}' with a sampler of its own is not implemented")
    if not isinstance(place, Vector) or len(place.items) - 1 not in (count, 4 if count == 3 else count):
        em.fail(f"'{code.opcode}' needs a texture and {count} coordinates")
    handles = em.spill(handle_of(em, code, place.items[0]), 1)
    coordinates = laid_out(em, (*place.items[1 : count + 1], *[Immediate(0)] * (3 - min(count, 3))), 32)
    out = em.alloca("[4 x <32 x i32>]")
    layered = abi.TEXTURE_LAYERED if geometry[0] == "a" else 0
    word |= (2 | abi.TEXTURE_CUBE if cube else count - 1 if layered else count) | layered
    levels = level_of(em, code, mode, count - 1 if layered else count)
    places = f"ptr {handles}, ptr {coordinates}, ptr {levels}, ptr {out}"
    em.helper("texture", f"ptr %w, i32 {em.active}, i32 {word}, {places}, {em.site()}")
    for index, target in enumerate(targets.items):
        row = em.new(f"getelementptr <32 x i32>, ptr {out}, i32 {index}")
        em.write(target, Value("i32", True, em.new(f"load <32 x i32>, ptr {row}, align 64")))


def asked(em: Emitter, code: Instruction, what: str, word: int, level: Operand = FIRST) -> None:
    """A query of a texture or surface, `[a]`."""
    operand = code.operands[1]
    if not isinstance(operand, Memory) or operand.offset or isinstance(operand.base, Immediate):
        em.fail(f"'{code.opcode}' needs a texture or surface in brackets")
    handles = em.spill(handle_of(em, code, operand.base), 1)
    out = em.alloca("<32 x i32>")
    word |= abi.QUERIES.index(what)
    places = f"ptr {handles}, ptr {laid_out(em, (level,), 32)}, ptr {out}"
    em.helper("query", f"ptr %w, i32 {em.active}, i32 {word}, {places}, {em.site()}")
    em.write(code.operands[0], Value("i32", True, em.new(f"load <32 x i32>, ptr {out}, align 64")))


def query(em: Emitter, code: Instruction) -> None:
    """txq.attribute.b32 d, [a]; txq.level.attribute.b32 d, [a], level: what a texture is, and how it is read."""
    mods = code.mods
    if mods[:1] == ("level",):
        if len(mods) != 3 or mods[1] not in ("width", "height", "depth") or mods[2] != "b32":
            unknown(em, code)
        operands(em, code, 3)
        asked(em, code, mods[1], abi.QUERY_LEVEL, code.operands[2])
        return
    if len(mods) != 2 or mods[0] not in abi.QUERIES or mods[0] == "memory_layout" or mods[1] != "b32":
        unknown(em, code)
    operands(em, code, 2)
    asked(em, code, mods[0], 0)
