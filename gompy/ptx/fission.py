"""The warps of a block in one call, one after the other, as LLVM IR: barriers as the ends of loops over warps.

A kernel's code is called once for a block (executor: run.whole) and runs all warps as far as the next barrier, then all
as far as the one after it.  What a warp still needs behind a barrier (flow.py, live_in) is kept in a row of its own;
nothing is kept twice that has not been set since.

Where races are looked for the executor is told of each warp's way to a barrier, and of the barrier (racing.py).

A warp does not give way to others but at barriers here.  So loops in which it might wait for another one are left to
the executor, as are calls, local memory, and barriers that only a part of a warp may reach.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import bases, racing, regions, same_way
from .constants import Constant, Constants
from .emit import LLVM_TYPE, Value
from .flow import defined, is_meeting, used
from .opcodes import ATOMIC, MEETS, OPCODES, ORDERS, STACK, WRITES, YIELDS
from .syntax import Call, Immediate, Instruction, Memory, Register, Special
from .uniform import single_definitions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass

    from .emit import Emitter
    from .flow import Block
    from .uniform import Analysis
else:
    from gompy.records import dataclass

ROOM = 12288
"""Bytes of a warp's row at most: 32 of them are on one warp's stack."""
ENDED = abi.WARP_ENDED
"""A warp's state when it is done; else the number of the barrier that it is at, 0 where it begins."""
MOST = 200
"""Barriers of a kernel at most."""
STRONG = frozenset(("volatile", "relaxed", "acquire", "mmio"))
"""Words of loads that see what other threads write meanwhile."""
OWN = frozenset(("param", "shared"))
"""Spaces whose memory is always near."""
ATOMS = frozenset(("atom", "red"))
"""Atomic operations that do not wait."""
ALONE = frozenset((YIELDS, STACK))
"""Effects of what needs a warp with a stack and local memory of its own."""


@dataclass(slots=True)
class Site:
    """A barrier: its block, its place there, and the lines for keeping registers, for the next warp's turn, and for
    taking them back."""

    block: Block
    place: int
    save: int
    turn: int
    back: int


def is_plain(em: Emitter, block: Block, code: Instruction) -> bool:
    """Whether it is barrier 0 of all threads, reached by whole warps."""
    mods = [m for m in code.mods if m not in ("aligned", "cta")]
    return (
        code.base in ("bar", "barrier")
        and mods == ["sync"]
        and len(code.operands) == 1
        and isinstance(code.operands[0], Immediate)
        and code.operands[0].value == 0
        and code.guard is None
        and block.index not in em.a.divergent
    )


def may_wait(em: Emitter, head: int, end: int) -> bool:
    """Whether a loop may be one that ends when another warp has done something."""
    stores, fixed = False, []
    inside: set[Register] = set()
    for block in em.a.blocks[head : end + 1]:
        for code in block.code:
            if isinstance(code, Call):
                return True
            effect = OPCODES[code.base].effect
            if effect == ORDERS or (effect == ATOMIC and id(code) not in em.sums().unused):
                return True
            if code.base == "ld" and "param" not in code.mods:
                if not STRONG.isdisjoint(code.mods):
                    return True
                fixed.append(code.operands[1])
            stores |= effect in (WRITES, MEETS, ATOMIC)
            inside.update(defined(code))
    return not stores and any(isinstance(m, Memory) and m.base not in inside for m in fixed)


def goes_far(em: Emitter, head: int, end: int, single: dict[Register, Instruction | Call]) -> bool:
    """Whether lanes go through memory in a loop by steps of the block or the grid (`i += blockDim.x * gridDim.x`).

    Neighbouring warps read the same lines of memory then: one after the other, each through all of it, they would find
    them in none of the processor's caches.  On stacks of their own they change places in such loops.
    """
    reads = steps = False
    for block in em.a.blocks[head : end + 1]:
        for code in block.code:
            if isinstance(code, Call) or is_meeting(code):
                return False
            reads |= code.base == "ld" and OWN.isdisjoint(code.mods)
            if code.base == "add" and code.operands[0] in code.operands[1:] and code.operands[0] in em.a.varying:
                steps |= any(is_of_grid(source, single) for source in code.operands[1:])
    return reads and steps


