"""Expected output of several lines, and regular expressions that belong to no line (dg-regexp).

Source: GCC 12 gcc/testsuite/lib/multiline.exp, gcc-defs.exp (dg-regexp), prune.exp (the order of things).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gompy.dg.expressions import are

_LEFT_NUMBER = re.compile(r"(?:^[0-9]+| +[0-9]+) \|")


@dataclass(frozen=True)
class Block:
    """Lines that the compiler is to print one after the other; first and last are their numbers in the source."""

    first: int
    last: int
    lines: tuple[str, ...]
    xfail: bool


@dataclass(frozen=True)
class Expression:
    """A dg-regexp: what has to be found somewhere, and the directive's line."""

    regex: str
    line: int


@dataclass(frozen=True)
class BlockResult:
    """One result: the end of its name, whether it was found, whether that was expected, its line, the lines wanted."""

    name: str
    passed: bool
    xfail: bool
    line: int
    wanted: tuple[str, ...]


_SPECIAL = str.maketrans({char: f"\\{char}" for char in "^$()[]{}.\\?+*|"})


def _escaped(line: str) -> str:
    """The line as an expression that matches it, and no more escaped than need be: it is shown in results."""
    return line.translate(_SPECIAL)


def pattern(lines: Sequence[str], first: bool) -> str:
    """The regular expression of a block.

    A line of the source that is quoted may go on: it has directives in comments, which nobody wants to repeat.  One
    that ends in a mark (``^``, ``~``) may not.  Of the ``first`` block of a test leading blanks don't count: DejaGnu
    takes them off the compiler's output.
    """
    out = []
    for line in lines:
        exact = not line or line.endswith(("^", "~"))
        out.append(_escaped(line) + ("" if exact else r"[^\n\r]*") + "\n")
    text = "".join(out)
    if first:
        text = r"\s*" + text.lstrip()
    return text


def obscured(output: str) -> str:
    """The output with the line numbers at its left margin as ``NN`` (dg-enable-nn-line-numbers)."""
    return _LEFT_NUMBER.sub("   NN |", output)


def _shown(text: str) -> str:
    return text.replace("\n", "\\n")


def take_expressions(output: str, wanted: Sequence[Expression]) -> tuple[str, list[BlockResult]]:
    """The output without the first match of each dg-regexp, and the results."""
    results = []
    for one in wanted:
        output, count = are(f"(?n){one.regex}").subn("", output, count=1)
        how = "was found" if count else "not found"
        results.append(
            BlockResult(
                f'dg-regexp {one.line} {how}: "{_shown(one.regex)}"', bool(count), False, one.line, (one.regex,)
            )
        )
    return output, results


def take_blocks(output: str, wanted: Sequence[Block]) -> tuple[str, list[BlockResult]]:
    """The output without the expected blocks, and the results."""
    results = []
    for index, block in enumerate(wanted):
        regex = pattern(block.lines, index == 0)
        text = output if output.endswith("\n") or not output else output + "\n"
        # Blanks, but no end of a line that comes before: what is left of the output is judged line by line.
        left, count = re.subn(regex.replace(r"\s*", "[ \t]*", 1), "", text, count=1, flags=re.MULTILINE)
        output = left if count else output
        how = "was found" if count else "not found"
        name = f'expected multiline pattern lines {block.first}-{block.last} {how}: "{_shown(regex)}"'
        results.append(BlockResult(name, bool(count), block.xfail, block.first - 1, block.lines))
    return output, results
