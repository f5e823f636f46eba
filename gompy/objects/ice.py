"""What a user is told when a program of ours has a bug: one line with its place, not a traceback."""

from __future__ import annotations

import os
import sys

from gompy import out_of_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

VARIABLE = "GOMPY_TRACEBACK"


def report(program: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write ``program: internal error: …``, as gcc does for its own; with GOMPY_TRACEBACK=1 the traceback before it.

    Meant for ``sys.excepthook``; KeyboardInterrupt is left to Python.  Want of memory is no bug of ours.
    """
    if issubclass(kind, KeyboardInterrupt) or os.environ.get(VARIABLE):
        sys.__excepthook__(kind, error, trace)
        if issubclass(kind, KeyboardInterrupt):
            return
    place = ""
    while trace is not None:
        place = f", at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = " ".join(str(error).split())
    message = (
        f"{program}: internal error: {kind.__name__}{f': {text}' if text else ''}{place}\n"
        f"Please report it with the command and its input; {VARIABLE}=1 shows more.\n"
    )
    if out_of_memory(error):
        message = f"{program}: error: out of memory\n"
    try:
        os.write(2, message.encode("utf-8", "backslashreplace"))
    except OSError:
        return
