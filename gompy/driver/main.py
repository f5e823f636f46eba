"""gompcc, gompc++ and gompfortran: gcc, g++ and gfortran whose offloaded regions have a device to run on.

One command is one gcc, started with exec: exit status, signals, ``-v``, ``-###``, ``-save-temps`` and diagnostics are
its own.
"""

from __future__ import annotations

import os
import sys

from gompy import last_words
from gompy.driver import compiler, errors, plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

E2BIG = 7  # errno.h
REGIONS, SAVE_REGIONS = "GOMPY_REGIONS", "--save-regions"  # gompy/driver/save_regions.py, read only where asked for
SHOW = ("-show", "--show", "-showme", "--showme")


def prepare(language: compiler.Language) -> None:
    """Signals, streams and the environment as the compiler that we become is to find them."""
    import _signal  # type: ignore[import-not-found]  # the module signal takes 3 ms to import

    # Ctrl-C ends us as it ends gcc.  Python ignores the other two; a program started by exec would go on ignoring them.
    for number in (_signal.SIGINT, _signal.SIGPIPE, _signal.SIGXFSZ):
        if number != _signal.SIGINT or _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)
    short = f"{language.program}: error: out of memory\n".encode()
    sys.excepthook = lambda *error: _bug(language.program, short, *error)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        from gompy.objects import standard

        standard.open_closed()
    errors.restore_locale()


def drive(language: compiler.Language, keep: str = "") -> None:
    """Carry out the command in sys.argv; ``keep``: where the front wants its like to be kept (memory.py)."""
    prepare(language)
    if keep:
        os.set_inheritable(int(keep.split(":")[1]), False)
    arguments = sys.argv[1:]
    try:
        if REGIONS in os.environ or any(word.startswith(SAVE_REGIONS) for word in arguments):
            keep = ""
            from gompy.driver import save_regions

            arguments = save_regions.apply(language, arguments)
        for word in arguments:
            if word in SHOW or word.startswith(("--showme:", "-showme:")):
                from gompy.driver import show

                sys.exit(show.show(language, arguments, word))
        if arguments == ["--help"]:
            keep = ""
            from gompy.driver import help

            errors.output(help.text(language) + "\n")
        made = plan.make(language, arguments)
    except errors.DriverError as error:
        errors.report(language.program, error)
        sys.exit(1)
    for kind, text in made.messages:
        errors.say(language.program, kind, text)
    if made.errors:
        for failure in made.errors:
            errors.report(language.program, failure)
        sys.exit(1)
    if keep:
        from gompy.driver import memory

        memory.keep(keep, language, arguments, made)
    run(language, made)


def _bug(
    program: str, short: bytes, kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    try:
        from gompy.objects import ice

        ice.report(program, kind, error, trace)
    except Exception as another:
        if not last_words(another, short):
            raise


def run(language: compiler.Language, made: plan.Plan) -> None:
    """Become gcc."""
    env = plan.environment_of(made)
    try:
        try:
            os.execve(made.path, made.argv, env)
        except OSError as error:
            if error.errno != E2BIG:
                raise
        os.execve(made.path, [*made.argv[: made.start], response_file(made.argv[made.start :])], env)
    except OSError as error:
        errors.say(language.program, "error", f"{made.path}: {error.strerror}")
        sys.exit(1)


def response_file(words: list[str]) -> str:
    """Words too many for a command line, as ``@file`` in memory that stays open in the process that we become."""
    handle = os.memfd_create("arguments", 0)
    if handle < 3:  # the place of a standard stream that is closed, and gcc's messages would go there
        from fcntl import F_DUPFD, fcntl

        low, handle = handle, fcntl(handle, F_DUPFD, 3)
        os.close(low)
    from gompy.tools.response import join

    with open(handle, "wb", closefd=False) as file:
        file.write(os.fsencode(join(words)))
    return f"@/proc/self/fd/{handle}"


def gompcc(keep: str = "") -> None:
    """C."""
    drive(compiler.C, keep)


def gompcxx(keep: str = "") -> None:
    """C++."""
    drive(compiler.CXX, keep)


def gompfortran(keep: str = "") -> None:
    """Fortran."""
    drive(compiler.FORTRAN, keep)
