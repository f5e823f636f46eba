"""GOMPY_CHECK=race: what a function of GCC's OpenMP does in its own frame is not told, unless somebody knows it."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.frames import Frames
from gompy.ptx.parser import parse
from gompy.ptx.syntax import Instruction, Memory, Module
from gompy.ptx.uniform import analyse

PROLOGUE = """
  mov.u32 %i, %tid.y; mul.wide.u32 %o, %i, 8; mov.u64 %s, __nvptx_stacks; add.u64 %slot, %s, %o;
  ld.shared.u64 %before, [%slot]; sub.u64 %frame, %before, 64; sub.u64 %stack, %frame, 16;
  st.shared.u64 [%slot], %stack;
"""


def module_of(body: str) -> Module:
    """A function with a frame, %p to memory that it is given, %n and %m numbers."""
    return parse(
        f"""
.version 6.0
.target sm_30
.address_size 64
.extern .shared .u64 __nvptx_stacks[32];
.extern .shared .u32 __nvptx_uni[32];
.func other (.param .u64 a);
.func f (.param .u64 p, .param .u64 n)
{{
  .reg .u32 %i, %v, %m; .reg .u64 %o, %s, %slot, %before, %frame, %stack, %p, %n, %x, %y; .reg .pred %h;
  ld.param.u64 %p, [p]; ld.param.u64 %n, [n]; cvt.u32.u64 %m, %n; setp.eq.u32 %h, %m, 0;
{PROLOGUE}
{body}
  st.shared.u64 [%slot], %before;
  ret;
}}
""",
        "f.ptx",
    )


def own(body: str, version: str = "S") -> list[bool]:
    """Of each plain access of the body, whether it is surely of the frame."""
    module = module_of(body)
    analysis = analyse(module.functions["f"], version, True, "f.ptx")
    registers = Frames(analysis).own
    return [
        operand.base in registers
        for block in analysis.blocks
        for code in block.code
        if isinstance(code, Instruction) and code.base in ("ld", "st") and not {"param", "shared"} & set(code.mods)
        for operand in code.operands
        if isinstance(operand, Memory)
    ]


def test_a_frame_of_ones_own() -> None:
    """By its registers, by others that are computed of them, in a loop."""
    assert own("st.u32 [%frame+4], 1; ld.u32 %v, [%p]; ld.u32 %v, [%stack];") == [True, False, True]
    assert own("add.u64 %x, %frame, %n; st.u32 [%x], 1; add.u64 %y, %n, %x; st.u32 [%y+4], 1;") == [True, True]
    assert own(
        "mov.u64 %x, %frame;\n$L: st.u32 [%x], 1; add.u64 %x, %x, 4; setp.ne.u64 %h, %x, %before; @%h bra $L;"
    ) == [True]
    assert own("ld.u64 %x, [%frame]; st.u32 [%x], 1;") == [True, False]


@pytest.mark.parametrize(
    "known",
    [
        "st.u64 [%p], %x;",
        "st.u64 [%frame], %x;",
        "st.v2.u64 [%p], {%n, %x};",
        "{ .param .u64 out; st.param.u64 [out], %x; call other, (out); }",
        "atom.exch.b64 %y, [%p], %x;",
        "red.add.u64 [%p], %x;",
        "cvt.u32.u64 %v, %x; st.u32 [%p], %v;",
        "shfl.idx.b32 %v, %v, 0, 31; cvt.u32.u64 %v, %x; shfl.idx.b32 %v, %v, 0, 31;",
    ],
)
def test_somebody_knows_it(known: str) -> None:
    """Then nothing is left out, even what is before."""
    body = f"st.u32 [%frame], 1; add.u64 %x, %frame, 8; {known}"
    assert not any(own(body)), known


def test_an_address_that_may_be_another() -> None:
    """Of the frame or not, by how the program went; or that is no address in it."""
    assert own("mov.u64 %x, %frame; @%h mov.u64 %x, %p; st.u32 [%x], 1; st.u32 [%frame], 1;") == [False, True]
    assert own("selp.b64 %x, %frame, %p, %h; st.u32 [%x], 1; st.u32 [%frame], 1;") == [False, True]
    assert own("sub.u64 %x, %p, %frame; st.u32 [%x], 1; add.u64 %y, %x, %frame; st.u32 [%y], 1;") == [False, False]
    assert own("sub.u64 %x, %frame, %p; sub.u64 %y, %frame, %x; st.u32 [%y], 1;") == [False]


def test_lanes_of_ones_own() -> None:
    """Where a warp is several threads they may race in a frame."""
    assert own("st.u32 [%frame], 1;", "V") == [False]
    lane = "mov.u32 %v, %laneid; setp.eq.u32 %h, %v, 0; mul.wide.u32 %x, %v, 4; add.u64 %x, %frame, %x;"
    assert own(f"{lane} st.u32 [%x], 1;") == [False]
    assert own(f"{lane} @!%h bra $L; st.u32 [%frame], 1;\n$L:") == [False]
