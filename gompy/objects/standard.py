"""Standard streams that were closed when a tool was started (``gompcc … 2>&-``)."""

from __future__ import annotations

import os
import sys


def open_closed() -> None:
    """Open them to the null device.

    Otherwise what we open next, a temporary file say, would become the standard output of the programs that we start.
    """
    null = os.open(os.devnull, os.O_RDWR)
    while null <= 2:  # each open takes the lowest number that is free
        os.set_inheritable(null, True)
        null = os.open(os.devnull, os.O_RDWR)
    os.close(null)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)
