"""mma.sp: products of a matrix half of which are zeros, against sums over what the metadata says, in Python.

Where elements and metadata lie is written here by the PTX ISA's section on sparse storage, a rule for each shape.
"""

from __future__ import annotations

import random
import struct

import pytest
from ptx_tools import HEAD, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

pytestmark = needs_executor

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
ONE_LANE, PAIR_BY_COLUMNS, PAIR_BY_ROWS, ALL = "one", "columns", "rows", "all"
"""Which lanes of four have metadata: one for both rows, one for each half of the columns, one for each row, all."""
CASES = [
    ("m16n8k16", "f16", "f32", ONE_LANE), ("m16n8k16", "f16", "f16", ONE_LANE),
    ("m16n8k32", "f16", "f32", PAIR_BY_COLUMNS),
    ("m16n8k16", "bf16", "f32", ONE_LANE), ("m16n8k32", "bf16", "f32", PAIR_BY_COLUMNS),
    ("m16n8k8", "tf32", "f32", ONE_LANE), ("m16n8k16", "tf32", "f32", PAIR_BY_COLUMNS),
    ("m16n8k32", "s8", "s32", PAIR_BY_ROWS), ("m16n8k32", "u8", "s32", PAIR_BY_ROWS), ("m16n8k64", "s8", "s32", ALL),
    ("m16n8k64", "s4", "s32", PAIR_BY_ROWS), ("m16n8k128", "u4", "s32", ALL),
    ("m16n8k64", "e4m3", "f32", ALL), ("m16n8k64", "e5m2", "f32", ALL),
]  # fmt: skip
CHOICES = {ONE_LANE: 4, PAIR_BY_COLUMNS: 2, PAIR_BY_ROWS: 2, ALL: 1}
"""Selectors."""


def bits_of(kind: str, number: int) -> int:
    """A small whole number as an element."""
    if kind in ("f16", "e5m2"):
        whole = int(struct.unpack("<H", struct.pack("<e", number))[0])
        return whole if kind == "f16" else whole >> 8
    if kind in ("bf16", "tf32"):
        return int(struct.unpack("<I", struct.pack("<f", number))[0]) >> (16 if kind == "bf16" else 0)
    if kind == "e4m3":
        size = abs(number)
        if size == 0:
            return 0
        power = size.bit_length() - 1
        return (128 if number < 0 else 0) | (power + 7) << 3 | (size << 3 >> power) - 8
    return number & (1 << BITS[kind]) - 1


def numbers_of(kind: str) -> range:
    """What is exact in a type, and in its sums."""
    if kind[0] == "u":
        return range(1 << BITS[kind])
    return {"s8": range(-128, 128), "s4": range(-8, 8), "e5m2": range(-7, 8)}.get(kind, range(-8, 9))


def sum_bits(kind: str, number: int) -> int:
    """A sum."""
    letters = {"f16": "He", "f32": "If", "s32": "Ii"}[kind]
    return int(struct.unpack("<" + letters[0], struct.pack("<" + letters[1], number))[0])


