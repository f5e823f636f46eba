"""Loops of checked code whose turns need no checks: what they access is asked for before them, many turns at once.

Such a loop has no loop in it, and neither calls, waits nor reads what others order by: what is good when it begins is
good as long as it runs.  An address of all lanes that has a fixed distance from turn to turn is a span.  The executor
says how many turns of all spans are good (spans.h).  For as many, a copy of the loop runs that does not look at them.
Then it is asked again; what is not good comes to the loop itself, which tells it.

What such a copy writes for the first time is marked when it is left, or at the next question.  Where it is not known
then what was written (a store under a condition, a way out in between), or an access that is no span may read it
before, each store marks what it writes.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .checks import WRITTEN, repeated, shadow_of
from .emit import Emitter, bytes_of
from .flow import Block, defined
from .forms import UnknownForm
from .seen import ELSEWHERE, forgets
from .syntax import Call, Immediate, Instruction, Memory, Operand, Register, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

LONG = frozenset(("u64", "s64", "b64"))
FIRST, EACH, AGAIN = 8, 6, 256
"""After how many turns with checks it is asked: at first, at least, and for each span; behind an answer of too few."""
FEW, MANY, MOST = 4, 32, 4096
"""How many turns make a copy worthwhile; for how many it is asked at first, and at most."""
NEAR = 64
"""Bytes between two reads of one span, at most."""
FULL = 1 << 64
WORDS = 3
"""Of a struct gompy_span."""


@dataclass(slots=True)
class Linear:
    """A sum of registers as they are when a turn begins, times numbers, and a number."""

    terms: dict[Register, int]
    number: int

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """A sum with so many of another."""
        terms = dict(self.terms)
        for register, factor in other.terms.items():
            terms[register] = (terms.get(register, 0) + factor * times) % FULL
        return Linear({r: f for r, f in terms.items() if f}, (self.number + other.number * times) % FULL)

    def key(self) -> tuple[object, ...]:
        """What sums have in common that differ by a number."""
        return tuple(sorted((register.number, factor) for register, factor in self.terms.items()))

    def same(self, other: Linear) -> bool:
        """Whether two sums are one."""
        return self.key() == other.key() and self.number == other.number


@dataclass(slots=True)
class Moving:
    """A register's value in a turn: what it is in the first one, and how much more in each that follows."""

    first: Linear
    step: Linear


@dataclass(slots=True)
class Span:
    """What accesses of a loop come to: `first` is of the lowest byte in the first turn."""

    first: Linear
    step: Linear
    bytes: int
    size: int
    writes: bool


