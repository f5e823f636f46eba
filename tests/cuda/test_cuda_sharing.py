"""Device memory that another process opens: cuIpcGetMemHandle, cuIpcOpenMemHandle, cuIpcCloseMemHandle."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from ctypes import byref, c_uint64
from pathlib import Path

import pytest
from cuda_tools import INVALID_CONTEXT, INVALID_VALUE, LIBRARY, SUCCESS, Driver, has_driver

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
MAP_FAILED = 205


class Handle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = (("reserved", ctypes.c_char * 64),)


PEER = f"""
import ctypes, sys
cuda = ctypes.CDLL({str(LIBRARY)!r})
class Handle(ctypes.Structure): _fields_ = (("reserved", ctypes.c_char * 64),)
cuda.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
cuda.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
cuda.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
cuda.cuMemFree_v2.argtypes = cuda.cuIpcCloseMemHandle.argtypes = [ctypes.c_uint64]
p, a, b = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
cuda.cuInit(0); cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0)
"""


@pytest.fixture(params=["plain", "checked"])
def cuda(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    if request.param == "checked":
        monkeypatch.setenv("GOMPY_CHECK", "1")
    driver = Driver(tmp_path / "driver").typed()
    driver.cuIpcOpenMemHandle_v2.argtypes = [ctypes.c_void_p, Handle, ctypes.c_uint]
    context = driver.context()
    yield driver
    driver.ok("cuCtxDestroy_v2", context)


def handle_of(cuda: Driver, address: int) -> bytes:
    handle = Handle()
    cuda.ok("cuIpcGetMemHandle", byref(handle), c_uint64(address))
    return ctypes.string_at(byref(handle), 64)


def peer(text: str, *handles: bytes) -> str:
    """What another process prints; `h` are its handles."""
    code = f"{PEER}h = [Handle.from_buffer_copy(bytes.fromhex(word)) for word in sys.argv[1:]]\n{text}"
    words = [sys.executable, "-c", code, *(handle.hex() for handle in handles)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow(sample=4)
@pytest.mark.parametrize("size", [1, 1000, 5000, (3 << 20) + 17])
def test_another_process_reads_and_writes(cuda: Driver, size: int) -> None:
    """Small blocks lie in one page with others."""
    before, contents, after = cuda.put(b"before"), bytes(i * 7 % 256 for i in range(size)), cuda.put(b"after")
    address = cuda.put(contents)
    told = peer(
        f"""
size = {size}
assert cuda.cuIpcOpenMemHandle_v2(ctypes.byref(a), h[0], 1) == 0
data = ctypes.create_string_buffer(size)
assert cuda.cuMemcpyDtoH_v2(data, a, size) == 0
assert data.raw == bytes(i * 7 % 256 for i in range(size))
assert cuda.cuMemcpyDtoH_v2(data, a, size + 1) == 1
assert cuda.cuMemFree_v2(a) == 1
assert cuda.cuIpcOpenMemHandle_v2(ctypes.byref(b), h[0], 1) == 0 and a.value == b.value
assert cuda.cuMemcpyHtoD_v2(a, bytes(reversed(data.raw)), size) == 0
print([cuda.cuIpcCloseMemHandle(a) for _ in range(3)])
assert cuda.cuMemcpyDtoH_v2(data, a, 1) == 1
""",
        handle_of(cuda, address),
    )
    assert told == f"[0, 0, {INVALID_VALUE}]\n"
    assert cuda.get(address, size) == contents[::-1]
    assert (cuda.get(before, 6), cuda.get(after, 5)) == (b"before", b"after")
    cuda.ok("cuMemFree_v2", address)
    again = cuda.put(contents)
    assert cuda.get(again, size) == contents


def test_blocks_of_one_page(cuda: Driver) -> None:
    """Shared one after the other, each is what it is."""
    addresses = [cuda.put(bytes([n]) * 700) for n in range(20)]
    handles = [handle_of(cuda, address) for address in addresses]
    assert handles == [handle_of(cuda, address) for address in addresses]
    told = peer(
        """
