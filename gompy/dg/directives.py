"""The dg- directives of a test file.

Source: DejaGnu 1.6.3 dg.exp, dg-get-options: one directive a line, blanks inside both braces, greedy; what stands
around it does not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gompy.dg.tcl import TclError, Variables, words

_DIRECTIVE = re.compile(r"\{[ \t]+(dg-[-a-z]+)[ \t]+(.*)[ \t]+\}[^}]*$")
_DO = re.compile(r"\{[ \t]+dg-do[ \t]+[^\n]*[ \t]+\}")


@dataclass(frozen=True)
class Directive:
    """One directive.

    line: the first is 1.  name: with ``dg-``.  args: its words after substitution.  text: the words as written.
    """

    line: int
    name: str
    args: tuple[str, ...]
    text: str


class DirectiveError(ValueError):
    """A directive that DejaGnu would answer with an ERROR line.

    text: what follows ``ERROR: NAME: `` there.  line, reason: the directive's line and what is wrong with it.
    """

    def __init__(self, text: str, line: int = 0, reason: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.line = line
        self.reason = reason or text


def parse(source: str) -> list[Directive]:
    """All directives in file order.  Raises DirectiveError for text that is not a Tcl command."""
    result: list[Directive] = []
    variables = Variables()
    for number, line in enumerate(source.splitlines(), 1):
        if "dg-" not in line:
            continue
        match = _DIRECTIVE.search(line)
        if not match:
            continue
        name, text = match.groups()
        try:
            args = words(text, variables)
        except (TclError, ValueError) as error:
            shown = f'{error} for " {name} {number} {text} "'
            raise DirectiveError(shown, number, f"{name}: {error}") from None
        result.append(Directive(number, name, tuple(args), text))
    return result


def says_what_to_do(source: str) -> bool:
    """Whether a text has a ``dg-do``: then it is a program by itself and not another's part."""
    return _DO.search(source) is not None
