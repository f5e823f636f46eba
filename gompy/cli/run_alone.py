"""GOMPY_TRACE: tells of a program that was started without ``gompy run``.  libgompy starts this as a script.

Words: the trace, the log, the program's process number.  Standard input is a socket that ends with the program, and
whose end the program waits for; it is sent the number of the error, if lines cannot be written, and of another error a
zero and a text.  Descriptor 4 is the program's memory (gompy/runtime/tools/teller.h).
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import shutil
import sys
from typing import Final

MEMORY: Final = 4
FOLDER: Final = "gompy-trace-"
"""How the names of the folders begin that libgompy makes for this."""


class UnwrittenError(Exception):
    """Lines cannot be written; its argument is the error's number."""


def main(trace: str, log: str, pid: int) -> None:
    """Tell until the program has ended.  UnwrittenError."""
    from gompy.cli.run_follow import PERIOD, Follower

    class Alone(Follower):
        def say(self, line: str) -> None:
            try:
                super().say(line)
            except OSError as error:
                raise UnwrittenError(error.errno) from None

    follower = Alone(trace, log)
    with contextlib.suppress(OSError):
        os.fstat(MEMORY)
        follower.memory = MEMORY
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    with contextlib.suppress(OSError):  # an old kernel, or it has ended: the socket tells
        waiting.register(os.pidfd_open(pid), select.POLLIN)
    while not waiting.poll(PERIOD * 1000):
        follower.step()
    follower.step()


def own_folder(*paths: str) -> str:
    """The folder that was made for this; another one may have the trace or the log, if the user asked for them."""
    folders = {os.path.dirname(path) for path in paths}
    return next((folder for folder in folders if os.path.basename(folder).startswith(FOLDER)), "")


if __name__ == "__main__":
    os.setsid()  # a terminal's signals are for the program
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except UnwrittenError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # nobody can be told any more by this, and not that either
        if error.args[0] and error.args[0] != errno.EPIPE:
            with contextlib.suppress(OSError):  # the program has been killed
                os.write(0, bytes([error.args[0]]))
    except OSError as error:
        with contextlib.suppress(OSError):
            os.write(0, b"\0" + os.fsencode(f"{error.filename}: " * bool(error.filename) + f"{error.strerror}"))
    finally:
        shutil.rmtree(own_folder(*sys.argv[1:3]), ignore_errors=True)
