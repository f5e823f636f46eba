"""GOMPY_CHECK=race against a model that compares every pair of accesses: short random kernels, some of which race."""

from __future__ import annotations

import random
from itertools import combinations
from typing import NamedTuple

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_RACE, LIBRARY, Device

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")

THREADS = 96
WORDS = 256


class Step(NamedTuple):
    """An access by each thread that is `active`, or a barrier (`writes` is None)."""

    writes: bool | None
    factor: int  # the word is (t >> shift) * factor + offset
    shift: int
    offset: int
    words: int  # of each thread
    active: int  # a mask of a warp's lanes
    shared: bool
    warps: bool  # bar.warp.sync instead of bar.sync

    def word(self, thread: int, block: int) -> int:
        """The first word that a thread touches; blocks have their own ones in shared memory."""
        return ((thread >> self.shift) * self.factor + self.offset) * self.words % WORDS + block * self.shared * 10000


def random_step(source: random.Random, shared: bool) -> Step:
    """Rows, rows that begin anywhere, halves of warps, one word for several lanes, columns."""
    if source.random() < 0.45:
        return Step(None, 0, 0, 0, 1, 0, shared, source.random() < 0.4)
    masks = [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF, 0xFFFF0000, 0x55555555, 1 << source.randrange(32), 0xFFFFFF00]
    return Step(
        source.random() < 0.5, source.choice((1, 1, 1, 0, 2, 33, 5, 37)), source.choice((0, 0, 0, 1, 4)),
        source.choice((0, 0, 1, 7, 31, 32, 96)), source.choice((1, 1, 2, 4)), source.choice(masks), shared, False,
    )  # fmt: skip


def text_of(steps: list[Step], target: str) -> str:
    """The kernel."""
    lines = []
    for number, step in enumerate(steps):
        if step.writes is None:
            lines.append("bar.warp.sync 0xffffffff;" if step.warps else "bar.sync 0;")
            continue
        values = ", ".join(f"%v{n}" for n in range(step.words))
        vector, operand = ("", "%v0") if step.words == 1 else (f".v{step.words}", f"{{{values}}}")
        space, base = ("shared", "%s") if step.shared else ("global", "%p")
        lines += [
            f"shr.u32 %w, %t, {step.shift}; mad.lo.u32 %w, %w, {step.factor}, {step.offset};",
            f"mul.lo.u32 %w, %w, {step.words}; and.b32 %w, %w, {WORDS - 1}; mul.wide.u32 %a, %w, 4;",
            f"add.u64 %a, {base}, %a; and.b32 %w, %t, 31; mov.u32 %m, {step.active}; shr.u32 %m, %m, %w;",
            "and.b32 %m, %m, 1; setp.ne.u32 %q, %m, 0;",
            # Values that no other thread and no other step writes, and never the same for two words.
            *(f"mad.lo.u32 %v{n}, %g, 64, {number * 4 + n + 1};" for n in range(step.words if step.writes else 0)),
            f"@%q st.{space}{vector}.u32 [%a], {operand};" if step.writes
            else f"@%q ld.{space}{vector}.u32 {operand}, [%a];",
        ]  # fmt: skip
    body = "\n".join(lines)
    return f"""
.version 7.0
.target {target}
.address_size 64
.visible .entry k (.param .u64 p)
{{
  .reg .u64 %p, %s, %a; .reg .u32 %t, %g, %w, %m, %n, %v<4>; .reg .pred %q;
  .shared .align 16 .b8 tile[{4 * WORDS}];
  ld.param.u64 %p, [p];
  mov.u64 %s, tile;
  mov.u32 %t, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %g, %n, {THREADS}, %t;
{body}
  ret;
}}
"""


class Touch(NamedTuple):
    """One thread's access of a word."""

    writes: bool
    block: int
    thread: int
    step: int


def ordered(steps: list[Step], one: Touch, other: Touch, in_step: bool) -> bool:
    """Whether the barriers between two accesses order them; or they are one thread's, or of one instruction."""
    if one.block != other.block:
        return False
    if one.thread == other.thread:
        return True
    warp = one.thread // 32 == other.thread // 32
    if warp and (in_step or one.step == other.step):
        return True
    low, high = sorted((one.step, other.step))
    between = [step for step in steps[low:high] if step.writes is None]
    return any(not step.warps or warp for step in between)


def races_of(steps: list[Step], blocks: int, in_step: bool) -> bool:
    """Whether any two accesses race."""
    touches: dict[int, list[Touch]] = {}
    for number, step in enumerate(steps):
        for block in range(blocks if step.writes is not None else 0):
            for thread in range(THREADS):
                if step.active >> thread % 32 & 1:
                    word = step.word(thread, block)
                    for n in range(step.words):
                        touches.setdefault(word + n, []).append(Touch(bool(step.writes), block, thread, number))
    return any(
        (one.writes or other.writes) and not ordered(steps, one, other, in_step)
        for its in touches.values()
        for one, other in combinations(its, 2)
    )


def judged(device: Device, memory: int, steps: list[Step], blocks: int, target: str) -> bool:
    """Whether a kernel races; what the device tells of it is held to that."""
    before = len(device.warnings)
    text = text_of(steps, target)
    device.load(text).function("k").launch((blocks, 1, 1), (THREADS, 1, 1), [memory])
    told = [line for line in device.warnings[before:] if line.startswith("race")]
    races = races_of(steps, blocks, target == "sm_35")
    assert bool(told) == races, f"{told[:1]}\n{text}"
    return races


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    """What races is told, and nothing else."""
    source = random.Random(seed)
    found = 0
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4 * WORDS + 64))
        for _ in range(12):
            shared, blocks = source.random() < 0.6, source.choice((1, 1, 1, 2))
            target = source.choice(("sm_70", "sm_70", "sm_35"))
            steps = [random_step(source, shared) for _ in range(source.randint(2, 6))]
            found += judged(device, memory, steps, blocks, target)
    assert 0 < found < 12


@pytest.mark.parametrize("seed", range(8))
def test_random_warps(seed: int) -> None:
    """The same of kernels whose warps have one address each: such accesses are noted by lines (race_notes.h)."""
    source = random.Random(seed)
    found = 0
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4 * WORDS + 64))
        for _ in range(12):
            blocks = source.choice((1, 1, 2))
            steps = [random_step(source, False) for _ in range(source.randint(2, 9))]
            steps = [
                step if step.writes is None else step._replace(shift=5, active=0xFFFFFFFF, offset=step.offset % 8)
                for step in steps
            ]
            found += judged(device, memory, steps, blocks, "sm_35")
    assert 0 < found < 12
