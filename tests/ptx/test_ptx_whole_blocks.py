"""Checked accesses in no order: of what blocks of memory are known to be written, one byte is looked at (checks.py)."""

from __future__ import annotations

import re
import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx import seen
from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, LIBRARY, Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

ILLEGAL, MISALIGNED = 700, 716
BLOCK = 1 << abi.WHOLE_SHIFT
WORDS = 16 * BLOCK // 4
TEXT = """.version 6.0
.target sm_35
.address_size 64
.visible .entry walk (.param .u64 %pa, .param .u64 %pi, .param .u64 %pn)
{{
.reg .u64 %a, %i, %n, %x, %y; .reg .u32 %v, %w; .reg .pred %q;
ld.param.u64 %a, [%pa]; ld.param.u64 %i, [%pi]; ld.param.u64 %n, [%pn];
$L: {body}
add.u64 %i, %i, 8; sub.u64 %n, %n, 1;
setp.ne.u64 %q, %n, 0; @%q bra $L;
ret;
}}
"""
READ = "ld.u64 %x, [%i]; add.u64 %y, %a, %x; ld.u32 %v, [%y];"
WRITE = "ld.u64 %x, [%i]; add.u64 %y, %a, %x; st.u32 [%y], 7;"


def walk(device: Device, body: str, a: int, offsets: list[int]) -> None:
    """One thread accesses a word at each of these offsets from A."""
    indices = device.upload(struct.pack(f"<{len(offsets)}Q", *(offset % (1 << 64) for offset in offsets)))
    arguments = [a, indices, len(offsets)]
    device.load(TEXT.format(body=body)).function("walk").launch((1, 1, 1), (1, 1, 1), arguments, threads=1)


def fails(device: Device, code: int, body: str, a: int, offset: int) -> str:
    """The line of a launch whose last access fails."""
    with pytest.raises(ExecutorError) as failure:
        walk(device, body, a, [*everywhere(), offset])
    assert failure.value.code == code, failure.value.log
    return failure.value.log


def everywhere() -> list[int]:
    """Offsets in no order."""
    return [4 * (i * 37 % WORDS) for i in range(WORDS)]


