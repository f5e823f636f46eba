"""Registers that are kept as the first lane's number and a step: as values, as addresses, in loops, behind barriers."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx import progressions
from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import Lowering, lower
from gompy.ptx.parser import parse
from gompy.ptx.uniform import analyse

__all__ = ["device"]

pytestmark = needs_executor

BLOCKS = [(32, 1), (64, 1), (96, 2), (40, 1), (16, 1), (16, 6), (5, 3)]
NUMBERS = [7, 0xFFFFFFF0, 1 << 31]


def kernel(body: str) -> str:
    """Threads store %q, 64 bits; %t is %tid.x, %n a parameter, %s the address of their word of shared memory."""
    return f"""{HEAD}.shared .align 16 .b8 box[4096];
.visible .entry k (.param .u64 po, .param .u32 pn) {{
  .reg .u64 %o, %q, %a, %b, %c, %s; .reg .u32 %t, %n, %x, %y, %z, %i, %j, %k, %r; .reg .pred %p;
  ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; mov.u32 %t, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %ntid.x;
  mad.lo.u32 %r, %y, %z, %t; mul.wide.u32 %a, %r, 8; add.u64 %o, %o, %a; mov.u64 %s, box; mul.wide.u32 %a, %r, 4;
  add.u64 %s, %s, %a; mov.u64 %q, 0;
  {body}
  st.global.u64 [%o], %q; ret; }}"""


def launched(device: Device, text: str, block: tuple[int, int], number: int) -> list[int]:
    """What the threads store."""
    size = 8 * block[0] * block[1]
    out = device.upload(bytes(size))
    device.load(text).function("k").launch((1, 1, 1), (*block, 1), [out, number])
    return [int(word) for word in np.frombuffer(device.download(out, size), "<u8")]


def threads(block: tuple[int, int]) -> tuple[list[int], list[int]]:
    """Their numbers in the row, and in the block."""
    return [i % block[0] for i in range(block[0] * block[1])], [*range(block[0] * block[1])]


def wide(number: int, signed: bool) -> int:
    """32 bits as 64."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if signed and number >> 31 else number


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("block", BLOCKS)
def test_sums_and_products(device: Device, block: tuple[int, int], number: int) -> None:
    """Numbers of 32 bits wrap around, for some lanes of a warp before they are widened, and for some behind that."""
    text = """add.u32 %x, %t, %n; mad.lo.u32 %i, %x, 3, %n; sub.u32 %j, %n, %i; shl.b32 %k, %j, 4; cvt.u64.u32 %q, %k;
      mul.wide.s32 %a, %x, 12; add.u64 %q, %q, %a; mul.wide.u32 %a, %x, 5; mad.lo.u64 %q, %q, 31, %a;
      cvt.s64.s32 %b, %x; shl.b64 %b, %b, 3; sub.u64 %q, %q, %b; mad.wide.u32 %c, %t, 24, %q; mul.lo.u64 %q, %c, 7;
      and.b32 %x, %t, 31; cvt.u64.u32 %a, %x; mad.lo.u64 %q, %q, 31, %a; rem.u32 %x, %t, 32; or.b32 %x, %x, 64;
      xor.b32 %x, %x, 32; cvt.u32.u64 %j, %q; mad.wide.u32 %q, %x, 5, %q; add.u32 %j, %j, 1; cvt.u64.u32 %a, %j;
      add.u64 %q, %q, %a;"""
    want = []
    for t in threads(block)[0]:
        x = t + number
        k = (number - (x * 3 + number) << 4) & 0xFFFFFFFF
        q = (k + wide(x, True) * 12) * 31 + wide(x, False) * 5 - (wide(x, True) << 3)
        q = (t * 24 + q) * 7 * 31 + t % 32
        want.append((q + (t % 32 | 64 ^ 32) * 5 + ((q + 1) & 0xFFFFFFFF)) & (1 << 64) - 1)
    assert launched(device, kernel(text), block, number) == want


@pytest.mark.parametrize("step", [0, 4, 8, 36])
@pytest.mark.parametrize("block", BLOCKS)
def test_shared_memory_behind_a_barrier(device: Device, block: tuple[int, int], step: int) -> None:
    """Rows and columns of words that others have stored; the addresses are from before the barrier."""
    text = f"""mov.u64 %b, box; mov.u32 %k, %r; mov.u32 %x, 0;
      fill: mad.wide.u32 %c, %k, 4, %b; st.shared.u32 [%c], %x; add.u32 %k, %k, 8; setp.lt.u32 %p, %k, 1024;
      @%p bra fill; bar.sync 0; mul.wide.u32 %c, %t, {step}; add.u64 %b, %b, %c; mad.lo.u32 %x, %r, 3, 1;
      st.shared.u32 [%s], %x; bar.sync 0; ld.shared.u32 %j, [%b]; bar.sync 0; add.u32 %j, %j, %t;
      st.shared.u32 [%s], %j; bar.sync 0; ld.shared.u32 %k, [%s]; cvt.u64.u32 %q, %k; sub.u64 %c, %s, %b;
      mad.lo.u64 %q, %c, 1000, %q;"""
    count = block[0] * block[1]
    want = []
    for t, number in zip(*threads(block), strict=True):
        at = t * step // 4
        word = at * 3 + 1 if at < count else 0
        want.append((word + t + 1000 * (number * 4 - t * step)) & (1 << 64) - 1)
    assert launched(device, kernel(text), block, 0) == want


