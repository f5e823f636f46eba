"""What is known of address registers where they are set, as LLVM IR: which lanes' addresses lie as an access has them.

It is asked for where the register is used, in blocks that LLVM would compute it in anew; so who asks gets a word that
is made behind each definition.  The places for that are empty lines, filled when the function is complete.
"""

from __future__ import annotations

from .emit import Emitter, Value
from .syntax import Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from .records import dataclass


@dataclass(slots=True, frozen=True)
class Way:
    """The lanes in 1 or 2 pieces; in each, addresses are `step` bytes apart."""

    pieces: int
    step: int

    @property
    def lanes(self) -> int:
        """Lanes of a piece."""
        return 32 // self.pieces


def numbers(values: list[int], kind: str = "i32") -> str:
    """A constant vector."""
    return "<" + ", ".join(f"{kind} {value}" for value in values) + ">"


def shuffled(em: Emitter, kind: str, one: str, two: str, order: list[int]) -> str:
    """A shufflevector of vectors of a type `<n x T>`."""
    return em.new(f"shufflevector {kind} {one}, {kind} {two}, <{len(order)} x i32> {numbers(order)}")


def firsts_of(em: Emitter, base: Value, way: Way) -> list[str]:
    """The first address of each piece."""
    return [em.new(f"extractelement {base.typed}, i32 {piece * way.lanes}") for piece in range(way.pieces)]


def matching(em: Emitter, base: Value, way: Way) -> str:
    """The word of lanes whose addresses are as the way has them."""
    if way.pieces == 1:  # the form that LLVM folds best
        first = em.new(f"extractelement {base.typed}, i32 0")
        start = em.splat(Value("i64", False, first)).text
    else:
        start = shuffled(em, base.full, base.text, "poison", [i // way.lanes * way.lanes for i in range(32)])
    distance = em.new(f"sub <32 x i64> {base.text}, {start}")
    wanted = numbers([i % way.lanes * way.step for i in range(32)], "i64")
    match = em.new(f"icmp eq <32 x i64> {distance}, {wanted}")
    return em.new(f"bitcast <32 x i1> {match} to i32")


def known(em: Emitter, register: Register, way: Way) -> tuple[str, list[str]]:
    """The word of lanes that lie as the way has them, and the first address of each piece."""
    slots = em.asked.get((register, way))
    if slots is None:
        slots = em.asked[register, way] = [em.alloca(kind, 8) for kind in ("i32", *["i64"] * way.pieces)]
        em.entry += [f"  store i{64 if at else 32} 0, ptr {slot}" for at, slot in enumerate(slots)]
    word = em.new(f"load i32, ptr {slots[0]}")
    return word, [em.new(f"load i64, ptr {slot}") for slot in slots[1:]]


def complete(em: Emitter) -> None:
    """Fill in what has been asked for."""
    lines = em.lines
    for (register, way), slots in em.asked.items():
        assert isinstance(way, Way)
        for at, value in em.definitions.get(register, ()):
            em.lines = [lines[at]] if lines[at] else []
            base = em.fit(value, "i64")
            word = matching(em, base, way)
            # LLVM takes the vector of bits to where the word is used, and all that it is made of, but for this.
            held = em.new(f'call i32 asm "", "=r,0"(i32 {word})')
            em.put(f"store i32 {held}, ptr {slots[0]}")
            for first, slot in zip(firsts_of(em, base, way), slots[1:], strict=True):
                em.put(f"store i64 {first}, ptr {slot}")
            lines[at] = "\n".join(em.lines)
    em.lines = lines
