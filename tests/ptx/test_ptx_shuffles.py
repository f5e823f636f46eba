"""Shuffles of the two halves of 64 bits, which compilers make of one of a double, against a model."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import device, needs_executor, run

from gompy.ptx.device import Device

__all__ = ["device"]

pytestmark = needs_executor

LANES = np.arange(32)
SOURCES = {
    ("down", 3): np.where(LANES + 3 < 32, LANES + 3, LANES),
    ("up", 5): np.where(LANES >= 5, LANES - 5, LANES),
    ("bfly", 9): LANES ^ 9,
    ("idx", 7): np.full(32, 7),
}
WAYS = {
    "mov.b64 {%r0, %r1}, %a0;": (0, 0),
    "cvt.u32.u64 %r0, %a0; {.reg .b32 tmp; mov.b64 {tmp, %r1}, %a0;}": (0, 0),
    "mov.b64 {%r0, %r1}, %a0; add.u64 %a0, %a0, 9;": (0, 0),  # the halves are of what it was
    "mov.b64 {%r1, %r0}, %a0;": (1, 0),
    "mov.b64 {%r0, %r1}, %a0; add.u32 %r1, %r1, 1;": (0, 1),
}
"""How a number is taken apart: whether the halves change places, and what is added to the high one."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", SOURCES)
def test_two_halves(device: Device, mode: tuple[str, int], way: str) -> None:
    bounds = 0 if mode[0] == "up" else 31
    body = f"""mul.wide.u32 %x, %t, 8; add.u64 %x, %d, %x; ld.global.u64 %a0, [%x]; {way}
      shfl.sync.{mode[0]}.b32 %r2, %r0, {mode[1]}, {bounds}, -1;
      shfl.sync.{mode[0]}.b32 %r3, %r1, {mode[1]}, {bounds}, -1;
      cvt.u64.u32 %a1, %r2; cvt.u64.u32 %a2, %r3; shl.b64 %a2, %a2, 32; or.b64 %a1, %a1, %a2; mov.b64 {{%r2, %r3}}, %a1;
      st.global.u32 [%o], %r2; st.global.u32 [%o+128], %r3;"""
    data = np.random.default_rng(1).integers(0, 1 << 32, (32, 2), dtype="<u4")
    swapped, more = WAYS[way]
    low, high = data[:, swapped], data[:, 1 - swapped] + np.uint32(more)
    found = run(device, body, data.tobytes())
    assert (found[:32] == low[SOURCES[mode]]).all()
    assert (found[32:64] == high[SOURCES[mode]]).all()


@pytest.mark.parametrize("given", ["number", "register", "memory"])
@pytest.mark.parametrize("amount", ["number", "register", "memory"])
@pytest.mark.parametrize("bounds", [0x1F, 0x101F, 0x181F, 0x1C1F, 0x1E1F, 0x1F1F, 0x03, 0x1003, 0x0F])
def test_one_lane_of_each_part(device: Device, bounds: int, amount: str, given: str) -> None:
    """shfl.idx of one lane's number: the same for all only if the warp is one part and no lane is beyond the clamp."""
    lane = 5
    begin = {
        "number": ("", str(bounds)),
        "register": (f"mov.b32 %r4, {bounds};", "%r4"),
        "memory": ("ld.global.u32 %r4, [%d];", "%r4"),
    }[given]
    which = {
        "number": ("", str(lane)),
        "register": (f"mov.b32 %r5, {lane};", "%r5"),
        "memory": ("ld.global.u32 %r5, [%d+4];", "%r5"),
    }[amount]
    body = f"""{begin[0]} {which[0]} mul.lo.u32 %r0, %t, 3; shfl.sync.idx.b32 %r1, %r0, {which[1]}, {begin[1]}, -1;
      add.u32 %r1, %r1, 1; st.global.u32 [%o], %r1;"""
    segment, clamp = bounds >> 8 & 31, bounds & 31
    source = LANES & segment | lane & ~segment
    source = np.where(source <= (LANES & segment | clamp & ~segment), source, LANES)
    found = run(device, body, np.array([bounds, lane], dtype="<u4").tobytes())
    assert (found[:32] == source * 3 + 1).all()
