"""One thing in fresh systems of several Debian releases, one after another: the command line of such a check."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from . import tree


def each_system(title: str | None, suites: Sequence[str], tried: Callable[[str, str], bool]) -> int:
    """Read ``--system SUITE`` and ``--mirror URL``, call ``tried(suite, mirror)`` for each; the exit status.

    What cannot be tried here (NoTree) is told and not wrong; a TreeError is wrong.
    """
    parser = argparse.ArgumentParser(description=title, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", action="append", metavar="SUITE", help=f"of Debian's releases; {', '.join(suites)}")
    parser.add_argument("--mirror", default="", help="where debootstrap fetches from (default: its own)")
    options = parser.parse_args()
    right = True
    for suite in options.system or suites:
        try:
            tree.check(suite)
            right &= tried(suite, options.mirror)
        except tree.NoTree as reason:
            print(f"{suite}: skipped: {reason}")
        except tree.TreeError as error:
            right = False
            print(f"{suite}: WRONG: {error}")
    return 0 if right else 1
