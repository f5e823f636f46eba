"""Lines of 64 bytes of which checked code has seen that all are written: accesses to them need no other look.

An access by one address keeps the line that it met last, in a loop that neither calls, waits nor reads what others
order by.  What others free meanwhile they free in no order with it.  Line and alignment are compared at once.
"""

from __future__ import annotations

from .emit import Emitter
from .opcodes import ATOMIC, MEETS, ORDERS, STRONG, YIELDS, having
from .syntax import Call, Instruction

LINE = 64
NOTHING = -1
"""What no address has but for the bits that are left out."""
LOUD = having(ATOMIC, ORDERS, MEETS, YIELDS)
ELSEWHERE = frozenset(("shared", "local", "param"))


def begin(em: Emitter, address: str, size: int, space: str, fast: str) -> Access:
    """Begin an access by a scalar address: it goes on at `fast` if it meets the line that it has met before.

    What is no span in a loop's copy goes to and fro: it would hardly meet one twice.
    """
    if em.seen is None or em.trusted or space in ELSEWHERE or size >= LINE or not in_quiet_loop(em, em.seen.quiet):
        return Access(em, "", address)
    slot = em.alloca("i64", 8)
    em.begin.append(f"  store i64 {NOTHING}, ptr {slot}")
    em.seen.slots.append(slot)
    key = em.new(f"and i64 {address}, {-LINE | size - 1}")
    other = em.fresh("other")
    test = em.new(f"icmp eq i64 {key}, {em.new(f'load i64, ptr {slot}')}")
    em.put(f"br i1 {test}, label %{fast}, label %{other}, !prof !1")
    em.label(other)
    return Access(em, slot, address)


def in_quiet_loop(em: Emitter, quiet: dict[tuple[int, int], bool]) -> bool:
    """Whether the innermost loop around the block at hand forgets nowhere; `quiet` is what is known."""
    around = (loop for loop in em.a.loops.items() if loop[0] <= em.block <= loop[1])
    loop = min(around, key=lambda loop: loop[1] - loop[0], default=None)
    if loop is None:
        return False
    if loop not in quiet:
        blocks = em.a.blocks[loop[0] : loop[1] + 1]
        quiet[loop] = not any(forgets(code) for block in blocks for code in block.code)
    return quiet[loop]


def forgets(code: Instruction | Call) -> bool:
    """Whether memory may have been freed in an order with what follows an instruction."""
    return isinstance(code, Call) or code.base in LOUD or not STRONG.isdisjoint(code.mods)


def forget(em: Emitter) -> None:
    """Others may free memory here."""
    if em.seen is not None:
        em.seen.places.append(len(em.lines))
        em.lines.append("")


def complete(em: Emitter) -> None:
    """All slots are known."""
    if em.seen is not None:
        for at in em.seen.places:
            em.lines[at] = "\n".join(f"  store i64 {NOTHING}, ptr {slot}" for slot in em.seen.slots)


class Access:
    """An access, between the look at its slot and itself."""

    def __init__(self, em: Emitter, slot: str, address: str) -> None:
        self.em, self.slot, self.address = em, slot, address

    def look(self, shadow: str) -> None:
        """What it accesses is written: keep its line if all of that is, by the shadow of device memory."""
        em = self.em
        first = em.new(f"and i64 {self.address}, {-LINE}")
        base, _ = em.limits()
        offset = em.new(f"sub i64 {first}, {base}")
        place = em.new(f"getelementptr i8, ptr {shadow}, i64 {offset}")
        bytes_ = em.new(f"load <{LINE} x i8>, ptr {place}, align 1")
        good = em.new(f"icmp eq <{LINE} x i8> {bytes_}, splat (i8 3)")
        whole = em.new(f"icmp eq i{LINE} {em.new(f'bitcast <{LINE} x i1> {good} to i{LINE}')}, -1")
        last = em.new(f"load i64, ptr {self.slot}")
        em.put(f"store i64 {em.new(f'select i1 {whole}, i64 {first}, i64 {last}')}, ptr {self.slot}")

    def end(self, place: str, fast: str) -> str:
        """Both ways meet: the place that is accessed."""
        em = self.em
        em.join(fast)
        return em.new(f"inttoptr i64 {self.address} to ptr") if self.slot else place
