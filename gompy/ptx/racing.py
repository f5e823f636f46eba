"""Accesses and fences in checked code, for who looks for races (GOMPY_CHECK=race; races.h, race_calls.pxi).

Each call stands behind a test of the warp's `race_mask`: the bits of what the access may be of (conflicts.py), of which
the executor sets those where there can be races.
"""

from __future__ import annotations

from gompy.abi import ptx as abi

from . import bases, vectors
from .access import address_of
from .checks import warp_place, warp_word
from .emit import Emitter, Value
from .opcodes import ACQUIRES, RELEASES
from .syntax import Instruction, Memory, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from gompy.records import dataclass

ALWAYS, MIXED = 1 << abi.RACE_ALWAYS, 1 << abi.RACE_MIXED
PARAMETERS = (1 << abi.RACE_PARAMS) - 1
LOOKED_AT = frozenset(("", "global", "shared"))
"""Spaces whose memory threads share."""
ROWS = frozenset((4, 8, 16))
"""Bytes of accesses that are told by rows."""
WORD, LINE_SHIFT = 4, 7
"""Bytes of a word, of which those of a row are remembered together, 32 to a line; by which shift its number comes."""
FLAG_SHIFT = abi.FLAG_LINE.bit_length() - 1
LINES_APART, PLACES_APART = 0x9E3779B97F4A7C15, 0x6A09E667F3BCC909
"""How far the notes of two lines, of two places for one line, are from each other, in 2^-64 of all notes.

These are parts of the golden ratio and of the square root of two: few of their multiples come near each other, so lines
at equal steps, as a matrix's columns are, have notes of their own (Knuth, TAOCP 3, 6.4)."""


def begin(em: Emitter, bits: int = ALWAYS, stray: str = "") -> str:
    """Branch behind the test, or where STRAY (i1) is; the label to go on at."""
    if bits & ALWAYS and not em.shadowed:  # such code runs where races are looked for
        look, done = em.fresh("look"), em.fresh("looked")
        em.join(look)
        return done
    if bits & MIXED:  # which changes at barriers
        mask = em.new(f"load i64, ptr {warp_place(em, 'race_mask')}")
        wanted = em.new(f"icmp ne i64 {em.new(f'and i64 {mask}, {bits}')}, 0")
    else:
        name, mask = f"%check_race{bits:x}", warp_word(em, "race_mask", "i64")
        wanted = em.once(name, f"{name}m = and i64 {mask}, {bits}", f"{name} = icmp ne i64 {name}m, 0")
    if stray:
        wanted = em.new(f"or i1 {wanted}, {stray}")
    return em.seldom(wanted, "look", "looked")


def strays(em: Emitter, address: Value, bits: int) -> str:
    """Whether an active lane's address is in none of the blocks that the parameters of BITS point into (i1).

    "": that is not asked, as in code that is for other checks, too, which may run without this one.
    """
    if em.shadowed or bits & ~PARAMETERS:
        return ""
    inside = ""
    for number in range(abi.RACE_PARAMS):
        if bits >> number & 1:
            low, size = (block_word(em, 2 * number + word) for word in range(2))
            if address.vector:
                low, size = (em.splat(Value("i64", False, text)).text for text in (low, size))
            kind = "<32 x i64>" if address.vector else "i64"
            its = em.new(f"icmp ult {kind} {em.new(f'sub {kind} {address.text}, {low}')}, {size}")
            inside = em.new(f"or {kind.replace('i64', 'i1')} {inside}, {its}") if inside else its
    if not address.vector:
        return em.new(f"xor i1 {inside}, true")
    lanes = em.new(f"bitcast <32 x i1> {inside} to i32")
    outside = em.new(f"xor i32 {lanes}, -1")
    return em.new(f"icmp ne i32 {em.new(f'and i32 {outside}, {em.active}')}, 0")


def block_word(em: Emitter, number: int) -> str:
    """A word of the warp's `race_blocks`, loaded where the function begins."""
    name, place = f"%race_block{number}", warp_word(em, "race_blocks", "ptr")
    return em.once(
        name,
        f"{name}p = getelementptr i64, ptr {place}, i64 {number}",
        f"{name} = load i64, ptr {name}p, !invariant.load !0",
    )


