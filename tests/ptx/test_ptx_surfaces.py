"""suld and sust of the records that surfaces are in device memory, and tex of layers (PTX ISA 9.7.10)."""

from __future__ import annotations

import struct

import pytest
from ptx_tools import device, needs_executor, run

from gompy.abi.ptx import TEXTURE_BYTES
from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

MAGIC = 0x74786574
U32, FLOAT, SURFACE, CLAMP = 3, 32, 8, 1
WIDTH, HEIGHT, DEPTH, PITCH = 8, 3, 2, 64
"""Elements of 32 bits, rows, slices, bytes from row to row."""


def record(address: int, flags: int, kind: int = U32) -> bytes:
    """struct ptx_texture."""
    head = struct.pack("<4Q", MAGIC, address, PITCH, PITCH * HEIGHT)
    words = struct.pack("<10I", WIDTH, HEIGHT, DEPTH, kind, 1, CLAMP, CLAMP, CLAMP, 0, flags)
    return (head + words).ljust(TEXTURE_BYTES, b"\0")


def memory(value: float = 0, letter: str = "I") -> bytes:
    """Each element has its number and a value; what lies between rows is 9s."""
    found = b""
    for row in range(HEIGHT * DEPTH):
        found += struct.pack(f"<{WIDTH}{letter}", *(row * WIDTH + x + value for x in range(WIDTH)))
        found = found.ljust((row + 1) * PITCH, b"\x09")
    return found


def surface(device: Device, body: str, flags: int = SURFACE) -> tuple[list[int], bytes]:
    """Run a body that has a surface in %h; the 32 lanes' words, and the surface's memory."""
    address = device.upload(memory())
    handle = device.upload(record(address, flags))
    head = f".reg .b64 %h, %v, %u; .reg .b32 %c<4>; .reg .b16 %s<3>; mov.b64 %h, {handle};\n"
    found = run(device, head + body, b"\0" * 4).tolist()
    return found[:32], device.download(address, len(memory()))


PLACE = """
and.b32 %c0, %t, 7; shl.b32 %c0, %c0, 2; shr.u32 %c1, %t, 3; mov.b32 %r0, 0;
"""


def test_reads(device: Device) -> None:
    """Three rows of eight; the fourth is outside."""
    body = PLACE + "suld.b.2d.b32.zero {%r0}, [%h, {%c0, %c1}]; st.global.u32 [%o], %r0;"
    assert surface(device, body)[0] == [*range(24), *[0] * 8]
    body = PLACE + "suld.b.2d.cg.b32.clamp %r0, [%h, {%c0, %c1}]; st.global.u32 [%o], %r0;"
    assert surface(device, body)[0] == [*range(24), *range(16, 24)]


@pytest.mark.parametrize(("geometry", "place"), [("3d", "{%c0, %c1, %c2, %c2}"), ("a2d", "{%c2, %c0, %c1, %c1}")])
def test_slices_and_layers(device: Device, geometry: str, place: str) -> None:
    body = PLACE + f"mov.b32 %c2, 1; suld.b.{geometry}.b32.clamp %r0, [%h, {place}]; st.global.u32 [%o], %r0;"
    assert surface(device, body)[0] == [24 + n for n in (*range(24), *range(16, 24))]


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize(
    ("kind", "size"), [("b8", 1), ("b16", 2), ("b32", 4), ("b64", 8), ("v2.b32", 8), ("v2.b64", 16)]
)
def test_writes_of_each_size(device: Device, kind: str, size: int) -> None:
    """Lanes below eight write at the bytes of the third slice's row by their numbers; nothing else changes."""
    lanes = min(8, 32 // size)
    register = {"b8": "%s0", "b16": "%s0", "b32": "%r1", "b64": "%v", "v2.b32": "{%r1, %r2}", "v2.b64": "{%v, %u}"}[
        kind
    ]
    body = f"""
.reg .pred %q; setp.lt.u32 %q, %t, {lanes}; mul.lo.u32 %c0, %t, {size}; mov.b32 %c1, 1;
add.u32 %r1, %t, 0x01020300; mov.b32 %r2, 77; cvt.u64.u32 %v, %r1; mov.b64 %u, 78; cvt.u16.u32 %s0, %r1;
@%q sust.b.2d.{kind}.trap [%h, {{%c0, %c1}}], {register};
st.global.u32 [%o], %r1;
"""
    want = bytearray(memory())
    for lane in range(lanes):
        words = struct.pack("<Q", 0x01020300 + lane)
        if kind == "v2.b32":
            words = words[:4] + struct.pack("<I", 77)
        elif kind == "v2.b64":
            words += struct.pack("<Q", 78)
        want[PITCH + lane * size : PITCH + (lane + 1) * size] = words[:size]
    assert surface(device, body)[1] == bytes(want)


def test_one_dimension(device: Device) -> None:
    body = "shl.b32 %c0, %t, 2; suld.b.1d.b32.zero %r0, [%h, {%c0}]; st.global.u32 [%o], %r0;"
    assert surface(device, body)[0] == [*range(8), *[0] * 24]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "suld.b.2d.b32.trap %r0, [%h, {%c0, %c1}];",
            "surface: byte 0 of row 3, slice 0, is outside of its 32 bytes, 3 rows",
        ),
        (
            "add.u32 %c0, %c0, 2; sust.b.2d.b32.zero [%h, {%c0, %c1}], %r0;",
            "surface: byte 2 is not a multiple of the 4 bytes",
        ),
        ("add.u64 %h, %h, 8; suld.b.2d.b32.zero %r0, [%h, {%c0, %c1}];", "which is none"),
    ],
)
def test_faults(device: Device, body: str, words: str) -> None:
    with pytest.raises(ExecutorError, match=words):
        surface(device, PLACE + body + "st.global.u32 [%o], %r0;")


