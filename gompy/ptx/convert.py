"""Comparisons, selections, moves and conversions as LLVM IR (PTX ISA 9.7.6, 9.7.9)."""

from __future__ import annotations

from . import bounds, progressions
from .emit import LLVM_TYPE, Emitter, Value
from .forms import (
    FLOATS,
    INTEGERS,
    LOGICAL,
    ROUNDING,
    directed,
    flush,
    operands,
    saturate,
    typed,
    unknown,
)
from .syntax import Instruction, Pair, Sink, Vector

FLOAT_COMPARE = {
    "eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "equ": "ueq", "neu": "une",
    "ltu": "ult", "leu": "ule", "gtu": "ugt", "geu": "uge", "num": "ord", "nan": "uno",
}  # fmt: skip
UNSIGNED_COMPARE = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def compare(em: Emitter, code: Instruction, name: str, kind: str, a: Value, b: Value) -> Value:
    """A comparison as one bit a lane."""
    if kind in FLOATS:
        if name not in FLOAT_COMPARE:
            unknown(em, code)
        if "ftz" in code.mods:
            a, b = flush(em, a), flush(em, b)
        return em.op(f"fcmp {FLOAT_COMPARE[name]}", a, b, result="i1")
    if name in UNSIGNED_COMPARE and kind[0] == "u":
        condition = UNSIGNED_COMPARE[name]
    elif name in ("eq", "ne"):
        condition = name
    elif name in ("lt", "le", "gt", "ge") and kind[0] in "us":
        condition = kind[0] + name
    else:
        unknown(em, code)
    return em.op(f"icmp {condition}", a, b, result="i1")


def set_predicate(em: Emitter, code: Instruction) -> None:
    """setp.CMP{.BOOL}.type p{|q}, a, b{, c} and set.CMP{.BOOL}.dtype.type d, a, b{, c}.

    GCC writes set.dtype.CMP.type (nvptx.md, setcc), and ptxas takes it.
    """
    word = bounds.compare(em, code)
    if word is not None:
        em.write(code.operands[0], word)
        return
    mods = [m for m in code.mods if m != "ftz"]
    if code.base == "set" and len(mods) == 3 and mods[0] in ("u32", "s32", "f32"):
        mods[0], mods[1] = mods[1], mods[0]
    kinds = INTEGERS | FLOATS | LOGICAL
    if len(mods) < 2 or mods[-1] not in kinds - {"pred"}:
        unknown(em, code)
    kind, name = mods[-1], mods[0]
    middle = mods[1:-1]
    result_kind = "pred"
    if code.base == "set":
        if not middle or middle[-1] not in ("u32", "s32", "f32"):
            unknown(em, code)
        result_kind = middle.pop()
    combine = middle.pop(0) if middle else ""
    if middle or (combine and combine not in ("and", "or", "xor")):
        unknown(em, code)
    operands(em, code, 4 if combine else 3)
    one, two = (progressions.compared(em, code, source, kind) for source in code.operands[1:3])
    result = compare(em, code, name, kind, one, two)
    inverse = None
    if isinstance(code.operands[0], Pair):
        inverse = em.op("xor", result, Value("i1", False, "true"))
    if combine:
        other = em.read(code.operands[3], "pred")
        result = em.op(combine, result, other)
        inverse = em.op(combine, inverse, other) if inverse is not None else None
    if result_kind != "pred":
        if result_kind == "f32":
            result = em.select(result, Value("float", False, "1.0"), Value("float", False, "0.0"))
        else:
            result = em.cast("sext", result, "i32")
    if isinstance(code.operands[0], Pair):
        assert inverse is not None
        em.write(code.operands[0].first, result)
        em.write(code.operands[0].second, inverse)
    else:
        em.write(code.operands[0], result)


def select_predicate(em: Emitter, code: Instruction) -> None:
    """selp d, a, b, p."""
    kind = typed(em, code, INTEGERS | FLOATS | LOGICAL - {"pred"})
    operands(em, code)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    em.write(code.operands[0], em.select(em.read(code.operands[3], "pred"), a, b))


def select_sign(em: Emitter, code: Instruction) -> None:
    """slct.dtype.ctype d, a, b, c: `a` if c >= 0."""
    mods = [m for m in code.mods if m != "ftz"]
    if len(mods) != 2 or mods[0] not in INTEGERS | FLOATS | LOGICAL - {"pred"} or mods[1] not in ("s32", "f32"):
        unknown(em, code)
    operands(em, code)
    a, b, c = em.read(code.operands[1], mods[0]), em.read(code.operands[2], mods[0]), em.read(code.operands[3], mods[1])
    if mods[1] == "f32":
        condition = em.op("fcmp oge", c, Value("float", False, "0.0"), result="i1")
    else:
        condition = em.op("icmp sge", c, em.ints("i32", 0), result="i1")
    em.write(code.operands[0], em.select(condition, a, b))


