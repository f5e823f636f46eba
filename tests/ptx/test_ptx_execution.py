"""How kernels run: divergence, calls, barriers, memory spaces, atomics, faults; small programs in PTX made for each."""

from __future__ import annotations

import os
import resource
import signal
import struct
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, ExecutorError

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
REGISTERS = """
.reg .u32 %tid, %i, %j, %n, %s, %t, %x, %y; .reg .u64 %o, %p, %q, %f, %g; .reg .pred %a, %b, %c; .reg .f32 %e, %h;
ld.param.u64 %o, [%out]; mov.u32 %tid, %tid.x; mad.wide.u32 %p, %tid, 4, %o;
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def device(cache: None) -> Iterator[Device]:
    with Device(1 << 26) as found:
        yield found


def entry(body: str, head: str = "", name: str = "k") -> str:
    return f"{HEAD}{head}\n.visible .entry {name} (.param .u64 %out) {{ {REGISTERS} {body} }}"


def run(device: Device, text: str, threads: int = 32, words: int = 0, blocks: int = 1, shared: int = 0) -> list[int]:
    """Run kernel `k`; the 32-bit words at its output."""
    words = words or threads * blocks
    out = device.upload(bytes(4 * words))
    kernel = device.load(text).function("k")
    kernel.launch((blocks, 1, 1), (threads, 1, 1), [out], shared=shared)
    return list(struct.unpack(f"{words}I", device.download(out, 4 * words)))


def test_nested_loops_with_lane_dependent_trips(device: Device) -> None:
    text = entry("""
    mov.u32 %s, 0; mov.u32 %i, 0;
$OUTER: setp.ge.u32 %a, %i, %tid; @%a bra $END;
    and.b32 %x, %i, 3; mov.u32 %j, 0;
$INNER: setp.gt.u32 %b, %j, %x; @%b bra $NEXT;
    mad.lo.u32 %s, %i, %j, %s; add.u32 %j, %j, 1;
    setp.eq.u32 %c, %s, 77; @%c bra $END;
    bra $INNER;
$NEXT: add.u32 %i, %i, 1; bra $OUTER;
$END: st.u32 [%p], %s; ret;
""")

    def model(tid: int) -> int:
        s = 0
        for i in range(tid):
            for j in range((i & 3) + 1):
                s += i * j
                if s == 77:
                    return s
        return s

    assert run(device, text, 64) == [model(t) for t in range(64)]


def test_lanes_meet_again_at_the_post_dominator(device: Device) -> None:
    """A ballot after an if/else must see all lanes; inside, only those of the branch."""
    text = entry("""
    and.b32 %x, %tid, 1; setp.eq.u32 %a, %x, 0; setp.ge.u32 %b, %tid, 0;
    @%a bra $EVEN;
    vote.sync.ballot.b32 %s, %b, 0xffffffff; bra $JOIN;
$EVEN: vote.sync.ballot.b32 %s, %b, 0xffffffff;
$JOIN: vote.sync.ballot.b32 %t, %b, 0xffffffff;
    st.u32 [%p], %s; st.u32 [%p+128], %t; ret;
""")
    got = run(device, text, 32, 64)
    assert got[:32] == [0x55555555, 0xAAAAAAAA] * 16
    assert got[32:] == [0xFFFFFFFF] * 32


def test_break_and_continue_reconverge_in_each_turn(device: Device) -> None:
    """After `continue` by some lanes all of them are together at the loop's head."""
    text = entry("""
    mov.u32 %i, 0; mov.u32 %s, 0; setp.ge.u32 %b, %tid, 0;
$HEAD: vote.sync.ballot.b32 %t, %b, 0xffffffff; setp.eq.u32 %c, %t, 0xffffffff;
    @%c add.u32 %s, %s, 1;
    add.u32 %i, %i, 1; setp.gt.u32 %a, %i, 9; @%a bra $OUT;
    and.b32 %x, %i, %tid; and.b32 %x, %x, 1; setp.ne.u32 %a, %x, 0; @%a bra $HEAD;
    add.u32 %s, %s, 100; bra $HEAD;
$OUT: st.u32 [%p], %s; ret;
""")
    assert run(device, text) == [10 + 100 * (9 if t % 2 == 0 else 4) for t in range(32)]


def test_switch_by_goto_into_a_shared_tail(device: Device) -> None:
    text = entry("""
    and.b32 %x, %tid, 3; mov.u32 %s, %tid;
    setp.eq.u32 %a, %x, 0; @%a bra $ZERO; setp.eq.u32 %a, %x, 1; @%a bra $ONE; setp.eq.u32 %a, %x, 2; @%a bra $TWO;
    add.u32 %s, %s, 1000; bra $TAIL;
$TWO: add.u32 %s, %s, 200;
$ONE: add.u32 %s, %s, 100; bra $TAIL;
$ZERO: add.u32 %s, %s, 1; st.u32 [%p], %s; ret;
$TAIL: add.u32 %s, %s, 10; st.u32 [%p], %s; ret;
""")
    add = {0: 1, 1: 110, 2: 310, 3: 1010}
    assert run(device, text) == [t + add[t % 4] for t in range(32)]


