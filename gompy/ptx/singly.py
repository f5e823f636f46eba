"""Loops that the lanes of a warp go through one after the other, as scalar LLVM IR.

In lockstep a turn costs what all lanes' accesses cost, also of those that have long left the loop.  Where each lane
goes to places of its own and branches by what it finds there (the edges of a node), or where one lane is there, a
lane's turns are cheaper by themselves.  Nothing in such a loop tells lanes about each other: no barrier, vote, shuffle,
atomic operation or volatile access, and no store but to global memory.

What lanes bring along is laid out in memory, an element for each; a lane takes its own, and puts back what is needed
behind the loop.
"""

from __future__ import annotations

from . import unbranched
from .access import in_memory
from .backend import gathers_slowly
from .emit import BITS, LLVM_TYPE, LONGEST, Emitter, Value
from .fission import STRONG, bits_of, may_wait
from .flow import defined, used
from .opcodes import LANEWISE, OPCODES
from .syntax import Call, Instruction, Memory, Operand, Register, Special
from .uniform import Analysis, single_definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass

    from .flow import Block
else:
    from gompy.records import dataclass

WORDS = frozenset(("%tid.x", "%tid.y", "%tid.z", "%laneid"))
"""Special registers of a lane that such code reads."""
MOST = 24
"""Blocks of such a part at most."""
PER_ACCESS = 12
"""Instructions that a vector's lanes do for what one access at an address for each lane costs."""
PER_GATHER = 5
"""The same where nothing but the ends of lanes' loops differs, on a processor whose gathers are slow."""


class Singly:
    """Which parts of a function run so: loops, with what stands around them that is no access of rows."""

    def __init__(self, em: Emitter) -> None:
        self.em = em
        a = em.a
        self.parts: dict[int, int] = {}  # first block → last block
        self.inside: set[int] = set()  # blocks of such parts but the first ones
        if not em.fast or em.checked or a.version != "E" or a.function.locals or not a.loops:
            return
        self.few = one_lane(em)
        self.fit = [self.is_fit(block) for block in a.blocks]
        last = -1
        for head, end in sorted(a.loops.items()):
            if head > last and self.is_part(head, end) and self.pays(head, end):
                first, last = self.wider(head, end, last)
                self.parts[first] = last
                self.inside.update(range(first + 1, last + 1))

    def is_fit(self, block: Block) -> bool:
        """Whether nothing in a block depends on when other lanes do what, and none of its accesses are of rows."""
        if block.index not in self.em.a.divergent or block.kind == "exit":
            return False
        for code in block.code:
            if isinstance(code, Call) or not is_own(code):
                return False
            memory = accessed(code)
            if memory is None or block.index in self.few or not self.em.strides().of(memory.base):
                continue
            if self.is_moving(memory.base, block.index):
                return False
        return True

    def is_moving(self, base: Operand, index: int) -> bool:
        """Whether a row of addresses is another one in each turn of the loop, or is accessed in none."""
        a = self.em.a
        for head, end in a.loops.items():
            if head <= index <= end:
                return any(base in defined(code) for block in a.blocks[head : end + 1] for code in block.code)
        return True

    def is_part(self, first: int, last: int) -> bool:
        """Whether lanes come to these blocks by the first one only, and all may be run so."""
        blocks = self.em.a.blocks[first : last + 1]
        return (
            len(blocks) <= MOST
            and first in self.em.a.masked
            and all(self.fit[first : last + 1])
            and all(first <= p.index <= last for block in blocks[1:] for p in block.predecessors)
        )

    def pays(self, head: int, end: int) -> bool:
        """Whether a loop is likely to be faster: one lane is there; or accesses at an address for each lane are most of
        it, some of them in branches that lanes take by themselves.  Without those the lanes' turns are alike, and the
        processor foretells a vector's turns better than each lane's: they are taken where gathers are slow, too."""
        if may_wait(self.em, head, end):
            return False
        if head in self.few:
            return True
        codes = [code for block in self.em.a.blocks[head : end + 1] for code in block.code]
        found = [accessed(code) for code in codes]
        apart = sum(memory is not None and memory.base in self.em.a.varying for memory in found)
        if any(self.chooses(block, head, end) for block in self.em.a.blocks[head : end + 1]):
            return 0 < len(codes) <= apart * PER_ACCESS
        if any(code.opcode.startswith("st.") for code in codes if isinstance(code, Instruction)):
            return False  # in lockstep no lane loads in a turn what another stores in it
        return 0 < len(codes) <= apart * PER_GATHER and gathers_slowly()

    def chooses(self, block: Block, head: int, end: int) -> bool:
        """Whether a block branches within a loop, by what differs between lanes."""
        inside = all(head < s.index <= end for s in block.successors)
        return inside and len(block.successors) == 2 and block.guard in self.em.a.varying

    def wider(self, head: int, end: int, last: int) -> tuple[int, int]:
        """The largest part around a loop, behind block `last`; all its loops pay."""
        a = self.em.a
        best = head, end
        for first in range(head, max(last, head - MOST), -1):
            if not self.fit[first]:
                break
            for behind in range(min(first + MOST, len(a.blocks)) - 1, end - 1, -1):
                if behind - first <= best[1] - best[0]:
                    break
                if self.is_part(first, behind) and all(
                    (e <= behind and self.pays(h, e)) if first <= h else not first <= e < behind
                    for h, e in a.loops.items()
                    if h <= behind
                ):
                    best = first, behind
        return best


