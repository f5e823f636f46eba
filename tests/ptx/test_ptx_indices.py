"""Gathers and scatters by numbers of 32 bits: forms, signs, lanes that are off, wrong numbers; one test for a block."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx import indices
from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

pytestmark = needs_executor

FORMS = {
    "mul.wide.s32": "mul.wide.s32 %x, %i, {size}; add.s64 %x, %a, %x;",
    "mul.wide.u32": "mul.wide.u32 %y, %i, {size}; add.s64 %x, %y, %a;",
    "mad.wide.s32": "mad.wide.s32 %x, %i, {size}, %a;",
    "mad.wide.u32": "mad.wide.u32 %x, %i, {size}, %a;",
    "shl s32": "cvt.s64.s32 %y, %i; shl.b64 %x, %y, {by}; add.s64 %x, %a, %x;",
    "shl u32": "cvt.u64.u32 %y, %i; shl.b64 %x, %y, {by}; add.u64 %x, %x, %a;",
}
KINDS = {"u32": "%v", "u64": "%l", "f32": "%f", "f64": "%d"}
AROUND = 64


def kernel(form: str, kind: str, between: str = "", offset: int = 0) -> str:
    """Lanes whose bit is set in `mask` do out[to[lane]] = a[from[lane]] + 0; `a` and `out` begin AROUND elements on."""
    size = int(kind[1:]) // 8
    made = FORMS[form].format(size=size, by=size.bit_length() - 1)
    stored = made.replace("%x", "%z").replace("%i", "%j").replace("%a", "%o").replace("%y", "%w")
    return f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 po, .param .u64 pf, .param .u64 pt, .param .u64 pm)
    {{ .reg .u64 %a, %o, %from, %to, %x, %y, %z, %w, %l; .reg .u32 %t, %i, %j, %v, %m; .reg .f32 %f; .reg .f64 %d;
    .reg .pred %p; ld.param.u64 %a, [pa]; ld.param.u64 %o, [po]; ld.param.u64 %from, [pf]; ld.param.u64 %to, [pt];
    ld.param.u32 %m, [pm]; mov.u32 %t, %tid.x; shl.b32 %i, 1, %t; and.b32 %m, %m, %i; setp.eq.u32 %p, %m, 0;
    mul.wide.u32 %x, %t, 4; add.u64 %from, %from, %x; add.u64 %to, %to, %x; @%p bra out;
    ld.global.u32 %j, [%to]; ld.global.u32 %i, [%from];
    {made} {between}
    ld.global.{kind} {KINDS[kind]}, [%x+{offset}];
    {stored} st.global.{kind} [%z], {KINDS[kind]};
    out: ret; }}"""


