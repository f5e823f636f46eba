"""Numbers of threads, of which parts tell warps and lanes apart: what is known holds for blocks of any shape."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device
from gompy.ptx.parser import parse
from gompy.ptx.uniform import Analysis, analyse

__all__ = ["device"]

pytestmark = needs_executor

BLOCKS = [(32, 1, 1), (64, 1, 1), (96, 2, 1), (32, 3, 2), (48, 1, 1), (33, 1, 1), (100, 1, 1), (16, 4, 1), (7, 1, 1)]
GRID = 3
PARTS = [
    ("shr.u32 %r, %i, 5", lambda i: i >> 5),
    ("shr.u32 %r, %i, 9", lambda i: i >> 9),
    ("shr.s32 %r, %i, 5", lambda i: (i.astype("<i4") >> 5).astype("<u4")),
    ("shr.s32 %r, %i, 31", lambda i: (i.astype("<i4") >> 31).astype("<u4")),
    ("and.b32 %r, %i, -32", lambda i: i & 0xFFFFFFE0),
    ("and.b32 %r, %i, 31", lambda i: i & 31),
    ("and.b32 %r, %i, 127", lambda i: i & 127),
    ("div.u32 %r, %i, 96", lambda i: i // 96),
    ("div.u32 %r, %i, 48", lambda i: i // 48),
    ("rem.u32 %r, %i, 32", lambda i: i % 32),
    ("rem.u32 %r, %i, 96", lambda i: i % 96),
    ("shr.u32 %r, %x, 5", None),
]
"""Statements, and what they make of the number of a thread in the grid, by numpy."""


def numbers(block: tuple[int, int, int], start: int) -> tuple[np.ndarray, np.ndarray]:
    """`start` and the block's number times its width and the thread's x: of all threads; and their x alone."""
    x = np.tile(np.arange(block[0], dtype="<u4"), GRID * block[1] * block[2])
    blocks = np.repeat(np.arange(GRID, dtype="<u4"), block[0] * block[1] * block[2])
    return (blocks * np.uint32(block[0]) + x + np.uint32(start & 0xFFFFFFFF)).astype("<u4"), x


def kernel(body: str, extra: str = "") -> str:
    """Threads store %r; %i is the number of the thread in a row of the grid, %n a parameter, %x the thread's."""
    return f"""{HEAD}.visible .entry k (.param .u64 po, .param .u64 pi, .param .u32 pn) {{
  .reg .u64 %o, %d, %w; .reg .u32 %x, %y, %z, %b, %n, %i, %r, %t, %u, %k, %f; .reg .pred %p;
  ld.param.u64 %o, [po]; ld.param.u64 %d, [pi]; ld.param.u32 %n, [pn]; mov.u32 %x, %tid.x; mov.u32 %r, 0;
  mov.u32 %b, %ctaid.x; mov.u32 %y, %ntid.x; mad.lo.u32 %i, %b, %y, %x; {extra}
  {body};
  mov.u32 %z, %tid.z; mov.u32 %t, %ntid.y; mov.u32 %u, %tid.y; mad.lo.u32 %z, %z, %t, %u; mad.lo.u32 %x, %z, %y, %x;
  mov.u32 %u, %ntid.z; mul.lo.u32 %t, %t, %u; mul.lo.u32 %t, %t, %y; mad.lo.u32 %x, %b, %t, %x;
  mul.wide.u32 %w, %x, 4; add.u64 %o, %o, %w; st.global.u32 [%o], %r; ret; }}
"""


def launched(device: Device, text: str, block: tuple[int, int, int], data: np.ndarray, number: int) -> list[int]:
    """What the threads of a grid store, in their order."""
    count = GRID * block[0] * block[1] * block[2]
    out = device.upload(bytes(4 * count))
    arguments = [out, device.upload(data.tobytes()), number & 0xFFFFFFFF]
    device.load(text).function("k").launch((GRID, 1, 1), block, arguments)
    return [int(word) for word in np.frombuffer(device.download(out, 4 * count), "<u4")]


