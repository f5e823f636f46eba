"""Loops that are entered at two places: lanes that begin where others come to later wait for them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device
from gompy.ptx.entries import entered_twice, with_one_entry
from gompy.ptx.flow import build_blocks
from gompy.ptx.parser import parse

HEAD = ".version 6.0\n.target sm_70\n.address_size 64\n"
FIRST = "setp.eq.u32 %first, %t, 0;"
QUEUE = """
.visible .entry queue (.param .u64 out) {{
  .reg .pred %first, %end; .reg .u32 %t, %i, %n; .reg .u64 %o, %at; .shared .align 4 .u32 next;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; {first}
  @!%first bra $JOIN;
  bra.uni $TAKE;
$TAKE:
  atom.add.u32 %i, [%o], 1; {more}
  add.u32 %i, %i, 100; st.shared.u32 [next], %i;
$JOIN:
  bar.sync 0;
  ld.shared.u32 %n, [next]; sub.u32 %n, %n, 100;
  setp.ge.u32 %end, %n, 5;
  @%end bra $DONE;
  mad.lo.u32 %i, %n, 64, %t; mad.wide.u32 %at, %i, 4, %o; st.u32 [%at+4], %n;
  bar.sync 0;
  @!%first bra $JOIN;
  bra.uni $TAKE;
$DONE:
  ret;
}}
"""
"""A thread takes a number for all of the block, as clang writes the loop around it."""
FORMS = {
    "plain": QUEUE.format(first=FIRST, more=""),
    "leaves": QUEUE.format(first=FIRST, more="setp.gt.u32 %end, %i, 1000; @%end bra $DONE;"),
    "goes round": QUEUE.format(
        first=FIRST, more="mov.u32 %n, 3;\n$AGAIN: sub.u32 %n, %n, 1; setp.ne.u32 %end, %n, 0; @%end bra $AGAIN;"
    ),
    "last": QUEUE.format(first="setp.eq.u32 %first, %t, 63;", more=""),
}


@pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")
@pytest.mark.parametrize("form", FORMS)
def test_lanes_wait_where_they_meet(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    device = Device(1 << 20)
    out = device.upload(bytes(4 + 4 * 5 * 64))
    device.load(HEAD + FORMS[form]).function("queue").launch((1, 1, 1), (64, 1, 1), [out])
    words = struct.unpack(f"{1 + 5 * 64}I", device.download(out, 4 + 4 * 5 * 64))
    assert words == (6, *(n for n in range(5) for _ in range(64)))


def loop(text: str) -> tuple[int, int]:
    """The blocks of a function, and how many there are when its loops have one entry each."""
    blocks = build_blocks(parse(HEAD + text).functions["queue"], "x")
    assert entered_twice(blocks, set()) is not None
    made = with_one_entry(blocks)
    assert made[0] is blocks[0]
    assert all(block.index == at for at, block in enumerate(made))
    return len(blocks), len(made)


def test_what_is_before_the_meeting_is_copied() -> None:
    before, after = loop(FORMS["plain"])
    assert after == before + 1
    blocks = with_one_entry(build_blocks(parse(HEAD + FORMS["plain"]).functions["queue"], "x"))
    assert entered_twice(blocks, set()) is None
    codes = [code for block in blocks for code in block.code]
    assert len({id(code) for code in codes}) == len(codes)  # what is known of one need not be so of its copy


def test_a_barrier_is_not_copied() -> None:
    """Warps would wait at two places for each other."""
    before, after = loop(QUEUE.format(first=FIRST, more="bar.sync 1, 32;"))
    assert after == before


def test_long_code_is_not_copied() -> None:
    before, after = loop(QUEUE.format(first=FIRST, more="add.u32 %i, %i, 0;" * 1000))
    assert after == before
