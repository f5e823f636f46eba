"""Barriers that all warps come to by the same way (same_way.py), and constants that barriers need not keep
(constants.py)."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor
from test_ptx_fission import is_whole, kernel, launched

from gompy.ptx.constants import Constants
from gompy.ptx.flow import is_meeting
from gompy.ptx.parser import parse
from gompy.ptx.same_way import go_same_way
from gompy.ptx.syntax import Immediate
from gompy.ptx.uniform import Analysis, analyse

SAME = [
    "bar.sync 0;",
    "mov.u32 %r0, %ctaid.x; setp.gt.u32 %p, %r0, 7; @%p bra over; bar.sync 0; over: bar.sync 0;",
    "mov.u32 %r0, %ntid.x; again: bar.sync 0; shr.u32 %r0, %r0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;",
    "setp.gt.u32 %p, %t, 40; @%p bra over; st.shared.u32 [%x], %t; over: bar.sync 0;",
    "ld.param.u32 %r0, [po]; setp.eq.u32 %p, %r0, 0; @%p bra over; bar.sync 0; over:",
]
"""Parts of kernels in which all warps go the same way."""
APART = [
    "mov.u32 %r0, %warpid; setp.gt.u32 %p, %r0, 1; @%p bra over; bar.sync 0; over: bar.sync 0;",
    "mov.u32 %r0, %tid.y; setp.gt.u32 %p, %r0, 1; @%p ret; bar.sync 0;",
    "ld.shared.u32 %r0, [box]; again: bar.sync 0; sub.u32 %r0, %r0, 1; setp.gt.s32 %p, %r0, 0; @%p bra again;",
    "mov.u32 %r0, 4; mov.u32 %r1, %warpid; setp.eq.u32 %p, %r1, 0; @%p mov.u32 %r0, 5; setp.eq.u32 %q, %r0, 5;"
    "@%q bra over; bar.sync 0; over: bar.sync 0;",
    "vote.sync.any.pred %p, %q, 0xffffffff; @%p bra over; bar.sync 0; over: bar.sync 0;",
    # A warp's own number of turns is the same in none when it is done.
    "mov.u32 %r0, 0; mov.u32 %r1, %warpid; more: add.u32 %r0, %r0, 1; setp.lt.u32 %p, %r0, %r1; @%p bra more;"
    "setp.gt.u32 %q, %r0, 2; @%q bra over; bar.sync 0; over: bar.sync 0;",
]
"""Parts in which they may not."""


def analysis(body: str) -> Analysis:
    """Of a kernel whose rows are warps."""
    return analyse(parse(kernel(body), "test").functions["k"], "E", True, "test")


@pytest.mark.parametrize("body", SAME)
def test_the_same_way(body: str) -> None:
    assert go_same_way(analysis(body), is_meeting)


@pytest.mark.parametrize("body", APART)
def test_ways_of_their_own(body: str) -> None:
    assert not go_same_way(analysis(body), is_meeting)


def test_constants_by_place() -> None:
    """Of both ways to a place; what is set again; a copy of a constant; another type."""
    body = """mov.u32 %r0, 5; mov.u32 %r1, %r0; mov.u32 %r2, 6; mov.u32 %r3, 7; setp.gt.u32 %p, %t, 9; @%p bra other;
      mov.u32 %r4, 1; mov.u32 %r2, 8; bra both; other: mov.u32 %r4, 1; add.u32 %r3, %r3, %t; both: bar.sync 0;
      add.u32 %v, %r0, %r1; add.u32 %v, %r2, %r3; add.u32 %v, %v, %r4; st.global.u32 [%o], %v;"""
    a = analysis(body)
    ((block, place),) = [(b, i) for b in a.blocks for i, code in enumerate(b.code) if is_meeting(code)]
    found = {r.name.split("~")[0].split(".")[0]: value for r, value in Constants(a.blocks).at(block, place).items()}
    assert {name[:3]: value for name, value in found.items()} == {
        "%r0": (Immediate(5), "u32"),
        "%r1": (Immediate(5), "u32"),
        "%r4": (Immediate(1), "u32"),
    }


@needs_executor
@pytest.mark.parametrize("threads", [32, 33, 100, 256, 1024])
def test_constants_of_every_type_behind_a_barrier(threads: int) -> None:
    """Bits that a single is made of, numbers, a predicate, and a guard that sets some lanes anew."""
    body = """mov.b32 %v, 0f40400000; mov.u64 %a1, 0x100000007; mov.f64 %d0, 0d4014000000000000; mov.u16 %h0, 65535;
      mov.u32 %r0, 3; setp.lt.u32 %p, %t, 40; st.shared.u32 [%x], %t; bar.sync 0; @%p mov.u32 %r0, 4; bar.sync 0;
      cvt.u32.u64 %r1, %a1; shr.u64 %a1, %a1, 32; cvt.u32.u64 %r2, %a1; cvt.rzi.u32.f64 %r3, %d0; cvt.u32.u16 %r4, %h0;
      ld.shared.u32 %i, [%x]; shr.u32 %v, %v, 20; add.u32 %v, %v, %r0; mad.lo.u32 %v, %r1, 100, %v;
      mad.lo.u32 %v, %r2, 1000, %v; mad.lo.u32 %v, %r3, 10000, %v; shr.u32 %r4, %r4, 8; add.u32 %v, %v, %r4;
      add.u32 %v, %v, %i; st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text)
    fixed = (0x40400000 >> 20) + 700 + 1000 + 50000 + 255
    assert launched(text, (threads, 1, 1)) == [fixed + t + (4 if t < 40 else 3) for t in range(threads)]


