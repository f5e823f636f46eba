"""What lowerings of opcodes share: checks of operands and modifiers, rounding, flushing."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import BITS, Emitter, Value
from .opcodes import OPCODES
from .syntax import Instruction, PtxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Lowering = Callable[[Emitter, Instruction], None]

INTEGERS = frozenset(["u16", "s16", "u32", "s32", "u64", "s64"])
WORDS = frozenset(["u32", "s32"])
FLOATS = frozenset(["f32", "f64"])
LOGICAL = frozenset(["pred", "b16", "b32", "b64"])
ROUNDING = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}


class UnknownForm(PtxError):
    """A form that is not PTX, not implemented, or one of those in rare.py."""


def unknown(em: Emitter, code: Instruction) -> NoReturn:
    """The diagnostic for a form that is not PTX or not implemented."""
    raise UnknownForm(f"unknown opcode '{code.opcode}'", em.line, em.name)


def typed(em: Emitter, code: Instruction, allowed: frozenset[str], *mods: str) -> str:
    """The type at the end of the opcode; every other modifier must be in `mods`."""
    if not code.mods or code.mods[-1] not in allowed or any(m not in mods for m in code.mods[:-1]):
        unknown(em, code)
    return code.mods[-1]


def operands(em: Emitter, code: Instruction, count: int = 0) -> None:
    """Check the number of operands: the opcode's (opcodes.py), or for those that have several, that of the form."""
    count = count or OPCODES[code.base].count
    if len(code.operands) != count:
        em.fail(f"'{code.opcode}' needs {count} operands, {len(code.operands)} given")


def flush(em: Emitter, value: Value) -> Value:
    """.ftz: a subnormal single becomes zero of its sign."""
    size = em.intrinsic("fabs", value)
    small = em.op("fcmp olt", size, Value("float", False, "bitcast (i32 8388608 to float)"), result="i1")
    zero = em.op("and", em.fit(value, "i32"), em.ints("i32", 0x80000000))
    return em.select(small, em.fit(zero, "float"), value)


def directed(em: Emitter, operation: str, mode: int, kind: str, *values: Value) -> Value:
    """An operation with a rounding mode other than to nearest even, by the executor, lane by lane."""
    places = [em.spill(v, i + 1, f"i{BITS[v.type]}") for i, v in enumerate(values)]
    while len(places) < 3:
        places.append(places[0])
    out = em.scratch(0)
    word = abi.LANE_OPS.index("round") | (BITS[values[0].type] // 8) << 8
    word |= abi.FLOAT_LANE_OPS.index(operation) << 16 | mode << 24
    em.helper(
        "lanes", f"ptr %w, i32 {em.active}, i32 {word}, " + ", ".join(f"ptr {p}" for p in places) + f", ptr {out}"
    )
    result = Value(kind, True, em.new(f"load <32 x {kind}>, ptr {out}, align 64"))
    return result if any(v.vector for v in values) else em.first_lane(result)


def lanes_of(em: Emitter, value: Value, bits: int, signed: bool) -> list[Value]:
    """The parts of a word, lowest first, as words."""
    parts = []
    for place in range(0, 32, bits):
        up = em.op("shl", value, em.ints("i32", 32 - bits - place)) if place + bits < 32 else value
        parts.append(em.op("ashr" if signed else "lshr", up, em.ints("i32", 32 - bits)))
    return parts


def by_lane(em: Emitter, operation: str, a: Value, b: Value) -> Value:
    """Integer division and the like on vectors, by the executor: LLVM would write it out 32 times."""
    size = BITS[a.type] // 8
    first, second, out = em.spill(a, 1), em.spill(b, 2), em.scratch(0)
    word = abi.LANE_OPS.index(operation) | size << 8
    em.helper("lanes", f"ptr %w, i32 {em.active}, i32 {word}, ptr {first}, ptr {second}, ptr {second}, ptr {out}")
    return Value(a.type, True, em.new(f"load <32 x {a.type}>, ptr {out}, align 64"))


def saturate(em: Emitter, value: Value) -> Value:
    """.sat on floats: clamp to [0, 1], NaN to 0."""
    zero, one = Value(value.type, False, "0.0"), Value(value.type, False, "1.0")
    low = em.select(em.op("fcmp ogt", value, zero, result="i1"), value, zero)
    return em.select(em.op("fcmp ogt", low, one, result="i1"), one, low)
