"""Lanes of one warp that wait for each other's lock: those that have it run first.

`while (atomicCAS (&lock, 0, 1)); …; lock = 0;`: in the order of flow.py, lanes that leave a loop wait at its end for
all the others, which wait for them.  On a GPU since sm_70 they make progress.  So the code from a loop's exits as far
as the release of the lock becomes a part of the loop, by an edge that nobody takes: from behind the release to where
the next turn begins.  Lanes that turn back wait there until those that left have come as far.

That is an order of lanes as right as the other, so what is a lock needs to be likely only: a loop that stores nothing
but to variables of its own, and looks at a place, which is written behind it.  inlining.py brings what several
functions do into one.
"""

from __future__ import annotations

from .flow import Block, defined, in_order
from .opcodes import MEETS, OPCODES, STRONG, WRITES
from .places import Place, Places
from .syntax import Call, Function, Immediate, Instruction, Memory, Register, Special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Waits:
    """Loops that wait for a lock: those behind which the function gives it back, and the others."""

    __slots__ = ("released", "unreleased")

    def __init__(self, released: int, unreleased: int) -> None:
        self.released = released
        self.unreleased = unreleased


Attempt = tuple[str, tuple[Place, ...]]
Watched = dict[Place, set[Attempt]]
"""What a loop does to the places that it looks at."""
TOGETHER = frozenset(
    (
        *("shfl", "vote", "activemask", "redux", "match", "elect"),
        *("mma", "mmasparse", "wmma", "wmmaloaded", "wmmastored", "ldmatrix", "stmatrix", "movmatrix"),
    )
)
"""What lanes do with those that are there: one that is sent on alone would have its own values."""
BEYOND = 31
"""No lane has a greater number."""


def waits(function: Function, blocks: list[Block]) -> Waits:
    """What released_first would find."""
    found = [0, 0]
    known: Places | None = None
    for head, latches in back_edges(blocks).items():
        body = natural_loop(head, latches)
        if any(looks(code) for block in body for code in block.code):
            known = known or Places(function, blocks)
            if places := watched(body, known):
                found[releases(head, body, places, known, heads_around(head, blocks)) is None] += 1
    return Waits(*found)


def released_first(function: Function, blocks: list[Block], registers: list[Register]) -> list[Block]:
    """The blocks of a function whose registers are webs, in an order in which lanes that have a lock release it."""
    entry = blocks[0]
    instead: dict[Block, list[Block]] = {}
    known: Places | None = None
    for head in list(back_edges(blocks)):
        latches = back_edges(blocks).get(head, [])
        body = natural_loop(head, latches)
        if not any(looks(code) for block in body for code in block.code):
            continue
        if known is None:
            known = Places(function, blocks)
        places = watched(body, known)
        found = releases(head, body, places, known, heads_around(head, blocks)) if places else None
        if found is None:
            continue
        between, ends = found
        for block in between - body:
            instead.setdefault(block, []).append(head)
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


def heads_around(head: Block, blocks: list[Block]) -> set[Block]:
    """The heads of the loops that a loop is in."""
    every = back_edges(blocks).items()
    return {other for other, latches in every if other is not head and head in natural_loop(other, latches)}


def attempt(code: Instruction, known: Places) -> Attempt:
    """What is done to a place, by an atomic operation: its opcode and values."""
    return code.opcode, tuple(known.of(operand) for operand in code.operands[2:])


def looks(code: Instruction | Call) -> bool:
    """Whether an instruction is one by which a loop may wait for others."""
    if isinstance(code, Call):
        return False
    return code.base == "atom" or (code.base == "ld" and not STRONG.isdisjoint(code.mods))


def watched(body: set[Block], known: Places) -> Watched:
    """The places that a loop looks at, and by which operations; none if it does anything but wait.

    Atomic operations by numbers that it computes are no waiting: `do … while (atomicCAS (a, old, f (old)) != old)`.
    """
    found: Watched = {}
    inside = {register for block in body for code in block.code for register in defined(code)}
    stored: set[Place] = set()
    for block in body:
        for code in block.code:
            if isinstance(code, Call) or OPCODES[code.base].effect == MEETS:
                return {}
            if OPCODES[code.base].effect != WRITES:
                continue
            if not known.stores_own(code) or not isinstance(memory := code.operands[0], Memory):
                return {}
            stored.add(known.of(memory.base, memory.offset))
    for block in body:
        for code in block.code:
            if isinstance(code, Call) or not looks(code):
                continue
            if code.base == "atom" and not all(known.settled(operand, inside) for operand in code.operands[2:]):
                return {}
            memory = code.operands[1]
            if not isinstance(memory, Memory):
                return {}
            place = known.of(memory.base, memory.offset)
            if known.changes(place[0], inside, stored):
                return {}
            found.setdefault(place, set()).add(attempt(code, known))
    return found


def releases(
    head: Block, body: set[Block], places: Watched, known: Places, around: set[Block]
) -> tuple[set[Block], dict[Block, int]] | None:
    """The blocks from a loop as far as the releases of its lock, and behind which instruction of a block one is.

    None: there is no such release, or barriers are before it.  A next turn of a loop around it (`around`: their heads)
    is not looked at: lanes of one turn would be in another one's code, which the outer loop's blocks do not know.
    """
    ends: dict[Block, int] = {}

    def after(block: Block) -> list[Block]:
        if block not in body:
            for at, code in enumerate(block.code):
                if releases_one(code, places, known):
                    ends[block] = at + 1
                    return []
        return [successor for successor in block.successors if successor not in around]

    ahead = reached([head], after, set())
    if not ends:
        return None
    between = reached(list(ends), lambda block: [p for p in block.predecessors if p in ahead], {head})
    for block in between - body:
        if any(meets(code) for code in block.code[: ends.get(block)]):
            return None
    return between | body, ends


def may_release(code: Instruction) -> bool:
    """Whether an instruction writes memory as a release does."""
    return code.base in ("st", "atom", "red")


def releases_one(code: Instruction | Call, places: Watched, known: Places) -> bool:
    """Whether an instruction writes one of the places, and not as the loop does: that is the next try."""
    if isinstance(code, Call) or not may_release(code):
        return False
    memory = code.operands[1 if code.base == "atom" else 0]
    place = known.of(memory.base, memory.offset) if isinstance(memory, Memory) else (None, 0)
    return place in places and (code.base != "atom" or attempt(code, known) not in places[place])


def meets(code: Instruction | Call) -> bool:
    """Whether it is a barrier, or lanes have something of each other by it.

    Functions that are called with a lock in the hand have no barrier.
    """
    return not isinstance(code, Call) and (OPCODES[code.base].effect == MEETS or code.base in TOGETHER)


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
