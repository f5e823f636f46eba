"""Comparisons of a thread's number with what all lanes have (bounds.py), and addresses that wrap around before zero."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor, run

from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

THREADS = 96
SIGNED = ("eq", "ne", "lt", "le", "gt", "ge")
UNSIGNED = (*SIGNED, "lo", "ls", "hi", "hs")
NUMBERS = (0, 1, 2, 31, 32, 33, 47, 63, 64, 95, 96, 97, 1 << 31, (1 << 31) - 1, -1, -5, -32, -33, -(1 << 31))
"""With what a thread's number is compared."""
FIRST = (0, -64, (1 << 31) - 32, -32)
"""What is added to it first."""


def holds(name: str, kind: str, one: int, other: int) -> bool:
    """The comparison by Python's numbers."""
    one, other = one & 0xFFFFFFFF, other & 0xFFFFFFFF
    if kind == "s32":
        one, other = (n - (n >> 31 << 32) for n in (one, other))
    return {
        "eq": one == other, "ne": one != other, "lt": one < other, "le": one <= other, "gt": one > other,
        "ge": one >= other, "lo": one < other, "ls": one <= other, "hi": one > other, "hs": one >= other,
    }[name]  # fmt: skip


@needs_executor
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("kind", "names"), [("s32", SIGNED), ("u32", UNSIGNED)])
def test_comparisons(kind: str, names: tuple[str, ...], constant: bool, turned: bool) -> None:
    """Each comparison of each number, in a guard: a bit of what a thread stores."""
    with Device(1 << 22) as device:
        for first in FIRST:
            body, wanted = f"add.u32 %i, %t, {first}; mov.u32 %r9, 0;", [0] * THREADS
            for at, (name, number) in enumerate((name, number) for name in names for number in NUMBERS):
                if not constant:
                    body += f"ld.global.u32 %r0, [%d+{4 * NUMBERS.index(number)}];"
                sides = ("%i", str(number) if constant else "%r0")
                body += f"setp.{name}.{kind} %p, {', '.join(sides[::-1] if turned else sides)};"
                body += f"mul.lo.u32 %r9, %r9, 3; @%p add.u32 %r9, %r9, {at % 7 + 1};"
                for t in range(THREADS):
                    pair = (first + t, number)
                    right = holds(name, kind, *(pair[::-1] if turned else pair))
                    wanted[t] = (wanted[t] * 3 + right * (at % 7 + 1)) & 0xFFFFFFFF
            body += "st.global.u32 [%o], %r9;"
            data = struct.pack(f"{len(NUMBERS)}I", *(n & 0xFFFFFFFF for n in NUMBERS))
            assert run(device, body, data, threads=THREADS)[:THREADS].tolist() == wanted


@needs_executor
@pytest.mark.parametrize("back", [1, 2, 5, 16, 31, 32, 33, 64])
@pytest.mark.parametrize("wide", ["u32", "s32"])
@pytest.mark.parametrize("space", ["shared", "global"])
def test_elements_before_a_thread_s_own(space: str, wide: str, back: int) -> None:
    """`a[tid - back]` where there is one: the numbers of the first lanes, which are off, wrap around."""
    place = "mov.u64 %x, box;" if space == "shared" else "mov.u64 %x, %d;"
    body = f"""{place} mul.wide.u32 %y, %t, 4; add.u64 %y, %x, %y; mul.lo.u32 %r0, %t, 7; st.{space}.u32 [%y], %r0;
bar.sync 0; mov.u32 %r1, 1000; setp.lt.s32 %p, %t, {back}; @%p bra over;
sub.u32 %i, %t, {back}; mul.wide.{wide} %z, %i, 4; add.u64 %z, %x, %z; ld.{space}.u32 %r1, [%z];
over: bar.sync 0; @%p bra none; add.u32 %r2, %r1, 1; st.{space}.u32 [%z], %r2; none: bar.sync 0;
ld.{space}.u32 %r3, [%y]; mad.lo.u32 %r3, %r1, 4096, %r3; st.global.u32 [%o], %r3;"""
    with Device(1 << 22) as device:
        got = run(device, body, bytes(4 * THREADS), threads=THREADS, before=".shared .align 4 .b8 box[1024];")
    want = [
        (7 * (t - back) if t >= back else 1000) * 4096 + 7 * t + (1 if t + back < THREADS else 0)
        for t in range(THREADS)
    ]
    assert got[:THREADS].tolist() == want


