"""The commands of a link: shown, run, and how long each step took (--wrapper-time-trace).

The file is of the form that Chrome's trace viewer, Perfetto and LLVM's -ftime-trace have.
"""

from __future__ import annotations

import os
import sys
import time

from gompy.clang_link.options import Options
from gompy.tools.process import ToolError, run, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

Event = dict[str, object]
"""A step: ``name``, ``ts`` and ``dur`` in microseconds, ``pid``, ``tid``, ``ph`` and perhaps ``args``."""
EVENTS: list[Event] = []
"""What has been measured so far."""
_START = time.monotonic_ns()


class Step:
    """``with Step (options, name, detail)``: measured, where a trace is asked for."""

    def __init__(self, options: Options, name: str, detail: str = "") -> None:
        self.name, self.detail, self.on = name, detail, bool(options.last("--wrapper-time-trace"))
        self.start = 0

    def __enter__(self) -> None:
        self.start = time.monotonic_ns()

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if not self.on:
            return
        begin, took = (self.start - _START) // 1000, (time.monotonic_ns() - self.start) // 1000
        event: Event = {"pid": os.getpid(), "tid": os.getpid(), "ts": begin, "ph": "X", "dur": took}
        EVENTS.append(event | {"name": self.name} | ({"args": {"detail": self.detail}} if self.detail else {}))


def show(words: list[str]) -> None:
    """A command as clang's wrapper shows it."""
    sys.stderr.write(f' "{words[0]}" {" ".join(words[1:])}\n')


def execute(options: Options, words: list[str]) -> None:
    """Show a command where that is asked for, and run it.  Raises ToolError."""
    if options.verbose or options.dry:
        show(words)
    if not options.dry:
        with Step(options, os.path.basename(words[0]), " ".join(words[1:])):
            run(words, os.environ)


def write_trace(options: Options) -> None:
    """The file that --wrapper-time-trace names; steps shorter than the granularity are left out.  Raises ToolError."""
    path = options.last("--wrapper-time-trace")
    if not path:
        return
    import json

    given = options.last("--wrapper-time-trace-granularity", "500")
    if not given.isdigit():
        raise ToolError(f"--wrapper-time-trace-granularity={given}: it must be a number of microseconds")
    kept = [event for event in EVENTS if int(str(event["dur"])) >= int(given)]
    name = {"ph": "M", "name": "process_name", "pid": os.getpid(), "tid": os.getpid(), "ts": 0}
    kept.append(name | {"cat": "", "args": {"name": "clang-linker-wrapper"}})
    began = time.time_ns() // 1000 - (time.monotonic_ns() - _START) // 1000
    write_file(path, json.dumps({"traceEvents": kept, "beginningOfTime": began}) + "\n")
