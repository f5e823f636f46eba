"""Arithmetic, logic, comparison and conversion as LLVM IR (PTX ISA 9.7.1 to 9.7.6; 9.7.9 for mov and cvta)."""

from __future__ import annotations

from collections.abc import Callable

from . import abi
from .emit import BITS, LLVM_TYPE, Emitter, Value
from .syntax import Instruction, Pair, Register, Sink, Vector

Lowering = Callable[[Emitter, Instruction], None]
TABLE: dict[str, Lowering] = {}

INTEGERS = frozenset(["u16", "s16", "u32", "s32", "u64", "s64"])
FLOATS = frozenset(["f32", "f64"])
LOGICAL = frozenset(["pred", "b16", "b32", "b64"])
ROUNDING = {"rn": 0, "rz": 1, "rm": 2, "rp": 3}
FLOAT_LANE_OPS = (
    "add",
    "sub",
    "mul",
    "div",
    "fma",
    "sqrt",
    "rcp",
    "cvt_s32",
    "cvt_u32",
    "cvt_s64",
    "cvt_u64",
    "cvt_f64",
)


def lowering(*names: str) -> Callable[[Lowering], Lowering]:
    """Enter a function in the table of opcodes."""

    def enter(function: Lowering) -> Lowering:
        for name in names:
            TABLE[name] = function
        return function

    return enter


def unknown(em: Emitter, code: Instruction) -> None:
    """The diagnostic for a form that is not PTX or not implemented."""
    em.fail(f"unknown opcode '{code.opcode}'")


def typed(em: Emitter, code: Instruction, allowed: frozenset[str], *mods: str) -> str:
    """The type at the end of the opcode; every other modifier must be in `mods`."""
    if not code.mods or code.mods[-1] not in allowed or any(m not in mods for m in code.mods[:-1]):
        unknown(em, code)
    return code.mods[-1]


def operands(em: Emitter, code: Instruction, count: int) -> None:
    """Check the number of operands."""
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
    word |= FLOAT_LANE_OPS.index(operation) << 16 | mode << 24
    em.helper(
        "lanes", f"ptr %w, i32 {em.active}, i32 {word}, " + ", ".join(f"ptr {p}" for p in places) + f", ptr {out}"
    )
    result = Value(kind, True, em.new(f"load <32 x {kind}>, ptr {out}, align 64"))
    return result if any(v.vector for v in values) else em.first_lane(result)


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


def float_arithmetic(em: Emitter, code: Instruction, operation: str, count: int) -> None:
    """add, sub, mul, div, fma on floats with rounding, .ftz and .sat."""
    kind = typed(em, code, FLOATS, "rn", "rz", "rm", "rp", "ftz", "sat", "full", "approx")
    operands(em, code, count + 1)
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


@lowering("add", "sub")
def add_sub(em: Emitter, code: Instruction) -> None:
    """add, sub."""
    if code.mods and code.mods[-1] in FLOATS:
        return float_arithmetic(em, code, code.base, 2)
    kind = typed(em, code, INTEGERS, "sat")
    operands(em, code, 3)
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


@lowering("mul", "mad")
def mul_mad(em: Emitter, code: Instruction) -> None:
    """mul, mad: .lo, .hi, .wide, and on floats."""
    mad = code.base == "mad"
    if code.mods and code.mods[-1] in FLOATS:
        return float_arithmetic(em, code, "fma" if mad else "mul", 3 if mad else 2)
    kind = typed(em, code, INTEGERS, "lo", "hi", "wide")
    operands(em, code, 4 if mad else 3)
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


@lowering("fma")
def fma(em: Emitter, code: Instruction) -> None:
    """fma."""
    float_arithmetic(em, code, "fma", 3)


