"""libgomp.sum and libgomp.log as DejaGnu writes them, and the table at the end.

Source: DejaGnu 1.6.3 framework.exp (the wording that GCC 12's contrib scripts read).
"""

from __future__ import annotations

import getpass
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gompy.dg.runner import Outcome
from gompy.dg.selectors import TRIPLET

_SUMMARY = (
    ("PASS", "# of expected passes\t\t"),
    ("FAIL", "# of unexpected failures\t"),
    ("XPASS", "# of unexpected successes\t"),
    ("XFAIL", "# of expected failures\t\t"),
    ("UNRESOLVED", "# of unresolved testcases\t"),
    ("UNTESTED", "# of untested testcases\t\t"),
    ("UNSUPPORTED", "# of unsupported tests\t\t"),
)


def _head(tool_dirs: Sequence[str], tests: Path) -> list[str]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return [
        f"Test Run By {user} on {time.strftime('%a %b %e %H:%M:%S %Y')}",
        f"Native configuration is {TRIPLET}",
        "",
        "\t\t=== libgomp tests ===",
        "",
        "Schedule of variations:",
        "    unix",
        "",
        "Running target unix",
    ]


def write(out: Path, tests: Path, outcomes: Sequence[Outcome]) -> None:
    """Write OUT/libgomp.sum and OUT/libgomp.log.  Raises OSError."""
    out.mkdir(parents=True, exist_ok=True)
    order = list(dict.fromkeys(o.test.directory for o in outcomes))
    head = _head(order, tests)
    counts = Counter(status for o in outcomes for status, _ in o.results)
    tail = ["", "\t\t=== libgomp Summary ===", ""]
    tail += [f"{label}{counts[status]}" for status, label in _SUMMARY if counts[status]]
    with (out / "libgomp.sum").open("w") as short, (out / "libgomp.log").open("w") as log:
        print(*head, sep="\n", file=short)
        print(*head, sep="\n", file=log)
        for directory in order:
            running = f"Running {tests}/{directory}/{directory.removeprefix('libgomp.')}.exp ..."
            print(running, file=short)
            print(running, file=log)
            for outcome in (o for o in outcomes if o.test.directory == directory):
                for status, name in outcome.results:
                    print(f"{status}: {name}", file=short)
                print(*outcome.log, sep="\n", file=log)
        print(*tail, sep="\n", file=short)
        print(*tail, sep="\n", file=log)


@dataclass
class Row:
    """One directory's line of the table; the numbers count run tests, one with all its option sets as one."""

    directory: str
    tests: int = 0
    passed: int = 0
    failed: int = 0
    unsupported: int = 0
    launched: int = 0


def _directory(outcome: Outcome) -> str:
    return outcome.test.directory + (" (c-c++-common)" if "/../" in outcome.test.name else "")


def rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """The table's lines and, last, their sum.  Only run tests count."""
    by_test: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.is_run:
            by_test.setdefault(outcome.test.name, []).append(outcome)
    table: dict[str, Row] = {}
    for group in by_test.values():
        row = table.setdefault(_directory(group[0]), Row(_directory(group[0])))
        kinds = {o.status for o in group}
        row.tests += 1
        row.failed += "fail" in kinds
        row.passed += "fail" not in kinds and "pass" in kinds
        row.unsupported += kinds == {"unsupported"}
        row.launched += any(o.launches for o in group)
    total = Row("all")
    for row in table.values():
        for name in ("tests", "passed", "failed", "unsupported", "launched"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    return [*table.values(), total]


def table(outcomes: Sequence[Outcome]) -> str:
    """The table as text."""
    head = f"{'directory':32}{'run tests':>10}{'pass':>7}{'fail':>7}{'unsupp.':>9}{'pass/supp.':>12}{'on device':>11}"
    lines = [head]
    for row in rows(outcomes):
        supported = row.passed + row.failed
        share = f"{100 * row.passed / supported:.1f} %" if supported else "-"
        lines.append(
            f"{row.directory:32}{row.tests:>10}{row.passed:>7}{row.failed:>7}{row.unsupported:>9}{share:>12}{row.launched:>11}"
        )
    return "\n".join(lines)


def never_launched(outcomes: Sequence[Outcome]) -> list[str]:
    """Run tests that passed without any region on a device."""
    return [
        f"{o.test.name} {' '.join(o.option_set)}".rstrip()
        for o in outcomes
        if o.is_run and o.status == "pass" and not o.launches
    ]
