"""Random control flow, gotos and all: each lane must end with what a lane alone would compute."""

from __future__ import annotations

import random
import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device, Module
from gompy.ptx.emit import Links
from gompy.ptx.flow import build_blocks, loops, post_dominators
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
SEEDS = range(120)
STRAIGHT = range(60, 120)
"""Of these, programs that go forwards mostly, by what all lanes have the same in mostly: such branches stand among
blocks that only some lanes are in, and the others may wait elsewhere."""
REGISTERS = 5
MASK = 0xFFFFFFFF

Step = tuple[str, int, int, int]  # operation, target, source, constant
Block = tuple[list[Step], int, int, int, int]  # steps, register and bits tested, block taken, block else


def program(seed: int) -> list[Block]:
    """Blocks of a random program.  Register 0 is the lane's number, 1 and 2 begin the same in all lanes."""
    rng = random.Random(seed)
    if seed in STRAIGHT:
        return straight(rng)
    count = rng.randint(3, 12)
    blocks: list[Block] = []
    for index in range(count):
        steps: list[Step] = []
        for _ in range(rng.randint(0, 3)):
            steps.append((rng.choice(("add", "mul", "xor", "set", "copy")), rng.randrange(1, REGISTERS),
                          rng.randrange(REGISTERS), rng.randrange(1, 9)))  # fmt: skip
        # Forwards more often than back, and sometimes by a value that is the same in all lanes.
        near = [min(index + rng.randint(1, 3), count) if rng.random() < 0.7 else rng.randrange(count + 1) for _ in "ab"]
        blocks.append((steps, rng.choice((0, 0, 1, 2, 3, 4)), rng.choice((1, 2, 3, 4)), near[0], near[1]))
    return blocks


def straight(rng: random.Random) -> list[Block]:
    """One of the other kind."""
    count = rng.randint(4, 16)
    blocks: list[Block] = []
    for index in range(count):
        steps: list[Step] = []
        for _ in range(rng.randint(0, 3)):
            steps.append((rng.choice(("add", "mul", "xor", "set", "copy")), rng.randrange(1, REGISTERS),
                          rng.choice((0, 1, 1, 2, 2, 3, 4)), rng.randrange(1, 9)))  # fmt: skip
        near = [min(index + rng.randint(1, 4), count) for _ in "ab"]
        if rng.random() < 0.15:
            near[0] = rng.randrange(index + 1)
        blocks.append((steps, rng.choice((0, 1, 1, 1, 2, 2, 2, 3, 4)), rng.choice((1, 2, 3, 4)), near[0], near[1]))
    return blocks


def counts(seed: int, index: int, block: Block) -> bool:
    """Whether a block takes of the fuel: where it may jump back, or always."""
    return seed not in STRAIGHT or min(block[3:]) <= index


def model(seed: int, blocks: list[Block], lane: int) -> list[int]:
    """One lane alone."""
    r = [lane, 3, 5, lane * 7 & MASK, 11]
    at, fuel = 0, 40
    while at < len(blocks):
        steps, tested, bits, taken, other = blocks[at]
        for operation, target, source, constant in steps:
            if operation == "add":
                r[target] = (r[target] + r[source] + constant) & MASK
            elif operation == "mul":
                r[target] = r[source] * constant & MASK
            elif operation == "xor":
                r[target] ^= r[source]
            elif operation == "set":
                r[target] = constant
            else:
                r[target] = r[source]
        fuel -= counts(seed, at, blocks[at])
        if fuel == 0:
            break
        at = taken if r[tested] & bits else other
    return [*r[1:], fuel]


