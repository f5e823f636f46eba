"""Types of a region's arguments, from DWARF: the members of the structure that the outlined function is given."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    Die = Any  # pyelftools has no types

_QUALIFIERS: Final = {"DW_TAG_const_type": "const", "DW_TAG_volatile_type": "volatile"}
_PREFIX: Final = {"DW_TAG_structure_type": "struct ", "DW_TAG_union_type": "union ", "DW_TAG_enumeration_type": "enum "}
_DEEPEST: Final = 12


def of_object(data: bytes) -> dict[str, list[tuple[str, str, int]]]:
    """Outlined function: names with type and size in bytes (0: not known).

    The members of the structure first; behind them the function's pointers, with the type of what they point to.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    found: dict[str, list[tuple[str, str, int]]] = {}
    try:
        elf = ELFFile(io.BytesIO(data))
        if not elf.has_dwarf_info():
            return {}
        for unit in elf.get_dwarf_info().iter_CUs():
            for die in unit.iter_DIEs():
                if die.tag == "DW_TAG_subprogram" and "._omp_fn." in (name := _name(die)):
                    found.setdefault(name, [*_fields(die), *_pointers(die)])
    except (ELFError, KeyError, ValueError, UnicodeDecodeError):
        pass  # types are an extra
    return found


def _pointers(function: Die) -> list[tuple[str, str, int]]:
    """The function's own variables that are pointers: a pointer is set in it to an argument without a name."""
    fields = []
    for die in function.iter_children():
        if die.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter") and (name := _name(die)):
            bare = _bare(_target(die), (*_QUALIFIERS, "DW_TAG_restrict_type", "DW_TAG_typedef"))
            if bare is not None and bare.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
                pointed = _target(bare)
                fields.append((name, text(pointed), size(pointed)))
    return fields


def _name(die: Die) -> str:
    given = die.attributes.get("DW_AT_name")
    return given.value.decode("utf-8", "replace") if given is not None else ""


def _target(die: Die) -> Die | None:
    return die.get_DIE_from_attribute("DW_AT_type") if "DW_AT_type" in die.attributes else None


def _bare(die: Die | None, through: tuple[str, ...]) -> Die | None:
    while die is not None and die.tag in through:
        die = _target(die)
    return die


def _fields(function: Die) -> list[tuple[str, str, int]]:
    """What the first parameter, a pointer or reference to the structure, has for members."""
    parameter = next((child for child in function.iter_children() if child.tag == "DW_TAG_formal_parameter"), None)
    if parameter is None:
        return []
    through = (*_QUALIFIERS, "DW_TAG_restrict_type", "DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_typedef")
    structure = _bare(_target(parameter), through)
    if structure is None or structure.tag != "DW_TAG_structure_type":
        return []
    fields = []
    for member in structure.iter_children():
        if member.tag == "DW_TAG_member":
            # Each member is a pointer to the object, or a word that is written as one (firstprivate).
            pointed = _target(member)
            bare = _bare(pointed, (*_QUALIFIERS, "DW_TAG_restrict_type"))
            if bare is not None and bare.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
                pointed = _target(bare)
            fields.append((_name(member), text(pointed), size(pointed)))
    return fields


def text(die: Die | None, depth: int = 0) -> str:
    """A type in C's words; arrays with their extents behind."""
    if die is None:
        return "void"
    if depth > _DEEPEST:
        return "…"
    if die.tag in _QUALIFIERS:
        return f"{_QUALIFIERS[die.tag]} {text(_target(die), depth + 1)}"
    if die.tag == "DW_TAG_restrict_type":
        return text(_target(die), depth + 1)
    if die.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type"):
        inner = _target(die)
        if inner is not None and inner.tag == "DW_TAG_subroutine_type":
            return "function *"
        inside = text(inner, depth + 1)
        mark = "*" if die.tag == "DW_TAG_pointer_type" else "&"
        return inside + mark if inside.endswith(("*", "&")) else f"{inside} {mark}"
    if die.tag == "DW_TAG_array_type":
        bounds = [_extent(child) for child in die.iter_children() if child.tag == "DW_TAG_subrange_type"]
        return text(_target(die), depth + 1) + "".join(f"[{bound}]" for bound in bounds)
    return _PREFIX.get(die.tag, "") + (_name(die) or "…")


def _extent(subrange: Die) -> str:
    if (count := subrange.attributes.get("DW_AT_count")) is not None and isinstance(count.value, int):
        return str(count.value)
    upper, lower = subrange.attributes.get("DW_AT_upper_bound"), subrange.attributes.get("DW_AT_lower_bound")
    if upper is None or not isinstance(upper.value, int) or not upper.form.startswith(("DW_FORM_data", "DW_FORM_sd")):
        return ""
    low = lower.value if lower is not None and isinstance(lower.value, int) else 0
    return str(upper.value - low + 1) if upper.value >= low else ""


def size(die: Die | None) -> int:
    """Bytes of an object of a type; 0 where that is not known when it is compiled."""
    die = _bare(die, (*_QUALIFIERS, "DW_TAG_typedef", "DW_TAG_restrict_type"))
    if die is None:
        return 0
    if (given := die.attributes.get("DW_AT_byte_size")) is not None and isinstance(given.value, int):
        return int(given.value)
    if die.tag in ("DW_TAG_pointer_type", "DW_TAG_reference_type"):
        return 8
    if die.tag == "DW_TAG_array_type":
        total = size(_target(die))
        for child in die.iter_children():
            if child.tag == "DW_TAG_subrange_type":
                extent = _extent(child)
                total *= int(extent) if extent else 0
        return total
    return 0