def test_irreducible_loop(device: Device) -> None:
    text = entry("""
    mov.u32 %s, 0; mov.u32 %i, %tid; and.b32 %x, %tid, 1; setp.eq.u32 %a, %x, 1; @%a bra $SECOND;
$FIRST: add.u32 %s, %s, 1; setp.eq.u32 %b, %i, 0; @%b bra $OUT; sub.u32 %i, %i, 1;
$SECOND: add.u32 %s, %s, 100; setp.eq.u32 %b, %i, 0; @%b bra $OUT; sub.u32 %i, %i, 1; bra $FIRST;
$OUT: st.u32 [%p], %s; ret;
""")

    def model(tid: int) -> int:
        s, i, first = 0, tid, tid % 2 == 0
        while True:
            s += 1 if first else 100
            if i == 0:
                return s
            i, first = i - 1, not first

    assert run(device, text) == [model(t) for t in range(32)]


def test_uniform_store_happens_once_and_load_sees_it(device: Device) -> None:
    """GCC's code: all lanes load, add and store one word; it grows by one, not by 32."""
    assert run(device, entry("ld.u32 %x, [%o]; add.u32 %x, %x, 1; st.u32 [%o], %x; ret;"), 32, 1) == [1]


def test_guarded_instructions_of_every_kind(device: Device) -> None:
    text = entry("""
    setp.lt.u32 %a, %tid, 5; mov.u32 %s, 7; mov.u32 %t, 9;
    @%a mov.u32 %s, %tid; @!%a ld.u32 %t, [%p+128]; @%a st.u32 [%p], %s; @!%a atom.add.u32 %x, [%o+256], 2;
    @%a ret; add.u32 %t, %t, %s; st.u32 [%p], %t; ret;
""")
    got = run(device, text, 32, 65)
    assert got[:32] == [0, 1, 2, 3, 4] + [7] * 27
    assert got[64] == 54


def test_calls_in_divergent_code_and_recursion(device: Device) -> None:
    """Each lane calls with its own argument; the callee calls itself (Fibonacci)."""
    head = """
.func (.param .u32 %r) fib (.param .u32 %n) {
  .reg .u32 %v, %w, %x; .reg .pred %c; ld.param.u32 %v, [%n]; setp.lt.u32 %c, %v, 2; @%c bra $BASE;
  { .param .u32 %out; .param .u32 %in; sub.u32 %w, %v, 1; st.param.u32 [%in], %w; call (%out), fib, (%in);
    ld.param.u32 %w, [%out]; }
  { .param .u32 %out; .param .u32 %in; sub.u32 %x, %v, 2; st.param.u32 [%in], %x; call (%out), fib, (%in);
    ld.param.u32 %x, [%out]; }
  add.u32 %v, %w, %x;
$BASE: st.param.u32 [%r], %v; ret; }
"""
    text = entry(
        """
    setp.gt.u32 %a, %tid, 14; @%a bra $NO; mov.u32 %x, 0;
    { .param .u32 %out1; .param .u32 %in1; st.param.u32 [%in1], %tid; call (%out1), fib, (%in1);
    ld.param.u32 %x, [%out1]; }
    st.u32 [%p], %x;
$NO: ret;
""",
        head,
    )
    fib = [0, 1]
    while len(fib) < 15:
        fib.append(fib[-1] + fib[-2])
    assert run(device, text) == fib + [0] * 17


def test_indirect_calls_with_a_function_for_each_lane(device: Device) -> None:
    head = (
        "\n".join(
            f".func (.param .u32 %r) f{i} (.param .u32 %n) {{ .reg .u32 %v; ld.param.u32 %v, [%n]; "
            f"mad.lo.u32 %v, %v, {i + 2}, {i}; st.param.u32 [%r], %v; ret; }}"
            for i in range(3)
        )
        + "\n.global .u64 table[3] = { f0, f1, f2 };"
    )
    text = entry(
        """
    rem.u32 %x, %tid, 3; cvta.global.u64 %q, table; mad.wide.u32 %q, %x, 8, %q; ld.u64 %f, [%q];
    { .param .u32 %out1; .param .u32 %in1; st.param.u32 [%in1], %tid;
$P: .callprototype (.param .u32 _) _ (.param .u32 _);
    call (%out1), %f, (%in1), $P; ld.param.u32 %s, [%out1]; }
    ld.u64 %f, [table+8];
    { .param .u32 %out1; .param .u32 %in1; st.param.u32 [%in1], %tid; call (%out1), %f, (%in1), $P;
    ld.param.u32 %t, [%out1]; }
    st.u32 [%p], %s; st.u32 [%p+128], %t; ret;
""",
        head,
    )
    got = run(device, text, 32, 64)
    assert got[:32] == [t * (t % 3 + 2) + t % 3 for t in range(32)]
    assert got[32:] == [t * 3 + 1 for t in range(32)]


def test_call_of_no_function(device: Device) -> None:
    with pytest.raises(ExecutorError) as caught:
        run(device, entry("mov.u64 %f, 4096; { $P: .callprototype _ (); call %f, $P; } ret;"))
    assert caught.value.code == 718
    assert "call of 0x1000, which is no function" in caught.value.log