def move(em: Emitter, code: Instruction) -> None:
    """mov: registers, constants, addresses; packing and unpacking of vectors."""
    kinds = INTEGERS | FLOATS | LOGICAL
    kind = typed(em, code, kinds, "v2", "v4")
    operands(em, code)
    target, source = code.operands
    if "v2" in code.mods or "v4" in code.mods:
        count = 2 if "v2" in code.mods else 4
        if not (isinstance(target, Vector) and isinstance(source, Vector)):
            em.fail(f"'{code.opcode}' needs vectors")
        if len(target.items) != count or len(source.items) != count:
            em.fail(f"'{code.opcode}' needs vectors of {count} elements")
        for to, value in zip(target.items, [em.read(s, kind) for s in source.items], strict=True):
            em.write(to, value)
        return
    for operand in code.operands:
        if isinstance(operand, Vector):
            check_parts(em, code, kind, len(operand.items))
    if isinstance(source, Vector):
        part = int(kind[1:]) // len(source.items)
        whole = em.ints(LLVM_TYPE[kind], 0)
        for index, item in enumerate(source.items):
            value = em.fit(em.read(item, f"b{part}"), LLVM_TYPE[kind])
            whole = em.op("or", whole, em.op("shl", value, em.ints(whole.type, index * part))) if index else value
        em.write(target, whole)
        return
    value = em.read(source, kind)
    if isinstance(target, Vector):
        part = int(kind[1:]) // len(target.items)
        for index, item in enumerate(target.items):
            piece = em.op("lshr", value, em.ints(value.type, index * part)) if index else value
            if not isinstance(item, Sink):
                em.write(item, em.fit(piece, f"i{part}"))
        return
    em.write(target, value)


def check_parts(em: Emitter, code: Instruction, kind: str, count: int) -> None:
    """What is packed or unpacked must be bits, and its parts of a size that registers have."""
    if kind in FLOATS or kind == "pred" or int(kind[1:]) not in (8 * count, 16 * count, 32 * count):
        em.fail(f"'{code.opcode}' cannot have a vector of {count} elements")


def convert_address(em: Emitter, code: Instruction) -> None:
    """cvta: addresses of all spaces are generic ones here."""
    if not code.mods or code.mods[-1] not in ("u64", "u32"):
        unknown(em, code)
    spaces = [m.removesuffix("::cta").removesuffix("::cluster") for m in code.mods[:-1]]
    if any(space not in ("to", "global", "const", "shared", "local", "param") for space in spaces):
        unknown(em, code)
    if "param" in code.mods:
        em.fail("generic addresses of parameters are not implemented")
    operands(em, code)
    em.write(code.operands[0], em.read(code.operands[1], code.mods[-1]))


def convert(em: Emitter, code: Instruction) -> None:
    """cvt.round.ftz.sat.to.from: integers and floats."""
    kinds = INTEGERS | FLOATS | {"u8", "s8"}
    if len(code.mods) < 2 or code.mods[-1] not in kinds or code.mods[-2] not in kinds:
        unknown(em, code)
    source, to, mods = code.mods[-1], code.mods[-2], code.mods[:-2]
    if any(m not in ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat") for m in mods):
        unknown(em, code)
    operands(em, code)
    value = em.read(code.operands[1], source)
    llvm = LLVM_TYPE[to]
    signed = to[0] == "s"
    if source in FLOATS and "ftz" in mods and source == "f32":
        value = flush(em, value)
    integral = next((m for m in mods if m.endswith("i")), "")
    mode = next((ROUNDING[m] for m in mods if m in ROUNDING), 0)
    if integral:
        value = em.intrinsic({"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[integral], value)
    if source in FLOATS and to in FLOATS:
        if mode and llvm == "float" and source == "f64":
            value = directed(em, "cvt_f64", mode, "float", value)
        elif llvm != value.type:
            value = em.cast("fpext" if llvm == "double" else "fptrunc", value, llvm)
        if "ftz" in mods and to == "f32":
            value = flush(em, value)
        if "sat" in mods:
            value = saturate(em, value)
        em.write(code.operands[0], value)
    elif source in FLOATS:
        if not integral:
            unknown(em, code)
        out = em.intrinsic("fptosi.sat" if signed else "fptoui.sat", value, result=llvm)
        em.write(code.operands[0], out, signed)
    elif to in FLOATS:
        if mode:
            wide = em.fit(value, "i64", source[0] == "s")
            value = directed(
                em, "cvt_s64" if source[0] == "s" else "cvt_u64", mode + (4 if llvm == "double" else 0), llvm, wide
            )
        else:
            value = em.cast("sitofp" if source[0] == "s" else "uitofp", value, llvm)
        em.write(code.operands[0], saturate(em, value) if "sat" in mods else value)
    else:
        if "sat" in mods:
            value = clamp(em, value, source, to)
        em.write(code.operands[0], em.fit(value, llvm, source[0] == "s"), signed)


def clamp(em: Emitter, value: Value, source: str, to: str) -> Value:
    """cvt.sat between integers."""
    bits, width = int(to[1:]), int(source[1:])
    low = -(1 << bits - 1) if to[0] == "s" else 0
    high = (1 << bits - 1) - 1 if to[0] == "s" else (1 << bits) - 1
    if source[0] == "s":
        if low > -(1 << width - 1):
            value = em.intrinsic("smax", value, em.ints(value.type, low))
        if high < (1 << width - 1) - 1:
            value = em.intrinsic("smin", value, em.ints(value.type, high))
    elif high < (1 << width) - 1:
        value = em.intrinsic("umin", value, em.ints(value.type, high))
    return value
