"""Arithmetic as LLVM IR (PTX ISA 9.7.1 to 9.7.3)."""

from __future__ import annotations

from .emit import BITS, LLVM_TYPE, Emitter, Value
from .forms import (
    FLOATS,
    INTEGERS,
    ROUNDING,
    by_lane,
    directed,
    flush,
    operands,
    saturate,
    typed,
    unknown,
)
from .syntax import Instruction


def float_arithmetic(em: Emitter, code: Instruction, operation: str) -> None:
    """add, sub, mul, div, fma on floats with rounding, .ftz and .sat."""
    kind = typed(em, code, FLOATS, "rn", "rz", "rm", "rp", "ftz", "sat", "full", "approx")
    operands(em, code)
    values = [em.read(o, kind) for o in code.operands[1:]]
    ftz = "ftz" in code.mods
    if ftz:
        values = [flush(em, v) for v in values]
    mode = next((ROUNDING[m] for m in code.mods if m in ROUNDING), 0)
    if mode:
        result = directed(em, operation, mode, LLVM_TYPE[kind], *values)
    elif operation == "fma":
        result = em.intrinsic("fma", *values)
    else:
        result = em.op("f" + operation, *values)
    if ftz:
        result = flush(em, result)
    if "sat" in code.mods:
        result = saturate(em, result)
    em.write(code.operands[0], result)


def add_sub(em: Emitter, code: Instruction) -> None:
    """add, sub."""
    if code.mods and code.mods[-1] in FLOATS:
        return float_arithmetic(em, code, code.base)
    kind = typed(em, code, INTEGERS, "sat")
    operands(em, code)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if "sat" in code.mods:
        if kind != "s32":
            unknown(em, code)
        em.write(code.operands[0], em.intrinsic(f"s{code.base}.sat", a, b))
        return None
    em.write(code.operands[0], em.op(code.base, a, b), kind[0] == "s")
    return None


def wide_product(em: Emitter, kind: str, a: Value, b: Value) -> Value:
    """The product in twice the width."""
    signed = kind[0] == "s"
    wide = f"i{2 * BITS[a.type]}"
    return em.op("mul", em.cast("sext" if signed else "zext", a, wide), em.cast("sext" if signed else "zext", b, wide))


def high_product(em: Emitter, kind: str, a: Value, b: Value) -> Value:
    """The upper half of the product."""
    if BITS[a.type] == 64 and (a.vector or b.vector):
        return by_lane(em, "smulhi" if kind[0] == "s" else "umulhi", em.splat(a), em.splat(b))
    bits = BITS[a.type]
    signed = "sext" if kind[0] == "s" else "zext"
    if bits == 64:
        x = em.new(f"{signed} i64 {a.text} to i128")
        y = em.new(f"{signed} i64 {b.text} to i128")
        p = em.new(f"lshr i128 {em.new(f'mul i128 {x}, {y}')}, 64")
        return Value("i64", False, em.new(f"trunc i128 {p} to i64"))
    product = wide_product(em, kind, a, b)
    return em.cast("trunc", em.op("lshr", product, em.ints(product.type, bits)), a.type)


def mul_mad(em: Emitter, code: Instruction) -> None:
    """mul, mad: .lo, .hi, .wide, and on floats."""
    mad = code.base == "mad"
    if code.mods and code.mods[-1] in FLOATS:
        return float_arithmetic(em, code, "fma" if mad else "mul")
    kind = typed(em, code, INTEGERS, "lo", "hi", "wide")
    operands(em, code)
    part = code.mods[0]
    if len(code.mods) != 2 or (part == "wide" and kind[1:] == "64"):
        unknown(em, code)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if part == "lo":
        result = em.op("mul", a, b)
    elif part == "wide":
        result = wide_product(em, kind, a, b)
        kind = kind[0] + str(2 * int(kind[1:]))
    else:
        result = high_product(em, kind, a, b)
    if mad:
        result = em.op("add", result, em.read(code.operands[3], kind))
    em.write(code.operands[0], result, kind[0] == "s")
    return None


