"""The kept list of results other than PASS: compared with a run in both directions.

A line is `STATUS: NAME  # reason`: blanks in NAME are squeezed, `*` stands for any text (the option sets).  Every
result that NAME matches must have that status, and every result that is neither PASS nor XFAIL must be on the list.
Two statuses are ours.  NOLAUNCH: a test, with its option set, that passed its execution without a region on a device.
TIMING: a result that depends on how busy the machine is; it may have any status.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dejagnu.log import Result

NOLAUNCH = "NOLAUNCH"
TIMING = "TIMING"
GOOD = ("PASS", "XFAIL")
"""XFAIL is what the suite itself expects."""
_LINE = re.compile(r"(FAIL|XPASS|UNRESOLVED|UNTESTED|UNSUPPORTED|ERROR|WARNING|NOLAUNCH|TIMING): (.*?\S)  # (.*\S)\s*$")


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

    def add(self, status: str, name: str, matching: Sequence[Entry], good: bool) -> None:
        """Take in one result and the entries that match its name."""
        if any(item.status == TIMING for item in matching):
            return
        if good:
            self.gone += [f"{status}: {name} (listed as {m.status}: {m.reason})" for m in matching[:1]]
        elif not any(item.status == status for item in matching):
            self.unexpected.append(f"{status}: {name}")

    def __bool__(self) -> bool:
        return bool(self.unexpected or self.gone)


def entry(status: str, name: str, reason: str) -> Entry:
    """An entry with its compiled pattern."""
    squeezed = " ".join(name.split())
    text = ".*".join(re.escape(part) for part in squeezed.split("*"))
    return Entry(status, squeezed, reason, re.compile(text))


def read(path: Path) -> list[Entry]:
    """The entries of a list; `include FILE` takes in a list beside it; empty lines and lines with # do not count."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise ExpectationError(f"{path}: {error.strerror}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("include "):
            entries += read(path.parent / line.removeprefix("include ").strip())
            continue
        found = _LINE.match(line)
        if not found:
            raise ExpectationError(f"{path}:{number}: write: STATUS: NAME  # reason")
        entries.append(entry(found[1], found[2], found[3]))
    return entries


def compare(
    entries: Sequence[Entry], results: Iterable[Result], launches: bool | Collection[str] = False
) -> Difference:
    """Both differences.  Entries whose tests did not run say nothing.

    launches: whether regions are to be counted, or the files of which they are.
    """
    difference = Difference()
    by_file: dict[str, list[Entry]] = {}
    for item in entries:
        by_file.setdefault(item.name.split(" ", 1)[0], []).append(item)
    general = [item for name, items in by_file.items() if "*" in name for item in items]
    for result in results:
        candidates = [*by_file.get(result.file, ()), *general]
        named = [item for item in candidates if item.status != NOLAUNCH and item.pattern.fullmatch(result.name)]
        difference.add(result.status, result.name, named, result.status in GOOD)
        if result.counts and (launches if isinstance(launches, bool) else result.file in launches):
            idle = [item for item in candidates if item.status == NOLAUNCH and item.pattern.fullmatch(result.test)]
            difference.add(NOLAUNCH, result.test, idle, bool(result.launches))
    return difference