class Turns:
    """A loop, and its accesses that are spans."""

    def __init__(self, em: Emitter, head: int, end: int) -> None:
        self.em, self.head, self.end = em, head, end
        self.blocks = em.a.blocks[head : end + 1]
        self.setters: dict[Register, list[tuple[int, int, Instruction | Call]]] = {}
        self.spans: list[Span] = []
        self.trusted: set[int] = set()  # accesses, by their identity
        self.late = True  # what they write is marked behind them
        if not self.is_fit():
            return
        for block in self.blocks:
            for at, code in enumerate(block.code):
                for register in defined(code):
                    self.setters.setdefault(register, []).append((block.index, at, code))
        self.always = {block.index for block in self.blocks if self.is_always(block)}
        for block in self.blocks:
            for at, code in enumerate(block.code):
                if isinstance(code, Instruction) and code.base in ("ld", "st"):
                    self.access(block, at, code)
        self.late = self.marks_late()
        self.spans = joined(self.spans)
        if len(self.spans) > SPANS:
            self.spans, self.trusted = [], set()

    # --- analysis ------------------------------------------------------------------------------------------------

    def is_fit(self) -> bool:
        """Whether the loop has one way in, no loop in it, and nothing that orders memory."""
        a, low, high = self.em.a, self.head, self.end
        if any(head != low and low <= head <= high for head in a.loops):
            return False
        for block in self.blocks:
            if block.index in a.divergent or block.index in a.masked or block.kind == "exit":
                return False
            if block.index != low and any(not low <= before.index < block.index for before in block.predecessors):
                return False
            if any(forgets(code) for code in block.code):
                return False
        return True

    def is_always(self, block: Block) -> bool:
        """Whether no turn gets around a block."""
        seen, todo = {block.index}, [self.head] if block.index != self.head else []
        while todo:
            index = todo.pop()
            if index in seen:
                continue
            seen.add(index)
            for after in self.em.a.blocks[index].successors:
                if after.index == self.head:
                    return False
                if self.head < after.index <= self.end:
                    todo.append(after.index)
        return True

    def access(self, block: Block, at: int, code: Instruction) -> None:
        """Make a span of an access, if it is one."""
        memory = code.operands[code.base == "ld"]
        other = code.operands[code.base != "ld"]
        if not isinstance(memory, Memory) or not isinstance(memory.base, Register) or not plain(code):
            return
        count = len(other.items) if isinstance(other, Vector) else 1
        size = bytes_of(code.mods[-1]) * count
        found = self.value(memory.base, block.index, at, DEPTH)
        if found is None or size & (size - 1):
            return
        first = found.first.plus(Linear({}, memory.offset))
        self.spans.append(Span(first, found.step, size, size, code.base == "st"))
        self.trusted.add(id(code))

    def marks_late(self) -> bool:
        """Whether each turn, also one that leaves the loop, writes all of its spans, and nothing else reads them before
        that is marked."""
        leaves = [b.index for b in self.blocks if b.kind == "ret" or any(self.is_out(s) for s in b.successors)]
        for block in self.blocks:
            for code in block.code:
                if isinstance(code, Call) or (id(code) not in self.trusted and looks(code)):
                    return False
                sure = code.guard is None and block.index in self.always and leaves == [self.end]
                if id(code) in self.trusted and code.base == "st" and not sure:
                    return False
        return True

    def is_out(self, block: Block) -> bool:
        """Whether a block is behind the loop."""
        return not self.head <= block.index <= self.end

    def value(self, register: Register, index: int, at: int, depth: int) -> Moving | None:
        """What a register of 64 bits has at a place of the loop; None: that is not known."""
        setters = self.setters.get(register, [])
        if depth == 0 or register.type not in LONG or register in self.em.a.varying or len(setters) > 1:
            return None
        if not setters:
            return Moving(Linear({register: 1}, 0), Linear({}, 0))
        where, line, code = setters[0]
        if isinstance(code, Call) or code.guard is not None or len(code.mods) != 1 or code.mods[0] not in LONG:
            return None
        before = (where, line) < (index, at)
        if register in code.operands[1:]:
            step = self.step(register, code)
            if step is None or where not in self.always:
                return None
            own = Linear({register: 1}, 0)
            return Moving(own.plus(step) if before else own, step)
        if not before or not (where == index or where in self.always):
            return None
        return self.result(code, where, line, depth - 1)

    def step(self, register: Register, code: Instruction) -> Linear | None:
        """What an instruction adds to its own result."""
        if code.base not in ("add", "sub") or (code.base == "sub" and code.operands[1] != register):
            return None
        other = code.operands[2] if code.operands[1] == register else code.operands[1]
        if isinstance(other, Immediate):
            found = Linear({}, other.value % FULL)
        elif isinstance(other, Register) and other.type in LONG and other not in self.setters:
            if other in self.em.a.varying:
                return None
            found = Linear({other: 1}, 0)
        else:
            return None
        return found if code.base == "add" else Linear({}, 0).plus(found, -1)

    def result(self, code: Instruction, index: int, at: int, depth: int) -> Moving | None:
        """What an instruction computes."""
        sources = code.operands[1:]
        if code.base == "shl":
            by = sources[1]
            found = self.source(sources[0], index, at, depth)
            if found is None or not isinstance(by, Immediate) or not 0 <= by.value < 64:
                return None
            zero = Linear({}, 0)
            return Moving(zero.plus(found.first, 1 << by.value), zero.plus(found.step, 1 << by.value))
        if code.base not in ("add", "sub", "mov"):
            return None
        values = [self.source(source, index, at, depth) for source in sources]
        one, other = values[0], values[-1]
        if one is None or other is None or code.base == "mov":
            return one if other is not None else None
        sign = -1 if code.base == "sub" else 1
        return Moving(one.first.plus(other.first, sign), one.step.plus(other.step, sign))

    def source(self, operand: Operand, index: int, at: int, depth: int) -> Moving | None:
        """A source operand."""
        if isinstance(operand, Immediate):
            return Moving(Linear({}, operand.value % FULL), Linear({}, 0))
        return self.value(operand, index, at, depth) if isinstance(operand, Register) else None


