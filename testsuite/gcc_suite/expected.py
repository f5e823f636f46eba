"""Failures that are known: lists of result names with reasons, compared with what happened in both directions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

BAD = ("FAIL", "XPASS", "UNRESOLVED", "ERROR")


class ExpectedError(Exception):
    """A list that cannot be read; the text names file and line."""


@dataclass(frozen=True)
class Difference:
    """unexpected: bad results that no list names.  gone: names on a list whose result was good.

    listed: bad results that a list names.
    """

    unexpected: list[str]
    gone: list[str]
    listed: int = 0

    def summary(self) -> str:
        """One line of the numbers."""
        return (
            f"bad results: {self.listed} on the list, {len(self.unexpected)} unexpected; "
            f"good though on the list: {len(self.gone)}"
        )


def read(path: Path) -> dict[str, str]:
    """``NAME  # reason`` lines: result name to reason; ``*`` in NAME stands for any text.

    Empty lines and lines that begin with # do not count.
    """
    result: dict[str, str] = {}
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise ExpectedError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, mark, reason = line.partition("  # ")
        if not mark or not reason.strip():
            raise ExpectedError(f"{path}:{number}: no reason; write: NAME  # reason")
        result[name.strip()] = reason.strip()
    return result


def compare(expected: dict[str, str], results: Iterable[Sequence[str]]) -> Difference:
    """Compare (status, name) pairs with the names expected to be bad; names that were not run do not count as gone.

    ``*`` in an expected name stands for any text; such a name is gone if all results that it matches are good.
    """
    bad: dict[str, str] = {}
    seen: set[str] = set()
    for status, name in results:
        seen.add(name.strip())
        if status in BAD:
            bad[name.strip()] = status
    exact = {name for name in expected if "*" not in name}
    gone = [name for name in exact if name in seen and name not in bad]
    for name in expected.keys() - exact:
        pattern = re.compile(".*".join(re.escape(part) for part in name.split("*")))
        matching = {result for result in seen if pattern.fullmatch(result)}
        exact |= matching
        if matching and not matching & bad.keys():
            gone.append(name)
    unexpected = [f"{status}: {name}" for name, status in bad.items() if name not in exact]
    return Difference(unexpected, gone, len(bad) - len(unexpected))
