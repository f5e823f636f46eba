"""Atomic additions that nobody waits for: which they are, and that memory has them when somebody looks."""

from __future__ import annotations

import struct

import pytest

pytest.importorskip("llvmlite")

from gompy.ptx.device import LIBRARY, Device
from gompy.ptx.parser import parse
from gompy.ptx.sums import Sums
from gompy.ptx.uniform import analyse

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the PTX executor is not built")

HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
BEGIN = """(.param .u64 a, .param .u64 b, .param .u32 n)
{ .reg .u64 %a, %b, %p, %w; .reg .u32 %i, %t, %v, %n, %old; .reg .f32 %f; .reg .pred %c;
  ld.param.u64 %a, [a]; ld.param.u64 %b, [b]; ld.param.u32 %n, [n];
  mov.u32 %t, %ctaid.x; mov.u32 %v, %ntid.x; mov.u32 %i, %tid.x; mad.lo.u32 %i, %t, %v, %i;
"""
"""Two arrays, a number; %i: the thread's number in the grid."""


def kernel(name: str, body: str) -> str:
    return f".visible .entry {name} {BEGIN}{body}\nret; }}\n"


RED = "red.global.add.u32 [%a], 1;"
LAST = {
    "alone": (RED, 1),
    "without a result": ("atom.global.add.u32 %old, [%a], 1;", 1),
    "generic address": ("atom.add.u32 %old, [%a], 1;", 1),
    "into the bin": ("atom.global.add.u32 _, [%a], 1;", 1),
    "of floats": ("mov.f32 %f, 0f3F800000; red.global.add.f32 [%a], %f;", 1),
    "relaxed": ("atom.relaxed.gpu.global.add.u32 %old, [%a], 1;", 1),
    "after a load": ("ld.global.u32 %v, [%b];" + RED, 1),
    "after a barrier": ("bar.sync 0;" + RED, 1),
    "two": (RED + "red.global.add.u32 [%b], 1;", 2),
    "in a loop": (f"$L: {RED} add.u32 %t, %t, 1; setp.lt.u32 %c, %t, 9; @%c bra $L;", 1),
    "with shared memory behind it": (RED + "mov.u64 %p, room; st.shared.u32 [%p], %t;", 1),
    "the result is used": ("atom.global.add.u32 %old, [%a], 1; st.global.u32 [%b], %old;", 0),
    "a load follows": (RED + "ld.global.u32 %v, [%b];", 0),
    "a store follows": (RED + "st.global.u32 [%b], %v;", 0),
    "a load follows in the next turn": (
        f"$L: ld.global.u32 %v, [%b]; {RED} add.u32 %t, %t, 1; setp.lt.u32 %c, %t, 9; @%c bra $L;",
        0,
    ),
    "a fence follows": (RED + "membar.gl;", 0),
    "a barrier follows": (RED + "bar.sync 0;", 0),
    "a swap follows": (RED + "atom.global.exch.b32 %old, [%b], 1;", 0),
    "a copy from global to shared memory follows": (
        RED + "mov.u64 %p, room; cp.async.ca.shared.global [%p], [%b], 4;",
        0,
    ),
    "a call follows": (RED + "call nothing;", 0),
    "a release": ("red.release.gpu.global.add.u32 [%a], 1;", 0),
    "the host may look": ("red.relaxed.sys.global.add.u32 [%a], 1;", 0),
    "no addition": ("red.global.max.u32 [%a], 1;", 0),
    "of two types": (RED + "mov.f32 %f, 0f3F800000; red.global.add.f32 [%b], %f;", 0),
}


@pytest.mark.parametrize("case", LAST)
def test_which_may_be_seen_later(case: str) -> None:
    body, count = LAST[case]
    module = parse(f"{HEAD}.shared .u32 room;\n.func nothing {{ ret; }}\n{kernel('k', body)}")
    found = Sums(analyse(module.functions["k"], "E", True, "k"))
    assert len(found.later) == count
    assert found.later <= found.unused


def words(data: bytes, kind: str = "I") -> list[float]:
    return list(struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data))


def test_histogram() -> None:
    """4096 blocks, taken by several at a time; bins that collide in the table, and more than it has places."""
    text = HEAD + kernel(
        "bins",
        """mul.lo.u32 %v, %i, 2654435761; shr.u32 %v, %v, 12; rem.u32 %v, %v, %n; mul.wide.u32 %p, %v, 4;
           add.s64 %p, %a, %p; red.global.add.u32 [%p], %i;""",
    )
    for bins in (1, 7, 256, 5000):
        expected = [0] * bins
        for i in range(4096 * 33):
            at = (i * 2654435761 & 0xFFFFFFFF) >> 12
            expected[at % bins] += i
        with Device() as device:
            a = device.upload(bytes(4 * bins))
            device.load(text).function("bins").launch((4096, 1, 1), (33, 1, 1), arguments=[a, a, bins])
            assert words(device.download(a, 4 * bins)) == [e & 0xFFFFFFFF for e in expected]


