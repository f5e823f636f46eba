"""GOMPY_CHECK=race leaves accesses out that cannot race (conflicts.py): the others are all found."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx.conflicts import Conflicts
from gompy.ptx.device import CHECK_INIT, CHECK_MEMORY, CHECK_RACE, LIBRARY, Device
from gompy.ptx.lower import entry_layout
from gompy.ptx.parser import parse
from gompy.ptx.syntax import Instruction, Memory
from gompy.ptx.uniform import analyse

built = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")
ALWAYS, MIXED = 1 << abi.RACE_ALWAYS, 1 << abi.RACE_MIXED


def kernel(body: str) -> str:
    """A kernel of two pointers, %p and %q, with %s to shared memory and %w to a variable, each by the thread."""
    return f"""
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .b8 words[1024];
.func (.param .u32 r) twice (.param .u32 a)
{{ .reg .u32 %a; ld.param.u32 %a, [a]; add.u32 %a, %a, %a; st.param.u32 [r], %a; ret; }}
.func poke (.param .u64 a)
{{ .reg .u64 %a; ld.param.u64 %a, [a]; st.u32 [%a], 5; ret; }}
.visible .entry k (.param .u64 p, .param .u64 q, .param .u64 n)
{{
  .reg .u64 %p, %q, %s, %w, %o, %x, %y; .reg .u32 %t, %v, %b; .reg .pred %h;
  .shared .align 8 .b8 tile[1024];
  .param .u64 out; .param .u32 in32; .param .u32 out32;
  ld.param.u64 %p, [p]; ld.param.u64 %q, [q]; ld.param.u64 %o, [n];
  mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mul.wide.u32 %x, %t, 4; add.u64 %o, %o, %x;
  add.u64 %p, %p, %o; add.u64 %q, %q, %o; setp.lt.u32 %h, %t, 32;
  mov.u64 %s, tile; cvta.shared.u64 %s, %s; add.u64 %s, %s, %o; mov.u64 %w, words; add.u64 %w, %w, %o;
{body}
  ret;
}}
"""


def bits_of(body: str) -> list[int]:
    """The bits of the body's accesses of memory that threads share."""
    module = parse(kernel(body), "k.ptx")
    function = module.functions["k"]
    analysis = analyse(function, "E", True, "k.ptx")
    offsets = dict(zip([v.name for v in function.parameters], entry_layout(function)[0], strict=True))
    conflicts = Conflicts(analysis, module, offsets)
    return [
        conflicts.bits(code, operand, code)
        for block in analysis.blocks
        for code in block.code
        if isinstance(code, Instruction) and code.base in ("ld", "st", "atom", "red") and "param" not in code.mods
        for operand in code.operands
        if isinstance(operand, Memory)
    ]


