"""Rows by one register in a block, which have one test: which do, and values, also at both ends of memory."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.abi import ptx as abi
from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

THREADS = 64


def row(offset: int, kind: str = "u32", guard: str = "") -> str:
    """Add a thread's element of a row."""
    return f"{guard} ld.global.{kind} %v, [%x+{offset}]; add.u32 %s, %s, %v;\n"


CASES = {
    "neighbours": (row(0) + row(-4) + row(4), 2),
    "a store": (row(0) + row(4) + "st.global.u32 [%x+8], %s;\n", 2),
    "the furthest": (row(0) + row(384), 2),
    "too far": (row(0) + row(388), 3),
    "another size": (row(0) + row(-4) + row(4, "u8"), 3),
    "bytes": (row(0, "u8") + row(4, "u8") + row(480, "u8"), 4),
    "another address": (row(0) + row(4) + "add.s64 %x, %x, 64;\n" + row(0) + row(4), 3),
    "some lanes": (row(0) + row(4) + row(8, guard="@%p"), 3),
}
"""Accesses, and how many tests a kernel with them has; its last store has one."""


def kernel(body: str) -> str:
    """Each thread stores its sum."""
    return f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 pr) {{
      .reg .u64 %a, %r, %x, %y; .reg .u32 %t, %v, %s; .reg .pred %p;
      ld.param.u64 %a, [pa]; ld.param.u64 %r, [pr]; mov.u32 %t, %tid.x; mov.u32 %s, 0; mov.u32 %v, 0;
      setp.lt.u32 %p, %t, 7; mul.wide.u32 %y, %t, 4; add.s64 %x, %a, %y; add.s64 %y, %r, %y;
      {body} st.global.u32 [%y], %s; ret; }}"""


def asked(text: str, kind: int = abi.PLAIN) -> int:
    """How many times it is asked whether a place is in memory."""
    module = parse(text, "test")
    found, _ = lower(module.functions["k"], "E", True, Links(), module, "E0", kind)
    return sum("icmp ule i64" in line and "%limit" in line for line in found.splitlines())


@pytest.mark.parametrize("case", CASES)
def test_how_many_tests(case: str) -> None:
    body, count = CASES[case]
    assert asked(kernel(body)) == count


@pytest.mark.parametrize("plain", [False, True])
def test_an_address_that_a_loop_moves(monkeypatch: pytest.MonkeyPatch, plain: bool) -> None:
    """It is the same register before and behind, but not the same place; simple ways know nothing of that."""
    if plain:
        monkeypatch.setenv("GOMPY_PTX_PLAIN", "1")
    both = row(0) + row(4)
    body = f".reg .u32 %n; mov.u32 %n, 0; more: {both} add.s64 %x, %x, 64; {both}"
    body += "add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 9; @%p bra more;"
    assert asked(kernel(body)) == (5 if plain else 3)


@needs_executor
@pytest.mark.parametrize("case", CASES)
def test_results(device: Device, case: str) -> None:
    """The same as by a thread at a time, where nothing is a row."""
    body, _ = CASES[case]
    data = np.arange(256, dtype="<u4") * 3 + 1
    got = []
    for threads, blocks in ((THREADS, 1), (1, THREADS)):
        a, r = device.upload(data.tobytes()), device.upload(bytes(4 * THREADS))
        text = kernel(body)
        if threads == 1:
            text = text.replace("mov.u32 %t, %tid.x", "mov.u32 %t, %ctaid.x")
        device.load(text).function("k").launch((blocks, 1, 1), (threads, 1, 1), [a + 64, r])
        got.append(np.frombuffer(device.download(r, 4 * THREADS), "<u4").tolist())
    assert got[0] == got[1] or case == "a store"  # which one thread's loads may see of another's
    assert got[0][0] == got[1][0]
    assert any(got[0])


@needs_executor
@pytest.mark.parametrize("last", [False, True])
def test_both_ends_of_memory(last: bool) -> None:
    """Rows that are there are read, whatever the one test says; one that is not is told."""
    data = np.arange(THREADS + 1, dtype="<u4") * 5 + 2
    with Device(1 << 22) as device:
        place = device.end - data.nbytes if last else device.base
        ctypes.memmove(place, data.tobytes(), data.nbytes)
        r = device.upload(bytes(4 * THREADS))
        k = device.load(kernel(row(0) + row(4)), names=["k.ptx"]).function("k")
        k.launch((1, 1, 1), (THREADS, 1, 1), [place, r])
        assert device.download(r, 4 * THREADS) == (data[1:] + data[:-1]).tobytes()
        what = rf"illegal address .* read .4 bytes.*thread .{THREADS - 1 if last else 0},0,0."
        with pytest.raises(ExecutorError, match=what):
            k.launch((1, 1, 1), (THREADS, 1, 1), [place + (4 if last else -4), r])
