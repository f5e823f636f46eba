"""wmma: matrices that are loaded, multiplied and stored by a whole warp (PTX ISA 9.7.14.4).

The ISA leaves open which lane has which element.  Here a fragment is made of pieces as mma has them, of 8 columns and
16 rows, or 8, so that a product is a few of mma's.  Fragments of .f16 have more registers than such pieces fill: those
behind them repeat the first ones.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import racing
from .emit import Emitter, Value
from .forms import operands, unknown
from .matrix import BITS, LANES, SIGNED, laid_out, offsets, product, registers, rows_of, sums
from .memory import load_value, store_value
from .syntax import Instruction

HALVES = ("m16n16k16", "m8n32k16", "m32n8k16")
SHAPES = {
    "f16": HALVES,
    "bf16": HALVES,
    "s8": HALVES,
    "tf32": ("m16n16k8",),
    "f64": ("m8n8k4",),
    "s4": ("m8n8k32",),
    "b1": ("m8n8k128",),
}
"""Shapes by the type of what is multiplied; unsigned integers have those of signed ones."""
LAYOUTS = ("row", "col")
SPACES = ("global", "shared")
PADDED = 8
"""Registers of a fragment of .f16 that is multiplied."""

Place = tuple[int, int]


def sizes(shape: str) -> tuple[int, int, int]:
    """Rows, columns and depth."""
    rows, _, rest = shape[1:].partition("n")
    columns, _, deep = rest.partition("k")
    return int(rows), int(columns), int(deep)


def shapes(part: str, kind: str) -> tuple[str, ...]:
    """The shapes that a fragment of a type may be of; `part`: a, b, c or d."""
    if part in "ab":
        return SHAPES.get(SIGNED.get(kind, kind), ())
    return tuple(shape for base, some in SHAPES.items() if kind in sums(base) for shape in some)


def places(part: str, shape: str, kind: str) -> list[list[list[Place]]]:
    """Row and column of each element: by register, by element in it, by lane; without what is repeated."""
    rows, columns, deep = sizes(shape)
    high, per = min(rows, 16), max(32 // BITS[kind], 1)
    halves = high // 8
    if part == "a":
        return [
            [
                [(block + lane // 4 + r % halves * 8, (r // halves * 4 + lane % 4) * per + e) for lane in LANES]
                for e in range(per)
            ]
            for block in range(0, rows, high)
            for r in range(high * deep // 32 // per)
        ]
    if part == "b":
        return [
            [[((r * 4 + lane % 4) * per + e, block + lane // 4) for lane in LANES] for e in range(per)]
            for block in range(0, columns, 8)
            for r in range(deep * 8 // 32 // per)
        ]
    found = [
        [(down + lane // 4 + r // 2 * 8, across + lane % 4 * 2 + r % 2) for lane in LANES]
        for down in range(0, rows, high)
        for across in range(0, columns, 8)
        for r in range(2 * halves)
    ]
    return [found[at : at + per] for at in range(0, len(found), per)]


def count(part: str, kind: str, filled: int) -> int:
    """The registers of a fragment that has pieces in `filled` of them."""
    return PADDED if part in "ab" and kind == "f16" else filled


def access(em: Emitter, code: Instruction, memory: int) -> tuple[str, str, str, str, list[Value], list[list[int]]]:
    """Of a load or store: part, shape, type and space; the addresses for each register, and the bits of each access."""
    mods = list(code.mods)
    space = mods.pop(6).partition("::")[0] if len(mods) == 8 else ""
    if len(mods) != 7 or mods[2:4] != ["sync", "aligned"] or mods[4] not in LAYOUTS or space not in ("", *SPACES):
        unknown(em, code)
    _, part, _, _, layout, shape, kind = mods
    if (part not in "abc" if mods[0] == "load" else part != "d") or shape not in shapes(part, kind):
        unknown(em, code)
    if BITS[kind] < 8 and part in "ab" and layout != ("row" if part == "a" else "col"):
        unknown(em, code)
    if len(code.operands) not in (2, 3):
        operands(em, code)
    rows, columns, deep = sizes(shape)
    high, wide = {"a": (rows, deep), "b": (deep, columns)}.get(part, (rows, columns))
    base = em.splat(rows_of(em, code, memory))
    apart = Value("i64", False, str(wide if layout == "row" else high))
    if len(code.operands) == 3:
        apart = em.cast("zext", em.read(code.operands[2], "u32"), "i64")
    apart = em.splat(apart)
    addresses: list[Value] = []
    widths = []
    for register in places(part, shape, kind):
        turned = [[place[:: 1 if layout == "row" else -1] for place in element] for element in register]
        whole = all(turned[e][0] == (turned[0][0][0], turned[0][0][1] + e) for e in range(len(turned)))
        some = turned[:1] if whole else turned
        widths.append([max(32, BITS[kind])] if whole else [BITS[kind]] * len(some))
        for element in some:
            at = em.op("mul", apart, offsets([place[0] for place in element]))
            at = em.op("add", at, offsets([place[1] for place in element]))
            bits = em.op("mul", at, offsets([BITS[kind]] * 32))
            addresses.append(em.op("add", base, em.op("lshr", bits, offsets([3] * 32))))
    return part, shape, kind, space, addresses, widths


def load(em: Emitter, code: Instruction) -> None:
    """wmma.load.PART.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE d, [a]{, elements between rows or columns}."""
    part, _, kind, space, addresses, widths = access(em, code, 1)
    targets = registers(em, code, 0, count(part, kind, len(widths)))
    values = []
    for width in widths:
        elements = []
        for bits in width:
            address = addresses.pop(0)
            if em.racing:
                racing.plain(em, address, bits // 8, False, space)
            elements.append(load_value(em, address, f"b{bits}", True, space))
        values.append(joined(em, elements, width[0]))
    for index, target in enumerate(targets):  # a destination may be the address's register
        em.write(target, values[index % len(values)])


def joined(em: Emitter, elements: list[Value], bits: int) -> Value:
    """Elements as a register, the first one lowest."""
    if len(elements) == 1:
        return elements[0]
    value = em.cast("zext", elements[0], "i32")
    for index, element in enumerate(elements[1:], 1):
        up = em.op("shl", em.cast("zext", element, "i32"), em.splat(em.ints("i32", bits * index)))
        value = em.op("or", value, up)
    return value


def store(em: Emitter, code: Instruction) -> None:
    """wmma.store.d.sync.aligned.LAYOUT.SHAPE{.SPACE}.TYPE [a], b{, elements between rows or columns}."""
    _, _, _, space, addresses, widths = access(em, code, 0)
    items = registers(em, code, 1, len(widths))
    for item, width in zip(items, widths, strict=True):
        value = em.splat(em.fit(em.read(item, f"b{sum(width)}"), f"i{sum(width)}"))
        for index, bits in enumerate(width):
            part = value
            if len(width) > 1:
                part = em.cast("trunc", em.op("lshr", value, em.splat(em.ints("i32", bits * index))), f"i{bits}")
            address = addresses.pop(0)
            if em.racing:
                racing.plain(em, address, bits // 8, True, space)
            store_value(em, address, part, space)


def split(em: Emitter, code: Instruction) -> tuple[str, list[str], int]:
    """Of a product: the shape, the types of d, a, b and c, and which of abi.MATRIX_WAYS."""
    mods = list(code.mods[1:])
    way = 0
    if mods[1:2] == ["popc"] and mods[0] in ("xor", "and"):
        way = abi.MATRIX_WAYS.index(mods[0])
        del mods[:2]
    if mods[:2] != ["sync", "aligned"] or any(m not in LAYOUTS for m in mods[2:4]):
        unknown(em, code)
    layouts, shape, types = mods[2:4], "".join(mods[4:5]), mods[5:]
    if types[-1:] == ["satfinite"]:
        way = abi.MATRIX_WAYS.index("satfinite")
        types.pop()
    if types[:1] == ["rn"] and types[-1] == "f64":
        types.pop(0)
    if len(types) == 2:
        types[1:1] = ["f16", "f16"]
    if len(types) != 4 or any(kind not in BITS for kind in types):
        unknown(em, code)
    d, a, b, c = types
    if a != b or shape not in shapes("a", a) or d not in sums(a) or c not in sums(a):
        unknown(em, code)
    if (a == "b1") != (way > 1) or (BITS[a] < 8 and layouts != ["row", "col"]):
        unknown(em, code)
    if way == 1 and d != "s32":
        em.fail(f"'{code.opcode}' is not implemented")
    return shape, types, way


def multiply(em: Emitter, code: Instruction) -> None:
    """wmma.mma.sync.aligned.LAYOUT.LAYOUT.SHAPE.types d, a, b, c: pieces know no layout."""
    shape, types, way = split(em, code)
    operands(em, code)
    rows, columns, deep = sizes(shape)
    wide = 64 if types[1] == "f64" else 32
    high, given = min(rows, 16), []
    for at, (part, kind) in enumerate(zip("dabc", types, strict=True)):
        filled = len(places(part, shape, kind))
        given.append(registers(em, code, at, count(part, kind, filled))[:filled])
    down, across = rows // high, columns // 8
    parts = [(given[1], down), (given[2], across), (given[3], down * across)]
    lefts, rights, adds = (
        [laid_out(em, items[at * len(items) // n : (at + 1) * len(items) // n], wide) for at in range(n)]
        for items, n in parts
    )
    each = len(given[0]) // (down * across)
    values = []
    for at, add in enumerate(adds):
        blocks = [lefts[at // across], rights[at % across], add]
        values += product(em, (high, deep), types, way, blocks, each)
    for target, value in zip(given[0], values, strict=True):
        em.write(target, value)