def fma(em: Emitter, code: Instruction) -> None:
    """fma."""
    float_arithmetic(em, code, "fma")


def quotient(em: Emitter, a: Value, b: Value, signed: bool) -> Value:
    """The quotient of vectors of 32 bits at most, by doubles: a quotient of 32 bits that is no integer is too far from
    the next one to be rounded to it.  No lane divides by 0, nor the smallest number by -1."""
    sign = "s" if signed else "u"
    wide = em.op("fdiv", em.cast(f"{sign}itofp", a, "double"), em.cast(f"{sign}itofp", b, "double"))
    return em.cast(f"fpto{sign}i", wide, a.type)


def div_rem(em: Emitter, code: Instruction) -> None:
    """div, rem.  Division by zero: all ones, as GPUs do (the ISA leaves it open); the remainder is the dividend."""
    if code.mods and code.mods[-1] in FLOATS and code.base == "div":
        return float_arithmetic(em, code, "div")
    kind = typed(em, code, INTEGERS)
    operands(em, code)
    a, b = em.same(em.read(code.operands[1], kind), em.read(code.operands[2], kind))
    signed = kind[0] == "s"
    if a.vector and (BITS[a.type] == 64 or not em.fast):
        em.write(code.operands[0], by_lane(em, ("s" if signed else "u") + code.base, a, b), signed)
        return None
    zero = em.op("icmp eq", b, em.ints(b.type, 0), result="i1")
    divisor = em.select(zero, em.ints(b.type, 1), b)
    if signed:
        # The smallest number divided by -1 traps on x86: divide by 1 and negate.
        minus = em.op("icmp eq", b, em.ints(b.type, -1), result="i1")
        divisor = em.select(minus, em.ints(b.type, 1), divisor)
    if a.vector:
        result = quotient(em, a, divisor, signed)
        if code.base == "rem":
            result = em.op("sub", a, em.op("mul", result, divisor))
    else:
        result = em.op(("s" if signed else "u") + code.base, a, divisor)
    if signed and code.base == "div":
        result = em.select(minus, em.op("sub", em.ints(a.type, 0), a), result)
    result = em.select(zero, em.ints(a.type, -1) if code.base == "div" else a, result)
    em.write(code.operands[0], result, signed)
    return None


def neg_abs(em: Emitter, code: Instruction) -> None:
    """neg, abs."""
    kind = typed(em, code, frozenset(("s16", "s32", "s64", "f32", "f64")), "ftz")
    operands(em, code)
    value = em.read(code.operands[1], kind)
    if kind in FLOATS:
        value = flush(em, value) if "ftz" in code.mods else value
        result = em.op("fneg", value) if code.base == "neg" else em.intrinsic("fabs", value)
    elif code.base == "neg":
        result = em.op("sub", em.ints(value.type, 0), value)
    else:
        result = em.intrinsic("abs", value, extra=", i1 false")
    em.write(code.operands[0], result, kind[0] == "s")


def min_max(em: Emitter, code: Instruction) -> None:
    """min, max: on floats the operand that is no NaN, and -0 < +0."""
    kind = typed(em, code, INTEGERS | FLOATS, "ftz", "NaN")
    if len(code.operands) == 4 and kind == "f32":
        unknown(em, code)
    operands(em, code)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if kind in FLOATS:
        if "ftz" in code.mods:
            a, b = flush(em, a), flush(em, b)
        name = ("minimum" if code.base == "min" else "maximum") + ("" if "NaN" in code.mods else "num")
        em.write(code.operands[0], em.intrinsic(name, a, b))
        return
    em.write(code.operands[0], em.intrinsic(f"{kind[0]}{code.base}", a, b), kind[0] == "s")


def copy_sign(em: Emitter, code: Instruction) -> None:
    """copysign d, a, b: the sign of `a`, the rest of `b`."""
    kind = typed(em, code, FLOATS)
    operands(em, code)
    em.write(
        code.operands[0], em.intrinsic("copysign", em.read(code.operands[2], kind), em.read(code.operands[1], kind))
    )


