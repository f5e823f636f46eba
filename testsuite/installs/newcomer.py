#!/usr/bin/env python3
"""``make check-newcomer``: docs/start.md, typed line by line in fresh systems, with the time of each of its things.

A system is the smallest one of a Debian release (testsuite/matrix), with git and make; making it needs root.
Each line that the page shows goes to one shell, and what it prints is compared with what the page shows.
The time is from the first line to the last, what apt and pip fetch included; more than ten minutes are wrong.
Exit status: 0 all is right, 1 not.  Where trees cannot be made, that is told, and 0.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE.parent), str(ROOT / "tests")) if path not in sys.path]

from docs_pages import alike, sections  # noqa: E402
from matrix import tree  # noqa: E402
from matrix.each import each_system  # noqa: E402

PAGE = ROOT / "docs" / "start.md"
SUITES = ("bookworm", "trixie")
MOST_SECONDS = 600
MARK = "@@@@"
"""Begins a line of ours between the lines of the page."""


@dataclass
class Typed:
    """A line of the page: in which thing, what the page shows below it; what came, and how long it took."""

    thing: str
    line: str
    shown: list[str]
    printed: list[str]
    seconds: float = 0.0

    def wrong(self) -> str:
        """What is not as the page has it; "" if nothing."""
        if alike(self.shown, self.printed):
            return ""
        return "\n".join([f"$ {self.line}", *self.printed[-30:], "but the page shows", *self.shown])


def lines_of_page(page: Path = PAGE) -> list[Typed]:
    """The page's commands, in order."""
    return [Typed(thing, line, shown, []) for thing, commands in sections(page).items() for line, shown in commands]


def session(typed: list[Typed]) -> str:
    """What a shell reads: the lines as they are, behind each a mark with the time and nothing else."""
    stamp = f"printf '\\n{MARK} %s\\n' \"$EPOCHREALTIME\""
    return "\n".join(["exec 2>&1", stamp, *(f"{one.line}\n{stamp}" for one in typed), ""])


def listen(typed: list[Typed], heard: str) -> None:
    """Divide what the shell printed among the lines.  Raises TreeError if it ended before the last one."""
    times, parts = [], []
    for part in re.split(rf"^{MARK} ", heard, flags=re.MULTILINE)[1:]:
        time, _, text = part.partition("\n")
        times.append(float(time.replace(",", ".")))  # bash writes it as the locale does
        parts.append(text.removesuffix("\n"))  # the mark begins a line of its own
    if len(times) != len(typed) + 1:
        raise tree.TreeError(f"the shell ended after {len(times) - 1} of {len(typed)} lines: {heard[-2000:]}")
    for one, text, begin, end in zip(typed, parts, times, times[1:], strict=False):
        one.printed, one.seconds = text.splitlines(), end - begin


def report(system: str, typed: list[Typed]) -> bool:
    """A line for each thing and one for all; whether all is right and quick."""
    right = True
    for thing in dict.fromkeys(one.thing for one in typed):
        of_it = [one for one in typed if one.thing == thing]
        wrong = [said for one in of_it if (said := one.wrong())]
        right &= not wrong
        print(f"{system}  {thing:<32} {'ok' if not wrong else 'WRONG'}, {sum(one.seconds for one in of_it):.1f} s")
        print(*wrong, sep="\n", end="\n" if wrong else "")
    total = sum(one.seconds for one in typed)
    late = "" if total <= MOST_SECONDS else ", WRONG: more than ten minutes"
    print(f"{system}  all: {total:.0f} s{late} (load {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores)", flush=True)
    return right and total <= MOST_SECONDS


def typed_in(suite: str, mirror: str) -> bool:
    """A fresh system, and the page in it.  Raises TreeError."""
    with tree.made(suite, mirror) as here:
        tree.put_sources(ROOT, here, "srv/gompy")
        system = f"Debian {(here.root / 'etc/debian_version').read_text().strip()}"
        typed = lines_of_page()
        (here.root / "srv/session").write_text(session(typed))
        log = here.root.parent / "newcomer.log"
        here.run(["bash", "/srv/session"], log, {"LANG": "C.UTF-8"}, "/srv/gompy")
        listen(typed, log.read_text(errors="replace"))
        return report(system, typed)


if __name__ == "__main__":
    sys.exit(each_system(__doc__, SUITES, typed_in))
