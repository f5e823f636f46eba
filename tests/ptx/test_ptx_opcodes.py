"""Every opcode form that GCC 12 emits, run lane by lane, against a model in numpy of its own.

Each form runs three ways in one kernel: with operands that differ between lanes, with operands that are the same in
all lanes (scalar code), and guarded by a predicate that holds in every third lane.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, Module

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

THREADS = 64
NUMPY = {
    "u8": np.uint8, "s8": np.int8, "u16": np.uint16, "s16": np.int16, "u32": np.uint32, "s32": np.int32,
    "u64": np.uint64, "s64": np.int64, "f32": np.float32, "f64": np.float64, "b16": np.uint16, "b32": np.uint32,
    "b64": np.uint64, "pred": np.bool_,
}  # fmt: skip
Array = np.ndarray
Model = Callable[..., Array]


@dataclass
class Form:
    """An opcode, the types of result and operands, and what it computes."""

    opcode: str
    result: str
    sources: tuple[str, ...]
    model: Model
    immediates: tuple[tuple[int, int], ...] = ()  # operands that are constants: place, value


def signed_divide(a: Array, b: Array) -> Array:
    q = np.empty_like(a)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        q[i] = wrap(-1 if y == 0 else (abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1), a.dtype)
    return q


def signed_remainder(a: Array, b: Array) -> Array:
    r = np.empty_like(a)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        r[i] = x if y == 0 else (abs(x) % abs(y)) * (-1 if x < 0 else 1)
    return r


def wrap(value: int, dtype: np.dtype) -> int:
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def each(result: str, function: Callable[..., int]) -> Model:
    """A model on Python's integers, wrapped to the result's type."""
    dtype = np.dtype(NUMPY[result])

    def model(*arrays: Array) -> Array:
        rows = zip(*(a.tolist() for a in arrays), strict=True)
        return np.array([wrap(function(*row), dtype) for row in rows], dtype=dtype)

    return model


def shift_right(bits: int) -> Callable[[int, int], int]:
    return lambda a, n: a >> min(n, bits) if a >= 0 else a >> min(n, bits - 1)


def shift_left(bits: int) -> Callable[[int, int], int]:
    return lambda a, n: 0 if n >= bits else a << n


def nan_aware(kind: str, greater: bool) -> Model:
    def model(a: Array, b: Array) -> Array:
        out = np.where(np.isnan(a), b, np.where(np.isnan(b), a, np.where((a > b) == greater, a, b)))
        zero = (a == 0) & (b == 0)
        sign = (np.signbit(a) & np.signbit(b)) if greater else (np.signbit(a) | np.signbit(b))
        return np.where(zero, np.where(sign, -0.0, 0.0), out).astype(NUMPY[kind])

    return model


def exact_fma(kind: str) -> Model:
    from fractions import Fraction

    def one(a: float, b: float, c: float) -> float:
        if not all(np.isfinite([a, b, c])):
            with np.errstate(all="ignore"):
                return float(np.float64(a) * np.float64(b) + np.float64(c))
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        if exact == 0:
            return a * b + c
        try:
            value = exact.numerator / exact.denominator
        except OverflowError:
            value = np.inf if exact > 0 else -np.inf
        if kind == "f64":
            return value
        near = np.float32(value)
        if np.isfinite(near) and Fraction(float(near)) != exact:
            # Round the exact value, not the double: the two floats around it and the distances.
            around = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
            around = [x for x in around if np.isfinite(x)]
            best = min(around, key=lambda x: (abs(Fraction(float(x)) - exact), int(x.view(np.uint32)) & 1))
            return float(best)
        return float(near)

    return lambda a, b, c: np.array(
        [one(*row) for row in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)], dtype=NUMPY[kind]
    )


def truncated(to: str) -> Model:
    info = np.iinfo(NUMPY[to])

    def model(a: Array) -> Array:
        return np.array(
            [0 if np.isnan(x) else int(min(max(np.trunc(x), info.min), info.max)) for x in a.tolist()], dtype=NUMPY[to]
        )

    return model


def forms() -> list[Form]:
    """All arithmetic, logic, comparison and conversion forms."""
    found: list[Form] = []

    def add(opcode: str, result: str, sources: str, model: Model, *immediates: tuple[int, int]) -> None:
        found.append(Form(opcode, result, tuple(sources.split()), model, immediates))

    for kind in ("u32", "u64"):
        add(f"add.{kind}", kind, f"{kind} {kind}", lambda a, b: a + b)
        add(f"sub.{kind}", kind, f"{kind} {kind}", lambda a, b: a - b)
        add(f"mul.lo.{kind}", kind, f"{kind} {kind}", lambda a, b: a * b)
        add(f"mad.lo.{kind}", kind, f"{kind} {kind} {kind}", lambda a, b, c: a * b + c)
    for kind in ("f32", "f64"):
        add(f"add.{kind}", kind, f"{kind} {kind}", lambda a, b: a + b)
        add(f"sub.{kind}", kind, f"{kind} {kind}", lambda a, b: a - b)
        add(f"mul.{kind}", kind, f"{kind} {kind}", lambda a, b: a * b)
        add(f"div.rn.{kind}", kind, f"{kind} {kind}", lambda a, b: a / b)
        add(f"fma.rn.{kind}", kind, f"{kind} {kind} {kind}", exact_fma(kind))
    add("mul.hi.u32", "u32", "u32 u32", each("u32", lambda a, b: a * b >> 32))
    add("mul.hi.s32", "s32", "s32 s32", each("s32", lambda a, b: a * b >> 32))
    add("mul.hi.u64", "u64", "u64 u64", each("u64", lambda a, b: a * b >> 64))
    add("mul.hi.s64", "s64", "s64 s64", each("s64", lambda a, b: a * b >> 64))
    add("mul.wide.u32", "u64", "u32 u32", each("u64", lambda a, b: a * b))
    add("mul.wide.s32", "s64", "s32 s32", each("s64", lambda a, b: a * b))
    add("mad.wide.u32", "u64", "u32 u32 u64", each("u64", lambda a, b, c: a * b + c))
    for kind in ("u32", "u64", "s32", "s64"):
        if kind[0] == "s":
            add(f"div.{kind}", kind, f"{kind} {kind}", signed_divide)
            add(f"rem.{kind}", kind, f"{kind} {kind}", signed_remainder)
        else:
            add(f"div.{kind}", kind, f"{kind} {kind}", each(kind, lambda a, b: a // b if b else -1))
            add(f"rem.{kind}", kind, f"{kind} {kind}", each(kind, lambda a, b: a % b if b else a))
        add(f"min.{kind}", kind, f"{kind} {kind}", np.minimum)
        add(f"max.{kind}", kind, f"{kind} {kind}", np.maximum)
    add("max.f32", "f32", "f32 f32", nan_aware("f32", True))
    add("min.f64", "f64", "f64 f64", nan_aware("f64", False))
    for kind in ("s32", "s64"):
        add(f"neg.{kind}", kind, kind, lambda a: -a)
        add(f"abs.{kind}", kind, kind, np.abs)
    add("neg.f64", "f64", "f64", lambda a: -a)
    add("abs.f32", "f32", "f32", np.abs)
    for bits in (16, 32, 64):
        kind = f"b{bits}"
        add(f"and.{kind}", kind, f"{kind} {kind}", lambda a, b: a & b)
        add(f"or.{kind}", kind, f"{kind} {kind}", lambda a, b: a | b)
        add(f"xor.{kind}", kind, f"{kind} {kind}", lambda a, b: a ^ b)
        add(f"not.{kind}", kind, kind, lambda a: ~a)
        add(f"shl.{kind}", kind, f"{kind} u32", each(f"u{bits}", shift_left(bits)))
        add(f"shr.u{bits}", f"u{bits}", f"u{bits} u32", each(f"u{bits}", shift_right(bits)))
        add(f"shr.s{bits}", f"s{bits}", f"s{bits} u32", each(f"s{bits}", shift_right(bits)))
    for name in ("and", "or", "xor"):
        add(
            f"{name}.pred",
            "pred",
            "pred pred",
            {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}[name],
        )
    add("not.pred", "pred", "pred", np.logical_not)
    add("cnot.b32", "b32", "b32", lambda a: (a == 0).astype(np.uint32))
    for bits in (32, 64):
        add(f"clz.b{bits}", "u32", f"b{bits}", each("u32", lambda a, bits=bits: bits - a.bit_length()))
        add(f"popc.b{bits}", "u32", f"b{bits}", each("u32", lambda a: a.bit_count()))
        add(
            f"brev.b{bits}",
            f"b{bits}",
            f"b{bits}",
            each(f"u{bits}", lambda a, bits=bits: int(f"{a:0{bits}b}"[::-1], 2)),
        )
    integer = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    for name, compare in integer.items():
        for kind in ("u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
            model = compare
            if name == "ne" and kind[0] == "f":
                model = lambda a, b: (a < b) | (a > b)  # noqa: E731
            add(f"setp.{name}.{kind}", "pred", f"{kind} {kind}", model)
    add("setp.neu.f64", "pred", "f64 f64", np.not_equal)
    add("setp.equ.f32", "pred", "f32 f32", lambda a, b: ~((a < b) | (a > b)))
    add("setp.num.f64", "pred", "f64 f64", lambda a, b: ~(np.isnan(a) | np.isnan(b)))
    add("setp.nan.f64", "pred", "f64 f64", lambda a, b: np.isnan(a) | np.isnan(b))
    add("setp.lt.and.s32", "pred", "s32 s32 pred", lambda a, b, c: (a < b) & c)
    add("set.gt.u32.s32", "u32", "s32 s32", lambda a, b: np.where(a > b, 0xFFFFFFFF, 0).astype(np.uint32))
    for order in ("set.u32.{0}.{1}", "set.{0}.u32.{1}"):  # the first is GCC's, of nvptx.md (setcc)
        for name, kind, model in (("ge", "s32", np.greater_equal), ("gt", "u64", np.greater), ("lt", "f64", np.less)):
            full = order.format(name, kind)
            add(full, "u32", f"{kind} {kind}", lambda a, b, m=model: np.where(m(a, b), 0xFFFFFFFF, 0).astype(np.uint32))
    add("set.f32.lt.s32", "f32", "s32 s32", lambda a, b: np.where(a < b, 1, 0).astype(np.float32))
    for kind in ("u32", "u64", "f32", "f64"):
        add(f"selp.{kind}", kind, f"{kind} {kind} pred", lambda a, b, c: np.where(c, a, b))
        add(f"mov.{kind}", kind, kind, lambda a: a)
    add("mov.u16", "u16", "u16", lambda a: a)
    add("mov.pred", "pred", "pred", lambda a: a)
    add("mov.b32", "b32", "b32", lambda a: a)
    add("mov.b64", "b64", "b64", lambda a: a)
    pairs = "s64 s32,u64 u32,u32 u64,u16 u32,u32 u32,u32 u16,s32 s16,u64 u16,s64 s16,u16 u64,u32 u8,u16 u8,s32 s8,"
    pairs += "s16 s8,u64 u8"
    for to, source in (pair.split() for pair in pairs.split(",")):
        add(f"cvt.{to}.{source}", to, source, lambda a, to=to: a.astype(NUMPY[to]))
    for to, source in (("f64", "s32"), ("f64", "u32"), ("f32", "s32"), ("f32", "u64"), ("f64", "s64")):
        add(f"cvt.rn.{to}.{source}", to, source, lambda a, to=to: a.astype(NUMPY[to]))
    for to, source in (("s32", "f64"), ("s32", "f32"), ("u32", "f64"), ("s64", "f64"), ("u64", "f32")):
        add(f"cvt.rzi.{to}.{source}", to, source, truncated(to))
    add("cvt.f64.f32", "f64", "f32", lambda a: a.astype(np.float64))
    add("cvt.rn.f32.f64", "f32", "f64", lambda a: a.astype(np.float32))
    add("cvt.rni.f64.f64", "f64", "f64", np.rint)
    add("cvt.rmi.f32.f32", "f32", "f32", np.floor)
    add("cvt.sat.s8.s32", "s32", "s32", lambda a: np.clip(a, -128, 127))
    add("vsub.u32.u32.u32.add", "u32", "u32 u32 u32", lambda a, b, c: a - b + c)
    add("vadd.u32.u32.u32.add", "u32", "u32 u32 u32", lambda a, b, c: a + b + c)
    add("copysign.f64", "f64", "f64 f64", lambda a, b: np.copysign(b, a))
    for name, test in (
        ("infinite", np.isinf), ("finite", np.isfinite), ("notanumber", np.isnan), ("number", lambda a: ~np.isnan(a)),
        ("subnormal", lambda a: (a != 0) & (np.abs(a) < np.finfo(np.float64).tiny)),
        ("normal", lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(np.float64).tiny)),
    ):  # fmt: skip
        add(f"testp.{name}.f64", "pred", "f64", test)
    add("sqrt.rn.f64", "f64", "f64", np.sqrt)
    add("sqrt.rn.f32", "f32", "f32", np.sqrt)
    add("rcp.rn.f64", "f64", "f64", lambda a: 1 / a)
    add(
        "bfe.u32",
        "u32",
        "u32 u32 u32",
        each("u32", lambda a, p, n: a >> (p & 255) & (1 << (n & 255)) - 1),
        (1, 3),
        (2, 9),
    )
    add("bfi.b32", "b32", "b32 b32 u32 u32", each("u32", insert), (2, 5), (3, 11))
    add("sad.u32", "u32", "u32 u32 u32", each("u32", lambda a, b, c: c + abs(a - b)))
    add("shf.l.wrap.b32", "b32", "b32 b32 u32", each("u32", lambda a, b, n: ((b << 32 | a) << (n & 31)) >> 32))
    add("prmt.b32", "b32", "b32 b32 b32", each("u32", permute))
    return found


def insert(a: int, b: int, place: int, length: int) -> int:
    mask = ((1 << length) - 1) << place
    return b & ~mask | a << place & mask


def permute(a: int, b: int, c: int) -> int:
    both = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for i in range(4):
        selector = c >> 4 * i & 15
        byte = both[selector & 7]
        out |= (255 * (byte >> 7) if selector & 8 else byte) << 8 * i
    return out


FORMS = forms()
IDS = [f.opcode for f in FORMS]


def width(kind: str) -> int:
    return 4 if kind == "pred" else np.dtype(NUMPY[kind]).itemsize


def values(kind: str, place: int) -> Array:
    """64 operands: the edges first, then random ones."""
    random = np.random.default_rng(7 * place + len(kind) + ord(kind[0]) + int(kind[1:] or 0 if kind != "pred" else 0))
    if kind == "pred":
        return random.integers(0, 2, THREADS).astype(bool)
    dtype = np.dtype(NUMPY[kind])
    if dtype.kind == "f":
        edges = [
            0.0,
            -0.0,
            1.0,
            -1.5,
            np.inf,
            -np.inf,
            np.nan,
            np.finfo(dtype).tiny / 4,
            np.finfo(dtype).max,
            2.5,
            -3.5,
            1e10,
        ]
        edges = edges[place:] + edges[:place]
        rest = random.standard_normal(THREADS - len(edges)) * 10.0 ** random.integers(-5, 12, THREADS - len(edges))
        return np.concatenate([np.array(edges), rest]).astype(dtype)
    info = np.iinfo(dtype)
    edges = [0, 1, info.max, info.min, info.max - 1, 2, 31, 32, 33, 63, 64, 7]
    edges = edges[place * 2 :] + edges[: place * 2]
    small = random.integers(0, 100, 20)
    rest = random.integers(info.min, info.max, THREADS - len(edges) - 20, dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype=dtype), small.astype(dtype), rest])


def register(kind: str) -> str:
    return {"u8": "u32", "s8": "s32", "b16": "u16", "b32": "u32", "b64": "u64"}.get(kind, kind)


def kernel(number: int, form: Form) -> str:
    """A kernel (out, a, b, c, d): rows of 64 results for varying, uniform and guarded operands."""
    lines = [
        f".visible .entry k{number} (.param .u64 %out, .param .u64 %a0, .param .u64 %a1, .param .u64 %a2, "
        ".param .u64 %a3) {"
    ]
    lines += [".reg .u32 %tid, %rem, %w; .reg .u64 %p, %base, %o; .reg .pred %every, %some;"]
    lines += ["mov.u32 %tid, %tid.x; rem.u32 %rem, %tid, 3; setp.eq.u32 %every, %rem, 0; ld.param.u64 %o, [%out];"]
    size = width(form.result)
    lines += [f"mad.wide.u32 %o, %tid, {size}, %o;", f".reg .{register(form.result)} %rv, %ru, %rg;"]
    constants = dict(form.immediates)
    names: dict[str, list[str]] = {"v": [], "u": []}
    for place, kind in enumerate(form.sources):
        if place in constants:
            names["v"].append(str(constants[place]))
            names["u"].append(str(constants[place]))
            continue
        lines.append(f".reg .{register(kind)} %v{place}, %u{place}; ld.param.u64 %base, [%a{place}];")
        lines.append(f"mad.wide.u32 %p, %tid, {width(kind)}, %base;")
        for name, address in ((f"%v{place}", "[%p]"), (f"%u{place}", f"[%base+{5 * width(kind)}]")):
            if kind == "pred":
                lines.append(f"ld.u32 %w, {address}; setp.ne.u32 {name}, %w, 0;")
            else:
                lines.append(f"ld.{kind.replace('b', 'u')} {name}, {address};")
        names["v"].append(f"%v{place}")
        names["u"].append(f"%u{place}")
    lines.append(f"{form.opcode} %rv, {', '.join(names['v'])};")
    lines.append(f"{form.opcode} %ru, {', '.join(names['u'])};")
    zero = "setp.ne.u32 %rg, 0, 0;" if form.result == "pred" else f"mov.{register(form.result)} %rg, 0;"
    if form.result[0] == "f":
        zero = f"mov.{form.result} %rg, {'0f00000000' if form.result == 'f32' else '0d0000000000000000'};"
    lines.append(zero)
    lines.append(f"@%every {form.opcode} %rg, {', '.join(names['v'])};")
    for row, name in enumerate(("%rv", "%ru", "%rg")):
        at = f"[%o+{row * THREADS * size}]"
        if form.result == "pred":
            lines.append(f"selp.u32 %w, 1, 0, {name}; st.u32 {at}, %w;")
        else:
            lines.append(f"st.{form.result.replace('b', 'u')} {at}, {name};")
    lines.append("ret; }")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Device, Module]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        text = ".version 6.0\n.target sm_35\n.address_size 64\n"
        text += "\n".join(kernel(i, f) for i, f in enumerate(FORMS))
        device = Device(1 << 26)
        return device, device.load(text)


@pytest.mark.slow(sample=18)
@pytest.mark.parametrize("number", range(len(FORMS)), ids=IDS)
def test_form(compiled: tuple[Device, Module], number: int) -> None:
    device, module = compiled
    form = FORMS[number]
    constants = dict(form.immediates)
    operands = [
        np.full(THREADS, constants[place], dtype=NUMPY[kind]) if place in constants else values(kind, place)
        for place, kind in enumerate(form.sources)
    ]
    addresses = [
        device.upload((o.astype(np.uint32) if k == "pred" else o).tobytes())
        for o, k in zip(operands, form.sources, strict=True)
    ]
    dtype = np.dtype(np.uint32 if form.result == "pred" else NUMPY[form.result])
    out = device.upload(bytes(3 * THREADS * dtype.itemsize))
    module.function(f"k{number}").launch((1, 1, 1), (THREADS, 1, 1), [out, *addresses, *[0] * (4 - len(addresses))])
    got = np.frombuffer(device.download(out, 3 * THREADS * dtype.itemsize), dtype=dtype).reshape(3, THREADS)
    with np.errstate(all="ignore"):
        varying = np.asarray(form.model(*operands)).astype(dtype)
        one = [o if i in constants else np.full(THREADS, o[5], dtype=o.dtype) for i, o in enumerate(operands)]
        uniform = np.asarray(form.model(*one)).astype(dtype)
    guarded = np.where(np.arange(THREADS) % 3 == 0, varying, np.zeros(1, dtype=dtype))
    for name, have, want in zip(("varying", "uniform", "guarded"), got, (varying, uniform, guarded), strict=True):
        assert same(have, want), describe(name, operands, have, want)


def same(have: Array, want: Array) -> bool:
    if have.dtype.kind == "f":
        nan = np.isnan(want)
        bits = np.uint32 if have.dtype.itemsize == 4 else np.uint64
        return bool(
            (np.isnan(have) == nan).all() and (have.view(bits)[~nan] == want.astype(have.dtype).view(bits)[~nan]).all()
        )
    return bool((have == want.astype(have.dtype)).all())


def describe(name: str, operands: list[Array], have: Array, want: Array) -> str:
    bad = [i for i in range(len(have)) if not same(have[i : i + 1], want[i : i + 1])]
    i = bad[0]
    return f"{name}: lanes {bad}: operands {[o[i] for o in operands]}: {have[i]!r} instead of {want[i]!r}"


def test_model_is_independent() -> None:
    """The model finds a wrong result (here: a subtraction for an addition)."""
    a = values("u32", 0)
    assert not same(a - a, a + a)
    assert struct.calcsize("Q") == 8