def accesses(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of a kernel's accesses are made by numbers."""
    made: list[object] = []
    begin = indices.begin
    monkeypatch.setattr(indices, "begin", lambda *rest: (made.append(rest), begin(*rest))[1])
    module = parse(text)
    lower(module.functions["k"], "E", True, Links(), module, "k")
    return len(made)


def launched(device: Device, text: str, a: np.ndarray, source: list[int], target: list[int], mask: int) -> np.ndarray:
    """What `out` is then."""
    size = a.dtype.itemsize
    out = np.full(2 * AROUND, 7, dtype=a.dtype)
    words = [np.array([n & 0xFFFFFFFF for n in some], "<u4") for some in (source, target)]
    first, second, *rest = [device.upload(x.tobytes()) for x in (a, out, *words)]
    arguments = [first + AROUND * size, second + AROUND * size, *rest, mask]
    device.load(text, names=["k.ptx"]).function("k").launch((1, 1, 1), (32, 1, 1), arguments)
    return np.frombuffer(device.download(second, out.nbytes), dtype=a.dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_with_and_without_signs(device: Device, form: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accesses(kernel(form, kind), monkeypatch) == 2
    numbers = random.Random(form + kind)
    size = int(kind[1:]) // 8
    a = (np.arange(2 * AROUND) * 3 + 1).astype(f"<{kind[0]}{size}")
    low = -AROUND if "s32" in form else 0
    for mask in (0xFFFFFFFF, 0x80000001, 0xAAAAAAAA, 0x00010000, 0):
        source = [numbers.randrange(low, AROUND) for _ in range(32)]
        target = numbers.sample(range(low, AROUND), 32)
        wanted = np.full(2 * AROUND, 7, dtype=a.dtype)
        for lane in range(32):
            if mask >> lane & 1:
                wanted[AROUND + target[lane]] = a[AROUND + source[lane]]
            else:
                source[lane] = target[lane] = numbers.choice((1 << 30, -(1 << 31), 0x7FFFFFFF))
        assert (launched(device, kernel(form, kind), a, source, target, mask) == wanted).all()


@pytest.mark.parametrize(
    ("slowly", "kind", "loads"), [(True, "u32", 32), (True, "f32", 32), (True, "u64", 0), (False, "u32", 0)]
)
def test_whole_warps_have_a_load_for_each_lane_where_gathers_are_slow(
    slowly: bool, kind: str, loads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indices, "gathers_slowly", lambda: slowly)
    module = parse(kernel("mul.wide.s32", kind))
    text, _ = lower(module.functions["k"], "E", True, Links(), module, "k")
    words = {"u32": "i32", "f32": "float", "u64": "i64"}[kind]
    assert text.count(f"insertelement <32 x {words}> ") - text.count(f"insertelement <32 x {words}> poison") == max(
        loads - 1, 0
    )
    assert text.count("@llvm.masked.gather") >= 1


@pytest.mark.parametrize("wrong", [0x7FFFFFFF, 0x80000000, 0xFF000000, 0xC0000000, 1 << 20])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("form", ["mul.wide.s32", "mul.wide.u32"])
def test_wrong_numbers_are_told(form: str, which: int, wrong: int) -> None:
    places = [list(range(31, -1, -1)) for _ in range(2)]
    places[which][9] = wrong
    what = rf"illegal address .* {('read', 'written')[which]} .*k.ptx:.*thread .9,0,0."
    with Device(1 << 22) as device, pytest.raises(ExecutorError, match=what):
        launched(device, kernel(form, "u32"), np.zeros(2 * AROUND, "<u4"), places[0], places[1], 0xFFFFFFFF)


def test_a_misaligned_array_is_told() -> None:
    text = kernel("mul.wide.s32", "u32", offset=2)
    with Device(1 << 22) as device, pytest.raises(ExecutorError, match=r"misaligned address .*thread .0,0,0."):
        launched(device, text, np.zeros(2 * AROUND, "<u4"), [*range(31, -1, -1)], [*range(32)], 0xFFFFFFFF)


BETWEEN = {
    "the number has changed": ("add.u32 %i, %i, 100;", 1),
    "the array has changed": ("add.u64 %a, %a, 4096;", 1),
    "the address has changed": ("add.u64 %x, %x, 4;", 1),
    "the product has changed": ("mov.u64 %y, 0;", 2),
}


@pytest.mark.parametrize("form", ["mul.wide.s32", "mul.wide.u32", "shl s32"])
@pytest.mark.parametrize("what", BETWEEN)
def test_what_was_read_is_what_counts(device: Device, what: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    between, count = BETWEEN[what]
    text = kernel(form, "u32", between)
    assert accesses(text, monkeypatch) in (1, 2)
    assert accesses(text, monkeypatch) >= count
    a = np.arange(2 * AROUND, dtype="<u4")
    source = random.Random(what).sample(range(32), 32)
    got = launched(device, text, a, source, list(range(32)), 0xFFFFFFFF)
    assert got[AROUND : AROUND + 32].tolist() == [AROUND + n + (between[-5:] == "x, 4;") for n in source]


@pytest.mark.parametrize("far", [0, 1])
def test_one_test_for_neighbours(device: Device, far: int) -> None:
    """The lowest of the places is in no memory for some lanes; who goes there is another branch's."""
    text = f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 po) {{ .reg .u64 %a, %o, %x; .reg .pred %p;
    .reg .u32 %t, %i, %v, %w; ld.param.u64 %a, [pa]; ld.param.u64 %o, [po]; mov.u32 %t, %tid.x;
    mul.wide.u32 %x, %t, 8; add.u64 %x, %a, %x; ld.global.u64 %x, [%x]; setp.ge.u32 %p, %t, 3;
    ld.global.u32 %v, [%x]; ld.global.u32 %i, [%x+4]; add.u32 %v, %v, %i; mov.u32 %w, 0;
    @%p ld.global.u32 %w, [%x+-120]; add.u32 %v, %v, %w; ld.global.u32 %w, [%x+8]; add.u32 %v, %v, %w;
    mul.wide.u32 %x, %t, 4; add.u64 %o, %o, %x; st.global.u32 [%o], %v; ret; }}"""
    data = np.arange(512, dtype="<u4")
    words = device.upload(data.tobytes())
    numbers = random.Random(far)
    at = [numbers.randrange(30, 500) for _ in range(32)]
    places = [words + 4 * n for n in at]
    if far:
        places[0] = device.base if device.check == 0 else places[0]
    out = device.upload(bytes(128))
    device.load(text).function("k").launch(
        (1, 1, 1), (32, 1, 1), [device.upload(np.array(places, "<u8").tobytes()), out]
    )
    got = np.frombuffer(device.download(out, 128), "<u4").tolist()
    for lane in range(1, 32):
        assert got[lane] == 3 * at[lane] + 3 + (at[lane] - 30 if lane >= 3 else 0)
