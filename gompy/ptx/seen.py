"""Lines of 64 bytes of which checked code has seen that all are written: accesses to them need no other look.

An access by one address keeps the line that it met last, in a loop that neither calls, waits nor reads what others
order by.  What others free meanwhile they free in no order with it.  Line and alignment are compared at once.
A gather, and a column of a matrix, would hardly meet a line twice in a row: they keep none.  What has the same address
each turn keeps that: of a frame's line often some bytes are never written.
"""

from __future__ import annotations

from .emit import Emitter
from .flow import defined
from .opcodes import ATOMIC, MEETS, ORDERS, STRONG, YIELDS, having
from .syntax import Call, Immediate, Instruction, Memory, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    Setters = dict[Register, list[Instruction | Call]]
    """What a loop's registers are set by."""

LINE = 64
NOTHING = 0x1E3779B97F4A7C35
"""An odd number that no memory has as its address; a line's has not the bits that are left out."""
LOUD = having(ATOMIC, ORDERS, MEETS, YIELDS)
ELSEWHERE = frozenset(("shared", "local", "param"))
SUMS = frozenset(("add", "sub", "mul", "mad", "shl", "cvt", "cvta", "mov"))
DEPTH = 6
"""What makes an address of others, and how many of these are followed."""


def begin(em: Emitter, address: str, size: int, space: str, fast: str) -> Access:
    """Begin an access by a scalar address: it goes on at `fast` if it meets the line that it has met before.

    What is no span in a loop's copy goes to and fro: it would hardly meet one twice.
    """
    if em.seen is None or space in ELSEWHERE or size >= LINE:
        return Access(em, "", address)
    setters, quiet = innermost(em, em.seen.loops)
    still = setters is not None and is_still(em.code, setters)
    if em.trusted or setters is None or not quiet or goes_far(em.code, setters):
        return Access(em, "", address, still)
    fixed = still and size > 1
    slot = em.alloca("i64", 8)
    em.begin.append(f"  store i64 {NOTHING}, ptr {slot}")
    em.seen.slots.append(slot)
    key = address if fixed else em.new(f"and i64 {address}, {-LINE | size - 1}")
    other = em.fresh("other")
    test = em.new(f"icmp eq i64 {key}, {em.new(f'load i64, ptr {slot}')}")
    em.put(f"br i1 {test}, label %{fast}, label %{other}, !prof !1")
    em.label(other)
    return Access(em, slot, address, still, fixed)


def innermost(em: Emitter, loops: dict[tuple[int, int], tuple[Setters, bool]]) -> tuple[Setters | None, bool]:
    """The registers of the innermost loop around the block at hand, if there is one, and whether it forgets nowhere.
    `loops` is what is known."""
    around = (loop for loop in em.a.loops.items() if loop[0] <= em.block <= loop[1])
    loop = min(around, key=lambda loop: loop[1] - loop[0], default=None)
    if loop is None:
        return None, False
    if loop not in loops:
        codes = [code for block in em.a.blocks[loop[0] : loop[1] + 1] for code in block.code]
        setters: Setters = {}
        for code in codes:
            for register in defined(code):
                setters.setdefault(register, []).append(code)
        loops[loop] = setters, not any(forgets(code) for code in codes)
    return loops[loop]


def is_still(code: Instruction | Call | None, setters: Setters) -> bool:
    """Whether an access has the same address each turn."""
    memories = [operand for operand in getattr(code, "operands", ()) if isinstance(operand, Memory)]
    return len(memories) == 1 and isinstance(memories[0].base, Register) and memories[0].base not in setters


def goes_far(code: Instruction | Call | None, setters: Setters) -> bool:
    """Whether the addresses of an access are likely in another line each turn: an index that the loop has loaded, or
    steps that are long, or not known."""
    for operand in code.operands if isinstance(code, Instruction) else ():
        if isinstance(operand, Memory) and isinstance(operand.base, Register):
            return is_far(operand.base, setters, DEPTH)
    return False


def is_far(register: Register, setters: Setters, depth: int) -> bool:
    """The same of what a register has."""
    codes = setters.get(register, [])
    code = codes[0] if len(codes) == 1 else None
    if not isinstance(code, Instruction) or depth == 0:
        return False
    if code.base == "ld":
        return ELSEWHERE.isdisjoint(code.mods)
    sources = [operand for operand in code.operands[1:] if operand != register]
    if len(sources) < len(code.operands) - 1:
        return not all(isinstance(step, Immediate) and abs(step.value) < LINE for step in sources)
    registers = [source for source in sources if isinstance(source, Register)]
    if code.base in ("mul", "mad") and len(registers) > 1 and any(factor in setters for factor in registers[:2]):
        return True
    return code.base in SUMS and any(is_far(source, setters, depth - 1) for source in registers)


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

    def __init__(self, em: Emitter, slot: str, address: str, still: bool = False, fixed: bool = False) -> None:
        self.em, self.slot, self.address = em, slot, address
        self.still = still  # whether the address is the same each turn of a loop
        self.fixed = fixed  # whether the slot keeps that

    def keep(self) -> None:
        """All of its line is written: keep that."""
        if self.slot:
            kept = self.address if self.fixed else self.em.new(f"and i64 {self.address}, {-LINE}")
            self.em.put(f"store i64 {kept}, ptr {self.slot}")

    def look(self, shadow: str) -> None:
        """What it accesses is written: keep its line if all of that is, by the shadow of device memory."""
        em = self.em
        if self.fixed:
            self.keep()
            return
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
