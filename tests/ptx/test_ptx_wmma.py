"""wmma: whole matrices in memory, against products computed in Python; which lane has which element is left open."""

from __future__ import annotations

import random
import struct
from fractions import Fraction

import pytest
from ptx_tools import HEAD, device, needs_executor, run
from test_ptx_matrix import BITS, some_bits, value_of

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

HALVES = ("m16n16k16", "m8n32k16", "m32n8k16")
SUM_BITS = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}
FRAGMENTS = {
    ("m16n16k16", "f16"): (8, 8),
    ("m8n32k16", "f16"): (8, 8),
    ("m32n8k16", "f16"): (8, 8),
    ("m16n16k16", "bf16"): (4, 4),
    ("m8n32k16", "bf16"): (2, 8),
    ("m32n8k16", "bf16"): (8, 2),
    ("m16n16k8", "tf32"): (4, 4),
    ("m8n8k4", "f64"): (1, 1),
    ("m16n16k16", "s8"): (2, 2),
    ("m8n32k16", "s8"): (1, 4),
    ("m32n8k16", "s8"): (4, 1),
    ("m8n8k32", "s4"): (1, 1),
    ("m8n8k128", "b1"): (1, 1),
}
"""Registers of a and b (PTX ISA, "Matrix Fragments for WMMA")."""


