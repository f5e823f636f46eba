"""GCC offloading, toolchain and runtime, on top of a stock gcc."""

from __future__ import annotations

import os

PACKAGE: str = os.path.dirname(os.path.abspath(__file__))
NATIVE: str = os.path.join(PACKAGE, "_native")
"""The compiled parts of this installation."""
BDIR: str = os.path.join(NATIVE, "bdir")
"""Given to gcc with ``-B``: the assembler filter, lto-wrapper, the crtoffload objects, ``accel/<target>/mkoffload``."""


class UserError(Exception):
    """What a user is told in one line, without a traceback; its text is the message.  The root of such errors."""


def plural(number: int, what: str, several: str = "") -> str:
    """``1 region``, ``2 regions``; ``several``: the word for several where it is not made by an s."""
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"


SHORT = (
    *("failed to map segment", "cannot allocate memory", "cannot map zero-fill pages", "can't start new thread"),
    "returned null without setting an exception",
)
"""What the dynamic loader and Python say where a limit (ulimit -v, a container's) leaves no room.

The last one is a MemoryError that Python 3.13 has lost on its way.
"""


def out_of_memory(error: BaseException) -> bool:
    """Whether memory is what is missing: also for a module that cannot be loaded, and for a call that says so."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == 12:  # ENOMEM
        return True
    if not isinstance(error, (ImportError, OSError, RuntimeError, SystemError)):
        return False
    text = str(error).lower()
    # glibc says the same words of another scarce thing, which more memory does not mend.
    return any(short in text for short in SHORT) and "static tls block" not in text


def last_words(error: BaseException, message: bytes) -> bool:
    """Write a message made before, if memory is what is missing: for an error that came while another was told.

    False: another thing is wrong, and nothing has been written.
    """
    try:
        missing = out_of_memory(error)
    except MemoryError:
        missing = True
    if missing:
        try:
            os.write(2, message)
        except OSError:
            return True  # nobody is there to read it
    return missing
