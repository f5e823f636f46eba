"""From one warp of a block to the next, as LLVM IR: the code between two barriers is a loop over warps (fission.py).

A warp that comes to a barrier leaves the processor to the next one, which is most likely where this one went on: a look
at its state, and a jump to there.  Only the others go through the switch over all barriers, as a warp does that begins.
Where no branch can part the warps (same_way.py) there is no state: all of a round begin where the first one did.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import racing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .emit import Emitter
    from .flow import Block
    from .syntax import Call, Instruction

OWN = {"w": "ptr", "m": "i32", "own": "ptr", "state": "ptr"}
"""What differs between warps: the warp, its mask, its row of registers, its state; by LLVM type."""
FOLLOWED = (",", ")", " ", "\n")
"""What may stand behind such a name."""
PARTS = ("B", "C", "L", "back")
"""Labels that other parts of a function jump to, by their first letters: a number follows."""
GUESSES = 3
"""Places at most that a barrier looks for the next warp at."""


def origins(blocks: list[Block], meets: Callable[[Instruction | Call], bool]) -> tuple[list[list[int]], list[int]]:
    """By barrier in the order of the code: the barriers behind which a warp may have gone on last, the nearest first.
    And the same of the function's end.

    Barriers count from 1; 0 is where a warp begins.
    """
    number: dict[tuple[int, int], int] = {}
    for block in blocks:
        for place, code in enumerate(block.code):
            if meets(code):
                number[block.index, place] = len(number) + 1
    found: list[set[int]] = [set() for _ in number]
    before: list[set[int]] = [set() for _ in blocks]
    before[0].add(0)
    ends: set[int] = set()
    todo = [blocks[0]]
    while todo:
        block = todo.pop()
        now = before[block.index]
        for place in range(len(block.code)):
            k = number.get((block.index, place))
            if k is not None:
                found[k - 1] |= now
                now = {k}
        if not block.successors:
            ends |= now
        for successor in block.successors:
            if not (now <= before[successor.index] and before[successor.index]):
                before[successor.index] |= now
                todo.append(successor)
    return [nearest_first(some, k) for k, some in enumerate(found, 1)], nearest_first(ends, len(number) + 1)


def nearest_first(barriers: set[int], k: int) -> list[int]:
    """Barriers in the order in which one looks for the warps that come to barrier k."""
    return sorted(barriers, key=lambda one: (one > k, k - one))


def look(em: Emitter, warp: str) -> tuple[str, str, str]:
    """A warp's number and state: the number, the place of the state, and the state."""
    number = em.new(f"getelementptr i8, ptr {warp}, i64 {abi.WARP['warpid']}")
    number = em.new(f"zext i32 {em.new(f'load i32, ptr {number}')} to i64")
    state = em.new(f"getelementptr i8, ptr %states, i64 {number}")
    return number, state, em.new(f"load i8, ptr {state}")


def take(em: Emitter, warp: str, number: str, state: str, stride: int) -> None:
    """A warp's turn: what differs between warps."""
    mask = em.new(f"getelementptr i8, ptr {warp}, i64 {abi.WARP['mask']}")
    own = em.new(f"getelementptr i8, ptr %rows, i64 {em.new(f'mul nuw i64 {number}, {stride}')}")
    em.put(f"store ptr {warp}, ptr %at")
    em.put(f"store ptr {warp}, ptr %w_")
    em.put(f"store i32 {em.new(f'load i32, ptr {mask}')}, ptr %m_")
    em.put(f"store ptr {own}, ptr %own_")
    em.put(f"store ptr {state}, ptr %state_")


def give(em: Emitter, guesses: list[int], stride: int) -> None:
    """The end of a warp's turn at a barrier: the next one's, or if it was the last one, all once more."""
    after = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['following']}")
    warp = em.new(f"load ptr, ptr {after}")
    go = em.fresh("go")
    em.put(f"br i1 {em.new(f'icmp eq ptr {warp}, null')}, label %round, label %{go}")
    em.label(go)
    number, state, now = look(em, warp)
    for at in guesses[:GUESSES]:
        this, other = em.fresh("this"), em.fresh("other")
        em.put(f"br i1 {em.new(f'icmp eq i8 {now}, {at}')}, label %{this}, label %{other}")
        em.label(this)
        take(em, warp, number, state, stride)
        em.put(f"br label %again{at}")
        em.label(other)
    em.put("br label %next")


