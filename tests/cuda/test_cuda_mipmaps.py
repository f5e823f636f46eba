"""The emulated CUDA driver's mipmapped arrays: levels, and textures of them; surface references."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_FOUND,
    SUCCESS,
    Driver,
    Memcpy3D,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
HOST, ARRAY = 1, 3
FLOAT = 32
NORMALIZED, POINT, LINEAR = 2, 0, 1
LAYERED, SURFACE, CUBE = 1, 2, 4

READ = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry read (.param .u64 out, .param .u64 texture, .param .u64 places)
{
  .reg .u64 %o, %t, %p; .reg .f32 %f<8>; .reg .u32 %i;
  ld.param.u64 %o, [out]; ld.param.u64 %t, [texture]; ld.param.u64 %p, [places];
  mov.u32 %i, %tid.x;
  mad.wide.u32 %o, %i, 4, %o; mad.wide.u32 %p, %i, 24, %p;
  ld.global.f32 %f0, [%p]; ld.global.f32 %f1, [%p+4]; ld.global.f32 %f2, [%p+8]; ld.global.f32 %f3, [%p+12];
  mov.u32 %i, 1;
  INSTRUCTION
  st.global.f32 [%o], %f4;
  ret;
}
"""
LEVEL = "tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%t, {%f0, %f1}], %f2;"


@pytest.fixture(params=["", "1"], ids=["plain", "checked"])
def cuda(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """With GOMPY_CHECK, too: blocks begin elsewhere then."""
    if request.param:
        monkeypatch.setenv("GOMPY_CHECK", request.param)
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "64M")
    found = Driver(tmp_path / "driver").typed()
    found.context()
    return found


def shape(width: int, height: int, depth: int = 0, flags: int = 0) -> bytes:
    """CUDA_ARRAY3D_DESCRIPTOR, of floats."""
    return struct.pack("<QQQIIII", width, height, depth, FLOAT, 1, flags, 0)


def level_of(cuda: Driver, mipmap: c_void_p, level: int) -> c_void_p:
    """A level's array."""
    return cuda.handle("cuMipmappedArrayGetLevel", mipmap, level)


def fill(cuda: Driver, array: c_void_p, width: int, height: int, values: list[float]) -> None:
    """An array's elements, slice by slice."""
    data = struct.pack(f"<{len(values)}f", *values)
    copy = Memcpy3D(srcMemoryType=HOST, srcHost=ctypes.cast(ctypes.c_char_p(data), c_void_p), srcPitch=4 * width)
    copy.srcHeight, copy.dstMemoryType, copy.dstArray = height, ARRAY, array
    copy.WidthInBytes, copy.Height, copy.Depth = 4 * width, height, len(values) // (width * height)
    cuda.ok("cuMemcpy3D_v2", byref(copy))


def texture(cuda: Driver, mipmap: c_void_p, between: int, *, inside: int = POINT, levels: str = "0 0 100") -> c_uint64:
    """A texture of it; `levels`: bias, least and most."""
    bias, least, most = map(float, levels.split())
    how = struct.pack("<7I3f", 1, 1, 1, inside, NORMALIZED, 0, between, bias, least, most).ljust(104, b"\0")
    to = c_uint64()
    described = struct.pack("<iiQ", 1, 0, mipmap.value or 0).ljust(144, b"\0")
    cuda.ok("cuTexObjectCreate", byref(to), described, how, None)
    return to


def read(cuda: Driver, of: c_uint64, instruction: str, places: list[tuple[float, ...]]) -> list[float]:
    """What as many threads get."""
    module = cuda.handle("cuModuleLoadData", READ.replace("INSTRUCTION", instruction).encode())
    words = b"".join(struct.pack("<6f", *place, *[0.0] * (6 - len(place))) for place in places)
    out, given = c_uint64(cuda.alloc(4 * len(places))), c_uint64(cuda.put(words))
    params = (c_void_p * 3)(*(ctypes.addressof(word) for word in (out, of, given)))
    function = cuda.handle("cuModuleGetFunction", module, b"read")
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, len(places), 1, 1, 0, None, params, None)
    return list(struct.unpack(f"<{len(places)}f", cuda.get(out.value, 4 * len(places))))


