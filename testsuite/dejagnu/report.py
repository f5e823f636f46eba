"""What a run shows at its end: numbers per directory, tests that launched nothing, JUnit XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from dejagnu.log import STATUSES, Result

_CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT_LIMIT = 20_000
"""Characters of the log that a failure carries in JUnit XML."""


@dataclass
class Row:
    """A line of the table.

    files: tests.  runs: tests times option sets.  executed: programs run.  launched: those that
    ran a region on a device.
    """

    name: str
    files: set[str] = field(default_factory=set)
    runs: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    executed: int = 0
    launched: int = 0

    def take(self, result: Result) -> None:
        """Count a result."""
        self.files.add(f"{result.directory} {result.file}")
        self.runs.add(f"{result.directory} {result.test}")
        self.counts[result.status] += 1
        if result.executed:
            self.executed += 1
            self.launched += bool(result.launches)


def row_name(result: Result) -> str:
    """The directory that a result counts for: that of the driver, and of the common files if it is one."""
    common = re.match(r"[^/]+/\.\./([^/]+)/", result.file)
    return (
        f"{result.directory} ({common[1].removeprefix('libgomp.').removeprefix('oacc-')})"
        if common
        else result.directory
    )


def rows(results: Sequence[Result]) -> list[Row]:
    """A row per directory in the order of the run, then their sum."""
    table: dict[str, Row] = {}
    total = Row("all")
    for result in results:
        row = table.setdefault(row_name(result), Row(row_name(result)))
        row.take(result)
        total.take(result)
    return [*table.values(), total]


def table(results: Sequence[Result]) -> str:
    """The numbers per directory as text."""
    heads = ("tests", "runs", *STATUSES, "executed", "on device")
    short = {"UNRESOLVED": "UNRES", "UNTESTED": "UNTEST", "UNSUPPORTED": "UNSUPP"}
    lines = [f"{'directory':36}" + "".join(f"{short.get(head, head):>10}" for head in heads)]
    for row in rows(results):
        numbers = (len(row.files), len(row.runs), *(row.counts[s] for s in STATUSES), row.executed, row.launched)
        lines.append(f"{row.name:36}" + "".join(f"{number or '-':>10}" for number in numbers))
    return "\n".join(lines)


def never_launched(results: Sequence[Result]) -> list[str]:
    """Executions that passed although no region of theirs is known to have run on a device: name, and why if known."""
    lines = []
    for result in results:
        if result.counts and not result.launches:
            why = "no region" if result.launches == 0 else "no count: ended by a signal or _exit, or another runtime"
            lines.append(f"{result.test} ({why})")
    return lines


def junit(results: Sequence[Result], path: Path) -> None:
    """Write JUnit XML: a suite per directory, a case per line of libgomp.sum.  Raises OSError."""
    top = ElementTree.Element("testsuites", name="libgomp")
    suites: dict[str, ElementTree.Element] = {}
    counts: dict[str, Counter[str]] = {}
    for result in results:
        directory = result.directory
        if directory not in suites:
            suites[directory] = ElementTree.SubElement(top, "testsuite", name=directory)
            counts[directory] = Counter()
        counts[directory][result.status] += 1
        case = ElementTree.SubElement(suites[directory], "testcase", classname=result.file, name=result.name)
        if result.status in ("UNSUPPORTED", "UNTESTED", "XFAIL"):
            ElementTree.SubElement(case, "skipped", message=result.status)
        elif result.status != "PASS":
            kind = "error" if result.status in ("UNRESOLVED", "ERROR") else "failure"
            element = ElementTree.SubElement(case, kind, message=result.status)
            element.text = _CONTROL.sub("?", result.text[-_TEXT_LIMIT:])
    for directory, suite in suites.items():
        count = counts[directory]
        suite.set("tests", str(sum(count.values())))
        suite.set("failures", str(count["FAIL"] + count["XPASS"] + count["WARNING"]))
        suite.set("errors", str(count["UNRESOLVED"] + count["ERROR"]))
        suite.set("skipped", str(count["UNSUPPORTED"] + count["UNTESTED"] + count["XFAIL"]))
    ElementTree.ElementTree(top).write(path, encoding="utf-8", xml_declaration=True)
