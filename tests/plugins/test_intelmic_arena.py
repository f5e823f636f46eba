"""The allocator of device memory: blocks never overlap, are aligned, come back, and wrong frees are refused."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from intelmic_driver import PLUGIN
from machine_steps import examples

if not PLUGIN.exists():
    pytest.skip("the compiled parts are not built", allow_module_level=True)

LIB = ctypes.CDLL(str(PLUGIN))
FULL = (1 << 64) - 1
LIB.gompy_arena_new.restype = ctypes.c_void_p
LIB.gompy_arena_new.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
LIB.gompy_arena_alloc.restype = ctypes.c_uint64
LIB.gompy_arena_alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIB.gompy_arena_free.restype = ctypes.c_bool
LIB.gompy_arena_free.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
LIB.gompy_arena_extent.restype = ctypes.c_uint64
LIB.gompy_arena_extent.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
LIB.gompy_arena_in_use.restype = ctypes.c_uint64
LIB.gompy_arena_in_use.argtypes = [ctypes.c_void_p]
LIB.gompy_arena_delete.restype = None
LIB.gompy_arena_delete.argtypes = [ctypes.c_void_p]

SIZE = 8 << 20
SIZES = st.one_of(
    st.integers(0, 300),
    st.integers(0, 40000),
    st.integers(32000, 1 << 20),
    st.sampled_from([0, 1, 63, 64, 65, 512, 513, 32768, 32769, 65536, 65537, 131072, SIZE, SIZE + 1]),
)


@pytest.fixture
def arena() -> Iterator[int]:
    """An arena of 8 MiB."""
    made = LIB.gompy_arena_new(SIZE, 1 << 20)
    yield made
    LIB.gompy_arena_delete(made)


class Machine(RuleBasedStateMachine):
    """Random allocations and frees against a dictionary of what is in use."""

    blocks: Bundle[int] = Bundle("blocks")

    def __init__(self) -> None:
        """Start with an empty arena."""
        super().__init__()
        self.arena = LIB.gompy_arena_new(SIZE, 1 << 20)
        self.used: dict[int, int] = {}

    def teardown(self) -> None:
        """Everything comes back: an empty arena gives its largest block again."""
        for offset in self.used:
            assert LIB.gompy_arena_free(self.arena, offset)
        assert LIB.gompy_arena_in_use(self.arena) == 0
        LIB.gompy_arena_delete(self.arena)

    @rule(target=blocks, size=SIZES)
    def alloc(self, size: int) -> int:
        """A new block lies in the arena, is aligned and meets no other."""
        offset: int = LIB.gompy_arena_alloc(self.arena, size)
        if offset != FULL:
            assert offset % 64 == 0
            assert offset + size <= SIZE
            for other, length in self.used.items():
                assert offset + max(size, 1) <= other or other + max(length, 1) <= offset
            self.used[offset] = size
        else:
            assert size > 32768 or sum(self.used.values()) > SIZE // 4
        return offset

    @rule(block=consumes(blocks))
    def free(self, block: int) -> None:
        """A block is freed once."""
        if block in self.used:
            assert LIB.gompy_arena_free(self.arena, block)
            del self.used[block]
        assert not LIB.gompy_arena_free(self.arena, block)

    @rule(offset=st.integers(0, SIZE + 70000))
    def free_nonsense(self, offset: int) -> None:
        """Freeing what isn't the start of a block in use is refused and changes nothing."""
        if offset not in self.used:
            assert not LIB.gompy_arena_free(self.arena, offset)

    @rule(offset=st.integers(0, SIZE - 1))
    def extent(self, offset: int) -> None:
        """From any byte in use it is at least as far to its block's end as was asked for; elsewhere it is no way."""
        for start, length in self.used.items():
            if start <= offset < start + length:
                assert length <= LIB.gompy_arena_extent(self.arena, offset) + offset - start <= 2 * length + 64
                return
        extent = LIB.gompy_arena_extent(self.arena, offset)
        if extent:  # behind the end of a block, in what it was rounded up by
            starts = [start for start in self.used if start <= offset]
            assert starts and LIB.gompy_arena_extent(self.arena, max(starts)) == extent + offset - max(starts)

    @invariant()
    def counts(self) -> None:
        """At least what was asked for is in use, and not much more."""
        asked = sum(max(size, 1) for size in self.used.values())
        used = LIB.gompy_arena_in_use(self.arena)
        assert asked <= used <= 2 * asked + 64 * len(self.used)


Machine.TestCase.settings = settings(max_examples=examples(60, 60), stateful_step_count=60, deadline=None)
TestMachine = Machine.TestCase


def test_freed_block_is_used_again(arena: int) -> None:
    """The block freed last serves the next request of its size: its pages are warm."""
    for size in (1, 100, 5000, 32768, 100_000, 1 << 20):
        first = LIB.gompy_arena_alloc(arena, size)
        other = LIB.gompy_arena_alloc(arena, size)
        assert LIB.gompy_arena_free(arena, first)
        assert LIB.gompy_arena_alloc(arena, size) == first
        assert LIB.gompy_arena_free(arena, first)
        assert LIB.gompy_arena_free(arena, other)


def test_neighbours_join(arena: int) -> None:
    """Freed in any order, neighbours become one block again."""
    blocks = [LIB.gompy_arena_alloc(arena, 1 << 20) for _ in range(8)]
    assert FULL not in blocks
    assert LIB.gompy_arena_alloc(arena, 1) == FULL
    for i in (3, 1, 7, 5, 0, 2, 6, 4):
        assert LIB.gompy_arena_free(arena, blocks[i])
    assert LIB.gompy_arena_alloc(arena, SIZE) == 0


def test_small_blocks_give_their_spans_back(arena: int) -> None:
    """An arena filled with 64-byte blocks and emptied has room for large ones again, all but one span."""
    blocks = []
    while (block := LIB.gompy_arena_alloc(arena, 64)) != FULL:
        blocks.append(block)
    assert len(blocks) == SIZE // 64
    assert len(set(blocks)) == len(blocks)
    for block in blocks:
        assert LIB.gompy_arena_free(arena, block)
    assert LIB.gompy_arena_alloc(arena, SIZE - 65536 * 2) != FULL
