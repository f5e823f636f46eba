"""All warps of a block in one call, barriers as ends of loops over warps (fission.py): against what threads do."""

from __future__ import annotations

import random
import struct

import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, needs_executor

from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

pytestmark = needs_executor

NAMES = """.reg .u64 %o, %x, %y, %a<8>; .reg .u32 %t, %i, %j, %v, %w, %r<12>; .reg .pred %p, %q, %s; .reg .f64 %d<4>;
.reg .b16 %h<4>;
ld.param.u64 %o, [po]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o; mov.u64 %a0, box; mad.wide.u32 %x, %t, 4, %a0;
"""


def kernel(body: str, before: str = "") -> str:
    """A kernel whose thread `%t` has a word at `%o` of its own, and one at `%x` in the shared array `box`."""
    return (
        f"{HEAD}{before}.shared .align 8 .b8 box[8192];\n.visible .entry k (.param .u64 po) {{ {NAMES}{body}\nret; }}\n"
    )


def is_whole(text: str, name: str = "k", rows: bool = True) -> bool:
    """Whether a kernel is compiled that way."""
    module = parse(text, "test")
    return lower(module.functions[name], "E", rows, Links(), module, "E0")[1].whole


def launched(text: str, block: tuple[int, int, int], seed: int = 0, grid: int = 1) -> list[int]:
    """The words that the threads of the first block have stored."""
    threads = block[0] * block[1] * block[2]
    with Device(1 << 22) as device:
        out = device.upload(bytes(4 * threads))
        device.load(text).function("k").launch((grid, 1, 1), block, [out], seed=seed)
        return list(struct.unpack(f"<{threads}I", device.download(out, 4 * threads)))


THREADS = [1, 16, 31, 32, 33, 64, 96, 250, 256, 1000, 1024]


@pytest.mark.parametrize("threads", THREADS)
def test_registers_of_every_type_live_across_barriers(threads: int) -> None:
    """Bits, bytes, halves, singles, doubles, predicates; the same in all lanes, and one for each."""
    body = """mov.u32 %w, %warpid; mul.lo.u32 %w, %w, 1000; cvt.u16.u32 %h0, %t; add.u16 %h0, %h0, 7;
      cvt.rn.f64.u32 %d0, %t; cvt.u64.u32 %a1, %t; shl.b64 %a1, %a1, 33; and.b32 %i, %t, 3; setp.eq.u32 %p, %i, 2;
      setp.gt.u32 %q, %w, 1500; st.shared.u32 [%x], %t; bar.sync 0;
      mov.u32 %r0, %ntid.x; sub.u32 %r0, %r0, 1; sub.u32 %r1, %r0, %t; mad.wide.u32 %y, %r1, 4, %a0;
      ld.shared.u32 %v, [%y]; bar.sync 0; mul.lo.u32 %v, %v, 3; st.shared.u32 [%x], %v; barrier.sync 0;
      ld.shared.u32 %v, [%y]; add.u32 %v, %v, %w; cvt.u32.u16 %r2, %h0; add.u32 %v, %v, %r2; shr.u64 %a1, %a1, 32;
      cvt.u32.u64 %r3, %a1; add.u32 %v, %v, %r3; cvt.rzi.u32.f64 %r4, %d0; add.u32 %v, %v, %r4;
      selp.u32 %r5, 100000, 0, %p; add.u32 %v, %v, %r5; selp.u32 %r6, 1000000, 0, %q; add.u32 %v, %v, %r6;
      st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text)
    want = []
    for t in range(threads):
        w = t // 32 * 1000
        want.append(3 * t + w + t + 7 + 2 * t + t + (100000 if t & 3 == 2 else 0) + (1000000 if w > 1500 else 0))
    assert launched(text, (threads, 1, 1)) == want


@pytest.mark.parametrize("seed", [0, 1, 2, 77])
@pytest.mark.parametrize("threads", [32, 64, 200, 256])
def test_a_loop_with_a_barrier(threads: int, seed: int) -> None:
    """Sums of neighbours, step by step; what the loop changes, what it only reads, and a branch that a part takes."""
    body = """mov.u32 %r0, %ntid.x; mov.u32 %j, 1; mul.lo.u32 %w, %t, 5; st.shared.u32 [%x], %t; mov.u32 %r7, 0;
      again: bar.sync 0; setp.lt.u32 %p, %t, %j; mov.u32 %v, 0; @%p bra none;
      sub.u32 %i, %t, %j; mad.wide.u32 %y, %i, 4, %a0; ld.shared.u32 %v, [%y];
      none: ld.shared.u32 %r1, [%x]; add.u32 %v, %v, %r1; bar.sync 0; st.shared.u32 [%x], %v; add.u32 %r7, %r7, %w;
      shl.b32 %j, %j, 1; setp.lt.u32 %p, %j, %r0; @%p bra again;
      bar.sync 0; ld.shared.u32 %v, [%x]; add.u32 %v, %v, %r7; st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text)
    row, step, turns = [*range(threads)], 1, 0
    while True:
        row = [value + (row[t - step] if t >= step else 0) for t, value in enumerate(row)]
        step, turns = step * 2, turns + 1
        if step >= threads:
            break
    assert launched(text, (threads, 1, 1), seed) == [value + 5 * t * turns for t, value in enumerate(row)]


