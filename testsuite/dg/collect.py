"""dg- programs as pytest items: one for each option set, judged as DejaGnu judges GCC's tests.

Besides the dg- directives a program may have, one a line:

    { gompy-sets "-O0" "-O3 -g" }      option sets; one, empty, if there is none
    { gompy-prepare "command" }        a shell command before the compilation, in the work directory; $CC is the
                                       compiler's command, $SRC the program's directory, $OPT the option set
    { gompy-launches N }               regions that must have run on the device at least (1 if there is none)
    { gompy-differs "reason" }         with another compiler than gompcc the program is skipped, for this reason
    { gompy-needs "program" }          skipped where the program is not installed

GOMPY_DG_CC names another compiler, such as "gcc -foffload=disable"; nothing has to run on a device then.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from dg import plan, runner, source, targets

SUFFIXES = {".c": "c", ".C": "c++", ".cc": "c++", ".f90": "fortran", ".F90": "fortran"}
_OWN = re.compile(r"\{[ \t]+gompy-([a-z]+)[ \t]+(.*)[ \t]+\}[^}\n]*$", re.MULTILINE)
_NAMES = ("sets", "prepare", "launches", "differs", "needs")


class Failed(Exception):
    """A program whose results are not all good; the text is for the reader."""


def own_directives(text: str) -> dict[str, list[str]]:
    """The gompy- directives: words, quoted as in a shell, by name; several lines are joined.  Raises ValueError."""
    found: dict[str, list[str]] = {name: [] for name in _NAMES}
    for name, words in _OWN.findall(text):
        if name not in found:
            raise ValueError(f"unknown directive gompy-{name}")
        found[name] += shlex.split(words)
    return found


def compiler() -> list[str]:
    """The compiler's command."""
    words = shlex.split(os.environ.get("GOMPY_DG_CC", "gompcc"))
    beside = Path(sys.executable).parent / words[0]
    return [str(beside) if beside.exists() else words[0], *words[1:]]


@cache
def settings() -> runner.Settings:
    """What all programs share; the suite's own headers are not needed."""
    environment = runner.base_environment()
    here = Path(__file__).resolve().parent.parent / "gompy" / "x"
    oracle = targets.EffectiveTargets(compiler(), runner.always(here), environment)
    return runner.Settings(here, tuple(compiler()), oracle, environment)


class _Prepared(runner.Run):
    """A run whose work directory is made ready by commands."""

    def __init__(self, test: source.TestFile, option_set: tuple[str, ...], commands: list[str]) -> None:
        super().__init__(test, option_set, settings())
        self.commands = commands

    def compile(self, wanted: plan.TestPlan, work: Path) -> None:
        """Run the commands, then go on as GCC's tests do."""
        environment = {
            **self.settings.environment,
            "CC": shlex.join(self.settings.compiler),
            "SRC": str(self.test.path.parent),
            "OPT": " ".join(self.outcome.option_set),
        }
        for command in self.commands:
            status, output = runner.execute(["sh", "-ec", command], work, environment, 300)
            self.outcome.log += [command, output]
            if status:
                self.judge(False, f"prepare: {command}", False)
                return
        super().compile(wanted, work)


class Program(pytest.Item):
    """A program with one option set."""

    def __init__(self, *, own: dict[str, list[str]], test: source.TestFile, options: str, **rest: object) -> None:
        super().__init__(**rest)  # type: ignore[arg-type]
        self.own = own
        self.test = test
        self.options = options

    def runtest(self) -> None:
        """Compile, run, judge."""
        ours = Path(compiler()[0]).name.startswith("gomp")
        if self.own["differs"] and not ours:
            pytest.skip(self.own["differs"][0])
        for name in self.own["needs"]:
            if not shutil.which(name):
                pytest.skip(f"{name} is not installed")
        outcome = _Prepared(self.test, tuple(shlex.split(self.options)), self.own["prepare"]).go()
        if outcome.status == "unsupported":
            pytest.skip("not supported here, by its directives")
        text = "\n".join(outcome.log)
        if outcome.status == "fail":
            raise Failed(text)
        least = int(self.own["launches"][0]) if self.own["launches"] else 1
        if ours and outcome.is_run and (outcome.launches or 0) < least:
            raise Failed(f"{outcome.launches} regions ran on the device, {least} were to\n{text}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The log of the run."""
        if isinstance(excinfo.value, Failed | subprocess.SubprocessError):
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
        own = own_directives(text)
        language = SUFFIXES[self.path.suffix]
        test = source.TestFile(self.path.parent.name, self.path.name, self.path, language, text)
        for options in own["sets"] or [""]:
            name = f"{self.path.name}[{options}]" if options else self.path.name
            yield Program.from_parent(self, name=name, own=own, test=test, options=options)


def collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """pytest's hook: files in C, C++ or Fortran that say what dg-do is to be done."""
    if file_path.suffix in SUFFIXES and "{ dg-do " in file_path.read_text(encoding="latin-1"):
        return ProgramFile.from_parent(parent, path=file_path)
    return None