def access(em: Emitter, memory: Memory, size: int, writes: bool, code: Instruction, space: str) -> None:
    """A load or store of `size` bytes a lane."""
    word = size | abi.RACE_WRITES * writes | abi.RACE_STRONG * em.conflicts().strong(code)
    word |= abi.RACE_GLOBAL * (space == "global") | acquires(code)
    bits = em.conflicts().bits(code, memory, em.code)
    if bits:
        address = address_of(em, memory)
        orders = word & (abi.RACE_STRONG | abi.RACE_ACQUIRES)
        rows = address.vector and size in ROWS and not orders
        row = row_of(em, memory, size, writes) if rows and size == WORD and not writes else None
        before = "" if row is None else skip_read(em, row)
        stray = strays(em, address, bits)
        done = begin(em, bits, stray)
        if rows and row is None:
            row = row_of(em, memory, size, writes)  # behind the branch: most accesses are not looked at
        release(em, code)
        if em.conflicts().module.library and not address.vector:
            lock(em, address, word)
        elif row is not None:
            tell_row(em, row, address, word, stray, space)
        elif address.vector or space not in ("", "global") or orders:
            tell(em, address, marked(em, word, stray))
        else:
            note(em, address, word, stray)
        em.join(done)
        if before:
            em.join(before)


def lock(em: Emitter, address: Value, word: int) -> None:
    """An access by a compiler's library: the executor is told where it may be of a lock's word."""
    at = address.text
    number = em.new(f"and i64 {em.new(f'lshr i64 {at}, {FLAG_SHIFT + 6}')}, 63")
    lines = em.new(f"getelementptr i8, ptr {warp_word(em, 'notes', 'ptr')}, i64 {abi.FLAG_LINES}")
    bits = em.new(f"load i64, ptr {em.new(f'getelementptr i64, ptr {lines}, i64 {number}')}")
    line = em.new(f"and i64 {em.new(f'lshr i64 {at}, {FLAG_SHIFT}')}, 63")
    near = em.new(f"trunc i64 {em.new(f'lshr i64 {bits}, {line}')} to i1")
    done = em.seldom(near, "lock", "locked")
    tell(em, address, word)
    em.join(done)


def note(em: Emitter, address: Value, word: int, stray: str) -> None:
    """Note an access by one address (race_notes.h), or tell the executor, if the note has another line's.

    What a place accesses again tells nothing more: then its bytes are noted already.
    """
    size, at = word & 0xFF, address.text
    place = note_of(em, at)
    half = em.new(f"and i64 {em.new(f'lshr i64 {at}, 3')}, 8")
    half = em.new(f"add i64 {half}, {abi.NOTE['bytes']}")
    noted = em.new(f"getelementptr i8, ptr {place}, i64 {half}")
    unit = em.once("%note_unit", "%note_unit = load ptr, ptr @links, !invariant.load !0")
    code = em.once("%note_code", f"%note_code = ptrtoint ptr {unit} to i64")
    owner = em.new(f"getelementptr i8, ptr {place}, i64 {abi.NOTE['key']}")
    within = em.new(f"and i64 {at}, 63")
    note_mask = em.new(f"getelementptr i8, ptr %w, i64 {abi.WARP['note_mask']}")  # of this warp of the block's
    wanted = {
        # What is aligned is in one half.
        em.new(f"load i64, ptr {place}"): em.new(f"and i64 {at}, {-abi.NOTE_BYTES | size - 1}"),
        em.new(f"load i64, ptr {owner}"): em.new(f"add i64 {code}, {em.line << abi.NOTE_SHIFT & 0xFFFFFFFFFFFFFFFF}"),
        em.new(f"load i64, ptr {note_mask}"): em.new(f"zext i32 {em.active} to i64"),
    }
    its = em.new(f"xor i1 {stray}, true") if stray else "true"
    for known, value in wanted.items():
        its = em.new(f"and i1 {its}, {em.new(f'icmp eq i64 {known}, {value}')}")
    add, begin_one, done = em.fresh("note"), em.fresh("begin"), em.fresh("noted")
    em.put(f"br i1 {its}, label %{add}, label %{begin_one}, !prof !1")
    em.label(add)
    touched = em.new(f"shl i64 {(1 << size) - 1}, {within}")
    before = em.new(f"load i64, ptr {noted}")
    em.put(f"store i64 {em.new(f'or i64 {before}, {touched}')}, ptr {noted}")
    em.put(f"br label %{done}")
    em.label(begin_one)
    told = marked(em, word, stray)
    em.helper("race_note", f"ptr %w, i32 {em.active}, i64 {at}, i32 {told}, {em.site()}, ptr {place}")
    em.join(done)


