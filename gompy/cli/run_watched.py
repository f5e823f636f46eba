"""A program under ``gompy run``'s --check, --show-maps, --info: run to its end, then told of."""

from __future__ import annotations

import os
import stat
import sys

from gompy.check.tail import Tail
from gompy.tools.child import run_child
from gompy.tools.process import Temps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass

    from gompy.check.run import Files
else:
    from gompy.records import dataclass


@dataclass(frozen=True)
class Wanted:
    """What is to be told; ``check``: the files of findings besides stderr, ``status``: the exit status of errors.

    ``trace``: the environment names a trace, which is to get the names of memory.
    """

    check: Files | None = None
    status: int = 0
    maps: bool = False
    info: bool = False
    trace: bool = False


def run_watched(command: list[str], env: dict[str, str], wanted: Wanted) -> int:
    """Run a program, then tell; its exit status, or that of the check's errors.  OSError if it cannot start."""
    temps = Temps()
    try:
        return _run_in(temps.folder(), command, env, wanted)
    finally:
        temps.remove()


def _run_in(folder: str, command: list[str], env: dict[str, str], wanted: Wanted) -> int:
    """The same, with a folder for what the program writes for us."""
    errors = 0
    log = os.path.join(folder, "log")
    env = {**env, "GOMPY_CHECK_LOG": log}
    if wanted.maps or wanted.info:
        env.setdefault("GOMPY_TRACE_FILE", os.path.join(folder, "trace"))
    follower = None
    if wanted.maps:
        env.pop("GOMPY_TRACE", None)  # this tells it
        from gompy.cli.run_follow import Follower

        follower = Follower(env["GOMPY_TRACE_FILE"], log)
    tail = Tail(log) if follower is None else None
    code = run_child(command, env, follower.begin if follower is not None else _get_ready)
    if tail is not None:
        _complete(tail)
    if wanted.check is not None:
        from gompy.check.run import report

        errors = report(log, command[0], wanted.check)
    if follower is not None:
        follower.end()
    if wanted.trace:
        _name_memory(env["GOMPY_TRACE_FILE"], log)
    if wanted.info:
        from gompy.cli.run_info import told as tables

        for line in tables(env["GOMPY_TRACE_FILE"], log):
            print(line, file=sys.stderr)
    return wanted.status if errors and wanted.status else code


def _complete(tail: Tail) -> None:
    """Append what the program has not written to its log any more."""
    try:
        tail.append()
    except OSError:  # no room on the disk: as if the program had met that
        try:  # noqa: SIM105 (contextlib is not imported on this path)
            os.chmod(tail.log, os.stat(tail.log).st_mode | stat.S_ISVTX)
        except OSError:
            pass
    tail.close()


def _get_ready(_process: int) -> None:
    """Load what is needed when the program has ended, while it runs."""
    import gompy.check.analysis
    import gompy.check.log
    import gompy.check.report  # noqa: F401


def _name_memory(trace: str, log: str) -> None:
    """Put the names that the log leads to into the trace, for ``gompy trace``."""
    from gompy import UserError
    from gompy.check.log import read_log
    from gompy.cli.run_info import names_of
    from gompy.cli.trace_events import add_names

    try:
        with open(log, "rb") as file:
            names = names_of(read_log(file.read()))
        if names:
            add_names(trace, names)
    except (OSError, UserError):
        return  # the program has used no device, or what it wrote is gone
