"""Loads, stores, atomics, votes and barriers as LLVM IR (PTX ISA 9.7.9, 9.7.12, 9.7.13).

Every address is a generic one.  What is in device memory (one comparison) is accessed at once: by a scalar access if
the address is the same in all lanes, by a vector access if all lanes are active and addresses follow each other.
All else goes to the executor, lane by lane: shared and local memory, gathers, and addresses that are no memory at all.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import additions, checks, local, racing, single, singly, vectors
from .access import address_of, in_memory, in_shared, lanes_load, lanes_store
from .emit import BITS, LLVM_TYPE, Emitter, Value, bytes_of
from .forms import FLOATS, INTEGERS, LOGICAL, operands, unknown
from .opcodes import ATOMIC, ORDERS, SIDE_EFFECTS, WRITES, having
from .params import load_param, store_param
from .syntax import Immediate, Instruction, Memory, Operand, Register, Sink, Vector
from .uniform import Analysis

SPACES = frozenset(("global", "const", "shared", "local", "param"))
CACHE = frozenset(("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "volatile", "relaxed", "acquire", "release", "weak"))
SCOPES = frozenset(("cta", "gpu", "sys", "cluster"))
ALL = 0xFFFFFFFF
WAITING = having(ATOMIC, ORDERS)
STORING = having(WRITES)
MEMORY_TYPES = INTEGERS | FLOATS | (LOGICAL - {"pred"}) | {"u8", "s8", "b8"}


def parts(em: Emitter, code: Instruction) -> tuple[str, str, int]:
    """Space ("" = generic), type and vector length of a load or store."""
    if not code.mods or code.mods[-1] not in MEMORY_TYPES:
        unknown(em, code)
    space, count = "", 1
    for mod in code.mods[:-1]:
        name = mod.partition("::")[0]
        if name in SPACES and not space:
            space = name
        elif name in ("L1", "L2", "mmio") and mod != "L2::cache_hint":
            continue
        elif mod in ("v2", "v4"):
            count = int(mod[1])
        elif mod not in CACHE and mod not in SCOPES:
            unknown(em, code)
    return space, code.mods[-1], count


def begin_fast(em: Emitter, address: Value, space: str, fast: str, slow: str) -> str:
    """Branch to the fast way of an access by one address, or to its slow one, and begin the fast: its place."""
    first, place = address.text, ""
    if space == "shared":
        test, place = in_shared(em, first)
    else:
        test = in_memory(em, first)
    em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    em.label(fast)
    return place or em.new(f"inttoptr i64 {first} to ptr")


def load_value(em: Emitter, address: Value, kind: str, varying: bool, space: str) -> Value:
    """Load one value (or one for each lane) of a PTX type."""
    if em.shadowed:
        return checks.load_value(em, address, kind, varying, space)
    llvm, size = LLVM_TYPE[kind], bytes_of(kind)
    if em.lane:
        return singly.load(em, address, llvm, size)
    if address.vector:
        return vectors.load(em, address, 0, (llvm, size, 1), space, None)[0]
    if space == "local" and varying and em.fast:
        return local.load(em, address, llvm, size)
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    place = begin_fast(em, address, space, fast, slow)
    quick = Value(llvm, False, em.new(f"load {llvm}, ptr {place}, align {size}"))
    quick = em.splat(quick) if varying else quick
    em.put(f"br label %{done}")
    em.label(slow)
    if varying:
        other = lanes_load(em, address, llvm, size)
    else:
        raw = em.slow("i64", "load_uniform", ("i64", address.text), ("i32", str(size)))
        other = em.fit(Value("i64", False, raw), llvm)
    em.join(done)
    return Value(llvm, quick.vector, em.new(f"phi {quick.full} [ {quick.text}, %{fast} ], [ {other.text}, %{slow} ]"))


def store_value(em: Emitter, address: Value, value: Value, space: str) -> None:
    """Store a value; of lanes with the same address one wins."""
    if em.shadowed:
        checks.store_value(em, address, value, space)
        return
    if em.lane:
        singly.store(em, address, value)
        return
    if address.vector:
        vectors.store(em, address, 0, [value], space, None)
        return
    if space == "local" and em.fast:
        local.store(em, address, value)
        return
    size = max(BITS[value.type] // 8, 1)
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    place = begin_fast(em, address, space, fast, slow)
    stored = em.first_lane(value)
    em.put(f"store {stored.typed}, ptr {place}, align {size}")
    em.put(f"br label %{done}")
    em.label(slow)
    if value.vector:
        lanes_store(em, address, value, size)
    else:
        raw = em.fit(value, "i64")
        em.slow("void", "store_uniform", ("i64", address.text), ("i64", raw.text), ("i32", str(size)))
    em.join(done)


def items(em: Emitter, operand: Operand, count: int) -> tuple[Operand, ...]:
    """The registers of a vector access."""
    if count == 1 and not isinstance(operand, Vector):
        return (operand,)
    if not isinstance(operand, Vector) or len(operand.items) != count:
        em.fail(f"a vector of {count} elements is needed")
    return operand.items


def lanes_base(em: Emitter, memory: Memory, space: str) -> Value | None:
    """The base of an access with an address for each lane; None: one address, parameters, checked code."""
    if em.shadowed or space == "param" or not isinstance(memory.base, Register) or memory.base not in em.a.varying:
        return None
    return em.fit(em.load_register(memory.base), "i64")


def trusted_place(em: Emitter, memory: Memory, offset: int) -> tuple[str, str]:
    """The place of an access by one address that is known to be right, and the address."""
    address = address_of(em, memory, offset).text
    return em.new(f"inttoptr i64 {address} to ptr"), address


def load(em: Emitter, code: Instruction) -> None:
    """ld."""
    space, kind, count = parts(em, code)
    operands(em, code)
    memory = code.operands[1]
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    values = []
    targets = items(em, code.operands[0], count)
    if id(code) in em.trusted:
        for index in range(count):
            place, _ = trusted_place(em, memory, index * bytes_of(kind))
            text = em.new(f"load {LLVM_TYPE[kind]}, ptr {place}, align {bytes_of(kind)}")
            values.append(Value(LLVM_TYPE[kind], False, text))
        for target, value in zip(targets, values, strict=True):
            em.write(target, value, kind[0] == "s")
        return
    if em.shadowed and count > 1 and space != "param":
        checks.alignment(em, address_of(em, memory), count * bytes_of(kind))
    if em.racing and not em.trusted and space in racing.LOOKED_AT:
        racing.access(em, memory, count * bytes_of(kind), False, code, space)
    base = lanes_base(em, memory, space)
    if base is not None:
        values = vectors.load(em, base, memory.offset, (LLVM_TYPE[kind], bytes_of(kind), count), space, memory.base)
    for index, target in enumerate(targets):
        if base is not None:
            break
        if space == "param":
            values.append(load_param(em, memory, kind, index))
        else:
            varying = any(isinstance(t, Register) and t in em.a.varying for t in targets) or isinstance(target, Sink)
            address = address_of(em, memory, index * bytes_of(kind))
            values.append(load_value(em, address, kind, varying or address.vector, space))
    for target, value in zip(targets, values, strict=True):
        em.write(target, value, kind[0] == "s")


def store(em: Emitter, code: Instruction) -> None:
    """st."""
    space, kind, count = parts(em, code)
    operands(em, code)
    memory = code.operands[0]
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    if id(code) in em.trusted:
        for index, source in enumerate(items(em, code.operands[1], count)):
            value = em.first_lane(em.read(source, kind))
            place, address = trusted_place(em, memory, index * bytes_of(kind))
            size = max(BITS[value.type] // 8, 1)
            em.mark_now(address, size)
            em.put(f"store {value.typed}, ptr {place}, align {size}")
        return
    if em.shadowed and count > 1 and space != "param":
        checks.alignment(em, address_of(em, memory), count * bytes_of(kind))
    if em.racing and not em.trusted and space in racing.LOOKED_AT:
        racing.access(em, memory, count * bytes_of(kind), True, code, space)
    base = lanes_base(em, memory, space)
    if base is not None:
        stored = [em.read(source, kind) for source in items(em, code.operands[1], count)]
        vectors.store(em, base, memory.offset, stored, space, memory.base)
        return
    for index, source in enumerate(items(em, code.operands[1], count)):
        value = em.read(source, kind)
        if space == "param":
            store_param(em, memory, kind, index, value)
        else:
            store_value(em, address_of(em, memory, index * bytes_of(kind)), value, space)


def atomic(em: Emitter, code: Instruction) -> None:
    """atom, red: lane by lane, in lane order."""
    if not code.mods:
        unknown(em, code)
    kind = code.mods[-1]
    operation = ""
    for mod in code.mods[:-1]:
        if mod in abi.ATOM_OPS and not operation:
            operation = mod
        elif mod.partition("::")[0] not in ("global", "shared") and mod not in (
            "relaxed",
            "acquire",
            "release",
            "acq_rel",
            *SCOPES,
        ):
            unknown(em, code)
    if not operation or (kind not in abi.ATOM_TYPES and not (kind == "b16" and operation == "cas")):
        unknown(em, code)
    if kind[0] == "f" and operation != "add":
        unknown(em, code)
    has_result = code.base == "atom"
    operands(em, code, (4 if operation == "cas" else 3) - (0 if has_result else 1))
    memory = code.operands[1 if has_result else 0]
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    rest = code.operands[2 if has_result else 1 :]
    number = abi.ATOM_OPS.index(operation) * 8 + (abi.ATOM_TYPES.index(kind) if kind != "b16" else 0x100)
    done = additions.begin(em, code, memory, rest[0], number) if additions.applies(em, code, operation, kind) else ""
    slow = fast = quick = ""
    if em.racing:
        racing.atom(em, memory, 2 if kind == "b16" else bytes_of(kind), code)
    if single.takes(em, code):
        slow, done = em.fresh("slow"), em.fresh("done")
        fast, quick = single.begin(em, code, slow, done)
        single.fence_beside(em, code, -1)
    address = em.spill(address_of(em, memory), 1)
    first = em.spill(em.fit(em.read(rest[0], kind), "i64"), 2)
    second = em.spill(em.fit(em.read(rest[1], kind), "i64"), 3) if operation == "cas" else first
    out = em.scratch(0)
    if em.fast and not em.shadowed:
        number |= abi.ATOM_UNUSED * (id(code) in em.sums().unused)
    if em.fast and not em.checked:
        number |= abi.ATOM_LATER * (id(code) in em.sums().later)
    em.helper(
        "atom",
        f"ptr %w, i32 {em.active}, i32 {number}, ptr {address}, ptr {first}, ptr {second}, ptr {out}, {em.site()}",
    )
    if done and not slow:
        em.join(done)
        return
    value = Value(LLVM_TYPE[kind], True, "")
    if has_result:
        value = em.fit(Value("i64", True, em.new(f"load <32 x i64>, ptr {out}, align 64")), value.type)
    if slow:
        single.fence_beside(em, code, 1)
        em.join(done)
        both = f"phi {value.full} [ {quick}, %{fast} ], [ {value.text}, %{slow} ]"
        value = Value(value.type, True, em.new(both))
    if has_result:
        em.write(code.operands[0], value)


def vote(em: Emitter, code: Instruction) -> None:
    """vote{.sync}.mode: over the active lanes."""
    mods = [m for m in code.mods if m != "sync"]
    if len(mods) != 2 or mods not in (["ballot", "b32"], ["all", "pred"], ["any", "pred"], ["uni", "pred"]):
        unknown(em, code)
    operands(em, code, 3 if "sync" in code.mods else 2)
    if "sync" in code.mods and not (isinstance(code.operands[2], Immediate) and code.operands[2].value & ALL == ALL):
        unknown(em, code)  # groups of lanes: rare.py
    word = em.new(f"and i32 {em.bits(em.read(code.operands[1], 'pred'))}, {em.active}")
    if mods[0] == "ballot":
        em.write(code.operands[0], Value("i32", False, word))
        return
    every = em.new(f"icmp eq i32 {word}, {em.active}")
    some = em.new(f"icmp ne i32 {word}, 0")
    if mods[0] == "uni":
        none = em.new(f"xor i1 {some}, true")
        every = em.new(f"or i1 {every}, {none}")
    em.write(code.operands[0], Value("i1", False, some if mods[0] == "any" else every))


def active_mask(em: Emitter, code: Instruction) -> None:
    """activemask.b32."""
    operands(em, code)
    em.write(code.operands[0], Value("i32", False, em.active))


def barrier_told(em: Emitter, code: Instruction) -> int:
    """What the executor is told of a barrier besides its kind: whether all lanes come to it, and which of the
    function's it is, as a line may have several."""
    aligned = code.opcode.startswith("bar.") or "aligned" in code.mods
    return abi.BARRIER_ALIGNED * aligned + abi.BARRIER_PLACE * em.barriers.setdefault(id(code), len(em.barriers))


