"""Recorded regions: the file of ``gompy record``, its regions run again, and what differs (docs/replay.md)."""

from typing import Final

REAL: Final = "real"
"""In the place of nvptx: by the machine's own driver."""
