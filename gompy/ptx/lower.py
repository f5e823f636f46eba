"""A function's control flow, calls and frame as LLVM IR; the entry point of the back end.

Blocks that only whole warps reach are plain LLVM blocks.  A block that some lanes may reach without the others, and the
block where they meet again, has a word of waiting lanes: a branch adds its lanes to the words of its targets, and the
next block in flow.py's order that has waiting lanes runs; at the end of a loop, those who jumped back go on.
"""

from __future__ import annotations

from bisect import bisect_right

from gompy.abi import ptx as abi

from . import bits, carries, convert, forms, operations, params, progressions, shuffles, wanted
from . import memory as memory_module
from .bases import complete
from .checks import drop_masked_loads, warp_word
from .emit import Links, ParamPlace, SeenLines, Value
from .fission import Fission, possible
from .flow import Block
from .inlining import MERGED
from .opcodes import NO_RESULT, OPCODES, SIDE_EFFECTS
from .seen import complete as complete_seen
from .seen import forget, forgets
from .singly import Loop, Singly, Statements
from .spans import Copy, Turns
from .syntax import Call, Function, Instruction, Module, Register, Symbol, Variable
from .uniform import Analysis, analyse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .conflicts import Conflicts

FAMILIES = {
    "bits": bits,
    "carries": carries,
    "convert": convert,
    "memory": memory_module,
    "operations": operations,
    "shuffles": shuffles,
}
"""The modules with the lowerings of what GCC writes."""


def lowering(place: str) -> forms.Lowering:
    """The function that a record of opcodes.py names."""
    module, _, name = place.partition(".")
    found: forms.Lowering = getattr(FAMILIES[module], name)
    return found


TABLE = {name: lowering(record.lowering) for name, record in OPCODES.items() if record.lowering}