def barrier(em: Emitter, code: Instruction) -> None:
    """bar.sync, bar.arrive, barrier.sync{.aligned}; bar.warp.sync is nothing in lockstep."""
    mods = [m for m in code.mods if m not in ("aligned", "cta")]
    if mods == ["warp", "sync"]:
        operands(em, code, 1)
        if em.checked:
            checks.warp_barrier(em, code)
        return
    if mods not in (["sync"], ["arrive"]):
        unknown(em, code)
    if len(code.operands) not in ((1, 2) if mods == ["sync"] else (2,)):
        em.fail(f"wrong number of operands for '{code.opcode}'")
    number = em.first_lane(em.read(code.operands[0], "u32"))
    threads = em.first_lane(em.read(code.operands[1], "u32")) if len(code.operands) == 2 else em.ints("i32", 0)
    kind = abi.BARRIER_KINDS.index(mods[0])
    if em.ends_turn(code):
        return
    if em.checked:
        kind += barrier_told(em, code)
    em.helper("barrier", f"ptr %w, i32 {em.active}, i32 {kind}, i32 {number.text}, i32 {threads.text}, {em.site()}")


def barrier_reduction(em: Emitter, code: Instruction) -> None:
    """bar.red, barrier.red: how many, all or any of the threads at the barrier have the predicate."""
    mods = [m for m in code.mods if m not in ("aligned", "cta")]
    if mods not in (["red", "popc", "u32"], ["red", "and", "pred"], ["red", "or", "pred"]):
        unknown(em, code)
    number = em.first_lane(em.read(code.operands[1], "u32"))
    threads = em.first_lane(em.read(code.operands[2], "u32")) if len(code.operands) == 4 else em.ints("i32", 0)
    votes = em.new(f"and i32 {em.bits(em.read(code.operands[-1], 'pred'))}, {em.active}")
    kind = abi.REDUCTIONS.index(mods[1])
    if em.checked:
        kind += barrier_told(em, code)
    arguments = f"ptr %w, i32 {em.active}, i32 {kind}, i32 {number.text}, i32 {threads.text}, i32 {votes}, {em.site()}"
    result = Value("i32", False, em.helper("reduce", arguments, "i32"))
    if mods[1] != "popc":
        result = em.op("icmp ne", result, em.ints("i32", 0), result="i1")
    em.write(code.operands[0], result)


