"""GOMPY_CHECK=race: races are judged by what orders two accesses, not by who came first."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_RACE, LIBRARY, Device, ExecutorError

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")


def kernel(body: str, target: str = "sm_70") -> str:
    """A kernel: %t is the thread's number in its block, %g in the grid, %o its word's offset, %p the argument."""
    return f"""
.version 7.0
.target {target}
.address_size 64
.visible .entry k (.param .u64 p)
{{
  .reg .u64 %p, %a, %b; .reg .u32 %t, %g, %o, %v, %w, %n; .reg .pred %q, %r;
  .shared .align 8 .b8 tile[1024];
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x; mov.u32 %g, %ntid.x; mad.lo.u32 %g, %n, %g, %t;
  shl.b32 %o, %t, 2; setp.eq.u32 %q, %t, 0; setp.eq.u32 %r, %n, 0;
  mov.u64 %a, tile; cvt.u64.u32 %b, %o; add.u64 %a, %a, %b; add.u64 %b, %p, %b;
{body}
  ret;
}}
"""


def races(body: str, target: str = "sm_70", grid: int = 1, block: int = 64, head: str = "") -> list[str]:
    """What is told of a kernel's launch."""
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4096))
        function = device.load(head + kernel(body, target), names=["k.ptx"]).function("k")
        function.launch((grid, 1, 1), (block, 1, 1), [memory])
        return list(device.warnings)


WRITE = "st.shared.u32 [%a], %t;\n"
READ_NEXT = "ld.shared.u32 %v, [%a+128];\n"  # 32 threads further on


def test_the_line() -> None:
    told = races(WRITE + READ_NEXT)
    assert told[0] == (
        "race on shared memory at 0x7f000100 (4 bytes): written in 'k' at k.ptx:13 by thread (32,0,0) of block "
        "(0,0,0), and read in 'k' at k.ptx:14 by thread (0,0,0) of block (0,0,0), kernel 'k': no barrier is between "
        "them; 128 bytes into the shared variable 'tile' of 1024 bytes"
    )
    assert told[1:] == ["kernel 'k': 31 more of these in this launch"]


BARRIERS = {
    "none": ("", 1),
    "all": ("bar.sync 0;\n", 0),
    "of 64": ("bar.sync 1, 64;\n", 0),
    "a fence is none": ("membar.cta;\n", 1),
    "of the warp only": ("bar.warp.sync 0xffffffff;\n", 1),
    "a vote": (".reg .pred %x; bar.red.or.pred %x, 0, %q;\n", 0),
}


@pytest.mark.parametrize("name", BARRIERS)
def test_barriers(name: str) -> None:
    between, found = BARRIERS[name]
    told = races(WRITE + between + READ_NEXT)
    assert len([line for line in told if line.startswith("race")]) == found


def test_arrive_does_not_wait() -> None:
    """Who only arrives is known to who waits, not the other way round."""
    head = "setp.lt.u32 %q, %t, 32;\n@%q bra FIRST;\n"
    behind = "st.shared.u32 [tile+4], %t;\n"
    waits = f"bar.sync 1, 64;\nld.shared.u32 %v, [tile];\n{behind}bra DONE;\n"
    arrives = "FIRST:\nst.shared.u32 [tile], %t;\nbar.arrive 1, 64;\n"
    assert races(f"{head}{waits}{arrives}DONE:\n") == []
    assert "'tile'" in races(f"{head}{waits}{arrives}ld.shared.u32 %v, [tile+4];\nDONE:\n")[0]


@pytest.mark.parametrize(("target", "between", "found"), [
    ("sm_70", "", 1), ("sm_70", "bar.warp.sync 0xffffffff;\n", 0), ("sm_35", "", 0),
])  # fmt: skip
def test_lanes_of_a_warp(target: str, between: str, found: int) -> None:
    """Before sm_70 they go in step."""
    told = races(f"{WRITE}{between}ld.shared.u32 %v, [%a+4];\n", target, block=32)
    assert len([line for line in told if line.startswith("race")]) == found
    assert not found or "no __syncwarp (bar.warp.sync) is between them" in told[0]


