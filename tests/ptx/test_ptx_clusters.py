"""Clusters of one block, and bulk copies in its shared memory (gompy/ptx/clusters.py, bulk.py)."""

from __future__ import annotations

import struct

import pytest
from ptx_tools import HEAD, device, needs_executor, run

from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_RACE, CHECK_SYNC, Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

BOX = ".shared .align 16 .u32 box[256];\n"


# --- addresses -------------------------------------------------------------------------------------------------------


def test_addresses_in_the_own_block(device: Device) -> None:
    """mapa to rank 0 is the address itself, in both widths; each address is of rank 0."""
    body = """mov.u64 %a0, box; mov.u32 %i, box; mad.wide.u32 %x, %t, 4, %a0; mad.lo.u32 %i, %t, 4, %i; mov.u32 %j, 0;
        mapa.shared::cluster.u64 %y, %x, 0; st.shared::cluster.u32 [%y], %t; mapa.shared::cluster.u32 %r0, %i, %j;
        ld.shared::cluster.u32 %r1, [%r0]; mapa.u64 %z, %x, %j; ld.u32 %r2, [%z]; getctarank.u64 %a1, %x;
        getctarank.shared::cluster.u32 %r3, %i; cvt.u32.u64 %r4, %a1; isspacep.shared::cluster %p, %z;
        cvta.shared::cluster.u64 %a2, %y; ld.u32 %r6, [%a2]; mapa.shared::cluster.u64 %a3, box, 0;
        ld.shared.u32 %r7, [%a3+8];
        selp.u32 %r5, 1, 0, %p; atom.shared::cluster.add.u32 %r8, [%y], 1; ld.shared::cta.u32 %r9, [%x];"""
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{i + 1};" for i in range(9))
    found = run(device, body, before=BOX).tolist()
    rows = [found[32 * at : 32 * at + 32] for at in range(9)]
    lanes = list(range(32))
    assert rows[0] == rows[1] == rows[5] == rows[7] == lanes
    assert rows[2] == rows[3] == [0] * 32
    assert rows[4] == [1] * 32
    assert rows[6] == [2] * 32
    assert rows[8] == [lane + 1 for lane in lanes]


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_another_block_has_no_address(device: Device, kind: str) -> None:
    register = "%i" if kind == "u32" else "%x"
    body = f"mov.{kind} {register}, box; mapa.shared::cluster.{kind} {register}, {register}, 1;"
    with pytest.raises(ExecutorError) as failure:
        run(device, f"{body} ld.shared::cluster.u32 %r0, [{register}]; st.global.u32 [%o], %r0;", before=BOX)
    assert failure.value.code == 700


def test_registers_and_directives() -> None:
    """What a kernel says of clusters, where it is one block; more are an error with a line."""
    head = f"{HEAD}.visible .entry k (.param .u64 %po) "
    names = ("%cluster_nctaid.x", "%cluster_ctaid.y", "%cluster_nctarank", "%clusterid.x", "%nclusterid.x")
    body = ".reg .u64 %o; .reg .u32 %r; .reg .u64 %i; ld.param.u64 %o, [%po];"
    body += "mov.u32 %r, %ctaid.x; mad.wide.u32 %o, %r, 20, %o;"
    body += "".join(f"mov.u32 %r, {name}; st.global.u32 [%o+{4 * at}], %r;" for at, name in enumerate(names))
    with Device(1 << 20) as here:
        out = here.upload(bytes(60))
        text = f"{head}.reqnctapercluster 1, 1, 1 .explicitcluster .maxclusterrank 8 {{ {body} ret; }}\n"
        here.load(text).function("k").launch((3, 1, 1), (1, 1, 1), [out])
        assert struct.unpack("<15I", here.download(out, 60)) == (1, 0, 1, 0, 3, 1, 0, 1, 1, 3, 1, 0, 1, 2, 3)
        with pytest.raises(ExecutorError) as failure:
            here.load(f"{head}\n.reqnctapercluster 2 {{ ret; }}\n")
        wanted = ":5: error: '.reqnctapercluster 2': clusters of more than one block are not implemented"
        assert failure.value.log.strip().endswith(wanted)


