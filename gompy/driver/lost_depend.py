"""gfortran 12 drops ``depend`` of a combined target construct (``target teams distribute depend(…)``) without a word.

Its front end has no such clause in the tree any more (``-fdump-tree-original``), so nothing behind it can put the order
back: regions that are nowait then overlap, or run before what they depend on.  Plain ``target`` keeps the clause.
"""

from __future__ import annotations

import re

from gompy.driver.errors import quote
from gompy.driver.searches import note

DIRECTIVE = re.compile(rb"^[ \t]*[!c*]\$omp[^a-z]", re.IGNORECASE)
"""Its last character is a blank or 0, or the mark of a continuation line (fixed form, or free form's &)."""
COMBINED = re.compile(rb"^target[ \t]+(?:teams|parallel|simd)\b.*\bdepend[ \t]*\(", re.IGNORECASE)

WORDS = (b"depend", b"DEPEND", b"Depend")
"""A source without any of them has no such construct."""


def places(path: str) -> list[int]:
    """The lines of a source file with such a construct; none if it cannot be read, which gcc will tell."""
    note(path, *WORDS)
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return []
    if not any(word in text for word in WORDS):
        return []
    found = []
    directive, start = b"", 0
    for number, line in enumerate([*text.splitlines(), b""], 1):
        match = DIRECTIVE.match(line)
        sentinel = line[: match.end()] if match else b""
        body = line[len(sentinel) :].split(b"!")[0].strip() if match else b""
        marked = directive.endswith(b"&") or sentinel[-1:] not in (b" ", b"\t", b"0") or body[:1] == b"&"
        continued = match is not None and marked
        if continued:
            directive = directive.rstrip(b"& \t") + b" " + body.lstrip(b"& \t")
            continue
        if COMBINED.match(directive.replace(b"&", b" ")):
            found.append(start)
        directive, start = body, number
    return found


def warnings(sources: list[str]) -> list[str]:
    """A text for each place."""
    return [
        f"{path}:{line}: gfortran 12 drops {quote('depend')} of this combined construct: its order is lost; "
        f"write {quote('target')} and what it is combined with as two constructs, or wait by {quote('taskwait')}"
        for path in sources
        for line in places(path)
    ]