@pytest.mark.parametrize(("kind", "letter"), [("f32", "f"), ("f64", "d"), ("u64", "Q"), ("s32", "i")])
def test_types(kind: str, letter: str) -> None:
    convert = f"cvt.rn.{kind}.u32 %x, %i;" if kind[0] == "f" else f"cvt.{kind}.u32 %x, %i;"
    size = struct.calcsize(letter)
    text = HEAD + kernel(
        "sum",
        f""".reg .{kind} %x; and.b32 %i, %i, 63; {convert} and.b32 %v, %i, 1; mul.wide.u32 %p, %v, {size};
            add.s64 %p, %a, %p; setp.lt.u32 %c, %i, 50; @%c red.global.add.{kind} [%p], %x;""",
    )
    with Device() as device:
        a = device.upload(struct.pack(f"<2{letter}", 1, 2))
        device.load(text).function("sum").launch((200, 1, 1), (64, 1, 1), arguments=[a, a, 0])
        assert words(device.download(a, 2 * size), letter) == [1 + 200 * 600, 2 + 200 * 625]


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("lane", [0, 17, 31])
def test_floats_of_one_lane(kind: str, lane: int) -> None:
    """As a warp's sum is added: to words that the table has, that others have put out of it, and to new ones."""
    size, letter = (4, "f") if kind == "f32" else (8, "d")
    text = HEAD + kernel(
        "sum",
        f""".reg .{kind} %x; cvt.rn.{kind}.u32 %x, %i; mov.u32 %v, %laneid; setp.eq.u32 %c, %v, {lane};
            @!%c bra $D; mov.u32 %old, 0;
            $L: mad.lo.u32 %v, %old, %n, 1; mul.wide.u32 %p, %v, {size}; add.s64 %p, %a, %p;
            red.global.add.{kind} [%p], %x; red.global.add.{kind} [%p], %x;
            add.u32 %old, %old, 1; setp.lt.u32 %c, %old, 3; @%c bra $L; $D:""",
    )
    step = 1 << 20  # such addresses have one place
    with Device() as device:
        a = device.upload(bytes(size * (2 * step + 2)))
        device.load(text).function("sum").launch((40, 1, 1), (64, 1, 1), arguments=[a, a, step], threads=1)
        for word in range(3):
            found = words(device.download(a + size * word * step, 2 * size), letter)
            assert found == [0, 2 * sum(lane + 32 * warp for warp in range(80))]


def test_one_lane_s_bad_address_is_told() -> None:
    from gompy.ptx.device import ExecutorError

    one = "setp.eq.u32 %c, %i, 0; mov.f32 %f, 0f3F800000;"
    text = HEAD + kernel("null", f"{one} mov.u64 %p, 0; @%c red.global.add.f32 [%p], %f;")
    text += kernel("odd", f"{one} add.s64 %p, %a, 2; @%c red.global.add.f32 [%p], %f;")
    for name, word in (("null", "illegal"), ("odd", "misaligned")):
        with Device() as device:
            a = device.upload(bytes(8))
            function = device.load(text).function(name)
            with pytest.raises(ExecutorError, match=f"{word} address"):
                function.launch((1, 1, 1), (32, 1, 1), arguments=[a, a, 0])
            assert words(device.download(a, 8)) == [0, 0]


def test_own_load_sees_it() -> None:
    text = HEAD + kernel(
        "own",
        """mul.wide.u32 %w, %i, 4; add.s64 %p, %a, %w; red.global.add.u32 [%p], 5; ld.global.u32 %v, [%p];
           add.s64 %p, %b, %w; st.global.u32 [%p], %v;""",
    )
    with Device() as device:
        a, b = device.upload(bytes(4 * 64)), device.upload(bytes(4 * 64))
        device.load(text).function("own").launch((1, 1, 1), (64, 1, 1), arguments=[a, b, 0])
        assert words(device.download(b, 4 * 64)) == [5] * 64