def metadata_place(way: str, selector: int, row: int, chunk: int) -> tuple[int, int]:
    """The lane of four and the bit of a chunk's metadata."""
    lower = row >= 8
    if way == ONE_LANE:
        return selector, 16 * lower + 4 * chunk
    if way == PAIR_BY_COLUMNS:
        return 2 * selector + chunk // 4, 16 * lower + 4 * (chunk % 4)
    if way == PAIR_BY_ROWS:
        return 2 * selector + lower, 4 * chunk
    return 2 * (chunk // 8) + lower, 4 * (chunk % 8)


def words(elements: list[int], bits: int) -> list[int]:
    """Registers of elements, the first one lowest."""
    per = 32 // bits
    return [sum(elements[at + i] << bits * i for i in range(per)) for at in range(0, len(elements), per)]


def sparse(source: random.Random, kind: str, deep: int) -> tuple[list[int], list[int], list[int]]:
    """A row of A: with its zeros, what is given of it, and the metadata of each chunk."""
    dense, packed, metadata = [], [], []
    width = {"tf32": 2, "s4": 8, "u4": 8}.get(kind, 4)
    for _ in range(deep // width):
        chunk = [0] * width
        if width == 2:
            one = source.randrange(2)
            places, about = [one], (0b0100, 0b1110)[one]
        else:
            low, high = sorted(source.sample(range(4), 2))
            places, about = [low, high], low | high << 2
            if width == 8:
                places = [2 * low, 2 * low + 1, 2 * high, 2 * high + 1]
        for place in places:
            chunk[place] = source.choice(numbers_of(kind))
            packed.append(chunk[place])
        dense += chunk
        metadata.append(about)
    return dense, packed, metadata


@pytest.mark.parametrize(("shape", "kind", "sums", "way"), CASES)
def test_products(shape: str, kind: str, sums: str, way: str) -> None:
    """For each selector; the lanes that it leaves out have nonsense for metadata."""
    deep, bits = int(shape.rpartition("k")[2]), BITS[kind]
    per = 32 // bits
    for selector in range(CHOICES[way]):
        source = random.Random(f"{shape} {kind} {selector}")
        rows = [sparse(source, kind, deep) for _ in range(16)]
        b = [[source.choice(numbers_of(kind)) for _ in range(8)] for _ in range(deep)]
        c = [[source.randint(-50, 50) for _ in range(8)] for _ in range(16)]
        about = [source.getrandbits(32) for _ in range(32)]
        told = set()
        for row, (_, _, metadata) in enumerate(rows):
            for chunk, four in enumerate(metadata):
                member, bit = metadata_place(way, selector, row, chunk)
                lane = row % 8 * 4 + member
                about[lane] = about[lane] & ~(15 << bit) | four << bit
                told.add((lane, bit))
        assert len(told) == sum(len(row[2]) for row in rows)
        data: list[int] = []
        counts = [0, 0, 0]
        for lane in range(32):
            group, member = lane >> 2, lane % 4
            # what is given of A lies as A of half the depth does in mma without .sp
            a_part = [
                rows[group + 8 * half][1][block + member * per + i]
                for block in range(0, deep // 2, 4 * per) for half in (0, 1) for i in range(per)
            ]  # fmt: skip
            b_part = [b[block + member * per + i][group] for block in range(0, deep, 4 * per) for i in range(per)]
            c_part = [c[group + 8 * half][2 * member + i] for half in (0, 1) for i in (0, 1)]
            pieces = [
                words([bits_of(kind, n) for n in a_part], bits), words([bits_of(kind, n) for n in b_part], bits),
                words([sum_bits(sums, n) for n in c_part], 16 if sums == "f16" else 32),
            ]  # fmt: skip
            counts = [len(piece) for piece in pieces]
            data += [word for piece in pieces for word in piece] + [about[lane]]
        total = sum(counts) + 1
        body = f".reg .b32 %m<{total}>, %c<4>; mul.wide.u32 %x, %t, {4 * total}; add.u64 %x, %x, %d;\n"
        body += "".join(f"ld.global.b32 %m{at}, [%x+{4 * at}];\n" for at in range(total))
        at, vectors = 0, ["{" + ", ".join(f"%c{i}" for i in range(counts[2])) + "}"]
        for count in counts:
            vectors.append("{" + ", ".join(f"%m{at + i}" for i in range(count)) + "}")
            at += count
        variant = "sp::ordered_metadata" if selector % 2 else "sp"
        body += f"mma.{variant}.sync.aligned.{shape}.row.col.{sums}.{kind}.{kind}.{sums} {', '.join(vectors)}, "
        body += f"%m{total - 1}, {selector};\nmul.wide.u32 %y, %t, {4 * counts[2] - 4}; add.u64 %o, %o, %y;\n"
        body += "".join(f"st.global.b32 [%o+{4 * i}], %c{i};\n" for i in range(counts[2]))
        with Device(1 << 22) as here:
            got = run(here, body, struct.pack(f"<{len(data)}I", *data), head=HEAD).tolist()
        for lane in range(32):
            group, member = lane >> 2, lane % 4
            want = [
                c[row][2 * member + i] + sum(x * b[k][2 * member + i] for k, x in enumerate(rows[row][0]))
                for row in (group, group + 8) for i in (0, 1)
            ]  # fmt: skip
            have = got[lane * counts[2] : (lane + 1) * counts[2]]
            assert have == words([sum_bits(sums, n) for n in want], 16 if sums == "f16" else 32), (selector, lane)


OPERANDS = "{%i, %i, %i, %i}, {%i, %i}, {%i, %i}, {%i, %i, %i, %i}, %i"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"m16n8k16.row.col.f32.f16.f16.f32 {OPERANDS}, 4", "operand 6 of '{}' must be a constant from 0 to 3"),
        (f"m16n8k32.row.col.s32.s8.s8.s32 {OPERANDS}, 2", "operand 6 of '{}' must be a constant from 0 to 1"),
        (f"m16n8k16.row.col.f32.f16.f16.f32 {OPERANDS}, %i", "operand 6 of '{}' must be a constant from 0 to 3"),
        (f"m16n8k64.row.col.s32.s8.s8.s32 {OPERANDS}, 1", "operand 6 of '{}' must be 0"),
        (f"m16n8k16.row.col.f32.f16.f16.f32 {OPERANDS}", "'{}' needs 6 operands, 5 given"),
        (f"m16n8k8.row.col.f32.f16.f16.f32 {OPERANDS}, 0", "'{}' is not implemented"),
    ],
)  # fmt: skip
def test_mistakes(code: str, said: str) -> None:
    text = f"{HEAD}.visible .entry k () {{ .reg .u32 %i;\n\nmma.sp.sync.aligned.{code};\nret; }}\n"
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        here.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [])
    opcode = f"mma.sp.sync.aligned.{code.split()[0]}"
    assert failure.value.log.strip().endswith(f":6: error: {said.format(opcode)}")
