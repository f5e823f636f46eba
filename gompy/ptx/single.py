"""Atomic operations of one lane on an address that all lanes have, as GCC's OpenMP code makes them, as LLVM IR.

Such code has `@p membar; @p atom; @p membar`, where `p` is true in one lane.  The processor's own operation orders all
accesses before it and behind it, so these fences are left to the other way, by the executor.  In checked code memory
has to be written as well, by its shadow; all else is told by the executor.
"""

from __future__ import annotations

from . import checks
from .access import address_of, in_memory
from .emit import Emitter, Value, bytes_of
from .syntax import Call, Instruction, Label, Memory, Register

INTEGERS = {"add": "add", "and": "and", "or": "or", "xor": "xor", "exch": "xchg"}
BOUNDS = {"u": {"min": "umin", "max": "umax"}, "s": {"min": "min", "max": "max"}}
FENCES = frozenset(("membar", "fence"))


def operation(code: Instruction) -> str:
    """LLVM's name of an atomic operation, `cas`, or nothing where the processor has none."""
    kind = code.mods[-1] if code.mods else ""
    if kind[1:] not in ("32", "64") or kind[0] == "f":
        return ""
    for mod in code.mods[:-1]:
        if mod == "cas":
            return mod
        found = INTEGERS.get(mod) or BOUNDS.get(kind[0], {}).get(mod)
        if found:
            return found
    return ""


def takes(em: Emitter, code: Instruction) -> bool:
    """Whether an instruction is such an operation.  Only in scalar code (uniform.py): elsewhere all lanes do it."""
    racing = em.checked and not em.shadowed
    if not em.fast or racing or em.a.version != "S" or code.base != "atom" or "shared" in code.mods:
        return False
    memory = code.operands[1] if len(code.operands) > 1 else None
    if not isinstance(memory, Memory) or (isinstance(memory.base, Register) and memory.base in em.a.varying):
        return False
    return operation(code) != "" and (em.shadowed or id(code) not in em.sums().later)


def beside(em: Emitter, code: Instruction, step: int) -> Instruction | None:
    """The instruction before or behind one in its block, if it is done in the same lanes."""
    block = em.a.blocks[em.block].code
    at = next((i for i, other in enumerate(block) if other is code), -1)
    other = block[at + step] if at >= 0 and 0 <= at + step < len(block) else None
    if other is None or isinstance(other, (Call, Label)):
        return None
    return other if (other.guard, other.negated) == (code.guard, code.negated) else None


def absorbs(em: Emitter, fence: Instruction) -> bool:
    """Whether an atomic operation beside a fence makes it superfluous."""
    for step in (-1, 1):
        other = beside(em, fence, step)
        if other is not None and takes(em, other):
            return True
    return False


def fence_beside(em: Emitter, code: Instruction, step: int) -> None:
    """The fence that is left to where the executor does the operation."""
    other = beside(em, code, step)
    if other is not None and other.base in FENCES:
        em.put("fence seq_cst")


def begin(em: Emitter, code: Instruction, slow: str, done: str) -> tuple[str, str]:
    """Do the operation and go on at `done`, or go to `slow`.  Where it was done, and what memory held before."""
    memory = code.operands[1]
    assert isinstance(memory, Memory)
    address, size, what = address_of(em, memory), bytes_of(code.mods[-1]), operation(code)
    kind = f"i{8 * size}"
    values = [em.fit(em.first_lane(em.read(source, code.mods[-1])), kind) for source in code.operands[2:]]
    lanes = em.new(f"call i32 @llvm.ctpop.i32(i32 {em.active})")
    one = em.new(f"icmp eq i32 {lanes}, 1")
    odd = em.new(f"and i64 {address.text}, {size - 1}")
    even = em.new(f"icmp eq i64 {odd}, 0")
    test = em.new(f"and i1 {em.new(f'and i1 {one}, {even}')}, {in_memory(em, address.text)}")
    if em.shadowed:
        checks.goes_on(em, test, slow)
        test = checks.written(em, checks.shadow_of(em, address.text), size)
    fast = em.fresh("fast")
    em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    em.label(fast)
    place = em.new(f"inttoptr i64 {address.text} to ptr")
    if what == "cas":
        pair = em.new(f"cmpxchg ptr {place}, {values[0].typed}, {values[1].typed} seq_cst seq_cst")
        old = em.new(f"extractvalue {{ {kind}, i1 }} {pair}, 0")
    else:
        old = em.new(f"atomicrmw {what} ptr {place}, {values[0].typed} seq_cst")
    value = em.splat(Value(kind, False, old))
    em.put(f"br label %{done}")
    em.label(slow)
    return fast, value.text
