"""Several copies by one call (cuMemcpyBatchAsync), and small calls that clients make: cuPointerSetAttribute,
cuCtxSetFlags."""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_int, c_size_t, c_ubyte, c_uint, c_uint64
from pathlib import Path

import pytest
from cuda_tools import INVALID_CONTEXT, INVALID_VALUE, SUCCESS, Driver, has_driver

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]
IN_STREAM, AT_ONCE, ANY = 1, 2, 3
SYNC_MEMOPS = 6


class Attributes(Structure):
    """CUmemcpyAttributes."""

    _fields_ = (("order", c_int), ("hints", c_int * 4), ("flags", c_uint))


@pytest.fixture(name="cuda")
def driver(tmp_path: Path) -> Driver:
    """With a context."""
    cuda = Driver(tmp_path / "driver").typed()
    cuda.context()
    return cuda


@pytest.mark.parametrize("order", [IN_STREAM, AT_ONCE, ANY])
def test_copies_of_all_kinds(cuda: Driver, order: int) -> None:
    """Host to device, device to device, back; each with attributes of its own, or all with the same."""
    stream = cuda.handle("cuStreamCreate", 1)
    one, two = cuda.alloc(64), cuda.alloc(64)
    source, back = ctypes.create_string_buffer(bytes(range(64)), 64), ctypes.create_string_buffer(64)
    to = (c_uint64 * 3)(one, two, ctypes.addressof(back))
    of = (c_uint64 * 3)(ctypes.addressof(source), one, two)
    sizes, failed = (c_size_t * 3)(64, 64, 64), c_size_t(7)
    same = (Attributes * 1)(Attributes(order))
    cuda.ok("cuMemcpyBatchAsync", to, of, sizes, 3, same, (c_size_t * 1)(0), 1, byref(failed), stream)
    cuda.ok("cuStreamSynchronize", stream)
    assert back.raw == source.raw == cuda.get(two, 64)
    assert failed.value == 7
    ctypes.memset(source, 9, 64)
    each = (Attributes * 2)(Attributes(order, flags=1), Attributes(ANY))
    cuda.ok("cuMemcpyBatchAsync_v2", to, of, sizes, 3, each, (c_size_t * 2)(0, 2), 2, stream)
    cuda.ok("cuStreamSynchronize", stream)
    assert back.raw == bytes([9]) * 64


def test_what_is_wrong_with_a_batch(cuda: Driver) -> None:
    stream = cuda.handle("cuStreamCreate", 0)
    memory, host, failed = cuda.alloc(64), ctypes.create_string_buffer(64), c_size_t()
    to, of, sizes = (
        (c_uint64 * 2)(memory, memory),
        (c_uint64 * 2)(*[ctypes.addressof(host)] * 2),
        (c_size_t * 2)(64, 64),
    )
    good, zero = (Attributes * 2)(Attributes(1), Attributes(1)), (c_size_t * 2)(0, 1)
    most = c_size_t(-1).value
    for words in (
        (None, of, sizes, 2, good, zero, 2, stream),
        (to, None, sizes, 2, good, zero, 2, stream),
        (to, of, None, 2, good, zero, 2, stream),
        (to, of, sizes, 0, good, zero, 2, stream),
        (to, of, sizes, 2, None, zero, 1, stream),
        (to, of, sizes, 2, good, None, 1, stream),
        (to, of, sizes, 2, good, zero, 0, stream),
        (to, of, sizes, 1, good, zero, 2, stream),
        (to, of, sizes, 2, good, (c_size_t * 2)(1, 1), 1, stream),
        (to, of, sizes, 2, good, (c_size_t * 2)(0, 0), 2, stream),
        (to, of, sizes, 2, good, (c_size_t * 2)(0, 2), 2, stream),
        (to, of, sizes, 2, (Attributes * 1)(Attributes(0)), zero, 1, stream),
        (to, of, sizes, 2, (Attributes * 1)(Attributes(4)), zero, 1, stream),
        (to, of, sizes, 2, (Attributes * 1)(Attributes(1, flags=2)), zero, 1, stream),
        (to, of, sizes, 2, good, zero, 2, None),
    ):
        failed.value = 5
        assert cuda.cuMemcpyBatchAsync(*words[:7], byref(failed), words[7]) == INVALID_VALUE, words
        assert failed.value == most
        assert cuda.cuMemcpyBatchAsync_v2(*words) == INVALID_VALUE
    for bad in ((64, 65), (64, 0)):
        wrong = (c_size_t * 2)(*bad)
        assert cuda.cuMemcpyBatchAsync(to, of, wrong, 2, good, zero, 2, byref(failed), stream) == INVALID_VALUE
        assert failed.value == 1
        assert cuda.cuMemcpyBatchAsync(to, of, wrong, 2, good, zero, 2, None, stream) == INVALID_VALUE


def test_an_attribute_that_is_set(cuda: Driver) -> None:
    """Of device memory; it goes with the block."""
    address, on, asked = cuda.alloc(64), c_uint(1), c_ubyte(7)
    cuda.ok("cuPointerGetAttribute", byref(asked), SYNC_MEMOPS, address)
    assert asked.value == 0
    cuda.ok("cuPointerSetAttribute", byref(on), SYNC_MEMOPS, address)
    cuda.ok("cuPointerGetAttribute", byref(asked), SYNC_MEMOPS, address + 9)
    assert asked.value == 1
    assert cuda.cuPointerSetAttribute(byref(on), 2, address) == INVALID_VALUE
    assert cuda.cuPointerSetAttribute(None, SYNC_MEMOPS, address) == INVALID_VALUE
    assert cuda.cuPointerSetAttribute(byref(on), SYNC_MEMOPS, ctypes.addressof(on)) == INVALID_VALUE
    cuda.ok("cuMemFree_v2", address)
    assert cuda.alloc(64) == address
    cuda.ok("cuPointerGetAttribute", byref(asked), SYNC_MEMOPS, address)
    assert asked.value == 0


def test_flags_of_a_context(cuda: Driver) -> None:
    flags = c_uint(99)
    assert cuda.cuCtxSetFlags(4) == SUCCESS
    cuda.ok("cuCtxGetFlags", byref(flags))
    assert flags.value == 4
    assert cuda.cuCtxSetFlags(3) == cuda.cuCtxSetFlags(64) == INVALID_VALUE
    cuda.ok("cuCtxSetCurrent", None)
    assert cuda.cuCtxSetFlags(4) == INVALID_CONTEXT
