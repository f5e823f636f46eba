"""The log that the runtime writes for `gompy run --check` (gompy/runtime/core/check_log.h), as records."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gompy.abi.check_log import Op, Register

RECORD: Final = struct.Struct("<HHiIIQQQQQ32sII")
KEPT: Final = tuple(register.value for register in Register)
REGISTERS: Final = struct.Struct(f"<{len(KEPT)}Q")
OF_THE_LOG: Final = frozenset(op.value for op in (Op.MAPS, Op.FRAME, Op.BEHIND, Op.DATA, Op.FULL, Op.CLOSED))
"""Records that are no events.  Numbers, not members: a log has a million of records, and their comparisons are dear."""


@dataclass(slots=True)
class Frame:
    """The program's frame that called the runtime: registers, and its stack from ``sp`` to ``cfa``."""

    pc: int
    sp: int
    cfa: int  # 0: not known
    registers: Sequence[int] | Mapping[int, int]  # by their DWARF numbers
    stack: bytes
    behind: dict[int, bytes] = field(default_factory=dict)  # what is in enclosing frames, by address
    closed: int = 0  # libraries that had gone by then
    caller: Frame | None = None  # of its stack is the lower end there, or nothing

    def word(self, address: int) -> int | None:
        """The eight bytes at an address of the frame, or of what it points to in those around it."""
        for start, data in ((self.sp, self.stack), *self.behind.items()):
            at = address - start
            if 0 <= at <= len(data) - 8:
                return int.from_bytes(data[at : at + 8], "little")
        return None


@dataclass(slots=True)
class Event:
    """One record of a thread; ``frame`` is the one that was noted last there, else anywhere."""

    op: int
    kind: int
    device: int
    flags: int
    where: int
    start: int
    size: int
    address: int
    count: int
    what: str
    payload: bytes
    frame: Frame | None
    thread: int = 0

    @property
    def end(self) -> int:
        """One past the host range."""
        return self.start + self.size


@dataclass(slots=True)
class Log:
    """All records, with the program's memory map and its variables as they were at its end."""

    events: list[Event] = field(default_factory=list)
    maps: str = ""
    closed: list[tuple[str, int, int]] = field(default_factory=list)  # libraries that were: path, begin, end
    data_start: int = 0
    data: bytes = b""
    full: bool = False
    cut: bool = False  # it has ended before the program: no room on the disk
    frame: Frame | None = None  # the last one
    frames: dict[int, Frame] = field(default_factory=dict)  # of each thread
    behind: dict[int, bytes] = field(default_factory=dict)
    follows: bool = False  # the program is still writing: a record that is cut off will come


def read_log(data: bytes) -> Log:
    """Parse a log; what is cut off at its end is left out."""
    log = Log()
    log.cut = RECORD.unpack_from(data)[-1] != 0 if len(data) >= RECORD.size else bool(data)
    read_more(log, data)
    return log


def read_more(log: Log, data: bytes) -> int:
    """Parse records that follow those that a log has; how many bytes of them are whole."""
    at, head, unpack, add, frames = 0, RECORD.size, RECORD.unpack_from, log.events.append, log.frames
    last = len(data) - head
    texts: dict[bytes, str] = {}
    while at <= last:
        op, kind, device, payload, flags, where, start, size, address, count, what, thread, _ = unpack(data, at)
        behind = at + head + payload + (-payload & 7)
        if log.follows and behind > len(data):
            break
        body = data[at + head : at + head + payload] if payload else b""
        at = behind
        if op in OF_THE_LOG:
            _take(log, op, (where, start, size, address, count, thread), body)
            continue
        text = texts.get(what)
        if text is None:
            text = what.rstrip(b"\0").decode("ascii", "replace")
            # clang has its place of the construct in the source there
            text = texts[what] = "" if text.startswith(";") else text
        frame = frames.get(thread, log.frame)
        add(Event(op, kind, device, flags, where, start, size, address, count, text, body, frame, thread))
    return at


def _take(log: Log, op: int, numbers: tuple[int, int, int, int, int, int], body: bytes) -> None:
    """A record that is no event."""
    where, start, size, address, count, thread = numbers
    if op == Op.FRAME:
        if len(body) >= 2 * REGISTERS.size:
            kept, stack = body[: 2 * REGISTERS.size], body[2 * REGISTERS.size :]
            own, its = (dict(zip(KEPT, words, strict=True)) for words in REGISTERS.iter_unpack(kept))
            behind, closed = log.behind, len(log.closed)
            caller = Frame(address, size, count, its, stack[size - start :], behind, closed) if address else None
            log.frame = log.frames[thread] = Frame(where, start, size, own, stack, behind, closed, caller)
    elif op == Op.MAPS:
        log.maps += body.decode("utf-8", "surrogateescape") + "\n"
    elif op == Op.CLOSED:
        log.closed.append((body.decode("utf-8", "surrogateescape"), start, start + size))
    elif op == Op.BEHIND:
        log.behind = {**log.behind, start: body}  # a frame keeps what was so when it was noted
    elif op == Op.DATA:
        log.data_start, log.data = start, body
    else:
        log.full = True
