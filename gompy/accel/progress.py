"""The progress of a build: a bar on a terminal, a line a phase elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Protocol


class Progress(Protocol):
    """What a build reports."""

    def say(self, text: str) -> None:
        """A message."""

    def phase(self, text: str) -> None:
        """What happens now."""

    def advance(self, seconds: float) -> None:
        """So much of the work, in seconds of a usual build, is done."""

    def compiling(self, done: int, total: int) -> None:
        """The compilation begins; so many of its objects are there already."""

    def compiled(self) -> None:
        """One more object."""

    def finish(self) -> None:
        """All is done."""

    def close(self) -> None:
        """Nothing more comes, whatever the reason."""


OBJECT_SECONDS = 0.45
REST_SECONDS = 30.0
OBJECTS_EXPECTED = 560


class Lines:
    """For logs and pipes."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.done = self.total = self.told = 0

    def say(self, text: str) -> None:
        """A line with the time since the start."""
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", file=sys.stderr, flush=True)

    def phase(self, text: str) -> None:
        """As say."""
        self.say(text)

    def advance(self, seconds: float) -> None:
        """Nothing to see."""

    def compiling(self, done: int, total: int) -> None:
        """Say how much there is to do."""
        self.done, self.total = done, total
        self.told = 10 * done // max(total, 1)
        self.say(f"compiling lto1: {total} objects" + (f", {done} of them are there" if done else ""))

    def compiled(self) -> None:
        """A line every tenth."""
        self.done += 1
        tenth = 10 * self.done // max(self.total, 1)
        if tenth > self.told and tenth < 10:
            self.told = tenth
            self.say(f"compiling lto1: {10 * tenth} %")

    def finish(self) -> None:
        """Nothing to see."""

    def close(self) -> None:
        """Nothing to see."""


class Bar:
    """For a terminal: one bar over all steps."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        self.rich = RichProgress(
            TextColumn("{task.description:<34}"),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(elapsed_when_finished=False),
            console=Console(stderr=True),
        )
        self.task = self.rich.add_task("preparing", total=REST_SECONDS + OBJECT_SECONDS * OBJECTS_EXPECTED)
        self.done = self.total = 0
        self.rich.start()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.rich.console.print(text, highlight=False)

    def phase(self, text: str) -> None:
        """The text before the bar."""
        self.rich.update(self.task, description=text)

    def advance(self, seconds: float) -> None:
        """Move the bar."""
        self.rich.advance(self.task, seconds)

    def compiling(self, done: int, total: int) -> None:
        """Count objects from now on."""
        self.done, self.total = done, total
        self.rich.update(self.task, total=REST_SECONDS + OBJECT_SECONDS * total)
        self.rich.advance(self.task, OBJECT_SECONDS * done)

    def compiled(self) -> None:
        """One more object."""
        if self.done < self.total:
            self.done += 1
            self.rich.update(
                self.task, advance=OBJECT_SECONDS, description=f"compiling lto1: {self.done} of {self.total} objects"
            )

    def finish(self) -> None:
        """Fill the bar."""
        self.rich.update(self.task, completed=self.rich.tasks[0].total, description="done")

    def close(self) -> None:
        """Leave the terminal in order."""
        self.rich.stop()


def make(quiet: bool = False) -> Progress:
    """The fitting one for standard error."""
    return Bar() if sys.stderr.isatty() and not quiet else Lines()
