"""The compiler's messages: those that directives ask for, those that do not count, and what is left.

Source: GCC 12 gcc/testsuite/lib/gcc-dg.exp (process-message), prune.exp, gfortran-dg.exp; DejaGnu dg.exp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gompy.dg.blocks import BlockResult, obscured, take_blocks, take_expressions
from gompy.dg.expressions import are
from gompy.dg.plan import MESSAGES, Message, TestPlan

_KINDS = {"dg-error": "errors", "dg-bogus": "bogus messages"}

_PRUNED = [
    re.compile(pattern)
    for pattern in (
        r"(^|: )(In|At) (?:(?:static |copy |lambda |member |move )*(?:function|constructor|destructor|method"
        r"|instantiation|substitution|program|subroutine|block-data|module)|top level|global scope)",
        r"^\s*(?:inlined )?from .*",
        r"^(?:In file)? *included from ",
        r"^(?:In|of) module(?: [^ ]*,)? imported at ",
        r"(?:required|instantiated) from ",
        r":   (?:recursively )?required ",
        r":   . skipping \d* instantiation contexts ",
        r":   in .constexpr. expansion ",
        r":   in requirements ",
        r"lto.*: warning: using serial compilation of ",
        r": note: using serial compilation of \d+ LTRANS jobs",
        r"lto.*: note: see the .*'-flto' option documentation.* for more information",
        r"^.*: error: ld returned ",
        r"^.*: re(compiling|linking)",
        r"^Please submit.*instructions",
        r"^\d+ errors\.",
        r"\.h:[0-9]+:[0-9]*: warning: .* should return a value",
        r": warning: -f(?:pic|PIC)(?: ignored for target|(?: and -fpic are| is)? not supported)",
        r": Assembler messages:",
        r": note: variable tracking size limit exceeded with -fvar-tracking-assignments, retrying without",
        r"file path prefix .* never used",
        r"linker input file unused since linking not done",
        r": warning:.*requires executable stack",
        r"lto1: warning: visibility attribute not supported in this configuration; ignored",
    )
]
_FORTRAN = re.compile(
    r"^(\S[^\n:]*:\d+)((?::\d+)?)(?:-\d+)?:\n(?:\s*\n|\s+[^\n]*\n)*?((?:Fatal )?Error|Warning|Note):", re.MULTILINE
)
_NOTE = re.compile(r"(^|: )note: ")


def fortran(output: str) -> str:
    """gfortran's messages of several lines as ``file:line:column: Error: text``."""
    return _FORTRAN.sub(lambda m: f"{m[1]}{m[2] or ':0'}: {m[3]}:", output)


@dataclass(frozen=True)
class MessageResult:
    """One message test: the end of its name, whether it passed, and the directive."""

    name: str
    passed: bool
    xfail: bool
    message: Message


def _column(regex: str, line: int | None) -> tuple[str, str]:
    found = re.match(r"(-|\d+):\s?", regex)
    if found:
        return ("" if found[1] == "-" else f"{found[1]}: "), regex[found.end() :]
    return ("" if line is None else r"[0-9]+: "), regex


def _name(message: Message) -> str:
    at = "" if message.line == message.own_line else f" at line {message.own_line}"
    kind = _KINDS.get(message.kind, "warnings")
    return f"{message.comment}{at} (test for {kind}, line {'' if message.line is None else message.line})"


def match(output: str, expected: Sequence[Message]) -> tuple[str, list[MessageResult]]:
    """Check the expected messages in order; a line of the output serves one directive only.

    Returns the output without the lines that matched, and the results.
    """
    results = []
    lines = output.split("\n")
    for message in expected:
        column, regex = _column(message.regex, message.line)
        prefix = MESSAGES[message.kind]
        pattern = are(f"{column}{prefix}[^\n]*{regex}" if message.kind != "dg-locus" else message.regex)
        place = "" if message.line is None else f":{message.line}:"
        kept = [t for t in lines if not (place in t and pattern.search(t, t.find(place) + len(place) if place else 0))]
        found = len(kept) != len(lines)
        lines = kept
        results.append(MessageResult(_name(message), found != (message.kind == "dg-bogus"), message.xfail, message))
    return "\n".join(lines), results


def _pruned(output: str, keep_notes: bool) -> str:
    """The output without the lines that GCC's rules leave out."""
    lines = output.split("\n")
    return "\n".join(
        line for line in lines if not any(p.search(line) for p in _PRUNED) and (keep_notes or not _NOTE.search(line))
    )


def blank_lines(output: str) -> int:
    """How many blank lines the output has: the compiler's messages have none."""
    return output.count("\n\n")


def excess(output: str, wanted: TestPlan) -> tuple[str, list[BlockResult]]:
    """What of the output no directive asked for and no rule prunes (empty: the test for excess errors passes), and the
    results of the directives for texts of several lines, and for those without a line."""
    output, results = take_expressions(output, wanted.expressions)
    output = _pruned(output, wanted.keep_notes)
    if not wanted.number_lines:
        output = obscured(output)
    output, found = take_blocks(output, wanted.blocks)
    own = [are(pattern) for pattern in wanted.prune]
    left = [line for line in output.split("\n") if line and not any(p.search(line) for p in own)]
    return "\n".join(left), [*results, *found]