@needs_executor
@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("threads", [64, 96, 256, 1000])
def test_a_round_begins_where_the_last_one_ended(threads: int, seed: int) -> None:
    """Barriers that are come to from two places, in loops within loops, whose turns depend on the block alone."""
    body = """mov.u32 %r0, %ntid.x; shr.u32 %r0, %r0, 5; add.u32 %r0, %r0, 1; mov.u32 %r7, 0; mov.u32 %i, 0;
      st.shared.u32 [%x], %t; outer: bar.sync 0; mov.u32 %j, 0;
      inner: ld.shared.u32 %v, [%x]; add.u32 %v, %v, 1; st.shared.u32 [%x], %v; bar.sync 0; add.u32 %r7, %r7, %v;
      add.u32 %j, %j, 1; setp.lt.u32 %p, %j, 3; @%p bra inner;
      add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %r0; @%p bra outer; and.b32 %r1, %i, 1; setp.eq.u32 %q, %r1, 0;
      @%q bra even; bar.sync 0; add.u32 %r7, %r7, 5; even: st.global.u32 [%o], %r7;"""
    text = kernel(body)
    assert is_whole(text) and go_same_way(analysis(body), is_meeting)
    turns = threads // 32 + 1
    extra = 0 if turns % 2 == 0 else 5
    want = [sum(t + 1 + k for k in range(3 * turns)) + extra for t in range(threads)]
    assert launched(text, (threads, 1, 1), seed, grid=3) == want


def random_body(pick: random.Random) -> str:
    """Barriers between additions of neighbours' words, some behind branches of the block's own."""
    parts = []
    for n in range(pick.randrange(2, 7)):
        amount = pick.choice([1, 2, 16, 31, 32, 40, 100])
        parts.append(
            f"mov.u32 %v, {n % 3}; setp.lt.u32 %p, %t, {amount}; @%p bra none{n}; sub.u32 %i, %t, {amount};"
            f"mad.wide.u32 %y, %i, 4, %a0; ld.shared.u32 %v, [%y]; none{n}: bar.sync 0;"
            f"ld.shared.u32 %r1, [%x]; add.u32 %r1, %r1, %v; st.shared.u32 [%x], %r1;"
        )
        if pick.randrange(2):
            parts.append(f"mov.u32 %r0, %ctaid.x; setp.eq.u32 %q, %r0, {pick.randrange(2)}; @%q bra on{n}; bar.sync 0;")
            parts.append(f"ld.shared.u32 %r1, [%x]; add.u32 %r1, %r1, 3; st.shared.u32 [%x], %r1; on{n}: bar.sync 0;")
        else:
            parts.append("bar.sync 0;")
    return "st.shared.u32 [%x], %t; bar.sync 0;" + " ".join(parts) + "ld.shared.u32 %v, [%x]; st.global.u32 [%o], %v;"


def expected(body: str, threads: int) -> list[int]:
    """What the first block's threads store, by the text of `random_body`."""
    row = [*range(threads)]
    statements = [s.strip() for s in body.replace(":", ";").split(";")]
    fill = 0
    for at, statement in enumerate(statements):
        if statement.startswith("mov.u32 %v, "):
            fill = int(statement.split()[-1])
        elif statement.startswith("setp.lt.u32 %p, %t, "):
            amount = int(statement.split()[-1])
            row = [value + (row[t - amount] if t >= amount else fill) for t, value in enumerate(row)]
        elif statement.startswith("setp.eq.u32 %q, %r0, ") and statement.split()[-1] != "0":
            assert "bra on" in statements[at + 1]
            row = [value + 3 for value in row]
    return row


@needs_executor
@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    pick = random.Random(seed)
    body = random_body(pick)
    text = kernel(body)
    assert is_whole(text) and HEAD in text
    for threads in (32, 70, 256):
        assert launched(text, (threads, 1, 1), seed % 3) == expected(body, threads)
