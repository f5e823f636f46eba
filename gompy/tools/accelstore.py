"""Where accelerator compilers are kept, and which one belongs to a host compiler.

``<data>/gompy/accel/<name>/`` has ``accel.conf`` (``key = value`` lines), and any of ``lto1``, ``openacc.so`` and
``loops.so`` (plugins for gcc's compilers: gompy/accel/hooks); ``<data>`` is each of the XDG data folders. An accel
lto1 reads the streams of one very build of the host compiler, and a plugin fits one, so ``accel.conf`` notes the
identity of the host's lto1, and only a folder whose note agrees is used. Nor is one used that anybody but the user
and root could have put there. ``make`` puts a ``loops.so`` beside the compiled parts, for the gcc that it finds.
Every offload link imports this module: it needs ``os`` and nothing else.
"""

from __future__ import annotations

import os

from gompy import NATIVE
from gompy.tools.linkcompiler import accel_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LTO1 = "lto1"
OPENACC = "openacc.so"
LOOPS = "loops.so"
CONF = "accel.conf"
LOG = "build.log"
FORMAT = "1"
BUILT_IN = os.path.join(NATIVE, "accel")
"""Where ``make`` puts the plugin for -foffload-check; looked at last."""
HOOKS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "accel", "hooks")
"""The plugins' sources."""
WITHOUT_LOOPS = "GOMPY_CHECK_PLUGIN"
"""A variable: with ``0`` -foffload-check makes its calls by gcc alone."""

Conf = dict[str, str]


class Installed:
    """One folder of the store: its path and what its ``accel.conf`` says."""

    __slots__ = ("conf", "path")

    def __init__(self, path: str, conf: Conf) -> None:
        self.path = path
        self.conf = conf

    @property
    def lto1(self) -> str:
        """The compiler."""
        return os.path.join(self.path, LTO1)

    @property
    def openacc(self) -> str:
        """The plugin for OpenACC."""
        return os.path.join(self.path, OPENACC)

    @property
    def loops(self) -> str:
        """The plugin for -foffload-check."""
        return os.path.join(self.path, LOOPS)

    @property
    def name(self) -> str:
        """The folder's own name: the compiler's version."""
        return os.path.basename(self.path)

    @property
    def distrusted(self) -> str:
        """Why it is not run, "" if it may be: something of it is somebody else's, or can be written by others."""
        programs = [os.path.realpath(path) for path in (self.lto1, self.openacc, self.loops) if os.path.lexists(path)]
        folders = (os.path.dirname(self.path), self.path, *map(os.path.dirname, programs))
        for path in (*folders, *programs, os.path.join(self.path, CONF)):
            try:
                status = os.stat(path)
            except OSError as error:
                return f"{path}: {error.strerror}"
            if status.st_uid not in (os.geteuid(), 0):
                return f"{path} belongs to user {status.st_uid}"
            if status.st_mode & 0o022:
                return f"{path} can be written by others"
        return ""

    def fits(self, identity: str) -> bool:
        """Whether it was built for the host compiler of that identity, and may be run."""
        agrees = bool(identity) and self.conf.get("host_identity") == identity and self.conf.get("format") == FORMAT
        return agrees and not self.distrusted


