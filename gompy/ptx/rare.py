"""Forms that GCC 12's code does not have: what newer compilers write, and PTX by hand.

lower.py loads this module for an opcode (or a form of one) that no family has.  16-bit floats are in half.py, matrices
in matrix.py, copies and barriers that are not waited for in asynchronous.py, clusters in clusters.py.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import racing
from .access import address_of
from .emit import LLVM_TYPE, Emitter, Value, bytes_of
from .forms import WORDS, UnknownForm, lanes_of, operands, typed, unknown
from .memory import load, store
from .opcodes import OPCODES
from .operations import high_product
from .syntax import Immediate, Instruction, Memory, Pair, Sink

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .forms import Lowering

HALF_TYPES = frozenset(("f16", "bf16", "f16x2", "bf16x2", "tf32"))
PACKED_TYPES = frozenset((
    "f32x2", "ue8m0x2", *(f"{kind}x{count}" for kind in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1") for count in "24"),
))  # fmt: skip
TRUE = Value("i1", False, "true")
ORDERS = frozenset(("relaxed", "acquire", "release", "acq_rel", "cta", "gpu", "sys", "cluster"))


def lower(em: Emitter, code: Instruction) -> None:
    """An instruction in a form that no family has; a diagnostic if it is not known here either."""
    try:
        record = OPCODES.get(code.base)
        if record is None:
            unknown(em, code)
        place = record.half if any(m in HALF_TYPES for m in code.mods) else record.rare
        if any(m in PACKED_TYPES for m in code.mods):
            place = record.packed
        if not place:
            unknown(em, code)
        lowering(place)(em, code)
    except UnknownForm:
        from .absent import is_ptx

        if is_ptx(code):
            em.fail(f"'{code.opcode}' is not implemented")
        raise


def lowering(place: str) -> Lowering:
    """The function that a record of opcodes.py names, of this module or of one that fewer programs need."""
    name, _, function = place.partition(".")
    module: object
    if name == "half":
        from . import half as module
    elif name == "packed":
        from . import packed as module
    elif name == "matrix":
        from . import matrix as module
    elif name == "sparse":
        from . import sparse as module
    elif name == "wmma":
        from . import wmma as module
    elif name == "textures":
        from . import textures as module
    elif name == "surfaces":
        from . import surfaces as module
    elif name == "video":
        from . import video as module
    elif name == "asynchronous":
        from . import asynchronous as module
    elif name == "clusters":
        from . import clusters as module
    found: Lowering = globals()[function] if name == "rare" else getattr(module, function)
    return found


def constant(em: Emitter, code: Instruction, at: int) -> int:
    """An operand that must be a constant."""
    operand = code.operands[at]
    if not isinstance(operand, Immediate):
        em.fail(f"operand {at + 1} of '{code.opcode}' must be a constant")
    return operand.value


def word(em: Emitter, number: int) -> Value:
    """A constant of 32 bits."""
    return em.ints("i32", number)


# --- logic and bits --------------------------------------------------------------------------------------------------


def three_way_logic(em: Emitter, code: Instruction) -> None:
    """lop3.b32 d, a, b, c, table; lop3.BOOL.b32 d|p, a, b, c, table, q: any function of three bits."""
    combine = code.mods[0] if len(code.mods) == 2 else ""
    if code.mods[-1:] != ("b32",) or combine not in ("", "and", "or", "xor"):
        unknown(em, code)
    operands(em, code, 6 if combine else 5)
    a, b, c = (em.read(o, "b32") for o in code.operands[1:4])
    table = constant(em, code, 4) & 255
    ones = word(em, -1)
    result: Value = word(em, 0)
    for index in range(8):
        if table >> index & 1:
            terms = [v if index & bit else em.op("xor", v, ones) for v, bit in ((a, 4), (b, 2), (c, 1))]
            result = em.op("or", result, em.op("and", em.op("and", terms[0], terms[1]), terms[2]))
    target = code.operands[0]
    if not combine:
        em.write(target, result)
        return
    if not isinstance(target, Pair):
        em.fail(f"'{code.opcode}' needs two destinations")
    some = em.op("icmp ne", result, word(em, 0), result="i1")
    em.write(target.second, em.op(combine, some, em.read(code.operands[5], "pred")))
    em.write(target.first, result)


def masks(em: Emitter, code: Instruction) -> None:
    """szext.mode.type d, a, n: the low n bits of `a`, extended; bmsk.mode.b32 d, a, n: n ones from bit a on."""
    kinds = frozenset(("b32",)) if code.base == "bmsk" else WORDS
    kind = typed(em, code, kinds, "wrap", "clamp")
    if len(code.mods) != 2:
        unknown(em, code)
    operands(em, code)
    wrap = "wrap" in code.mods
    a, n = em.read(code.operands[1], kind), em.read(code.operands[2], "u32")
    if wrap:
        n = em.op("and", n, word(em, 31))
    if code.base == "bmsk":
        a = em.op("and", a, word(em, 31)) if wrap else a
        ones = em.op("sub", em.op("shl", em.ints("i64", 1), wide(em, n)), em.ints("i64", 1))
        em.write(code.operands[0], em.cast("trunc", em.op("shl", ones, wide(em, a)), "i32"))
        return
    cut = em.op("sub", word(em, 32), em.intrinsic("umin", n, word(em, 32)))
    safe = em.intrinsic("umin", cut, word(em, 31))
    result = em.op("ashr" if kind == "s32" else "lshr", em.op("shl", a, safe), safe)
    none = em.op("icmp eq", n, word(em, 0), result="i1")
    em.write(code.operands[0], em.select(none, word(em, 0), result))


def nth_bit(em: Emitter, code: Instruction) -> None:
    """fns.b32 d, mask, base, n: the n-th set bit from `base` on, upwards or (n < 0) downwards; n = 0: that bit itself.

    Downwards it is the same in the mirrored word.  The search halves the word by the number of its set bits.
    """
    if code.mods != ("b32",):
        unknown(em, code)
    operands(em, code)
    mask, base, n = em.read(code.operands[1], "b32"), em.read(code.operands[2], "b32"), em.read(code.operands[3], "s32")
    down = em.op("icmp slt", n, word(em, 0), result="i1")
    itself = em.op("icmp eq", n, word(em, 0), result="i1")
    base = em.select(down, em.op("sub", word(em, 31), base), base)
    mask = em.select(down, em.intrinsic("bitreverse", mask), mask)
    outside = em.op("icmp ugt", base, word(em, 31), result="i1")
    start = em.op("and", base, word(em, 31))
    first = em.select(itself, word(em, 1), word(em, -1))
    left = em.op("and", mask, em.op("shl", first, start))
    distance = em.op("sub", em.select(down, em.op("sub", word(em, 0), n), n), word(em, 1))
    distance = em.select(itself, word(em, 0), distance)
    none = em.op("or", outside, em.op("icmp uge", distance, em.intrinsic("ctpop", left), result="i1"))
    place: Value = word(em, 0)
    for width in (16, 8, 4, 2, 1):
        part = em.op("and", em.op("lshr", left, place), word(em, (1 << width) - 1))
        bits = em.intrinsic("ctpop", part)
        beyond = em.op("icmp uge", distance, bits, result="i1")
        distance = em.op("sub", distance, em.select(beyond, bits, word(em, 0)))
        place = em.op("add", place, em.select(beyond, word(em, width), word(em, 0)))
    place = em.op("and", place, word(em, 31))
    found = em.select(down, em.op("sub", word(em, 31), place), place)
    em.write(code.operands[0], em.select(none, word(em, -1), found))


def pack_integers(em: Emitter, code: Instruction) -> None:
    """cvt.pack.sat.type.s32 d, a, b{, c}: `b` saturated, `a` above it, the low bits of `c` above both."""
    halves = len(code.mods) == 4 and code.mods[2] in ("u16", "s16")
    parts = len(code.mods) == 5 and code.mods[2] in ("u8", "s8", "u4", "s4", "u2", "s2") and code.mods[4] == "b32"
    if code.mods[:2] != ("pack", "sat") or code.mods[3] != "s32" or not (halves or parts):
        unknown(em, code)
    operands(em, code, 3 if halves else 4)
    bits, signed = int(code.mods[2][1:]), code.mods[2][0] == "s"
    least, most = (-1 << bits - 1, (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    a, b = (
        em.op("and", em.intrinsic("smax", em.intrinsic("smin", em.read(o, "s32"), word(em, most)), word(em, least)),
              word(em, (1 << bits) - 1))
        for o in code.operands[1:3]
    )  # fmt: skip
    result = em.op("or", em.op("shl", a, word(em, bits)), b)
    if parts:
        above = em.op("shl", em.read(code.operands[3], "b32"), word(em, 2 * bits))
        result = em.op("or", result, above)
    em.write(code.operands[0], result)


def wide(em: Emitter, amount: Value) -> Value:
    """An amount to shift a word by, in 64 bits: what is beyond shifts everything out."""
    return em.cast("zext", em.intrinsic("umin", amount, word(em, 32)), "i64")


def permute(em: Emitter, code: Instruction) -> None:
    """prmt.b32.mode d, a, b, c: byte i of the result is byte `place(i, c & 3)` of {b, a}."""
    if len(code.mods) != 2 or code.mods[0] != "b32" or code.mods[1] not in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        unknown(em, code)
    operands(em, code)
    a, b, c = (em.read(o, "b32") for o in code.operands[1:])
    both = em.op("or", em.cast("zext", a, "i64"), em.op("shl", em.cast("zext", b, "i64"), em.ints("i64", 32)))
    control = em.op("and", c, word(em, 3))
    result: Value = word(em, 0)
    for index in range(4):
        at = word(em, index)
        if code.mods[1] == "f4e":
            place = em.op("add", control, at)
        elif code.mods[1] == "b4e":
            place = em.op("and", em.op("sub", control, at), word(em, 7))
        elif code.mods[1] == "rc8":
            place = control
        elif code.mods[1] == "ecl":
            place = em.intrinsic("umax", control, at)
        elif code.mods[1] == "ecr":
            place = em.intrinsic("umin", control, at)
        else:
            place = em.op("or", em.op("shl", em.op("and", control, word(em, 1)), word(em, 1)), word(em, index & 1))
        bits = em.cast("zext", em.op("shl", place, word(em, 3)), "i64")
        byte = em.op("and", em.cast("trunc", em.op("lshr", both, bits), "i32"), word(em, 255))
        result = em.op("or", result, em.op("shl", byte, word(em, 8 * index)))
    em.write(code.operands[0], result)


# --- integers --------------------------------------------------------------------------------------------------------


def dot_product(em: Emitter, code: Instruction) -> None:
    """dp4a.atype.btype d, a, b, c: c and the sum of products of four bytes; dp2a.lo/hi: of two halves and two bytes."""
    mods = code.mods
    part = ""
    if code.base == "dp2a":
        part, mods = (mods[0], mods[1:]) if mods else ("", mods)
    if len(mods) != 2 or any(m not in WORDS for m in mods) or (code.base == "dp2a") != (part in ("lo", "hi")):
        unknown(em, code)
    operands(em, code)
    a, b, total = (em.read(o, "b32") for o in code.operands[1:])
    first = lanes_of(em, a, 16 if part else 8, mods[0] == "s32")
    second = lanes_of(em, b, 8, mods[1] == "s32")
    if part:
        second = second[2:] if part == "hi" else second[:2]
    for x, y in zip(first, second, strict=True):
        total = em.op("add", total, em.op("mul", x, y))
    em.write(code.operands[0], total)


def pairs_of_integers(em: Emitter, code: Instruction) -> None:
    """add, min, max on .s16x2 and .u16x2; .relu of min and max (also of .s32)."""
    kind = code.mods[-1] if code.mods else ""
    relu = "relu" in code.mods
    if kind == "f32" and len(code.operands) == 4:
        extreme_of_three(em, code)
        return
    if any(m != "relu" for m in code.mods[:-1]) or (relu and (code.base == "add" or kind[:1] == "u")):
        if "xorsign" in code.mods and kind == "f32":
            signed_extreme(em, code)
            return
        unknown(em, code)
    if kind not in (("s16x2", "u16x2", "s32") if relu else ("s16x2", "u16x2")):
        unknown(em, code)
    operands(em, code)
    a, b = em.read(code.operands[1], "b32"), em.read(code.operands[2], "b32")
    signed = kind[0] == "s"
    if kind == "s32":
        em.write(code.operands[0], em.intrinsic("smax", em.intrinsic("s" + code.base, a, b), word(em, 0)))
        return
    parts = []
    for x, y in zip(lanes_of(em, a, 16, signed), lanes_of(em, b, 16, signed), strict=True):
        if code.base == "add":
            parts.append(em.op("add", x, y))
        else:
            value = em.intrinsic(kind[0] + code.base, x, y)
            parts.append(em.intrinsic("smax", value, word(em, 0)) if relu else value)
    low = em.op("and", parts[0], word(em, 0xFFFF))
    em.write(code.operands[0], em.op("or", low, em.op("shl", parts[1], word(em, 16))))


def extreme_of_three(em: Emitter, code: Instruction) -> None:
    """min, max{.ftz}{.NaN}{.abs}.f32 d, a, b, c, from sm_100 on."""
    typed(em, code, frozenset(("f32",)), "ftz", "NaN", "abs")
    from . import half
    from .forms import flush

    values = [em.read(o, "f32") for o in code.operands[1:]]
    if "ftz" in code.mods:
        values = [flush(em, v) for v in values]
    if "abs" in code.mods:
        values = [em.intrinsic("fabs", v) for v in values]
    em.write(code.operands[0], half.extreme(em, code, [half.extreme(em, code, values[:2]), values[2]]))


def signed_extreme(em: Emitter, code: Instruction) -> None:
    """min, max with .xorsign.abs on single precision."""
    typed(em, code, frozenset(("f32",)), "ftz", "NaN", "xorsign", "abs")
    from . import half
    from .forms import flush

    operands(em, code)
    values = [em.read(o, "f32") for o in code.operands[1:]]
    if "ftz" in code.mods:
        values = [flush(em, v) for v in values]
    em.write(code.operands[0], half.extreme(em, code, values))


def upper_products(em: Emitter, code: Instruction) -> None:
    """mul24.hi, mad24.hi (bits 16 to 47 of the product of 24 bits), and .sat of mad24.hi and mad.hi."""
    short = code.base != "mad"
    kind = typed(em, code, WORDS, "hi", "sat")
    adds = code.base[:3] == "mad"
    saturates = "sat" in code.mods
    if code.mods not in (("hi", kind), ("hi", "sat", kind)) or (saturates and (kind != "s32" or not adds)):
        unknown(em, code)
    operands(em, code)
    a, b = em.read(code.operands[1], kind), em.read(code.operands[2], kind)
    shift = "ashr" if kind[0] == "s" else "lshr"
    if short:
        eight = word(em, 8)
        a, b = (em.op(shift, em.op("shl", v, eight), eight) for v in (a, b))
        extend = "sext" if kind[0] == "s" else "zext"
        product = em.op("mul", em.cast(extend, a, "i64"), em.cast(extend, b, "i64"))
        result = em.cast("trunc", em.op("lshr", product, em.ints("i64", 16)), "i32")
    else:
        result = high_product(em, kind, a, b)
    if adds:
        c = em.read(code.operands[3], kind)
        result = em.intrinsic("sadd.sat", result, c) if saturates else em.op("add", result, c)
    em.write(code.operands[0], result)


def hyperbolic_tangent(em: Emitter, code: Instruction) -> None:
    """tanh.approx.f32, as exact as the host's library."""
    if code.mods != ("approx", "f32"):
        unknown(em, code)
    operands(em, code)
    em.write(code.operands[0], em.intrinsic("tanh", em.read(code.operands[1], "f32")))


