"""``-show`` and ``--showme``: what would be run, as the compiler wrappers of MPI libraries print it.

The options and their meanings are Open MPI's (``--showme[:command|:compile|:link|:incdirs|:libdirs]``) and MPICH's
(``-show``).
"""

from __future__ import annotations

import os
import shlex

from gompy.driver import compiler, errors, paths, plan

PARTS = ("command", "compile", "link", "incdirs", "libdirs", "help")
USAGE = """--showme            the command that would be run
--showme:command    the compiler
--showme:compile    what a compile gets
--showme:link       what a link gets
--showme:incdirs    folders of headers (gcc's own, where omp.h is)
--showme:libdirs    folders of libraries"""


def show(language: compiler.Language, arguments: list[str], option: str) -> int:
    """Print what ``option`` asks for; returns the exit status.  Runs nothing but, perhaps, ``gcc -print-file-name``."""
    if ":" in option:
        return _part(language, option.partition(":")[2])
    rest = list(arguments)
    rest.remove(option)
    made = plan.make(language, rest)
    for kind, text in made.messages:
        errors.say(language.program, kind, text)
    if made.errors:
        for failure in made.errors:
            errors.report(language.program, failure)
        return 1
    errors.output(command_line(made) + "\n")
    return 0


def command_line(made: plan.Plan) -> str:
    """A line for the shell that does what the plan does."""
    changes = sorted(made.environment.items())
    unset = [f"-u {name}" for name, value in changes if value is None and name in os.environ]
    words = [f"{name}={shlex.quote(value)}" for name, value in changes if value is not None]
    if unset:
        words = ["env", *unset, *words]
    return " ".join([*words, *(shlex.quote(word) for word in made.argv)])


def _part(language: compiler.Language, part: str) -> int:
    if part not in PARTS:
        message = f"--showme: no {errors.quote(part)}; it knows {', '.join(PARTS)}"
        raise errors.DriverError(message)
    errors.output(_answer(language, part) + "\n")
    return 0


def _answer(language: compiler.Language, part: str) -> str:
    """What ``--showme:part`` prints."""
    if part == "help":
        return USAGE
    if part == "command":
        return shlex.join(compiler.chosen(language).words)
    if part == "compile":
        return shlex.join([*plan.compile_words(), "-fopenmp"])
    if part == "link":
        return shlex.join([*plan.library_words(), "-fopenmp"])
    if part == "incdirs":
        return include_folder(compiler.chosen(language))
    return paths.LIBDIR


def include_folder(command: compiler.Compiler) -> str:
    """The folder where this gcc has its omp.h."""
    import subprocess

    done = subprocess.run(
        [*command.words, "-print-file-name=include"], executable=command.path, capture_output=True, text=True
    )
    return done.stdout.strip()
