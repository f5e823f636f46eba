"""Which entry of the host's tables belongs to which entry of an image's.

Images of ours carry a description of their objects and are paired by object (docs/internals.md, "Link"); others are
paired by position, as GCC does.  Pure functions: counts and names in, index pairs and differences out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from gompy.objects import names
from gompy.objects.naming import base_name, same
from gompy.objects.tables import Entry, ObjectRecord

if TYPE_CHECKING:
    from gompy.objects.naming import Rule


class ObjectDesc(NamedTuple):
    """An object as the image's description has it (struct object_desc)."""

    id: int
    funcs: int
    vars: int
    kind: int
    name: str


KIND_NAMES: dict[int, str] = {
    names.OBJECT_KIND_ID: "by id",
    names.OBJECT_KIND_LTO: "host LTO",
    names.OBJECT_KIND_HOST_ONLY: "host only",
    names.OBJECT_KIND_STOCK: "by position",
}


@dataclass
class Pairing:
    """Pairs (host index, image index); the image's index is None for an entry that exists on the host only.

    ``errors``: what registration would refuse, one line each, naming the object.
    """

    funcs: list[tuple[int, int | None]] = field(default_factory=list)
    vars: list[tuple[int, int | None]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    host_only: list[tuple[ObjectDesc, int, int]] = field(default_factory=list)
    """Objects without device code, each with the numbers of its first function and variable on the host."""


def by_position(host: tuple[int, int], image: tuple[int, int]) -> Pairing:
    """Pair the tables of lengths (functions, variables) entry by entry."""
    result = Pairing()
    for what, mine, theirs, pairs in (
        ("functions", host[0], image[0], result.funcs),
        ("variables", host[1], image[1], result.vars),
    ):
        pairs += [(i, i) for i in range(min(mine, theirs))]
        if mine != theirs:
            result.errors.append(f"{mine} {what} on the host, {theirs} in the image")
    return result


def by_object(
    host: tuple[int, int], image: tuple[int, int], records: Sequence[ObjectRecord], objects: Sequence[ObjectDesc]
) -> Pairing:
    """Pair by object; lengths are (functions, variables)."""
    result = Pairing()
    starts: list[tuple[int, int]] = []
    funcs = variables = 0
    for item in objects:
        starts.append((funcs, variables))
        if item.kind != names.OBJECT_KIND_HOST_ONLY:
            funcs, variables = funcs + item.funcs, variables + item.vars
    if (funcs, variables) != image:
        result.errors.append(
            f"the image's objects have {funcs} functions and {variables} variables, "
            f"its tables {image[0]} and {image[1]}"
        )
        return result
    object_of = _objects_of_records(records, objects, result)
    linked = set(object_of.values())
    present = [i for i, o in enumerate(objects) if not _has_record(o) or i in linked]
    absent = {*range(len(objects))}.difference(present)
    result.skipped = [o.name for i, o in enumerate(objects) if i in absent and (o.funcs or o.vars)]
    if any(o.kind in (names.OBJECT_KIND_HOST_ONLY, names.OBJECT_KIND_STOCK) for o in objects):
        order = present
    else:
        order = _by_records(records, objects, object_of, result)
    at_func = at_var = 0
    for number in order:
        item, (func, var) = objects[number], starts[number]
        host_only = item.kind == names.OBJECT_KIND_HOST_ONLY
        if host_only and (item.funcs or item.vars):
            result.host_only.append((item, at_func, at_var))
        result.funcs += [(at_func + i, None if host_only else func + i) for i in range(item.funcs)]
        result.vars += [(at_var + i, None if host_only else var + i) for i in range(item.vars)]
        at_func, at_var = at_func + item.funcs, at_var + item.vars
    if not result.errors and (at_func, at_var) != host:
        result.errors.append(
            f"the linked objects have {at_func} functions and {at_var} variables, "
            f"the host's tables {host[0]} and {host[1]}"
        )
    return result


def _has_record(item: ObjectDesc) -> bool:
    """Whether a program with this object has a record of it: it may be an archive's member that was not linked."""
    return item.id != 0 and item.kind in (names.OBJECT_KIND_ID, names.OBJECT_KIND_HOST_ONLY)


def _objects_of_records(
    records: Sequence[ObjectRecord], objects: Sequence[ObjectDesc], result: Pairing
) -> dict[int, int]:
    """Number of each record's object; of several with one id (a source compiled twice), the next of the link."""
    numbers: dict[int, list[int]] = {}
    for number, item in enumerate(objects):
        if _has_record(item):
            numbers.setdefault(item.id, []).append(number)
    found: dict[int, int] = {}
    following = 0
    for index, record in enumerate(records):
        if record.id == 0:
            continue
        candidates = numbers.get(record.id, [])
        if not candidates:
            result.errors.append(f"object {record.name} (id {record.id:016x}) is not in the image")
            continue
        number = next((n for n in candidates if n >= following), candidates[0])
        candidates.remove(number)
        found[index], following = number, number + 1
        _compare(record, [objects[number]], result)
    return found


def _by_records(
    records: Sequence[ObjectRecord], objects: Sequence[ObjectDesc], object_of: dict[int, int], result: Pairing
) -> list[int]:
    """Numbers of the image's objects in the order of the host's records."""
    order: list[int] = []
    joint = False
    for index, record in enumerate(records):
        if record.id:
            order += [object_of[index]] if index in object_of else []
        elif record.funcs or record.vars:
            mine = [] if joint else [i for i, o in enumerate(objects) if o.kind == names.OBJECT_KIND_LTO]
            joint = True
            _compare(record, [objects[i] for i in mine], result)
            order += mine
    return order


def _compare(record: ObjectRecord, objects: Sequence[ObjectDesc], result: Pairing) -> None:
    """Note an error if the record's entries are not as many as those objects have."""
    funcs, variables = sum(o.funcs for o in objects), sum(o.vars for o in objects)
    if (funcs, variables) != (record.funcs, record.vars):
        result.errors.append(
            f"object {record.name}: {record.funcs} functions and {record.vars} variables on the host, "
            f"{funcs} and {variables} in the image"
        )


def differences(
    pairs: Sequence[tuple[int, int | None]], host: Sequence[Entry], image: Sequence[Entry], rule: Rule = base_name
) -> list[str]:
    """One line for each pair whose names differ by the rule; entries without a name (stripped) say nothing."""
    found: list[str] = []
    for mine, theirs in pairs:
        if theirs is None or mine >= len(host) or theirs >= len(image):
            continue
        a, b = host[mine].name, image[theirs].name
        if not same(a, b, rule):
            found.append(f"entry {mine}: {a} on the host, {b} in the image (entry {theirs})")
    return found
