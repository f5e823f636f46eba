"""Carry chains, indexed branches, reductions at barriers, predicates in calls: against models in Python."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from ptx_tools import device, needs_executor, run

from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor


# --- carries ---------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, (1 << 128) - 1, 1 << 127, (1 << 32) - 1, 1 << 96, 0xFFFFFFFF00000000FFFFFFFF00000000]
NUMBERS += [int.from_bytes(np.random.default_rng(seed).bytes(16), "little") for seed in range(25)]
MASK = (1 << 128) - 1


def words(number: int) -> list[int]:
    return [number >> 32 * i & 0xFFFFFFFF for i in range(4)]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("operation", ["add", "sub"])
def test_sums_of_128_bits(device: Device, operation: str, uniform: bool) -> None:
    """Four words a lane; the fifth result is what is left of the flag."""
    pairs = [(NUMBERS[i], NUMBERS[(7 * i + 3) % 32]) for i in range(32)]
    if uniform:
        pairs = [pairs[9]] * 32
    data = b"".join(struct.pack("<8I", *words(a), *words(b)) for a, b in pairs)
    lane = "mov.u64 %x, %d;" if uniform else "mad.wide.u32 %x, %t, 32, %d;"
    body = lane + "".join(f"ld.global.u32 %r{i}, [%x+{4 * i}];" for i in range(8))
    body += f"{operation}.cc.u32 %r8, %r0, %r4; {operation}c.cc.u32 %r9, %r1, %r5; {operation}c.cc.u32 %r10, %r2, %r6;"
    body += f"{operation}c.cc.u32 %r11, %r3, %r7; addc.u32 %r12, 0, 0;"
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{8 + i};" for i in range(5))
    found = run(device, body, data)
    for i, (a, b) in enumerate(pairs):
        wanted = a + b if operation == "add" else a - b
        assert [int(found[32 * k + i]) for k in range(4)] == words(wanted & MASK)
        assert found[128 + i] == int(not 0 <= wanted <= MASK)


def test_64_bit_words(device: Device) -> None:
    data = struct.pack("<4Q", 0xFFFFFFFFFFFFFFFF, 5, 1, 7)
    body = """ld.global.u64 %x, [%d]; ld.global.u64 %y, [%d+8]; ld.global.u64 %z, [%d+16]; ld.global.u64 %w, [%d+24];
        add.cc.u64 %a0, %x, %z; addc.u64 %a1, %y, %w; sub.cc.s64 %a2, %z, %x; subc.s64 %a3, %y, %w;
        cvt.u32.u64 %r0, %a1; cvt.u32.u64 %r1, %a3; cvt.u32.u64 %r2, %a0; st.global.u32 [%o], %r0;
        st.global.u32 [%o+128], %r1; st.global.u32 [%o+256], %r2;"""
    found = run(device, body, data)
    assert (found[0], found[32], found[64]) == (13, (5 - 7 - 1) & 0xFFFFFFFF, 0)


def test_products_of_64_bits_from_words(device: Device) -> None:
    """64 x 64 → 128 bits by mad.lo.cc, madc.hi.cc and so on, as CUDA's compilers write it."""
    factors = [(NUMBERS[i] & (1 << 64) - 1, NUMBERS[(5 * i + 1) % 32] >> 64) for i in range(32)]
    data = b"".join(struct.pack("<2Q", a, b) for a, b in factors)
    body = "mad.wide.u32 %x, %t, 16, %d;" + "".join(f"ld.global.u32 %r{i}, [%x+{4 * i}];" for i in range(4))
    body += """mul.lo.u32 %r8, %r0, %r2; mul.hi.u32 %r9, %r0, %r2;
        mad.lo.cc.u32 %r9, %r0, %r3, %r9; madc.hi.u32 %r10, %r0, %r3, 0;
        mad.lo.cc.u32 %r9, %r1, %r2, %r9; madc.hi.cc.u32 %r10, %r1, %r2, %r10; madc.hi.u32 %r11, %r1, %r3, 0;
        mad.lo.cc.u32 %r10, %r1, %r3, %r10; addc.u32 %r11, %r11, 0;"""
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{8 + i};" for i in range(4))
    found = run(device, body, data)
    for i, (a, b) in enumerate(factors):
        assert [int(found[32 * k + i]) for k in range(4)] == words(a * b)