CASES = {
    "parameters": ("ld.global.u32 %v, [%p]; st.global.u32 [%q], %v;", [0b101, 0b110]),
    "either": ("selp.b64 %x, %p, %q, %h; st.u32 [%x], %t;", [0b111]),
    "a pointer from memory": ("ld.u64 %x, [%p]; st.u32 [%x], %t;", [0b101, ALWAYS]),
    "an index from memory": ("ld.u64 %x, [%p]; shl.b64 %x, %x, 2; add.u64 %x, %q, %x; st.u32 [%x], %t;", [5, 0b110]),
    "a variable": ("st.u32 [%w], %t;", [1 << abi.RACE_VARIABLES | 0b100]),
    "shared, filled and read": (
        "st.u32 [%s], %t; bar.sync 0; ld.shared.u32 %v, [tile+4]; bar.sync 0; ld.u32 %v, [%s];",
        [ALWAYS, MIXED, MIXED | 0b100],
    ),
    "shared, both": ("st.shared.u32 [tile], %t; ld.shared.u32 %v, [tile+4];", [ALWAYS, ALWAYS]),
    "a barrier of some": (
        "st.shared.u32 [tile], %t; bar.sync 1, 64; ld.shared.u32 %v, [tile+4];",
        [ALWAYS, ALWAYS],
    ),
    "around a loop": (
        "L: ld.shared.u32 %v, [tile+4]; bar.sync 0; ld.shared.u32 %v, [tile+8]; st.shared.u32 [tile], %v; @%h bra L;",
        [ALWAYS, ALWAYS, ALWAYS],
    ),
    "another branch": (
        "@%h bra L; ld.shared.u32 %v, [tile+4]; bra M; L: st.shared.u32 [tile], %v; M:",
        [ALWAYS, ALWAYS],
    ),
    "atomic only": ("red.shared.add.u32 [tile], 1; bar.sync 0; ld.shared.u32 %v, [tile];", [MIXED, MIXED]),
    "a fence": ("membar.gl; red.global.add.u32 [%p], 1;", [ALWAYS]),
    "a function without accesses": (
        "st.param.u32 [in32], %t; call (out32), twice, (in32); ld.param.u32 %v, [out32]; st.u32 [%q], %v;",
        [0b110],
    ),
    "a function with one": ("st.param.u64 [out], %p; call poke, (out); ld.u32 %v, [%q];", [ALWAYS]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_accesses_may_be_of(name: str) -> None:
    """Parameters' words (n, too, may be a pointer), variables, shared memory; whatever else there may be."""
    body, expected = CASES[name]
    found = bits_of(body)
    assert [ALWAYS if bits & ALWAYS else bits for bits in found] == expected, [hex(b) for b in found]


def told(body: str, second: int | str = 4096, grid: int = 2, block: int = 64, check: int = CHECK_RACE) -> list[str]:
    """The races that are told of a launch with two pointers, the second one so far behind the first, or a variable."""
    with Device(1 << 20, check) as device:
        first, other = device.upload(bytes(4096)), device.upload(bytes(4096))
        module = device.load(kernel(body), names=["k.ptx"])
        address = first + second if isinstance(second, int) else module.variable(second)[0]
        function = module.function("k")
        function.launch((grid, 1, 1), (block, 1, 1), [first, other if second == 4096 else address, 0])
        return [line for line in device.warnings if line.startswith("race")]


@built
@pytest.mark.parametrize("check", [CHECK_RACE, CHECK_RACE | CHECK_MEMORY | CHECK_INIT])
def test_two_names_of_one_block(check: int) -> None:
    """What is read is written by another pointer, or by the variable's name."""
    assert not told("ld.global.u32 %v, [%p]; st.global.u32 [%q], 1;", check=check)
    for second in (128, 1024):
        race = f"ld.global.u32 %v, [%p+{second}];\nmad.lo.u32 %v, %b, 2, 3;\nst.global.u32 [%q], %v;"
        assert len(told(race, second, check=check)) == 2  # read and write, two writes
    assert told("ld.global.u32 %v, [%w]; st.global.u32 [%q], %t;", "words", check=check)
    assert not told("ld.global.u32 %v, [%w]; st.global.u32 [%q], %t;", 128, 1, check=check)


@built
def test_atomic_operations_and_others() -> None:
    """Those alone are no race; with a plain read, by any pointer, they are."""
    assert not told("red.global.add.u32 [%p], 1;")
    assert told("red.global.add.u32 [%p], 1; ld.global.u32 %v, [%q];", 0)
    assert not told("red.global.add.u32 [%p], 1; ld.global.u32 %v, [%q];")


BRANCHES = """
@%h bra FIRST;
bar.sync 0; ld.shared.u32 %v, [tile]; bar.sync 0; bra DONE;
FIRST: bar.sync 0; st.shared.u32 [tile], %t; bar.sync 0;
DONE:
"""


@built
def test_warps_at_different_barriers() -> None:
    """Barriers of one number meet wherever they stand: what is only read behind one may be written behind another."""
    assert len(told(BRANCHES, grid=1)) == 1
    assert [bits & ALWAYS != 0 for bits in bits_of(BRANCHES)] == [False, True]
    assert not told(BRANCHES.replace("st.shared.u32 [tile], %t;", "ld.shared.u32 %v, [tile+4];"), grid=3)


LEAVES = {
    # %o is 4 a thread and the distance of the two blocks, %x 4 a thread.
    "a read": ("ld.global.u32 %v, [%p]; {q} st.global.u32 [%q], 5;", 1),
    "a read by all lanes": ("{p} sub.u64 %o, %o, %x; add.u64 %p, %p, %o; sub.u64 %p, %p, %x;"
                            "ld.global.u32 %v, [%p]; {q} st.global.u32 [%q], 5;", 1),
    "a write": ("{p} ld.global.u32 %v, [%p]; st.global.u32 [%q], 5;", -1),
    "atomic": ("{p} red.global.add.u32 [%p], 1; ld.global.u32 %v, [%q];", -1),
    "none": ("ld.global.u32 %v, [%p]; shl.b32 %v, %b, 8; cvt.u64.u32 %y, %v; add.u64 %q, %q, %y;"
             "st.global.u32 [%q], %t;", 0),
}  # fmt: skip


@built
@pytest.mark.parametrize("name", LEAVES)
def test_a_pointer_that_leaves_its_block(name: str) -> None:
    """Who comes into another block by an index is looked at, and so is what others do from the next block on."""
    body, sign = LEAVES[name]
    own = {word: f"sub.u64 %{word}, %{word}, %o; add.u64 %{word}, %{word}, %x;" for word in "pq"}
    with Device(1 << 20, CHECK_RACE) as device:
        first, other = device.upload(bytes(4096)), device.upload(bytes(4096))
        function = device.load(kernel(body.format(**own)), names=["k.ptx"]).function("k")
        arguments = [first, other, sign * (other - first) % (1 << 64)]
        function.launch((4, 1, 1), (64, 1, 1), arguments)
        assert any(line.startswith("race") for line in device.warnings) == (sign != 0), list(device.warnings)


@built
def test_a_pointer_to_nothing() -> None:
    """A parameter that points behind its block may be of any."""
    assert told("ld.global.u32 %v, [%p+32]; add.u64 %q, %q, -4096; st.global.u32 [%q], %t;", 4096 + 2)
