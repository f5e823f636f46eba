"""Accesses at addresses that lanes have loaded: device and shared memory, lanes that are off, wrong addresses."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.parser import parse
from gompy.ptx.strides import Strides
from gompy.ptx.uniform import analyse

__all__ = ["device"]

pytestmark = needs_executor

WHO = {
    "all": ("setp.ge.u32 %p, %t, 0;", range(32)),
    "odd": ("and.b32 %i, %t, 1; setp.eq.u32 %p, %i, 1;", range(1, 32, 2)),
    "last": ("setp.eq.u32 %p, %t, 31;", range(31, 32)),
    "none": ("setp.gt.u32 %p, %t, 99;", range(0)),
}
SIZE = {"u32": 4, "u64": 8, "f32": 4, "f64": 8}
WORDS = 40


def kernel(kind: str, space: str, who: str) -> str:
    """Active lanes load `box[from[lane]]` and store it to `box[to[lane]]`; `box` is the array, or a copy of it."""
    register = {"u32": "%i", "u64": "%v", "f32": "%f", "f64": "%d"}[kind]
    size = SIZE[kind]
    box, begin, end = "%o", "", ""
    if space == "shared":
        copy = f"mul.wide.u32 %x, %i, {size}; add.u64 %y, %o, %x; add.u64 %x, %b, %x;"
        steps = f"add.u32 %i, %i, 32; setp.lt.u32 %q, %i, {WORDS};"
        box = "%b"
        begin = f"""mov.u64 %b, box; mov.u32 %i, %t;
          fill: {copy} ld.global.b{8 * size} %v, [%y]; st.shared.b{8 * size} [%x], %v; {steps} @%q bra fill;
          bar.sync 0;"""
        end = f"""bar.sync 0; mov.u32 %i, %t;
          show: {copy} ld.shared.b{8 * size} %v, [%x]; st.global.b{8 * size} [%y], %v; {steps} @%q bra show;"""
    return f"""{HEAD}.shared .align 8 .b8 box[{WORDS * size}];
.visible .entry k (.param .u64 po, .param .u64 pf, .param .u64 pt) {{ .reg .u64 %o, %from, %to, %x, %y, %b, %v;
  .reg .s64 %one, %two; .reg .u32 %t, %i; .reg .f32 %f; .reg .f64 %d; .reg .pred %p, %q;
  ld.param.u64 %o, [po]; ld.param.u64 %from, [pf]; ld.param.u64 %to, [pt]; mov.u32 %t, %tid.x; {begin}
  mul.wide.u32 %x, %t, 8; add.u64 %from, %from, %x; add.u64 %to, %to, %x;
  ld.global.s64 %one, [%from]; ld.global.s64 %two, [%to]; {WHO[who][0]}
  add.s64 %x, %one, {box}; add.s64 %y, %two, {box}; @!%p bra none;
  ld.{space}.{kind} {register}, [%x]; st.{space}.{kind} [%y], {register};
  none: {end} ret; }}
"""


def launched(device: Device, text: str, box: np.ndarray, source: list[int], target: list[int]) -> np.ndarray:
    arrays = [device.upload(a.tobytes()) for a in (box, np.array(source, "<i8"), np.array(target, "<i8"))]
    device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), arrays)
    return np.frombuffer(device.download(arrays[0], box.nbytes), dtype=box.dtype)


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("kind", SIZE)
def test_lanes_reach_their_words(device: Device, kind: str, space: str, who: str) -> None:
    numbers = random.Random(f"{kind} {space} {who}")
    box = np.arange(WORDS, dtype={"u": "<u", "f": "<f"}[kind[0]] + str(SIZE[kind])) * 3 + 1
    for _ in range(4):
        source = [numbers.randrange(WORDS) for _ in range(32)]
        target = numbers.sample(range(WORDS), 32)
        wanted = box.copy()
        for lane in WHO[who][1]:
            wanted[target[lane]] = box[source[lane]]
        places = [[SIZE[kind] * at for at in some] for some in (source, target)]
        for lane in {*range(32)} - {*WHO[who][1]}:  # what is there for lanes that are off does not matter
            places[0][lane] = numbers.choice((1, -(1 << 62), 1 << 62))
        assert (launched(device, kernel(kind, space, who), box, *places) == wanted).all()


VECTORS = {"v2.f32": ("%f", 4, 2), "v4.b32": ("%i", 4, 4), "v2.f64": ("%d", 8, 2), "v2.u16": ("%h", 2, 2)}
"""Register, bytes of an element, how many."""


def vectors(kind: str, who: str) -> str:
    """Active lanes load a vector at `array + from[lane]`, and store it to `array + to[lane]`: places that are computed
    from numbers which the lanes have by `prmt`, whose strides nobody guesses."""
    register, _, count = VECTORS[kind]
    some = "{" + ", ".join(f"{register}{at}" for at in range(count)) + "}"
    return f"""{HEAD}.visible .entry k (.param .u64 po, .param .u64 pf, .param .u64 pt) {{
  .reg .u64 %o, %from, %to, %x, %y; .reg .u32 %t, %i, %i<4>, %one, %two; .reg .f32 %f<4>;
  .reg .f64 %d<4>; .reg .u16 %h<4>; .reg .pred %p;
  ld.param.u64 %o, [po]; ld.param.u64 %from, [pf]; ld.param.u64 %to, [pt]; mov.u32 %t, %tid.x;
  mad.wide.u32 %from, %t, 8, %from; mad.wide.u32 %to, %t, 8, %to; ld.global.u32 %one, [%from];
  ld.global.u32 %two, [%to]; {WHO[who][0]}
  prmt.b32 %one, %one, %t, 12816; prmt.b32 %two, %two, %t, 12816;
  mad.wide.s32 %x, %one, 1, %o; mad.wide.s32 %y, %two, 1, %o; @!%p bra none;
  ld.global.{kind} {some}, [%x]; st.global.{kind} [%y], {some};
  none: ret; }}