# --- the cluster's barrier -------------------------------------------------------------------------------------------

WAYS = [
    "barrier.cluster.arrive; barrier.cluster.wait;",
    "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "barrier.cluster.arrive.release.aligned; add.u32 %r7, %r7, 1; barrier.cluster.wait.acquire.aligned;",
    "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;",
]


def exchange(way: str) -> str:
    """256 threads write, meet, and add what the next warp has written; three times."""
    return f"""mov.u64 %a0, box; mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u32 %r7, 0; mad.wide.u32 %x, %t, 4, %a0;
        add.u32 %i, %t, 32; and.b32 %i, %i, 255; mad.wide.u32 %y, %i, 4, %a0;
        again: mad.lo.u32 %r0, %r5, 1000, %t; st.shared.u32 [%x], %r0; {way}
        ld.shared.u32 %r1, [%y]; add.u32 %r6, %r6, %r1; {way}
        add.u32 %r5, %r5, 1; setp.lt.u32 %s, %r5, 3; @%s bra again; st.global.u32 [%o], %r6;"""


EXCHANGED = [3 * ((t + 32) % 256) + 3000 for t in range(256)]


@pytest.mark.parametrize("way", WAYS)
def test_warps_meet(device: Device, way: str) -> None:
    assert run(device, exchange(way), before=BOX, threads=256).tolist()[:256] == EXCHANGED


def test_one_warp(device: Device) -> None:
    assert run(device, f"{WAYS[0]} {WAYS[1]} st.global.u32 [%o], %t;")[:32].tolist() == list(range(32))


def test_who_arrives_need_not_wait_for_who_waits(device: Device) -> None:
    """Between its arrival and its wait the first warp waits for what the second one does behind the barrier."""
    body = """mov.u64 %a0, box; setp.lt.u32 %p, %t, 32; mov.u32 %r0, 0; barrier.cluster.arrive; @%p bra first;
        barrier.cluster.wait; mov.u32 %r1, 7; st.volatile.shared.u32 [%a0], %r1; bra.uni out;
        first: ld.volatile.shared.u32 %r0, [%a0]; setp.eq.u32 %q, %r0, 0; @%q bra first; barrier.cluster.wait;
        out: st.global.u32 [%o], %r0;"""
    assert run(device, body, before=BOX, threads=64)[:64].tolist() == [7] * 32 + [0] * 32


def test_who_has_ended_is_not_waited_for(device: Device) -> None:
    """The first warp ends at once, the second when it has arrived; the others come late, and go on together."""
    body = """mov.u64 %a0, box; mov.u32 %r0, 0; setp.lt.u32 %p, %t, 32; @%p bra out;
        setp.lt.u32 %p, %t, 64; @!%p bra others; barrier.cluster.arrive; bra.uni out;
        others: setp.lt.u32 %q, %t, 96; @!%q bra last; barrier.cluster.arrive; barrier.cluster.wait;
        ld.shared.u32 %r0, [%a0]; bra.uni out;
        last: mov.u32 %r1, 0; turn: nanosleep.u32 10; add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 20; @%q bra turn;
        mov.u32 %r1, 9; st.shared.u32 [%a0], %r1; barrier.cluster.arrive; barrier.cluster.wait;
        out: st.global.u32 [%o], %r0;"""
    found = run(device, body, before=BOX, threads=128).tolist()
    assert found[:128] == [0] * 64 + [9] * 32 + [0] * 32


HALVES = "and.b32 %r2, %t, 16; setp.eq.u32 %s, %r2, 0; @%s bra low;"
"""Lanes 16 to 31 of each warp go on, the others to `low`."""


