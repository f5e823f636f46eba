"""What the runtime says when a construct asks for more of an object than is mapped, or for what is not."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Final
else:
    from gompy.records import dataclass

EXTENSION: Final = (
    r"Trying to (?:map into device|update) \[(0x[0-9a-f]+)\.\.(0x[0-9a-f]+)\) object when (?:only )?"
    r"\[(0x[0-9a-f]+)\.\.(0x[0-9a-f]+)\) is"
)
OUTSIDE: Final = r"\[(0x[0-9a-f]+),\+(\d+)\] outside mapped block \[(0x[0-9a-f]+),\+(\d+)\]"
NOT_MAPPED: Final = r"\[(0x[0-9a-f]+),\+?(\d+)\](?: is)? not mapped"


@dataclass(frozen=True, slots=True)
class Refused:
    """The host's range that was asked for, and the one that is mapped; where that is not said: its size is 0."""

    start: int
    size: int
    old: int = 0
    old_size: int = 0


def refused(text: str) -> Refused | None:
    """The ranges of such a message."""
    if match := re.search(EXTENSION, text):
        start, end, old, old_end = (int(group, 16) for group in match.groups())
        return Refused(start, end - start, old, old_end - old)
    if match := re.search(OUTSIDE, text):
        return Refused(int(match[1], 16), int(match[2]), int(match[3], 16), int(match[4]))
    if match := re.search(NOT_MAPPED, text):
        return Refused(int(match[1], 16), int(match[2]))
    return None


def in_words(what: str) -> tuple[str, str]:
    """What the construct was to do, and what mends it, with a place for the name."""
    if "update" in what:
        return "copy", "map all of {} at first, or copy no more than that here"
    if "exit" in what or what in ("acc_copyout", "acc_delete"):
        return "unmap", "map all of {} at first, or name no more than that here"
    return "map", "map all of {} at first, or end the first mapping before this one"