"""


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_reach_their_words(device: Device, kind: str, who: str, odd: bool) -> None:
    """`odd`: at places that suit an element, not the vector: an error that only checks find."""
    _, size, count = VECTORS[kind]
    numbers = random.Random(f"{kind} {who}")
    whole = size * count
    box = np.arange(256 * WORDS, dtype=np.uint8) * 7
    for _ in range(3):
        which = [numbers.randrange(WORDS) for _ in range(32)], numbers.sample(range(WORDS), 32)
        places = [[whole * at + size * odd for at in some] for some in which]
        wanted = box.copy()
        for lane in WHO[who][1]:
            wanted[places[1][lane] : places[1][lane] + whole] = box[places[0][lane] : places[0][lane] + whole]
        if odd and device.check and WHO[who][1]:
            with pytest.raises(ExecutorError, match="misaligned address"):
                launched(device, vectors(kind, who), box, *places)
            return
        assert (launched(device, vectors(kind, who), box, *places) == wanted).all()


@pytest.mark.parametrize("which", [0, 1])
def test_wrong_vectors_are_told(which: int) -> None:
    places = [[16 * lane for lane in range(31, -1, -1)] for _ in range(2)]
    places[which][9] = -(1 << 30)
    what = f"illegal address .* {('read', 'written')[which]} .*thread .9,0,0."
    with Device() as device, pytest.raises(ExecutorError, match=what):
        launched(device, vectors("v2.f32", "all"), np.zeros(256 * WORDS, np.uint8), *places)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(("wrong", "word"), [(2, "misaligned"), (-(1 << 40), "illegal"), (1 << 40, "illegal")])
def test_wrong_addresses_are_told(space: str, which: int, wrong: int, word: str) -> None:
    places = [[4 * lane for lane in range(31, -1, -1)] for _ in range(2)]
    places[which][9] = wrong
    what = f"{word} address .* {('read', 'written')[which]} .*thread .9,0,0."
    with Device() as device, pytest.raises(ExecutorError, match=what):
        launched(device, kernel("u32", space, "all"), np.zeros(WORDS, "<u4"), *places)


def test_of_lanes_with_one_address_one_wins(device: Device) -> None:
    box = np.arange(WORDS, dtype="<u4")
    got = launched(device, kernel("u32", "global", "all"), box, [4 * lane for lane in range(32)], [128] * 32)
    assert got[32] in box[:32]
    assert (np.delete(got, 32) == np.delete(box, 32)).all()


def test_what_counts_as_loaded() -> None:
    """Addresses that come of the lane's number only may be rows of matrices, which slow.py fetches ahead."""
    text = f"""{HEAD}.visible .entry k (.param .u64 po, .param .u32 pn) {{
      .reg .u64 %o, %a, %b, %c; .reg .u32 %t, %n, %i;
      ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; mov.u32 %t, %tid.x; mul.lo.u32 %i, %t, %n;
      mad.wide.u32 %a, %i, 4, %o; ld.global.u32 %i, [%a]; mad.wide.u32 %b, %i, 4, %o; ld.global.u64 %c, [%o];
      st.global.u32 [%b], %t; st.global.u64 [%a], %c; ret; }}"""
    analysis = analyse(parse(text).functions["k"], "E", True, "k")
    assert {register.name.partition("#")[0] for register in Strides(analysis).scattered} >= {"%b"}
    assert not {"%a", "%c", "%t"} & {register.name.partition("#")[0] for register in Strides(analysis).scattered}


PARTS = {
    "shr.u32 %i, %t, 5;": (0, 0),
    "shr.u32 %i, %t, 3;": (None, None),
    "shr.s32 %i, %t, 0;": (1, 1),
    "shl.b32 %i, %t, 3; shr.u32 %i, %i, 2;": (2, 2),
    "and.b32 %i, %t, 31;": (1, 1),
    "and.b32 %i, %t, -32;": (0, 0),
    "and.b32 %i, %t, 4294967280;": (1, 0),
    "div.u32 %i, %t, 64;": (0, 0),
    "div.u32 %i, %t, 33;": (None, None),
    "rem.u32 %i, %t, 96;": (1, 1),
    "rem.u32 %i, %t, 20;": (None, None),
    "shr.u32 %i, %t, %n;": (None, None),
}


@pytest.mark.parametrize("code", PARTS)
@pytest.mark.parametrize("rows", [True, False])
def test_strides_of_parts_of_numbers(code: str, rows: bool) -> None:
    """`i / 32` is guessed to be the same in all lanes, `i % 32` to count them."""
    text = f"""{HEAD}.visible .entry k (.param .u64 po, .param .u32 pn) {{ .reg .u64 %o, %a; .reg .u32 %t, %n, %i;
      ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; mov.u32 %t, %tid.x; {code}
      mad.wide.u32 %a, %i, 4, %o; st.global.u32 [%a], %t; ret; }}"""
    analysis = analyse(parse(text).functions["k"], "E", rows, "k")
    [address] = [r for r in analysis.registers if r.name.partition("#")[0] == "%a"]
    stride = Strides(analysis).of(address)
    assert stride == (None if PARTS[code][not rows] is None else 4 * PARTS[code][not rows])