MEET = "barrier.cluster.arrive; barrier.cluster.wait;"
WRITE_LATE = f"""mov.u32 %r1, 0; turn: nanosleep.u32 10; add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 20; @%q bra turn;
        mov.u32 %r1, 9; st.volatile.shared.u32 [%a0], %r1; {MEET} bra.uni out;"""


def test_a_warp_arrives_in_two_parts(device: Device) -> None:
    """The second part's arrival is none of the next phase: who waits there waits for all warps."""
    body = f"""mov.u64 %a0, box; mov.u32 %r0, 0; setp.lt.u32 %p, %t, 32; @!%p bra second;
        {HALVES} barrier.cluster.arrive; bra.uni met; low: barrier.cluster.arrive; met: barrier.cluster.wait;
        {WRITE_LATE} second: {MEET} {MEET} ld.volatile.shared.u32 %r0, [%a0]; out: st.global.u32 [%o], %r0;"""
    assert run(device, body, before=BOX, threads=64)[:64].tolist() == [0] * 32 + [9] * 32


@pytest.mark.parametrize("turns", [1, 3])
def test_a_warp_waits_in_two_parts(device: Device, turns: int) -> None:
    """Each part arrives and waits, some times, as the other warp does; then all meet once more."""
    again = f"add.u32 %r5, %r5, 1; setp.lt.u32 %q, %r5, {turns};"
    body = f"""mov.u64 %a0, box; mov.u32 %r0, 0; mov.u32 %r5, 0; setp.lt.u32 %p, %t, 32; @!%p bra second;
        {HALVES} high: {MEET} {again} @%q bra high; bra.uni met; low: {MEET} {again} @%q bra low;
        met: {WRITE_LATE} second: {MEET} {again} @%q bra second; {MEET} ld.volatile.shared.u32 %r0, [%a0];
        out: st.global.u32 [%o], %r0;"""
    assert run(device, body, before=BOX, threads=64)[:64].tolist() == [0] * 32 + [9] * 32


def test_part_of_a_warp_ends(device: Device) -> None:
    """Half of the first warp ends without an arrival, or behind one: the other half counts for the warp."""
    for first in ("", "barrier.cluster.arrive;"):
        body = f"""mov.u64 %a0, box; mov.u32 %r0, 0; setp.lt.u32 %p, %t, 32; @!%p bra late;
            {HALVES} {first} exit; low: barrier.cluster.arrive; barrier.cluster.wait;
            ld.volatile.shared.u32 %r0, [%a0]; bra.uni out;
            late: mov.u32 %r1, 9; st.volatile.shared.u32 [%a0], %r1; barrier.cluster.arrive; barrier.cluster.wait;
            out: st.global.u32 [%o], %r0;"""
        found = run(device, body, before=BOX, threads=64)[:64].tolist()
        assert found == [9] * 16 + [0] * 48


def test_warps_that_wait_for_different_barriers() -> None:
    """Nobody can go on: said with both, in checked code with its lines."""
    body = "setp.lt.u32 %p, %t, 32; @%p bra first; barrier.cluster.arrive; barrier.cluster.wait; first: bar.sync 0;"
    for check, wanted in (
        (0, "every warp of the block waits at a barrier that nobody else will reach"),
        (CHECK_SYNC, "(warp 0: barrier 0 for 64 threads, line 8; warp 1: the cluster's barrier, line 8)"),
    ):
        with Device(1 << 20, check) as here, pytest.raises(ExecutorError) as failure:
            run(here, body, threads=64)
        assert failure.value.code == 702
        assert wanted in failure.value.log


def races(way: str) -> int:
    """How many are told of warps that exchange words of shared memory."""
    text = exchange(way).replace("%s, %r5, 3", "%s, %r5, 1")
    with Device(1 << 22, CHECK_RACE) as here:
        try:
            run(here, text, before=BOX, threads=256)
        except AssertionError:
            return len(here.warnings)
        except ExecutorError as error:
            return int("race" in error.log)
    return 0


