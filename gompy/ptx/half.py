"""Arithmetic on 16-bit floats, .f16 and .bf16, alone and in pairs (PTX ISA 9.7.4, 9.7.5, 9.7.7, 9.7.9 `cvt`).

Registers hold their bits as integers.  Conversions are written out in integer operations, so that code for any CPU
needs no library: `widen` is exact, `narrow` rounds.  add and sub, and mul on .f16, are done in single precision, which
has more than twice as many bits, so that rounding once more is harmless; fma and mul on .bf16 are done in double
precision and rounded to odd before they are rounded to the nearest.

rare.py loads this module when such a type is met.
"""

from __future__ import annotations

from .convert import FLOAT_COMPARE
from .emit import LLVM_TYPE, Emitter, Value
from .forms import INTEGERS, ROUNDING, operands, saturate, unknown
from .syntax import Instruction, Operand, Pair

HALVES = frozenset(("f16", "bf16"))
PAIRS = frozenset(("f16x2", "bf16x2"))
NAN = 0x7FFF
"""What results that are no numbers are."""


def single(em: Emitter, number: int) -> Value:
    """A constant of single precision by its bits."""
    return em.float_constant(number, 32, "float")


def word(em: Emitter, number: int) -> Value:
    """A constant of 32 bits."""
    return em.ints("i32", number)


def widen(em: Emitter, value: Value, kind: str) -> Value:
    """16 bits as single precision, exactly."""
    bits = em.cast("zext", value, "i32")
    if kind[0] == "b":
        return em.fit(em.op("shl", bits, word(em, 16)), "float")
    sign = em.op("shl", em.op("and", bits, word(em, 0x8000)), word(em, 16))
    low = em.op("shl", em.op("and", bits, word(em, 0x7FFF)), word(em, 13))
    scaled = em.fit(em.op("fmul", em.fit(low, "float"), single(em, 0x77800000)), "i32")  # by 2^112: also subnormals
    special = em.op("icmp uge", low, word(em, 0x7C00 << 13), result="i1")
    size = em.select(special, em.op("or", low, word(em, 0x7F800000)), scaled)
    return em.fit(em.op("or", size, sign), "float")


def magnitude(em: Emitter, size: Value, kind: str, nearest: bool) -> Value:
    """The bits of a single precision number without sign as those of 16 bits, rounded to nearest even or to zero."""
    if kind[0] == "b":
        if not nearest:
            return em.op("lshr", size, word(em, 16))
        odd = em.op("and", em.op("lshr", size, word(em, 16)), word(em, 1))
        return em.op("lshr", em.op("add", em.op("add", size, word(em, 0x7FFF)), odd), word(em, 16))
    base = em.op("sub", size, word(em, 0x38000000))
    if nearest:
        odd = em.op("and", em.op("lshr", size, word(em, 13)), word(em, 1))
        normal = em.op("lshr", em.op("add", em.op("add", base, word(em, 0xFFF)), odd), word(em, 13))
        # Beside 1/2 a single has steps of 2^-24, as subnormals have.
        beside = em.fit(em.op("fadd", em.fit(size, "float"), single(em, 0x3F000000)), "i32")
        subnormal = em.op("sub", beside, word(em, 0x3F000000))
        limit, most = 0x477FF000, word(em, 0x7C00)
    else:
        normal = em.op("lshr", base, word(em, 13))
        steps = em.op("fmul", em.fit(size, "float"), single(em, 0x4B800000))
        subnormal = em.intrinsic("fptoui.sat", steps, result="i32")
        infinite = em.op("icmp uge", size, word(em, 0x7F800000), result="i1")
        limit, most = 0x47800000, em.select(infinite, word(em, 0x7C00), word(em, 0x7BFF))
    small = em.op("icmp ult", size, word(em, 0x38800000), result="i1")
    large = em.op("icmp uge", size, word(em, limit), result="i1")
    return em.select(large, most, em.select(small, subnormal, normal))