def states(device: Device, a: int) -> set[int]:
    """What is known of the blocks that lie in an array."""
    at = a - device.base
    return set(device.states[-(-at // BLOCK) : (at + 4 * WORDS) // BLOCK])


@pytest.mark.parametrize("body", [READ, WRITE])
def test_blocks_become_known(body: str) -> None:
    """The executor looks at one now and then, and they stay known."""
    with Device(1 << 20, CHECK_MEMORY | CHECK_INIT) as device:
        a = device.upload(bytes(4 * WORDS))
        assert states(device, a) == {0}
        for _ in range(abi.LOOKS // 8):
            walk(device, body, a, everywhere())
        assert states(device, a) == {abi.WHOLE_WRITTEN}


@pytest.mark.parametrize("body", [READ, WRITE])
def test_blocks_that_are_not_written_are_looked_at_less_and_less(body: str) -> None:
    """As a stack's are: each look takes as long as dozens of accesses."""
    with Device(1 << 20, CHECK_MEMORY | CHECK_INIT) as device:
        a = device.allocate(4 * WORDS)
        device.mark(a, 4 * WORDS, 3)
        for at in range(a, a + 4 * WORDS, BLOCK):
            device.mark(at, 4, 1)
        written = [offset for offset in everywhere() if offset % BLOCK]
        walk(device, body, a, written)
        looked_at = list(device.states[(a - device.base) // BLOCK :][: 4 * WORDS // BLOCK]).count(1)
        assert 1 < looked_at < 12 < 4 * WORDS // BLOCK < len(written) // abi.LOOKS
        for at in range(a, a + 4 * WORDS, BLOCK):
            device.mark(at, 4, 3)
        for _ in range(abi.LOOKS // 4):
            walk(device, body, a, everywhere())
        assert states(device, a) == {abi.WHOLE_WRITTEN}


@pytest.mark.parametrize("body", [READ, WRITE])
def test_what_is_wrong_is_told_as_before(body: str) -> None:
    verb = "read" if body == READ else "written"
    with Device(1 << 20, CHECK_MEMORY | CHECK_INIT) as device:
        a = device.upload(bytes(4 * WORDS))
        for offset in (4 * WORDS, -4):
            assert f"illegal address {a + offset:#x} {verb} (4 bytes)" in fails(device, ILLEGAL, body, a, offset)
        for offset in (2, 1, 4 * WORDS - 3):
            assert f"misaligned address {a + offset:#x} {verb} (4 bytes)" in fails(device, MISALIGNED, body, a, offset)
        for address in (device.base + (1 << 20), device.base - 4, 4, 1 << 63):
            log = fails(device, ILLEGAL, body, a, address - a)
            assert f"illegal address {address:#x} {verb} (4 bytes)" in log
        device.free(a)
        assert f"illegal address {a:#x} {verb} (4 bytes)" in fails(device, ILLEGAL, body, a, 0)


def test_a_word_that_nothing_has_written() -> None:
    """Beside others that are: its block is not known as written before it is."""
    with Device(1 << 20, CHECK_MEMORY | CHECK_INIT) as device:
        a = device.allocate(4 * WORDS)
        walk(device, WRITE, a, [offset for offset in everywhere() if offset != 4444])
        for _ in range(8):
            walk(device, READ, a, [offset for offset in everywhere() if offset != 4444])
        assert device.warnings == []
        walk(device, READ, a, everywhere())
        assert len(device.warnings) == 1 and f"{a + 4444:#x} read (4 bytes)" in device.warnings[0]
        walk(device, WRITE, a, [4444])
        walk(device, READ, a, everywhere())
        assert len(device.warnings) == 1


def ir(body: str) -> str:
    """The LLVM IR of the kernel."""
    module = parse(TEXT.format(body=body))
    return lower(module.functions["walk"], "E", True, Links(), module, "f", abi.CHECKED)[0]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("ld.u32 %v, [%a];", 1),
        ("ld.u32 %v, [%i];", 1),
        ("add.u64 %a, %a, 128; ld.u32 %v, [%a];", 0),
        ("add.u64 %a, %a, %n; ld.u32 %v, [%a];", 0),
        ("mad.lo.u64 %x, %i, %n, %a; ld.u32 %v, [%x];", 0),
        (READ, 1),
        (WRITE, 1),
    ],
)
def test_what_meets_another_line_each_time_keeps_none(body: str, lines: int) -> None:
    """Columns and gathers; the indices of these are read one after the other."""
    assert len(set(re.findall(rf"store i64 {seen.NOTHING}, ptr (%\w+)", ir(body)))) == lines


@pytest.mark.parametrize(("body", "kept"), [("ld.u32 %v, [%a];", True), ("ld.u32 %v, [%i];", False)])
def test_an_address_that_stays_is_kept_itself(body: str, kept: bool) -> None:
    """Of a line some bytes may never be written, as of a frame's; nor is its block asked about."""
    text = ir(body)
    assert ("load <64 x i8>" not in text) == kept
    assert (f"i64 {abi.WARP['looks']}\n" not in text) == kept


@pytest.mark.parametrize(
    ("access", "asked"),
    [
        ("ld.u32 %v, [%y];", True),
        ("setp.lt.u32 %q, %t, 20; @%q ld.u32 %v, [%y];", False),
        ("st.u32 [%y], 7;", True),
        ("st.u32 [%y], %t;", False),
    ],
)
def test_a_block_is_asked_about_where_the_executor_is(access: str, asked: bool) -> None:
    """Lanes with values of their own are done elsewhere: counted, they would all go there once the count is down."""
    index = ".reg .u32 %t; mov.u32 %t, %tid.x; ld.u64 %x, [%i]; add.u64 %y, %a, %x;"
    counted = [ir(body).count(", ptr %check_looks1\n") for body in (index, index + access)]
    assert (counted[1] > counted[0]) == asked


def test_an_address_that_stays_is_looked_at_until_it_is_written() -> None:
    with Device(1 << 20, CHECK_MEMORY | CHECK_INIT) as device:
        a = device.allocate(64)
        device.mark(a + 4, 60, 3)
        walk(device, "ld.u32 %v, [%a+4];", a, [0] * 20)
        assert device.warnings == []
        walk(device, "ld.u32 %v, [%a];", a, [0] * 20)
        assert len(device.warnings) == 2 and "19 more of these" in device.warnings[1]
        walk(device, "setp.eq.u64 %q, %n, 10; @%q st.u32 [%a], 1; ld.u32 %v, [%a+8];", a, [0] * 20)
        walk(device, "ld.u32 %v, [%a];", a, [0] * 20)
        assert len(device.warnings) == 2
