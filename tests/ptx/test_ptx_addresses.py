"""Addresses that are sums and products of thread numbers, at the ends of 32 bits: each lane loads its own word.

What the compiler takes for certain of such registers (strides.py, bases.py) must hold where numbers wrap around.
"""

from __future__ import annotations

import random
import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

WORDS = 256
LOW, LONG = (1 << 32) - 1, (1 << 64) - 1
EDGES = (0, 1, 5, 31, 64, 0x7FFFFFF0, 0x7FFFFFFF, 0x80000000, 0x80000010, 0xFFFFFFE0, 0xFFFFFFF3, LOW)
SHAPES = ((32, 1), (64, 1), (33, 1), (16, 4), (8, 9))


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


class Expression:
    """32-bit steps from a thread's number, a widening, 64-bit steps: PTX, and what each thread's value is."""

    def __init__(self, seed: int) -> None:
        chance = random.Random(seed)
        self.source = chance.choice(("%tid.x", "%tid.x", "%laneid", "%tid.y"))
        self.steps = [self.step(chance, 32) for _ in range(chance.randrange(4))]
        self.widening = chance.choice(("mul.wide.u32", "mul.wide.s32", "mad.wide.s32", "cvt.u64.u32", "cvt.s64.s32"))
        self.factor = chance.choice((1, 2, 4, 4, 4, 12))
        self.long = [self.step(chance, 64) for _ in range(chance.randrange(3))]
        self.again = chance.randrange(3)  # turns of a loop that adds to the number

    def step(self, chance: random.Random, bits: int) -> tuple[str, int]:
        kind = chance.choice(("add", "add", "sub", "mul", "shl", "mov", "guarded"))
        number = chance.choice(EDGES) if bits == 32 else chance.choice((0, 4, 64, LONG - 3, 1 << 32))
        return kind, {"mul": chance.choice((1, 2, 3, LOW)), "shl": chance.choice((0, 1, 2))}.get(kind, number)

    def text(self, name: str) -> str:
        lines = [f"mov.u32 %n, {self.source};", "mov.u32 %k, 0;"]
        lines += [self.line(step, "n", "u32") for step in self.steps]
        if self.again:
            lines += [f"$L{name}: add.u32 %n, %n, 32; add.u32 %k, %k, 1;"]
            lines += [f"setp.lt.u32 %c, %k, {self.again}; @%c bra $L{name};"]
        lines += [
            f"{self.widening} %v, %n;"
            if self.widening[0] == "c"
            else f"{self.widening} %v, %n, {self.factor}{', %a' if self.widening[:3] == 'mad' else ''};"
        ]
        if self.widening[:3] != "mad":
            lines += ["add.u64 %v, %v, %a;"]
        lines += [self.line(step, "v", "u64") for step in self.long]
        return f""".visible .entry {name} (.param .u64 a, .param .u64 out)
{{ .reg .u64 %a, %o, %v, %d; .reg .u32 %n, %k, %t, %y, %w, %r; .reg .pred %c, %g, %h;
  ld.param.u64 %a, [a]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mov.u32 %y, %tid.y; mov.u32 %w, %ntid.x;
  mad.lo.u32 %t, %y, %w, %t; and.b32 %y, %t, 5; setp.ne.u32 %g, %y, 0;
  {" ".join(lines)}
  sub.u64 %d, %v, %a; setp.lt.u64 %c, %d, {4 * WORDS}; and.b64 %d, %d, 3; setp.eq.u64 %h, %d, 0; and.pred %c, %c, %h;
  mov.u32 %r, 77; @!%c bra $E{name}; ld.global.u32 %r, [%v];
$E{name}: mul.wide.u32 %d, %t, 4; add.u64 %d, %d, %o; st.global.u32 [%d], %r; ret; }}"""

    def line(self, step: tuple[str, int], register: str, kind: str) -> str:
        what, number = step
        if what == "mul":
            return f"mul.lo.{kind} %{register}, %{register}, {number};"
        if what == "shl":
            return f"shl.b{kind[1:]} %{register}, %{register}, {number};"
        if what == "mov":
            return f"mov.{kind} %{register}, %{register};"
        if what == "guarded":
            return f"@%g add.{kind} %{register}, %{register}, {number};"
        return f"{what}.{kind} %{register}, %{register}, {number};"

    def value(self, x: int, y: int, width: int, base: int) -> int:
        """The address that a thread comes to."""
        thread = y * width + x
        n = {"%tid.x": x, "%tid.y": y, "%laneid": thread % 32}[self.source]
        for step in self.steps:
            n = self.result(step, n, thread) & LOW
        n = n + 32 * self.again & LOW
        wide = signed(n, 32) if self.widening.endswith("s32") else n
        if self.widening[0] != "c":
            wide *= self.factor
        wide = wide + base & LONG
        for step in self.long:
            wide = self.result(step, wide, thread) & LONG
        return wide

    def result(self, step: tuple[str, int], value: int, thread: int) -> int:
        what, number = step
        if what == "guarded":
            return value + number * (thread & 5 != 0)
        if what == "shl":
            return value << number
        return {"add": value + number, "sub": value - number, "mul": value * number}.get(what, value)


@pytest.mark.parametrize("first", [0, 1000])
def test_each_lane_loads_its_word(first: int) -> None:
    some = {f"k{seed}": Expression(seed) for seed in range(first, first + 60)}
    text = ".version 7.0\n.target sm_70\n.address_size 64\n" + "\n".join(e.text(name) for name, e in some.items())
    data = [random.Random(first).getrandbits(32) for _ in range(WORDS)]
    reached = 0
    with Device() as device:
        module = device.load(text)
        a = device.upload(struct.pack(f"<{WORDS}I", *data))
        for name, one in some.items():
            for width, height in SHAPES:
                out = device.upload(bytes(4 * width * height))
                module.function(name).launch((1, 1, 1), (width, height, 1), arguments=[a, out])
                found = struct.unpack(f"<{width * height}I", device.download(out, 4 * width * height))
                for thread, word in enumerate(found):
                    at = one.value(thread % width, thread // width, width, a) - a & LONG
                    inside = at < 4 * WORDS and at % 4 == 0
                    reached += inside
                    assert word == (data[at // 4] if inside else 77), (name, width, height, thread)
    assert reached > 1000
