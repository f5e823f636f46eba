"""Control flow of a function: blocks, their order, post-dominators, live registers, and registers split into webs.

The order matters for execution (uniform.py, lower.py): lanes that have diverged wait at blocks with a mask each, and
blocks run in this order, lanes that jump back waiting until the others have come to the end of the loop.  With each
loop contiguous (a weak topological order) lanes meet again at the immediate post-dominator of the branch, as the
hardware's reconvergence stack makes them.
"""

from __future__ import annotations

from .opcodes import MEETS, NO_RESULT, OPCODES
from .syntax import Call, Function, Instruction, Label, Memory, Not, Operand, Pair, PtxError, Register, Symbol, Vector

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from dataclasses import dataclass, field
else:
    from gompy.records import dataclass, field


@dataclass(slots=True)
class Block:
    """A basic block.  `kind`: jump, branch (guard taken → successors[0], else successors[1]), ret, exit."""

    index: int
    code: list[Instruction | Call]
    kind: str = "jump"
    guard: Register | None = None
    negated: bool = False
    line: int = 0
    successors: list[Block] = field(default_factory=list)
    predecessors: list[Block] = field(default_factory=list)
    label: str = ""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def is_meeting(code: Instruction | Call) -> bool:
    """Whether it is a barrier of threads of a block."""
    if not isinstance(code, Instruction) or code.base not in OPCODES:  # what is not known is refused by name, later
        return False
    return OPCODES[code.base].effect == MEETS and code.mods[:1] != ("warp",)


def flat(operand: Operand) -> Iterator[Register]:
    """The registers in an operand."""
    if isinstance(operand, Register):
        yield operand
    elif isinstance(operand, Memory):
        if isinstance(operand.base, Register):
            yield operand.base
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from flat(item)
    elif isinstance(operand, Not):
        yield operand.register
    elif isinstance(operand, Pair):
        yield from flat(operand.first)
        yield from flat(operand.second)


def defined(code: Instruction | Call) -> list[Register]:
    """Registers that an instruction writes."""
    if isinstance(code, Call) or code.base in NO_RESULT or not code.operands:
        return []
    first = code.operands[0]
    return [] if isinstance(first, Memory) else list(flat(first))


def used(code: Instruction | Call) -> list[Register]:
    """Registers that an instruction reads, its guard included."""
    found = [] if code.guard is None else [code.guard]
    if isinstance(code, Call):
        return found + ([code.target] if isinstance(code.target, Register) else [])
    operands = code.operands
    if code.base not in NO_RESULT and operands and not isinstance(operands[0], Memory):
        operands = operands[1:]
    for operand in operands:
        found += flat(operand)
    return found


def build_blocks(function: Function, name: str) -> list[Block]:
    """The blocks of a body in order of execution (loops contiguous), unreachable ones left out."""
    blocks: list[Block] = []
    labels: dict[str, Block] = {}

    def start() -> Block:
        block = Block(len(blocks), [])
        blocks.append(block)
        return block

    current = start()
    falls: list[tuple[Block, str | None]] = []
    open_block = True
    tails: list[tuple[Block, str]] = []
    for statement in function.body or ():
        if isinstance(statement, Label):
            if current.code or not open_block or current.label:
                following = start()
                if open_block:
                    current.kind, current.successors = "jump", [following]
                current, open_block = following, True
            current.label = statement.name
            if statement.name in labels:
                raise PtxError(f"label '{statement.name}' is defined twice", statement.line, name)
            labels[statement.name] = current
            continue
        if not open_block:
            current, open_block = start(), True
        opcode = statement.opcode
        ends = opcode in ("bra", "bra.uni", "ret", "ret.uni", "exit")
        if not ends:
            current.code.append(statement)
            continue
        assert isinstance(statement, Instruction)
        current.line = statement.line
        kind = opcode.partition(".")[0]
        target: str | None = None
        if kind == "bra":
            operand = statement.operands[0] if statement.operands else None
            if not isinstance(operand, Symbol):
                raise PtxError("'bra' needs a label", statement.line, name)
            target = operand.name
        if statement.guard is None:
            if kind == "bra":
                falls.append((current, target))
            else:
                current.kind = kind
            open_block = False
        else:
            current.kind, current.guard, current.negated = "branch", statement.guard, statement.negated
            following = start()
            current.successors = [following, following]
            if kind == "bra":
                falls.append((current, target))
            else:
                tails.append((current, kind))
            current = following
    if open_block:
        current.kind = "ret"
    for block, kind in tails:
        tail = start()
        tail.kind, tail.line = kind, block.line
        block.successors[0] = tail
    for block, wanted in falls:
        assert wanted is not None
        if wanted not in labels:
            raise PtxError(f"label '{wanted}' is not defined", block.line, name)
        if block.kind == "branch":
            block.successors[0] = labels[wanted]
        else:
            block.successors = [labels[wanted]]
    for block in blocks:
        if block.kind == "branch" and block.successors[0] is block.successors[1]:
            block.kind, block.guard, block.successors = "jump", None, block.successors[:1]
    return in_order(blocks[0])


