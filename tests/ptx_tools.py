"""Help for tests of single forms of PTX: a device, plain and with checks, and a kernel around a few instructions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device

needs_executor = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


@pytest.fixture(params=[0, CHECK_MEMORY | CHECK_INIT | CHECK_SYNC], ids=["plain", "checked"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device(1 << 22, request.param) as made:
        yield made


def run(
    device: Device,
    body: str,
    data: bytes = b"\0" * 8,
    *,
    before: str = "",
    size: int = 4096,
    threads: int = 32,
    head: str = HEAD,
) -> np.ndarray:
    """A kernel (out, data) that stores 32-bit words; `%o` is &out[%tid.x], `%d` is data, `%t` is %tid.x."""
    text = f"""{head}{before}
.visible .entry k (.param .u64 %po, .param .u64 %pd) {{
.reg .u64 %o, %d, %x, %y, %z, %w, %a<8>; .reg .u32 %t, %i, %j, %r<20>; .reg .pred %p, %q, %s; .reg .b16 %h<4>;
ld.param.u64 %o, [%po]; ld.param.u64 %d, [%pd]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;
{body}
ret; }}
"""
    out = device.upload(bytes(size))
    device.load(text).function("k").launch((1, 1, 1), (threads, 1, 1), [out, device.upload(data)])
    assert device.warnings == []
    return np.frombuffer(device.download(out, size), dtype=np.uint32)
