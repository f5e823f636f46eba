"""What went wrong with a program, for a reader who does not know DejaGnu's words."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from gompy.dg.blocks import BlockResult
from gompy.dg.plan import Message

_KINDS = {
    "dg-error": "an error",
    "dg-warning": "a warning",
    "dg-note": "a note",
    "dg-optimized": "an optimization remark",
    "dg-missed": "a remark of a missed optimization",
}
SHOWN_LINES = 200
"""Lines of a command's output that are shown, the last ones."""


@dataclass(frozen=True)
class Problem:
    """A result that is not as it should be: what it is, the directive's line (0: none), texts that belong to it."""

    what: str
    line: int = 0
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """A command that was run: compiler or program, the words, how it ended, and what it said."""

    title: str
    command: str
    ending: str
    output: str


def ending(status: int | None, timeout: float) -> str:
    """How a process ended; status is None after the timeout (seconds), negative for a signal."""
    if status is None:
        return f"killed after {timeout:g} s"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def unexpected_success(name: str, problem: Problem) -> Problem:
    """The problem of a result that is good though its directive says xfail; name is DejaGnu's for the result."""
    return replace(problem, what=f"{name.strip()} passes, though xfail says that it will not", details=())


def message(wanted: Message) -> Problem:
    """A message of the compiler that did not come, or came against dg-bogus."""
    place = "" if wanted.line is None else f" on line {wanted.line}"
    note = f" ({wanted.comment})" if wanted.comment else ""
    if wanted.kind == "dg-bogus":
        return Problem(f"a message{place} that must not come{note}:", wanted.own_line, (wanted.regex,))
    kind = _KINDS.get(wanted.kind, "a message")
    return Problem(f"{kind} was expected{place} and did not come{note}:", wanted.own_line, (wanted.regex,))


def block(result: BlockResult) -> Problem:
    """Lines (or a regular expression) that the compiler was to print and did not."""
    return Problem("the compiler did not print this:", result.line, result.wanted)


def blank_lines(count: int) -> Problem:
    """The compiler's messages have none."""
    mend = "{ dg-allow-blank-lines-in-output 1 } if there may be some"
    return Problem(f"{count} blank line{'s' * (count > 1)} in the compiler's output ({mend})")


def excess(left: str) -> Problem:
    """Messages that no directive asks for."""
    return Problem("the compiler said what no directive expects:", 0, tuple(left.split("\n")))


def execution(status: int | None, timeout: float, should_fail: bool) -> Problem:
    """A program that ended otherwise than it was to."""
    wanted = "a failure (dg-shouldfail)" if should_fail else "exit status 0"
    return Problem(f"the program: {ending(status, timeout)}; expected: {wanted}")


def output(pattern: str, line: int) -> Problem:
    """An output that the joined patterns, the first on this line, do not match."""
    parts = [part.replace("\n", "\\n") for part in pattern.splitlines(keepends=True)]
    return Problem("the program's output does not match", line, tuple(parts))


def output_file(expected: str, output: str, name: str, line: int) -> Problem:
    """An output that is not what the file has: the first line that differs."""
    given, wanted = output.removesuffix("\n").split("\n"), expected.split("\n")
    pairs = enumerate(zip_longest(wanted, given), 1)
    number, (right, wrong) = next((p for p in pairs if p[1][0] != p[1][1]), (len(wanted) + 1, ("", "")))
    shown = tuple("(end)" if text is None else text for text in (right, wrong))
    details = (f"line {number} is to be: {shown[0]}", f"and is:       {' ' * len(str(number))} {shown[1]}")
    return Problem(f"the program's output is not that of {name}", line, details)


def _shortened(output: str) -> list[str]:
    lines = output.rstrip("\n").split("\n") if output.strip() else []
    if len(lines) > SHOWN_LINES:
        before = len(lines) - SHOWN_LINES
        return [f"({before} {'line' if before == 1 else 'lines'} before these)", *lines[-SHOWN_LINES:]]
    return lines


def text(path: str, source: str, problems: Sequence[Problem], steps: Sequence[Step], kept: str = "") -> str:
    """The whole report: problems with their directives' lines, then the commands with what they said.

    path: the program's, as the reader knows it.  source: its text.  kept: the work directory, if it is still there.
    """
    lines = source.splitlines()
    out: list[str] = []
    for problem in problems:
        place = f"{path}:{problem.line}" if problem.line else path
        out.append(f"{place}: {problem.what}")
        out += [f"    {detail}" for detail in problem.details]
        if problem.line and problem.line <= len(lines):
            out.append(f"  {problem.line:5} | {lines[problem.line - 1].rstrip()}")
    for step in steps:
        out += ["", f"{step.title}: {step.ending}", f"$ {step.command}", *_shortened(step.output)]
    if kept:
        out += ["", f"work directory: {kept}"]
    return "\n".join(out)
