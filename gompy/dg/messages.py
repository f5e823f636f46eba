"""The compiler's messages: those that directives ask for, those that do not count, and what is left.

Source: GCC 12 gcc/testsuite/lib/gcc-dg.exp (process-message), prune.exp, gfortran-dg.exp; DejaGnu dg.exp.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gompy.dg.plan import MESSAGES, Message

_KINDS = {"dg-error": "errors", "dg-bogus": "bogus messages"}

_PRUNED = [
    re.compile(pattern)
    for pattern in (
        r"(^|: )(In|At) (?:(?:static |copy |lambda |member |move )*(?:function|constructor|destructor|method"
        r"|instantiation|substitution|program|subroutine|block-data|module)|top level|global scope)",
        r"^\s*(?:inlined )?from .*",
        r"^In file included from ",
        r"(?:required|instantiated) from ",
        r": note: using serial compilation of \d+ LTRANS jobs",
        r"^lto-wrapper: warning: using serial compilation of \d+ LTRANS jobs",
        r"^.*collect2?: error: ld returned .*",
        r"^collect: re(compiling|linking).*",
        r"^Please submit.*instructions",
        r"\.h:[0-9]+:[0-9]*: warning: .* should return a value",
    )
]
_FORTRAN = re.compile(
    r"^(\S[^\n:]*:\d+)((?::\d+)?)(?:-\d+)?:\n(?:\s*\n|\s+[^\n]*\n)*?((?:Fatal )?Error|Warning|Note):", re.MULTILINE
)
_NOTE = re.compile(r"(^|: )note: ")


def are(pattern: str) -> re.Pattern[str]:
    """A Tcl advanced regular expression as a Python one: ``.``, ``$`` know no lines, ``\\y`` is the edge of a word."""
    flags = re.DOTALL
    if pattern.startswith("(?n)"):
        pattern, flags = pattern[4:], re.MULTILINE
    out: list[str] = []
    at, bracket = 0, False
    while at < len(pattern):
        c = pattern[at]
        if c == "\\" and at + 1 < len(pattern):
            pair = pattern[at : at + 2]
            out.append({"\\y": r"\b", "\\m": r"\b(?=\w)", "\\M": r"\b(?<=\w)", "\\Y": r"\B"}.get(pair, pair))
            at += 2
            continue
        if bracket:
            named = re.match(r"\[:(\w+):\]", pattern[at:])
            if named:
                out.append({"digit": r"\d", "space": r"\s", "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z"}[named[1]])
                at += named.end()
                continue
            out.append("\\[" if c == "[" else c)
            bracket = c != "]"
        elif c == "[":
            out.append(c)
            bracket = True
            if pattern[at + 1 : at + 2] == "^":
                out.append("^")
                at += 1
            if pattern[at + 1 : at + 2] == "]":
                out.append("\\]")
                at += 1
        elif c == "$" and not flags & re.MULTILINE:
            out.append(r"\Z")
        else:
            out.append(c)
        at += 1
    return re.compile("".join(out), flags)


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
        pattern = are(f"{column}{prefix}[^\n]*{regex}" if prefix else f"{column}[^\n]*{regex}")
        place = "" if message.line is None else f":{message.line}:"
        kept = [t for t in lines if not (place in t and pattern.search(t, t.find(place) + len(place) if place else 0))]
        found = len(kept) != len(lines)
        lines = kept
        results.append(MessageResult(_name(message), found != (message.kind == "dg-bogus"), message.xfail, message))
    return "\n".join(lines), results


def excess(output: str, prune: Sequence[str], keep_notes: bool) -> str:
    """What of the output no directive asked for and no rule prunes; empty if the test for excess errors passes."""
    own = [are(pattern) for pattern in prune]
    left = []
    for line in output.rstrip("\n").split("\n") if output else []:
        if any(p.search(line) for p in _PRUNED) or any(p.search(line) for p in own):
            continue
        if not keep_notes and _NOTE.search(line):
            continue
        left.append(line)
    return "\n".join(left)
