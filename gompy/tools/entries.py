"""Entries of the caches that compiled fronts answer from: links (lto_wrapper), command lines (gompy/driver).

An entry has what came out once, and what the files that had a part in it were like; gompy/native/kept_entries.h reads
it and has its layout.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LEFT_OVER = 3600
"""Seconds after which a file that is not finished is one of a process that has died."""
SETTLED = 20_000_000
"""Nanoseconds by which a file has to be older than the run: its time is that of a clock tick."""


def number(value: int) -> bytes:
    """A number as an entry has it."""
    return value.to_bytes(8, "little")


def string(text: str) -> bytes:
    """A string as an entry has it."""
    data = os.fsencode(text)
    return number(len(data)) + data + b"\0"


def discard_below(folder: int, name: str) -> None:
    """Delete a file of the folder that is open by that descriptor, if it is there."""
    try:  # noqa: SIM105
        os.unlink(name, dir_fd=folder)
    except OSError:
        pass


class Store:
    """Where a front wants an entry: ``KEY:FOLDER:BEGAN``, hexadecimal, a descriptor, nanoseconds since 1970.

    What the key is made of was read after that time.  ``magic``: eight bytes that tell the caches apart.  ``limit``:
    bytes that all entries may have together; those that have not been used for longest go.
    """

    def __init__(self, word: str, magic: bytes, limit: int) -> None:
        self.name, folder, began = word.split(":")
        self.folder = int(folder)
        self.before = int(began) - SETTLED
        self.magic = magic
        self.limit = limit

    def settled(self, path: str) -> bool:
        """Whether a file is so old that what has been read of it is what is there.  Raises OSError."""
        return os.stat(path).st_ctime_ns <= self.before

    def keep(self, parts: Iterable[str], items: int, kept: bytes) -> None:
        """Make an entry of so many items: ``parts`` had a part (or are missing).

        None is made where one of them is too young for it to be sure what has been read.
        """
        try:
            states = [self._state(path) for path in sorted(set(parts))]
            if None in states:
                return
            head = [number(len(states)), number(items), *(state for state in states if state is not None)]
            self._write(self._entry(b"".join(head) + kept))
            self._prune()
        except OSError:
            return  # a full disk, one that cannot be written: it is made again each time

    def _state(self, path: str) -> bytes | None:
        try:
            found = os.stat(path)
        except OSError:
            return bytes(32) + string(path)
        if found.st_ctime_ns > self.before:
            return None
        facts = (found.st_ino, found.st_size, found.st_ctime_ns, found.st_mtime_ns)
        return b"".join(map(number, facts)) + string(path)

    def _entry(self, rest: bytes) -> bytes:
        from _blake2 import blake2b  # hashlib would load OpenSSL

        check: bytes = blake2b(rest, digest_size=32).digest()
        return self.magic + bytes.fromhex(self.name) + check + rest

    def _write(self, data: bytes) -> None:
        part = f".{self.name}.{os.getpid()}"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(part, flags, 0o600, dir_fd=self.folder)
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.rename(part, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except BaseException:
            discard_below(self.folder, part)
            raise
        finally:
            os.close(descriptor)

    def _prune(self) -> None:
        found: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # another process was quicker
                if not entry.name.startswith("."):
                    found.append((facts.st_mtime, facts.st_size, entry.name))
                elif facts.st_mtime < time.time() - LEFT_OVER:
                    discard_below(self.folder, entry.name)
        total = sum(size for _, size, _ in found)
        for _, size, name in sorted(found):
            if total <= self.limit:
                return
            discard_below(self.folder, name)
            total -= size


def own_parts() -> list[str]:
    """The Python that runs this, and its modules: what changes with gompy."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return [os.path.realpath(sys.executable), *(file for file in files if file)]
