"""What the next warp of a block will read, asked for while this one works, as LLVM IR.

A call that runs all warps of a block runs each as far as the next barrier (fission.py).  A warp that reads many rows on
its way (`for (k = 0; k < 16; k++) count (a[(block * 16 + k) * 256 + tid])`) goes to as many places of memory, for a few
cache lines each.  The processor foresees none of them, and what is computed between two rows keeps it from beginning
the next one early.  The next warp's rows lie behind this one's, so a row's load asks for what is behind it.

So does a load of numbers that say what is loaded next (`a[index[i]]`).  All that the processor can fetch at a time is
taken by the words that the warps before wait for; the next warp's can be asked for as soon as its numbers are there.
"""

from __future__ import annotations

from .flow import Block, is_meeting
from .indices import numbers
from .syntax import Instruction, Memory
from .uniform import Analysis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .emit import Emitter

LINE = 64
"""Bytes of a cache line."""
MANY = 4
"""Rows between two barriers that are worth it."""
NEAR = frozenset(("shared", "param", "local", "const"))
"""Spaces whose memory is in the first cache."""


def pays(em: Emitter, code: Instruction) -> bool:
    """Whether a load of a row is one of many on a warp's way to a barrier, or of numbers, where one call runs all
    warps."""
    if not em.fast or em.checked or not em.a.whole:
        return False
    if em.rows_read is None:
        em.rows_read = read_many(em)
    return id(code) in em.rows_read


def read_many(em: Emitter) -> set[int]:
    """The loads of rows of device memory that are many between two barriers: all of a function with MANY, and those of
    loops without a barrier in it.  Those of numbers, wherever they are."""
    a = em.a
    meets = [any(is_meeting(code) for code in block.code) for block in a.blocks]
    loads = [(block, code) for block in a.blocks for code in block.code if is_row(em, code)]
    gathering = set().union(*(numbers(em, block.code) for block in a.blocks))
    found = {id(code) for _, code in loads if id(code) in gathering}
    if not any(meets):
        return found  # the warps go through memory one after the other, each all of its way
    if len(loads) >= MANY:
        return {id(code) for _, code in loads}
    return found | {id(code) for block, code in loads if goes_round(a, block, meets)}


def is_row(em: Emitter, code: object) -> bool:
    """Whether a statement is a load of device memory at addresses that are a step apart."""
    if not isinstance(code, Instruction) or code.base != "ld" or not NEAR.isdisjoint(code.mods):
        return False
    memory = code.operands[1]
    return isinstance(memory, Memory) and bool(em.strides().of(memory.base))


def goes_round(a: Analysis, block: Block, meets: list[bool]) -> bool:
    """Whether a block is in a loop without a barrier."""
    return any(head <= block.index <= end and not any(meets[head : end + 1]) for head, end in a.loops.items())


def fetch(em: Emitter, place: str, row: int) -> None:
    """Ask for the row of `row` bytes behind the one at a pointer."""
    for at in range(row, 2 * row, LINE):
        line = em.new(f"getelementptr i8, ptr {place}, i64 {at}")
        em.put(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")
