"""Columns of arrays in shared memory: accesses whose lanes are a constant apart, as LLVM IR.

The processor's gather and scatter take as long for one lane as for sixteen.  Where lanes are off, as in the branches of
a decomposition, each lane's load is cheaper than a gather, and a few lanes' stores than a scatter.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .access import shared_memory
from .bases import numbers, shuffled
from .emit import Emitter
from .gathers import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

HALF = 0xFFFF
"""The lower half of a warp's lanes."""
FEW = 12
"""Lanes whose stores, one after the other, take no longer than a scatter of sixteen."""


def begin(em: Emitter, first: str, step: int, size: int) -> tuple[str, str]:
    """Whether the active lanes' elements are in shared memory (i1), and the host pointer to that of lane 0: lanes at
    the ends that are off may be elsewhere.  `first`: lane 0's address; `step`: bytes from lane to lane."""
    low = em.new(f"call i32 @llvm.cttz.i32(i32 {em.active}, i1 false)")
    high = em.new(f"sub i32 31, {em.new(f'call i32 @llvm.ctlz.i32(i32 {em.active}, i1 false)')}")
    ends = []
    for lane in (low, high):
        distance = em.new(f"mul i64 {em.new(f'sext i32 {lane} to i64')}, {step}")
        ends.append(shared_memory(em, em.new(f"add i64 {first}, {distance}"), size)[0])
    offset = em.new(f"sub i64 {first}, {abi.SHARED_BASE}")
    return em.new(f"and i1 {ends[0]}, {ends[1]}"), em.new(f"getelementptr i8, ptr %shared, i64 {offset}")


@dataclass(slots=True)
class Column:
    """Such elements of a type, `place`: that of lane 0."""

    em: Emitter
    place: str
    step: int
    llvm: str
    size: int

    def row(self, lanes: int) -> str:
        """The type of so many lanes' elements."""
        return f"<{lanes} x {self.llvm}>"

    def elements(self, lanes: int) -> str:
        """The elements, as arguments of LLVM's gather and scatter."""
        em = self.em
        steps = numbers([lane * self.step for lane in range(lanes)], "i64")
        column = em.new(f"getelementptr i8, ptr {self.place}, <{lanes} x i64> {steps}")
        mask = em.lanes(em.active)
        if lanes != 32:
            mask = em.new(f"bitcast i16 {em.new(f'trunc i32 {em.active} to i16')} to <16 x i1>")
        return f"<{lanes} x ptr> {column}, i32 {self.size}, <{lanes} x i1> {mask}"

    def gathered(self, lanes: int) -> str:
        """The active lanes' elements, by the processor's gather."""
        called = f"call {self.row(lanes)} @llvm.masked.gather.{name_of(self.llvm, lanes)}.v{lanes}p0("
        return self.em.new(f"{called}{self.elements(lanes)}, {self.row(lanes)} poison)")

    def scattered(self, lanes: int, value: str) -> None:
        """Set them, by its scatter."""
        called = f"call void @llvm.masked.scatter.{name_of(self.llvm, lanes)}.v{lanes}p0("
        self.em.put(f"{called}{self.row(lanes)} {value}, {self.elements(lanes)})")

    def loaded(self, lanes: int) -> str:
        """The elements of all lanes, whether they are active or not, by a load each."""
        em, found = self.em, "poison"
        for lane in range(lanes):
            at = em.new(f"getelementptr i8, ptr {self.place}, i64 {lane * self.step}")
            one = em.new(f"load {self.llvm}, ptr {at}, align {self.size}")
            found = em.new(f"insertelement {self.row(lanes)} {found}, {self.llvm} {one}, i32 {lane}")
        return found

    def within(self, lanes: int) -> str:
        """Whether the elements of all lanes, active or not, are in shared memory (i1)."""
        em = self.em
        far = em.new(f"sub i64 {em.new(f'ptrtoint ptr {self.place} to i64')}, {em.new('ptrtoint ptr %shared to i64')}")
        first = em.new(f"add i64 {far}, {abi.SHARED_BASE}")
        last = em.new(f"add i64 {first}, {(lanes - 1) * self.step}")
        ends = [shared_memory(em, address, self.size)[0] for address in (first, last)]
        return em.new(f"and i1 {ends[0]}, {ends[1]}")

    def gather(self, partial: bool) -> tuple[str, str]:
        """The active lanes' elements, and the label of the code that has them ("" where it has not branched).
        `partial`: some lanes are likely to be off."""
        em = self.em
        if not partial:
            return self.gathered(32), ""
        half, whole, every, some, done = (em.fresh(name) for name in ("half", "whole", "every", "some", "done"))
        small = em.new(f"icmp ule i32 {em.active}, {HALF}")
        em.put(f"br i1 {em.new(f'and i1 {small}, {self.within(16)}')}, label %{half}, label %{whole}")
        em.label(half)
        arms = [(half, shuffled(em, self.row(16), self.loaded(16), "poison", [*range(16)] * 2))]
        em.put(f"br label %{done}")
        em.label(whole)
        em.put(f"br i1 {self.within(32)}, label %{every}, label %{some}")
        em.label(every)
        arms.append((every, self.loaded(32)))
        em.put(f"br label %{done}")
        em.label(some)
        arms.append((some, self.gathered(32)))
        em.join(done)
        return em.new(f"phi {self.row(32)} " + ", ".join(f"[ {value}, %{label} ]" for label, value in arms)), done

    def scatter(self, value: str, partial: bool) -> None:
        """Set the active lanes' elements."""
        em = self.em
        if not partial:
            self.scattered(32, value)
            return
        few, many, half, whole, done = (em.fresh(name) for name in ("few", "many", "half", "whole", "done"))
        others = em.new(f"sub i32 {em.new(f'call i32 @llvm.ctpop.i32(i32 {em.active})')}, 1")  # none: very many
        em.put(f"br i1 {em.new(f'icmp ult i32 {others}, {FEW}')}, label %{few}, label %{many}")
        em.label(few)
        self.one_by_one(value, few, done)
        em.label(many)
        small = em.new(f"icmp ule i32 {em.active}, {HALF}")
        em.put(f"br i1 {small}, label %{half}, label %{whole}")
        em.label(half)
        self.scattered(16, shuffled(em, self.row(32), value, "poison", [*range(16)]))
        em.put(f"br label %{done}")
        em.label(whole)
        self.scattered(32, value)
        em.join(done)

    def one_by_one(self, value: str, before: str, done: str) -> None:
        """Set them, a lane after the other; one is active at least.  `before`: the label of the code so far, `done`:
        of what follows."""
        em = self.em
        row, loop, rest = em.scratch(0), em.fresh("lanes"), f"%{em.fresh('rest')}"
        em.put(f"store {self.row(32)} {value}, ptr {row}, align 64")
        em.join(loop)
        left = em.new(f"phi i32 [ {em.active}, %{before} ], [ {rest}, %{loop} ]")
        lane = em.new(f"call i32 @llvm.cttz.i32(i32 {left}, i1 true)")
        one = em.new(f"load {self.llvm}, ptr {em.new(f'getelementptr {self.llvm}, ptr {row}, i32 {lane}')}")
        at = em.new(f"getelementptr i8, ptr {self.place}, i32 {em.new(f'mul i32 {lane}, {self.step}')}")
        em.put(f"store {self.llvm} {one}, ptr {at}, align {self.size}")
        em.put(f"{rest} = and i32 {left}, {em.new(f'sub i32 {left}, 1')}")
        em.put(f"br i1 {em.new(f'icmp ne i32 {rest}, 0')}, label %{loop}, label %{done}")
