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


def told(text: str, blocks: int, threads: int = 64, seed: int = 0) -> list[str]:
    """What is told of a launch of the ring's kernel: all of it but places."""
    with Device(1 << 22, CHECK_RACE) as made:
        kernel = made.load(text).function("ring")
        kernel.launch((blocks, 1, 1), (threads, 1, 1), [made.upload(bytes(4096))], together=True, seed=seed)
        return list(made.warnings)


def alone(instruction: str) -> str:
    """The ring, where the first thread does something more with the next block's word in each turn, at one of the
    places TURN, MIDDLE, END: before the barriers, between them, behind both."""
    place, text = instruction.split(": ", 1)
    marks = {"TURN": "turn:\n", "MIDDLE": "  mov.u32 %r11, 1;\n", "END": "done:\n"}
    return RING.replace(marks[place], f"{marks[place]}  {text}\n")


RIGHT = {
    "the ring": RING,
    "reads of the first barrier's side": alone("TURN: @%p ld.global.u32 %r7, [%next];"),
    "writes of its own word": alone("MIDDLE: @%p st.global.u32 [%mine], %r7;"),
    "reads behind the second": alone("END: @%p ld.global.u32 %r7, [%next];"),
    "by acquire and release": RING.replace("membar.gl;", "")
    .replace("atom.global.add", "atom.acq_rel.gpu.global.add")
    .replace("ld.volatile.global.u32 %r10", "ld.acquire.gpu.global.u32 %r10"),
}
WRONG = {
    "no barrier of the grid": RING.replace("  @!%p bra passed;\n", "  bra passed;\n"),
    "a read between the barriers": alone("MIDDLE: @%p ld.global.u32 %r10, [%next];"),
    "a word of all before the first": alone("TURN: @%p st.global.u32 [%c+2048], %r2;"),
    "a word of all behind the second": alone("END: @%p st.global.u32 [%c+2048], %r2;"),
    "no fence before it": RING.replace("  membar.gl;\n  mov.u32 %r8", "  mov.u32 %r8"),
    "no fence and no barrier behind it": RING.replace("  membar.gl;\npassed:\n  bar.sync 0;", "passed:"),
}
"""Each thread 0 reads its neighbour's word, waits for all, and writes its own."""


@pytest.mark.parametrize(("blocks", "seed"), [(2, 0), (24, 0), (24, 5)])
@pytest.mark.parametrize("name", RIGHT)
def test_no_races(name: str, blocks: int, seed: int) -> None:
    assert told(RIGHT[name], blocks, seed=seed) == []


@pytest.mark.parametrize(("blocks", "seed"), [(2, 0), (24, 0), (24, 5)])
@pytest.mark.parametrize("name", WRONG)
def test_races(name: str, blocks: int, seed: int) -> None:
    assert any("blocks have no order among themselves" in line for line in told(WRONG[name], blocks, seed=seed))


def test_shared_memory_across_a_turn() -> None:
    """A block that waits for another one remembers what its warps have done since their last barrier."""
    read = "  ld.shared.u32 %r10, [tile];\n"
    text = RING.replace("  mov.u32 %r6, 0;\n", "  mov.u32 %r6, 0;\n  .shared .b32 tile;\n")
    before = text.replace(
        "  membar.gl;\n  mov.u32 %r8", "  @%p st.shared.u32 [tile], %r4;\n  membar.gl;\n  mov.u32 %r8"
    )
    assert told(before.replace("passed:\n  bar.sync 0;", f"passed:\n{read}  bar.sync 0;"), 3)
    assert told(before.replace("passed:\n  bar.sync 0;", f"passed:\n  bar.sync 0;\n{read}  bar.sync 0;"), 3) == []


def test_one_that_fails_ends_all_where_races_are_looked_for() -> None:
    with pytest.raises(ExecutorError) as failure:
        told(RING.replace("turn:\n", "turn:\n  setp.eq.u32 %q, %r2, 2; @%q trap;\n"), 8)
    assert failure.value.code == 719


def test_the_next_launch_takes_no_turns() -> None:
    with Device(1 << 22, CHECK_RACE) as made:
        module = made.load(RING)
        cells = made.upload(bytes(4096))
        for blocks in (3, 1, 24):
            module.function("ring").launch((blocks, 1, 1), (64, 1, 1), [cells], together=True)
        made.load(RING.replace("@!%p bra passed", "bra passed")).function("ring").launch((3, 1, 1), (64, 1, 1), [cells])
        assert any(line.startswith("race on") for line in made.warnings)
