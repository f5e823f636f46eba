"""A pytest plugin: dg- programs as items, one for each option set, judged as DejaGnu judges GCC's tests.

Asked for by ``pytest_plugins = ["gompy.dg.collector"]`` in the top conftest.py, or ``pytest -p gompy.dg.collector``; a
file in C, C++ or Fortran with a ``dg-do`` directive is a program.  Besides the dg- directives it may have, one a line:

    { gompy-sets "-O0" "-O3 -g" }      option sets; without it one, empty, and -O2 where there is no dg-options
    { gompy-prepare "command" }        a shell command before the compilation, in the work directory; $CC is the
                                       compiler's command, $SRC the program's directory, $OPT the option set
    { gompy-launches N }               regions that must have run on the device at least (1 if there is none)
    { gompy-differs "reason" }         with another compiler than gompcc the program is skipped, for this reason
    { gompy-needs "program" }          skipped where the program is not installed

``--dg-cc`` or GOMPY_DG_CC names another compiler, such as "gcc -foffload=disable"; nothing has to run on a device then.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gompy.dg import directives, explain, plan, program, runner, scans, targets

_OWN = re.compile(r"\{[ \t]+gompy-([a-z]+)[ \t]+(.*)[ \t]+\}[^}\n]*$")
_NAMES = ("sets", "prepare", "launches", "differs", "needs")


class Failed(Exception):
    """A program whose results are not all good; the text is for the reader."""


def skipped(reason: str) -> BaseException:
    """The exception that skips a program; the report names the program's file and not this one."""
    return pytest.skip.Exception(reason, _use_item_location=True)


class OwnDirectiveError(ValueError):
    """A gompy- directive that is none; line is its number."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


def own_directives(text: str) -> dict[str, list[str]]:
    """The gompy- directives: words, quoted as in a shell, by name; several lines are joined.

    Raises OwnDirectiveError.
    """
    found: dict[str, list[str]] = {name: [] for name in _NAMES}
    for number, line in enumerate(text.splitlines(), 1):
        match = _OWN.search(line) if "gompy-" in line else None
        if not match:
            continue
        name, words = match.groups()
        if name not in found:
            raise OwnDirectiveError(
                f"unknown directive gompy-{name}; there are gompy-{', gompy-'.join(_NAMES)}", number
            )
        try:
            found[name] += shlex.split(words)
        except ValueError as error:
            raise OwnDirectiveError(f"gompy-{name}: {str(error).lower()}", number) from None
        if name == "launches" and not "".join(found[name]).isdigit():
            raise OwnDirectiveError(f"gompy-launches: {words} is no number", number)
    return found


@cache
def settings(command: str, keep: Path | None) -> runner.Settings:
    """What all programs share: the compiler's command, and where work directories stay.  Raises Failed."""
    words = shlex.split(command) or ["gompcc"]
    beside = Path(sys.executable).parent / words[0]
    found = str(beside) if "/" not in words[0] and beside.exists() else shutil.which(words[0])
    if found is None:
        raise Failed(f"{words[0]}: no such compiler (--dg-cc and GOMPY_DG_CC name it)")
    # gompcc is called by its name where it is found by it: the commands that are shown can be typed.
    compiler = (words[0] if shutil.which(words[0]) == found else found, *words[1:])
    environment = runner.base_environment()
    oracle = targets.EffectiveTargets(compiler, runner.always(None), environment)
    ours = (scans.OFFLOAD_TARGET,) if Path(found).name.startswith("gomp") else ()
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    return runner.Settings(None, compiler, oracle, environment, offload_targets=ours, keep=keep)


