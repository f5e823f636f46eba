"""Words that streams wait for and write, and what is said of managed memory."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
from ctypes import Structure, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

import pytest
from cuda_tools import INVALID_VALUE, LIBRARY, NOT_READY, SUCCESS, Driver, has_driver

from gompy.abi import cuda as abi

pytestmark = [has_driver, pytest.mark.usefixtures("plain")]

INVALID_DEVICE = abi.RESULTS["CUDA_ERROR_INVALID_DEVICE"][0]
CAPTURE_UNSUPPORTED = abi.RESULTS["CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"][0]
RELAXED = 2
HOST, NOWHERE = -1, -2


class Value(Structure):
    """CUstreamBatchMemOpParams: a wait or a write."""

    _fields_ = [
        ("operation", c_uint),
        ("address", c_uint64),
        ("value", c_uint64),
        ("flags", c_uint),
        ("alias", c_uint64),
        ("rest", c_uint64),
    ]


def streams(cuda: Driver, count: int) -> list[c_void_p]:
    """Streams that do not wait for each other."""
    return [cuda.handle("cuStreamCreate", abi.CU_STREAM_NON_BLOCKING) for _ in range(count)]


def word(cuda: Driver) -> tuple[int, c_uint64]:
    """A word of pinned memory: its address, and the word."""
    place = cuda.handle("cuMemHostAlloc", 64, 0).value
    assert place is not None
    found = c_uint64.from_address(place)
    found.value = 0
    return place, found


@pytest.mark.parametrize("form", ["", "_v2"])
@pytest.mark.parametrize("bits", [32, 64])
def test_a_stream_waits_for_another(cuda: Driver, form: str, bits: int) -> None:
    cuda.context()
    first, second = streams(cuda, 2)
    place, out = cuda.put(bytes(16)), cuda.put(bytes(16))
    cuda.ok(f"cuStreamWaitValue{bits}{form}", first, place, 5, abi.CU_STREAM_WAIT_VALUE_GEQ)
    cuda.ok(f"cuStreamWriteValue{bits}{form}", first, out, 77, 0)
    assert cuda.cuStreamQuery(first) == NOT_READY
    cuda.ok(f"cuStreamWriteValue{bits}{form}", second, place, 4, 0)
    cuda.ok("cuStreamSynchronize", second)
    assert cuda.cuStreamQuery(first) == NOT_READY
    cuda.ok(f"cuStreamWriteValue{bits}{form}", second, place, 5, 0)
    cuda.ok("cuStreamSynchronize", first)
    assert int.from_bytes(cuda.get(out, 16), "little") == 77


@pytest.mark.parametrize(
    ("how", "value", "not_yet", "come"),
    [
        (abi.CU_STREAM_WAIT_VALUE_GEQ, 0, 0xFFFFFFFF, 0),
        (abi.CU_STREAM_WAIT_VALUE_GEQ, 0xFFFFFFFE, 0x7FFFFFFF, 5),
        (abi.CU_STREAM_WAIT_VALUE_EQ, 7, 8, 7),
        (abi.CU_STREAM_WAIT_VALUE_AND, 6, 9, 4),
        (abi.CU_STREAM_WAIT_VALUE_NOR, 0xFFFFFFF0, 15, 14),
        (abi.CU_STREAM_WAIT_VALUE_EQ | abi.CU_STREAM_WAIT_VALUE_FLUSH, 1, 0, 1),
    ],
)
def test_what_is_awaited(cuda: Driver, how: int, value: int, not_yet: int, come: int) -> None:
    """The program writes the word itself; numbers of 32 bits go round."""
    cuda.context()
    (one,) = streams(cuda, 1)
    place, at = word(cuda)
    at.value = not_yet
    cuda.ok("cuStreamWaitValue32_v2", one, place, value, how)
    assert cuda.cuStreamQuery(one) == NOT_READY
    at.value = come
    cuda.ok("cuStreamSynchronize", one)


def test_several_in_their_order(cuda: Driver) -> None:
    cuda.context()
    first, second = streams(cuda, 2)
    place, _ = word(cuda)
    device = cuda.put(bytes(16))
    some = (Value * 4)(
        Value(abi.CU_STREAM_MEM_OP_WAIT_VALUE_64, place, 1 << 40, abi.CU_STREAM_WAIT_VALUE_EQ),
        Value(abi.CU_STREAM_MEM_OP_BARRIER),
        Value(abi.CU_STREAM_MEM_OP_WRITE_VALUE_32, device, 3, 0),
        Value(abi.CU_STREAM_MEM_OP_WRITE_VALUE_64, device + 8, 1 << 33, 0),
    )
    cuda.ok("cuStreamBatchMemOp_v2", first, 4, some, 0)
    cuda.ok("cuStreamWriteValue64_v2", second, place, 1 << 40, 0)
    cuda.ok("cuStreamSynchronize", first)
    assert cuda.get(device, 16) == (3).to_bytes(8, "little") + (1 << 33).to_bytes(8, "little")


def test_bad_words_are_refused(cuda: Driver) -> None:
    cuda.context()
    (one,) = streams(cuda, 1)
    place = cuda.put(bytes(16))
    host = (ctypes.c_char * 64)()
    for address in (place + 2, 0, ctypes.addressof(host) & ~7):
        assert cuda.cuStreamWaitValue32(one, address, 0, 0) == INVALID_VALUE
    assert cuda.cuStreamWaitValue64(one, place + 4, 0, 0) == INVALID_VALUE
    assert cuda.cuStreamWaitValue32(one, place, 0, 4) == INVALID_VALUE
    assert cuda.cuStreamWriteValue32(one, place, 0, 2) == INVALID_VALUE
    bad = (Value * 2)(Value(abi.CU_STREAM_MEM_OP_WRITE_VALUE_32, place, 9, 0), Value(99))
    assert cuda.cuStreamBatchMemOp(one, 2, bad, 0) == INVALID_VALUE
    cuda.ok("cuStreamSynchronize", one)
    assert cuda.get(place, 4) == bytes(4), "all of them or none"


def test_not_while_a_stream_is_captured(cuda: Driver) -> None:
    cuda.context()
    (one,) = streams(cuda, 1)
    place = cuda.put(bytes(16))
    cuda.ok("cuStreamBeginCapture_v2", one, RELAXED)
    assert cuda.cuStreamWriteValue32(one, place, 1, 0) == CAPTURE_UNSUPPORTED


def test_the_device_says_that_it_can(cuda: Driver) -> None:
    cuda.context()
    for name in (
        "CAN_USE_STREAM_MEM_OPS_V1",
        "CAN_USE_64_BIT_STREAM_MEM_OPS_V1",
        "CAN_USE_STREAM_WAIT_VALUE_NOR_V1",
        "CAN_USE_64_BIT_STREAM_MEM_OPS",
        "CAN_USE_STREAM_WAIT_VALUE_NOR",
    ):
        assert cuda.attribute(getattr(abi, f"CU_DEVICE_ATTRIBUTE_{name}")) == 1


PAGE = 4096


class Blocks(Structure):
    """struct mallinfo2: bytes in blocks of malloc's."""

    _fields_ = [("others", c_size_t * 7), ("used", c_size_t), ("rest", c_size_t * 2)]


