"""What a command does, counted: whatever else the machine does meanwhile, and however slowly."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path


def page_faults(command: Sequence[str | Path], env: Mapping[str, str] | None = None) -> int:
    """Pages that a command and the children that it waits for were given, the fewest of three runs.

    A program in C takes some 100, the emulated device's host 240, an interpreter 800 and more: what has come into a
    start, and what has gone.  Its standard output is dropped; it must succeed.
    """
    counts = []
    for _ in range(3):
        quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        words = [os.fspath(word) for word in command]
        pid = os.posix_spawnp(words[0], words, os.environ if env is None else env, file_actions=quiet)
        _, status, used = os.wait4(pid, 0)
        assert status == 0, (words, status)
        counts.append(used.ru_minflt)
    return min(counts)