def code(body: str) -> str:
    """The LLVM IR of a kernel, whose barriers end loops over warps."""
    text = f"""{HEAD} .shared .align 4 .b8 box[1024]; .visible .entry k (.param .u64 %po, .param .u32 %pn) {{
.reg .u64 %o, %x, %y; .reg .u32 %t, %n, %i, %r<4>; .reg .pred %p, %q;
ld.param.u64 %o, [%po]; ld.param.u32 %n, [%pn]; mov.u32 %t, %tid.x; mov.u64 %x, box; {body} ret; }}"""
    return lower(parse(text).functions["k"], "E", True, Links(), parse(text), "k")[0]


@pytest.mark.parametrize("test", ["lt.s32 %p, %t, 17", "ge.u32 %p, %t, %n", "eq.s32 %p, %t, 0", "gt.s32 %p, 40, %t"])
def test_no_vectors_are_compared(test: str) -> None:
    assert "icmp" in code(f"setp.{test}; @%p bra over; st.shared.u32 [%x], %n; over:")
    assert "<32 x i32>" not in code(f"setp.{test}; @%p bra over; st.shared.u32 [%x], %n; over:")


@pytest.mark.parametrize("test", ["lt.s32 %p, %r1, 17", "lt.s32 %p, %t, %r1"])
def test_numbers_of_other_kinds_are_compared_one_by_one(test: str) -> None:
    body = f"mul.lo.u32 %r1, %t, %t; setp.{test}; @%p bra over; st.shared.u32 [%x], %n; over:"
    assert "icmp slt <32 x i32>" in code(body)


def test_what_lanes_select_by_is_compared_one_by_one() -> None:
    body = "setp.lt.s32 %p, %t, 17; selp.u32 %i, 1, 2, %p; st.shared.u32 [%x], %i;"
    assert "icmp slt <32 x i32>" in code(body)


@pytest.mark.parametrize(
    ("test", "whole"),
    [
        ("setp.ge.s32 %p, %i, %n; @%p bra over;", True),
        ("setp.ge.s32 %p, %i, %n; setp.lt.s32 %q, %t, 3; or.pred %p, %p, %q; @%p bra over; bra.uni on; on:", True),
        ("ld.global.u32 %r1, [%x]; setp.eq.u32 %p, %r1, 0; @%p bra over;", False),
        ("setp.eq.s32 %p, %t, %n; @%p bra over;", False),
    ],
)
def test_whole_warps_are_looked_for_first_where_bounds_say_who_is_there(test: str, whole: bool) -> None:
    body = f"mad.wide.u32 %x, %t, 4, %o; add.u32 %i, %t, 64; {test} ld.global.u32 %r0, [%x+256];"
    text = code(f"{body} st.global.u32 [%x], %r0; over:").partition("B0:")[2]
    ways = text.count("plain")
    assert bool(ways) != whole
    assert "@llvm.masked.store" in text


@pytest.mark.parametrize(("wide", "first"), [("u32", True), ("s32", False)])
@pytest.mark.parametrize("kept", ["", "bar.sync 0;"])
@pytest.mark.parametrize("access", ["ld.shared.u32 %r1, [%z];", "st.shared.u32 [%z], %n;"])
def test_warps_without_wrapping_numbers_look_at_no_lanes(access: str, kept: str, wide: str, first: bool) -> None:
    """Of `a[tid - 2]` the word of lanes is made only where it is not all of them, also behind a barrier."""
    body = f"""bar.sync 0; sub.u32 %i, %t, 2; mul.wide.{wide} %y, %i, 4; add.u64 %z, %x, %y; {kept}
setp.lt.s32 %p, %t, 2; @%p bra over; {access} over: bar.sync 0;"""
    text = code(body.replace("%z", "%y"))
    ways = [line for line in text.splitlines() if line.startswith("near")]
    assert len(ways) == first
