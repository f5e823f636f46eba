"""The words of `gompy_status` in libgompy, by which another process reads the runtime's counters (`gompy top`).

An address is the process's; an offset is that of a field in its structure.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

STATUS_MAGIC: Final = 0x676F7031
"""The first word."""

STATUS_WORDS: Final = 32

# --- the index of each word ---
STATUS_MAGIC_WORD: Final = 0
STATUS_DEVICES: Final = 1
STATUS_DEVICE_COUNT: Final = 2
STATUS_HOST_REGIONS: Final = 3
STATUS_DEVICE_SIZE: Final = 4
STATUS_DEVICE_NAME: Final = 5
STATUS_DEVICE_STATE: Final = 6
STATUS_DEVICE_LAUNCHES: Final = 7
STATUS_DEVICE_MAPPINGS: Final = 8
STATUS_DEVICE_TO: Final = 9
STATUS_DEVICE_FROM: Final = 10
STATUS_DEVICE_FUNCTIONS: Final = 11
STATUS_TABLE_MASK: Final = 12
STATUS_TABLE_SLOTS: Final = 13
STATUS_SLOT_SIZE: Final = 14
STATUS_SLOT_HOST: Final = 15
STATUS_SLOT_CALLS: Final = 16
