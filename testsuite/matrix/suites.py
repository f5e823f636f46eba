#!/usr/bin/env python3
"""``make check-suites``: each release's whole libgomp tests on both devices, in trees of the systems that have it.

Exit status: 0 if only what is on the kept lists failed, 1 if not, 2 for wrong usage.  Where trees cannot be made, that
is told, and 0.
"""

from __future__ import annotations

import argparse
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [path for path in (str(HERE.parent),) if path not in sys.path]

from matrix import tree  # noqa: E402
from matrix.run import FACTS, INSTALL, PLACE  # noqa: E402
from matrix.systems import OLDEST, OWN, SYSTEMS, Compilers, System  # noqa: E402

OUT = HERE.parent / "out" / "suites"
DEVICES = ("intelmic", "nvptx")
"""What OFFLOAD_TARGET may be: the emulated MIC, the emulated GPU."""
STOCK = "-stock"
"""Behind a device: with gcc's own libgomp and plugin in place of ours."""
HEAD = ("gcc", "libgomp", "device", "runs", "passed", "failed", "listed", "unexpected", "listed but good", "s")
_ALL = re.compile(r"^all +(\d+) +(\d+) +(\d+) ", re.MULTILINE)
_BAD = re.compile(r"^bad results: (\d+) on the list, (\d+) unexpected; good though on the list: (\d+)$", re.MULTILINE)
_UNEXPECTED = re.compile(r"^(?:unexpected: |expected to fail ).*$", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """A line of the table: a compiler, a device, and the numbers as they were printed."""

    gcc: str
    libgomp: str
    device: str
    cells: tuple[str, ...]
    right: bool


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="suites.py", description="Run each release's libgomp tests on each device.")
    releases = [str(compilers.release) for _, compilers in _all()]
    parser.add_argument("--gcc", default=",".join(releases), metavar="A,B", help="of %(default)s")
    parser.add_argument("--devices", default=",".join(DEVICES), metavar="A,B", help="of %(default)s,nvptx-stock")
    parser.add_argument("--tests", default="", help="options for run_gcc_tests.py, such as '-j 2 --filter target-3'")
    parser.add_argument("--mirror", default="", help="where debootstrap fetches from (default: its own)")
    parser.add_argument("--keep", action="store_true", help="leave the trees")
    options = parser.parse_args(words)
    options.gcc = options.gcc.split(",")
    options.devices = options.devices.split(",")
    for given, known in ((options.gcc, releases), (options.devices, [*DEVICES, f"nvptx{STOCK}"])):
        if set(given) - set(known):
            parser.error(f"{', '.join(sorted(set(given) - set(known)))}: not of {', '.join(known)}")
    return options


def _all() -> Iterator[tuple[System, Compilers]]:
    for system in SYSTEMS:
        for compilers in system.compilers:
            # The oldest's tests run on the machine itself, by DejaGnu; a system's own gcc is one of the others.
            if compilers.release != OLDEST and compilers.name != OWN:
                yield system, compilers


def _chosen(system: System, options: argparse.Namespace) -> list[Compilers]:
    """The compilers of a system that the command line names."""
    return [compilers for which, compilers in _all() if which is system and str(compilers.release) in options.gcc]


def prepare(here: tree.Tree, system: System, chosen: Sequence[Compilers]) -> None:
    """The compilers, the sources and the build in a fresh tree.  Raises TreeError."""
    packages = sorted({package for compilers in chosen for package in (*compilers.packages, compilers.source)})
    tree.put_sources(ROOT, here, PLACE)
    for title, command, folder in (
        ("packages", ("apt-get", "update", "-qq"), "/"),
        ("packages", (*INSTALL, *packages), "/"),
        ("make", ("make",), f"/{PLACE}"),
    ):
        log = OUT / f"{system.suite}-{title}.log"
        environment = {**chosen[0].environment, "DEBIAN_FRONTEND": "noninteractive"}
        if here.run(command, log, environment, folder):
            raise tree.TreeError(f"{' '.join(command)}: {log.read_text(errors='replace').strip()[-300:]}")


def numbers(text: str) -> tuple[str, ...] | None:
    """Runs, passed and failed ones; bad results on the list, unexpected ones, listed ones that are good.

    None: the suite did not come to its end.
    """
    total, bad = _ALL.search(text), _BAD.search(text)
    return (*total.groups(), *bad.groups()) if total and bad else None


def command(compilers: Compilers, device: str, tests: str) -> tuple[str, ...]:
    """What runs a release's tests on a device."""
    return (
        *("make", "check-target-libgomp", f"GCC={compilers.release}", f"OFFLOAD_TARGET={device.removesuffix(STOCK)}"),
        *(["STOCK=1"] if device.endswith(STOCK) else []),
        *([f"TESTS={tests}"] if tests else []),
    )


def try_one(here: tree.Tree, compilers: Compilers, device: str, facts: Mapping[str, str], tests: str) -> Row:
    """A release's tests on a device; what was not expected is told at once."""
    log = OUT / f"{compilers.name}-{device}.log"
    words = command(compilers, device, tests)
    print(f"{shlex.join(words)} ({log.relative_to(ROOT)})", flush=True)
    begin = time.monotonic()
    status = here.run(words, log, compilers.environment, f"/{PLACE}")
    text = log.read_text(errors="replace")
    found = numbers(text)
    print(*(_UNEXPECTED.findall(text) if found else text.splitlines()[-20:]), sep="\n", flush=True)
    cells = found or ("-",) * (len(HEAD) - 4)
    seconds = f"{time.monotonic() - begin:.0f}"
    right = status == 0 and found is not None
    return Row(facts["compiler"], facts["libgomp"], device, (*cells, seconds), right)


def try_system(system: System, options: argparse.Namespace) -> Iterator[Row]:
    """One tree for all chosen compilers of a system.  Raises TreeError."""
    chosen = _chosen(system, options)
    tree.check(system.suite)
    with tree.made(system.suite, options.mirror, options.keep) as here:
        prepare(here, system, chosen)
        for compilers in chosen:
            facts = {
                name: here.answer(FACTS[name], compilers.environment, f"/{PLACE}") or "-"
                for name in ("compiler", "libgomp")
            }
            for device in options.devices:
                yield try_one(here, compilers, device, facts, options.tests)


def table(rows: Sequence[Row]) -> str:
    """The table as text: numbers to the right."""
    lines = [HEAD, *((row.gcc, row.libgomp, row.device, *row.cells) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < 3 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def main() -> int:
    """Trees, suites, table."""
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the tree goes, as at Ctrl-C
    OUT.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    right = True
    for system in SYSTEMS:
        if not _chosen(system, options):
            continue
        try:
            rows.extend(try_system(system, options))
        except tree.NoTree as reason:
            print(f"{system.title}: skipped: {reason}")
        except tree.TreeError as error:
            print(f"{system.title}: error: {error}", file=sys.stderr)
            right = False
    if rows:
        print(f"\n{table(rows)}")
    return 0 if right and all(row.right for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
