"""The emulated CUDA driver: devices, settings, memory, copies."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import (
    ALREADY_REGISTERED,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    NO_DEVICE,
    NOT_FOUND,
    NOT_INITIALIZED,
    NOT_REGISTERED,
    OUT_OF_MEMORY,
    SUCCESS,
    Driver,
    Memcpy2D,
    Memcpy3D,
    has_driver,
)
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "driver")


def test_nothing_works_before_init(cuda: Driver) -> None:
    number = c_int()
    assert cuda.cuDeviceGetCount(byref(number)) == NOT_INITIALIZED
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 16) == NOT_INITIALIZED
    assert cuda.cuCtxGetCurrent(byref(c_void_p())) == NOT_INITIALIZED
    assert cuda.cuDriverGetVersion(byref(number)) == SUCCESS and number.value == 13000
    assert cuda.cuInit(1) == INVALID_VALUE
    assert cuda.cuInit(0) == SUCCESS == cuda.cuInit(0)
    assert cuda.cuDeviceGetCount(byref(number)) == SUCCESS and number.value == 1


def test_a_forked_child_can_not_use_it(cuda: Driver) -> None:
    cuda.context()
    child = os.fork()
    if child == 0:
        good = cuda.cuInit(0) == NOT_INITIALIZED and cuda.cuCtxSynchronize() == NOT_INITIALIZED
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    cuda.ok("cuCtxSynchronize")


def test_errors_have_names_and_texts(cuda: Driver) -> None:
    text = c_char_p()
    cuda.ok("cuGetErrorString", 700, byref(text))
    assert text.value == b"an illegal memory access was encountered"
    cuda.ok("cuGetErrorName", 201, byref(text))
    assert text.value == b"CUDA_ERROR_INVALID_CONTEXT"
    assert cuda.cuGetErrorString(12345, byref(text)) == INVALID_VALUE and text.value is None


def test_a_device_answers_about_itself(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_ARCH", "7.0")
    monkeypatch.setenv("GOMPY_CUDA_SMS", "5")
    cuda.ok("cuInit", 0)
    assert (cuda.attribute(75), cuda.attribute(76)) == (7, 0)
    assert cuda.attribute(16) == 5 and cuda.attribute(10) == 32 and cuda.attribute(1) == 1024
    assert cuda.attribute(39) == 2048
    assert cuda.cuDeviceGetAttribute(byref(c_int()), 0, 0) == INVALID_VALUE
    assert cuda.cuDeviceGetAttribute(byref(c_int()), 5000, 0) == INVALID_VALUE
    assert cuda.cuDeviceGetAttribute(byref(c_int()), 10, 1) == INVALID_DEVICE
    assert cuda.cuDeviceGet(byref(c_int()), 1) == INVALID_DEVICE == cuda.cuDeviceGet(byref(c_int()), -1)
    name = ctypes.create_string_buffer(64)
    cuda.ok("cuDeviceGetName", name, 64, 0)
    assert name.value == b"gompy emulated GPU (sm_70)"
    cuda.ok("cuDeviceGetName", name, 6, 0)
    assert name.value == b"gompy"
    total = c_size_t()
    cuda.ok("cuDeviceTotalMem_v2", byref(total), 0)
    assert total.value == 256 << 20
    bus, back = ctypes.create_string_buffer(16), c_int(7)
    cuda.ok("cuDeviceGetPCIBusId", bus, 16, 0)
    cuda.ok("cuDeviceGetByPCIBusId", byref(back), bus)
    assert back.value == 0


def test_devices_of_several_kinds(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "sm_70:64M:2,,sm_90::7")
    cuda.ok("cuInit", 0)
    number = c_int()
    cuda.ok("cuDeviceGetCount", byref(number))
    assert number.value == 3
    assert [cuda.attribute(75, n) for n in range(3)] == [7, 8, 9]
    assert [cuda.attribute(16, n) for n in (0, 2)] == [2, 7]
    sizes = []
    for n in range(3):
        total = c_size_t()
        cuda.ok("cuDeviceTotalMem_v2", byref(total), n)
        sizes.append(total.value >> 20)
    assert sizes == [64, 256, 256]


@pytest.mark.parametrize(
    ("visible", "answer"),
    [("1", [8]), ("2,0", [9, 7]), ("", None), ("-1", None), ("0,5,1", [7]), ("0,0", None)],
)
def test_visible_devices(cuda: Driver, monkeypatch: pytest.MonkeyPatch, visible: str, answer: list[int] | None) -> None:
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "sm_70,sm_80,sm_90")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert cuda.cuInit(0) == (NO_DEVICE if answer is None else SUCCESS)
    if answer is not None:
        number = c_int()
        cuda.ok("cuDeviceGetCount", byref(number))
        assert [cuda.attribute(75, n) for n in range(number.value)] == answer


def test_no_devices(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "0")
    assert cuda.cuInit(0) == NO_DEVICE
    assert cuda.cuDeviceGetCount(byref(c_int())) == NO_DEVICE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GOMPY_CUDA_DEVICES", "17"),
        ("GOMPY_CUDA_DEVICES", "two"),
        ("GOMPY_CUDA_DEVICES", "sm_70:4X"),
        ("GOMPY_CUDA_MEMORY", "lots"),
        ("GOMPY_CUDA_MEMORY", "4Q"),
        ("GOMPY_CUDA_ARCH", "ampere"),
        ("GOMPY_CUDA_SMS", "0"),
        ("GOMPY_CUDA_ADDRESS", "here"),
        ("GOMPY_CUDA_ADDRESS", "180200000200"),
        ("GOMPY_CUDA_ADDRESS", "800000000000"),
    ],
)
def test_settings_that_make_no_sense_are_told(
    cuda: Driver, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert cuda.cuInit(0) == INVALID_VALUE
    err = capfd.readouterr().err
    assert err.startswith(f"libcuda (gompy): error: {name}='{value}': ") and err.count("\n") == 1


def test_memory_at_an_address(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first device's memory is there; another's is anywhere."""
    monkeypatch.setenv("GOMPY_CUDA_ADDRESS", "180200000000")
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "2")
    cuda.ok("cuInit", 0)
    cuda.context()
    assert 0x180200000000 <= cuda.alloc(64 << 20) <= 0x180200000000 + (16 << 20)