def test_barriers_order_shared_memory(device: Device) -> None:
    text = entry(
        """
    mov.u64 %q, buffer; mad.wide.u32 %f, %tid, 4, %q; mul.lo.u32 %x, %tid, 3; st.shared.u32 [%f], %x; bar.sync 0;
    mov.u32 %y, %ntid.x; sub.u32 %y, %y, 1; sub.u32 %y, %y, %tid; mad.wide.u32 %f, %y, 4, %q; ld.shared.u32 %s, [%f];
    st.u32 [%p], %s; ret;
""",
        ".shared .align 4 .u32 buffer[256];",
    )
    assert run(device, text, 256) == [(255 - t) * 3 for t in range(256)]


def test_warp_0_is_the_last_to_go_on_behind_a_barrier(device: Device) -> None:
    """It may write what the others read there, as GCC's broadcasts to workers do (libgomp.oacc-c++/ref-1.C)."""
    text = entry(
        """
    mov.u64 %q, word; setp.ge.u32 %a, %tid, 32; mov.u32 %i, 0; mov.u32 %s, 0;
$AGAIN: @%a bra $READ; add.u32 %x, %i, 7; st.shared.u32 [%q], %x;
$READ: bar.sync 0; ld.shared.u32 %y, [%q]; @%a bra $WAIT; mov.u32 %x, 9; st.shared.u32 [%q], %x;
$WAIT: bar.sync 0; add.u32 %s, %s, %y; add.u32 %i, %i, 1; setp.lt.u32 %b, %i, 3; @%b bra $AGAIN;
    st.u32 [%p], %s; ret;
""",
        ".shared .align 4 .u32 word[1];",
    )
    assert run(device, text, 128) == [7 + 8 + 9] * 128


def test_named_barriers_and_arrive(device: Device) -> None:
    """Warp 0 produces and only arrives; warp 1 waits for it at barrier 3; the others are not concerned."""
    text = entry(
        """
    shr.u32 %x, %tid, 5; mov.u64 %q, word; setp.eq.u32 %a, %x, 0; @%a bra $PRODUCE; setp.eq.u32 %a, %x, 1;
    @%a bra $CONSUME;
    st.u32 [%p], %x; ret;
$PRODUCE: mov.u32 %y, 41; st.shared.u32 [%q], %y; bar.arrive 3, 64; st.u32 [%p], %x; ret;
$CONSUME: bar.sync 3, 64; ld.shared.u32 %y, [%q]; add.u32 %y, %y, 1; st.u32 [%p], %y; ret;
""",
        ".shared .align 4 .u32 word[1];",
    )
    assert run(device, text, 96) == [0] * 32 + [42] * 32 + [2] * 32


def test_exited_warps_do_not_count_at_barriers(device: Device) -> None:
    text = entry("""
    setp.ge.u32 %a, %tid, 32; @%a exit; barrier.sync 0; st.u32 [%p], %tid; bar.sync 0; exit;
""")
    assert run(device, text, 128) == [*range(32), *[0] * 96]


def test_barrier_that_nobody_else_reaches(device: Device) -> None:
    with pytest.raises(ExecutorError) as caught:
        run(device, entry("setp.lt.u32 %a, %tid, 32; @%a bra $W; ret; $W: bar.sync 0, 96; ret;"), 64)
    assert caught.value.code == 702


def test_barrier_for_more_threads_than_any_block_has(device: Device) -> None:
    """GCC 12's libgomp at times waits for -128 threads (nvptx_errata.py)."""
    text = entry("mov.u32 %x, -128; setp.lt.u32 %a, %tid, 32; @%a bra $W; $L: bra $L; $W: bar.sync 1, %x; ret;")
    with pytest.raises(ExecutorError) as caught:
        run(device, text, 64)
    assert caught.value.code == 702


def test_spin_lock_between_warps_and_blocks(device: Device) -> None:
    """Every warp takes the lock, waits at a barrier of its own with it (a yield), and adds without an atomic."""
    text = entry("""
    mov.u32 %x, %laneid; setp.ne.u32 %b, %x, 0; @%b bra $DONE; mov.u32 %i, 0;
$AGAIN: atom.cas.b32 %x, [%o], 0, 1; setp.ne.u32 %a, %x, 0; @%a bra $AGAIN;
    ld.u32 %y, [%o+4]; add.u32 %y, %y, 1; bar.sync 5, 32; st.u32 [%o+4], %y; membar.gl; atom.exch.b32 %x, [%o], 0;
    add.u32 %i, %i, 1; setp.lt.u32 %a, %i, 20; @%a bra $AGAIN;
$DONE: ret;
""")
    # bar.sync 5, 32 completes at once for the warp that arrives: nobody else uses it while the lock is held.
    assert run(device, text, 128, 2, blocks=4) == [0, 4 * 4 * 20]


def test_wait_for_a_plain_store_of_another_warp(device: Device) -> None:
    text = entry("""
    setp.lt.u32 %a, %tid, 32; @%a bra $WAIT; mov.u32 %x, 5; st.u32 [%o+1024], %x; ret;
$WAIT: ld.u32 %x, [%o+1024]; setp.eq.u32 %a, %x, 0; @%a bra $WAIT; st.u32 [%p], %x; ret;
""")
    assert run(device, text, 64, 257)[:33] == [5] * 32 + [0]


