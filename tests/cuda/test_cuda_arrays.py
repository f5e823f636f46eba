"""The emulated CUDA driver's arrays: copies of their parts, and textures that kernels read."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_graphs import Maker
from cuda_tools import (
    INVALID_HANDLE,
    INVALID_VALUE,
    NOT_SUPPORTED,
    OUT_OF_MEMORY,
    SUCCESS,
    Driver,
    Memcpy2D,
    Memcpy3D,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]
HOST, DEVICE, ARRAY = 1, 2, 3
FLOAT, U32 = 32, 3

FETCH = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry fetch (.param .u64 out, .param .u64 texture)
{
  .reg .u64 %o, %t; .reg .u32 %x, %y, %z, %a<4>; .reg .u64 %d;
  ld.param.u64 %o, [out]; ld.param.u64 %t, [texture];
  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %tid.z;
  tex.3d.v4.u32.s32 {%a0, %a1, %a2, %a3}, [%t, {%x, %y, %z, %z}];
  mad.lo.u32 %a1, %z, 3, %y; mad.lo.u32 %a1, %a1, 5, %x;
  mad.wide.u32 %d, %a1, 4, %o; st.global.u32 [%d], %a0;
  ret;
}
"""


@pytest.fixture
def cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "64M")
    found = Driver(tmp_path / "driver").typed()
    found.context()
    return found


def flat(width: int, height: int, form: int = U32, channels: int = 1) -> bytes:
    """CUDA_ARRAY_DESCRIPTOR."""
    return struct.pack("<QQII", width, height, form, channels)


def cuboid(width: int, height: int, depth: int, flags: int = 0) -> bytes:
    """CUDA_ARRAY3D_DESCRIPTOR, of 32-bit integers."""
    return struct.pack("<QQQIIII", width, height, depth, U32, 1, flags, 0)


def test_lines(cuda: Driver) -> None:
    """Bytes of the first row, from and to host, device and another array."""
    one, two = (cuda.handle("cuArrayCreate_v2", flat(16, 0)) for _ in range(2))
    data, memory, back = bytes(range(64)), cuda.alloc(64), ctypes.create_string_buffer(32)
    cuda.ok("cuMemcpyHtoA_v2", one, 0, data, 64)
    cuda.ok("cuMemcpyAtoA_v2", two, 8, one, 4, 40)
    cuda.ok("cuMemcpyAtoD_v2", memory, two, 8, 40)
    assert cuda.get(memory, 40) == data[4:44]
    cuda.ok("cuMemcpyDtoA_v2", one, 60, memory, 4)
    cuda.ok("cuMemcpyHtoAAsync_v2", one, 56, b"wxyz", 4, None)
    cuda.ok("cuMemcpyAtoHAsync_v2", back, one, 52, 12, None)
    cuda.ok("cuCtxSynchronize")
    assert back.raw[:12] == data[52:56] + b"wxyz" + data[4:8]
    for offset, size in ((64, 1), (60, 5), (2**64 - 1, 2)):
        assert cuda.cuMemcpyHtoA_v2(one, offset, data, size) == INVALID_VALUE
    assert cuda.cuMemcpyAtoH_v2(back, memory, 0, 4) == INVALID_HANDLE


def test_rectangles(cuda: Driver) -> None:
    """A part of an array, now and in a stream; beyond its edges nothing."""
    array = cuda.handle("cuArrayCreate_v2", flat(10, 6))
    picture = [[100 * y + x for x in range(10)] for y in range(6)]
    whole = b"".join(struct.pack("<10I", *row) for row in picture)
    into = Memcpy2D(srcMemoryType=HOST, dstMemoryType=ARRAY, dstArray=array.value, WidthInBytes=40, Height=6)
    into.srcHost = ctypes.cast(whole, c_void_p)
    cuda.ok("cuMemcpy2D_v2", byref(into))
    back = (ctypes.c_uint * 12)()
    out = Memcpy2D(srcMemoryType=ARRAY, srcArray=array.value, srcXInBytes=8, srcY=2, dstMemoryType=HOST)
    out.dstHost, out.WidthInBytes, out.Height = ctypes.addressof(back), 16, 3
    cuda.ok("cuMemcpy2DAsync_v2", byref(out), None)
    cuda.ok("cuCtxSynchronize")
    assert list(back) == [picture[y][x] for y in range(2, 5) for x in range(2, 6)]
    for field, value in (("srcXInBytes", 28), ("srcY", 4), ("WidthInBytes", 36), ("Height", 5)):
        wrong = Memcpy2D.from_buffer_copy(out)
        setattr(wrong, field, value)
        assert cuda.cuMemcpy2D_v2(byref(wrong)) == INVALID_VALUE, field
    out.srcArray = 8
    assert cuda.cuMemcpy2D_v2(byref(out)) == INVALID_HANDLE