def test_levels(cuda: Driver) -> None:
    """As many as there may be, each an array, which goes with the others."""
    back, to = ctypes.create_string_buffer(40), c_void_p()
    for of, count, want in (
        (shape(20, 6), 99, [shape(20, 6), shape(10, 3), shape(5, 1), shape(2, 1), shape(1, 1)]),
        (shape(4, 0), 0, [shape(4, 0)]),
        (shape(5, 0), 3, [shape(5, 0), shape(2, 0), shape(1, 0)]),
        (shape(2, 2, 4), 9, [shape(2, 2, 4), shape(1, 1, 2), shape(1, 1, 1)]),
        (shape(2, 2, 7, LAYERED), 9, [shape(2, 2, 7, LAYERED), shape(1, 1, 7, LAYERED)]),
        (shape(2, 2, 6, CUBE), 9, [shape(2, 2, 6, CUBE), shape(1, 1, 6, CUBE)]),
    ):
        mipmap = cuda.handle("cuMipmappedArrayCreate", of, count)
        arrays = [level_of(cuda, mipmap, level) for level in range(len(want))]
        for array, described in zip(arrays, want, strict=True):
            cuda.ok("cuArray3DGetDescriptor_v2", back, array)
            assert back.raw == described
        assert cuda.cuMipmappedArrayGetLevel(byref(to), mipmap, len(want)) == INVALID_VALUE
        assert cuda.cuArrayDestroy(arrays[0]) == INVALID_HANDLE
        assert cuda.cuMipmappedArrayGetLevel(byref(to), arrays[0], 0) == INVALID_HANDLE
        cuda.ok("cuMipmappedArrayDestroy", mipmap)
        assert cuda.cuArray3DGetDescriptor_v2(back, arrays[0]) == INVALID_HANDLE
        assert cuda.cuMipmappedArrayDestroy(mipmap) == INVALID_HANDLE
    assert cuda.cuMipmappedArrayCreate(byref(to), shape(0, 4), 1) == INVALID_VALUE
    context = c_void_p()
    cuda.ok("cuCtxGetCurrent", byref(context))
    cuda.handle("cuMipmappedArrayCreate", shape(8, 8), 4)
    cuda.ok("cuCtxDestroy_v2", context)
    assert [cuda.gompy_cuda_living(kind) for kind in (12, 15)] == [0, 0]


def flat_mipmap(cuda: Driver) -> c_void_p:
    """8 x 4, 4 x 2, 2 x 1, 1 x 1: element (x, y) of level n is 1000 n + 10 y + x."""
    mipmap = cuda.handle("cuMipmappedArrayCreate", shape(8, 4), 4)
    for level, (width, height) in enumerate(((8, 4), (4, 2), (2, 1), (1, 1))):
        values = [1000.0 * level + 10 * y + x for y in range(height) for x in range(width)]
        fill(cuda, level_of(cuda, mipmap, level), width, height, values)
    return mipmap


def test_a_level_is_chosen(cuda: Driver) -> None:
    """The nearest, or what is between two, moved and kept within what the texture says."""
    mipmap = flat_mipmap(cuda)
    place = (0.6, 0.3)  # elements (4, 1), (2, 0), (1, 0), (0, 0)
    each = [14.0, 1002.0, 2001.0, 3000.0]
    levels = [-1.0, 0.0, 0.4, 0.6, 1.0, 1.75, 2.9, 3.0, 9.0]
    places = [(*place, level) for level in levels]
    nearest = [each[n] for n in (0, 0, 0, 1, 1, 2, 3, 3, 3)]
    assert read(cuda, texture(cuda, mipmap, POINT), LEVEL, places) == nearest
    mixed = read(cuda, texture(cuda, mipmap, LINEAR), LEVEL, [(*place, level) for level in (0.5, 1.75, 2.25, 5.0)])
    assert mixed == [(each[0] + each[1]) / 2, each[1] / 4 + each[2] * 0.75, each[2] * 0.75 + each[3] / 4, each[3]]
    assert read(cuda, texture(cuda, mipmap, POINT, levels="1 0 2"), LEVEL, places) == [
        each[n] for n in (0, 1, 1, 2, 2, 2, 2, 2, 2)
    ]
    assert read(cuda, texture(cuda, mipmap, POINT, levels="0 2 3"), LEVEL, places[:5]) == [each[2]] * 5
    plain = LEVEL.replace("tex.level", "tex").replace(", %f2;", ";")
    assert read(cuda, texture(cuda, mipmap, POINT), plain, [place]) == each[:1]
    assert read(cuda, texture(cuda, mipmap, POINT), plain.replace("tex.", "tex.base."), [place]) == each[:1]


def test_a_level_by_steps(cuda: Driver) -> None:
    """tex.grad: the level where a step to either side is one element."""
    steps = "tex.grad.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%t, {%f0, %f1}], {%f2, %f3}, {%f3, %f2};"
    each = [14.0, 1002.0, 2001.0, 3000.0]
    given = [(0.0, 0.0), (1 / 8, 0.0), (1 / 4, 0.0), (0.0, 1 / 2), (1.0, 0.0), (9.0, 0.0)]
    found = read(cuda, texture(cuda, flat_mipmap(cuda), POINT), steps, [(0.6, 0.3, *step) for step in given])
    assert found == [each[n] for n in (0, 0, 1, 2, 3, 3)]


