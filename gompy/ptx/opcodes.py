"""The table of opcodes: one record for each, from which the parser, the analyses and the lowerings take what they need.

A new opcode is a row here and a function in one of the modules that the row names.  This module is loaded at each start
of the compiler and loads nothing: a lowering is named, `module.function`, and lower.py looks it up.
"""

from __future__ import annotations

NO_LANES = "none"
"""There is no result."""
LANEWISE = "lanewise"
"""The result is the same in all lanes if all operands are."""
VARYING = "varying"
"""The result differs between lanes, whatever the operands are."""
BY_MEMBERS = "members"
"""One result for the lanes that take part: the same in all lanes if the last operand, which says who, is."""
BY_SOURCE_LANE = "source lane"
"""What another lane has: the same in all lanes if all read one lane (`shfl.idx`)."""
BY_ADDRESS = "address"
"""What memory has: the same in all lanes if the address is, and is not in local memory."""
LANES = (NO_LANES, LANEWISE, VARYING, BY_MEMBERS, BY_SOURCE_LANE, BY_ADDRESS)
"""Whether results cross lanes; uniform.py has a rule for each word."""

READS, WRITES, ATOMIC, ORDERS, MEETS, STOPS, YIELDS, STACK = (
    "reads", "writes", "atomic", "orders", "meets", "stops", "yields", "stack"
)  # fmt: skip
EFFECTS = (READS, WRITES, ATOMIC, ORDERS, MEETS, STOPS, YIELDS, STACK)
"""What an instruction does besides its result: it is left out where a guard holds in no lane (lower.py)."""


MANY = 99
"""Operands of an opcode whose number is told by its form."""


class Opcode:
    """What the compiler knows of an opcode (the word before the first dot).

    `operands`: as the PTX ISA writes them, `d` first if there is a result; `{, x}` may be left out; `*`: by the form.
    `count`, `most`: how many there are at least and at most.  `address`: which of them is one of memory; -1: none.
    `lanes`: one of LANES.  `effect`: one of EFFECTS, or "".
    `lowering`, `rare`, `half`, `packed`: the functions for the forms that GCC 12 writes, for others, for those with
    16-bit floats, with 8-bit floats and pairs of singles; "" if there are none.
    `rewritten`: rewrite.py gives it operands that its text hides.
    """

    # Not by records.py, which would take twice as long: this is done at each start.
    __slots__ = (
        "address", "count", "effect", "half", "lanes", "lowering", "most", "name", "operands", "packed", "rare",
        "rewritten",
    )  # fmt: skip

    def __init__(
        self, name: str, operands: str, lanes: str, lowering: str, rare: str, half: str, effect: str, rewritten: bool,
        packed: str,
    ) -> None:  # fmt: skip
        self.name, self.operands, self.lanes, self.effect, self.rewritten = name, operands, lanes, effect, rewritten
        self.lowering, self.rare, self.half, self.packed = lowering, rare, half, packed
        optional = operands.count("}")
        self.most = MANY if operands == "*" else operands.count(",") + (operands != "")
        self.count = 0 if operands == "*" else self.most - optional
        self.address = operands[: operands.find("[")].count(",") if "[" in operands else -1

    @property
    def result(self) -> bool:
        """Whether the first operand is a destination."""
        return self.lanes != NO_LANES

    def numbers(self) -> str:
        """How many operands there are, for messages."""
        return f"{self.count}" if self.count == self.most else f"{self.count} to {self.most}"


class Table(dict[str, Opcode]):
    """By name.  One that nothing is known of has no effect, and operands as it likes: it is told when it is lowered."""

    def __missing__(self, name: str) -> Opcode:
        return UNKNOWN


UNKNOWN = Opcode("", "*", VARYING, "", "", "", "", False, "")
OPCODES = Table()


def opcode(
    names: str, operands: str, lanes: str, lowering: str = "", rare: str = "", half: str = "", effect: str = "",
    rewritten: bool = False, packed: str = "",
) -> None:  # fmt: skip
    """Enter opcodes that share a record but for the name.  ValueError: the record is not one."""
    if lanes not in LANES or (lanes == NO_LANES) == (operands[:1] == "d"):
        raise ValueError(f"opcode '{names}': 'lanes' does not say whether its result crosses lanes")
    if effect and effect not in EFFECTS:
        raise ValueError(f"opcode '{names}': unknown effect '{effect}'")
    for name in names.split():
        if name in OPCODES:
            raise ValueError(f"opcode '{name}' is entered twice")
        OPCODES[name] = Opcode(name, operands, lanes, lowering, rare, half, effect, rewritten, packed)


PAIR = "packed.arithmetic"