def by_chance(em: Emitter, size: Value, fraction: int, bias: int, most: int, chance: Value, count: int) -> Value:
    """The bits of a single without sign as those of a shorter float: `.rs`, by `count` random bits.

    They are added to the first of the bits that are cut off, and a carry rounds away from zero.  Of subnormals more is
    cut off: with the random bits there they are as likely to be rounded up as others are.
    """
    drop = 23 - fraction
    added = em.op("shl", chance, word(em, drop - count)) if drop > count else chance
    normal = em.op("sub", size, word(em, 127 - bias << 23)) if bias < 127 else size
    normal = em.op("lshr", em.op("add", normal, added), word(em, drop))
    if bias < 127:
        scaled = em.op("fmul", em.fit(size, "float"), single(em, 126 + bias + fraction + count << 23))
        steps = em.op("add", em.intrinsic("fptoui.sat", scaled, result="i32"), chance)
        small = em.op("icmp ult", size, word(em, 128 - bias << 23), result="i1")
        normal = em.select(small, em.op("lshr", steps, word(em, count)), normal)
    return em.intrinsic("umin", normal, word(em, most))


CHANCE = {"f16": (10, 15, 0x7C00), "bf16": (7, 127, 0x7F80)}
"""Bits of the fraction, bias, infinity.  There are as many random bits as are cut off."""


def narrow(em: Emitter, value: Value, kind: str, mode: int = 0, chance: Value | None = None) -> Value:
    """Single precision as 16 bits; `mode` as in forms.ROUNDING; `chance`: the random bits of .rs."""
    bits = em.fit(value, "i32")
    size = em.op("and", bits, word(em, 0x7FFFFFFF))
    sign = em.op("and", em.op("lshr", bits, word(em, 16)), word(em, 0x8000))
    if chance is not None:
        fraction, bias, most = CHANCE[kind]
        count = 23 - fraction
        chance = em.op("and", chance, word(em, (1 << count) - 1))
        result = by_chance(em, size, fraction, bias, most, chance, count)
    else:
        result = magnitude(em, size, kind, mode == 0)
    if mode > 1:
        back = em.fit(widen(em, em.cast("trunc", result, "i16"), kind), "i32")
        inexact = em.op("icmp ne", back, size, result="i1")
        minus = em.op("icmp ne", sign, word(em, 0), result="i1")
        away = minus if mode == ROUNDING["rm"] else em.op("xor", minus, Value("i1", False, "true"))
        more = em.op("and", inexact, away)
        result = em.op("add", result, em.cast("zext", more, "i32"))
    nan = em.op("icmp ugt", size, word(em, 0x7F800000), result="i1")
    result = em.select(nan, word(em, NAN), em.op("or", result, sign))
    return em.cast("trunc", result, "i16")


def odd_single(em: Emitter, value: Value) -> Value:
    """Double as single precision, rounded to odd: what is not exact has its last bit set."""
    near = em.cast("fptrunc", value, "float")
    back = em.cast("fpext", near, "double")
    bits = em.fit(near, "i32")
    inexact = em.op("fcmp one", back, value, result="i1")
    beyond = em.op("fcmp ogt", em.intrinsic("fabs", back), em.intrinsic("fabs", value), result="i1")
    inside = em.select(beyond, em.op("sub", bits, word(em, 1)), bits)
    return em.fit(em.select(inexact, em.op("or", inside, word(em, 1)), bits), "float")


def odd_sum(em: Emitter, a: Value, b: Value) -> Value:
    """The sum of two doubles, rounded to odd: by the error of the rounded sum (Knuth)."""
    total = em.op("fadd", a, b)
    part = em.op("fsub", total, a)
    error = em.op("fadd", em.op("fsub", a, em.op("fsub", total, part)), em.op("fsub", b, part))
    bits = em.fit(total, "i64")
    zero = Value("double", False, "0.0")
    inexact = em.op("fcmp one", error, zero, result="i1")
    even = em.op("icmp eq", em.op("and", bits, em.ints("i64", 1)), em.ints("i64", 0), result="i1")
    up = em.op("fcmp ogt", error, zero, result="i1")
    positive = em.op("fcmp ogt", total, zero, result="i1")
    agree = em.op("icmp eq", up, positive, result="i1")
    step = em.select(agree, em.ints("i64", 1), em.ints("i64", -1))
    return em.fit(em.select(em.op("and", inexact, even), em.op("add", bits, step), bits), "double")


def flush(em: Emitter, value: Value) -> Value:
    """.ftz: a subnormal becomes zero of its sign."""
    small = em.op("icmp eq", em.op("and", value, em.ints("i16", 0x7C00)), em.ints("i16", 0), result="i1")
    return em.select(small, em.op("and", value, em.ints("i16", 0x8000)), value)


