"""Single map kinds on a device in this process: what is copied, counted, translated and freed."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator

import pytest

from gompy.runtime.libgompy import MAP_KINDS, Device, MappingError

K = MAP_KINDS
FRESH = b"\xa5"
ALWAYS_PRESENT_TOFROM = 0x97


class Memory:
    """Host memory with addresses."""

    def __init__(self, size: int = 4096) -> None:
        self.buffer = ctypes.create_string_buffer(size)
        self.base = (ctypes.addressof(self.buffer) + 63) & ~63

    def put(self, at: int, data: bytes) -> int:
        ctypes.memmove(self.base + at, data, len(data))
        return self.base + at

    def pointer(self, at: int, value: int) -> int:
        return self.put(at, struct.pack("Q", value))

    def get(self, at: int, size: int) -> bytes:
        return ctypes.string_at(self.base + at, size)


def word(device: Device, address: int) -> int:
    """A pointer in the device's memory."""
    return int(struct.unpack("Q", device.read(address, 8))[0])


@pytest.fixture
def device() -> Iterator[Device]:
    device = Device()
    yield device
    device.close()


@pytest.fixture
def memory() -> Memory:
    return Memory()


def at(device: Device, host: int) -> int:
    """Device address of what must be mapped."""
    address = device.address(host)
    assert address is not None
    return address


# --- pointers ---------------------------------------------------------------------------------------------------------


def test_attach_and_detach(device: Device, memory: Memory) -> None:
    data = memory.put(0, b"d" * 32)
    pointer = memory.pointer(256, data + 8)
    device.enter_data([(memory.base + 248, 24, K["to"])])
    device.enter_data([(data, 32, K["to"]), (pointer, 0, K["attach"])])
    assert word(device, at(device, pointer)) == at(device, data) + 8
    device.enter_data([(data, 32, K["to"]), (pointer, 0, K["attach"])])
    assert device.attach_count(pointer) == 2
    device.exit_data([(pointer, 0, K["detach"]), (data, 32, K["release"])])
    assert word(device, at(device, pointer)) == at(device, data) + 8
    device.exit_data([(pointer, 0, K["detach"]), (data, 32, K["release"])])
    assert word(device, at(device, pointer)) == data + 8, "the host's value is back"
    with pytest.raises(MappingError, match="attach count underflow"):
        device.exit_data([(pointer, 0, K["detach"])])


def test_force_detach(device: Device, memory: Memory) -> None:
    data, pointer = memory.put(0, b"d" * 32), memory.pointer(256, memory.base)
    device.enter_data([(pointer, 8, K["to"])])
    for _ in range(3):
        device.enter_data([(data, 32, K["to"]), (pointer, 0, K["attach"])])
    device.exit_data([(pointer, 0, K["force_detach"])])
    assert (device.attach_count(pointer), word(device, at(device, pointer))) == (0, data)


def test_attached_pointers_are_left_alone_by_copies(device: Device, memory: Memory) -> None:
    """update and copies back go around them, also for a pointer that is not aligned in its struct."""
    data = memory.put(0, b"d" * 32)
    whole = memory.put(250, b"s" * 40)
    pointer = memory.pointer(263, data)
    device.enter_data([(whole, 40, K["to"])])
    device.enter_data([(data, 32, K["to"]), (pointer, 0, K["attach"])])
    memory.put(250, b"t" * 13)
    memory.put(271, b"u" * 19)
    device.update([(whole, 40, K["to"])])
    there = device.read(at(device, whole), 40)
    assert there == b"t" * 13 + struct.pack("Q", at(device, data)) + b"u" * 19
    device.write(at(device, whole), b"v" * 13)
    device.update([(whole, 40, K["from"])])
    assert memory.get(250, 40) == b"v" * 13 + struct.pack("Q", data) + b"u" * 19
    device.exit_data([(whole, 40, K["always_from"])])
    assert memory.get(263, 8) == struct.pack("Q", data)


def test_attach_of_a_pointer_that_is_not_mapped_is_ignored(device: Device, memory: Memory) -> None:
    data, pointer = memory.put(0, b"d" * 32), memory.pointer(256, memory.base)
    device.enter_data([(data, 32, K["to"]), (pointer, 0, K["attach"])])
    assert [m[3] for m in device.mappings()] == [1]


