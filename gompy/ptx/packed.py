"""Two singles in a register of 64 bits (.f32x2), and conversions of 2 or 4 floats of 4 to 8 bits (PTX ISA 9.7.3, 9.7.9
`cvt`).

rare.py loads this module when such a type is met.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .forms import ROUNDING, directed, flush, operands, unknown
from .half import by_chance, clamp, halves, joined, narrow, single, widen, word
from .syntax import Instruction, Vector

BYTES = {
    # of a number: bits of all, of its fraction, bias, the largest one's bits; the power of two beside
    # which singles have steps of its smallest one
    "e4m3x2": (8, 3, 7, 0x7E, 14),
    "e5m2x2": (8, 2, 15, 0x7B, 7),
    "e2m3x2": (6, 3, 1, 0x1F, 20),
    "e3m2x2": (6, 2, 3, 0x1F, 19),
    "e2m1x2": (4, 1, 1, 0x07, 22),
}
NAN = 0x7F
"""Of 8 bits; fewer have none, and what is no number becomes the largest one."""
SCALES = "ue8m0x2"
"""Powers of two: an exponent with the bias of a single, 255 being no number."""
FINITE = "satfinite"


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


def byte_of(em: Emitter, value: Value, kind: str, chance: Value | None = None) -> Value:
    """A single as a float of up to 8 bits, to nearest even or by 16 random bits; what is too large as the largest."""
    width, fraction, bias, most, _ = BYTES[kind]
    bits = em.fit(value, "i32")
    size = em.op("and", bits, word(em, 0x7FFFFFFF))
    sign = em.op("and", em.op("lshr", bits, word(em, 32 - width)), word(em, 1 << width - 1))
    if chance is not None:
        result = by_chance(em, size, fraction, bias, most, chance, 16)
    else:
        result = nearest(em, size, kind)
    none = word(em, NAN if width == 8 else most)
    nan = em.op("icmp ugt", size, word(em, 0x7F800000), result="i1")
    return em.select(nan, none, em.op("or", result, sign))


def nearest(em: Emitter, size: Value, kind: str) -> Value:
    """The bits of a single without sign as those of a float of up to 8 bits, to nearest even."""
    _, fraction, bias, most, beside = BYTES[kind]
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
    return em.select(large, word(em, most), result)


def from_byte(em: Emitter, byte: Value, kind: str) -> Value:
    """A float of up to 8 bits (in a word) as the bits of a 16-bit one, exactly."""
    if kind == "e5m2x2":
        found = em.cast("trunc", em.op("shl", byte, word(em, 8)), "i16")
        size = em.op("and", byte, word(em, 0x7F))
        nan = em.op("icmp ugt", size, word(em, 0x7C), result="i1")
        return em.select(nan, em.ints("i16", 0x7FFF), found)
    width, fraction, bias = BYTES[kind][:3]
    size = em.op("and", byte, word(em, (1 << width - 1) - 1))
    sign = em.op("shl", em.op("and", byte, word(em, 1 << width - 1)), word(em, 32 - width))
    scaled = em.fit(em.op("shl", size, word(em, 23 - fraction)), "float")
    bits = em.op("or", em.fit(em.op("fmul", scaled, single(em, 254 - bias << 23)), "i32"), sign)
    if width == 8:
        bits = em.select(em.op("icmp eq", size, word(em, NAN), result="i1"), word(em, 0x7FC00000), bits)
    return narrow(em, em.fit(bits, "float"), "f16")


def packed(em: Emitter, code: Instruction, kind: str, low: Value, high: Value) -> None:
    """Write two numbers of up to 8 bits: of 4 bits side by side in a byte, else in a byte each."""
    apart = 4 if kind == "e2m1x2" else 8
    both = em.op("or", low, em.op("shl", high, word(em, apart)))
    em.write(code.operands[0], em.cast("trunc", both, "i8" if apart == 4 else "i16"))


def singles(em: Emitter, code: Instruction, source: str) -> tuple[Value, Value]:
    """The two numbers that are converted, the lower one first: operands of .f32, or the halves of one."""
    operands(em, code, 3 if source == "f32" else 2)
    if source == "f32":
        high, low = (em.read(o, "f32") for o in code.operands[1:])
    else:
        low, high = (widen(em, v, source[:-2]) for v in halves(em, code.operands[1]))
    return low, high


def exponent_of(em: Emitter, value: Value, up: bool, finite: bool) -> Value:
    """A single as .ue8m0: its power of two, the next one where .rp (`up`) asks for it; the sign is dropped."""
    size = em.op("and", em.fit(value, "i32"), word(em, 0x7FFFFFFF))
    infinite = em.op("icmp uge", size, word(em, 0x7F800000), result="i1")
    none = em.op("icmp ugt", size, word(em, 0x7F800000), result="i1")
    if up:
        tiny = em.op("icmp ule", size, word(em, 0x00400000), result="i1")  # 0 is 2 to the -127th
        size = em.select(tiny, word(em, 0), em.op("add", size, word(em, 0x7FFFFF)))
    found = em.op("lshr", size, word(em, 23))
    if finite:
        found = em.intrinsic("umin", em.select(infinite, word(em, 254), found), word(em, 254))
    return em.select(none, word(em, 255), em.intrinsic("umin", found, word(em, 255)))


def scales(em: Emitter, code: Instruction, to: str, source: str, mods: list[str]) -> None:
    """cvt.rz, .rp{.satfinite}.ue8m0x2 from two singles or .bf16x2; cvt.rn.bf16x2.ue8m0x2."""
    if to == SCALES and source in ("f32", "bf16x2") and mods in (["rz"], ["rp"], ["rz", FINITE], ["rp", FINITE]):
        pair = singles(em, code, source)
        low, high = (exponent_of(em, value, mods[0] == "rp", FINITE in mods) for value in pair)
        packed(em, code, to, low, high)
        return
    if (to, source, mods) != ("bf16x2", SCALES, ["rn"]):
        unknown(em, code)
    operands(em, code)
    both = em.cast("zext", em.read(code.operands[1], "b16"), "i32")
    found = []
    for byte in (em.op("and", both, word(em, 255)), em.op("lshr", both, word(em, 8))):
        lowest = em.op("icmp eq", byte, word(em, 0), result="i1")
        none = em.op("icmp eq", byte, word(em, 255), result="i1")
        bits = em.select(lowest, word(em, 0x40), em.op("shl", byte, word(em, 7)))
        found.append(em.cast("trunc", em.select(none, word(em, 0x7FFF), bits), "i16"))
    em.write(code.operands[0], joined(em, found[0], found[1]))


def turned(em: Emitter, chance: Value) -> Value:
    """16 bits in reverse order."""
    return em.op("lshr", em.intrinsic("bitreverse", chance), word(em, 16))


def chances(em: Emitter, rbits: Value, short: bool) -> list[Value]:
    """The 16 random bits of each of four numbers, the lowest first.

    Each half of the word is for one pair, or its even bytes and its odd ones (`short`: of 4 bits).  The ISA leaves open
    how a pair shares them.  The lower number takes them as they are, the upper one in reverse order: so a GPU of
    sm_100a does with .e4m3x4.
    """
    pairs = []
    for at in (0, 1):
        if short:
            byte = em.op("lshr", rbits, word(em, 8)) if at else rbits
            upper = em.op("and", em.op("lshr", byte, word(em, 8)), word(em, 0xFF00))
            bits = em.op("or", em.op("and", byte, word(em, 0xFF)), upper)
        else:
            bits = em.op("lshr", rbits, word(em, 16)) if at else em.op("and", rbits, word(em, 0xFFFF))
        pairs += [bits, turned(em, bits)]
    return pairs


def four(em: Emitter, code: Instruction, kind: str, relu: bool) -> None:
    """cvt.rs.satfinite to four floats of up to 8 bits: {a, b, e, f}, the first of them on top, and random bits."""
    operands(em, code, 3)
    given = code.operands[1]
    if not isinstance(given, Vector) or len(given.items) != 4:
        em.fail(f"'{code.opcode}' needs a vector of 4 elements")
    short = kind == "e2m1x2"
    random = chances(em, em.read(code.operands[2], "b32"), short)
    found = word(em, 0)
    for at, (item, chance) in enumerate(zip(reversed(given.items), random, strict=True)):
        value = em.read(item, "f32")
        part = byte_of(em, clamp(em, value) if relu else value, kind, chance)
        found = em.op("or", found, em.op("shl", part, word(em, at * (4 if short else 8)))) if at else part
    em.write(code.operands[0], em.cast("trunc", found, "i16") if short else found)


def convert(em: Emitter, code: Instruction) -> None:
    """cvt.rn.satfinite{.relu} to pairs of up to 8 bits, from two singles or .f16x2; cvt.rn{.relu}.f16x2 from them."""
    to, source, given = code.mods[-2], code.mods[-1], code.mods[:-2]
    mods = [m for m in given if m != "relu"]
    relu = len(mods) < len(given)
    if to[-2:] == "x4" and (source, mods) == ("f32", ["rs", FINITE]):
        four(em, code, f"{to[:-2]}x2", relu)
        return
    if SCALES in (to, source):
        scales(em, code, to, source, list(given))
        return
    if to in BYTES:
        if mods != ["rn", FINITE] or source not in (("f32", "f16x2") if BYTES[to][0] == 8 else ("f32",)):
            unknown(em, code)
        low, high = (byte_of(em, clamp(em, v) if relu else v, to) for v in singles(em, code, source))
        packed(em, code, to, low, high)
        return
    if source not in BYTES or to != "f16x2" or mods != ["rn"]:
        unknown(em, code)
    operands(em, code)
    apart, kind = (4, "b8") if source == "e2m1x2" else (8, "b16")
    both = em.cast("zext", em.read(code.operands[1], kind), "i32")
    parts = [em.op("and", both, word(em, (1 << apart) - 1)), em.op("lshr", both, word(em, apart))]
    wide = [from_byte(em, part, source) for part in parts]
    if relu:
        wide = [narrow(em, clamp(em, widen(em, v, "f16")), "f16") for v in wide]
    em.write(code.operands[0], joined(em, wide[0], wide[1]))
