"""Lanes of one warp that wait for each other's lock (locks.py)."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor, run

from gompy.ptx.device import Device
from gompy.ptx.parser import parse
from gompy.ptx.uniform import Analysis, analyse

__all__ = ["device"]

CHANGE = "ld.global.u32 %r1, [%d+16]; mad.lo.u32 %r1, %r1, 3, %t; st.global.u32 [%d+16], %r1; membar.gl;"
"""What is done under the lock: the sum times 3 and the thread's number, so that the order of lanes is seen."""
LOCKS = {
    "cas": "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;" + CHANGE +
    "atom.global.exch.b32 %r2, [%d], 0;",
    "exch and a store": "again: atom.global.exch.b32 %r0, [%d], 1; setp.ne.u32 %p, %r0, 0; @%p bra again;" + CHANGE +
    "mov.u32 %r2, 0; st.volatile.global.u32 [%d], %r2;",
    "a look before each try": "first: ld.volatile.global.u32 %r0, [%d]; setp.ne.u32 %p, %r0, 0; @%p bra first;"
    "atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra first;" + CHANGE +
    "atom.global.exch.b32 %r2, [%d], 0;",
    "a try before the loop": "atom.global.cas.b32 %r0, [%d], 0, 1; setp.eq.u32 %p, %r0, 0; @%p bra has;"
    "again: ld.volatile.global.u32 %r0, [%d]; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "has: " + CHANGE + "atom.global.exch.b32 %r2, [%d], 0; bar.sync 0;",
    "a ticket": "atom.global.add.u32 %i, [%d], 1;"
    "again: ld.volatile.global.u32 %r0, [%d+4]; setp.ne.u32 %p, %r0, %i; @%p bra again;" + CHANGE +
    "add.u64 %x, %d, 4; red.global.add.u32 [%x], 1;",
    "in a loop, with a branch": "mov.u32 %j, 0; more: "
    "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "setp.gt.u32 %q, %t, 20; @%q bra over;" + CHANGE + "over: atom.global.exch.b32 %r2, [%d], 0;"
    "add.u32 %j, %j, 1; setp.lt.u32 %s, %j, 2; @%s bra more;",
    "two releases": "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "setp.gt.u32 %q, %t, 20; @%q bra high;" + CHANGE + "atom.global.exch.b32 %r2, [%d], 0; bra behind;"
    "high: atom.global.exch.b32 %r2, [%d], 0; behind: bar.sync 0;",
    "a try under a guard": "again: mov.u32 %r0, 0; setp.gt.u32 %q, %t, 3; "
    "@%q atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "@!%q bra behind;" + CHANGE + "atom.global.exch.b32 %r2, [%d], 0; behind: ",
}  # fmt: skip
"""Code by which lanes take a lock from each other."""
NONE = {
    "what waits changes nothing behind": "again:"
    "ld.volatile.global.u32 %r0, [%d]; setp.eq.u32 %p, %r0, %t; @%p bra again;",
    "a sum by cas": "ld.global.u32 %r0, [%d]; again: add.u32 %r1, %r0, %t; atom.global.cas.b32 %r2, [%d], %r0, %r1;"
    "setp.ne.u32 %p, %r2, %r0; mov.u32 %r0, %r2; @%p bra again; st.global.u32 [%d], %t;",
    "a place that the loop chooses": "mov.u64 %x, %d; again: add.u64 %x, %x, 4; atom.global.cas.b32 %r0, [%x], 0, 1;"
    "setp.ne.u32 %p, %r0, 0; @%p bra again; st.global.u32 [%x], %t;",
    "a barrier before the release": "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "bar.sync 0; atom.global.exch.b32 %r0, [%d], 0;",
    "a shuffle before the release": "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "shfl.sync.idx.b32 %r1, %t, 1, 31, -1; st.global.u32 [%d+16], %r1; atom.global.exch.b32 %r0, [%d], 0;",
    "another place": "again: atom.global.cas.b32 %r0, [%d], 0, 1; setp.ne.u32 %p, %r0, 0; @%p bra again;"
    "atom.global.exch.b32 %r0, [%d+4], 0;",
}  # fmt: skip
"""Code that is left as it is."""


def analysis(body: str, version: str = "E") -> Analysis:
    """Of a kernel."""
    text = f"""{HEAD} .visible .entry k (.param .u64 %pd) {{
.reg .u64 %d, %x; .reg .u32 %t, %i, %j, %r<4>; .reg .pred %p, %q, %s;
ld.param.u64 %d, [%pd]; mov.u32 %t, %tid.x; {body} ret; }}"""
    return analyse(parse(text).functions["k"], version, True, "k")


@needs_executor
@pytest.mark.parametrize("name", LOCKS)
def test_all_come_to_an_end(device: Device, name: str) -> None:
    body = LOCKS[name] + "ld.global.u32 %r3, [%d+16]; st.global.u32 [%o], %r3;"
    assert len(run(device, body, bytes(32), threads=64)) == 1024


@needs_executor
def test_each_lane_has_changed_it_once() -> None:
    """The sum that all lanes of two warps make of each other's."""
    with Device(1 << 22) as one:
        body = LOCKS["a ticket"].replace(CHANGE, "add.u32 %i, %i, 1; ld.global.u32 %r1, [%d+16]; mad.lo.u32 %r1, %r1, "
                                         "3, %i; st.global.u32 [%d+16], %r1; membar.gl;")  # fmt: skip
        body += "bar.sync 0; ld.global.u32 %r3, [%d+16]; st.global.u32 [%o], %r3;"
        got = run(one, body, bytes(32), threads=64)
    want = 0
    for number in range(1, 65):
        want = (want * 3 + number) & 0xFFFFFFFF
    assert set(got[:64].tolist()) == {want}


@pytest.mark.parametrize("name", LOCKS)
def test_the_release_is_in_the_loop(name: str) -> None:
    found = analysis(LOCKS[name])
    assert "%never" in {register.name for register in found.registers}
    changed = [b.index for b in found.blocks if any(code.opcode == "membar.gl" for code in b.code)]
    assert any(head < index < end for head, end in found.loops.items() for index in changed)
    for block in found.blocks:
        if any(code.opcode == "bar.sync" for code in block.code):
            assert block.index not in found.divergent


@pytest.mark.parametrize("name", NONE)
def test_other_loops_stay(name: str) -> None:
    assert "%never" not in {register.name for register in analysis(NONE[name]).registers}


def test_code_that_is_the_same_in_all_lanes_stays() -> None:
    """GCC's code outside of simd regions has one lane do what is atomic."""
    assert "%never" not in {register.name for register in analysis(LOCKS["cas"], "S").registers}