def test_atomics_of_all_lanes(device: Device) -> None:
    out = np.array(
        run(
            device,
            entry("""
    atom.add.u32 %x, [%o], %tid; atom.global.min.s32 %x, [%o+4], %tid; atom.max.u32 %x, [%o+8], %tid;
    shl.b32 %y, 1, %tid; atom.or.b32 %x, [%o+12], %y; atom.xor.b32 %x, [%o+16], 3; atom.inc.u32 %s, [%o+20], 10;
    mov.f32 %e, 0f3F000000; atom.add.f32 %h, [%o+24], %e; red.add.u32 [%o+28], 1; atom.dec.u32 %x, [%o+32], 4;
    st.u32 [%p+64], %s; ret;
"""),
            32,
            48,
        )
    )
    assert out[0] == 31 * 16 and out[1] == 0 and out[2] == 31 and out[3] == 0xFFFFFFFF and out[4] == 0
    assert out[5] == 32 % 11 and out[6] == np.float32(16).view(np.uint32) and out[7] == 32
    assert out[16:48].tolist() == [i % 11 for i in range(32)]


def test_wide_atomics_and_compare_and_swap(device: Device) -> None:
    text = entry(
        """
    cvt.u64.u32 %q, %tid; atom.add.u64 %f, [%o], %q; atom.cas.b64 %g, [%o+8], 0, 99; atom.exch.b64 %g, [%o+16], %q;
    mov.u32 %x, 0; st.shared.u32 [word], %x;
    atom.shared.add.u32 %x, [word], 1; atom.shared.cas.b32 %y, [word], 32, 1000; bar.sync 0; ld.shared.u32 %y, [word];
    st.u32 [%o+24], %y; ret;
""",
        ".shared .align 4 .u32 word[1];",
    )
    got = run(device, text, 32, 7)
    assert got[0] == 31 * 16 and got[2] == 99 and got[4] == 31
    assert got[6] == 1000


@pytest.mark.parametrize(
    ("mode", "b", "source"),
    [
        ("idx", "5", lambda i: 5),
        ("down", "4", lambda i: i + 4 if i + 4 < 32 else i),
        ("bfly", "9", lambda i: i ^ 9),
        ("up", "3", lambda i: i - 3 if i >= 3 else i),
        ("idx", "%y", lambda i: 31 - i),
    ],
)
def test_shuffles(device: Device, mode: str, b: str, source: object) -> None:
    clamp = 0 if mode == "up" else 31
    text = entry(
        f"mul.lo.u32 %x, %tid, 7; sub.u32 %y, 31, %tid; shfl.sync.{mode}.b32 %s, %x, {b}, {clamp}, 0xffffffff;"
        "st.u32 [%p], %s; ret;"
    )
    assert run(device, text) == [7 * source(i) for i in range(32)]  # type: ignore[operator]


def test_local_address_from_local_memory(device: Device) -> None:
    """Lane 0's address of a variable, kept in memory and handed to all, is each lane's own variable (GCC at -O0)."""
    text = entry("""
    .local .align 8 .b8 frame[16];
    cvta.local.u64 %q, frame; add.u64 %f, %q, 8; st.u64 [%q], %f;
    ld.u64 %g, [%q]; mov.b64 {%x, %y}, %g;
    shfl.sync.idx.b32 %x, %x, 0, 31, 0xffffffff; shfl.sync.idx.b32 %y, %y, 0, 31, 0xffffffff;
    mov.b64 %g, {%x, %y}; st.u32 [%f], %tid; ld.u32 %s, [%g]; st.u32 [%p], %s; ret;
""")
    assert run(device, text) == list(range(32))


def test_local_address_from_a_caller(device: Device) -> None:
    """The same with an address that a function is given, and with one that it gives back (routine vector)."""
    hand = "mov.b64 {%x, %y}, %g; shfl.sync.idx.b32 %x, %x, 0, 31, 0xffffffff; "
    hand += "shfl.sync.idx.b32 %y, %y, 0, 31, 0xffffffff; mov.b64 %g, {%x, %y};"
    head = f"""
.func (.param .u64 %r) own (.param .u64 %a) {{ .reg .u64 %g; .reg .u32 %x, %y;
    ld.param.u64 %g, [%a]; {hand} ld.u32 %x, [%g]; add.u32 %x, %x, 1; st.u32 [%g], %x; st.param.u64 [%r], %g; ret; }}
"""
    text = entry(
        f"""
    .local .align 8 .b8 frame[16]; .param .u64 give, take;
    cvta.local.u64 %q, frame; st.u32 [%q], %tid; st.param.u64 [give], %q; call (take), own, (give);
    ld.param.u64 %g, [take]; {hand} ld.u32 %s, [%g]; st.u32 [%p], %s; ret;
""",
        head,
    )
    assert run(device, text) == list(range(1, 33))


def test_shuffle_in_segments_with_predicate(device: Device) -> None:
    text = entry(
        "shfl.sync.down.b32 %s|%a, %tid, 2, 0x1807, 0xffffffff; selp.u32 %t, 1, 0, %a; st.u32 [%p], %s;"
        "st.u32 [%p+128], %t; ret;"
    )
    got = run(device, text, 32, 64)
    assert got[:32] == [i + 2 if i % 8 + 2 < 8 else i for i in range(32)]
    assert got[32:] == [int(i % 8 + 2 < 8) for i in range(32)]


