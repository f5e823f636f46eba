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
    from collections.abc import Sequence
else:
    import _signal as signal

WORDS_FILE = "begun"
"""File of the folder that has the command's words, each with a zero byte."""


class Begun(Ahead):
    """The command that runs: its folder is the link's temporary one.

    ``word``: ``--begun=PROCESS:DESCRIPTOR:FOLDER``; the descriptor is our end of what it says.  The signals that end a
    link are blocked until this has been made (``release_signals``).
    """

    def __init__(self, word: str) -> None:
        pid, descriptor, self.folder = word.removeprefix(BEGUN).split(":", 2)
        self.pid = int(pid)
        self.errors = int(descriptor)
        os.set_inheritable(self.errors, False)

    def has(self, path: str, data: bytes) -> bool:
        """Whether a file of the folder is there with these bytes."""
        try:
            with open(path, "rb") as file:
                return file.read() == data
        except OSError:
            return False

    def child(self, words: Sequence[str]) -> Child | None:
        """The running command, if those are its words; it is the caller's from then on."""
        text = "".join(f"{word}\0" for word in words).encode("utf-8", "surrogateescape")
        if not self.good or not self.has(os.path.join(self.folder, WORDS_FILE), text):
            self.end()
            return None
        self.good = False
        return _Running(words, self.pid, self.errors)

    def end(self) -> None:
        """End the command, if nobody has taken it over."""
        if self.good:
            self.good = False
            end_tree(self.pid)
            os.close(self.errors)


class _Running(Child):
    """A child that was started by somebody else, whose errors we have an end of."""

    def __init__(self, words: Sequence[str], pid: int, errors: int) -> None:
        self.words = words
        self.stdin = None
        self.pipes = {2: errors}
        self.captured = {1: b"", 2: b""}
        self.mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self.pid = pid
