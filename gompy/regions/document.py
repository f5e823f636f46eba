"""The two JSON documents of a compilation unit, put together from dump, object, DWARF and text (schema.json)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gompy.abi import gomp, map_kinds
from gompy.regions.dump import Clause, Construct
from gompy.regions.text import Piece, Text

SCHEMA: Final = 1
KIND_MASK: Final = 0xFF
ALIGN_SHIFT: Final = 8
"""A kind's low byte is the kind, its high byte the logarithm of the alignment (GCC 12: omp-low.cc)."""
_NO_SLOT: Final = ("num_teams", "thread_limit", "if", "device", "nowait", "depend", "defaultmap", "async", "wait")
_WORD_KINDS: Final = (gomp.GOMP_MAP_FIRSTPRIVATE_INT,)
_NO_OBJECT: Final = (gomp.GOMP_MAP_STRUCT, gomp.GOMP_MAP_ATTACH, gomp.GOMP_MAP_DETACH, gomp.GOMP_MAP_ALWAYS_POINTER)

Json = dict[str, Any]


def kind_name(word: int) -> str:
    """A kind's name in the runtime's messages."""
    low = word & KIND_MASK
    if low & gomp.GOMP_MAP_FLAG_SPECIAL_BITS == gomp.GOMP_MAP_IMPLICIT:  # as the runtime does
        low &= ~gomp.GOMP_MAP_IMPLICIT
    known = map_kinds.KINDS.get(low)
    return known[0] if known is not None else f"{low:#x}"


def parameters(item: Construct, arrays: dict[int, list[int]], types: list[tuple[str, str, int]]) -> list[Json]:
    """The arguments in the order of the run time, each with kind, clause's variable and type."""
    known = arrays.get(item.kinds_number, [])
    by_field = {name: (text, size) for name, text, size in reversed(types) if name}
    found: list[Json] = []
    # Fields behind these are not the runtime's: whether an optional argument is there (Fortran).
    count = len(known) or len(item.kinds) or len(item.slots)
    for index, (slot, clause) in enumerate(list(_joined(item))[:count]):
        entry: Json = {"index": index, "name": _name(slot.field, clause, item)}
        kinds = item.kinds.get(index) or ([known[index]] if index < len(known) else [])
        if kinds:
            entry["kind"] = kind_name(kinds[0])
            entry["numbers"] = [kind & KIND_MASK for kind in kinds]
            entry["align"] = 1 << (kinds[0] >> ALIGN_SHIFT)
            low = kinds[0] & KIND_MASK
            entry["by"] = "word" if low in _WORD_KINDS else "none" if low in _NO_OBJECT else "reference"
        pointer = _pointer(clause, item)
        known_type = by_field.get(slot.field) or by_field.get(pointer or "")
        if known_type is not None:
            entry["type"] = known_type[0]
            if known_type[1]:
                entry["size"] = known_type[1]
        if clause is not None and clause.length:
            entry["length"] = clause.length
        if clause is not None and clause.implicit:
            entry["implicit"] = True
        if pointer is not None:
            entry["pointer"] = pointer
        found.append(entry)
    return found


def _joined(item: Construct) -> Iterator[tuple[Any, Clause | None]]:
    """Each slot with the clause that it is for: both stand in one order, but not each clause has a slot."""
    clauses = [clause for clause in item.clauses if clause.name not in _NO_SLOT]
    at = 0
    for slot in item.slots:
        anonymous = re.fullmatch(r"D\.\d+", slot.field) is not None
        for number in range(at, len(clauses)):
            clause = clauses[number]
            if "firstprivate" in clause.kind and clause.pointer:
                continue  # made in the region
            if (not anonymous and clause.variable == slot.field) or (anonymous and _plain(clause) is None):
                at = number + 1
                yield slot, clause
                break
        else:
            yield slot, None


def _plain(clause: Clause) -> str | None:
    """The variable's name if the clause is for a whole variable, whose slot has that name."""
    if clause.temporary:
        return None
    if clause.name == "map" or clause.name in ("to", "from"):
        return clause.variable if re.fullmatch(r"[A-Za-z_]\w*", clause.variable) else None
    return clause.variable


def _pointer(clause: Clause | None, item: Construct) -> str | None:
    """The pointer of the region that is set to this argument: of the clause that follows."""
    if clause is None:
        return None
    after = item.clauses.index(clause) + 1
    if after < len(item.clauses) and item.clauses[after].pointer and item.clauses[after].kind.startswith("first"):
        return item.clauses[after].variable
    return None


def _name(field: str, clause: Clause | None, item: Construct) -> str:
    return _pointer(clause, item) or (clause.variable if clause is not None else field)


