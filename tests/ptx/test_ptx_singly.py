"""Loops that lanes go through one after the other: values, ways out, blocks of any shape, errors; which they are."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx import backend, singly
from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.emit import Emitter, Links
from gompy.ptx.parser import parse
from gompy.ptx.singly import Singly
from gompy.ptx.uniform import analyse

__all__ = ["device"]

pytestmark = needs_executor

STOP, LEAVE = 7, 9
"""Values at which a lane breaks off, and ends."""

WALK = f"""{HEAD}.visible .entry k (.param .u64 ps, .param .u64 pv, .param .u64 pm, .param .u64 po, .param .u32 pn)
{{ .reg .u64 %s, %v, %mark, %o, %x, %y, %at, %long; .reg .u32 %t, %c, %d, %n, %k, %end, %e, %sum, %all, %zero;
  .reg .f32 %f, %g; .reg .f64 %double; .reg .pred %p, %q, %odd, %last;
  ld.param.u64 %s, [ps]; ld.param.u64 %v, [pv]; ld.param.u64 %mark, [pm]; ld.param.u64 %o, [po];
  ld.param.u32 %n, [pn]; mov.u32 %t, %tid.y; mov.u32 %c, %ntid.x; mov.u32 %d, %tid.x; mad.lo.u32 %t, %t, %c, %d;
  mov.u32 %sum, 0; mov.u64 %long, 5; mov.f32 %f, 0f00000000; mov.f64 %double, 0d0000000000000000; mov.u32 %all, 1;
  setp.ne.u32 %last, %all, 1; setp.ge.u32 %p, %t, %n; @%p bra out;
  mul.wide.u32 %x, %t, 4; add.u64 %y, %s, %x;
  ld.global.u32 %k, [%y]; ld.global.u32 %end, [%y+4];
  setp.ge.u32 %p, %k, %end; @%p bra write;
  mul.wide.u32 %x, %k, 4; add.u64 %at, %v, %x;
  turn: ld.global.u32 %e, [%at]; mov.u32 %all, 3;
  setp.eq.u32 %p, %e, {STOP}; @%p bra stop;
  setp.eq.u32 %p, %e, {LEAVE}; @%p bra leave;
  and.b32 %d, %e, 1; setp.eq.u32 %odd, %d, 1;
  @%odd add.u32 %sum, %sum, %e;
  @%odd bra skip;
  mul.wide.u32 %x, %k, 4; add.u64 %y, %mark, %x; st.global.u32 [%y], %t;
  ld.global.u32 %d, [%at+4]; cvt.u64.u32 %x, %d; add.u64 %long, %long, %x; cvt.rn.f32.u32 %g, %d;
  add.rn.f32 %f, %f, %g; cvt.rn.f64.u32 %double, %k; mov.pred %last, %q;
  skip: setp.gt.u32 %q, %e, 5; add.u32 %k, %k, 1; add.u64 %at, %at, 4; setp.lt.u32 %p, %k, %end; @%p bra turn;
  bra write;
  leave: ret;
  stop: add.u32 %sum, %sum, 1000;
  write: mov.u32 %e, %tid.x; add.u32 %sum, %sum, %all; @%last add.u32 %sum, %sum, 100000;
  mul.wide.u32 %x, %t, 32; add.u64 %y, %o, %x; st.global.u32 [%y], %sum; st.global.u32 [%y+4], %k;
  st.global.u64 [%y+8], %long; st.global.f32 [%y+16], %f; st.global.f64 [%y+24], %double;
  out: ret; }}
