"""Messages of a link tool as values: shown at once, or kept until it is known whether they are to be seen."""

from __future__ import annotations

import sys

from gompy.tools.process import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Log:
    """What a program has to say.

    ``program``: in whose name.  ``verbose``: whether commands are shown (-v).  ``kept``: texts that wait, if any may.
    """

    def __init__(self, program: str, verbose: bool = False) -> None:
        self.program = program
        self.verbose = verbose
        self.kept: list[str] | None = None

    def text(self, text: str) -> None:
        """Say it as it is: whole lines, another program's mostly."""
        if self.kept is not None:
            self.kept.append(text)
        elif text:
            sys.stderr.write(text)

    def error(self, text: str) -> None:
        """An error that is not the last word."""
        self.text(f"{self.program}: error: {text}\n")

    def warning(self, text: str) -> None:
        """A warning."""
        self.text(f"{self.program}: warning: {text}\n")

    def note(self, text: str) -> None:
        """A note."""
        self.text(f"{self.program}: note: {text}\n")

    def detail(self, text: str) -> None:
        """What only -v shows."""
        if self.verbose:
            self.text(f"{self.program}: {text}\n")

    def command(self, words: Sequence[str]) -> None:
        """A command that is about to run, with -v, as GCC shows it."""
        if self.verbose:
            self.text(f" {quote(words)}\n")

    def keep(self) -> None:
        """Show nothing from here on, before it is known whether it is to be seen."""
        self.kept = self.kept or []

    def forget(self) -> None:
        """What has been kept is not to be seen."""
        self.kept = None

    def show(self) -> None:
        """Show what has been kept, and keep nothing from here on."""
        kept, self.kept = self.kept, None
        self.text("".join(kept or ()))