# Arithmetic (PTX ISA 9.7.1 to 9.7.5).
opcode(
    "add",
    "d, a, b",
    LANEWISE,
    "operations.add_sub",
    "rare.pairs_of_integers",
    "half.compute",
    rewritten=True,
    packed=PAIR,
)
opcode("sub", "d, a, b", LANEWISE, "operations.add_sub", "", "half.compute", rewritten=True, packed=PAIR)
opcode("addc subc", "d, a, b", LANEWISE, rewritten=True)
opcode("madc", "d, a, b, c", LANEWISE, rewritten=True)
opcode("carry", "d, a, b{, c}{, f}", LANEWISE, "carries.carry")  # what has a carry flag: rewrite.py
opcode("mul", "d, a, b", LANEWISE, "operations.mul_mad", "", "half.compute", packed=PAIR)
opcode("mad", "d, a, b, c", LANEWISE, "operations.mul_mad", "rare.upper_products", rewritten=True)
opcode("mul24", "d, a, b", LANEWISE, "operations.short_product", "rare.upper_products")
opcode("mad24", "d, a, b, c", LANEWISE, "operations.short_product", "rare.upper_products")
opcode("fma", "d, a, b, c", LANEWISE, "operations.fma", "", "half.compute", packed=PAIR)
opcode("div rem", "d, a, b", LANEWISE, "operations.div_rem")
opcode("neg abs", "d, a", LANEWISE, "operations.neg_abs", "", "half.compute")
opcode("min max", "d, a, b{, c}", LANEWISE, "operations.min_max", "rare.pairs_of_integers", "half.compute")
opcode("sad", "d, a, b, c", LANEWISE, "operations.sum_of_differences")
opcode("copysign", "d, a, b", LANEWISE, "operations.copy_sign")
opcode("testp", "d, a", LANEWISE, "operations.test_property")
opcode("sqrt rcp rsqrt lg2 sin cos", "d, a", LANEWISE, "operations.transcendental")
opcode("ex2", "d, a", LANEWISE, "operations.transcendental", "", "half.compute")
opcode("tanh", "d, a", LANEWISE, "operations.transcendental", "rare.hyperbolic_tangent", "half.compute")
opcode("vadd vsub", "d, a, b{, c}", LANEWISE, "operations.video")
for count in "24":
    names = ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")
    opcode(" ".join(name + count for name in names), "d, a, b, c", LANEWISE, "", "video.parts")
opcode("dp4a dp2a", "d, a, b, c", LANEWISE, "", "rare.dot_product")

# Bits (9.7.1, 9.7.8).
opcode("and or xor", "d, a, b", LANEWISE, "bits.logic")
opcode("not cnot", "d, a", LANEWISE, "bits.complement")
opcode("shl shr", "d, a, b", LANEWISE, "bits.shift")
opcode("shf", "d, a, b, c", LANEWISE, "bits.funnel")
opcode("clz popc brev bfind", "d, a", LANEWISE, "bits.bit_count")
opcode("bfe", "d, a, b, c", LANEWISE, "bits.bit_field_extract")
opcode("bfi", "d, a, b, c, e", LANEWISE, "bits.bit_field_insert")
opcode("prmt", "d, a, b, c", LANEWISE, "bits.permute", "rare.permute")
opcode("lop3", "d, a, b, c, n{, q}", LANEWISE, "", "rare.three_way_logic")
opcode("szext bmsk", "d, a, b", LANEWISE, "", "rare.masks")
opcode("fns", "d, a, b, c", LANEWISE, "", "rare.nth_bit")

# Comparisons, selections, moves, conversions (9.7.6, 9.7.7, 9.7.9).
opcode("setp set", "d, a, b{, c}", LANEWISE, "convert.set_predicate", "", "half.compare")
opcode("selp", "d, a, b, c", LANEWISE, "convert.select_predicate")
opcode("slct", "d, a, b, c", LANEWISE, "convert.select_sign")
opcode("mov", "d, a", LANEWISE, "convert.move")
opcode(
    "cvt", "d, a{, b}{, c}", LANEWISE, "convert.convert", "rare.pack_integers", "half.convert", packed="packed.convert"
)
opcode("cvta", "d, a", LANEWISE, "convert.convert_address")
opcode("isspacep", "d, a", LANEWISE, "", "rare.is_space")

# Memory (9.7.9, 9.7.13).
opcode("ld", "d, [a]{, p}", BY_ADDRESS, "memory.load", "rare.with_a_policy", "rare.with_a_policy", READS)
opcode("ldu", "d, [a]", LANEWISE, "memory.load", effect=READS)  # its address is the same in all lanes: the ISA's rule
opcode("st", "[a], b{, p}", NO_LANES, "memory.store", "rare.with_a_policy", "rare.with_a_policy", WRITES)
opcode("atom", "d, [a], b{, c}{, p}", VARYING, "memory.atomic", "rare.half_sum", "rare.half_sum", ATOMIC)
opcode("red", "[a], b{, c}{, p}", NO_LANES, "memory.atomic", "rare.half_sum", "rare.half_sum", ATOMIC)
opcode("membar fence", "*", NO_LANES, "memory.fence", effect=ORDERS)
opcode("cp", "*", NO_LANES, "", "asynchronous.copy", effect=WRITES)
opcode("mbarrier", "[a]{, b}", NO_LANES, "", "asynchronous.change", effect=ATOMIC, rewritten=True)
opcode("mbarrived", "d, a{, b}{, c}", VARYING, "", "asynchronous.arrive", effect=ATOMIC)  # with a result: rewrite.py
opcode("mapa", "d, a, b", LANEWISE, "", "clusters.map_address")
opcode("getctarank", "d, a", LANEWISE, "", "clusters.rank_of")
opcode("prefetch prefetchu discard", "*", NO_LANES, "memory.hint")
opcode("createpolicy", "d{, a}{, b}{, c}", LANEWISE, "", "rare.without_effect")
opcode("applypriority", "*", NO_LANES, "", "rare.without_effect")
opcode("alloca", "d, a{, n}", LANEWISE, "", "rare.allocate", effect=STACK, rewritten=True)
opcode("stacksave", "d", LANEWISE, "", "rare.stack_mark")
opcode("stackrestore", "a", NO_LANES, "", "rare.stack_mark", effect=STACK)