data = ctypes.create_string_buffer(700)
for n, handle in enumerate(h):
    assert cuda.cuIpcOpenMemHandle_v2(ctypes.byref(a), handle, 1) == 0
    assert cuda.cuMemcpyDtoH_v2(data, a, 700) == 0 and data.raw == bytes([n]) * 700
    cuda.cuMemcpyHtoD_v2(a, bytes([n + 100]) * 700, 700)
p = ctypes.c_void_p()
assert cuda.cuCtxPopCurrent_v2(ctypes.byref(p)) == 0 and cuda.cuCtxDestroy_v2(p) == 0  # without closing
assert cuda.cuCtxCreate_v2(ctypes.byref(p), 0, 0) == 0
for n in range(40):  # its own memory is its own again
    cuda.cuMemAlloc_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    assert cuda.cuMemAlloc_v2(ctypes.byref(a), 700) == 0 and cuda.cuMemcpyHtoD_v2(a, b"x" * 700, 700) == 0
""",
        *handles,
    )
    assert told == ""
    assert [cuda.get(address, 700) for address in addresses] == [bytes([n + 100]) * 700 for n in range(20)]


def test_what_cannot_be_shared(cuda: Driver) -> None:
    handle, address, managed = Handle(), cuda.alloc(100), c_uint64()
    cuda.ok("cuMemAllocManaged", byref(managed), 100, 1)
    host = cuda.handle("cuMemHostAlloc", 100, 0).value
    for wrong in (managed.value, host, 12345):
        assert cuda.cuIpcGetMemHandle(byref(handle), c_uint64(wrong)) == INVALID_VALUE
    assert cuda.cuIpcGetMemHandle(None, c_uint64(address)) == INVALID_VALUE


def test_wrong_handles(cuda: Driver) -> None:
    address, opened = cuda.alloc(100), c_uint64()
    good = handle_of(cuda, address)
    own = Handle.from_buffer_copy(good)
    assert cuda.cuIpcOpenMemHandle_v2(byref(opened), own, 1) == INVALID_CONTEXT
    assert cuda.cuIpcOpenMemHandle_v2(byref(opened), Handle(), 1) == INVALID_VALUE
    gone = subprocess.Popen(["true"])
    gone.wait()
    other = good[:4] + gone.pid.to_bytes(4, "little") + good[8:]
    assert cuda.cuIpcOpenMemHandle_v2(byref(opened), Handle.from_buffer_copy(other), 1) == MAP_FAILED
    told = peer(
        """
bad = bytearray(h[0]); bad[24] ^= 1  # another file
long = bytearray(h[0]); long[40:48] = b"\\xff" * 8
print(cuda.cuIpcOpenMemHandle_v2(ctypes.byref(a), Handle.from_buffer_copy(bad), 1),
      cuda.cuIpcOpenMemHandle_v2(ctypes.byref(a), Handle.from_buffer_copy(long), 1),
      cuda.cuIpcOpenMemHandle_v2(ctypes.byref(a), h[0], 6), cuda.cuIpcOpenMemHandle_v2(None, h[0], 1))
""",
        good,
    )
    assert told == f"{MAP_FAILED} {INVALID_VALUE} {INVALID_VALUE} {INVALID_VALUE}\n"
    assert cuda.cuIpcCloseMemHandle(c_uint64(address)) == INVALID_VALUE


def test_a_program_that_closed_the_file(cuda: Driver) -> None:
    """Programs that close all descriptors can share no more, and say so."""
    first, second = cuda.alloc(100), cuda.alloc(8192)
    handle = handle_of(cuda, first)
    os.close(int.from_bytes(handle[8:12], "little"))
    assert cuda.cuIpcGetMemHandle(byref(Handle()), c_uint64(second)) == 2
    assert cuda.cuMemFree_v2(first) == SUCCESS
