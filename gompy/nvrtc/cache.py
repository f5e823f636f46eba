"""What NVRTC's programs have been compiled to: a file for each in ``$XDG_CACHE_HOME/gompy/nvrtc``.

Its name is a hash of all that is asked for.  It lists the files that clang read, with sizes and times: one that is
another now, and the program is compiled again.  A header that appears in a folder before the one that was taken is not
noticed.  Files of other users are not believed; files appear complete or not at all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Final

from gompy.tools.cache_base import cache_base

VARIABLE: Final = "GOMPY_NVRTC_CACHE"
VARIABLES: Final = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
"""Of clang's environment, what the result depends on."""
MOST: Final = 1000
"""Files that are kept."""
FORMAT: Final = b"1"


@dataclass
class Made:
    """A program's PTX, what clang warned of, the lowered names in their order."""

    log: str
    ptx: bytes
    names: list[str]


def own_files() -> list[str]:
    """The modules that say how clang is called."""
    from gompy.cudart import clang, options

    return [path for module in (clang, options) if (path := module.__file__)] + [
        os.path.join(os.path.dirname(__file__), name) for name in ("compile.py", "options.py")
    ]


def place() -> str:
    """The folder; "" if nothing is kept."""
    base = cache_base()
    return os.path.join(base, "gompy", "nvrtc") if base and os.environ.get(VARIABLE) != "0" else ""


def is_ours(status: os.stat_result) -> bool:
    """Whether only the user or root can have written it."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & 0o022


def state(path: str) -> list[str | int]:
    """A file's path, size and time.  Raises OSError."""
    status = os.stat(path)
    return [path, status.st_size, status.st_mtime_ns]


def read_files(dependencies: str, below: str) -> list[str]:
    """The paths of a make rule, but those in a folder.  Raises OSError."""
    with open(dependencies, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().partition(": ")[2].replace("\\\n", " ")
    marked = text.replace("\\ ", "\0").replace("\\#", "#").replace("$$", "$")
    names = [name.replace("\0", " ") for name in marked.split()]
    return [os.path.abspath(name) for name in names if not name.startswith(below + os.sep)]


class Entry:
    """The file for a program.  PARTS: all that is asked for; TOOLS: files that the result depends on."""

    def __init__(self, parts: list[bytes], tools: list[str]) -> None:
        found = hashlib.blake2b(FORMAT, digest_size=20)
        with contextlib.suppress(OSError):
            parts = [*parts, json.dumps([state(os.path.realpath(tool)) for tool in tools]).encode()]
        for part in parts:
            found.update(len(part).to_bytes(8, "little") + part)
        folder = place()
        self.path = os.path.join(folder, found.hexdigest()) if folder else ""

    def find(self) -> Made | None:
        """What was made before, if it still holds."""
        if not self.path:
            return None
        try:
            with open(os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                if not is_ours(os.fstat(file.fileno())):
                    return None
                kept = json.loads(file.read())
            if any(state(name) != [name, size, time] for name, size, time in kept["files"]):
                return None
            return Made(kept["log"], kept["ptx"].encode("utf-8", "surrogateescape"), kept["names"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def keep(self, dependencies: str, below: str, made: Made) -> None:
        """Write it; without a place for it nothing is kept."""
        if not self.path:
            return
        folder = os.path.dirname(self.path)
        try:
            files = [state(name) for name in read_files(dependencies, below)]
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if not is_ours(os.stat(folder)):
                return
            text = asdict(made) | {"files": files, "ptx": made.ptx.decode("utf-8", "surrogateescape")}
            part = f"{self.path}.{os.getpid()}"
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
                json.dump(text, file)
            os.replace(part, self.path)
            thin_out(folder)
        except OSError:
            return


def thin_out(folder: str) -> None:
    """Of more than MOST files a quarter goes, the oldest.  Raises OSError."""
    names = os.listdir(folder)
    if len(names) <= MOST:
        return
    times = []
    for name in names:
        with contextlib.suppress(OSError):
            times.append((os.stat(os.path.join(folder, name)).st_mtime_ns, name))
    for _, name in sorted(times)[: len(names) - MOST * 3 // 4]:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, name))
