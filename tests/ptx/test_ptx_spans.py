"""Checked loops whose turns are asked for at once (spans.py): what is wrong is told as before, at its own place."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_SYNC, LIBRARY, Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

EVERYTHING = CHECK_MEMORY | CHECK_INIT | CHECK_SYNC
ILLEGAL, MISALIGNED = 700, 716
TEXT = """.version 6.0
.target sm_35
.address_size 64
.file 1 "prog.c"
.visible .entry walk (.param .u64 %pa, .param .u64 %pb, .param .u64 %pn)
{{
.reg .u64 %a, %b, %n, %s, %x, %y; .reg .u32 %i, %j, %k; .reg .pred %p, %q;
ld.param.u64 %a, [%pa]; ld.param.u64 %b, [%pb]; ld.param.u64 %n, [%pn];
mov.u64 %s, {step}; mov.u32 %k, 0;
.loc 1 42 0
$L: {body}
add.u64 %a, %a, %s; add.u64 %b, %b, 4; add.u32 %k, %k, 1; sub.u64 %n, %n, 1;
setp.ne.u64 %q, %n, 0; @%q bra $L;
$E: ret;
}}
"""
READ = "ld.u32 %i, [%a];"
COPY = "ld.u32 %i, [%a]; st.u32 [%b], %i;"
COUNTS = (1, 7, 9, 41, 300, 2000)
"""Turns: some are few, some are asked for once, some more often."""


def walk(device: Device, body: str, a: int, b: int, n: int, step: int = 4) -> None:
    """One thread's N turns; each goes STEP bytes on from A and 4 from B."""
    device.load(TEXT.format(body=body, step=step)).function("walk").launch((1, 1, 1), (1, 1, 1), [a, b, n], threads=1)


def fails(device: Device, code: int, body: str, a: int, b: int, n: int, step: int = 4) -> str:
    """The line of a launch that fails."""
    with pytest.raises(ExecutorError) as failure:
        walk(device, body, a, b, n, step)
    assert failure.value.code == code, failure.value.log
    return failure.value.log


def words(count: int) -> bytes:
    """Numbers that differ."""
    return struct.pack(f"<{count}I", *(i * 7 + 1 for i in range(count)))


def has_copy(body: str) -> bool:
    """Whether such a loop has a copy without looks at some accesses."""
    module = parse(TEXT.format(body=body, step=4))
    text, _ = lower(module.functions["walk"], "E", True, Links(), module, "f", abi.CHECKED)
    return f"i64 {8 * abi.OP_INDEX['turns']}" in text


def test_which_loops_have_a_copy() -> None:
    assert has_copy(READ) and has_copy(COPY)
    assert has_copy("add.u64 %x, %a, %b; shl.b64 %y, %x, 1; sub.u64 %y, %y, %x; ld.u32 %i, [%y];")
    for other in ("membar.cta;", "atom.add.u32 %j, [%b], 1;", "bar.warp.sync 0xffffffff;", "ld.volatile.u32 %j, [%b];"):
        assert not has_copy(READ + other), other
    assert not has_copy("ld.u64 %x, [%a]; ld.u32 %i, [%x];".replace("[%a]", "[%x]")), "addresses from memory"
    assert not has_copy("ld.shared.u32 %i, [%a];")


@pytest.mark.parametrize("n", COUNTS)
def test_what_such_a_loop_writes(n: int) -> None:
    """The word behind is not marked."""
    with Device(1 << 20, EVERYTHING) as device:
        a, b = device.upload(words(n)), device.allocate(4 * n + 4)
        for _ in range(2):
            walk(device, COPY, a, b, n)
            assert device.download(b, 4 * n) == words(n)
            walk(device, READ, b, a, n)
            assert device.warnings == []
        walk(device, READ, b, a, n + 1)
        assert len(device.warnings) == 1 and f"{b + 4 * n:#x} read (4 bytes)" in device.warnings[0]


