"""A control group with half a processor, for a benchmark that runs a program in it.

Version 2 of control groups needs the controller ``cpu`` in the group that the benchmark is in or at the root, version 1
a folder of the hierarchy ``cpu`` that can be written.  Either way it takes root, or a group that was delegated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD = 100_000
"""Microseconds."""
ROOT = Path("/sys/fs/cgroup")
ENTER = 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"'


class NoGroupError(Exception):
    """No control group can be made here; the text says why."""


def places() -> list[tuple[Path, str, str]]:
    """Where a group might be made, the file that limits it, and what to write there for half a processor."""
    half = PERIOD // 2
    found = [(ROOT, "cpu.max", f"{half} {PERIOD}"), (ROOT / "cpu", "cpu.cfs_quota_us", str(half))]
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            found.insert(0, (ROOT / path.lstrip("/"), "cpu.max", f"{half} {PERIOD}"))
        elif "cpu" in controllers.split(","):
            found.insert(0, (ROOT / "cpu" / path.lstrip("/"), "cpu.cfs_quota_us", str(half)))
    return found


def remove(group: Path) -> None:
    """Remove a group; a device's process may take a moment to end after its program."""
    for _ in range(100):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.01)
        else:
            return


@contextmanager
def half_a_processor() -> Iterator[list[str]]:
    """The words that run a command in such a group, to be put before it.  Raises NoGroupError."""
    reasons = []
    for folder, name, words in places():
        group = folder / f"gompy-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            reasons.append(f"{folder}: {error.strerror}")
            continue
        try:
            if not (group / name).exists():
                reasons.append(f"{folder}: has no {name}")
                continue
            try:
                (group / name).write_text(words)
            except OSError as error:
                reasons.append(f"{group / name}: {error.strerror}")
                continue
            yield ["sh", "-c", ENTER, "sh", str(group)]
            return
        finally:
            remove(group)
    raise NoGroupError("no control group can be made: " + "; ".join(dict.fromkeys(reasons)))