def is_of_grid(operand: object, single: dict[Register, Instruction | Call], depth: int = 8) -> bool:
    """Whether a number is computed from the size of the block or the grid."""
    if isinstance(operand, Special):
        return operand.name.partition(".")[0] in ("%ntid", "%nctaid")
    code = single.get(operand) if isinstance(operand, Register) and depth else None
    return isinstance(code, Instruction) and any(is_of_grid(o, single, depth - 1) for o in code.operands[1:])


def possible(em: Emitter) -> bool:
    """Whether a function can be compiled that way."""
    a = em.a
    function = a.function
    if not function.entry or a.version != "E" or em.shadowed or not em.fast or function.locals:
        return False
    meetings = 0
    for block in a.blocks:
        if block.kind == "exit":
            return False
        for code in block.code:
            record = None if isinstance(code, Call) else OPCODES.get(code.base)
            if isinstance(code, Call) or record is None or record.effect in ALONE or "local" in code.mods:
                return False
            if record.effect == ATOMIC and code.base not in ATOMS:
                return False
            if is_meeting(code):
                meetings += 1
                if not is_plain(em, block, code):
                    return False
    single = single_definitions(a.blocks) if a.loops else {}
    if meetings > MOST or any(may_wait(em, *loop) or goes_far(em, *loop, single) for loop in a.loops.items()):
        return False
    return meetings == 0 or room_of(a) <= ROOM


def room_of(a: Analysis) -> int:
    """Bytes of a warp's row, about."""
    live = 0
    for block in a.blocks:
        for place, code in enumerate(block.code):
            if is_meeting(code):
                live |= live_behind(a, block, place)
    return sum(32 * 8 if register in a.varying else 8 for register in a.registers if live >> register.number & 1)


def live_behind(a: Analysis, block: Block, place: int) -> int:
    """The registers that are needed behind an instruction of a block."""
    live = 0
    for successor in block.successors:
        live |= a.live[successor.index]
    if block.guard is not None:
        live |= 1 << block.guard.number
    for code in reversed(block.code[place + 1 :]):
        if code.guard is None:
            live &= ~bits_of(defined(code))
        live |= bits_of(used(code))
    return live


def place_of(block: Block, code: Instruction | Call) -> int:
    """Where an instruction stands in its block."""
    return next(i for i, one in enumerate(block.code) if one is code)


def bits_of(registers: list[Register]) -> int:
    """A set of registers, by their numbers."""
    found = 0
    for register in registers:
        found |= 1 << register.number
    return found