# --- warps -----------------------------------------------------------------------------------------------------------


def members(em: Emitter, code: Instruction, at: int) -> Value:
    """The lanes that a `.sync` instruction is for, and active: one word for all lanes or one for each."""
    return em.op("and", em.read(code.operands[at], "b32"), Value("i32", False, em.active))


def each_lane(em: Emitter, values: list[str], kind: str) -> Value:
    """A vector of 32 scalars."""
    whole = "poison"
    for lane, value in enumerate(values):
        whole = em.new(f"insertelement <32 x {kind}> {whole}, {kind} {value}, i32 {lane}")
    return Value(kind, True, whole)


def match(em: Emitter, code: Instruction) -> None:
    """match.any.sync.type d, a, mask: which lanes have the same value; match.all.sync.type d{|p}: all of them, or 0."""
    kind = typed(em, code, frozenset(("b32", "b64")), "any", "all", "sync")
    if len(code.mods) != 3 or code.mods[1] != "sync":
        unknown(em, code)
    operands(em, code)
    value, group = em.splat(em.read(code.operands[1], kind)), members(em, code, 2)
    lanes = [em.new(f"extractelement {value.typed}, i32 {lane}") for lane in range(32)]
    words = []
    for lane in lanes:
        alike = em.op("icmp eq", value, em.splat(Value(value.type, False, lane)), result="i1")
        words.append(em.bits(alike))
    same = em.op("and", each_lane(em, words, "i32"), group)
    target = code.operands[0]
    if code.mods[0] == "any":
        em.write(target, same)
        return
    every = em.op("icmp eq", same, group, result="i1")
    result = em.select(every, group, word(em, 0))
    if isinstance(target, Pair):
        em.write(target.first, result)
        em.write(target.second, every)
    else:
        em.write(target, result)