@lowering("div", "rem")
def div_rem(em: Emitter, code: Instruction) -> None:
    """div, rem.  Division by zero: all ones, as GPUs do (the ISA leaves it open); the remainder is the dividend."""
    if code.mods and code.mods[-1] in FLOATS and code.base == "div":
        return float_arithmetic(em, code, "div", 2)
    kind = typed(em, code, INTEGERS)
    operands(em, code, 3)
    a, b = em.same(em.read(code.operands[1], kind), em.read(code.operands[2], kind))
    signed = kind[0] == "s"
    if a.vector:
        em.write(code.operands[0], by_lane(em, ("s" if signed else "u") + code.base, a, b), signed)
        return None
    zero = em.op("icmp eq", b, em.ints(b.type, 0), result="i1")
    divisor = em.select(zero, em.ints(b.type, 1), b)
    if signed:
        # The smallest number divided by -1 traps on x86: divide by 1 and negate.
        minus = em.op("icmp eq", b, em.ints(b.type, -1), result="i1")
        divisor = em.select(minus, em.ints(b.type, 1), divisor)
    name = ("s" if signed else "u") + code.base
    result = em.op(name, a, divisor)
    if signed and code.base == "div":
        result = em.select(minus, em.op("sub", em.ints(a.type, 0), a), result)
    result = em.select(zero, em.ints(a.type, -1) if code.base == "div" else a, result)
    em.write(code.operands[0], result, signed)
    return None


@lowering("neg", "abs")
def neg_abs(em: Emitter, code: Instruction) -> None:
    """neg, abs."""
    kind = typed(em, code, frozenset(("s16", "s32", "s64", "f32", "f64")), "ftz")
    operands(em, code, 2)
    value = em.read(code.operands[1], kind)
    if kind in FLOATS:
        value = flush(em, value) if "ftz" in code.mods else value
        result = em.op("fneg", value) if code.base == "neg" else em.intrinsic("fabs", value)
    elif code.base == "neg":
        result = em.op("sub", em.ints(value.type, 0), value)
    else:
        result = em.intrinsic("abs", value, extra=", i1 false")
    em.write(code.operands[0], result, kind[0] == "s")


@lowering("min", "max")
def min_max(em: Emitter, code: Instruction) -> None:
    """min, max: on floats the operand that is no NaN, and -0 < +0."""
    kind = typed(em, code, INTEGERS | FLOATS, "ftz", "NaN")
    operands(em, code, 3)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if kind in FLOATS:
        if "ftz" in code.mods:
            a, b = flush(em, a), flush(em, b)
        name = ("minimum" if code.base == "min" else "maximum") + ("" if "NaN" in code.mods else "num")
        em.write(code.operands[0], em.intrinsic(name, a, b))
        return
    em.write(code.operands[0], em.intrinsic(f"{kind[0]}{code.base}", a, b), kind[0] == "s")


@lowering("and", "or", "xor")
def logic(em: Emitter, code: Instruction) -> None:
    """and, or, xor."""
    kind = typed(em, code, LOGICAL)
    operands(em, code, 3)
    em.write(code.operands[0], em.op(code.base, em.read(code.operands[1], kind), em.read(code.operands[2], kind)))


@lowering("not", "cnot")
def complement(em: Emitter, code: Instruction) -> None:
    """not, cnot (1 if zero, else 0)."""
    kind = typed(em, code, LOGICAL)
    operands(em, code, 2)
    value = em.read(code.operands[1], kind)
    if code.base == "not":
        result = em.op("xor", value, em.ints(value.type, -1) if kind != "pred" else Value("i1", False, "true"))
    else:
        result = em.cast("zext", em.op("icmp eq", value, em.ints(value.type, 0), result="i1"), value.type)
    em.write(code.operands[0], result)


@lowering("shl", "shr")
def shift(em: Emitter, code: Instruction) -> None:
    """shl, shr: amounts beyond the width shift everything out."""
    kind = typed(em, code, frozenset(["b16", "b32", "b64"]) | (INTEGERS if code.base == "shr" else frozenset()))
    operands(em, code, 3)
    value, amount = em.read(code.operands[1], kind), em.read(code.operands[2], "u32")
    bits = BITS[value.type]
    arithmetic = kind[0] == "s"
    limit = em.ints("i32", bits - 1)
    over = em.op("icmp ugt", amount, limit, result="i1")
    amount = em.fit(em.intrinsic("umin", amount, limit), value.type)
    name = "shl" if code.base == "shl" else "ashr" if arithmetic else "lshr"
    result = em.op(name, value, amount)
    if not arithmetic:
        result = em.select(over, em.ints(value.type, 0), result)
    em.write(code.operands[0], result, arithmetic)


