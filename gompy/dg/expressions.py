"""Tcl's regular expressions, in which directives are written.

Source: Tcl re_syntax(n), as far as dg- directives need it.
"""

from __future__ import annotations

import re


def are(pattern: str) -> re.Pattern[str]:
    """A Tcl advanced regular expression as a Python one.

    ``.``, ``$`` and ``[^x]`` know no lines, unless it begins with ``(?n)``; ``\\y`` is the edge of a word.
    """
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
                out.append("^\n" if flags & re.MULTILINE else "^")
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
