"""Loads of parts of words, by lanes that follow each other: nothing behind the block is read, where memory may end."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor

from gompy.ptx.device import CHECK_RACE, Device

pytestmark = needs_executor
PAGE, SIZE, READ_AND_WRITE = 4096, 1 << 14, 3
libc = ctypes.CDLL(None)


@pytest.mark.parametrize("check", [0, CHECK_RACE], ids=["plain", "race"])
@pytest.mark.parametrize(("kind", "at"), [("u16", 0), ("u16", 2), ("u8", 0), ("u8", 1), ("u8", 3), ("v2.u8", 2)])
@pytest.mark.parametrize("threads", [32, 24], ids=["all", "some"])
def test_last_parts(check: int, kind: str, at: int, threads: int) -> None:
    """The block ends where a page does, and the last lane reads what is last in it."""
    target = "{%r, %s}" if kind[0] == "v" else "%r"
    with Device(1 << 24, check) as device:
        text = f"""{HEAD}.visible .entry k (.param .u64 po, .param .u64 pd) {{
.reg .u64 %o, %d; .reg .u32 %t, %r, %s; .reg .pred %p; mov.u32 %s, 0; ld.param.u64 %o, [po]; ld.param.u64 %d, [pd];
mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; mad.wide.u32 %d, %t, 4, %d; setp.ge.u32 %p, %t, {threads}; @%p bra end;
ld.global.{kind} {target}, [%d+{at}]; mad.lo.u32 %r, %s, 256, %r; st.global.u32 [%o], %r; end: ret; }}
"""
        data = np.arange(SIZE // 2, dtype=np.uint16)
        out = device.upload(bytes(128))
        place = device.allocate(SIZE + PAGE, PAGE)
        ctypes.memmove(place, data.tobytes(), SIZE)
        libc.mprotect(ctypes.c_void_p(place + SIZE), PAGE, 0)
        begin = SIZE - 4 * threads
        try:
            device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [out, place + begin])
        finally:
            libc.mprotect(ctypes.c_void_p(place + SIZE), PAGE, READ_AND_WRITE)
        found = np.frombuffer(device.download(out, 128), dtype=np.uint32)[:threads]
        bytes_of = data.view(np.uint8)[begin:].reshape(threads, 4)[:, at:].astype(np.uint32)
        wide = kind != "u8"
        assert found.tolist() == (bytes_of[:, 0] + (bytes_of[:, 1] * 256 if wide else 0)).tolist()
