"""16-bit floats in PTX: each form against exact arithmetic on fractions, rounded once.

Every kernel runs a form three ways: operands that differ between lanes, operands that are the same in all lanes of a
block (scalar code), and guarded by a predicate that holds in every third lane.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

N = 512
LAYOUT = {"f16": (10, 15), "bf16": (7, 127), "f32": (23, 127), "f64": (52, 1023)}  # bits of the fraction, bias
WIDTH = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f16x2": 4, "bf16x2": 4, "pred": 4, "b32": 4}
Number = Fraction | float  # a float only for infinities, NaN and -0.0


def total(kind: str) -> int:
    return 8 * WIDTH[kind]


def decode(bits: int, kind: str) -> Number:
    """The number that bits stand for."""
    fraction, bias = LAYOUT[kind]
    exponent = bits >> fraction & ((1 << total(kind) - 1 - fraction) - 1)
    rest = bits & (1 << fraction) - 1
    minus = bits >> total(kind) - 1
    if exponent == 2 * bias + 1:
        return math.nan if rest else -math.inf if minus else math.inf
    if exponent == 0 and rest == 0:
        return -0.0 if minus else Fraction(0)
    steps = rest + (1 << fraction if exponent else 0)
    size = Fraction(steps) * Fraction(2) ** (max(exponent, 1) - bias - fraction)
    return -size if minus else size


def encode(value: Number, kind: str, mode: str = "rn") -> int | None:
    """The bits of a number, rounded once; None: NaN."""
    fraction, bias = LAYOUT[kind]
    top = (2 * bias + 1) << fraction
    sign = 1 << total(kind) - 1
    if isinstance(value, float):
        if math.isnan(value):
            return None
        minus = math.copysign(1, value) < 0
        return (sign if minus else 0) | (top if math.isinf(value) else 0)
    minus, size = value < 0, abs(value)
    exponent = max(math.frexp(size)[1] - 1 if size > Fraction(2) ** -1000 else -1022, 1 - bias) if size else 1 - bias
    while size and size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while size and exponent > 1 - bias and size < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - fraction)
    whole, rest = divmod(size, step)
    if mode == "rn":
        whole += int(rest * 2 > step or (rest * 2 == step and whole % 2 == 1))
    elif rest and mode == ("rm" if minus else "rp"):
        whole += 1
    bits = int(whole)
    if exponent > 1 - bias or bits >= 1 << fraction:
        bits += (exponent + bias - 1) << fraction
    if bits >= top:
        away = mode == "rn" or mode == ("rm" if minus else "rp")
        bits = top if away else top - 1
    return bits | (sign if minus else 0)


OPERATIONS: dict[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fma": lambda a, b, c: a * b + c,
}


def exact(operation: str, *values: Number) -> Number:
    """An operation on numbers.  Doubles know infinities, NaN and the signs of zeros (16-bit products fit them)."""
    with np.errstate(all="ignore"):
        near = float(OPERATIONS[operation](*(np.float64(float(v)) for v in values)))
    if not all(math.isfinite(v) for v in values):
        return near
    result = OPERATIONS[operation](*(Fraction(v) for v in values))
    return -0.0 if result == 0 and math.copysign(1, near) < 0 else result


def arithmetic(operation: str, kind: str, *mods: str) -> Callable[..., int | None]:
    def model(*bits: int) -> int | None:
        if "ftz" in mods:
            bits = tuple(flushed(b) for b in bits)
        value = exact(operation, *(decode(b, kind) for b in bits))
        if "sat" in mods:
            nan = isinstance(value, float) and math.isnan(value)
            value = Fraction(0) if nan or value <= 0 else Fraction(1) if value >= 1 else value
        if "relu" in mods and not (isinstance(value, float) and math.isnan(value)) and value <= 0:
            value = Fraction(0)
        out = encode(value, kind)
        return flushed(out) if out is not None and "ftz" in mods else out

    return model


def flushed(bits: int) -> int:
    return bits & 0x8000 if bits & 0x7C00 == 0 else bits


def extreme(kind: str, greater: bool, *mods: str) -> Callable[[int, int], int | None]:
    def model(a: int, b: int) -> int | None:
        sign = (a ^ b) & 0x8000 if "xorsign" in mods else 0
        if "xorsign" in mods:
            a, b = a & 0x7FFF, b & 0x7FFF
        nans = [math.isnan(decode(v, kind)) for v in (a, b)]
        if all(nans) or (any(nans) and "NaN" in mods):
            return None
        if any(nans):
            return (b if nans[0] else a) | sign
        key = lambda v: (decode(v, kind), not v >> 15)  # noqa: E731
        return (max if greater else min)(a, b, key=key) | sign

    return model


def compared(name: str, kind: str) -> Callable[[int, int], int]:
    def model(a: int, b: int) -> int:
        x, y = decode(a, kind), decode(b, kind)
        if math.isnan(x) or math.isnan(y):
            return int(name.endswith("u") or name == "nan")
        if name == "nan":
            return 0
        table = {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}
        return int(table[name.rstrip("u")])

    return model


def converted(to: str, source: str, mode: str = "rn") -> Callable[[int], int | None]:
    return lambda a: encode(decode(a, source), to, mode)


def whole(bits: int, signed: bool, mode: str, width: int = 32) -> int:
    """f16 → integer."""
    x = decode(bits, "f16")
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if isinstance(x, float):
        value = 0 if math.isnan(x) or x == 0 else low if x < 0 else high
    else:
        value = {"rzi": math.trunc, "rni": round, "rmi": math.floor, "rpi": math.ceil}[mode](x)
    return max(low, min(high, value)) & (1 << width) - 1


def finite(bits: int | None, top: int, step: int = 1) -> int | None:
    """.satfinite: the largest number in place of an infinity, whose bits are `top`."""
    sign = 0x8000 if top < 0x10000 else 0x80000000
    return bits - step if bits in (top, top | sign) else bits


def pairs(model: Callable[..., int | None]) -> Callable[..., tuple[int | None, int | None]]:
    return lambda *words: (model(*(w & 0xFFFF for w in words)), model(*(w >> 16 for w in words)))


@dataclass
class Form:
    opcode: str
    result: str
    sources: tuple[str, ...]
    model: Callable[..., object]


def forms() -> Iterator[Form]:
    for kind in ("f16", "bf16"):
        for op in ("add", "sub", "mul", "fma"):
            sources = (kind,) * (3 if op == "fma" else 2)
            model = arithmetic(op, kind)
            yield Form(f"{op}.rn.{kind}", kind, sources, model)
            yield Form(f"{op}.rn.{kind}x2", f"{kind}x2", tuple(f"{k}x2" for k in sources), pairs(model))
        yield Form(f"fma.rn.relu.{kind}", kind, (kind,) * 3, arithmetic("fma", kind, "relu"))
        for op, greater in (("min", False), ("max", True)):
            yield Form(f"{op}.{kind}", kind, (kind, kind), extreme(kind, greater))
            yield Form(f"{op}.NaN.{kind}x2", f"{kind}x2", (f"{kind}x2",) * 2, pairs(extreme(kind, greater, "NaN")))
        yield Form(f"min.xorsign.abs.{kind}", kind, (kind, kind), extreme(kind, False, "xorsign"))
        yield Form(f"neg.{kind}", kind, (kind,), lambda a: a ^ 0x8000)
        yield Form(f"abs.{kind}x2", f"{kind}x2", (f"{kind}x2",), pairs(lambda a: a & 0x7FFF))
        for name in ("eq", "ne", "lt", "geu", "nan"):
            yield Form(f"setp.{name}.{kind}", "pred", (kind, kind), compared(name, kind))
        yield Form(f"cvt.f32.{kind}", "f32", (kind,), converted("f32", kind))
        for mode in ("rn", "rz"):
            yield Form(f"cvt.{mode}.{kind}.f32", kind, ("f32",), converted(kind, "f32", mode))
            both = lambda a, b, k=kind, m=mode: (converted(k, "f32", m)(b), converted(k, "f32", m)(a))  # noqa: E731
            yield Form(f"cvt.{mode}.{kind}x2.f32", f"{kind}x2", ("f32", "f32"), both)
        ones = 0x3C00 if kind == "f16" else 0x3F80
        yield Form(
            f"set.lt.{kind}.{kind}", kind, (kind, kind), lambda a, b, k=kind, o=ones: compared("lt", k)(a, b) * o
        )
        yield Form(
            f"set.lt.u32.{kind}", "b32", (kind, kind), lambda a, b, k=kind: -compared("lt", k)(a, b) & 0xFFFFFFFF
        )
    yield Form("add.ftz.sat.f16", "f16", ("f16", "f16"), arithmetic("add", "f16", "ftz", "sat"))
    yield Form("mul.ftz.f16", "f16", ("f16", "f16"), arithmetic("mul", "f16", "ftz"))
    yield Form("cvt.f64.f16", "f64", ("f16",), converted("f64", "f16"))
    yield Form("cvt.rn.f16.f64", "f16", ("f64",), converted("f16", "f64"))
    for mode in ("rm", "rp"):
        yield Form(f"cvt.{mode}.f16.f32", "f16", ("f32",), converted("f16", "f32", mode))
    for mode in ("rzi", "rni", "rmi", "rpi"):
        yield Form(f"cvt.{mode}.s32.f16", "b32", ("f16",), lambda a, m=mode: whole(a, True, m))
    yield Form("cvt.rzi.u32.f16", "b32", ("f16",), lambda a: whole(a, False, "rzi"))
    signed = lambda a: a - (a >> 31 << 32)  # noqa: E731
    for kind in ("f16", "bf16"):
        yield Form(f"cvt.rn.{kind}.s32", kind, ("b32",), lambda a, k=kind: encode(Fraction(signed(a)), k))
        yield Form(f"cvt.rn.{kind}.u32", kind, ("b32",), lambda a, k=kind: encode(Fraction(a), k))
    yield Form("cvt.rz.f16.u32", "f16", ("b32",), lambda a: encode(Fraction(a), "f16", "rz"))
    tf32 = lambda a: None if a & 0x7FFFFFFF > 0x7F800000 else a + 0x1000 & 0xFFFFE000  # noqa: E731
    yield Form("cvt.rna.tf32.f32", "b32", ("f32",), tf32)
    even = lambda a: None if a & 0x7FFFFFFF > 0x7F800000 else a + 0xFFF + (a >> 13 & 1) & 0xFFFFE000  # noqa: E731
    yield Form("cvt.rn.tf32.f32", "b32", ("f32",), even)
    yield Form("cvt.rna.satfinite.tf32.f32", "b32", ("f32",), lambda a: finite(tf32(a), 0x7F800000, 0x2000))
    yield Form("cvt.rn.satfinite.tf32.f32", "b32", ("f32",), lambda a: finite(even(a), 0x7F800000, 0x2000))
    for kind, top in (("f16", 0x7C00), ("bf16", 0x7F80)):
        for mode in ("rn", "rz"):
            one = lambda a, k=kind, m=mode, t=top: finite(converted(k, "f32", m)(a), t)  # noqa: E731
            both = lambda a, b, f=one: (f(b), f(a))  # noqa: E731
            yield Form(f"cvt.{mode}.satfinite.{kind}.f32", kind, ("f32",), one)
            yield Form(f"cvt.{mode}.satfinite.{kind}x2.f32", f"{kind}x2", ("f32", "f32"), both)


FORMS = list(forms())


def values(kind: str, place: int) -> np.ndarray:
    """Operands: edges, then random bits, half of them near to one in size so that sums and products matter."""
    random = np.random.default_rng(3 + 17 * place)
    if kind == "b32":
        edges = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 65503, 65504, 65519, 65520, 65535, 2049, 2051]
        rest = random.integers(0, 1 << 32, N - len(edges)) >> random.integers(0, 32, N - len(edges))
        return np.array([*edges, *rest], dtype=np.uint32)
    if kind in ("f16x2", "bf16x2"):
        low, high = values(kind[:-2], place).astype(np.uint32), values(kind[:-2], place + 5).astype(np.uint32)
        return low | high << 16
    width = total(kind)
    fraction, bias = LAYOUT[kind]
    inf = (2 * bias + 1) << fraction
    edges = [0, 1, 2, 3, inf, inf + 1, inf - 1, 1 << fraction, (1 << fraction) - 1, bias << fraction]
    if kind in ("f32", "f64"):
        # Around 16-bit numbers: halfway between two of them, and a little more or less.
        near = [encode(decode(b, "f16"), kind) for b in (1, 2, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFF, 0x7BFE, 0x5555)]
        cut = fraction - 10
        edges += [b + d for b in near if b for d in (0, 1 << cut - 1, (1 << cut - 1) + 1, (1 << cut - 1) - 1)]
        half = encode(Fraction(2) ** -25, kind) or 0
        edges += [half, half + 1, half - 1, 3 * half // 3 + (1 << fraction)]
        if kind == "f32":
            edges += [0x3F808000, 0x3F818000, 0x3F808001, 0x7F7F8000, 0x00008000, 0x7F7FFFFF]
    edges = edges[place:] + edges[:place]
    edges += [b | 1 << width - 1 for b in edges]
    count = N - len(edges)
    raw = [int.from_bytes(random.bytes(width // 8), "little") for _ in range(count)]
    span = 12 if bias == 15 else 16
    for i in range(count * 2 // 3):
        exponent = bias + int(random.integers(-span, span if bias > 15 else 4))
        raw[i] = raw[i] & ~(inf) | exponent << fraction
    return np.array(edges + raw, dtype=f"u{width // 8}")


def register(kind: str) -> str:
    return {"pred": "pred", "f32": "f32", "f64": "f64"}.get(kind, f"b{total(kind)}")


def kernel(number: int, form: Form) -> str:
    """A kernel (varying, uniform, guarded, a, b, c)."""
    names = ("ov", "ou", "og", "a0", "a1", "a2")
    text = f".visible .entry k{number} (" + ", ".join(f".param .u64 p_{n}" for n in names) + ") {\n"
    text += ".reg .u32 %t, %c, %i, %w; .reg .u64 %p; .reg .pred %every;\n"
    text += f".reg .{register(form.result)} %rv, %ru, %rg;\n"
    text += ".reg .u64 " + ", ".join(f"%{n}" for n in names) + ";\n"
    text += "".join(f"ld.param.u64 %{n}, [p_{n}];\n" for n in names)
    text += "mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, 32, %t;\n"
    text += "rem.u32 %w, %t, 3; setp.eq.u32 %every, %w, 0;\n"
    for place, kind in enumerate(form.sources):
        text += f".reg .{register(kind)} %v{place}, %u{place};\n"
        for name, index in (("v", "%i"), ("u", "%c")):
            text += f"mad.wide.u32 %p, {index}, {WIDTH[kind]}, %a{place}; "
            text += f"ld.global.{register(kind)} %{name}{place}, [%p];\n"
    varying = ", ".join(f"%v{i}" for i in range(len(form.sources)))
    text += f"{form.opcode} %rv, {varying};\n"
    text += f"{form.opcode} %ru, {varying.replace('%v', '%u')};\n"
    zero = {
        "pred": "setp.ne.u32 %rg, 0, 0;",
        "f32": "mov.f32 %rg, 0f00000000;",
        "f64": "mov.f64 %rg, 0d0000000000000000;",
    }
    text += zero.get(form.result, f"mov.{register(form.result)} %rg, 0;") + "\n"
    text += f"@%every {form.opcode} %rg, {varying};\n"
    for name, index in (("v", "%i"), ("u", "%c"), ("g", "%i")):
        text += f"mad.wide.u32 %p, {index}, {WIDTH[form.result]}, %o{name};\n"
        if form.result == "pred":
            text += f"selp.u32 %w, 1, 0, %r{name}; st.global.u32 [%p], %w;\n"
        else:
            text += f"st.global.{register(form.result)} [%p], %r{name};\n"
    return text + "ret; }\n"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Device, Module]]:
    with pytest.MonkeyPatch.context() as patch, Device(1 << 26) as device:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        head = ".version 8.0\n.target sm_90\n.address_size 64\n"
        yield device, device.load(head + "".join(kernel(i, f) for i, f in enumerate(FORMS)))


def agrees(have: int, want: object, kind: str) -> bool:
    if kind in ("f16x2", "bf16x2"):
        assert isinstance(want, tuple)
        return all(agrees(have >> 16 * i & 0xFFFF, want[i], kind[:-2]) for i in (0, 1))
    if want is None:
        return kind == "b32" or math.isnan(decode(have, kind))
    return have == want


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize("number", range(len(FORMS)), ids=[f.opcode for f in FORMS])
def test_form(compiled: tuple[Device, Module], number: int) -> None:
    device, module = compiled
    form = FORMS[number]
    operands = [values(kind, place) for place, kind in enumerate(form.sources)]
    addresses = [device.upload(o.tobytes()) for o in operands] + [0] * (3 - len(operands))
    width = WIDTH[form.result]
    outs = [device.upload(bytes(N * width)) for _ in range(3)]
    module.function(f"k{number}").launch((N // 32, 1, 1), (32, 1, 1), [*outs, *addresses])
    got = [np.frombuffer(device.download(o, N * width), dtype=f"u{width}").tolist() for o in outs]
    rows = list(zip(*(o.tolist() for o in operands), strict=True))
    want = [form.model(*row) for row in rows]
    for name, have, indices in (
        ("varying", got[0], range(N)), ("uniform", got[1], range(N // 32)), ("guarded", got[2], range(N)),
    ):  # fmt: skip
        for i in indices:
            if name == "guarded" and i % 32 % 3:
                assert have[i] == 0
                continue
            assert agrees(have[i], want[i], form.result), (name, [hex(x) for x in rows[i]], hex(have[i]), want[i])


def test_all_of_them(compiled: tuple[Device, Module]) -> None:
    """Each of the 65,536 .f16 numbers becomes a single and the same again; numpy knows them, too."""
    device, _ = compiled
    text = """.version 6.0
