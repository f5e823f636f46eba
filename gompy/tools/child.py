"""A program of the user's: a child, of which there is something to say when it has ended, or in our place."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

from gompy.tools.process import NOT_IGNORED

KEYBOARD: Final = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to both; the program decides, and this process waits for it."""
HANDED_ON: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""What may be sent to this process alone, and is meant for the program: that gets it, and what there is to say is said.

What is sent to all of the group, as by a terminal that closes, the program gets twice.
"""


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
    child: subprocess.Popen[bytes] | None = None
    came: list[int] = []

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if child is None:
            came.append(number)
            return
        with contextlib.suppress(PermissionError):  # of a program that another user runs, as by sudo: it is waited for
            child.send_signal(number)

    before = {number: signal.getsignal(number) for number in (*KEYBOARD, *HANDED_ON)}

    def usual_signals() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if handler == signal.SIG_IGN else signal.SIG_DFL)

    try:
        for key in KEYBOARD:
            signal.signal(key, signal.SIG_IGN)
        for sent in HANDED_ON:
            if before[sent] != signal.SIG_IGN:
                signal.signal(sent, hand_on)
        child = subprocess.Popen(command, env=env, preexec_fn=usual_signals)
        for early in came:  # while it was started
            hand_on(early, None)
        if started is not None:
            started(child.pid)
        code = child.wait()
    finally:
        for changed, handler in before.items():
            signal.signal(changed, handler)
    return 128 - code if code < 0 else code
