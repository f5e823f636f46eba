"""cp.async.bulk between global and shared memory, without tensors (PTX ISA 9.7.9.25): bulk_copies.pxi does it.

A copy is done at once, as those of asynchronous.py are: groups of copies are never waited for.
"""

from __future__ import annotations

from . import racing
from .access import address_of
from .emit import Emitter
from .forms import unknown
from .syntax import Instruction, Memory, Operand

DONE, HINT, MASK = "mbarrier::complete_tx::bytes", "L2::cache_hint", "cp_mask"
OWN = frozenset(("shared::cta", "shared::cluster"))
"""Shared memory of the block, which is all of its cluster's."""


def copy(em: Emitter, code: Instruction) -> None:
    """cp.async.bulk.*: copies in both directions, .commit_group, .wait_group{.read}, .prefetch.L2.global."""
    mods = code.mods[2:]
    counts = {("commit_group",): 0, ("wait_group",): 1, ("wait_group", "read"): 1}
    prefetches = {("prefetch", "L2", "global"): 2, ("prefetch", "L2", "global", HINT): 3}
    count = (counts | prefetches).get(mods)
    if count is not None:
        if len(code.operands) != count:
            em.fail(f"'{code.opcode}' needs {count} operands, {len(code.operands)} given")
        return
    rest = [m for m in mods if m not in (HINT, MASK)]
    inwards = len(rest) == 3 and rest[0] in OWN and rest[1:] == ["global", DONE]
    if (not inwards and rest != ["global", "shared::cta", "bulk_group"]) or (inwards and MASK in mods):
        unknown(em, code)
    given = list(code.operands)
    wanted = 3 + inwards + (HINT in mods) + (MASK in mods)
    if len(given) != wanted:
        em.fail(f"'{code.opcode}' needs {wanted} operands, {len(given)} given")
    mask = given.pop() if MASK in mods else None
    perform(em, code, given[0], given[1], given[2], given[3] if inwards else None, mask)


def perform(
    em: Emitter, code: Instruction, to: Operand, source: Operand, size: Operand, barrier: Operand | None,
    mask: Operand | None,
) -> None:  # fmt: skip
    """The copy of each lane, and what its barrier is told of it."""
    addresses = []
    for place in (to, source) if barrier is None else (to, source, barrier):
        if not isinstance(place, Memory):
            em.fail(f"'{code.opcode}' needs addresses")
        addresses.append(address_of(em, place))
    if em.racing and barrier is not None:
        racing.fence(em)
        racing.strong(em, addresses[2], 8, True)
    spilled = [em.spill(address, number) for number, address in enumerate(addresses)]
    count = em.spill(em.fit(em.read(size, "u32"), "i64"), 3)
    told = f"ptr {spilled[2]}" if barrier is not None else "ptr null"
    kept = "ptr null"
    if mask is not None:
        kept = f"ptr {em.spill(em.fit(em.read(mask, 'b16'), 'i64'), 2)}"
    arguments = f"ptr {spilled[0]}, ptr {spilled[1]}, ptr {count}, {told}, {kept}"
    em.helper("bulk", f"ptr %w, i32 {em.active}, {arguments}, {em.site()}")