def clamp(em: Emitter, value: Value) -> Value:
    """.relu: what is negative becomes zero."""
    minus = em.op("fcmp olt", value, Value("float", False, "0.0"), result="i1")
    return em.select(minus, Value("float", False, "0.0"), value)


LARGEST = {
    "f16": 0x477FE000, "f16x2": 0x477FE000, "bf16": 0x7F7F0000, "bf16x2": 0x7F7F0000, "tf32": 0x7F7FE000,
}  # fmt: skip
"""The largest number of a type, by its bits as a single."""


def bounded(em: Emitter, value: Value, kind: str) -> Value:
    """.satfinite: what is larger than all numbers of a type becomes the largest one of its sign."""
    most = single(em, LARGEST[kind])
    beyond = em.op("fcmp ogt", em.intrinsic("fabs", value), most, result="i1")
    return em.select(beyond, em.intrinsic("copysign", most, value), value)


def arithmetic(em: Emitter, operation: str, kind: str, values: list[Value]) -> Value:
    """add, sub, mul, fma on single precision, such that rounding the result once more is right."""
    if operation == "fma" or (operation == "mul" and kind[0] == "b"):
        wide = [em.cast("fpext", v, "double") for v in values]
        total = em.op("fmul", wide[0], wide[1])
        return odd_single(em, odd_sum(em, total, wide[2]) if len(wide) == 3 else total)
    return em.op("f" + operation, *values)


def extreme(em: Emitter, code: Instruction, values: list[Value]) -> Value:
    """min, max, also .NaN and .xorsign.abs, on single precision."""
    signs = None
    if "xorsign" in code.mods:
        signs = em.op("xor", em.fit(values[0], "i32"), em.fit(values[1], "i32"))
        values = [em.intrinsic("fabs", v) for v in values]
    name = ("minimum" if code.base == "min" else "maximum") + ("" if "NaN" in code.mods else "num")
    result = em.intrinsic(name, *values)
    if signs is not None:
        sign = em.op("and", signs, word(em, 0x80000000))
        result = em.fit(em.op("or", em.fit(result, "i32"), sign), "float")
    return result


ALLOWED = {
    "add": ("rn", "ftz", "sat"),
    "sub": ("rn", "ftz", "sat"),
    "mul": ("rn", "ftz", "sat"),
    "fma": ("rn", "ftz", "sat", "relu", "oob"),
    "min": ("ftz", "NaN", "xorsign", "abs"),
    "max": ("ftz", "NaN", "xorsign", "abs"),
    "neg": ("ftz",),
    "abs": ("ftz",),
    "ex2": ("approx", "ftz"),
    "tanh": ("approx",),
}


def one(em: Emitter, code: Instruction, kind: str, values: list[Value]) -> Value:
    """One 16-bit result of an operation of ALLOWED."""
    base = code.base
    ftz = "ftz" in code.mods and kind == "f16"
    if ftz:
        values = [flush(em, v) for v in values]
    if base == "neg":
        return em.op("xor", values[0], em.ints("i16", 0x8000))
    if base == "abs":
        return em.op("and", values[0], em.ints("i16", 0x7FFF))
    wide = [widen(em, v, kind) for v in values]
    if base in ("min", "max"):
        return narrow(em, extreme(em, code, wide), kind)
    if base in ("ex2", "tanh"):
        result = em.intrinsic("exp2" if base == "ex2" else "tanh", wide[0])
    else:
        result = arithmetic(em, base, kind, wide)
    if "sat" in code.mods:
        result = saturate(em, result)
    if "relu" in code.mods:
        result = clamp(em, result)
    out = narrow(em, result, kind)
    return flush(em, out) if ftz else out


def halves(em: Emitter, operand: Operand) -> list[Value]:
    """The two 16-bit halves of a word, the lower one first."""
    both = em.read(operand, "b32")
    return [em.cast("trunc", both, "i16"), em.cast("trunc", em.op("lshr", both, word(em, 16)), "i16")]


def joined(em: Emitter, low: Value, high: Value) -> Value:
    """Two 16-bit values as a word."""
    upper = em.op("shl", em.cast("zext", high, "i32"), word(em, 16))
    return em.op("or", upper, em.cast("zext", low, "i32"))


