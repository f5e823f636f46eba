"""Accesses of rows by some lanes on processors with and without registers for masks: code, values, which it is."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptx_tools import HEAD, device, needs_executor

from gompy.ptx import backend, bits, compiler, emit
from gompy.ptx.compiler import HOT, module_text
from gompy.ptx.device import Device
from gompy.ptx.emit import Links
from gompy.ptx.lower import lower
from gompy.ptx.parser import parse

__all__ = ["device"]

WIDTHS = {"u8": "u32", "u16": "u32", "u32": "u32", "u64": "u64"}
"""The type of a row's elements, and of the register that they are loaded into."""


def kernel(kind: str) -> str:
    """Threads whose bit is set in the word of their warp add 1 to their element."""
    size, wide = int(kind[1:]) // 8, WIDTHS[kind]
    return f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u64 pm)
{{ .reg .u64 %a, %m, %x; .reg .u32 %t, %b, %w; .reg .{wide} %v; .reg .pred %p;
  ld.param.u64 %a, [pa]; ld.param.u64 %m, [pm]; mov.u32 %t, %tid.x; shr.u32 %b, %t, 5;
  mad.wide.u32 %x, %b, 4, %m; ld.global.u32 %w, [%x]; and.b32 %b, %t, 31; shr.u32 %w, %w, %b; and.b32 %w, %w, 1;
  setp.eq.u32 %p, %w, 0; @%p bra out; mad.wide.u32 %x, %t, {size}, %a;
  ld.global.{kind} %v, [%x]; add.{wide} %v, %v, 1; st.global.{kind} [%x], %v;
  out: ret; }}
"""


def code(kind: str) -> str:
    """The kernel as LLVM IR."""
    links, module = Links(), parse(kernel(kind))
    text, _ = lower(module.functions["k"], "E", True, links, module, "k")
    return "\n".join([text, *links.slow.values()])


@needs_executor
@pytest.mark.parametrize("kind", WIDTHS)
def test_lanes_that_are_off_keep_what_they_have(device: Device, kind: str) -> None:
    words = np.array([0xFFFFFFFF, 0x80000001, 0x7FFFFFFE, 0, 0x00010000, 0xAAAAAAAA, 0x0000FFFF, 1], "<u4")
    numbers = np.random.default_rng(len(kind)).integers(0, 250, 32 * len(words)).astype(f"<u{int(kind[1:]) // 8}")
    places = [device.upload(array.tobytes()) for array in (numbers, words)]
    device.load(kernel(kind)).function("k").launch((1, 1, 1), (len(numbers), 1, 1), places)
    found = np.frombuffer(device.download(places[0], numbers.nbytes), numbers.dtype)
    on = (words[:, None] >> np.arange(32, dtype="<u4") & 1).ravel().astype(numbers.dtype)
    assert found.tolist() == (numbers + on).tolist()


@pytest.mark.parametrize("kind", ["u32", "u64"])
def test_without_registers_for_masks_each_lane_looks_at_its_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {}
    monkeypatch.setenv("GOMPY_PTX_CPU", "x86-64-v3")  # this machine may have them
    processor = backend.Backend()
    monkeypatch.setattr(compiler, "backend", lambda: processor)
    for there in (True, False):
        monkeypatch.setattr(emit, "has_masks", lambda there=there: there)
        text = code(kind)
        assert text.count(emit.OWN_BITS) == (0 if there else 2)
        assert text.count("@llvm.masked.") == 2
        sizes[there] = len(processor.compile(module_text(text), 2, HOT))
    assert sizes[False] < sizes[True]


@pytest.mark.parametrize(
    ("words", "there"),
    [
        ("00a00f11-fffa3203-219c95a9-0040069c-75c237ff-07", False),  # Zen 3
        ("00a60f12-fffa3203-f1bf97a9-00405fce-75c237ff-e7", True),  # Zen 4
        ("00a60f12-fffa3203-f1bf97a9-00405fce-75c237ff-07", False),  # … whose system does not keep them
    ],
)
def test_which_processors_have_them(words: str, there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMPY_PTX_CPU", raising=False)
    monkeypatch.setattr(backend, "cpu", lambda: words)
    monkeypatch.setattr(backend, "masks", [])
    assert backend.has_masks() is there
    for name, named in (("x86-64-v3", False), ("x86-64-v4", True), ("znver3", False), ("znver4", True)):
        monkeypatch.setenv("GOMPY_PTX_CPU", name)
        assert backend.has_masks() is named


def test_llvm_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMPY_PTX_CPU", raising=False)
    monkeypatch.setattr(backend, "masks", [])
    assert backend.has_masks() is ("+avx512f" in backend.Backend().features.split(","))


def combined(word: str) -> str:
    """Odd threads have a bit, %q is the same for all; threads store what they have of both, in both orders."""
    return f"""{HEAD}.visible .entry k (.param .u64 pa, .param .u32 pq)
{{ .reg .u64 %a, %x; .reg .u32 %t, %b, %v, %w; .reg .pred %p, %q, %r;
  ld.param.u64 %a, [pa]; ld.param.u32 %w, [pq]; mov.u32 %t, %tid.x; and.b32 %b, %t, 1; setp.ne.u32 %p, %b, 0;
  setp.ne.u32 %q, %w, 0; {word}.pred %r, %p, %q; selp.u32 %v, 1, 0, %r; {word}.pred %r, %q, %p; @%r add.u32 %v, %v, 2;
  mad.wide.u32 %x, %t, 4, %a; st.global.u32 [%x], %v; ret; }}
"""


@pytest.mark.parametrize("masks", [True, False])
@pytest.mark.parametrize("word", ["and", "or", "xor"])
def test_bits_of_lanes_and_of_all_are_words(word: str, masks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "has_masks", lambda: masks)
    module = parse(combined(word))
    text, _ = lower(module.functions["k"], "E", True, Links(), module, "k")
    assert len(re.findall(r"select i1 %t\d+, i32 (?:%t\d+, i32 0|-1, i32 %t\d+)\n", text)) == (
        2 if masks and word != "xor" else 0
    )


@needs_executor
@pytest.mark.parametrize("every", [0, 1])
@pytest.mark.parametrize("word", ["and", "or", "xor"])
def test_bits_of_lanes_and_of_all(device: Device, word: str, every: int) -> None:
    out = device.upload(bytes(4 * 48))
    device.load(combined(word)).function("k").launch((1, 1, 1), (48, 1, 1), [out, every])
    one = {"and": lambda b: b & every, "or": lambda b: b | every, "xor": lambda b: b ^ every}[word]
    assert np.frombuffer(device.download(out, 4 * 48), "<u4").tolist() == [3 * one(t & 1) for t in range(48)]
