"""Launches whose blocks run together: each waits for all others, by the words that %envreg1 and %envreg2 lead to."""

from __future__ import annotations

import numpy as np
import pytest
from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import CHECK_RACE, Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

TURNS = 4
RING = (
    HEAD
    + f"""
.visible .entry ring (.param .u64 cells)
{{
  .reg .u64 %c, %b, %low, %high, %mine, %next; .reg .u32 %r<12>; .reg .pred %p, %q, %s;
  ld.param.u64 %c, [cells];
  mov.u32 %r0, %envreg1; mov.u32 %r1, %envreg2;
  cvt.u64.u32 %low, %r0; cvt.u64.u32 %high, %r1; shl.b64 %high, %high, 32; or.b64 %b, %low, %high;
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %tid.x;
  setp.eq.u32 %p, %r4, 0;
  mad.wide.u32 %mine, %r2, 4, %c;
  add.u32 %r5, %r2, 1; rem.u32 %r5, %r5, %r3; mad.wide.u32 %next, %r5, 4, %c;
  mov.u32 %r6, 0;
turn:
  @%p ld.global.u32 %r7, [%next];
  mov.u32 %r11, 0;
barrier:
  bar.sync 0;
  @!%p bra passed;
  membar.gl;
  mov.u32 %r8, 1; setp.eq.u32 %q, %r2, 0; @%q sub.u32 %r8, 0x80000001, %r3;
  atom.global.add.u32 %r9, [%b+4], %r8;
spin:
  ld.volatile.global.u32 %r10, [%b+4];
  xor.b32 %r10, %r10, %r9; and.b32 %r10, %r10, 0x80000000; setp.eq.u32 %s, %r10, 0;
  @%s bra spin;
  membar.gl;
passed:
  bar.sync 0;
  setp.eq.u32 %s, %r11, 1;
  @%s bra done;
  @%p add.u32 %r7, %r7, 1;
  @%p st.global.u32 [%mine], %r7;
  mov.u32 %r11, 1;
  bra barrier;
done:
  add.u32 %r6, %r6, 1; setp.lt.u32 %s, %r6, {TURNS}; @%s bra turn;
  ret;
}}
"""
)


@pytest.mark.parametrize(("blocks", "seed"), [(1, 0), (3, 0), (24, 0), (24, 5)])
def test_every_block_waits_for_all(device: Device, blocks: int, seed: int) -> None:
    """In each turn a block takes its neighbour's number of the turn before, and one more."""
    start = np.arange(100, 100 + blocks, dtype=np.uint32)
    cells = device.upload(start.tobytes())
    kernel = device.load(RING).function("ring")
    for launch in (1, 2):
        kernel.launch((blocks, 1, 1), (64, 1, 1), [cells], seed=seed, together=True)
        found = np.frombuffer(device.download(cells, 4 * blocks), dtype=np.uint32)
        assert list(found) == list(np.roll(start, -TURNS * launch) + TURNS * launch)


def test_a_usual_launch_has_no_barrier(device: Device) -> None:
    text = (
        HEAD
        + """
.visible .entry k (.param .u64 to) { .reg .u64 %d; .reg .u32 %r<2>; ld.param.u64 %d, [to];
mov.u32 %r0, %envreg1; mov.u32 %r1, %envreg2; or.b32 %r0, %r0, %r1; st.global.u32 [%d], %r0; ret; }
"""
    )
    to = device.upload(b"\1\1\1\1")
    kernel = device.load(text).function("k")
    kernel.launch((1, 1, 1), (1, 1, 1), [to])
    assert device.download(to, 4) == bytes(4)
    kernel.launch((1, 1, 1), (1, 1, 1), [to], together=True)
    assert device.download(to, 4) != bytes(4)


def test_one_that_fails_ends_all(device: Device) -> None:
    """The others wait for it at the barrier."""
    text = RING.replace("turn:\n", "turn:\n  setp.eq.u32 %q, %r2, 2; @%q trap;\n")
    with pytest.raises(ExecutorError) as failure:
        device.load(text).function("ring").launch((8, 1, 1), (32, 1, 1), [device.upload(bytes(64))], together=True)
    assert failure.value.code == 719


def test_not_with_races() -> None:
    with Device(1 << 22, CHECK_RACE) as made:
        kernel = made.load(RING).function("ring")
        with pytest.raises(ExecutorError) as failure:
            kernel.launch((2, 1, 1), (32, 1, 1), [made.upload(bytes(64))], together=True)
    assert failure.value.code == 801
    assert "cooperative launches with GOMPY_CHECK=race are not implemented" in failure.value.log