def test_property(em: Emitter, code: Instruction) -> None:
    """testp.PROPERTY.type p, a."""
    classes = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 264, "subnormal": 144}
    kind = typed(em, code, FLOATS, *classes)
    if len(code.mods) != 2:
        unknown(em, code)
    operands(em, code)
    value = em.read(code.operands[1], kind)
    suffix = ("v32" if value.vector else "") + kind
    out = Value("i1", value.vector, "")
    name = code.mods[0]
    test = em.new(f"call {out.full} @llvm.is.fpclass.{suffix}({value.typed}, i32 {classes[name]})")
    em.write(code.operands[0], Value("i1", value.vector, test))


def transcendental(em: Emitter, code: Instruction) -> None:
    """Functions of one float; the .approx forms are computed as exactly as the host's library does."""
    kind = typed(em, code, FLOATS, "rn", "rz", "rm", "rp", "approx", "ftz")
    operands(em, code)
    value = em.read(code.operands[1], kind)
    if "ftz" in code.mods and kind == "f32":
        value = flush(em, value)
    mode = next((ROUNDING[m] for m in code.mods if m in ROUNDING), 0)
    one = Value(value.type, False, "1.0")
    if mode:
        if code.base not in ("sqrt", "rcp"):
            unknown(em, code)
        result = directed(em, code.base, mode, value.type, value)
    elif code.base == "rcp":
        result = em.op("fdiv", one, value)
    elif code.base == "rsqrt":
        result = em.op("fdiv", one, em.intrinsic("sqrt", value))
    elif code.base == "tanh":
        unknown(em, code)
    else:
        result = em.intrinsic(
            {"sqrt": "sqrt", "ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos"}[code.base], value
        )
    if "ftz" in code.mods and kind == "f32":
        result = flush(em, result)
    em.write(code.operands[0], result)


def video(em: Emitter, code: Instruction) -> None:
    """vadd, vsub on whole words with a second operation: d = (a op b) op2 c (the form that GCC uses for carries)."""
    if len(code.mods) not in (3, 4) or any(m not in ("u32", "s32") for m in code.mods[:3]):
        unknown(em, code)
    second = code.mods[3] if len(code.mods) == 4 else ""
    if second not in ("", "add", "min", "max"):
        unknown(em, code)
    operands(em, code, 4 if second else 3)
    a, b = em.read(code.operands[1], "u32"), em.read(code.operands[2], "u32")
    result = em.op(code.base[1:], a, b)
    if second == "add":
        result = em.op("add", result, em.read(code.operands[3], "u32"))
    elif second:
        result = em.intrinsic(code.mods[0][0] + second, result, em.read(code.operands[3], "u32"))
    em.write(code.operands[0], result)


def sum_of_differences(em: Emitter, code: Instruction) -> None:
    """sad d, a, b, c: c + |a - b|."""
    kind = typed(em, code, INTEGERS)
    operands(em, code)
    a, b, c = (em.read(o, kind) for o in code.operands[1:])
    less = em.op("icmp slt" if kind[0] == "s" else "icmp ult", a, b, result="i1")
    em.write(code.operands[0], em.op("add", c, em.select(less, em.op("sub", b, a), em.op("sub", a, b))))


def short_product(em: Emitter, code: Instruction) -> None:
    """mul24.lo, mad24.lo on the low 24 bits."""
    kind = typed(em, code, frozenset(("u32", "s32")), "lo")
    operands(em, code)
    shift = "ashr" if kind[0] == "s" else "lshr"
    eight = em.ints("i32", 8)
    a, b = (em.op(shift, em.op("shl", em.read(o, kind), eight), eight) for o in code.operands[1:3])
    result = em.op("mul", a, b)
    if code.base == "mad24":
        result = em.op("add", result, em.read(code.operands[3], kind))
    em.write(code.operands[0], result)
