"""8-bit floats and pairs of singles (gompy/ptx/packed.py): against rational numbers."""

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

KINDS = {"e4m3x2": (4, 3, 0x7E), "e5m2x2": (5, 2, 0x7B)}


def number(kind: str, bits: int) -> float:
    """What an 8-bit float means."""
    exponents, fraction, _ = KINDS[kind]
    size, bias = bits & 0x7F, (1 << exponents - 1) - 1
    if kind == "e4m3x2" and size == 0x7F:
        return math.nan
    if kind == "e5m2x2" and size >= 0x7C:
        return math.inf * (-1 if bits & 0x80 else 1) if size == 0x7C else math.nan
    exponent, rest = size >> fraction, size & (1 << fraction) - 1
    value = math.ldexp(rest + (1 << fraction if exponent else 0), max(exponent, 1) - bias - fraction)
    return -value if bits & 0x80 else value


def nearest(kind: str, value: float) -> int:
    """The byte of a number: nearest, of two the even one; the largest for what is beyond."""
    if math.isnan(value):
        return 0x7F
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    most = KINDS[kind][2]
    if math.isinf(value) or abs(value) >= number(kind, most):
        return sign | most
    exact = Fraction(abs(value))
    return sign | min(range(most + 1), key=lambda b: (abs(Fraction(number(kind, b)) - exact), b & 1))


def values(kind: str) -> list[float]:
    """All numbers, the places half way between them and the singles beside these, and special ones."""
    found = [number(kind, b) for b in range(KINDS[kind][2] + 1)]
    middles = [(a + b) / 2 for a, b in pairwise(found)]
    beside = [float(np.nextafter(np.float32(m), np.float32(way))) for m in middles for way in (0, 1e9)]
    rest = [0.0, 1e-30, 65535.0, 65536.0, 1e30, 3e38, math.inf, 460.0, 464.0, 465.0, 480.0, 61440.0]
    every = found + middles + beside + rest
    return [*every, *(-v for v in every), math.nan]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relu", ["", ".relu"])
def test_singles_to_bytes(device: Device, kind: str, relu: str) -> None:
    every = values(kind)
    every += [1.0] * (-len(every) % 64)
    lanes = len(every) // 2
    body = f"""mul.wide.u32 %x, %t, 8; add.u64 %x, %x, %d; .reg .f32 %f, %g;
        ld.global.f32 %f, [%x]; ld.global.f32 %g, [%x+4];
        cvt.rn.satfinite{relu}.{kind}.f32 %h0, %g, %f; cvt.u32.u16 %r0, %h0; st.global.u32 [%o], %r0;"""
    found = run(device, body, struct.pack(f"<{len(every)}f", *every), size=4 * lanes, threads=lanes).tolist()
    floor = [0.0 if relu and value < 0 else value for value in every]
    want = [nearest(kind, float(np.float32(value))) for value in floor]
    assert [byte for word in found for byte in (word & 255, word >> 8)] == want


@pytest.mark.parametrize("kind", KINDS)
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
        ("cvt.rn.satfinite.e2m1x2.f32 %h0, %r0, %r1;", "'cvt.rn.satfinite.e2m1x2.f32' is not implemented"),
        ("div.rn.f32x2 %a0, %a1, %a2;", "unknown opcode 'div.rn.f32x2'"),
        ("cvt.pack.sat.s16.s32.b32 %i, %j, %i, %j;", "unknown opcode 'cvt.pack.sat.s16.s32.b32'"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