REDUCTIONS = {"add": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}
NEUTRAL = {"add": 0, "or": 0, "xor": 0, "and": -1, "umin": -1, "umax": 0, "smin": 0x7FFFFFFF, "smax": 0x80000000}


def reduce(em: Emitter, code: Instruction) -> None:
    """redux.sync.op.type d, a, mask: over the lanes of the mask."""
    if code.mods[-1:] == ("f32",):
        extreme_of_lanes(em, code)
        return
    if len(code.mods) != 3 or code.mods[0] != "sync" or code.mods[1] not in REDUCTIONS:
        unknown(em, code)
    name, kind = code.mods[1], code.mods[2]
    if kind not in (("b32",) if name in ("and", "or", "xor") else ("u32", "s32")):
        unknown(em, code)
    operands(em, code)
    value, group = em.splat(em.read(code.operands[1], kind)), members(em, code, 2)
    if name in ("min", "max"):
        name = kind[0] + name

    def over(mask: str) -> str:
        neutral = em.splat(word(em, NEUTRAL[name]))
        chosen = em.new(f"select <32 x i1> {em.lanes(mask)}, {value.typed}, {neutral.typed}")
        return em.new(f"call i32 @llvm.vector.reduce.{name}.v32i32(<32 x i32> {chosen})")

    write_reduced(em, code, group, over)


