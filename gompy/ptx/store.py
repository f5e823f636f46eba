"""The compiler's side of the code cache (cache.pxi): a folder that is the user's own, and a file in memory.

What cannot be written into the folder goes into the file in memory, which the program keeps.  Files in the folder
appear complete or not at all.
"""

from __future__ import annotations

import os

from gompy.abi import ptx as abi

from . import unit

FOLDER, MEMORY = 3, 4
"""Descriptors of a compiler that the executor started (start.h)."""
RECORD = 32
"""Bytes of a record's head in the file in memory: all, the name's, the contents', reserved (compiler_process.pxi)."""
SHIPPED = os.path.join(os.path.dirname(os.path.dirname(abi.IDENTITY)), "ptx")
"""The folder, below gompy/_native, of what the installation has compiled ahead."""
OPENED = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to the user or to root, is a regular one, and nobody else can write it."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022 and status.st_mode & 0o170000 == 0o100000


class Store:
    """Cache files by name.  `folder`, `memory`: descriptors, or -1; `leaf`: the folder's name; `shipped`: the
    descriptor of what the installation has compiled ahead, or -1."""

    def __init__(self, folder: int, memory: int, leaf: str, identity: str, shipped: int = -1) -> None:
        self.shipped = shipped
        self.folder, self.memory, self.leaf, self.identity = folder, memory, leaf, identity
        self.inside: dict[str, tuple[int, int]] = {}  # files in memory: offset, bytes
        self.seen = 0  # bytes of the file in memory that have been looked at

    def subject(self, name: str) -> bytes:
        """What a file is bound to: the compiler, the folder's name and its own."""
        return unit.subject(self.identity, self.leaf, name)

    def look(self) -> None:
        """Learn what has been put into memory meanwhile, also by other processes of the compiler."""
        if self.memory < 0:
            return
        end = os.fstat(self.memory).st_size
        while self.seen + RECORD <= end:
            head = os.pread(self.memory, RECORD, self.seen)
            total, named, contents = (int.from_bytes(head[i : i + 8], "little") for i in (0, 8, 16))
            name = os.pread(self.memory, named, self.seen + RECORD).split(b"\0", 1)[0]
            self.inside[name.decode("utf-8", "surrogateescape")] = (self.seen + RECORD + named, contents)
            self.seen += total

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        self.look()
        if name in self.inside:
            return True
        for folder in (self.shipped, self.folder):
            try:
                if folder >= 0 and is_ours(os.stat(name, dir_fd=folder, follow_symlinks=False)):
                    return True
            except OSError:
                continue
        return False

    def read(self, name: str) -> bytes:
        """A file's bytes.  OSError if there is none, or none that can be trusted."""
        self.look()
        if name in self.inside:
            offset, size = self.inside[name]
            return os.pread(self.memory, size, offset)
        descriptor = -1
        if self.shipped >= 0:
            try:
                descriptor = os.open(name, OPENED, dir_fd=self.shipped)
            except OSError:
                descriptor = -1
        if descriptor < 0:
            if self.folder < 0:
                raise FileNotFoundError(name)
            descriptor = os.open(name, OPENED, dir_fd=self.folder)
        with open(descriptor, "rb", buffering=0) as file:
            if not is_ours(os.fstat(descriptor)):
                raise PermissionError(name)
            return file.readall()

    def contents(self, name: str, kind: str) -> dict[str, bytes]:
        """The sections of a cache file.  OSError, or ValueError if it is damaged or another's."""
        return unit.sections(self.read(name), kind, self.subject(name))

    def text(self, key: str, checked: bool) -> bytes:
        """A PTX text.  OSError if it is not there; ValueError if it has another key and is to be `checked`."""
        data = self.read(f"{key}.ptx")
        if checked:
            from .native import text_key

            if text_key(data) != key:
                self.remove(f"{key}.ptx")
                raise ValueError("damaged")
        return data

    def remove(self, name: str) -> None:
        """Take a file out of the folder, if it is there."""
        try:  # noqa: SIM105 (contextlib would be one more module at each start)
            os.unlink(name, dir_fd=self.folder)
        except OSError:
            pass

    def write(self, name: str, data: bytes) -> None:
        """A file, complete or not at all.  OSError if there is no room, not even in memory."""
        if self.folder >= 0:
            try:
                self.put(name, data)
                return
            except OSError:
                if self.memory < 0:
                    raise
        self.append(name, data)

    def put(self, name: str, data: bytes) -> None:
        """A file in the folder."""
        part = f".{name}.{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(part, flags, 0o600, dir_fd=self.folder)
        try:
            with open(descriptor, "wb", buffering=0) as file:
                os.fchmod(descriptor, 0o600)  # whatever the umask
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
            os.rename(part, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except BaseException:
            self.remove(part)
            raise

    def append(self, name: str, data: bytes) -> None:
        """A file in memory.  Several processes of the compiler may do so at a time."""
        import fcntl

        word = name.encode("utf-8", "surrogateescape") + b"\0"
        word += bytes(-len(word) % 16)
        tail = bytes(-len(data) % 16)
        total = RECORD + len(word) + len(data) + len(tail)
        head = b"".join(number.to_bytes(8, "little") for number in (total, len(word), len(data), 0))
        rest = memoryview(head + word + data + tail)
        fcntl.lockf(self.memory, fcntl.LOCK_EX)
        try:
            start = os.fstat(self.memory).st_size
            try:
                while rest:
                    rest = rest[os.write(self.memory, rest) :]
            except OSError:
                os.ftruncate(self.memory, start)
                raise
        finally:
            fcntl.lockf(self.memory, fcntl.LOCK_UN)


def of_executor(identity: str, leaf: str) -> Store:
    """The store of a compiler that the executor started."""
    try:
        os.fstat(FOLDER)
        folder = FOLDER
    except OSError:
        folder = -1
    for descriptor in (FOLDER, MEMORY):
        if descriptor == MEMORY or folder >= 0:
            os.set_inheritable(descriptor, False)
    return Store(folder, MEMORY, leaf, identity, shipped_folder(leaf))


def shipped_folder(leaf: str) -> int:
    """The descriptor of what the installation has compiled ahead, -1 if there is nothing that can be trusted."""
    try:
        found = os.open(os.path.join(SHIPPED, leaf), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    status = os.fstat(found)
    if status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022:
        return found
    os.close(found)
    return -1


def of_folder(path: str | os.PathLike[str]) -> Store:
    """The store of a folder by its path, without memory beside it.  OSError if it cannot be opened."""
    name = os.path.abspath(path)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return Store(folder, -1, os.path.basename(name), abi.identity())
