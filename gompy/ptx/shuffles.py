"""shfl as LLVM IR (PTX ISA 9.7.9.6): by a constant order of lanes, or by one that is computed."""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import LLVM_TYPE, Emitter, Value
from .flow import defined
from .forms import operands, unknown
from .indices import made
from .syntax import Instruction, Operand, Pair, Register, Vector

LANES = range(32)
WIDE = frozenset(("i64", "double"))
"""LLVM's types of registers of 64 bits."""


def source_of(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that `lane` reads from, and whether it is in range; c: the clamp, and from bit 8 the segment's mask."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    low, high = lane & segment, lane & segment | clamp & ~segment
    if mode == "up":
        return (lane - b, True) if lane - b >= high else (lane, False)
    source = {"down": lane + b, "bfly": lane ^ b, "idx": low | b & ~segment}[mode]
    return (source, True) if source <= high else (lane, False)


def constant_vector(kind: str, values: list[int]) -> Value:
    """A vector of numbers."""
    return Value(kind, True, "<" + ", ".join(f"{kind} {value}" for value in values) + ">")


def computed(em: Emitter, mode: str, b: Value, c: int) -> tuple[Value, Value]:
    """What source_of says, of all lanes, for a `b` that is known when the code runs."""
    segment = c >> 8 & 31
    lane = constant_vector("i32", [*LANES])
    low = constant_vector("i32", [i & segment for i in LANES])
    high = constant_vector("i32", [i & segment | c & 31 & ~segment for i in LANES])
    b = em.splat(em.op("and", b, em.ints("i32", 31)))
    if mode == "idx":
        source = em.op("or", low, em.op("and", b, em.ints("i32", 31 & ~segment)))
    else:
        source = em.op({"up": "sub", "down": "add", "bfly": "xor"}[mode], lane, b)
    inside = em.op("icmp sge" if mode == "up" else "icmp sle", source, high, result="i1")
    return em.select(inside, source, lane), inside


def shuffle(em: Emitter, code: Instruction) -> None:
    """shfl{.sync}.mode.b32 d{|p}, a, b, c{, membermask}."""
    mods = [m for m in code.mods if m != "sync"]
    if len(mods) != 2 or mods[0] not in abi.SHUFFLE_MODES or mods[1] != "b32":
        unknown(em, code)
    operands(em, code, 5 if "sync" in code.mods else 4)
    mode = mods[0]
    a, b, c = (em.read(o, "b32") for o in code.operands[1:4])
    amount, bounds = (em.strides().constant(o) for o in code.operands[2:4])
    pair = isinstance(code.operands[0], Pair)
    if mode == "idx" and not b.vector and bounds == 31 and not pair:
        lane = em.new(f"and i32 {b.text}, 31")
        text = em.new(f"extractelement {a.typed}, i32 {lane}") if a.vector else a.text
        em.write(code.operands[0], Value("i32", False, text))
    elif bounds is not None and amount is not None:
        found = [source_of(mode, i, amount & 31, bounds) for i in LANES]
        pick = ", ".join(f"i32 {source}" for source, _ in found)
        half = half_of(em, code.operands[1])
        every, shift = half or (em.splat(a), 0)
        text = em.new(f"shufflevector {every.typed}, {every.full} poison, <32 x i32> <{pick}>")
        value = Value(every.type, True, text)
        value = em.fit(em.op("lshr", value, em.ints(value.type, shift)) if shift else value, "i32")
        finish(em, code.operands[0], value, constant_vector("i1", [int(fits) for _, fits in found]))
    elif bounds is not None and em.fast:
        source, inside = computed(em, mode, b, bounds)
        text = em.slow("<32 x i32>", "permute", ("<32 x i32>", em.splat(a).text), ("<32 x i32>", source.text))
        finish(em, code.operands[0], Value("i32", True, text), inside)
    else:
        by_executor(em, code.operands[0], mode, a, b, c)


def half_of(em: Emitter, operand: Operand) -> tuple[Value, int] | None:
    """What an operand is a half of, all lanes' 64 bits, and which bits; if the block's code before tells.

    Compilers take a double apart for two shuffles, and put the result together: LLVM makes one of two by whole numbers.
    """
    if not isinstance(operand, Register) or not em.fast:
        return None
    codes = em.a.blocks[em.block].code
    at = next((i for i, code in enumerate(codes) if code is em.code), 0)
    found = made(codes, at, operand)
    if found is None:
        return None
    where, code = found
    whole, target = code.operands[1], code.operands[0]
    if code.base == "mov" and code.mods == ("b64",) and isinstance(target, Vector) and len(target.items) == 2:
        shift = 32 * target.items.index(operand)
    elif code.base == "cvt" and code.mods in (("u32", "u64"), ("s32", "s64")):
        shift = 0
    else:
        return None
    if not isinstance(whole, Register) or whole not in em.a.varying or LLVM_TYPE.get(whole.type) not in WIDE:
        return None
    if any(whole in defined(one) for one in codes[where:at]):
        return None
    return em.fit(em.load_register(whole), "i64"), shift


def by_executor(em: Emitter, target: Operand, mode: str, a: Value, b: Value, c: Value) -> None:
    """One lane after the other."""
    places = [em.spill(v, i + 1) for i, v in enumerate((a, b, c))]
    out, ok = em.scratch(0), em.scratch(4)
    em.helper(
        "shuffle",
        f"ptr %w, i32 {em.active}, i32 {abi.SHUFFLE_MODES.index(mode)}, "
        + ", ".join(f"ptr {p}" for p in places)
        + f", ptr {out}, ptr {ok}",
    )
    result = Value("i32", True, em.new(f"load <32 x i32>, ptr {out}, align 64"))
    flag = Value("i32", True, em.new(f"load <32 x i32>, ptr {ok}, align 64"))
    finish(em, target, result, em.op("icmp ne", flag, em.ints("i32", 0), result="i1"))


def finish(em: Emitter, target: Operand, result: Value, inside: Value) -> None:
    """Write the destinations."""
    if isinstance(target, Pair):
        em.write(target.first, result)
        em.write(target.second, inside)
    else:
        em.write(target, result)