DEPTH = 6
"""Instructions that are followed on the way to an address."""
SPANS = 12
"""Spans of a loop at most."""


def plain(code: Instruction) -> bool:
    """Whether an access is of memory that has a shadow."""
    try:
        size = bytes_of(code.mods[-1])
    except (KeyError, IndexError, UnknownForm):
        return False
    return ELSEWHERE.isdisjoint(code.mods) and size > 0 and not any("::" in mod for mod in code.mods)


def looks(code: Instruction) -> bool:
    """Whether an instruction may read memory that has a shadow."""
    if code.base == "st":
        return False
    if code.base == "ld":
        return ELSEWHERE.isdisjoint(code.mods)
    return code.base.startswith(("tex", "tld", "su")) or any(isinstance(one, Memory) for one in code.operands)


def joined(spans: list[Span]) -> list[Span]:
    """Those of one distance that are beside each other made one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda s: (s.writes, signed(s.first.number))):
        for one in found:
            # What is also read has to be written before the loop.
            same = one.first.key() == span.first.key() and one.step.same(span.step) and one.size == span.size
            apart = signed(span.first.number - one.first.number)
            if not same or apart % one.size:
                continue
            if span.writes and not one.writes and 0 <= apart <= one.bytes - span.bytes:
                break
            longer = max(one.bytes, apart + span.bytes)
            if one.writes != span.writes or apart > one.bytes + NEAR * (not one.writes) or longer >= abi.SPAN_WRITES:
                continue
            one.bytes = longer
            break
        else:
            found.append(Span(span.first, span.step, span.bytes, span.size, span.writes))
    return found


def signed(number: int) -> int:
    """A number of 64 bits with its sign."""
    number %= FULL
    return number - FULL if number >> 63 else number


class Copy:
    """The copy of a loop, as LLVM IR, and what leads there."""

    def __init__(self, em: Emitter, turns: Turns) -> None:
        self.em, self.turns, self.name = em, turns, f"{turns.head}"
        self.wait, self.left, self.asked, self.most, self.last, self.done, self.marks = (
            em.alloca("i32", 4) for _ in range(7)
        )
        self.place = em.alloca(f"[{WORDS * len(turns.spans)} x i64]", 64)
        em.begin.append(f"  store i32 0, ptr {self.last}")
        self.first = max(FIRST, EACH * len(turns.spans))
        self.writes = any(span.writes for span in turns.spans)
        self.late = self.writes and turns.late

    def enter(self) -> None:
        """In front of the loop's head: ask at once if the loop was a long one when it ran before."""
        em = self.em
        last = em.new(f"load i32, ptr {self.last}")
        em.put(f"store i32 0, ptr {self.done}")
        em.put(f"store i32 {em.new(f'add i32 {last}, 1')}, ptr {self.most}")
        em.put(f"store i32 {self.first}, ptr {self.wait}")
        long = em.new(f"icmp sge i32 {last}, {self.first}")
        em.put(f"br i1 {long}, label %A{self.name}, label %K{self.name}")
        em.label(f"K{self.name}")

    def again(self) -> None:
        """At the end of a turn with checks."""
        em = self.em
        left = em.new(f"sub i32 {em.new(f'load i32, ptr {self.wait}')}, 1")
        em.put(f"store i32 {left}, ptr {self.wait}")
        some = em.fresh("some")
        em.put(f"br i1 {em.new(f'icmp eq i32 {left}, 0')}, label %{some}, label %K{self.name}, !prof !2")
        em.label(some)
        em.put(f"store i32 {MANY}, ptr {self.most}")
        done = em.new(f"add i32 {em.new(f'load i32, ptr {self.done}')}, {self.first}")
        em.put(f"store i32 {done}, ptr {self.done}")
        em.put(f"br label %A{self.name}")

    def ask(self, races: str) -> None:
        """The question, and what follows."""
        em, name = self.em, self.name
        em.label(f"A{name}")
        em.put(f"store i32 {AGAIN}, ptr {self.wait}")
        if races:
            asks = em.fresh("asks")
            em.put(f"br i1 {em.new(f'icmp eq ptr {races}, null')}, label %{asks}, label %K{name}, !prof !1")
            em.label(asks)
        for number, span in enumerate(self.turns.spans):
            what = span.bytes | span.size << abi.SPAN_SIZE_AT | abi.SPAN_WRITES * span.writes
            for at, value in enumerate((self.sum(span.first), self.sum(span.step), str(what))):
                word = em.new(f"getelementptr i64, ptr {self.place}, i32 {WORDS * number + at}")
                em.put(f"store i64 {value}, ptr {word}")
        most = em.new(f"load i32, ptr {self.most}")
        count = len(self.turns.spans)
        answer = em.helper("turns", f"ptr %w, ptr {self.place}, i32 {count}, i32 {most}", "i32")
        turns = em.new(f"and i32 {answer}, {abi.TURNS_MARKED - 1}")
        em.put(f"store i32 {turns}, ptr {self.left}")
        em.put(f"store i32 {turns}, ptr {self.asked}")
        if self.writes:
            em.put(f"store i32 {em.new(f'and i32 {answer}, {abi.TURNS_MARKED}')}, ptr {self.marks}")
        em.put(f"br i1 {em.new(f'icmp ult i32 {turns}, {FEW}')}, label %K{name}, label %T{name}, !prof !2")

    def sum(self, linear: Linear) -> str:
        """A sum, as a number of 64 bits."""
        em, text = self.em, str(signed(linear.number))
        for register, factor in linear.terms.items():
            value = em.fit(em.load_register(register), "i64").text
            if factor != 1:
                value = em.new(f"mul i64 {value}, {signed(factor)}")
            text = em.new(f"add i64 {value}, {text}")
        return text

    def turn(self) -> None:
        """At the end of a turn without checks."""
        em, name = self.em, self.name
        left = em.new(f"sub i32 {em.new(f'load i32, ptr {self.left}')}, 1")
        em.put(f"store i32 {left}, ptr {self.left}")
        em.put(f"br i1 {em.new(f'icmp eq i32 {left}, 0')}, label %R{name}, label %T{name}, !prof !2")

    def renew(self) -> str:
        """All turns that were asked for are done: how many."""
        em = self.em
        em.label(f"R{self.name}")
        asked = em.new(f"load i32, ptr {self.asked}")
        self.mark(asked)
        done = em.new(f"add i32 {em.new(f'load i32, ptr {self.done}')}, {asked}")
        em.put(f"store i32 {done}, ptr {self.done}")
        more = em.new(f"call i32 @llvm.umin.i32(i32 {em.new(f'shl i32 {done}, 1')}, i32 {MOST})")
        em.put(f"store i32 {more}, ptr {self.most}")
        return asked

    def leave(self) -> None:
        """On a way out."""
        em = self.em
        asked, left = (em.new(f"load i32, ptr {slot}") for slot in (self.asked, self.left))
        done = em.new(f"add i32 {em.new(f'sub i32 {asked}, {left}')}, 1")
        self.mark(done)
        last = em.new(f"add i32 {em.new(f'load i32, ptr {self.done}')}, {done}")
        em.put(f"store i32 {em.new(f'call i32 @llvm.umin.i32(i32 {last}, i32 {MOST - 1})')}, ptr {self.last}")

    def mark_now(self, address: str, size: int) -> None:
        """A store marks what it will write, unless all that is written is read as well: that was written before."""
        if self.late or not self.writes:
            return
        em = self.em
        marks, marked = em.fresh("marks"), em.fresh("marked")
        test = em.new(f"icmp eq i32 {em.new(f'load i32, ptr {self.marks}')}, 0")
        em.put(f"br i1 {test}, label %{marked}, label %{marks}")
        em.label(marks)
        em.put(f"store i{8 * size} {repeated(WRITTEN, size)}, ptr {shadow_of(em, address)}, align 1")
        em.join(marked)

    def mark(self, turns: str) -> None:
        """What these turns have written is marked."""
        if not self.late:
            return
        em = self.em
        marks = em.new(f"load i32, ptr {self.marks}")
        behind = em.seldom(em.new(f"icmp ne i32 {marks}, 0"), "marks", "marked")
        em.helper("turned", f"ptr %w, ptr {self.place}, i32 {len(self.turns.spans)}, i32 {turns}")
        em.join(behind)