def test_a_texture_is_no_surface(device: Device) -> None:
    with pytest.raises(ExecutorError, match=r"surface 0x[0-9a-f]+, which is none"):
        surface(device, PLACE + "suld.b.2d.b32.zero %r0, [%h, {%c0, %c1}]; st.global.u32 [%o], %r0;", flags=0)
    with pytest.raises(ExecutorError, match=r"texture 0x[0-9a-f]+, which is none"):
        surface(device, PLACE + "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%h, {%c0, %c1}];")


def test_layers_of_textures(device: Device) -> None:
    """Numbers of layers are held to those that there are."""
    address = device.upload(memory(0.5, "f"))
    handle = device.upload(record(address, 0, FLOAT))
    body = f"""
.reg .b64 %h; .reg .b32 %c<3>; .reg .f32 %f<4>; mov.b64 %h, {handle};
and.b32 %c0, %t, 7; cvt.rn.f32.u32 %f0, %c0; shr.u32 %c1, %t, 3; sub.s32 %c1, %c1, 1; mov.f32 %f1, 0f3F800000;
tex.a2d.v4.f32.f32 {{%f2, %f3, %f3, %f3}}, [%h, {{%c1, %f0, %f1, %f1}}];
cvt.rzi.u32.f32 %r0, %f2; st.global.u32 [%o], %r0;
"""
    found = run(device, body, b"\0" * 4).tolist()[:32]
    first, second = [*range(8, 16)], [*range(32, 40)]
    assert found == first + first + second + second


# --- elements (sust.p, sured.p) --------------------------------------------------------------------------------------

ELEMENTS = {1: "B", 2: "H", 3: "I", 8: "b", 9: "h", 10: "i", 16: "e", FLOAT: "f"}
"""Letters of formats."""


def elements(device: Device, body: str, kind: int, channels: int) -> bytes:
    """Run a body that stores to a surface of one row of eight elements of 0xEE; the row."""
    size = struct.calcsize(ELEMENTS[kind]) * channels
    address = device.upload(b"\xee" * 8 * size)
    head = struct.pack("<4Q", MAGIC, address, 8 * size, 8 * size)
    words = struct.pack("<10I", 8, 1, 1, kind, channels, CLAMP, CLAMP, CLAMP, 0, SURFACE)
    handle = device.upload((head + words).ljust(TEXTURE_BYTES, b"\0"))
    run(device, f".reg .b64 %h; .reg .b32 %c<5>; .reg .f32 %f<4>; mov.b64 %h, {handle};\n{body}", b"\0" * 4)
    return device.download(address, 8 * size)


