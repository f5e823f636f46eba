"""The end of a program's log, which outlives the program: gompy/runtime/core/check_tail.h."""

from __future__ import annotations

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

NAME: Final = ".tail"
HEAD: Final = 4096
ROOM: Final = 1 << 18
"""Bytes of records; with those before, those of the runtime."""
LENGTHS: Final = struct.Struct("<8xQQ")
"""How many bytes of records are in the log, and how many with those that are not."""


class Tail:
    """Memory for the records of one log that its program has not written yet."""

    def __init__(self, log: str) -> None:
        """Without it, as where the system refuses that, the program writes them sooner."""
        self.log = log
        self.fd = -1
        try:
            self.fd = os.memfd_create("gompy-log")
            os.posix_fallocate(self.fd, 0, HEAD + ROOM)
            os.symlink(f"/proc/{os.getpid()}/fd/{self.fd}", log + NAME)
        except OSError:
            self.close()

    def close(self) -> None:
        """Give it back."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def left(self) -> bytes:
        """What is not in the log."""
        if self.fd < 0:
            return b""
        written, logged = LENGTHS.unpack(os.pread(self.fd, LENGTHS.size, 0))
        return os.pread(self.fd, min(logged - written, ROOM), HEAD) if logged > written else b""

    def append(self) -> None:
        """Have the log complete: its program has ended.  It may have ended while it wrote: that stands once then."""
        left = self.left()
        if not left:
            return
        written, _ = LENGTHS.unpack(os.pread(self.fd, LENGTHS.size, 0))
        with open(self.log, "r+b") as file:
            file.seek(written)
            there = file.read()
            if there.startswith(left):  # and a part of the record that was next
                return
            begun = left.startswith(there)
            file.seek(written if begun else 0, os.SEEK_SET if begun else os.SEEK_END)
            file.write(left)
