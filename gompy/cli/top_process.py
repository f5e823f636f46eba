"""What a running program's libgompy counts, read from its memory; the program notices nothing of it."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from dataclasses import dataclass, field
from typing import Final

from gompy.abi import status

LIBRARY: Final = "libgompy.so.1"
DEVICE_PROCESS: Final = "offload_target_main"
STATES: Final = ("not started", "running", "ended")
CLANG_REGION: Final = ".region_id"
"""The end of the name of the variable that stands for a region of clang's on the host."""
MAX_DEVICES: Final = 1024
MAX_SLOTS: Final = 1 << 20


class TopError(Exception):
    """Why there is nothing to show."""


class Ended(TopError):
    """The process is no longer there."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} has ended")


@dataclass(frozen=True)
class Device:
    """A device's counters."""

    number: int
    name: str
    state: str
    launches: int
    mappings: int
    bytes_to: int
    bytes_from: int
    regions: dict[int, int] = field(default_factory=dict)  # by the host's address: how often


@dataclass(frozen=True)
class Sample:
    """All of a moment."""

    when: float
    host_regions: int
    devices: list[Device]
    memory: list[int]  # of each device process, the oldest first


def maps_of(pid: int) -> list[tuple[int, int, int, str]]:
    """A process's mapped files: start, end, offset, path; none if there is no such process, or it is another's."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(None, 5) for line in file]
    except OSError:
        return []
    found = []
    for row in rows:
        if len(row) == 6 and row[5].startswith("/"):
            start, _, end = row[0].partition("-")
            found.append((int(start, 16), int(end, 16), int(row[2], 16), row[5]))
    return found


def uses_runtime(pid: int) -> bool:
    """Whether a process has libgompy loaded."""
    return any(os.path.basename(path) == LIBRARY for _start, _end, _offset, path in maps_of(pid))


def find(word: str) -> int:
    """The process of a number, or of a program's name; TopError where there is not exactly one."""
    if word.isdecimal():
        pid = int(word)
        if not os.path.exists(f"/proc/{pid}"):
            raise TopError(f"{word}: no such process")
        if _is_over(pid):
            raise Ended(pid)
        if not os.access(f"/proc/{pid}/maps", os.R_OK) or not _is_ours(pid):
            raise TopError(f"process {word}: it is another user's")
        if not uses_runtime(pid):
            raise TopError(
                f"process {word}: it has not loaded {LIBRARY} (gompcc makes such programs, gompy run runs any)"
            )
        return pid
    pids = [pid for pid in _processes() if _is_ours(pid) and _name(pid) == os.path.basename(word) and uses_runtime(pid)]
    if len(pids) > 1:
        raise TopError(
            f"{word}: there are {len(pids)} such processes: {', '.join(map(str, pids))}; name one by its number"
        )
    if not pids:
        raise TopError(f"{word}: no process of yours by that name has loaded {LIBRARY}")
    return pids[0]