def test_blocks() -> None:
    told = races("st.global.u32 [%b], %g;\n", grid=2)
    assert "blocks have no order among themselves; " in told[0]
    assert races("st.global.u32 [%b], %g;\n") == []
    own = "cvt.u64.u32 %b, %g; shl.b64 %b, %b, 2; add.u64 %b, %p, %b;\n"
    assert races(own + "st.global.u32 [%b], %g;\nld.global.u32 %v, [%b];\n", grid=4) == []


def test_writes_of_one_value() -> None:
    """Only those that change something are told."""
    assert races("st.global.u32 [%p], 7;\n", grid=4) == []
    assert races("st.global.u32 [%p], %n;\n", grid=4)
    assert races("mov.u32 %v, 1; st.shared.u32 [tile], %v;\n") == []
    assert races("shr.u32 %v, %t, 5; st.shared.u32 [tile], %v;\n")


def test_shared_memory_is_each_blocks_own() -> None:
    assert races(f"{WRITE}bar.sync 0;\n{READ_NEXT}bar.sync 0;\n{WRITE}", grid=8) == []


def test_launches_come_one_after_the_other() -> None:
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4096))
        first = device.load(kernel("@%r st.global.u32 [%b], %t;\n")).function("k")
        for _ in range(3):
            first.launch((2, 1, 1), (64, 1, 1), [memory])
        assert list(device.warnings) == []


def test_atomic_operations() -> None:
    add = "red.global.add.u32 [%p], 1;\n"
    assert races(add, grid=4) == []
    told = races(f"{add}@%q st.global.u32 [%p], 0;\n", grid=2)
    assert "one is atomic, the other is not, and nothing orders them" in told[0]
    assert races("st.relaxed.gpu.global.u32 [%p], %t;\nld.volatile.global.u32 %v, [%p];\n", grid=2) == []


def test_old_code_reads_atomic_words_plainly() -> None:
    body = "red.global.add.u32 [%p], 1;\nld.global.u32 %v, [%p];\n"
    assert races(body, "sm_35", grid=2) == []
    assert races(body, "sm_70", grid=2)


FLAG = """
@!%q bra DONE;
@!%r bra SECOND;
st.global.u32 [%p+64], 42;
{publish}
bra DONE;
SECOND:
{look}
ld.global.u32 %w, [%p+64];
DONE:
"""
SET, GET = "st.volatile.global.u32 [%p], 1;", "ld.volatile.global.u32 %v, [%p];"
SWAP, ADD = "atom.global.exch.b32 %v, [%p], 1;", "atom.global.add.u32 %v, [%p], 0;"
FENCE = "membar.gl;"
FLAGS = {
    "fences and volatile words": (FENCE + SET, GET + FENCE, 0),
    "no fence": (SET, GET, 1),
    "a fence only before the write": (FENCE + SET, GET, 1),
    "a fence only behind the read": (SET, GET + FENCE, 1),
    "a barrier behind the read": (FENCE + SET, GET + "bar.warp.sync 1;", 0),
    "a fence before the read": (FENCE + SET, FENCE + GET, 1),
    "atomic operations": (FENCE + SWAP, ADD + FENCE, 0),
    "another flag": (FENCE + SWAP, "atom.global.add.u32 %v, [%p+4], 0;" + FENCE, 1),
    "a plain word": (FENCE + "st.global.u32 [%p], 1;", "ld.global.u32 %v, [%p];" + FENCE, 2),
    "release, acquire": ("st.release.gpu.global.u32 [%p], 1;", "ld.acquire.gpu.global.u32 %v, [%p];", 0),
    "release, relaxed": ("st.release.gpu.global.u32 [%p], 1;", "ld.relaxed.gpu.global.u32 %v, [%p];", 1),
    "relaxed, acquire": ("st.relaxed.gpu.global.u32 [%p], 1;", "ld.acquire.gpu.global.u32 %v, [%p];", 1),
    "atomic, release, acquire": (
        "atom.release.gpu.global.exch.b32 %v, [%p], 1;",
        "atom.acquire.gpu.global.add.u32 %v, [%p], 0;",
        0,
    ),
    "atomic, both": (
        "atom.acq_rel.gpu.global.exch.b32 %v, [%p], 1;",
        "atom.acq_rel.gpu.global.add.u32 %v, [%p], 0;",
        0,
    ),
    "atomic, acquire only": (SWAP, "atom.acq_rel.gpu.global.add.u32 %v, [%p], 0;", 1),
}


