"""Addresses that are set where the first lanes are off, and keep what they had: rows, columns, one for all."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.bases import Way
from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import Lowering, lower
from gompy.ptx.parser import parse
from gompy.ptx.uniform import analyse
from gompy.ptx.vectors import way_of

__all__ = ["device"]

pytestmark = needs_executor

STEPS = (0, 4, 64)
WORDS = 1024


def kernel(step: int, space: str) -> str:
    """Threads from `from` on add up three words, `step` bytes apart by thread, from a number on that branches set."""
    return f"""{HEAD}.shared .align 16 .b8 box[{4 * WORDS}];
.visible .entry k (.param .u64 po, .param .u64 pr, .param .u64 pn, .param .u64 pf) {{
  .reg .u64 %o, %r, %x, %y, %z, %b; .reg .u32 %t, %i, %n, %f, %v, %sum, %m, %c; .reg .pred %p, %q;
  ld.param.u64 %o, [po]; ld.param.u64 %r, [pr]; ld.param.u32 %n, [pn]; ld.param.u32 %f, [pf]; mov.u32 %t, %tid.x;
  mov.u64 %b, box; mov.u32 %i, %t;
  fill: mul.wide.u32 %x, %i, 4; add.u64 %y, %o, %x; ld.global.u32 %v, [%y]; add.u64 %y, %b, %x; st.shared.u32 [%y], %v;
  add.u32 %i, %i, 32; setp.lt.u32 %q, %i, {WORDS}; @%q bra fill; bar.sync 0;
  mov.u32 %sum, 77; setp.lt.u32 %p, %t, %f; @%p bra end;
  setp.lt.u32 %q, %n, 8; @%q bra small; and.b32 %c, %n, -8; bra both; small: mov.u32 %c, 0;
  both: mul.wide.u32 %x, %c, 4; mul.wide.u32 %z, %t, {step}; add.s64 %y, {"%b" if space == "shared" else "%o"}, %x;
  add.s64 %y, %y, %z; mov.u32 %m, 0; add.u32 %sum, %sum, %c;
  more: ld.{space}.u32 %v, [%y]; add.u32 %sum, %sum, %v; add.u32 %v, %v, 1; st.{space}.u32 [%y], %v;
  add.s64 %y, %y, 4; add.u32 %m, %m, 1; add.u32 %i, %t, 3; min.u32 %i, %i, 20; setp.lt.u32 %q, %m, %i; @%q bra more;
  end: mul.wide.u32 %z, %t, 4; add.u64 %z, %r, %z; st.global.u32 [%z], %sum; ret; }}"""


def model(data: np.ndarray, step: int, number: int, first: int) -> list[int]:
    """The same; of lanes that store to one word all store the same."""
    memory, sums = data.copy(), [77] * 32
    start = number & -8 if number >= 8 else 0
    for lane in range(first, 32):
        sums[lane] += start
    for turn in range(20):
        lanes = [lane for lane in range(first, 32) if turn == 0 or turn < min(lane + 3, 20)]
        words = [start + lane * step // 4 + turn for lane in lanes]
        loaded = [int(memory[word]) for word in words]
        for lane, word, value in zip(lanes, words, loaded, strict=True):
            sums[lane] += value
            memory[word] = value + 1
    return sums


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("first", [0, 1, 7, 31])
def test_lanes_that_keep_what_they_had(device: Device, step: int, space: str, first: int) -> None:
    data = np.arange(WORDS, dtype="<u4") * 5 + 3
    function = device.load(kernel(step, space)).function("k")
    for number in (3, 21):
        a, r = device.upload(data.tobytes()), device.upload(bytes(128))
        function.launch((1, 1, 1), (32, 1, 1), [a, r, number, first])
        got = np.frombuffer(device.download(r, 128), "<u4")
        assert list(got) == model(data, step, number, first)


@pytest.mark.parametrize("step", STEPS)
def test_which_way_is_tried(step: int) -> None:
    module = parse(kernel(step, "shared"))
    work = Lowering(analyse(module.functions["k"], "E", True, "k"), Links(), module, "k", "V")
    ways = [way_of(work, r, 4, False, True) for r in work.a.varying if r.name.partition("#")[0] == "%y"]
    assert Way(1, step) in ways


@pytest.mark.parametrize(("rows", "kept"), [(True, 0), (False, 1)])
def test_whether_a_row_wraps_around_is_asked_where_it_is_wanted(rows: bool, kept: int) -> None:
    """Of halves it is kept as a word: it takes more than one comparison."""
    text = f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 pr) {{
      .reg .u64 %a, %r, %x; .reg .u32 %t, %b, %n, %v;
      ld.param.u64 %a, [pa]; ld.param.u64 %r, [pr]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
      mad.lo.s32 %t, %b, %n, %t; mul.wide.s32 %x, %t, 4; add.s64 %x, %a, %x; ld.global.u32 %v, [%x];
      st.global.u32 [%r], %v; ret; }}"""
    module = parse(text)
    found, _ = lower(module.functions["k"], "E", rows, Links(), module, "k")
    held = r"(%t\d+) = select i1 %t\d+, i32 0, i32 -1\n +%t\d+ = call i32 asm \"\", \"=r,0\"\(i32 \1\)"
    assert len(re.findall(held, found)) == kept
