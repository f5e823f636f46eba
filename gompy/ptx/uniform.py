"""What is the same in all lanes of a warp: registers, branches, calls; and which blocks diverging lanes run in.

GCC's OpenMP code is executed by all 32 lanes with the same values outside of simd regions: most of it is scalar code.
A function is compiled in up to three versions:

* S (scalar): called with all arguments uniform and outside of a simd region (`__nvptx_uni` of the warp is 0);
* V (vector): called with a value per lane and a mask;
* E (entry): a kernel that is not GCC's OpenMP code; parameters uniform, nothing else assumed.

Registers are first split into webs (one for each group of definitions that meet at a use), so that the reuse of
a register for something that varies does not spoil the rest.
"""

from __future__ import annotations

from .flow import Block, build_blocks, defined, live_in, loops, post_dominators, replace, used
from .syntax import Call, Function, Immediate, Instruction, Memory, Pair, Register, Special, Symbol, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    from .records import dataclass, field

UNI = "__nvptx_uni"
OUTSIDE, INSIDE, UNKNOWN = 0, 1, 2
"""Whether code runs in a simd region, as far as the function itself tells (nvptx.cc: softstack, uniform simt)."""

BUILTINS = ("vprintf", "malloc", "free", "__assertfail")
"""Functions of the driver: only as V."""