def take_along(em: Emitter, warp: str, own: str) -> None:
    """A warp's turn, where all go the same way: what differs between warps."""
    mask = em.new(f"getelementptr i8, ptr {warp}, i64 {abi.WARP['mask']}")
    em.put(f"store ptr {warp}, ptr %at")
    em.put(f"store ptr {warp}, ptr %w_")
    em.put(f"store i32 {em.new(f'load i32, ptr {mask}')}, ptr %m_")
    em.put(f"store ptr {own}, ptr %own_")


def give_along(em: Emitter, begins: list[int], stride: int, last: str) -> None:
    """The end of a warp's turn at a barrier, or of all of it, where all go the same way: the next one's, from the
    barrier that this round began at; behind the last warp `last`."""
    after = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['following']}")
    warp = em.new(f"load ptr, ptr {after}")
    go = em.fresh("go")
    em.put(f"br i1 {em.new(f'icmp eq ptr {warp}, null')}, label %{last}, label %{go}")
    em.label(go)
    take_along(em, warp, em.new(f"getelementptr i8, ptr %own, i64 {stride}"))
    if len(begins) == 1:
        em.put(f"br label %again{begins[0]}")
        return
    cases = " ".join(f"i8 {k}, label %again{k}" for k in begins[1:])
    em.put(f"switch i8 {em.new('load i8, ptr %came_')}, label %again{begins[0]} [ {cases} ]")


def round_along(em: Emitter, k: int) -> None:
    """All warps have come to barrier k: a round from there."""
    em.label(f"round{k}")
    if em.racing:
        racing.meet(em, "null")
    em.put(f"store i8 {k}, ptr %came_")
    take_along(em, "%first", "%rows")
    em.put(f"br label %back{k}")


def enter_along(em: Emitter, count: int, once: bool) -> None:
    """The first warp's turn, of warps that go the same way.

    For the second way to each place see `enter`; there is none where barriers are come to `once`: so little is between
    them that LLVM's loops pay there.
    """
    em.put("store i8 0, ptr %came_")
    take_along(em, "%first", "%rows")
    if once:
        em.put("br label %begin")
        twice(em, count)
        return
    em.put("br i1 %never, label %pick2, label %begin, !prof !2")
    em.label("pick2")
    anywhere = em.new('call i8 asm sideeffect "", "=q"()')
    cases = " ".join(f"i8 {k}, label %again{k}" for k in range(1, count + 1))
    em.put(f"switch i8 {anywhere}, label %again0 [ {cases} ]")
    twice(em, count)


def enter(em: Emitter, count: int) -> None:
    """To where a warp's state says, of `count` barriers.

    There are two ways to each place, one of which is never gone: what has two entries is no loop to LLVM.  It would
    move all constants before it, and load them anew behind each call.
    """
    em.put("br i1 %never, label %pick2, label %pick1, !prof !2")
    for number, name in ((1, "back"), (2, "again")):
        em.label(f"pick{number}")
        now = em.new(f"load i8, ptr {em.new('load ptr, ptr %state_')}")
        cases = " ".join(f"i8 {k}, label %{place(name, k)}" for k in range(count + 1))
        em.put(f"switch i8 {now}, label %next [ {cases} ]")
    twice(em, count)


def twice(em: Emitter, count: int) -> None:
    """The second entry of each place."""
    for k in range(count + 1):
        em.label(f"again{k}")
        em.put('call void asm sideeffect "", ""()')
        em.put(f"br label %{place('back', k)}")


def place(name: str, k: int) -> str:
    """The label of barrier k, or of the begin."""
    return "begin" if name == "back" and k == 0 else f"{name}{k}"


def named(lines: list[str]) -> list[str]:
    """The same lines with names of each part's own for what differs between warps: which one it is may have changed
    wherever other parts jump to."""
    found: list[str] = []
    start = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or is_part(lines[at]):
            found.append(of_part("\n".join(lines[start:at]) + "\n", len(found)))
            start = at
    return found


def is_part(line: str) -> bool:
    """Whether a line is a label that other parts jump to."""
    if line[-1:] != ":" or line[:1] == " ":
        return False
    return line == "leave:" or any(line.startswith(word) and line[len(word) : -1].isdigit() for word in PARTS)


def of_part(text: str, number: int) -> str:
    """One part, with its own names."""
    loads = ""
    for name, kind in OWN.items():
        mine = f"%{name}.{number}"
        changed = text
        for after in FOLLOWED:
            changed = changed.replace(f"%{name}{after}", mine + after)
        if changed != text:
            loads += f"  {mine} = load {kind}, ptr %{name}_\n"
            text = changed
    label, colon, rest = text.partition(":\n") if is_part(text.partition("\n")[0]) else ("", "", text)
    return (label + colon + loads + rest)[:-1]