def accessed(code: Instruction | Call) -> Memory | None:
    """What an instruction reads or writes in global memory."""
    if isinstance(code, Call) or not is_access(code) or "param" in code.mods:
        return None
    return next((o for o in code.operands if isinstance(o, Memory)), None)


def is_access(code: Instruction | Call) -> bool:
    """Whether an instruction reads or writes memory."""
    return code.opcode.partition(".")[0] in ("ld", "st")


def is_own(code: Instruction) -> bool:
    """Whether a lane can do an instruction by itself, as if no other lane were there."""
    record = OPCODES.get(code.base)
    if record is None:
        return False
    if is_access(code):
        if not STRONG.isdisjoint(code.mods) or "local" in code.mods:
            return False
        return "global" in code.mods or (code.base == "ld" and "param" in code.mods)
    if record.lanes != LANEWISE or record.effect:
        return False
    return all(not isinstance(o, Special) or is_scalar(o) for o in code.operands)


def is_scalar(special: Special) -> bool:
    """Whether a special register can be read for one lane."""
    base = special.name.partition(".")[0]
    return special.name in WORDS or base in ("%ntid", "%ctaid", "%nctaid", "%warpid")


def one_lane(em: Emitter) -> set[int]:
    """Blocks that one lane of a warp comes to: where threads' numbers are compared with one that all have."""
    a = em.a
    found: set[int] = set()
    single = single_definitions(a.blocks)
    for block in a.blocks:
        code = single.get(block.guard) if block.guard is not None else None
        if not isinstance(code, Instruction) or code.base != "setp" or code.mods[0] not in ("eq", "ne"):
            continue
        strides = [em.strides().of(operand) for operand in code.operands[1:]]
        if len(strides) == 2 and 0 in strides and any(strides):
            taken, other = block.successors
            equal = taken if (code.mods[0] == "eq") != block.negated else other
            found |= behind(block, equal, a)
    return found


def behind(block: Block, first: Block, a: Analysis) -> set[int]:
    """The blocks that are reached by one way only, from `block` to `first`."""
    region: set[int] = set()
    todo = [first.index]
    while todo:
        index = todo.pop()
        if index in a.divergent and index not in region:
            region.add(index)
            todo += [s.index for s in a.blocks[index].successors]
    while True:
        ways = {i: [p for p in a.blocks[i].predecessors if p.index not in region] for i in region}
        wrong = {i for i, some in ways.items() if some and not (i == first.index and some == [block])}
        if not wrong:
            return region
        region -= wrong


