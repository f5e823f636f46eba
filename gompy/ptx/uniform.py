"""What is the same in all lanes of a warp: registers, branches, calls; and which blocks diverging lanes run in.

GCC's OpenMP code is executed by all 32 lanes with the same values outside of simd regions: most of it is scalar code.
A function is compiled in up to three versions:

* S (scalar): called with all arguments uniform and outside of a simd region (`__nvptx_uni` of the warp is 0);
* V (vector): called with a value per lane and a mask;
* E (entry): a kernel that is not GCC's OpenMP code; parameters uniform, nothing else assumed.

Registers are first split into webs (webs.py), so that the reuse of a register for something that varies does not spoil
the rest.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import locks
from .entries import with_one_entry
from .flow import Block, build_blocks, defined, live_in, loops, post_dominators
from .opcodes import BY_ADDRESS, BY_MEMBERS, BY_SOURCE_LANE, LANEWISE, NO_RESULT, OPCODES, VARYING
from .syntax import Call, Function, Immediate, Instruction, Memory, Pair, Register, Special, Symbol, Vector, copied
from .warps import Warps
from .webs import split_webs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    from gompy.records import dataclass, field

UNI = "__nvptx_uni"
OUTSIDE, INSIDE, UNKNOWN = 0, 1, 2
"""Whether code runs in a simd region, as far as the function itself tells (nvptx.cc: softstack, uniform simt)."""

VARYING_SPECIALS = frozenset(
    ("%laneid", "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt")
)


@dataclass(slots=True)
class Analysis:
    """A function's blocks and what is known of them in one version."""

    function: Function
    version: str
    rows: bool
    blocks: list[Block]
    registers: list[Register]
    varying: set[Register] = field(default_factory=set)
    varying_params: set[str] = field(default_factory=set)
    divergent: set[int] = field(default_factory=set)
    masked: set[int] = field(default_factory=set)  # blocks with a mask of waiting lanes: divergent ones and joins
    meetings: dict[int, set[int]] = field(default_factory=dict)  # join → the blocks between its branches and it
    keep: dict[int, int] = field(default_factory=dict)  # registers that waiting lanes still need, by block
    vector_calls: set[int] = field(default_factory=set)  # id() of the calls of V versions
    state: dict[int, int] = field(default_factory=dict)  # id(instruction) → OUTSIDE, …
    live: list[int] = field(default_factory=list)
    loops: dict[int, int] = field(default_factory=dict)
    whole: bool = False  # compiled so that a call can run all warps of a block (fission.py)
    conflicts: tuple[int, int] | None = None  # of a kernel whose races may be looked for (conflicts.py)
    warps: Warps | None = None  # what is known of numbers of threads
    progressions: dict[Register, int] = field(default_factory=dict)  # registers kept as one number, with their steps

    @property
    def aligned(self) -> bool:
        """Whether it is right only for blocks whose rows are multiples of 32 threads."""
        return self.warps is not None and self.warps.aligned


def single_definitions(blocks: list[Block]) -> dict[Register, Instruction | Call]:
    """The defining instruction of each register that has only one."""
    found: dict[Register, Instruction | Call | None] = {}
    for block in blocks:
        for code in block.code:
            for register in defined(code):
                found[register] = None if register in found or code.guard is not None else code
    return {r: code for r, code in found.items() if code is not None}