def _is_over(pid: int) -> bool:
    """Whether only its exit status is left, for its parent."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[:1] in (["Z"], ["X"])
    except OSError:
        return True


def _processes() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdecimal())


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid() or os.geteuid() == 0
    except OSError:
        return False


def _name(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")).removesuffix(" (deleted)")
    except OSError:
        return ""


class Process:
    """A program that is looked at."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.name = _name(pid)
        try:
            self._mem = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise TopError(f"process {pid}: its memory cannot be read: {error.strerror}") from None
        self._files = maps_of(pid)
        self._symbols: dict[str, list[tuple[int, int, str]]] = {}
        self._words = self._status()

    def _read(self, address: int, size: int) -> bytes:
        try:
            data = os.pread(self._mem, size, address)
        except OSError:
            data = b""
        if len(data) != size:
            raise Ended(self.pid)
        return data

    def _word(self, address: int) -> int:
        return int.from_bytes(self._read(address, 8), "little")

    def _status(self) -> tuple[int, ...]:
        """The table that libgompy publishes."""
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import SymbolTableSection

        row = next(row for row in self._files if os.path.basename(row[3]) == LIBRARY and row[2] == 0)
        with open(row[3], "rb") as file:
            table = ELFFile(file).get_section_by_name(".dynsym")
            found = table.get_symbol_by_name("gompy_status") if isinstance(table, SymbolTableSection) else None
        words: tuple[int, ...] = ()
        if found:
            data = self._read(row[0] + found[0]["st_value"], 8 * status.STATUS_WORDS)
            words = struct.unpack(f"<{status.STATUS_WORDS}Q", data)
        if not words or words[0] != status.STATUS_MAGIC:
            raise TopError(f"process {self.pid}: its {LIBRARY} is of another version of gompy")
        return words

    def sample(self) -> Sample:
        """The counters now."""
        w = self._words
        count = int.from_bytes(self._read(w[status.STATUS_DEVICE_COUNT], 4), "little")
        start = self._word(w[status.STATUS_DEVICES])
        devices = [
            self._device(number, start + number * w[status.STATUS_DEVICE_SIZE])
            for number in range(min(count, MAX_DEVICES))
        ]
        return Sample(time.monotonic(), self._word(w[status.STATUS_HOST_REGIONS]), devices, self._memory())

    def _device(self, number: int, at: int) -> Device:
        w = self._words
        name = self._read(self._word(at + w[status.STATUS_DEVICE_NAME]), 8).partition(b"\0")[0].decode("latin-1")
        state = int.from_bytes(self._read(at + w[status.STATUS_DEVICE_STATE], 4), "little")
        table = self._word(at + w[status.STATUS_DEVICE_FUNCTIONS])
        return Device(
            number,
            name,
            STATES[state] if state < len(STATES) else str(state),
            self._word(at + w[status.STATUS_DEVICE_LAUNCHES]),
            self._word(at + w[status.STATUS_DEVICE_MAPPINGS]),
            self._word(at + w[status.STATUS_DEVICE_TO]),
            self._word(at + w[status.STATUS_DEVICE_FROM]),
            self._regions(table) if table else {},
        )

    def _regions(self, table: int) -> dict[int, int]:
        w = self._words
        slots = self._word(table + w[status.STATUS_TABLE_MASK]) + 1
        size = w[status.STATUS_SLOT_SIZE]
        data = self._read(self._word(table + w[status.STATUS_TABLE_SLOTS]), min(slots, MAX_SLOTS) * size)
        found = {}
        for at in range(0, len(data), size):
            (host,) = struct.unpack_from("<Q", data, at + w[status.STATUS_SLOT_HOST])
            (calls,) = struct.unpack_from("<Q", data, at + w[status.STATUS_SLOT_CALLS])
            if host and calls:
                found[host] = calls
        return found

    def _memory(self) -> list[int]:
        """What the device processes hold, in bytes."""
        page = os.sysconf("SC_PAGESIZE")
        found = []
        for pid in _processes():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
                if parent == self.pid and _name(pid) == DEVICE_PROCESS:
                    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
                        found.append(int(file.read().split()[1]) * page)
            except (OSError, ValueError, IndexError):
                continue
        return found

    def region(self, address: int) -> str:
        """The name of a region, by the symbols of the file that has it; empty for what libgompy has made itself."""
        for again in (False, True):
            if again:
                self._files = maps_of(self.pid)  # a library has come since
            for start, end, offset, path in self._files:
                if start <= address < end:
                    for low, size, name in self._functions(path):
                        if low <= address - start + offset < low + max(size, 1):
                            return name.removeprefix(".").removesuffix(CLANG_REGION)
                    return f"{address:#x}"
        return ""

    def _functions(self, path: str) -> list[tuple[int, int, str]]:
        """The functions of a file: offset in it, size, name."""
        if path not in self._symbols:
            self._symbols[path] = []
            with contextlib.suppress(OSError, ValueError):
                self._symbols[path] = _read_functions(path)
        return self._symbols[path]


def _read_functions(path: str) -> list[tuple[int, int, str]]:
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    found = []
    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            loads = [(s["p_vaddr"], s["p_memsz"], s["p_offset"]) for s in elf.iter_segments("PT_LOAD")]
            for name in (".symtab", ".dynsym"):
                table = elf.get_section_by_name(name)
                for symbol in table.iter_symbols() if isinstance(table, SymbolTableSection) else ():
                    of_region = symbol["st_info"]["type"] == "STT_FUNC" or symbol.name.endswith(CLANG_REGION)
                    if of_region and symbol["st_value"]:
                        for start, size, offset in loads:
                            if start <= symbol["st_value"] < start + size:
                                found.append((symbol["st_value"] - start + offset, symbol["st_size"], symbol.name))
    except ELFError as error:
        raise ValueError(str(error)) from None
    return found