def write_reduced(em: Emitter, code: Instruction, group: Value, over: Callable[[str], str]) -> None:
    """What redux gives each lane: `over` a mask, the same one of all lanes or each one's own."""
    if not group.vector:
        em.write(code.operands[0], Value("i32", False, over(group.text)))
        return
    masks = [em.new(f"extractelement {group.typed}, i32 {lane}") for lane in range(32)]
    em.write(code.operands[0], each_lane(em, [over(mask) for mask in masks], "i32"))


FLOAT_MODS = ((), ("abs",), ("NaN",), ("abs", "NaN"))
"""What redux on singles may have behind its operation."""


def extreme_of_lanes(em: Emitter, code: Instruction) -> None:
    """redux.sync.min, .max{.abs}{.NaN}.f32 d, a, mask: lanes that have no number count with .NaN only."""
    if code.mods[:-1] not in [("sync", name, *mods) for name in ("min", "max") for mods in FLOAT_MODS]:
        unknown(em, code)
    operands(em, code)
    from .matrix import LANES, picked

    value, group = em.splat(em.read(code.operands[1], "f32")), members(em, code, 2)
    if "abs" in code.mods:
        value = em.intrinsic("fabs", value)
    heeds = "NaN" in code.mods
    name = ("minimum" if code.mods[1] == "min" else "maximum") + ("" if heeds else "num")
    # What does not change the result: without .NaN, so that lanes without a number have none to give, a NaN.
    outside = (0x7F800000 if code.mods[1] == "min" else 0xFF800000) if heeds else 0x7FFFFFFF

    def over(mask: str) -> str:
        neutral = em.splat(em.float_constant(outside, 32, "float"))
        found = Value("float", True, em.new(f"select <32 x i1> {em.lanes(mask)}, {value.typed}, {neutral.typed}"))
        for step in (16, 8, 4, 2, 1):
            found = em.intrinsic(name, found, picked(em, found, [lane ^ step for lane in LANES]))
        none = em.op("fcmp uno", found, found, result="i1")
        bits = em.select(none, word(em, 0x7FFFFFFF), em.fit(found, "i32"))
        return em.new(f"extractelement {bits.typed}, i32 0")

    write_reduced(em, code, group, over)


