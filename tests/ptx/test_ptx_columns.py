"""Columns of arrays in shared memory: lanes whose addresses are a constant apart, forwards and backwards, some off."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]

pytestmark = needs_executor

MASKS = {
    "all": "setp.ge.u32 %p, %t, 0;",
    "first half": "setp.lt.u32 %p, %t, 16;",
    "last": "setp.eq.u32 %p, %t, 31;",
    "middle": "setp.gt.u32 %p, %t, 7; setp.lt.u32 %q, %t, 20; and.pred %p, %p, %q;",
    "few": "setp.gt.u32 %p, %t, 2; setp.lt.u32 %q, %t, 9; and.pred %p, %p, %q;",
    "all but two": "setp.gt.u32 %p, %t, 0; setp.lt.u32 %q, %t, 31; and.pred %p, %p, %q;",
    "odd": "and.b32 %i, %t, 1; setp.eq.u32 %p, %i, 1;",
    "none": "setp.gt.u32 %p, %t, 99;",
}
ACTIVE = {
    "all": range(32),
    "first half": range(16),
    "last": range(31, 32),
    "middle": range(8, 20),
    "few": range(3, 9),
    "all but two": range(1, 31),
    "odd": range(1, 32, 2),
    "none": range(0),
}


def kernel(step: int, start: int, kind: str, mask: str, size: int, guarded: bool = False) -> str:
    """Active lanes double what they load from `start + step * lane` of an array of `size` bytes, and store it there.

    They are those that come to it, or, `guarded`, those whose predicate is set."""
    jump, guard = ("", "@%p ") if guarded else ("@!%p bra none;", "")
    wide = kind[1:] == "64"
    register, words = ("%v", "u64") if wide else ("%i", "u32")
    return f"""{HEAD}.shared .align 16 .b8 box[{size}];
.visible .entry k (.param .u64 po) {{ .reg .u64 %o, %x, %y, %a, %v; .reg .u32 %t, %i, %j; .reg .pred %p, %q;
  ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mov.u64 %a, box; mov.u32 %j, %t;
  fill: mad.wide.u32 %x, %j, 4, %a; st.shared.u32 [%x], %j; add.u32 %j, %j, 32; setp.lt.u32 %p, %j, {size // 4};
  @%p bra fill; bar.sync 0; {MASKS[mask]}
  mad.wide.s32 %x, %t, {step}, %a; {jump}
  {guard}ld.shared.{words} {register}, [%x+{start}]; add.{words} {register}, {register}, {register};
  {guard}st.shared.{words} [%x+{start}], {register};
  none: bar.sync 0; mov.u32 %j, %t;
  show: mad.wide.u32 %x, %j, 4, %a; ld.shared.u32 %i, [%x]; mad.wide.u32 %y, %j, 4, %o; st.global.u32 [%y], %i;
  add.u32 %j, %j, 32; setp.lt.u32 %p, %j, {size // 4}; @%p bra show; ret; }}
"""


def launched(device: Device, text: str, size: int) -> np.ndarray:
    out = device.upload(bytes(size))
    device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [out])
    return np.frombuffer(device.download(out, size), dtype=np.uint32)


@pytest.mark.slow(sample=123)
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    ("kind", "step"), [("u32", 8), ("u32", 12), ("u32", 132), ("u32", -4), ("u32", -128), ("u64", 16), ("u64", -264)]
)
def test_columns(device: Device, kind: str, step: int, mask: str, guarded: bool) -> None:
    """The array ends soon behind the last active lane's element: lanes that are off are outside of it."""
    lanes, each = ACTIVE[mask], int(kind[1:]) // 8
    first = min((step * lane for lane in lanes), default=0)
    start = -first  # the least address is the array's begin
    size = -(-max([start + step * lane + each for lane in lanes], default=128) // 128) * 128
    want = np.arange(size // 4, dtype=np.uint32)
    for lane in lanes:
        at = (start + step * lane) // 4
        if each == 8:
            number = (int(want[at]) | int(want[at + 1]) << 32) * 2
            want[at], want[at + 1] = number & 0xFFFFFFFF, number >> 32 & 0xFFFFFFFF
        else:
            want[at] = want[at] * np.uint32(2)
    assert launched(device, kernel(step, start, kind, mask, size, guarded), size).tolist() == want.tolist()


@pytest.mark.parametrize("step", [132, -132])
def test_the_lane_that_leaves_the_array_is_told(step: int) -> None:
    """Lane 19 is the last that is on, and beyond the block's shared memory."""
    start = 0 if step > 0 else 132 * 18
    text = kernel(step, start, "u32", "middle", 128 * 19)
    with Device(1 << 22) as plain, pytest.raises(ExecutorError, match=r"illegal address .* thread \(19,0,0\)"):
        launched(plain, text, 4096)
