"""GCC's own libgomp tests compiled with the JSON of their regions, each run under a program of this folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from gcc_suite import source
from run_gcc_tests import compiler_words, offload_targets

from gompy.dg import runner, targets

Kind = TypeVar("Kind", bound=runner.Run)


def parser(description: str, directories: Sequence[str]) -> argparse.ArgumentParser:
    """The command line: how many at a time, which tests."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("-j", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    made.add_argument("--dirs", default=",".join(directories), metavar="A,B", help="of %(default)s")
    made.add_argument("--filter", default="", metavar="TEXT,TEXT", help="only tests whose name has one")
    return made


def go(options: argparse.Namespace, kind: type[Kind], program: Path, *words: str) -> list[Kind]:
    """Compile and run all that have a target construct, in the order of the names, under a Python program.

    Raises SourceError.
    """
    tests = source.default_tests(source.OLDEST)
    compiler = [*compiler_words("gompcc"), "--save-regions=json"]
    environment = runner.base_environment()
    settings = runner.Settings(
        tests,
        tuple(compiler),
        targets.EffectiveTargets(compiler[:1], runner.always(tests), environment),
        environment,
        offload_targets=offload_targets(compiler),
        before=(sys.executable, str(program), *words),
    )
    work: list[tuple[Any, ...]] = [
        (test, option_set, settings)
        for directory in options.dirs.split(",")
        for test in source.find(tests, directory)
        if any(part in test.name for part in options.filter.split(","))
        and not test.path.name.startswith("for-")  # minutes of compiling
        and (test.language != "fortran" or "dg-do run" in test.text)
        and (test.openacc or source.uses_offloading(test.path, test.text))
        for option_set in runner.option_sets(test, settings)
    ]
    runs = [kind(*one) for one in work]
    with ThreadPoolExecutor(options.j) as pool:
        for done, _ in enumerate(pool.map(lambda one: one.go(), runs), 1):
            if done % 100 == 0:
                print(f"{done} of {len(runs)}", file=sys.stderr, flush=True)
    return runs
