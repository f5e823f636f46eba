"""Mappings that fail: copies that the device refuses, members apart from their structure, pointers of which the
runtime's text does not say the name."""

from __future__ import annotations

import re

from gompy.check.associated import State
from gompy.check.findings import Finding
from gompy.check.log import Event
from gompy.check.mapped import amount
from gompy.check.names import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Final
else:
    from gompy.records import dataclass

MEMBER: Final = r"Trying to map into device \[(0x[0-9a-f]+)\.\.(0x[0-9a-f]+)\) structure element when other"
COPYING: Final = (
    r"Copying of (?:host|dev) object \[(0x[0-9a-f]+)\.\.(0x[0-9a-f]+)\) to (host|dev) object "
    r"\[(0x[0-9a-f]+)\.\.(0x[0-9a-f]+)\) failed"
)
SIZE: Final = r"the object at (0x[0-9a-f]+) to be mapped has (-?\d+) bytes"


@dataclass(frozen=True, slots=True)
class Partial:
    """What was to be done with a range of the host's, with places for its name and size; and what mends it."""

    start: int
    size: int
    words: str
    mended: str


def partial(text: str, what: str, device: int) -> Partial | None:
    """A member that is mapped without its structure's others, a copy that the device refuses, a size that cannot be."""
    what = what or "target"
    if match := re.search(MEMBER, text):
        start, end = int(match[1], 16), int(match[2], 16)
        words = (
            f"{what} is to map {{name}} ({{size}}), and of its structure other members are mapped to device {device}"
        )
        return Partial(
            start,
            end - start,
            f"{words} already",
            "map all members that are used by one directive, or end the others' mapping",
        )
    if match := re.search(COPYING, text):
        groups = [int(group, 16) for group in (match[1], match[2], match[4], match[5])]
        start, end = groups[2:] if match[3] == "host" else groups[:2]
        way = "from" if match[3] == "host" else "to"
        words = f"{what}: {{size}} cannot be copied {way} device {device} {'to' if way == 'from' else 'from'} {{name}}"
        return Partial(start, end - start, words, "give an address of device memory that has so many bytes")
    if match := re.search(SIZE, text):
        # The message has what it may be.
        words = f"{what} is to map {{name}} with a size of {match[2]} bytes"
        mended = "copy an array of negative stride first, nullify a pointer that points to nothing, or check the length"
        return Partial(int(match[1], 16), 1, words, mended)
    return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is to be done with a pointer, what is wrong with it, and what mends that (with places for name, device)."""

    verb: str
    why: str
    mended: str


_NOT_ATTACHED: Final = Refusal(
    "detach", "which is not attached on device {device}", "remove it, or attach {name} before"
)
_TO_UNMAPPED: Final = "which is not mapped to device {device}"
_MAP_WHOLE: Final = "map what {name} is part of before"
_DETACH_UNMAPPED: Final = Refusal("detach", _TO_UNMAPPED + " itself", _MAP_WHOLE)
_ATTACH_UNMAPPED: Final = Refusal("attach", _TO_UNMAPPED + " itself", _MAP_WHOLE)
REFUSALS: Final = {
    "attach count underflow": _NOT_ATTACHED,
    "no attachment counters for struct": _NOT_ATTACHED,
    "enclosing struct not mapped for detach": _DETACH_UNMAPPED,
    "struct not mapped for detach operation": _DETACH_UNMAPPED,
    "struct not mapped for acc_detach": _DETACH_UNMAPPED,
    "enclosing struct not mapped for attach": _ATTACH_UNMAPPED,
    "outer struct not mapped for attach": _ATTACH_UNMAPPED,
    "struct not mapped for acc_attach": _ATTACH_UNMAPPED,
    "always pointer not mapped": _ATTACH_UNMAPPED,
    "pointer target not mapped for attach": Refusal(
        "attach",
        "and what it points to is not mapped to device {device}",
        "map what {name} points to before, or by the same directive",
    ),
    "attempt to attach null pointer": Refusal(
        "attach", "which is a null pointer", "have {name} point to something mapped before"
    ),
    "Pointer target of array section wasn't mapped": Refusal("attach a pointer to", _TO_UNMAPPED, "map {name} before"),
    "use_device_ptr pointer wasn't mapped": Refusal("translate a pointer to", _TO_UNMAPPED, "map {name} before"),
}
"""By the runtime's text, which is libgomp's (fail_pointer of gompy/runtime)."""


def pointer_words(text: str, what: str, name: str, device: int) -> tuple[str, str] | None:
    """The finding's text and its mend; None: the runtime's text is about no pointer."""
    refusal = REFUSALS.get(text.strip())
    if refusal is None:
        return None
    begin = f"{what} of" if what.startswith("acc_") else f"{what or 'target'} is to {refusal.verb}"
    why = refusal.why.format(device=device)
    return f"{begin} {name or 'a pointer'}, {why}", refusal.mended.format(name=name or "it")


def failed_finding(text: str, event: Event, place: Place, state: State) -> Finding:
    """What is known of a mapping that has failed: at least the runtime's text."""
    finding = Finding("mapping", place, text, event.device)
    if (some := partial(text, event.what, event.device)) is not None:
        finding.start, finding.size = some.start, some.size
        finding.variable = name = state.names.at(some.start, some.size, event.frame)
        finding.message = some.words.format(name=name or "memory", size=amount(some.size))
        finding.mend = some.mended
    elif event.start:
        name = state.names.at(event.start, event.size, event.frame)
        if (words := pointer_words(text, event.what, name, event.device)) is not None:
            finding.start, finding.variable = event.start, name
            finding.message, finding.mend = words
    return finding