@pytest.mark.slow(sample=7)
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("kind", ELEMENTS)
def test_elements_of_each_format(device: Device, kind: int, channels: int) -> None:
    """x counts elements; components that the element lacks are left out, and what the form lacks stays."""
    letter = ELEMENTS[kind]
    vector = "{%c1, %c2}"
    if letter in "ef":
        made = "cvt.rn.f32.u32 %f0, %t; mul.f32 %f0, %f0, 0f3DCCCCCD; neg.f32 %f1, %f0; mov.b32 %c1, %f0;"
        made += "mov.b32 %c2, %f1;"
        numbers = [(lane * 0.1, -(lane * 0.1)) for lane in range(8)]
    else:
        made = "mad.lo.u32 %c1, %t, 7, 65000; neg.s32 %c2, %t;"
        numbers = [(lane * 7 + 65000, -lane) for lane in range(8)]
    body = f"{made} setp.lt.u32 %p, %t, 7; @%p sust.p.1d.v2.b32.trap [%h, {{%t}}], {vector};"
    got = elements(device, body, kind, channels)
    size = struct.calcsize(letter)
    for lane, pair in enumerate(numbers):
        for component in range(channels):
            at = (lane * channels + component) * size
            part = got[at : at + size]
            if lane == 7 or component > 1:
                assert part == b"\xee" * size
            elif letter == "f":
                assert struct.unpack("<f", part)[0] == pytest.approx(pair[component], abs=1e-6)
            elif letter == "e":
                assert part == struct.pack("<e", struct.unpack("<f", struct.pack("<f", pair[component]))[0])
            else:
                assert part == (int(pair[component]) & (1 << 8 * size) - 1).to_bytes(size, "little")


def test_halves_of_all_sizes(device: Device) -> None:
    """Subnormal ones, infinity, and halfway to the even one."""
    values = [1e-8, 3e-8, 6.2e-5, 2.0**-24 * 1.5, 65519.0, 65520.0, -1.00048828125, float("inf")]
    body = "mov.b32 %c1, 0;" + "".join(
        f"mov.b32 %c2, 0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}; setp.eq.u32 %p, %t, {at}; "
        "@%p mov.b32 %c1, %c2;"
        for at, value in enumerate(values)
    )
    got = elements(device, body + "sust.p.1d.b32.zero [%h, {%t}], {%c1};", 16, 1)
    want = [struct.pack("<e", value) for value in (*values[:5], float("inf"), *values[6:])]
    assert [got[2 * at : 2 * at + 2] for at in range(8)] == want


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize(("mode", "last"), [("zero", 6), ("clamp", 31), ("trap", None)])
def test_elements_outside(device: Device, mode: str, last: int | None) -> None:
    """Lanes 8 to 31 have no element: left out, at the edge, where the last lane wins, or an error."""
    body = f"mov.b32 %c1, %t; setp.eq.u32 %p, %t, 7; @!%p sust.p.1d.b32.{mode} [%h, {{%t}}], {{%c1}};"
    if last is None:
        with pytest.raises(ExecutorError, match="surface: byte 32 of row 0, slice 0, is outside of its 32 bytes"):
            elements(device, body, U32, 1)
        return
    found = struct.unpack("<8I", elements(device, body, U32, 1))
    assert found == (*range(7), 31 if mode == "clamp" else 0xEEEEEEEE)


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize("kind", [U32, 10])
def test_reductions_of_elements(device: Device, kind: int) -> None:
    """The format says whether numbers have a sign; x counts elements."""
    head = "sub.s32 %c1, %t, 16; and.b32 %c0, %t, 3; mov.b32 %c2, 5; mov.b32 %c3, 0;"
    body = f"""{head} setp.lt.u32 %p, %t, 8; @%p sust.p.1d.b32.trap [%h, {{%t}}], %c2;
        sured.p.min.1d.b32.trap [%h, {{%c0}}], %c1; add.u32 %c0, %c0, 4; sured.p.max.1d.b32.trap [%h, {{%c0}}], %c1;"""
    found = struct.unpack(f"<8{ELEMENTS[kind]}", elements(device, body, kind, 1))
    if kind == 10:
        assert found == (-16, -15, -14, -13, 12, 13, 14, 15)
    else:
        assert found == (0, 1, 2, 3, *(2**32 - n for n in (4, 3, 2, 1)))
    body = f"{head} shr.u32 %c0, %t, 2; sured.p.or.1d.b32.trap [%h, {{%c0}}], %t;"
    assert elements(device, body, kind, 1)[4:8] == struct.pack("<I", 0xEEEEEEEE | 7)


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize(
    "form",
    [
        "sust.p.a1d.b32.trap [%h, {%t, %t}], {%t}",
        "sust.p.1d.b16.trap [%h, {%t}], {%t}",
        "sust.p.1d.cg.b32.trap [%h, {%t}], {%t}",
        "suld.p.1d.b32.trap %r0, [%h, {%t}]",
        "sured.p.add.1d.u32.trap [%h, {%t}], %t",
    ],
)
def test_forms_of_elements_that_are_none(device: Device, form: str) -> None:
    with pytest.raises(ExecutorError, match=f"unknown opcode '{form.split()[0]}'"):
        elements(device, f"{form};", U32, 1)


