"""Blocks whose rows are no multiple of 32 threads: what is known of half a warp's addresses without looking at them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]

pytestmark = needs_executor

BLOCKS = [(16, 16, 1), (16, 3, 1), (16, 2, 5), (48, 3, 1), (24, 4, 1), (20, 5, 2), (8, 8, 3), (5, 1, 7), (1, 40, 1)]


def kernel(columns: int) -> str:
    """A tile with an edge in shared memory: each thread stores its word, and adds up those left and right of it, above,
    and in the middle; all others are 1."""
    pitch = 4 * (columns + 2)
    return f"""{HEAD}.shared .align 4 .b8 tile[16384];
.visible .entry k (.param .u64 po, .param .u64 pi, .param .u32 ps) {{
  .reg .u64 %o, %i, %a, %b, %c, %d, %e; .reg .u32 %x, %y, %n, %m, %s, %v<6>, %t; .reg .pred %p;
  ld.param.u64 %o, [po]; ld.param.u64 %i, [pi]; ld.param.u32 %s, [ps];
  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %n, %tid.z; mov.u32 %m, %ntid.y; mad.lo.u32 %y, %n, %m, %y;
  mov.u32 %m, %ntid.z; mov.u32 %n, %ntid.y; mul.lo.u32 %m, %m, %n; mad.lo.u32 %t, %y, {columns}, %x;
  mov.u64 %b, tile; mov.u32 %n, %t; mov.u32 %v0, 1;
  fill: mad.wide.u32 %a, %n, 4, %b; st.shared.u32 [%a], %v0; add.u32 %n, %n, 32; setp.lt.u32 %p, %n, 4096;
  @%p bra fill; bar.sync 0;
  add.u32 %n, %t, %s; mul.wide.s32 %a, %n, 4; add.s64 %a, %i, %a; ld.global.u32 %v1, [%a];
  mul.wide.s32 %c, %y, {pitch}; add.s64 %d, %b, %c; mul.wide.s32 %e, %x, 4; add.s64 %d, %d, %e;
  st.shared.u32 [%d+{pitch + 4}], %v1; bar.sync 0;
  ld.shared.u32 %v2, [%d+{pitch}]; ld.shared.u32 %v3, [%d+{pitch + 8}]; ld.shared.u32 %v4, [%d+4];
  add.s64 %c, %c, %e; add.s64 %c, %c, %b; ld.shared.u32 %v5, [%c+{pitch + 4}];
  add.u32 %v2, %v2, %v3; add.u32 %v4, %v4, %v5; add.u32 %v2, %v2, %v4;
  cvt.s64.s32 %e, %t; shl.b64 %e, %e, 2; add.s64 %e, %o, %e; st.global.u32 [%e], %v2; ret; }}
"""


def launched(
    device: Device, text: str, block: tuple[int, int, int], data: np.ndarray, far: int, start: int
) -> list[int]:
    out = device.upload(bytes(data.nbytes))
    arguments = [out, device.upload(data.tobytes()) + far, start & 0xFFFFFFFF]
    device.load(text).function("k").launch((1, 1, 1), block, arguments)
    return [int(word) for word in np.frombuffer(device.download(out, data.nbytes), "<u4")]


@pytest.mark.parametrize("start", [0, -7])
@pytest.mark.parametrize("block", BLOCKS)
def test_tiles_of_blocks_of_any_shape(device: Device, block: tuple[int, int, int], start: int) -> None:
    columns, rows = block[0], block[1] * block[2]
    data = np.arange(columns * rows, dtype="<u4") * 7 + 3
    tile = np.ones((rows + 2, columns + 2), "<u4")
    tile[1:-1, 1:-1] = data.reshape(rows, columns)
    want = tile[1:-1, :-2] + tile[1:-1, 2:] + tile[:-2, 1:-1] + tile[1:-1, 1:-1]
    assert launched(device, kernel(columns), block, data, -4 * start, start) == want.ravel().tolist()


@pytest.mark.parametrize("lanes", [5, 16, 21])
def test_numbers_that_wrap_within_a_half(device: Device, lanes: int) -> None:
    """Words from 2^31 - lanes on, where the array seems to begin: the next one is 16 GiB before it."""
    first = (1 << 31) - lanes
    data = np.zeros(256, "<u4")
    with pytest.raises(ExecutorError, match=rf"illegal address .* read .*thread .{lanes % 16},{lanes // 16},0."):
        launched(device, kernel(16), (16, 2, 1), data, -4 * first, first)
