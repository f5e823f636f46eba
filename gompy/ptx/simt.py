"""Mistakes of GCC's code for `simd` loops on the lanes of a warp, mended in its PTX; lines of the text stay lines.

GCC keeps OpenMP variables on a stack that a warp's lanes share.  Around a `simd` loop it gives each lane a piece
of local memory, `%simtstack_ar`, for variables that are private by a clause and for the stacks of functions called
there (gcc/config/nvptx/nvptx.cc, nvptx_output_softstack_switch).  Four things go wrong, the last as
seen in GCC 12, the others in 12 to 16:

* The piece has room for called functions (128 bytes) or for the private variables, not for both.  Here it has.
* Called functions take a multiple of 16 for granted (nvptx.h, STACK_BOUNDARY); below private variables it is one of 8.
* A variable declared in the loop's body stays in the warp's frame (omp-low.cc privatizes what clauses name,
  tree-inline.cc what is inlined): 32 iterations share it.  Here the whole frame becomes local memory, where nobody can
  tell that but by the mended result; `Mistake` tells of the others.
* A loop in such a loop is given to the lanes as well (omp-expand.cc, expand_omp_simd: it starts at the lane's number,
  and steps by 32).  Each lane is at an iteration of its own by then, and runs one in 32 of the inner loop's: that is
  told.
"""

from __future__ import annotations

import re

