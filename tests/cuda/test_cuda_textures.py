"""The emulated CUDA driver: what texture calls refuse, and whose memory an object is."""

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
    NOT_SUPPORTED,
    SUCCESS,
    Driver,
    has_driver,
    has_executor,
)

pytestmark = [has_driver, has_executor, pytest.mark.usefixtures("plain")]

FLOAT, LINEAR, ROWS, ARRAY = 32, 2, 3, 0


@pytest.fixture
def cuda(tmp_path: Path) -> Driver:
    found = Driver(tmp_path / "driver")
    found.context()
    return found


def resource(kind: int, address: int, *sizes: int, channels: int = 1, form: int = FLOAT) -> bytes:
    """CUDA_RESOURCE_DESC: bytes, or width, height and pitch."""
    return (struct.pack("<iiQII", kind, 0, address, form, channels) + struct.pack(f"<{len(sizes)}Q", *sizes)).ljust(
        144, b"\0"
    )


def settings(mode: int = 0, filtering: int = 0, flags: int = 0) -> bytes:
    """CUDA_TEXTURE_DESC."""
    return struct.pack("<5I", mode, mode, mode, filtering, flags).ljust(104, b"\0")


def create(cuda: Driver, described: bytes, how: bytes) -> tuple[int, int]:
    """The answer, and the object."""
    to = c_uint64()
    return cuda.cuTexObjectCreate(byref(to), described, how, None), to.value


def test_what_is_refused(cuda: Driver) -> None:
    memory = cuda.alloc(4096)
    for described, how, answer in (
        (resource(LINEAR, memory, 4096), settings(), SUCCESS),
        (resource(LINEAR, memory, 4097), settings(), INVALID_VALUE),
        (resource(LINEAR, memory, 0), settings(), INVALID_VALUE),
        (resource(LINEAR, memory + 8, 64), settings(), INVALID_VALUE),
        (resource(LINEAR, memory, 64, channels=3), settings(), INVALID_VALUE),
        (resource(LINEAR, memory, 64, form=7), settings(), INVALID_VALUE),
        (resource(LINEAR, 4096, 64), settings(), INVALID_VALUE),
        (resource(LINEAR, memory, 64), settings(mode=4), INVALID_VALUE),
        (resource(LINEAR, memory, 64), settings(filtering=2), INVALID_VALUE),
        (resource(LINEAR, memory, 64), settings(flags=16), NOT_SUPPORTED),
        (resource(ROWS, memory, 16, 64, 64), settings(), SUCCESS),
        (resource(ROWS, memory, 16, 65, 64), settings(), INVALID_VALUE),
        (resource(ROWS, memory, 17, 2, 64), settings(), INVALID_VALUE),
        (resource(ROWS, memory, 16, 2, 2**63), settings(), INVALID_VALUE),
        (resource(ARRAY, memory, 64), settings(), INVALID_HANDLE),
        (resource(1, memory, 64), settings(), INVALID_HANDLE),  # no mipmapped array
        (resource(4, memory, 64), settings(), INVALID_VALUE),
    ):
        assert create(cuda, described, how)[0] == answer, (described, how)


def test_objects_end_once_and_keep_their_descriptions(cuda: Driver) -> None:
    memory = cuda.alloc(4096)
    described, how = resource(LINEAR, memory, 64), settings(flags=1)
    _, texture = create(cuda, described, how)
    back = ctypes.create_string_buffer(144)
    call = cuda.library.cuTexObjectGetResourceDesc
    call.argtypes = [c_void_p, c_uint64]
    assert call(back, texture) == SUCCESS and back.raw == described
    assert call(back, memory) == INVALID_VALUE
    assert cuda.cuMemFree_v2(texture) == INVALID_VALUE
    end = cuda.library.cuTexObjectDestroy
    end.argtypes = [c_uint64]
    assert [end(texture), end(texture), end(memory)] == [SUCCESS, INVALID_VALUE, INVALID_VALUE]


def test_references(cuda: Driver) -> None:
    text = b".version 8.0\n.target sm_50\n.address_size 64\n.visible .global .texref t;\n.visible .global .u32 n;\n"
    module = cuda.handle("cuModuleLoadData", text)
    reference, memory = c_void_p(), cuda.alloc(4096)
    assert cuda.cuModuleGetTexRef(byref(reference), module, b"n") == NOT_FOUND
    assert cuda.cuModuleGetTexRef(byref(reference), module, b"u") == NOT_FOUND
    cuda.ok("cuModuleGetTexRef", byref(reference), module, b"t")
    bind = cuda.library.cuTexRefSetAddress_v2
    bind.argtypes = [c_void_p, c_void_p, c_uint64, ctypes.c_size_t]
    assert [bind(None, reference, memory, n) for n in (4096, 4097, 0)] == [SUCCESS, INVALID_VALUE, INVALID_VALUE]
    assert bind(None, c_void_p(memory), memory, 64) == INVALID_VALUE
    assert [cuda.cuTexRefSetFormat(reference, form, n) for form, n in ((FLOAT, 4), (FLOAT, 3), (5, 1))] == [0, 1, 1]
    assert [cuda.cuTexRefSetFlags(reference, flags) for flags in (3, 16)] == [SUCCESS, NOT_SUPPORTED]
    assert [cuda.cuTexRefSetAddressMode(reference, d, m) for d, m in ((2, 3), (3, 0), (0, 4))] == [0, 1, 1]
    assert [cuda.cuTexRefSetFilterMode(reference, mode) for mode in (1, 2)] == [SUCCESS, INVALID_VALUE]
