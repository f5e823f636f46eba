"""mma.sp: products of which a has half of its elements, the others are zeros (PTX ISA, "Sparse matrix storage").

The executor writes a out with its zeros by the metadata (matrix.h); from there on it is a product like others.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .emit import Emitter
from .forms import operands
from .matrix import BITS, laid_out, product, registers, split
from .syntax import Immediate, Instruction

SHAPES = {
    "f16": ("m16n8k16", "m16n8k32"),
    "bf16": ("m16n8k16", "m16n8k32"),
    "tf32": ("m16n8k8", "m16n8k16"),
    "e4m3": ("m16n8k64",),
    "e5m2": ("m16n8k64",),
    "s8": ("m16n8k32", "m16n8k64"),
    "s4": ("m16n8k64", "m16n8k128"),
}
"""As matrix.SHAPES."""
ROWS, COLUMNS = 16, 8
CHUNK = {32: 2, 4: 8}
"""Columns that four bits of metadata are of, by the bits of an element; of others 4."""


def multiply(em: Emitter, code: Instruction) -> None:
    """mma.sp{::ordered_metadata}.sync.aligned.SHAPE.row.col.types d, a, b, c, metadata, selector."""
    shape, kinds, way = split(em, code, code.mods[1:], SHAPES)
    operands(em, code, 6)
    deep = int(shape[shape.index("k") + 1 :])
    selector = code.operands[5]
    columns = CHUNK.get(BITS[kinds[1]], 4)
    lanes = deep // columns // 4  # of each four: one, two or all have metadata, the selector says which
    most = 4 // lanes - 1
    if not isinstance(selector, Immediate) or not 0 <= selector.value <= most:
        em.fail(f"operand 6 of '{code.opcode}' must be {f'a constant from 0 to {most}' if most else 0}")
    elements = (ROWS * COLUMNS, ROWS * deep // 2, deep * COLUMNS, ROWS * COLUMNS)
    counts = [size * BITS[kind] // 1024 for size, kind in zip(elements, kinds, strict=True)]
    targets = registers(em, code, 0, counts[0])
    packed, b, c = (laid_out(em, registers(em, code, at, counts[at]), 32) for at in (1, 2, 3))
    metadata = laid_out(em, (code.operands[4],), 32)
    a = em.alloca(f"[{2 * counts[1]} x <32 x i32>]")
    word = abi.MATRIX_TYPES.index(kinds[1]) | columns << abi.SPREAD_COLUMNS | deep << abi.SPREAD_DEEP
    word |= selector.value * lanes << abi.SPREAD_LANE
    em.helper("spread", f"ptr %w, i32 {em.active}, i32 {word}, ptr {packed}, ptr {metadata}, ptr {a}")
    for target, value in zip(targets, product(em, (ROWS, deep), kinds, way, [a, b, c], counts[0]), strict=True):
        em.write(target, value)
