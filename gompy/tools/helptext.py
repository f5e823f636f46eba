"""Help texts in a terminal's width: prose and lists are broken at blanks, each line's rest stands under its text."""

from __future__ import annotations

import argparse
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEAST = 20
"""Columns of text that a line has at least."""
USUAL = 80
"""Columns that argparse takes where nobody knows: it leaves two of them empty."""
STEP = 2
"""How far a line's rest stands to the right of its begin, where it has one column."""


def room() -> int:
    """The columns that help may have: COLUMNS, or the terminal's; 0: any number."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):
            columns = 0
    return columns


def fitted(text: str, columns: int) -> str:
    """The text with no line longer than ``columns``, but for words that are; 0: as it is.

    Two blanks within a line, but for those behind a sentence, are taken for the begin of a list's second column.
    """
    if not columns:
        return text
    return "\n".join(part for line in text.split("\n") for part in _parts(line, max(columns, LEAST)))


def _parts(line: str, columns: int) -> list[str]:
    if len(line) <= columns:
        return [line]
    import re
    import textwrap

    indent = len(line) - len(line.lstrip(" "))
    if indent >= LEAST:  # argparse puts options below the first one
        indent = max(STEP, min(indent, columns - len(line.strip())))
    below = indent + STEP
    second = re.match(r" *\S+(?: \S+)*?(?<![.!?]) {2,}(?=\S)", line)
    begin = " " * indent
    parts = []
    text = line.strip()
    if second is not None:
        if second.end() + LEAST <= columns:
            begin, below = second[0], second.end()
        else:
            parts = _parts(second[0].rstrip(), columns)
            begin = " " * (indent + 2 * STEP)
            below = len(begin)
        text = line[second.end() :]
    return parts + textwrap.wrap(
        text,
        max(columns, len(begin) + LEAST),
        initial_indent=begin,
        subsequent_indent=" " * below,
        break_long_words=False,
        break_on_hyphens=False,
    )


def in_terminal(text: str) -> str:
    """The text as the terminal has room for it."""
    return fitted(text, room())


class HelpForm(argparse.RawDescriptionHelpFormatter):
    """argparse's help; description and examples as they are written, where the terminal has room for them.

    argparse makes one for each option that a parser gets, and loads shutil to ask how wide it is: three milliseconds.
    """

    def __init__(self, prog: str, **words: Any) -> None:
        words.setdefault("width", (room() or USUAL) - STEP)
        super().__init__(prog, **words)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return in_terminal(super()._fill_text(text, width, indent))

    def _format_usage(self, usage: str | None, *rest: object) -> str:
        return in_terminal(super()._format_usage(usage, *rest))  # type: ignore[arg-type]


class Parser(argparse.ArgumentParser):
    """A parser with such help; those of its subcommands are such, too."""

    def __init__(self, **words: Any) -> None:
        super().__init__(formatter_class=HelpForm, **words)