def test_allocation_and_its_misuse(cuda: Driver) -> None:
    to = c_uint64()
    cuda.ok("cuInit", 0)
    assert cuda.cuMemAlloc_v2(byref(to), 16) == INVALID_CONTEXT
    cuda.context()
    assert cuda.cuMemAlloc_v2(byref(to), 0) == INVALID_VALUE
    assert cuda.cuMemAlloc_v2(None, 16) == INVALID_VALUE
    assert cuda.cuMemAlloc_v2(byref(to), 1 << 40) == OUT_OF_MEMORY
    address = cuda.alloc(1000)
    assert address % 512 == 0
    assert cuda.cuMemFree_v2(address + 512) == INVALID_VALUE
    assert cuda.cuMemFree_v2(0) == SUCCESS
    assert cuda.cuMemFree_v2(address) == SUCCESS
    assert cuda.cuMemFree_v2(address) == INVALID_VALUE
    assert cuda.cuMemFree_v2(id(to)) == INVALID_VALUE


def test_address_ranges(cuda: Driver) -> None:
    cuda.context()
    address = cuda.alloc(1000)
    base, size = c_uint64(), c_size_t()
    for offset in (0, 1, 999):
        cuda.ok("cuMemGetAddressRange_v2", byref(base), byref(size), address + offset)
        assert (base.value, size.value) == (address, 1000)
    cuda.ok("cuMemGetAddressRange_v2", None, byref(size), address)
    assert cuda.cuMemGetAddressRange_v2(byref(base), byref(size), address + 1000) == NOT_FOUND
    assert cuda.cuMemGetAddressRange_v2(byref(base), byref(size), id(base)) == NOT_FOUND


