"""cp.async with parts of the source, and mbarrier (gompy/ptx/asynchronous.py)."""

from __future__ import annotations

import struct

import pytest
from ptx_tools import HEAD, device, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

SHARED = ".shared .align 16 .b8 s[2048];\n"
STORED = "".join(f"ld.shared.u32 %r{i}, [%y+{4 * i}]; st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4))


def test_copies_of_as_many_bytes_as_a_register_says(device: Device) -> None:
    """0 to 16 bytes, each lane its own; what is not given is zero, and is not read (here: no memory at all)."""
    data = bytes(range(1, 255)) + bytes(258)
    body = f"""rem.u32 %i, %t, 17; mad.wide.u32 %x, %t, 4, %d; setp.eq.u32 %p, %i, 0; selp.b64 %x, 64, %x, %p;
        mov.u64 %a0, s; mad.wide.u32 %y, %t, 16, %a0;
        cp.async.cg.shared.global [%y], [%x], 16, %i; cp.async.wait_all; {STORED}"""
    found = run(device, body, data, before=SHARED).tolist()
    for lane in range(32):
        got = struct.pack("<4I", *found[lane:128:32])
        given = lane % 17
        assert got == data[4 * lane : 4 * lane + given] + bytes(16 - given)


@pytest.mark.parametrize("given", [0, 3, 8, 16])
def test_copies_with_one_register_for_all(device: Device, given: int) -> None:
    data = bytes(range(1, 255)) + struct.pack("<I", given)
    body = f"""ld.global.u32 %i, [%d+254]; mov.u64 %a0, s; mad.wide.u32 %y, %t, 16, %a0; mov.u64 %x, %d;
        cp.async.cg.shared.global.L2::128B [%y], [%x], 16, %i; {STORED}"""
    body = body.replace("ld.global.u32 %i, [%d+254]", "ld.global.u16 %h0, [%d+254]; cvt.u32.u16 %i, %h0")
    found = run(device, body, data, before=SHARED).tolist()
    assert struct.pack("<4I", *found[0:128:32]) == data[:given] + bytes(16 - given)


def test_copies_that_a_predicate_makes_zeros(device: Device) -> None:
    data = bytes(range(1, 255)) * 4
    body = f"""and.b32 %i, %t, 1; setp.eq.u32 %p, %i, 1; mov.u64 %a0, s; mad.wide.u32 %y, %t, 16, %a0;
        mad.wide.u32 %x, %t, 16, %d; createpolicy.fractional.L2::evict_first.b64 %z, 1.0;
        cp.async.ca.shared.global.L2::cache_hint [%y], [%x], 8, %p, %z; cp.async.ca.shared.global [%y+8], [%x+8], 8;
        {STORED}"""
    found = run(device, body, data, before=SHARED).tolist()
    for lane in range(32):
        source = data[16 * lane : 16 * lane + 16]
        assert struct.pack("<4I", *found[lane:128:32]) == (bytes(8) if lane & 1 else source[:8]) + source[8:]


def test_a_copy_that_reads_nothing_with_a_guard(device: Device) -> None:
    body = f"""mov.u64 %a0, s; mad.wide.u32 %y, %t, 16, %a0; mov.u32 %j, 7; mov.u32 %i, 4;
        st.shared.v4.u32 [%y], {{%j, %j, %j, %j}};
        setp.lt.u32 %p, %t, 3; @%p cp.async.ca.shared.global [%y], [%d], 8, %i; {STORED}"""
    found = run(device, body, struct.pack("<2I", 5, 6), before=SHARED).tolist()
    assert found[:32] == [5] * 3 + [7] * 29
    assert found[32:64] == [0] * 3 + [7] * 29
    assert found[64:96] == [7] * 32


# --- mbarrier --------------------------------------------------------------------------------------------------------

BARRIER = ".shared .align 8 .b64 bar0;\n.shared .align 4 .u32 box[256];\n"


@pytest.mark.parametrize("wait", ["state", "parity"])
def test_warps_meet_at_a_barrier(device: Device, wait: str) -> None:
    """256 threads write, arrive, wait, and read what the next warp has written; three phases."""
    how = "test_wait.shared.b64 %p, [%a0], %a1" if wait == "state" else "try_wait.parity.shared::cta.b64 %p, [%a0], %j"
    body = f"""mov.u64 %a0, bar0; mov.u64 %a2, box; setp.ne.u32 %q, %t, 0; @%q bra ready;
        mbarrier.init.shared.b64 [%a0], 256; ready: bar.sync 0; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %j, 0;
        mad.wide.u32 %x, %t, 4, %a2; add.u32 %i, %t, 32; and.b32 %i, %i, 255; mad.wide.u32 %y, %i, 4, %a2;
        phase: mad.lo.u32 %r0, %r5, 1000, %t; st.shared.u32 [%x], %r0; mbarrier.arrive.shared.b64 %a1, [%a0];
        wait: mbarrier.{how}; @!%p bra wait; xor.b32 %j, %j, 1;
        ld.shared.u32 %r1, [%y]; add.u32 %r6, %r6, %r1; mbarrier.arrive.release.cta.shared::cta.b64 %a1, [%a0], 1;
        wait2: mbarrier.{how}; @!%p bra wait2; xor.b32 %j, %j, 1;
        add.u32 %r5, %r5, 1; setp.lt.u32 %s, %r5, 3; @%s bra phase; st.global.u32 [%o], %r6;"""
    found = run(device, body, before=BARRIER, threads=256).tolist()
    assert found[:256] == [3 * ((t + 32) % 256) + 3000 for t in range(256)]


def test_counts_of_a_barrier(device: Device) -> None:
    """Arrivals with counts, those that leave, what is pending, and bytes that are waited for."""
    body = (
        """mov.u64 %a0, bar0; setp.ne.u32 %q, %t, 0; @%q bra out;
        mbarrier.init.shared.b64 [%a0], 10; mbarrier.arrive.shared.b64 %a1, [%a0], 3;
        mbarrier.pending_count.b64 %r0, %a1; mbarrier.arrive_drop.shared.b64 %a1, [%a0], 2;
        mbarrier.pending_count.b64 %r1, %a1; mbarrier.test_wait.shared.b64 %p, [%a0], %a1; selp.u32 %r2, 1, 0, %p;
        mbarrier.arrive.shared.b64 _, [%a0], 4; mbarrier.test_wait.parity.shared.b64 %p, [%a0], 0;
        selp.u32 %r3, 1, 0, %p;
        mbarrier.arrive.shared.b64 _, [%a0], 1; mbarrier.test_wait.shared.b64 %p, [%a0], %a1; selp.u32 %r4, 1, 0, %p;
        mbarrier.arrive.noComplete.shared.b64 %a2, [%a0], 7; mbarrier.pending_count.b64 %r5, %a2;
        mbarrier.arrive.expect_tx.shared.b64 %a3, [%a0], 96; mbarrier.test_wait.parity.shared.b64 %p, [%a0], 1;
        selp.u32 %r6, 1, 0, %p; mbarrier.complete_tx.relaxed.cta.shared.b64 [%a0], 64;
        mbarrier.test_wait.parity.shared.b64 %p, [%a0], 1; selp.u32 %r7, 1, 0, %p;
        mbarrier.complete_tx.shared.b64 [%a0], 32;
        mbarrier.test_wait.parity.shared.b64 %p, [%a0], 1; selp.u32 %r8, 1, 0, %p;
        cp.async.mbarrier.arrive.shared.b64 [%a0]; cp.async.mbarrier.arrive.noinc.shared.b64 [%a0];
        mbarrier.arrive.shared.b64 %a2, [%a0], 7; mbarrier.pending_count.b64 %r9, %a2; mbarrier.inval.shared.b64 [%a0];
        """
        + "".join(f"st.global.u32 [%o+{4 * i}], %r{i};" for i in range(10))
        + " out:"
    )
    found = run(device, body, before=BARRIER).tolist()[:10]
    assert found == [10, 7, 0, 0, 1, 8, 0, 0, 1, 7]


def test_an_address_that_is_none(device: Device) -> None:
    with pytest.raises(ExecutorError) as failure:
        run(device, "mov.u64 %a0, 24; mbarrier.init.b64 [%a0], 4;")
    assert failure.value.code == 700


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("mbarrier.arrive.shared.b32 %i, [%x];", "unknown opcode 'mbarrier.arrive.shared.b32'"),
        ("mbarrier.arrive.shared.b64 %x;", "'mbarrier.arrive.shared.b64' needs 2 to 4 operands, 1 given"),
        ("mbarrier.arrive.shared.b64 _, [%x], 1, 1;", "wrong number of operands for 'mbarrier.arrive.shared.b64'"),
        ("mbarrier.init.shared.b64 [%x];", "'mbarrier.init.shared.b64' needs 2 operands, 1 given"),
        ("cp.async.ca.shared.global [%x], [%y], 8, 9;", "9 bytes of the source, 8 at most"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log


# --- what PTX has and gompy has not ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "tex.grad.cube.v4.f32.f32 {%i, %i, %i, %i}, [%x, {%j, %j, %j, %j}], {%j}, {%j};",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x], [%y], 16;",
        "vmax.s32.s32.s32 %i, %j, %i, %j;",
        "mma.sp.sync.aligned.m16n8k128.row.col.f32.e2m1.e2m1.f32 {%i}, {%i}, {%i}, {%i}, %i, 0;",
        "ld.global.b128 %x, [%y];",
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%x], %i, [%y];",
    ],
)
def test_what_is_not_implemented_says_its_name_and_line(code: str) -> None:
    text = f"{HEAD}.visible .entry k () {{ .reg .u64 %x, %y; .reg .u32 %i, %j;\n\n{code}\nret; }}\n"
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        here.load(text).function("k").launch((1, 1, 1), (32, 1, 1), [])
    assert failure.value.log.strip().endswith(f":6: error: '{code.split()[0].rstrip(';')}' is not implemented")