def test_attach_errors(device: Device, memory: Memory) -> None:
    null, wild = memory.pointer(0, 0), memory.pointer(8, memory.base + 512)
    device.enter_data([(null, 16, K["to"])])
    for kind in ("attach", "attach_zero_length_array_section"):
        with pytest.raises(MappingError, match="attempt to attach null pointer"):
            Device.target(device, [(null, 0, K[kind])])
        device.close()
        device = Device()
        device.enter_data([(null, 16, K["to"])])
    with pytest.raises(MappingError, match="pointer target not mapped for attach"):
        device.target([(wild, 0, K["attach"])])
    device.close()
    device = Device()
    device.enter_data([(null, 16, K["to"])])
    device.target([(wild, 0, K["attach_zero_length_array_section"])], lambda _: None)
    device.close()


@pytest.mark.parametrize("operation", ["enter", "target", "detach", "force_detach"])
@pytest.mark.parametrize("at_end", [True, False])
def test_attach_of_a_pointer_across_an_end(device: Device, memory: Memory, at_end: bool, operation: str) -> None:
    """Of the pointer only a part is mapped: it is refused, and nothing is written beside its object's block."""
    data, pointer = memory.put(0, b"d" * 32), memory.pointer(256, memory.base)
    whole = pointer - 12 if at_end else pointer + 4
    device.enter_data([(data, 32, K["to"]), (whole, 16, K["to"])])
    before = device.read(at(device, whole), 16)
    with pytest.raises(MappingError) as refused:
        if operation == "enter":
            device.enter_data([(pointer, 0, K["attach"])])
        elif operation == "target":
            device.target([(data, 32, K["to"]), (pointer, 0, K["attach"])])
        else:
            device.exit_data([(pointer, 0, K[operation])])
    how = "enclosing struct not mapped for attach"
    if "detach" in operation:
        how = "enclosing struct not mapped for detach"
    assert str(refused.value) == (
        f"{how}: of the pointer at [{pointer:#x}..{pointer + 8:#x}) only what lies in [{whole:#x}..{whole + 16:#x}) "
        "is mapped; map all of it"
    )
    assert device.read(at(device, whole), 16) == before


def test_attach_to_empty_sections(device: Device, memory: Memory) -> None:
    """GCC 15: on enter data any pointee may be absent; else an empty one that stands before, not only just before."""
    wild = memory.pointer(8, memory.base + 512)
    device.enter_data([(memory.base, 16, K["to"])])
    device.enter_data([(wild, 0, K["attach"])])
    assert word(device, at(device, wild)) == memory.base + 512
    device.exit_data([(wild, 0, K["detach"])])
    section, other = (memory.base + 512, 0, K["zero_len_array_section"]), (memory.base + 600, 0, K["alloc"])
    device.target([section, other, (wild, 0, K["attach"])], lambda _: None)
    with pytest.raises(MappingError, match="pointer target not mapped for attach"):
        device.target([other, (*section[:2], K["alloc"]), other, (wild, 0, K["attach"])])


def test_attach_to_an_implicit_scalar(device: Device, memory: Memory) -> None:
    """What a pointer is attached to is no variable of the region's own, however small: GCC 16 attaches at the end."""
    data, pointer = memory.put(0, b"d" * 12), memory.pointer(256, memory.base)

    def region(words: list[int]) -> None:
        assert word(device, at(device, pointer)) == at(device, data)

    device.target(
        [(pointer, 8, K["alloc"]), (data, 12, 0x61), (memory.base + 400, 4, K["to"]), (pointer, 0, K["attach"])], region
    )


def test_attach_in_an_implicit_scalar(device: Device, memory: Memory) -> None:
    """Nor is what holds that pointer, as a polymorphic variable of Fortran's does: gfortran 16 maps it as a scalar."""
    data, holder = memory.put(0, b"d" * 12), memory.pointer(256, memory.base)

    def region(words: list[int]) -> None:
        assert word(device, words[0]) == at(device, data)

    device.target([(holder, 16, K["to"] | K["implicit"]), (data, 12, K["to"]), (holder, 0, K["attach"])], region)


@pytest.mark.parametrize("first", [True, False])
def test_an_implicit_scalar_that_a_clause_maps_in_part(device: Device, memory: Memory, first: bool) -> None:
    """gfortran maps all that an EQUIVALENCE joins implicitly, beside the variable that the clause names."""
    joined = memory.put(0, b"e" * 16)
    implicit, named = (joined, 16, K["to"] | K["implicit"]), (joined, 16 if first else 8, K["tofrom"])
    entries = [implicit, named] if first else [named, (joined, 8, K["to"] | K["implicit"])]

    def region(words: list[int]) -> None:
        assert words[0] == words[1] == at(device, joined)
        device.write(words[0] + 4, b"new!")

    device.target(entries, region)
    assert memory.get(0, 12) == b"eeeenew!eeee"