@pytest.mark.parametrize("way", WAYS)
def test_the_barrier_orders_accesses(way: str) -> None:
    assert races(way) == 0


def test_who_has_ended_had_arrived() -> None:
    """The first warp writes, arrives and ends before the second one comes to the barrier, and reads."""
    body = """mov.u64 %a0, box; setp.lt.u32 %p, %t, 32; @!%p bra second; mad.wide.u32 %x, %t, 4, %a0;
        st.shared.u32 [%x], %t; barrier.cluster.arrive; bra.uni out;
        second: mov.u32 %r1, 0; turn: nanosleep.u32 10; add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, 20; @%q bra turn;
        barrier.cluster.arrive; barrier.cluster.wait; sub.u32 %i, %t, 32; mad.wide.u32 %x, %i, 4, %a0;
        ld.shared.u32 %r0, [%x]; st.global.u32 [%o], %r0; out:"""
    with Device(1 << 22, CHECK_RACE) as here:
        assert run(here, body, before=BOX, threads=64)[32:64].tolist() == list(range(32))


def test_what_the_barrier_does_not_order() -> None:
    """A relaxed arrival without a fence, and an arrival that nobody waits for."""
    assert races("barrier.cluster.arrive.relaxed; barrier.cluster.wait;") > 0
    assert races("barrier.cluster.arrive;") > 0


# --- bulk copies -----------------------------------------------------------------------------------------------------

SHARED = ".shared .align 16 .b8 s[2048];\n.shared .align 8 .b64 bar0;\n"
INWARDS = "cp.async.bulk.{}.global.mbarrier::complete_tx::bytes"
OUTWARDS = "cp.async.bulk.global.shared::cta.bulk_group"
BEGIN = """mov.u64 %a0, s; mov.u64 %a1, bar0; setp.ne.u32 %p, %t, 0; mov.u32 %i, 1024; @%p bra ready;
        mbarrier.init.shared.b64 [%a1], 1; ready: bar.sync 0; """
WAIT = "wait: mbarrier.try_wait.parity.shared.b64 %q, [%a1], 0; @!%q bra wait; "


@pytest.mark.parametrize("space", ["shared::cta", "shared::cluster"])
@pytest.mark.parametrize("order", ["before", "behind"])
def test_bulk_copies_with_a_barrier(device: Device, space: str, order: str) -> None:
    """One thread copies, and says how many bytes before or behind that; all of 128 wait, and read."""
    data = struct.pack("<256I", *range(1000, 1256))
    copy = f"{INWARDS.format(space)} [%a0], [%d], %i, [%a1];"
    arrive = "mbarrier.arrive.expect_tx.shared.b64 _, [%a1], 1024;"
    steps = arrive + copy if order == "before" else copy + arrive
    body = f"""{BEGIN} @%p bra wait; {steps} {WAIT} mad.wide.u32 %x, %t, 8, %a0;
        ld.shared.v2.u32 {{%r0, %r1}}, [%x]; st.global.u32 [%o], %r0; st.global.u32 [%o+512], %r1;"""
    found = run(device, body, data, before=SHARED, threads=128).tolist()
    assert found[:128] == list(range(1000, 1256, 2))
    assert found[128:256] == list(range(1001, 1256, 2))


def test_a_barrier_that_lacks_bytes(device: Device) -> None:
    """Half of what is expected is there: the phase is not over."""
    body = f"""{BEGIN} @%p bra out; mbarrier.arrive.expect_tx.shared.b64 _, [%a1], 1024; mov.u32 %i, 512;
        {INWARDS.format("shared::cluster")}.L2::cache_hint [%a0], [%d], %i, [%a1], %x;
        mbarrier.test_wait.parity.shared.b64 %q, [%a1], 0; selp.u32 %r0, 1, 0, %q; st.global.u32 [%o], %r0;
        {INWARDS.format("shared::cta")} [%a0+512], [%d+512], 512, [%a1];
        mbarrier.test_wait.parity.shared.b64 %q, [%a1], 0; selp.u32 %r0, 1, 0, %q; st.global.u32 [%o+4], %r0; out:"""
    body = body.replace("mov.u64 %a0, s;", "mov.u64 %a0, s; createpolicy.fractional.L2::evict_first.b64 %x, 1.0;")
    assert run(device, body, bytes(1024), before=SHARED)[:2].tolist() == [0, 1]