@pytest.mark.parametrize("block", BLOCKS)
def test_loops_that_lanes_leave_at_different_turns(device: Device, block: tuple[int, int]) -> None:
    """One number is needed behind the loop as it was in each lane's last turn, another in the loop only."""
    text = """rem.u32 %x, %t, 7; mov.u32 %i, %t; mov.u32 %j, %t; cvt.u64.u32 %a, %t; mov.u32 %k, 0;
      more: add.u32 %i, %i, 32; add.u32 %j, %j, 5; add.u64 %a, %a, 64; cvt.u64.u32 %b, %j; add.u64 %q, %q, %b;
      add.u64 %q, %q, %a; add.u32 %k, %k, 1; setp.le.u32 %p, %k, %x; @%p bra more;
      cvt.u64.u32 %b, %i; mad.lo.u64 %q, %q, 1000, %b;"""
    want = []
    for t in threads(block)[0]:
        turns = t % 7 + 1
        total = sum(t + 5 * k + t + 64 * k for k in range(1, turns + 1))
        want.append(total * 1000 + t + 32 * turns)
    assert launched(device, kernel(text), block, 0) == want


def steps(body: str, rows: bool = True) -> dict[str, int]:
    """The registers of a kernel that are kept so, by name, with their steps."""
    module = parse(kernel(body), "k")
    analysis = analyse(module.functions["k"], "E", rows, "k")
    work = Lowering(analysis, Links(), module, "E0", "V")
    return {register.name: step for register, step in progressions.found(work, set()).items()}


def test_which_registers() -> None:
    found = steps("add.u32 %i, %t, %n; mul.wide.u32 %b, %i, 4; mul.wide.u32 %c, %t, 4; add.u64 %a, %b, %c;")
    assert found["%i"] == 1
    assert found["%c"] == 4
    assert "%b" not in found  # may wrap around
    assert not steps("add.u32 %i, %t, %n;", rows=False)
    found = steps("shr.u32 %i, %t, 1; max.u32 %j, %t, 5; setp.lt.u32 %p, %t, 3; @%p add.u32 %k, %t, 1;")
    assert not {"%i", "%j", "%k"} & found.keys()


COMPARED = r"icmp s\w+ <32 x i32> (%t\d+),"
"""A comparison of all lanes' numbers."""
BOUNDS = {
    "one block": ("setp.gt.s32 %p, %i, 3; setp.lt.s32 %r, %i, %n; and.pred %p, %p, %r; @!%p bra out;", 1),
    "two blocks": ("setp.le.s32 %p, %i, 3; @%p bra out; setp.ge.s32 %r, %i, %n; @%r bra out;", 1),
    "a barrier": ("setp.gt.s32 %p, %i, 3; bar.sync 0; setp.lt.s32 %r, %i, %n; and.pred %p, %p, %r; @!%p bra out;", 2),
    "another number": ("setp.gt.s32 %p, %i, 3; add.u32 %i, %i, 1; setp.lt.s32 %r, %i, %n; and.pred %p, %p, %r;"
                       "@!%p bra out;", 2),
    "a loop": ("setp.le.s32 %p, %i, 3; @%p bra out;"
               "more: add.u32 %i, %i, %z; setp.lt.s32 %r, %i, %n; @%r bra more;", 2),
}  # fmt: skip


def bounded(tests: str) -> str:
    """Threads of a grid that come through tests of their number, below %n and above 3, store it, as it is then."""
    return f"""{HEAD}.visible .entry k (.param .u64 po, .param .u32 pn) {{
  .reg .u64 %o, %x; .reg .u32 %t, %n, %z, %c, %i, %j; .reg .pred %p, %r;
  ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; mov.u32 %t, %tid.x; mov.u32 %z, %ntid.x; mov.u32 %c, %ctaid.x;
  mad.lo.u32 %i, %c, %z, %t; mov.u32 %j, %i;
  {tests}
  mul.wide.u32 %x, %j, 4; add.u64 %x, %x, %o; st.global.u32 [%x], %i; out: ret; }}"""


@pytest.mark.parametrize("case", BOUNDS)
def test_numbers_are_made_once_for_comparisons(case: str) -> None:
    tests, count = BOUNDS[case]
    module = parse(bounded(tests))
    text, _ = lower(module.functions["k"], "E", True, Links(), module, "k")
    assert len({*re.findall(COMPARED, text)}) == count


@pytest.mark.parametrize("case", BOUNDS)
@pytest.mark.parametrize("threads", [32, 48, 64])
def test_comparisons_of_numbers_made_once(device: Device, threads: int, case: str) -> None:
    end, number = 3 * threads, 2 * threads + 5
    out = device.upload(bytes(4 * end))
    device.load(bounded(BOUNDS[case][0])).function("k").launch((3, 1, 1), (threads, 1, 1), [out, number])
    wanted = [i if 3 < i < number else 0 for i in range(end)]
    if case == "another number":
        wanted = [i + 1 if i > 3 and i + 1 < number else 0 for i in range(end)]
    if case == "a loop":
        wanted = [
            next(i + k * threads for k in range(1, 9) if i + k * threads >= number) if i > 3 else 0 for i in range(end)
        ]
    assert np.frombuffer(device.download(out, 4 * end), "<u4").tolist() == wanted