def packed(elements: list[int], bits: int) -> bytes:
    """Elements one behind the other, the first one in the lowest bits."""
    if bits < 8:
        per = 8 // bits
        return bytes(sum(elements[at + i] << bits * i for i in range(per)) for at in range(0, len(elements), per))
    return b"".join(element.to_bytes(bits // 8, "little") for element in elements)


def in_memory(matrix: list[list[int]], layout: str, apart: int, bits: int) -> bytes:
    """Rows or columns, `apart` elements from each other; between them are ones."""
    lines = matrix if layout == "row" else [list(column) for column in zip(*matrix, strict=True)]
    return packed([e for line in lines for e in (*line, *([(1 << bits) - 1] * (apart - len(line))))], bits)


def sum_bits(kind: str, number: Fraction) -> int:
    """A sum as bits."""
    if kind == "s32":
        return int(number) & 0xFFFFFFFF
    letter, size = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q")}[kind]
    return int(struct.unpack("<" + size, struct.pack("<" + letter, float(number)))[0])


def registers(name: str, count: int) -> str:
    """A vector of them."""
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


def product(
    shape: str, kind: str, sums: tuple[str, str], layouts: tuple[str, str, str, str], space: str = "", way: str = ""
) -> None:
    """Load, multiply, store, and compare; `sums`: the types of d and c, `layouts`: those of a, b, c, d."""
    rows, rest = shape[1:].split("n")
    m, n, k = int(rows), *map(int, rest.split("k"))
    base = kind.replace("u", "s")
    source = random.Random(f"{shape} {kind} {sums} {layouts}")
    a = [[some_bits(kind, source) for _ in range(k)] for _ in range(m)]
    b = [[some_bits(kind, source) for _ in range(n)] for _ in range(k)]
    c = [[source.randint(-500, 500) for _ in range(n)] for _ in range(m)]
    c_bits = [[sum_bits(sums[1], Fraction(e)) for e in row] for row in c]
    bits = BITS[kind]
    more = 128 // bits if bits < 32 else 4
    wide = [(k if layouts[0] == "row" else m) + more, (n if layouts[1] == "row" else k) + more]
    wide += [(n if layout == "row" else m) for layout in layouts[2:]]  # c and d have no number: they are dense
    data = [in_memory(a, layouts[0], wide[0], bits), in_memory(b, layouts[1], wide[1], bits)]
    data += [in_memory(c_bits, layouts[2], wide[2], SUM_BITS[sums[1]])]
    at = [0]
    for part in data:
        at.append(at[-1] + -(-len(part) // 64) * 64)
    text = b"".join(part + bytes(-len(part) % 64) for part in data)
    na, nb = FRAGMENTS[shape, base]
    nc, nd = (m * n * SUM_BITS[s] // 32 // (64 if kind == "f64" else 32) for s in (sums[1], sums[0]))
    size = 64 if kind == "f64" else 32
    body = f".reg .b{size} %a_<8>; .reg .b{size} %b_<8>; .reg .b{size} %c_<8>; .reg .b{size} %d_<8>;\n.reg .b32 %n;\n"
    body += f"mov.u32 %n, {wide[1]};\n"
    before, memory = "", "%d"
    if space == "shared":
        before = f".shared .align 128 .b8 s[{len(text)}];\n"
        body += f"""mov.u64 %a0, s; mov.u32 %i, 0; again: setp.ne.u32 %p, %t, 0; @%p bra out;
            cvt.u64.u32 %x, %i; add.u64 %y, %x, %d; add.u64 %z, %x, %a0; ld.global.u32 %j, [%y]; st.shared.u32 [%z], %j;
            add.u32 %i, %i, 4; setp.lt.u32 %p, %i, {len(text)}; @%p bra again; out: bar.sync 0;\n"""
        memory = "%a0"
    form = f"{shape}.{space}" if space else shape
    body += f"wmma.load.a.sync.aligned.{layouts[0]}.{form}.{kind} {registers('a_', na)}, [{memory}], {wide[0]};\n"
    body += f"wmma.load.b.sync.aligned.{layouts[1]}.{form}.{kind} {registers('b_', nb)}, [{memory}+{at[1]}], %n;\n"
    body += f"wmma.load.c.sync.aligned.{layouts[2]}.{form}.{sums[1]} {registers('c_', nc)}, [{memory}+{at[2]}];\n"
    types = f"{sums[0]}.{sums[1]}" if kind == "f16" else f"{sums[0]}.{kind}.{kind}.{sums[1]}"
    operation = f".{way}.popc" if way else ""
    body += f"wmma.mma{operation}.sync.aligned.{layouts[0]}.{layouts[1]}.{shape}.{types} {registers('d_', nd)}, "
    body += f"{registers('a_', na)}, {registers('b_', nb)}, {registers('c_', nc)};\n"
    # %o is a place for each lane: the matrix begins at the first one's.
    body += "mul.wide.u32 %x, %t, 4; sub.u64 %o, %o, %x;\n"
    body += f"wmma.store.d.sync.aligned.{layouts[3]}.{shape}.global.{sums[0]} [%o], {registers('d_', nd)};\n"
    with Device(1 << 22) as here:
        found = run(here, body, text, head=HEAD, before=before)[: m * n * SUM_BITS[sums[0]] // 32].tobytes()
    combine = {"": lambda x, y: x * y, "xor": lambda x, y: int(x) ^ int(y), "and": lambda x, y: int(x) & int(y)}[way]
    left, right = ([[value_of(kind, e) for e in row] for row in matrix] for matrix in (a, b))
    want = [
        [
            sum_bits(sums[0], Fraction(c[i][j] + sum(combine(left[i][x], right[x][j]) for x in range(k))))
            for j in range(n)
        ]
        for i in range(m)
    ]
    assert found == in_memory(want, layouts[3], wide[3], SUM_BITS[sums[0]])


ALIKE = {"row": ("row", "row"), "col": ("col", "col"), "mixed": ("row", "col"), "turned": ("col", "row")}


@pytest.mark.slow(sample=28)
@pytest.mark.parametrize("layouts", ALIKE)
@pytest.mark.parametrize("shape", HALVES)
@pytest.mark.parametrize(
    ("kind", "sums"),
    [("f16", ("f32", "f32")), ("f16", ("f16", "f16")), ("bf16", ("f32", "f32")), ("s8", ("s32", "s32"))],
)
def test_products(shape: str, kind: str, sums: tuple[str, str], layouts: str) -> None:
    product(shape, kind, sums, (*ALIKE[layouts], *ALIKE[layouts]))


def test_sums_of_another_type_and_shared_memory() -> None:
    product("m16n16k16", "f16", ("f32", "f16"), ("row", "col", "row", "col"))
    product("m16n16k16", "f16", ("f16", "f32"), ("row", "col", "col", "row"), "shared")
    product("m8n32k16", "u8", ("s32", "s32"), ("col", "row", "row", "row"), "shared")


@pytest.mark.parametrize("layouts", ALIKE)
@pytest.mark.parametrize(("shape", "kind", "sums"), [("m16n16k8", "tf32", "f32"), ("m8n8k4", "f64", "f64")])
def test_wide_types(shape: str, kind: str, sums: str, layouts: str) -> None:
    product(shape, kind, (sums, sums), (*ALIKE[layouts], *ALIKE[layouts]))


@pytest.mark.parametrize("kind", ["s4", "u4"])
def test_small_integers(kind: str) -> None:
    product("m8n8k32", kind, ("s32", "s32"), ("row", "col", "row", "col"))


@pytest.mark.parametrize("way", ["xor", "and"])
def test_bits(way: str) -> None:
    product("m8n8k128", "b1", ("s32", "s32"), ("row", "col", "col", "row"), "", way)


def test_a_fragment_is_stored_as_it_was_loaded_and_sums_stop(device: Device) -> None:
    """From rows to columns; .satfinite."""
    body = """.reg .b32 %c<8>; mul.wide.u32 %x, %t, 4; sub.u64 %o, %o, %x;
        wmma.load.c.sync.aligned.row.m16n16k16.global.s32 {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%d];
        wmma.store.d.sync.aligned.col.m16n16k16.global.s32 [%o], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};
        mov.b32 %i, 0x7f7f7f7f;
        wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7},
        {%i, %i}, {%i, %i}, {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};
        wmma.store.d.sync.aligned.row.m16n16k16.s32 [%o+1024], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};"""
    data = [0x7FFFFFFF - 1000 * at for at in range(256)]
    found = run(device, body, struct.pack("<256I", *data)).tolist()
    assert found[:256] == [data[row * 16 + column] for column in range(16) for row in range(16)]
    assert found[256:512] == [min(number + 16 * 127 * 127, 0x7FFFFFFF) for number in data]


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("wmma.load.a.sync.aligned.row.m16n16k8.f16 {%i}, [%x];", "unknown opcode 'wmma.load.a.sync.aligned.row"),
        (
            "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%i, %j}, [%x];",
            "operand 1 of 'wmma.load.a.sync.aligned.row.m16n16k16.f16' must be 8 registers",
        ),
        ("wmma.load.a.sync.aligned.col.m8n8k32.s4 {%i}, [%x];", "unknown opcode 'wmma.load.a.sync.aligned.col."),
        ("wmma.store.a.sync.aligned.row.m16n16k16.f16 [%x], {%i};", "unknown opcode 'wmma.store.a."),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite {%i}, {%i}, {%i}, {%i};",
            "'wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16.satfinite' is not implemented",
        ),
        (
            "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32 {%i}, {%i}, {%i}, {%i};",
            "unknown opcode 'wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.u8.s32'",
        ),
        ("wmma.fold.sync.aligned %i, %i, %i, %i;", "unknown opcode 'wmma.fold.sync.aligned'"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
