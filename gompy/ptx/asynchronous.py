"""Copies that need not be waited for, and barriers in shared memory that count arrivals (PTX ISA 9.7.9, 9.7.13).

A copy is done at once, so that waiting for it is nothing.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import racing
from .access import address_of
from .emit import Emitter, Value
from .forms import operands, unknown
from .memory import load_value, store_value
from .syntax import Immediate, Instruction, Memory, Register, Sink

SCOPES = ("release", "acquire", "relaxed", "cta", "cluster", "sc")


def fixed(operand: object) -> int | None:
    """An operand's value, if it is a constant."""
    return operand.value if isinstance(operand, Immediate) else None


def copied(em: Emitter, code: Instruction, size: int) -> Value:
    """How many bytes of the source there are: the 4th operand's, none where a predicate says so, else all."""
    rest = code.operands[3:]
    if "L2::cache_hint" in code.mods:
        rest = rest[:-1]
    if not rest:
        return em.ints("i32", size)
    given = rest[0]
    if isinstance(given, Register) and given.type == "pred":
        return em.select(em.read(given, "pred"), em.ints("i32", 0), em.ints("i32", size))
    number = fixed(given)
    if number is not None and not 0 <= number <= size:
        em.fail(f"'{code.opcode}': {number} bytes of the source, {size} at most")
    return em.read(given, "u32")


def copy(em: Emitter, code: Instruction) -> None:
    """cp.async.ca/cg.shared.global [to], [from], bytes{, of the source or predicate}{, policy}."""
    kind = code.mods[1] if len(code.mods) > 1 else ""
    if code.mods[:1] != ("async",):
        unknown(em, code)
    if kind == "bulk":
        from . import bulk  # few programs have any

        bulk.copy(em, code)
        return
    if kind in ("commit_group", "wait_all", "wait_group"):
        return
    if kind == "mbarrier":
        arrive_for_copies(em, code)
        return
    spaces = [m.partition("::")[0] for m in code.mods[2:]]
    if kind not in ("ca", "cg") or spaces[:2] != ["shared", "global"] or any(s != "L2" for s in spaces[2:]):
        unknown(em, code)
    if len(code.operands) - ("L2::cache_hint" in code.mods) not in (3, 4):
        em.fail(f"wrong number of operands for '{code.opcode}'")
    to, source = code.operands[:2]
    size = fixed(code.operands[2])
    if not isinstance(to, Memory) or not isinstance(source, Memory) or size not in (4, 8, 16):
        em.fail(f"'{code.opcode}' needs two addresses, and copies 4, 8 or 16 bytes")
    given = copied(em, code, size)
    for offset in range(0, size, 4):
        store_value(em, address_of(em, to, offset), word_of(em, source, offset, given), "shared")


def word_of(em: Emitter, source: Memory, offset: int, given: Value) -> Value:
    """A word of the source; zeros for what is not given, which is not read."""
    address = address_of(em, source, offset)
    if given.text.isdecimal() and int(given.text) >= offset + 4:
        return load_value(em, address, "b32", address.vector, "global")
    if given.text.isdecimal() and int(given.text) <= offset:
        return em.ints("i32", 0)
    left = em.intrinsic("usub.sat", given, em.ints("i32", offset))
    wanted = em.op("icmp ne", left, em.ints("i32", 0), result="i1")
    lanes = em.new(f"and i32 {em.active}, {em.bits(wanted)}")
    vector = address.vector or wanted.vector
    kind = "<32 x i32>" if vector else "i32"
    slot = em.alloca(kind)
    em.put(f"store {kind} zeroinitializer, ptr {slot}, align 64")
    some, done = em.fresh("some"), em.fresh("done")
    em.put(f"br i1 {em.new(f'icmp ne i32 {lanes}, 0')}, label %{some}, label %{done}")
    em.label(some)
    active, guarded = em.active, em.guarded
    em.active, em.guarded = lanes, em.guarded or vector
    value = load_value(em, em.splat(address) if vector else address, "b32", vector, "global")
    em.active, em.guarded = active, guarded
    bits = em.op("shl", em.intrinsic("umin", left, em.ints("i32", 4)), em.ints("i32", 3))
    ones = em.op("sub", em.op("shl", em.ints("i64", 1), em.cast("zext", bits, "i64")), em.ints("i64", 1))
    value = em.op("and", value, em.cast("trunc", ones, "i32"))  # all bits off where nothing is given
    em.put(f"store {value.typed}, ptr {slot}, align 64")
    em.join(done)
    return Value("i32", vector, em.new(f"load {kind}, ptr {slot}, align 64"))


# --- mbarrier --------------------------------------------------------------------------------------------------------


