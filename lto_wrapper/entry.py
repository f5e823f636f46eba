"""Entries of the cache of links: what front.c answers a link by that was made before.

An entry has the objects that lto-wrapper gave to the linker, and what the files that had a part in them were like.
lto_wrapper/front.h has its layout.
"""

from __future__ import annotations

import os
import sys
import time

from gompy.objects.elf import split_member
from gompy.tools.process import discard_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAGIC = b"gompylk1"
LIMIT = 128 << 20
"""Bytes that all entries may have together; those that have not been used for longest go."""
LEFT_OVER = 3600
"""Seconds after which a file that is not finished is one of a process that has died."""
SETTLED = 20_000_000
"""Nanoseconds by which a file has to be older than the run: its time is that of a clock tick."""


def _number(value: int) -> bytes:
    return value.to_bytes(8, "little")


def _string(text: str) -> bytes:
    data = os.fsencode(text)
    return _number(len(data)) + data + b"\0"


class Store:
    """Where front.c wants an entry: ``--store=KEY:FOLDER:BEGAN``, hexadecimal, a descriptor, nanoseconds since 1970.

    What the key is made of was read after that time.
    """

    def __init__(self, word: str) -> None:
        self.name, folder, began = word.partition("=")[2].split(":")
        self.folder = int(folder)
        self.before = int(began) - SETTLED

    def keep(self, objects: Sequence[str], parts: Iterable[str], files: Sequence[str]) -> None:
        """Make an entry: ``objects`` were read for the key, ``parts`` had a part (or are missing), ``files`` came out.

        None is made where one of the former is too young for it to be sure what has been read.
        """
        try:
            for name in objects:
                if os.stat(split_member(name)[0]).st_ctime_ns > self.before:
                    return
            states = [self._state(path) for path in sorted(set(parts))]
            if None in states:
                return
            self._write(self._entry([state for state in states if state is not None], files))
            self._prune()
        except OSError:
            return  # a full disk, one that cannot be written: it is made again each time

    def _state(self, path: str) -> bytes | None:
        try:
            found = os.stat(path)
        except OSError:
            return bytes(32) + _string(path)
        if found.st_ctime_ns > self.before:
            return None
        facts = (found.st_ino, found.st_size, found.st_ctime_ns, found.st_mtime_ns)
        return b"".join(map(_number, facts)) + _string(path)

    def _entry(self, states: list[bytes], files: Sequence[str]) -> bytes:
        from _blake2 import blake2b  # hashlib would load OpenSSL

        body = [_number(len(states)), _number(len(files)), *states]
        for name in files:
            with open(name, "rb") as file:
                data = file.read()
            body += [_string("." + os.path.basename(name).partition(".")[2]), _number(len(data)), data]
        rest = b"".join(body)
        check: bytes = blake2b(rest, digest_size=32).digest()
        return MAGIC + bytes.fromhex(self.name) + check + rest

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
            if total <= LIMIT:
                return
            discard_below(self.folder, name)
            total -= size


def own_parts() -> list[str]:
    """The Python that runs this, and its modules: what changes with gompy."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return [os.path.realpath(sys.executable), *(file for file in files if file)]
