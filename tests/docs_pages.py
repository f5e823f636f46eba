"""What the pages show: commands with their output, and the comparison with what the commands print.

A block is indented by four blanks; ``$ command`` lines, each followed by its output.  ``…`` stands for any text; so do
addresses and process numbers, which differ from run to run.
"""

from __future__ import annotations

import re
from pathlib import Path

ADDRESS = re.compile(r"0x(?:[0-9a-f]+|…)|(?<===)[0-9]+(?===)")


def sections(page: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """The commands of each section of a page, with the lines that it shows after them."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    title = ""
    block = False  # whether the lines belong to the last command
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            title, block = line.lstrip("# "), False
        elif line.startswith("    $ "):
            found.setdefault(title, []).append((line[6:], []))
            block = True
        elif line.startswith("    ") and block:
            found[title][-1][1].append(line[4:])
        elif not line and block:
            found[title][-1][1].append("")
        else:
            block = False
    for commands in found.values():
        for _, shown in commands:
            while shown and not shown[-1]:
                shown.pop()
    return found


RULE = re.compile("={5,}")
"""pytest's lines are as long as what stands in them leaves: a run that took ten seconds has one sign less."""


def alike(shown: list[str], printed: list[str]) -> bool:
    """Whether the output is what the page shows."""

    def pattern(line: str) -> str:
        return "0x…".join(re.escape(part) for part in ADDRESS.split(RULE.sub("=====", line))).replace("…", ".*")

    text = "\n".join(ADDRESS.sub("0x…", RULE.sub("=====", line)) for line in printed)
    wanted = "\n".join("(?:.*\n)*?.*" if line == "…" else pattern(line) for line in shown)
    return re.fullmatch(wanted, text) is not None