def test_a_texture_of_three_dimensions(cuda: Driver) -> None:
    """Copied by a graph; a kernel reads every element."""
    maker, array = Maker(cuda), cuda.handle("cuArray3DCreate_v2", cuboid(5, 3, 4))
    numbers = [7 * n + 1 for n in range(60)]
    memory, out, to, graph = cuda.put(struct.pack("<60I", *numbers)), cuda.alloc(240), c_uint64(), maker.graph()
    copy = Memcpy3D(srcMemoryType=DEVICE, srcDevice=memory, dstMemoryType=ARRAY, dstArray=array.value)
    copy.srcPitch, copy.srcHeight, copy.WidthInBytes, copy.Height, copy.Depth = 20, 3, 20, 3, 4
    maker.add(graph, copy)
    maker.run(maker.ready(graph))
    described = struct.pack("<iiQ", 0, 0, array.value or 0).ljust(144, b"\0")
    cuda.ok("cuTexObjectCreate", byref(to), described, struct.pack("<5I", 1, 1, 1, 0, 1).ljust(104, b"\0"), None)
    module = cuda.handle("cuModuleLoadData", FETCH)
    target = c_uint64(out)
    params = (c_void_p * 2)(ctypes.addressof(target), ctypes.addressof(to))
    fetch = cuda.handle("cuModuleGetFunction", module, b"fetch")
    cuda.ok("cuLaunchKernel", fetch, 1, 1, 1, 5, 3, 4, 0, None, params, None)
    assert list(struct.unpack("<60I", cuda.get(out, 240))) == numbers
    copy.dstZ = 1
    assert cuda.cuMemcpy3D_v2(byref(copy)) == INVALID_VALUE


def view(form: int, *size: int, levels: tuple[int, int] = (0, 0), layers: tuple[int, int] = (0, 0)) -> bytes:
    """CUDA_RESOURCE_VIEW_DESC."""
    return struct.pack("<i4x3Q4I", form, *size, *levels, *layers).ljust(112, b"\0")


def test_views(cuda: Driver) -> None:
    """Of all of an array, as Dr.Jit asks for; others are not there."""
    to, wanted = c_uint64(), struct.pack("<5I", 1, 1, 1, 0, 0).ljust(104, b"\0")
    for array, whole, parts in (
        (
            cuboid(8, 4, 0),
            view(13, 8, 4, 0),
            (view(13, 8, 2, 0), view(16, 8, 4, 0), view(14, 8, 4, 0), view(25, 8, 4, 0)),
        ),
        (cuboid(8, 4, 2), view(0, 8, 4, 2), (view(0, 8, 4, 1), view(0, 8, 4, 2, levels=(0, 1)))),
        (cuboid(8, 4, 3, 1), view(13, 8, 4, 3, layers=(0, 2)), (view(13, 8, 4, 3), view(13, 8, 4, 3, layers=(1, 2)))),
    ):
        made = cuda.handle("cuArray3DCreate_v2", array)
        described = struct.pack("<iiQ", 0, 0, made.value or 0).ljust(144, b"\0")
        assert cuda.cuTexObjectCreate(byref(to), described, wanted, whole) == SUCCESS
        for part in parts:
            assert cuda.cuTexObjectCreate(byref(to), described, wanted, part) == NOT_SUPPORTED
    linear = struct.pack("<iiQIIQ", 2, 0, cuda.alloc(64), U32, 1, 64).ljust(144, b"\0")
    assert cuda.cuTexObjectCreate(byref(to), linear, wanted, None) == SUCCESS
    assert cuda.cuTexObjectCreate(byref(to), linear, wanted, view(13, 16, 0, 0)) == INVALID_VALUE


