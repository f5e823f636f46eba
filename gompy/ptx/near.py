"""One test for rows of device memory by the same register in a block, as LLVM IR (`a[i - 1] + a[i] + a[i + 1]`).

The last bytes of memory are left out of what is tested, as many as the longest access takes (emit.LONGEST).  So where
the lowest of some rows begins in memory, those are there that end within so many bytes behind its begin.
"""

from __future__ import annotations

from .access import in_memory
from .emit import LONGEST, Emitter
from .syntax import TYPE_BYTES, Instruction, Memory, Register

ALTOGETHER = frozenset(("v2", "v4"))


def inside(em: Emitter, register: Register | None, first: str, offset: int, size: int) -> str:
    """Whether a row of elements of `size` bytes, `offset` from where a register points, is in memory (i1); `first` is
    its address.  Asked once in a block for all that are near."""
    if register is None or not em.fast or em.code is None or em.code.guard is not None:
        return in_memory(em, first)
    found = rows(em, register, size)
    least = min(found, default=0)
    if len(found) < 2 or max(found) - least + 32 * size > LONGEST:
        return in_memory(em, first)
    key = ("row", register, len(em.definitions.get(register, ())), em.changed.get(register), size)
    if key not in em.tested:
        em.tested[key] = in_memory(em, em.new(f"add i64 {first}, {least - offset}"))
    return em.tested[key]


def rows(em: Emitter, register: Register, size: int) -> list[int]:
    """The offsets of accesses to single elements of a size by a register, in the block at hand."""
    found = []
    for code in em.a.blocks[em.block].code:
        if not isinstance(code, Instruction) or code.base not in ("ld", "st") or not ALTOGETHER.isdisjoint(code.mods):
            continue
        if TYPE_BYTES.get(code.mods[-1] if code.mods else "") == size:
            found += [one.offset for one in code.operands if isinstance(one, Memory) and one.base == register]
    return found
