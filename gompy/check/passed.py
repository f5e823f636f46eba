"""Pointers that a function was given and has no place for any more: what its caller's DWARF says of the call.

A parameter that optimized code needs no longer is in a register that something else has by now.  What the caller has
put there is known as long as the caller itself has that (DWARF 5, 3.4.1: call sites).
"""

from __future__ import annotations

from gompy.check.dwarf import OP_REG0, Operations, Source, Unknown, Variable
from gompy.check.log import Frame
from gompy.objects.lines import code_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from dataclasses import replace
    from typing import Any, Final

    from gompy.check.dwarf import Read
else:
    from gompy.records import replace

SITES: Final = frozenset(("DW_TAG_call_site", "DW_TAG_GNU_call_site"))
VALUES: Final = ("DW_AT_call_value", "DW_AT_GNU_call_site_value")
RETURNS: Final = ("DW_AT_call_return_pc", "DW_AT_low_pc")
CALLED: Final = ("DW_AT_call_origin", "DW_AT_abstract_origin")
"""What a register has, where the call returns, what it calls: of DWARF 5, and as GNU's extension of DWARF 4."""


def passed(source: Source, frame: Frame, of_caller: Source, read: Read, known: set[str]) -> Iterator[Variable]:
    """Pointers that a frame's function was called with, but those whose names are known; ``read``: of the caller."""
    caller = frame.caller
    if caller is None:
        return
    call = frame.pc - 1 - source.base, of_caller, caller.pc - of_caller.base
    if call not in source.calls:  # a program that launches often does so at few places
        source.calls[call] = list(_given_to(source, call[0], of_caller, call[2]))
    for name, variable, operations in source.calls[call]:
        if name in known:
            continue
        try:
            value = of_caller.evaluate(operations, caller, read)
        except (Unknown, IndexError):
            continue
        yield replace(variable, value=value, address=0, size=0)


def _given_to(source: Source, pc: int, of_caller: Source, returns: int) -> Iterator[tuple[str, Variable, Operations]]:
    """Pointers that the function at an address gets from the call that returns to another, and what they are."""
    function = next((die for die in reversed(source.scopes(pc)) if die.tag == "DW_TAG_subprogram"), None)
    wanted = _parameters(function) if function is not None else []
    values = _values(of_caller, returns, source.name(function)) if wanted else {}
    begin = _begin(source, function) if values else 0
    for die in wanted if values else ():
        number = _register(source, die, begin)
        if number not in values:
            continue
        for spot in source.spot(die, begin):
            if spot.parts[0].points:
                yield source.name(die), spot.parts[0], values[number]


def _parameters(function: Any) -> list[Any]:
    return [die for die in function.iter_children() if die.tag == "DW_TAG_formal_parameter"]


def _begin(source: Source, function: Any) -> int:
    """Where a function is entered: at its first address, as its parts that are seldom run come behind."""
    low = function.attributes.get("DW_AT_low_pc")
    return int(low.value) if low is not None else next(iter(code_ranges(source.dwarf, function.cu, function)))[0]


def _register(source: Source, die: Any, begin: int) -> int:
    """The register in which a function that begins there gets a parameter; -1: it is in none."""
    location = die.attributes.get("DW_AT_location")
    try:
        expression = source.expression(die, location, begin) if location is not None else []
    except Unknown:
        return -1
    return expression[0] - OP_REG0 if len(expression) == 1 and OP_REG0 <= expression[0] < OP_REG0 + 16 else -1


def _first(die: Any, names: tuple[str, str]) -> Any:
    return next((die.attributes[name] for name in names if name in die.attributes), None)


def _values(source: Source, returns: int, callee: str) -> dict[int, Operations]:
    """What the call that returns to an address of the file's own puts into registers; nothing if it calls another
    function, as a tail call has jumped to this one then.
    """
    scopes = source.scopes(returns - 1)
    function = next((die for die in reversed(scopes) if die.tag == "DW_TAG_subprogram"), None)
    for site in (die for scope in reversed(scopes) for die in scope.iter_children() if die.tag in SITES):
        where, called = _first(site, RETURNS), next((name for name in CALLED if name in site.attributes), None)
        if where is None or where.value != returns or called is None:
            continue
        if source.name(site.get_DIE_from_attribute(called)) != callee:
            return {}
        return dict(_given(source, site, source.frame_base(function)))
    return {}


def _given(source: Source, site: Any, frame_base: str) -> Iterator[tuple[int, Operations]]:
    for die in site.iter_children():
        value, place = _first(die, VALUES), die.attributes.get("DW_AT_location")
        if value is None or place is None or len(place.value) != 1 or not OP_REG0 <= place.value[0] < OP_REG0 + 16:
            continue
        yield place.value[0] - OP_REG0, source.operations(die, list(value.value), frame_base)
