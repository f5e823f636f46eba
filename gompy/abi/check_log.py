"""Numbers in the log that libgompy writes for `gompy run --check` and that gompy/check reads.

gompy/native/generate.py makes a header and a .pxd of them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


class Op(IntEnum):
    """What a record says."""

    MAPS = 1  # payload: /proc/self/maps
    FRAME = 2  # whose records are next: where = pc, start = sp, size = CFA; address, count = its caller's pc and CFA;
    # payload: its registers (Register, in their order), its caller's, its stack; kind 1: of those of the thread's frame
    # before only the words that have changed, each behind its place there; flags: the process, as several may log
    ENTRY = 3  # an entry of a construct, when it is mapped
    REMOVE = 4  # a mapping ends
    ABSENT = 5  # an entry of update or exit data that is not mapped
    EXIT = 6  # one of exit data that is
    UPDATE = 7  # one of update that is
    COPY = 8  # count: what the contents hash to; payload: small contents
    LAUNCH = 9
    TEXT = 10  # payload: an error that the program is told
    LEFT = 11  # still mapped at the end of the program
    DATA = 12  # payload: the program's variables at its end, from start on
    FULL = 13  # the log has its greatest size
    STALE = (
        14  # kind 0: a device is told what the host has changed; 1: the host has read what a device has (where, count)
    )
    FLIGHT = 15  # the host uses what a region that runs beside it maps: kind 0 reads, 1 writes (where, count)
    HOST_FAULT = 16  # the program ends by a fault: where, and the address as start
    ALLOC = 17  # device memory that a routine of the program's gives it, and what it gives back: address, size
    FREED = 18
    BEHIND = 19  # what is at an address (start, payload) that frames have, from the next FRAME on
    QUEUED = 20  # a copy was put into a queue: kind 0 to the device, 1 from it
    BLOCK = 21  # an entry goes beyond its block of the heap: count bytes are there; or begins address bytes before it
    COPIED = 22  # what a routine copies: kind 0 to the device, 1 from it; start: of the host, 0 if of a device
    ON_HOST = 23  # the first region that runs on the host: kind 1 as offloading is disabled, else 0; payload: why
    CLOSED = 24  # a library with regions goes: start = where its first segment is, size; payload: its path
    RESTED = 25  # so many constructs (start) of all (size) were not followed, for want of time: count percent; flags:
    # the process, of which the last one holds


class Register(IntEnum):
    """The registers that a function's callees keep (psABI, 3.2.1), by their DWARF numbers: what a FRAME has."""

    RBX = 3
    RBP = 6
    R12 = 12
    R13 = 13
    R14 = 14
    R15 = 15


class Entry(IntFlag):
    """Flags of an ENTRY."""

    NEW = 1
    OWN = 2  # a copy of the region's own
    ATTACH = 4
    FOR_EVER = 8
    UNMAPPED = 16
    IMPLICIT = 32
    BLOCK = 64  # a block of the heap begins where it does


class Copy(IntFlag):
    """Flags of a COPY: its direction; the other side had the same contents."""

    TO_DEVICE = 1
    SAME = 2


class Copied(IntFlag):
    """Flags of a COPIED."""

    REFUSED = 1


class Stale(IntFlag):
    """Flags of a STALE."""

    GONE = 1  # the mapping had ended
    UNSET = 2  # what was read has been copied from device memory that nothing had written


class Flight(IntFlag):
    """Flags of a FLIGHT."""

    QUEUED = 1  # by a queue that the program has not waited for
    BACK = 2  # it is copied to the host
    DEPEND = 4  # by a region with depend clauses


FAILED: Final = 0xFFFF
"""The kind of an ABSENT record that stands for a construct that could not be mapped, and of a FREED that failed."""

ENUMERATIONS: Final = {
    **{"EVENT": Op, "REGISTER": Register, "ENTRY": Entry, "LOGGED": Copy},
    **{"COPIED": Copied, "STALE": Stale, "FLIGHT": Flight},
}
"""By what their members' names begin with in C and Cython; there they begin with GOMPY_ besides."""