@pytest.mark.parametrize("start", [0, -64, 1 << 31])
@pytest.mark.parametrize("block", BLOCKS)
def test_parts_of_a_number(device: Device, block: tuple[int, int, int], start: int) -> None:
    i, x = numbers(block, start)
    want = np.zeros_like(i)
    for _, model in PARTS:
        want = (want * np.uint32(31) + (model(i) if model else x >> 5)).astype("<u4")
    text = "; ".join(f"{part}; mad.lo.u32 %f, %f, 31, %r" for part, _ in PARTS)
    found = launched(device, kernel(f"mov.u32 %f, 0; {text}; mov.u32 %r, %f", f"add.u32 %i, %i, {start};"), block, i, 0)
    assert found == want.tolist()


def analysed(text: str, rows: bool) -> tuple[Analysis, set[str]]:
    """A kernel's analysis, and the names of registers that vary."""
    found = analyse(parse(kernel(text), "k").functions["k"], "E", rows, "k")
    return found, {register.name for register in found.varying}


def test_what_is_the_same_in_all_lanes() -> None:
    found, varying = analysed("shr.u32 %r, %i, 5", True)
    assert "%r" not in varying
    assert found.aligned
    found, varying = analysed("shr.u32 %r, %x, 5", True)
    assert "%r" not in varying
    assert not found.aligned  # no block's width is a factor
    others = ["shr.u32 %r, %i, 4", "add.u32 %u, %i, 1; shr.u32 %r, %u, 5", "and.b32 %r, %i, 63", "div.s32 %r, %i, 32"]
    for text in others:
        assert "%r" in analysed(text, True)[1]
    found, varying = analysed("shr.u32 %r, %i, 5", False)
    assert "%r" in varying
    assert not found.aligned


@pytest.mark.parametrize("block", BLOCKS)
def test_a_row_for_each_warp(device: Device, block: tuple[int, int, int]) -> None:
    """The lanes of a warp go through a row of their own, where there are so many; then add what follows it."""
    i, _ = numbers(block, 0)
    starts = np.cumsum(np.arange(64, dtype="<u4") * 7 % 75)
    data = np.concatenate([starts, np.arange(6000, dtype="<u4") * 2654435761 & 0xFFFF]).astype("<u4")
    rows = int(i.max()) // 32  # the last warp has none
    want = []
    for number in i:
        row, lane, total = number >> 5, number & 31, 0
        if row < rows:
            total = 5 + sum(int(word) for word in data[64 + starts[row] + lane : 64 + starts[row + 1] : 32])
        want.append(total)
    text = """shr.u32 %u, %i, 5; setp.ge.u32 %p, %u, %n; @%p bra end; mul.wide.u32 %w, %u, 4; add.u64 %w, %d, %w;
      ld.global.u32 %k, [%w]; ld.global.u32 %f, [%w+4]; and.b32 %t, %i, 31; add.u32 %k, %k, %t; mov.u32 %r, 5;
      setp.ge.u32 %p, %k, %f; @%p bra end; mul.wide.u32 %w, %k, 4; add.u64 %w, %d, %w;
      more: ld.global.u32 %t, [%w+256]; add.u32 %r, %r, %t; add.u64 %w, %w, 128; add.u32 %k, %k, 32;
      setp.lt.u32 %p, %k, %f; @%p bra more; end: mov.u32 %t, 0"""
    assert launched(device, kernel(text), block, data, rows) == want


@pytest.mark.parametrize("block", BLOCKS)
def test_numbers_that_lanes_keep_from_other_turns(device: Device, block: tuple[int, int, int]) -> None:
    """Lanes leave a loop after different turns, and have the number of their last one."""
    i, x = numbers(block, 0)
    turns = x % 5 + 1
    total = sum(np.where(turn < turns, i + 32 * turn >> 5, 0) for turn in range(5))
    want = total + 1000 * (i + 32 * (turns - 1) >> 5) + 100000 * (i + 32 * turns >> 5)
    text = """rem.u32 %t, %x, 5; add.u32 %t, %t, 1; mov.u32 %k, 0; mov.u32 %f, 0;
      more: add.u32 %u, %i, %f; shr.u32 %z, %u, 5; add.u32 %r, %r, %z; add.u32 %f, %f, 32; add.u32 %k, %k, 1;
      setp.lt.u32 %p, %k, %t; @%p bra more; shr.u32 %u, %u, 5; mad.lo.u32 %r, %u, 1000, %r; add.u32 %u, %i, %f;
      shr.u32 %u, %u, 5; mad.lo.u32 %r, %u, 100000, %r"""
    assert launched(device, kernel(text), block, np.zeros(1, "<u4"), 0) == (want & 0xFFFFFFFF).tolist()