def test_votes(device: Device) -> None:
    text = entry("""
    setp.gt.u32 %a, %tid, 20; vote.sync.any.pred %b, %a, -1; selp.u32 %x, 1, 0, %b; vote.sync.all.pred %b, %a, -1;
    selp.u32 %y, 1, 0, %b; vote.sync.ballot.b32 %s, %a, -1; st.u32 [%o], %x; st.u32 [%o+4], %y; st.u32 [%o+8], %s; ret;
""")
    assert run(device, text, 32, 3) == [1, 0, 0xFFE00000]


def test_local_memory_is_each_lanes_own(device: Device) -> None:
    """The address of a local variable is the same number in all lanes, its contents are not; also through memory."""
    text = entry(
        """
    .local .align 8 .b8 %frame[64]; cvta.local.u64 %q, %frame; st.u32 [%q+4], %tid; mul.lo.u32 %x, %tid, 5;
    st.local.u32 [%frame+8], %x;
    and.b32 %y, %tid, 7; mad.wide.u32 %f, %y, 4, %q; st.u32 [%f+16], %tid; st.u64 [%o+256], %q; ld.u64 %g, [%o+256];
    { .param .u64 %in1; .param .u32 %out1; st.param.u64 [%in1], %q; call (%out1), sum, (%in1);
    ld.param.u32 %s, [%out1]; }
    st.u32 [%p], %s; ld.u32 %t, [%f+16]; st.u32 [%p+128], %t; ret;
""",
        """.func (.param .u32 %r) sum (.param .u64 %a) { .reg .u64 %v; .reg .u32 %x, %y;
    ld.param.u64 %v, [%a]; ld.u32 %x, [%v+4];
    ld.u32 %y, [%v+8]; add.u32 %x, %x, %y; st.param.u32 [%r], %x; ret; }""",
    )
    got = run(device, text, 32, 80)
    assert got[:32] == [6 * t for t in range(32)]
    assert got[32:64] == list(range(32))


def test_vectors_and_pieces(device: Device) -> None:
    text = entry("""
    .reg .v2 .u32 %d; .reg .v2 .u64 %w; mad.wide.u32 %q, %tid, 8, %o; mov.u32 %d.x, %tid; add.u32 %d.y, %tid, 100;
    st.v2.u32 [%q], %d; ld.v2.u32 {%x, %y}, [%q]; add.u32 %x, %x, %y; mov.b64 %f, {%x, %y}; mov.b64 {%s, %t}, %f;
    add.u32 %s, %s, %t; mov.v2.u64 %w, {0, 0}; mov.u64 %w.y, %f; st.u32 [%p+256], %s; ret;
""")
    got = run(device, text, 32, 96)
    assert got[64:] == [t + 100 + t + t + 100 for t in range(32)]


def test_dynamic_shared_memory(device: Device) -> None:
    text = entry(
        """
    mov.u64 %q, room; mad.wide.u32 %f, %tid, 4, %q; st.shared.u32 [%f], %tid; bar.sync 0; xor.b32 %x, %tid, 1;
    mad.wide.u32 %f, %x, 4, %q; ld.shared.u32 %s, [%f]; st.u32 [%p], %s; ret;
""",
        ".extern .shared .align 8 .b8 room[];",
    )
    assert run(device, text, 64, shared=256) == [t ^ 1 for t in range(64)]
    with pytest.raises(ExecutorError) as caught:
        run(device, text, 64, shared=128)
    assert caught.value.code == 700


def test_special_registers(device: Device) -> None:
    text = (
        HEAD
        + """.visible .entry k (.param .u64 %out) { .reg .u32 %a, %b, %c; .reg .u64 %o, %p; ld.param.u64 %o, [%out];
    mov.u32 %a, %tid.y; mov.u32 %b, %ntid.x; mad.lo.u32 %a, %a, %b, 0; mov.u32 %b, %tid.x; add.u32 %a, %a, %b;
    mov.u32 %b, %tid.z; mov.u32 %c, %ntid.x; mul.lo.u32 %b, %b, %c; mov.u32 %c, %ntid.y; mad.lo.u32 %a, %b, %c, %a;
    mov.u32 %b, %ctaid.y; mov.u32 %c, %nctaid.x; mul.lo.u32 %b, %b, %c; mov.u32 %c, %ctaid.x; add.u32 %b, %b, %c;
    mul.lo.u32 %c, %b, 120; add.u32 %c, %c, %a; mad.wide.u32 %p, %c, 4, %o; mov.u32 %c, %laneid;
    mad.lo.u32 %a, %a, 100, %c;
    st.u32 [%p], %a; ret; }"""
    )
    out = device.upload(bytes(4 * 120 * 6))
    device.load(text).function("k").launch((3, 2, 1), (10, 4, 3), [out])
    got = struct.unpack("720I", device.download(out, 2880))
    assert list(got) == [t * 100 + t % 32 for t in range(120)] * 6