def test_structured_attach_ends_with_its_construct(device: Device, memory: Memory) -> None:
    data, pointer = memory.put(0, b"d" * 32), memory.pointer(256, memory.base)

    def region(words: list[int]) -> None:
        assert word(device, at(device, pointer)) == at(device, data)

    device.target([(pointer, 8, K["tofrom"]), (data, 32, K["to"]), (pointer, 0, K["attach"])], region)
    assert memory.get(256, 8) == struct.pack("Q", data), "the device's pointer does not come back"
    assert device.live_blocks == 0


def test_pointer_with_bias(device: Device, memory: Memory) -> None:
    """p[5:3]: the device's pointer is such that p[5] is the section's start."""
    data = memory.put(0, bytes(range(64)))
    pointer = memory.pointer(256, data)

    def region(words: list[int]) -> None:
        assert word(device, words[1]) == words[0] - 20

    device.target([(data + 20, 12, K["to"]), (pointer, 20, K["pointer"])], region)
    with pytest.raises(MappingError, match="Pointer target of array section wasn't mapped"):
        device.target([(pointer, 0, K["pointer"])])


def test_pointer_to_zero_length_section(device: Device, memory: Memory) -> None:
    pointer = memory.pointer(256, memory.base)
    device.target(
        [(pointer, 0, K["pointer_to_zero_length_array_section"])],
        lambda words: check(word(device, words[0]) == memory.base),
    )


def check(what: bool) -> None:
    assert what


def test_fortran_descriptor(device: Device, memory: Memory) -> None:
    """TO_PSET: the descriptor goes over, its pointer is the device's; refreshed when it was NULL before."""
    data = memory.put(0, b"d" * 32)
    descriptor = memory.pointer(256, 0)
    memory.put(264, b"x" * 56)
    entries = [(descriptor, 64, K["to_pset"]), (descriptor, 0, K["pointer"])]
    device.enter_data(entries)
    assert word(device, at(device, descriptor)) == 0
    memory.pointer(256, data)
    memory.put(264, b"y" * 56)

    def region(words: list[int]) -> None:
        assert word(device, words[1]) == at(device, data)
        assert device.read(words[1] + 8, 56) == b"y" * 56

    device.target([(data, 32, K["to"]), *entries], region)
    counts = [m[3] for m in device.mappings()]
    assert counts == [1]


def test_always_pointer(device: Device, memory: Memory) -> None:
    data, pointer = memory.put(0, b"d" * 32), memory.pointer(256, memory.base)
    device.enter_data([(pointer, 8, K["alloc"])])
    device.target(
        [(data + 8, 8, K["to"]), (pointer, 8, K["always_pointer"])],
        lambda words: check(word(device, at(device, pointer)) == words[0] - 8 and words[1] == 0),
    )
    with pytest.raises(MappingError, match="always pointer not mapped"):
        device.target([(data, 8, K["to"]), (memory.base + 512, 0, K["always_pointer"])])


# --- words of the argument array --------------------------------------------------------------------------------------


def test_argument_words(device: Device, memory: Memory) -> None:
    data = memory.put(0, b"d" * 32)
    private = memory.put(64, b"private!" * 5)
    device.enter_data([(data, 32, K["to"])])

    def region(words: list[int]) -> None:
        assert words[0] == at(device, data) + 4
        assert device.read(words[1], 40) == b"private!" * 5 and words[1] % 32 == 0
        assert words[2:] == [4711, 0, at(device, data) + 31, data + 32, 0, at(device, data) + 32]

    device.target(
        [
            (data + 4, 8, K["to"]),
            (private, 40, K["firstprivate"], 5),
            (4711, 0, K["firstprivate_int"]),
            (0, 0, K["tofrom"]),
            (data + 31, 0, K["zero_len_array_section"]),
            (data + 32, 0, K["zero_len_array_section"]),
            (memory.base + 512, 16, K["if_present"]),
            (data + 32, 0, K["use_device_ptr"]),
        ],
        region,
    )


def test_use_device_ptr_sees_what_the_construct_maps(device: Device, memory: Memory) -> None:
    data = memory.put(0, b"d" * 32)
    found = device.begin_data([(data, 32, K["to"]), (data + 3, 0, K["use_device_ptr"])])
    assert found[1] == at(device, data) + 3
    device.end_data()
    assert device.begin_data([(data, 0, K["use_device_ptr_if_present"])]) == [data]
    with pytest.raises(MappingError, match="use_device_ptr pointer wasn't mapped"):
        device.begin_data([(data, 0, K["use_device_ptr"])])