REDUCTIONS = [
    *((f"{operation}.{{}}.{kind}", kind) for operation in ("min", "max") for kind in ("u32", "s32", "u64", "s64")),
    *((f"add.{{}}.{kind}", kind) for kind in ("u32", "s32", "u64")),
    *((f"{operation}.{{}}.b32", "b32") for operation in ("and", "or")),
]


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize(("form", "kind"), REDUCTIONS)
def test_reductions(device: Device, form: str, kind: str) -> None:
    """Each lane's number, some below zero, into the element of the second row that its remainder by two says."""
    size = int(kind[1:]) // 8
    body = f"""
.reg .s64 %w; add.s32 %r1, %t, -9; xor.b32 %r1, %r1, 0x50; cvt.s64.s32 %w, %r1;
and.b32 %c0, %t, 1; mul.lo.u32 %c0, %c0, {size}; mov.b32 %c1, 1;
sured.b.{form.format("2d")}.trap [%h, {{%c0, %c1}}], {"%w" if size == 8 else "%r1"};
st.global.u32 [%o], %r1;
"""
    numbers, got = surface(device, body)
    letter = {"u32": "I", "s32": "i", "u64": "Q", "s64": "q", "b32": "I"}[kind]
    bits = (1 << 8 * size) - 1
    signed = [(n ^ 0x80000000) - 0x80000000 for n in numbers]
    for at in (0, 1):
        place = PITCH + at * size
        (want,) = struct.unpack_from(f"<{letter}", memory(), place)
        for number in signed[at::2]:
            number = number if letter.islower() else number & bits
            operation = form.partition(".")[0]
            if operation == "add":
                want = want + number
            elif operation in ("min", "max"):
                want = min(want, number) if operation == "min" else max(want, number)
            else:
                want = want & number if operation == "and" else want | number
        assert int.from_bytes(got[place : place + size], "little") == want & bits
    changed = [at for at, (new, old) in enumerate(zip(got, memory(), strict=True)) if new != old]
    assert all(PITCH <= at < PITCH + 2 * size for at in changed)


@pytest.mark.parametrize(("mode", "last"), [("zero", 0), ("clamp", 1)])
def test_reductions_outside(device: Device, mode: str, last: int) -> None:
    """Left out, or at the edge: lanes of the fourth row, which the surface lacks."""
    body = PLACE + f"mov.b32 %r0, 1000; sured.b.add.2d.u32.{mode} [%h, {{%c0, %c1}}], %r0; st.global.u32 [%o], %r0;"
    got = surface(device, body)[1]
    rows = [struct.unpack_from("<8I", got, row * PITCH) for row in range(HEIGHT)]
    assert rows[0] == tuple(1000 + n for n in range(8))
    assert rows[2] == tuple(16 + n + 1000 * (1 + last) for n in range(8))


@pytest.mark.slow(sample=1)
def test_a_reduction_that_traps_or_is_none(device: Device) -> None:
    body = PLACE + "sured.b.add.2d.u32.trap [%h, {%c0, %c1}], %c0;"
    with pytest.raises(ExecutorError, match="surface: byte 0 of row 3, slice 0, is outside of its 32 bytes"):
        surface(device, body)
    for form in ("and.2d.u32", "add.2d.s64", "min.2d.b32", "xor.2d.b32", "add.a2d.u32"):
        with pytest.raises(ExecutorError, match=r"unknown opcode 'sured\.b"):
            surface(device, f"sured.b.{form}.trap [%h, {{%c0, %c1}}], %c0;")


@pytest.mark.slow(sample=1)
def test_queries(device: Device) -> None:
    """suq: what the surface is, not how it is read."""
    asked = ("width", "height", "depth", "channel_data_type", "channel_order", "array_size", "memory_layout")
    body = "".join(f"suq.{what}.b32 %r0, [%h]; st.global.u32 [%o+{128 * at}], %r0;\n" for at, what in enumerate(asked))
    address = device.upload(memory())
    for flags, want in ((SURFACE, (8, 3, 2, 0x10DC, 0x10B0, 0, 0)), (SURFACE | 16, (8, 3, 0, 0x10DC, 0x10B0, 2, 0))):
        handle = device.upload(record(address, flags))
        found = run(device, f".reg .b64 %h; mov.b64 %h, {handle};\n{body}", b"\0" * 4).tolist()
        assert tuple(found[: 32 * len(asked) : 32]) == want
    with pytest.raises(ExecutorError, match=r"unknown opcode 'suq\.filter_mode\.b32'"):
        surface(device, "suq.filter_mode.b32 %r0, [%h];")
    with pytest.raises(ExecutorError, match=r"surface 0x[0-9a-f]+, which is none"):
        surface(device, "suq.width.b32 %r0, [%h];", flags=0)
