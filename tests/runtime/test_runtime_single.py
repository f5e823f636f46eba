"""Directives of one object, and of the pointer to it: where their short way ends, the general one goes on."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator

import pytest

from gompy.runtime.libgompy import MAP_KINDS, Device

K = MAP_KINDS
SIZE = 64


@pytest.fixture
def device() -> Iterator[Device]:
    """A device of the tests' own."""
    device = Device()
    yield device
    device.close()


def word(device: Device, address: int) -> int:
    """What the device has where a word of the host is mapped."""
    there = device.address(address)
    assert there is not None
    return int.from_bytes(device.read(there, 8), sys.byteorder)


def test_a_pointer_that_is_part_of_its_object_is_attached(device: Device) -> None:
    memory = ctypes.create_string_buffer(SIZE)
    base = ctypes.addressof(memory)
    ctypes.c_void_p.from_buffer(memory, 8).value = base + 16
    entries = [(base, SIZE, K["to"]), (base + 8, 0, K["attach"])]
    device.enter_data(entries)
    assert word(device, base + 8) == device.address(base + 16)
    device.exit_data([(base, SIZE, K["from"]), (base + 8, 0, K["detach"])])
    assert device.mappings() == []
    assert ctypes.c_void_p.from_buffer(memory, 8).value == base + 16


def test_a_pointer_that_is_mapped_is_attached_and_detached(device: Device) -> None:
    memory = ctypes.create_string_buffer(SIZE)
    base = ctypes.addressof(memory)
    pointer = ctypes.c_void_p(base)
    at = ctypes.addressof(pointer)
    device.enter_data([(at, 8, K["to"])])
    device.enter_data([(base, SIZE, K["to"]), (at, 0, K["attach"])])
    assert word(device, at) == device.address(base)
    device.exit_data([(base, SIZE, K["release"]), (at, 0, K["detach"])])
    assert word(device, at) == base
    assert [start for start, *_ in device.mappings()] == [at]


def test_a_pointer_among_mapped_objects_is_looked_up(device: Device) -> None:
    memory = ctypes.create_string_buffer(4 * SIZE)
    base = ctypes.addressof(memory)
    at = base + SIZE + 8
    for start in (base, base + 3 * SIZE):
        device.enter_data([(start, SIZE, K["to"]), (at, 0, K["attach"])])
        device.enter_data([(start, SIZE, K["to"]), (at, 0, K["attach"])])
    assert [count for *_, count in device.mappings()] == [2, 2]
    for start in (base, base + 3 * SIZE):
        device.exit_data([(start, SIZE, K["from"]), (at, 0, K["detach"])])
    assert [count for *_, count in device.mappings()] == [1, 1]


def test_an_attached_pointer_in_the_object_stays_the_hosts(device: Device) -> None:
    memory = ctypes.create_string_buffer(SIZE)
    base = ctypes.addressof(memory)
    ctypes.c_void_p.from_buffer(memory, 8).value = base
    device.enter_data([(base, SIZE, K["to"])])
    device.enter_data([(base, SIZE, K["to"]), (base + 8, 0, K["attach"])])
    device.exit_data([(base, SIZE, K["release"])])
    device.exit_data([(base, SIZE, K["from"])])
    assert ctypes.c_void_p.from_buffer(memory, 8).value == base
    assert device.live_blocks == 0


def test_an_update_of_one_object_goes_either_way(device: Device) -> None:
    memory = ctypes.create_string_buffer(bytes(range(SIZE)), SIZE)
    base = ctypes.addressof(memory)
    device.enter_data([(base, SIZE, K["alloc"])])
    device.update([(base + 8, 16, K["to"])])
    there = device.address(base)
    assert there is not None
    assert device.read(there + 8, 16) == bytes(range(8, 24))
    device.write(there, bytes([99] * SIZE))
    device.update([(base + SIZE - 1, 1, K["from"])])
    assert memory.raw == bytes([*range(SIZE - 1), 99])
    device.update([(base, 0, K["from"])])
    device.update([(base + SIZE, SIZE, K["from"])])  # not mapped
    assert memory.raw == bytes([*range(SIZE - 1), 99])


def test_an_update_of_one_object_leaves_its_attached_pointer(device: Device) -> None:
    memory = ctypes.create_string_buffer(SIZE)
    base = ctypes.addressof(memory)
    ctypes.c_void_p.from_buffer(memory, 8).value = base
    device.enter_data([(base, SIZE, K["to"]), (base + 8, 0, K["attach"])])
    memory[16] = b"x"
    device.update([(base, SIZE, K["to"])])
    there = device.address(base)
    assert there is not None
    assert (word(device, base + 8), device.read(there + 16, 1)) == (there, b"x")
    device.update([(base, SIZE, K["from"])])
    assert ctypes.c_void_p.from_buffer(memory, 8).value == base


def test_an_update_beyond_its_object_is_an_error(device: Device) -> None:
    memory = ctypes.create_string_buffer(2 * SIZE)
    base = ctypes.addressof(memory)
    device.enter_data([(base, SIZE, K["to"])])
    with pytest.raises(RuntimeError, match="Trying to update"):
        device.update([(base + 8, SIZE, K["to"])])


def test_an_updates_copy_that_fails_is_an_error(device: Device) -> None:
    memory = ctypes.create_string_buffer(SIZE)
    base = ctypes.addressof(memory)
    device.enter_data([(base, SIZE, K["to"])])
    for kind, words in (("to", "host object .* to dev object"), ("from", "dev object .* to host object")):
        device.fail(copy=True)
        with pytest.raises(RuntimeError, match=f"Copying of {words}"):
            device.update([(base, SIZE, K[kind])])
        device.fail(copy=False)


def test_constructs_within_each_other_have_records_of_their_own(device: Device) -> None:
    """A device keeps the record of a construct that has ended for the next one."""
    memory = ctypes.create_string_buffer(8 * SIZE)
    base = ctypes.addressof(memory)
    for depth in (1, 3, 8):
        for n in range(depth):
            device.begin_data([(base + n * SIZE, SIZE, K["tofrom"])])
            device.target([(base + n * SIZE, SIZE, K["tofrom"])])
        assert [count for *_, count in device.mappings()] == [1] * depth
        for _ in range(depth):
            device.end_data()
        assert (device.mappings(), device.live_blocks) == ([], 0)