def vote_of_groups(em: Emitter, code: Instruction) -> None:
    """vote.sync with a mask that is not all ones: each group of lanes for itself."""
    mods = [m for m in code.mods if m != "sync"]
    if mods not in (["ballot", "b32"], ["all", "pred"], ["any", "pred"], ["uni", "pred"]) or "sync" not in code.mods:
        unknown(em, code)
    operands(em, code, 3)
    group = members(em, code, 2)
    yes = em.op("and", group, Value("i32", False, em.bits(em.read(code.operands[1], "pred"))))
    if mods[0] == "ballot":
        em.write(code.operands[0], yes)
        return
    every = em.op("icmp eq", yes, group, result="i1")
    some = em.op("icmp ne", yes, word(em, 0), result="i1")
    if mods[0] == "uni":
        every = em.op("or", every, em.op("xor", some, TRUE))
    em.write(code.operands[0], some if mods[0] == "any" else every)


def elect(em: Emitter, code: Instruction) -> None:
    """elect.sync d|p, mask: one lane of the mask (the first), and whether it is this one."""
    target = code.operands[0] if code.operands else None
    if code.mods != ("sync",) or not isinstance(target, Pair):
        unknown(em, code)
    operands(em, code)
    leader = em.intrinsic("cttz", members(em, code, 1), extra=", i1 false")
    lane = Value("i32", True, "<" + ", ".join(f"i32 {i}" for i in range(32)) + ">")
    em.write(target.first, leader)
    em.write(target.second, em.op("icmp eq", lane, leader, result="i1"))


