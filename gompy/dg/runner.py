"""Carry a test out for one option set: compile, run, judge.

Source: DejaGnu 1.6.3 dg.exp (dg-test), GCC 12 libgomp/testsuite/lib/libgomp.exp; the command line is the one that
GCC's drivers give.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from gompy.dg import directives, explain, messages, plan, scans
from gompy.dg.explain import Problem, Step
from gompy.dg.expressions import are
from gompy.dg.program import TestFile
from gompy.dg.targets import EffectiveTargets, with_plugin

TORTURE = (
    ("-O0",),
    ("-O1",),
    ("-O2",),
    ("-O3", "-fomit-frame-pointer", "-funroll-loops", "-fpeel-loops", "-ftracer", "-finline-functions"),
    ("-O3", "-g"),
    ("-Os",),
)
_ONE = (("-O2",),)
_STATS = re.compile(r"(\d+) on device")
_KERNELS = re.compile(r"\bdevice \d+: (\d+) kernels?\b")
BAD = frozenset(("FAIL", "XPASS", "UNRESOLVED", "ERROR"))
"""Results that make a test fail."""


@dataclass
class Outcome:
    """The results of one test with one option set.

    results: (status, name) in order; log: what DejaGnu would log.  problems, steps: the same for readers who do not
    know DejaGnu (explain).  launches: regions that ran on a device, None if the runtime did not say.
    unsupported_because: the directive's reason.  kept: the work directory, if it was to be kept.
    """

    test: TestFile
    option_set: tuple[str, ...]
    results: list[tuple[str, str]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    unsupported_because: str = ""
    kept: Path | None = None
    launches: int | None = None
    is_run: bool = False
    compile_seconds: float = 0.0
    run_seconds: float = 0.0

    @property
    def status(self) -> str:
        """``pass``, ``fail`` or ``unsupported``."""
        kinds = {status for status, _ in self.results}
        if kinds & BAD:
            return "fail"
        return "pass" if kinds & {"PASS", "XFAIL"} else "unsupported"


@dataclass(frozen=True)
class Settings:
    """What all tests of a run share.

    tests: GCC's libgomp/testsuite, None for programs that do not need its headers.  timeout: seconds, None for the
    test's own.  keep: where work directories are made and stay.  before: words before each program (a tool).
    """

    tests: Path | None
    compiler: tuple[str, ...]
    targets: EffectiveTargets
    environment: dict[str, str]
    all_sets: bool = False
    timeout: float | None = None
    offload_targets: tuple[str, ...] = ()
    keep: Path | None = None
    before: tuple[str, ...] = ()

    @property
    def ours(self) -> bool:
        """Whether the compiler is gompcc: then the programs' runtime tells what ran where."""
        return bool(self.offload_targets)

    @property
    def acc_type(self) -> str:
        """OpenACC's name for the device: ACC_DEVICE_TYPE."""
        if "nvptx-none" in self.offload_targets:
            return "nvidia"
        return "intelmic" if self.offload_targets else "host"


def always(tests: Path | None) -> list[str]:
    """Options of every compilation."""
    headers = (tests.parent.parent / "include", tests.parent) if tests else ()
    return [
        *(f"-I{folder}" for folder in headers if folder.is_dir()),
        *("-fmessage-length=0", "-fno-diagnostics-show-caret", "-fdiagnostics-color=never"),
    ]


def base_environment() -> dict[str, str]:
    """The environment of compiler and program."""
    return {**os.environ, "LC_ALL": "C", "LANG": "C"}


def acc_tag(settings: Settings) -> tuple[str, ...]:
    """What every option set of an OpenACC test begins with."""
    shared = 0 if settings.offload_targets else 1
    target = settings.offload_targets[0] if settings.offload_targets else "disable"
    return (f"-DACC_DEVICE_TYPE_{settings.acc_type}=1", f"-DACC_MEM_SHARED={shared}", f"-foffload={target}")