def note_of(em: Emitter, at: str) -> str:
    """The place of a note for the line of an address.

    Places of the program have different ones for the same line, and what follows each other differs for a while.
    """
    em.notes = (em.notes + PLACES_APART) % (1 << 64)
    line = em.new(f"mul i64 {em.new(f'lshr i64 {at}, 7')}, {LINES_APART}")
    mixed = em.new(f"add i64 {line}, {em.notes}")
    number = em.new(f"lshr i64 {mixed}, {65 - abi.RACE_NOTES.bit_length()}")
    offset = em.new(f"mul i64 {number}, {abi.NOTE_SIZE}")
    return em.new(f"getelementptr i8, ptr {warp_word(em, 'notes', 'ptr')}, i64 {offset}")


def strong(em: Emitter, address: Value, size: int, writes: bool) -> None:
    """An access that is no data race with others of its kind."""
    done = begin(em)
    tell(em, address, size | abi.RACE_WRITES * writes | abi.RACE_STRONG)
    em.join(done)


def plain(em: Emitter, address: Value, size: int, writes: bool, space: str) -> None:
    """A load or store by an instruction whose addresses its operands do not have: one of a matrix."""
    done = begin(em)
    tell(em, address, size | abi.RACE_WRITES * writes | abi.RACE_GLOBAL * (space == "global"))
    em.join(done)


def marked(em: Emitter, word: int, stray: str) -> str:
    """The word of an access that may be outside of its blocks."""
    return em.new(f"select i1 {stray}, i32 {word | abi.RACE_STRAYS}, i32 {word}") if stray else str(word)


def tell(em: Emitter, address: Value, word: int | str) -> None:
    """Tell the executor of an access; `word`: abi.RACE_…"""
    if address.vector:
        where = f"ptr {em.spill(address, 1)}"
        em.helper("race", f"ptr %w, i32 {em.active}, {where}, i32 {word}, {em.site()}")
    else:
        em.helper("race_uniform", f"ptr %w, i32 {em.active}, i64 {address.text}, i32 {word}, {em.site()}")


@dataclass(slots=True, frozen=True)
class Row:
    """Lanes whose words are mostly neighbours: whether all active ones' are (i1), lane 0's and lane 16's address.

    `whole`: lanes 16 to 31 follow lanes 0 to 15.
    """

    every: str
    first: str
    second: str
    whole: bool


def row_of(em: Emitter, memory: Memory, size: int, writes: bool) -> Row | None:
    """The row that an access may have, as far as the register that it is made of tells."""
    if not em.fast or em.shadowed or not isinstance(memory.base, Register):
        return None
    way = vectors.way_of(em, memory.base, size, writes)
    if way is None or way.step != size:
        return None
    lanes, firsts = bases.known(em, memory.base, way)
    off = em.new(f"xor i32 {em.active}, -1")
    every = em.new(f"icmp eq i32 {em.new(f'or i32 {lanes}, {off}')}, -1")
    if memory.offset:
        firsts = [em.new(f"add i64 {first}, {memory.offset & 0xFFFFFFFFFFFFFFFF}") for first in firsts]
    if way.pieces == 1:
        firsts = [firsts[0], em.new(f"add i64 {firsts[0]}, {16 * size}")]
    return Row(every, firsts[0], firsts[1], way.pieces == 1)


def tell_row(em: Emitter, its: Row, address: Value, word: int, stray: str, space: str) -> None:
    """Tell the executor of an access whose lanes' words are mostly neighbours, which takes less where they are."""
    every = its.every
    if stray:
        every = em.new(f"and i1 {every}, {em.new(f'xor i1 {stray}, true')}")
    row, slow, done = em.fresh("row"), em.fresh("slow"), em.fresh("told")
    em.put(f"br i1 {every}, label %{row}, label %{slow}, !prof !1")
    em.label(row)
    told = word | abi.RACE_IN_STEP * em.conflicts().in_step
    arguments = f"ptr %w, i32 {em.active}, i64 {its.first}, i64 {its.second}, i32 {told}, {em.site()}"
    if space == "shared" and its.whole and word & 0xFF == WORD:
        row_only = f"ptr %w, i32 {em.active}, i64 {its.first}, i32 {told}, {em.site()}"
        soon = em.helper("race_shared_soon", row_only, "i32", keeps=True)
    else:
        soon = em.helper("race_row_soon", arguments, "i32", keeps=True)
    soon = em.new(f"icmp ne i32 {soon}, 0")
    rest = em.fresh("rest")
    em.put(f"br i1 {soon}, label %{done}, label %{rest}, !prof !1")
    em.label(rest)
    em.helper("race_row", arguments)
    em.put(f"br label %{done}")
    em.label(slow)
    tell(em, address, marked(em, word, stray))
    em.join(done)


