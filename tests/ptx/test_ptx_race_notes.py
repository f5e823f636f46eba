"""GOMPY_CHECK=race: reads by one address that need no note, as an earlier block has had them (race_notes.h)."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("llvmlite")

from test_ptx_races import LIBRARY, races

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the executor is not built")
READS = """
  mov.u64 %b, %p;
  mov.u32 %v, 0;
LOOP:
  ld.global.u{bits} %w, [%b];
  add.u64 %b, %b, 128;
  add.u32 %v, %v, 1;
  setp.lt.u32 %q, %v, 24;
  @%q bra LOOP;
"""
"""Each turn reads from another line, so a note has one word."""


def in_block(number: int, code: str) -> str:
    return f"mov.u32 %n, %ctaid.x; setp.eq.u32 %q, %n, {number};\n@%q {code}\n"


SIDE = re.compile(r"(read|written) in 'k' at k.ptx:\d+ by thread \(0,0,0\) of block \((\d),0,0\)")


def told(body: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Both accesses of the first race, and their blocks; the other lines."""
    lines = races(body, grid=6, block=32)
    return SIDE.findall("".join(lines[:1])), lines[1:]


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("before", [False, True])
def test_a_write_by_one_block(bits: int, before: bool) -> None:
    """It is held against the first block's read, and later blocks' reads against it: none is left out for the first."""
    reads = READS.format(bits=bits)
    write = "st.global.u32 [%p+1920], 1;"

    def by(block: int) -> str:
        return in_block(block, write) + reads if before else reads + in_block(block, write)

    more = "kernel 'k': {} more of these in this launch"
    assert told(reads) == ([], [])
    assert told(by(0)) == ([("written", "0"), ("read", "1")], [more.format(4)])
    assert told(by(4)) == ([("read", "0"), ("written", "4")], [more.format(1)])
    assert told(by(5)) == ([("read", "0"), ("written", "5")], [])
