"""Which accesses of a kernel can race at all, as far as its text tells (GOMPY_CHECK=race).

Most of what a kernel reads nobody writes while it runs, and tiles in shared memory are filled, then read, with a
barrier between.  Such accesses need not be told to the executor.  Two things are found:

* Of device memory: from which words of the kernel's parameters an address is computed.  The executor knows when it
  launches which of these point into one block, and sets the bits of those that are in a block that is written and used
  by more than atomic operations (race_launches.pxi).  An address that comes from elsewhere has RACE_ALWAYS.
* Of shared memory: what all code does that a warp can come to from a barrier of the whole block before the next one.
  Where that is reading only, or atomic operations only, an access has RACE_MIXED, a bit that the executor sets where
  the block's warps have not come from one barrier.

A pointer that is moved from one block into another is not followed.  Each such access compares its addresses with the
blocks that its parameters point into (racing.py): one that is outside is told, and from the next block of threads on
all accesses of the kernel are, in its later launches as well.  Variables' blocks are not compared.
Kernels that call functions, and GCC's OpenMP code, are told whole.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .flow import Block, defined, flat
from .frames import Frames
from .opcodes import ATOMIC, MEETS, OPCODES, ORDERS, READS, RELEASES, STRONG, WRITES
from .operands import architecture
from .syntax import Call, Function, Immediate, Instruction, Memory, Module, Operand, Register, Symbol
from .uniform import Analysis, single_definitions

ALWAYS, MIXED, VARIABLES = 1 << abi.RACE_ALWAYS, 1 << abi.RACE_MIXED, 1 << abi.RACE_VARIABLES
SHARED, LOCAL = 1 << 63, 1 << 64
"""Where an address may come from, besides those bits."""
PLAIN_READ, PLAIN_WRITE, STRONG_READ, STRONG_WRITE = 1, 2, 4, 8
ANY_WRITE, ANY_PLAIN = PLAIN_WRITE | STRONG_WRITE, PLAIN_READ | PLAIN_WRITE
LOADS, STORES, ATOMS = frozenset(("ld", "ldu")), frozenset(("st",)), frozenset(("atom", "red"))
NOT_JUDGED = frozenset(("tex", "tld4", "suld", "sust", "sured"))
"""What races are not looked for in."""
KNOWN = LOADS | STORES | ATOMS | NOT_JUDGED
OTHER_SPACES = frozenset(("param", "local", "const"))
KNOWN_CALLS = frozenset(("vprintf", "__assertfail"))
EFFECTS = frozenset((READS, WRITES, ATOMIC, ORDERS, MEETS))
BITS = frozenset(("b32", "b64"))
SCALES = frozenset(("mul", "mad", "shl"))
"""Their first two operands are factors, or a number of bits."""
POINTERS = frozenset(("u64", "b64", "s64"))
"""Types of what may be a pointer: it has eight bytes."""


def space_of(code: Instruction) -> str:
    """The space of a load, store or atomic operation; "": a generic address."""
    for mod in code.mods:
        name = mod.partition("::")[0]
        if name in ("global", "shared") or name in OTHER_SPACES:
            return name
    return ""


def memory_of(code: Instruction) -> Memory | None:
    """The address of a load, store or atomic operation."""
    return next((operand for operand in code.operands[:2] if isinstance(operand, Memory)), None)


def kinds_of(code: Instruction) -> int:
    """What an access is of PLAIN_READ, …"""
    if code.base in ATOMS:
        return STRONG_READ | STRONG_WRITE
    strong = not STRONG.isdisjoint(code.mods)
    if code.base in STORES:
        return STRONG_WRITE if strong else PLAIN_WRITE
    return STRONG_READ if strong else PLAIN_READ


def accessed(code: Instruction | Call) -> tuple[Instruction, Memory] | None:
    """An instruction that accesses memory that threads share, in a way that is known here, and the address."""
    if not isinstance(code, Instruction) or code.base not in LOADS | STORES | ATOMS or space_of(code) in OTHER_SPACES:
        return None
    memory = memory_of(code)
    return None if memory is None else (code, memory)


def orders(code: Instruction | Call) -> bool:
    """Whether an instruction is a fence, or has the effect of one."""
    return isinstance(code, Instruction) and (OPCODES[code.base].effect == ORDERS or not RELEASES.isdisjoint(code.mods))


def harmless(function: Function | None) -> bool:
    """Whether a function that is called touches no memory that threads share, and calls nothing."""
    if function is None or function.body is None:
        return False
    for code in function.body:
        if isinstance(code, Call):
            return False
        effect = OPCODES[code.base].effect if isinstance(code, Instruction) else ""
        if effect in EFFECTS and isinstance(code, Instruction) and space_of(code) not in OTHER_SPACES:
            return False
    return True


def delimits(code: Instruction | Call) -> bool:
    """Whether an instruction is a barrier that all warps of the block come to."""
    if not isinstance(code, Instruction) or code.guard is not None:
        return False
    mods = [m for m in code.mods if m not in ("aligned", "cta")]
    if code.base == "barred":
        return len(code.operands) == 3
    return code.base in ("bar", "barrier") and mods == ["sync"] and len(code.operands) == 1


class Conflicts:
    """What is known of one kernel's accesses; of anything else, that they are to be told."""

    def __init__(self, analysis: Analysis, module: Module, offsets: dict[str, int]) -> None:
        self.a, self.module = analysis, module
        self.offsets = offsets  # of parameters, by name
        self.spaces = {v.name: "shared" for v in analysis.function.shared}
        self.spaces |= {v.name: "local" for v in analysis.function.locals}
        self.known = analysis.function.entry and analysis.version == "E" and self.alone()
        self.writes = self.plain = ALWAYS
        self.roots: dict[Register, int] = {}
        self.quiet: set[int] = set()
        self.orders = any(map(orders, self.statements()))
        self.in_step = architecture(module) < 70  # a warp's lanes go so
        self.frame = Frames(analysis).own
        if self.known:
            self.single = single_definitions(analysis.blocks)
            self.find_roots()
            self.collect()
            self.find_quiet()

    def statements(self) -> list[Instruction | Call]:
        """All of the function's code."""
        return [code for block in self.a.blocks for code in block.code]

    def alone(self) -> bool:
        """Whether all accesses of a launch are instructions of the kernel that are known here."""
        for code in self.statements():
            if isinstance(code, Call):
                name = code.target.name if isinstance(code.target, Symbol) else ""
                if name not in KNOWN_CALLS and not harmless(self.module.function(name)):
                    return False
            elif OPCODES[code.base].effect in (READS, WRITES, ATOMIC) and code.base not in KNOWN:
                return False
        return True

    def strong(self, code: Instruction) -> bool:
        """Whether a load or store is no data race with others of its kind.

        GCC's atomic stores are `st.b32` and `st.b64` from sm_70 on; all its other ones name a type
        (GCC, config/nvptx/nvptx.md: nvptx_atomic_store_sm70, movsi).
        """
        if not STRONG.isdisjoint(code.mods):
            return True
        return self.module.by_gcc and code.base in STORES and not BITS.isdisjoint(code.mods[-1:])

    # --- where addresses come from ----------------------------------------------------------------------------------

    def of_symbol(self, name: str) -> int:
        """Of the address of a variable."""
        variable = self.module.variables.get(name)
        space = self.spaces.get(name, variable.space if variable is not None else "")
        return {"shared": SHARED, "local": LOCAL, "global": VARIABLES, "const": LOCAL}.get(space, ALWAYS)

    def of(self, operand: Operand | None) -> int:
        """Of an operand."""
        if isinstance(operand, Memory):
            operand = operand.base
        if isinstance(operand, Symbol):
            return self.of_symbol(operand.name)
        found = 0
        for register in flat(operand) if operand is not None else ():
            found |= self.roots.get(register, 0)
        return found

    def parameter(self, operand: object, offset: int = 0) -> int | None:
        """Where in the kernel's parameters an address points; None: it is not known to."""
        for _ in range(8):
            if isinstance(operand, Symbol):
                start = self.offsets.get(operand.name)
                return None if start is None else start + operand.offset + offset
            code = self.single.get(operand) if isinstance(operand, Register) else None
            if not isinstance(code, Instruction) or code.base not in ("mov", "cvta", "add"):
                return None
            if code.base == "add":
                if not isinstance(code.operands[2], Immediate):
                    return None
                offset += code.operands[2].value
            operand = code.operands[1]
        return None

    def of_load(self, code: Instruction) -> int:
        """Of what a load finds."""
        if POINTERS.isdisjoint(code.mods[-1:]):
            return 0
        memory = code.operands[1]
        if code.base != "ld" or space_of(code) != "param" or not isinstance(memory, Memory):
            return ALWAYS
        place = self.parameter(memory.base, memory.offset)
        if place is None or place % 8 or not {"v2", "v4"}.isdisjoint(code.mods):
            return ALWAYS
        return 1 << place // 8 if 0 <= place < 8 * abi.RACE_PARAMS else ALWAYS

    def result(self, code: Instruction | Call) -> int:
        """Of what an instruction computes."""
        if isinstance(code, Call):
            return 0
        if code.base in LOADS:
            return self.of_load(code)
        if code.base in ATOMS:
            return 0 if POINTERS.isdisjoint(code.mods[-1:]) else ALWAYS
        factors = 2 if code.base in SCALES else 0
        found = 0
        for number, operand in enumerate(code.operands[1:]):
            # What was loaded and is an index is no pointer.
            found |= self.of(operand) & ~ALWAYS if number < factors else self.of(operand)
        return found

    def find_roots(self) -> None:
        """Of each register, whatever assigns it."""
        codes = [(code, defined(code)) for code in self.statements()]
        codes = [(code, registers) for code, registers in codes if registers]
        changed = True
        while changed:
            changed = False
            for code, registers in codes:
                found = self.result(code)
                for register in registers:
                    old = self.roots.get(register, 0)
                    if found & ~old:
                        self.roots[register] = old | found
                        changed = True

    def reached(self, code: Instruction, memory: Memory) -> int:
        """What an access may be of: bits of parameters, VARIABLES, SHARED, ALWAYS."""
        space = space_of(code)
        if space == "shared":
            return SHARED
        found = self.of(memory)
        if space == "global":
            found &= ~(SHARED | LOCAL)
        elif found == LOCAL:
            return 0
        return found & ~LOCAL or ALWAYS

    # --- the kernel's accesses --------------------------------------------------------------------------------------

    def collect(self) -> None:
        """Fill in what is written, and what is accessed by other than atomic operations."""
        self.writes = self.plain = 0
        for access in filter(None, map(accessed, self.statements())):
            found, kinds = self.reached(*access) & ~SHARED, kinds_of(access[0])
            self.writes |= found if kinds & ANY_WRITE else 0
            self.plain |= found if kinds & ANY_PLAIN else 0

    def find_quiet(self) -> None:
        """The accesses of shared memory that nothing between the barriers around them can race with."""
        parts: list[list[Instruction | Call]] = []
        following: list[list[int]] = []
        first: dict[Block, int] = {}
        last: dict[Block, int] = {}
        starts = [0]
        for block in self.a.blocks:
            first[block] = len(parts)
            parts.append([])
            following.append([])
            for code in block.code:
                parts[-1].append(code)
                if delimits(code):
                    starts.append(len(parts))
                    parts.append([])
                    following.append([])
            last[block] = len(parts) - 1
        for block in self.a.blocks:
            following[last[block]] = [first[successor] for successor in block.successors]
        loud: set[int] = set()
        for start in starts:
            region = {start}
            todo = [start]
            while todo:
                for part in following[todo.pop()]:
                    if part not in region:
                        region.add(part)
                        todo.append(part)
            kinds = 0
            for part in region:
                for code in parts[part]:
                    kinds |= self.shared_kinds(code)
            if kinds & ANY_WRITE and kinds & ANY_PLAIN:
                loud |= region
        for part, codes in enumerate(parts):
            if part not in loud:
                self.quiet |= {id(code) for code in codes}

    def shared_kinds(self, code: Instruction | Call) -> int:
        """What an instruction may do with shared memory."""
        access = accessed(code)
        return kinds_of(access[0]) if access and self.reached(*access) & (SHARED | ALWAYS) else 0

    def bits(self, code: Instruction, memory: Memory, at: Instruction | Call | None) -> int:
        """The bits of `race_mask` that an access is looked at for; 0: never.  `at`: the statement that it is of."""
        if memory.base in self.frame and kinds_of(code) & (PLAIN_READ | PLAIN_WRITE):
            return 0
        if not self.known or code.base not in KNOWN:
            return ALWAYS
        if self.orders and kinds_of(code) & (STRONG_READ | STRONG_WRITE):
            return ALWAYS  # such an access may be what orders others
        found = self.reached(code, memory)
        if found & SHARED:
            found = found & ~SHARED | (MIXED if id(at) in self.quiet else ALWAYS)
        return ALWAYS if found & ALWAYS else found