def read_conf(path: str) -> Conf:
    """The ``key = value`` lines of a file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(" = ") for line in lines)
    return {key: value for key, separator, value in pairs if separator}


def write_conf(path: str, conf: Conf) -> None:
    """Write such a file, whole or not at all."""
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("".join(f"{key} = {value}\n" for key, value in conf.items()))
    os.replace(part, path)


def installed(folders: list[str] | None = None, program: str = LTO1) -> list[Installed]:
    """All folders that have an accelerator compiler, or another program, in the order in which they are looked for."""
    found = []
    for folder in accel_folders() if folders is None else folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            conf = read_conf(os.path.join(path, CONF))
            if conf and os.access(os.path.join(path, program), os.X_OK):
                found.append(Installed(path, conf))
    return found


def loops_folders() -> list[str]:
    """Where the plugin for -foffload-check may be."""
    return [*accel_folders(), BUILT_IN]


def looked_at() -> list[str]:
    """Files and folders that decide on what of the stores is used, and what that does; some are not there."""
    paths = []
    for folder in loops_folders():
        names = sorted(os.listdir(folder)) if os.access(folder, os.R_OK) else []
        for place in (os.path.join(folder, name) for name in names if not name.startswith(".")):
            paths += [place, *(os.path.join(place, name) for name in (CONF, LTO1, OPENACC, LOOPS))]
    return paths


def kept() -> list[Installed]:
    """All folders that have anything of this, but the one that ``make`` has filled."""
    found: list[Installed] = []
    for program in (LTO1, OPENACC, LOOPS):
        paths = {item.path for item in found}
        found += [item for item in installed(program=program) if item.path not in paths]
    return found


def find(identity: str, folders: list[str] | None = None, program: str = LTO1) -> Installed | None:
    """The folder with the accelerator compiler, or another program, of a host compiler, if there is one."""
    return next((item for item in installed(folders, program) if item.fits(identity)), None)


def loops_words(lto1: Callable[[], str]) -> list[str]:
    """For a compiler proper of -foffload-check: the plugin for loops, where it is built.  ``lto1``: of that one."""
    built = [] if os.environ.get(WITHOUT_LOOPS) == "0" else installed(loops_folders(), LOOPS)
    known = identity(lto1()) if built else ""
    return [f"-fplugin={item.loops}" for item in built if item.fits(known) and not _is_older(item)][:1]


def _is_older(item: Installed) -> bool:
    """Whether another gompy has built a user's plugin: it knows less.  That of ``make`` is this one's."""
    if item.path.startswith(BUILT_IN + os.sep):
        return False
    try:
        return os.stat(item.loops).st_mtime < loops_changed()
    except OSError:
        return True


def loops_changed() -> float:
    """When the last of that plugin's sources was.  Raises OSError."""
    with os.scandir(HOOKS) as files:
        return max(file.stat().st_mtime for file in files if file.name.startswith("loops"))


def identity(program: str) -> str:
    """What tells one build of a program from all others: its build id, else its size and time; "" if unreadable."""
    try:
        with open(program, "rb", buffering=0) as file:
            found = _build_id(file.fileno())
            if found:
                return found
            status = os.fstat(file.fileno())
    except OSError:
        return ""
    return f"{status.st_size}-{int(status.st_mtime)}"


def _build_id(descriptor: int) -> str:
    """The GNU build id of a 64-bit little-endian ELF file, "" if it has none (ELF gABI: program header, note)."""
    header = os.pread(descriptor, 64, 0)
    if len(header) < 64 or header[:6] != b"\x7fELF\x02\x01":
        return ""
    number = int.from_bytes(header[56:58], "little")
    table = os.pread(descriptor, number * 56, int.from_bytes(header[32:40], "little"))
    for at in range(0, len(table) - 55, 56):
        if int.from_bytes(table[at : at + 4], "little") != 4:  # PT_NOTE
            continue
        offset = int.from_bytes(table[at + 8 : at + 16], "little")
        notes = os.pread(descriptor, min(int.from_bytes(table[at + 32 : at + 40], "little"), 4096), offset)
        place = 0
        while place + 12 <= len(notes):
            name_size, size, kind = (int.from_bytes(notes[place + i : place + i + 4], "little") for i in (0, 4, 8))
            name = notes[place + 12 : place + 12 + name_size]
            place += 12 + (name_size + 3 & ~3)
            if kind == 3 and name == b"GNU\0" and size:
                return notes[place : place + size].hex()
            place += size + 3 & ~3
    return ""


def host_lto1(folders: list[str]) -> str:
    """The host's lto1 in a compiler's search folders (``COMPILER_PATH``); "" if it is in none.

    An accelerator's folder, put first with -B, is passed over.
    """
    for folder in folders:
        path = os.path.join(folder, LTO1)
        if folder and os.access(path, os.X_OK) and not os.path.exists(os.path.join(folder, CONF)):
            return path
    return ""