@pytest.mark.parametrize("name", FLAGS)
def test_flags_between_blocks(name: str) -> None:
    publish, look, found = FLAGS[name]
    told = races(FLAG.format(publish=publish, look=look), grid=2, block=32)
    assert len([line for line in told if line.startswith("race")]) == found


GCCS = {
    # What GCC 12 makes of `atomic write` and `atomic read`, release and acquire, or relaxed.
    "sm_35": ("sm_35", FENCE + "atom.exch.b32 %v, [%p], 1;", "ld.u32 %v, [%p];" + FENCE, 0),
    "sm_35, relaxed write": ("sm_35", "atom.exch.b32 %v, [%p], 1;", "ld.u32 %v, [%p];" + FENCE, 1),
    "sm_35, relaxed read": ("sm_35", FENCE + "atom.exch.b32 %v, [%p], 1;", "ld.u32 %v, [%p];", 1),
    "sm_80": ("sm_80", FENCE + "st.b32 [%p], 1;", "ld.u32 %v, [%p];" + FENCE, 0),
    "sm_80, relaxed write": ("sm_80", "st.b32 [%p], 1;", "ld.u32 %v, [%p];" + FENCE, 1),
    "sm_80, relaxed read": ("sm_80", FENCE + "st.b32 [%p], 1;", "ld.u32 %v, [%p];", 1),
    "sm_80, a plain write": ("sm_80", FENCE + "st.u32 [%p], 1;", "ld.u32 %v, [%p];" + FENCE, 2),
}


@pytest.mark.parametrize("name", GCCS)
def test_flags_of_gcc(name: str) -> None:
    """Its atomic loads are plain ones, with a fence behind them for acquire order."""
    target, publish, look, found = GCCS[name]
    body = FLAG.format(publish=publish, look=look)
    told = races(body, target, grid=2, block=32, head="// BEGIN PREAMBLE")
    assert len([line for line in told if line.startswith("race")]) == found
    if found == 0 and target == "sm_80":
        assert len([line for line in races(body, target, grid=2, block=32) if line.startswith("race")]) == 2


def test_a_chain_of_flags() -> None:
    """Block n waits for block n - 1 and reads what block 0 wrote: known by way of all between."""
    body = """
@!%q bra DONE;
mul.wide.u32 %a, %n, 4; add.u64 %a, %p, %a;
@%r st.global.u32 [%p+2048], 42;
@%r bra TELL;
ld.acquire.gpu.global.u32 %v, [%a+-4];
ld.global.u32 %v, [%p+2048];
TELL:
membar.gl;
st.relaxed.gpu.global.u32 [%a], 1;
DONE:
"""
    assert races(body, grid=12, block=32) == []
    told = races(body.replace("membar.gl;\n", "@!%r membar.gl;\n"), grid=12, block=32)
    assert len([line for line in told if line.startswith("race")]) == 1


