"""Loads and stores with an address for each lane, as LLVM IR.

Three ways are tried inline, chosen by what strides.py guesses and tested where the code runs: 32 lanes that follow each
other; two halves of 16 that do (rows of blocks that are 16 wide); two halves that read one address each.  All else is
done by the functions of slow.py.  The test is of the base register alone, so that one serves all accesses by it.
"""

from __future__ import annotations

from . import ahead, bounds, columns, gathers, indices, near
from .access import lanes_load, lanes_store, shared_memory
from .again import again
from .bases import Way, firsts_of, known, matching, shuffled
from .emit import BITS, LONGEST, Emitter, Value
from .syntax import Instruction, Operand, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

MASKABLE = 4
"""Bytes of the narrowest values that LLVM has masked accesses of on every processor."""
WORD = 4
"""Bytes from one lane to the next where each reads a part of its word: compilers make `a[i] & 255` a load of a byte."""


LINE = 64
"""Bytes of a cache line."""
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


def in_loop(em: Emitter) -> bool:
    """Whether the block is in a loop that diverged lanes are in, and so without barriers."""
    loops = em.a.loops.items()
    return any(head <= em.block <= end and head in em.a.divergent for head, end in loops)


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
    behind: str = ""  # the label of the code that follows `read`, if that branches
    word: str = ""  # the lanes that are as the way has them, and whether the places are in memory (i1)
    inside: str = ""
    firsts: tuple[str, ...] = ()

    def begin(self, masked: bool, fast: str, slow: str) -> list[str]:
        """Test, branch to `fast` or `slow`, and begin `fast`: the pointers to the pieces.

        `masked`: lanes may be off; what is there for them is not looked at.
        """
        em = self.em
        self.word, firsts = self.lanes_there()
        mostly = em.mostly.get(self.word) if masked else None
        test = ""
        if mostly:
            self.mostly_right(mostly, slow)
        elif masked:
            test = self.all_right()
        else:
            test = em.new(f"icmp eq i32 {em.new(f'and i32 {self.word}, {em.active}')}, -1")
        places = []
        for first in firsts:
            if self.offset:
                first = em.new(f"add i64 {first}, {self.offset & 0xFFFFFFFFFFFFFFFF}")
            if self.strided:
                inside, place = columns.begin(em, first, self.way.step, self.size)
            elif self.space == "shared":
                long = (self.way.lanes - 1) * self.way.step + max(self.size * self.count, self.way.step)
                inside, place = shared_memory(em, first, long)
            else:
                alone = mostly or self.way != Way(1, self.size) or self.count > 1
                inside, place = near.inside(em, None if alone else self.register, first, self.offset, self.size), ""
            self.inside = em.new(f"and i1 {self.inside}, {inside}") if self.inside else inside
            test = em.new(f"and i1 {test}, {inside}") if test else inside
            places.append(place or first)
        self.firsts = tuple(places)
        em.put(f"br i1 {test}, label %{fast}, label %{slow}, !prof !1")
        em.label(fast)
        return self.pointers()

    def mostly_right(self, mostly: tuple[str, str], slow: str) -> None:
        """Branch to `slow` unless all active lanes lie right; that all 32 do, as in all warps but the first, is looked
        at first."""
        em, near, first = self.em, self.em.fresh("near"), self.em.fresh("first")
        every, self.word = mostly
        em.put(f"br i1 {every}, label %{near}, label %{first}")
        em.label(first)
        em.put(f"br i1 {self.all_right()}, label %{near}, label %{slow}, !prof !1")
        em.label(near)

    def all_right(self) -> str:
        """Whether all active lanes are as the way has them (i1)."""
        em = self.em
        others = em.new(f"and i32 {em.active}, {em.new(f'xor i32 {self.word}, -1')}")
        return em.new(f"icmp eq i32 {others}, 0")

    def of_some(self) -> tuple[str, str, list[str]]:
        """What `begin` sends to `slow` since not all lanes are there, as in all of a block of 16 or 100 threads: begin
        the masked way.  Its label, that for all else, and the pointers to the pieces.
        """
        em, some, slow = self.em, self.em.fresh("some"), self.em.fresh("slow")
        test = em.new(f"and i1 {self.all_right()}, {self.inside}")
        em.put(f"br i1 {test}, label %{some}, label %{slow}")
        em.label(some)
        return some, slow, self.pointers()

    def pointers(self) -> list[str]:
        """The pointers to the pieces."""
        em, places = self.em, list(self.firsts)
        if self.space == "shared":
            return places
        return [em.new(f"inttoptr i64 {place} to ptr") for place in places]

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
        lanes = em.apart(em.active)
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
        """Those parts: of the words that they are in, some bits.

        Words of global memory begin before a part that ends its word: what is behind a block may not be readable.
        """
        em, bits = self.em, ""
        if self.space != "shared":
            before = em.new(f"and i64 {em.new(f'ptrtoint ptr {place} to i64')}, {WORD - 1}")
            before = em.new(f"call i64 @llvm.umin.i64(i64 {before}, i64 {WORD - self.size * self.count})")
            place = em.new(f"getelementptr i8, ptr {place}, i64 {em.new(f'sub i64 0, {before}')}")
            amount = em.new(f"trunc i64 {em.new(f'shl i64 {before}, 3')} to i32")
            bits = em.splat(Value("i32", False, amount)).text
        if masks:
            call = f"call <32 x i32> @llvm.masked.load.v32i32.p0(ptr {place}, i32 1, "
            whole = em.new(f"{call}<32 x i1> {masks[0]}, <32 x i32> poison)")
        else:
            whole = em.new(f"load <32 x i32>, ptr {place}, align 1")
        if bits:
            whole = em.new(f"lshr <32 x i32> {whole}, {bits}")
        parts = []
        for index in range(self.count):
            part = whole if index == 0 else em.new(f"lshr <32 x i32> {whole}, splat (i32 {8 * self.size * index})")
            parts.append(em.new(f"trunc <32 x i32> {part} to <32 x {self.llvm}>"))
        return parts

    def read(self, places: list[str], masks: list[str]) -> list[str]:
        """The elements, all that are active by `masks`, or all lanes."""
        em = self.em
        if self.sparse:
            return self.words(places[0], masks)
        if self.strided:
            column = columns.Column(em, places[0], self.way.step, self.llvm, self.size)
            whole, self.behind = column.gather(is_partial(em))
            return [whole]
        if self.way.step == 0:
            return [self.broadcast(places, index * self.size) for index in range(self.count)]
        return self.apart(self.whole(places, masks))

    def whole(self, places: list[str], masks: list[str]) -> str:
        """The elements of all lanes one behind the other, as they are in memory."""
        em, n, part = self.em, self.way.lanes, self.part(self.llvm)
        found = []
        for index, place in enumerate(places):
            if masks:
                call = f"call {part} @llvm.masked.load.{self.intrinsic()}.p0(ptr {place}, i32 {self.size}, "
                found.append(em.new(f"{call}<{n} x i1> {masks[index]}, {part} poison)"))
            else:
                found.append(self.in_order(place))
        if len(found) == 1:
            return found[0]
        return shuffled(em, part, found[0], found[1], [*range(32 * self.count)])

    def in_order(self, place: str) -> str:
        """A piece that is all there, a cache line after the other: LLVM would begin in the middle of a long one, which
        the processor does not foretell (AMD's Zen 4 takes half as long again)."""
        em, count = self.em, self.way.lanes * self.count
        each = LINE // self.size
        if count <= each:
            return em.new(f"load {self.part(self.llvm)}, ptr {place}, align {self.size}")
        parts = []
        for first in range(0, count, each):
            at = em.new(f"getelementptr {self.llvm}, ptr {place}, i32 {first}") if first else place
            parts.append(em.new(f"load <{each} x {self.llvm}>, ptr {at}, align {self.size}"))
        while len(parts) > 1:
            kind, each = f"<{each} x {self.llvm}>", 2 * each
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [shuffled(em, kind, one, two, [*range(each)]) for one, two in pairs]
        return parts[0]

    def apart(self, whole: str) -> list[str]:
        """Elements that are one behind the other, as a vector of all lanes for each of the `count`."""
        if self.count == 1:
            return [whole]
        kind = f"<{32 * self.count} x {self.llvm}>"
        return [
            shuffled(self.em, kind, whole, "poison", [i * self.count + index for i in range(32)])
            for index in range(self.count)
        ]

    def together(self, values: list[str]) -> str:
        """What `apart` has taken apart."""
        em, kind = self.em, f"<32 x {self.llvm}>"
        if self.count == 1:
            return values[0]
        if self.count == 2:
            return shuffled(em, kind, values[0], values[1], [i // 2 + i % 2 * 32 for i in range(64)])
        one, two = (shuffled(em, kind, values[i], values[i + 1], [*range(64)]) for i in (0, 2))
        return shuffled(em, f"<64 x {self.llvm}>", one, two, [i // 4 + i % 4 * 32 for i in range(128)])

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
            column = columns.Column(em, places[0], self.way.step, self.llvm, self.size)
            column.scatter(values[0], is_partial(em))
            return
        whole = self.together(values)
        kind = f"<{32 * self.count} x {self.llvm}>"
        for index, place in enumerate(places):
            length = n * self.count
            piece = whole
            if len(places) == 2:
                piece = shuffled(em, kind, whole, "poison", [*range(index * length, index * length + length)])
            if not masks:
                em.put(f"store {part} {piece}, ptr {place}, align {self.size}")
            elif self.space == "shared":  # nobody else writes: what the CPU stores whole it can load again at once
                # LLVM makes a masked store of the three, which no load is served from: not where one comes at once.
                kept = " volatile" if in_loop(em) else ""
                old = em.new(f"load{kept} {part}, ptr {place}, align {self.size}")
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
            em.join(none)

    def slowly(self, index: int, seldom: bool = True) -> Value:
        """The addresses of an element, for slow.py; `seldom`: where code hardly comes to."""
        found = self.em.from_row(self.register) or (again(self.em, self.register) if seldom else None)
        address = self.address if found is None else self.em.fit(found, "i64")
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
    masked = masked and (free or size < MASKABLE or not bounds.most_have_all(em))
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
    if not shared and way.pieces == 1 and isinstance(em.code, Instruction) and ahead.pays(em, em.code):
        ahead.fetch(em, places[0], 32 * way.step)
    wide = count > 1 and not access.sparse  # LLVM finds sums of such vectors if all ways have them in one piece
    found = [access.whole(places, [])] if wide else access.read(places, [])
    arms.append((access.behind or fast, found))
    em.put(f"br label %{done}")
    em.label(slow)
    if em.fast and not masked and not free and count == 1 and size >= MASKABLE:
        some, slow, places = access.of_some()
        arms.append((some, access.read(places, access.masks())))
        em.put(f"br label %{done}")
        em.label(slow)
    if gathers.second(em, operand, size, count, space):
        values, label = gathered(em, access.slowly(0, False), kind, space)
        each = [value.text for value in values]
    else:
        label, each = slow, [lanes_load(em, access.slowly(i), llvm, size).text for i in range(count)]
    arms.append((label, [access.together(each)] if wide else each))
    em.join(done)
    if not wide:
        return joined(em, llvm, arms)
    ways = ", ".join(f"[ {one}, %{name} ]" for name, (one,) in arms)
    whole = em.new(f"phi <{32 * count} x {llvm}> {ways}")
    return [Value(llvm, True, part) for part in access.apart(whole)]


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
    masked = masked and not access.strided and (shared or not bounds.most_have_all(em))
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
    if em.fast and not masked and not access.strided and way.step != 0 and count == 1 and size >= MASKABLE:
        _, slow, places = access.of_some()
        access.write(places, texts, access.masks())
        em.put(f"br label %{done}")
        em.label(slow)
    if gathers.second(em, operand, size, count, space):
        scattered(em, access.slowly(0, False), values, size, space)
    else:
        for index, value in enumerate(values):
            lanes_store(em, access.slowly(index), value, size)
    em.join(done)


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
    arms = []
    if found is not None:
        label, one = indices.load(em, found, llvm, size, slow)
        arms.append((label, [one]))
    else:
        known = gathers.known(em, operand, offset, size * count, space)
        arms.append(gathers.load(em, address, kind, space, slow, known))
    em.put(f"br label %{done}")
    em.label(slow)
    arms.append((slow, [lanes_load(em, plus(em, address, i * size), llvm, size).text for i in range(count)]))
    em.join(done)
    return joined(em, llvm, arms), done


def joined(em: Emitter, llvm: str, arms: list[tuple[str, list[str]]]) -> list[Value]:
    """The elements that code loaded in one of some ways: the label of each, and what it has."""
    found = []
    for index in range(len(arms[0][1])):
        ways = ", ".join(f"[ {values[index]}, %{label} ]" for label, values in arms)
        found.append(Value(llvm, True, em.new(f"phi <32 x {llvm}> {ways}")))
    return found


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
    em.join(done)