"""


def parts(text: str, rows: bool = True) -> dict[int, int]:
    """The parts of kernel k that are run lane after lane."""
    return Singly(Emitter(analyse(parse(text).functions["k"], "E", rows, "k"), Links(), "k")).parts


def walked(starts: list[int], values: list[int], marks: list[int], out: np.ndarray, threads: int) -> None:
    """What the kernel does."""
    q = [False] * threads
    for t in range(threads):
        total, k, long, f, double, all_, last, left = 0, 0, 5, 0.0, 0.0, 1, False, False
        k, end = starts[t], starts[t + 1]
        while k < end:
            e, all_ = values[k], 3
            if e in (STOP, LEAVE):
                total += 1000 * (e == STOP)
                left = e == LEAVE
                break
            if e % 2:
                total += e
            else:
                marks[k] = t
                long += values[k + 1]
                f += values[k + 1]
                double, last = k, q[t]
            q[t] = e > 5
            k += 1
        if not left:
            out[t] = (total + all_ + 100000 * last, k, long, f, 0, double)


OUT = np.dtype([("sum", "<u4"), ("k", "<u4"), ("long", "<u8"), ("f", "<f4"), ("gap", "<u4"), ("double", "<f8")])


@pytest.mark.parametrize("block", [(32, 1), (64, 1), (40, 1), (16, 6), (5, 3)])
def test_lanes_walk_their_rows(device: Device, block: tuple[int, int]) -> None:
    assert parts(WALK)
    numbers = random.Random(str(block))
    threads = block[0] * block[1]
    for most, n in ((9, threads), (40, threads - 3), (2, threads), (0, threads)):
        starts = [0]
        for _ in range(threads):
            starts.append(starts[-1] + numbers.randrange(most + 1))
        values = [numbers.choice((*range(1, 30), 0, 2, 4, 11)) for _ in range(starts[-1] + 1)]
        marks = [77] * len(values)
        out = np.full(threads, 3, dtype=OUT)
        arrays = [np.array(a, "<u4") for a in (starts, values, marks)] + [out]
        places = [device.upload(a.tobytes()) for a in arrays]
        wanted_out = out.copy()
        walked(starts, values, marks, wanted_out, threads)
        wanted_out[n:] = out[n:]
        if n < threads:
            for k in range(starts[n], len(values)):
                marks[k] = 77
        device.load(WALK).function("k").launch((1, 1, 1), (*block, 1), [*places, n])
        got = np.frombuffer(device.download(places[3], out.nbytes), dtype=OUT)
        for name in ("sum", "k", "long", "f", "double"):
            assert (got[name] == wanted_out[name]).all(), (name, most)
        assert np.frombuffer(device.download(places[2], 4 * len(marks)), "<u4").tolist() == marks


def walk_at(addresses: list[int]) -> None:
    """One turn of each lane, of `at` its own address."""
    text = WALK.replace("add.u64 %at, %v, %x;", "shl.b64 %x, %x, 1; add.u64 %y, %v, %x; ld.global.u64 %at, [%y];")
    assert parts(text)
    with Device() as device:
        values = device.upload(np.array([4] * 8, "<u4").tobytes())
        whole = [values if a == 0 else a for a in addresses]
        kinds = ((range(33), "<u4"), (whole, "<u8"), ([0] * 33, "<u4"))
        arrays = [device.upload(np.array(a, kind).tobytes()) for a, kind in kinds]
        out = device.upload(bytes(32 * 32))
        device.load(text, names=["walk.ptx"]).function("k").launch((1, 1, 1), (32, 1, 1), [*arrays, out, 32])


@pytest.mark.parametrize("wrong", [16, 1 << 46, -64 & (1 << 64) - 1])
def test_wrong_addresses_are_told_with_their_lane_and_line(wrong: int) -> None:
    line = next(n for n, text in enumerate(WALK.splitlines(), 1) if "turn: ld" in text)
    with pytest.raises(ExecutorError, match=rf"illegal address {hex(wrong)} read .*walk.ptx:{line}.*thread .9,0,0."):
        walk_at([wrong if lane in (9, 20) else 0 for lane in range(32)])
    walk_at([0] * 32)


ALONE = f"""{HEAD}.visible .entry k (.param .u64 po, .param .u64 pn, .param .u64 pw)
{{ .reg .u64 %o, %x; .reg .u32 %t, %n, %i, %sum, %who, %c; .reg .pred %p;
  ld.param.u64 %o, [po]; ld.param.u32 %n, [pn]; ld.param.u32 %who, [pw]; mov.u32 %t, %tid.x;
  mov.u32 %sum, 1; mov.u32 %i, 0;
  setp.ne.u32 %p, %t, %who; @%p bra done;
  turn: mad.lo.u32 %sum, %sum, 3, %i; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra turn;
  done: mov.u32 %c, %ctaid.x; mov.u32 %i, %ntid.x; mad.lo.u32 %t, %c, %i, %t; mul.wide.u32 %x, %t, 4;
  add.u64 %o, %o, %x; st.global.u32 [%o], %sum; ret; }}