class ProgramRun(runner.Run):
    """A run with the directives of our own."""

    def __init__(
        self,
        test: program.TestFile,
        option_set: tuple[str, ...],
        shared: runner.Settings,
        own: dict[str, list[str]],
    ) -> None:
        super().__init__(test, option_set, shared)
        self.own = own

    def keyword(self) -> plan.Keyword:
        """The oracle of effective targets, which also knows the language and whether the compiler is gompcc."""
        known = {"c": self.test.language == "c", "c++": self.test.language == "c++", "gompy": self.settings.ours}
        return lambda word, flags: known[word] if word in known else self.settings.targets.keyword(word, flags)

    def default_options(self) -> list[str]:
        """-O2 where neither dg-options nor gompy-sets says anything."""
        return [] if self.own["sets"] else ["-O2"]

    def command(self, wanted: plan.TestPlan, output: str) -> list[str]:
        """The compiler's command; the languages of further sources are those of their names."""
        words = super().command(wanted, output)
        return (
            words
            if words[len(self.settings.compiler)] != "-x"
            else [*self.settings.compiler, *words[len(self.settings.compiler) + 2 :]]
        )

    def compile(self, wanted: plan.TestPlan, work: Path) -> None:
        """Run the commands that prepare, then go on as GCC's tests do."""
        environment = {
            **self.settings.environment,
            "CC": shlex.join(self.settings.compiler),
            "SRC": str(self.test.path.parent),
            "OPT": " ".join(self.outcome.option_set),
        }
        for command in self.own["prepare"]:
            status, output = runner.execute(["sh", "-ec", command], work, environment, 300)
            self.outcome.log += [command, output]
            if status != 0:
                self.outcome.steps.append(explain.Step("prepare", command, explain.ending(status, 300), output))
                self.judge(False, "prepare", False, explain.Problem("a command of gompy-prepare failed"))
                return
        super().compile(wanted, work)
        self.count(wanted)

    def count(self, wanted: plan.TestPlan) -> None:
        """Judge how many regions ran on the device, where the runtime says it and the host was not asked for."""
        command = [*self.settings.compiler, *wanted.options, *self.outcome.option_set]
        disabled = any(word == "-foffload=disable" for word in command)
        disabled |= {**os.environ, **wanted.environment}.get("OMP_TARGET_OFFLOAD", "").upper() == "DISABLED"
        launches = self.outcome.launches
        unknown = launches is None and not self.settings.ours
        if not self.outcome.run_seconds or wanted.run_xfail or disabled or unknown:
            return
        least = int(self.own["launches"][0]) if self.own["launches"] else 1
        mend = "" if self.own["launches"] else " ({ gompy-launches 0 } if none is to)"
        problem = explain.Problem(f"{launches or 0} regions ran on the device, expected: at least {least}{mend}")
        self.judge((launches or 0) >= least, "regions on the device", False, problem)


class Program(pytest.Item):
    """A program with one option set."""

    def __init__(
        self,
        *,
        own: dict[str, list[str]],
        test: program.TestFile,
        options: str,
        wrong: explain.Problem | None,
        **rest: object,
    ) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.wrong = wrong
        self.own = own
        self.test = test
        self.options = options

    def runtest(self) -> None:
        """Compile, run, judge."""
        path = os.path.relpath(self.test.path, self.config.invocation_params.dir)
        if self.wrong:
            raise Failed(explain.text(path, self.test.text, [self.wrong], []))
        command = self.config.getoption("dg_cc", None) or os.environ.get("GOMPY_DG_CC") or "gompcc"
        keep = self.config.getoption("dg_keep", None)
        shared = settings(command, Path(keep).absolute() if keep else None)
        if self.own["differs"] and not shared.ours:
            raise skipped(self.own["differs"][0])
        for name in self.own["needs"]:
            if not shutil.which(name):
                raise skipped(f"{name} is not installed")
        outcome = ProgramRun(self.test, tuple(shlex.split(self.options)), shared, self.own).go()
        if outcome.status == "unsupported":
            raise skipped(outcome.unsupported_because or "not supported here, by its directives")
        if outcome.status == "fail":
            kept = str(outcome.kept or "")
            raise Failed(explain.text(path, self.test.text, outcome.problems, outcome.steps, kept))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """What went wrong, without a traceback."""
        if isinstance(excinfo.value, Failed):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """What pytest shows for it."""
        return self.path, 0, self.name


class ProgramFile(pytest.File):
    """A program with its option sets."""

    def collect(self) -> Iterator[Program]:
        """One item for each option set."""
        text = self.path.read_text(encoding="latin-1")
        wrong: explain.Problem | None = None
        try:
            own = own_directives(text)
        except OwnDirectiveError as error:
            # A failure of this program; an error of collection would keep the others from being run.
            own, wrong = own_directives(""), explain.Problem(str(error), error.line)
        language = program.LANGUAGES[self.path.suffix]
        test = program.TestFile(self.path.parent.name, self.path.name, self.path, language, text)
        for options in own["sets"] or [""]:
            name = f"{self.path.name}[{options}]" if options else self.path.name
            yield Program.from_parent(self, name=name, own=own, test=test, options=options, wrong=wrong)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The plugin's options."""
    group = parser.getgroup("dg", "dg- programs (gompy)")
    group.addoption("--dg-cc", metavar="CMD", help="compiler command (default: $GOMPY_DG_CC, or gompcc)")
    group.addoption("--dg-keep", metavar="DIR", help="make the work directories there, and leave them")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files in C, C++ or Fortran that say what dg-do is to be done."""
    if file_path.suffix not in program.LANGUAGES:
        return None
    try:
        text = file_path.read_text(encoding="latin-1") if file_path.is_file() else ""
    except OSError:
        text = ""  # gone since its folder was listed (pytest lists the folders above the named one as well), or private
    if not directives.says_what_to_do(text):
        return None
    return ProgramFile.from_parent(parent, path=file_path)