.target sm_60
.address_size 64
.visible .entry all (.param .u64 po, .param .u64 pb) {
.reg .u64 %o, %b, %p; .reg .u32 %t, %c, %i; .reg .b16 %h; .reg .f32 %f;
ld.param.u64 %o, [po]; ld.param.u64 %b, [pb]; mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, 32, %t;
cvt.u16.u32 %h, %i; cvt.f32.f16 %f, %h; mad.wide.u32 %p, %i, 4, %o; st.global.f32 [%p], %f;
cvt.rn.f16.f32 %h, %f; mad.wide.u32 %p, %i, 2, %b; st.global.b16 [%p], %h; ret; }
"""
    singles, back = device.upload(bytes(1 << 18)), device.upload(bytes(1 << 17))
    device.load(text).function("all").launch((2048, 1, 1), (32, 1, 1), [singles, back])
    halves = np.arange(65536, dtype=np.uint16)
    numbers = halves.view(np.float16)
    wide = np.frombuffer(device.download(singles, 1 << 18), dtype=np.float32)
    same = np.frombuffer(device.download(back, 1 << 17), dtype=np.uint16)
    nan = np.isnan(numbers)
    assert (np.isnan(wide) == nan).all()
    assert (wide[~nan].view(np.uint32) == numbers[~nan].astype(np.float32).view(np.uint32)).all()
    assert (same[~nan] == halves[~nan]).all()
    assert (same[nan] == 0x7FFF).all()


@pytest.mark.parametrize("kind", ["f16", "bf16", "f16x2", "bf16x2"])
@pytest.mark.parametrize("form", ["atom", "red"])
def test_atomic_sums(compiled: tuple[Device, Module], kind: str, form: str) -> None:
    """Sums of small numbers are exact, whatever the order."""
    device, _ = compiled
    pair, base = kind.endswith("x2"), kind.removesuffix("x2")
    bits = 32 if pair else 16
    old = "%r, " if form == "atom" else ""
    text = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k (.param .u64 po) {{
.reg .u64 %o; .reg .b{bits} %v, %r; .reg .u32 %t; .reg .pred %p;
ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 16;
mov.b{bits} %v, {encode(Fraction(1, 2), base)}; @%p mov.b{bits} %v, {encode(Fraction(3), base)};
{f"{form}.global.add.noftz.{kind} {old}[%o], %v;"} ret; }}
"""
    if pair:  # in the upper half lanes from 16 on have two
        text = text.replace("@%p mov", f"or.b32 %v, %v, {(encode(Fraction(2), base) or 0) << 16}; @%p mov", 1)
    place = device.upload(bytes(4))
    device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [place])
    word = int.from_bytes(device.download(place, 4), "little")
    assert decode(word & 0xFFFF, base) == Fraction(16 * 3) + Fraction(16, 2)
    if pair:
        assert decode(word >> 16, base) == Fraction(16 * 2)