"""


@pytest.mark.parametrize("who", [0, 13, 31, 40, 99])
@pytest.mark.parametrize("turns", [1, 1000])
def test_one_lane_works(device: Device, who: int, turns: int) -> None:
    assert parts(ALONE)
    wanted = [1] * 128
    total = 1
    for i in range(turns):
        total = (total * 3 + i) & 0xFFFFFFFF
    if who < 64:
        wanted[who] = wanted[64 + who] = total
    place = device.upload(bytes(4 * 128))
    device.load(ALONE).function("k").launch((2, 1, 1), (64, 1, 1), [place, turns, who])
    assert np.frombuffer(device.download(place, 512), "<u4").tolist() == wanted


ROWS = f"""{HEAD}.visible .entry k (.param .u64 ps, .param .u64 pi, .param .u64 px, .param .u64 po)
{{ .reg .u64 %s, %i, %x, %o, %y, %at; .reg .u32 %t, %k, %end, %n, %v, %sum; .reg .pred %p;
  ld.param.u64 %s, [ps]; ld.param.u64 %i, [pi]; ld.param.u64 %x, [px]; ld.param.u64 %o, [po];
  mov.u32 %t, %tid.x; mul.wide.u32 %y, %t, 4; add.u64 %s, %s, %y; add.u64 %o, %o, %y;
  ld.global.u32 %k, [%s]; ld.global.u32 %end, [%s+4]; mov.u32 %sum, 0;
  setp.ge.u32 %p, %k, %end; @%p bra done;
  mul.wide.u32 %y, %k, 4; add.u64 %at, %i, %y;
  turn: ld.global.u32 %n, [%at]; mul.wide.u32 %y, %n, 4; add.u64 %y, %x, %y;
  ld.global.u32 %v, [%y]; add.u32 %sum, %sum, %v;
  ld.global.u32 %n, [%at+4]; mul.wide.u32 %y, %n, 4; add.u64 %y, %x, %y;
  ld.global.u32 %v, [%y]; mad.lo.u32 %sum, %v, 3, %sum;
  add.u32 %k, %k, 2; add.u64 %at, %at, 8; setp.lt.u32 %p, %k, %end; @%p bra turn;
  done: st.global.u32 [%o], %sum; ret; }}
"""
"""Each lane's row of numbers, two a turn: only the ends of the rows differ."""


@pytest.mark.parametrize(("cpu", "taken"), [("znver4", True), ("znver1", True), ("sapphirerapids", False)])
def test_rows_that_end_anywhere(monkeypatch: pytest.MonkeyPatch, cpu: str, taken: bool) -> None:
    """They run lane after lane where gathers are slow."""

    class Started:
        def result(self) -> Started:
            return self

        name = cpu

    monkeypatch.setattr(backend, "start", Started)
    assert bool(parts(ROWS)) == taken


def test_places_of_one_register_and_what_it_is_then(device: Device) -> None:
    """A place by a register that was tested; the register set anew in the same block."""
    generator = random.Random(5)
    starts = [0]
    for _ in range(32):
        starts.append(starts[-1] + 2 * generator.randrange(9))
    numbers = [generator.randrange(100) for _ in range(starts[-1] + 1)]
    values = [generator.randrange(1 << 30) for _ in range(100)]
    wanted = []
    for first, last in pairwise(starts):
        row = [values[n] for n in numbers[first:last]]
        wanted.append((sum(row[::2]) + 3 * sum(row[1::2])) & 0xFFFFFFFF)
    places = [device.upload(np.array(a, "<u4").tobytes()) for a in (starts, numbers, values, [0] * 32)]
    branching = ROWS.replace(
        "add.u32 %k, %k, 2;", "setp.eq.u32 %p, %v, 77; @%p bra more; add.u32 %sum, %sum, 0; more: add.u32 %k, %k, 2;"
    )
    for text in (ROWS, branching):
        device.load(text).function("k").launch((1, 1, 1), (32, 1, 1), places)
        assert np.frombuffer(device.download(places[-1], 128), "<u4").tolist() == wanted
    assert parts(branching)
    if len(numbers) > 2:
        numbers[2] = 1 << 28
    places[1] = device.upload(np.array(numbers, "<u4").tobytes())
    with pytest.raises(ExecutorError, match="illegal address"):
        device.load(branching).function("k").launch((1, 1, 1), (32, 1, 1), places)


KEPT = {
    "a vote": ("mov.u32 %all, 3;", "vote.sync.ballot.b32 %all, %odd, -1;"),
    "an atomic operation": ("st.global.u32 [%y], %t;", "red.global.add.u32 [%y], %t;"),
    "a volatile load": ("turn: ld.global.u32", "turn: ld.volatile.global.u32"),
    "a store that may be to shared memory": ("st.global.u32 [%y], %t;", "st.u32 [%y], %t;"),
    "rows": ("mul.wide.u32 %x, %k, 4; add.u64 %at, %v, %x;", "mul.wide.u32 %x, %t, 4; add.u64 %at, %v, %x;"),
    "no branch": ("@%odd bra skip;", ""),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_stays_in_lockstep(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = KEPT[why]
    assert old in WALK
    text = WALK.replace(old, new)
    if why == "no branch":
        monkeypatch.setattr(singly, "gathers_slowly", bool)
        text = text.replace("@%p bra stop;", "").replace("@%p bra leave;", "")
    assert not parts(text)