def test_implicit_map_may_be_larger(device: Device, memory: Memory) -> None:
    """An implicit map of a struct of which a part is mapped: the part is what is used, and what comes back."""
    whole = memory.put(0, b"w" * 64)
    device.enter_data([(whole + 16, 8, K["to"])])

    def region(words: list[int]) -> None:
        assert words[0] == at(device, whole + 16) - 16
        device.write(words[0] + 16, b"changed!")

    device.target([(whole, 64, K["tofrom"] | K["implicit"])], region)
    device.exit_data([(whole, 64, K["from"])])
    assert memory.get(0, 64) == b"w" * 16 + b"changed!" + b"w" * 40
    with pytest.raises(MappingError, match="Trying to map into device"):
        device.enter_data([(whole + 16, 8, K["to"])])
        device.target([(whole, 64, K["tofrom"])])


def test_alignment(device: Device, memory: Memory) -> None:
    for log in range(13):
        base = memory.base
        entries = [(base + 1, 3, K["to"], 0), (base + 8, 16, K["alloc"], log), (base + 32, 1, K["to"], 0)]
        device.target(entries, lambda words, align=1 << log: check(words[1] % align == 0))  # type: ignore[misc]


# --- structs ----------------------------------------------------------------------------------------------------------


def test_struct_members_leave_together(device: Device, memory: Memory) -> None:
    base = memory.put(0, b"s" * 64)
    device.enter_data([(base, 3, K["struct"]), (base, 8, K["to"]), (base + 16, 8, K["to"]), (base + 48, 8, K["from"])])
    assert device.live_blocks == 1
    assert at(device, base + 48) - at(device, base) == 48
    device.exit_data([(base + 16, 8, K["release"])])
    assert (device.mappings(), device.live_blocks) == ([], 0), "libgomp leaves the block allocated"


# --- declare target ---------------------------------------------------------------------------------------------------


def test_link_variable(device: Device, memory: Memory) -> None:
    """The device pointer gets the mapped section, less its offset in the variable; unmapped, it is as if absent."""
    variable = memory.put(0, bytes(range(64)))
    pointer = ctypes.create_string_buffer(8)
    device.declare_link(variable, ctypes.addressof(pointer), 64)
    device.update([(variable, 64, K["to"])])
    device.exit_data([(variable, 64, K["from"])])
    assert device.address(variable) is None
    for _ in range(2):
        device.enter_data([(variable + 8, 16, K["to"])])
        assert struct.unpack("Q", pointer.raw)[0] == at(device, variable + 8) - 8
        device.exit_data([(variable + 8, 16, K["release"])])
        assert device.address(variable + 8) is None
    assert device.live_blocks == 0


def test_link_variable_with_storage_in_the_image(device: Device, memory: Memory) -> None:
    variable = memory.put(0, bytes(range(64)))
    storage = ctypes.create_string_buffer(b"?" * 64, 64)
    device.declare_link_storage(variable, ctypes.addressof(storage), 64)
    device.enter_data([(variable + 8, 8, K["to"])])
    device.enter_data([(variable + 32, 8, K["alloc"])])
    assert at(device, variable + 8) == ctypes.addressof(storage) + 8
    assert at(device, variable + 32) == ctypes.addressof(storage) + 32
    assert storage.raw == b"?" * 8 + bytes(range(8, 16)) + b"?" * 48
    device.write(ctypes.addressof(storage) + 32, b"deviceXX")
    device.exit_data([(variable + 32, 8, K["from"]), (variable + 8, 8, K["release"])])
    assert memory.get(32, 8) == b"deviceXX"
    assert device.mappings() == []


def test_declared_variable_is_never_copied_without_always(device: Device, memory: Memory) -> None:
    variable = memory.put(0, b"h" * 16)
    storage = ctypes.create_string_buffer(b"d" * 16, 16)
    device.declare(variable, ctypes.addressof(storage), 16)
    device.target([(variable, 16, K["tofrom"])])
    assert (storage.raw, memory.get(0, 16)) == (b"d" * 16, b"h" * 16)
    device.target([(variable, 16, K["always_from"])])
    assert memory.get(0, 16) == b"d" * 16
    device.exit_data([(variable, 16, K["delete"])])
    assert device.mappings()[0][3] is None


# --- failures of the device -------------------------------------------------------------------------------------------


