#!/usr/bin/env python3
"""Run GCC's own libgomp tests that use ``target`` with a compiler, as GCC's DejaGnu drivers would.

Exit status: 0 if the failures are exactly those in the list of expected ones, 1 if not, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parent)) if path not in sys.path]

from gcc_suite import expected, gangs, report, source, stock  # noqa: E402

from gompy.dg import program, runner, scans, targets  # noqa: E402
from gompy.driver.compiler import CXX, FORTRAN, C  # noqa: E402

OPENMP_51 = 14
"""The first release whose tests want that pointers to what is not mapped keep their value."""
SAMPLE = 4
"""--sample takes one test of so many, chosen by its name; of OpenACC's a quarter of that."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Run GCC's libgomp tests that use target constructs.")
    parser.add_argument("directory", nargs="?", type=Path, help="GCC's source (default: Debian's)")
    parser.add_argument("--cc", default="gompcc", help="compiler command, with options if need be (default: gompcc)")
    parser.add_argument("--gcc", type=int, metavar="N", help="gcc-N beneath gompcc, its tests and its list")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    parser.add_argument("--dirs", default=",".join(source.DIRECTORIES), help="of %(default)s")
    parser.add_argument("--filter", action="append", default=[], metavar="GLOB", help="only tests whose name matches")
    parser.add_argument("--skip", action="append", default=[], metavar="GLOB", help="without files of such a name")
    parser.add_argument("--opt-sets", choices=("one", "all"), default="one", help="Fortran: -O2 only, or all six sets")
    parser.add_argument("--all-tests", action="store_true", help="also tests that do not use target")
    parser.add_argument("--expected", help="list of expected failures (default: by the compiler; none: no list)")
    parser.add_argument("--timeout", type=float, help="seconds for each program (default: the test's, 300)")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="where libgomp.sum and libgomp.log go")
    parser.add_argument(
        "--sample",
        type=int,
        nargs="?",
        const=SAMPLE,
        default=0,
        metavar="N",
        help=f"one test in N ({SAMPLE}), chosen by name; none if there is no source here",
    )
    parser.add_argument("-q", action="store_true", help="no line for each test")
    return parser.parse_args()


def compiler_words(text: str) -> list[str]:
    """The compiler's command; a bare gompcc is the one beside this Python.  Raises SourceError."""
    words = text.split()
    beside = Path(sys.executable).parent / words[0]
    if words[0].startswith("gomp") and beside.exists():
        words[0] = str(beside)
    elif shutil.which(words[0]) is None:
        raise source.SourceError(f"{words[0]}: no such compiler")
    return words


def use_release(release: int) -> None:
    """Have the wrappers run a release's compilers."""
    for language in (C, CXX, FORTRAN):
        os.environ[language.variable] = f"{language.default}-{release}"


def expectations(choice: str | None, compiler: list[str], release: int | None = None) -> dict[str, str]:
    """The list of expected failures for a compiler.  Raises ExpectedError."""
    gompy = Path(compiler[0]).name.startswith("gomp")
    if choice is None:
        device = "nvptx" if "-foffload=nvptx-none" in compiler else "intelmic"
        choice = device if release in (None, source.OLDEST) else f"{device}-{release}{'' if gompy else '-stock'}"
        if not gompy and (release is None or not (HERE / "expected" / f"{choice}.txt").exists()):
            choice = "none" if release is None else ""  # gcc's own may have no list yet
    if choice == "none":
        return {}
    path = Path(choice) if "/" in choice else HERE / "expected" / f"{choice}.txt"
    older = not gompy and (release or source.OLDEST) < OPENMP_51 and stock.keeps_unmapped_pointers()
    listed = expected.read(path) if choice else {}
    many = any(gangs.holds(reason, True) != gangs.holds(reason, False) for reason in listed.values()) and (
        gangs.are_many(compiler[0])
    )
    listed = {name: reason for name, reason in listed.items() if gangs.holds(reason, many)}
    return {**listed, **(stock.openmp_51_failures() if older else {})}


def wanted(test: program.TestFile, options: argparse.Namespace) -> bool:
    """Whether the command line selects the test."""
    if options.filter and not any(fnmatch(test.name, f"*{glob}*") for glob in options.filter):
        return False
    if any(fnmatch(test.path.name, glob) for glob in options.skip):
        return False
    # for-*.c: compilations of many seconds each.
    part = options.sample * 4 if test.openacc else options.sample
    if options.sample and (test.path.name.startswith("for-") or zlib.crc32(test.name.encode()) % part):
        return False
    return options.all_tests or test.openacc or source.uses_offloading(test.path, test.text)


