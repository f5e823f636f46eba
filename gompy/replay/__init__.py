"""Recorded regions: the file of ``gompy record``, its regions run again, and what differs (docs/replay.md)."""