class Range:
    """Managed memory, and what is known of it."""

    def __init__(self, cuda: Driver, pages: int) -> None:
        self.cuda, self.size = cuda, pages * PAGE
        at = c_uint64()
        cuda.ok("cuMemAllocManaged", byref(at), self.size, abi.CU_MEM_ATTACH_GLOBAL)
        self.at = at.value

    def advise(self, what: str, place: int, first: int = 0, pages: int = 0) -> None:
        number = getattr(abi, f"CU_MEM_ADVISE_{what}")
        self.cuda.ok("cuMemAdvise", self.at + first * PAGE, pages * PAGE or self.size, number, place)

    def get(self, what: str, count: int = 1, first: int = 0, pages: int = 0) -> list[int]:
        to = (c_int * count)()
        number = getattr(abi, f"CU_MEM_RANGE_ATTRIBUTE_{what}")
        where, size = self.at + first * PAGE, pages * PAGE or self.size
        self.cuda.ok("cuMemRangeGetAttribute", to, 4 * count, number, where, size)
        return list(to)


def test_nothing_is_said_at_first(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    assert memory.get("READ_MOSTLY") == [0]
    assert memory.get("PREFERRED_LOCATION") == memory.get("LAST_PREFETCH_LOCATION") == [NOWHERE]
    assert memory.get("ACCESSED_BY", 3) == [NOWHERE] * 3
    assert memory.get("PREFERRED_LOCATION_TYPE") == [0]


def test_what_is_said_is_kept(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    memory.advise("SET_READ_MOSTLY", 0)
    memory.advise("SET_PREFERRED_LOCATION", HOST)
    memory.advise("SET_ACCESSED_BY", HOST)
    memory.advise("SET_ACCESSED_BY", 0)
    cuda.ok("cuMemPrefetchAsync", memory.at, memory.size, 0, None)
    assert memory.get("READ_MOSTLY") == [1]
    assert memory.get("PREFERRED_LOCATION") == [HOST]
    assert memory.get("PREFERRED_LOCATION_TYPE") == [abi.CU_MEM_LOCATION_TYPE_HOST]
    assert memory.get("ACCESSED_BY", 3) == [HOST, 0, NOWHERE]
    assert memory.get("LAST_PREFETCH_LOCATION") == [0]
    assert memory.get("LAST_PREFETCH_LOCATION_TYPE") == [abi.CU_MEM_LOCATION_TYPE_DEVICE]
    memory.advise("UNSET_READ_MOSTLY", 0)
    memory.advise("UNSET_ACCESSED_BY", HOST)
    memory.advise("UNSET_PREFERRED_LOCATION", 0)
    assert memory.get("READ_MOSTLY") == [0]
    assert memory.get("ACCESSED_BY", 2) == [0, NOWHERE]
    assert memory.get("PREFERRED_LOCATION") == [NOWHERE]


def test_of_all_bytes_or_not_at_all(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    memory.advise("SET_PREFERRED_LOCATION", 0, 0, 2)
    assert memory.get("PREFERRED_LOCATION", 1, 0, 2) == memory.get("PREFERRED_LOCATION", 1, 1, 1) == [0]
    assert memory.get("PREFERRED_LOCATION") == memory.get("PREFERRED_LOCATION", 1, 1, 2) == [NOWHERE]
    memory.advise("SET_PREFERRED_LOCATION", 0, 2, 2)
    assert memory.get("PREFERRED_LOCATION") == [0]
    memory.advise("SET_PREFERRED_LOCATION", HOST, 1, 1)
    assert memory.get("PREFERRED_LOCATION") == [NOWHERE]
    assert memory.get("PREFERRED_LOCATION", 1, 1, 1) == [HOST]


def test_advice_is_about_a_place_that_there_is(cuda: Driver) -> None:
    """Where the place is ignored, any will do."""
    cuda.context()
    memory = Range(cuda, 1)
    for what in ("SET_PREFERRED_LOCATION", "SET_ACCESSED_BY", "UNSET_ACCESSED_BY"):
        number = getattr(abi, f"CU_MEM_ADVISE_{what}")
        for place in (77, NOWHERE):
            assert cuda.cuMemAdvise(memory.at, PAGE, number, place) == INVALID_DEVICE
    assert memory.get("PREFERRED_LOCATION") == memory.get("ACCESSED_BY") == [NOWHERE]
    memory.advise("SET_READ_MOSTLY", 77)
    assert memory.get("READ_MOSTLY") == [1]
    for what in ("UNSET_READ_MOSTLY", "UNSET_PREFERRED_LOCATION"):
        memory.advise(what, 77)
    assert memory.get("READ_MOSTLY") == [0]
    no_kind = 9
    assert cuda.cuMemAdvise_v2(memory.at, PAGE, abi.CU_MEM_ADVISE_SET_ACCESSED_BY, no_kind) == INVALID_VALUE


def test_read_mostly_is_of_no_place(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    memory.advise("SET_READ_MOSTLY", 0, 0, 2)
    memory.advise("SET_READ_MOSTLY", HOST, 2, 2)
    assert memory.get("READ_MOSTLY") == [1]


def test_advice_of_a_moving_window_costs_nothing(cuda: Driver) -> None:
    """As of a program that advises what it comes to next: memory does not grow, the last word holds."""
    cuda.context()
    memory = Range(cuda, 4)

    def advise(times: int) -> None:
        for turn in range(times):
            at = memory.at + turn
            cuda.ok("cuMemAdvise", at, PAGE, abi.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0)
            cuda.ok("cuMemAdvise", at + PAGE, PAGE, abi.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, HOST)
            cuda.ok("cuMemPrefetchAsync", at, PAGE, 0, None)

    def held() -> int:
        mallinfo = ctypes.CDLL(None).mallinfo2
        mallinfo.restype = Blocks
        return int(mallinfo().used)

    advise(100)
    before = held()
    advise(PAGE)
    assert held() - before < PAGE * 24
    assert memory.get("PREFERRED_LOCATION", 1, 0, 1) == memory.get("LAST_PREFETCH_LOCATION", 1, 0, 1) == [0]
    assert memory.get("PREFERRED_LOCATION", 1, 2, 1) == memory.get("PREFERRED_LOCATION", 1, 1, 1) == [NOWHERE]
    memory.advise("SET_PREFERRED_LOCATION", HOST)
    memory.advise("UNSET_PREFERRED_LOCATION", 0, 2, 1)
    assert [memory.get("PREFERRED_LOCATION", 1, page, 1) for page in range(4)] == [[HOST], [HOST], [NOWHERE], [HOST]]


def test_several_at_once_and_bad_questions(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    memory.advise("SET_READ_MOSTLY", 0)
    first, second = c_int(), (c_int * 2)()
    kinds = (c_uint * 2)(abi.CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, abi.CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY)
    to = (c_void_p * 2)(ctypes.addressof(first), ctypes.addressof(second))
    sizes = (c_size_t * 2)(4, 8)
    ask = cuda.cuMemRangeGetAttributes
    assert ask(to, sizes, kinds, 2, memory.at, memory.size) == SUCCESS
    assert (first.value, list(second)) == (1, [NOWHERE] * 2)
    sizes[1] = 7
    assert ask(to, sizes, kinds, 2, memory.at, memory.size) == INVALID_VALUE
    sizes[1] = 8
    assert ask(to, sizes, kinds, 2, memory.at, 2 * memory.size) == INVALID_VALUE
    other = cuda.put(bytes(PAGE))
    assert ask(to, sizes, kinds, 2, other, PAGE) == INVALID_VALUE


def test_freed_memory_is_forgotten(cuda: Driver) -> None:
    cuda.context()
    memory = Range(cuda, 4)
    memory.advise("SET_READ_MOSTLY", 0)
    cuda.ok("cuMemFree_v2", memory.at)
    again = Range(cuda, 4)
    assert again.get("READ_MOSTLY") == [0]


@pytest.mark.parametrize("order", ["first", "second", "none"])
def test_a_word_orders_streams(order: str) -> None:
    """Whether the wait is asked for before the write or behind it; without it there is a race."""
    program = Path(__file__).parents[1] / "programs" / "cuda" / "stream_values.py"
    command = [sys.executable, str(program), str(LIBRARY), order]
    env = {**os.environ, "GOMPY_CHECK": "race"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env, timeout=60)
    assert ("warning: race on device memory" in done.stderr) == (order == "none"), done.stderr


def test_neighbours_are_forgotten_apart(cuda: Driver) -> None:
    """Blocks that lie side by side, and are advised alike."""
    cuda.context()
    blocks = sorted((Range(cuda, 4) for _ in range(8)), key=lambda one: one.at)
    assert any(one.at + one.size == two.at for one, two in itertools.pairwise(blocks))
    for one in blocks:
        one.advise("SET_READ_MOSTLY", 0)
    for one in blocks[::2]:
        cuda.ok("cuMemFree_v2", one.at)
    assert all(one.get("READ_MOSTLY") == [1] for one in blocks[1::2])
    again = [Range(cuda, 4) for _ in blocks[::2]]
    assert {one.at for one in again} & {one.at for one in blocks[::2]}
    assert all(one.get("READ_MOSTLY") == [0] for one in again)