def frame_layout(variables: list[Variable]) -> tuple[dict[str, int], int]:
    """Offsets of a function's `.local` variables, and the size (a multiple of 16)."""
    offsets, top = {}, 0
    for variable in variables:
        top = -(-top // variable.align) * variable.align
        offsets[variable.name] = top
        top += variable.size
    return offsets, -(-top // 16) * 16


def argument_layout(results: list[int], parameters: list[int], scale: int) -> tuple[list[int], list[int], int]:
    """Offsets of results and parameters (given their sizes) in a call's block, and the block's size.

    A result area of one word is always there, so that a caller that ignores the result and its callee agree.
    """
    unit = 8 if scale == 1 else 256
    top = 0
    places = []
    for size in results:
        places.append(top)
        top += -(-size * scale // unit) * unit
    top = max(top, unit)
    arguments = []
    for size in parameters:
        arguments.append(top)
        top += -(-size * scale // unit) * unit
    return places, arguments, top


def entry_layout(function: Function) -> tuple[list[int], int]:
    """Offsets of a kernel's parameters in its block, and the size."""
    offsets, top = [], 0
    for variable in function.parameters:
        top = -(-top // variable.align) * variable.align
        offsets.append(top)
        top += variable.size
    return offsets, top


class Lowering(Statements):
    """One function in one version; `text` is the result."""

    def __init__(
        self, analysis: Analysis, links: Links, module: Module, symbol: str, called: str, kind: int = abi.PLAIN
    ) -> None:
        super().__init__(analysis, links, module.name, kind)
        self.seen = SeenLines([], [], {}) if self.shadowed else None
        self.module = module
        self.symbol = symbol
        self.called = called  # the version that V calls are made to: V, or W without rows
        self.function = analysis.function
        self.checked_results: list[tuple[ParamPlace, ParamPlace]] = []
        self.costs: dict[int, int] = {}  # of a turn, by a loop's first block
        self.fuel = ""  # the slot of what is left of the warp's turns, once there is a loop
        self.around: list[tuple[int, bool]] = []  # lines where that is to be in the warp (True), or is anew
        self.singly: Singly
        self.racy: Conflicts | None = None
        self.stops: list[tuple[int, int, str]] = []
        self.stays = not any(isinstance(code, Call) for block in analysis.blocks for code in block.code)
        self.complete: set[int] = set()  # joins that all lanes come to
        self.turns: dict[int, list[int]] = {}  # last block → heads of loops
        self.frame_size = 0
        self.marks: list[tuple[int, int]] = []  # for gdb: from which line of `lines` on they are of a line of PTX
        self.fission: Fission | None = None  # all warps of a block in one call
        self.copies: dict[int, Copy] = {}  # of checked code: loops whose turns are asked for at once, by first block
        self.copying: Copy | None = None

    def text(self) -> str:
        """The LLVM function."""
        a = self.a
        self.parameters()
        if not wanted.DEBUGGER and possible(self):
            a.whole = True
            self.fission, parameters, self.lines = Fission(self), self.lines, []
        self.local_offset, self.frame_size = frame_layout(self.function.locals)
        if self.function.locals:
            self.enter_frame()
        self.put("store i32 %m, ptr %mask")
        self.put("br label %B0")
        self.singly = Singly(self)
        self.order_stops()
        if not wanted.DEBUGGER:
            inside = set(self.singly.parts) | self.singly.inside
            a.progressions = progressions.found(self, inside)
        for block in a.blocks:
            if block.index not in self.singly.inside:
                self.emit_block(block)
            if self.copies and self.copies[max(self.copies)].turns.end == block.index:
                self.emit_copy(self.copies[max(self.copies)])
            for loop in sorted(self.turns.get(block.index, ()), reverse=True):
                self.end_of_loop(loop, block.index)
        self.label("leave")
        self.leave()
        self.share_fuel()
        complete_seen(self)
        complete(self)
        arguments = "ptr %w, i32 %m" if self.fission is None else "ptr %w0, i32 %m0"
        head = [f'define hidden void @"{self.symbol}"({arguments}, ptr %args, ptr %d) #0 {{', "entry:"]
        head += ["  %mask = alloca i32", "  %frame = alloca i64"]
        head += [f"  %pending{i} = alloca i32" for i in sorted(a.masked)]
        if self.fission is None:
            head += self.entry
        else:
            self.fission.complete()
            head += self.fission.head(parameters)
        head += [f"  store i32 0, ptr %pending{i}" for i in sorted(a.masked)]
        if wanted.DEBUGGER:
            from . import debugging

            self.lines = debugging.marked(self.module, self.function, self.lines, self.marks)
            head += debugging.variables(self, self.module, self.function)
        return "\n".join([*head, *self.begin, *self.lines, "}"])

    # --- frame and parameters ------------------------------------------------------------------------------------

    def parameters(self) -> None:
        """Where each `.param` variable is."""
        function, a = self.function, self.a
        self.merge_params = {v.name for v in function.results}
        self.merge_params |= {v.name for v in function.params if v.linkage == MERGED}
        if function.entry:
            pointer = self.warp_field("params", "ptr")
            offsets, size = entry_layout(function)
            self.kernel_params = ParamPlace(pointer, 1, size)
            for variable, offset in zip(function.parameters, offsets, strict=True):
                self.param_offset[variable.name] = offset
                place = self.new(f"getelementptr i8, ptr {pointer}, i64 {offset}")
                self.params[variable.name] = ParamPlace(place, 1, variable.size)
        else:
            scale = 1 if a.version == "S" else 32
            results, arguments, _ = argument_layout(
                [v.size for v in function.results], [v.size for v in function.parameters], scale
            )
            for variable, offset in zip(function.parameters, arguments, strict=True):
                place = self.new(f"getelementptr i8, ptr %args, i64 {offset}")
                self.params[variable.name] = ParamPlace(place, scale, variable.size)
            for variable, offset in zip(function.results, results, strict=True):
                place = self.new(f"getelementptr i8, ptr %args, i64 {offset}")
                if scale == 1 and variable.name in a.varying_params:
                    # The callers of S take one value: that it is the same in all lanes is checked at the end.
                    size = params.room(variable.size, 32)
                    own = self.alloca(f"[{size} x i8]")
                    self.put(f"call void @llvm.memset.p0.i64(ptr {own}, i8 0, i64 {size}, i1 false)")  # gaps of structs
                    self.params[variable.name] = ParamPlace(own, 32, variable.size)
                    self.checked_results.append((self.params[variable.name], ParamPlace(place, 1, variable.size)))
                else:
                    self.params[variable.name] = ParamPlace(place, scale, variable.size)
        for variable in function.params:
            scale = 32 if variable.name in a.varying_params else 1
            place = self.alloca(f"[{params.room(variable.size, scale)} x i8]")
            self.params[variable.name] = ParamPlace(place, scale, variable.size)

    def enter_frame(self) -> None:
        """Take the function's local memory."""
        top = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['local_top']}")
        old = self.new(f"load i64, ptr {top}")
        new = self.new(f"add i64 {old}, {self.frame_size}")
        over = self.new(f"icmp ugt i64 {new}, {self.warp_field('local_size', 'i64')}")
        self.line = self.function.line
        self.trap_if_full(over, "%m")
        self.put(f"store i64 {new}, ptr {top}")
        self.put(f"store i64 {self.new(f'add i64 {old}, {abi.LOCAL_BASE}')}, ptr %frame")

    def leave(self) -> None:
        """Give the local memory back, check results, return."""
        if not self.function.entry:
            self.others_use_fuel(True)
        if self.function.locals:
            top = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['local_top']}")
            frame = self.new("load i64, ptr %frame")
            self.put(f"store i64 {self.new(f'sub i64 {frame}, {abi.LOCAL_BASE}')}, ptr {top}")
        for own, place in self.checked_results:
            self.active = self.mask = "%m"
            for at, width in params.pieces(0, own.size):
                self.agree(params.Access(self, own).load(at, width))
            params.copy(self, own, place, False)
        if self.fission is None:
            self.put("ret void")
        else:
            self.fission.leave()

    def agree(self, value: Value) -> None:
        """End the kernel if a value is not the same in all lanes that were called."""
        one = self.first_lane(value)
        differ = self.op("icmp ne", value, self.splat(one), result="i1")
        word = self.new(f"and i32 {self.bits(differ)}, %m")
        good = self.seldom(self.new(f"icmp ne i32 {word}, 0"), "differ", "agree")
        self.line = self.function.line
        self.helper("trap", f"ptr %w, i32 %m, i32 {abi.TRAPS.index('not_uniform')}, {self.site()}")
        self.put("unreachable")
        self.label(good)

    # --- blocks --------------------------------------------------------------------------------------------------

    def emit_block(self, block: Block) -> None:
        """One block: its test for waiting lanes (if it can have some), its code, its branches."""
        a = self.a
        index = block.index
        self.block = index
        self.tested.clear()
        progressions.keep_first(self)
        all_here = self.stays and index not in a.divergent
        if index in self.complete:
            self.label(f"C{index}")
            self.put(f"store i32 0, ptr %pending{index}")
            self.put("store i32 %m, ptr %mask")
            self.put(f"br label %B{index}")
        elif index in a.masked:
            self.label(f"C{index}")
            waiting = self.new(f"load i32, ptr %pending{index}")
            run = self.fresh("run")
            test = self.new(f"icmp ne i32 {waiting}, 0")
            self.put(f"br i1 {test}, label %{run}, label %{self.following(index)}")
            self.label(run)
            self.put(f"store i32 0, ptr %pending{index}")
            self.put(f"store i32 {waiting}, ptr %mask")
            self.put(f"br label %B{index}")
        self.label(f"B{index}")
        if self.shadowed and index in a.loops and not wanted.DEBUGGER:
            self.begin_copy(index)
        self.straight = len(self.lines)
        self.mask = self.active = "%m" if all_here else self.new("load i32, ptr %mask")
        self.guarded = False
        if self.fission is not None:
            self.fission.begin_block(block)
        if index in self.singly.parts:
            last = self.singly.parts[index]
            Loop(self, index, last).emit()
            self.put(f"br label %{self.following(last)}")
            return
        for code in block.code:
            self.statement(code)
            if self.fission is not None:
                self.fission.behind(code)
        self.line = block.line
        self.active, self.guarded = self.mask, False
        self.finish(block)

    def begin_copy(self, head: int) -> None:
        """In front of a loop's first block: perhaps a copy of it is made, which looks at fewer accesses."""
        if self.fission is None and head not in self.complete:
            turns = Turns(self, head, self.a.loops[head])
            if turns.spans:
                self.copies[head] = Copy(self, turns)
                self.copies[head].enter()

    def emit_copy(self, copy: Copy) -> None:
        """That copy, and the question in front of it."""
        turns, name = copy.turns, copy.name
        copy.ask(warp_word(self, "races", "ptr") if self.racing else "")
        self.copying, self.trusted = copy, turns.trusted
        for block in turns.blocks:
            self.block = block.index
            self.tested.clear()
            self.label(f"T{block.index}")
            self.straight = len(self.lines)
            self.mask = self.active = "%m" if self.stays else self.new("load i32, ptr %mask")
            self.guarded = False
            for code in block.code:
                self.statement(code)
            self.line = block.line
            self.active, self.guarded = self.mask, False
            self.finish(block)
        self.copying, self.trusted = None, set()
        asked = copy.renew()
        self.turn(turns.head, turns.end, asked)
        self.put(f"br label %A{name}")

    def edge_of_copy(self, copy: Copy, block: Block, target: Block) -> None:
        """An edge of the copy of a loop."""
        if target.index == copy.turns.head:
            copy.turn()
        elif copy.turns.is_out(target):
            copy.leave()
            self.copying = None
            self.edge(block, target, False)
            self.copying = copy
        else:
            self.put(f"br label %T{target.index}")

    def following(self, index: int) -> str:
        """The label that looks for waiting lanes after block `index`."""
        at = bisect_right(self.stops, (index, 1))
        return self.stops[at][2] if at < len(self.stops) else "leave"

    def order_stops(self) -> None:
        """Where the search for waiting lanes stops: blocks with a mask, and ends of loops, inner ones first."""
        a = self.a
        inside = self.singly.inside
        stops = [(index, 0, 0, f"C{index}") for index in a.masked - inside]
        for head, end in a.loops.items():
            if head in inside or head in self.singly.parts:
                continue
            jumps = [p.index for p in a.blocks[head].predecessors if p.index >= head]
            if head in a.masked and any(
                i in a.divergent or (a.blocks[i].guard is not None and a.blocks[i].guard in a.varying) for i in jumps
            ):
                stops.append((end, 2, -head, f"L{head}"))
                self.turns.setdefault(end, []).append(head)
        self.stops = [(index, rank, label) for index, rank, _, label in sorted(stops)]
        if self.stays:
            self.complete = self.complete_joins()

    def complete_joins(self) -> set[int]:
        """Joins that the search for waiting lanes comes to with all lanes waiting there: it need not look.

        A block outside of all divergent ones is reached by all lanes or none.  The search that began behind a branch
        with that join comes to it; another one could not, unless it began among other branches' blocks.
        """
        a = self.a
        found: set[int] = set()
        between: set[int] = set()
        for index, rank in sorted([(i, r) for i, r, _ in self.stops] + [(i, 0) for i in self.singly.inside]):
            if rank == 0 and index not in a.divergent:
                if between <= a.meetings.get(index, set()):
                    found.add(index)
                between = set()
            else:
                between.add(index)
        return found

    def end_of_loop(self, head: int, end: int) -> None:
        """Everybody is at the end of a loop: another turn for those who jumped back."""
        self.label(f"L{head}")
        waiting = self.new(f"load i32, ptr %pending{head}")
        again = self.fresh("again")
        at = self.stops.index((end, 2, f"L{head}")) + 1
        after = self.stops[at][2] if at < len(self.stops) else "leave"
        self.put(f"br i1 {self.new(f'icmp ne i32 {waiting}, 0')}, label %{again}, label %{after}")
        self.label(again)
        self.turn(head, end)
        self.put(f"br label %C{head}")

    def finish(self, block: Block) -> None:
        """The end of a block."""
        if self.fission is not None:
            self.fission.before_end(block)
        index = block.index
        masked = index in self.a.divergent
        if block.kind == "exit":
            self.helper("exit", f"ptr %w, i32 {self.mask}")
        if block.kind in ("ret", "exit"):
            self.put(f"br label %{self.following(index) if masked else 'leave'}")
            return
        if block.kind == "jump":
            self.edge(block, block.successors[0], masked)
            return
        assert block.guard is not None
        taken, other = block.successors
        condition = self.load_register(block.guard)
        if block.negated:
            condition = self.op("xor", condition, Value("i1", False, "true"))
        if not condition.vector:
            yes, no = self.fresh("yes"), self.fresh("no")
            self.put(f"br i1 {condition.text}, label %{yes}, label %{no}")
            self.label(yes)
            self.edge(block, taken, masked)
            self.label(no)
            self.edge(block, other, masked)
            return
        word = self.bits(condition)
        self.wait(taken, self.new(f"and i32 {self.mask}, {word}"))
        self.wait(other, self.new(f"and i32 {self.mask}, {self.new(f'xor i32 {word}, -1')}"))
        self.put(f"br label %{self.following(index)}")

    def wait(self, target: Block, mask: str) -> None:
        """Add lanes to those that wait at a block."""
        old = self.new(f"load i32, ptr %pending{target.index}")
        self.put(f"store i32 {self.new(f'or i32 {old}, {mask}')}, ptr %pending{target.index}")

    def edge(self, block: Block, target: Block, masked: bool) -> None:
        """All active lanes go on at `target`."""
        if masked:
            self.wait(target, self.mask)
            self.put(f"br label %{self.following(block.index)}")
            return
        if self.copying is not None:
            self.edge_of_copy(self.copying, block, target)
            return
        if target.index <= block.index:
            self.turn(target.index, block.index)
            if target.index in self.copies and block.index <= self.copies[target.index].turns.end:
                self.copies[target.index].again()
                return
        self.put(f"br label %B{target.index}")

    def turn(self, low: int, high: int, turns: str = "") -> None:
        """A turn of a loop costs fuel; without fuel the warp lets others run.  Loops that may spin use more.

        `turns`: how many (i32).
        """
        if low not in self.costs:
            self.costs[low] = 1 if self.fission else memory_module.turn_cost(self.a, low, high)
        if not self.fuel:
            self.fuel = self.alloca("i32", 4)
            place = f"getelementptr i8, ptr %w, i64 {abi.WARP['fuel']}"
            self.entry += [f"  %fuel = {place}", "  %fuel1 = load i32, ptr %fuel"]
            self.entry += [f"  store i32 %fuel1, ptr {self.fuel}"]
        cost = self.new(f"mul i32 {turns}, {self.costs[low]}") if turns else str(self.costs[low])
        left = self.new(f"sub i32 {self.new(f'load i32, ptr {self.fuel}')}, {cost}")
        self.put(f"store i32 {left}, ptr {self.fuel}")
        go = self.seldom(self.new(f"icmp slt i32 {left}, 0"), "empty", "go")
        self.put(f"store i32 {left}, ptr %fuel")
        self.helper("yield", f"ptr {'%w' if self.fission is None else '%w0'}")  # whose stack it is
        self.put(f"store i32 {self.new('load i32, ptr %fuel')}, ptr {self.fuel}")
        forget(self)
        self.join(go)

    def others_use_fuel(self, begin: bool) -> None:
        """Other functions count down what is in the warp: around calls it is there."""
        self.around.append((len(self.lines), begin))
        self.lines.append("")

    def share_fuel(self) -> None:
        """Write those lines.  In between a loop's turns are counted in a register: a word of memory that each turn
        reads and writes makes them wait for one another."""
        for at, begin in self.around if self.fuel else ():
            source, target = (self.fuel, "%fuel") if begin else ("%fuel", self.fuel)
            self.lines[at] = f"  %fuel{at + 2} = load i32, ptr {source}\n  store i32 %fuel{at + 2}, ptr {target}"

    # --- instructions --------------------------------------------------------------------------------------------

    def statement(self, code: Instruction | Call) -> None:
        """One instruction with its guard."""
        self.line, self.code = code.line, code
        if wanted.DEBUGGER:
            self.marks.append((len(self.lines), code.line))
        base = "call" if isinstance(code, Call) else code.base
        skip = ""
        self.active, self.guarded = self.mask, False
        if code.guard is not None:
            guard = self.load_register(code.guard)
            if code.negated:
                guard = self.op("xor", guard, Value("i1", False, "true"))
            if not guard.vector:
                do, skip = self.fresh("do"), self.fresh("skip")
                self.put(f"br i1 {guard.text}, label %{do}, label %{skip}")
                self.label(do)
            else:
                self.active = self.new(f"and i32 {self.bits(guard)}, {self.mask}")
                self.guarded = True
                if base in SIDE_EFFECTS or base == "call":
                    do, skip = self.fresh("do"), self.fresh("skip")
                    some = self.new(f"icmp ne i32 {self.active}, 0")
                    self.put(f"br i1 {some}, label %{do}, label %{skip}")
                    self.label(do)
        if isinstance(code, Call):
            self.call(code)
        elif base not in NO_RESULT and code.operands and code.operands[0] in self.a.progressions:
            progressions.define(self, code)
        else:
            try:
                family = TABLE.get(base)
                if family is None:
                    forms.unknown(self, code)
                family(self, code)
            except forms.UnknownForm:
                from . import rare  # loaded by those who need it: it is not in GCC 12's code

                rare.lower(self, code)
        if skip:
            self.join(skip)
        if forgets(code):
            forget(self)
        if base == "call":
            self.after_call()

    def mark_now(self, address: str, size: int) -> None:
        """See emit.py."""
        if self.copying is not None:
            self.copying.mark_now(address, size)

    def ends_turn(self, code: Instruction) -> bool:
        """See emit.py."""
        self.tested.clear()
        self.spreads.clear()
        if self.fission is not None:
            self.fission.barrier(code)
        self.straight = len(self.lines)
        return self.fission is not None

    def conflicts(self) -> Conflicts:
        """See emit.py."""
        if self.racy is None:
            from .conflicts import Conflicts

            self.racy = Conflicts(self.a, self.module, self.param_offset)
            self.a.conflicts = self.racy.writes, self.racy.plain
        return self.racy

    def from_row(self, register: Register | None) -> Value | None:
        """See emit.py."""
        return None if self.fission is None else self.fission.from_row(register)

    def rare_special(self, name: str) -> Value:
        """See emit.py."""
        from . import rare

        return rare.special(self, name)

    def after_call(self) -> None:
        """Lanes may have left for good in the function that was called."""
        place = self.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['exited']}")
        gone = self.new(f"load i32, ptr {place}")
        left = self.new(f"and i32 {self.mask}, {self.new(f'xor i32 {gone}, -1')}")
        self.put(f"store i32 {left}, ptr %mask")
        some = self.seldom(self.new(f"icmp eq i32 {left}, 0"), "none", "some")
        self.put(f"br label %{self.following(self.block) if self.block in self.a.divergent else 'leave'}")
        self.label(some)
        self.mask = left

    def call(self, code: Call) -> None:
        """A call: arguments to a block in the frame, the callee's version, results back."""
        version = "S" if id(code) not in self.a.vector_calls else self.called
        scale = 1 if version == "S" else 32
        results, arguments = self.variables(code.results), self.variables(code.arguments)
        places, offsets, size = argument_layout([p.size for p in results], [p.size for p in arguments], scale)
        block = self.alloca(f"[{size} x i8]")
        self.others_use_fuel(True)

        def part(place: ParamPlace, offset: int) -> ParamPlace:
            return ParamPlace(self.new(f"getelementptr i8, ptr {block}, i64 {offset}"), scale, place.size)

        for place, offset in zip(arguments, offsets, strict=True):
            params.copy(self, place, part(place, offset), False)
        if isinstance(code.target, Symbol):
            self.agrees(code.target.name, results, arguments)
            word = self.links.word("function", code.target.name)
            target = self.new(f"load ptr, ptr getelementptr (i8, ptr @links, i64 {8 * word}), !invariant.load !0")
            slot = self.new(f"getelementptr i8, ptr {target}, i64 {8 * abi.VERSIONS.index(version)}")
            function = self.new(f"load ptr, ptr {slot}")
            self.put(f"call void {function}(ptr %w, i32 {self.active}, ptr {block}, ptr {target}) #1")
        else:
            targets = self.spill(self.fit(self.load_register(code.target), "i64"), 1)
            self.helper(
                "call",
                f"ptr %w, i32 {self.active}, ptr {targets}, ptr {block}, i32 {abi.VERSIONS.index(version)}, "
                + self.site(),
            )
        self.others_use_fuel(False)
        for place, offset in zip(results, places, strict=True):
            params.copy(self, part(place, offset), place, self.guarded)  # lanes that did not call keep what they had

    def agrees(self, name: str, results: list[ParamPlace], arguments: list[ParamPlace]) -> None:
        """A call must pass what the function takes; a result of one word may be ignored (argument_layout)."""
        callee = self.module.functions.get(name) or self.module.declarations.get(name)
        if callee is None:
            return
        for what, mine, formals in (("takes", arguments, callee.parameters), ("returns", results, callee.results)):
            have, want = [p.size for p in mine], [v.size for v in formals]
            if have != want and (what == "takes" or have or max(want) > 8):
                self.fail(f"'{name}' {what} {sizes(want)}, the call has {sizes(have)}")

    def variables(self, operands: tuple[object, ...]) -> list[ParamPlace]:
        """The `.param` variables of a call's list (arguments.py has made variables of registers and constants)."""
        found = []
        for operand in operands:
            if not isinstance(operand, Symbol) or operand.name not in self.params:
                self.fail("an argument of 'call' must be a '.param' variable")
            found.append(self.params[operand.name])
        return found


def sizes(some: list[int]) -> str:
    """Sizes of variables in words."""
    return f"{' and '.join(map(str, some))} bytes" if some else "nothing"


def lower(
    function: Function, version: str, rows: bool, links: Links, module: Module, symbol: str, kind: int = abi.PLAIN
) -> tuple[str, Analysis]:
    """LLVM IR of a function in a version of uniform.py (S, V, E), of a kind (abi.CODE_KINDS)."""
    if kind != abi.PLAIN:
        drop_masked_loads(function)
    analysis = analyse(function, version, rows, module.name)
    work = Lowering(analysis, links, module, symbol, "V" if rows else "W", kind)
    return work.text(), analysis
