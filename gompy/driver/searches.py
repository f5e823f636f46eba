"""What a plan has looked at besides the words: files of the command, and where compilers could have been.

Each look is told to who asks (memory.py): a command for which all came out alike gets the same plan.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

LARGEST_SEARCHED = 1 << 26
"""Bytes of the largest file that is looked into."""
_noting: Noted | None = None


class Noted:
    """Notes what is looked at meanwhile.

    ``searches``: (name of a file, what was looked for in it); ``candidates``: paths that could have been a compiler's.
    """

    def __init__(self) -> None:
        self.searches: list[tuple[str, bytes]] = []
        self.candidates: list[str] = []

    def __enter__(self) -> Noted:
        global _noting
        _noting = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _noting
        _noting = None


def note(name: str, *needles: bytes) -> None:
    """Note a search whose file is read elsewhere."""
    if _noting is not None:
        _noting.searches += [(name, needle) for needle in needles]


def note_candidate(path: str) -> None:
    """Note a path that could be a compiler's."""
    if _noting is not None:
        _noting.candidates.append(path)


def contains(name: str, *needles: bytes) -> list[bool]:
    """Whether a file contains each of the byte strings; all False if it cannot be read, or is too long to search."""
    import mmap

    note(name, *needles)
    try:
        if os.stat(name).st_size > LARGEST_SEARCHED:
            return [False for _ in needles]
        with open(name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return [data.find(needle) >= 0 for needle in needles]
    except (OSError, ValueError):
        return [False for _ in needles]


def begin_contains(name: str, needle: bytes) -> bool:
    """Whether as much of a file as is searched contains a byte string.  Read, not mapped: each link does it."""
    note(name, needle)
    try:
        with open(name, "rb") as file:
            return needle in file.read(LARGEST_SEARCHED)
    except OSError:
        return False