def test_memory_is_counted_and_limited(cuda: Driver) -> None:
    cuda.context()
    unused, total = c_size_t(), c_size_t()
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    assert unused.value == total.value == 256 << 20
    big = cuda.alloc(200 << 20)
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    assert unused.value == 56 << 20
    assert cuda.cuMemAlloc_v2(byref(c_uint64()), 57 << 20) == OUT_OF_MEMORY
    cuda.ok("cuMemFree_v2", big)
    cuda.alloc(256 << 20)


def test_large_blocks_begin_at_different_places_of_a_page(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    # by turns, so that a kernel's arrays have not the same lower 12 bits; the last ones fill the memory to its end
    monkeypatch.setenv("GOMPY_CUDA_MEMORY", "64M")
    cuda.context()
    for _ in range(3):
        blocks = [cuda.alloc(8 << 20) for _ in range(7)]
        assert all(address % 512 == 0 for address in blocks)
        assert len({address % 4096 for address in blocks}) > 4
        blocks.append(cuda.alloc(8 << 20))
        for mark, address in enumerate(blocks):
            cuda.ok("cuMemsetD8_v2", address, mark, 8 << 20)
        for mark, address in enumerate(blocks):
            assert marks(cuda, address, 8 << 20) == bytes([mark] * 3)
            start, size = c_uint64(), c_size_t()
            cuda.ok("cuMemGetAddressRange_v2", byref(start), byref(size), address + 5)
            assert (start.value, size.value) == (address, 8 << 20)
        assert cuda.cuMemAlloc_v2(byref(c_uint64()), 1) == OUT_OF_MEMORY
        for address in blocks:
            cuda.ok("cuMemFree_v2", address)


def test_devices_have_memory_of_their_own(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CUDA_DEVICES", "2")
    one = cuda.context(0)
    first = cuda.put(b"one" * 100)
    two = cuda.context(1)
    second = cuda.alloc(300)
    ordinal = c_int()
    for address, number in ((first, 0), (second, 1)):
        cuda.ok("cuPointerGetAttribute", byref(ordinal), 9, address)
        assert ordinal.value == number
    cuda.ok("cuMemcpyPeer", second, two, first, one, 300)
    assert cuda.get(second, 300) == b"one" * 100
    unused, total = c_size_t(), c_size_t()
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    assert total.value - unused.value == 512


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_allocations_never_overlap(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    if not _shared:
        _shared.append(Driver(tmp_path_factory.mktemp("shared") / "driver"))
    cuda = _shared[0]
    context = cuda.context()
    try:
        allocate_and_free(cuda, data)
    finally:  # also when hypothesis ends an example early
        cuda.ok("cuCtxDestroy_v2", context)
    context = cuda.context()
    unused, total = c_size_t(), c_size_t()
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    cuda.ok("cuCtxDestroy_v2", context)
    assert unused.value == total.value


def allocate_and_free(cuda: Driver, data: st.DataObject) -> None:
    """Some allocations and frees; every block keeps what was written into it."""
    live: dict[int, int] = {}
    for _ in range(data.draw(st.integers(1, 40))):
        if live and data.draw(st.booleans()):
            address = data.draw(st.sampled_from(sorted(live)))
            size = live.pop(address)
            assert marks(cuda, address, size) == bytes([size % 251]) * 3
            cuda.ok("cuMemFree_v2", address)
        else:
            size = data.draw(st.one_of(st.integers(1, 4096), *(st.integers(n << 20, 5 * n << 20) for n in (1, 2))))
            address = cuda.alloc(size)
            assert all(address + size <= a or a + n <= address for a, n in live.items())
            cuda.ok("cuMemsetD8_v2", address, size % 251, size)
            live[address] = size
    for address, size in live.items():
        assert marks(cuda, address, size) == bytes([size % 251]) * 3


_shared: list[Driver] = []
"""One library for all examples of the property."""


def marks(cuda: Driver, address: int, size: int) -> bytes:
    """A block's first, middle and last byte."""
    return b"".join(cuda.get(address + at, 1) for at in (0, size // 2, size - 1))


def test_copies_are_checked(cuda: Driver) -> None:
    cuda.context()
    address = cuda.put(bytes(range(100)))
    other = cuda.alloc(100)
    host = ctypes.create_string_buffer(200)
    assert cuda.cuMemcpyDtoH_v2(host, address, 101) == INVALID_VALUE
    assert cuda.cuMemcpyDtoH_v2(host, address + 50, 51) == INVALID_VALUE
    assert cuda.cuMemcpyHtoD_v2(ctypes.addressof(host), host, 10) == INVALID_VALUE  # not device memory
    assert cuda.cuMemcpyHtoD_v2(address, None, 10) == INVALID_VALUE
    assert cuda.cuMemcpyHtoD_v2(address, None, 0) == SUCCESS
    cuda.ok("cuMemcpyDtoD_v2", other + 10, address + 20, 50)
    assert cuda.get(other + 10, 50) == bytes(range(20, 70))
    cuda.ok("cuMemcpy", ctypes.addressof(host), address, 100)  # the addresses tell the direction
    assert host.raw[:100] == bytes(range(100))
    cuda.ok("cuMemFree_v2", address)
    assert cuda.cuMemcpyDtoH_v2(host, address, 1) == INVALID_VALUE


def test_fills(cuda: Driver) -> None:
    cuda.context()
    address = cuda.put(bytes(64))
    cuda.ok("cuMemsetD16_v2", address, 0x1234, 4)
    cuda.ok("cuMemsetD32_v2", address + 8, 0xDEADBEEF, 2)
    assert cuda.get(address, 20) == b"\x34\x12" * 4 + b"\xef\xbe\xad\xde" * 2 + bytes(4)
    assert cuda.cuMemsetD32_v2(address + 2, 0, 1) == INVALID_VALUE
    assert cuda.cuMemsetD8_v2(address + 60, 0, 5) == INVALID_VALUE
    cuda.ok("cuMemsetD2D32_v2", address, 16, 0x01010101, 2, 4)
    assert cuda.get(address, 64) == b"".join(
        b"\x01" * 8 + rest for rest in (b"\xef\xbe\xad\xde" * 2, bytes(8), bytes(8), bytes(8))
    )
    assert cuda.cuMemsetD2D32_v2(address, 4, 0, 2, 2) == INVALID_VALUE  # pitch below width


def test_rectangles(cuda: Driver) -> None:
    cuda.context()
    host = ctypes.create_string_buffer(bytes(range(100)), 100)  # 10 x 10
    pitch, address = c_size_t(), c_uint64()
    cuda.ok("cuMemAllocPitch_v2", byref(address), byref(pitch), 10, 10, 4)
    assert pitch.value == 512
    c = Memcpy2D(srcXInBytes=2, srcY=3, srcMemoryType=1, srcHost=ctypes.addressof(host), srcPitch=10)
    c.dstXInBytes, c.dstY, c.dstMemoryType, c.dstDevice, c.dstPitch = 1, 2, 2, address.value, pitch.value
    c.WidthInBytes, c.Height = 4, 3
    cuda.ok("cuMemcpy2D_v2", byref(c))
    for line in range(3):
        start = 10 * (3 + line) + 2
        assert cuda.get(address.value + 512 * (2 + line) + 1, 4) == bytes(range(start, start + 4))
    c.srcPitch = 5
    assert cuda.cuMemcpy2D_v2(byref(c)) == INVALID_VALUE
    c.srcPitch, c.dstY = 10, 8
    assert cuda.cuMemcpy2D_v2(byref(c)) == INVALID_VALUE  # beyond the allocation
    c.srcMemoryType = 3
    assert cuda.cuMemcpy2D_v2(byref(c)) == INVALID_HANDLE  # no array


def test_cuboids(cuda: Driver) -> None:
    cuda.context()
    address = cuda.put(bytes(range(5 * 4 * 3)))  # 5 wide, 4 high, 3 deep
    host = ctypes.create_string_buffer(8)
    c = Memcpy3D(srcXInBytes=1, srcY=1, srcZ=1, srcMemoryType=2, srcDevice=address, srcPitch=5, srcHeight=4)
    c.dstMemoryType, c.dstHost, c.dstPitch, c.dstHeight = 1, ctypes.addressof(host), 2, 2
    c.WidthInBytes, c.Height, c.Depth = 2, 2, 2
    cuda.ok("cuMemcpy3D_v2", byref(c))
    want = [(z * 4 + y) * 5 + x for z in (1, 2) for y in (1, 2) for x in (1, 2)]
    assert host.raw == bytes(want)


def test_pinned_and_registered_memory(cuda: Driver) -> None:
    cuda.context()
    p, device, flags = c_void_p(), c_uint64(), c_uint()
    cuda.ok("cuMemHostAlloc", byref(p), 5000, 3)
    assert p.value is not None
    ctypes.memset(p.value, 65, 5000)
    cuda.ok("cuMemHostGetDevicePointer_v2", byref(device), p, 0)
    assert device.value == p.value and cuda.get(device.value, 5) == b"AAAAA"
    cuda.ok("cuMemHostGetFlags", byref(flags), p)
    assert flags.value == 3
    assert cuda.cuMemFree_v2(p.value) == INVALID_VALUE
    cuda.ok("cuMemFreeHost", p)
    assert cuda.cuMemFreeHost(p) == INVALID_VALUE
    own = ctypes.create_string_buffer(100)
    assert cuda.cuMemHostGetDevicePointer_v2(byref(device), own, 0) == INVALID_VALUE
    cuda.ok("cuMemHostRegister_v2", own, 100, 0)
    assert cuda.cuMemHostRegister_v2(ctypes.addressof(own) + 50, 10, 0) == ALREADY_REGISTERED
    cuda.ok("cuMemHostGetDevicePointer_v2", byref(device), own, 0)
    assert device.value == ctypes.addressof(own)
    cuda.ok("cuMemHostUnregister", own)
    assert cuda.cuMemHostUnregister(own) == NOT_REGISTERED


def test_a_contexts_memory_goes_with_it(cuda: Driver) -> None:
    context = cuda.context()
    for size in (1, 1000, 3 << 20):
        cuda.alloc(size)
    cuda.handle("cuMemHostAlloc", 100, 0)
    cuda.ok("cuCtxDestroy_v2", context)
    assert cuda.living() == [0] * 6
    cuda.context()
    unused, total = c_size_t(), c_size_t()
    cuda.ok("cuMemGetInfo_v2", byref(unused), byref(total))
    assert unused.value == total.value


def test_checked_blocks_end_at_a_page_without_access(cuda: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMPY_CHECK", "1")
    cuda.context()
    addresses = {size: cuda.put(b"x" * size) for size in (1, 16, 1000, 4096, 5000)}
    pinned = {size: cuda.handle("cuMemHostAlloc", size, 0).value or 0 for size in addresses}
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ranges = [(*(int(word, 16) for word in words[0].split("-")), words[1]) for words in maps]
    for size, address in (*pinned.items(), *addresses.items()):
        end = (address + size + 15) & ~15
        assert end % 4096 == 0
        # the program itself has no access to what is the device's alone
        mode = "rw" if address == pinned[size] else "--"
        assert any(low <= address and address + size <= high and is_[:2] == mode for low, high, is_ in ranges)
        assert any(low <= end < high and is_[0] == "-" for low, high, is_ in ranges)
    for address in addresses.values():
        cuda.ok("cuMemFree_v2", address)
    again = {cuda.alloc(1000) for _ in range(5)}
    assert not again & set(addresses.values())  # freed addresses aren't given out soon


def test_functions_by_name(cuda: Driver) -> None:
    cuda.ok("cuInit", 0)
    p = c_void_p()

    def address(name: str) -> int | None:
        return ctypes.cast(getattr(cuda.library, name), c_void_p).value

    cuda.ok("cuGetProcAddress", b"cuMemAlloc", byref(p), 12000, 0)
    assert p.value == address("cuMemAlloc_v2")
    cuda.ok("cuGetProcAddress", b"cuInit", byref(p), 12000, 0)
    assert p.value == address("cuInit")
    forms = """cuCtxCreate 8000 v2, cuCtxCreate 12000 v3, cuCtxCreate 13000 v4, cuMemAdvise 12000, cuMemAdvise 12020 v2,
        cuMemPrefetchAsync 13000 v2, cuCtxSynchronize 12000, cuCtxSynchronize 13000 v2, cuEventElapsedTime 13000 v2"""
    for form in forms.split(","):
        name, version, *suffix = form.split()
        cuda.ok("cuGetProcAddress", name.encode(), byref(p), int(version), 0)
        assert p.value == address("_".join([name, *suffix]))
    assert cuda.cuGetProcAddress(b"cuNonsense", byref(p), 12000, 0) == NOT_FOUND and p.value is None


def test_the_plugins_functions_are_there(cuda: Driver) -> None:
    names = """cuCtxCreate_v2 cuCtxDestroy_v2 cuCtxGetCurrent cuCtxGetDevice cuCtxPopCurrent_v2 cuCtxPushCurrent_v2
        cuCtxSynchronize cuDeviceGet cuDeviceGetAttribute cuDeviceGetCount cuDeviceGetName cuDeviceTotalMem_v2
        cuDriverGetVersion cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventQuery cuEventRecord
        cuEventSynchronize cuFuncGetAttribute cuGetErrorString cuInit cuLaunchKernel cuLinkAddData cuLinkAddData_v2
        cuLinkComplete cuLinkCreate cuLinkCreate_v2 cuLinkDestroy cuMemAlloc_v2 cuMemAllocHost_v2 cuMemcpy
        cuMemcpyDtoDAsync_v2 cuMemcpyDtoH_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoD_v2 cuMemcpyHtoDAsync_v2 cuMemFree_v2
        cuMemFreeHost cuMemGetAddressRange_v2 cuMemGetInfo_v2 cuMemHostGetDevicePointer_v2 cuModuleGetFunction
        cuModuleGetGlobal_v2 cuModuleLoad cuModuleLoadData cuModuleUnload cuOccupancyMaxPotentialBlockSize
        cuStreamAddCallback cuStreamCreate cuStreamDestroy_v2 cuStreamQuery cuStreamSynchronize cuStreamWaitEvent"""
    for name in names.split():
        assert getattr(cuda.library, name)


def test_what_cuda_13_calls(cuda: Driver) -> None:
    """The forms of functions that programs built with CUDA 13's cuda.h call."""
    cuda.ok("cuInit", 0)
    c, number = c_void_p(), ctypes.c_int(7)
    create = cuda.library.cuCtxCreate_v4
    create.argtypes = [ctypes.POINTER(c_void_p), c_void_p, ctypes.c_uint, ctypes.c_int]
    none = (ctypes.c_uint64 * 3)()
    assert create(byref(c), None, 0, 0) == 0
    cuda.ok("cuCtxDestroy_v2", c)
    assert create(byref(c), none, 0, 0) == 0
    assert create(byref(c_void_p()), (ctypes.c_uint64 * 3)(0, 1, 0), 0, 0) == 801
    assert cuda.library.cuCtxGetDevice_v2(byref(number), c) == 0 and number.value == 0
    assert cuda.library.cuCtxSynchronize_v2(c) == 0
    assert cuda.library.cuCtxSynchronize_v2(c_void_p(12345)) == 201
    memory = ctypes.c_uint64()
    assert cuda.library.cuMemAllocManaged(byref(memory), c_size_t(4096), 1) == 0
    device, host = ctypes.c_uint64(1), ctypes.c_uint64(2)
    for place, advice in ((device, 3), (host, 3)):
        assert cuda.library.cuMemAdvise_v2(memory, c_size_t(4096), advice, place) == 0
        assert cuda.library.cuMemPrefetchAsync_v2(memory, c_size_t(4096), place, 0, None) == 0
    assert cuda.library.cuMemPrefetchAsync_v2(memory, c_size_t(4096), ctypes.c_uint64(1 | 77 << 32), 0, None) == 101
    assert cuda.library.cuMemPrefetchAsync_v2(memory, c_size_t(4096), ctypes.c_uint64(9), 0, None) == 1
    cuda.ok("cuCtxDestroy_v2", c)
