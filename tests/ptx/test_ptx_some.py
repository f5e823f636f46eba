"""Rows of a warp whose last lanes are not there: blocks of 16, 48 or 100 threads, in code that all of them run."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

KINDS = {4: ("u32", "%v"), 8: ("u64", "%w")}


def kernel(size: int) -> str:
    """Each thread triples a word, by way of shared memory that it has read before."""
    kind, value = KINDS[size]
    return f"""{HEAD}.shared .align 8 .b8 box[1024];
.visible .entry k (.param .u64 po) {{ .reg .u64 %o, %a, %w; .reg .u32 %t, %v;
  ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, {size}, %o; mov.u64 %a, box;
  mad.wide.u32 %a, %t, {size}, %a; ld.global.{kind} {value}, [%o]; st.shared.{kind} [%a], {value}; bar.sync 0;
  ld.shared.{kind} {value}, [%a]; mul.lo.{kind} {value}, {value}, 3; st.global.{kind} [%o], {value}; ret; }}
"""


@needs_executor
@pytest.mark.parametrize("size", KINDS)
@pytest.mark.parametrize("threads", [1, 5, 16, 17, 31, 32, 48, 100])
def test_lanes_that_are_not_there_write_nothing(device: Device, threads: int, size: int) -> None:
    words = np.arange(1, 129, dtype=f"uint{8 * size}")
    out = device.upload(words.tobytes())
    device.load(kernel(size)).function("k").launch((1, 1, 1), (threads, 1, 1), [out])
    found = np.frombuffer(device.download(out, words.nbytes), dtype=words.dtype)
    words[:threads] *= 3
    assert found.tolist() == words.tolist()


@needs_executor
def test_the_end_of_memory(device: Device) -> None:
    """A row that begins in memory and would end behind it, but for the lanes that are there."""
    size = 1 << 16
    out = device.upload(bytes(size))
    for threads in (1, 16, 31):
        at = out + size - 4 * threads
        device.load(kernel(4)).function("k").launch((1, 1, 1), (threads, 1, 1), [at])
    assert device.download(out, size) == bytes(size)


def test_they_cost_no_call() -> None:
    module = parse(kernel(4))
    text, _ = lower(module.functions["k"], "E", True, Links(), module, "k")
    assert text.count("@llvm.masked.load.v32i32") == 1
    assert text.count("@llvm.masked.store.v32i32") == 1
    assert "load volatile" not in text


LOOP = f"""{HEAD}.shared .align 4 .b8 box[4096];
.visible .entry k (.param .u64 po) {{ .reg .u64 %a; .reg .u32 %t, %i, %v; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; mov.u64 %a, box; mad.wide.u32 %a, %t, 4, %a; mov.u32 %i, 0; setp.gt.u32 %p, %t, 9; @%p bra none;
  again: ld.shared.u32 %v, [%a+128]; st.shared.u32 [%a], %v; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 8; @%q bra again;
  none: ret; }}
"""


def test_a_loop_reads_what_it_blended() -> None:
    """The processor serves a load from a whole store at once, from a masked one late: LLVM must not make such a one."""
    module = parse(LOOP)
    text, _ = lower(module.functions["k"], "E", True, Links(), module, "k")
    assert "load volatile <32 x i32>" in text