def test_what_is_refused_and_what_ends(cuda: Driver) -> None:
    to, context = c_void_p(), c_void_p()
    for described, answer in (
        (flat(0, 4), INVALID_VALUE),
        (flat(4, 4, channels=3), INVALID_VALUE),
        (flat(4, 4, form=5), INVALID_VALUE),
        (flat(131073, 0), INVALID_VALUE),
        (flat(131072, 65536, FLOAT, 4), OUT_OF_MEMORY),
        (flat(4, 4, FLOAT, 4), SUCCESS),
    ):
        assert cuda.cuArrayCreate_v2(byref(to), described) == answer, described
    assert cuda.cuArray3DCreate_v2(byref(to), cuboid(4, 0, 4)) == INVALID_VALUE
    for shape in ((4, 5, 6, 4), (4, 4, 5, 4), (4, 4, 12, 4), (4, 4, 8, 5)):  # cubes that are none
        assert cuda.cuArray3DCreate_v2(byref(to), cuboid(*shape)) == INVALID_VALUE, shape
    assert cuda.cuArray3DCreate_v2(byref(to), cuboid(4, 4, 0, 16)) == NOT_SUPPORTED  # for depths
    for depth, answer in ((0, SUCCESS), (4, INVALID_VALUE)):  # for gathering: of two dimensions
        assert cuda.cuArray3DCreate_v2(byref(to), cuboid(4, 4, depth, 8)) == answer
    assert cuda.cuArray3DCreate_v2(byref(to), cuboid(4, 4, 0, 1)) == INVALID_VALUE  # no layer
    array, back = cuda.handle("cuArray3DCreate_v2", cuboid(4, 4, 4)), ctypes.create_string_buffer(40)
    cuda.ok("cuArray3DGetDescriptor_v2", back, array)
    assert back.raw == cuboid(4, 4, 4)
    cuda.ok("cuArrayGetDescriptor_v2", back, array)
    assert back.raw[:24] == flat(4, 4)
    cuda.ok("cuArrayDestroy", array)
    assert cuda.cuArrayDestroy(array) == INVALID_HANDLE
    assert cuda.cuArrayGetDescriptor_v2(back, array) == INVALID_HANDLE
    cuda.ok("cuCtxGetCurrent", byref(context))
    cuda.ok("cuCtxDestroy_v2", context)
    assert cuda.gompy_cuda_living(12) == 0


SURFACE = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry turn (.param .u64 of, .param .u64 to)
{
  .reg .u64 %a, %b; .reg .u32 %x, %y, %z, %v;
  ld.param.u64 %a, [of]; ld.param.u64 %b, [to];
  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %z, %tid.z;
  shl.b32 %x, %x, 2;
  suld.b.a2d.b32.trap {%v}, [%a, {%z, %x, %y, %y}];
  mul.lo.u32 %v, %v, 10; sub.u32 %z, 1, %z;
  sust.b.a2d.b32.trap [%b, {%z, %x, %y, %y}], {%v};
  ret;
}
"""


def resource(array: object) -> bytes:
    """CUDA_RESOURCE_DESC of an array."""
    return struct.pack("<IIQ", 0, 0, array.value or 0).ljust(144, b"\0")  # type: ignore[attr-defined]


@pytest.mark.parametrize("check", ["", "1"])
def test_surfaces_of_layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: str) -> None:
    """A kernel reads one array of two layers and writes another, the layers the other way round."""
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "64M")
    monkeypatch.setenv("GOMPY_CHECK", check)
    cuda = Driver(tmp_path / "driver").typed()
    cuda.context()
    arrays = [cuda.handle("cuArray3DCreate_v2", cuboid(5, 3, 2, 3)) for _ in range(2)]
    numbers = struct.pack("<30I", *range(30))
    copy = Memcpy3D(
        srcMemoryType=HOST, srcHost=ctypes.cast(ctypes.c_char_p(numbers), c_void_p), srcPitch=20, srcHeight=3
    )
    copy.dstMemoryType, copy.dstArray, copy.WidthInBytes, copy.Height, copy.Depth = ARRAY, arrays[0], 20, 3, 2
    cuda.ok("cuMemcpy3D_v2", byref(copy))
    surfaces = [c_uint64() for _ in arrays]
    for surface, array in zip(surfaces, arrays, strict=True):
        cuda.ok("cuSurfObjectCreate", byref(surface), resource(array))
    function = cuda.handle("cuModuleGetFunction", cuda.handle("cuModuleLoadData", SURFACE), b"turn")
    parameters = (c_void_p * 2)(*(ctypes.addressof(surface) for surface in surfaces))
    cuda.ok("cuLaunchKernel", function, 1, 1, 1, 5, 3, 2, 0, None, parameters, None)
    back = ctypes.create_string_buffer(120)
    copy = Memcpy3D(
        srcMemoryType=ARRAY, srcArray=arrays[1], dstMemoryType=HOST, dstHost=ctypes.addressof(back), dstPitch=20
    )
    copy.dstHeight, copy.WidthInBytes, copy.Height, copy.Depth = 3, 20, 3, 2
    cuda.ok("cuMemcpy3D_v2", byref(copy))
    assert list(struct.unpack("<30I", back.raw)) == [10 * n for n in (*range(15, 30), *range(15))]
    told = ctypes.create_string_buffer(144)
    cuda.ok("cuSurfObjectGetResourceDesc", told, surfaces[0])
    assert told.raw == resource(arrays[0])
    cuda.ok("cuSurfObjectDestroy", surfaces[0])
    assert cuda.cuSurfObjectDestroy(surfaces[0]) == INVALID_VALUE
    assert cuda.cuTexObjectDestroy(surfaces[1].value) == INVALID_VALUE
    plain = cuda.handle("cuArrayCreate_v2", flat(5, 3))
    assert cuda.cuSurfObjectCreate(byref(surfaces[0]), resource(plain)) == INVALID_VALUE