from .flow import Block, build_blocks, defined, flat, used
from .parser import parse
from .syntax import (
    TYPE_BYTES,
    Call,
    Function,
    Immediate,
    Instruction,
    Memory,
    Module,
    PtxError,
    Register,
    Special,
    Symbol,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

STACK = "%simtstack_ar"
MENDED = "%simtstack_own"
"""The piece's name where it has been seen to: nothing is done twice."""
RESERVED = 128
"""Bytes for the frames of called functions, without -msoft-stack-reserve-local (nvptx.opt)."""
_PIECE = re.compile(r"(\.local\s*\.align 8 \.b8 )%simtstack_ar\[(\d+)\];")
_TAKEN = re.compile(
    r"(cvta\.local\.u64 %r\d+,\s*)%simtstack_ar \+ \d+;(\s*sub\.u64 %r\d+,\s*%r\d+,\s*(\d+);"
    r"(?:\s*and\.b64 %r\d+,\s*%r\d+,\s*-(\d+);)?)?"
)
_BELOW = re.compile(r"sub\.u64\s+%stack,\s*%r\d+,\s*8;")
"""What a lane's called functions get; the old stack pointer lies above it."""
_DEFINITION = re.compile(r"^(?:\.[a-z]+ )*\.(?:func|entry) (?:\([^)]*\) ?)?([^\s(]+)[^;{]*\{$", re.MULTILINE)
_FRAME = re.compile(r"sub\.u64 %(?:frame|stack),\s*%(?:sspprev|frame),\s*(\d+);")
LINKED = (".visible", ".weak", ".common")
"""Begins the head of a function that other objects may name."""
_LANE = re.compile(r"mov\.u32\s+%r\d+,\s*%laneid;")
"""Where a loop begins; the code around atomic operations takes the number, too, into a register of its own kind."""
_CALLED = re.compile(r"\bcall(?:\.uni)? (?:\([^)]*\),\s*)?([^\s,;]+)")
_PROLOGUE = re.compile(r"sub\.u64 %stack,\s*%frame,\s*\d+;[^}]*\}")
_SIZE = re.compile(r"sub\.u64 %frame,\s*%sspprev,\s*(\d+);(?:\s*and\.b64 %frame,\s*%frame,\s*-(\d+);)?")
_ARITHMETIC = frozenset(("mov", "add", "sub", "mad", "cvta", "cvt", "and", "or", "xor", "selp", "mul", "shl", "shr"))


@dataclass(slots=True)
class Mistake:
    """What cannot be mended in a function, and where, as `file:line` or "".

    A variable is written there that iterations of a `simd` loop may share; `nested`: a loop begins, or a function with
    one is called, in a loop that the lanes share already.
    """

    function: str
    place: str
    nested: bool = False


def mended(texts: list[str]) -> tuple[list[str], list[Mistake]]:
    """The objects of an image (or one of them) mended, and what could not be."""
    if not any(STACK in text for text in texts):
        return texts, []
    scopes = [Scope(at, text) for at, text in enumerate(texts)]
    own, called, lanes = calls(texts, scopes)
    needs, loops = frames(own, called, lanes), with_loops(called, lanes)
    found: list[Mistake] = []
    objects = zip(texts, scopes, strict=True)
    return [one(text, scope, needs, loops, found) if STACK in text else text for text, scope in objects], found


class Scope:
    """What names of functions mean in one of an image's objects: of a static one, the object's own."""

    def __init__(self, at: int, text: str) -> None:
        self.at = at
        self.statics = {match[1] for match in _DEFINITION.finditer(text) if not match[0].startswith(LINKED)}

    def of(self, name: str) -> str:
        """A name that no other function of the image has."""
        return f"{self.at}:{name}" if name in self.statics else name


def one(text: str, scope: Scope, needs: dict[str, int], loops: set[str], found: list[Mistake]) -> str:
    """One object."""
    local: set[str] = set()
    try:
        module = parse(text)
        for function in module.functions.values():
            if any(v.name.startswith(STACK) for v in function.locals):
                analysis = Frame(function)
                if analysis.stores and analysis.can_be_local():
                    local.add(function.name)
                elif analysis.suspect is not None:
                    found.append(Mistake(function.name, place_of(module, analysis.suspect)))
                inner = analysis.nested(loops, scope)
                if inner is not None:
                    found.append(Mistake(function.name, place_of_loop(module, inner, function), nested=True))
    except PtxError:
        return text  # who compiles it says what is wrong
    parts, last = [], 0
    for name, start, end in definitions(text):
        body = text[start:end]
        if STACK in body:
            body = with_room(body, needs.get(scope.of(name), 0))
            body = with_local_frame(body) if name in local else body
        parts += [text[last:start], body]
        last = end
    return "".join([*parts, text[last:]])


def definitions(text: str) -> list[tuple[str, int, int]]:
    """Name of each function, where its body begins, and where the next one's head does."""
    heads = list(_DEFINITION.finditer(text))
    ends = [match.start() for match in heads[1:]] + [len(text)] * bool(heads)
    return [(match[1], match.end(), end) for match, end in zip(heads, ends, strict=True)]


# --- room ------------------------------------------------------------------------------------------------------------


def calls(texts: list[str], scopes: list[Scope]) -> tuple[dict[str, int], dict[str, set[str]], dict[str, bool]]:
    """Of each function the bytes of its frames, and what it calls; those with loops of lanes, True if with a piece."""
    own: dict[str, int] = {}
    called: dict[str, set[str]] = {}
    loops: dict[str, bool] = {}
    for text, scope in zip(texts, scopes, strict=True):
        for bare, start, end in definitions(text):
            name, body = scope.of(bare), text[start:end]
            own[name] = sum(int(size) for size in _FRAME.findall(body))
            called[name] = {scope.of(callee) for callee in _CALLED.findall(body)}
            if STACK in body or ("%laneid" in body and _LANE.search(body)):
                loops[name] = loops.get(name, False) or STACK in body  # without private variables there is none
    return own, called, loops


def frames(own: dict[str, int], called: dict[str, set[str]], loops: dict[str, bool]) -> dict[str, int]:
    """Function with a piece → bytes of frames below its own: what it calls, by the deepest way without turning back."""
    needs: dict[str, int] = {}

    def need(name: str, above: frozenset[str]) -> int:
        if name not in needs:
            inner = [c for c in called.get(name, ()) if c in own and c not in above]
            needs[name] = max((own[c] + need(c, above | {c}) for c in inner), default=0)
        return needs[name]

    for name, piece in loops.items():
        if piece:
            need(name, frozenset((name,)))
    return needs


def with_loops(called: dict[str, set[str]], loops: dict[str, bool]) -> set[str]:
    """The functions that have loops of lanes, and those that call such."""
    callers: dict[str, set[str]] = {}
    for name, names in called.items():
        for callee in names:
            callers.setdefault(callee, set()).add(name)
    found, todo = set(loops), list(loops)
    while todo:
        fresh = callers.get(todo.pop(), set()) - found
        found |= fresh
        todo += fresh
    return found


def with_room(body: str, called: int) -> str:
    """A function whose piece has room for what is taken of it, and for `called` bytes of other functions' frames."""
    taken = 0
    for match in _TAKEN.finditer(body):
        if match[3]:
            taken = max(taken, -(-int(match[3]) // 8) * 8 + max(int(match[4] or 0) - 8, 0))
    sizes = [int(size) for _, size in _PIECE.findall(body)]
    if len(sizes) != 1:
        return body
    size = sizes[0]
    if _CALLED.search(body):
        size += taken + max(called - RESERVED, 0) + 8 + 15 & -16
        body = _BELOW.sub(r"\g<0> and.b64 %stack,%stack,-16;", body)
    size = max(size, taken + 8)
    body = _PIECE.sub(lambda m: f"{m[1]}{MENDED}[{size}];", body)
    return _TAKEN.sub(lambda m: f"{m[1]}{MENDED} + {size};{m[2] or ''}", body)


# --- frames ----------------------------------------------------------------------------------------------------------


def with_local_frame(body: str) -> str:
    """A function whose frame is each lane's own."""
    size = _SIZE.search(body)
    end = _PROLOGUE.search(body)
    if size is None or end is None:
        return body
    align = max(int(size[2] or 0), 16)
    own = f" .local .align {align} .b8 %simtframe[{max(int(size[1]), 8)}]; cvta.local.u64 %frame, %simtframe;"
    return body[: end.end()] + own + body[end.end() :]


def place_of(module: Module, line: int) -> str:
    """`file:line` of a line of PTX."""
    place = ""
    for location in module.locations:
        if location.line > line:
            break
        place = f"{module.files.get(location.file, '?')}:{location.source_line}"
    return place


def place_of_loop(module: Module, code: Instruction | Call, function: Function) -> str:
    """`file:line` of what begins a loop: of a call, or of what follows, as a loop's head has no line of its own."""
    if isinstance(code, Call):
        return place_of(module, code.line)
    end = max(one.line for block in build_blocks(function, "") for one in block.code)
    for location in module.locations:
        if code.line < location.line <= end:
            return f"{module.files.get(location.file, '?')}:{location.source_line}"
    return ""


def enters(code: Instruction | Call) -> bool:
    """Whether lanes get their pieces here."""
    return (
        isinstance(code, Instruction)
        and code.base == "cvta"
        and any(isinstance(o, Symbol) and o.name.startswith(STACK) for o in code.operands)
    )


def leaves(code: Instruction | Call) -> bool:
    """Whether they give them back."""
    if not isinstance(code, Instruction) or code.base != "ld":
        return False
    target = code.operands[0]
    return isinstance(target, Register) and target.name == "%stack"


def width(code: Instruction) -> int:
    """Bytes that a store writes."""
    count = next((int(mod[1]) for mod in code.mods if mod in ("v2", "v4")), 1)
    return TYPE_BYTES[code.mods[-1]] * count


class Frame:
    """How a function uses its frame, inside and outside of its `simd` loops.

    `size`: bytes.  `stores`: a loop writes it.  `outside`, `after`: it is used outside, and there where a
    loop may have run before.  `unclear`: there are uses that are none of these.  `suspect`: a line that writes, in a
    loop, what is named in loops only.
    """

    def __init__(self, function: Function) -> None:
        self.blocks = build_blocks(function, "")
        self.stores = self.outside = self.after = self.unclear = False
        self.size = 0
        self.suspect: int | None = None
        self.pointers = self.derived()
        self.states()
        self.loops = sum(enters(code) for block in self.blocks for code in block.code)
        self.again = any(enters(code) for block in self.blocks for code in block.code if self.repeats(block))
        self.after_loop = self.behind()
        self.look()

    def growing(self, gives: Callable[[Instruction, set[Register]], bool], *first: Register) -> set[Register]:
        """The registers `first`, and those that instructions set of which `gives` says so, by what is found so far."""
        found, before = set(first), -1
        while len(found) > before:
            before = len(found)
            for block in self.blocks:
                for code in block.code:
                    if isinstance(code, Instruction) and gives(code, found):
                        found.update(defined(code))
        return found

    def derived(self) -> set[Register]:
        """The registers with addresses in the frame."""

        def gives(code: Instruction, found: set[Register]) -> bool:
            return code.base in _ARITHMETIC and not self.prologue(code) and not found.isdisjoint(used(code))

        return self.growing(gives, *(r for b in self.blocks for c in b.code for r in defined(c) if r.name == "%frame"))

    def of_lanes(self) -> set[Register]:
        """The registers whose values may be another in each lane: what comes of the lane's number."""
        return self.growing(self.differs)

    def differs(self, code: Instruction, found: set[Register]) -> bool:
        """Whether an instruction's result may be another in each lane."""
        own = any(isinstance(o, Special) and o.name == "%laneid" for o in code.operands)
        return own or enters(code) or any(r in found for r in used(code))

    def prologue(self, code: Instruction) -> bool:
        """Whether an instruction makes the frame (`size` is noted) or the stack pointer."""
        names = [r.name for r in defined(code)]
        if names == ["%frame"] and code.base == "sub" and isinstance(code.operands[2], Immediate):
            self.size = code.operands[2].value
        return "%frame" in names or "%stack" in names

    def states(self) -> None:
        """Whether lanes have their pieces where each block begins (2: on some ways only)."""
        self.entry: dict[int, int] = {0: 0}
        todo = [self.blocks[0]]
        while todo:
            block = todo.pop()
            state = self.entry[block.index]
            for code in block.code:
                state = 1 if enters(code) else 0 if leaves(code) else state
            for successor in block.successors:
                old = self.entry.get(successor.index)
                new = state if old is None or old == state else 2
                if new != old:
                    self.entry[successor.index] = new
                    todo.append(successor)

    def addresses(self, loops: set[str], scope: Scope) -> set[Register]:
        """The registers that may have the address of a function of `loops`."""

        def gives(code: Instruction, found: set[Register]) -> bool:
            if code.base not in ("mov", "cvta", "selp"):
                return False
            named = any(isinstance(o, Symbol) and scope.of(o.name) in loops for o in code.operands)
            return named or not found.isdisjoint(used(code))

        return self.growing(gives)

    def recalled(self, addresses: set[Register]) -> set[Register]:
        """The registers that may have got one of them from the frame, if it keeps any."""
        uses = [c for block in self.blocks for c in block.code if isinstance(c, Instruction) and self.use(c)[0]]
        if not any(code.base == "st" and addresses & set(used(code)) for code in uses):
            return set()
        return {register for code in uses if code.base == "ld" for register in defined(code)}

    def nested(self, loops: set[str], scope: Scope) -> Instruction | Call | None:
        """What begins a loop of lanes in another one, or may: a call of one of `loops`, the functions that have such.

        Also by its address, or of one that is given that, as GOMP_parallel is.  One that is compared calls nobody.
        """
        addresses = self.addresses(loops, scope)
        targets = addresses | self.recalled(addresses)
        seen = {(0, False)}
        todo = [(self.blocks[0], False)]
        while todo:
            block, inside = todo.pop()
            given = False
            for code in block.code:
                if isinstance(code, Call):
                    by_name = isinstance(code.target, Symbol) and scope.of(code.target.name) in loops
                    if inside and (by_name or given or code.target in targets or addresses & set(code.arguments)):
                        return code
                    given = False
                    continue
                given |= code.base == "st" and "param" in code.mods and any(r in addresses for r in used(code))
                if inside and enters(code):
                    return code
                if enters(code):
                    inside = True
                elif leaves(code):
                    inside = False
            for successor in block.successors:
                if (successor.index, inside) not in seen:
                    seen.add((successor.index, inside))
                    todo.append((successor, inside))
        return None

    def reach(self, block: Block) -> set[int]:
        """The blocks that may run after a block."""
        found: set[int] = set()
        todo = list(block.successors)
        while todo:
            one = todo.pop()
            if one.index not in found:
                found.add(one.index)
                todo += one.successors
        return found

    def repeats(self, block: Block) -> bool:
        """Whether a block may run twice."""
        return block.index in self.reach(block)

    def behind(self) -> set[int]:
        """The blocks that may run after a loop's end."""
        found: set[int] = set()
        for block in self.blocks:
            if any(leaves(code) for code in block.code):
                found |= self.reach(block)
        return found

    def look(self) -> None:
        """All uses of the frame."""
        named_outside: set[int | None] = set()
        written: list[tuple[int | None, int]] = []
        lanes = self.of_lanes()
        for block in self.blocks:
            state, behind = self.entry.get(block.index, 2), block.index in self.after_loop
            for code in block.code:
                if enters(code):
                    state = 1
                elif leaves(code):
                    state, behind = 0, True
                if isinstance(code, Call) or self.prologue(code) or not any(r in self.pointers for r in used(code)):
                    continue
                address, value, offset = self.use(code)
                if state != 1:
                    if address or value:
                        named_outside.add(offset)
                        self.outside = True
                    self.after |= behind and (address or value)
                    self.unclear |= value or code.base not in (*_ARITHMETIC, "ld", "st", "setp") or state == 2
                    continue
                self.unclear |= code.base not in (*_ARITHMETIC, "ld", "st", "setp")  # atomics not of local memory
                self.unclear |= value and "param" not in code.mods
                if value or (address and code.base != "ld"):
                    self.stores = True
                    if value or not any(r in lanes for r in self.address(code)):
                        written.append((offset, code.line))  # one place for all lanes
        for offset, line in written:
            if offset not in named_outside and self.suspect is None:
                self.suspect = line

    def written(self, block: Block, bits: int, reads: list[int] | None = None) -> int:
        """The bytes (as bits) that are written behind a block, from those before it; with `reads`, those at reads."""
        for code in block.code:
            if enters(code):
                bits = 0
            elif isinstance(code, Instruction) and any(r in self.pointers for r in used(code)):
                address, value, offset = self.use(code)
                if address and code.base == "st" and offset is not None and code.guard is None:
                    bits |= (1 << width(code)) - 1 << offset
                elif reads is not None and (value or (address and code.base != "st")):
                    reads.append(bits)
        return bits

    def writes_all_first(self) -> bool:
        """Whether each run of a loop writes all of the frame, at fixed addresses, before it reads any of it.

        Iterations that all write one address cannot mean one variable, so it is the iteration's own.  Up to 7 bytes
        are left over where GCC rounds the frame's size.
        """
        known = {0: 0}
        todo = [self.blocks[0]]
        while todo:
            block = todo.pop()
            bits = self.written(block, known[block.index])
            for successor in block.successors:
                old = known.get(successor.index)
                if old is None or old & bits != old:
                    known[successor.index] = bits if old is None else old & bits
                    todo.append(successor)
        reads: list[int] = []
        for block in self.blocks:
            self.written(block, known[block.index], reads)
        return all((bits & (1 << self.size) - 1).bit_count() > self.size - 8 for bits in reads)

    def address(self, code: Instruction) -> list[Register]:
        """The registers of an instruction's address."""
        return [r for o in code.operands if isinstance(o, Memory) for r in flat(o)]

    def use(self, code: Instruction) -> tuple[bool, bool, int | None]:
        """Whether an instruction accesses the frame, whether it hands an address on; the offset, if it is plain."""
        offset: int | None = None
        address = value = False
        for at, operand in enumerate(code.operands):
            if isinstance(operand, Memory):
                if isinstance(operand.base, Register) and operand.base in self.pointers:
                    address = True
                    offset = operand.offset if operand.base.name == "%frame" else None
            elif code.base in ("st", "atom", "red") or (code.base not in (*_ARITHMETIC, "ld", "setp") and at):
                value |= any(r in self.pointers for r in flat(operand))
        return address, value, offset

    def can_be_local(self) -> bool:
        """Whether nobody but the lane itself needs what the frame holds.

        One loop, run once, is the last to use it; or loops alone use it, and only for what iterations make themselves.
        """
        if self.unclear or self.after or not self.size:
            return False
        return (self.loops == 1 and not self.again) or (not self.outside and self.writes_all_first())