def test_bytes_of_a_word() -> None:
    own = "cvt.u64.u32 %b, %t; add.u64 %b, %p, %b; cvt.u16.u32 %h, %t;\n"
    assert races(f".reg .u16 %h;\n{own}st.global.u8 [%b], %h;\n") == []
    assert races(f".reg .u16 %h;\n{own}and.b64 %b, %b, -2;\nst.global.u8 [%b], %h;\n", block=33) == []
    halves = "shr.u32 %v, %t, 5; cvt.u64.u32 %b, %v; add.u64 %b, %p, %b; cvt.u16.u32 %h, %t;\n"
    assert races(f".reg .u16 %h;\n{halves}st.global.u8 [%b], %h;\n") == []
    assert races(f".reg .u16 %h;\n{halves}ld.global.u8 %h, [%p];\nst.global.u8 [%b], %h;\n")


def test_other_checks_do_not_look_for_races() -> None:
    with Device(1 << 20, 7) as device:
        memory = device.upload(bytes(4096))
        device.load(kernel(WRITE + READ_NEXT)).function("k").launch((1, 1, 1), (32, 1, 1), [memory])
        assert not [line for line in device.warnings if line.startswith("race")]


ORDER = """
.version 7.0
.target {target}
.address_size 64
.visible .entry k (.param .u64 p)
{{
  .reg .pred %q; .reg .u64 %p, %a; .reg .u32 %t, %w, %b, %n;
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x; and.b32 %w, %t, 31; setp.ne.u32 %q, %w, 0;
  @%q ret;
  mov.u32 %b, %ctaid.x; shl.b32 %b, %b, 8; shr.u32 %t, %t, 5; or.b32 %b, %b, %t;
  atom.global.add.u32 %n, [%p], 1;
  mul.wide.u32 %a, %n, 4; add.u64 %a, %a, %p;
  st.global.u32 [%a+4], %b;
  ret;
}}
"""


def orders(target: str, seeds: list[int], before: int = 0) -> list[list[tuple[int, int]]]:
    """In which order the warps of 7 blocks of 5 come to an atomic counter: block and warp, a list for each launch.

    `before`: launches of the same text's kernel in another module, with a seed.
    """
    found = []
    with Device(1 << 20) as device:
        other = device.load(ORDER.format(target=target)).function("k")
        for _ in range(before):
            other.launch((7, 1, 1), (160, 1, 1), [device.upload(bytes(4 * 36))], threads=1, seed=5)
        kernel = device.load(ORDER.format(target=target)).function("k")
        for seed in seeds:
            memory = device.upload(bytes(4 * 36))
            kernel.launch((7, 1, 1), (160, 1, 1), [memory], threads=1, seed=seed)
            words = memoryview(device.download(memory, 4 * 36)).cast("I")
            found.append([(word >> 8, word & 255) for word in words[1:]])
    return found


def test_a_seed_changes_the_order_of_blocks_and_warps() -> None:
    usual, *others = orders("sm_70", [0, 5, 5, 6, 7])
    everybody = [(block, warp) for block in range(7) for warp in range(5)]  # no barrier: upwards
    assert usual == everybody
    assert all(sorted(other) == sorted(everybody) for other in others)
    # each launch has one of 42 orders of blocks, and of 20 of warps
    assert all([*dict.fromkeys(block for block, _ in other)] != list(range(7)) for other in others)
    assert len({tuple(other) for other in others}) == 4


def test_an_order_depends_on_the_seed_and_the_kernels_own_launches() -> None:
    assert orders("sm_70", [5, 5, 6], before=3) == orders("sm_70", [5, 5, 6])


def test_warps_of_old_code_keep_their_order() -> None:
    _, *others = orders("sm_35", [0, 5, 6, 7])
    for other in others:
        assert [warp for _, warp in other] == [1, 2, 3, 4, 0] * 7