@pytest.mark.parametrize("step", [4, 8, 1024, -4, -2048])
@pytest.mark.parametrize("missing", [0, 3, 8, 40, 77])
def test_a_word_that_was_never_written(step: int, missing: int) -> None:
    with Device(1 << 20, EVERYTHING) as device:
        block = device.allocate(4096 + 80 * abs(step))
        first = block if step > 0 else block + 79 * -step
        device.mark(block, 4096 + 80 * abs(step), 3)
        device.mark(first + missing * step, 4, 1)
        walk(device, READ, first, block, 80, step)
        assert len(device.warnings) == 1
        assert f"{first + missing * step:#x} read (4 bytes) that was never written" in device.warnings[0]


@pytest.mark.parametrize("n", COUNTS)
@pytest.mark.parametrize("body", [READ, "st.u32 [%a], %k;", COPY])
def test_past_a_block(n: int, body: str) -> None:
    with Device(1 << 20, EVERYTHING) as device:
        a, b = device.upload(words(n)), device.allocate(4 * n + 64)
        walk(device, body, a, b, n)
        assert f"illegal address {a + 4 * n:#x}" in fails(device, ILLEGAL, body, a, b, n + 1)
        assert device.warnings == []


def test_memory_that_is_freed_between_launches() -> None:
    """Blocks that were all written are looked at again."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(2000))
        walk(device, READ, a, a, 2000)
        device.mark(a + 4000, 4, 1)
        walk(device, READ, a, a, 2000)
        assert len(device.warnings) == 1 and f"{a + 4000:#x} read" in device.warnings[0]
        device.free(a)
        assert f"illegal address {a:#x}" in fails(device, ILLEGAL, READ, a, a, 2000)


def test_an_address_that_is_odd() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(2000))
        assert f"misaligned address {a + 2:#x}" in fails(device, MISALIGNED, READ, a, a, 500, 2)
        assert f"misaligned address {a + 1:#x}" in fails(device, MISALIGNED, READ, a + 1, a, 500)
        wide = "ld.v2.u32 {%i, %j}, [%a];"
        walk(device, wide, a, a, 500, 8)
        assert f"misaligned address {a + 4:#x}" in fails(device, MISALIGNED, wide, a, a, 500)


def test_an_odd_store_between_reads() -> None:
    """What is read and written is asked about once, but not where the store lies askew."""
    body = "setp.eq.u32 %p, %k, 40; ld.u32 %i, [%a]; ld.u32 %j, [%a+4]; @%p st.u32 [%a+2], %i;"
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(2000))
        assert f"misaligned address {a + 322:#x} written" in fails(device, MISALIGNED, body, a, a, 500, 8)


def test_reads_of_many_bytes_in_a_turn() -> None:
    """A span has less than 32768."""
    offsets = range(0, 33280, 64)
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(20000))
        missing = a + offsets[-1] + 64 * 30
        device.mark(missing, 4, 1)
        walk(device, "".join(f"ld.u32 %i, [%a+{offset}];" for offset in offsets), a, a, 50, 64)
        assert f"{missing:#x} read (4 bytes)" in device.warnings[0]


def test_a_sum_that_is_the_next_turns_address() -> None:
    """LLVM's NewGVN made no end of both loops."""
    body = "setp.ge.u32 %p, %k, 45; add.u64 %x, %a, 56; @!%p st.u32 [%x], %i; add.u64 %x, %b, %s;"
    body += "st.v4.u32 [%x], {%k, %i, %j, %i};"
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(2000))
        log = fails(device, MISALIGNED, body, a, a + 1000, 9)
        assert f"misaligned address {a + 1004:#x} of a vector of 16 bytes" in log


