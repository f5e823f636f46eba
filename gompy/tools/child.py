"""A program of the user's: a child, of which there is something to say when it has ended, or in our place."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Final, NoReturn

from gompy.tools.process import NOT_IGNORED

HANDED_ON: Final = (
    *(signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
"""What may be sent to this process alone, and is meant for the program: that gets it, and what there is to say is said.

What a process sends to all of the group, the program gets twice: that cannot be told from what was sent to this process
alone.
"""
SI_KERNEL: Final = 0x80
"""siginfo_t's si_code of what a terminal sends (asm-generic/siginfo.h): to all of the group, but for one case."""
PR_SET_PDEATHSIG: Final = 1
"""linux/prctl.h"""


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

    ``started`` is called with its process number.  The program does not outlive this process, even one that is killed.
    """
    import ctypes  # before the fork

    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()
    handed_on = [number for number in HANDED_ON if signal.getsignal(number) != signal.SIG_IGN]
    of_children = signal.getsignal(signal.SIGCHLD)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, *handed_on))

    def in_child() -> None:
        prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        signal.signal(signal.SIGCHLD, of_children)
        for number in handed_on:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody learns the program's status
        with subprocess.Popen(command, env=env, preexec_fn=in_child) as child:
            if started is not None:
                started(child.pid)
            while child.poll() is None:
                came = signal.sigwaitinfo((signal.SIGCHLD, *handed_on))
                # A terminal that goes away tells the leader of its session alone (tty_signal_session_leader).
                of_group = came.si_code == SI_KERNEL and not (came.si_signo == signal.SIGHUP and os.getsid(0) == parent)
                if came.si_signo != signal.SIGCHLD and not of_group:
                    # Of a program that another user runs, as by sudo: it is waited for.
                    with contextlib.suppress(PermissionError):
                        child.send_signal(came.si_signo)
            while signal.sigtimedwait(handed_on, 0) is not None:
                pass  # it came too late for the program
    finally:
        signal.signal(signal.SIGCHLD, of_children)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return 128 - child.returncode if child.returncode < 0 else child.returncode
