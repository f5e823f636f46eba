"""The kept list of results other than PASS: compared with a run in both directions.

A line is `STATUS: NAME  # reason`: blanks in NAME are squeezed, `*` stands for any text (the option sets).  Every
result that NAME matches must have that status, and every result that is neither PASS nor XFAIL must be on the list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dejagnu.log import Result

GOOD = ("PASS", "XFAIL")
"""XFAIL is what the suite itself expects."""
_LINE = re.compile(r"(FAIL|XPASS|UNRESOLVED|UNTESTED|UNSUPPORTED|ERROR|WARNING): (.*?\S)  # (.*\S)\s*$")


class ExpectationError(Exception):
    """A list that cannot be read; the text names file and line."""


@dataclass
class Entry:
    """A line of the list."""

    status: str
    name: str
    reason: str
    pattern: re.Pattern[str] = field(repr=False)


@dataclass
class Difference:
    """unexpected: lines of the run that the list does not have.  gone: results that the list calls bad and are not."""

    unexpected: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.unexpected or self.gone)


def entry(status: str, name: str, reason: str) -> Entry:
    """An entry with its compiled pattern."""
    squeezed = " ".join(name.split())
    text = ".*".join(re.escape(part) for part in squeezed.split("*"))
    return Entry(status, squeezed, reason, re.compile(text))


def read(path: Path) -> list[Entry]:
    """The entries of a list; empty lines and lines that begin with # do not count."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise ExpectationError(f"{path}: {error.strerror}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.match(line)
        if not found:
            raise ExpectationError(f"{path}:{number}: write: STATUS: NAME  # reason")
        entries.append(entry(found[1], found[2], found[3]))
    return entries


def compare(entries: Sequence[Entry], results: Iterable[Result]) -> Difference:
    """Both differences.  Entries whose tests did not run say nothing."""
    difference = Difference()
    by_file: dict[str, list[Entry]] = {}
    for item in entries:
        by_file.setdefault(item.name.split(" ", 1)[0], []).append(item)
    general = [item for name, items in by_file.items() if "*" in name for item in items]
    for result in results:
        candidates = [*by_file.get(result.file, ()), *general]
        matching = [item for item in candidates if item.pattern.fullmatch(result.name)]
        if result.status in GOOD:
            difference.gone += [
                f"{result.status}: {result.name} (listed as {m.status}: {m.reason})" for m in matching[:1]
            ]
        elif not any(item.status == result.status for item in matching):
            difference.unexpected.append(f"{result.status}: {result.name}")
    return difference
