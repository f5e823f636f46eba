"""Forms that newer compilers write (gompy/ptx/rare.py): against models in Python; alias, alloca, groups of lanes."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import numpy as np
import pytest
from ptx_tools import HEAD, device, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

WORD = 0xFFFFFFFF
N = 256


# --- arithmetic ------------------------------------------------------------------------------------------------------


def signed(value: int, bits: int = 32) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def parts(value: int, bits: int, sign: bool) -> list[int]:
    found = [value >> at & (1 << bits) - 1 for at in range(0, 32, bits)]
    return [signed(v, bits) for v in found] if sign else found


def table_of(number: int) -> Callable[..., int]:
    def model(a: int, b: int, c: int) -> int:
        bits = (number >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1 for i in range(32))
        return sum(bit << i for i, bit in enumerate(bits))

    return model


def dot(first: bool, second: bool, part: str = "") -> Callable[..., int]:
    def model(a: int, b: int, c: int) -> int:
        x, y = parts(a, 16 if part else 8, first), parts(b, 8, second)
        y = {"": y, "lo": y[:2], "hi": y[2:]}[part]
        return c + sum(p * q for p, q in zip(x, y, strict=True))

    return model


def by_halves(function: Callable[[int, int], int], sign: bool) -> Callable[..., int]:
    def model(a: int, b: int) -> int:
        low, high = (function(x, y) & 0xFFFF for x, y in zip(parts(a, 16, sign), parts(b, 16, sign), strict=True))
        return high << 16 | low

    return model


def extend(sign: bool, wrap: bool) -> Callable[..., int]:
    def model(a: int, n: int) -> int:
        n = n & 31 if wrap else min(n, 32)
        low = a & (1 << n) - 1
        return signed(low, n) if sign and n else low

    return model


def mask(wrap: bool) -> Callable[..., int]:
    def model(a: int, n: int) -> int:
        a, n = (a & 31, n & 31) if wrap else (min(a, 32), min(n, 32))
        return ((1 << n) - 1) << a

    return model


def bytes_by(place: Callable[[int, int], int]) -> Callable[..., int]:
    def model(a: int, b: int, c: int) -> int:
        both = (b << 32 | a).to_bytes(8, "little")
        return int.from_bytes(bytes(both[place(i, c & 3)] for i in range(4)), "little")

    return model


def product(bits: int, sign: bool, saturate: bool, adds: bool = True) -> Callable[..., int]:
    def model(a: int, b: int, c: int = 0) -> int:
        x, y = (signed(v, bits) if sign else v & (1 << bits) - 1 for v in (a, b))
        high = signed(x * y >> (16 if bits == 24 else 32)) if sign else x * y >> (16 if bits == 24 else 32) & WORD
        total = high + (signed(c) if sign else c)
        return max(-(1 << 31), min((1 << 31) - 1, total)) if saturate else total

    return model


def nth_bit(mask: int, base: int, n: int) -> int:
    """fns, as the PTX ISA's loop has it."""
    n = signed(n)
    if n == 0:
        return base if base < 32 and mask >> base & 1 else WORD
    count, step = abs(n) - 1, 1 if n > 0 else -1
    while 0 <= base < 32:
        if mask >> base & 1:
            if count == 0:
                return base
            count -= 1
        base += step
    return WORD


def packed(sign: bool, bits: int) -> Callable[..., int]:
    """cvt.pack: each of both narrowed, what is given above them."""
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign else (0, 2**bits - 1)

    def model(a: int, b: int, c: int = 0) -> int:
        low, high = (min(max(signed(x), least), most) % 2**bits for x in (b, a))
        return c * 4**bits + high * 2**bits + low

    return model