class SimdRegions:
    """Where the function is in a simd region (version S); folds reads of `__nvptx_uni` outside.

    GCC brackets a simd region by stores of -1 and 0 to `__nvptx_uni[%tid.y]` and begins functions that need it with
    `m = uni; p = m == 0; m &= laneid; e = m == laneid` (gcc/config/nvptx/nvptx.cc).
    """

    def __init__(self, analysis: Analysis) -> None:
        self.a = analysis
        self.single = single_definitions(analysis.blocks)
        self.slots: dict[Register, bool] = {}
        self.folded: dict[Register, int] = {}

    def run(self) -> bool:
        """Fill in the analysis' `state`.  True if guards went."""
        entry = self.entry_states()
        for block in self.a.blocks:
            state = entry[block.index]
            self.fold(block, UNKNOWN if state is None else state)
        return self.drop_guards()

    def is_slot(self, operand: object, depth: int = 8) -> bool:
        """Whether an operand is an address in `__nvptx_uni`."""
        if isinstance(operand, Symbol):
            return operand.name == UNI
        if not isinstance(operand, Register) or depth == 0:
            return False
        if operand not in self.slots:
            code = self.single.get(operand)
            self.slots[operand] = False
            if isinstance(code, Instruction) and code.base in ("mov", "add", "mad", "cvta"):
                self.slots[operand] = any(self.is_slot(o, depth - 1) for o in code.operands[1:])
        return self.slots[operand]

    def constant(self, operand: object) -> int | None:
        """An operand's value, if it is a constant or a register that is set to one."""
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Register):
            code = self.single.get(operand)
            if isinstance(code, Instruction) and code.base == "mov" and isinstance(code.operands[1], Immediate):
                return code.operands[1].value
        return None

    def after(self, code: Instruction | Call, state: int) -> int:
        """The state behind an instruction, given that before it."""
        if not isinstance(code, Instruction) or code.base != "st" or not isinstance(code.operands[0], Memory):
            return state
        if not self.is_slot(code.operands[0].base):
            return state
        value = self.constant(code.operands[1])
        if value is None or code.guard is not None:
            return UNKNOWN
        return OUTSIDE if value == 0 else INSIDE

    def entry_states(self) -> list[int | None]:
        """The state where each block begins; None for one that is not reached."""
        blocks = self.a.blocks
        entry: list[int | None] = [None] * len(blocks)
        entry[0] = OUTSIDE
        todo = [blocks[0]]
        while todo:
            block = todo.pop()
            state = entry[block.index]
            assert state is not None
            for code in block.code:
                state = self.after(code, state)
            for successor in block.successors:
                old = entry[successor.index]
                new = state if old is None or old == state else UNKNOWN
                if new != old:
                    entry[successor.index] = new
                    todo.append(successor)
        return entry

    def fold(self, block: Block, state: int) -> None:
        """Note the state of each instruction of a block, and which results are known."""
        for at, code in enumerate(block.code):
            self.a.state[id(code)] = state
            value = self.known_result(code, state)
            state = self.after(code, state)
            if value is None:
                continue
            assert isinstance(code, Instruction)
            target = code.operands[0]
            assert isinstance(target, Register)
            self.folded[target] = value
            if target.type != "pred":
                zero = Instruction("mov.u32", (target, Immediate(0)), code.line, None, False, "mov", ("u32",))
                block.code[at] = zero
                self.a.state[id(zero)] = self.a.state[id(code)]

    def known_result(self, code: Instruction | Call, state: int) -> int | None:
        """What an instruction computes from `__nvptx_uni` outside of a simd region; None: nothing that is known."""
        if not isinstance(code, Instruction) or code.guard is not None or not code.operands:
            return None
        target = code.operands[0]
        if not isinstance(target, Register) or self.single.get(target) is not code:
            return None
        sources = code.operands[1:]
        if code.base == "ld" and state == OUTSIDE:
            return 0 if isinstance(sources[0], Memory) and self.is_slot(sources[0].base) else None
        known = [self.folded.get(o, self.constant(o)) if isinstance(o, Register) else self.constant(o) for o in sources]
        if code.base == "and" and 0 in known and target.type != "pred":
            return 0
        if code.opcode == "setp.eq.u32" and known[0] is not None and known[1] is not None:
            return int(known[0] == known[1])
        return None

    def drop_guards(self) -> bool:
        """Instructions whose guard is known: left out, or without it.  The parsed ones stay as they are, for V."""
        changed = False
        for block in self.a.blocks:
            kept: list[Instruction | Call] = []
            for code in block.code:
                if code.guard is not None and code.guard in self.folded:
                    changed = True
                    if bool(self.folded[code.guard]) == code.negated:
                        continue
                    plain = copied(code)
                    plain.guard = None
                    self.a.state[id(plain)] = self.a.state[id(code)]
                    code = plain
                kept.append(code)
            block.code = kept
        return changed


