"""tex of the records that textures are in device memory (gompy/ptx/texture.h), by the CUDA guide's formulas."""

from __future__ import annotations

import random
import struct

import pytest
from ptx_tools import device, needs_executor, run

from gompy.abi.ptx import TEXTURE_BYTES
from gompy.ptx.device import Device, ExecutorError

__all__ = ["device"]  # a fixture
pytestmark = needs_executor

MAGIC = 0x74786574
U8, U16, S8, S16, S32, HALF, FLOAT = 1, 2, 8, 9, 10, 16, 32
WRAP, CLAMP, MIRROR, BORDER = range(4)
INTEGERS, NORMALIZED, LINEAR_MEMORY = 1, 2, 4


def record(
    address: int,
    size: tuple[int, int, int],
    layout: tuple[int, int],
    *,
    kind: int = FLOAT,
    channels: int = 1,
    modes: tuple[int, int, int] = (CLAMP, CLAMP, CLAMP),
    smooth: bool = False,
    flags: int = 0,
    border: tuple[float, float, float, float] = (0, 0, 0, 0),
) -> bytes:
    """struct ptx_texture."""
    words = (*size, kind, channels, *modes, int(smooth), flags)
    found = struct.pack("<4Q", MAGIC, address, *layout) + struct.pack("<10I", *words) + struct.pack("<4f", *border)
    return found.ljust(TEXTURE_BYTES, b"\0")


def fetched(
    device: Device, data: bytes, instruction: str, coordinates: list[float | int], **given: object
) -> list[list[int]]:
    """What 32 lanes get, each by its own coordinates: four words each."""
    address = device.upload(data)
    texture = device.upload(record(address, **given))  # type: ignore[arg-type]
    letter = "i" if instruction.endswith("s32") else "f"
    count = len(coordinates) // 32
    body = (
        f".reg .b64 %h; .reg .b32 %c<4>; mov.b64 %h, {texture}; mul.wide.u32 %x, %t, {4 * count}; add.u64 %x, %x, %d;\n"
    )
    body += "".join(f"ld.global.b32 %c{i}, [%x+{4 * i}];\n" for i in range(count))
    places = ", ".join(f"%c{min(i, count - 1)}" for i in range(4 if count == 3 else count))
    body += f"{instruction} {{%r0, %r1, %r2, %r3}}, [%h, {{{places}}}];\n"
    body += "".join(f"st.global.u32 [%o+{128 * i}], %r{i};" for i in range(4))
    found = run(device, body, struct.pack(f"<{len(coordinates)}{letter}", *coordinates)).tolist()
    return [found[lane:512:32][:4] for lane in range(32)]


def floats(words: list[int]) -> list[float]:
    return list(struct.unpack(f"<{len(words)}f", struct.pack(f"<{len(words)}I", *words)))


def test_linear_memory(device: Device) -> None:
    """By number; zeros before the begin and behind the end."""
    data = struct.pack("<24f", *(n + 0.5 for n in range(24)))
    size = {"size": (24, 1, 1), "layout": (0, 0), "flags": LINEAR_MEMORY}
    found = fetched(device, data, "tex.1d.v4.f32.s32", [n - 4 for n in range(32)], **size)
    want = [n - 4 + 0.5 if 0 <= n - 4 < 24 else 0 for n in range(32)]
    assert [floats(words)[0] for words in found] == want
    assert floats(found[9])[1:] == [0, 0, 1]


