#!/usr/bin/env python3
"""``make check-matrix``: a newcomer's commands in fresh trees of other systems, for each of their compilers; a table.

Exit status: 0 if all that ran is right, 1 if not, 2 for wrong usage.  Where trees cannot be made, that is told, and 0.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [path for path in (str(HERE.parent),) if path not in sys.path]

from matrix import tree  # noqa: E402
from matrix.systems import OLDEST, SYSTEMS, Compilers, System  # noqa: E402

PLACE = "srv/gompy"
"""Not the home of root: tests have another user run what was built."""
OUT = HERE.parent / "out" / "matrix"


@dataclass(frozen=True)
class Step:
    """What is typed in the tree, and what of its output belongs in the table: each pattern's groups, joined."""

    title: str
    command: tuple[str, ...]
    pattern: re.Pattern[str]


INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends")
STEPS = {
    "run": Step("make run", ("make", "run"), re.compile(r"^(\d+ examples): all regions", re.MULTILINE)),
    "samples": Step(
        "GCC's tests: MIC, GPU, GPU with the stock runtime",
        # Passed and failed; with status 0 only what is expected to fail did.
        # -k: the second sample says something also where the first one does not pass.
        ("make", "-k", "sample", "sample-nvptx"),
        re.compile(r"^all +\d+ +(\d+) +(\d+) ", re.MULTILINE),
    ),
    "check": Step("make check", ("make", "check"), re.compile(r"(\d+ (?:failed|passed)\b)")),
}


@dataclass
class Row:
    """A line of the table."""

    system: str
    compilers: str
    facts: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    right: bool = True


FACTS = {
    "compiler": ".venv/bin/gompcc -dumpfullversion",
    "libgomp": "dpkg-query -W -f='${source:Upstream-Version}' libgomp1",
    "python": ".venv/bin/python -c 'import platform; print(platform.python_version())'",
}


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="run.py", description="Run make's targets in trees of other systems.")
    parser.add_argument("--system", action="append", metavar="SUITE", help="only these; of " + ", ".join(_suites()))
    names = sorted({compilers.name for system in SYSTEMS for compilers in system.compilers})
    parser.add_argument("--compiler", action="append", metavar="NAME", help="only these; of " + ", ".join(names))
    parser.add_argument("--steps", default="run,samples", help=f"of {','.join(STEPS)}; default: %(default)s")
    parser.add_argument("--mirror", default="", help="where debootstrap fetches from (default: its own)")
    parser.add_argument("--keep", action="store_true", help="leave the trees")
    options = parser.parse_args(words)
    options.steps = options.steps.split(",")
    chosen = ((options.steps, list(STEPS)), (options.system or [], _suites()), (options.compiler or [], names))
    for given, known in chosen:
        if set(given) - set(known):
            parser.error(f"{', '.join(sorted(set(given) - set(known)))}: not of {', '.join(known)}")
    return options


def _suites() -> list[str]:
    return [system.suite for system in SYSTEMS]


def summary(step: Step, text: str, status: int, seconds: float) -> str:
    """A cell: what the step says of itself, and how long it took."""
    found = ["/".join(match.groups()) for match in step.pattern.finditer(text)]
    return ", ".join([*found, *([f"exit status {status}"] if status else []), f"{seconds:.0f} s"])


def install(here: tree.Tree, packages: Sequence[str], log: Path) -> None:
    """Have apt install packages in a tree.  Raises TreeError."""
    for words in (("apt-get", "update", "-qq"), (*INSTALL, *packages)) if packages else ():
        if here.run(words, log, {"DEBIAN_FRONTEND": "noninteractive"}):
            raise tree.TreeError(f"{' '.join(words)}: {log.read_text(errors='replace').strip()[-300:]}")


def try_one(system: System, compilers: Compilers, options: argparse.Namespace) -> Row:
    """A fresh tree, the steps in it one after another; those after a wrong one are not run.  Raises TreeError."""
    row = Row(system.title, compilers.name)
    with tree.made(system.suite, options.mirror, options.keep) as here:
        row.system = f"Debian {(here.root / 'etc/debian_version').read_text().strip()}"
        tree.put_sources(ROOT, here, PLACE)
        packages = OUT / f"{system.suite}-{compilers.name}-packages.log"
        install(here, compilers.packages, packages)
        for name in options.steps:
            step = STEPS[name]
            log = OUT / f"{system.suite}-{compilers.name}-{name}.log"
            print(f"{row.system}, {compilers.name}: {step.title} ({log.relative_to(ROOT)})", flush=True)
            begin = time.monotonic()
            words = step.command
            if name == "samples":
                install(here, (compilers.source,), packages)
                if compilers.release != OLDEST:
                    words = ("make", "sample", f"GCC={compilers.release}")
            status = here.run(words, log, compilers.environment, f"/{PLACE}")
            text = log.read_text(errors="replace")
            row.cells[name] = summary(step, text, status, time.monotonic() - begin)
            if status:
                row.right = False
                print(*text.splitlines()[-20:], sep="\n")
                break
        for name, command in FACTS.items():
            row.facts[name] = here.answer(command, compilers.environment, f"/{PLACE}").rpartition("\n")[2] or "-"
    return row


def table(rows: Sequence[Row], steps: Sequence[str]) -> str:
    """The table as text."""
    lines = [["system", "compiler", "libgomp", "Python", *(STEPS[name].title for name in steps)]]
    for row in rows:
        facts = [row.facts.get(name, "-") for name in ("libgomp", "python")]
        compiler = f"{row.compilers} ({row.facts.get('compiler', '-')})"
        lines.append([row.system, compiler, *facts, *(row.cells.get(name, "-") for name in steps)])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def main() -> int:
    """Trees, steps, table."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the tree goes, as at Ctrl-C
    OUT.mkdir(parents=True, exist_ok=True)
    rows = []
    for system in SYSTEMS:
        if options.system and system.suite not in options.system:
            continue
        try:
            tree.check(system.suite)
            for compilers in system.compilers:
                if not options.compiler or compilers.name in options.compiler:
                    rows.append(try_one(system, compilers, options))
        except tree.NoTree as reason:
            print(f"{system.title}: skipped: {reason}")
        except tree.TreeError as error:
            print(f"{system.title}: error: {error}", file=sys.stderr)
            rows.append(Row(system.title, "-", right=False))
    if rows:
        print(f"\n{table(rows, options.steps)}")
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
