"""``gompy run --under rr``: rr records the program with its devices' processes, to be replayed and debugged backwards.

rr counts the branches that a processor retires, so it needs the processor's performance counters, which most virtual
machines do not have (rr's wiki: Will rr work on my system).
"""

from __future__ import annotations

import os
import shutil
from typing import Final

from gompy.cli.run_program import RunError

COUNTERS: Final = "/sys/bus/event_source/devices"
"""What the kernel can count with; a processor's own are called cpu, cpu_core, cpu_atom."""
PARANOID: Final = "/proc/sys/kernel/perf_event_paranoid"


def reason_against(counters: str = COUNTERS, paranoid: str = PARANOID) -> str:
    """Why rr cannot record on this machine, with what mends it; or nothing."""
    try:
        there = any(name.startswith("cpu") for name in os.listdir(counters))
    except OSError:
        there = False
    if not there:
        return "this machine has no performance counters of its processor, as most virtual machines: use another one"
    try:
        with open(paranoid, encoding="ascii") as file:
            level = int(file.read())
    except (OSError, ValueError):
        level = 0
    if level > 1 and os.geteuid():
        return f"the kernel keeps performance counters from users ({paranoid} is {level}): set it to 1"
    return ""


def rr_command(words: list[str], command: list[str]) -> list[str]:
    """The command line: ``words`` are rr with its options, ``record`` where they name no other.  Raises RunError."""
    if shutil.which(words[0]) is None:
        raise RunError(f"{words[0]}: no such command: install rr")
    named = next((word for word in words[1:] if not word.startswith("-")), "record")
    if named != "record":
        raise RunError(f"--under rr: only `rr record` runs a program, not `rr {named}`; replay it with `rr replay`")
    reason = reason_against()
    if reason:
        raise RunError(f"rr: {reason}")
    options = [word for word in words[1:] if word != "record"]
    return [words[0], "record", *options, *command]