def skip_read(em: Emitter, row: Row) -> str:
    """Branch to a label, which is returned, where a row's words are known to be read in this launch (race_read.h).

    Such a block is only read, so nothing more is told even of a pointer that has been moved into it.
    """
    if not row.whole:
        return ""
    look, other, skip = em.fresh("read"), em.fresh("unread"), em.fresh("again")
    # It is looked up each time: it changes when a pointer turns out to be moved into a block that is written.
    since = em.new(f"getelementptr i64, ptr {warp_word(em, 'race_blocks', 'ptr')}, i64 {abi.READ_SINCE}")
    since = em.new(f"load i64, ptr {since}")
    some = em.new(f"and i1 {row.every}, {em.new(f'icmp ne i64 {since}, -1')}")
    em.put(f"br i1 {some}, label %{look}, label %{other}")
    em.label(look)
    em.put(f"br i1 {read_before(em, row.first, since)}, label %{skip}, label %{other}")
    em.label(other)
    return skip


def read_before(em: Emitter, first: str, since: str) -> str:
    """Whether the active lanes' words, a row from lane 0's on, are known to be read SINCE then (i1)."""
    low, last, lines = (block_word(em, number) for number in (abi.READ_LOW, abi.READ_LAST, abi.READ_LINES))
    offset = em.new(f"sub i64 {first}, {low}")
    known = []
    for at in (offset, em.new(f"add i64 {offset}, {31 * WORD}")):
        line = em.new(f"call i64 @llvm.umin.i64(i64 {em.new(f'lshr i64 {at}, {LINE_SHIFT}')}, i64 {last})")
        place = em.new(f"getelementptr i64, ptr {em.new(f'inttoptr i64 {lines} to ptr')}, i64 {line}")
        known.append(em.new(f"load i64, ptr {place}"))
    within = em.new(f"and i64 {em.new(f'lshr i64 {offset}, 2')}, 31")
    words = em.new(f"shl i64 {em.new(f'zext i32 {em.active} to i64')}, {within}")
    read = em.new(f"or i64 {em.new(f'and i64 {known[0]}, {0xFFFFFFFF}')}, {em.new(f'shl i64 {known[1]}, 32')}")
    wrong = em.new(f"and i64 {words}, {em.new(f'xor i64 {read}, -1')}")
    wrong = em.new(f"or i64 {wrong}, {em.new(f'and i64 {offset}, {WORD - 1}')}")
    for line in known:
        other = em.new(f"xor i64 {em.new(f'lshr i64 {line}, 32')}, {since}")
        wrong = em.new(f"or i64 {wrong}, {other}")
    return em.new(f"icmp eq i64 {wrong}, 0")


def atom(em: Emitter, memory: Memory, size: int, code: Instruction) -> None:
    """An atomic operation on `size` bytes a lane."""
    bits = em.conflicts().bits(code, memory, em.code)
    if bits:
        address = address_of(em, memory)
        stray = strays(em, address, bits)
        done = begin(em, bits, stray)
        release(em, code)
        where, word = em.spill(address, 1), marked(em, size | acquires(code), stray)
        em.helper("race_atom", f"ptr %w, i32 {em.active}, ptr {where}, i32 {word}, {em.site()}")
        em.join(done)


def acquires(code: Instruction) -> int:
    """RACE_ACQUIRES if what an access reads tells what came before without a fence behind it."""
    return abi.RACE_ACQUIRES * (not ACQUIRES.isdisjoint(code.mods))


def release(em: Emitter, code: Instruction) -> None:
    """What an access with release order has before it (PTX ISA, "Release and Acquire Patterns")."""
    if not RELEASES.isdisjoint(code.mods):
        em.helper("race_fence", f"ptr %w, i32 {em.active}")


def fence(em: Emitter) -> None:
    """membar, fence."""
    done = begin(em)
    em.helper("race_fence", f"ptr %w, i32 {em.active}")
    em.join(done)


def come(em: Emitter) -> None:
    """A warp comes to a barrier, where a call runs all warps of a block (fission.py)."""
    em.helper("race_come", "ptr %w")


def end_warp(em: Emitter) -> None:
    """And it ends."""
    em.helper("race_end", "ptr %w")


def meet(em: Emitter, states: str) -> None:
    """All that have not ended have come; STATES: the warps' numbers of barriers, or "null" where these are the same."""
    em.helper("race_meet", f"ptr %w0, ptr {states}, i32 {abi.WARP_ENDED}")