FRAGMENT = "{" + ", ".join(f"%m{i}" for i in range(8)) + "}"
MATRICES = {
    "ldmatrix": "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%m0}, [tile];",
    "stmatrix": "stmatrix.sync.aligned.m8n8.x1.shared.b16 [tile], {%m0};",
    "wmma.load": f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {FRAGMENT}, [tile];",
    "wmma.store": f"wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile], {FRAGMENT};",
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    """A warp's access of a matrix is one of each lane: with what another warp writes, and with a barrier between."""
    head = ".reg .b32 %m<8>; mov.b32 %m0, %t; mov.b32 %m1, 5; mov.b32 %m2, 5; mov.b32 %m3, 5;\n"
    head += "mov.b32 %m4, 5; mov.b32 %m5, 5; mov.b32 %m6, 5; mov.b32 %m7, 5;\n"
    first = "setp.lt.u32 %q, %t, 32; @%q bra NEXT; st.shared.u32 [tile+4], 9; NEXT:\n"
    then = f"setp.ge.u32 %q, %t, 32; @%q bra OVER;\n{MATRICES[name]}\nOVER:\n"
    told = races(head + first + then, "sm_90")
    assert told and "shared variable 'tile'" in told[0]
    assert races(f"{head}{first}bar.sync 0;\n{then}", "sm_90") == []


FLAGGED = """
  .reg .u32 %c;
  @!%r bra READER;
  st.global.u32 [%p+64], 5;
  membar.gl;
  atom.global.or.b32 %c, [%p], 1;
  bra DONE;
READER:
  ld.global.{size} %c, [%p];
  {fence}
  ld.global.u32 %v, [%p+64];
DONE:
"""


@pytest.mark.parametrize("size", ["u8", "u16", "u32"])
def test_a_flag_may_be_read_by_a_byte(size: str) -> None:
    """As gcc reads an atomic `char`, whose word it updates."""
    assert races(FLAGGED.format(size=size, fence="membar.gl;"), "sm_35", grid=2, block=1) == []
    assert len(races(FLAGGED.format(size=size, fence=""), "sm_35", grid=2, block=1)) == 1


def test_writes_of_one_value_where_a_warp_takes_turns() -> None:
    """What a warp has noted is judged before another warp goes on, not after its write of the same."""
    first = """
  setp.lt.u32 %q, %t, 32;
  @%q bra SECOND;
  st.global.u32 [%p], 1;
  mov.u32 %v, 0;
LOOP:
  add.u32 %v, %v, 1;
  setp.lt.u32 %r, %v, 3000000;
  @%r bra LOOP;
  bra DONE;
SECOND:
  st.global.u32 [%b], VALUE;
DONE:
"""
    assert races(first.replace("VALUE", "1")) == []
    assert len(races(first.replace("VALUE", "2"))) == 1


def test_a_kernel_that_fails_behind_a_race() -> None:
    """What is noted is judged all the same."""
    body = "@!%r bra SECOND;\nst.global.u32 [%p], 5;\nbra DONE;\nSECOND:\nst.global.u32 [%p], 6;\ntrap;\nDONE:\n"
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4096))
        function = device.load(kernel(body), names=["k.ptx"]).function("k")
        with pytest.raises(ExecutorError, match="trap"):
            function.launch((2, 1, 1), (1, 1, 1), [memory])
        assert [line.partition(" at ")[0] for line in device.warnings] == ["race on device memory"]


TWO_LOCKS = """
  .reg .u32 %c; .reg .pred %z;
  setp.eq.u32 %z, %n, 1;
  @%z bra ONE;
  setp.eq.u32 %z, %n, 2;
  @%z bra TWO;
  membar.gl;
  atom.global.add.u32 %c, [%p], 1;
  atom.global.add.u32 %c, [%p], 1;
  membar.gl;
  atom.global.add.u32 %c, [%p+256], 1;
  bra DONE;
ONE:
  st.global.u32 [%p+512], 5;
  membar.gl;
  atom.global.add.u32 %c, [%p], 1;
  bra DONE;
TWO:
{taken}
  ld.global.u32 %v, [%p+512];
DONE:
"""