def kernel(seed: int, blocks: list[Block]) -> str:
    """The same program in PTX."""
    lines = [f".visible .entry k{seed} (.param .u64 %out) {{ .reg .u32 %r<{REGISTERS}>, %fuel, %t; .reg .pred %p;"]
    lines += [".reg .u64 %o; ld.param.u64 %o, [%out]; mov.u32 %r0, %tid.x; mov.u32 %r1, 3; mov.u32 %r2, 5;"]
    lines += ["mul.lo.u32 %r3, %r0, 7; mov.u32 %r4, 11; mov.u32 %fuel, 40;"]
    texts = {
        "add": "add.u32 %r{t}, %r{t}, %r{s}; add.u32 %r{t}, %r{t}, {c};",
        "mul": "mul.lo.u32 %r{t}, %r{s}, {c};",
        "xor": "xor.b32 %r{t}, %r{t}, %r{s};",
        "set": "mov.u32 %r{t}, {c};",
        "copy": "mov.u32 %r{t}, %r{s};",
    }
    for index, (steps, tested, bits, taken, other) in enumerate(blocks):
        lines.append(f"$B{index}:")
        lines += [texts[operation].format(t=t, s=s, c=c) for operation, t, s, c in steps]
        if counts(seed, index, blocks[index]):
            lines.append(f"sub.u32 %fuel, %fuel, 1; setp.eq.u32 %p, %fuel, 0; @%p bra $B{len(blocks)};")
        lines.append(f"and.b32 %t, %r{tested}, {bits}; setp.ne.u32 %p, %t, 0; @%p bra $B{taken}; bra $B{other};")
    lines.append(f"$B{len(blocks)}: mad.wide.u32 %o, %r0, {4 * REGISTERS}, %o;")
    lines += [f"st.u32 [%o+{4 * (i - 1)}], %r{i};" for i in range(1, REGISTERS)]
    lines.append(f"st.u32 [%o+{4 * (REGISTERS - 1)}], %fuel; ret; }}")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Device, Module]:
    if not LIBRARY.exists():
        pytest.skip("the PTX executor is not built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        device = Device(1 << 24)
        return device, device.load(HEAD + "\n".join(kernel(seed, program(seed)) for seed in SEEDS))


@pytest.mark.slow(sample=22)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_lane_computes_what_it_would_alone(compiled: tuple[Device, Module], seed: int) -> None:
    device, module = compiled
    out = device.upload(bytes(4 * REGISTERS * 64))
    module.function(f"k{seed}").launch((1, 1, 1), (64, 1, 1), [out])
    words = struct.unpack(f"{64 * REGISTERS}I", device.download(out, 4 * REGISTERS * 64))
    for lane in range(64):
        assert list(words[lane * REGISTERS : (lane + 1) * REGISTERS]) == model(seed, program(seed), lane), (
            f"lane {lane}"
        )


@pytest.mark.parametrize("seed", range(0, 120, 7))
def test_order_of_blocks(seed: int) -> None:
    """Jumps back only to heads of loops that contain them; post-dominators are on every way to the end."""
    function = parse(HEAD + kernel(seed, program(seed))).functions[f"k{seed}"]
    blocks = build_blocks(function, "x")
    ends = loops(blocks)
    for block in blocks:
        for successor in block.successors:
            if successor.index <= block.index:
                assert successor.index <= block.index <= ends[successor.index]
    immediate = post_dominators(blocks)
    for block in blocks:
        seen, todo = set(), [block]
        while todo:  # the end must be out of reach without the immediate post-dominator
            at = todo.pop()
            for successor in at.successors:
                if successor.index != immediate[block.index] and successor.index not in seen:
                    seen.add(successor.index)
                    todo.append(successor)
            assert at.successors or immediate[block.index] == len(blocks) or at.index == immediate[block.index]


TOGETHER = (
    HEAD
    + """.shared .align 4 .b8 box[4096];
.visible .entry k (.param .u64 %in) { .reg .u64 %a, %b; .reg .u32 %t, %i, %j, %n; .reg .pred %p, %q;
ld.param.u32 %n, [%in]; mov.u32 %t, %tid.x; setp.gt.u32 %p, %t, 7; @%p bra behind; mov.u64 %a, box; mov.u32 %i, 0;
again: ld.shared.u32 %j, [%a]; st.shared.u32 [%a+2048], %t; add.u64 %a, %a, 4; add.u32 %i, %i, 1;
setp.lt.u32 %q, %i, %n; @%q bra again;
behind: ret; }"""
)


def test_lanes_that_stay_together_have_one_number() -> None:
    """A loop that all lanes which are in it leave at once: its pointer and its counter are no vectors."""
    analysis = lower(parse(TOGETHER).functions["k"], "E", True, Links(), parse(TOGETHER), "k")[1]
    assert {register.name for register in analysis.varying} == {"%t", "%p"}


GUARDED = (
    HEAD
    + """.extern .shared .u32 __nvptx_uni[32];
.visible .func f (.param .u64 %in) { .reg .u64 %t, %a; .reg .u32 %m; .reg .pred %p;
ld.param.u64 %a, [%in]; mov.u64 %t, __nvptx_uni; ld.shared.u32 %m, [%t]; setp.eq.u32 %p, %m, 0;
@%p st.u32 [%a], 1; ret; }"""
)


def test_code_for_uniform_calls_leaves_that_for_others_alone() -> None:
    """Outside of simd regions the guard holds and goes; code for calls from inside of them keeps it."""
    module = parse(GUARDED)
    function = module.functions["f"]
    first, _ = lower(function, "V", True, Links(), module, "f")
    outside, _ = lower(function, "S", True, Links(), module, "f")
    second, _ = lower(function, "V", True, Links(), module, "f")
    assert first == second and "select" not in outside and "do" in first