def clause_json(clause: Clause) -> Json:
    """A clause without its empty fields."""
    entry: Json = {"name": clause.name}
    for key in ("kind", "variable", "length", "bias"):
        if value := getattr(clause, key):
            entry[key] = value
    if clause.text and not clause.variable:
        entry["text"] = clause.text
    if clause.implicit:
        entry["implicit"] = True
    if clause.pointer:
        entry["pointer"] = True
    return entry


class Texts:
    """The pieces as written and preprocessed; several at one line are given out in order, again and again."""

    def __init__(self, written: dict[str, Text], expanded: Text | None) -> None:
        self.written = written
        self.expanded = expanded

    def of(self, item: Construct, nth: int) -> tuple[Piece | None, Piece | None]:
        """The piece as it is written, and preprocessed, of the nth construct of its line."""
        place = (item.file, item.line)
        text = self.written.get(item.file)
        one = text.pieces.get(place, []) if text is not None else []
        two = self.expanded.pieces.get(place, []) if self.expanded is not None else []
        two = [piece for piece in two if " target" in piece.pragma or "acc " in piece.pragma]
        return (one[nth % len(one)] if one else None), (two[nth % len(two)] if two else None)


def unit(
    constructs: list[Construct],
    arrays: dict[int, list[int]],
    types: dict[str, list[tuple[str, str, int]]],
    texts: Texts | None,
    head: Json,
) -> tuple[Json, Json]:
    """The documents of regions and of data constructs; ``head``: what both begin with."""
    regions: list[Json] = []
    data: list[Json] = []
    seen: dict[tuple[str, int], int] = {}
    needed: dict[str, None] = {}
    for item in constructs:
        entry: Json = {"function": item.function} if item.function else {}
        entry |= {"construct": item.kind, "caller": item.caller}
        entry |= {"file": item.file, "line": item.line, "column": item.column}
        if texts is not None:
            nth = seen.get((item.file, item.line), 0)
            seen[item.file, item.line] = nth + 1
            _add_text(entry, *texts.of(item, nth), needed)
        entry["clauses"] = [clause_json(clause) for clause in item.clauses]
        entry["parameters"] = parameters(item, arrays, types.get(item.function, []))
        (regions if item.function else data).append(entry)
    first, second = {**head, "regions": regions}, {**head, "data": data}
    if texts is not None and texts.expanded is not None:
        first["functions"] = _closure(texts.expanded, list(needed))
        code = " ".join([*first["functions"].values(), *(r.get("expanded", "") for r in regions)])
        first["constants"] = _named(texts.expanded.constants, code)
        words = " ".join(
            [code, *first["constants"].values(), *(p.get("type", "") for r in regions for p in r["parameters"])]
        )
        first["types"] = _types(texts.expanded, words)
    return first, second


def _add_text(entry: Json, written: Piece | None, expanded: Piece | None, needed: dict[str, None]) -> None:
    best = written or expanded
    if best is None:
        entry["no_text"] = "the directive stands in none of the files that were read"
        return
    entry["pragma"] = best.pragma
    if not best.source:
        if entry.get("function"):
            entry["no_text"] = "no statement was found behind the directive"
        return
    entry["lines"] = list(best.lines)
    entry["source"] = best.source
    entry["loops"] = best.loops
    if written is None:
        entry["no_written_text"] = "the directive comes from a macro: source is the preprocessed text"
    if expanded is not None and expanded.source:
        entry["expanded"] = expanded.source
        entry["expanded_pragma"] = expanded.pragma
        needed |= dict.fromkeys(expanded.calls)
    entry["calls"] = (expanded or best).calls


def _closure(text: Text, names: list[str]) -> dict[str, str]:
    """The functions that are called, and those that these call, as far as their text is there; callees first."""
    found: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in found or name not in text.functions or name in above:
            return
        for inner in text.calls.get(name, []):
            add(inner, (*above, name))
        found[name] = text.functions[name]

    for name in names:
        add(name, ())
    return found


def _types(text: Text, words: str) -> dict[str, str]:
    """The types that a text names, and those that these name; in the order of their declaration."""
    return _named({name: body for name, body in text.types.items() if not _last(name).startswith("__")}, words)


def _last(name: str) -> str:
    """``struct x`` is named by x."""
    return name.rpartition(" ")[2]


def _named(declared: dict[str, str], words: str) -> dict[str, str]:
    """What a text names of what is declared, and what that names in turn; in the order of declaration."""
    found: set[str] = set()
    todo = [words]
    while todo:
        used = set(re.findall(r"[A-Za-z_]\w*", todo.pop()))
        for name, body in declared.items():
            if name not in found and _last(name) in used:
                found.add(name)
                todo.append(body)
    return {name: body for name, body in declared.items() if name in found}
