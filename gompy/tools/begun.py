"""A compiler that front.c of lto-wrapper has started before this Python was there.

The front guesses the first command of a plain link: files of the temporary folder, words, environment.  Here the guess
is compared with what is to be done.  What is alike is taken over; else the command is ended, and done anew.
"""

from __future__ import annotations

import os

from gompy.tools.process import BEGUN, SIGNALS, Ahead, Child, end_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
else:
    import _signal as signal

WORDS_FILE = "begun"
"""File of the folder that has the command's words, and variables of ADDED that it gets, each with a zero byte."""
ADDED = ("COLLECT_GCC", "COLLECT_GCC_OPTIONS", "TMPDIR")
"""What the environment of GCC's own lto-wrapper has, where that makes the image.  No other has the first."""


class Begun(Ahead):
    """The command that runs: its folder is the link's temporary one.

    ``word``: ``--begun=PROCESS:ERRORS:OUTPUT:GUARD:WATCHED:FOLDER``; the descriptors are our ends of what it says, -1
    for an output that is not taken.  The signals that end a link are blocked until this has been made
    (``release_signals``).  ``ours``: it is a child of this process.  It is not where GOMPY_PYTHON is a program that has
    started us.  The guard is a process that deletes the folder when the descriptor WATCHED is closed, -1 without one.
    ``whole``: we have all of it.  Programs of GOMPY_PYTHON may have closed descriptors; then the folder is the guard's.
    """

    def __init__(self, word: str) -> None:
        pid, errors, output, guard, watched, self.folder = word.removeprefix(BEGUN).split(":", 5)
        self.pid, self.guard, self.watched = int(pid), int(guard), int(watched)
        self.ours = _is_child(self.pid)
        self.pipes = {number: int(end) for number, end in ((1, output), (2, errors)) if int(end) >= 0}
        ends = (*self.pipes.values(), *([self.watched] if self.watched >= 0 else []))
        self.whole = all(map(_is_pipe, ends))
        for descriptor in ends if self.whole else ():
            os.set_inheritable(descriptor, False)

    def dismiss_guard(self) -> None:
        """The folder is deleted by us from now on."""
        if self.watched < 0:
            return
        if _is_child(self.guard):
            os.kill(self.guard, signal.SIGKILL)
            os.waitpid(self.guard, 0)
        os.close(self.watched)
        self.watched = -1

    def has(self, path: str, data: bytes) -> bool:
        """Whether a file of the folder is there with these bytes."""
        try:
            with open(path, "rb") as file:
                return file.read() == data
        except OSError:
            return False

    def child(self, words: Sequence[str], env: Mapping[str, str], captured: set[int]) -> Child | None:
        """The running command, if it is this one with these descriptors captured; the caller's from then on."""
        added = [f"{name}={env[name]}" for name in ADDED if name in env] if ADDED[0] in env else []
        text = "".join(f"{word}\0" for word in (*words, *added)).encode("utf-8", "surrogateescape")
        path = os.path.join(self.folder, WORDS_FILE)
        if not self.good or not self.ours or captured != set(self.pipes) or not self.has(path, text):
            self.end()
            return None
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # somebody has to end it at any moment
        self.good = False
        return _Running(words, self.pid, self.pipes, mask)

    def end(self) -> None:
        """End the command, if nobody has taken it over; let it end, where its number may be another's by now."""
        if self.good and not self.ours:
            for number in sorted(self.pipes, reverse=True):  # its output is but a few names
                while os.read(self.pipes[number], 65536):
                    pass
        if self.good:
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # half of it would leave processes stopped
            self.good = False
            if self.ours:
                end_tree(self.pid)
            for descriptor in self.pipes.values():
                os.close(descriptor)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _is_pipe(descriptor: int) -> bool:
    """Whether that is open, and a pipe."""
    try:
        return os.fstat(descriptor).st_mode & 0o170000 == 0o010000  # S_IFMT, S_IFIFO; stat is not imported for it
    except OSError:
        return False


def _is_child(pid: int) -> bool:
    """Whether that is a child of this process, and not yet reaped."""
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return False
    return True


class _Running(Child):
    """A child that was started by somebody else; we have the ends of what it says.

    The signals that end us are blocked; ``mask`` is what ``wait`` goes back to.
    """

    def __init__(self, words: Sequence[str], pid: int, pipes: dict[int, int], mask: set[int]) -> None:
        self.words = words
        self.stdin = None
        self.pipes = pipes
        self.captured = {1: b"", 2: b""}
        self.mask = mask
        self.pid = pid
