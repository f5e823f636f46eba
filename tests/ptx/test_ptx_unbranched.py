"""Arms of stores that lanes by themselves go through without a branch: results, errors, which arms they are."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx.device import Device, ExecutorError
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

ARM = """st.global.u32 [%to], %v; ld.global.u32 %end, [%s+4]; add.u32 %sum, %sum, %v; add.rn.f32 %f, %f, %g;
  add.u64 %long, %long, %to; mov.pred %last, %q; cvt.u16.u32 %half, %v; st.global.u64 [%to+8], %long;
"""

KERNEL = f"""{HEAD}.visible .entry k (.param .u64 ps, .param .u64 pe, .param .u64 po)
{{ .reg .u64 %s, %e, %o, %x, %at, %to, %long; .reg .u32 %t, %k, %end, %v, %w, %sum; .reg .f32 %f, %g; .reg .u16 %half;
  .reg .pred %p, %q, %last;
  ld.param.u64 %s, [ps]; ld.param.u64 %e, [pe]; ld.param.u64 %o, [po];
  mov.u32 %t, %tid.x; mul.wide.u32 %x, %t, 4; add.u64 %s, %s, %x;
  mov.u32 %sum, 1; mov.u64 %long, 7; mov.f32 %f, 0f3F800000; mov.f32 %g, 0f40000000; setp.ne.u32 %last, %t, %t;
  setp.eq.u32 %q, %t, %t; mov.u16 %half, 9;
  ld.global.u32 %k, [%s]; ld.global.u32 %end, [%s+4]; setp.ge.u32 %p, %k, %end; @%p bra done;
  mul.wide.u32 %x, %k, 16; add.u64 %at, %e, %x;
  turn: ld.global.u64 %to, [%at]; ld.global.u32 %v, [%at+8];
  setp.lt.s32 %p, %v, 0; @%p bra skip;
  {ARM}
  skip: and.b32 %w, %v, 4; setp.ne.u32 %q, %w, 0;
  add.u32 %k, %k, 1; add.u64 %at, %at, 16; setp.lt.u32 %p, %k, %end; @%p bra turn;
  done: mul.wide.u32 %x, %t, 32; add.u64 %o, %o, %x; cvt.u32.u16 %w, %half; @%last add.u32 %w, %w, 1000;
  st.global.u32 [%o], %sum; st.global.u32 [%o+4], %w; st.global.u64 [%o+8], %long; st.global.f32 [%o+16], %f; ret; }}