@lowering("shf")
def funnel(em: Emitter, code: Instruction) -> None:
    """shf.l, shf.r: .wrap and .clamp on two 32-bit words."""
    if (
        len(code.mods) != 3
        or code.mods[0] not in "lr"
        or code.mods[1] not in ("wrap", "clamp")
        or code.mods[2] != "b32"
    ):
        unknown(em, code)
    operands(em, code, 4)
    low, high, amount = (em.read(o, "b32") for o in code.operands[1:])
    if code.mods[1] == "wrap":
        amount = em.op("and", amount, em.ints("i32", 31))
    else:
        amount = em.intrinsic("umin", amount, em.ints("i32", 32))
    both = em.op("or", em.op("shl", em.cast("zext", high, "i64"), em.ints("i64", 32)), em.cast("zext", low, "i64"))
    wide = em.cast("zext", amount, "i64")
    if code.mods[0] == "l":
        result = em.op("lshr", em.op("shl", both, wide), em.ints("i64", 32))
    else:
        result = em.op("lshr", both, wide)
    em.write(code.operands[0], em.cast("trunc", result, "i32"))


@lowering("clz", "popc", "brev", "bfind")
def bit_count(em: Emitter, code: Instruction) -> None:
    """clz, popc, brev, bfind."""
    find = code.base == "bfind"
    kind = typed(em, code, frozenset(("u32", "s32", "u64", "s64")) if find else frozenset(("b32", "b64")), "shiftamt")
    operands(em, code, 2)
    value = em.read(code.operands[1], kind)
    bits = BITS[value.type]
    if code.base == "brev":
        em.write(code.operands[0], em.intrinsic("bitreverse", value))
        return
    if code.base == "popc":
        em.write(code.operands[0], em.fit(em.intrinsic("ctpop", value), "i32"))
        return
    if find and kind[0] == "s":
        value = em.op("xor", value, em.op("ashr", value, em.ints(value.type, bits - 1)))
    zeros = em.fit(em.intrinsic("ctlz", value, extra=", i1 false"), "i32")
    if find:
        none = em.op("icmp eq", zeros, em.ints("i32", bits), result="i1")
        place = zeros if "shiftamt" in code.mods else em.op("sub", em.ints("i32", bits - 1), zeros)
        zeros = em.select(none, em.ints("i32", -1), place)
    em.write(code.operands[0], zeros)


@lowering("bfe")
def bit_field_extract(em: Emitter, code: Instruction) -> None:
    """bfe: position and length are their low bytes."""
    kind = typed(em, code, frozenset(("u32", "s32", "u64", "s64")))
    operands(em, code, 4)
    value = em.read(code.operands[1], kind)
    bits, llvm = BITS[value.type], value.type
    place, length = (em.op("and", em.fit(em.read(o, "u32"), llvm), em.ints(llvm, 255)) for o in code.operands[2:])
    last = em.ints(llvm, bits - 1)
    signed = kind[0] == "s"
    shifted = em.op("ashr" if signed else "lshr", value, em.intrinsic("umin", place, last))
    if not signed:
        shifted = em.select(em.op("icmp ugt", place, last, result="i1"), em.ints(llvm, 0), shifted)
    # Bits that stay: `length` of them, but not beyond the top (a signed field is then the sign already).
    room = em.intrinsic("umin", length, em.ints(llvm, bits))
    cut = em.op("sub", em.ints(llvm, bits), room)
    safe = em.intrinsic("umin", cut, last)
    result = em.op("ashr" if signed else "lshr", em.op("shl", shifted, safe), safe)
    result = em.select(em.op("icmp eq", length, em.ints(llvm, 0), result="i1"), em.ints(llvm, 0), result)
    em.write(code.operands[0], result, signed)


