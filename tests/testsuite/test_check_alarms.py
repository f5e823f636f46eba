"""The runner of GCC's tests under gompy run --check: which reports it sees.

The tests themselves are run by `make check-alarms`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gompy.check.findings import KINDS
from gompy.dg import explain, program, runner
from testsuite.check import gcc_tests
from testsuite.gcc_suite import expected

EXPECTED = Path(gcc_tests.HERE.parent) / "expected"
SAID = "p.c:3: error: a (4 bytes) is still mapped to device 0 when the program ends [still-mapped]\n"


def outcome(result: str, output: str) -> runner.Outcome:
    """A test that ran, as the runner leaves it."""
    made = runner.Outcome(program.TestFile("libgomp.c", "libgomp.c/p.c", Path("p.c"), "c", ""), ())
    made.results.append((result, "libgomp.c/p.c execution test"))
    made.steps.append(explain.Step("program", "./p", "exit status 0", output))
    return made


@pytest.mark.parametrize(
    ("result", "output", "found"),
    [
        ("PASS", "", set()),
        ("PASS", SAID, {"still-mapped"}),
        ("PASS", SAID.replace("error", "advice"), set()),
        ("FAIL", SAID, None),
    ],
)
def test_what_is_seen(result: str, output: str, found: set[str] | None) -> None:
    assert gcc_tests.kinds(outcome(result, output), "any") == found


def test_a_report_is_bad() -> None:
    results = dict(reversed(pair) for pair in gcc_tests.results([outcome("PASS", SAID)], "any"))
    assert [name for name, status in results.items() if status == "FAIL"] == ["libgomp.c/p.c [still-mapped]"]
    assert len(results) == len(KINDS)


def test_races_alone_are_judged() -> None:
    """Under --check=race other errors are not what is looked for."""
    assert gcc_tests.kinds(outcome("PASS", SAID), "race") == set()
    race = SAID.replace("still-mapped", "race")
    assert list(gcc_tests.results([outcome("PASS", race)], "race")) == [("FAIL", "libgomp.c/p.c [race]")]


@pytest.mark.parametrize("way", gcc_tests.WAYS)
def test_the_lists(way: str) -> None:
    for name, reason in expected.read(EXPECTED / f"check-{way}.txt").items():
        assert name.rpartition("[")[2].rstrip("]") in KINDS
        assert reason
