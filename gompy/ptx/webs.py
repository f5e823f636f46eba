"""Registers split into webs, so that a register's reuse for something else does not tie the two together.

A web is a maximal union of intersecting du-chains, a definition with its uses being a chain (Muchnick, "Advanced
Compiler Design and Implementation", 16.3.3).  In four steps:

1. `Sites` numbers the definitions of each register that has several; a set of definitions is an integer's bits.
2. `reaching` is the data flow problem "reaching definitions": forward, by union, to its least fix point.
3. `meetings` goes through each block once more and unites, in `Forest`, what reaches a use.  What a guarded
   definition may leave in place belongs to it.
4. `rename` gives each web but a register's first a register of its own.
"""

from __future__ import annotations

from .flow import defined, replace, used
from .syntax import Call, Instruction, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .flow import Block

    Meeting = tuple[Block, int, list[tuple[Register, int]], list[tuple[Register, int]]]
    """Where registers of several definitions are named: an instruction's block and place, what it reads, what it
    writes.  The place of a block's guard is -1.  Each register comes with a definition of its web; -1: it is read
    before it is written."""


class Sites:
    """The definitions of the registers that have several.

    `many`: these registers.  `number`: a definition's number by block, place in it and register.  `count`: of numbers.
    `all_of`: all definitions of a register, as bits.
    """

    def __init__(self, blocks: list[Block]) -> None:
        counts: dict[Register, int] = {}
        found: list[tuple[int, int, Register]] = []
        for block in blocks:
            for at, code in enumerate(block.code):
                for register in defined(code):
                    counts[register] = counts.get(register, 0) + 1
                    found.append((block.index, at, register))
        self.many = {register for register, count in counts.items() if count > 1}
        self.number: dict[tuple[int, int, Register], int] = {}
        self.all_of: dict[Register, int] = {}
        self.count = 0
        for site in found:  # a register twice in one instruction (`ld.v2 {a, a}`): its last number counts
            register = site[2]
            if register in self.many:
                self.number[site] = self.count
                self.all_of[register] = self.all_of.get(register, 0) | 1 << self.count
                self.count += 1


def reaching(blocks: list[Block], sites: Sites) -> list[int]:
    """The definitions that reach the beginning of each block."""
    gen, kill = [0] * len(blocks), [0] * len(blocks)
    for block in blocks:
        g = k = 0
        for at, code in enumerate(block.code):
            for register in defined(code):
                if register in sites.many:
                    if code.guard is None:
                        g &= ~sites.all_of[register]
                        k |= sites.all_of[register]
                    g |= 1 << sites.number[block.index, at, register]
        gen[block.index], kill[block.index] = g, k
    reach = [0] * len(blocks)
    todo, waiting = list(range(len(blocks) - 1, -1, -1)), set(range(len(blocks)))
    while todo:
        index = todo.pop()
        waiting.discard(index)
        out = gen[index] | reach[index] & ~kill[index]
        for successor in blocks[index].successors:
            s = successor.index
            if out & ~reach[s]:
                reach[s] |= out
                if s not in waiting:
                    waiting.add(s)
                    todo.append(s)
    return reach


class Forest:
    """Disjoint sets of definitions (union-find, with paths halved)."""

    def __init__(self, count: int) -> None:
        self.parent = list(range(count))

    def find(self, n: int) -> int:
        """The definition that stands for the set of `n`."""
        parent = self.parent
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def join(self, bits: int) -> int:
        """Unite definitions; the one that stands for them, -1 for none."""
        first = -1
        while bits:
            low = bits & -bits
            n = self.find(low.bit_length() - 1)
            first = n if first < 0 else first
            self.parent[n] = first
            bits ^= low
        return first


def meetings(blocks: list[Block], sites: Sites, forest: Forest) -> list[Meeting]:
    """All of them; definitions that meet are united."""
    many, all_of = sites.many, sites.all_of
    reach = reaching(blocks, sites)
    found: list[Meeting] = []
    for block in blocks:
        now = reach[block.index]
        for at, code in enumerate(block.code):
            read = [(r, forest.join(now & all_of[r])) for r in used(code) if r in many]
            written = []
            for register in defined(code):
                if register in many:
                    n = sites.number[block.index, at, register]
                    if code.guard is None:
                        now &= ~all_of[register]
                    else:
                        forest.join(now & all_of[register] | 1 << n)
                    now |= 1 << n
                    written.append((register, n))
            if read or written:
                found.append((block, at, read, written))
        if block.guard is not None and block.guard in many:
            found.append((block, -1, [(block.guard, forest.join(now & all_of[block.guard]))], []))
    return found


class Names:
    """The registers of the webs: a register itself for its first web that is met, new ones for the others."""

    def __init__(self, forest: Forest, registers: list[Register]) -> None:
        self.forest, self.registers = forest, registers
        self.of_web: dict[int, Register] = {}
        self.taken: set[Register] = set()

    def register(self, old: Register, n: int) -> Register:
        """The register of a definition's web."""
        if n < 0:
            return old  # read before it is written
        root = self.forest.find(n)
        if root not in self.of_web:
            if old not in self.taken:
                self.taken.add(old)
                self.of_web[root] = old
            else:
                self.of_web[root] = new = Register(old.name, old.type, len(self.registers))
                self.registers.append(new)
        return self.of_web[root]


def renamed(
    code: Instruction | Call, reading: dict[Register, Register], writing: dict[Register, Register]
) -> Instruction | Call:
    """An instruction with other registers."""
    guard = reading.get(code.guard, code.guard) if code.guard is not None else None
    if isinstance(code, Call):
        target = reading.get(code.target, code.target) if isinstance(code.target, Register) else code.target
        return Call(code.results, target, code.arguments, code.prototype, code.line, guard, code.negated, code.opcode)
    head = writing if defined(code) else reading
    operands = tuple([replace(o, reading if i else head) for i, o in enumerate(code.operands)])
    return Instruction(code.opcode, operands, code.line, guard, code.negated, code.base, code.mods)


def split_webs(blocks: list[Block], registers: list[Register]) -> None:
    """Give each web of definitions and uses a register of its own (changes blocks and `registers`)."""
    sites = Sites(blocks)
    if not sites.many:
        return
    forest = Forest(sites.count)
    found = meetings(blocks, sites, forest)
    names = Names(forest, registers)
    for block, at, read, written in found:
        reading = {r: names.register(r, n) for r, n in read}
        if at < 0:
            assert block.guard is not None
            block.guard = reading[block.guard]
        else:
            writing = {r: names.register(r, n) for r, n in written}
            block.code[at] = renamed(block.code[at], reading, writing)