ACROSS = frozenset(("activemask", "atom", "elect", "ld", "match", "redux", "shfl", "vote"))
"""Opcodes whose result does not depend on the lane's own operands alone: `Uniformity.result_varies` has each."""
LANEWISE = frozenset(
    (
        *("abs", "add", "addc", "alloca", "and", "barred", "bfe", "bfi", "bfind", "bmsk", "brev"),
        *("carry", "clz", "cnot", "copysign", "cos", "createpolicy", "cvt", "cvta", "div", "dp2a", "dp4a"),
        *("ex2", "fma", "isspacep", "ldu", "lg2", "lop3", "mad", "mad24", "madc", "max", "min"),
        *("mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "rsqrt"),
        *("sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "stacksave"),
        *("sub", "subc", "szext", "tanh", "testp", "vadd", "vsub", "xor"),
    )
)
"""Opcodes whose result is the same in all lanes if all operands are.  One that is in neither list varies: a result
that is taken for the same in all lanes, and is not, would be the first lane's for all of them."""
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
    keep: dict[int, int] = field(default_factory=dict)  # registers that waiting lanes still need, by block
    vector_calls: set[int] = field(default_factory=set)  # id() of the calls of V versions
    state: dict[int, int] = field(default_factory=dict)  # id(instruction) → OUTSIDE, …
    live: list[int] = field(default_factory=list)
    loops: dict[int, int] = field(default_factory=dict)


def split_webs(blocks: list[Block], registers: list[Register]) -> None:
    """Give each web of definitions and uses a register of its own (changes instructions and `registers`)."""
    places: dict[Register, int] = {}
    sites: list[tuple[int, int, Register]] = []
    for block in blocks:
        for at, code in enumerate(block.code):
            for register in defined(code):
                places[register] = places.get(register, 0) + 1
                sites.append((block.index, at, register))
    many = {r for r, count in places.items() if count > 1}
    if not many:
        return
    sites = [s for s in sites if s[2] in many]
    number = {(s[0], s[1], s[2]): n for n, s in enumerate(sites)}
    all_of: dict[Register, int] = {}
    for n, site in enumerate(sites):
        all_of[site[2]] = all_of.get(site[2], 0) | 1 << n
    gen, kill = [0] * len(blocks), [0] * len(blocks)
    for block in blocks:
        g = k = 0
        for at, code in enumerate(block.code):
            for register in defined(code):
                if register in many:
                    if code.guard is None:
                        g &= ~all_of[register]
                        k |= all_of[register]
                    g |= 1 << number[block.index, at, register]
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
    parent = list(range(len(sites)))

    def find(n: int) -> int:
        while parent[n] != n:
            parent[n] = parent[parent[n]]
            n = parent[n]
        return n

    def join(bits: int) -> int:
        first = -1
        while bits:
            low = bits & -bits
            n = find(low.bit_length() - 1)
            first = n if first < 0 else first
            parent[n] = first
            bits ^= low
        return first

    uses: list[tuple[list[tuple[Register, int]], list[tuple[Register, int]], Block, int]] = []
    for block in blocks:
        now = reach[block.index]
        for at, code in enumerate(block.code):
            read = [(r, join(now & all_of[r])) for r in used(code) if r in many]
            written = []
            for register in defined(code):
                if register in many:
                    n = number[block.index, at, register]
                    if code.guard is None:
                        now &= ~all_of[register]
                    else:
                        join(now & all_of[register] | 1 << n)
                    now |= 1 << n
                    written.append((register, n))
            if read or written:
                uses.append((read, written, block, at))
        if block.guard in many and block.guard is not None:
            uses.append(([(block.guard, join(now & all_of[block.guard]))], [], block, -1))
    names: dict[int, Register] = {}
    taken: set[Register] = set()

    def web(register: Register, n: int) -> Register:
        if n < 0:
            return register  # read before it is written
        root = find(n)
        if root not in names:
            if register not in taken:
                taken.add(register)
                names[root] = register
            else:
                names[root] = Register(register.name, register.type, len(registers))
                registers.append(names[root])
        return names[root]

    for read, written, block, at in uses:
        reading = {r: web(r, n) for r, n in read}
        if at < 0:
            assert block.guard is not None
            block.guard = reading[block.guard]
            continue
        writing = {r: web(r, n) for r, n in written}
        code = block.code[at]
        guard = reading.get(code.guard, code.guard) if code.guard is not None else None
        if isinstance(code, Call):
            target = reading.get(code.target, code.target) if isinstance(code.target, Register) else code.target
            block.code[at] = Call(
                code.results, target, code.arguments, code.prototype, code.line, guard, code.negated, code.opcode
            )
        else:
            head = writing if defined(code) else reading
            operands = tuple(replace(o, reading if i else head) for i, o in enumerate(code.operands))
            block.code[at] = Instruction(code.opcode, operands, code.line, guard, code.negated, code.base, code.mods)


def single_definitions(blocks: list[Block]) -> dict[Register, Instruction | Call]:
    """The defining instruction of each register that has only one."""
    found: dict[Register, Instruction | Call | None] = {}
    for block in blocks:
        for code in block.code:
            for register in defined(code):
                found[register] = None if register in found or code.guard is not None else code
    return {r: code for r, code in found.items() if code is not None}


def simd_state(analysis: Analysis) -> bool:
    """Where the function is in a simd region (version S); folds reads of `__nvptx_uni` outside.  True if guards went.

    GCC brackets a simd region by stores of -1 and 0 to `__nvptx_uni[%tid.y]` and begins functions that need it with
    `m = uni; p = m == 0; m &= laneid; e = m == laneid` (gcc/config/nvptx/nvptx.cc).
    """
    blocks = analysis.blocks
    single = single_definitions(blocks)
    slots: dict[Register, bool] = {}

    def is_slot(operand: object, depth: int = 8) -> bool:
        if isinstance(operand, Symbol):
            return operand.name == UNI
        if not isinstance(operand, Register) or depth == 0:
            return False
        if operand not in slots:
            code = single.get(operand)
            slots[operand] = False
            if isinstance(code, Instruction) and code.base in ("mov", "add", "mad", "cvta"):
                slots[operand] = any(is_slot(o, depth - 1) for o in code.operands[1:])
        return slots[operand]

    def constant(operand: object) -> int | None:
        if isinstance(operand, Immediate):
            return operand.value
        if isinstance(operand, Register):
            code = single.get(operand)
            if isinstance(code, Instruction) and code.base == "mov" and isinstance(code.operands[1], Immediate):
                return code.operands[1].value
        return None

    def after(code: Instruction | Call, state: int) -> int:
        if not isinstance(code, Instruction) or code.base != "st" or not isinstance(code.operands[0], Memory):
            return state
        if not is_slot(code.operands[0].base):
            return state
        value = constant(code.operands[1])
        if value is None or code.guard is not None:
            return UNKNOWN
        return OUTSIDE if value == 0 else INSIDE

    entry: list[int | None] = [None] * len(blocks)
    entry[0] = OUTSIDE
    todo = [blocks[0]]
    while todo:
        block = todo.pop()
        state = entry[block.index]
        assert state is not None
        for code in block.code:
            state = after(code, state)
        for successor in block.successors:
            old = entry[successor.index]
            new = state if old is None or old == state else UNKNOWN
            if new != old:
                entry[successor.index] = new
                todo.append(successor)
    folded: dict[Register, int] = {}
    for block in blocks:
        state = entry[block.index]
        if state is None:
            state = UNKNOWN
        for at, code in enumerate(block.code):
            analysis.state[id(code)] = state
            state = after(code, state)
            if not isinstance(code, Instruction) or code.guard is not None or not code.operands:
                continue
            target = code.operands[0]
            if not isinstance(target, Register) or single.get(target) is not code:
                continue
            value: int | None = None
            known = [folded.get(o, constant(o)) if isinstance(o, Register) else constant(o) for o in code.operands[1:]]
            if code.base == "ld" and analysis.state[id(code)] == OUTSIDE:
                source = code.operands[1]
                if isinstance(source, Memory) and is_slot(source.base):
                    value = 0
            elif code.base == "and" and 0 in known and target.type != "pred":
                value = 0
            elif code.opcode == "setp.eq.u32" and known[0] is not None and known[1] is not None:
                value = int(known[0] == known[1])
            if value is not None:
                folded[target] = value
                if target.type != "pred":
                    block.code[at] = Instruction(
                        "mov.u32", (target, Immediate(0)), code.line, None, False, "mov", ("u32",)
                    )
                    analysis.state[id(block.code[at])] = analysis.state[id(code)]
    changed = False
    for block in blocks:
        kept: list[Instruction | Call] = []
        for code in block.code:
            if code.guard is not None and code.guard in folded:
                changed = True
                if bool(folded[code.guard]) == code.negated:
                    continue
                code.guard = None
            kept.append(code)
        block.code = kept
    return changed


def analyse(function: Function, version: str, rows: bool, name: str) -> Analysis:
    """Blocks and uniformity of a function in one version.  `rows`: warps are 32 threads of a row (`%tid.y` uniform)."""
    blocks = build_blocks(function, name)
    result = Analysis(function, version, rows, blocks, list(function.registers))
    split_webs(blocks, result.registers)
    if version == "S":
        if simd_state(result):
            split_webs(blocks, result.registers)
        result.state.clear()
        simd_state(result)
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
        self.local, self.shared = self.taints()

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
                    if isinstance(code, Call) or code.base in ("setp", "st", "bra", "bar"):
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
        for block in blocks:
            if block.guard is None or block.guard not in a.varying or len(block.successors) < 2:
                continue
            join = self.immediate[block.index]
            region: set[int] = set()
            todo = [s.index for s in block.successors]
            while todo:
                index = todo.pop()
                if index == join or index in region:
                    continue
                region.add(index)
                todo += [s.index for s in blocks[index].successors]
            a.divergent |= region
            a.masked |= region
            if join != end:
                a.masked.add(join)
        self.waiting()
        self.cyclic = self.divergent_cycles()

    def waiting(self) -> None:
        """What lanes that wait elsewhere still need while a divergent block runs.

        Lanes that took an edge wait at its target while the blocks between run; if the edge leaves a loop, while all of
        the loop runs; if it goes back, up to the loop's end.
        """
        a = self.a
        a.keep = dict.fromkeys(a.divergent, 0)
        for block in a.blocks:
            if not self.splits(block):
                continue
            for target in block.successors:
                first, c = block.index + 1, target.index
                for head, end in a.loops.items():
                    if head <= block.index <= end and not head <= c <= end:
                        first = min(first, head)
                last = c - 1 if c > block.index else a.loops[c]
                needed = a.live[c]
                for index in range(first, last + 1):
                    if index in a.divergent:
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

    def result_varies(self, code: Instruction) -> bool:
        """Whether the value differs between active lanes."""
        a = self.a
        base = code.base
        if base in ("vote", "activemask", "redux"):
            return "sync" in code.mods and self.varies(code.operands[-1])
        if base in ("match", "elect"):
            return True
        if base == "atom":
            return True
        sources = code.operands[1:]
        if base == "shfl":
            if "idx" in code.mods and not isinstance(code.operands[0], Pair):
                return self.varies(sources[1]) or self.varies(sources[2])
            return True
        if base == "ld":
            memory = sources[0]
            assert isinstance(memory, Memory)
            if "param" in code.mods:
                if isinstance(memory.base, Symbol):
                    name = memory.base.name
                    if name in self.own_params:
                        return a.version == "V" and not a.function.entry
                    return name in a.varying_params
                return True
            if self.varies(memory.base) or "local" in code.mods:
                return True
            if isinstance(memory.base, Symbol):
                return memory.base.name in self.local_names
            return memory.base in self.local
        return base not in LANEWISE or any(self.varies(operand) for operand in sources)

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
                or (isinstance(code.target, Symbol) and code.target.name in BUILTINS)
                or any(isinstance(o, Symbol) and o.name in a.varying_params for o in code.arguments)
            )
            if not vector:
                return
            a.vector_calls.add(id(code))
        for result in code.results:
            if isinstance(result, Symbol):
                a.varying_params.add(result.name)
