"""Floats of 4 to 8 bits and pairs of singles (gompy/ptx/packed.py): against rational numbers."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from ptx_tools import device, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

KINDS = {
    # bits of all, of the exponent, of the fraction; the largest number
    "e4m3x2": (8, 4, 3, 0x7E),
    "e5m2x2": (8, 5, 2, 0x7B),
    "e2m3x2": (6, 2, 3, 0x1F),
    "e3m2x2": (6, 3, 2, 0x1F),
    "e2m1x2": (4, 2, 1, 0x07),
}
SHORT = tuple(kind for kind, (width, *_) in KINDS.items() if width < 8)


def number(kind: str, bits: int) -> float:
    """What a float of up to 8 bits means."""
    width, exponents, fraction, _ = KINDS[kind]
    size, bias = bits & (1 << width - 1) - 1, (1 << exponents - 1) - 1
    if kind == "e4m3x2" and size == 0x7F:
        return math.nan
    if kind == "e5m2x2" and size >= 0x7C:
        return math.inf * (-1 if bits & 0x80 else 1) if size == 0x7C else math.nan
    exponent, rest = size >> fraction, size & (1 << fraction) - 1
    value = math.ldexp(rest + (1 << fraction if exponent else 0), max(exponent, 1) - bias - fraction)
    return -value if bits >> width - 1 & 1 else value


def nearest(kind: str, value: float) -> int:
    """The bits of a number: nearest, of two the even one; the largest for what is beyond."""
    width, _, _, most = KINDS[kind]
    if math.isnan(value):
        return 0x7F if width == 8 else most
    sign = 1 << width - 1 if math.copysign(1, value) < 0 else 0
    if math.isinf(value) or abs(value) >= number(kind, most):
        return sign | most
    exact = Fraction(abs(value))
    return sign | min(range(most + 1), key=lambda b: (abs(Fraction(number(kind, b)) - exact), b & 1))


def values(kind: str) -> list[float]:
    """All numbers, the places half way between them and the singles beside these, and special ones."""
    found = [number(kind, b) for b in range(KINDS[kind][3] + 1)]
    middles = [(a + b) / 2 for a, b in pairwise(found)]
    beside = [float(np.nextafter(np.float32(m), np.float32(way))) for m in middles for way in (0, 1e9)]
    rest = [0.0, 1e-30, 65535.0, 65536.0, 1e30, 3e38, math.inf, 460.0, 464.0, 465.0, 480.0, 61440.0]
    every = found + middles + beside + rest
    return [*every, *(-v for v in every), math.nan]


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_singles_to_few_bits(device: Device, kind: str, relu: str) -> None:
    apart = 4 if kind == "e2m1x2" else 8
    to = "%byte" if apart == 4 else "%h0"
    every = values(kind)
    every += [1.0] * (-len(every) % 64)
    lanes = len(every) // 2
    body = f"""mul.wide.u32 %x, %t, 8; add.u64 %x, %x, %d; .reg .f32 %f, %g; .reg .b8 %byte;
        ld.global.f32 %f, [%x]; ld.global.f32 %g, [%x+4];
        cvt.rn.satfinite{relu}.{kind}.f32 {to}, %g, %f; cvt.u32.u{2 * apart} %r0, {to}; st.global.u32 [%o], %r0;"""
    found = run(device, body, struct.pack(f"<{len(every)}f", *every), size=4 * lanes, threads=lanes).tolist()
    floor = [0.0 if relu and value < 0 else value for value in every]
    want = [nearest(kind, float(np.float32(value))) for value in floor]
    assert [bits for word in found for bits in (word & (1 << apart) - 1, word >> apart)] == want


@pytest.mark.parametrize("kind", SHORT)
def test_few_bits_to_halves(device: Device, kind: str) -> None:
    """Each number of 4 or 6 bits, exactly."""
    width = KINDS[kind][0]
    apart = 4 if width == 4 else 8
    source, change = ("%byte", "cvt.u8.u32 %byte, %i;") if width == 4 else ("%h0", "cvt.u16.u32 %h0, %i;")
    body = f"""shl.b32 %i, %t, {apart}; sub.u32 %j, {(1 << width) - 1}, %t; or.b32 %i, %i, %j; .reg .b8 %byte; {change}
        cvt.rn.f16x2.{kind} %r0, {source}; cvt.rn.relu.f16x2.{kind} %r1, {source};
        st.global.u32 [%o], %r0; st.global.u32 [%o+512], %r1;"""
    count = 1 << width
    found = run(device, body, threads=count).tolist()
    for at in range(count):
        for bits, shift in ((count - 1 - at, 0), (at, 16)):
            value = number(kind, bits)
            got, floor = (
                struct.unpack("<e", struct.pack("<H", found[place] >> shift & 0xFFFF))[0] for place in (at, at + 128)
            )
            assert (got, math.copysign(1, got)) == (value, math.copysign(1, value))
            assert floor == max(value, 0)


# --- rounding by random bits (.rs) -----------------------------------------------------------------------------------


def by_chance(value: float, numbers: list[float], beyond: float, chance: int, count: int) -> int:
    """The place, among the numbers from zero on, that a size is rounded to by so many random bits.

    The first bits that are cut off and the random ones are added; a carry rounds up.
    """
    exact = Fraction(value)
    low = max(at for at, number in enumerate(numbers) if number <= exact)
    above = Fraction(numbers[low + 1] if low + 1 < len(numbers) else beyond)
    part = int((exact - Fraction(numbers[low])) / (above - Fraction(numbers[low])) * 2**count)
    return low + (part + chance >> count)


def between(numbers: list[float]) -> list[float]:
    """Singles at some parts of the ways between numbers, and the numbers themselves."""
    parts = (0, 2.0**-16, 0.25, 1 / 3, 0.5, 0.7, 1 - 2.0**-10)
    return [float(np.float32(a + (b - a) * part)) for a, b in pairwise(numbers) for part in parts]


def reverse(bits: int) -> int:
    """16 bits in reverse order."""
    return int(f"{bits:016b}"[::-1], 2)


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize("relu", ["", ".relu"])
@pytest.mark.parametrize("kind", KINDS)
def test_four_singles_by_random_bits(device: Device, kind: str, relu: str) -> None:
    """{a, b, e, f}: a and b have the upper 16 random bits, or the odd bytes; e and f the others."""
    width, _, _, most = KINDS[kind]
    numbers = [number(kind, bits) for bits in range(most + 1)]
    last = numbers[-1]
    every = [*between(numbers), 1e-30, 2.0**-140, last, last * 1.01, 1e30, math.inf]
    random = np.random.default_rng(5)
    every = [value for value in every for _ in range(2)]
    signs = random.choice([-1, 1], len(every))
    every = [*(signs * np.array(every)).tolist(), math.nan]
    every += [0.0] * (-len(every) % 128)
    words = random.integers(0, 1 << 32, len(every) // 4, dtype=np.uint32)
    words[:8:2], words[1:8:2] = 0xFFFFFFFF, 0
    to, apart = ("%h0", 4) if width == 4 else ("%r0", 8)
    widened = f"cvt.u32.u16 %r0, {to};" if width == 4 else ""
    lanes = len(words)
    threads = min(lanes, 1024)
    body = f"""mul.wide.u32 %x, %t, 16; add.u64 %x, %x, %d; .reg .f32 %f<4>;
        ld.global.v4.f32 {{%f0, %f1, %f2, %f3}}, [%x]; mad.wide.u32 %y, %t, 4, %d; ld.global.u32 %i, [%y+{16 * lanes}];
        cvt.rs{relu}.satfinite.{kind[:-2]}x4.f32 {to}, {{%f0, %f1, %f2, %f3}}, %i; {widened} st.global.u32 [%o], %r0;"""
    data = np.array(every, dtype=np.float32).tobytes() + words.tobytes()
    assert lanes == threads
    found = run(device, body, data, size=4 * lanes, threads=threads).tolist()
    for lane in range(lanes):
        rbits = int(words[lane])
        pairs = [rbits >> 16, rbits & 0xFFFF]
        if width == 4:
            pairs = [rbits >> 8 & 0xFF | rbits >> 16 & 0xFF00, rbits & 0xFF | rbits >> 8 & 0xFF00]
        chances = [reverse(pairs[0]), pairs[0], reverse(pairs[1]), pairs[1]]
        for at, (value, chance) in enumerate(zip(every[4 * lane : 4 * lane + 4], chances, strict=True)):
            got = found[lane] >> (3 - at) * apart & (1 << apart) - 1
            single = float(np.float32(value))
            if math.isnan(single):
                assert got == (0x7F if width == 8 else most)
                continue
            sign = 1 << width - 1 if math.copysign(1, single) < 0 else 0
            if relu and single < 0:
                assert got == 0
            elif abs(single) >= last:
                assert got == sign | most
            else:
                assert got == sign | by_chance(abs(single), numbers, math.inf, chance, 16)


@pytest.mark.parametrize("mods", ["", ".relu", ".satfinite", ".relu.satfinite"])
@pytest.mark.parametrize("kind", ["f16x2", "bf16x2"])
def test_two_singles_by_random_bits(device: Device, kind: str, mods: str) -> None:
    """13 random bits of each half, or 16: all bits that are cut off of a normal number."""
    count = 13 if kind[0] == "f" else 16
    places = [0, 1, 2, 3, 0x1FE, 0x3FE, 0x3FF, 0x400, 0x401, 0x402, 0x3BFF, 0x3C00, 0x3C01, 0x7BFE]
    if kind[0] == "b":
        places = [0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0x3F7F, 0x3F80, 0x3F81, 0x7F7E]

    infinite = 0x7C00 if kind[0] == "f" else 0x7F80
    halves = np.arange(infinite, dtype=np.uint16)
    wide = halves.view(np.float16) if kind[0] == "f" else (halves.astype(np.uint32) << 16).view(np.float32)
    numbers = wide.astype(np.float64)
    last = float(numbers[-1])
    every = [value for bits in places for value in between(numbers[bits : bits + 2].tolist())]
    every += [last, last * (1 + 2.0**-12), last * 1.0000002, math.inf, 0.0]
    random = np.random.default_rng(6)
    every = [value for value in every for _ in range(4)]
    every = [*(random.choice([-1, 1], len(every)) * np.array(every)).tolist(), math.nan, 1.0]
    every += [0.0] * (len(every) % 2)
    lanes = len(every) // 2
    words = random.integers(0, 1 << 32, lanes, dtype=np.uint32)
    words[:4:2], words[1:4:2] = 0xFFFFFFFF, 0
    body = f"""mul.wide.u32 %x, %t, 8; add.u64 %x, %x, %d; .reg .f32 %f, %g;
        ld.global.v2.f32 {{%f, %g}}, [%x]; mad.wide.u32 %y, %t, 4, %d; ld.global.u32 %i, [%y+{8 * lanes}];
        cvt.rs{mods}.{kind}.f32 %r0, %f, %g, %i; st.global.u32 [%o], %r0;"""
    data = np.array(every, dtype=np.float32).tobytes() + words.tobytes()
    found = run(device, body, data, size=4 * lanes, threads=lanes).tolist()
    for lane in range(lanes):
        for at, shift in ((0, 16), (1, 0)):
            value = float(np.float32(every[2 * lane + at]))
            chance = int(words[lane]) >> shift & (1 << count) - 1
            got = found[lane] >> shift & 0xFFFF
            if math.isnan(value):
                assert got == 0x7FFF
                continue
            sign, size = (0x8000 if math.copysign(1, value) < 0 else 0), abs(value)
            if "relu" in mods and value < 0:
                assert got == 0
            elif size > last and "satfinite" in mods:
                assert got == sign | infinite - 1
            elif size > last * 1.01:
                assert got == sign | infinite
            else:
                # The numbers around it: of the same exponent, and infinity as the one behind the last.
                near = int(np.searchsorted(numbers, size, side="right")) - 1
                behind = float(numbers[near + 1]) if near + 1 < infinite else 2 * last - float(numbers[-2])
                assert got == sign | near + by_chance(size, [float(numbers[near])], behind, chance, count)


def test_random_bits_that_are_the_same_for_all(device: Device) -> None:
    """One number and one word for all lanes, as constants: 1.25 becomes 1 or 1.5."""
    body = "".join(
        f"mov.u32 %i, {rbits}; cvt.rs.satfinite.e2m1x4.f32 %h0, {{0f3FA00000, 0f3FA00000, 0fBFA00000, 0f3FA00000}}, %i;"
        f"cvt.u32.u16 %r0, %h0; st.global.u32 [%o+{128 * at}], %r0;"
        for at, rbits in enumerate((0, 0x80000001, 0x00800000))
    )
    found = run(device, body).tolist()[:96:32]
    assert found == [0x22A2, 0x23B2, 0x22A3]


SCALES = [0.0, 2.0**-149, 2.0**-127, 2.0**-127 * 1.25, 2.0**-126, 0.75, 1.0, 1.0000001, 3.0, 2.0**127, 3e38, math.inf]


@pytest.mark.parametrize("finite", ["", ".satfinite"])
@pytest.mark.parametrize("mode", ["rz", "rp"])
def test_powers_of_two(device: Device, mode: str, finite: str) -> None:
    """.ue8m0: the power of two below, or above; 255 is none."""
    every = np.array([*SCALES, math.nan, 7.0, 0.1, 12.5], dtype=np.float32)
    body = f"""mul.wide.u32 %x, %t, 8; add.u64 %x, %x, %d; .reg .f32 %f, %g;
        ld.global.f32 %f, [%x]; ld.global.f32 %g, [%x+4];
        cvt.{mode}{finite}.ue8m0x2.f32 %h0, %g, %f; cvt.u32.u16 %r0, %h0; st.global.u32 [%o], %r0;
        cvt.rn.bf16x2.ue8m0x2 %r1, %h0; st.global.u32 [%o+32], %r1;
        mov.b32 %i, %f; mov.b32 %j, %g; prmt.b32 %i, %i, %j, 0x7632;
        cvt.{mode}{finite}.ue8m0x2.bf16x2 %h1, %i; cvt.u32.u16 %r2, %h1; st.global.u32 [%o+64], %r2;"""
    found = run(device, body, every.tobytes(), threads=len(every) // 2).tolist()

    def scale(value: float) -> int:
        if math.isnan(value):
            return 255
        exact = Fraction(value) if not math.isinf(value) else Fraction(2) ** 200
        fitting = [e for e in range(255) if (Fraction(2) ** (e - 127) >= exact if mode == "rp" else
                                             Fraction(2) ** (e - 127) <= exact)]  # fmt: skip
        if mode == "rp":
            return min(fitting, default=254 if finite else 255)
        return 255 if math.isinf(value) and not finite else max(fitting, default=0)

    def halves_of(words: list[int], bits: int) -> list[int]:
        return [word >> shift & (1 << bits) - 1 for word in words for shift in (0, bits)]

    count = len(every) // 2
    bytes_of = halves_of(found[:count], 8)
    assert bytes_of == [scale(float(value)) for value in every]
    for byte, bits in zip(bytes_of, halves_of(found[8 : 8 + count], 16), strict=True):
        value = float(np.array([bits << 16], dtype=np.uint32).view(np.float32)[0])
        assert bits == 0x7FFF if byte == 255 else value == 2.0 ** (byte - 127)
    cut = (every.view(np.uint32) & 0xFFFF0000).view(np.float32)
    assert halves_of(found[16 : 16 + count], 8) == [scale(float(value)) for value in cut]


@pytest.mark.parametrize("kind", ["e4m3x2", "e5m2x2"])
def test_halves_to_bytes_and_back(device: Device, kind: str) -> None:
    """Each byte becomes 16 bits and itself again."""
    body = f"""mad.lo.u32 %i, %t, 514, 256; cvt.u16.u32 %h0, %i; cvt.rn.f16x2.{kind} %r0, %h0;
        cvt.rn.relu.f16x2.{kind} %r2, %h0;
        cvt.rn.satfinite.{kind}.f16x2 %h1, %r0; cvt.u32.u16 %r1, %h1;
        st.global.u32 [%o], %r0; st.global.u32 [%o+512], %r1; st.global.u32 [%o+1024], %r2;"""
    found = run(device, body, threads=128).tolist()
    for at in range(128):
        for byte, shift in ((2 * at, 0), (2 * at + 1, 16)):
            value = number(kind, byte)
            got = struct.unpack("<e", struct.pack("<H", found[at] >> shift & 0xFFFF))[0]
            floor = struct.unpack("<e", struct.pack("<H", found[256 + at] >> shift & 0xFFFF))[0]
            again = found[128 + at] >> shift // 2 & 255
            if math.isnan(value):
                assert found[at] >> shift & 0xFFFF == 0x7FFF and again == 0x7F
                continue
            assert (got, math.copysign(1, got)) == (value, math.copysign(1, value))
            assert floor == max(value, 0)
            assert again == nearest(kind, value)


@pytest.mark.parametrize("mods", ["", ".rn", ".rz", ".rm", ".rp", ".rn.ftz"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_pairs_of_singles(device: Device, name: str, mods: str) -> None:
    """As the instruction for one single does it: equal to the bit."""
    random = np.random.default_rng(11)
    data = random.standard_normal(192).astype(np.float32)
    data[::7] *= np.float32(1e-38)
    count = 3 if name == "fma" else 2
    mods = ".rn" if name == "fma" and not mods else mods
    pairs = ", ".join(f"%a{i}" for i in range(count))
    body = "mul.wide.u32 %x, %t, 24; add.u64 %x, %x, %d; .reg .f32 %f<8>;\n"
    for i in range(count):
        body += f"ld.global.b64 %a{i}, [%x+{8 * i}]; ld.global.f32 %f{2 * i}, [%x+{8 * i}];"
        body += f" ld.global.f32 %f{2 * i + 1}, [%x+{8 * i + 4}];\n"
    body += f"{name}{mods}.f32x2 %a4, {pairs}; mov.b64 {{%r0, %r1}}, %a4;\n"
    for half in (0, 1):
        singles = ", ".join(f"%f{2 * i + half}" for i in range(count))
        body += f"{name}{mods}.f32 %f7, {singles}; mov.b32 %r{2 + half}, %f7;\n"
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4))
    found = run(device, body, data.tobytes()).tolist()
    assert found[:32] == found[64:96] and found[32:64] == found[96:128]
    assert len(set(found[:64])) > 40


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("cvt.rn.e4m3x2.f32 %h0, %r0, %r1;", "unknown opcode 'cvt.rn.e4m3x2.f32'"),
        ("cvt.rn.satfinite.e2m1x2.f16x2 %h0, %r0;", "unknown opcode 'cvt.rn.satfinite.e2m1x2.f16x2'"),
        ("cvt.rs.satfinite.e2m1x4.f32 %h0, %r0, %r1;", "'cvt.rs.satfinite.e2m1x4.f32' needs a vector of 4 elements"),
        ("cvt.rs.e4m3x4.f32 %r0, {%r1, %r1, %r1, %r1}, %r1;", "unknown opcode 'cvt.rs.e4m3x4.f32'"),
        ("cvt.rn.satfinite.e4m3x4.f32 %r0, %r1, %r1;", "unknown opcode 'cvt.rn.satfinite.e4m3x4.f32'"),
        ("cvt.rs.f16x2.f32 %r0, %r1, %r2;", "'cvt.rs.f16x2.f32' needs 4 operands, 3 given"),
        ("cvt.rs.f16.f32 %h0, %r1, %r2, %r3;", "unknown opcode 'cvt.rs.f16.f32'"),
        ("cvt.rn.ue8m0x2.f32 %h0, %r0, %r1;", "unknown opcode 'cvt.rn.ue8m0x2.f32'"),
        ("div.rn.f32x2 %a0, %a1, %a2;", "unknown opcode 'div.rn.f32x2'"),
        ("cvt.pack.sat.s16.s32.b32 %i, %j, %i, %j;", "unknown opcode 'cvt.pack.sat.s16.s32.b32'"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
