"""Loops that are entered at two places, made loops with one head by a copy of what comes before it.

Clang threads jumps: of `while (true) { if (first) A; B; }` it makes a loop that begins at A and at B, as `first` stays
what it is.  Lanes that begin at B would not wait for those that begin at A and come to B, too: A is in the loop, and
its turn is behind B's (flow.py).  With a copy of A before the loop they meet where it begins.
"""

from __future__ import annotations

from .flow import Block, in_order, is_meeting, loops, post_dominators
from .syntax import copied

LARGEST = 1000
"""Instructions that are copied in a function at most."""


def with_one_entry(blocks: list[Block]) -> list[Block]:
    """The blocks of a function, with copies where a loop is entered before the block at which its lanes meet."""
    room, left = LARGEST, set[Block]()
    while found := entered_twice(blocks, left):
        inside, entries = found
        chosen = before_meeting(blocks, inside, entries, room)
        if chosen is None:
            left.add(inside[0])
            continue
        room -= sum(len(block.code) for block in chosen)
        copy(set(inside), chosen)
        blocks = in_order(blocks[0])
    return blocks


def entered_twice(blocks: list[Block], left: set[Block]) -> tuple[list[Block], list[Block]] | None:
    """A loop that is entered at several places, but for those that begin with a block of `left`; and these places."""
    for head, end in sorted(loops(blocks).items()):
        inside = blocks[head : end + 1]
        if inside[0] in left:
            continue
        entries = [b for b in inside if any(not head <= before.index <= end for before in b.predecessors)]
        if len(entries) > 1:
            return inside, entries
    return None


def before_meeting(blocks: list[Block], inside: list[Block], entries: list[Block], room: int) -> list[Block] | None:
    """What comes behind the other entries of a loop, and before the one at which lanes from all of them meet.

    None: there is no such entry, a barrier of the block is before it, or there is no room.
    """
    immediate = post_dominators(blocks)
    loop = set(inside)
    best: list[Block] | None = None
    for meeting in entries:
        others = [block for block in entries if block is not meeting]
        if not all(follows(immediate, b.index, meeting.index) or b not in behind([b], loop, meeting) for b in others):
            continue
        found = {*others, *behind(others, loop, meeting)}
        codes = [code for block in found for code in block.code]
        if len(codes) <= room and not any(map(is_meeting, codes)):
            best = sorted(found, key=lambda block: block.index)
            room = len(codes) - 1
    return best


def behind(first: list[Block], loop: set[Block], end: Block) -> set[Block]:
    """The blocks of a loop that one comes to from others without passing `end`."""
    found, todo = set[Block](), list(first)
    while todo:
        for block in todo.pop().successors:
            if block in loop and block is not end and block not in found:
                found.add(block)
                todo.append(block)
    return found


def follows(immediate: list[int], block: int, other: int) -> bool:
    """Whether a block is on every way from another one to the end."""
    while block != immediate[block]:
        block = immediate[block]
        if block == other:
            return True
    return False


def copy(inside: set[Block], chosen: list[Block]) -> None:
    """Lead who enters a loop at one of the blocks to a copy of them."""
    copies = {b: Block(0, [copied(c) for c in b.code], b.kind, b.guard, b.negated, b.line) for b in chosen}
    for block, made in copies.items():
        made.successors = [copies.get(successor, successor) for successor in block.successors]
        for before in block.predecessors:
            if before not in inside:
                before.successors = [copies.get(successor, successor) for successor in before.successors]