@lowering("bfi")
def bit_field_insert(em: Emitter, code: Instruction) -> None:
    """bfi d, a, b, pos, len: `a` into `b`."""
    kind = typed(em, code, frozenset(("b32", "b64")))
    operands(em, code, 5)
    field, into = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    bits, llvm = BITS[into.type], into.type
    place, length = (em.op("and", em.fit(em.read(o, "u32"), llvm), em.ints(llvm, 255)) for o in code.operands[3:])
    last = em.ints(llvm, bits - 1)
    long = em.op("icmp uge", length, em.ints(llvm, bits), result="i1")
    ones = em.op("sub", em.op("shl", em.ints(llvm, 1), em.intrinsic("umin", length, last)), em.ints(llvm, 1))
    mask = em.select(long, em.ints(llvm, -1), ones)
    safe = em.intrinsic("umin", place, last)
    mask = em.op("shl", mask, safe)
    new = em.op("and", em.op("shl", field, safe), mask)
    result = em.op("or", new, em.op("and", into, em.op("xor", mask, em.ints(llvm, -1))))
    out = em.op("icmp ugt", place, last, result="i1")
    em.write(code.operands[0], em.select(out, into, result))


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


@lowering("setp", "set")
def set_predicate(em: Emitter, code: Instruction) -> None:
    """setp.CMP{.BOOL}.type p{|q}, a, b{, c} and set.CMP{.BOOL}.dtype.type d, a, b{, c}."""
    mods = [m for m in code.mods if m != "ftz"]
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
    result = compare(em, code, name, kind, em.read(code.operands[1], kind), em.read(code.operands[2], kind))
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


@lowering("selp")
def select_predicate(em: Emitter, code: Instruction) -> None:
    """selp d, a, b, p."""
    kind = typed(em, code, INTEGERS | FLOATS | LOGICAL - {"pred"})
    operands(em, code, 4)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    em.write(code.operands[0], em.select(em.read(code.operands[3], "pred"), a, b))


@lowering("slct")
def select_sign(em: Emitter, code: Instruction) -> None:
    """slct.dtype.ctype d, a, b, c: `a` if c >= 0."""
    mods = [m for m in code.mods if m != "ftz"]
    if len(mods) != 2 or mods[0] not in INTEGERS | FLOATS | LOGICAL - {"pred"} or mods[1] not in ("s32", "f32"):
        unknown(em, code)
    operands(em, code, 4)
    a, b, c = em.read(code.operands[1], mods[0]), em.read(code.operands[2], mods[0]), em.read(code.operands[3], mods[1])
    if mods[1] == "f32":
        condition = em.op("fcmp oge", c, Value("float", False, "0.0"), result="i1")
    else:
        condition = em.op("icmp sge", c, em.ints("i32", 0), result="i1")
    em.write(code.operands[0], em.select(condition, a, b))


@lowering("mov")
def move(em: Emitter, code: Instruction) -> None:
    """mov: registers, constants, addresses; packing and unpacking of vectors."""
    kinds = INTEGERS | FLOATS | LOGICAL
    kind = typed(em, code, kinds, "v2", "v4")
    operands(em, code, 2)
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


@lowering("cvta")
def convert_address(em: Emitter, code: Instruction) -> None:
    """cvta: addresses of all spaces are generic ones here."""
    if not code.mods or code.mods[-1] not in ("u64", "u32"):
        unknown(em, code)
    if any(m not in ("to", "global", "const", "shared", "local", "param") for m in code.mods[:-1]):
        unknown(em, code)
    operands(em, code, 2)
    em.write(code.operands[0], em.read(code.operands[1], code.mods[-1]))


