"""Results, read from a libgomp.log.

Everything between two results belongs to the second: the compilation, what the program printed, and the line of the
board file that says what the runtime launched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

STATUSES = ("PASS", "FAIL", "XPASS", "XFAIL", "UNRESOLVED", "UNTESTED", "UNSUPPORTED")
_RESULT = re.compile(rf"({'|'.join(STATUSES)}|ERROR|WARNING): (.*)")
_DRIVER = re.compile(r"Running \S+/(libgomp\.[^/\s]+)/\S+\.exp \.\.\.")
_LAUNCHES = re.compile(r"Device launches of \S+: (.*)")
_ON_DEVICE = re.compile(r"(\d+) on device")
_KERNELS = re.compile(r"\b(\d+) kernels?\b")
_KINDS = re.compile(
    r"\((test for [^()]*)\)|\b(execution test|output pattern test|compilation failed to produce executable)\b|\bscan-"
)


@dataclass(frozen=True)
class Result:
    """One line of libgomp.sum.

    name: blanks squeezed, as in expectation files.  test: the file below libgomp/testsuite with its option set.
    launches: of an execution test, regions that ran on a device, None if the runtime did not say (a program that
    ends by a signal, the stock runtime).  text: what the log has before it.
    """

    directory: str
    status: str
    name: str
    test: str
    launches: int | None = None
    text: str = field(default="", compare=False)

    @property
    def file(self) -> str:
        """The test's file below libgomp/testsuite."""
        return self.test.split(" ", 1)[0]

    @property
    def counts(self) -> bool:
        """Whether the program ran well and was to run regions on a device."""
        return self.executed and self.status == "PASS" and "-foffload=disable" not in self.test

    @property
    def executed(self) -> bool:
        """Whether the line tells how a program ended."""
        return self.name.endswith(" execution test")


def launches_of(text: str) -> int | None:
    """Regions on devices that a line of the board file counts, or kernels that the emulated CUDA driver ran under
    another runtime; None if neither spoke."""
    if "libcuda (gompy)" in text:
        return sum(map(int, _KERNELS.findall(text)))
    return sum(map(int, _ON_DEVICE.findall(text))) if "regions:" in text else None


def test_of(name: str) -> str:
    """The test's file and option set: the name without what was tested."""
    kind = _KINDS.search(name)
    words = name[: kind.start()].split() if kind else name.split()
    if not kind:
        return " ".join(words)
    # Before "(test for errors, line N)" stands the directive's comment, free text: the option set ends before it.
    kept = words[:1]
    for word in words[1:]:
        if not word.startswith("-"):
            break
        kept.append(word)
    return " ".join(kept)


def parse(lines: Iterable[str]) -> list[Result]:
    """The results of a log, in its order."""
    results: list[Result] = []
    directory = ""
    launches: int | None = None
    text: list[str] = []
    for line in lines:
        line = line.rstrip("\r\n")
        driver = _DRIVER.match(line)
        if driver:
            directory, text, launches = driver[1], [], None
            continue
        counted = _LAUNCHES.match(line)
        if counted:
            launches = launches_of(counted[1])
        found = _RESULT.match(line)
        # A program may print such a line; DejaGnu's name a test of this directory, or the directory itself.
        if not found or not (directory and found[2].startswith(directory)):
            text.append(line)
            continue
        name = " ".join(found[2].split())
        executed = name.endswith(" execution test")
        results.append(
            Result(directory, found[1], name, test_of(name), launches if executed else None, "\n".join(text))
        )
        text, launches = [], None
    return results


def read(path: Path) -> list[Result]:
    """The results of a log file.  Raises OSError."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        return parse(stream)