# --- memory ----------------------------------------------------------------------------------------------------------


def is_space(em: Emitter, code: Instruction) -> None:
    """isspacep.space p, a: by where generic addresses lie (constants and parameters are in no place of their own)."""
    space = code.mods[0].partition("::")[0] if len(code.mods) == 1 else ""
    if space not in ("global", "shared", "local", "const", "param"):
        unknown(em, code)
    operands(em, code)
    address = em.read(code.operands[1], "u64")
    if space in ("const", "param"):
        em.write(code.operands[0], Value("i1", False, "false"))
        return
    if space == "global":
        low, size = em.warp_field("base", "i64"), em.warp_field("size", "i64")
    elif space == "shared":
        low, size = str(abi.SHARED_BASE), str(abi.LOCAL_BASE - abi.SHARED_BASE)
    else:
        low, size = str(abi.LOCAL_BASE), em.warp_field("local_size", "i64")
    offset = em.op("sub", address, Value("i64", False, low))
    em.write(code.operands[0], em.op("icmp ult", offset, Value("i64", False, size), result="i1"))


def allocate(em: Emitter, code: Instruction) -> None:
    """alloca.u64 d, size{, align}: local memory until the function returns or `stackrestore`.

    The lanes that run get as much as the one that wants most, at one address.
    """
    typed(em, code, frozenset(("u64", "u32")))
    if len(code.operands) not in (2, 3) or len(code.mods) != 1:
        unknown(em, code)
    align = max(constant(em, code, 2) if len(code.operands) == 3 else 8, 8)
    size = em.read(code.operands[1], code.mods[0])
    if size.vector:
        lanes = em.lanes(em.active)
        chosen = em.new(f"select <32 x i1> {lanes}, {size.typed}, {size.full} zeroinitializer")
        most = em.new(f"call {size.type} @llvm.vector.reduce.umax.v32{size.type}({size.full} {chosen})")
        size = Value(size.type, False, most)
    size = em.fit(size, "i64")
    top = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['local_top']}")
    old = em.new(f"load i64, ptr {top}")
    start = em.new(f"and i64 {em.new(f'add i64 {old}, {align - 1}')}, {-align}")
    limit = em.warp_field("local_size", "i64")
    least = em.intrinsic("umin", size, Value("i64", False, em.new(f"add i64 {limit}, 1")))
    rounded = em.new(f"and i64 {em.new(f'add i64 {least.text}, 15')}, -16")
    end = em.new(f"add i64 {start}, {rounded}")
    over = em.new(f"icmp ugt i64 {end}, {limit}")
    em.trap_if_full(over, em.active)
    em.put(f"store i64 {end}, ptr {top}")
    em.write(code.operands[0], Value("i64", False, em.new(f"add i64 {start}, {abi.LOCAL_BASE}")))


def stack_mark(em: Emitter, code: Instruction) -> None:
    """stacksave d, stackrestore a.  Where only some of the function's lanes restore, the memory stays in use."""
    typed(em, code, frozenset(("u64", "u32")))
    operands(em, code)
    top = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['local_top']}")
    old = Value("i64", False, em.new(f"load i64, ptr {top}"))
    if code.base == "stacksave":
        em.write(code.operands[0], Value("i64", False, em.new(f"add i64 {old.text}, {abi.LOCAL_BASE}")))
        return
    mark = em.fit(em.first_lane(em.read(code.operands[0], code.mods[0])), "i64")
    offset = em.op("sub", mark, em.ints("i64", abi.LOCAL_BASE))
    place = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['exited']}")
    here = em.new(f"or i32 {em.active}, {em.new(f'load i32, ptr {place}')}")
    absent = em.new(f"and i32 %m, {em.new(f'xor i32 {here}, -1')}")
    everybody = Value("i1", False, em.new(f"icmp eq i32 {absent}, 0"))
    new = em.select(everybody, em.intrinsic("umin", offset, old), old)
    em.put(f"store i64 {new.text}, ptr {top}")