def test_layers_cubes_and_cuboids_have_levels(cuda: Driver) -> None:
    layered = cuda.handle("cuMipmappedArrayCreate", shape(4, 4, 3, LAYERED), 3)
    cube = cuda.handle("cuMipmappedArrayCreate", shape(4, 4, 6, CUBE), 3)
    deep = cuda.handle("cuMipmappedArrayCreate", shape(4, 4, 4), 3)
    for level, size in enumerate((4, 2, 1)):
        for mipmap, slices in ((layered, 3), (cube, 6), (deep, size)):
            values = [100.0 * level + z for z in range(slices) for _ in range(size * size)]
            fill(cuda, level_of(cuda, mipmap, level), size, size, values)
    layer = "tex.level.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%t, {%i, %f0, %f1, %f1}], %f3;"
    face = "tex.level.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%t, {%f0, %f1, %f2, %f2}], %f3;"
    places = [(0.3, 0.9, 0.9, level) for level in (0.0, 1.0, 2.0)]
    assert read(cuda, texture(cuda, layered, POINT), layer, places) == [1.0, 101.0, 201.0]
    down = [(0.1, -1.0, 0.2, level) for level in (0.0, 1.0, 2.0)]
    assert read(cuda, texture(cuda, cube, POINT), face, down) == [3.0, 103.0, 203.0]
    assert read(cuda, texture(cuda, deep, POINT), face.replace("cube", "3d"), places) == [3.0, 101.0, 200.0]


def test_what_is_refused(cuda: Driver) -> None:
    mipmap, to = cuda.handle("cuMipmappedArrayCreate", shape(8, 8), 4), c_uint64()
    described = struct.pack("<iiQ", 1, 0, mipmap.value or 0).ljust(144, b"\0")
    for flags, between, answer in ((NORMALIZED, 1, SUCCESS), (0, 1, INVALID_VALUE), (NORMALIZED, 2, INVALID_VALUE)):
        how = struct.pack("<7I", 1, 1, 1, 0, flags, 0, between).ljust(104, b"\0")
        assert cuda.cuTexObjectCreate(byref(to), described, how, None) == answer
    how = struct.pack("<7I", 1, 1, 1, 0, NORMALIZED, 0, 1).ljust(104, b"\0")
    for handle, answer in ((level_of(cuda, mipmap, 0), INVALID_HANDLE), (c_void_p(8), INVALID_HANDLE)):
        wrong = struct.pack("<iiQ", 1, 0, handle.value or 0).ljust(144, b"\0")
        assert cuda.cuTexObjectCreate(byref(to), wrong, how, None) == answer


DOUBLE = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .global .surfref s;
.visible .global .texref t;
.visible .entry double ()
{
  .reg .u32 %x, %y; .reg .f32 %f;
  mov.u32 %x, %tid.x; shl.b32 %x, %x, 2; mov.u32 %y, %tid.y;
  suld.b.2d.b32.trap {%f}, [s, {%x, %y}];
  add.f32 %f, %f, %f;
  sust.b.2d.b32.trap [s, {%x, %y}], {%f};
  ret;
}
"""


def test_surface_references(cuda: Driver) -> None:
    """A module's variable, bound to a level of a mipmapped array; what is bound nowhere cannot be read."""
    module, to = cuda.handle("cuModuleLoadData", DOUBLE), c_void_p()
    reference = cuda.handle("cuModuleGetSurfRef", module, b"s")
    for name in (b"u", b"double"):
        assert cuda.cuModuleGetSurfRef(byref(to), module, name) == NOT_FOUND
    assert cuda.cuModuleGetTexRef(byref(to), module, b"s") == NOT_FOUND
    other = cuda.handle("cuModuleGetTexRef", module, b"t")
    assert cuda.cuModuleGetSurfRef(byref(to), module, b"t") == NOT_FOUND
    mipmap = cuda.handle("cuMipmappedArrayCreate", shape(8, 4, 0, SURFACE), 2)
    level, plain = level_of(cuda, mipmap, 1), cuda.handle("cuArray3DCreate_v2", shape(4, 2))
    assert cuda.cuSurfRefGetArray(byref(to), reference) == INVALID_VALUE
    assert cuda.cuSurfRefSetArray(reference, plain, 0) == INVALID_VALUE
    assert cuda.cuSurfRefSetArray(reference, c_void_p(8), 0) == INVALID_HANDLE
    assert cuda.cuSurfRefSetArray(reference, level, 1) == INVALID_VALUE
    assert cuda.cuSurfRefSetArray(other, level, 0) == INVALID_VALUE
    cuda.ok("cuSurfRefSetArray", reference, level, 0)
    cuda.ok("cuSurfRefGetArray", byref(to), reference)
    assert to.value == level.value
    fill(cuda, level, 4, 2, [float(n) for n in range(8)])
    function = cuda.handle("cuModuleGetFunction", module, b"double")
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 4, 2, 1, 0, None, None, None)
    back = ctypes.create_string_buffer(32)
    copy = Memcpy3D(srcMemoryType=ARRAY, srcArray=level, dstMemoryType=HOST, dstHost=ctypes.addressof(back))
    copy.dstPitch, copy.dstHeight, copy.WidthInBytes, copy.Height, copy.Depth = 16, 2, 16, 2, 1
    cuda.ok("cuMemcpy3D_v2", byref(copy))
    assert list(struct.unpack("<8f", back.raw)) == [2.0 * n for n in range(8)]
