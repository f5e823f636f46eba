"""How the driver reports: gcc's manner, one line, no traceback."""

from __future__ import annotations

import os
import sys

from gompy import UserError


class DriverError(UserError):
    """The command cannot be carried out; ``notes`` follow it as ``note:`` lines.  Exit status 1, as gcc's."""

    def __init__(self, message: str, *notes: str) -> None:
        super().__init__(message)
        self.message = message
        self.notes = notes


def restore_locale() -> None:
    """Undo PEP 538 in our environment.

    In the C locale Python sets ``LC_CTYPE=C.UTF-8`` for itself and its children, which would change the quotes in gcc's
    messages.  The kernel's copy of the environment tells whether it was the user who set it.
    """
    env = os.environ
    if env.get("LC_CTYPE") not in ("C.UTF-8", "C.utf8", "UTF-8") or env.get("LC_ALL"):
        return
    try:
        with open("/proc/self/environ", "rb") as file:
            if b"LC_CTYPE=" in {entry[:9] for entry in file.read().split(b"\0")}:
                return
    except OSError:
        return
    del env["LC_CTYPE"]


def quote(text: str) -> str:
    """The text in the quotes that gcc uses: ‘’ in a UTF-8 locale, '' in others."""
    import _locale

    before = _locale.setlocale(_locale.LC_CTYPE, None)
    try:
        _locale.setlocale(_locale.LC_CTYPE, "")
        utf8 = _locale.nl_langinfo(_locale.CODESET) == "UTF-8"
    except _locale.Error:  # type: ignore[attr-defined]  # no such locale: gcc stays in the C locale then
        utf8 = False
    finally:
        _locale.setlocale(_locale.LC_CTYPE, before)
    return f"‘{text}’" if utf8 else f"'{text}'"


def say(program: str, kind: str, message: str) -> None:
    """Print ``program: kind: message`` to stderr."""
    if "\n" in message or "\r" in message:  # of a file's name
        from gompy.tools.toolmain import one_line

        message = one_line(message)
    if sys.stderr is not None:  # it is, where the descriptor was closed
        sys.stderr.flush()
    try:
        os.write(2, f"{program}: {kind}: {message}\n".encode("utf-8", "surrogateescape"))
    except OSError:
        return


def output(text: str) -> None:
    """Write to standard output, all of it, at once.  Raises DriverError."""
    data = memoryview(os.fsencode(text))
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError as error:
        raise DriverError(f"cannot write to standard output: {error.strerror}") from None


def report(program: str, error: DriverError) -> None:
    """Print an error and its notes."""
    say(program, "error", error.message)
    for note in error.notes:
        say(program, "note", note)