@pytest.mark.slow(sample=2)
@pytest.mark.parametrize(
    ("kind", "letter", "most"), [(U8, "B", 255), (S8, "b", 127), (U16, "H", 65535), (S16, "h", 32767)]
)
def test_small_integers(device: Device, kind: int, letter: str, most: int) -> None:
    """As integers, and as floats of [0, 1] or [-1, 1]."""
    low = -most - 1 if letter.islower() else 0
    numbers = [low, low + 1, 0, 1, most, most - 1, most // 3, most // 7] * 4
    data = struct.pack(f"<32{letter}", *numbers)
    size = {"size": (8, 1, 1), "layout": (0, 0), "kind": kind, "channels": 4}
    raw = fetched(device, data, "tex.1d.v4.s32.s32", [n % 8 for n in range(32)], flags=LINEAR_MEMORY | INTEGERS, **size)
    scaled = fetched(device, data, "tex.1d.v4.f32.s32", [n % 8 for n in range(32)], flags=LINEAR_MEMORY, **size)
    for lane in range(32):
        want = numbers[4 * (lane % 8) : 4 * (lane % 8) + 4]
        assert raw[lane] == [n & 0xFFFFFFFF for n in want]
        assert floats(scaled[lane]) == pytest.approx([max(n / most, -1) for n in want], rel=1e-6)


def test_halves(device: Device) -> None:
    numbers = [0.5, -2.0, 65504.0, 2.0**-24]
    size = {"size": (2, 1, 1), "layout": (0, 0), "kind": HALF, "channels": 2, "flags": LINEAR_MEMORY}
    found = fetched(device, struct.pack("<4e", *numbers), "tex.1d.v4.f32.s32", [n % 2 for n in range(32)], **size)
    assert floats(found[0])[:2] == numbers[:2] and floats(found[1])[:2] == numbers[2:]


def index_of(mode: int, at: int, n: int) -> int | None:
    """An index beyond the edges."""
    if mode == WRAP:
        return at % n
    if mode == MIRROR:
        return min(at % (2 * n), 2 * n - 1 - at % (2 * n))
    if mode == BORDER:
        return at if 0 <= at < n else None
    return max(0, min(n - 1, at))


PICTURE = [[3.0 * x + 10 * y * y for x in range(8)] for y in range(4)]
PLACES = [(((7 * n) % 32 - 12) / 8, ((5 * n) % 32 - 10) / 16) for n in range(32)]


@pytest.mark.slow(sample=7)
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
def test_rows(device: Device, mode: int, normal: bool, smooth: bool) -> None:
    """8 x 4 elements in rows of 40 bytes, by floats, with all ways beyond the edges."""
    data = b"".join(struct.pack("<8f", *row) + bytes(8) for row in PICTURE)
    scale = (1, 1) if normal else (8, 4)
    places = [(x * scale[0], y * scale[1]) for x, y in PLACES]
    found = fetched(
        device, data, "tex.2d.v4.f32.f32", [c for place in places for c in place], size=(8, 4, 1), layout=(40, 0),
        modes=(mode, mode, mode), smooth=smooth, flags=NORMALIZED if normal else 0, border=(-5, 0, 0, 0),
    )  # fmt: skip
    used = mode if normal or mode == BORDER else CLAMP

    def element(x: int, y: int) -> float:
        column, row = index_of(used, x, 8), index_of(used, y, 4)
        return -5.0 if column is None or row is None else PICTURE[row][column]

    for words, (px, py) in zip(found, PLACES, strict=True):
        x, y = px * 8, py * 4
        if not smooth:
            want = element(int(x // 1), int(y // 1))
        else:
            i, j = int((x - 0.5) // 1), int((y - 0.5) // 1)
            a, b = (x - 0.5) % 1, (y - 0.5) % 1
            want = (1 - b) * ((1 - a) * element(i, j) + a * element(i + 1, j))
            want += b * ((1 - a) * element(i, j + 1) + a * element(i + 1, j + 1))
        assert floats(words)[0] == pytest.approx(want, abs=1e-4)


def test_three_dimensions(device: Device) -> None:
    data = struct.pack("<24i", *range(24))
    places = [(n % 2, n // 2 % 3, n // 6 % 4) for n in range(32)]
    given = {"size": (2, 3, 4), "layout": (8, 24), "kind": S32, "flags": INTEGERS}
    found = fetched(device, data, "tex.3d.v4.s32.s32", [c for place in places for c in place], **given)
    assert [words[0] for words in found] == [x + 2 * y + 6 * z for x, y, z in places]


def face_of(x: float, y: float, z: float) -> tuple[int, float, float]:
    """CUDA C++ Programming Guide, "Cubemap Textures": the face, and the place there."""
    most = max(abs(x), abs(y), abs(z))
    if abs(x) == most:
        face, s, t = (0, -z, -y) if x > 0 else (1, z, -y)
    elif abs(y) == most:
        face, s, t = (2, x, z) if y > 0 else (3, x, -z)
    else:
        face, s, t = (4, x, -y) if z > 0 else (5, -x, -y)
    return face, (s / most + 1) / 2, (t / most + 1) / 2


@pytest.mark.parametrize("cubes", [1, 3])
def test_cubes(device: Device, cubes: int) -> None:
    """32 directions, in layers too; a layer that is none is the nearest one."""
    dice, side = random.Random(cubes), 4
    elements = [float(n) for n in range(cubes * 6 * side * side)]
    data = struct.pack(f"<{len(elements)}f", *elements)
    directions = [tuple(dice.uniform(-9, 9) for _ in range(3)) for _ in range(32)]
    layers = [n % (cubes + 2) - 1 for n in range(32)]
    shape = {"size": (side, side, 6 * cubes), "layout": (4 * side, 4 * side * side), "flags": NORMALIZED}
    if cubes == 1:
        flat = [part for way in directions for part in way]
        got = fetched(device, data, "tex.cube.v4.f32.f32", flat, **shape)
    else:
        flat = [part for n, way in zip(layers, directions, strict=True) for part in (from_bits(n), *way)]
        got = fetched(device, data, "tex.acube.v4.f32.f32", flat, **shape)
    for lane, way in enumerate(directions):
        face, s, t = face_of(*way)
        cube = min(max(layers[lane], 0), cubes - 1) if cubes > 1 else 0
        expected = elements[((cube * 6 + face) * side + int(t * side)) * side + int(s * side)]
        assert floats(got[lane])[0] == expected, (lane, way)


def from_bits(number: int) -> float:
    """A float of the bits of an integer."""
    return floats([number & 0xFFFFFFFF])[0]


def test_a_reference_is_a_variable(device: Device) -> None:
    """Nothing is bound to it: an error that says so."""
    body = "tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [numbers, {%t}]; st.global.u32 [%o], %r0;"
    with pytest.raises(ExecutorError) as failure:
        run(device, body, before=".visible .global .texref numbers;\n")
    assert failure.value.code == 700
    assert "which is none, or a reference that nothing is bound to in 'k'" in failure.value.log


def test_numbers_that_are_no_textures(device: Device) -> None:
    for handle, message in (("24", "texture 0x18, which is none"), ("%d", "which is none")):
        with pytest.raises(ExecutorError) as failure:
            run(device, f"mov.b64 %x, {handle}; tex.1d.v4.f32.s32 {{%r0, %r1, %r2, %r3}}, [%x, {{%t}}];", bytes(128))
        assert failure.value.code == 700
        assert message in failure.value.log


def test_a_texture_beyond_the_memory(device: Device) -> None:
    texture = device.upload(record(4096, (8, 1, 1), (0, 0), flags=LINEAR_MEMORY))
    with pytest.raises(ExecutorError) as failure:
        run(device, f"mov.b64 %x, {texture}; tex.1d.v4.f32.s32 {{%r0, %r1, %r2, %r3}}, [%x, {{%t}}];")
    assert "a texture of memory that is not this device's" in failure.value.log


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%x, {%t, %t}];", "needs a texture and 1 coordinates"),
        ("tex.1d.v4.f32.s32 {%r0, %r1, %r2}, [%x, {%t}];", "needs a vector of 4 destinations"),
        ("tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%x, %y, {%t, %t}];", "with a sampler of its own is not implemented"),
        ("tex.cube.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%x, {%t, %t, %t, %t}];", "unknown opcode 'tex.cube.v4.f32.s32'"),
        ("tex.cube.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%x, {%t, %t}];", "needs a texture and 3 coordinates"),
        ("tex.4d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%x, {%t}];", "unknown opcode 'tex.4d.v4.f32.f32'"),
    ],
)
def test_mistakes(code: str, message: str) -> None:
    with Device(1 << 20) as here, pytest.raises(ExecutorError) as failure:
        run(here, code)
    assert message in failure.value.log


@pytest.mark.slow(sample=5)
@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize("mode", [WRAP, CLAMP, MIRROR, BORDER])
def test_gathers(device: Device, mode: int, normal: bool, component: int) -> None:
    """tld4: a component of the four elements that linear filtering would mix, from the lower left on."""
    channels = 2
    data = b"".join(struct.pack("<16f", *(n for v in row for n in (v, v + 0.25))) + bytes(8) for row in PICTURE)
    scale = (1, 1) if normal else (8, 4)
    places = [(x * scale[0], y * scale[1]) for x, y in PLACES]
    found = fetched(
        device, data, f"tld4.{'rgba'[component]}.2d.v4.f32.f32", [c for place in places for c in place], size=(8, 4, 1),
        layout=(72, 0), modes=(mode, mode, mode), channels=channels, flags=NORMALIZED if normal else 0,
        border=(-5, -6, -7, -8),
    )  # fmt: skip
    used = mode if normal or mode == BORDER else CLAMP

    def element(x: int, y: int) -> float:
        column, row = index_of(used, x, 8), index_of(used, y, 4)
        if column is None or row is None:
            return -5.0 - component
        return PICTURE[row][column] + 0.25 * component if component < channels else component // 3

    for words, (px, py) in zip(found, PLACES, strict=True):
        i, j = int((px * 8 - 0.5) // 1), int((py * 4 - 0.5) // 1)
        assert floats(words) == [element(i, j + 1), element(i + 1, j + 1), element(i + 1, j), element(i, j)]


def test_gathers_of_layers_and_of_integers(device: Device) -> None:
    """The layer's number comes first; integers stay such."""
    data = struct.pack("<32B", *range(32))
    size = {"size": (4, 4, 2), "layout": (4, 16), "kind": U8, "flags": INTEGERS}
    places = [c for n in range(32) for c in (struct.unpack("<f", struct.pack("<I", n % 2))[0], 1 + n % 3, 1.5)]
    found = fetched(device, data, "tld4.r.a2d.v4.u32.f32", places, **size)
    for n, words in enumerate(found):
        left, layer = n % 3, 16 * (n % 2)
        # row 1 is exactly in the middle, so that rows 1 and 2 are taken; column 1 + n % 3 has the edge of two elements
        assert words == [layer + 8 + left, layer + 8 + left + 1, layer + 4 + left + 1, layer + 4 + left]


@pytest.mark.slow(sample=1)
def test_gathers_that_are_none(device: Device) -> None:
    for text, said in (
        ("tld4.x.2d.v4.f32.f32 {%r0, %r0, %r0, %r0}, [%h, {%r0, %r0}];", "unknown opcode 'tld4.x"),
        ("tld4.r.3d.v4.f32.f32 {%r0, %r0, %r0, %r0}, [%h, {%r0, %r0, %r0, %r0}];", "unknown opcode 'tld4.r.3d"),
        ("tld4.r.2d.v4.f32.f32 {%r0, %r0, %r0, %r0}, [%h, {%r0, %r0}], {%r0, %r0};", "with offsets, or for depths, is"),
        ("txq.colour.b32 %r0, [%h];", "unknown opcode 'txq.colour.b32'"),
        ("txq.width.b32 %r0, [0];", "'txq.width.b32' needs a texture or surface in brackets"),
        ("txq.width.b32 %r0, %r1;", "operand 2 of 'txq.width.b32' must be an address"),
        ("txq.level.width.b32 %r0, [%h];", "'txq.level.width.b32' needs 3 operands, 2 given"),
    ):
        with pytest.raises(ExecutorError, match=said):
            run(device, f".reg .b64 %h;\n{text}", b"")


@pytest.mark.slow
def test_queries(device: Device) -> None:
    """txq: numbers of formats are OpenCL's, as the PTX ISA has them."""
    asked = (
        *("width", "height", "depth", "array_size", "channel_data_type", "channel_order", "normalized_coords"),
        *("num_mipmap_levels", "num_samples", "filter_mode", "force_unnormalized_coords"),
        *("addr_mode_0", "addr_mode_1", "addr_mode_2"),
    )
    address = device.upload(bytes(4096))
    for kind, flags, want in (
        (U8, 0, 0x10D2), (U8, INTEGERS, 0x10DA), (S8, 0, 0x10D0), (S8, INTEGERS, 0x10D7), (U16, 0, 0x10D3),
        (U16, INTEGERS, 0x10DB), (S16, 0, 0x10D1), (S16, INTEGERS, 0x10D8), (S32, 0, 0x10D9), (3, 0, 0x10DC),
        (HALF, 0, 0x10DD), (FLOAT, NORMALIZED, 0x10DE), (FLOAT, 16, 0x10DE),
    ):  # fmt: skip
        for channels, order in ((1, 0x10B0), (2, 0x10B2), (4, 0x10B5)):
            whole = record(
                address, (5, 4, 3), (80, 320), kind=kind, channels=channels, modes=(WRAP, BORDER, CLAMP), smooth=True,
                flags=flags,
            )  # fmt: skip
            whole = whole[:88] + struct.pack("<I", 3) + whole[92:]
            handle = device.upload(whole)
            body = f".reg .b64 %h; mov.b64 %h, {handle};\n"
            body += "".join(
                f"txq.{what}.b32 %r0, [%h]; st.global.u32 [%o+{128 * at}], %r0;\n" for at, what in enumerate(asked)
            )
            found = run(device, body, b"").tolist()[: 32 * len(asked) : 32]
            depth = (0, 3) if flags & 16 else (3, 0)
            assert found == [5, 4, *depth, want, order, int(flags == NORMALIZED), 3, 0, 1, 0, 0, 4, 3]


def test_queries_of_levels(device: Device) -> None:
    """Each has half of the one before, one at least; lanes may ask for different ones."""
    address = device.upload(bytes(8192))
    whole = record(address, (12, 5, 3), (64, 320))
    handle = device.upload(whole[:88] + struct.pack("<I", 4) + whole[92:])
    body = f".reg .b64 %h; mov.b64 %h, {handle}; and.b32 %r1, %t, 3;\n"
    for at, what in enumerate(("width", "height", "depth")):
        body += f"txq.level.{what}.b32 %r0, [%h], %r1; st.global.u32 [%o+{128 * at}], %r0;\n"
    found = run(device, body, b"").tolist()
    assert [found[at : at + 4] for at in (0, 32, 64)] == [[12, 6, 3, 1], [5, 2, 1, 1], [3, 1, 1, 1]]
