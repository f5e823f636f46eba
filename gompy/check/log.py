"""The log that the runtime writes for `gompy run --check` (gompy/runtime/core/check_log.h), as records."""

from __future__ import annotations

import struct

from gompy.abi.check_log import Op, Register

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass, field
    from typing import Final
else:
    from gompy.records import dataclass, field

RECORD: Final = struct.Struct("<HHiIIQQQQQ32sII")
KEPT: Final = tuple(register.value for register in Register)
REGISTERS: Final = struct.Struct(f"<{len(KEPT)}Q")
STACK: Final = 2 * REGISTERS.size
"""Where the stack begins in what a record has of a frame."""
CHANGED: Final = struct.Struct("<QQ")
"""A word of that which is no more as it was, and where."""
FRAME: Final = Op.FRAME.value
RESTED: Final = Op.RESTED.value
OF_THE_LOG: Final = frozenset(op.value for op in (Op.MAPS, Op.BEHIND, Op.DATA, Op.FULL, Op.CLOSED, Op.RESTED))
"""Records that are no events.  Numbers, not members: a log has a million of records, and their comparisons are dear."""


@dataclass(slots=True)
class Frame:
    """The program's frame that called the runtime.  What it has is looked for when a finding asks: most are not."""

    pc: int
    sp: int
    cfa: int  # 0: not known
    noted: bytes  # its registers, its caller's, and its stack from ``sp`` to ``cfa``, of its caller's the lower end
    behind: dict[int, bytes] = field(default_factory=dict)  # what is in enclosing frames, by address
    closed: int = 0  # libraries that had gone by then
    caller_pc: int = 0  # 0: not known
    caller_cfa: int = 0

    @property
    def registers(self) -> dict[int, int]:
        """By their DWARF numbers."""
        return dict(zip(KEPT, REGISTERS.unpack_from(self.noted), strict=True))

    @property
    def caller(self) -> Frame | None:
        """Of its stack is the lower end there, or nothing."""
        if not self.caller_pc:
            return None
        noted = self.noted[REGISTERS.size : STACK] + bytes(REGISTERS.size) + self.noted[STACK + self.cfa - self.sp :]
        return Frame(self.caller_pc, self.cfa, self.caller_cfa, noted, self.behind, self.closed)

    def word(self, address: int) -> int | None:
        """The eight bytes at an address of the frame, or of what it points to in those around it."""
        at = address - self.sp
        if 0 <= at <= len(self.noted) - STACK - 8:
            return int.from_bytes(self.noted[STACK + at : STACK + at + 8], "little")
        for start, data in self.behind.items():
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
    rests: dict[int, tuple[int, int]] = field(default_factory=dict)  # of each process
    share: int = 0  # percent of the program's time that checks may take
    cut: bool = False  # it has ended before the program: no room on the disk
    frame: Frame | None = None  # the last one
    frames: dict[int, Frame] = field(default_factory=dict)  # of each thread
    kept: dict[tuple[int, int], bytes] = field(default_factory=dict)  # what that has, of each process's threads
    behind: dict[int, bytes] = field(default_factory=dict)
    follows: bool = False  # the program is still writing: a record that is cut off will come

    @property
    def rested(self) -> int:
        """Constructs that were not followed, for want of time."""
        return sum(rested for rested, _ in self.rests.values())

    @property
    def constructs(self) -> int:
        """If there are some of those: all, of the processes that have some."""
        return sum(constructs for _, constructs in self.rests.values())


def read_log(data: bytes) -> Log:
    """Parse a log; what is cut off at its end is left out."""
    log = Log()
    log.cut = RECORD.unpack_from(data)[-1] != 0 if len(data) >= RECORD.size else bool(data)
    read_more(log, data)
    return log


def read_more(log: Log, data: bytes) -> int:
    """Parse records that follow those that a log has; how many bytes of them are whole."""
    at, head, unpack, add = 0, RECORD.size, RECORD.unpack_from, log.events.append
    frames, kept = log.frames, log.kept
    last = len(data) - head
    texts: dict[bytes, str] = {}
    while at <= last:
        op, kind, device, payload, flags, where, start, size, address, count, what, thread, _ = unpack(data, at)
        behind = at + head + payload + (-payload & 7)
        if log.follows and behind > len(data):
            break
        body = data[at + head : at + head + payload] if payload else b""
        at = behind
        if op == FRAME:
            noted = kept.get((flags, thread), b"") if kind else body
            if kind and body:
                noted = _changed(noted, body)
            if len(noted) >= STACK:
                kept[flags, thread] = noted
                log.frame = frames[thread] = Frame(
                    where, start, size, noted, log.behind, len(log.closed), address, count
                )
            continue
        if op in OF_THE_LOG:
            if op == RESTED:
                log.rests[flags], log.share = (start, size), count
            else:
                _take(log, op, start, size, body)
            continue
        text = texts.get(what)
        if text is None:
            text = what.rstrip(b"\0").decode("ascii", "replace")
            # clang has its place of the construct in the source there
            text = texts[what] = "" if text.startswith(";") else text
        frame = frames.get(thread, log.frame)
        add(Event(op, kind, device, flags, where, start, size, address, count, text, body, frame, thread))
    return at


def _changed(noted: bytes, words: bytes) -> bytes:
    """What a thread has noted of a frame, from what it had noted before; nothing where the log does not have that."""
    now = bytearray(noted)
    for at, word in CHANGED.iter_unpack(words[: len(words) // CHANGED.size * CHANGED.size]):
        if at > len(now) - 8:
            return b""
        now[at : at + 8] = word.to_bytes(8, "little")
    return bytes(now)


def _take(log: Log, op: int, start: int, size: int, body: bytes) -> None:
    """A record that is no event."""
    if op == Op.MAPS:
        log.maps += body.decode("utf-8", "surrogateescape") + "\n"
    elif op == Op.CLOSED:
        log.closed.append((body.decode("utf-8", "surrogateescape"), start, start + size))
    elif op == Op.BEHIND:
        log.behind = {**log.behind, start: body}  # a frame keeps what was so when it was noted
    elif op == Op.DATA:
        log.data_start, log.data = start, body
    else:
        log.full = True
