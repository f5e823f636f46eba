"""``gompy completion SHELL``: the script by which a shell completes gompy's words, made from the commands' parsers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gompy.cli import manual
from gompy.cli.arguments import command_parser
from gompy.cli.manual import Command, Option
from gompy.driver.compiler import Language

LANGUAGES: Final = (*manual.COMPILERS, *manual.CLANGS)
PROGRAMS: Final = tuple(language.program for language in LANGUAGES)
EXAMPLES: Final = """\
examples:
  eval "$(gompy completion bash)"                               in ~/.bashrc
  gompy completion zsh > ~/.zfunc/_gompy                        a folder of fpath
  gompy completion fish > ~/.config/fish/completions/gompy.fish"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser("completion", "Print the script by which a shell completes gompy's words.", EXAMPLES)
    made.add_argument("shell", choices=tuple(SHELLS), help="the shell")
    return made


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy completion``); the exit status."""
    options = parser().parse_args(argv)
    sys.stdout.write(SHELLS[options.shell]())
    return 0


def words(command: Command) -> list[str]:
    """What may follow it: options and commands."""
    flags = [flag for option in command.options for flag in option.flags]
    if not command.name.startswith("gompy"):
        return flags
    return [
        *dict.fromkeys((*flags, "--help")),
        *(below.name.split()[-1] for below in command.commands),
        *values(command),
    ]


def values(command: Command) -> list[str]:
    """Arguments that are one of some words."""
    return [choice for option in command.options if not option.flags for choice in option.choices]


def compiler_words(language: Language) -> list[str]:
    """Of a compiler, as far as they are words that can be typed as they are."""
    flags = [flag for option in manual.of_compiler(language).options for flag in option.flags]
    acc = ["-fopenacc"] if language in manual.COMPILERS else []
    return ["-fopenmp", *acc, *(flag for flag in flags if not any(c.isupper() or c == "[" for c in flag))]


def quoted(text: str) -> str:
    """A word of the shell."""
    return "'" + text.replace("'", "'\\''") + "'"


def chosen(command: Command) -> list[tuple[str, tuple[str, ...]]]:
    """Options whose value is one of some words."""
    return [(flag, option.choices) for option in command.options if option.choices for flag in option.flags]


def bash() -> str:
    """For bash, with or without the package bash-completion."""
    root = manual.gompy()
    lines = ["# bash completion of gompy", "_gompy() {", "  local cur=${COMP_WORDS[COMP_CWORD]} words= files="]
    lines += ["  local prev=${COMP_WORDS[COMP_CWORD-1]}", "  if [ $COMP_CWORD -eq 1 ]; then"]
    lines += [f"    words={quoted(' '.join(words(root)))}", "  else", "    case ${COMP_WORDS[1]} in"]
    for command in root.commands:
        all_words = words(command) + [flag for below in command.commands for flag in words(below)]
        lines.append(f"      {command.name.split()[1]})")
        lines.append(f"        words={quoted(' '.join(dict.fromkeys(all_words)))}")
        files = command.files or any(below.files for below in command.commands)
        lines.append(f"        files={'yes' if files else ''}")
        for flag, choices in chosen(command):
            lines.append(f'        [ "$prev" = {flag} ] && words={quoted(" ".join(choices))} files=')
        lines.append("        ;;")
    lines += ["    esac", "  fi", '  COMPREPLY=($(compgen -W "$words" -- "$cur"))']
    lines += ['  [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$cur"))', "}", "complete -o filenames -F _gompy gompy"]
    lines += [
        "_gompy_compiler() {",
        "  local line=${COMP_LINE:0:COMP_POINT}",
        "  local cur=${line##*[[:space:]]} words",
        "  case $1 in",
        f"    *gompclang*) words={quoted(' '.join(compiler_words(manual.CLANGS[0])))};;",
        f"    *) words={quoted(' '.join(compiler_words(manual.COMPILERS[0])))};;",
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    ]
    lines += [
        "  # bash takes a = for the end of a word",
        '  case $cur in *=*) COMPREPLY=("${COMPREPLY[@]#*=}");; esac',
        "}",
    ]
    lines.append(f"complete -o default -F _gompy_compiler {' '.join(PROGRAMS)}")
    return "\n".join(lines) + "\n"


def zsh_text(text: str) -> str:
    """Within a specification of _arguments."""
    for sign in "\\[]:":
        text = text.replace(sign, f"\\{sign}")
    return text


def zsh_option(option: Option) -> list[str]:
    """The specifications of one option, as _arguments takes them."""
    if not option.flags:
        return [f":{zsh_text(option.value)}:({' '.join(option.choices)})"] if option.choices else []
    value = ""
    if option.value and not option.joined:
        action = f"({' '.join(option.choices)})" if option.choices else "_files"
        value = f":{zsh_text(option.value)}:{action}"
    return [f"*{flag}[{zsh_text(option.text)}]{value}" for flag in option.flags]


def zsh() -> str:
    """For zsh's completion system."""
    root = manual.gompy()
    lines = [f"#compdef gompy {' '.join(PROGRAMS)}", "_gompy() {", "  if [[ $service != gompy ]]; then"]
    lines.append("    case $service in")
    for pattern, language in (("gompclang*", manual.CLANGS[0]), ("*", manual.COMPILERS[0])):
        flags = " ".join(map(quoted, compiler_words(language)))
        lines.append(f"      {pattern}) _arguments {flags} '*:file:_files' ;;")
    lines += ["    esac", "    return", "  fi"]
    lines += ["  if (( CURRENT == 2 )); then", "    local -a commands", "    commands=("]
    lines += [f"      {quoted(zsh_text(below.name.split()[1]) + ':' + below.summary)}" for below in root.commands]
    lines += ["    )", "    _describe command commands", "    return", "  fi", "  shift words", "  (( CURRENT-- ))"]
    lines.append("  case $words[1] in")
    for command in root.commands:
        options = [*command.options, *(option for below in command.commands for option in below.options)]
        specs = list(dict.fromkeys(spec for option in options for spec in zsh_option(option)))
        if command.commands:
            specs.append(f"1:command:({' '.join(below.name.split()[-1] for below in command.commands)})")
        files = command.files or any(below.files for below in command.commands)
        specs += ["*:file:_files"] if files else []
        lines.append(f"    {command.name.split()[1]}) _arguments --help {' '.join(map(quoted, specs))} ;;")
    lines += ["  esac", "}", '_gompy "$@"']
    return "\n".join(lines) + "\n"