def with_a_policy(em: Emitter, code: Instruction) -> None:
    """ld, st with L2::cache_hint: the last operand, a policy for the cache, means nothing here."""
    if "L2::cache_hint" not in code.mods:
        unknown(em, code)
    operands(em, code, 3)
    mods = tuple(m for m in code.mods if m != "L2::cache_hint")
    opcode = ".".join((code.base, *mods))
    plain = Instruction(opcode, code.operands[:2], code.line, code.guard, code.negated, code.base, mods)
    (load if code.base == "ld" else store)(em, plain)


def without_effect(em: Emitter, code: Instruction) -> None:
    """Hints for caches, profilers and schedulers."""
    if code.base == "createpolicy" and code.operands and not isinstance(code.operands[0], Sink):
        em.write(code.operands[0], em.ints("i64", 0))


def half_sum(em: Emitter, code: Instruction) -> None:
    """atom.add.noftz, red.add.noftz on 16-bit floats, lane by lane."""
    kind = code.mods[-1] if code.mods else ""
    rest = [m for m in code.mods[:-1] if m.partition("::")[0] not in ("global", "shared")]
    if kind not in abi.HALF_ATOMS or [m for m in rest if m not in ORDERS] != ["add", "noftz"]:
        unknown(em, code)
    has_result = code.base == "atom"
    operands(em, code, 3 if has_result else 2)
    memory = code.operands[1 if has_result else 0]
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    if em.racing:
        racing.atom(em, memory, bytes_of(kind), code)
    address = em.spill(address_of(em, memory), 1)
    first = em.spill(em.fit(em.read(code.operands[-1], kind), "i64"), 2)
    out = em.scratch(0)
    places = f"ptr {address}, ptr {first}, ptr {first}, ptr {out}"
    em.helper("atom", f"ptr %w, i32 {em.active}, i32 {abi.HALF_ATOMS[kind]}, {places}, {em.site()}")
    if has_result:
        raw = Value("i64", True, em.new(f"load <32 x i64>, ptr {out}, align 64"))
        em.write(code.operands[0], em.cast("trunc", raw, LLVM_TYPE[kind]))


# --- special registers -----------------------------------------------------------------------------------------------


def special(em: Emitter, name: str) -> Value:
    """A special register that GCC's code does not read; blocks are clusters of their own."""
    base = name.partition(".")[0]
    if base in ("%globaltimer_lo", "%globaltimer_hi", "%clock_hi"):
        which = 0 if base == "%clock_hi" else 1
        value = Value("i64", False, em.helper("clock", f"ptr %w, i32 {which}", "i64"))
        value = value if base[-2:] == "lo" else em.op("lshr", value, em.ints("i64", 32))
        return em.cast("trunc", value, "i32")
    if base == "%total_smem_size" or base == "%aggr_smem_size":
        return em.cast("trunc", Value("i64", False, em.warp_field("shared_size", "i64")), "i32")
    if base == "%dynamic_smem_size":
        return Value("i32", False, em.warp_field("dynamic_shared", "i32"))
    if base in ("%clusterid", "%nclusterid"):
        return em.special(name.replace("clusterid", "ctaid"))
    if base in ("%cluster_nctaid", "%cluster_nctarank"):
        return em.ints("i32", 1)
    if base in ("%envreg1", "%envreg2"):
        value = Value("i64", False, em.warp_field("workspace", "i64"))
        value = value if base[-1] == "1" else em.op("lshr", value, em.ints("i64", 32))
        return em.cast("trunc", value, "i32")
    if base in ("%cluster_ctaid", "%cluster_ctarank") or base[:4] in ("%env", "%res") or base[:3] == "%pm":
        return em.ints("i64" if base[-3:] == "_64" else "i32", 0)
    if base in ("%is_explicit_cluster", "%current_graph_exec"):
        return em.ints("i1" if base[1] == "i" else "i64", 0)
    em.fail(f"special register '{name}' is not implemented")
