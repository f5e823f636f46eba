"""Target selectors: ``{ target S }``, ``{ xfail S }``, ``{ target S xfail S }``.

Source: GCC 12 gcc/testsuite/lib/target-supports-dg.exp (selector_expression, dg-process-target-1), target-supports.exp.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gompy.dg.tcl import TclError, words

TRIPLET = "x86_64-pc-linux-gnu"


class SelectorError(ValueError):
    """A selector with an unknown keyword or of a wrong shape."""


@dataclass
class Context:
    """What selectors are about: an oracle for keywords, and the flags so far.

    keyword: returns None for a word that it does not know.
    """

    keyword: Callable[[str, Sequence[str]], bool | None]
    flags: Sequence[str] = ()
    triplet: str = TRIPLET


@dataclass(frozen=True)
class Verdict:
    """selected: the ``target`` part holds (or there is none); xfail: the ``xfail`` part holds."""

    selected: bool
    xfail: bool


def _is_triplet(word: str) -> bool:
    return word.count("-") >= 2


def _flags_match(patterns: str, flags: Sequence[str]) -> bool:
    """Whether each glob of a list is a whole word of the flags; the empty list never is, ``*`` always."""
    globs = words(patterns)
    return bool(globs) and all(g == "*" or any(fnmatch.fnmatchcase(f, g) for f in flags) for g in globs)


def flags_selected(includes: Sequence[str], excludes: Sequence[str], flags: Sequence[str]) -> bool:
    """check-flags: some element of ``includes`` and none of ``excludes`` is among the flags."""
    return any(_flags_match(i, flags) for i in includes) and not any(_flags_match(e, flags) for e in excludes)


def _atom(word: str, context: Context) -> bool:
    if _is_triplet(word):
        return fnmatch.fnmatchcase(context.triplet, word)
    known = context.keyword(word, context.flags)
    if known is None:
        raise SelectorError(f"unrecognized keyword: {word}")
    return known


def evaluate(selector: str, context: Context) -> bool:
    """The truth of S.  Raises SelectorError.

    One or two operands and an operator, without chaining: nested braces say what belongs together.
    """
    try:
        parts = words(selector)
    except TclError as error:
        raise SelectorError(f"syntax error in target selector: {error}") from None
    if not parts:
        raise SelectorError("empty target selector")
    if parts[0] in ("any-opts", "no-opts"):
        return flags_selected(parts[1:], [], context.flags) == (parts[0] == "any-opts")
    if len(parts) == 1:
        return evaluate(parts[0], context) if parts[0].split() != [parts[0]] else _atom(parts[0], context)
    if parts[0] == "!" and len(parts) == 2:
        return not evaluate(parts[1], context)
    if len(parts) == 3 and parts[1] in ("&&", "||"):
        left = evaluate(parts[0], context)
        if parts[1] == "&&":
            return left and evaluate(parts[2], context)
        return left or evaluate(parts[2], context)
    if all(_is_triplet(part) for part in parts):
        return any(_atom(part, context) for part in parts)
    raise SelectorError(f'syntax error in target selector "{selector}"')


def process(text: str | None, context: Context, xfail_allowed: bool = True) -> Verdict:
    """Evaluate a directive's selector word; None stands for an absent one.  Raises SelectorError."""
    if text is None or not text.strip():
        return Verdict(True, False)
    try:
        parts = words(text)
    except TclError as error:
        raise SelectorError(f"syntax error in target selector: {error}") from None
    selected, xfail = True, False
    at = 0
    if parts[at] not in ("target", "xfail"):
        raise SelectorError(f'syntax error in target selector "{text}"')
    while at < len(parts):
        kind, stop = parts[at], at + 1
        while stop < len(parts) and parts[stop] not in ("target", "xfail"):
            stop += 1
        inner = parts[at + 1 : stop]
        if not inner:
            raise SelectorError(f'syntax error in target selector "{text}"')
        value = evaluate(" ".join(p if p.split() == [p] else "{" + p + "}" for p in inner), context)
        if kind == "target":
            selected = value
        elif not xfail_allowed:
            raise SelectorError(f'"xfail" not allowed in "{text}"')
        else:
            xfail = value
        at = stop
    return Verdict(selected, xfail)