def fish_flags(flags: tuple[str, ...]) -> str:
    """Of fish's complete."""
    kinds = {0: "-s", 1: "-o", 2: "-l"}
    return " ".join(
        f"{kinds[2 if flag.startswith('--') else 0 if len(flag) == 2 else 1]} {flag.lstrip('-')}" for flag in flags
    )


def fish() -> str:
    """For fish."""
    root = manual.gompy()
    lines = ["# fish completion of gompy", "complete -c gompy -f"]
    for command in root.commands:
        name = command.name.split()[1]
        lines.append(f"complete -c gompy -n __fish_use_subcommand -a {name} -d {quoted(command.summary)}")
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        if command.files or any(below.files for below in command.commands):
            lines.append(f"complete -c gompy {seen} -F")
        for below in command.commands:
            lines.append(f"complete -c gompy {seen} -a {below.name.split()[-1]} -d {quoted(below.summary)}")
        for option in (*command.options, *(option for below in command.commands for option in below.options)):
            if option.flags:
                value = f" -x -a {quoted(' '.join(option.choices))}" if option.choices else ""
                value = value or (" -r" if option.value and not option.joined else "")
                lines.append(f"complete -c gompy {seen} {fish_flags(option.flags)}{value} -d {quoted(option.text)}")
            elif option.choices:
                lines.append(f"complete -c gompy {seen} -a {quoted(' '.join(option.choices))}")
    for language in LANGUAGES:
        lines += [f"complete -c {language.program} -a {quoted(word)}" for word in compiler_words(language)]
    return "\n".join(lines) + "\n"


def write_all(folder: Path) -> list[Path]:
    """Each script where its shell looks for it below ``share``; bash loads one by the name of the command."""
    places = {f"bash-completion/completions/{name}": bash for name in ("gompy", *PROGRAMS)}
    places |= {"zsh/site-functions/_gompy": zsh, "fish/vendor_completions.d/gompy.fish": fish}
    written = []
    for name, make in places.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")
        written.append(path)
    return written


SHELLS: Final[dict[str, Callable[[], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
