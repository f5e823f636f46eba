"""Two singles in a register of 64 bits (.f32x2), and conversions of 8-bit floats in pairs (PTX ISA 9.7.3, 9.7.9 `cvt`).

rare.py loads this module when such a type is met.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .forms import ROUNDING, directed, flush, operands, unknown
from .half import clamp, halves, joined, narrow, single, widen, word
from .syntax import Instruction

BYTES = {
    # of a number: bits of its fraction, bias, the largest one's bits; that of a single with steps of its smallest one
    "e4m3x2": (3, 7, 0x7E, 14),
    "e5m2x2": (2, 15, 0x7B, 7),
}
NAN = 0x7F


def arithmetic(em: Emitter, code: Instruction) -> None:
    """add, sub, mul, fma on .f32x2: each half for itself."""
    if any(m not in ("rn", "rz", "rm", "rp", "ftz") for m in code.mods[:-1]):
        unknown(em, code)
    operands(em, code)
    mode = next((ROUNDING[m] for m in code.mods if m in ROUNDING), 0)
    pairs = [em.read(o, "b64") for o in code.operands[1:]]
    parts = []
    for shift in (0, 32):
        values = []
        for pair in pairs:
            half = em.op("lshr", pair, em.ints("i64", shift)) if shift else pair
            value = em.fit(em.cast("trunc", half, "i32"), "float")
            values.append(flush(em, value) if "ftz" in code.mods else value)
        if mode:
            result = directed(em, code.base, mode, "float", *values)
        elif code.base == "fma":
            result = em.intrinsic("fma", *values)
        else:
            result = em.op("f" + code.base, *values)
        result = flush(em, result) if "ftz" in code.mods else result
        parts.append(em.cast("zext", em.fit(result, "i32"), "i64"))
    em.write(code.operands[0], em.op("or", parts[0], em.op("shl", parts[1], em.ints("i64", 32))))


def byte_of(em: Emitter, value: Value, kind: str) -> Value:
    """A single as an 8-bit float, to nearest even; what is too large as the largest one."""
    fraction, bias, most, beside = BYTES[kind]
    bits = em.fit(value, "i32")
    size = em.op("and", bits, word(em, 0x7FFFFFFF))
    sign = em.op("and", em.op("lshr", bits, word(em, 24)), word(em, 0x80))
    drop = 23 - fraction
    odd = em.op("and", em.op("lshr", size, word(em, drop)), word(em, 1))
    base = em.op("sub", size, word(em, 127 - bias << 23))
    normal = em.op("lshr", em.op("add", em.op("add", base, word(em, (1 << drop - 1) - 1)), odd), word(em, drop))
    # Beside a single with steps as large as the smallest number, the sum is rounded as a subnormal is.
    near = 127 + beside << 23
    steps = em.op("sub", em.fit(em.op("fadd", em.fit(size, "float"), single(em, near)), "i32"), word(em, near))
    small = em.op("icmp ult", size, word(em, 128 - bias << 23), result="i1")
    large = em.op("icmp uge", size, word(em, 0x47800000), result="i1")  # 65536; the sum above may overflow
    result = em.intrinsic("umin", em.select(small, steps, normal), word(em, most))
    result = em.op("or", em.select(large, word(em, most), result), sign)
    return em.select(em.op("icmp ugt", size, word(em, 0x7F800000), result="i1"), word(em, NAN), result)


def from_byte(em: Emitter, byte: Value, kind: str) -> Value:
    """An 8-bit float (in a word) as the bits of a 16-bit one, exactly."""
    if kind == "e5m2x2":
        found = em.cast("trunc", em.op("shl", byte, word(em, 8)), "i16")
        size = em.op("and", byte, word(em, 0x7F))
        nan = em.op("icmp ugt", size, word(em, 0x7C), result="i1")
        return em.select(nan, em.ints("i16", 0x7FFF), found)
    size = em.op("and", byte, word(em, 0x7F))
    sign = em.op("shl", em.op("and", byte, word(em, 0x80)), word(em, 24))
    value = em.op("fmul", em.fit(em.op("shl", size, word(em, 20)), "float"), single(em, 127 + 120 << 23))
    bits = em.op("or", em.fit(value, "i32"), sign)
    nan = em.op("icmp eq", size, word(em, NAN), result="i1")
    return narrow(em, em.fit(em.select(nan, word(em, 0x7FC00000), bits), "float"), "f16")


def convert(em: Emitter, code: Instruction) -> None:
    """cvt.rn.satfinite{.relu} to pairs of bytes, from two singles or .f16x2; cvt.rn{.relu}.f16x2 from them."""
    to, source, mods = code.mods[-2], code.mods[-1], code.mods[:-2]
    relu = "relu" in mods
    if to in BYTES:
        if [m for m in mods if m != "relu"] != ["rn", "satfinite"] or source not in ("f32", "f16x2"):
            unknown(em, code)
        operands(em, code, 3 if source == "f32" else 2)
        if source == "f32":
            high, low = (em.read(o, "f32") for o in code.operands[1:])
        else:
            low, high = (widen(em, v, "f16") for v in halves(em, code.operands[1]))
        low, high = (byte_of(em, clamp(em, v) if relu else v, to) for v in (low, high))
        both = em.op("or", low, em.op("shl", high, word(em, 8)))
        em.write(code.operands[0], em.cast("trunc", both, "i16"))
        return
    if source not in BYTES or to != "f16x2" or [m for m in mods if m != "relu"] != ["rn"]:
        unknown(em, code)
    operands(em, code)
    both = em.cast("zext", em.read(code.operands[1], "b16"), "i32")
    parts = [em.op("and", both, word(em, 255)), em.op("lshr", both, word(em, 8))]
    wide = [from_byte(em, part, source) for part in parts]
    if relu:
        wide = [narrow(em, clamp(em, widen(em, v, "f16")), "f16") for v in wide]
    em.write(code.operands[0], joined(em, wide[0], wide[1]))