# Warps and blocks (9.7.9, 9.7.13).
opcode("shfl", "d, a, b, c{, m}", BY_SOURCE_LANE, "shuffles.shuffle")
opcode("vote", "d, p{, m}", BY_MEMBERS, "memory.vote", "rare.vote_of_groups")
opcode("activemask", "d", BY_MEMBERS, "memory.active_mask")
opcode("redux", "d, a, m", BY_MEMBERS, "", "rare.reduce")
opcode("mma", "d, a, b, c{, e}{, f}{, g}{, h}", VARYING, "", "matrix.multiply", "matrix.multiply", rewritten=True)
opcode("mmasparse", "d, a, b, c, e, n", VARYING, "", "sparse.multiply", "sparse.multiply")  # mma.sp: rewrite.py
opcode("wmma", "d, a, b, c", VARYING, "", "wmma.multiply", "wmma.multiply", rewritten=True)
opcode("wmmaloaded", "d, [a]{, n}", VARYING, "", "wmma.load", "wmma.load", READS)  # wmma.load: rewrite.py
opcode("wmmastored", "[a], b{, n}", NO_LANES, "", "wmma.store", "wmma.store", WRITES)  # wmma.store
opcode("ldmatrix", "d, [a]", VARYING, "", "matrix.load", effect=READS)
opcode("stmatrix", "[a], b", NO_LANES, "", "matrix.store", effect=WRITES)
opcode("tex", "d, a{, b}{, c}{, e}{, f}", VARYING, "", "textures.fetch", effect=READS)
opcode("tld4", "d, a{, b}{, c}", VARYING, "", "textures.gather", effect=READS)
opcode("txq", "d, [a]{, n}", VARYING, "", "textures.query")  # of a record that no kernel writes
opcode("suq", "d, [a]", VARYING, "", "surfaces.query")
opcode("suld", "d, a", VARYING, "", "surfaces.load", effect=READS)
opcode("sust", "a, b", NO_LANES, "", "surfaces.store", effect=WRITES)
opcode("sured", "a, b", NO_LANES, "", "surfaces.reduce", effect=WRITES)
opcode("movmatrix", "d, a", VARYING, "", "matrix.transpose")
opcode("match", "d, a, m", VARYING, "", "rare.match")
opcode("elect", "d, m", VARYING, "", "rare.elect")
opcode("bar barrier", "{a}{, b}", NO_LANES, "memory.barrier", "clusters.barrier", effect=MEETS, rewritten=True)
opcode("barred", "d, a, p{, b}", LANEWISE, "memory.barrier_reduction", effect=MEETS)  # bar.red: rewrite.py

# Control and what is left (9.7.12, 9.7.19).
opcode("bra", "l", NO_LANES)  # these are ends of blocks: flow.py
opcode("ret exit", "", NO_LANES)
opcode("call", "*", NO_LANES)  # a node of its own: syntax.Call
opcode("brx", "*", NO_LANES)  # a and a list, written out as comparisons: rewrite.py
opcode("trap brkpt", "", NO_LANES, "memory.trap", effect=STOPS)
opcode("nanosleep", "a", NO_LANES, "memory.hint", effect=YIELDS)
opcode("pmevent setmaxnreg", "a", NO_LANES, "", "rare.without_effect")
opcode("griddepcontrol", "", NO_LANES, "", "rare.without_effect")


def having(*effects: str) -> frozenset[str]:
    """The opcodes with one of these effects."""
    return frozenset([name for name, record in OPCODES.items() if record.effect in effects])


NO_RESULT = frozenset([name for name, record in OPCODES.items() if record.lanes == NO_LANES])
"""Opcodes whose first operand is no destination."""
SIDE_EFFECTS = having(*EFFECTS)
STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))
"""Words of loads and stores that are no data race with each other (PTX ISA, "Strong operations")."""
RELEASES, ACQUIRES = frozenset(("release", "acq_rel")), frozenset(("acquire", "acq_rel"))
"""Words of accesses that order as a fence before, or behind them (PTX ISA, "Release and Acquire Patterns")."""
REWRITTEN = frozenset([name for name, record in OPCODES.items() if record.rewritten])
