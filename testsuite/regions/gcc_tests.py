"""The JSON of GCC's own libgomp tests beside what their programs ask of the runtime: kinds and order, each construct.

Exit status 1 if a test disagrees that testsuite/expected/regions.txt does not name, or one that it names agrees; 2 for
wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
sys.path[:0] = [path for path in (str(HERE.parent), str(ROOT), str(ROOT / "tests")) if path not in sys.path]

import regions_trace  # noqa: E402
import runs  # noqa: E402
from gcc_suite import expected, source  # noqa: E402

from gompy.dg import plan, runner  # noqa: E402

LIST: Final = HERE.parent / "expected" / "regions.txt"


class Traced(NamedTuple):
    """A program that ran: its constructs with and without code that were compared, what disagrees."""

    name: str
    regions: int
    others: int
    wrong: list[str]


class Run(runner.Run):
    """A test, and what traced.py has found."""

    traced: Traced | None = None

    def run(self, wanted: plan.TestPlan, work: Path, program: str) -> None:
        """Run it; keep what was found before the folder goes."""
        super().run(wanted, work, program)
        found = work / "traced.json"
        if found.exists():
            self.traced = Traced(runner.full_name(self.test, self.outcome.option_set), *json.loads(found.read_text()))


def results(traced: Sequence[Traced]) -> Iterator[tuple[str, str]]:
    """(status, name) of each: bad if something disagrees."""
    for one in traced:
        yield ("FAIL" if one.wrong else "PASS"), one.name


def judge(options: argparse.Namespace) -> bool:
    """Run, print the numbers; whether all is as the list says.  Raises SourceError, ExpectedError."""
    known = expected.read(LIST)
    with tempfile.TemporaryDirectory() as folder:
        ran = runs.go(options, Run, HERE / "traced.py", str(regions_trace.build(Path(folder))))
    traced = [run.traced for run in ran if run.traced is not None]
    asked = [one for one in traced if one.regions or one.others]
    print(f"{len(ran)} tests, {len(traced)} programs that ran, {len(asked)} with constructs on their way")
    agree = [one for one in asked if not one.wrong]
    print(f"  {len(agree)} agree: {sum(o.regions for o in agree)} regions, {sum(o.others for o in agree)} others")
    for one in asked:
        if one.wrong and (options.verbose or one.name.strip() not in known):
            print(f"== {one.name}", *one.wrong, sep="\n  ")
    difference = expected.compare(known, results(traced))
    for line in difference.unexpected:
        print(f"unexpected: {line}")
    for name in difference.gone:
        print(f"expected ({known[name]}), but it agrees: {name}")
    print(difference.summary())
    return not difference.unexpected and not difference.gone and bool(asked)


def main() -> int:
    """Run; compare."""
    parser = runs.parser("the JSON of GCC's libgomp tests beside what they ask of the runtime", source.DIRECTORIES)
    parser.add_argument("--verbose", action="store_true", help="what disagrees, also of those on the list")
    options = parser.parse_args()
    try:
        return int(not judge(options))
    except (source.SourceError, expected.ExpectedError) as error:
        print(f"gcc_tests.py: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
