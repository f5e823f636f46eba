"""A program of the user's: a child, of which there is something to say when it has ended, or in our place."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from typing import NoReturn

from gompy.tools.process import NOT_IGNORED

KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to both; the program decides, and this process waits for it."""


def become(command: list[str], env: dict[str, str]) -> NoReturn:
    """Become a program, with the signals that we were started with.  OSError if it cannot start."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in NOT_IGNORED}
    try:
        os.execvpe(command[0], command, env)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_child(command: list[str], env: dict[str, str], started: Callable[[int], None] | None = None) -> int:
    """Run a program to its end; its exit status, as a shell gives it.  OSError if it cannot start.

    ``started`` is called with its process number.
    """
    before = {number: signal.signal(number, signal.SIG_IGN) for number in KEYBOARD}
    try:
        child = subprocess.Popen(command, env=env, preexec_fn=_usual_signals)
        if started is not None:
            started(child.pid)
        code = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 - code if code < 0 else code


def _usual_signals() -> None:
    for number in KEYBOARD:
        signal.signal(number, signal.SIG_DFL)