@pytest.mark.parametrize("hint", ["", ".L2::cache_hint"])
@pytest.mark.parametrize("kept", [None, 0xFFFF, 0x8421, 0])
def test_bulk_copies_outwards(device: Device, hint: str, kept: int | None) -> None:
    """Each lane copies its own bytes, 16 to 64; of each 16 those that the mask has."""
    mask = "" if kept is None else ".cp_mask"
    rest = (", %z" if hint else "") + ("" if kept is None else ", %h0")
    body = f"""mov.u64 %a0, s; mad.wide.u32 %x, %t, 64, %a0; mov.u64 %z, 0; mov.u16 %h0, {kept or 0};
        mad.lo.u32 %r0, %t, 0x01010101, 0x40000000; mad.lo.u32 %r1, %t, 3, 0x50505050;
        st.shared.v4.u32 [%x], {{%r0, %r1, %r0, %r1}}; st.shared.v4.u32 [%x+16], {{%r1, %r0, %r1, %r0}};
        st.shared.v4.u32 [%x+32], {{%r0, %r0, %r0, %r0}}; st.shared.v4.u32 [%x+48], {{%r1, %r1, %r1, %r1}};
        mad.wide.u32 %y, %t, 60, %o; and.b32 %i, %t, 3; mad.lo.u32 %i, %i, 16, 16;
        fence.proxy.async.shared::cta; {OUTWARDS}{hint}{mask} [%y], [%x], %i{rest};
        cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
        cp.async.bulk.prefetch.L2.global [%d], 64;"""
    got = run(device, body, before=SHARED).tobytes()
    for lane in range(32):
        r0, r1 = (struct.pack("<I", n & 0xFFFFFFFF) for n in (lane * 0x01010101 + 0x40000000, lane * 3 + 0x50505050))
        words = (2 * (r0 + r1) + 2 * (r1 + r0) + 4 * r0 + 4 * r1)[: 16 * (lane % 4 + 1)]
        bits = 0xFFFF if kept is None else kept
        want = bytes(byte if bits >> at % 16 & 1 else 0 for at, byte in enumerate(words)).ljust(64, b"\0")
        assert got[64 * lane : 64 * lane + 64] == want


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("mov.u32 %i, 24;", 715, "a copy of 24 bytes, which is no multiple of 16"),
        ("add.u64 %d, %d, 8;", 716, "misaligned address"),
        ("add.u64 %a0, %a0, 2048;", 700, "illegal address"),
        ("mov.u64 %d, 4096;", 700, "illegal address 0x1000"),
        ("mov.u64 %a1, 4096;", 700, "illegal address 0x1000"),
    ],
)
def test_faults(device: Device, code: str, error: int, message: str) -> None:
    body = f"{BEGIN} @%p bra out; {code} {INWARDS.format('shared::cta')} [%a0], [%d], %i, [%a1]; out:"
    with pytest.raises(ExecutorError, match=message) as failure:
        run(device, body, bytes(1024), before=SHARED)
    assert failure.value.code == error


