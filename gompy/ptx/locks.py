"""Lanes of one warp that wait for each other's lock: those that have it run first.

`while (atomicCAS (&lock, 0, 1)); …; lock = 0;`: in the order of flow.py, lanes that leave a loop wait at its end for
all the others, which wait for them.  On a GPU since sm_70 they make progress.  So the code from a loop's exits as far
as the release of the lock becomes a part of the loop, by an edge that nobody takes: from behind the release to where
the next turn begins.  Lanes that turn back wait there until those that left have come as far.

That is an order of lanes as right as the other, so what is a lock needs to be likely only: a loop that stores nothing
and looks at a place, which is written behind it.
"""

from __future__ import annotations

from .flow import Block, defined, in_order
from .opcodes import MEETS, OPCODES, STRONG, WRITES
from .syntax import Call, Immediate, Instruction, Memory, Operand, Register, Special, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

DEPTH = 16
"""Definitions that are followed at most."""
BEYOND = 31
"""No lane has a greater number."""

Place = tuple[object, int]
"""What an address is computed from, and the bytes from there on."""


def released_first(blocks: list[Block], registers: list[Register]) -> list[Block]:
    """The blocks of a function whose registers are webs, in an order in which lanes that have a lock release it."""
    entry = blocks[0]
    instead: dict[Block, Block] = {}
    single: dict[Register, Instruction | Call | None] | None = None
    for head in list(back_edges(blocks)):
        latches = back_edges(blocks).get(head, [])
        body = natural_loop(head, latches)
        if not any(looks(code) for block in body for code in block.code):
            continue
        if single is None:
            single = definitions(blocks)
        places = watched(body, single)
        found = releases(head, body, places, single) if places else None
        if found is None:
            continue
        between, ends = found
        instead.update(dict.fromkeys(between - body, head))
        join(head, latches, ends, registers)
        blocks = in_order(entry, instead)
    return blocks


def back_edges(blocks: list[Block]) -> dict[Block, list[Block]]:
    """The blocks that jump back, by where they jump to."""
    found: dict[Block, list[Block]] = {}
    for block in blocks:
        for successor in block.successors:
            if successor.index <= block.index:
                found.setdefault(successor, []).append(block)
    return found


def natural_loop(head: Block, latches: list[Block]) -> set[Block]:
    """The blocks from which one comes to the latches without the head, and the head."""
    return reached(latches, lambda block: block.predecessors, {head})


def definitions(blocks: list[Block]) -> dict[Register, Instruction | Call | None]:
    """What sets each register that is set once; None: several do, or under a guard."""
    found: dict[Register, Instruction | Call | None] = {}
    for block in blocks:
        for code in block.code:
            for register in defined(code):
                found[register] = None if register in found or code.guard is not None else code
    return found


def looks(code: Instruction | Call) -> bool:
    """Whether an instruction is one by which a loop may wait for others."""
    if isinstance(code, Call):
        return False
    return code.base == "atom" or (code.base == "ld" and not STRONG.isdisjoint(code.mods))


def watched(body: set[Block], single: dict[Register, Instruction | Call | None]) -> set[Place]:
    """The places that a loop looks at; none if it does anything but wait.

    Atomic operations by numbers that it computes are no waiting: `do … while (atomicCAS (a, old, f (old)) != old)`.
    """
    found: set[Place] = set()
    own = {register for block in body for code in block.code for register in defined(code)}
    for block in body:
        for code in block.code:
            if isinstance(code, Call) or OPCODES[code.base].effect in (WRITES, MEETS):
                return set()
            if not looks(code):
                continue
            if code.base == "atom" and any(operand in own for operand in code.operands[2:]):
                return set()
            memory = code.operands[1]
            place = place_of(memory, single) if isinstance(memory, Memory) else (None, 0)
            if place[0] is None or place[0] in own:
                return set()
            found.add(place)
    return found


def place_of(memory: Memory, single: dict[Register, Instruction | Call | None]) -> Place:
    """The place of an access."""
    base: Operand = memory.base
    offset = memory.offset
    for _ in range(DEPTH):
        if isinstance(base, Symbol):
            return base.name, offset + base.offset
        code = single.get(base) if isinstance(base, Register) else None
        if not isinstance(code, Instruction):
            break
        source = code.operands[1]
        if code.base == "add" and isinstance(code.operands[2], Immediate):
            offset += code.operands[2].value
        elif code.base == "ld" and "param" in code.mods and isinstance(source, Memory):
            return source, offset
        elif code.base not in ("mov", "cvta"):
            break
        base = source
    return base, offset


def releases(
    head: Block, body: set[Block], places: set[Place], single: dict[Register, Instruction | Call | None]
) -> tuple[set[Block], dict[Block, int]] | None:
    """The blocks from a loop as far as the releases of its lock, and behind which instruction of a block one is.

    None: there is no such release, or barriers are before it.
    """
    ends: dict[Block, int] = {}

    def after(block: Block) -> list[Block]:
        if block not in body:
            for at, code in enumerate(block.code):
                if releases_one(code, places, single):
                    ends[block] = at + 1
                    return []
        return block.successors

    ahead = reached([head], after, set())
    if not ends:
        return None
    between = reached(list(ends), lambda block: [p for p in block.predecessors if p in ahead], {head})
    for block in between - body:
        if any(meets(code) for code in block.code[: ends.get(block)]):
            return None
    return between | body, ends


def releases_one(
    code: Instruction | Call, places: set[Place], single: dict[Register, Instruction | Call | None]
) -> bool:
    """Whether an instruction writes one of the places."""
    if isinstance(code, Call) or code.base not in ("st", "atom", "red"):
        return False
    memory = code.operands[1 if code.base == "atom" else 0]
    return isinstance(memory, Memory) and place_of(memory, single) in places


def meets(code: Instruction | Call) -> bool:
    """Whether it is a barrier.  Functions that are called with a lock in the hand have none."""
    return not isinstance(code, Call) and OPCODES[code.base].effect == MEETS


def reached(start: list[Block], ways: Callable[[Block], list[Block]], found: set[Block]) -> set[Block]:
    """The blocks that one comes to, besides those that are `found` already."""
    todo = list(start)
    while todo:
        block = todo.pop()
        if block not in found:
            found.add(block)
            todo += ways(block)
    return found


def join(head: Block, latches: list[Block], ends: dict[Block, int], registers: list[Register]) -> None:
    """Have a loop's turns end where its lock has been released."""
    turn = Block(0, [], line=head.line, successors=[head])
    for latch in latches:
        latch.successors = [turn if successor is head else successor for successor in latch.successors]
    for block, at in ends.items():
        rest = Block(0, block.code[at:], block.kind, block.guard, block.negated, block.line, block.successors)
        never = Register("%never", "pred", len(registers))
        registers.append(never)
        line = block.code[at - 1].line
        test = (never, Special("%laneid"), Immediate(BEYOND))
        never_true = Instruction("setp.gt.u32", test, line, None, False, "setp", ("gt", "u32"))
        block.code = [*block.code[:at], never_true]
        block.kind, block.guard, block.negated, block.line = "branch", never, False, line
        block.successors = [turn, rest]
