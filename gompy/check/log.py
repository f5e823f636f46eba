"""The log that the runtime writes for `gompy run --check` (gompy/runtime/core/check_log.h), as records."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

from gompy.abi.check_log import Op

RECORD: Final = struct.Struct("<HHiIIQQQQQ32sII")
REGISTERS: Final = struct.Struct("<16Q")


@dataclass(slots=True)
class Frame:
    """The program's frame that called the runtime: registers, and its stack from ``sp`` to ``cfa``."""

    pc: int
    sp: int
    cfa: int
    registers: tuple[int, ...]
    stack: bytes
    behind: dict[int, bytes] = field(default_factory=dict)  # what is in enclosing frames, by address

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
    at = 0
    while at + RECORD.size <= len(data):
        op, kind, device, payload, flags, where, start, size, address, count, what, thread, _ = RECORD.unpack_from(
            data, at
        )
        if log.follows and at + RECORD.size + payload + (-payload & 7) > len(data):
            break
        at += RECORD.size
        body = data[at : at + payload]
        at += payload + (-payload & 7)
        if op == Op.MAPS:
            log.maps += body.decode("utf-8", "surrogateescape") + "\n"
        elif op == Op.FRAME:
            if len(body) >= REGISTERS.size:
                registers, stack = REGISTERS.unpack_from(body), body[REGISTERS.size :]
                log.frame = log.frames[thread] = Frame(where, start, size, registers, stack, log.behind)
        elif op == Op.BEHIND:
            log.behind = {**log.behind, start: body}  # a frame keeps what was so when it was noted
        elif op == Op.DATA:
            log.data_start, log.data = start, body
        elif op == Op.FULL:
            log.full = True
        else:
            text = what.rstrip(b"\0").decode("ascii", "replace")
            if text.startswith(";"):  # clang's place of the construct in the source
                text = ""
            frame = log.frames.get(thread, log.frame)
            log.events.append(
                Event(op, kind, device, flags, where, start, size, address, count, text, body, frame, thread)
            )
    return at
