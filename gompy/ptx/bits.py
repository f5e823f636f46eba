"""Logic, shifts and bit fields as LLVM IR (PTX ISA 9.7.1 and 9.7.5)."""

from __future__ import annotations

from .backend import has_masks
from .emit import BITS, Emitter, Value
from .forms import (
    INTEGERS,
    LOGICAL,
    operands,
    typed,
    unknown,
)
from .syntax import Instruction

ALL_OR_NONE = {"and": ("", "0"), "or": ("-1", "")}
"""Of what each lane has and what all have (i1), as words: the result where all have it, and where not; "": the lanes'
own.  As vectors of bits LLVM would take both to the registers for masks and back."""


def logic(em: Emitter, code: Instruction) -> None:
    """and, or, xor."""
    kind = typed(em, code, LOGICAL)
    operands(em, code)
    one, two = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    if kind == "pred" and code.base in ALL_OR_NONE and one.vector != two.vector and has_masks():
        lanes, every = (one, two) if one.vector else (two, one)
        ways = [f"i32 {way or em.bits(lanes)}" for way in ALL_OR_NONE[code.base]]
        word = em.new(f"select i1 {every.text}, {', '.join(ways)}")
        em.write(code.operands[0], Value("i1", True, em.lanes(word)))
        return
    em.write(code.operands[0], em.op(code.base, one, two))


def complement(em: Emitter, code: Instruction) -> None:
    """not, cnot (1 if zero, else 0)."""
    kind = typed(em, code, LOGICAL)
    operands(em, code)
    value = em.read(code.operands[1], kind)
    if code.base == "not":
        result = em.op("xor", value, em.ints(value.type, -1) if kind != "pred" else Value("i1", False, "true"))
    else:
        result = em.cast("zext", em.op("icmp eq", value, em.ints(value.type, 0), result="i1"), value.type)
    em.write(code.operands[0], result)


def shift(em: Emitter, code: Instruction) -> None:
    """shl, shr: amounts beyond the width shift everything out."""
    kind = typed(em, code, frozenset(["b16", "b32", "b64"]) | (INTEGERS if code.base == "shr" else frozenset()))
    operands(em, code)
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


def funnel(em: Emitter, code: Instruction) -> None:
    """shf.l, shf.r: .wrap and .clamp on two 32-bit words."""
    if (
        len(code.mods) != 3
        or code.mods[0] not in "lr"
        or code.mods[1] not in ("wrap", "clamp")
        or code.mods[2] != "b32"
    ):
        unknown(em, code)
    operands(em, code)
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


def bit_count(em: Emitter, code: Instruction) -> None:
    """clz, popc, brev, bfind."""
    find = code.base == "bfind"
    kind = typed(em, code, frozenset(("u32", "s32", "u64", "s64")) if find else frozenset(("b32", "b64")), "shiftamt")
    operands(em, code)
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


def bit_field_extract(em: Emitter, code: Instruction) -> None:
    """bfe: position and length are their low bytes."""
    kind = typed(em, code, frozenset(("u32", "s32", "u64", "s64")))
    operands(em, code)
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


def bit_field_insert(em: Emitter, code: Instruction) -> None:
    """bfi d, a, b, pos, len: `a` into `b`."""
    kind = typed(em, code, frozenset(("b32", "b64")))
    operands(em, code)
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


def permute(em: Emitter, code: Instruction) -> None:
    """prmt.b32 (default mode): bytes of {b,a} by four selectors, bit 3 of a selector repeats the sign."""
    if code.mods != ("b32",):
        unknown(em, code)
    operands(em, code)
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
