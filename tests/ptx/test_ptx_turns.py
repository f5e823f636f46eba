"""Turns of loops: what they cost until other warps run, and where that is counted."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("llvmlite")

from gompy.abi import ptx as abi
from gompy.ptx import seen
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

HEAD = ".version 6.0\n.target sm_35\n.address_size 64\n"
FUEL = re.compile(rf"(%\w+) = getelementptr i8, ptr %w, i64 {abi.WARP['fuel']}$", re.MULTILINE)

LOOP = """.func other;
.func f (.param .u64 %p)
{{
.reg .u64 %a;
.reg .u32 %n, %x;
.reg .pred %q;
ld.param.u64 %a, [%p];
mov.u32 %n, 0;
$L:
{body}
add.u32 %n, %n, 1;
setp.ne.u32 %q, %n, 100;
@%q bra $L;
ret;
}}
"""


def ir(body: str, kind: int = abi.PLAIN) -> str:
    """The LLVM IR of a function, as code for one lane of a warp, with a loop around `body`."""
    module = parse(HEAD + LOOP.format(body=body))
    return lower(module.functions["f"], "S", True, Links(), module, "S0", kind)[0]


def uses(text: str) -> tuple[int, int]:
    """How often what the warp has left is read, and written."""
    (place,) = FUEL.findall(text)
    return len(re.findall(rf"load i32, ptr {place}\b", text)), len(re.findall(rf"store i32 %\w+, ptr {place}\b", text))


def test_a_loop_counts_its_turns_in_a_register() -> None:
    """The warp's word is read at the begin and behind a turn of others, and written before that and at the end."""
    assert uses(ir("add.u32 %x, %n, 1;")) == (2, 2)
    assert uses(ir("st.u32 [%a], %n;", abi.CHECKED)) == (3, 3)  # behind a copy's turns, too


def test_functions_that_are_called_count_on() -> None:
    """Around a call it is in the warp: both count down one number."""
    assert uses(ir("call other;")) == (3, 3)


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        ("add.u32 %x, %n, 1;", 1),
        ("st.u32 [%a], %n;", 1),
        ("ld.u32 %x, [%a];", 256),
        ("call other;", 256),
        ("ld.u32 %x, [%a];\nst.u32 [%a+4], %x;", 1),
        ("atom.exch.b32 %x, [%a], 1;", 20000),
    ],
)
def test_what_may_wait_for_others_lets_them_run_sooner(body: str, cost: int) -> None:
    """A loop that neither looks at memory nor calls anything cannot wait for another warp."""
    (found,) = re.findall(r"sub i32 %\w+, (\d+)\n  store i32 %\w+, ptr %\w+\n  %\w+ = icmp slt", ir(body))
    assert int(found) == cost


def test_what_is_written_is_not_marked_again() -> None:
    """With checks a store looks at the shadow first: mostly its bytes are marked as written."""
    asked = rf"icmp eq i32 %\w+, {0x03030303}\n  br i1 %\w+, label %(\w+), label %(\w+), .*\n"
    line = r"\1:\n(?:  (?!store i32|br).*\n)*  br label %(\w+)\n"  # perhaps all of it is (seen.py)
    marked = rf"\2:\n(?:  .*\n)*\w+:\n  store i32 {0x03030303}, .*\n  br label %\3\n"
    assert re.search(asked + line + marked, ir("st.u32 [%a], %n;", abi.CHECKED))


def test_a_loop_that_reads_what_others_order_by_keeps_no_line() -> None:
    """What it reads may say that another block has freed what the loop goes over."""
    kept = f"store i64 {seen.NOTHING}"
    assert kept in ir("st.u32 [%a], %n;", abi.CHECKED)
    assert kept not in ir("ld.volatile.global.u32 %n, [%a]; st.u32 [%a], %n;", abi.CHECKED)
    assert kept not in ir("ld.acquire.gpu.global.u32 %n, [%a]; st.u32 [%a], %n;", abi.CHECKED)


def test_code_that_looks_for_no_races_does_not_ask_whether_to() -> None:
    """Each access asked, and had calls behind it that were never made: a third of the code."""
    mask, shadow = (f"getelementptr i8, ptr %w, i64 {abi.WARP[field]}\n" for field in ("race_mask", "shadow"))
    for kind, wanted in {abi.CHECKED: [shadow], abi.RACING: [], abi.BOTH: [mask, shadow]}.items():
        text = ir("st.u32 [%a], %n;", kind)
        assert [word for word in (mask, shadow) if word in text] == wanted, kind
