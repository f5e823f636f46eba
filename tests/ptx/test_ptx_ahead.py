"""The next warp's rows, which a warp's loads ask for (ahead.py): which loads do, and that results are the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.abi import ptx as abi
from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

THREADS, ROWS = 96, 5


def row(number: int, word: str = "%v", kind: str = "u32") -> str:
    """Add a thread's word of a row."""
    return f"ld.global.{kind} {word}, [%a+{4 * THREADS * number}]; add.u32 %s, %s, %v;\n"


LOOP = f"""more: ld.global.u32 %v, [%a]; add.u32 %s, %s, %v; add.s64 %a, %a, {4 * THREADS}; add.u32 %j, %j, 1;
setp.lt.u32 %p, %j, {ROWS}; @%p bra more;"""
LOOP_WITH_BARRIER = LOOP.replace("add.u32 %j", "bar.sync 0; add.u32 %j")
STEPS = """mov.u32 %j, 0; add.u32 %i, %t, 0; mov.u32 %n, %ntid.x;
more: mul.wide.u32 %x, %i, 4; add.s64 %x, %x, %o; ld.global.u32 %v, [%x]; add.u32 %s, %s, %v; add.u32 %i, %i, %n;
setp.lt.u32 %p, %i, 480; @%p bra more;"""
EACH_ITS_OWN = "".join(
    f"ld.global.u32 %i, [%a+{4 * k}]; mul.wide.u32 %x, %i, 4; add.s64 %x, %x, %o; ld.global.u32 %v, [%x];"
    "add.u32 %s, %s, %v;\n"
    for k in range(3)
)

CASES = {
    "many rows": ("".join(map(row, range(ROWS))), 2 * ROWS),
    "many rows of bytes of words": ("".join(row(k, kind="u8") for k in range(ROWS)), 2 * ROWS),
    "few rows": ("".join(map(row, range(3))), 0),
    "a loop": (LOOP, 2),
    "a loop with a barrier": (LOOP_WITH_BARRIER, 0),
    "a loop by steps of the block": (STEPS, 0),
    "each lane its own word": (EACH_ITS_OWN, 6),
    "one word for all": ("".join(f"ld.global.u32 %v, [%o+{4 * k}]; add.u32 %s, %s, %v;\n" for k in range(ROWS)), 0),
}
"""What is between two barriers, and how many lines are asked for."""


def kernel(body: str, barrier: str = "bar.sync 0;") -> str:
    """Each thread stores its sum."""
    return f"""{HEAD}.visible .entry k (.param .u64 po, .param .u64 pr) {{
      .reg .u64 %o, %r, %a, %x; .reg .u32 %t, %i, %j, %n, %v, %s; .reg .pred %p;
      ld.param.u64 %o, [po]; ld.param.u64 %r, [pr]; mov.u32 %t, %tid.x; mov.u32 %s, 0; mov.u32 %j, 0;
      mul.wide.u32 %x, %t, 4; add.s64 %a, %o, %x; add.s64 %r, %r, %x; {barrier}
      {body} {barrier} st.global.u32 [%r], %s; ret; }}"""


def lines(text: str, kind: int = abi.PLAIN) -> int:
    """How many lines a kernel asks for."""
    module = parse(text, "test")
    found, _ = lower(module.functions["k"], "E", True, Links(), module, "E0", kind)
    return found.count("@llvm.prefetch")


@pytest.mark.parametrize("case", CASES)
def test_which_loads_ask(case: str) -> None:
    body, count = CASES[case]
    assert lines(kernel(body)) == count


@pytest.mark.parametrize("case", CASES)
def test_no_barrier_no_checks(case: str) -> None:
    """Without a barrier each warp goes all its way, and asks for numbers of gathers alone; checked code has each warp
    by itself."""
    body, count = CASES[case]
    assert case == "a loop with a barrier" or lines(kernel(body, "")) == (count if body is EACH_ITS_OWN else 0)
    assert lines(kernel(body), abi.CHECKED) == lines(kernel(body), abi.RACING) == 0


NUMBERS = {
    "a number": ("mul.wide.u32 %x, %i, 4; add.s64 %x, %x, %o;", 2),
    "a sum of it": ("add.u32 %i, %i, 1; mul.wide.u32 %x, %i, 4; add.s64 %x, %x, %o;", 0),
    "a thread's": ("mul.wide.u32 %x, %t, 4; add.s64 %x, %x, %o;", 0),
    "another than was loaded": ("mov.u32 %i, %j; mul.wide.u32 %x, %i, 4; add.s64 %x, %x, %o;", 0),
}
"""What an address is made of, where `%i` is loaded from a row."""


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_gathers_are_asked_for(case: str) -> None:
    made, count = NUMBERS[case]
    body = f"ld.global.u32 %i, [%a]; {made} ld.global.u32 %v, [%x]; add.u32 %s, %s, %v;"
    assert lines(kernel(body, "")) == count


@needs_executor
@pytest.mark.parametrize("case", CASES)
def test_results(device: Device, case: str) -> None:
    """The same as without barriers, also where what is asked for is beyond all memory of the device."""
    body, _ = CASES[case]
    data = np.arange(THREADS * ROWS, dtype="<u4") % THREADS
    got = []
    for barrier in ("bar.sync 0;", ""):
        a, r = device.upload(data.tobytes()), device.upload(bytes(4 * THREADS))
        device.load(kernel(body, barrier)).function("k").launch((2, 1, 1), (THREADS, 1, 1), [a, r])
        got.append(np.frombuffer(device.download(r, 4 * THREADS), "<u4").tolist())
    assert got[0] == got[1]
    assert any(got[0])