def fence(em: Emitter, code: Instruction) -> None:
    """membar, fence."""
    known = ("cta", "gl", "sys", "gpu", "sc", "acq_rel", "acquire", "release", "cluster")
    if any(m not in known for m in code.mods) and code.mods[:1] not in (("proxy",), ("mbarrier_init",)):
        unknown(em, code)
    em.put('fence syncscope("singlethread") seq_cst' if single.absorbs(em, code) else "fence seq_cst")
    if em.racing:
        racing.fence(em)


def trap(em: Emitter, code: Instruction) -> None:
    """trap."""
    if code.mods:
        unknown(em, code)
    em.helper("trap", f"ptr %w, i32 {em.active}, i32 {abi.TRAPS.index('trap')}, {em.site()}")


def hint(em: Emitter, code: Instruction) -> None:
    """Hints: nanosleep lets other warps run."""
    if code.base == "nanosleep":
        em.helper("yield", "ptr %w")


def turn_cost(analysis: Analysis, low: int, high: int) -> int:
    """What a turn of a loop (blocks low..high) costs of the fuel (executor: FUEL) after which other warps run.

    All of it if the loop may be one that waits for a lock, which another warp holds; something if it may wait in
    another way: it has fences or other atomics, or looks at memory and stores nothing.
    """
    looks = stores = waits = False
    for block in analysis.blocks[low : high + 1]:
        for code in block.code:
            base, _, rest = code.opcode.partition(".")
            if base == "atom" and ("exch" in rest or "cas" in rest):
                return 20000
            waits |= base in WAITING
            stores |= base in STORING
            looks |= base == "call" or base in SIDE_EFFECTS
    return 256 if waits or (looks and not stores) else 1
