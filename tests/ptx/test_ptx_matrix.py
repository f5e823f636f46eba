"""mma, ldmatrix, stmatrix, movmatrix: pieces of matrices that lanes have, against products computed in Python.

The pieces are cut here by the figures of the PTX ISA (9.7.14.5), one formula for each shape, not by the executor's.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from fractions import Fraction

import pytest
from ptx_tools import HEAD, device, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}


def value_of(kind: str, bits: int) -> Fraction:
    """What the bits of an element mean."""
    if kind == "f64":
        return Fraction(struct.unpack("<d", struct.pack("<Q", bits))[0])
    if kind in ("tf32", "f32"):
        return Fraction(struct.unpack("<f", struct.pack("<I", bits & (0xFFFFE000 if kind == "tf32" else -1)))[0])
    if kind in ("u8", "u4", "b1"):
        return Fraction(bits)
    if kind in ("s8", "s4"):
        top = 1 << BITS[kind] - 1
        return Fraction((bits ^ top) - top)
    exponents, fraction = {"f16": (5, 10), "bf16": (8, 7), "e4m3": (4, 3), "e5m2": (5, 2)}[kind]
    bias = (1 << exponents - 1) - 1
    exponent, rest = bits >> fraction & (1 << exponents) - 1, bits & (1 << fraction) - 1
    size = Fraction(rest if exponent == 0 else rest + (1 << fraction)) * Fraction(2) ** (
        max(exponent, 1) - bias - fraction
    )
    return -size if bits >> exponents + fraction else size


def some_bits(kind: str, source: random.Random) -> int:
    """An element of moderate size: all sums are exact."""
    if kind == "f64":
        return struct.unpack("<Q", struct.pack("<d", source.randint(-64, 64) / 8))[0]
    if kind == "tf32":
        return struct.unpack("<I", struct.pack("<f", source.randint(-64, 64) / 8))[0] | source.getrandbits(13)
    if kind == "f16":
        return struct.unpack("<H", struct.pack("<e", source.randint(-64, 64) / 8))[0]
    if kind == "bf16":
        return struct.unpack("<I", struct.pack("<f", source.randint(-64, 64) / 8))[0] >> 16
    if kind == "e4m3":
        return source.choice((0, 0x80)) | source.randrange(0, 0x50)
    if kind == "e5m2":
        return source.choice((0, 0x80)) | source.randrange(0x20, 0x48)
    return source.getrandbits(BITS[kind])


def place_in_a(rows: int, kind: str, lane: int, element: int) -> tuple[int, int]:
    """Row and k of the element of a lane, as the ISA's figures have them: registers of 32 bits (or .f64)."""
    per = max(32 // BITS[kind], 1)
    register, part = divmod(element, per)
    group, member = lane >> 2, lane % 4
    if rows == 8:
        return group, member * per + part + 4 * per * register
    row = group if register % 2 == 0 else group + 8
    return row, member * per + part + (4 * per if register in (2, 3) else 0) + (8 if register in (4, 5) else 0) + (
        12 if register in (6, 7) else 0
    )


def place_in_b(kind: str, lane: int, element: int) -> tuple[int, int]:
    """k and column."""
    per = max(32 // BITS[kind], 1)
    register, part = divmod(element, per)
    return (lane % 4) * per + part + 4 * per * register, lane >> 2


def place_in_c(rows: int, lane: int, element: int) -> tuple[int, int]:
    """Row and column."""
    row = lane >> 2 if rows == 8 or element < 2 else (lane >> 2) + 8
    return row, (lane % 4) * 2 + (element & 1)


def pack(elements: list[int], bits: int) -> list[int]:
    """Elements as registers of 32 bits, or two words for .f64."""
    if bits == 64:
        return [word for element in elements for word in (element & 0xFFFFFFFF, element >> 32)]
    per = 32 // bits
    return [sum(elements[at + i] << bits * i for i in range(per)) for at in range(0, len(elements), per)]


def unpack(words: list[int], bits: int) -> list[int]:
    """The other way round."""
    if bits == 64:
        return [low | high << 32 for low, high in zip(words[::2], words[1::2], strict=True)]
    return [word >> at & (1 << bits) - 1 for word in words for at in range(0, 32, bits)]


SHAPES = [
    *((f"m16n8k{k}", "f16", d) for k in (8, 16) for d in ("f16", "f32")),
    *((f"m16n8k{k}", "bf16", "f32") for k in (8, 16)),
    *((f"m16n8k{k}", "tf32", "f32") for k in (4, 8)),
    *((shape, "f64", "f64") for shape in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")),
    *((f"m16n8k{k}", kind, "f32") for kind in ("e4m3", "e5m2") for k in (16, 32)),
    *((shape, kind, "s32") for kind in ("s8", "u8") for shape in ("m8n8k16", "m16n8k16", "m16n8k32")),
    *((shape, kind, "s32") for kind in ("s4", "u4") for shape in ("m8n8k32", "m16n8k32", "m16n8k64")),
]


def product(
    shape: str, kinds: tuple[str, str], sums: str, mods: str = "", operation: Callable[..., Fraction] | None = None
) -> None:
    """One mma of random matrices, beside the sum over k."""
    rows, deep = int(shape[1 : shape.index("n")]), int(shape[shape.index("k") + 1 :])
    a_kind, b_kind = kinds
    source = random.Random(f"{shape} {kinds} {sums}")
    c_kind = "f32" if sums == "f32" else sums
    c_bits = {"f16": 16, "f32": 32, "s32": 32, "f64": 64}[sums]
    a = [[some_bits(a_kind, source) for _ in range(deep)] for _ in range(rows)]
    b = [[some_bits(b_kind, source) for _ in range(8)] for _ in range(deep)]
    c = [[source.randint(-1000, 1000) for _ in range(8)] for _ in range(rows)]

    def sum_bits(number: Fraction) -> int:
        if sums == "s32":
            return int(number) & 0xFFFFFFFF
        letter, size = {"f16": ("e", "H"), "f32": ("f", "I"), "f64": ("d", "Q")}[c_kind]
        return int(struct.unpack("<" + size, struct.pack("<" + letter, float(number)))[0])

    data, counts = [], []
    for lane in range(32):
        na, nb, nc = rows * deep // 32, deep * 8 // 32, rows * 8 // 32
        pieces = [
            pack([a[r][k] for r, k in (place_in_a(rows, a_kind, lane, i) for i in range(na))], BITS[a_kind]),
            pack([b[k][j] for k, j in (place_in_b(b_kind, lane, i) for i in range(nb))], BITS[b_kind]),
            pack([sum_bits(Fraction(c[r][j])) for r, j in (place_in_c(rows, lane, i) for i in range(nc))], c_bits),
        ]
        counts = [len(piece) for piece in pieces]
        data += [word for piece in pieces for word in piece]
    total = sum(counts)
    wide = a_kind == "f64"
    body = f".reg .b32 %m<{total}>; .reg .b64 %f<{total}>; .reg .b32 %c<8>; .reg .b64 %e<8>;\n"
    body += f"mul.wide.u32 %x, %t, {4 * total}; add.u64 %x, %x, %d;\n"
    names: list[list[str]] = []
    at = 0
    for count in counts:
        found = []
        for _ in range(count // 2 if wide else count):
            name = f"%{'f' if wide else 'm'}{at}"
            body += f"ld.global.b{64 if wide else 32} {name}, [%x+{4 * at}];\n"
            found.append(name)
            at += 2 if wide else 1
        names.append(found)
    results = [f"%{'e' if wide else 'c'}{i}" for i in range(len(names[2]))]
    vectors = ", ".join("{" + ", ".join(part) + "}" for part in (results, *names))
    before, _, after = mods.partition("/")
    types = f"{sums}.{a_kind}.{b_kind}.{sums}"
    body += f"mma.sync.aligned.{shape}.row.col{before}.{types}{after} {vectors};\n"
    body += f"mul.wide.u32 %y, %t, {4 * counts[2] - 4}; add.u64 %o, %o, %y;\n"
    for index, name in enumerate(results):
        body += f"st.global.b{64 if wide else 32} [%o+{index * (8 if wide else 4)}], {name};\n"
    with Device(1 << 22) as here:
        found = run(here, body, struct.pack(f"<{len(data)}I", *data), head=HEAD).tolist()
    combine = operation or (lambda x, y: x * y)
    for lane in range(32):
        got = unpack(found[lane * counts[2] : (lane + 1) * counts[2]], c_bits)
        for index, bits in enumerate(got):
            r, j = place_in_c(rows, lane, index)
            want = c[r][j] + sum(combine(value_of(a_kind, a[r][k]), value_of(b_kind, b[k][j])) for k in range(deep))
            assert bits == sum_bits(Fraction(want)), (lane, index, r, j)


@pytest.mark.parametrize(("shape", "kind", "sums"), SHAPES)
def test_products(shape: str, kind: str, sums: str) -> None:
    product(shape, (kind, kind), sums)


def test_mixed_types() -> None:
    product("m16n8k32", ("s8", "u8"), "s32")
    product("m16n8k64", ("u4", "s4"), "s32")
    product("m16n8k32", ("e4m3", "e5m2"), "f32")
    product("m16n8k32", ("e5m2", "e4m3"), "f32", ".kind::f8f6f4")


@pytest.mark.parametrize("shape", ["m8n8k128", "m16n8k128", "m16n8k256"])
def test_bits(shape: str) -> None:
    product(shape, ("b1", "b1"), "s32", "/.xor.popc", lambda x, y: Fraction(int(x) ^ int(y)))
    product(shape, ("b1", "b1"), "s32", "/.and.popc", lambda x, y: Fraction(int(x) & int(y)))


def quad_a(layout: str, lane: int, element: int) -> tuple[int, int]:
    """Row and k of an element of a lane, of the product that the lane has a part in (m8n8k4 of .f16)."""
    low = lane < 16
    if layout == "row":
        return (lane % 4 if low else lane % 4 + 4), element
    return (element if low else element + 4), lane % 4


def quad_c(kind: str, lane: int, element: int) -> tuple[int, int]:
    """Row and column of a sum."""
    if kind == "f16":
        return (lane % 4 if lane < 16 else lane % 4 + 4), element
    row = (lane & 1) + (element & 2)
    return (row if lane < 16 else row + 4), (element & 4) + (lane & 2) + (element & 1)


@pytest.mark.parametrize(("d", "c"), [("f16", "f16"), ("f32", "f32"), ("f32", "f16")])
@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
def test_four_products_of_eight_lanes(device: Device, layouts: str, d: str, c: str) -> None:
    """mma.m8n8k4 of .f16: lanes 4n to 4n + 3 and 4n + 16 to 4n + 19 have a product of their own."""
    source = random.Random(layouts + d + c)
    letters = {"f16": ("e", "H"), "f32": ("f", "I")}

    def bits(kind: str, number: Fraction) -> int:
        letter, size = letters[kind]
        return int(struct.unpack("<" + size, struct.pack("<" + letter, float(number)))[0])

    def some(rows: int, columns: int) -> list[list[list[Fraction]]]:
        return [[[Fraction(source.randint(-64, 64), 8) for _ in range(columns)] for _ in range(rows)] for _ in range(4)]

    a, b, sums = some(8, 4), some(4, 8), some(8, 8)
    of_a, of_b = layouts.split(".")
    data: list[int] = []
    for lane in range(32):
        mine = lane % 16 // 4
        in_a = [quad_a(of_a, lane, i) for i in range(4)]
        in_b = [quad_a("row" if of_b == "col" else "col", lane, i)[::-1] for i in range(4)]
        data += pack([bits("f16", a[mine][row][k]) for row, k in in_a], 16)
        data += pack([bits("f16", b[mine][k][column]) for k, column in in_b], 16)
        data += pack([bits(c, sums[mine][i][j]) for i, j in (quad_c(c, lane, e) for e in range(8))], BITS.get(c, 32))
    given, made = len(data) // 32, 4 if d == "f16" else 8
    body = f".reg .b32 %m<{given}>; .reg .b32 %c<8>; mul.wide.u32 %x, %t, {4 * given}; add.u64 %x, %x, %d;\n"
    body += "".join(f"ld.global.b32 %m{i}, [%x+{4 * i}];\n" for i in range(given))
    names = [[f"%c{i}" for i in range(made)], ["%m0", "%m1"], ["%m2", "%m3"], [f"%m{i}" for i in range(4, given)]]
    vectors = ", ".join("{" + ", ".join(part) + "}" for part in names)
    body += f"mma.sync.aligned.m8n8k4.{layouts}.{d}.f16.f16.{c} {vectors};\n"
    body += f"mul.wide.u32 %y, %t, {4 * made - 4}; add.u64 %o, %o, %y;\n"
    body += "".join(f"st.global.b32 [%o+{4 * i}], %c{i};\n" for i in range(made))
    found = run(device, body, struct.pack(f"<{len(data)}I", *data)).tolist()
    for lane in range(32):
        mine = lane % 16 // 4
        for element, got in enumerate(unpack(found[lane * made : (lane + 1) * made], BITS.get(d, 32))):
            i, j = quad_c(d, lane, element)
            want = sums[mine][i][j] + sum(a[mine][i][k] * b[mine][k][j] for k in range(4))
            assert got == bits(d, want), (lane, element)


def test_sums_of_integers_wrap_or_stop(device: Device) -> None:
    body = """.reg .b32 %m<4>; mov.b32 %m0, 0x7f7f7f7f; mov.b32 %m1, 0x7ffffff0;
        mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0, %r1}, {%m0}, {%m0}, {%m1, %m1};
        mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%r2, %r3}, %m0, %m0, {%m1, %m1};
        st.global.u32 [%o], %r1; st.global.u32 [%o+128], %r3;"""
    found = run(device, body)
    assert set(found[:32].tolist()) == {(0x7FFFFFF0 + 16 * 127 * 127) & 0xFFFFFFFF}
    assert set(found[32:64].tolist()) == {0x7FFFFFFF}


def test_numbers_that_are_none_and_roundings(device: Device) -> None:
    """A NaN reaches its row; a sum of 16 bits is rounded once, to nearest even; too large a one is infinite."""
    body = """.reg .b32 %m<8>; mov.b32 %m0, 0x3c003c00; mov.b32 %m1, 0x7e007e00; mov.b32 %m2, 0; setp.eq.u32 %p, %t, 0;
        selp.b32 %m1, %m1, %m0, %p; mov.b32 %m3, 0x68006800; mov.b32 %m4, 0x7bff7bff;
        mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%m1, %m0}, {%m0}, {%m2, %m2, %m2, %m2};
        mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r4, %r5}, {%m0, %m4}, {%m0}, {%m3, %m3};
        st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r2; st.global.u32 [%o+256], %r4;
        st.global.u32 [%o+384], %r5;"""
    found = run(device, body).tolist()
    assert found[:4] == [0x7FFFFFFF] * 4 and found[4:32] == [0x41000000] * 28
    assert found[32:64] == [0x41000000] * 32
    # 2048 + 8, and 8 * 65504 + 2048
    assert set(found[64:96]) == {0x68046804} and set(found[96:128]) == {0x7C007C00}


# --- moving pieces ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_loads_and_stores_of_pieces(device: Device, count: int, transposed: bool) -> None:
    """ldmatrix of rows that lie in disorder; stmatrix puts them where they were from."""
    trans = ".trans" if transposed else ""
    halves = [(lane * 1009 + 17) & 0xFFFF for lane in range(1024)]
    data = struct.pack("<1024H", *halves)
    registers = "{" + ", ".join(f"%r{i}" for i in range(count)) + "}"
    body = f"""mov.u64 %a0, s; mov.u64 %a1, u; mov.u32 %i, 0;
        mul.wide.u32 %x, %t, 64; add.u64 %y, %d, %x; add.u64 %z, %a0, %x;
        again: ld.global.u32 %j, [%y]; st.shared.u32 [%z], %j; add.u64 %y, %y, 4; add.u64 %z, %z, 4;
        add.u32 %i, %i, 1; setp.lt.u32 %p, %i, 16; @%p bra again; bar.sync 0;
        mul.lo.u32 %i, %t, 7; and.b32 %i, %i, 31; mad.wide.u32 %x, %i, 16, %a0; mad.wide.u32 %y, %i, 16, %a1;
        ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%x+16];
        stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%y+16], {registers}; bar.sync 0;"""
    if count == 4:  # all rows are there
        body += "mad.wide.u32 %z, %t, 16, %a1; ld.shared.u32 %r9, [%z+20]; st.global.u32 [%o+1024], %r9;"
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(count))
    before = ".shared .align 16 .b8 s[2048];\n.shared .align 16 .b8 u[2048];\n"
    found = run(device, body, data, before=before).tolist()
    for matrix in range(count):
        row = [8 + 8 * (7 * lane % 32) for lane in range(8 * matrix, 8 * matrix + 8)]  # first half of each row
        for lane in range(32):
            first, second = lane % 4 * 2, lane % 4 * 2 + 1
            at = [(row[first], lane // 4), (row[second], lane // 4)]
            if not transposed:
                at = [(row[lane // 4], first), (row[lane // 4], second)]
            low, high = (halves[r + column] for r, column in at)
            assert found[32 * matrix + lane] == high << 16 | low
    if count == 4:
        for lane in range(32):
            first = 8 * lane + 10
            assert found[256 + lane] == halves[first + 1] << 16 | halves[first]


def test_a_transposition(device: Device) -> None:
    body = """mul.lo.u32 %i, %t, 131074; add.u32 %i, %i, 65536; movmatrix.sync.aligned.m8n8.trans.b16 %r0, %i;
        st.global.u32 [%o], %r0;"""
    found = run(device, body).tolist()
    for lane in range(32):  # element (r, c) was r * 8 + c
        assert found[lane] == ((lane % 4 * 2 + 1) * 8 + lane // 4) << 16 | lane % 4 * 16 + lane // 4


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("mma.sync.aligned %i, %j, %i, %j;", "unknown opcode 'mma.sync.aligned'"),
        (
            "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32 {%i}, {%i}, {%i}, {%i};",
            "unknown opcode 'mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f32'",
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%i}, {%i}, {%i}, {%i};",
            "operand 1 of 'mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32' must be 8 registers",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 %i, %i, %i, %i;",
            "unknown opcode 'mma.sync.aligned.m16n8k16.row.row",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 %i, %i, %i, %i;",
            "unknown opcode 'mma.sync.aligned.m16n8k16.row.col",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%i}, {%i, %i}, {%i}, {%i};",
            "operand 1 of 'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32' must be 4 registers",
        ),
        (
            "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%i}, [%x];",
            "operand 1 of 'ldmatrix.sync.aligned.m8n8.x2.shared.b16' must be 2",
        ),
        ("ldmatrix.sync.aligned.m8n8.shared.b16 {%i}, [%x];", "unknown opcode 'ldmatrix.sync.aligned.m8n8.shared.b16'"),
        ("wgmma.fence.sync.aligned;", "'wgmma.fence.sync.aligned' is not implemented"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
