"""Accesses in checked code (GOMPY_CHECK): each is held against the shadow of its memory.

The shadow has a byte for each byte of memory: 0 not allocated, 1 allocated, 3 allocated and written, 5 out of date,
13 out of date in a module's variable.
What the shadow shows to be right (aligned, allocated, for loads written) is done at once; all else goes to the
executor (check.pxi), which does it or says what is wrong.  A store marks its bytes in the shadow before it writes
them, so that who sees the value sees the mark.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import lanes_load, lanes_store
from .emit import BITS, IOTA, LLVM_TYPE, Emitter, Value, bytes_of
from .flow import flat, used
from .seen import Access, begin
from .syntax import Call, Function, Immediate, Instruction, Label, Statement

ALLOCATED, WRITTEN = 1, 3


def drop_masked_loads(function: Function) -> None:
    """Take loads of what the next instruction masks off entirely out of the function.

    GCC at -O0 writes a structure of eight bytes word by word as fields of what is there: `ld a; and b, a, 0; or …; st`
    (store_bit_field).  Nothing depends on what was read, which may never have been written; the store is checked.
    """
    body = function.body or []
    found: list[int] = []
    for at, code in enumerate(body):
        if isinstance(code, Instruction) and code.base == "and" and code.operands[2:] == (Immediate(0),) and at:
            load = body[at - 1]
            if isinstance(load, Instruction) and load.base == "ld" and load.operands[:1] == code.operands[1:2]:
                found.append(at)
    if not found:
        return
    reads: dict[str, int] = {}
    for statement in body:
        if isinstance(statement, Label):
            continue
        given = statement.arguments if isinstance(statement, Call) else ()
        for register in (*used(statement), *(r for operand in given for r in flat(operand))):
            reads[register.name] = reads.get(register.name, 0) + 1
    result: list[Statement] = list(body)
    for at in reversed(found):
        code = body[at]
        assert isinstance(code, Instruction)
        if reads.get(getattr(code.operands[1], "name", "")) == 1:
            kind = code.mods[-1]
            zero = Instruction(f"mov.{kind}", (code.operands[0], Immediate(0)), code.line, None, False, "mov", (kind,))
            result[at - 1 : at + 1] = [zero]
    function.body = result


def repeated(byte: int, size: int) -> int:
    """A shadow word of `size` equal bytes."""
    return int.from_bytes(bytes([byte]) * size, "little")


def warp_place(em: Emitter, field: str) -> str:
    """The pointer to a field of the warp."""
    return em.once(f"%check_{field}1", f"%check_{field}1 = getelementptr i8, ptr %w, i64 {abi.WARP[field]}")


def warp_word(em: Emitter, field: str, kind: str) -> str:
    """A field of the warp, loaded where the function begins."""
    place = warp_place(em, field)
    return em.once(f"%check_{field}", f"%check_{field} = load {kind}, ptr {place}, !invariant.load !0")


def shadow_of(em: Emitter, address: str) -> str:
    """The pointer to the shadow of a scalar address of device memory."""
    offset = em.new(f"sub i64 {address}, {em.limits()[0]}")
    return em.new(f"getelementptr i8, ptr {warp_word(em, 'shadow', 'ptr')}, i64 {offset}")


def shared_spot(em: Emitter, address: str) -> tuple[str, str, str]:
    """Of a scalar address: whether it is in shared memory (i1), the host pointer, the pointer to its shadow."""
    offset = em.new(f"sub i64 {address}, {abi.SHARED_BASE}")
    inside = em.new(f"icmp ult i64 {offset}, {warp_word(em, 'shared_size', 'i64')}")
    place = em.new(f"getelementptr i8, ptr {warp_word(em, 'shared', 'ptr')}, i64 {offset}")
    return inside, place, em.new(f"getelementptr i8, ptr {warp_word(em, 'shared_shadow', 'ptr')}, i64 {offset}")


def fitting(em: Emitter, shadow: str, size: int, writes: bool) -> str:
    """Whether an access of 32 words that follow each other is right, for all that its shadow tells (i1)."""
    kind = f"<32 x i{8 * size}>"
    word = em.new(f"load {kind}, ptr {shadow}, align 1")
    constant = f"splat (i{8 * size} {repeated(ALLOCATED if writes else WRITTEN, size)})"
    if writes:
        word = em.new(f"and {kind} {word}, {constant}")
    good = em.new(f"icmp eq {kind} {word}, {constant}")
    return em.new(f"icmp eq i32 {em.new(f'bitcast <32 x i1> {good} to i32')}, -1")


def follow(em: Emitter, address: Value, size: int) -> tuple[str, str]:
    """Whether all lanes are active and their addresses follow each other (i1); and the first one."""
    first = em.new(f"extractelement {address.typed}, i32 0")
    distance = em.new(f"sub <32 x i64> {address.text}, {em.splat(Value('i64', False, first)).text}")
    match = em.new(f"icmp eq <32 x i64> {distance}, {IOTA[size]}")
    word = em.new(f"and i32 {em.new(f'bitcast <32 x i1> {match} to i32')}, {em.active}")
    return em.new(f"icmp eq i32 {word}, -1"), first


def prepare(em: Emitter, address: Value, size: int, writes: bool, slow: str) -> tuple[str, str]:
    """Go on where an access by 32 addresses can be done at once, at `slow` otherwise: its place and its shadow's."""
    full, first = follow(em, address, size)
    goes_on(em, full, slow)
    place, shadow = test_place(em, first, size, "", slow)
    goes_on(em, fitting(em, shadow, size, writes), slow)
    return place, shadow