def test_the_flag_of_lanes_that_are_not_active(device: Device) -> None:
    """Under a predicate and in a branch the other lanes keep their flag."""
    body = """mov.u32 %r0, 0xffffffff; setp.lt.u32 %p, %t, 8; setp.lt.u32 %q, %t, 16;
        add.cc.u32 %r1, %r0, 1; @%p add.cc.u32 %r1, 0, 0; @!%q bra on; setp.lt.u32 %s, %t, 12; @%s bra on;
        add.cc.u32 %r1, 1, 1; on: addc.u32 %r2, 0, 0; st.global.u32 [%o], %r2;"""
    found = run(device, body)
    assert list(found[:32]) == [0] * 8 + [1] * 4 + [0] * 4 + [1] * 16


# --- indexed branches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 5, 9, 23])
@pytest.mark.parametrize("index", ["%t", "%i"])
def test_indexed_branches(device: Device, count: int, index: str) -> None:
    """Each lane (or all) to its own label; targets may be named more than once."""
    labels = [f"L{i * 5 % count}" for i in range(count)]
    cases = "".join(f"L{i}: mov.u32 %j, {100 + i}; bra.uni done;\n" for i in range(count))
    body = f"""mov.u32 %i, {count - 1}; rem.u32 %t, %t, {count};
        list: .branchtargets {", ".join(labels)};
        brx.idx{".uni" if index == "%i" else ""} {index}, list;
        {cases} done: st.global.u32 [%o], %j;"""
    found = run(device, body)
    for lane in range(32):
        at = lane % count if index == "%t" else count - 1
        assert found[lane] == 100 + at * 5 % count


def test_indexed_branches_under_a_predicate(device: Device) -> None:
    body = """setp.ge.u32 %p, %t, 4; and.b32 %i, %t, 1; mov.u32 %j, 7; @%p brx.idx %i, list; bra done;
        list: .branchtargets A, B; A: mov.u32 %j, 1; bra done; B: mov.u32 %j, 2; done: st.global.u32 [%o], %j;"""
    assert list(run(device, body)[:32]) == [7] * 4 + [1, 2] * 14