@pytest.mark.parametrize("block", [(16, 16, 1), (8, 4, 3), (5, 7, 9), (64, 4, 1)])
def test_blocks_of_any_shape(block: tuple[int, int, int]) -> None:
    body = """mov.u32 %i, %tid.y; mov.u32 %j, %tid.z; mov.u32 %r0, %ntid.x; mov.u32 %r1, %ntid.y;
      mad.lo.u32 %j, %j, %r1, %i; mad.lo.u32 %i, %j, %r0, %t; mad.wide.u32 %x, %i, 4, %a0; ld.param.u64 %o, [po];
      mad.wide.u32 %o, %i, 4, %o; st.shared.u32 [%x], %i; mov.u32 %r2, %ntid.z; mul.lo.u32 %r0, %r0, %r1;
      mul.lo.u32 %r0, %r0, %r2; add.u32 %v, %i, 1; setp.eq.u32 %p, %v, %r0; selp.u32 %v, 0, %v, %p;
      mad.wide.u32 %y, %v, 4, %a0; bar.sync 0; ld.shared.u32 %v, [%y]; st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text, rows=block[0] % 32 == 0)
    threads = block[0] * block[1] * block[2]
    assert launched(text, block) == [*range(1, threads), 0]


def test_warps_end_early_and_wait_at_different_barriers() -> None:
    """Warp 1 ends before the first barrier; odd and even ones wait at other places of the code."""
    body = """st.shared.u32 [%x], %t; mov.u32 %w, %warpid; setp.eq.u32 %p, %w, 1; @%p bra done;
      and.b32 %i, %w, 1; setp.eq.u32 %p, %i, 1; xor.b32 %j, %t, 64; mad.wide.u32 %y, %j, 4, %a0; @%p bra odd;
      add.u32 %v, %t, 100; st.shared.u32 [%x], %v; bar.sync 0; ld.shared.u32 %v, [%y]; bra both;
      odd: add.u32 %v, %t, 200; st.shared.u32 [%x], %v; bar.sync 0; ld.shared.u32 %v, [%y]; add.u32 %v, %v, 5000;
      both: bar.sync 0; st.global.u32 [%o], %v; done:"""
    text = kernel(body)
    assert is_whole(text)
    shared = [t if t // 32 == 1 else t + (200 if t // 32 & 1 else 100) for t in range(256)]
    want = [0 if t // 32 == 1 else shared[t ^ 64] + (5000 if t // 32 & 1 else 0) for t in range(256)]
    assert launched(text, (256, 1, 1)) == want


@pytest.mark.parametrize("seed", [0, 5, 9])
@pytest.mark.parametrize("threads", [32, 96, 256])
def test_warps_come_to_one_barrier_from_many(threads: int, seed: int) -> None:
    """Each warp waits at one of six places, then all at one, again and again: the next warp is seldom where this one
    went on, and there are more places than are tried (regions.py)."""
    places = "".join(
        f"""setp.ne.u32 %p, %r0, {place}; @%p bra not{place}; add.u32 %v, %v, {place * 7 + 1}; bar.sync 0;
        mad.lo.u32 %v, %v, 3, {place}; bra meet; not{place}: """
        for place in range(6)
    )
    body = f"""mov.u32 %w, %warpid; mov.u32 %j, 0; mov.u32 %v, %t;
      again: add.u32 %r0, %w, %j; rem.u32 %r0, %r0, 6; {places}
      meet: st.shared.u32 [%x], %v; bar.sync 0; mov.u32 %r1, %ntid.x; sub.u32 %r2, %r1, 1; sub.u32 %r2, %r2, %t;
      mad.wide.u32 %y, %r2, 4, %a0; ld.shared.u32 %r3, [%y]; bar.sync 0; xor.b32 %v, %v, %r3;
      add.u32 %j, %j, 1; setp.lt.u32 %p, %j, 4; @%p bra again; st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text)
    values = list(range(threads))
    for turn in range(4):
        for t in range(threads):
            place = (t // 32 + turn) % 6
            values[t] = (values[t] + place * 7 + 1) * 3 + place & 0xFFFFFFFF
        values = [value ^ values[threads - 1 - t] for t, value in enumerate(values)]
    assert launched(text, (threads, 1, 1), seed) == values


@pytest.mark.parametrize(
    ("target", "barrier", "order"), [("70", "", "01234567"), ("70", "bar.sync 0;", "12345670"), ("35", "", "12345670")]
)
def test_warps_run_upwards_where_no_barrier_is(target: str, barrier: str, order: str) -> None:
    """Each thread takes a number from a counter.  Memory likes steps forward; GCC has warp 0 broadcast, as the last."""
    text = f"""{HEAD.replace("sm_90", f"sm_{target}")}.visible .entry k (.param .u64 po)
{{ .reg .u64 %o; .reg .u32 %t, %v; ld.param.u64 %o, [po]; {barrier} mov.u32 %t, %tid.x;
  atom.global.add.u32 %v, [%o+1024], 1; mad.wide.u32 %o, %t, 4, %o; st.global.u32 [%o], %v; ret; }}
"""
    assert is_whole(text)
    with Device(1 << 22) as device:
        out = device.upload(bytes(1028))
        device.load(text).function("k").launch((1, 1, 1), (256, 1, 1), [out])
        found = struct.unpack("<256I", device.download(out, 1024))
    assert "".join(str(warp) for warp in sorted(range(8), key=lambda warp: found[32 * warp])) == order


def test_lanes_that_are_off_keep_what_they_had() -> None:
    """A register that some lanes set, before and behind barriers."""
    body = """mov.u32 %v, 0; and.b32 %i, %t, 1; setp.eq.u32 %p, %i, 0; @%p add.u32 %v, %t, 1; bar.sync 0;
      @!%p add.u32 %v, %t, 1000; bar.sync 0; setp.gt.u32 %q, %t, 40; @%q bra more; add.u32 %v, %v, 7; bra join;
      more: @%p add.u32 %v, %v, 70000; join: bar.sync 0; st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert is_whole(text)
    want = [t + 1 if t % 2 == 0 else t + 1000 for t in range(96)]
    want = [v + 7 if t <= 40 else v + (70000 if t % 2 == 0 else 0) for t, v in enumerate(want)]
    assert launched(text, (96, 1, 1)) == want


def test_many_registers_wait_elsewhere() -> None:
    """More than a row may have: the executor's stacks keep them."""
    count = 60
    lines = [f".reg .u64 %z<{count}>;"]
    lines += [f"mul.wide.u32 %z{i}, %t, {i + 1};" for i in range(count)] + ["bar.sync 0; mov.u32 %v, 0;"]
    lines += [f"cvt.u32.u64 %i, %z{i}; add.u32 %v, %v, %i;" for i in range(count)] + ["st.global.u32 [%o], %v;"]
    text = kernel("\n".join(lines))
    assert not is_whole(text)
    assert launched(text, (96, 1, 1)) == [t * count * (count + 1) // 2 for t in range(96)]


WAITS = {
    "volatile": "spin: ld.volatile.shared.u32 %v, [box]; setp.eq.u32 %p, %v, 0; @%p bra spin;",
    "weak": "spin: ld.shared.u32 %v, [box]; setp.eq.u32 %p, %v, 0; @%p bra spin;",
    "atomic": "spin: atom.shared.or.b32 %v, [box], 0; setp.eq.u32 %p, %v, 0; @%p bra spin;",
    "sleep": "spin: nanosleep.u32 10; ld.shared.u32 %v, [box]; setp.eq.u32 %p, %v, 0; @%p bra spin;",
}


@pytest.mark.parametrize("way", WAITS)
def test_warps_that_wait_in_loops(way: str) -> None:
    """All wait for warp 0, which runs last."""
    body = f"""mov.u32 %w, %warpid; st.shared.u32 [%x], 0; bar.sync 0; setp.ne.u32 %q, %w, 0; @%q bra others;
      mov.u32 %v, 55; st.shared.u32 [box], %v; others: {WAITS[way]} st.global.u32 [%o], %v;"""
    text = kernel(body)
    assert not is_whole(text)
    assert launched(text, (128, 1, 1)) == [55] * 128


@pytest.mark.parametrize(
    "body",
    [
        "setp.gt.u32 %p, %t, 3; @%p bra out; bar.sync 0; out:",
        "bar.sync 1;",
        "bar.sync 0, 64;",
        "bar.red.popc.u32 %v, 0, %p;",
        "setp.gt.u32 %p, %t, 3; @%p bar.sync 0;",
        "bar.arrive 1, 64;",
    ],
)
def test_other_barriers_are_left_to_the_executor(body: str) -> None:
    assert not is_whole(kernel(body))


def test_local_memory_calls_and_exits_are_left_to_the_executor() -> None:
    function = ".func f { ret; }\n"
    assert is_whole(kernel("bar.sync 0;", function))
    assert not is_whole(kernel("call f;", function))
    assert not is_whole(kernel(".local .b8 own[16]; mov.u64 %y, own;"))
    assert not is_whole(kernel("exit;"))


def test_loops_by_steps_of_the_grid_are_left_to_the_executor() -> None:
    """Warps that read the same lines of memory go through it together."""
    loop = """mov.u32 %i, %t; STEP; mov.u32 %v, 0; turn: mad.wide.u32 %y, %i, 4, %o; ld.global.u32 %w, [%y];
      add.u32 %v, %v, %w; add.u32 %i, %i, %r1; setp.lt.u32 %p, %i, 1000; @%p bra turn; st.shared.u32 [%x], %v;"""
    step = "mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x; mul.lo.u32 %r1, %r2, %r3"
    assert not is_whole(kernel(loop.replace("STEP", step)))
    assert is_whole(kernel(loop.replace("STEP", "mov.u32 %r1, 32")))
    assert is_whole(
        kernel(loop.replace("STEP", step).replace("ld.global", "ld.shared").replace("%y, %i, 4, %o", "%y, %i, 4, %a0"))
    )


def test_a_failure_names_the_warp_that_failed() -> None:
    text = kernel("mov.u32 %w, %warpid; bar.sync 0; setp.ne.u32 %p, %w, 5; @%p bra on; trap; on:")
    assert is_whole(text)
    with pytest.raises(ExecutorError, match=r"trap in 'k' .*thread \(160,0,0\)"):
        launched(text, (256, 1, 1))


def test_an_endless_loop_ends_with_another_blocks_failure() -> None:
    """Block 0 turns without end; block 1 fails, so the launch does."""
    body = """mov.u32 %i, %ctaid.x; setp.eq.u32 %p, %i, 1; @%p trap; mov.u32 %v, 0;
      turn: add.u32 %v, %v, 1; st.global.u32 [%o], %v; setp.eq.u32 %q, %i, 0; @%q bra turn;"""
    text = kernel(body)
    assert is_whole(text)
    with pytest.raises(ExecutorError, match="trap in 'k'"):
        launched(text, (64, 1, 1), grid=2)


class RandomKernel:
    """Statements on eight registers of 32 bits and four of 64, with branches, loops, and barriers where all come."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.lines: list[str] = []
        self.labels = 0
        self.name = f"k{seed}"

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def word(self) -> str:
        return f"%r{self.chance.randrange(8)}"

    def long(self) -> str:
        return f"%z{self.chance.randrange(4)}"

    def simple(self) -> None:
        pick, a, b, c = self.chance.randrange(9), self.word(), self.word(), self.word()
        z, y = self.long(), self.long()
        self.lines.append(
            [
                f"add.u32 {a}, {b}, {c};",
                f"xor.b32 {a}, {b}, {self.chance.randrange(1 << 30)};",
                f"mad.lo.u32 {a}, {b}, 17, {c};",
                f"mul.wide.u32 {z}, {a}, {b};",
                f"add.u64 {z}, {z}, {y};",
                f"cvt.u32.u64 {a}, {z};",
                f"setp.lt.u32 %p1, {a}, {b};",
                f"selp.u32 {a}, {b}, {c}, %p1;",
                f"and.b32 {a}, {b}, 1; setp.eq.u32 %p2, {a}, 0; @%p2 add.u32 {c}, {b}, {self.chance.randrange(99)};",
            ][pick]
        )

    def exchange(self) -> None:
        """Each thread gives a word to another one."""
        a, b = self.word(), self.word()
        self.lines.append(
            f"st.shared.u32 [%x], {a}; bar.sync 0; add.u32 %i, %t, {self.chance.randrange(1, 70)}; rem.u32 %i, %i, %n; "
            f"mad.wide.u32 %y, %i, 4, %a0; ld.shared.u32 {b}, [%y]; bar.sync 0;"
        )

    def some(self, depth: int, together: bool) -> None:
        for _ in range(self.chance.randrange(2, 6)):
            pick = self.chance.randrange(8)
            if pick == 0 and together:
                self.exchange()
            elif pick == 1 and depth:
                self.branch(depth, together)
            elif pick == 2 and depth:
                self.loop(depth, together)
            else:
                self.simple()

    def branch(self, depth: int, together: bool) -> None:
        """By a lane's number, or by what is the same in all warps: then there may be barriers."""
        other, end = self.label(), self.label()
        same = self.chance.randrange(2)
        what = "%n" if same else self.word()
        self.lines.append(
            f"and.b32 %j, {what}, {self.chance.choice((1, 32, 96))}; setp.ne.u32 %p, %j, 0; @%p bra {other};"
        )
        self.some(depth - 1, together and bool(same))
        self.lines.append(f"bra {end}; {other}:")
        self.some(depth - 1, together and bool(same))
        self.lines.append(f"{end}:")

    def loop(self, depth: int, together: bool) -> None:
        """A few turns; another number for each lane where no barrier is inside."""
        head, counter = self.label(), f"%c{depth}"
        limit = str(self.chance.randrange(1, 4))
        if not together or self.chance.randrange(2):
            together = False
            self.lines.append(f"and.b32 %b{depth}, {self.word()}, 3;")
            limit = f"%b{depth}"
        self.lines.append(f"mov.u32 {counter}, 0; {head}: st.shared.u32 [%x+4096], {counter};")
        self.some(depth - 1, together)
        self.lines.append(f"add.u32 {counter}, {counter}, 1; setp.lt.u32 %p, {counter}, {limit}; @%p bra {head};")

    def text(self) -> str:
        for _ in range(4):
            self.some(2, True)
            self.exchange()
        start = "".join(f"mul.lo.u32 %r{i}, %t, {2 * i + 3}; " for i in range(8))
        start += "".join(f"mul.wide.u32 %z{i}, %t, {i + 900001}; " for i in range(4))
        end = "".join(f"mad.lo.u32 %v, %v, 31, %r{i}; " for i in range(8))
        end += "".join(f"cvt.u32.u64 %i, %z{i}; mad.lo.u32 %v, %v, 31, %i; " for i in range(4))
        registers = ".reg .u64 %z<4>; .reg .u32 %n, %c<4>, %b<4>; .reg .pred %p1, %p2;"
        body = f"{registers} mov.u32 %n, %ntid.x; setp.eq.u32 %p1, %t, 5; {start}\n" + "\n".join(self.lines)
        head = f".visible .entry {self.name} (.param .u64 po) {{ {NAMES}"
        return f"{head}{body}\nmov.u32 %v, 0; {end} st.global.u32 [%o], %v; ret; }}\n"


SEEDS = range(10)


def results(text: str) -> list[list[int]]:
    """What all threads of all random kernels leave, for blocks of some sizes."""
    found = []
    with Device(1 << 22) as device:
        module = device.load(text)
        out = device.upload(bytes(4 * 1024))
        for seed in SEEDS:
            for threads in (32, 50, 128, 233):
                module.function(f"k{seed}").launch((1, 1, 1), (threads, 1, 1), [out])
                found.append(list(struct.unpack(f"<{threads}I", device.download(out, 4 * threads))))
    return found


@pytest.mark.slow
def test_random_kernels_agree_with_warps_on_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same kernels, compiled by simple ways only: each warp has a stack of its own, and is switched to."""
    text = HEAD + ".shared .align 8 .b8 box[8192];\n" + "".join(RandomKernel(seed).text() for seed in SEEDS)
    assert sum(is_whole(text, f"k{seed}") for seed in SEEDS) > len(SEEDS) // 2
    found = results(text)
    monkeypatch.setenv("GOMPY_PTX_PLAIN", "1")
    assert not is_whole(text, "k0")
    for at, (whole, plain) in enumerate(zip(found, results(text), strict=True)):
        assert whole == plain, f"kernel {SEEDS[at // 4]}"
