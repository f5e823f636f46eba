"""GOMPY_CHECK=race against a model of fences and atomic words: random blocks that read, write and signal each other."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import CHECK_RACE, LIBRARY, Device

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")

WORDS, BLOCKS = 3, 3


class Kind(NamedTuple):
    """How a word is accessed, or (`text` without a word) a fence."""

    text: str
    reads: bool = False
    writes: bool = False
    strong: bool = False
    acquires: bool = False
    releases: bool = False


KINDS = (
    Kind("membar.gl;"),
    Kind("ld.global.u32 %v, [%p+{0}];", reads=True),
    Kind("st.global.u32 [%p+{0}], {1};", writes=True),
    Kind("ld.relaxed.gpu.global.u32 %v, [%p+{0}];", reads=True, strong=True),
    Kind("ld.acquire.gpu.global.u32 %v, [%p+{0}];", reads=True, strong=True, acquires=True),
    Kind("atom.relaxed.gpu.global.add.u32 %v, [%p+{0}], {1};", True, True, True),
    Kind("atom.acquire.gpu.global.add.u32 %v, [%p+{0}], {1};", True, True, True, acquires=True),
    Kind("atom.release.gpu.global.add.u32 %v, [%p+{0}], {1};", True, True, True, releases=True),
    Kind("atom.acq_rel.gpu.global.add.u32 %v, [%p+{0}], {1};", True, True, True, True, True),
)
FENCE = KINDS[0]


class Step(NamedTuple):
    """A step of a block's only thread."""

    block: int
    kind: Kind
    word: int


def random_steps(source: random.Random) -> list[Step]:
    """What the blocks do, in the order in which they run."""
    weights = [source.choice((1, 3)) for _ in KINDS]
    return [
        Step(block, source.choices(KINDS, weights)[0], source.randrange(WORDS))
        for block in range(BLOCKS)
        for _ in range(source.randint(1, 7))
    ]


def text_of(steps: list[Step]) -> str:
    """The kernel; no two writes have the same value."""
    body = ""
    for block in range(BLOCKS):
        lines = [step.kind.text.format(4 * step.word, n + 1) for n, step in enumerate(steps) if step.block == block]
        body += f"B{block}:\n  setp.ne.u32 %q, %n, {block};\n  @%q bra B{block + 1};\n  " + "\n  ".join(lines) + "\n"
    return f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry k (.param .u64 p)
{{
  .reg .u64 %p; .reg .u32 %n, %v; .reg .pred %q;
  ld.param.u64 %p, [p];
  mov.u32 %n, %ctaid.x;
{body}B{BLOCKS}:
  ret;
}}
"""


def known_before(steps: list[Step]) -> list[set[int]]:
    """For each step those that come before it, by the program's order and by what a word tells.

    Who writes a word strongly behind a fence passes on what was before that, and this write; who reads it strongly
    knows that behind its next one.  Blocks run one after the other: a read finds all that earlier ones have passed on.
    """
    passed: dict[int, set[int]] = {}
    before: list[set[int]] = []
    known: set[int] = set()
    pending: set[int] = set()
    fenced: set[int] | None = None
    for n, (block, kind, word) in enumerate(steps):
        if n == 0 or steps[n - 1].block != block:
            known, pending, fenced = set(), set(), None
        if kind is FENCE or kind.releases:
            known = known | pending
            fenced = set(known)
        if kind.strong and kind.reads:
            pending |= passed.get(word, set())
            if kind.acquires:
                known = known | passed.get(word, set())
        before.append(set(known))
        if kind.strong and kind.writes and fenced is not None:
            passed[word] = passed.get(word, set()) | fenced | {n}
        known = known | {n}
    return before


def races_of(steps: list[Step]) -> tuple[bool, bool]:
    """Whether any two accesses race; whether one does with the last write of its word, or one of two reads since."""
    before = known_before(steps)
    some = near = False
    for n, (block, kind, word) in enumerate(steps):
        if kind is FENCE:
            continue
        overwritten = False
        reads: set[tuple[int, bool]] = set()  # behind the other access
        for m in range(n - 1, -1, -1):
            other = steps[m]
            if other.kind is FENCE or other.word != word:
                continue
            conflict = (kind.writes or other.kind.writes) and not (kind.strong and other.kind.strong)
            if other.block != block and conflict and m not in before[n]:
                some = True
                near = near or not (overwritten or len(reads) > 1)
            overwritten = overwritten or other.kind.writes
            if not other.kind.writes:
                reads.add((other.block, other.kind.strong))
    return some, near


@pytest.mark.parametrize("seed", range(10))
def test_random_flags(seed: int) -> None:
    """What is told is a race; a race with the last write of a word, or with the last two reads behind it, is told."""
    source = random.Random(seed)
    found = right = 0
    with Device(1 << 20, CHECK_RACE) as device:
        memory = device.upload(bytes(4 * WORDS + 64))
        for _ in range(40):
            steps = random_steps(source)
            count, text = len(device.warnings), text_of(steps)
            device.load(text).function("k").launch((BLOCKS, 1, 1), (1, 1, 1), [memory])
            told = [line for line in device.warnings[count:] if line.startswith("race")]
            some, near = races_of(steps)
            assert near <= bool(told) <= some, f"{told[:1]}\n{text}"
            found, right = found + some, right + (not some)
    assert found and right
