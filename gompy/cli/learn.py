"""``gompy learn``: the lessons of docs/learn; ``gompy learn N`` copies one into the current folder.

Exit status: 0 fine; 1 a file is in the way, or cannot be written; 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from typing import Final

from gompy.cli import texts
from gompy.cli.arguments import command_parser
from gompy.tools.toolmain import one_line

EXAMPLES: Final = """\
examples:
  gompy learn             which lessons there are
  gompy learn 1           copy the first one into this folder, and say what to type
  gompy learn 1 --page    show its text

exit status: 0 fine; 1 a file is in the way, or cannot be written; 2 usage"""
SELF: Final = "gompy learn"


@dataclass(frozen=True)
class Lesson:
    """One lesson: its page, and the folder of its programs."""

    number: int
    page: str
    text: str
    folder: str

    @property
    def title(self) -> str:
        """What it is about."""
        return texts.title(self.text).partition(": ")[2]

    def files(self) -> dict[str, bytes]:
        """What is copied: the page first."""
        found = {os.path.basename(self.page): self.text.encode()}
        for name in sorted(os.listdir(self.folder)):
            with open(os.path.join(self.folder, name), "rb") as file:
                found[name] = file.read()
        return found

    def to_type(self) -> list[str]:
        """The page's commands, less the one that copies it, and those that only show a file."""
        return [line for line in texts.commands(self.text) if not line.startswith((SELF, "cat "))]


def lessons() -> list[Lesson]:
    """All, in their order."""
    folder = texts.path("learn")
    found = []
    for name in sorted(os.listdir(folder)):
        number, dash, _ = name.partition("-")
        if dash and number.isdecimal() and name.endswith(".md"):
            page = os.path.join(folder, name)
            found.append(Lesson(int(number), page, texts.read(f"learn/{name}"), page.removesuffix(".md")))
    return found


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser(
        "learn",
        "A tutorial in lessons: programs to compile, run and change, each with a page that explains them.",
        EXAMPLES,
    )
    made.add_argument("lesson", metavar="N", nargs="?", type=int, help="copy lesson N into the current folder")
    made.add_argument("--page", action="store_true", help="show the lesson's text, copy nothing")
    made.add_argument("--force", action="store_true", help="overwrite files that are there")
    return made


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy learn``); the exit status."""
    options = parser().parse_args(argv)
    try:
        known = lessons()
        if options.lesson is None:
            print("\n".join(f"{lesson.number}  {lesson.title}" for lesson in known))
            print("\n'gompy learn N' copies lesson N into the current folder and says what to type.")
            return 0
        for lesson in known:
            if lesson.number == options.lesson:
                return _show(lesson) if options.page else _copy(lesson, options.force)
    except (OSError, texts.NoText) as error:
        about = error.strerror and f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else ""
        return _error(about or str(error), 1)
    return _error(f"no lesson {options.lesson}; there are {known[0].number} to {known[-1].number}", 2)


def _error(text: str, status: int) -> int:
    print(f"{SELF}: error: {one_line(text)}", file=sys.stderr)
    return status


def _show(lesson: Lesson) -> int:
    sys.stdout.write(lesson.text)
    return 0


def _copy(lesson: Lesson, force: bool) -> int:
    files = lesson.files()
    for name, data in files.items():
        if not force and os.path.lexists(name):
            with open(name, "rb") as file:
                if file.read() != data:
                    return _error(f"{name} is in this folder already, with another text; --force overwrites it", 1)
    for name, data in files.items():
        with open(name, "wb") as file:
            file.write(data)
    page, *programs = files
    print(f"lesson {lesson.number}: {lesson.title}")
    print(f"in this folder now: {', '.join(programs)}; {page} explains them")
    print("type:")
    print("\n".join(f"  {line}" for line in lesson.to_type()))
    return 0