def step(em: Emitter, code: Instruction, kind: str, memory: object, value: Value) -> tuple[str, str]:
    """One operation of abi.MBARRIER_STEPS, lane by lane: where the states before it are, and its answers."""
    if not isinstance(memory, Memory):
        em.fail(f"'{code.opcode}' needs an address")
    address = address_of(em, memory)
    waits = kind in ("test", "test_parity")
    if em.racing and not waits:
        racing.fence(em)
        racing.strong(em, address, 8, True)
    places = em.spill(address, 1), em.spill(value, 2, "i64")
    state, answer = em.scratch(0), em.scratch(3)
    arguments = f"i32 {abi.MBARRIER_STEPS.index(kind)}, ptr {places[0]}, ptr {places[1]}, ptr {state}, ptr {answer}"
    em.helper("mbarrier", f"ptr %w, i32 {em.active}, {arguments}, {em.site()}")
    if em.racing and waits:
        racing.strong(em, address, 8, False)
        racing.fence(em)
    return state, answer


def words(em: Emitter, code: Instruction) -> list[str]:
    """The modifiers without order, scope and space."""
    found = [m for m in code.mods if m not in SCOPES and m.partition("::")[0] != "shared"]
    if found[-1:] != ["b64"]:
        unknown(em, code)
    return found[:-1]


def change(em: Emitter, code: Instruction) -> None:
    """mbarrier.init, .inval, .expect_tx, .complete_tx [address]{, count}."""
    mods = words(em, code)
    if mods not in (["init"], ["inval"], ["expect_tx"], ["complete_tx"]):
        unknown(em, code)
    operands(em, code, 1 if mods == ["inval"] else 2)
    count = em.read(code.operands[1], "u32") if len(code.operands) == 2 else em.ints("i32", 0)
    step(em, code, mods[0], code.operands[0], count)


def arrive(em: Emitter, code: Instruction) -> None:
    """mbarrier.arrive, .arrive_drop{.expect_tx}, .test_wait, .try_wait{.parity}, .pending_count: what has a result.

    A barrier's state is 64 bits (abi.MBARRIER_FIELDS), which the ISA leaves open; a wait that is in vain lets other
    warps run.
    """
    mods = words(em, code)
    if mods == ["pending_count"]:
        operands(em, code, 2)
        low, bits = abi.MBARRIER_FIELDS["pending"]
        pending = em.op("lshr", em.read(code.operands[1], "b64"), em.ints("i64", low))
        em.write(code.operands[0], em.op("and", em.cast("trunc", pending, "i32"), em.ints("i32", (1 << bits) - 1)))
        return
    if mods[:1] in (["arrive"], ["arrive_drop"]) and mods[1:] in ([], ["expect_tx"], ["noComplete"]):
        if len(code.operands) not in ((3,) if mods[1:] else (2, 3)):
            em.fail(f"wrong number of operands for '{code.opcode}'")
        count = em.read(code.operands[2], "u32") if len(code.operands) == 3 else em.ints("i32", 1)
        if mods[1:] == ["expect_tx"]:
            step(em, code, "expect_tx", code.operands[1], count)
            count = em.ints("i32", 1)
        state, _ = step(em, code, mods[0], code.operands[1], count)
        if not isinstance(code.operands[0], Sink):
            em.write(code.operands[0], Value("i64", True, em.new(f"load <32 x i64>, ptr {state}, align 64")))
        return
    if mods[:1] in (["test_wait"], ["try_wait"]) and mods[1:] in ([], ["parity"]):
        if len(code.operands) not in ((3, 4) if mods[0] == "try_wait" else (3,)):
            em.fail(f"wrong number of operands for '{code.opcode}'")
        value = em.read(code.operands[2], "u32" if mods[1:] else "b64")
        _, answer = step(em, code, "test_parity" if mods[1:] else "test", code.operands[1], value)
        found = Value("i64", True, em.new(f"load <32 x i64>, ptr {answer}, align 64"))
        em.write(code.operands[0], em.op("icmp ne", found, em.ints("i64", 0), result="i1"))
        return
    unknown(em, code)


def arrive_for_copies(em: Emitter, code: Instruction) -> None:
    """cp.async.mbarrier.arrive{.noinc}.b64 [address]: an arrival when the copies so far are done; they are.

    Without .noinc the arrival was added to what is pending before: nothing changes.
    """
    mods = [m for m in code.mods if m.partition("::")[0] != "shared"]
    if mods not in (["async", "mbarrier", "arrive", "b64"], ["async", "mbarrier", "arrive", "noinc", "b64"]):
        unknown(em, code)
    operands(em, code, 1)
    if "noinc" in mods:
        step(em, code, "arrive", code.operands[0], em.ints("i32", 1))
