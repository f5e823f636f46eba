"""Loads and stores with an address for each lane, as LLVM IR.

Three ways are tried inline, chosen by what strides.py guesses and tested where the code runs: 32 lanes that follow each
other; two halves of 16 that do (rows of blocks that are 16 wide); two halves that read one address each.  All else is
done by the functions of slow.py.  The test is of the base register alone, so that one serves all accesses by it.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import gathers, indices
from .access import in_memory, lanes_load, lanes_store, shared_memory
from .bases import Way, firsts_of, known, matching, numbers, shuffled
from .emit import BITS, LONGEST, Emitter, Value
from .syntax import Operand, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from .records import dataclass

MASKABLE = 4
"""Bytes of the narrowest values that LLVM has masked accesses of on every processor."""
WORD = 4
"""Bytes from one lane to the next where each reads a part of its word: compilers make `a[i] & 255` a load of a byte."""


FURTHEST = 8192
"""Bytes from one lane to the next, at most, where lanes read columns of an array in shared memory."""


def way_of(em: Emitter, operand: Operand | None, unit: int, writes: bool, shared: bool = False) -> Way | None:
    """The way that is tried for an access by a base register; `unit`: the bytes that a lane accesses; `shared`: of one
    element of shared memory."""
    if unit > LONGEST // 32:
        return None
    stride = em.strides().of(operand) if isinstance(operand, Register) else None
    if stride is None:
        return Way(1, unit)
    if em.a.rows:
        if stride == WORD > unit and not writes:
            return Way(1, WORD)
        if shared and MASKABLE <= unit < abs(stride) <= FURTHEST:
            return Way(1, stride)
        return Way(1, stride) if stride in (0, unit) else None
    if stride in (0, unit):
        return Way(2, stride)
    return None


def is_partial(em: Emitter) -> bool:
    """Whether some lanes are likely to be off."""
    return em.guarded or em.block in em.a.divergent


@dataclass(slots=True)
class Access:
    """An access: `address` + `offset` of each lane, `count` elements of a type one after the other."""

    em: Emitter
    address: Value
    offset: int
    llvm: str
    size: int
    count: int
    space: str
    way: Way
    register: Register | None

    def begin(self, masked: bool, fast: str, slow: str) -> list[str]:
        """Test, branch to `fast` or `slow`, and begin `fast`: the pointers to the pieces.

        `masked`: lanes may be off; what is there for them is not looked at.
        """
        em = self.em
        word, firsts = self.lanes_there()
        if masked:
            word = em.new(f"or i32 {word}, {em.new(f'xor i32 {em.active}, -1')}")
        else:
            word = em.new(f"and i32 {word}, {em.active}")
        test = em.new(f"icmp eq i32 {word}, -1")
        places = []
        for first in firsts:
            if self.offset:
                first = em.new(f"add i64 {first}, {self.offset & 0xFFFFFFFFFFFFFFFF}")
            if self.strided:
                inside, place = self.column(first)
            elif self.space == "shared":
                long = (self.way.lanes - 1) * self.way.step + max(self.size * self.count, self.way.step)
                inside, place = shared_memory(em, first, long)
            else:
                inside, place = in_memory(em, first), ""
            test = em.new(f"and i1 {test}, {inside}")
            places.append(place or first)
        em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
        em.label(fast)
        if self.space == "shared":
            return places
        return [em.new(f"inttoptr i64 {place} to ptr") for place in places]

    def column(self, first: str) -> tuple[str, str]:
        """Whether the active lanes' elements are in shared memory (i1), and the host pointer to that of lane 0: lanes
        at the ends that are off may be elsewhere."""
        em, size = self.em, self.size
        low = em.new(f"call i32 @llvm.cttz.i32(i32 {em.active}, i1 false)")
        high = em.new(f"sub i32 31, {em.new(f'call i32 @llvm.ctlz.i32(i32 {em.active}, i1 false)')}")
        ends = []
        for lane in (low, high):
            distance = em.new(f"mul i64 {em.new(f'sext i32 {lane} to i64')}, {self.way.step}")
            ends.append(shared_memory(em, em.new(f"add i64 {first}, {distance}"), size)[0])
        offset = em.new(f"sub i64 {first}, {abi.SHARED_BASE}")
        return em.new(f"and i1 {ends[0]}, {ends[1]}"), em.new(f"getelementptr i8, ptr %shared, i64 {offset}")

    def elements(self, place: str) -> str:
        """The elements of such a column, as arguments of LLVM's gather and scatter."""
        steps = numbers([lane * self.way.step for lane in range(32)], "i64")
        column = self.em.new(f"getelementptr i8, ptr {place}, <32 x i64> {steps}")
        return f"<32 x ptr> {column}, i32 {self.size}, <32 x i1> {self.em.lanes(self.em.active)}"

    @property
    def strided(self) -> bool:
        """Whether there are other elements between those of neighbouring lanes."""
        return self.space == "shared" and abs(self.way.step) > self.size * self.count and not self.sparse

    def lanes_there(self) -> tuple[str, list[str]]:
        """The word of lanes whose addresses are as the way has them, and the first one of each piece."""
        em, way = self.em, self.way
        if em.fast and not em.shadowed and self.register is not None:
            return known(em, self.register, way)
        return matching(em, self.address, way), firsts_of(em, self.address, way)

    def masks(self) -> list[str]:
        """The active lanes of each piece, as vectors of bits."""
        em = self.em
        lanes = em.lanes(em.active)
        if self.way.pieces == 1:
            return [lanes]
        n = self.way.lanes
        return [shuffled(em, "<32 x i1>", lanes, "poison", [*range(i * n, i * n + n)]) for i in range(self.way.pieces)]

    def part(self, text: str) -> str:
        """The type of what a piece reads or writes."""
        return f"<{self.way.lanes * self.count} x {text}>"

    def intrinsic(self) -> str:
        """How LLVM writes a piece's type in names of intrinsics."""
        kind = {"float": "f32", "double": "f64"}.get(self.llvm, self.llvm)
        return f"v{self.way.lanes * self.count}{kind}"

    @property
    def sparse(self) -> bool:
        """Whether the lanes read parts of words that follow each other."""
        return self.way.step == WORD > self.size * self.count

    def words(self, place: str, masks: list[str]) -> list[str]:
        """Those parts: of the words from there on, the low bits.

        What is read too much is at most three bytes, and within the memory (emit.LONGEST).
        """
        em = self.em
        if masks:
            call = f"call <32 x i32> @llvm.masked.load.v32i32.p0(ptr {place}, i32 {self.size}, "
            whole = em.new(f"{call}<32 x i1> {masks[0]}, <32 x i32> poison)")
        else:
            whole = em.new(f"load <32 x i32>, ptr {place}, align {self.size}")
        parts = []
        for index in range(self.count):
            part = whole if index == 0 else em.new(f"lshr <32 x i32> {whole}, splat (i32 {8 * self.size * index})")
            parts.append(em.new(f"trunc <32 x i32> {part} to <32 x {self.llvm}>"))
        return parts

    def read(self, places: list[str], masks: list[str]) -> list[str]:
        """The elements, all that are active by `masks`, or all lanes."""
        em, n, part = self.em, self.way.lanes, self.part(self.llvm)
        if self.sparse:
            return self.words(places[0], masks)
        if self.strided:
            call = f"call {part} @llvm.masked.gather.{self.intrinsic()}.v32p0("
            return [em.new(f"{call}{self.elements(places[0])}, {part} poison)")]
        if self.way.step == 0:
            return [self.broadcast(places, index * self.size) for index in range(self.count)]
        found = []
        for index, place in enumerate(places):
            if masks:
                call = f"call {part} @llvm.masked.load.{self.intrinsic()}.p0(ptr {place}, i32 {self.size}, "
                found.append(em.new(f"{call}<{n} x i1> {masks[index]}, {part} poison)"))
            else:
                found.append(em.new(f"load {part}, ptr {place}, align {self.size}"))
        whole = found[0]
        if len(found) == 2:
            whole = shuffled(em, part, found[0], found[1], [*range(32 * self.count)])
        if self.count == 1:
            return [whole]
        kind = f"<{32 * self.count} x {self.llvm}>"
        return [
            shuffled(em, kind, whole, "poison", [i * self.count + index for i in range(32)])
            for index in range(self.count)
        ]

    def broadcast(self, places: list[str], at: int) -> str:
        """One value for each piece."""
        em, kind = self.em, f"<32 x {self.llvm}>"
        whole = "poison"
        for index, place in enumerate(places):
            spot = em.new(f"getelementptr i8, ptr {place}, i64 {at}")
            value = em.new(f"load {self.llvm}, ptr {spot}, align {self.size}")
            whole = em.new(f"insertelement {kind} {whole}, {self.llvm} {value}, i32 {index * self.way.lanes}")
        return shuffled(em, kind, whole, "poison", [i // self.way.lanes * self.way.lanes for i in range(32)])

    def write(self, places: list[str], values: list[str], masks: list[str]) -> None:
        """Write the elements of all lanes, or those that `masks` has."""
        if self.way.step == 0:
            self.write_one(places, values)
            return
        em, n, part = self.em, self.way.lanes, self.part(self.llvm)
        if self.strided:
            elements = self.elements(places[0])
            em.put(f"call void @llvm.masked.scatter.{self.intrinsic()}.v32p0({part} {values[0]}, {elements})")
            return
        whole, kind = values[0], f"<32 x {self.llvm}>"
        if self.count == 2:
            whole = shuffled(em, kind, values[0], values[1], [i // 2 + i % 2 * 32 for i in range(64)])
        elif self.count == 4:
            one, two = (shuffled(em, kind, values[i], values[i + 1], [*range(64)]) for i in (0, 2))
            pick = [i // 4 + i % 4 * 32 for i in range(128)]
            whole = shuffled(em, f"<64 x {self.llvm}>", one, two, pick)
        kind = f"<{32 * self.count} x {self.llvm}>"
        for index, place in enumerate(places):
            length = n * self.count
            piece = whole
            if len(places) == 2:
                piece = shuffled(em, kind, whole, "poison", [*range(index * length, index * length + length)])
            if not masks:
                em.put(f"store {part} {piece}, ptr {place}, align {self.size}")
            elif self.space == "shared":  # nobody else writes: what the CPU stores whole it can load again at once
                old = em.new(f"load {part}, ptr {place}, align {self.size}")
                new = em.new(f"select <{n} x i1> {masks[index]}, {part} {piece}, {part} {old}")
                em.put(f"store {part} {new}, ptr {place}, align {self.size}")
            else:
                call = f"call void @llvm.masked.store.{self.intrinsic()}.p0({part} {piece}, ptr {place}, "
                em.put(f"{call}i32 {self.size}, <{n} x i1> {masks[index]})")

    def write_one(self, places: list[str], values: list[str]) -> None:
        """Write the elements of the last active lane of each piece, whose lanes have one address."""
        em, n = self.em, self.way.lanes
        for index, place in enumerate(places):
            here = em.new(f"and i32 {em.active}, {((1 << n) - 1) << index * n & 0xFFFFFFFF}")
            some, none = em.fresh("some"), em.fresh("none")
            em.put(f"br i1 {em.new(f'icmp ne i32 {here}, 0')}, label %{some}, label %{none}")
            em.label(some)
            before = em.new(f"call i32 @llvm.ctlz.i32(i32 {here}, i1 true)")
            lane = em.new(f"xor i32 {before}, 31")
            for at, value in enumerate(values):
                one = em.new(f"extractelement <32 x {self.llvm}> {value}, i32 {lane}")
                spot = em.new(f"getelementptr i8, ptr {place}, i64 {at * self.size}")
                em.put(f"store {self.llvm} {one}, ptr {spot}, align {self.size}")
            em.put(f"br label %{none}")
            em.label(none)

    def slowly(self, index: int) -> Value:
        """The addresses of an element, for slow.py."""
        again = self.em.from_row(self.register)
        address = self.address if again is None else self.em.fit(again, "i64")
        return plus(self.em, address, self.offset + index * self.size)


def plus(em: Emitter, address: Value, offset: int) -> Value:
    """Addresses further on."""
    return em.op("add", address, em.ints("i64", offset)) if offset else address


def load(
    em: Emitter, address: Value, offset: int, kind: tuple[str, int, int], space: str, operand: Operand | None
) -> list[Value]:
    """Load `kind` (LLVM type, its bytes, how many) from each lane's address; `operand`: the base register."""
    llvm, size, count = kind
    column = space == "shared" and count == 1
    way = way_of(em, operand, size * count, False, column) if em.fast else Way(1, size * count)
    if gathers.direct(em, operand, size, count, space) or (way is None and gathers.apart(em, size, count, space)):
        number = indices.indexed(em, operand, offset, size) if count == 1 and space in gathers.DEVICE else None
        return gathered(em, plus(em, address, offset), kind, space, number, operand, offset)[0]
    if way is None or (way.step == 0 and count > 1) or (count > 1 and not em.fast):
        return [lanes_load(em, plus(em, address, offset + i * size), llvm, size) for i in range(count)]
    register = operand if isinstance(operand, Register) else None
    access = Access(em, address, offset, llvm, size, count, space if em.fast else "", way, register)
    shared, fast, slow, done = space == "shared", em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    free = shared or way.step == 0  # lanes that are off may read as well: it is all within the memory
    masked = em.fast and is_partial(em) and count == 1 and (free or size >= MASKABLE or access.sparse)
    places = access.begin(masked or free, fast, slow)
    arms = []
    if masked and not free:
        plain, some = em.fresh("plain"), em.fresh("some")
        every = em.new(f"icmp eq i32 {em.active}, -1")
        em.put(f"br i1 {every}, label %{plain}, label %{some}")
        em.label(some)
        arms.append((some, access.read(places, access.masks())))
        em.put(f"br label %{done}")
        em.label(plain)
        fast = plain
    arms.append((fast, access.read(places, [])))
    em.put(f"br label %{done}")
    em.label(slow)
    if gathers.second(em, operand, size, count, space):
        values, label = gathered(em, access.slowly(0), kind, space)
        arms.append((label, [value.text for value in values]))
    else:
        arms.append((slow, [lanes_load(em, access.slowly(i), llvm, size).text for i in range(count)]))
    em.put(f"br label %{done}")
    em.label(done)
    found = []
    for index in range(count):
        ways = ", ".join(f"[ {values[index]}, %{label} ]" for label, values in arms)
        found.append(Value(llvm, True, em.new(f"phi <32 x {llvm}> {ways}")))
    return found


def store(em: Emitter, address: Value, offset: int, values: list[Value], space: str, operand: Operand | None) -> None:
    """Store to each lane's address; of lanes with the same address one wins."""
    llvm, count = values[0].type, len(values)
    size = max(BITS[llvm] // 8, 1)
    column = space == "shared" and count == 1
    way = way_of(em, operand, size * count, True, column) if em.fast else Way(1, size * count)
    if gathers.direct(em, operand, size, count, space) or (way is None and gathers.apart(em, size, count, space)):
        number = indices.indexed(em, operand, offset, size) if count == 1 and space in gathers.DEVICE else None
        scattered(em, plus(em, address, offset), values, size, space, number, operand, offset)
        return
    if way is None or (count > 1 and not em.fast):
        for index, value in enumerate(values):
            lanes_store(em, plus(em, address, offset + index * size), value, size)
        return
    register = operand if isinstance(operand, Register) else None
    access = Access(em, address, offset, llvm, size, count, space if em.fast else "", way, register)
    shared, fast, slow, done = space == "shared", em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    masked = em.fast and is_partial(em) and count == 1 and (shared or size >= MASKABLE) and way.step != 0
    masked = masked and not access.strided
    texts = [em.splat(value).text for value in values]
    places = access.begin(masked or access.strided or way.step == 0, fast, slow)
    if masked:
        plain, some = em.fresh("plain"), em.fresh("some")
        every = em.new(f"icmp eq i32 {em.active}, -1")
        em.put(f"br i1 {every}, label %{plain}, label %{some}")
        em.label(some)
        access.write(places, texts, access.masks())
        em.put(f"br label %{done}")
        em.label(plain)
    access.write(places, texts, [])
    em.put(f"br label %{done}")
    em.label(slow)
    if gathers.second(em, operand, size, count, space):
        scattered(em, access.slowly(0), values, size, space)
    else:
        for index, value in enumerate(values):
            lanes_store(em, access.slowly(index), value, size)
    em.put(f"br label %{done}")
    em.label(done)


def gathered(
    em: Emitter,
    address: Value,
    kind: tuple[str, int, int],
    space: str,
    found: indices.Indexed | None = None,
    operand: Operand | None = None,
    offset: int = 0,
) -> tuple[list[Value], str]:
    """A gather, or what the executor loads; the label that ends it.  `found`: by numbers of elements."""
    llvm, size, count = kind
    slow, done = em.fresh("slow"), em.fresh("done")
    if found is not None:
        inside, one = indices.load(em, found, llvm, size, slow)
        quick = [one]
    else:
        known = gathers.known(em, operand, offset, size * count, space)
        inside, quick = gathers.load(em, address, kind, space, slow, known)
    em.put(f"br label %{done}")
    em.label(slow)
    other = [lanes_load(em, plus(em, address, i * size), llvm, size).text for i in range(count)]
    em.put(f"br label %{done}")
    em.label(done)
    texts = [
        em.new(f"phi <32 x {llvm}> [ {one}, %{inside} ], [ {two}, %{slow} ]")
        for one, two in zip(quick, other, strict=True)
    ]
    return [Value(llvm, True, text) for text in texts], done


def scattered(
    em: Emitter,
    address: Value,
    values: list[Value],
    size: int,
    space: str,
    found: indices.Indexed | None = None,
    operand: Operand | None = None,
    offset: int = 0,
) -> None:
    """A scatter, or what the executor stores.  `found`: by numbers of elements."""
    slow, done = em.fresh("slow"), em.fresh("done")
    values = [em.splat(value) for value in values]
    if found is not None:
        indices.store(em, found, values[0], size, slow)
    else:
        known = gathers.known(em, operand, offset, size * len(values), space)
        gathers.store(em, address, values, size, space, slow, known)
    em.put(f"br label %{done}")
    em.label(slow)
    for index, value in enumerate(values):
        lanes_store(em, plus(em, address, index * size), value, size)
    em.put(f"br label %{done}")
    em.label(done)


# --- local memory at one address: a word of each lane's own ----------------------------------------------------------


def begin_local(em: Emitter, address: str, size: int, fast: str, slow: str) -> tuple[str, str]:
    """Test a scalar address of local memory, begin `fast`: the row of 32 words of 8 bytes, and the bit within them."""
    offset = em.new(f"sub i64 {address}, {abi.LOCAL_BASE}")
    room = em.once(
        "%local_room",
        f"%local_room1 = getelementptr i8, ptr %w, i64 {abi.WARP['local_size']}",
        "%local_room = load i64, ptr %local_room1, !invariant.load !0",
        f"%local1 = getelementptr i8, ptr %w, i64 {abi.WARP['local']}",
        "%local = load ptr, ptr %local1, !invariant.load !0",
    )
    inside = em.new(f"icmp ult i64 {offset}, {room}")
    low = em.new(f"and i64 {offset}, {size - 1}")
    test = em.new(f"and i1 {inside}, {em.new(f'icmp eq i64 {low}, 0')}")
    em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
    em.label(fast)
    row = em.new(f"shl i64 {em.new(f'and i64 {offset}, -8')}, 5")
    place = em.new(f"getelementptr i8, ptr %local, i64 {row}")
    return place, em.new(f"shl i64 {em.new(f'and i64 {offset}, 7')}, 3")


def local_load(em: Emitter, address: Value, llvm: str, size: int) -> Value:
    """A load from an address of local memory that is the same in all lanes: each has its own word there."""
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    place, shift = begin_local(em, address.text, size, fast, slow)
    row = Value("i64", True, em.new(f"load <32 x i64>, ptr {place}, align 8"))
    if size < 8:
        row = em.op("lshr", row, Value("i64", False, shift))
    quick = em.fit(row, llvm)
    em.put(f"br label %{done}")
    em.label(slow)
    other = lanes_load(em, address, llvm, size)
    em.put(f"br label %{done}")
    em.label(done)
    return Value(llvm, True, em.new(f"phi <32 x {llvm}> [ {quick.text}, %{fast} ], [ {other.text}, %{slow} ]"))


def local_store(em: Emitter, address: Value, value: Value) -> None:
    """A store to such an address."""
    size = max(BITS[value.type] // 8, 1)
    fast, slow, done = em.fresh("fast"), em.fresh("slow"), em.fresh("done")
    word = em.splat(em.fit(value, "i64"))
    place, shift = begin_local(em, address.text, size, fast, slow)
    old = Value("i64", True, em.new(f"load <32 x i64>, ptr {place}, align 8"))
    new = word
    if size < 8:
        hole = em.new(f"shl i64 {(1 << 8 * size) - 1}, {shift}")
        rest = Value("i64", False, em.new(f"xor i64 {hole}, -1"))
        new = em.op("or", em.op("and", old, rest), em.op("shl", word, Value("i64", False, shift)))
    kept = em.new(f"select <32 x i1> {em.lanes(em.active)}, {new.typed}, {old.typed}")
    em.put(f"store <32 x i64> {kept}, ptr {place}, align 8")
    em.put(f"br label %{done}")
    em.label(slow)
    lanes_store(em, address, value, size)
    em.put(f"br label %{done}")
    em.label(done)