def test_who_waits_sees_it() -> None:
    """The last block waits for the additions of all others, which the same host thread may have gathered."""
    text = HEAD + kernel(
        "last",
        """setp.eq.u32 %c, %t, %n; @%c bra $W; red.global.add.u32 [%a], 1; ret;
           $W: ld.volatile.global.u32 %v, [%a]; mul.lo.u32 %old, %n, 32; setp.lt.u32 %c, %v, %old; @%c bra $W;
           st.global.u32 [%b], %v;""",
    )
    with Device() as device:
        a, b = device.upload(bytes(4)), device.upload(bytes(4))
        device.load(text).function("last").launch((40, 1, 1), (32, 1, 1), arguments=[a, b, 39], threads=1)
        assert words(device.download(b, 4)) == [39 * 32]


def test_a_bad_address_is_told() -> None:
    from gompy.ptx.device import ExecutorError

    text = HEAD + kernel("bad", "add.s64 %p, %a, 2; red.global.add.u32 [%p], 1;")
    with Device() as device:
        a = device.upload(bytes(8))
        function = device.load(text).function("bad")
        with pytest.raises(ExecutorError, match="misaligned address"):
            function.launch((1, 1, 1), (32, 1, 1), arguments=[a, a, 0])
        assert words(device.download(a, 8)) == [0, 0]


WHO = {
    "all": "setp.eq.u32 %c, %i, %i;",
    "without the first": "setp.ne.u32 %c, %t, 0;",
    "few": "setp.gt.u32 %c, %t, 28;",
    "odd": "and.b32 %v, %t, 1; setp.eq.u32 %c, %v, 1;",
    "one": "setp.eq.u32 %c, %t, 17;",
    "nobody": "setp.ne.u32 %c, %i, %i;",
}
WHICH = {
    "one word": "mov.u32 %z, 3;",
    "three": "rem.u32 %z, %i, 3;",
    "own": "mov.u32 %z, %t;",
    "many": "mul.lo.u32 %z, %i, 2654435761; shr.u32 %z, %z, 26;",
}


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize("which", WHICH)
def test_additions_to_words(space: str, who: str, which: str) -> None:
    """By some lanes to the same and to different words, of one number and of each lane's own."""
    active = {"all": lambda t: True, "without the first": lambda t: t, "few": lambda t: t > 28, "odd": lambda t: t & 1}
    active |= {"one": lambda t: t == 17, "nobody": lambda t: False}
    place = {"one word": lambda i: 3, "three": lambda i: i % 3, "own": lambda i: i % 32}
    place["many"] = lambda i: (i * 2654435761 & 0xFFFFFFFF) >> 26
    own = "mov.u64 %q, bins; cvta.shared.u64 %s, %q;" if space == "shared" else "mov.u64 %q, %a; mov.u64 %s, %q;"
    copied = """bar.sync 0; mul.wide.u32 %p, %i, 4; add.s64 %s, %s, %p; ld.u32 %v, [%s]; add.s64 %p, %b, %p;
                st.global.u32 [%p], %v;"""
    text = HEAD + kernel(
        "add",
        f""".shared .align 4 .b8 bins[256]; .reg .u64 %q, %s; .reg .u32 %z; {own}
            mul.wide.u32 %p, %i, 4; add.s64 %p, %q, %p; mov.u32 %z, 0; st.{space}.u32 [%p], %z;
            mov.u32 %t, %laneid; bar.sync 0;
            {WHO[who]} {WHICH[which]} mul.wide.u32 %w, %z, 4; add.s64 %p, %q, %w;
            @!%c bra $D; red.{space}.add.u32 [%p], 5; red.{space}.add.u32 [%p], %i; $D:
            {copied if space == "shared" else ""}""",
    )
    expected = [0] * 64
    for i in range(64):
        if active[who](i % 32):
            expected[place[which](i)] += 5 + i
    with Device() as device:
        a, b = device.upload(bytes(256)), device.upload(bytes(256))
        device.load(text).function("add").launch((1, 1, 1), (64, 1, 1), arguments=[a, b, 0])
        assert words(device.download(b if space == "shared" else a, 256)) == expected


def test_bad_addresses_in_shared_memory_are_told() -> None:
    from gompy.ptx.device import ExecutorError

    for offset, word in ((2, "misaligned"), (1 << 20, "illegal")):
        text = HEAD + kernel(
            "bad",
            f""".shared .align 4 .b8 bins[256]; mov.u64 %p, bins; mul.wide.u32 %w, %i, {offset}; add.s64 %p, %p, %w;
                red.shared.add.u32 [%p], 1;""",
        )
        with Device() as device:
            a = device.upload(bytes(8))
            function = device.load(text).function("bad")
            with pytest.raises(ExecutorError, match=f"{word} address"):
                function.launch((1, 1, 1), (32, 1, 1), arguments=[a, a, 0])