def test_constants_and_initial_values(device: Device) -> None:
    head = """.const .align 4 .u32 numbers[4] = { 10, 0x20, 30, -1 }; .global .align 8 .f64 real = 1.5;
.visible .global .u64 pointer = numbers + 8; .global .align 1 .u8 text[3] = { 72, 105, 0 };"""
    text = entry(
        """
    and.b32 %x, %tid, 3; cvta.const.u64 %q, numbers; mad.wide.u32 %q, %x, 4, %q; ld.u32 %s, [%q]; st.u32 [%p], %s;
    ld.global.u64 %f, [pointer]; ld.u32 %t, [%f]; st.u32 [%o+128], %t; ld.u8 %t, [text+1]; st.u32 [%o+132], %t; ret;
""",
        head,
    )
    got = run(device, text, 32, 34)
    assert got[:32] == [10, 32, 30, 0xFFFFFFFF] * 8
    assert got[32:] == [30, 105]


def test_printf_malloc_free(device: Device) -> None:
    text = entry(
        """
    .local .align 8 .b8 %va[32]; cvta.local.u64 %q, %va; st.u32 [%q], %tid; mov.u64 %f, 0x4004000000000000;
    st.u64 [%q+8], %f;
    cvta.const.u64 %g, name; st.u64 [%q+16], %g; cvta.const.u64 %f, format; setp.gt.u32 %a, %tid, 1;
    { .param .u32 %r1; .param .u64 %a1; .param .u64 %a2; st.param.u64 [%a1], %f; st.param.u64 [%a2], %q;
      @!%a call (%r1), vprintf, (%a1, %a2); ld.param.u32 %s, [%r1]; }
    { .param .u64 %r2; .param .u64 %a3; mov.u64 %f, 24; st.param.u64 [%a3], %f; call (%r2), malloc, (%a3);
    ld.param.u64 %f, [%r2]; }
    st.u32 [%f+4], %tid; ld.u32 %t, [%f+4]; st.u32 [%p], %t;
    { .param .u64 %a4; st.param.u64 [%a4], %f; call free, (%a4); } ret;
""",
        """.extern .func (.param .u32 %r) vprintf (.param .u64 %a, .param .u64 %b);
.extern .func (.param .u64 %r) malloc (.param .u64 %a);
.extern .func free (.param .u64 %a); .const .align 1 .b8 name[4] = { 97, 98, 99, 0 };
.const .align 1 .b8 format[16] = { 37, 100, 32, 37, 53, 46, 50, 102, 32, 37, 115, 37, 37, 10, 0 };""",
    )
    assert run(device, text) == list(range(32))
    assert device.output == "0  2.50 abc%\n1  2.50 abc%\n"
    assert device.live == 0


def test_host_pointer_is_an_illegal_address(device: Device) -> None:
    keep = np.zeros(4)
    text = entry(f"setp.eq.u32 %a, %tid, 7; mov.u64 %q, {keep.ctypes.data}; @%a st.u32 [%q], %tid; ret;")
    with pytest.raises(ExecutorError) as caught:
        run(device, text)
    error = caught.value.error
    assert caught.value.code == 700 and error is not None
    assert error.address == keep.ctypes.data and error.function == b"k" and error.line > 4 and error.tid[0] == 7
    assert f"illegal address {keep.ctypes.data:#x} written (4 bytes) in 'k'" in caught.value.log
    assert not keep.any()


@pytest.mark.parametrize(
    ("body", "code", "say"),
    [
        ("ld.u32 %x, [%o+2]; mov.u64 %q, 0; ld.u32 %x, [%q]; st.u32 [%p], %x; ret;", 700, "illegal address 0x0 read"),
        ("mad.wide.u32 %q, %tid, 6, %o; ld.u32 %x, [%q]; st.u32 [%p], %x; ret;", 716, "misaligned address"),
        ("setp.eq.u32 %a, %tid, 3; @%a trap; ret;", 719, "trap in 'k'"),
        (
            "mov.u64 %q, buffer; ld.shared.u32 %x, [%q+4096]; st.u32 [%p], %x; ret;",
            700,
            "illegal address 0x7f001080 read",
        ),
        ("bar.sync 16; ret;", 715, "barrier number above 15"),
    ],
)
def test_faults(device: Device, body: str, code: int, say: str) -> None:
    with pytest.raises(ExecutorError) as caught:
        run(device, entry(body, ".shared .u32 buffer[4];"))
    assert caught.value.code == code
    assert say in caught.value.log


def test_stack_overflow_is_told(device: Device) -> None:
    head = ".func f (.param .u32 %n) { .reg .u32 %x; ld.param.u32 %x, [%n]; "
    head += "{ .param .u32 %a; st.param.u32 [%a], %x; call f, (%a); } ret; }"
    with pytest.raises(ExecutorError) as caught:
        run(device, entry("{ .param .u32 %a1; st.param.u32 [%a1], %tid; call f, (%a1); } ret;", head))
    assert caught.value.code == 719
    assert "too deep a recursion" in caught.value.log
    assert run(device, entry("st.u32 [%p], %tid; ret;")) == list(range(32))


class DeepPrinter(Device):
    """Printing needs more of the stack than anything else in the kernel."""

    entered = left = 0

    def print(self, user: object, text: int, length: int) -> None:
        self.entered += 1
        nested: list[object] = []
        for _ in range(150):
            nested = [nested]
        repr(nested)
        super().print(user, text, length)
        self.left += 1