def analyse(function: Function, version: str, rows: bool, name: str) -> Analysis:
    """Blocks and uniformity of a function in one version.  `rows`: warps are 32 threads of a row (`%tid.y` uniform)."""
    blocks = with_one_entry(build_blocks(function, name))
    result = Analysis(function, version, rows, blocks, list(function.registers))
    split_webs(blocks, result.registers)
    if version != "S":
        result.blocks = blocks = locks.released_first(function, blocks, result.registers)
    else:
        if SimdRegions(result).run():
            split_webs(blocks, result.registers)
        result.state.clear()
        SimdRegions(result).run()
    result.live = live_in(blocks)
    result.loops = loops(blocks)
    Uniformity(result).run()
    return result


class Uniformity:
    """The fix point of: varying registers → varying branches → divergent blocks → varying registers."""

    def __init__(self, analysis: Analysis) -> None:
        self.a = analysis
        self.immediate = post_dominators(analysis.blocks)
        self.single = single_definitions(analysis.blocks)
        self.local_names = {v.name for v in analysis.function.locals}
        self.own_params = {v.name for v in analysis.function.parameters}
        self.warps = analysis.warps = Warps(analysis.version, analysis.rows, analysis.varying, self.single, self.mixes)
        self.set_in: dict[Register, Block] = {}
        for block in analysis.blocks:
            self.set_in.update((register, block) for code in block.code for register in defined(code))
        self.local, self.shared = self.taints()
        self.crosses = {
            BY_MEMBERS: self.members_vary,
            BY_SOURCE_LANE: self.source_lane_varies,
            BY_ADDRESS: self.memory_varies,
        }

    def taints(self) -> tuple[set[Register], set[Register]]:
        """Registers that may hold an address of local memory, and (not in S) of shared memory."""
        local: set[Register] = set()
        shared: set[Register] = set()
        scalar = self.a.version == "S"
        names = {v.name for v in self.a.function.shared}
        changed = True
        while changed:
            changed = False
            for block in self.a.blocks:
                for code in block.code:
                    if isinstance(code, Call) or code.base == "setp" or code.base in NO_RESULT:
                        continue
                    is_local = is_shared = False
                    load = code.base == "ld"
                    for operand in code.operands[1:]:
                        for item in operand.items if isinstance(operand, Vector) else (operand,):
                            if isinstance(item, Memory):
                                item = item.base
                            if isinstance(item, Symbol):
                                is_local |= item.name in self.local_names
                                is_shared |= item.name in names
                            elif isinstance(item, Register):
                                is_local |= item in local
                                is_shared |= item in shared
                    if code.base == "cvta":
                        is_shared |= "shared" in code.mods
                        is_local |= "local" in code.mods
                    is_local |= code.base == "alloca"
                    if load:
                        # Shared memory may keep an address of local memory: GCC passes registers that way; at -O0 all
                        # variables are in local memory, and OpenACC's code hands what it loads to all lanes (shfl).
                        is_local = not scalar and (is_local or is_shared or "shared" in code.mods or self.handed(code))
                        is_shared = False
                    for register in defined(code):
                        if is_local and register not in local:
                            local.add(register)
                            changed = True
                        if is_shared and register not in shared:
                            shared.add(register)
                            changed = True
        return local, shared

    def handed(self, code: Instruction) -> bool:
        """Whether a load takes an argument of a function or a result of one: addresses of its caller's variables.  A
        kernel's own parameters come from the host."""
        memory = code.operands[1]
        return (
            "param" in code.mods
            and isinstance(memory, Memory)
            and isinstance(memory.base, Symbol)
            and not (self.a.function.entry and memory.base.name in self.own_params)
        )

    def run(self) -> None:
        """Fill in the analysis."""
        a = self.a
        while True:
            before = (len(a.varying), len(a.varying_params), len(a.divergent), len(a.vector_calls))
            self.regions()
            self.warps.again()
            for block in a.blocks:
                for code in block.code:
                    if isinstance(code, Call):
                        self.call(code, block)
                    else:
                        self.instruction(code, block)
            if before == (len(a.varying), len(a.varying_params), len(a.divergent), len(a.vector_calls)):
                break

    def regions(self) -> None:
        """Divergent blocks, joins, and what waiting lanes still need, from the branches that vary."""
        a = self.a
        blocks = a.blocks
        end = len(blocks)
        self.apart: dict[int, int] = {}
        for block in blocks:
            if block.guard is None or block.guard not in a.varying or len(block.successors) < 2:
                continue
            join = self.immediate[block.index]
            sides = [self.side(s.index, join) for s in block.successors]
            region = set().union(*sides)
            self.part(region, sides)
            a.divergent |= region
            a.masked |= region
            if join != end:
                a.masked.add(join)
                a.meetings.setdefault(join, set()).update(region)
        self.waiting()
        self.cyclic = self.divergent_cycles()

    def side(self, start: int, join: int) -> set[int]:
        """The blocks that lanes which go one way at a branch may run before all meet again."""
        found: set[int] = set()
        todo = [start]
        while todo:
            index = todo.pop()
            if index != join and index not in found:
                found.add(index)
                todo += [s.index for s in self.a.blocks[index].successors]
        return found

    def part(self, region: set[int], sides: list[set[int]]) -> None:
        """Note in `apart`, for each block, the blocks (bits) where lanes may be that went another way at a branch."""
        bits = [sum(1 << index for index in side) for side in sides]
        for index in region:
            for number, side in enumerate(sides):
                if index in side:
                    for other, blocks in enumerate(bits):
                        if other != number:
                            self.apart[index] = self.apart.get(index, 0) | blocks

    def waiting(self) -> None:
        """What lanes that wait elsewhere still need while a divergent block runs.

        Lanes that took an edge wait at its target while the blocks between run; if the edge leaves a loop, while all of
        the loop runs; if it goes back, up to the loop's end.  Where all lanes of a block take the same edge, the only
        ones that can run meanwhile are those that went another way before.
        """
        a = self.a
        a.keep = dict.fromkeys(a.divergent, 0)
        for block in a.blocks:
            if not self.splits(block):
                continue
            together = block.guard is None or block.guard not in a.varying
            others = self.apart.get(block.index, 0) if together else -1
            for target in block.successors:
                first, c = block.index + 1, target.index
                for head, end in a.loops.items():
                    if head <= block.index <= end and not head <= c <= end:
                        first = min(first, head)
                last = c - 1 if c > block.index else a.loops[c]
                needed = a.live[c]
                for index in range(first, last + 1):
                    if others >> index & 1 and index in a.divergent:
                        a.keep[index] |= needed

    def splits(self, block: Block) -> bool:
        """Whether lanes may leave a block by different ways, or are not all in it."""
        return block.index in self.a.divergent or (block.guard is not None and block.guard in self.a.varying)

    def divergent_cycles(self) -> set[int]:
        """Divergent blocks that can run twice before all lanes meet again."""
        inside = self.a.divergent
        found: set[int] = set()
        for head, end in self.a.loops.items():
            if head in inside:
                found |= {i for i in range(head, end + 1) if i in inside}
        return found

    def varies(self, operand: object) -> bool:
        """Whether an operand differs between lanes."""
        a = self.a
        if isinstance(operand, Register):
            return operand in a.varying
        if isinstance(operand, Special):
            name = operand.name
            if name.startswith("%tid"):
                return name in ("%tid.x", "%tid") or not a.rows
            return name in VARYING_SPECIALS
        if isinstance(operand, Memory):
            return self.varies(operand.base)
        if isinstance(operand, Vector):
            return any(self.varies(item) for item in operand.items)
        if isinstance(operand, Pair):
            return self.varies(operand.first) or self.varies(operand.second)
        register = getattr(operand, "register", None)
        return register is not None and register in a.varying

    def instruction(self, code: Instruction, block: Block) -> None:
        """Mark what the instruction makes varying."""
        a = self.a
        guarded = code.guard is not None and code.guard in a.varying
        if code.base == "st" and "param" in code.mods:
            target = code.operands[0]
            assert isinstance(target, Memory)
            if isinstance(target.base, Symbol) and (
                guarded or block.index in a.divergent or self.varies(code.operands[1])
            ):
                a.varying_params.add(target.base.name)
            return
        results = defined(code)
        if not results:
            return
        varying = guarded or self.result_varies(code)
        for register in results:
            if register in a.varying:
                continue
            if varying or (
                block.index in a.divergent
                and a.keep.get(block.index, 0) >> register.number & 1
                and not (register in self.single and block.index not in self.cyclic)
            ):
                a.varying.add(register)

    def mixes(self, register: Register) -> bool:
        """Whether lanes that are off keep what a register that is set once had before."""
        index = self.set_in[register].index
        return index in self.a.divergent and bool(self.a.keep.get(index, 0) >> register.number & 1)

    def result_varies(self, code: Instruction) -> bool:
        """Whether the value differs between active lanes: by the opcode's word.  lower.py has none for unknown ones."""
        record = OPCODES.get(code.base)
        if record is None:
            return True
        lanes = record.lanes
        if lanes == LANEWISE:
            return any(self.varies(operand) for operand in code.operands[1:]) and not self.warps.uniform(code)
        return lanes == VARYING or self.crosses[lanes](code)

    def members_vary(self, code: Instruction) -> bool:
        """vote, activemask, redux: whether lanes belong to groups of their own."""
        return "sync" in code.mods and self.varies(code.operands[-1])

    def source_lane_varies(self, code: Instruction) -> bool:
        """shfl: whether lanes read from others than one."""
        if "idx" not in code.mods or isinstance(code.operands[0], Pair):
            return True
        bounds = code.operands[3]
        if isinstance(bounds, Register):
            made = self.single.get(bounds)
            if isinstance(made, Instruction) and made.base == "mov" and made.guard is None:
                bounds = made.operands[1]
        # Parts of a warp, and lanes beyond a clamp, each have a source of their own.
        whole = isinstance(bounds, Immediate) and bounds.value & 0x1F1F == 31
        return not whole or self.varies(code.operands[2])

    def memory_varies(self, code: Instruction) -> bool:
        """ld: whether lanes read from different places."""
        a = self.a
        memory = code.operands[1]
        assert isinstance(memory, Memory)
        if "param" in code.mods:
            if isinstance(memory.base, Symbol):
                name = memory.base.name
                if name in self.own_params:
                    return a.version == "V" and not a.function.entry
                return name in a.varying_params
            return self.varies(memory.base)
        if self.varies(memory.base) or "local" in code.mods:
            return True
        if isinstance(memory.base, Symbol):
            return memory.base.name in self.local_names
        return memory.base in self.local

    def call(self, code: Call, block: Block) -> None:
        """Decide which version is called; its results vary if that is V."""
        a = self.a
        if id(code) not in a.vector_calls:
            vector = (
                a.version != "S"
                or a.state.get(id(code), UNKNOWN) != OUTSIDE
                or block.index in a.divergent
                or (code.guard is not None and code.guard in a.varying)
                or self.varies(code.target)
                or (isinstance(code.target, Symbol) and code.target.name in abi.BUILTINS)
                or any(isinstance(o, Symbol) and o.name in a.varying_params for o in code.arguments)
            )
            if not vector:
                return
            a.vector_calls.add(id(code))
        for result in code.results:
            if isinstance(result, Symbol):
                a.varying_params.add(result.name)
