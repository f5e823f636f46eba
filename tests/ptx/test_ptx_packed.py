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


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("cvt.rn.e4m3x2.f32 %h0, %r0, %r1;", "unknown opcode 'cvt.rn.e4m3x2.f32'"),
        ("cvt.rn.satfinite.e2m1x2.f16x2 %h0, %r0;", "unknown opcode 'cvt.rn.satfinite.e2m1x2.f16x2'"),
        ("cvt.rs.satfinite.e2m1x4.f32 %h0, %r0, %r1;", "'cvt.rs.satfinite.e2m1x4.f32' is not implemented"),
        ("cvt.rn.ue8m0x2.f32 %h0, %r0, %r1;", "unknown opcode 'cvt.rn.ue8m0x2.f32'"),
        ("div.rn.f32x2 %a0, %a1, %a2;", "unknown opcode 'div.rn.f32x2'"),
        ("cvt.pack.sat.s16.s32.b32 %i, %j, %i, %j;", "unknown opcode 'cvt.pack.sat.s16.s32.b32'"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
