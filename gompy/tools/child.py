"""A program of the user's: a child, of which there is something to say when it has ended, or in our place."""

from __future__ import annotations

import errno
import os

from gompy.tools.process import NOT_IGNORED

TYPE_CHECKING = False  # each program waits for what this module imports, and subprocess takes three milliseconds
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from typing import Final, NoReturn
else:
    import _signal as signal  # the C part, without the enumerations

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


def output_of(path: str, env: dict[str, str], seconds: float) -> bytes:
    """What a program writes to its standard output; nothing if it cannot start, or does not end in time."""
    read, write = os.pipe()
    streams = [
        (os.POSIX_SPAWN_DUP2, write, 1),  # first: where descriptors were closed, the pipe may be 0, 1 or 2 itself
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        child = os.posix_spawn(path, [path], env, file_actions=streams, setsigdef=NOT_IGNORED)
    except OSError:
        os.close(read)
        return b""
    finally:
        os.close(write)
    ended = False
    try:
        written = _until_end(read, seconds)
        ended = written is not None
        return written or b""
    finally:
        os.close(read)
        if not ended:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _until_end(descriptor: int, seconds: float) -> bytes | None:
    """What can be read from there; None if that has not ended in time."""
    import select
    import time

    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    end = time.monotonic() + seconds
    found = b""
    while waiting.poll(max(end - time.monotonic(), 0) * 1000):
        data = os.read(descriptor, 1 << 16)
        if not data:
            return found
        found += data
    return None


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
        for number in (*handed_on, *NOT_IGNORED):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    ended = None
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, nobody learns the program's status
        child = _start(command, env, in_child)
        try:
            if started is not None:
                started(child)
            while (ended := os.waitpid(child, os.WNOHANG))[0] != child:
                came = signal.sigwaitinfo((signal.SIGCHLD, *handed_on))
                # A terminal that goes away tells the leader of its session alone (tty_signal_session_leader).
                of_group = came.si_code == SI_KERNEL and not (came.si_signo == signal.SIGHUP and os.getsid(0) == parent)
                if came.si_signo != signal.SIGCHLD and not of_group:
                    _hand_on(child, came.si_signo)
        finally:
            if ended is None or ended[0] != child:  # an error of what is done beside it
                ended = os.waitpid(child, 0)
        while signal.sigtimedwait(handed_on, 0) is not None:
            pass  # it came too late for the program
    finally:
        signal.signal(signal.SIGCHLD, of_children)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    status = os.waitstatus_to_exitcode(ended[1])
    return 128 - status if status < 0 else status


def _hand_on(child: int, number: int) -> None:
    """Send a program a signal; one that another user runs, as by sudo, is waited for."""
    try:  # noqa: SIM105 (contextlib is not imported on this path)
        os.kill(child, number)
    except PermissionError:
        pass


def _close_all_but(kept: tuple[int, ...]) -> None:
    """Close what else this process was given, as far as /proc tells of it."""
    try:
        given = {int(name) for name in os.listdir("/proc/self/fd")}
    except OSError:
        return
    for number in given.difference(kept):
        try:  # noqa: SIM105 (as above)
            os.close(number)
        except OSError:  # that of the list itself
            pass


def _start(command: list[str], env: dict[str, str], in_child: Callable[[], None]) -> int:
    """Start a program, which gets the three standard descriptors; its process number.  OSError if it cannot start."""
    read, write = os.pipe()  # which the program closes as it starts, or tells the error's number
    child = os.fork()
    if not child:
        try:
            in_child()
            _close_all_but((0, 1, 2, write))
            os.execvpe(command[0], command, env)
        except (OSError, MemoryError) as error:
            os.write(write, b"%d" % getattr(error, "errno", errno.ENOMEM))
        finally:
            os._exit(127)
    os.close(write)
    with open(read, "rb") as pipe:
        number = pipe.read()
    if number:
        os.waitpid(child, 0)
        raise OSError(int(number), os.strerror(int(number)), command[0])
    return child