def option_sets(test: TestFile, settings: Settings) -> tuple[tuple[str, ...], ...]:
    """The option sets of a test: Fortran run tests have the torture sets, or one; OpenACC in C and C++ -O0 and -O2."""
    sets: tuple[tuple[str, ...], ...] = ((),)
    if test.language == "fortran":
        sets = (("-O",),)
        if "dg-do run" in test.text:
            sets = TORTURE if settings.all_sets else _ONE
    elif test.openacc:
        sets = (("-O0",), ("-O2",)) if settings.all_sets and settings.offload_targets else _ONE
    return tuple((*acc_tag(settings), *s) for s in sets) if test.openacc else sets


def full_name(test: TestFile, option_set: Sequence[str]) -> str:
    """The test's name with the blanks that DejaGnu leaves, ready for the rest of a result line."""
    if test.openacc:
        return f"{test.name} {' '.join(option_set[:3])}  {' '.join(option_set[3:])}  "
    return f"{test.name}   {' '.join(option_set)}  " if option_set else f"{test.name} "


def command_line(
    test: TestFile, option_set: Sequence[str], plan_: plan.TestPlan, settings: Settings, output: str
) -> list[str]:
    """The compiler's command."""
    more = [str(test.path.parent / name) for name in plan_.sources]
    libraries: list[str] = []
    if test.language == "c++":
        libraries = ["-lstdc++"]
    elif test.language == "fortran":
        libraries = ["-lgfortran", "-foffload=-lgfortran", "-lquadmath"]
    return [
        *settings.compiler,
        *(("-x", "c++") if test.language == "c++" else ()),
        str(test.path),
        *always(settings.tests),
        "-fopenacc" if test.openacc else "-fopenmp",
        *option_set,
        *plan_.options,
        *more,
        *(("-dumpbase", "") if more else ()),
        *libraries,
        *(("-lm",) if plan_.action in ("link", "run") else (plan.STOPS[plan_.action][0],)),
        *("-o", output),
    ]