def test_stack_does_not_end_inside_the_host(cache: None) -> None:
    """A kernel that recurses without end and prints: the host's code (with its locks) is left only by returning."""
    head = """.extern .func (.param .u32 %r) vprintf (.param .u64 %a, .param .u64 %b);
    .global .b8 text[4] = { 37, 117, 10, 0 };
    .func f (.param .u32 %n) { .reg .u32 %x, %y; .reg .u64 %t, %l; .local .align 8 .b8 va[8]; ld.param.u32 %x, [%n];
    cvta.local.u64 %l, va; st.u32 [%l], %x; mov.u64 %t, text; call (%y), vprintf, (%t, %l); add.u32 %x, %x, 1;
    call f, (%x); ret; }\n"""
    with DeepPrinter(1 << 26) as device:
        with pytest.raises(ExecutorError) as caught:
            run(device, entry("call f, (%tid); ret;", head), threads=1)
        assert caught.value.code == 719
        assert "too deep a recursion" in caught.value.log
        assert device.entered == device.left > 100
        assert device.output.startswith("0\n1\n2\n")
        assert run(device, entry("st.u32 [%p], %tid; ret;")) == list(range(32))


@pytest.mark.parametrize(("file", "name"), [("region.c", "region.c"), (r"d\303\251j\303\240 vu.c", "déjà vu.c")])
def test_source_line_of_a_fault(device: Device, file: str, name: str) -> None:
    """LLVM writes what is beyond ASCII as octal digits."""
    text = entry("\n.loc 1 42 0\nmov.u64 %q, 8;\n.loc 1 43 0\nst.u32 [%q], %tid;\nret;", f'.file 1 "{file}"')
    with pytest.raises(ExecutorError) as caught:
        run(device, text)
    assert f"at {name}:43 (object 0:" in caught.value.log


def test_bad_launches(device: Device) -> None:
    kernel = device.load(entry("ret;")).function("k")
    assert kernel.attributes().param_bytes == 8
    for grid, block, arguments in (
        ((0, 1, 1), (32, 1, 1), [0]),
        ((1, 1, 1), (2048, 1, 1), [0]),
        ((1, 1, 1), (1, 1, 1), []),
    ):
        with pytest.raises(ExecutorError) as caught:
            kernel.launch(grid, block, arguments)
        assert caught.value.code == 1


@pytest.mark.parametrize("threads", [1, 17, 33])
def test_partial_warps(device: Device, threads: int) -> None:
    text = entry("atom.add.u32 %x, [%o+256], 1; bar.sync 0; ld.u32 %s, [%o+256]; st.u32 [%p], %s; ret;")
    assert run(device, text, threads, 65)[:threads] == [threads] * threads


INC = ".func (.param .u32 %r) inc (.param .u32 %a, .param .u32 %b) { .reg .u32 %x, %y; ld.param.u32 %x, [%a]; "
INC += "ld.param.u32 %y, [%b]; mad.lo.u32 %x, %x, 10, %y; st.param.u32 [%r], %x; ret; }\n"


@pytest.mark.parametrize(
    ("arguments", "model"),
    [
        ("%tid, %n", lambda t: 10 * t + 7),  # a varying and a uniform register
        ("%n, %n", lambda t: 77),
        ("%n, %tid", lambda t: 70 + t),
        ("%tid, 3", lambda t: 10 * t + 3),
        ("2, 3", lambda t: 23),
        ("%n, -1", lambda t: 69),
        ("%v, 5", lambda t: 10 * (t + 100) + 5),  # beside a '.param' variable
    ],
)
def test_registers_and_constants_as_arguments(device: Device, arguments: str, model: Callable[[int], int]) -> None:
    body = (
        "mov.u32 %n, 7; { .param .u32 %v; add.u32 %x, %tid, 100; st.param.u32 [%v], %x; call (%y), inc, (" + arguments
    )
    assert run(device, entry(body + "); } st.u32 [%p], %y; ret;", INC)) == [model(t) for t in range(32)]


def test_register_arguments_of_an_indirect_call(device: Device) -> None:
    body = """mov.u32 %y, 1; mov.u64 %f, inc; setp.gt.u32 %a, %tid, 9;
    { $P: .callprototype (.param .u32 _) _ (.param .u32 _, .param .u32 _); @%a call (%y), %f, (%tid, 4), $P; }
    st.u32 [%p], %y; ret;"""
    assert run(device, entry(body, INC)) == [10 * t + 4 if t > 9 else 1 for t in range(32)]


def test_float_and_64_bit_arguments_in_registers(device: Device) -> None:
    head = """.func (.param .f32 %r) f (.param .f32 %a, .param .f64 %b, .param .u64 %c) { .reg .f32 %x;
    .reg .f64 %y, %z; .reg .u64 %p; ld.param.f32 %x, [%a];
    ld.param.f64 %y, [%b]; ld.param.u64 %p, [%c]; cvt.f64.f32 %z, %x;
    add.f64 %z, %z, %y; cvt.rn.f32.f64 %x, %z; st.f32 [%p], %x; st.param.f32 [%r], %x; ret; }\n"""
    body = "cvt.rn.f32.u32 %e, %tid; call (%h), f, (%e, 0d3FE0000000000000, %p); cvt.rzi.u32.f32 %y, %h; "
    body += "ld.f32 %e, [%p]; setp.eq.f32 %a, %e, %h; add.u32 %y, %y, 1; selp.u32 %y, %y, 0, %a; st.u32 [%p], %y; ret;"
    assert run(device, entry(body, head)) == [t + 1 for t in range(32)]


