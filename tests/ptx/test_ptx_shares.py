"""Which blocks the host threads of a launch run: each a part of the grid, and each block once."""

from __future__ import annotations

import struct

import pytest
from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, Kernel

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

# Each block draws a number, and leaves it in its own word, with one for having run.  Then it works for a while.
DRAWN = (
    HEAD
    + """
.visible .entry k (.param .u64 p, .param .u32 turns)
{
  .reg .pred %q; .reg .u64 %p, %a; .reg .u32 %b, %n, %t, %i;
  ld.param.u64 %p, [p]; ld.param.u32 %i, [turns];
  mov.u32 %b, %ctaid.x; mov.u32 %t, %tid.x;
  setp.ne.u32 %q, %t, 0; @%q bra done;
  atom.global.add.u32 %n, [%p], 1;
  mad.wide.u32 %a, %b, 8, %p;
  st.global.u32 [%a+8], %n;
  red.global.add.u32 [%a+12], 1;
work:
  setp.eq.u32 %q, %i, 0; @%q bra done;
  mad.lo.u32 %t, %t, 1664525, %i;
  sub.u32 %i, %i, 1;
  bra work;
done:
  setp.ne.u32 %q, %t, 1; @%q st.global.u32 [%p+4], %t;
  ret;
}
"""
)


@pytest.fixture
def kernel(device: Device) -> Kernel:
    """The kernel."""
    return device.load(DRAWN).function("k")


def numbers(kernel: Kernel, blocks: int, threads: int, turns: int = 0, seed: int = 0) -> list[int]:
    """What each block has drawn; each has run once."""
    device = kernel.module.device
    size = 8 * (blocks + 1)
    memory = device.upload(bytes(size))
    kernel.launch((blocks, 1, 1), (1, 1, 1), [memory, turns], threads=threads, seed=seed)
    words = struct.unpack(f"<{2 * blocks + 2}I", device.download(memory, size))
    assert set(words[3::2]) == {1}
    assert sorted(words[2::2]) == list(range(blocks))
    return list(words[2::2])


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64, 65])
@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 63, 64, 65, 66, 1000, 4099])
def test_every_block_runs_once(kernel: Kernel, blocks: int, threads: int) -> None:
    numbers(kernel, blocks, threads)
    numbers(kernel, blocks, threads, seed=3)


def test_one_host_thread_goes_through_the_grid_in_order(kernel: Kernel) -> None:
    assert numbers(kernel, 1000, 1) == list(range(1000))


def test_two_host_threads_begin_at_two_places() -> None:
    """The second one in the middle of the grid, long before the first is there, where it comes in time at all."""
    with Device(1 << 22) as device:
        kernel = device.load(DRAWN).function("k")
        assert any(numbers(kernel, 512, 2, turns=20_000)[256] < 128 for _ in range(200))


def test_blocks_that_may_wait_for_others_begin_in_their_order() -> None:
    """None before those in front of it have been taken: each host thread takes four here."""
    waiting = DRAWN.replace("  sub.u32 %i, %i, 1;\n", "  ld.volatile.global.u32 %n, [%p]; sub.u32 %i, %i, 1;\n")
    with Device(1 << 22) as device:
        kernel = device.load(waiting).function("k")
        for _ in range(20):
            drawn = numbers(kernel, 512, 2, turns=2000)
            assert all(number >= block - 8 for block, number in enumerate(drawn))
