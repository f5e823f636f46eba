"""What there is to know of each command, taken from its own parser: the one source of man pages and completions."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from gompy.cli import main as frame
from gompy.driver import clang, compiler, help

COMPILERS: Final = (compiler.C, compiler.CXX, compiler.FORTRAN)
CLANGS: Final = (clang.C, clang.CXX)


@dataclass(frozen=True)
class Option:
    """One option or argument."""

    flags: tuple[str, ...]
    """None for an argument."""
    value: str = ""
    text: str = ""
    choices: tuple[str, ...] = ()
    joined: bool = False
    """The value, if any, follows a ``=``."""

    @property
    def shown(self) -> str:
        """As a list of options has it."""
        if not self.flags:
            return self.value
        join = "=" if self.joined else " "
        return ", ".join(self.flags) + (f"{join}{self.value}" if self.value else "")


@dataclass
class Command:
    """One command: ``gompy inspect``, ``gompy images list``, or a compiler."""

    name: str
    summary: str
    usage: str = ""
    description: str = ""
    options: list[Option] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    more: str = ""
    """Examples, exit status and the like, as the help has them."""
    variables: list[tuple[str, str]] = field(default_factory=list)
    files: bool = False
    """Whether its arguments are files."""


def of_parser(name: str, summary: str, parser: argparse.ArgumentParser) -> Command:
    """What a parser knows."""
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    made = Command(name, summary, usage, parser.description or "", more=parser.epilog or "")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help or "" for choice in action._choices_actions}
            made.commands = [
                of_parser(f"{name} {word}", told.get(word, ""), sub) for word, sub in action.choices.items()
            ]
        elif not isinstance(action, argparse._HelpAction) and action.help != argparse.SUPPRESS:
            made.options.append(of_action(action))
        made.files |= not action.option_strings and action.metavar in ("FILE", "PROG", "IMAGE")
    return made


def of_action(action: argparse.Action) -> Option:
    """One option of a parser."""
    choices = tuple(map(str, action.choices or ()))
    value = ""
    if action.nargs != 0:
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        value = metavar or (f"{{{','.join(choices)}}}" if choices else action.dest.upper())
    optional = action.nargs == "?" and bool(action.option_strings)
    text = (action.help or "").replace("%%", "%")
    return Option(tuple(action.option_strings), f"[{value}]" if optional else value, text, choices, optional)


def subcommand(name: str, summary: str) -> Command:
    """A command of gompy."""
    full = f"gompy {name}"
    module = importlib.import_module(f"gompy.cli.{name}")
    make = getattr(module, "parser", None) or getattr(module, "_parser", None)
    if make is not None:
        return of_parser(full, summary, make())
    if name == "config":
        options = [Option((flag,), text=text) for flag, (text, _) in module.ANSWERS.items()]
        return Command(full, summary, f"{full} OPTION...", "Prints one line for each option.", options)
    return Command(full, summary, full, (module.__doc__ or "").partition("\n\n")[2])


def gompy() -> Command:
    """The command itself, with all that are below it."""
    below = [subcommand(name, text) for name, text in frame.available().items()]
    made = Command("gompy", "look into, run and set up offloading programs", "gompy COMMAND [ARGUMENT...]")
    made.options = [Option(("--version",), text="print the version"), Option(("--help",), text="list the commands")]
    made.commands = below
    return made


def of_compiler(language: compiler.Language) -> Command:
    """One of the compilers."""
    names, said = help.words(language), help.texts(language)
    options = []
    for left, right in said.options:
        flags = left.format(**names).split(", ")
        options.append(Option(tuple(flags), text=right.format(**names)))
    about = f"{language.program} {said.about.format(**names)}\nAll options of {language.default} are passed on to it."
    made = Command(language.program, f"{language.default} with offloading", f"{language.program} [OPTION...] FILE...")
    made.description, made.options, made.files = about, options, True
    made.variables = [(left.format(**names), right.format(**names)) for left, right in said.variables]
    made.more = "\n".join(["examples:", *help.rows(said.examples, names)])
    return made


def every() -> list[Command]:
    """All that have a man page."""
    root = gompy()
    return [root, *root.commands, *map(of_compiler, (*COMPILERS, *CLANGS))]


def paragraphs(command: Command) -> Iterator[tuple[str, str]]:
    """The parts of ``more``, by their titles: ``examples``, ``exit status``; what has no title is ``notes``."""
    for part in command.more.strip().split("\n\n"):
        first, colon, rest = part.partition(":")
        titled = colon and first in ("examples", "exit status")
        if part:
            yield (first, rest.strip("\n")) if titled else ("notes", part)
