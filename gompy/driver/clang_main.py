"""gompclang and gompclang++: clang whose target regions run on our devices.  One command is one clang, by exec."""

from __future__ import annotations

import sys

from gompy.driver import clang, errors, main, paths
from gompy.driver.compiler import Language
from gompy.driver.errors import DriverError, quote
from gompy.driver.plan import Plan


def make(language: Language, arguments: list[str]) -> Plan:
    """The command that carries a line out.  Raises DriverError."""
    from gompy.tools.response import expand

    words = expand(arguments)
    on = clang.offloads(words)
    command = clang.chosen(language, on, clang.VIA_LLVM in words)
    if not on:
        return Plan(command, arguments)
    link = clang.link_words(command.path)
    added = [clang.QUIET[0], *clang.compile_words(words), *link, clang.QUIET[1]]
    return Plan(command, [*added, *arguments])


def show(language: Language, arguments: list[str], option: str) -> None:
    """Print what ``--showme`` asks for.  Raises DriverError."""
    import shlex

    part = option.partition(":")[2]
    if ":" not in option:
        text = shlex.join(make(language, [word for word in arguments if word != option]).argv)
    elif part == "command":
        text = shlex.join(clang.chosen(language, True).words)
    elif part == "compile":
        text = shlex.join(["-fopenmp", *clang.compile_words([])])
    elif part == "link":
        path = clang.chosen(language, True).path
        text = shlex.join(["-fopenmp", *clang.compile_words([]), *clang.link_words(path)])
    elif part == "libdirs":
        text = paths.LLVMLIBDIR
    elif part == "help":
        text = "\n".join(f"--showme:{name}" for name in clang.PARTS)
    else:
        raise DriverError(f"--showme: no {quote(part)}; it knows {', '.join(clang.PARTS)}")
    errors.output(text + "\n")


def drive(language: Language) -> None:
    """Carry out the command in sys.argv."""
    main.prepare(language)
    arguments = sys.argv[1:]
    try:
        for word in arguments:
            if word in clang.SHOW or word.startswith(("--showme:", "-showme:")):
                show(language, arguments, word)
                sys.exit(0)
        if arguments == ["--help"]:
            from gompy.driver import help

            errors.output(help.text(language) + "\n")
        made = make(language, arguments)
    except errors.DriverError as error:
        errors.report(language.program, error)
        sys.exit(1)
    main.run(language, made)


def gompclang() -> None:
    """C."""
    drive(clang.C)


def gompclangxx() -> None:
    """C++."""
    drive(clang.CXX)
