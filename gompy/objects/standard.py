"""Standard streams that were closed when a tool was started (``gompcc … 2>&-``)."""

from __future__ import annotations

import os
import sys


def open_closed() -> None:
    """Open them to the null device; standard output cannot be written, as before.

    Otherwise what we open next, a temporary file say, would become the standard output of the programs that we start.
    """
    for number, mode in enumerate((os.O_RDWR, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)