def execute(
    command: Sequence[str], directory: Path, environment: dict[str, str], timeout: float
) -> tuple[int | None, str]:
    """Run a command in a process group of its own; (status or None after the timeout, stdout and stderr together)."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=directory,
        env=environment,
        start_new_session=True,
    )
    status: int | None
    try:
        output, _ = process.communicate(timeout=timeout)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = None
    return status, output.decode(errors="replace").replace("\r\n", "\n")


def _launches(path: Path) -> int | None:
    try:
        text = path.read_text()
    except OSError:
        return None
    return sum(int(n) for line in text.splitlines() if "regions:" in line for n in _STATS.findall(line))


def _kernels(path: Path) -> int | None:
    """Kernels that ran on the emulated CUDA driver: what there is to count under another runtime than libgompy."""
    try:
        return sum(int(count) for count in _KERNELS.findall(path.read_text()))
    except OSError:
        return None


class Run:
    """One test with one option set, in a work directory that goes when it is done."""

    def __init__(self, test: TestFile, option_set: tuple[str, ...], settings: Settings) -> None:
        self.test = test
        self.settings = settings
        self.outcome = Outcome(test, option_set)
        self.name = full_name(test, option_set)
        self.environment = settings.environment
        if test.openacc:
            self.environment = {**with_plugin(settings.acc_type), **self.environment}
            self.environment["ACC_DEVICE_TYPE"] = settings.acc_type

    def add(self, status: str, rest: str) -> None:
        """Note a result line."""
        self.outcome.results.append((status, self.name + rest))
        self.outcome.log.append(f"{status}: {self.name}{rest}")

    def judge(self, passed: bool, rest: str, xfail: bool, problem: Problem | None = None) -> None:
        """Note a result line whose failure may be expected; the problem is what is told if it is not."""
        self.add(("XPASS" if xfail else "PASS") if passed else ("XFAIL" if xfail else "FAIL"), rest)
        problem = problem or Problem(rest)
        if passed and xfail:
            self.outcome.problems.append(explain.unexpected_success(rest, problem))
        elif not passed and not xfail:
            self.outcome.problems.append(problem)

    def keyword(self) -> plan.Keyword:
        """The oracle of effective targets."""
        targets = self.settings.targets
        if self.test.openacc:
            return partial(targets.acc_keyword, self.settings.acc_type, self.test.language)
        return targets.keyword

    def default_options(self) -> list[str]:
        """The options of a test without dg-options."""
        return ["-O2"] if self.test.language != "fortran" and not self.test.openacc else []

    def command(self, wanted: plan.TestPlan, output: str) -> list[str]:
        """The compiler's command."""
        return command_line(self.test, self.outcome.option_set, wanted, self.settings, output)

    def go(self) -> Outcome:
        """Plan, compile, run."""
        try:
            parsed = directives.parse(self.test.text)
            wanted = plan.make(parsed, self.outcome.option_set, self.default_options(), self.keyword(), self.test.text)
        except directives.DirectiveError as error:
            self.outcome.problems.append(Problem(error.reason, error.line))
            self.outcome.results.append(("ERROR", f"{self.test.name}: {error.text}"))
            self.outcome.log.append(f"ERROR: {self.test.name}: {error.text}")
            return self.outcome
        self.outcome.is_run = wanted.action == "run" and not wanted.companion
        if not wanted.supported:
            name = self.name.rstrip() if not self.outcome.option_set else self.name.rstrip() + " "
            self.outcome.results.append(("UNSUPPORTED", name))
            self.outcome.log.append(f"UNSUPPORTED: {name}")
            self.outcome.unsupported_because = wanted.unsupported_because
            return self.outcome
        work = Path(
            tempfile.mkdtemp(
                prefix=f"{self.test.path.stem}-" if self.settings.keep else "gompy-test-", dir=self.settings.keep
            )
        )
        try:
            self.compile(wanted, work)
        finally:
            if self.settings.keep:
                self.outcome.kept = work
            else:
                shutil.rmtree(work, ignore_errors=True)
        if wanted.first_xfail and self.outcome.results:
            status, name = self.outcome.results[0]
            self.outcome.results[0] = ({"PASS": "XPASS", "FAIL": "XFAIL"}.get(status, status), name)
            if status == "PASS":
                self.outcome.problems.insert(0, explain.unexpected_success(name.removeprefix(self.name), Problem("")))
            elif status == "FAIL":
                del self.outcome.problems[0]
        return self.outcome

    def compile(self, wanted: plan.TestPlan, work: Path) -> None:
        """Compile, judge the messages, go on to the run."""
        log = self.outcome.log
        stop = plan.STOPS.get(wanted.action)
        program = f"{self.test.path.stem}{stop[1]}" if stop else f"./{self.test.path.stem}.exe"
        command = self.command(wanted, program)
        log += [f"WARNING: {self.test.name}: {text}" for text in wanted.warnings]
        shown = shlex.join(command)
        log += [f"Executing on host: {shown}    (timeout = 300)", f"spawn -ignore SIGHUP {shown}"]
        begin = time.monotonic()
        environment = {**self.environment, **wanted.compiler_environment}
        status, output = execute(command, work, environment, 300)
        self.outcome.compile_seconds = time.monotonic() - begin
        log.append(output)
        self.outcome.steps.append(Step("compiler", shown, explain.ending(status, 300), output))
        if self.test.language == "fortran":
            output = messages.fortran(output)
        left, results = messages.match(output, wanted.messages)
        for result in results:
            self.judge(result.passed, result.name, result.xfail, explain.message(result.message))
        fortran = self.test.language == "fortran"  # whose messages have some between their lines
        blanks = 0 if wanted.blank_lines or fortran else messages.blank_lines(left)
        if blanks:
            self.judge(False, f"{blanks} blank line(s) in output", False, explain.blank_lines(blanks))
        left, found = messages.excess(left, wanted)
        for block in found:
            self.judge(block.passed, block.name, block.xfail, explain.block(block))
        if status is None:
            left = f"{left}\ncompiler timed out".lstrip()
        self.judge(not left, "(test for excess errors)", wanted.excess_xfail, explain.excess(left))
        if left:
            log += ["Excess errors:", left]
        made = (work / program).exists()
        if wanted.action == "run":
            if status == 0 and made:
                self.run(wanted, work, program)
            else:
                self.add("UNRESOLVED", "compilation failed to produce executable")
                self.outcome.problems.append(Problem("there is no program to run: the compilation failed"))
        for final in wanted.finals:
            for scanned in scans.scan(final, self.name, self.test.path, work, self.settings.offload_targets):
                self.outcome.results.append((scanned.status, scanned.name))
                log.append(f"{scanned.status}: {scanned.name}")
                if scanned.status in BAD:
                    self.outcome.problems.append(Problem(scanned.detail, final.line))

    def run(self, wanted: plan.TestPlan, work: Path, program: str) -> None:
        """Run the program, judge its end and its output."""
        log = self.outcome.log
        stats = work / "gompy-stats"
        environment = {
            **self.environment,
            **wanted.environment,
            "GOMPY_STATS": str(stats),
            "GOMPY_CUDA_STATS": str(work / "cuda-stats"),
        }
        timeout = self.settings.timeout or wanted.timeout
        log += [f"Execution timeout is: {timeout:.0f}", "spawn [open ...]"]
        begin = time.monotonic()
        status, output = execute([*self.settings.before, program], work, environment, timeout)
        self.outcome.run_seconds = time.monotonic() - begin
        self.outcome.launches = _launches(stats)
        if self.outcome.launches is None:
            self.outcome.launches = _kernels(work / "cuda-stats")
        log.append(output)
        shown = " ".join([*(f"{name}={shlex.quote(value)}" for name, value in wanted.environment.items()), program])
        self.outcome.steps.append(Step("program", shown, explain.ending(status, timeout), output))
        if status is None:
            log.append("WARNING: program timed out.")
        elif status:
            log.append(f"exit status {status}" if status > 0 else f"killed by {signal.Signals(-status).name}")
        passed = (status == 0) != wanted.should_fail
        self.judge(passed, "execution test", wanted.run_xfail, explain.execution(status, timeout, wanted.should_fail))
        if passed and wanted.output:
            pattern = "".join(wanted.output)
            matched = are(pattern).search(output) is not None
            problem = explain.output(pattern, wanted.output_line)
            self.judge(matched, "output pattern test", wanted.output_xfail, problem)
            if not matched:
                log += ["Output was:", output, "Should match:", pattern]
        if passed and wanted.output_file:
            self.compare(wanted, output)

    def compare(self, wanted: plan.TestPlan, output: str) -> None:
        """Whether the output is what a file beside the test has; a newline at the end of one of them does not count."""
        path = self.test.path.parent / wanted.output_file
        try:
            text = path.read_text(errors="replace").replace("\r\n", "\n")
        except OSError as error:
            reason = f"dg-output-file: {path}: {error.strerror}"
            self.outcome.problems.append(Problem(reason, wanted.output_file_line))
            self.outcome.results.append(("ERROR", f"{self.test.name}: {reason}"))
            self.outcome.log.append(f"ERROR: {self.test.name}: {reason}")
            return
        expected = text.removesuffix("\n")
        equal = output in (expected, expected + "\n")
        problem = explain.output_file(expected, output, wanted.output_file, wanted.output_file_line)
        self.judge(equal, "output file test", wanted.output_file_xfail, problem)
        if not equal:
            self.outcome.log += ["Output was:", output, f"Should be (from {wanted.output_file}):", text]