@pytest.mark.parametrize(
    "way", [f"{INWARDS.format('shared::cta')} [%a0], [%d], %i, [%a1]", f"{OUTWARDS} [%d], [%a0], %i"]
)
def test_more_bytes_than_there_are(way: str) -> None:
    """No address is taken for one of a place with so many bytes: what is outside first is told."""
    with Device(1 << 20) as here, pytest.raises(ExecutorError, match=r"\(16 bytes\) in 'k' at ") as failure:
        run(here, f"{BEGIN} @%p bra out; mov.u32 %i, 0xFFFFFFF0; {way}; out:", bytes(1024), before=SHARED)
    assert failure.value.code == 700


def test_bytes_that_a_copy_reads_unwritten() -> None:
    """With checks: what is copied was written by nobody."""
    with Device(1 << 22, CHECK_MEMORY | CHECK_INIT) as here, pytest.raises(AssertionError):
        run(here, f"{BEGIN} @%p bra out; {OUTWARDS} [%o], [%a0], 64; out:", before=SHARED)
    assert "never written" in here.warnings[0] or "unwritten" in here.warnings[0]


def test_shared_memory_that_counts_from_zero(device: Device) -> None:
    """Without a name: the copy's first operand and its barrier are in shared memory, or the second."""
    body = f"""mov.u64 %a0, 0; mov.u64 %a1, 1024; setp.ne.u32 %p, %t, 0; @%p bra ready;
        mbarrier.init.shared.b64 [%a1], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%a1], 256;
        {INWARDS.format("shared::cta")} [%a0+64], [%d], 256, [%a1]; ready: bar.sync 0;
        wait: mbarrier.try_wait.parity.shared.b64 %q, [%a1], 0; @!%q bra wait;
        @%p bra out; {OUTWARDS} [%o], [%a0+80], 128; out:"""
    text = f"""{HEAD}.visible .entry k (.param .u64 %po, .param .u64 %pd) {{ .reg .u64 %o, %d, %a<2>; .reg .u32 %t;
        .reg .pred %p, %q; ld.param.u64 %o, [%po]; ld.param.u64 %d, [%pd]; mov.u32 %t, %tid.x; {body} ret; }}\n"""
    data = bytes(range(256))
    out = device.upload(bytes(128))
    device.load(text).function("k").launch((1, 1, 1), (64, 1, 1), [out, device.upload(data)], shared=1040)
    assert device.download(out, 128) == data[16:144]


# --- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("barrier.cluster.arrive.acquire;", "unknown opcode 'barrier.cluster.arrive.acquire'"),
        ("barrier.cluster.wait.relaxed;", "unknown opcode 'barrier.cluster.wait.relaxed'"),
        ("barrier.cluster.sync;", "unknown opcode 'barrier.cluster.sync'"),
        ("barrier.cluster;", "unknown opcode 'barrier.cluster'"),
        ("barrier.cluster.wait 0;", "'barrier.cluster.wait' needs 0 operands, 1 given"),
        ("mapa.shared.u64 %x, %y, 0;", "unknown opcode 'mapa.shared.u64'"),
        ("mapa.u64 %x, %y;", "'mapa.u64' needs 3 operands, 2 given"),
        ("getctarank.s32 %i, %j;", "unknown opcode 'getctarank.s32'"),
        ("cp.async.bulk.commit_group 0;", "'cp.async.bulk.commit_group' needs 0 operands, 1 given"),
        (f"{OUTWARDS} [%x], [%y], 16, [%z];", f"'{OUTWARDS}' needs 3 operands, 4 given"),
        (f"{OUTWARDS} [%x], %y, 16;", f"'{OUTWARDS}' needs addresses"),
        (f"{OUTWARDS}.ignore_oob [%x], [%y], 16;", f"'{OUTWARDS}.ignore_oob' is not implemented"),
        (
            f"{INWARDS.format('shared::cluster')}.multicast::cluster [%x], [%y], 16, [%z], %h0;",
            f"'{INWARDS.format('shared::cluster')}.multicast::cluster' is not implemented",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%x], [%y, {%i}], [%z];",
            "'cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes' is not implemented",
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%x], [%y], 16;",
            "'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32' is not implemented",
        ),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log
