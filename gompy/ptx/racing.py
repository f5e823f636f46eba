"""Accesses and fences in checked code, for who looks for races (GOMPY_CHECK=race; races.h, race_calls.pxi).

Checked code is the same whatever is looked for, so each call stands behind a test of the warp's `races`.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from .checks import warp_word
from .emit import Emitter, Value

STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))
"""Words of loads and stores that are no data race with each other (PTX ISA, "Strong operations")."""
LOOKED_AT = frozenset(("", "global", "shared"))
"""Spaces whose memory threads share."""


def begin(em: Emitter) -> str:
    """Branch behind the test; the label to go on at."""
    races = warp_word(em, "races", "ptr")
    wanted = em.once("%check_racing", f"%check_racing = icmp ne ptr {races}, null")
    look, done = em.fresh("look"), em.fresh("looked")
    em.put(f"br i1 {wanted}, label %{look}, label %{done}, !prof !2")
    em.label(look)
    return done


def end(em: Emitter, done: str) -> None:
    """Go on."""
    em.put(f"br label %{done}")
    em.label(done)


def access(em: Emitter, address: Value, size: int, writes: bool, mods: tuple[str, ...], space: str = "") -> None:
    """A load or store of `size` bytes a lane."""
    word = size | abi.RACE_WRITES * writes | abi.RACE_STRONG * (not STRONG.isdisjoint(mods))
    word |= abi.RACE_GLOBAL * (space == "global")
    done = begin(em)
    if address.vector:
        where = f"ptr {em.spill(address, 1)}"
        em.helper("race", f"ptr %w, i32 {em.active}, {where}, i32 {word}, {em.site()}")
    else:
        em.helper("race_uniform", f"ptr %w, i32 {em.active}, i64 {address.text}, i32 {word}, {em.site()}")
    end(em, done)


def fence(em: Emitter) -> None:
    """membar, fence."""
    done = begin(em)
    em.helper("race_fence", f"ptr %w, i32 {em.active}")
    end(em, done)