@dataclass(slots=True)
class Brought:
    """A register in such a loop: where a lane has it, where all lanes' elements are, the element's type there."""

    register: Register
    own: str
    row: str
    kind: str


def lowest_offsets(codes: list[Instruction | Call]) -> dict[object, int]:
    """Base → the lowest offset of accesses by it, if all are near: one test does for them."""
    found: dict[object, list[int]] = {}
    for code in codes:
        memory = accessed(code)
        if memory is not None:
            found.setdefault(memory.base, []).append(memory.offset)
    return {base: min(some) for base, some in found.items() if max(some) - min(some) < LONGEST // 2}


def begin(em: Emitter, address: str) -> str:
    """The pointer for an access of device memory, whose address is tested if none by the same base was before."""
    if em.sure:
        return em.new(f"inttoptr i64 {address} to ptr")
    first = em.new(f'call i64 asm "", "=r,0"(i64 {address})')  # LLVM would count up how far it is, too
    if em.below:
        first = em.new(f"sub i64 {first}, {em.below}")
    fast = em.fresh("fast")
    em.put(f"br i1 {in_memory(em, first)}, label %{fast}, label %{em.otherwise}, !prof !1")
    em.label(fast)
    return em.new(f"inttoptr i64 {address} to ptr")


def place_of(em: Emitter, address: str) -> str:
    """The pointer for an access that is or is not done."""
    place = begin(em, address)
    return unbranched.accessed(em, place) if em.only else place


def load(em: Emitter, address: Value, llvm: str, size: int) -> Value:
    """A lane's load from global memory."""
    if em.otherwise:
        return Value(llvm, False, em.new(f"load {llvm}, ptr {place_of(em, address.text)}, align {size}"))
    raw = em.slow("i64", "load_uniform", ("i64", address.text), ("i32", str(size)))
    return em.fit(Value("i64", False, raw), llvm)


def store(em: Emitter, address: Value, value: Value) -> None:
    """A lane's store to global memory."""
    size = max(BITS[value.type] // 8, 1)
    if em.otherwise:
        em.put(f"store {value.typed}, ptr {place_of(em, address.text)}, align {size}")
        return
    raw = em.fit(value, "i64")
    em.slow("void", "store_uniform", ("i64", address.text), ("i64", raw.text), ("i32", str(size)))


class Statements(Emitter):
    """What a loop's code is made by (lower.py)."""

    costs: dict[int, int]

    def statement(self, code: Instruction | Call) -> None:
        """One instruction with its guard."""
        raise NotImplementedError(code.opcode)

    def wait(self, target: Block, mask: str) -> None:
        """Add lanes to those that wait at a block."""
        raise NotImplementedError(mask)

    def turn(self, low: int, high: int) -> None:
        """A turn of a loop costs fuel."""
        raise NotImplementedError(low)


TURNS = 256
"""Turns of a lane for which it asks once whether others are to run."""


class Loop:
    """One such loop, as it is made."""

    def __init__(self, work: Statements, head: int, end: int) -> None:
        self.work, self.head, self.end = work, head, end
        self.a = a = work.a
        self.blocks = a.blocks[head : end + 1]
        codes = [code for block in self.blocks for code in block.code]
        made = bits_of([register for code in codes for register in defined(code)])
        read = bits_of([register for code in codes for register in used(code)])
        read |= bits_of([block.guard for block in self.blocks if block.guard is not None])
        needed = 0
        for block in self.blocks:
            for successor in block.successors:
                needed |= a.live[successor.index] if self.leaves(successor) else 0
        self.slots: dict[Register, str] = {}
        self.taken: list[Brought] = []
        self.back: list[Brought] = []
        for register in a.registers:
            bit = register.number
            if not (made | read) >> bit & 1:
                continue
            varies = register in a.varying
            if not (varies or made >> bit & 1):
                self.slots[register] = work.slot(register)
                continue
            kind = LLVM_TYPE[register.type]
            own = self.slots[register] = work.alloca(kind, 8)
            begins, ends = a.live[head] >> bit & 1, made & needed & 1 << bit
            row = work.slot(register)
            element = "i8" if kind == "i1" and varies else kind
            if varies and (begins or ends):
                row = work.alloca(f"<32 x {element}>")
            one = Brought(register, own, row, element)
            if begins:
                self.taken.append(one)
            if ends:
                self.back.append(one)
        self.lowest = lowest_offsets(codes)
        self.rows = {one.row: one for one in [*self.taken, *self.back] if one.register in a.varying}

    def leaves(self, block: Block) -> bool:
        """Whether a block is outside of the loop."""
        return not self.head <= block.index <= self.end

    def element(self, one: Brought) -> str:
        """The place of the lane's element, or of what all lanes have."""
        if one.register not in self.a.varying:
            return one.row
        return self.work.new(f"getelementptr {one.kind}, ptr {one.row}, i32 {self.work.lane}")

    def emit(self) -> None:
        """All of it; the lanes that are there are in the mask."""
        work, a = self.work, self.a
        left, turns = work.alloca("i32", 4), work.alloca("i32", 4)
        work.put(f"store i32 {work.mask}, ptr {left}")
        work.put(f"store i32 0, ptr {turns}")
        for one in self.rows.values():
            value = work.load_register(one.register)
            wide = work.cast("zext", value, one.kind) if value.type != one.kind else value
            work.put(f"store {wide.typed}, ptr {one.row}, align 64")
        kept = (work.slots, work.mask)
        work.a = Analysis(a.function, a.version, a.rows, a.blocks, a.registers, live=a.live, loops=a.loops)
        work.slots = self.slots
        again, ends, done = work.fresh("lane"), work.fresh("ends"), work.fresh("lanes")
        self.ends, self.turns = ends, turns
        work.join(again)
        lanes = work.new(f"load i32, ptr {left}")
        work.lane = work.new(f"call i32 @llvm.cttz.i32(i32 {lanes}, i1 true)")
        rest = work.new(f"and i32 {lanes}, {work.new(f'sub i32 {lanes}, 1')}")
        work.put(f"store i32 {rest}, ptr {left}")
        work.mask = work.active = work.new(f"xor i32 {lanes}, {rest}")
        for one in self.taken:
            value = Value(one.kind, False, work.new(f"load {one.kind}, ptr {self.element(one)}"))
            work.put(f"store {work.fit(value, LLVM_TYPE[one.register.type]).typed}, ptr {one.own}")
        work.put(f"br label %S{self.head}")
        for block in self.blocks:
            self.block(block)
        work.label(ends)
        for one in self.back:
            kind = LLVM_TYPE[one.register.type]
            value = work.fit(Value(kind, False, work.new(f"load {kind}, ptr {one.own}")), one.kind)
            work.put(f"store {value.typed}, ptr {self.element(one)}")
        more = work.new(f"icmp ne i32 {work.new(f'load i32, ptr {left}')}, 0")
        work.put(f"br i1 {more}, label %{again}, label %{done}")
        work.label(done)
        work.a, (work.slots, work.mask) = a, kept
        work.lane, work.active = "", work.mask
        for one in self.back:
            if one.register in a.varying:
                work.put_back(one.register, one.row, one.kind)

    def block(self, block: Block) -> None:
        """One block; and its rest from any access on that is not in device memory, for which the executor is asked."""
        work = self.work
        work.block = block.index
        work.label(f"S{block.index}")
        asked = self.statements(block.code)
        arm = unbranched.arm_of(self.a, block, range(self.head, self.end + 1))
        if arm is None:
            self.finish(block)
        else:
            self.both_ways(block, arm)
        if asked:
            self.slowly(block.code, asked)
            self.finish(block)

    def both_ways(self, block: Block, arm: Block) -> None:
        """A block's end and its arm, without a branch; with one from any access on that is not in device memory."""
        work, join = self.work, arm.successors[0]
        assert block.guard is not None
        guard = work.load_register(block.guard)
        if block.negated != (arm is not block.successors[0]):
            guard = work.op("xor", guard, Value("i1", False, "true"))
        made = bits_of([register for code in arm.code for register in defined(code)]) & self.a.live[join.index]
        kept = {r: work.load_register(r) for r in self.slots if made >> r.number & 1}
        work.only = guard.text
        asked = self.statements(arm.code)
        work.only = ""
        for register, old in kept.items():
            new = unbranched.chosen(work, guard.text, work.load_register(register), old)
            work.put(f"store {new.typed}, ptr {self.slots[register]}")
        self.edge(arm, join)
        if not asked:
            return
        taken, not_taken = {at: work.fresh("taken") for at in asked}, work.fresh("not_taken")
        for at, label in asked.items():
            work.label(label)
            work.put(f"br i1 {guard.text}, label %{taken[at]}, label %{not_taken}")
        self.slowly(arm.code, taken)
        self.edge(arm, join)
        work.label(not_taken)
        for register, old in kept.items():
            work.put(f"store {old.typed}, ptr {self.slots[register]}")
        self.edge(arm, join)

    def statements(self, codes: list[Instruction | Call]) -> dict[int, str]:
        """Instructions one after the other: where to go on, by the place of an access that is not in device memory."""
        work = self.work
        asked: dict[int, str] = {}
        tested: set[object] = set()
        for at, code in enumerate(codes):
            memory = accessed(code)
            if memory is not None:
                work.sure = memory.base in tested
                if not work.sure:
                    work.otherwise = asked[at] = work.fresh("asks")
                    work.below = memory.offset - self.lowest.get(memory.base, memory.offset)
                if memory.base in self.lowest and code.guard is None:
                    tested.add(memory.base)
            work.statement(code)
            tested.difference_update(defined(code))
        work.otherwise, work.sure = "", False
        return asked

    def slowly(self, codes: list[Instruction | Call], asked: dict[int, str]) -> None:
        """Instructions from any of the places on, by the executor."""
        work = self.work
        for at, code in enumerate(codes):
            if at in asked:
                if at != min(asked):
                    work.put(f"br label %{asked[at]}")
                work.label(asked[at])
            if at >= min(asked):
                work.statement(code)

    def finish(self, block: Block) -> None:
        """The end of a block."""
        work = self.work
        work.line, work.active = block.line, work.mask
        if block.kind == "ret":
            work.put(f"br label %{self.ends}")
        elif block.kind == "jump":
            self.edge(block, block.successors[0])
        else:
            assert block.guard is not None
            condition = work.load_register(block.guard).text
            yes, no = work.fresh("yes"), work.fresh("no")
            first, second = (no, yes) if block.negated else (yes, no)
            work.put(f"br i1 {condition}, label %{first}, label %{second}")
            work.label(yes)
            self.edge(block, block.successors[0])
            work.label(no)
            self.edge(block, block.successors[1])

    def edge(self, block: Block, target: Block) -> None:
        """The lane goes on at `target`."""
        work = self.work
        if self.leaves(target):
            work.wait(target, work.mask)
            work.put(f"br label %{self.ends}")
            return
        if target.index <= block.index:
            self.turn(target)
        work.put(f"br label %S{target.index}")

    def turn(self, target: Block) -> None:
        """A turn is counted in a register, and costs fuel now and then."""
        work = self.work
        count = work.new(f"add i32 {work.new(f'load i32, ptr {self.turns}')}, 1")
        work.put(f"store i32 {count}, ptr {self.turns}")
        some = work.new(f"and i32 {count}, {TURNS - 1}")
        go = work.seldom(work.new(f"icmp eq i32 {some}, 0"), "often", "go")
        work.costs[target.index] = TURNS // 32
        work.turn(target.index, target.index)
        work.join(go)