@lowering("cvt")
def convert(em: Emitter, code: Instruction) -> None:
    """cvt.round.ftz.sat.to.from: integers and floats."""
    kinds = INTEGERS | FLOATS | {"u8", "s8"}
    if len(code.mods) < 2 or code.mods[-1] not in kinds or code.mods[-2] not in kinds:
        unknown(em, code)
    source, to, mods = code.mods[-1], code.mods[-2], code.mods[:-2]
    if any(m not in ("rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "ftz", "sat") for m in mods):
        unknown(em, code)
    operands(em, code, 2)
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


@lowering("copysign")
def copy_sign(em: Emitter, code: Instruction) -> None:
    """copysign d, a, b: the sign of `a`, the rest of `b`."""
    kind = typed(em, code, FLOATS)
    operands(em, code, 3)
    em.write(
        code.operands[0], em.intrinsic("copysign", em.read(code.operands[2], kind), em.read(code.operands[1], kind))
    )


@lowering("testp")
def test_property(em: Emitter, code: Instruction) -> None:
    """testp.PROPERTY.type p, a."""
    classes = {"finite": 504, "infinite": 516, "number": 1020, "notanumber": 3, "normal": 264, "subnormal": 144}
    kind = typed(em, code, FLOATS, *classes)
    if len(code.mods) != 2:
        unknown(em, code)
    operands(em, code, 2)
    value = em.read(code.operands[1], kind)
    suffix = ("v32" if value.vector else "") + kind
    out = Value("i1", value.vector, "")
    name = code.mods[0]
    test = em.new(f"call {out.full} @llvm.is.fpclass.{suffix}({value.typed}, i32 {classes[name]})")
    em.write(code.operands[0], Value("i1", value.vector, test))


@lowering("sqrt", "rcp", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")
def transcendental(em: Emitter, code: Instruction) -> None:
    """Functions of one float; the .approx forms are computed as exactly as the host's library does."""
    kind = typed(em, code, FLOATS, "rn", "rz", "rm", "rp", "approx", "ftz")
    operands(em, code, 2)
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
        em.fail(f"'{code.opcode}' is not implemented")
    else:
        result = em.intrinsic(
            {"sqrt": "sqrt", "ex2": "exp2", "lg2": "log2", "sin": "sin", "cos": "cos"}[code.base], value
        )
    if "ftz" in code.mods and kind == "f32":
        result = flush(em, result)
    em.write(code.operands[0], result)


@lowering("vadd", "vsub")
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


@lowering("sad")
def sum_of_differences(em: Emitter, code: Instruction) -> None:
    """sad d, a, b, c: c + |a - b|."""
    kind = typed(em, code, INTEGERS)
    operands(em, code, 4)
    a, b, c = (em.read(o, kind) for o in code.operands[1:])
    less = em.op("icmp slt" if kind[0] == "s" else "icmp ult", a, b, result="i1")
    em.write(code.operands[0], em.op("add", c, em.select(less, em.op("sub", b, a), em.op("sub", a, b))))


@lowering("mul24", "mad24")
def short_product(em: Emitter, code: Instruction) -> None:
    """mul24.lo, mad24.lo on the low 24 bits."""
    kind = typed(em, code, frozenset(("u32", "s32")), "lo")
    operands(em, code, 4 if code.base == "mad24" else 3)
    shift = "ashr" if kind[0] == "s" else "lshr"
    eight = em.ints("i32", 8)
    a, b = (em.op(shift, em.op("shl", em.read(o, kind), eight), eight) for o in code.operands[1:3])
    result = em.op("mul", a, b)
    if code.base == "mad24":
        result = em.op("add", result, em.read(code.operands[3], kind))
    em.write(code.operands[0], result)


@lowering("prmt")
def permute(em: Emitter, code: Instruction) -> None:
    """prmt.b32 (default mode): bytes of {b,a} by four selectors, bit 3 of a selector repeats the sign."""
    if code.mods != ("b32",):
        unknown(em, code)
    operands(em, code, 4)
    a, b, c = (em.read(o, "b32") for o in code.operands[1:])
    both = em.op("or", em.cast("zext", a, "i64"), em.op("shl", em.cast("zext", b, "i64"), em.ints("i64", 32)))
    result: Value = em.ints("i32", 0)
    for index in range(4):
        selector = em.op("lshr", c, em.ints("i32", 4 * index))
        place = em.op("shl", em.op("and", selector, em.ints("i32", 7)), em.ints("i32", 3))
        byte = em.op("and", em.cast("trunc", em.op("lshr", both, em.fit(place, "i64")), "i32"), em.ints("i32", 255))
        negative = em.op("icmp uge", byte, em.ints("i32", 128), result="i1")
        sign = em.select(negative, em.ints("i32", 255), em.ints("i32", 0))
        wants = em.op("icmp ne", em.op("and", selector, em.ints("i32", 8)), em.ints("i32", 0), result="i1")
        byte = em.select(wants, sign, byte)
        result = em.op("or", result, em.op("shl", byte, em.ints("i32", 8 * index)))
    em.write(code.operands[0], result)


def is_register(operand: object) -> bool:
    """Whether an operand is a register."""
    return isinstance(operand, Register)
