"""gompcc, gompc++ and gompfortran: gcc, g++ and gfortran whose offloaded regions have a device to run on.

One command is one gcc, started with exec: exit status, signals, ``-v``, ``-###``, ``-save-temps`` and diagnostics are
its own.
"""

from __future__ import annotations

import os
import sys

from gompy.driver import compiler, errors, plan

SHOW = ("-show", "--show", "-showme", "--showme")


def drive(language: compiler.Language) -> None:
    """Carry out the command in sys.argv."""
    arguments = sys.argv[1:]
    errors.restore_locale()
    try:
        for word in arguments:
            if word in SHOW or word.startswith(("--showme:", "-showme:")):
                from gompy.driver import show

                sys.exit(show.show(language, arguments, word))
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
    run(language, made)


def run(language: compiler.Language, made: plan.Plan) -> None:
    """Become gcc."""
    import _signal  # type: ignore[import-not-found]  # the module signal takes 3 ms to import

    # Python ignores these two from its start on; a program started by exec would go on ignoring them.
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    try:
        os.execve(made.path, made.argv, plan.environment_of(made))
    except OSError as error:
        errors.say(language.program, "error", f"{made.path}: {error.strerror}")
        sys.exit(1)


def gompcc() -> None:
    """C."""
    drive(compiler.C)


def gompcxx() -> None:
    """C++."""
    drive(compiler.CXX)


def gompfortran() -> None:
    """Fortran."""
    drive(compiler.FORTRAN)