def test_place(em: Emitter, address: str, size: int, space: str, slow: str) -> tuple[str, str]:
    """Go on where a scalar address is in the memory and aligned, at `slow` otherwise: its place and that of its shadow.

    In device memory, which begins at a page, both are one test: what is no multiple of the size becomes a large number.
    In shared memory it is one test behind the other: as one they take the processor twice as many steps.
    """
    if space == "shared":
        inside, place, shadow = shared_spot(em, address)
        goes_on(em, inside, slow)
        if size > 1:
            low = em.new(f"and i64 {address}, {size - 1}")
            goes_on(em, em.new(f"icmp eq i64 {low}, 0"), slow)
        return place, shadow
    base, limit = em.limits()
    offset = number = em.new(f"sub i64 {address}, {base}")
    shift = size.bit_length() - 1
    if shift:
        limit = em.once(f"%check_limit{shift}", f"%check_limit{shift} = lshr i64 {limit}, {shift}")
        number = em.new(f"call i64 @llvm.fshr.i64(i64 {offset}, i64 {offset}, i64 {shift})")
    goes_on(em, em.new(f"icmp ule i64 {number}, {limit}"), slow)
    return em.new(f"inttoptr i64 {address} to ptr"), shadow_of(em, address)


def goes_on(em: Emitter, test: str, other: str) -> None:
    """Leave for `other` unless a test holds, as it nearly always does."""
    good = em.fresh("good")
    em.put(f"br i1 {test}, label %{good}, label %{other}, !prof !1")
    em.label(good)


def written(em: Emitter, shadow: str, size: int) -> str:
    """Whether all of a word of the shadow says that the memory is written (i1)."""
    word = em.new(f"load i{8 * size}, ptr {shadow}, align 1")
    return em.new(f"icmp eq i{8 * size} {word}, {repeated(WRITTEN, size)}")


def past_whole(em: Emitter, access: Access, space: str, slow: str, fast: str, *, looks: bool) -> None:
    """Go on where the access's block of device memory isn't known as written, at FAST otherwise.

    Of a block there is one byte, of its shadow there are 512: at random addresses that are in no cache.  Now and then
    it goes on at SLOW, if that LOOKS at the block, as the executor does for one word; not where the address is the same
    each turn, as that tells of one block, mostly a frame's, of which some bytes are never written.
    """
    if space == "shared":
        return
    base, _ = em.limits()
    block = em.new(f"lshr i64 {em.new(f'sub i64 {access.address}, {base}')}, {abi.WHOLE_SHIFT}")
    place = em.new(f"getelementptr i8, ptr {warp_word(em, 'whole', 'ptr')}, i64 {block}")
    state = em.new(f"load i8, ptr {place}")
    known, odd = em.fresh("known"), em.fresh("odd")
    em.put(f"br i1 {em.new(f'icmp eq i8 {state}, {abi.WHOLE_WRITTEN}')}, label %{known}, label %{odd}, !prof !1")
    em.label(known)
    access.keep()
    em.put(f"br label %{fast}")
    em.label(odd)
    if access.still or not looks:
        return
    place = warp_place(em, "looks")
    left = em.new(f"sub i32 {em.new(f'load i32, ptr {place}')}, 1")
    em.put(f"store i32 {left}, ptr {place}")
    goes_on(em, em.new(f"icmp sge i32 {left}, 0"), slow)


def look(em: Emitter, access: Access) -> None:
    """What it accesses is written: perhaps its whole line is."""
    if access.slot:
        access.look(warp_word(em, "shadow", "ptr"))


def load_value(em: Emitter, address: Value, kind: str, varying: bool, space: str) -> Value:
    """memory.py's load_value, checked."""
    llvm, size = LLVM_TYPE[kind], bytes_of(kind)
    slow, done = em.fresh("slow"), em.fresh("done")
    fast = em.fresh("fast")
    if address.vector:
        place = prepare(em, address, size, False, slow)[0]
        em.join(fast)
    else:
        access = begin(em, address.text, size, space, fast)
        place, shadow = test_place(em, address.text, size, space, slow)
        past_whole(em, access, space, slow, fast, looks=not varying)
        goes_on(em, written(em, shadow, size), slow)
        look(em, access)
        place = access.end(place, fast)
    full = f"<32 x {llvm}>" if address.vector else llvm
    quick = Value(llvm, address.vector, em.new(f"load {full}, ptr {place}, align {size}"))
    if varying:
        quick = em.splat(quick)
    em.put(f"br label %{done}")
    em.label(slow)
    if varying or address.vector:
        other = lanes_load(em, address, llvm, size)
    else:
        raw = em.slow("i64", "load_uniform", ("i64", address.text), ("i32", str(size)))
        other = em.fit(Value("i64", False, raw), llvm)
    em.join(done)
    return Value(llvm, quick.vector, em.new(f"phi {quick.full} [ {quick.text}, %{fast} ], [ {other.text}, %{slow} ]"))