class Fission:
    """A function that is compiled that way; lower.py drives it."""

    def __init__(self, em: Emitter) -> None:
        self.em = em
        self.sites: list[Site] = []
        self.rows: dict[str, tuple[int, str]] = {}  # slot → where a warp's row has it, LLVM type
        self.size = 0
        self.early: dict[int, int] = {}  # block → registers that are kept at its end, and the line for that:
        self.early_lines: dict[int, int] = {}
        self.has_barriers = any(is_meeting(code) for block in em.a.blocks for code in block.code)
        self.constants = Constants(em.a.blocks) if self.has_barriers else None
        self.before: list[int] = []  # by block: registers whose rows are right where it begins; at barriers:
        self.right: dict[tuple[int, int], int] = {}
        self.now = 0  # the same where code is being made
        self.end = 0  # the line for what follows a warp's end
        self.origins: list[list[int]] = []  # by barrier: where a warp that comes to it went on; and at the end:
        self.last: list[int] = []
        self.same_way = same_way.go_same_way(em.a, is_meeting)
        if self.has_barriers:
            self.place_early()
            self.before, self.right = self.rows_right()
            self.origins, self.last = regions.origins(em.a.blocks, is_meeting)

    # --- what is kept where --------------------------------------------------------------------------------------

    def place_early(self) -> None:
        """What a loop with barriers needs and does not change is kept before the loop."""
        a = self.em.a
        for head, end in a.loops.items():
            needed = changed = 0
            for block in a.blocks[head : end + 1]:
                for place, code in enumerate(block.code):
                    changed |= bits_of(defined(code))
                    if is_meeting(code):
                        needed |= live_behind(a, block, place)
            kept = needed & ~changed & a.live[head]
            for before in a.blocks[head].predecessors:
                if kept and before.index < head and before.index not in a.divergent:
                    self.early[before.index] = self.early.get(before.index, 0) | kept

    def fixed(self, block: Block, place: int) -> dict[Register, Constant]:
        """What is not kept at a barrier: registers that hold a constant there."""
        return {} if self.constants is None else self.constants.at(block, place)

    def kept(self, block: Block, place: int) -> int:
        """The registers whose rows are right behind a barrier."""
        return live_behind(self.em.a, block, place) & ~bits_of(list(self.fixed(block, place)))

    def through(self, block: Block, clean: int, found: dict[tuple[int, int], int]) -> int:
        """The registers whose rows are right behind a block; notes those that are right at its barriers."""
        for place, code in enumerate(block.code):
            if is_meeting(code):
                found[block.index, place] = clean
                clean = self.kept(block, place)
            clean &= ~bits_of(defined(code))
        return clean | self.early.get(block.index, 0)

    def rows_right(self) -> tuple[list[int], dict[tuple[int, int], int]]:
        """The registers whose rows are right: where each block begins, and at each barrier (block, place)."""
        blocks = self.em.a.blocks
        found: dict[tuple[int, int], int] = {}
        every = (1 << len(self.em.a.registers) + 1) - 1
        before = [every] * len(blocks)
        before[0] = 0
        todo = [0]
        seen: set[int] = set()
        while todo:
            index = todo.pop()
            seen.add(index)
            clean = self.through(blocks[index], before[index], found)
            for successor in blocks[index].successors:
                both = before[successor.index] & clean
                if both != before[successor.index] or successor.index not in seen:
                    before[successor.index] = both
                    todo.append(successor.index)
        return before, found

    # --- the code ------------------------------------------------------------------------------------------------

    def barrier(self, code: Instruction) -> None:
        """A barrier: the next warp's turn."""
        em = self.em
        if em.racing:
            racing.come(em)
        block = em.a.blocks[em.block]
        k = len(self.sites) + 1
        site = Site(block, place_of(block, code), len(em.lines), 0, 0)
        em.lines.append("")
        if not self.same_way:
            em.put(f"store i8 {k}, ptr %state")
        site.turn = len(em.lines)
        em.lines.append("")
        em.label(f"back{k}")
        site.back = len(em.lines)
        em.lines.append("")
        self.sites.append(site)

    def begin_block(self, block: Block) -> None:
        """The begin of a block."""
        self.now = self.before[block.index] if self.has_barriers else 0

    def behind(self, code: Instruction | Call) -> None:
        """The end of an instruction."""
        if is_meeting(code):
            block = self.em.a.blocks[self.em.block]
            self.now = self.kept(block, place_of(block, code))
        self.now &= ~bits_of(defined(code))

    def from_row(self, register: Register | None) -> Value | None:
        """A register's value by the warp's row, if it has it: on ways that are seldom gone the value needs to be in
        none of the processor's registers before."""
        if register is None or not self.now >> register.number & 1 or register not in self.em.slots:
            return None
        if register in self.em.a.progressions:
            return None
        kind = self.em.slot_type(register)
        place, _, align = self.row(self.em.slots[register], kind)
        return Value(kind[6:-1], True, self.em.new(f"load {kind}, ptr {place}, align {align}"))

    def before_end(self, block: Block) -> None:
        """The end of a block, before its branches."""
        if block.index in self.early:
            self.early_lines[block.index] = len(self.em.lines)
            self.em.lines.append("")

    def complete(self) -> None:
        """Fill in what is kept and taken back."""
        em = self.em
        lines = em.lines
        slots = self.slots()
        for index, at in self.early_lines.items():
            em.lines = []
            self.keep(slots, self.early[index])
            lines[at] = "\n".join(em.lines)
        for site in self.sites:
            live = self.kept(site.block, site.place)
            em.lines = []
            self.keep(slots, live & ~self.right.get((site.block.index, site.place), 0))
            lines[site.save] = "\n".join(em.lines)
            em.lines = []
            self.take_back(slots, live, self.fixed(site.block, site.place))
            lines[site.back] = "\n".join(em.lines)
        for k, (site, guesses) in enumerate(zip(self.sites, self.origins, strict=True), 1):  # rows have their places
            em.lines = []
            if self.same_way:
                regions.give_along(em, guesses, self.stride, f"round{k}")
                regions.round_along(em, k)
            else:
                regions.give(em, guesses, self.stride)
            lines[site.turn] = "\n".join(em.lines)
        if self.same_way:
            em.lines = []
            regions.give_along(em, self.last, self.stride, "out")
            lines[self.end] = "\n".join(em.lines)
        em.lines = regions.named(lines) if self.sites else lines

    def slots(self) -> dict[int, list[tuple[str, str]]]:
        """By register: its slot, and those of what is known of it (bases.py), with their LLVM types."""
        em = self.em
        found = {register.number: [(slot, em.slot_type(register))] for register, slot in em.slots.items()}
        for (register, way), asked in em.asked.items():
            if register.number in found:
                assert isinstance(way, bases.Way)
                found[register.number] += zip(asked, bases.kinds_of(way, len(asked) > 1 + way.pieces), strict=True)
        return found

    def row(self, slot: str, kind: str) -> tuple[str, str, int]:
        """A slot's place in the warp's row: the pointer, the type there, its alignment."""
        if slot not in self.rows:
            size = 8
            if kind[0] == "<" and kind != "<32 x i1>":
                self.size = -(-self.size // 64) * 64
                size = 32 * int("".join(c for c in kind[5:] if c.isdigit()) or {"f": 32, "d": 64}[kind[6]]) // 8
            self.rows[slot] = (self.size, kind)
            self.size += size
        at = self.rows[slot][0]
        wide = kind[0] == "<" and kind != "<32 x i1>"
        text = self.em.new(f"getelementptr i8, ptr %own, i64 {at}")
        return text, "i32" if kind == "<32 x i1>" else kind, 64 if wide else 1

    def keep(self, slots: dict[int, list[tuple[str, str]]], registers: int) -> None:
        """Store registers to the warp's row."""
        em = self.em
        for number, some in slots.items():
            if not registers >> number & 1:
                continue
            for slot, kind in some:
                place, there, align = self.row(slot, kind)
                value = em.new(f"load {kind}, ptr {slot}")
                if there != kind:
                    value = em.new(f"bitcast {kind} {value} to {there}")
                em.put(f"store {there} {value}, ptr {place}, align {align}")

    def take_back(self, slots: dict[int, list[tuple[str, str]]], live: int, fixed: dict[Register, Constant]) -> None:
        """Where a warp goes on: its registers as they were.  What is not needed gets a value that nobody else had."""
        em = self.em
        numbers = {register.number for register in fixed}
        for register, (operand, kind) in fixed.items():
            if register in em.slots:
                one = em.fit(em.read(operand, kind), LLVM_TYPE[register.type])
                one = em.splat(one) if register in em.a.varying else one
                em.put(f"store {one.typed}, ptr {em.slots[register]}")
        for number, some in slots.items():
            for slot, kind in some[1:] if number in numbers else some:
                if not live >> number & 1:
                    if number in em.merged or number in numbers:
                        em.put(f"store {kind} zeroinitializer, ptr {slot}")
                    continue
                place, there, align = self.row(slot, kind)
                value = em.new(f"load {there}, ptr {place}, align {align}")
                if there != kind:
                    value = em.new(f"bitcast {there} {value} to {kind}")
                em.put(f"store {kind} {value}, ptr {slot}")
        for index in sorted(em.a.masked):
            em.put(f"store i32 0, ptr %pending{index}")
        em.put("store i32 %m, ptr %mask")

    def head(self, parameters: list[str]) -> list[str]:
        """The function's begin: what all warps share, and going from one warp to the next."""
        at, first, group, mask = (abi.WARP[f] for f in ("at", "first", "group", "mask"))
        lines = [line.replace("ptr %w,", "ptr %w0,") for line in (*self.em.entry, *parameters)]
        lines += [
            f"  %at = getelementptr i8, ptr %w0, i64 {at}",
            f"  %first1 = getelementptr i8, ptr %w0, i64 {first}",
            "  %first = load ptr, ptr %first1",
        ]
        if not self.sites:
            return [
                *lines,
                "  br label %dispatch",
                "dispatch:",
                "  %w = phi ptr [ %first, %entry ], [ %next_warp, %next ]",
                "  store ptr %w, ptr %at",
                f"  %m1 = getelementptr i8, ptr %w, i64 {mask}",
                "  %m = load i32, ptr %m1",
                "  br label %begin",
                "begin:",
            ]
        lines += [
            f"  %group1 = getelementptr i8, ptr %w0, i64 {group}",
            "  %group = load i32, ptr %group1",
            "  %never = icmp eq i32 %group, 0",  # see regions.enter
            "  store ptr null, ptr %at",
            f"  %rows1 = mul i32 %group, {self.stride}",
            "  %rows = alloca i8, i32 %rows1, align 64",
            *[f"  %{name}_ = alloca {kind}" for name, kind in regions.OWN.items()],
        ]
        if self.same_way:
            return [*lines, "  %came_ = alloca i8", *self.pick(), "begin:"]
        lines += [
            "  %states = alloca [32 x i8], align 32",
            "  store <32 x i8> zeroinitializer, ptr %states, align 32",
            "  %alive = alloca i32",
            "  store i32 %group, ptr %alive",
            "  br i1 %never, label %next, label %dispatch",
            "dispatch:",
            "  %warp = phi ptr [ %first, %entry ], [ %first, %round ], [ %next_warp, %next ]",
        ]
        return [*lines, *self.pick(), "begin:"]

    def pick(self) -> list[str]:
        """A warp's turn, wherever it is."""
        em = self.em
        before, em.lines = em.lines, []
        if self.same_way:
            loops = em.a.loops.items()
            once = not any(head <= site.block.index <= end for head, end in loops for site in self.sites)
            regions.enter_along(em, len(self.sites), once)
        else:
            number, state, _ = regions.look(em, "%warp")
            regions.take(em, "%warp", number, state, self.stride)
            regions.enter(em, len(self.sites))
        lines, em.lines = em.lines, before
        return lines

    @property
    def stride(self) -> int:
        """Bytes from one warp's row to the next: not a power of two, which caches do not like."""
        return -(-self.size // 128) * 128 + 64

    def leave(self) -> None:
        """A warp's end; then the next one's turn."""
        em = self.em
        if em.racing:
            racing.end_warp(em)
        if self.same_way:
            self.end = len(em.lines)
            em.lines.append("")
            em.label("out")
            em.put("ret void")
            return
        if self.sites:
            em.put(f"store i8 {ENDED}, ptr %state")
            alive = em.new("load i32, ptr %alive")
            em.put(f"store i32 {em.new(f'sub i32 {alive}, 1')}, ptr %alive")
        em.put("br label %next")
        em.label("next")
        warp = em.new("load ptr, ptr %at") if self.sites else "%w"
        place = em.new(f"getelementptr i8, ptr {warp}, i64 {abi.WARP['following']}")
        em.put(f"%next_warp = load ptr, ptr {place}")
        last = em.new("icmp eq ptr %next_warp, null")
        em.put(f"br i1 {last}, label %{'round' if self.sites else 'out'}, label %dispatch")
        if self.sites:
            em.label("round")
            if em.racing:
                racing.meet(em, "%states")
            left = em.new("load i32, ptr %alive")
            em.put(f"br i1 {em.new(f'icmp eq i32 {left}, 0')}, label %out, label %dispatch")
        em.label("out")
        em.put("ret void")