"""
"""Lanes go over edges: a place and a number each.  Numbers above zero are stored, and what is counted then is kept."""

EDGE = np.dtype([("to", "<u8"), ("v", "<i4"), ("gap", "<u4")])
OUT = np.dtype([("sum", "<u4"), ("half", "<u4"), ("long", "<u8"), ("f", "<f4"), ("gap", "<u4", (3,))])
THREADS = 40


def unbranched(text: str) -> int:
    """How many accesses of kernel k are of a place of no meaning if they are not to be done."""
    module = parse(text, "test")
    return lower(module.functions["k"], "E", True, Links(), module, "E0")[0].count("ptrtoint ptr %t")


def edges_of(seed: int, places: int) -> tuple[list[int], np.ndarray]:
    """Rows of edges, each edge with a place of its own behind an address."""
    numbers = random.Random(seed)
    starts = [0]
    for _ in range(THREADS):
        starts.append(starts[-1] + numbers.randrange(9))
    edges = np.zeros(starts[-1] + 1, EDGE)
    edges["to"] = places + 16 * np.arange(len(edges), dtype="<u8")
    edges["v"] = [numbers.randrange(-9, 9) for _ in edges]
    return starts, edges


def walked(starts: list[int], edges: np.ndarray) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """What the kernel does: its results, and what it stores where."""
    out, stored = np.zeros(THREADS, OUT), {}
    for t in range(THREADS):
        total, half, long, f, last, q = 1, 9, 7, 1.0, False, True
        for edge in edges[starts[t] : starts[t + 1]]:
            v, to = int(edge["v"]), int(edge["to"])
            if v >= 0:
                total, half, long, f, last = total + v, v, long + to, f + 2, q
                stored[to] = v, long
            q = v & 4 != 0
        out[t] = (total, half + 1000 * last, long, f, 0)
    return out, stored


def run(device: Device, text: str, starts: list[int], edges: np.ndarray) -> np.ndarray:
    """The kernel's results."""
    arrays = np.array(starts, "<u4"), edges, np.zeros(THREADS, OUT)
    places = [device.upload(a.tobytes()) for a in arrays]
    device.load(text, names=["walk.ptx"]).function("k").launch((1, 1, 1), (THREADS, 1, 1), places)
    return np.frombuffer(device.download(places[2], arrays[2].nbytes), OUT)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether all results are the same."""
    return all((got[name] == wanted[name]).all() for name in ("sum", "half", "long", "f"))


NEGATED = KERNEL.replace("setp.lt.s32 %p, %v, 0; @%p bra skip;", "setp.ge.s32 %p, %v, 0; @!%p bra skip;")
ELSEWHERE = (
    KERNEL.replace("@%p bra skip;", "@!%p bra arm;").replace(ARM, "").replace("ret; }", f"ret; arm: {ARM} bra skip; }}")
)


@needs_executor
@pytest.mark.parametrize("text", [KERNEL, NEGATED, ELSEWHERE], ids=["as it is", "negated", "elsewhere"])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_stored_and_kept(device: Device, text: str, seed: int) -> None:
    assert unbranched(text) == 3
    places = device.upload(bytes(16 * 500))
    starts, edges = edges_of(seed, places)
    wanted, stored = walked(starts, edges)
    assert same(run(device, text, starts, edges), wanted)
    got = np.frombuffer(device.download(places, 16 * len(edges)), "<u8").reshape(-1, 2)
    for edge, (v, long) in zip(edges, got.tolist(), strict=True):
        assert (v, long) == stored.get(int(edge["to"]), (0, 0))


@needs_executor
@pytest.mark.parametrize("wrong", [16, 1 << 46, -64 & (1 << 64) - 1])
def test_places_that_no_lane_comes_to_may_be_anywhere(device: Device, wrong: int) -> None:
    """What the arm has set by then is forgotten."""
    places = device.upload(bytes(16 * 500))
    starts, edges = edges_of(7, places)
    edges["to"][edges["v"] < 0] = wrong
    wanted, _ = walked(starts, edges)
    assert same(run(device, KERNEL, starts, edges), wanted)
    late = KERNEL.replace(ARM, "add.u32 %sum, %sum, %v; add.u64 %long, %long, %to; mov.pred %last, %q;" + ARM[:24])
    assert unbranched(late) == 1
    got = run(device, late, starts, edges)
    assert (got["sum"] == wanted["sum"]).all()
    assert (got["long"] == wanted["long"]).all()


@needs_executor
def test_wrong_places_are_told_with_their_line(device: Device) -> None:
    places = device.upload(bytes(16 * 500))
    starts, edges = edges_of(8, places)
    lane = next(t for t in range(32) if any(edges["v"][starts[t] : starts[t + 1]] >= 0))
    first = next(i for i in range(starts[lane], starts[lane + 1]) if edges["v"][i] >= 0)
    edges["to"][first] = 16
    line = next(n for n, text in enumerate(KERNEL.splitlines(), 1) if "st.global.u32 [%to]" in text)
    with pytest.raises(ExecutorError, match=rf"illegal address 0x10 written .*walk.ptx:{line}.*thread .{lane},0,0."):
        run(device, KERNEL, starts, edges)


@needs_executor
def test_what_was_stored_before_a_wrong_place(device: Device) -> None:
    """An arm's first store is done once, and the rest is done by the executor."""
    text = KERNEL.replace(ARM, "ld.global.u32 %w, [%o]; add.u32 %w, %w, 1; st.global.u32 [%o], %w;"
                               "st.global.u32 [%to], %v; mov.u32 %sum, %w;")  # fmt: skip
    assert unbranched(text) == 3
    places = device.upload(bytes(16))
    edges = np.zeros(3, EDGE)
    edges["to"], edges["v"] = [places, 16, places], [1, -1, 2]
    got = run(device, text, [0, 3] + [3] * (THREADS - 1), edges)
    assert got["sum"][0] == 2
    edges["v"][1] = 5
    with pytest.raises(ExecutorError, match=r"illegal address 0x10 written"):
        run(device, text, [0, 3] + [3] * (THREADS - 1), edges)


STORE = "st.global.u32 [%to], %v;"
ARMS = {
    "stores": (STORE, 1),
    "two stores": (2 * STORE, 2),
    "three stores": (3 * STORE, 0),
    "no store": ("add.u32 %sum, %sum, %v;", 0),
    "a load of one place": (f"{STORE} ld.global.u32 %end, [%s+4];", 2),
    "a load that is elsewhere in each turn": (f"{STORE} ld.global.u32 %sum, [%at+12];", 0),
    "an instruction with a guard": (f"{STORE} @%q add.u32 %sum, %sum, 1;", 0),
    "a division": (f"{STORE} div.u32 %sum, %sum, %v;", 0),
    "much else": (STORE + 7 * "add.u32 %sum, %sum, %v;", 1),
    "too much else": (STORE + 8 * "add.u32 %sum, %sum, %v;", 0),
    "a way out": (f"{STORE} bra done;", 0),
    "a branch": (f"{STORE} setp.gt.u32 %p, %v, 5; @%p bra skip; add.u32 %sum, %sum, 1;", 0),
}
"""What is between the branch and `skip`, and how many accesses are done without a branch."""


@pytest.mark.parametrize("arm", ARMS)
def test_which_arms(arm: str) -> None:
    body, count = ARMS[arm]
    assert unbranched(KERNEL.replace(ARM, body)) == count