def store_value(em: Emitter, address: Value, value: Value, space: str) -> None:
    """memory.py's store_value, checked."""
    size = max(BITS[value.type] // 8, 1)
    slow, done = em.fresh("slow"), em.fresh("done")
    one = value
    if address.vector:
        place, shadow = prepare(em, address, size, True, slow)
        one = em.splat(value)
        mark = em.splat(Value(f"i{8 * size}", False, str(repeated(WRITTEN, size))))
        em.put(f"store {mark.typed}, ptr {shadow}, align 1")
    else:
        one = em.first_lane(value)
        fast = em.fresh("fast")
        access = begin(em, address.text, size, space, fast)
        place, shadow = test_place(em, address.text, size, space, slow)
        past_whole(em, access, space, slow, fast, looks=not value.vector)
        mark_written(em, shadow, size, slow, access)
        place = access.end(place, fast)
    em.put(f"store {one.typed}, ptr {place}, align {size}")
    em.put(f"br label %{done}")
    em.label(slow)
    if address.vector or value.vector:
        lanes_store(em, address, value, size)
    else:
        raw = em.fit(value, "i64")
        em.slow("void", "store_uniform", ("i64", address.text), ("i64", raw.text), ("i32", str(size)))
    em.join(done)


def mark_written(em: Emitter, shadow: str, size: int, slow: str, access: Access) -> None:
    """Mark a word, which has to be allocated, as written: mostly it is, and a store to the shadow is saved."""
    first, again, other = em.fresh("first"), em.fresh("again"), em.fresh("other")
    em.put(f"br i1 {written(em, shadow, size)}, label %{other}, label %{first}, !prof !1")
    em.label(other)
    look(em, access)
    em.put(f"br label %{again}")
    em.label(first)
    word = em.new(f"load i{8 * size}, ptr {shadow}, align 1")
    allocated = repeated(ALLOCATED, size)
    goes_on(em, em.new(f"icmp eq i{8 * size} {em.new(f'and i{8 * size} {word}, {allocated}')}, {allocated}"), slow)
    em.put(f"store i{8 * size} {repeated(WRITTEN, size)}, ptr {shadow}, align 1")
    em.join(again)


def alignment(em: Emitter, address: Value, size: int) -> None:
    """A vector access (`.v2`, `.v4`) must be aligned to all of its `size` bytes (PTX ISA, "Vector data types")."""
    if address.vector:
        low = em.new(f"and <32 x i64> {address.text}, splat (i64 {size - 1})")
        odd = em.new(f"icmp ne <32 x i64> {low}, zeroinitializer")
        word = em.new(f"and i32 {em.new(f'bitcast <32 x i1> {odd} to i32')}, {em.active}")
        test = em.new(f"icmp ne i32 {word}, 0")
    else:
        low = em.new(f"and i64 {address.text}, {size - 1}")
        test = em.new(f"icmp ne i64 {low}, 0")
    good = em.seldom(test, "odd", "even")
    where = em.spill(address, 1)
    em.helper("misaligned", f"ptr %w, i32 {em.active}, ptr {where}, i32 {size}, {em.site()}")
    em.join(good)


def warp_barrier(em: Emitter, code: Instruction) -> None:
    """bar.warp.sync: in lockstep it does nothing, but its mask must be right."""
    members = em.read(code.operands[0], "b32")
    done = "" if members.vector or not em.shadowed else all_here(em, members.text)
    where = em.spill(members, 1)
    em.helper("warp_sync", f"ptr %w, i32 {em.active}, ptr {where}, {em.site()}")
    if done:
        em.join(done)


def all_here(em: Emitter, members: str) -> str:
    """Go on where the executor has to be asked about MEMBERS, which all lanes name: one is missing, or a lane is none
    of them, or races are looked for.  The label of what comes behind it."""
    present, exited = (em.new(f"load i32, ptr {warp_place(em, field)}") for field in ("mask", "exited"))
    present = em.new(f"and i32 {present}, {em.new(f'xor i32 {exited}, -1')}")
    away = em.new(f"and i32 {em.new(f'and i32 {members}, {present}')}, {em.new(f'xor i32 {em.active}, -1')}")
    others = em.new(f"and i32 {em.active}, {em.new(f'xor i32 {members}, -1')}")
    odd = em.new(f"icmp ne i32 {em.new(f'or i32 {away}, {others}')}, 0")
    if em.racing:
        races = em.new(f"icmp ne i64 {warp_word(em, 'race_mask', 'i64')}, 0")
        odd = em.new(f"or i1 {odd}, {races}")
    return em.seldom(odd, "ask", "synced")