VIDEO: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "avrg": lambda x, y: x + y + (x + y >= 0) >> 1,
    "absdiff": lambda x, y: abs(x - y),
    "min": min,
    "max": max,
}
COMPARES: dict[str, Callable[[int, int], int]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def video(of: Callable[[int, int], int], bits: int, kinds: str, second: str = "") -> Callable[..., int]:
    """A SIMD video instruction: the kinds of d, a and b; second: "sat" or "add"."""
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kinds[0] == "s" else (0, 2**bits - 1)

    def model(a: int, b: int, c: int) -> int:
        found = 0
        for place in range(0, 32, bits):
            low = (1 << bits) - 1
            x, y = (
                signed(v >> place & low, bits) if k == "s" else v >> place & low
                for v, k in ((a, kinds[1]), (b, kinds[2]))
            )
            value = of(x, y)
            if second == "add":
                c += value
            found |= (max(least, min(most, value)) if second == "sat" else value) % 2**bits << place
        return c if second == "add" else found

    return model


FORMS: list[tuple[str, int, Callable[..., int]]] = [
    *(
        (f"v{name}{32 // bits}.{k}32.{k}32.{k}32{'.' + more if more else ''} $", 3, video(of, bits, k * 3, more))
        for name, of in VIDEO.items()
        for bits in (16, 8)
        for k in "us"
        for more in ("", "sat", "add")
    ),
    ("vadd4.s32.u32.s32.sat $", 3, video(VIDEO["add"], 8, "sus", "sat")),
    ("vsub2.u32.s32.u32 $", 3, video(VIDEO["sub"], 16, "usu")),
    *(
        (f"vset{32 // bits}.{k}32.{k}32.{name}{'.' + more if more else ''} $", 3, video(of, bits, "u" + k * 2, more))
        for name, of in COMPARES.items()
        for bits in (16, 8)
        for k in "us"
        for more in ("", "add")
    ),
    *((f"lop3.b32 $, 0x{n:02x}", 3, table_of(n)) for n in (0x00, 0xFF, 0x80, 0xFE, 0x96, 0xE8, 0xCA, 0x3C, 0x17)),
    *((f"dp4a.{x}32.{y}32 $", 3, dot(x == "s", y == "s")) for x in "us" for y in "us"),
    *((f"dp2a.{p}.{x}32.{y}32 $", 3, dot(x == "s", y == "s", p)) for p in ("lo", "hi") for x in "us" for y in "us"),
    ("add.u16x2 $", 2, by_halves(lambda a, b: a + b, False)),
    ("add.s16x2 $", 2, by_halves(lambda a, b: a + b, True)),
    ("min.u16x2 $", 2, by_halves(min, False)),
    ("max.s16x2 $", 2, by_halves(max, True)),
    ("min.relu.s16x2 $", 2, by_halves(lambda a, b: max(min(a, b), 0), True)),
    ("max.relu.s32 $", 2, lambda a, b: max(signed(a), signed(b), 0)),
    *((f"szext.{m}.{k}32 $", 2, extend(k == "s", m == "wrap")) for m in ("wrap", "clamp") for k in "us"),
    *((f"bmsk.{m}.b32 $", 2, mask(m == "wrap")) for m in ("wrap", "clamp")),
    ("fns.b32 $", 3, nth_bit),
    *((f"cvt.pack.sat.{k}16.s32 $", 2, packed(k == "s", 16)) for k in "us"),
    *((f"cvt.pack.sat.{k}{n}.s32.b32 $", 3, packed(k == "s", n)) for k in "us" for n in (2, 4, 8)),
    ("prmt.b32.f4e $", 3, bytes_by(lambda i, c: c + i)),
    ("prmt.b32.b4e $", 3, bytes_by(lambda i, c: (c - i) % 8)),
    ("prmt.b32.rc8 $", 3, bytes_by(lambda i, c: c)),
    ("prmt.b32.ecl $", 3, bytes_by(lambda i, c: max(i, c))),
    ("prmt.b32.ecr $", 3, bytes_by(lambda i, c: min(i, c))),
    ("prmt.b32.rc16 $", 3, bytes_by(lambda i, c: (c & 1) * 2 + i % 2)),
    ("mul24.hi.u32 $", 2, product(24, False, False)),
    ("mul24.hi.s32 $", 2, product(24, True, False)),
    ("mad24.hi.u32 $", 3, product(24, False, False)),
    ("mad24.hi.sat.s32 $", 3, product(24, True, True)),
    ("mad.hi.sat.s32 $", 3, product(32, True, True)),
]


def operands_of(place: int, small: bool) -> np.ndarray:
    random = np.random.default_rng(41 + place)
    edges = np.array([0, 1, 0x7FFFFFFF, 0x80000000, WORD, 0x00FF7F80, 0x80007FFF, 31, 32, 33, 64, 255], dtype=np.uint32)
    rest = random.integers(0, 40 if small else 1 << 32, N - 12, dtype=np.uint32)
    return np.concatenate([np.roll(edges, place * 5), rest])


@pytest.mark.slow(sample=90)
@pytest.mark.parametrize(("form", "count", "model"), FORMS, ids=[f[0].replace(" $", "") for f in FORMS])
def test_form(form: str, count: int, model: Callable[..., int]) -> None:
    """Operands that differ, that are the same in a block, and under a predicate."""
    small = form.startswith(("szext", "bmsk"))
    operands = [operands_of(i, small and (i == 1 or form[0] == "b")) for i in range(count)]
    if form.startswith("fns"):  # places and distances that matter, both ways, beside any others
        random = np.random.default_rng(7)
        operands[1] = np.where(np.arange(N) % 8 == 0, operands[1], random.integers(0, 34, N)).astype(np.uint32)
        operands[2] = np.where(np.arange(N) % 9 == 0, operands[2], random.integers(-20, 21, N) & WORD).astype(np.uint32)
    names = [f"%v{i}" for i in range(count)]
    text = f"""{HEAD}.visible .entry k (.param .u64 %po, .param .u64 %pd) {{
.reg .u64 %o, %d, %p; .reg .u32 %t, %c, %i, %w, %r, %u, %g, %v<4>, %s<4>; .reg .pred %every;
ld.param.u64 %o, [%po]; ld.param.u64 %d, [%pd]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, 32, %t;
rem.u32 %w, %t, 3; setp.eq.u32 %every, %w, 0; mov.u32 %g, 7;
"""
    for i in range(count):
        for name, index in (("v", "%i"), ("s", "%c")):
            text += f"mad.wide.u32 %p, {index}, 4, %d; ld.global.u32 %{name}{i}, [%p+{4 * N * i}];\n"
    varying = ", ".join(names)
    text += (
        form.replace("$", f"%r, {varying}") + ";\n" + form.replace("$", f"%u, {varying.replace('%v', '%s')}") + ";\n"
    )
    text += "@%every " + form.replace("$", f"%g, {varying}") + ";\nmad.wide.u32 %p, %i, 4, %o;\n"
    text += "".join(f"st.global.u32 [%p+{4 * N * i}], {name};" for i, name in enumerate(("%r", "%u", "%g"))) + " ret; }"
    with Device(1 << 22) as device:
        out, data = device.upload(bytes(12 * N)), device.upload(b"".join(o.tobytes() for o in operands))
        device.load(text).function("k").launch((N // 32, 1, 1), (32, 1, 1), [out, data])
        got = np.frombuffer(device.download(out, 12 * N), dtype=np.uint32).reshape(3, N).tolist()
    want = [model(*row) & WORD for row in zip(*(o.tolist() for o in operands), strict=True)]
    assert got[0] == want
    assert got[1] == [want[i // 32] for i in range(N)]
    assert got[2] == [want[i] if i % 32 % 3 == 0 else 7 for i in range(N)]


def test_lop3_with_a_predicate(device: Device) -> None:
    body = """setp.lt.u32 %p, %t, 8; and.b32 %i, %t, 1; lop3.or.b32 %r0|%q, %i, %i, %i, 0x80, %p;
        selp.u32 %r1, 1, 0, %q;
        lop3.and.b32 _|%q, %i, 5, 1, 0x80, %p; selp.u32 %r2, 1, 0, %q;
        st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1; st.global.u32 [%o+256], %r2;"""
    found = run(device, body)
    assert list(found[:32]) == [0, 1] * 16
    assert list(found[32:64]) == [1] * 8 + [0, 1] * 12
    assert list(found[64:96]) == [0, 1] * 4 + [0] * 24


def test_tanh(device: Device) -> None:
    data = np.linspace(-4, 4, 32, dtype=np.float32)
    body = """.reg .f32 %f; mad.wide.u32 %x, %t, 4, %d; ld.global.f32 %f, [%x]; tanh.approx.f32 %f, %f;
        st.global.f32 [%o], %f;"""
    found = run(device, body, data.tobytes()).view(np.float32)[:32]
    assert np.allclose(found, np.tanh(data), rtol=1e-6, atol=1e-7)


def test_extremes_with_signs(device: Device) -> None:
    """min.xorsign.abs.f32."""
    a = np.array([-3, 3, -1, 1, 0.5, -0.5, np.nan, 2] * 4, dtype=np.float32)
    body = """.reg .f32 %f, %g; mad.wide.u32 %x, %t, 4, %d; ld.global.f32 %f, [%x];
        min.xorsign.abs.f32 %g, %f, 0fC0000000;
        st.global.f32 [%o], %g;"""
    found = run(device, body, a.tobytes()).view(np.float32)[:8]
    assert list(found) == [2, -2, 1, -1, -0.5, 0.5, -2, -2]


# --- lanes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("guarded", [False, True])
def test_match(device: Device, bits: int, guarded: bool) -> None:
    value = [(lane * 7) % 5 for lane in range(32)]
    active = [lane for lane in range(32) if not guarded or lane % 3]
    members = sum(1 << lane for lane in active)
    register, put = ("%a0", "cvt.u64.u32 %a0, %i; shl.b64 %a0, %a0, 32;") if bits == 64 else ("%i", "")
    guard = "@%p " if guarded else ""
    body = f"""mul.lo.u32 %i, %t, 7; rem.u32 %i, %i, 5; {put} rem.u32 %j, %t, 3; setp.ne.u32 %p, %j, 0;
        mov.u32 %r0, 0; mov.u32 %r1, 0; mov.u32 %r2, 0; setp.ne.u32 %q, 0, 0; mov.u32 %r5, 9; setp.ne.u32 %s, 0, 0;
        {guard}match.any.sync.b{bits} %r0, {register}, {members};
        {guard}match.all.sync.b{bits} %r1|%q, {register}, {members}; selp.u32 %r3, 1, 0, %q;
        {"mov.u64 %a1, 77;" if bits == 64 else ""}
        {guard}match.all.sync.b{bits} %r5|%s, {"%a1" if bits == 64 else 5}, {members}; selp.u32 %r4, 1, 0, %s;"""
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{r};" for i, r in enumerate((0, 1, 3, 5, 4)))
    found = run(device, body)
    for lane in range(32):
        on = lane in active
        alike = sum(1 << other for other in active if value[other] == value[lane])
        assert found[lane] == (alike if on else 0)
        assert found[32 + lane] == 0
        assert found[64 + lane] == 0
        assert found[96 + lane] == (members if on else 9)
        assert found[128 + lane] == int(on)


REDUCTIONS: dict[str, Callable[[list[int]], int]] = {
    "add.u32": sum,
    "add.s32": sum,
    "min.u32": lambda v: min(x & WORD for x in v),
    "max.s32": lambda v: max(signed(x) for x in v),
    "min.s32": lambda v: min(signed(x) for x in v),
    "max.u32": lambda v: max(x & WORD for x in v),
    "and.b32": lambda v: v[0] if len(v) == 1 else v[0] & REDUCTIONS["and.b32"](v[1:]),
    "or.b32": lambda v: v[0] if len(v) == 1 else v[0] | REDUCTIONS["or.b32"](v[1:]),
    "xor.b32": lambda v: v[0] if len(v) == 1 else v[0] ^ REDUCTIONS["xor.b32"](v[1:]),
}


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_reductions(device: Device, operation: str) -> None:
    """Of all lanes, of groups of eight with masks of their own, and of the lanes in a branch."""
    data = np.random.default_rng(5).integers(0, 1 << 32, 32, dtype=np.uint32)
    body = f"""mad.wide.u32 %x, %t, 4, %d; ld.global.u32 %i, [%x]; and.b32 %j, %t, 24; shl.b32 %r9, 255, %j;
        redux.sync.{operation} %r0, %i, -1; redux.sync.{operation} %r1, %i, %r9; mov.u32 %r2, 3;
        setp.lt.u32 %p, %t, 5; @%p bra out; redux.sync.{operation} %r2, %i, 0xffffffe0;
        out: st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1; st.global.u32 [%o+256], %r2;"""
    found = run(device, body.replace("shl.b32 %r9, 255", "mov.u32 %r8, 255; shl.b32 %r9, %r8"), data.tobytes())
    model = REDUCTIONS[operation]
    values = data.tolist()
    for lane in range(32):
        assert found[lane] == model(values) & WORD
        assert found[32 + lane] == model(values[lane & 24 : (lane & 24) + 8]) & WORD
        assert found[64 + lane] == (3 if lane < 5 else model(values[5:]) & WORD)


FLOAT_EXTREMES = ("min", "max", "min.NaN", "max.NaN", "min.abs", "max.abs", "min.abs.NaN", "max.abs.NaN")


def extreme(operation: str, values: list[float]) -> float:
    """The least or largest of numbers; with .NaN nothing, if one is none."""
    name, *mods = operation.split(".")
    if "abs" in mods:
        values = [abs(value) for value in values]
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers or ("NaN" in mods and len(numbers) < len(values)):
        return math.nan
    return min(numbers) if name == "min" else max(numbers)


def same_float(bits: int, value: float) -> bool:
    """Whether the bits of a single mean a number; of NaNs there is one."""
    return bits == 0x7FFFFFFF if math.isnan(value) else bits == int(np.float32(value).view(np.uint32))


@pytest.mark.parametrize("operation", FLOAT_EXTREMES)
def test_reductions_of_floats(device: Device, operation: str) -> None:
    """redux of singles: of all lanes, of groups of eight, in a branch; group 1 has one NaN, group 2 only such."""
    data = np.random.default_rng(7).standard_normal(32).astype(np.float32)
    data[9], data[16:24] = math.nan, math.nan
    body = f"""mad.wide.u32 %x, %t, 4, %d; ld.global.u32 %i, [%x]; and.b32 %j, %t, 24; mov.u32 %r8, 255;
        shl.b32 %r9, %r8, %j; redux.sync.{operation}.f32 %r0, %i, -1; redux.sync.{operation}.f32 %r1, %i, %r9;
        mov.u32 %r2, 3; setp.ge.u32 %p, %t, 8; @%p bra out; redux.sync.{operation}.f32 %r2, %i, 0xff;
        out: st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1; st.global.u32 [%o+256], %r2;"""
    found = run(device, body, data.tobytes()).tolist()
    values = data.tolist()
    for lane in range(32):
        assert same_float(found[lane], extreme(operation, values))
        assert same_float(found[32 + lane], extreme(operation, values[lane & 24 : (lane & 24) + 8]))
        assert found[64 + lane] == 3 if lane >= 8 else same_float(found[64 + lane], extreme(operation, values[:8]))


@pytest.mark.parametrize("operation", FLOAT_EXTREMES)
def test_extremes_of_three(device: Device, operation: str) -> None:
    """min, max with three operands, as Triton writes them for sm_100."""
    name, *mods = operation.split(".")
    opcode = ".".join([name, *sorted(mods)])  # .NaN stands before .abs
    data = np.random.default_rng(8).standard_normal(96).astype(np.float32)
    data[::7] = math.nan
    data[[30, 31, 32]] = math.nan
    body = f"""mad.wide.u32 %x, %t, 12, %d; .reg .f32 %f<4>; ld.global.f32 %f0, [%x]; ld.global.f32 %f1, [%x+4];
        ld.global.f32 %f2, [%x+8]; {opcode}.f32 %f3, %f0, %f1, %f2; st.global.f32 [%o], %f3;"""
    found = run(device, body, data.tobytes()).view(np.float32)[:32].tolist()
    want = [extreme(operation, data[3 * lane : 3 * lane + 3].tolist()) for lane in range(32)]
    assert [str(value) for value in found] == [str(value) for value in want]
    assert math.isnan(want[10])


def test_votes_of_groups(device: Device) -> None:
    """vote.sync with different masks in one warp, as cooperative groups' tiles have them."""
    data = np.array([1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0] * 2, dtype=np.uint32)
    body = """mad.wide.u32 %x, %t, 4, %d; ld.global.u32 %i, [%x]; setp.ne.u32 %p, %i, 0; and.b32 %j, %t, 28;
        mov.u32 %r8, 15;
        shl.b32 %r9, %r8, %j; vote.sync.ballot.b32 %r0, %p, %r9; vote.sync.all.pred %q, %p, %r9; selp.u32 %r1, 1, 0, %q;
        vote.sync.any.pred %q, %p, %r9; selp.u32 %r2, 1, 0, %q; vote.sync.uni.pred %q, %p, %r9;
        selp.u32 %r3, 1, 0, %q;"""
    found = run(
        device, body + "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4)), data.tobytes()
    ).tolist()
    for lane in range(32):
        group = range(lane & 28, (lane & 28) + 4)
        yes = [int(data[i]) for i in group]
        assert found[lane] == sum(int(data[i]) << i for i in group)
        assert found[32 + lane : 128 : 32] == [int(all(yes)), int(any(yes)), int(len(set(yes)) == 1)]


def test_elect(device: Device) -> None:
    body = """setp.ge.u32 %p, %t, 6; mov.u32 %r0, 99; mov.u32 %r1, 0; @!%p bra out; elect.sync %r0|%q, 0xffffffc0;
        selp.u32 %r1, 1, 0, %q; out: st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1;"""
    found = run(device, body)
    assert list(found[:32]) == [99] * 6 + [6] * 26
    assert list(found[32:64]) == [0] * 6 + [1] + [0] * 25


# --- memory ----------------------------------------------------------------------------------------------------------


def test_spaces(device: Device) -> None:
    """isspacep of addresses of each space."""
    before = ".global .u32 g; .shared .u32 s;\n"
    body = ".local .u32 l; cvta.global.u64 %a0, g; cvta.shared.u64 %a1, s; cvta.local.u64 %a2, l; mov.u64 %a3, 16;\n"
    at = 0
    for register in range(4):
        for space in ("global", "shared", "local", "const"):
            body += f"isspacep.{space} %p, %a{register}; selp.u32 %r0, 1, 0, %p; st.global.u32 [%o+{128 * at}], %r0;\n"
            at += 1
    found = run(device, body, before=before)
    assert [int(found[32 * i]) for i in range(16)] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]


def test_alloca(device: Device) -> None:
    """An array of as many words as the lane's number says, in a loop that gives it back, and in a function."""
    before = """.func (.param .u32 r) sum (.param .u32 n) {
.reg .u32 %n, %i, %s, %v, %b; .reg .u64 %p, %q, %size; .reg .pred %c;
ld.param.u32 %n, [n]; mul.wide.u32 %size, %n, 4; alloca.u64 %p, %size, 16; cvta.local.u64 %p, %p; mov.u32 %i, 0;
fill: setp.ge.u32 %c, %i, %n; @%c bra filled; mad.wide.u32 %q, %i, 4, %p; mul.lo.u32 %v, %i, 3; st.u32 [%q], %v;
add.u32 %i, %i, 1; bra fill;
filled: mov.u32 %s, 0; mov.u32 %i, 0;
next: setp.ge.u32 %c, %i, %n; @%c bra out; mad.wide.u32 %q, %i, 4, %p; ld.u32 %v, [%q]; add.u32 %s, %s, %v;
add.u32 %i, %i, 1; bra next; out: st.param.u32 [r], %s; ret; }
"""
    body = """.reg .u64 %mark, %end; .reg .u32 %k, %first; mov.u32 %k, 0; mov.u32 %j, 0;
        stacksave.u64 %mark;
        again: stacksave.u64 %a0; alloca.u64 %a1, 65536; st.local.u32 [%a1], %k; add.u64 %a2, %a1, 65532;
        st.local.u32 [%a2], %t; ld.local.u32 %r0, [%a1]; ld.local.u32 %r1, [%a2]; add.u32 %j, %j, %r0;
        add.u32 %j, %j, %r1;
        stackrestore.u64 %a0; add.u32 %k, %k, 1; setp.lt.u32 %p, %k, 50; @%p bra again;
        stacksave.u64 %end; setp.eq.u64 %q, %mark, %end; selp.u32 %r2, 1, 0, %q;
        { .param .u32 n; .param .u32 r; st.param.u32 [n], %t; call (r), sum, (n); ld.param.u32 %r3, [r]; }
        stacksave.u64 %end; setp.eq.u64 %q, %mark, %end; selp.u32 %r4, 1, 0, %q;
        st.global.u32 [%o], %j; st.global.u32 [%o+128], %r2; st.global.u32 [%o+256], %r3;
        st.global.u32 [%o+384], %r4;"""
    found = run(device, body, before=before)
    for lane in range(32):
        assert found[lane] == sum(range(50)) + 50 * lane
        assert found[64 + lane] == 3 * lane * (lane - 1) // 2
        assert found[32 + lane] == found[96 + lane] == 1


def test_alloca_of_too_much() -> None:
    with Device(1 << 20) as device, pytest.raises(ExecutorError) as failure:
        run(device, "alloca.u64 %a0, 1000000; st.local.u32 [%a0], %t;")
    assert failure.value.code == 719
    assert "local memory exhausted" in failure.value.log


def test_alloca_in_a_branch(device: Device) -> None:
    """Lanes that take memory one after the other do not get the same."""
    body = """and.b32 %i, %t, 1; setp.eq.u32 %p, %i, 0; stacksave.u64 %a3; @%p bra even;
        alloca.u64 %a0, 64; st.local.u32 [%a0], %t; bra join; even: alloca.u64 %a0, 32; mul.lo.u32 %j, %t, 5;
        st.local.u32 [%a0], %j; join: ld.local.u32 %r0, [%a0]; stackrestore.u64 %a3; st.global.u32 [%o], %r0;"""
    assert list(run(device, body)[:32]) == [lane if lane & 1 else 5 * lane for lane in range(32)]


def test_asynchronous_copies(device: Device) -> None:
    data = struct.pack("<128I", *range(100, 228))
    before = ".shared .align 16 .b8 s[2048];\n"
    body = """mad.wide.u32 %x, %t, 16, %d; mov.u64 %a0, s; mad.wide.u32 %y, %t, 16, %a0;
        cp.async.cg.shared.global [%y], [%x], 16; cp.async.ca.shared.global.L2::128B [%y+512], [%x+4], 4;
        cp.async.ca.shared.global [%y+520], [%x], 8, 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;
        ld.shared.u32 %r0, [%y+8]; ld.shared.u32 %r1, [%y+512]; ld.shared.u32 %r2, [%y+520];
        ld.shared.u32 %r3, [%y+524];"""
    found = run(device, body + "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4)), data, before=before)
    for lane in range(32):
        first = 100 + 4 * lane
        assert [int(found[32 * i + lane]) for i in range(4)] == [first + 2, first + 1, first, 0]


def test_an_element_of_an_array(device: Device) -> None:
    """`name[2]` is the address of that element, as PTX ISA says of arrays."""
    before = ".global .u32 g[4] = {5, 6, 7, 8};\n.global .align 16 .v2 .u32 v[2] = {{1, 2}, {3, 4}};\n"
    body = """.shared .align 16 .b16 s[64]; mov.u64 %x, g[2]; mov.u64 %y, v[1]; ld.u32 %r0, [%x];
        ld.global.u32 %r1, [g[1]+8];
        ld.u32 %r2, [%y]; mov.u64 %a0, s[0]; mov.u64 %a1, s[3]; sub.u64 %a2, %a1, %a0; cvt.u32.u64 %r3, %a2;"""
    found = run(device, body + "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4)), before=before)
    assert [int(found[32 * i]) for i in range(4)] == [7, 8, 3, 6]


# --- directives and special registers --------------------------------------------------------------------------------


@pytest.mark.parametrize(("index", "made"), [
    ("%j", "mov.u32 %j, %t;"),
    ("%k - 2", ".reg .s32 %k; add.s32 %k, %t, 2;"),
    ("%k + 9", ".reg .s32 %k; sub.s32 %k, %t, 9;"),
    ("%y + 1", "cvt.u64.u32 %y, %t; sub.u64 %y, %y, 1;"),
])  # fmt: skip
def test_a_chosen_element_of_an_array(device: Device, index: str, made: str) -> None:
    """`array[%r + 1]` without an address's brackets, as Dr.Jit writes its calls."""
    before = ".extern .global .u64 table[32];\n.global .align 8 .u64 table[32] = {%s};\n.shared .u32 words[32];\n"
    body = f"""{made} ld.global.u64 %x, table[{index}]; cvt.u32.u64 %r0, %x;
        st.shared.u32 words[{index}], %r0; bar.sync 0;
        xor.b32 %i, %t, 5; mul.wide.u32 %z, %i, 4; mov.u64 %w, words; add.u64 %z, %z, %w; ld.shared.u32 %r1, [%z];
        st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1;"""
    numbers = [7 * lane + 3 for lane in range(32)]
    found = run(device, body, before=before % ", ".join(map(str, numbers))).tolist()
    assert found[:64] == numbers + [numbers[lane ^ 5] for lane in range(32)]


@pytest.mark.parametrize("early", [False, True])
def test_aliases(device: Device, early: bool) -> None:
    """A second name, as GCC writes it with -malias, also before the definition; the function calls itself by it."""
    before = """.visible .func (.param .u32 r) second (.param .u32 n);
.visible .func (.param .u32 r) first (.param .u32 n);
.visible .func (.param .u32 r) first (.param .u32 n)
{ .reg .u32 %n, %v; .reg .pred %p; ld.param.u32 %n, [n]; mov.u32 %v, %n; setp.eq.u32 %p, %n, 0; @%p bra out;
  sub.u32 %v, %n, 1; { .param .u32 a; .param .u32 b; st.param.u32 [a], %v; call (b), second, (a);
        ld.param.u32 %v, [b]; }
  add.u32 %v, %v, %n;
  out: st.param.u32 [r], %v; ret; }
.alias second, first;
.visible .global .attribute(.managed) .align 4 .u32 m = 41;
"""
    if early:
        alias, declared = ".alias second, first;\n", ".visible .func (.param .u32 r) first (.param .u32 n);\n"
        before = before.replace(alias, "").replace(declared, declared + alias)
    body = """{ .param .u32 a; .param .u32 b; st.param.u32 [a], %t; call (b), second, (a); ld.param.u32 %r0, [b]; }
        ld.global.u32 %r1, [m]; st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1;"""
    found = run(device, body, before=before)
    assert list(found[:32]) == [n * (n + 1) // 2 for n in range(32)]
    assert found[32] == 41


ADDRESSES = """.visible .func (.param .u32 r) second (.param .u32 n);
.visible .func (.param .u32 r) third (.param .u32 n);
.visible .func (.param .u32 r) first (.param .u32 n)
{ .reg .u32 %n; ld.param.u32 %n, [n]; mul.lo.u32 %n, %n, 3; st.param.u32 [r], %n; ret; }
.alias second, first;
.alias third, second;
.visible .global .u64 table[3] = {first, second, third};
"""
POINTERS = """.extern .func (.param .u32 r) first (.param .u32 n);
.extern .func (.param .u32 r) second (.param .u32 n);
.extern .func (.param .u32 r) third (.param .u32 n);
.extern .global .u64 table[3];
.visible .entry k (.param .u64 out) { .reg .u64 %o, %x, %y<6>; .reg .u32 %r<4>, %t; .reg .pred %p;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %x, %t, 4; add.u64 %o, %o, %x;
  mov.u64 %y0, first; mov.u64 %y1, second; mov.u64 %y2, third;
  ld.global.u64 %y3, [table]; ld.global.u64 %y4, [table+8]; ld.global.u64 %y5, [table+16]; mov.u32 %r0, 1;
  setp.eq.u64 %p, %y1, %y0; selp.u32 %r0, %r0, 0, %p; setp.eq.u64 %p, %y2, %y0; selp.u32 %r0, %r0, 0, %p;
  setp.eq.u64 %p, %y3, %y0; selp.u32 %r0, %r0, 0, %p; setp.eq.u64 %p, %y4, %y0; selp.u32 %r0, %r0, 0, %p;
  setp.eq.u64 %p, %y5, %y0; selp.u32 %r0, %r0, 0, %p;
  { .param .u32 a; .param .u32 b; st.param.u32 [a], %t; call (b), third, (a); ld.param.u32 %r1, [b]; }
  { .param .u32 a; .param .u32 b; st.param.u32 [a], %t; proto: .callprototype (.param .u32 _) _ (.param .u32 _);
    call (b), %y4, (a), proto; ld.param.u32 %r2, [b]; }
  st.global.u32 [%o], %r0; st.global.u32 [%o+128], %r1; st.global.u32 [%o+256], %r2; ret; }
"""


@pytest.mark.parametrize("apart", [False, True])
def test_an_alias_has_the_address_of_its_function(device: Device, apart: bool) -> None:
    """As a symbol of ELF has, which ptxas makes of it: in the object itself, in another one, in initial values."""
    if apart:
        texts = [HEAD + POINTERS, HEAD + ADDRESSES]
    else:
        texts = [HEAD + ADDRESSES + "".join(line + "\n" for line in POINTERS.split("\n") if ".extern" not in line)]
    module = device.load(*texts)
    out = device.upload(bytes(4 * 96))
    for _ in range(2):
        module.function("k").launch((1, 1, 1), (32, 1, 1), [out])
        found = struct.unpack("96I", device.download(out, 4 * 96))
        assert found == (1,) * 32 + tuple(3 * n for n in range(32)) * 2
    handles = {module.function(name).handle.value for name in ("first", "second", "third")}
    assert len(handles) == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (".alias second, first;", "'.alias second, first' needs a declared function and one that is defined before"),
        (".visible .func second; .alias second, k;", "'.alias second, k' needs a declared function"),
        (".func first; .func second; .alias second, first;", "'.alias second, first' needs a declared function"),
        (".func a { ret; } .func b; .alias b, a; .func b { ret; }", "'b' is defined twice (the first is on line 5)"),
        (".func a { ret; } .func b; .alias b, a; .alias b, a;", "'b' is defined twice (the first is on line 5)"),
    ],
)
def test_wrong_aliases(code: str, message: str) -> None:
    text = f"{HEAD}.visible .entry k () {{ ret; }}\n{code}\n"
    with Device(1 << 20) as device, pytest.raises(ExecutorError) as failure:
        device.load(text)
    assert message in failure.value.log


def test_special_registers(device: Device) -> None:
    body = """mov.u32 %r0, WARP_SZ; mov.u32 %r1, %cluster_nctaid.x; mov.u32 %r2, %cluster_ctarank;
        mov.u32 %r3, %nclusterid.y;
        mov.u32 %r4, %envreg7; mov.u32 %r5, %dynamic_smem_size; mov.u32 %r6, %globaltimer_hi; mov.u64 %x, %globaltimer;
        shr.u64 %x, %x, 32; cvt.u32.u64 %r7, %x; sub.u32 %r7, %r7, %r6; ld.global.L1::evict_last.u32 %r8, [%d];
        createpolicy.fractional.L2::evict_last.b64 %y, 1.0; ld.global.L2::cache_hint.u32 %r9, [%d], %y;
        add.u32 %r9, %r9, %t; st.global.L2::cache_hint.u32 [%o+1152], %r9, %y;"""
    found = run(
        device, body + "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(9)), struct.pack("<2I", 12, 0)
    )
    assert [int(found[32 * i]) for i in (0, 1, 2, 3, 4, 5, 8)] == [32, 1, 0, 1, 0, 0, 12]
    fourth = ("%tid.w", "%ntid.w", "%ctaid.w", "%cluster_ctaid.w", "%reserved_smem_offset_begin")
    body = "".join(f"mov.u32 %r0, {name}; st.global.u32 [%o+{128 * i}], %r0;" for i, name in enumerate(fourth))
    assert not run(device, "mov.u32 %r0, 7;" + body)[: 32 * len(fourth)].any()
    assert found[32 * 7] in (0, 1)
    assert list(found[288:320]) == list(range(12, 44))


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("lop3.b32 %i, %i, %i, %i, %j;", "operand 5 of 'lop3.b32' must be a constant"),
        ("lop3.nor.b32 %i|%p, %i, %i, %i, 3, %q;", "unknown opcode 'lop3.nor.b32'"),
        ("dp4a.u32.f32 %i, %i, %i, %i;", "unknown opcode 'dp4a.u32.f32'"),
        ("add.rn.f16 %h0, %h1;", "'add.rn.f16' needs 3 operands, 2 given"),
        ("sqrt.rn.f16 %h0, %h1;", "unknown opcode 'sqrt.rn.f16'"),
        ("setp.eq.f16x2 %p, %i, %j;", "'setp.eq.f16x2' needs two predicates"),
        ("match.some.sync.b32 %i, %j, -1;", "unknown opcode 'match.some.sync.b32'"),
        ("mma.sync.aligned %i, %j, %i, %j;", "unknown opcode 'mma.sync.aligned'"),
        ("mov.u32 %i, %cluster_size;", "unknown register '%cluster_size'"),
        (".shared .u32 s[2][2]; ld.shared.u32 %i, s[%j];", "'s[%j]' is not an element of an array with one dimension"),
        (".shared .u32 s[2]; ld.shared.u32 %i, s[%h0];", "'%h0' of .b16 is no index"),
        (".shared .u32 s[2][2]; mov.u64 %x, s[1];", "'s[1]' is not an element of an array with one dimension"),
        ("mov.u64 %x, k[1];", "'k[1]' is not an element of an array with one dimension"),
        ("cp.async.ca.shared.global [%x], [%y], 5;", "copies 4, 8 or 16 bytes"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as device, pytest.raises(ExecutorError) as failure:
        run(device, code)
    assert message in failure.value.log
