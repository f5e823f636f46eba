"""``gompy env``: every environment variable that gompy reads, with its value and its meaning.

The one list is docs/environment.md, which a test holds against the sources.  Exit status: 0; 2 usage, 1 no such list.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import dataclass
from typing import Final

from gompy.cli import texts
from gompy.cli.arguments import command_parser
from gompy.tools.toolmain import one_line

EXAMPLES: Final = """\
examples:
  gompy env                every variable, by what it is for; those that are set with their value
  gompy env --set          only those that are set
  gompy env GOMPY_CHECK    only these
  gompy env --json         for a program"""
PAGE: Final = "environment.md"
NOT_FOR_USERS: Final = "Between the parts"


@dataclass(frozen=True)
class Variable:
    """A row of the page's tables."""

    name: str
    part: str
    reader: str
    meaning: str

    @property
    def value(self) -> str | None:
        """What it is set to."""
        return os.environ.get(self.name)


def variables(text: str) -> list[Variable]:
    """Those of the page's tables that are a user's to set."""
    found: list[Variable] = []
    part = ""
    for line in text.splitlines():
        if line.startswith("## "):
            part = line[3:]
        cells = [plain(cell) for cell in line.strip("| ").split(" | ")]
        if part != NOT_FOR_USERS and line.startswith("| `") and len(cells) >= 3:
            found += [Variable(name, part, cells[1], cells[2]) for name in cells[0].split(", ")]
    return found


def plain(cell: str) -> str:
    """A table's cell without marks: code and links as their text."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell).replace("`", "").strip()


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser("env", "List the environment variables that gompy reads, with value and meaning.", EXAMPLES)
    made.add_argument("names", metavar="NAME", nargs="*", help="only these variables")
    made.add_argument("--set", action="store_true", help="only those that are set")
    made.add_argument("--json", action="store_true", help="print a list of objects: name, value, part, reader, meaning")
    return made


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy env``); the exit status."""
    options = parser().parse_args(argv)
    try:
        known = variables(texts.read(PAGE))
    except (OSError, texts.NoText) as error:
        return _error(str(error), 1)
    for name in options.names:
        if name not in {variable.name for variable in known}:
            return _error(f"gompy reads no variable '{name}'", 2)
    chosen = [variable for variable in known if not options.names or variable.name in options.names]
    chosen = [variable for variable in chosen if not options.set or variable.value is not None]
    if options.json:
        from gompy.cli.inspect_json import dumps

        keys = ("name", "value", "part", "reader", "meaning")
        sys.stdout.write(dumps([{key: getattr(variable, key) for key in keys} for variable in chosen]) + "\n")
    else:
        _print(chosen)
    return 0


def _error(text: str, status: int) -> int:
    print(f"gompy env: error: {one_line(text)}", file=sys.stderr)
    return status


def _print(chosen: list[Variable]) -> None:
    if not chosen:
        print("none of gompy's variables is set")
    part = ""
    for variable in chosen:
        if variable.part != part:
            print(("\n" if part else "") + variable.part)
            part = variable.part
        print(f"  {variable.name}" + (f"={one_line(variable.value)}" if variable.value is not None else ""))
        print(f"      {variable.meaning}")
