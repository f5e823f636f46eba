"""Which entry of the host's tables belongs to which entry of an image's.

Images of ours carry a description of their objects and are paired by object (docs/internals.md, "Link"); others are
paired by position, as GCC does.  Pure functions: counts and names in, index pairs and differences out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gompy.objects import names
from gompy.objects.tables import Entry, ObjectRecord


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
    recorded = {record.id for record in records}
    missing = [o for o in objects if o.kind == names.OBJECT_KIND_ID and o.id not in recorded]
    result.skipped = [o.name for o in missing if o.funcs or o.vars]
    positional = any(o.kind in (names.OBJECT_KIND_HOST_ONLY, names.OBJECT_KIND_STOCK) for o in objects)
    if positional:
        order = [i for i, o in enumerate(objects) if o not in missing]
    else:
        order = _by_records(records, objects, result)
    at_func = at_var = 0
    for number in order:
        item, (func, var) = objects[number], starts[number]
        host_only = item.kind == names.OBJECT_KIND_HOST_ONLY
        result.funcs += [(at_func + i, None if host_only else func + i) for i in range(item.funcs)]
        result.vars += [(at_var + i, None if host_only else var + i) for i in range(item.vars)]
        at_func, at_var = at_func + item.funcs, at_var + item.vars
    if not result.errors and (at_func, at_var) != host:
        result.errors.append(
            f"the linked objects have {at_func} functions and {at_var} variables, "
            f"the host's tables {host[0]} and {host[1]}"
        )
    return result


def _by_records(records: Sequence[ObjectRecord], objects: Sequence[ObjectDesc], result: Pairing) -> list[int]:
    """Numbers of the image's objects in the order of the host's records."""
    numbers: dict[int, list[int]] = {}
    for number, item in enumerate(objects):
        if item.kind == names.OBJECT_KIND_ID:
            numbers.setdefault(item.id, []).append(number)
    order: list[int] = []
    for record in records:
        if record.id == 0:
            mine = [i for i, o in enumerate(objects) if o.kind == names.OBJECT_KIND_LTO]
        else:
            candidates = numbers.get(record.id, [])
            mine = [candidates.pop(0)] if candidates else []
            if not mine:
                result.errors.append(f"object {record.name} (id {record.id:016x}) is not in the image")
                continue
        funcs, variables = sum(objects[i].funcs for i in mine), sum(objects[i].vars for i in mine)
        if (funcs, variables) != (record.funcs, record.vars):
            result.errors.append(
                f"object {record.name}: {record.funcs} functions and {record.vars} variables on the host, "
                f"{funcs} and {variables} in the image"
            )
        order += mine
    return order


def plain_name(name: str) -> str:
    """A name without what one compiler alone adds: nvptx's ``$`` and ``$linkptr``, LTO's ``.lto_priv.N``.

    GCC 12: nvptx.cc (nvptx_name_replacement, symbols), lto/lto-partition.cc (privatize_symbol_name), omp-offload.cc.
    """
    name = name.removesuffix("$linkptr").removesuffix("_linkptr").removesuffix(".linkptr").replace("$", ".")
    return re.sub(r"\.lto_priv\.\d+", "", name)


def differences(pairs: Sequence[tuple[int, int | None]], host: Sequence[Entry], image: Sequence[Entry]) -> list[str]:
    """One line for each pair whose names differ; entries without a name (stripped) say nothing."""
    found: list[str] = []
    for mine, theirs in pairs:
        if theirs is None or mine >= len(host) or theirs >= len(image):
            continue
        a, b = host[mine].name, image[theirs].name
        if a is not None and b is not None and plain_name(a) != plain_name(b):
            found.append(f"entry {mine}: {a} on the host, {b} in the image (entry {theirs})")
    return found
