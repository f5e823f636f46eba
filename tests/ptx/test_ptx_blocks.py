"""Blocks and warps: each block runs once, joins and barriers have all lanes, rows of 16 threads store one word each."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_MEMORY, LIBRARY, Device

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"


def run(text: str, name: str, grid: tuple[int, int, int], block: tuple[int, int, int], count: int) -> list[int]:
    with Device() as device:
        a = device.upload(bytes(4 * count))
        device.load(HEAD + text).function(name).launch(grid, block, arguments=[a])
        return list(struct.unpack(f"<{count}I", device.download(a, 4 * count)))


@pytest.mark.parametrize("grid", [(1, 1, 1), (129, 1, 1), (1000, 1, 1), (37, 41, 3), (4099, 1, 1)])
def test_each_block_runs_once(grid: tuple[int, int, int]) -> None:
    text = """.visible .entry once (.param .u64 a) { .reg .u64 %a, %p; .reg .u32 %x, %y, %z, %n; .reg .pred %c;
      ld.param.u64 %a, [a]; mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z;
      mov.u32 %n, %nctaid.y; mad.lo.u32 %y, %z, %n, %y; mov.u32 %n, %nctaid.x; mad.lo.u32 %x, %y, %n, %x;
      mul.wide.u32 %p, %x, 4; add.s64 %p, %a, %p; mov.u32 %y, %tid.x; setp.eq.u32 %c, %y, 40;
      @%c atom.global.inc.u32 %z, [%p], 99; ret; }"""
    count = grid[0] * grid[1] * grid[2]
    assert run(text, "once", grid, (41, 1, 1), count) == [1] * count


@pytest.mark.parametrize("grid", [(130, 1, 1), (1, 130, 1), (1, 1, 130), (37, 41, 3), (2, 1, 99), (3, 2, 50)])
def test_each_block_knows_its_place(grid: tuple[int, int, int]) -> None:
    """Where one call runs a whole block, the next one's place comes from that of the one before."""
    text = """.visible .entry place (.param .u64 a) { .reg .u64 %a, %p; .reg .u32 %x, %y, %z, %n, %i; .reg .pred %c;
      ld.param.u64 %a, [a]; mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %z, %ctaid.z;
      mov.u32 %n, %nctaid.y; mad.lo.u32 %i, %z, %n, %y; mov.u32 %n, %nctaid.x; mad.lo.u32 %i, %i, %n, %x;
      shl.b32 %y, %y, 8; shl.b32 %z, %z, 16; add.u32 %x, %x, %y; add.u32 %x, %x, %z;
      mov.u32 %y, %tid.x; setp.lt.u32 %c, %y, 32; @%c bra $E;
      mad.lo.u32 %i, %i, 32, %y; sub.u32 %i, %i, 32; mul.wide.u32 %p, %i, 4; add.s64 %p, %a, %p; st.global.u32 [%p], %x;
$E:   ret; }"""
    blocks = [x + 256 * y + 65536 * z for z in range(grid[2]) for y in range(grid[1]) for x in range(grid[0])]
    assert run(text, "place", grid, (64, 1, 1), 32 * len(blocks)) == [block for block in blocks for _ in range(32)]


TREE = """.shared .align 4 .b8 t[1024];
.visible .entry tree (.param .u64 a) { .reg .u64 %a, %p, %q; .reg .u32 %x, %i, %v, %w; .reg .pred %c;
  ld.param.u64 %a, [a]; mov.u32 %x, %ctaid.x; mov.u32 %i, %tid.x; add.u32 %v, %i, %x;
  mul.wide.u32 %p, %i, 4; mov.u64 %q, t; add.s64 %q, %q, %p; st.shared.u32 [%q], %v; bar.sync 0;
  STEPS
  setp.ne.u32 %c, %i, 0; @%c bra $E; mul.wide.u32 %p, %x, 4; add.s64 %p, %a, %p; st.global.u32 [%p], %v;
$E: ret; }"""
"""A tree of sums, unrolled: a barrier of each step is another place of the code."""
STEP = """setp.ge.u32 %c, %i, N; @%c bra $SN;
  ld.shared.u32 %w, [%q+M]; ld.shared.u32 %v, [%q]; add.u32 %v, %v, %w; st.shared.u32 [%q], %v;
$SN: bar.sync 0;"""


@pytest.mark.parametrize("threads", [32, 64, 256])
def test_a_tree_of_sums(threads: int) -> None:
    steps, n = [], threads // 2
    while n:
        steps.append(STEP.replace("N", str(n)).replace("M", str(4 * n)))
        n //= 2
    found = run(TREE.replace("STEPS", "\n".join(steps)), "tree", (300, 1, 1), (threads, 1, 1), 300)
    assert found == [threads * (threads - 1) // 2 + threads * x for x in range(300)]


ROWS = """.shared .align 4 .b8 t[64];
.visible .entry rows (.param .u64 a) { .reg .u64 %a, %p, %q; .reg .u32 %x, %y, %v, %n; .reg .pred %c;
  ld.param.u64 %a, [a]; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; shl.b32 %v, %y, 8; add.u32 %v, %v, %x;
  mul.wide.u32 %p, %y, 4; mov.u64 %q, t; add.s64 %q, %q, %p; setp.eq.u32 %c, %x, LANE; @!%c bra $N;
  st.shared.u32 [%q], %v;
$N: bar.sync 0;
  setp.ne.u32 %c, %x, 3; @%c bra $E; ld.shared.u32 %v, [%q]; add.s64 %p, %a, %p; st.global.u32 [%p], %v;
$E: ret; }"""
"""One thread of each row writes a word of its own."""


@pytest.mark.parametrize("lane", [0, 5, 15])
@pytest.mark.parametrize("rows", [1, 2, 5, 16])
def test_rows_store_one_word(lane: int, rows: int) -> None:
    found = run(ROWS.replace("LANE", str(lane)), "rows", (1, 1, 1), (16, rows, 1), 16)
    assert found == [256 * y + lane for y in range(rows)] + [0] * (16 - rows)


def test_one_of_the_lanes_of_a_row_wins() -> None:
    """All threads of a row write its word."""
    text = ROWS.replace("setp.eq.u32 %c, %x, LANE; @!%c bra $N;", "")
    assert [v >> 8 for v in run(text, "rows", (1, 1, 1), (16, 16, 1), 16)] == [*range(16)]


def test_checked_code_agrees() -> None:
    text = HEAD + ROWS.replace("LANE", "7")
    with Device(1 << 24, CHECK_MEMORY) as device:
        a = device.upload(bytes(64))
        device.load(text).function("rows").launch((1, 1, 1), (16, 16, 1), arguments=[a])
        assert struct.unpack("<16I", device.download(a, 64)) == tuple(256 * y + 7 for y in range(16))
