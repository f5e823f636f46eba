"""Barriers that all warps of a block come to by the same way: no branch before them depends on what differs between
warps, so that the next warp goes on where this one did, and nobody needs to look (fission.py).

What may differ is found by a fix point: registers that do → branches that do → the blocks that some warps reach without
the others → registers that are set there.
"""

from __future__ import annotations

from .flow import Block, defined, post_dominators, used
from .opcodes import LANEWISE, OPCODES
from .syntax import Call, Instruction, Register, Special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .uniform import Analysis

SAME = frozenset(("%ntid", "%ctaid", "%nctaid", "%nwarpid", "%gridid", "%smid", "%nsmid"))
"""Special registers that all threads of a block have alike."""


def go_same_way(a: Analysis, meets: Callable[[Instruction | Call], bool]) -> bool:
    """Whether all barriers of a kernel are such ones."""
    if not any(meets(code) for block in a.blocks for code in block.code):
        return False
    apart = blocks_apart(a)
    return not any(meets(code) for index in apart for code in a.blocks[index].code)


def blocks_apart(a: Analysis) -> set[int]:
    """The blocks that some warps may reach without the others, or more often."""
    differ: set[Register] = set(a.varying)
    joins = post_dominators(a.blocks)
    apart: set[int] = set()
    while True:
        before = len(differ), len(apart)
        for block in a.blocks:
            if block.guard is not None and block.guard in differ and len(block.successors) > 1:
                apart |= between(a.blocks, block, joins[block.index])
        for block in a.blocks:
            for code in block.code:
                if block.index in apart or differs(code, differ):
                    differ.update(defined(code))
        if before == (len(differ), len(apart)):
            return apart


def between(blocks: list[Block], branch: Block, join: int) -> set[int]:
    """The blocks from a branch to where its ways meet."""
    found: set[int] = set()
    todo = [s.index for s in branch.successors]
    while todo:
        index = todo.pop()
        if index != join and index not in found:
            found.add(index)
            todo += [s.index for s in blocks[index].successors]
    return found


def differs(code: Instruction | Call, differ: set[Register]) -> bool:
    """Whether a result may be another one in another warp that comes to the same instruction by the same way."""
    if isinstance(code, Call):
        return True
    record = OPCODES.get(code.base)
    is_parameter = code.base == "ld" and "param" in code.mods
    if record is None or (not is_parameter and (record.lanes != LANEWISE or record.effect)):
        return True
    if any(o.name.partition(".")[0] not in SAME for o in code.operands if isinstance(o, Special)):
        return True
    return any(register in differ for register in used(code))
