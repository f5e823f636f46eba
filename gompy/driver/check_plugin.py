"""The plugin by which -foffload-check asks about loops at once (gompy/accel/hooks/loops.cc), for the compiler in use.

``make`` builds it.  Where it is not there, as for another gcc or from a wheel, the first use builds it into the user's
data folder if gcc's headers for plugins are there; else a link says what to type.
"""

from __future__ import annotations

import os

from gompy.abi import warnings
from gompy.driver import compiler
from gompy.tools import accelstore

BUILDER = "gompy.accel.loops"
"""A module to run: it is of a room above."""


LOST = "-fplugin-arg-loops-lost="
"""How -Woffload-lost is chosen (hooks/loops_lost.h)."""


def words_of_lost(options: str) -> list[str]:
    """What says so to the plugin."""
    level = warnings.setting(options, warnings.LOST)
    return {"": [f"{LOST}off"], "error": [f"{LOST}error"]}.get(level, [])


def find_for_lost(command: compiler.Compiler, options: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The same for -Woffload-lost without -foffload-check: options for gcc, and messages."""
    found, _ = find(command, False)
    if found:
        return [*found, *words_of_lost(options)], []
    text = f"'-W{warnings.LOST}' has no effect: its plugin is not built for this gcc"
    return [], [("warning", f"{text}; 'gompy accel build --check' builds it")]


def find(command: compiler.Compiler, tells: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """Options for gcc, and messages: (kind, text).  ``tells``: that there is no plugin is said."""
    if os.environ.get(accelstore.WITHOUT_LOOPS) == "0":
        return [], []

    def words() -> list[str]:
        return accelstore.loops_words(lambda: compiler.find_part(command, "lto1"))

    found = words()
    if found:
        return found, []
    text = _build(command)
    found = words()
    return found, [("note", text)] if text and (tells or found) else []


def _build(command: compiler.Compiler) -> str:
    """What the builder has to say; it ends without an error."""
    import subprocess
    import sys

    line = [sys.executable, "-E", "-P", "-S", "-c", "import sys; sys.path[:] = eval (sys.argv[1])"]
    line[-1] += f"; from {BUILDER} import main; sys.exit (main (sys.argv[2:]))"
    words = [repr(sys.path), command.path, *command.words[1:]]
    try:
        done = subprocess.run([*line, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        return f"-foffload-check costs much, as its plugin for gcc is not built: {error.strerror}"
    return done.stdout.strip()
