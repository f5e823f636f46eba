"""The parsers of gompy's commands: each shows its help in the same way."""

from __future__ import annotations

import argparse

from gompy.tools.helptext import Parser


def command_parser(
    name: str, description: str, examples: str, *, usage: str | None = None, allow_abbrev: bool = True
) -> argparse.ArgumentParser:
    """A parser of ``gompy NAME``; the examples stand behind its help as they are written."""
    return Parser(
        prog=f"gompy {name}",
        usage=usage,
        description=description,
        epilog=examples,
        allow_abbrev=allow_abbrev,
    )


def add_program(parser: argparse.ArgumentParser) -> None:
    """The program that a command runs, and its arguments: the last on the line."""
    parser.add_argument("command", metavar="PROG", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def program_words(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    """Them, without a ``--`` before them; a usage error if there is none."""
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        parser.error(f"which program? ({parser.usage})")
    return words
