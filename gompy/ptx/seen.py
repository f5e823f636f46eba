"""Lines of 64 bytes of which checked code has seen that all are written: accesses to them need no other look.

An access by one address in a loop that neither calls nor waits keeps the line that it met last.  In such a loop nobody
frees memory, and what has been written stays so.  What is compared is the line and the alignment at once.
"""

from __future__ import annotations

from .opcodes import ATOMIC, MEETS, ORDERS, YIELDS, having
from .syntax import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .emit import Emitter

LINE = 64
NOTHING = -1
"""What no address has but for the bits that are left out."""
LOUD = having(ATOMIC, ORDERS, MEETS, YIELDS)
ELSEWHERE = frozenset(("shared", "local", "param"))


class Seen:
    """The lines of a function."""

    def __init__(self, em: Emitter) -> None:
        self.em = em
        self.slots: list[str] = []
        self.places: list[int] = []  # lines of text where they are forgotten
        self.loops = sorted(em.a.loops.items(), key=lambda loop: loop[1] - loop[0])
        self.quiet: dict[tuple[int, int], bool] = {}

    def begin(self, address: str, size: int, space: str, fast: str) -> Access:
        """An access by a scalar address: it goes on at `fast` if it meets the line that it has met before."""
        if space in ELSEWHERE or size >= LINE or not self.in_quiet_loop():
            return Access(self.em, "", address)
        em = self.em
        slot = em.alloca("i64", 8)
        em.begin.append(f"  store i64 {NOTHING}, ptr {slot}")
        self.slots.append(slot)
        key = em.new(f"and i64 {address}, {-LINE | size - 1}")
        other = em.fresh("other")
        test = em.new(f"icmp eq i64 {key}, {em.new(f'load i64, ptr {slot}')}")
        em.put(f"br i1 {test}, label %{fast}, label %{other}, !prof !1")
        em.label(other)
        return Access(em, slot, address)

    def in_quiet_loop(self) -> bool:
        """Whether the innermost loop around the block at hand neither calls nor waits."""
        loop = next((loop for loop in self.loops if loop[0] <= self.em.block <= loop[1]), None)
        if loop is None:
            return False
        if loop not in self.quiet:
            blocks = self.em.a.blocks[loop[0] : loop[1] + 1]
            self.quiet[loop] = not any(isinstance(c, Call) or c.base in LOUD for block in blocks for c in block.code)
        return self.quiet[loop]

    def forget(self) -> None:
        """Others may free memory here."""
        self.places.append(len(self.em.lines))
        self.em.lines.append("")

    def complete(self) -> None:
        """All slots are known."""
        for at in self.places:
            self.em.lines[at] = "\n".join(f"  store i64 {NOTHING}, ptr {slot}" for slot in self.slots)


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
        em.put(f"br label %{fast}")
        em.label(fast)
        return em.new(f"inttoptr i64 {self.address} to ptr") if self.slot else place