def test_device_failures(device: Device, memory: Memory) -> None:
    data = memory.put(0, b"d" * 32)
    device.fail(alloc=True)
    with pytest.raises(MappingError, match=r"^device memory allocation fail: a block of") as raised:
        device.target([(data + 16, 8, K["to"]), (data, 12, K["to"]), (data + 24, 4, K["from"])])
    assert str(raised.value).endswith(f"the largest object in it is [{data:#x}..{data + 12:#x}) of 12 bytes")
    device.fail(copy=True)
    with pytest.raises(MappingError, match=r"^Copying of host object \[0x\w+\.\.0x\w+\) to dev object \[0x"):
        device.enter_data([(data, 32, K["to"])])


@pytest.mark.parametrize("size", [1 << 47, -(1 << 47), -4])
def test_sizes_that_no_object_has(device: Device, memory: Memory, size: int) -> None:
    """A Fortran pointer whose status is undefined has a descriptor of what the stack held."""
    data = memory.put(0, b"d" * 32)
    before = device.mappings()
    words = f"{size} bytes;" if size == -4 else f"{size % (1 << 64)} bytes, more than there are addresses;"
    with pytest.raises(MappingError, match=f"^the object at {data:#x} to be mapped has {words}"):
        device.enter_data([(data, size % (1 << 64), K["to"])])
    assert device.mappings() == before
    device.enter_data([(data, 32, K["to"])])
    device.enter_data([(data + 16, (1 << 64) - 4, K["to"])])  # inside what is mapped: no device memory is asked for


def test_unhandled_kinds(device: Device, memory: Memory) -> None:
    with pytest.raises(MappingError, match=r"GOMP_target_enter_exit_data unhandled kind 0x01"):
        device.exit_data([(memory.base, 8, K["to"])])
    with pytest.raises(MappingError, match=r"present clause: !acc_is_present \(0x[0-9a-f]+, 8 \(0x8\)\)"):
        device.enter_data([(memory.base, 8, K["force_present"])])


def test_present_data_of_a_descriptor_that_was_mapped_without(device: Device, memory: Memory) -> None:
    """An allocatable that was mapped when it was not allocated is present when it is (GCC 16); others are not."""
    descriptor = memory.pointer(256, 0)
    device.enter_data([(descriptor, 24, K["to_pset"]), (descriptor, 0, K["pointer"])])
    data, other = memory.put(0, b"data1234"), memory.pointer(512, memory.base + 1024)
    memory.pointer(256, data)

    def region(words: list[int]) -> None:
        assert device.read(words[0], 8) == b"data1234"
        assert word(device, at(device, descriptor)) == words[0]
        device.write(words[0], b"results!")

    for kind in (ALWAYS_PRESENT_TOFROM, K["force_present"]):
        section = (data, 8, kind)
        device.target([section, (descriptor, 24, K["to_pset"]), (descriptor, 0, K["always_pointer"])], region)
        assert memory.get(0, 8) == (b"results!" if kind == ALWAYS_PRESENT_TOFROM else b"data1234")
        memory.put(0, b"data1234")
    with pytest.raises(MappingError, match="present clause: "):
        section = (memory.base + 1024, 8, K["force_present"])
        device.target([section, (other, 24, K["to_pset"]), (other, 0, K["always_pointer"])])


def test_transfers_are_merged(device: Device, memory: Memory) -> None:
    """Argument words, firstprivate data and small objects: one copy; large objects one each."""
    entries = [(memory.base + 16 * i, 8, K["to"]) for i in range(20)]
    entries += [(memory.base + 512, 32, K["firstprivate"]), (memory.base + 600, 8, K["from"])]
    device.target(entries)
    assert device.copies == (1, 1)
    large = Memory(100000)
    device.target([*entries, (large.base, 90000, K["to"])])
    assert device.copies == (3, 2)


@pytest.mark.parametrize("kind", [0x2A, 0x09, K["delete"], K["release"], K["detach"], 0xF0])
def test_a_kind_that_makes_no_object_fails_before_memory_is_taken(device: Device, memory: Memory, kind: int) -> None:
    """Alone, after an object that can be mapped, and as a struct's member: no block is left behind."""
    at = memory.put(0, bytes(64))
    for entries in (
        [(at, 8, kind)],
        [(at + 16, 8, K["to"]), (at, 8, kind)],
        [(at, 2, K["struct"]), (at, 8, K["to"]), (at + 8, 8, kind)],
    ):
        with pytest.raises(MappingError, match=f"unhandled kind 0x{kind:02x}"):
            device.target(entries)
        assert device.live_blocks == 0
    assert device.mappings() == []