def compute(em: Emitter, code: Instruction) -> None:
    """The operations of ALLOWED."""
    allowed = ALLOWED.get(code.base)
    if (
        allowed is None
        or code.mods[-1] not in HALVES | PAIRS
        or any(m not in allowed for m in code.mods[:-1])
        or "oob" in code.mods
    ):
        unknown(em, code)
    kind = code.mods[-1]
    operands(em, code)
    if kind in HALVES:
        em.write(code.operands[0], one(em, code, kind, [em.read(o, "b16") for o in code.operands[1:]]))
        return
    split = [halves(em, o) for o in code.operands[1:]]
    low, high = (one(em, code, kind[:-2], [pair[i] for pair in split]) for i in (0, 1))
    em.write(code.operands[0], joined(em, low, high))


def compared(em: Emitter, code: Instruction, name: str, kind: str, a: Value, b: Value) -> Value:
    """A comparison as one bit a lane."""
    if name not in FLOAT_COMPARE:
        unknown(em, code)
    if "ftz" in code.mods and kind == "f16":
        a, b = flush(em, a), flush(em, b)
    return em.op(f"fcmp {FLOAT_COMPARE[name]}", widen(em, a, kind), widen(em, b, kind), result="i1")


def compare(em: Emitter, code: Instruction) -> None:
    """setp.CMP{.BOOL}.type p{|q}, a, b{, c}: of pairs, p is for the lower halves and q for the upper ones; set."""
    mods = [m for m in code.mods if m != "ftz"]
    if code.base == "set" and len(mods) == 3 and mods[0] not in FLOAT_COMPARE:
        mods[0], mods[1] = mods[1], mods[0]  # GCC's order
    if len(mods) < 2:
        unknown(em, code)
    kind, name, middle = mods[-1], mods[0], mods[1:-1]
    target = middle.pop() if code.base == "set" and middle else ""
    combine = middle.pop(0) if middle else ""
    if middle or (combine and combine not in ("and", "or", "xor")) or (code.base == "set") != bool(target):
        unknown(em, code)
    operands(em, code, 4 if combine else 3)
    first, second = code.operands[1:3]
    if kind in HALVES:
        results = [compared(em, code, name, kind, em.read(first, "b16"), em.read(second, "b16"))]
    else:
        pairs = zip(halves(em, first), halves(em, second), strict=True)
        results = [compared(em, code, name, kind[:-2], a, b) for a, b in pairs]
    inverse = [em.op("xor", r, Value("i1", False, "true")) for r in results[:1]] if kind in HALVES else []
    if combine:
        other = em.read(code.operands[3], "pred")
        results = [em.op(combine, r, other) for r in results]
        inverse = [em.op(combine, r, other) for r in inverse]
    if target:
        set_result(em, code, target, kind, results)
        return
    out = code.operands[0]
    if isinstance(out, Pair):
        em.write(out.first, results[0])
        em.write(out.second, (results[1:] or inverse)[0])
    elif kind in HALVES:
        em.write(out, results[0])
    else:
        em.fail(f"'{code.opcode}' needs two predicates")


def set_result(em: Emitter, code: Instruction, target: str, kind: str, results: list[Value]) -> None:
    """`set`: 1.0 or all ones where the comparison holds."""
    if kind in HALVES and target in ("u16", "s16", "u32", "s32"):
        em.write(code.operands[0], em.cast("sext", results[0], LLVM_TYPE[target]))
        return
    if target == kind:
        ones = em.ints("i16", 0x3F80 if kind[0] == "b" else 0x3C00)
    elif kind in PAIRS and target in ("u32", "s32"):
        ones = em.ints("i16", -1)
    else:
        unknown(em, code)
    parts = [em.select(r, ones, em.ints("i16", 0)) for r in results]
    em.write(code.operands[0], parts[0] if len(parts) == 1 else joined(em, *parts))


def integer(em: Emitter, value: Value, source: str) -> Value:
    """An integer as single precision rounded to odd."""
    signed = source[0] == "s"
    if source[1:] != "64":
        return odd_single(em, em.cast("sitofp" if signed else "uitofp", value, "double"))
    high = em.op("ashr" if signed else "lshr", value, em.ints("i64", 32))
    low = em.op("and", value, em.ints("i64", 0xFFFFFFFF))
    upper = em.op(
        "fmul", em.cast("sitofp" if signed else "uitofp", high, "double"), Value("double", False, "4294967296.0")
    )
    return odd_single(em, odd_sum(em, upper, em.cast("uitofp", low, "double")))