def in_order(entry: Block, heads: dict[Block, list[Block]] | None = None) -> list[Block]:
    """The blocks that can be reached, in order of execution, with their numbers and predecessors.

    `heads`: with which block a loop begins that would begin with another one: the first that is in it.
    """
    ordered = weak_topological_order(entry, heads or {})
    for index, block in enumerate(ordered):
        block.index = index
        block.predecessors = []
    for block in ordered:
        for successor in block.successors:
            successor.predecessors.append(block)
    return ordered


def components(nodes: Iterable[Block], inside: set[Block], entry: Block) -> list[list[Block]]:
    """Strongly connected components of the nodes in `inside` reachable from `entry`, in topological order (Tarjan)."""
    index: dict[Block, int] = {}
    low: dict[Block, int] = {}
    stack: list[Block] = []
    on_stack: set[Block] = set()
    found: list[list[Block]] = []
    for root in nodes:
        if root in index:
            continue
        work: list[tuple[Block, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            descended = False
            successors = node.successors
            # The fall-through first: what is visited first comes last in the topological order.
            while position < len(successors):
                successor = successors[position]
                position += 1
                if successor not in inside:
                    continue
                if successor not in index:
                    work.append((node, position))
                    work.append((successor, 0))
                    descended = True
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            if descended:
                continue
            if low[node] == index[node]:
                component = []
                while True:
                    member = stack.pop()
                    on_stack.discard(member)
                    component.append(member)
                    if member is node:
                        break
                found.append(component)
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[node])
    found.reverse()
    return found


def weak_topological_order(entry: Block, heads: dict[Block, list[Block]]) -> list[Block]:
    """Reachable blocks: topological, each loop contiguous and starting at its head (`heads`: see in_order)."""
    reachable: set[Block] = set()
    todo = [entry]
    while todo:
        block = todo.pop()
        if block not in reachable:
            reachable.add(block)
            todo += block.successors
    result: list[Block] = []
    # Each job: nodes of a sub-graph and the node to begin with; loops are taken apart by removing their head.
    jobs: list[tuple[set[Block], list[Block]]] = [(reachable, [entry])]
    while jobs:
        inside, roots = jobs.pop()
        order = components(roots, inside, roots[0])
        expanded: list[tuple[set[Block], list[Block]]] = []
        for component in order:
            node = component[-1]
            if len(component) == 1:
                expanded.append((set(), [node]))
                continue
            head = node  # the member that the search entered first
            rest = set(component)
            head = next((other for other in heads.get(head, ()) if other in rest), head)
            rest.discard(head)
            expanded.append((set(), [head]))
            starts = [s for s in head.successors if s in rest]
            expanded.append((rest, starts + sorted(rest, key=lambda b: b.index)))
        if len(expanded) == 1 and not expanded[0][0]:
            result.append(expanded[0][1][0])
            continue
        for sub, begin in reversed(expanded):
            jobs.append((sub, begin))
        # Single nodes are jobs with an empty set: finish those on top without another search.
        while jobs and not jobs[-1][0]:
            result.append(jobs.pop()[1][0])
    return result


def loops(blocks: list[Block]) -> dict[int, int]:
    """Head → last block of each loop, by index."""
    ends: dict[int, int] = {}
    for block in blocks:
        for successor in block.successors:
            if successor.index <= block.index:
                ends[successor.index] = max(ends.get(successor.index, 0), block.index)
    # A loop inside reaches beyond the last jump back where that is in the inner loop's head.
    for head in sorted(ends, reverse=True):
        end, before = ends[head], -1
        while end != before:
            before = end
            end = max([end, *(ends[inner] for inner in ends if head < inner <= end)])
        ends[head] = end
    return ends


def post_dominators(blocks: list[Block]) -> list[int]:
    """Immediate post-dominator of each block by index; `len(blocks)` is the function's end."""
    end = len(blocks)
    order: list[int] = []
    seen = [False] * (end + 1)
    exits = [b.index for b in blocks if not b.successors]
    preds: list[list[int]] = [[p.index for p in b.predecessors] for b in blocks]
    # Blocks that reach no exit (endless loops) hang on the end as well.
    reaches = set(exits)
    todo = list(exits)
    while todo:
        for p in preds[todo.pop()]:
            if p not in reaches:
                reaches.add(p)
                todo.append(p)
    endless = [b.index for b in blocks if b.index not in reaches]
    heads = exits + endless
    stack: list[tuple[int, int]] = [(end, 0)]
    seen[end] = True
    backward = [*preds, heads]
    while stack:
        node, position = stack.pop()
        edges = backward[node]
        while position < len(edges) and seen[edges[position]]:
            position += 1
        if position < len(edges):
            stack.append((node, position + 1))
            seen[edges[position]] = True
            stack.append((edges[position], 0))
        else:
            order.append(node)
    number = {node: place for place, node in enumerate(order)}
    idom: list[int] = [-1] * (end + 1)
    idom[end] = end
    forward = [[s.index for s in b.successors] for b in blocks]
    for h in heads:
        forward[h] = [*forward[h], end]
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            if node == end:
                continue
            new = -1
            for s in forward[node]:
                if idom[s] < 0:
                    continue
                if new < 0:
                    new = s
                    continue
                a, b = new, s
                while a != b:
                    while number[a] < number[b]:
                        a = idom[a]
                    while number[b] < number[a]:
                        b = idom[b]
                new = a
            if new != idom[node]:
                idom[node] = new
                changed = True
    return idom


def live_in(blocks: list[Block]) -> list[int]:
    """Bit sets (by register number) of the registers that are live where each block begins."""
    gen, kill = [0] * len(blocks), [0] * len(blocks)
    for block in blocks:
        g = k = 0
        for code in block.code:
            for register in used(code):
                bit = 1 << register.number
                if not k & bit:
                    g |= bit
            if code.guard is None:
                for register in defined(code):
                    k |= 1 << register.number
        if block.guard is not None and not k >> block.guard.number & 1:
            g |= 1 << block.guard.number
        gen[block.index], kill[block.index] = g, k
    live = list(gen)
    todo = list(range(len(blocks)))
    waiting = set(todo)
    while todo:
        index = todo.pop()
        waiting.discard(index)
        out = 0
        for successor in blocks[index].successors:
            out |= live[successor.index]
        new = gen[index] | out & ~kill[index]
        if new != live[index]:
            live[index] = new
            for p in blocks[index].predecessors:
                if p.index not in waiting:
                    waiting.add(p.index)
                    todo.append(p.index)
    return live


def replace(operand: Operand, change: dict[Register, Register]) -> Operand:
    """An operand with registers exchanged."""
    if isinstance(operand, Register):
        return change.get(operand, operand)
    if isinstance(operand, Memory):
        if isinstance(operand.base, Register) and operand.base in change:
            return Memory(change[operand.base], operand.offset)
        return operand
    if isinstance(operand, Vector):
        return Vector(tuple(replace(item, change) for item in operand.items))
    if isinstance(operand, Not):
        return Not(change.get(operand.register, operand.register))
    if isinstance(operand, Pair):
        return Pair(replace(operand.first, change), replace(operand.second, change))
    return operand