def offload_targets(compiler: list[str]) -> tuple[str, ...]:
    """The targets whose dumps dg-final scans."""
    if "-foffload=nvptx-none" in compiler:
        return ("nvptx-none",)
    return (scans.OFFLOAD_TARGET,) if Path(compiler[0]).name.startswith("gomp") else ()


def run_all(options: argparse.Namespace, tests: Path, compiler: list[str]) -> list[runner.Outcome]:
    """Run what is selected, with a progress line each; the outcomes in DejaGnu's order."""
    environment = runner.base_environment()
    settings = runner.Settings(
        tests,
        tuple(compiler),
        targets.EffectiveTargets(compiler, runner.always(tests), environment),
        environment,
        options.opt_sets == "all",
        options.timeout,
        offload_targets(compiler),
    )
    work = [
        (test, option_set)
        for directory in options.dirs.split(",")
        for test in source.find(tests, directory)
        if wanted(test, options)
        for option_set in runner.option_sets(test, settings)
    ]
    null = {**environment, "GOMPY_UNMAPPED": "null"}
    older = dataclasses.replace(settings, environment=null)
    names = source.openmp_50_tests() if (options.gcc or source.OLDEST) < OPENMP_51 else frozenset()
    outcomes: list[runner.Outcome | None] = [None] * len(work)
    with ThreadPoolExecutor(options.j) as pool:
        futures = {
            pool.submit(runner.Run(t, s, older if t.path.name in names else settings).go): i
            for i, (t, s) in enumerate(work)
        }
        for done, future in enumerate(as_completed(futures), 1):
            outcome = outcomes[futures[future]] = future.result()
            if options.q and outcome.status != "fail":
                continue
            where = "" if outcome.launches is None else f", {outcome.launches} on the device"
            times = f"{outcome.compile_seconds:.2f} + {outcome.run_seconds:.2f} s"
            name = f"{outcome.test.name} {' '.join(outcome.option_set)}".rstrip()
            print(f"[{done}/{len(work)}] {outcome.status:11} {name} ({times}{where})", flush=True)
    return [o for o in outcomes if o is not None]


def main() -> int:
    """Run, report, compare."""
    options = arguments()
    begin = time.monotonic()
    release = options.gcc or source.OLDEST
    if options.sample and options.directory is None and not source.at_hand(release):
        print(f"sample of GCC's libgomp tests: skipped, Debian's {source.package(release)} is not installed")
        return 0
    if options.gcc:
        use_release(options.gcc)
    try:
        tests = source.testsuite_of(options.directory) if options.directory else source.default_tests(release)
        compiler = compiler_words(options.cc)
        known = expectations(options.expected, compiler, options.gcc)
    except (source.SourceError, expected.ExpectedError) as error:
        print(f"run_gcc_tests.py: error: {error}", file=sys.stderr)
        return 2
    unknown = set(options.dirs.split(",")) - set(source.DIRECTORIES)
    if unknown:
        names = ", ".join(sorted(unknown))
        print(f"run_gcc_tests.py: error: --dirs: {names}: no such directory of tests", file=sys.stderr)
        return 2
    outcomes = run_all(options, tests, compiler)
    if not outcomes:
        print("run_gcc_tests.py: error: no test is selected", file=sys.stderr)
        return 2
    report.write(options.out, tests, outcomes)
    print(f"\n{report.table(outcomes)}\n")
    if any(o.launches is not None for o in outcomes):
        idle = report.never_launched(outcomes)
        print(f"passed without a region on the device: {len(idle)}")
        print(*(f"  {name}" for name in idle), sep="\n")
    difference = expected.compare(known, (r for o in outcomes for r in o.results))
    for line in difference.unexpected:
        print(f"unexpected: {line}")
    for name in difference.gone:
        print(f"expected to fail ({known[name]}), but good: {name}")
    print(difference.summary())
    print(f"{options.out}/libgomp.sum, libgomp.log; {time.monotonic() - begin:.0f} s")
    return 1 if difference.unexpected or difference.gone else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