def convert(em: Emitter, code: Instruction) -> None:
    """cvt from or to 16-bit floats; two singles to a pair (.rs: by random bits); singles to .tf32."""
    if len(code.mods) < 2:
        unknown(em, code)
    source, to, mods = code.mods[-1], code.mods[-2], code.mods[:-2]
    known = ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat", "relu", "rna", "satfinite")
    finite, random = "satfinite" in mods, mods[:1] == ("rs",)
    if any(m not in known for m in mods[random:]) or (finite and (source != "f32" or to not in LARGEST)):
        unknown(em, code)
    mode = next((ROUNDING[m] for m in mods if m in ROUNDING), 0)
    if random and (to not in PAIRS or source != "f32" or any(m not in ("relu", "satfinite") for m in mods[1:])):
        unknown(em, code)
    if to in PAIRS and source == "f32":
        operands(em, code, 4 if random else 3)
        high, low = (em.read(o, "f32") for o in code.operands[1:3])
        if "relu" in mods:
            high, low = clamp(em, high), clamp(em, low)
        if finite:
            high, low = bounded(em, high, to), bounded(em, low, to)
        if random:
            chance = em.read(code.operands[3], "b32")
            upper = em.op("lshr", chance, word(em, 16))
            found = joined(em, narrow(em, low, to[:-2], 0, chance), narrow(em, high, to[:-2], 0, upper))
        else:
            found = joined(em, narrow(em, low, to, mode), narrow(em, high, to, mode))
        em.write(code.operands[0], found)
        return
    operands(em, code)
    if to == "tf32" and source == "f32":
        em.write(code.operands[0], short_single(em, code, mods))
        return
    em.write(code.operands[0], converted(em, code, source, to, mods, mode), to[0] == "s")


def short_single(em: Emitter, code: Instruction, mods: tuple[str, ...]) -> Value:
    """The bits of a single as .tf32: .rna takes halves away from zero, .rn to even."""
    value = em.read(code.operands[1], "f32")
    if mods[:1] not in (("rna",), ("rn",), ("rz",)) or any(m not in ("relu", "satfinite") for m in mods[1:]):
        unknown(em, code)
    if "relu" in mods:
        value = clamp(em, value)
    if "satfinite" in mods:
        value = bounded(em, value, "tf32")
    bits = em.fit(value, "i32")
    nan = em.op("icmp ugt", em.op("and", bits, word(em, 0x7FFFFFFF)), word(em, 0x7F800000), result="i1")
    if mods[0] == "rna":
        bits = em.op("add", bits, word(em, 0x1000))
    elif mods[0] == "rn":
        odd = em.op("and", em.op("lshr", bits, word(em, 13)), word(em, 1))
        bits = em.op("add", bits, em.op("add", odd, word(em, 0xFFF)))
    if mods != ("rz",):
        bits = em.select(nan, word(em, 0x7FFFFFFF), bits)
    return em.op("and", bits, word(em, 0xFFFFE000))


def converted(em: Emitter, code: Instruction, source: str, to: str, mods: tuple[str, ...], mode: int) -> Value:
    """One value of one type as another."""
    integral = next((m for m in mods if m.endswith("i")), "")
    if source in HALVES:
        value = widen(em, em.read(code.operands[1], "b16"), source)
    elif source in INTEGERS or source in ("u8", "s8"):
        value = integer(em, em.read(code.operands[1], source), source)
    elif source == "f64":
        value = odd_single(em, em.read(code.operands[1], "f64"))
    elif source == "f32":
        value = em.read(code.operands[1], "f32")
    else:
        unknown(em, code)
    if integral:
        name = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}[integral]
        value = em.intrinsic(name, value)
    if to in INTEGERS or to in ("u8", "s8"):
        if not integral:
            unknown(em, code)
        name = "fptosi.sat" if to[0] == "s" else "fptoui.sat"
        return em.intrinsic(name, value, result=LLVM_TYPE[to])
    if "sat" in mods:
        value = saturate(em, value)
    if "relu" in mods:
        value = clamp(em, value)
    if "satfinite" in mods:
        value = bounded(em, value, to)
    if to in HALVES:
        return narrow(em, value, to, mode)
    if to == "f32":
        return value
    if to == "f64":
        return em.cast("fpext", value, "double")
    unknown(em, code)
