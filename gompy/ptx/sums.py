"""Atomic additions that nobody waits for: what compiled code tells the executor of them (sums.h).

An addition without a result is visible to other threads at some time, not at once (PTX ISA, "Memory consistency
model"): what makes it so is a fence, a barrier, or the end of the kernel, and the thread's own next accesses.  Where
none of these but the end follows, a host thread may gather the sums of its blocks, and add them once.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .flow import Block, used
from .opcodes import ATOMIC, MEETS, OPCODES, ORDERS, READS, WRITES, YIELDS
from .syntax import Call, Instruction, Register, Sink
from .uniform import Analysis

OWN = frozenset(("param", "const", "shared", "local"))
"""Spaces that such an addition is not in; one in shared memory is done at once."""
WAITED_FOR = frozenset(("acquire", "release", "acq_rel", "sys", "cluster"))
"""Words of atomic operations that others may wait for."""
MATTERS = frozenset((READS, WRITES, ORDERS, MEETS, YIELDS))


def is_addition(code: Instruction) -> bool:
    """Whether it is an atomic addition that orders nothing."""
    return code.base in ("atom", "red") and "add" in code.mods and WAITED_FOR.isdisjoint(code.mods)


class Sums:
    """The atomic operations of a function whose results are not used, and those among them that may be done later."""

    def __init__(self, analysis: Analysis) -> None:
        self.a = analysis
        self.unused: set[int] = set()
        self.later: set[int] = set()
        read = {r for block in analysis.blocks for code in block.code for r in used(code)}
        read |= {block.guard for block in analysis.blocks if block.guard is not None}
        types = set()
        places = []
        for block in analysis.blocks:
            for at, code in enumerate(block.code):
                if isinstance(code, Call) or OPCODES.get(code.base) is None or OPCODES[code.base].effect != ATOMIC:
                    continue
                result = code.operands[0] if code.base == "atom" else None
                if result is None or isinstance(result, Sink) or (isinstance(result, Register) and result not in read):
                    self.unused.add(id(code))
                    if is_addition(code) and code.mods[-1] in abi.ATOM_TYPES:
                        types.add(code.mods[-1].replace("s32", "u32").replace("s64", "u64"))
                        places.append((block, at, code))
        if len(types) == 1:
            self.later = {id(code) for block, at, code in places if self.is_last(block, at)}

    def is_last(self, block: Block, at: int) -> bool:
        """Whether nothing follows that the addition would have to be seen by."""
        if any(self.matters(code) for code in block.code[at + 1 :]):
            return False
        seen: set[int] = set()
        todo = list(block.successors)
        while todo:
            one = todo.pop()
            if one.index not in seen:
                seen.add(one.index)
                if any(self.matters(code) for code in one.code):
                    return False
                todo += one.successors
        return True

    def matters(self, code: Instruction | Call) -> bool:
        """Whether it accesses memory that others share, but for further additions, or orders accesses."""
        if isinstance(code, Call):
            return True
        record = OPCODES.get(code.base)
        if record is None:
            return True
        if record.effect == ATOMIC:
            return not (id(code) in self.unused and is_addition(code))
        if record.effect in (READS, WRITES):
            return code.base == "cp" or OWN.isdisjoint(code.mods)  # cp.async.shared.global reads what is shared
        return record.effect in MATTERS
