"""A mkoffload as a program of its own."""

from __future__ import annotations

import sys

from mkoffload.process import Killed, Temps, ToolError, catch_signals, die_of
from mkoffload.response import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mkoffload.intelmic import Made


def main(words: list[str], build: Callable[[list[str], Temps], Made | None]) -> int:
    """Run one target's ``build`` with that command line (``@file`` words expanded); the exit status."""
    temps = Temps()
    catch_signals()
    try:
        build(expand(words), temps)
    except ToolError as error:
        sys.stderr.write(f"mkoffload: fatal error: {error}\ncompilation terminated.\n")
        return 1
    except Killed as killed:
        temps.remove()
        die_of(killed.number)
    finally:
        temps.remove()
    return 0
