"""``gompy man``: the manual page of a command, made from its parser; ``--to DIR`` writes all of them.

Exit status: 0; 1 a file cannot be written; 2 usage.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from gompy.cli import manual
from gompy.cli.arguments import command_parser
from gompy.cli.main import version
from gompy.tools.toolmain import one_line

EXAMPLES: Final = """\
examples:
  gompy man run            show the page of gompy run
  gompy man gompcc         show that of the C compiler
  gompy man --to DIR       write all pages into DIR/man1"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser("man", "Show the manual page of a command.", EXAMPLES)
    made.add_argument("name", metavar="NAME", nargs="?", default="gompy", help="a command of gompy, or a compiler")
    made.add_argument("--to", metavar="DIR", help="write all pages into DIR/man1")
    return made


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy man``); the exit status."""
    options = parser().parse_args(argv)
    if options.to:
        try:
            write_all(Path(options.to))
        except OSError as error:
            return _error(f"{error.filename or options.to}: {error.strerror}", 1)
        return 0
    wanted = (options.name, f"gompy {options.name}")
    for command in manual.every():
        if command.name in wanted:
            return show(page(command))
    return _error(f"no command '{options.name}'", 2)


def _error(text: str, status: int) -> int:
    print(f"gompy man: error: {one_line(text)}", file=sys.stderr)
    return status


def show(text: str) -> int:
    """Through man on a terminal, else as it is."""
    program = shutil.which("man") if sys.stdout.isatty() else None
    if program:
        return subprocess.run([program, "-l", "-"], input=text.encode(), check=False).returncode
    sys.stdout.write(text)
    return 0


def file_name(command: manual.Command) -> str:
    """Of its page."""
    return command.name.replace(" ", "-") + ".1"


def write_all(folder: Path) -> list[Path]:
    """Every page, below folder/man1."""
    place = folder / "man1"
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for command in manual.every():
        path = place / file_name(command)
        path.write_text(page(command), encoding="utf-8")
        written.append(path)
    return written


def escaped(text: str) -> str:
    """Text in roff: no line of it is a request, no word an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in text.split("\n"))


def page(command: manual.Command) -> str:
    """One page, in roff's man macros."""
    name = command.name.replace(" ", "-")
    lines = [f'.TH "{escaped(name.upper())}" 1 "" "gompy {escaped(version())}" "User Commands"']
    lines += [".SH NAME", f"{escaped(name)} \\- {escaped(command.summary)}"]
    lines += [".SH SYNOPSIS", f".B {escaped(command.usage or command.name)}"]
    if command.description:
        lines += [".SH DESCRIPTION", escaped(command.description)]
    if command.options:
        lines += [".SH OPTIONS", *(line for option in command.options for line in item(option.shown, option.text))]
    if command.commands:
        lines.append(".SH COMMANDS")
        for below in command.commands:
            lines += item(below.usage if below.options else below.name, below.summary)
            if command.name != "gompy" and below.options:
                lines.append(".RS")
                lines += [line for option in below.options for line in item(option.shown, option.text)]
                lines.append(".RE")
    if command.variables:
        lines += [".SH ENVIRONMENT", *(line for name, text in command.variables for line in item(name, text))]
    for title, text in manual.paragraphs(command):
        as_it_is = title == "examples"
        lines += [
            f".SH {title.upper()}",
            *([".nf"] if as_it_is else []),
            escaped(text.rstrip() if as_it_is else text.strip()),
        ]
        lines += [".fi"] if as_it_is else []
    others = [other for other in ("gompy", "gompcc", "gcc") if other != command.name]
    lines += [".SH SEE ALSO", *(f".BR {other} (1){',' * (other != others[-1])}" for other in others)]
    return "\n".join(line for line in lines if line != "") + "\n"


def item(term: str, text: str) -> list[str]:
    """A tagged paragraph."""
    return [".TP", f".B {escaped(term)}", escaped(text) if text else "\\&"]
