"""GOMPY_CHECK=race where one call runs all warps of a block (fission.py): told is what warps by themselves show."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("llvmlite")

from test_ptx_races import kernel, races

from gompy.abi import ptx as abi
from gompy.ptx.device import CHECK_RACE, LIBRARY, Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")

ALONE = ".local .b8 own[8];"
"""A kernel with this has a stack for each warp."""
WRITE, READ, NEXT = "st.shared.u32 [%a], %t;", "ld.shared.u32 %v, [%a];", "ld.shared.u32 %v, [%a+128];"
LOOP = "sub.u32 %n, %n, 1; setp.ne.u32 %q, %n, 0; @%q bra AGAIN;"
PARTED = "and.b32 %w, %t, 32; setp.eq.u32 %q, %w, 0; @%q bra EVEN;"
BODIES = {
    "no barrier": (f"{WRITE} {NEXT}", 1),
    "a barrier": (f"{WRITE} bar.sync 0; {NEXT}", 0),
    "the write behind it": (f"{NEXT} bar.sync 0; {WRITE} {NEXT}", 1),
    "a loop, a barrier a turn": (f"mov.u32 %n, 3; AGAIN: {NEXT} bar.sync 0; {WRITE} {LOOP}", 1),
    "a loop, two barriers a turn": (f"mov.u32 %n, 3; AGAIN: {NEXT} bar.sync 0; {WRITE} bar.sync 0; {LOOP}", 0),
    "barriers at two places, the same behind them": (
        f"{PARTED} bar.sync 0; bra DONE; EVEN: bar.sync 0; DONE: {READ}",
        0,
    ),
    "barriers at two places, a write behind one": (
        f"{PARTED} bar.sync 0; {WRITE} bra DONE; EVEN: bar.sync 0; {NEXT} DONE:",
        1,
    ),
    "a warp that has ended": (f"{WRITE} {PARTED} ret; EVEN: bar.sync 0; {NEXT}", 1),
    "a warp that has ended, nothing of it": (f"{PARTED} ret; EVEN: {WRITE} bar.sync 0; {READ}", 0),
    "one word of all blocks": ("st.global.u32 [%p], %g;", 1),
    "one value in it": ("st.global.u32 [%p], 5;", 0),
    "a row of memory for each block": (
        "mad.wide.u32 %b, %g, 4, %p; st.global.u32 [%b], %g; bar.sync 0; ld.global.u32 %v, [%b];",
        0,
    ),
    "the same row for all": ("st.global.u32 [%b], %g;", 1),
    "a note of one warp, one value": (
        "setp.lt.u32 %q, %t, 32; @%q st.global.u32 [%p], 7; bar.sync 0; ld.global.u32 %v, [%p];",
        0,
    ),
    "a fence and a flag": (
        "@!%q bra DONE; st.global.u32 [%p+4], %g; membar.gl; atom.global.add.u32 %v, [%p], 1; DONE:",
        1,
    ),
}


def whole(body: str, kind: int) -> bool:
    """Whether a kernel is compiled so."""
    module = parse(kernel(body), "test")
    return lower(module.functions["k"], "E", True, Links(), module, "E0", kind)[1].whole


def told(body: str, grid: int, apart: str = ";\n") -> list[str]:
    """What is told, but for addresses of device memory; APART: what is between two instructions."""
    return [re.sub("0x[0-9a-f]{12}", "0x…", line) for line in races(body.replace("; ", apart), grid=grid)]


@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize("name", BODIES)
def test_the_same_is_told(name: str, grid: int) -> None:
    body, _ = BODIES[name]
    assert whole(body, abi.RACING)
    assert not whole(ALONE + body, abi.RACING)
    assert told(body, grid) == told(ALONE + body, grid)


@pytest.mark.parametrize("name", BODIES)
def test_all_on_one_line(name: str) -> None:
    """Which barrier a warp has come to isn't told by the line."""
    body, found = BODIES[name]
    for text in (body, ALONE + body):
        assert sum(bool(re.match("race on", line)) for line in told(text, 2, "; ")) == found


BARRIER = "{ bar.sync 0; ret; }"
LOOPED = """{ .reg .u32 %z; .reg .pred %y; .local .b8 o[16]; mov.u32 %z, 1; L: bar.sync 0; sub.u32 %z, %z, 1;
setp.ne.u32 %y, %z, 0; @%y bra L; ret; }""".replace("\n", " ")
CALLS = {
    "a write behind one": (f"{PARTED} call f; {WRITE} bra DONE; EVEN: call {{}}; {NEXT} DONE:", 1),
    "the same behind them": (f"{PARTED} call f; bra DONE; EVEN: call {{}}; DONE: {READ}", 0),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("other", ["f", "g"])
@pytest.mark.parametrize("code", [BARRIER, LOOPED])
def test_barriers_of_functions_on_one_line(code: str, other: str, name: str) -> None:
    """One function called at two places, or two of one line: warps that wait in them have not come the same way."""
    body, found = CALLS[name]
    functions = f".func f () {code} .func g () {code}"
    for text in (body, ALONE + body):
        whole_kernel = kernel(text.format(other)).replace(".visible", f"{functions} .visible", 1)
        with Device(1 << 20, CHECK_RACE) as device:
            memory = device.upload(bytes(4096))
            device.load(whole_kernel).function("k").launch((2, 1, 1), (64, 1, 1), [memory])
            assert sum(bool(re.match("race on", line)) for line in device.warnings) == found


@pytest.mark.parametrize("name", BODIES)
def test_what_races(name: str) -> None:
    body, found = BODIES[name]
    assert sum(bool(re.match("race on", line)) for line in told(body, 2)) == found


def test_other_checks_want_warps_by_themselves() -> None:
    assert not whole("bar.sync 0;", abi.CHECKED)
