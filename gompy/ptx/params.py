"""`.param` variables of functions: where each lane's bytes are, loads, stores, and what a call copies (PTX ISA 5.1.6).

A variable with one value for all lanes is plain memory.  One with a value for each lane consists of words, 32 of each,
which the lanes share: word 0 of all lanes, word 1 of all lanes, …  The words' width depends on the variable's size
alone, so that caller and callee agree whatever types they access it by: nvcc and clang declare a `short` as
`.param .b32` and read it with `ld.param.u16`.
"""

from __future__ import annotations

from .access import address_of, lanes_load
from .emit import BITS, LLVM_TYPE, Emitter, ParamPlace, Value, bytes_of
from .syntax import Memory, Register, Symbol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def room(size: int, scale: int) -> int:
    """Bytes that a variable of `size` bytes takes, with one value or one for each lane."""
    if scale == 1:
        return max(size, 1)
    width = word_of(size)
    return -(-max(size, 1) // width) * width * scale


def word_of(size: int) -> int:
    """Bytes of a lane's words in a variable of `size` bytes."""
    return 4 if size <= 4 else 8


def pieces(offset: int, size: int, width: int = 8) -> Iterator[tuple[int, int]]:
    """A range of bytes as (offset, bytes) of powers of two, none of which goes beyond a word of `width` bytes."""
    end = offset + size
    while offset < end:
        room_left = min(width - offset % width, end - offset)
        piece = next(w for w in (8, 4, 2, 1) if w <= room_left)
        yield offset, piece
        offset += piece


class Access:
    """Loads and stores of the bytes of one variable."""

    def __init__(self, em: Emitter, place: ParamPlace) -> None:
        self.em = em
        self.place = place
        self.word = word_of(place.size)

    def pointer(self, offset: int) -> str:
        """The place of a byte (of lane 0's word that has it)."""
        if self.place.scale == 32:
            offset = offset // self.word * self.word * 32
        return self.em.new(f"getelementptr i8, ptr {self.place.pointer}, i64 {offset}")

    def load(self, offset: int, size: int) -> Value:
        """An integer of `size` bytes, which may lie across words."""
        if self.place.scale == 1:
            return Value(f"i{8 * size}", False, self.em.new(f"load i{8 * size}, ptr {self.pointer(offset)}, align 1"))
        if offset % self.word + size <= self.word:
            return self.load_piece(offset, size)
        whole = f"i{8 * size}"
        total = self.em.ints(whole, 0)
        for at, width in pieces(offset, size, self.word):
            part = self.em.fit(self.load_piece(at, width), whole)
            total = self.em.op("or", total, self.em.op("shl", part, self.em.ints(whole, 8 * (at - offset))))
        return total

    def load_piece(self, offset: int, size: int) -> Value:
        """An integer that lies in one word of each lane."""
        em, word = self.em, f"i{8 * self.word}"
        value = Value(word, True, em.new(f"load <32 x {word}>, ptr {self.pointer(offset)}, align {self.word}"))
        if shift := offset % self.word:
            value = em.op("lshr", value, em.ints(word, 8 * shift))
        return em.fit(value, f"i{8 * size}")

    def store(self, offset: int, value: Value, merge: bool) -> None:
        """Write an integer; `merge`: lanes that are not active keep what they have."""
        em, size = self.em, BITS[value.type] // 8
        if self.place.scale == 1:
            em.put(f"store {em.first_lane(value).typed}, ptr {self.pointer(offset)}, align 1")
            return
        if offset % self.word + size <= self.word:
            self.store_piece(offset, value, merge)
            return
        for at, width in pieces(offset, size, self.word):
            part = em.op("lshr", value, em.ints(value.type, 8 * (at - offset)))
            self.store_piece(at, em.fit(part, f"i{8 * width}"), merge)

    def store_piece(self, offset: int, value: Value, merge: bool) -> None:
        """Write an integer into one word of each lane."""
        em, word, bits = self.em, f"i{8 * self.word}", BITS[value.type]
        pointer = self.pointer(offset)
        new = em.splat(em.fit(value, word))
        if bits < 8 * self.word or merge:
            old = Value(word, True, em.new(f"load <32 x {word}>, ptr {pointer}, align {self.word}"))
            if bits < 8 * self.word:
                shift = 8 * (offset % self.word)
                hole = em.ints(word, ~((1 << bits) - 1 << shift))
                moved = em.op("shl", new, em.ints(word, shift)) if shift else new
                new = em.op("or", em.op("and", old, hole), moved)
            if merge:
                lanes = em.lanes(em.active)
                new = Value(word, True, em.new(f"select <32 x i1> {lanes}, {new.typed}, {old.typed}"))
        em.put(f"store {new.typed}, ptr {pointer}, align {self.word}")


def variable(em: Emitter, memory: Memory, kind: str, index: int) -> tuple[Access, int]:
    """The variable that an operand names, and the offset of element `index` in it."""
    if not isinstance(memory.base, Symbol) or memory.base.name not in em.params:
        em.fail("a '.param' address must name a parameter")
    place = em.params[memory.base.name]
    size = bytes_of(kind)
    offset = memory.offset + index * size
    if offset < 0 or offset + size > place.size:
        em.fail(f"access beyond the end of parameter '{memory.base.name}'")
    return Access(em, place), offset


def load_param(em: Emitter, memory: Memory, kind: str, index: int) -> Value:
    """ld.param: element `index` of a variable's value."""
    if isinstance(memory.base, Register):
        return em.fit(load_address(em, memory, kind, index), LLVM_TYPE[kind])
    access, offset = variable(em, memory, kind, index)
    return em.fit(access.load(offset, bytes_of(kind)), LLVM_TYPE[kind])


def load_address(em: Emitter, memory: Memory, kind: str, index: int) -> Value:
    """An integer at an address among a kernel's parameters: structures that are passed by value are read so.

    The addresses are places in the block of parameters.  What lies beyond it goes to the executor, which tells of it.
    """
    block = em.kernel_params
    if block is None:
        em.fail("the address of a function's '.param' variable is not implemented")
    size = bytes_of(kind)
    llvm, address = f"i{8 * size}", address_of(em, memory, index * size)
    room = Value("i64", False, str(max(block.size - size + 1, 0)))
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    if address.vector:
        inside = em.new(f"icmp ult {address.typed}, {em.splat(room).text}")
        outside = em.new(f"xor i32 {em.new(f'bitcast <32 x i1> {inside} to i32')}, -1")
        outside = em.new(f"and i32 {outside}, {em.active}")
        test = em.new(f"icmp eq i32 {outside}, 0")
    else:
        test = em.new(f"icmp ult {address.typed}, {room.text}")
    em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    em.label(fast)
    if address.vector:
        quick = "poison"
        for lane in range(32):  # inactive ones may have any address
            known = em.new(f"extractelement <32 x i1> {inside}, i32 {lane}")
            at = em.new(f"select i1 {known}, i64 {em.new(f'extractelement {address.typed}, i32 {lane}')}, i64 0")
            place = em.new(f"getelementptr i8, ptr {block.pointer}, i64 {at}")
            one = em.new(f"load {llvm}, ptr {place}, align 1")
            quick = em.new(f"insertelement <32 x {llvm}> {quick}, {llvm} {one}, i32 {lane}")
    else:
        place = em.new(f"getelementptr i8, ptr {block.pointer}, i64 {address.text}")
        quick = em.new(f"load {llvm}, ptr {place}, align 1")
    em.put(f"br label %{done}")
    em.label(slow)
    if address.vector:
        active, em.active = em.active, outside  # those are told of
        other = lanes_load(em, address, llvm, size)
        em.active = active
    else:
        raw = em.slow("i64", "load_uniform", ("i64", address.text), ("i32", str(size)))
        other = em.fit(Value("i64", False, raw), llvm)
    em.join(done)
    text = em.new(f"phi {other.full} [ {quick}, %{fast} ], [ {other.text}, %{slow} ]")
    return Value(llvm, address.vector, text)


def store_param(em: Emitter, memory: Memory, kind: str, index: int, value: Value) -> None:
    """st.param.  Lanes write a function's results in different blocks: what the others wrote stays."""
    access, offset = variable(em, memory, kind, index)
    merge = em.guarded or (isinstance(memory.base, Symbol) and memory.base.name in em.merge_params)
    access.store(offset, em.fit(value, f"i{8 * bytes_of(kind)}"), merge)


def copy(em: Emitter, source: ParamPlace, target: ParamPlace, merge: bool) -> None:
    """A whole variable's value to another of its size, for a call."""
    if source.scale == target.scale and not merge and source.size > 8:
        size = room(source.size, source.scale)
        em.put(f"call void @llvm.memcpy.p0.p0.i64(ptr {target.pointer}, ptr {source.pointer}, i64 {size}, i1 false)")
        return
    reading, writing = Access(em, source), Access(em, target)
    if source.scale == target.scale == 32:  # whole words, the bytes behind the value's end too
        for at in range(0, source.size, reading.word):
            writing.store(at, reading.load(at, reading.word), merge)
        return
    for at, width in pieces(0, source.size):
        writing.store(at, reading.load(at, width), merge)