def test_recursion_with_registers(device: Device) -> None:
    """Each call has variables of its own; the value from before the call is still there after it."""
    head = """.func (.param .u32 %r) fib (.param .u32 %a) { .reg .u32 %x, %y, %z; .reg .pred %q; ld.param.u32 %x, [%a];
    setp.lt.u32 %q, %x, 2; @%q bra $OUT; add.u32 %y, %x, -1; call (%z), fib, (%y); add.u32 %y, %x, -2;
    call (%y), fib, (%y); add.u32 %x, %y, %z; $OUT: st.param.u32 [%r], %x; ret; }\n"""
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13]
    body = "and.b32 %x, %tid, 7; call (%y), fib, (%x); st.u32 [%p], %y; ret;"
    assert run(device, entry(body, head)) == [fibonacci[t & 7] for t in range(32)]


def test_formal_parameters_in_registers(device: Device) -> None:
    head = """.func (.reg .u32 %r) f (.reg .u32 %a, .reg .u32 %b) { .reg .pred %q; setp.gt.u32 %q, %a, 15;
    mov.u32 %r, 1; @%q ret; mad.lo.u32 %r, %a, 2, %b; }\n"""
    body = "call (%y), f, (%tid, 9); st.u32 [%p], %y; ret;"
    assert run(device, entry(body, head)) == [1 if t > 15 else 2 * t + 9 for t in range(32)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("call (%y), inc, (%tid, %n, %n);", "'call' passes 3 operands, the function has 2"),
        ("call (%y), inc, (%tid, %a);", "a predicate is passed where the function has another type"),
        ("call (3), inc, (%tid, %n);", "a constant is no result of 'call'"),
        ("call %f, (3);", "a constant as argument of 'call' needs the function's declaration"),
        ("call (%y), wide, (%n);", "'%n' is '.u32', the function has '.u64' there"),
        (
            "call (%y), inc, ({%n, %n}, %n);",
            "an argument of 'call' must be a '.param' variable, a register or a constant",
        ),
    ],
)
def test_bad_arguments_are_told(device: Device, call: str, message: str) -> None:
    head = INC + ".extern .func (.param .u32 %r) wide (.param .u64 %a);\n"
    with pytest.raises(ExecutorError) as caught:
        run(device, entry("\n" + call + "\nret;", head))
    assert f"error: {message}" in caught.value.log


TIDS = "mov.u32 %x, %ctaid.x; mad.lo.u32 %x, %x, 32, %tid; mad.wide.u32 %p, %x, 4, %o; st.u32 [%p], %x; ret;"


def test_helping_threads_stay(device: Device) -> None:
    """They are started once, and serve launches one after the other and at the same time."""
    kernel = device.load(entry(TIDS)).function("k")
    wrong: list[list[int]] = []

    def launches() -> None:
        out = device.upload(bytes(4 * 32 * 8))
        for _ in range(50):
            kernel.launch((8, 1, 1), (32, 1, 1), [out], threads=3)
            got = list(struct.unpack("256I", device.download(out, 4 * 256)))
            if got != list(range(256)):
                wrong.append(got)

    launches()
    before = set(os.listdir("/proc/self/task"))
    assert len(before) >= 3
    launches()
    assert set(os.listdir("/proc/self/task")) <= before
    callers = [threading.Thread(target=launches) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_launch_in_a_child_after_fork(device: Device) -> None:
    """The child has none of the parent's threads, and starts its own."""
    # A kernel that has not run yet calls threads; one that was short before runs alone, by the clock.
    kernel, childs = (device.load(entry(TIDS)).function("k") for _ in range(2))
    out = device.upload(bytes(4 * 32 * 8))
    kernel.launch((8, 1, 1), (32, 1, 1), [out], threads=3)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)  # a launch that waits for the parent's threads would not end
            for function in (childs, kernel, childs):
                function.launch((8, 1, 1), (32, 1, 1), [out], threads=3)
            status = 0 if len(os.listdir("/proc/self/task")) == 3 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    kernel.launch((8, 1, 1), (32, 1, 1), [out], threads=3)


def test_small_launch_does_not_wait_for_helpers(device: Device) -> None:
    """A launch that ends before the threads it called have come goes on without them: they are on another processor."""
    kernel = device.load(entry("st.global.u32 [%p], %tid;")).function("k")
    out = device.upload(bytes(128))
    allowed, launches = os.sched_getaffinity(0), 300
    kernel.launch((4, 1, 1), (32, 1, 1), [out], threads=2)  # now there is a helper
    threads = [int(name) for name in os.listdir("/proc/self/task")]
    try:
        for thread in threads:
            os.sched_setaffinity(thread, {min(allowed) if thread == threading.get_native_id() else max(allowed)})
        start = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        for _ in range(launches):
            kernel.launch((4, 1, 1), (32, 1, 1), [out], threads=2)
        waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - start
    finally:
        for thread in threads:
            os.sched_setaffinity(thread, allowed)
    assert struct.unpack("32I", device.download(out, 128)) == tuple(range(32))
    assert waits < launches / 2
