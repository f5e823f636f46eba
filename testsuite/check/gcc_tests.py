"""GCC's own libgomp tests under gompy run --check: which reports there are, against a list with reasons.

`any` checks the programs as they are, `exact` those made with -foffload-check, `nvptx` those for the emulated GPU;
`race` looks for races of their regions there, and is not among those that are run if none is named.  Exit status 1 if a
test has a report that testsuite/expected/check-WAY.txt does not name, or has no longer one that it names; 2 for wrong
usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [path for path in (str(HERE.parent), str(ROOT)) if path not in sys.path]

from gcc_suite import expected, source  # noqa: E402
from run_gcc_tests import compiler_words, offload_targets  # noqa: E402

from gompy.check.findings import KINDS  # noqa: E402
from gompy.dg import runner, targets  # noqa: E402

RACE: Final = "race"
WAYS: Final = {
    "any": ((), ("--any", "--check")),
    "exact": (("-foffload-check",), ("--any", "--check")),
    "nvptx": (("-foffload=nvptx-none",), ("--any", "--device", "nvptx", "--check")),
    RACE: (("-foffload=nvptx-none",), ("--any", "--device", "nvptx", "--check=race")),
}
"""The compiler's options, and those of gompy run."""
USUAL: Final = "any,exact,nvptx"
REPORT: Final = re.compile(r": error: .* \[([a-z-]+)\]$", re.MULTILINE)
RAN: Final = "execution test"


def name_of(outcome: runner.Outcome) -> str:
    """The test's name, with its options."""
    return runner.full_name(outcome.test, outcome.option_set)


def judged(way: str) -> set[str]:
    """The kinds of errors that a way is for."""
    return {RACE} if way == RACE else set(KINDS)


def kinds(outcome: runner.Outcome, way: str) -> set[str] | None:
    """The kinds of errors that were reported; None if the test did not run, or not well."""
    if ("PASS", f"{name_of(outcome)}{RAN}") not in outcome.results:
        return None
    output = "".join(step.output for step in outcome.steps if step.title == "program")
    return set(REPORT.findall(output)) & judged(way)


def results(outcomes: Sequence[runner.Outcome], way: str) -> Iterator[tuple[str, str]]:
    """(status, name) for each test and kind: bad if there was a report."""
    for outcome in outcomes:
        found = kinds(outcome, way)
        for kind in judged(way) if found is not None else ():
            yield ("FAIL" if kind in (found or ()) else "PASS"), f"{name_of(outcome)}[{kind}]"


def run(way: str, options: argparse.Namespace) -> list[runner.Outcome]:
    """Compile and run all; the outcomes in the order of the names.  Raises SourceError."""
    tests = source.default_tests(source.OLDEST)
    compiler = [*compiler_words("gompcc -g"), *WAYS[way][0]]
    # The runtime gives an emulated GPU by itself to none but a program with code for it.
    environment = runner.base_environment() | ({"GOMPY_CUDA": "emulated"} if "nvptx" in WAYS[way][1] else {})
    gompy = str(Path(compiler[0]).with_name("gompy"))
    settings = runner.Settings(
        tests,
        tuple(compiler),
        targets.EffectiveTargets(compiler, runner.always(tests), environment),
        environment,
        offload_targets=offload_targets(compiler),
        before=(gompy, "run", *WAYS[way][1], "--check-status", "0"),
    )
    null = dataclasses.replace(settings, environment={**environment, "GOMPY_UNMAPPED": "null"})
    old = source.openmp_50_tests()
    work = [
        (test, option_set, null if test.path.name in old else settings)
        for directory in options.dirs.split(",")
        for test in source.find(tests, directory)
        if options.filter in test.name
        and not test.path.name.startswith("for-")  # minutes of compiling
        and (test.openacc or source.uses_offloading(test.path, test.text))
        for option_set in runner.option_sets(test, settings)
    ]
    with ThreadPoolExecutor(options.j) as pool:
        return list(pool.map(lambda one: runner.Run(*one).go(), work))


def judge(way: str, options: argparse.Namespace) -> bool:
    """Run one way, print its numbers; whether all is as the list says.  Raises SourceError, ExpectedError."""
    known = expected.read(HERE.parent / "expected" / f"check-{way}.txt")
    outcomes = run(way, options)
    found = {name_of(outcome): kinds(outcome, way) for outcome in outcomes}
    ran = {name: reported for name, reported in found.items() if reported is not None}
    without = sum(not reported for reported in ran.values())
    print(f"{way}: {len(ran)} tests ran and passed: {without} have no report, {len(ran) - without} have one")
    count = Counter(kind for reported in ran.values() for kind in reported)
    for kind in sorted(count):
        print(f"  {kind}: {count[kind]}")
    if options.verbose:
        for outcome in outcomes:
            if ran.get(name_of(outcome)):
                print(f"== {name_of(outcome)}", *(s.output for s in outcome.steps if s.title == "program"), sep="\n")
            elif outcome.is_run and name_of(outcome) not in ran:
                print(f"== {name_of(outcome)}: did not run well", *outcome.log, sep="\n")
    difference = expected.compare(known, results(outcomes, way))
    for line in difference.unexpected:
        print(f"unexpected: {line}")
    for name in difference.gone:
        print(f"expected ({known[name]}), but not reported: {name}")
    print(difference.summary().replace("bad results", "reports"))
    return not difference.unexpected and not difference.gone


def main() -> int:
    """Run; compare."""
    parser = argparse.ArgumentParser(description="GCC's libgomp tests under gompy run --check")
    parser.add_argument("--way", default=USUAL, metavar="A,B", help=f"of {','.join(WAYS)} (%(default)s)")
    parser.add_argument("--dirs", default=",".join(source.DIRECTORIES), metavar="A,B", help="of %(default)s")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only tests whose name has it")
    parser.add_argument("--verbose", action="store_true", help="what was reported")
    options = parser.parse_args()
    ways = options.way.split(",")
    for way in ways:
        if way not in WAYS:
            parser.error(f"--way: {way}: no such way")
    try:
        right = [judge(way, options) for way in ways]
    except (source.SourceError, expected.ExpectedError) as error:
        print(f"gcc_tests.py: error: {error}", file=sys.stderr)
        return 2
    return int(not all(right))


if __name__ == "__main__":
    sys.exit(main())