def test_what_is_noted_is_not_looked_at() -> None:
    """The loops of this file do run without looks: a wrong note hides a word that was never written."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(2000))
        device.mark(a + 4000, 4, 1)
        device.states[(a + 4000 - device.base) >> abi.WHOLE_SHIFT] = 2
        walk(device, READ, a, a, 2000)
        assert device.warnings == []


@pytest.mark.parametrize("order", ["%x, %s", "%s, %x"])
def test_addresses_that_come_from_memory(order: str) -> None:
    """The part of them that all turns have makes no span."""
    body = f"ld.u32 %i, [%a]; cvt.u64.u32 %x, %i; add.u64 %y, {order}; ld.u32 %j, [%y];"
    with Device(1 << 20, EVERYTHING) as device:
        table = device.upload(words(1000))
        device.mark(table + 2000, 2000, 1)
        numbers = [*range(0, 2000, 4), 2000, *range(0, 400, 4)]
        a = device.upload(struct.pack(f"<{len(numbers)}I", *(table % 4096 + i for i in numbers)))
        text = TEXT.format(body=body, step=4).replace("add.u64 %a, %a, %s;", "add.u64 %a, %a, 4;")
        text = text.replace("mov.u64 %s, 4;", f"mov.u64 %s, {table - table % 4096};")
        device.load(text).function("walk").launch((1, 1, 1), (1, 1, 1), [a, a, len(numbers)], threads=1)
        assert len(device.warnings) == 1 and f"{table + 2000:#x} read (4 bytes)" in device.warnings[0]


SOME = "and.b32 %j, %k, 63; setp.ne.u32 %p, %j, 50; @%p st.u32 [%a], %k;"
EARLY = "setp.eq.u64 %p, %n, 1; @%p bra $E; st.u32 [%a], %k;"


@pytest.mark.parametrize(("body", "missing"), [(SOME, [50, 114, 178]), (EARLY, [199])])
def test_what_a_loop_does_not_write(body: str, missing: list[int]) -> None:
    """A store under a condition, and one behind a way out."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.allocate(800)
        for _ in range(2):
            walk(device, body, a, a, 200)
        for number in range(200):
            device.warnings = []
            walk(device, READ, a + 4 * number, a, 1)
            assert len(device.warnings) == (number in missing), number


def test_a_loop_that_reads_what_it_has_written() -> None:
    with Device(1 << 20, EVERYTHING) as device:
        a = device.allocate(8000)
        device.mark(a, 4, 3)
        walk(device, "ld.u32 %i, [%a]; add.u32 %i, %i, 3; st.u32 [%a+4], %i;", a, a, 1999)
        assert device.warnings == []
        assert struct.unpack("<2000I", device.download(a, 8000)) == tuple(3 * i for i in range(2000))


@pytest.mark.parametrize("n", COUNTS)
def test_a_loop_that_replaces_what_it_reads(n: int) -> None:
    """Nothing is written for the first time: a turn marks nothing."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.upload(words(n))
        walk(device, "ld.u32 %i, [%a]; st.u32 [%a], %j; add.u32 %j, %j, %i;", a, a, n)
        assert struct.unpack(f"<{n}I", device.download(a, 4 * n)) == tuple(
            sum(k * 7 + 1 for k in range(i)) % 2**32 for i in range(n)
        )


@pytest.mark.parametrize("guard", ["", "setp.ge.u32 %p, %k, 20; @%p "])
def test_a_gather_of_what_the_same_loop_has_written(guard: str) -> None:
    """It comes before the loop is left."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.allocate(8000)
        body = "st.u32 [%b], %k; and.b32 %i, %k, 31; mul.wide.u32 %x, %i, 4; sub.u64 %y, %b, %x;"
        body += f"{guard}ld.u32 %j, [%y];"
        walk(device, body, a, a, 2000)
        assert device.warnings == []


def test_stores_with_gaps_between_them() -> None:
    """What lies between is not marked."""
    with Device(1 << 20, EVERYTHING) as device:
        a = device.allocate(16 * 200)
        walk(device, "st.u32 [%a], %k; st.u32 [%a+8], %k;", a, a, 200, 16)
        walk(device, "ld.u32 %i, [%a]; ld.u32 %i, [%a+8];", a, a, 200, 16)
        assert device.warnings == []
        walk(device, "ld.u32 %i, [%a+4];", a, a, 200, 16)
        assert "199 more" in device.warnings[1]