@pytest.mark.slow(sample=6)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("brx.idx %i, nothing;", "'nothing' is no '.branchtargets' list"),
        ("list: .branchtargets on; brx.idx %i; on:", "'brx.idx' needs an index and a list of labels"),
        ("list: .branchtargets away; brx.idx %i, list;", "label 'away' is not defined"),
        ("brx.far %i, list;", "unknown opcode 'brx.far'"),
        ("add.cc.f32 %i, %i, %i;", "unknown opcode 'add.cc.f32'"),
        ("mad.wide.cc.u32 %i, %i, %i, %i;", "unknown opcode 'mad.wide.cc.u32'"),
        ("addc.u32 %i, %i;", "'addc.u32' needs 4 operands, 3 given"),
        ("bar.red.xor.pred %p, 0, %q;", "unknown opcode 'bar.red.xor.pred'"),
        ("bar.red.popc.u32 %i, 0;", "'bar.red.popc.u32' needs 3 to 4 operands, 2 given"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as device, pytest.raises(ExecutorError) as failure:
        run(device, code)
    assert failure.value.log.strip().endswith(f": error: {message}")


# --- reductions at barriers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bar", "barrier", "barrier.aligned"])
@pytest.mark.parametrize("threads", [32, 96, 100])
def test_barriers_reduce(device: Device, threads: int, form: str) -> None:
    base, _, aligned = form.partition(".")
    popc, every, some = (
        f"{base}.red.{op}{'.aligned' if aligned else ''}.{kind}"
        for op, kind in (("popc", "u32"), ("and", "pred"), ("or", "pred"))
    )
    body = f"""rem.u32 %i, %t, 3; setp.eq.u32 %p, %i, 0; setp.lt.u32 %q, %t, 1000;
        {popc} %r0, 0, %p; {every} %s, 1, %p; selp.u32 %r1, 1, 0, %s; {every} %s, 0, %q; selp.u32 %r2, 1, 0, %s;
        {some} %s, 0, %p; selp.u32 %r3, 1, 0, %s; {some} %s, 0, !%q; selp.u32 %r4, 1, 0, %s;
        {popc} %r5, 0, !%p;"""
    body += "".join(f"st.global.u32 [%o+{400 * i}], %r{i};" for i in range(6))
    found = run(device, body, threads=threads)
    count = len(range(0, threads, 3))
    for i, wanted in enumerate([count, 0, 1, 1, 0, threads - count]):
        assert (found[100 * i : 100 * i + threads] == wanted).all(), i


def test_a_reduction_of_some_warps(device: Device) -> None:
    """Warps 1 and 2 of four, by number; the others go on."""
    body = """mov.u32 %r0, 9; setp.lt.u32 %p, %t, 32; setp.ge.u32 %q, %t, 96; @%p bra out; @%q bra out;
        setp.gt.u32 %s, %t, 40; bar.red.popc.u32 %r0, 3, 64, %s; out: st.global.u32 [%o], %r0;"""
    found = run(device, body, threads=128)
    assert list(found[:128]) == [9] * 32 + [96 - 41] * 64 + [9] * 32


def test_reductions_one_after_the_other(device: Device) -> None:
    """Each begins anew, though warps leave the one before at different times."""
    body = "mov.u32 %r1, 0; mov.u32 %j, 0; loop: setp.le.u32 %p, %t, %j; bar.red.popc.u32 %r0, 0, %p;"
    body += "add.u32 %r1, %r1, %r0; add.u32 %j, %j, 1; setp.lt.u32 %q, %j, 64; @%q bra loop; st.global.u32 [%o], %r1;"
    assert (run(device, body, threads=64)[:64] == 64 * 65 // 2).all()


# --- predicates in calls ---------------------------------------------------------------------------------------------

FUNCTIONS = """
.func (.reg .pred %r) both (.reg .pred %a, .reg .pred %b) { and.pred %r, %a, %b; ret; }
.func (.reg .u32 %r, .reg .pred %s) pick (.reg .pred %a, .reg .u32 %x)
{ .reg .pred %n; not.pred %s, %a; mov.u32 %r, 5; @%a mov.u32 %r, %x; @%a ret; add.u32 %r, %r, 1; ret; }
"""


@pytest.mark.parametrize("uniform", [False, True])
def test_predicates_as_arguments_and_results(device: Device, uniform: bool) -> None:
    source = "3" if uniform else "%t"
    body = f"""setp.lt.u32 %p, {source}, 20; mov.u32 %i, {source}; and.b32 %i, %i, 1; setp.eq.u32 %q, %i, 1;
        call (%s), both, (%p, %q); selp.u32 %r0, 1, 0, %s; call (%s), both, (%p, 1); selp.u32 %r1, 1, 0, %s;
        call (%r2, %s), pick, (%q, %t); selp.u32 %r3, 1, 0, %s; setp.ne.u32 %s, 0, 0; @%q call (%s), both, (1, 1);
        selp.u32 %r4, 1, 0, %s;"""
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(5))
    found = run(device, body, before=FUNCTIONS)
    for lane in range(32):
        value = 3 if uniform else lane
        p, q = value < 20, value % 2 == 1
        wanted = [int(p and q), int(p), lane if q else 6, int(not q), int(q)]
        assert [int(found[32 * i + lane]) for i in range(5)] == wanted


@pytest.mark.parametrize("call", ["call (%s), both, (%i, %p);", "call (%r2, %s), pick, (%q, %p);"])
def test_a_predicate_for_something_else(call: str) -> None:
    with Device(1 << 20) as device, pytest.raises(ExecutorError) as failure:
        run(device, call, before=FUNCTIONS)
    assert "a predicate is passed where the function has another type" in failure.value.log