@pytest.mark.parametrize(("words", "found"), [((256, 0), 0), ((0, 256), 0), ((0,), 0), ((256,), 1)])
def test_a_flag_that_was_seen_early_and_late(words: tuple[int, ...], found: int) -> None:
    """Who wrote the second word had seen the first one before it told of anything: that hides no later look."""
    taken = "\n".join(f"  atom.global.add.u32 %c, [%p+{word}], 1;\n  membar.gl;" for word in words)
    assert len(races(TWO_LOCKS.format(taken=taken), grid=3, block=1)) == found


OF_ONE_WORD = {
    "an atomic operation": ("st.global.u32 [%p], 5;", "atom.global.add.u32 %v, [%p], 1;"),
    "an atomic read": ("ld.global.u32 %v, [%p];", "ld.relaxed.gpu.global.u32 %v, [%p];"),
}


@pytest.mark.parametrize("name", OF_ONE_WORD)
def test_what_a_warp_does_next_to_a_word(name: str) -> None:
    """It comes behind what the warp has noted there: an earlier block's access is held against that first."""
    body = "@!%r bra SECOND;\natom.global.add.u32 %v, [%p], 1;\nbra DONE;\nSECOND:\n{}\n{}\nDONE:\n"
    told = [line for line in races(body.format(*OF_ONE_WORD[name]), grid=2, block=1) if line.startswith("race")]
    assert len(told) == 1


def test_who_has_seen_a_flag_may_write_it() -> None:
    """The atomic write that was seen comes before, as what its fence was for does."""
    body = """
  @!%r bra SECOND;
  {fence}
  atom.relaxed.gpu.global.add.u32 %v, [%p], 1;
  bra DONE;
SECOND:
  ld.acquire.gpu.global.u32 %v, [%p];
  st.global.u32 [%p], 0;
DONE:
"""
    assert races(body.format(fence="membar.gl;"), grid=2, block=1) == []
    assert len(races(body.format(fence=""), grid=2, block=1)) == 1


def test_flags_in_memory_that_is_freed() -> None:
    """Nobody reads them there any more: a block that has the memory next knows nothing of the first."""
    head = """
.extern .func (.param .b64 p) malloc (.param .b64 n);
.extern .func free (.param .b64 p);
"""
    body = """
  .param .b64 n; .param .b64 m;
  mov.u64 %a, 16;
  st.param.b64 [n], %a;
  call.uni (m), malloc, (n);
  ld.param.b64 %a, [m];
  @!%r bra SECOND;
  st.global.u32 [%p+64], 5;
  membar.gl;
  atom.global.add.u32 %v, [%a], 1;
  st.global.u64 [%p], %a;
  {free}
  bra DONE;
SECOND:
  ld.global.u64 %a, [%p];
  ld.acquire.gpu.global.u32 %v, [%a];
  ld.global.u32 %v, [%p+64];
DONE:
"""
    free = "st.param.b64 [n], %a;\n  call.uni free, (n);"
    kept = [line for line in races(body.format(free=""), grid=2, block=1, head=head) if line.startswith("race")]
    gone = [line for line in races(body.format(free=free), grid=2, block=1, head=head) if line.startswith("race")]
    assert (len(kept), len(gone)) == (1, 2)  # the address itself is handed over without any order


def test_a_loop_that_reads_many_lines_lets_others_run() -> None:
    """It waits for another warp, though it has as many notes as one that is at work."""
    lines = "".join(f"ld.volatile.global.u32 %w, [%p+{128 * n}];\n" for n in range(1, 24))
    plain = "".join(f"ld.global.u32 %w, [%p+{128 * n}];\n" for n in range(1, 24))
    body = """
  setp.lt.u32 %q, %t, 32;
  @!%q bra SECOND;
LOOP:
{lines}
  ld.volatile.global.u32 %v, [%p];
  setp.eq.u32 %r, %v, 0;
  @%r bra LOOP;
  bra DONE;
SECOND:
  st.volatile.global.u32 [%p], 1;
DONE:
"""
    for text in (lines, plain):
        assert races(body.format(lines=text)) == []
