"""``gompy bisect --on A --against B PROG``: a program on two devices, and the first region whose results differ.

Exit status: 0 nothing differs; 1 something does; 2 nothing could be compared, or usage; 126 and 127 as gompy run's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Final

from gompy import plural
from gompy.cli.arguments import add_program, command_parser, program_words
from gompy.cli.record import add_choice, attempt, limits, run_recorded
from gompy.cli.replay import KINDS, SCALARS, add_measure, tell_lacking
from gompy.replay import REAL

if TYPE_CHECKING:
    from gompy.replay.recording import Recording

VIRTUAL: Final = {"GOMPY_PLUGINS": "python", "GOMPY_PYTHON_DEVICE": "gompy.virtual:Virtual", "GOMPY_VIRTUAL": "memory"}
"""The device that runs the image's code in the program's process."""
EXAMPLES: Final = """\
examples:
  gompy bisect --on nvptx --against intelmic ./prog 100
  gompy bisect --on nvptx --against host --tolerance 1e-6 ./prog

exit status: 0 nothing differs; 1 something does; 2 nothing could be compared, or usage"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser(
        "bisect",
        "Run a program on two devices and name the first region and element that differ.",
        EXAMPLES,
        usage="gompy bisect --on A --against B [options] PROG [ARG...]",
        allow_abbrev=False,
    )
    add_devices(made)
    add_measure(made)
    add_choice(made, "of each recording")
    add_program(made)
    return made


def add_devices(made: argparse.ArgumentParser) -> None:
    """The two devices, of which none has a default."""
    made.add_argument("--on", choices=KINDS, help="the device that is looked at")
    made.add_argument("--against", choices=KINDS, help="the one whose results are taken for right")


def take_devices(made: argparse.ArgumentParser, options: argparse.Namespace, words: list[str]) -> list[str]:
    """See that both devices are there, if need be behind the program; its words without them.

    A program's own --on stays where it is if the devices were named before it, or behind ``--``.
    """
    named = {"--on": options.on, "--against": options.against}
    if not any(named.values()) and "--" not in options.command:
        behind = argparse.ArgumentParser(prog=made.prog, usage=made.usage, add_help=False, allow_abbrev=False)
        add_devices(behind)
        late, rest = behind.parse_known_args(words[1:])
        options.on, options.against = late.on, late.against
        named, words = {"--on": late.on, "--against": late.against}, [words[0], *rest]
    if lacking := [name for name, kind in named.items() if kind is None]:
        made.error(f"the following arguments are required: {', '.join(lacking)}")
    return words


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy bisect``); the exit status."""
    made = parser()
    options = made.parse_args(argv)
    words = take_devices(made, options, program_words(made, options.command))
    if options.on == options.against:
        made.error("--on and --against are the same")
    return attempt("bisect", lambda: bisected(words, options), "a recording")


def recorded(words: list[str], options: argparse.Namespace, kind: str, folder: str) -> tuple[Recording, int]:
    """A run on a kind of device."""
    from gompy.replay.recording import Recording

    env = limits(options)
    if kind == "host":
        env |= VIRTUAL
    if kind == REAL:
        env |= {"GOMPY_CUDA": "real"}
    path = os.path.join(folder, kind)
    code = run_recorded(words, {"host": None, REAL: "nvptx"}.get(kind, kind), path, env)
    return Recording(path), code


def bisected(words: list[str], options: argparse.Namespace) -> int:
    """Run twice, compare, tell; the exit status."""
    with tempfile.TemporaryDirectory(prefix="gompy-bisect-") as folder:
        first, code = recorded(words, options, options.on, folder)
        second, other = recorded(words, options, options.against, folder)
        return compared_runs(options, (first, code), (second, other))


def compared_runs(options: argparse.Namespace, one: tuple[Recording, int], another: tuple[Recording, int]) -> int:
    """Compare two runs' recordings and exit statuses, and tell; the exit status."""
    from gompy.replay.bisecting import bisect
    from gompy.replay.comparing import Measure

    (first, code), (second, other) = one, another
    for recording in (first, second):
        if recording.limit is not None:
            print(f"gompy bisect: a recording ended at its limit of {recording.limit} bytes", file=sys.stderr)
    if code != other:
        print(f"gompy bisect: exit status {code} on {options.on}, {other} on {options.against}", file=sys.stderr)
    found, compared = bisect(first, second, Measure(options.tolerance, SCALARS.get(options.scalar, "")))
    if found is None:
        print(f"gompy bisect: {compared} regions, none differs between {options.on} and {options.against}")
        return 0
    region = found.region
    where = f"{region.place}: {region.name()}" if region.place else region.name()
    print(f"{where}: {found.why or f'the first difference is {found.when} it'}")
    for difference in found.differences:
        print(f"  {difference.text(options.on, options.against)}")
    if found.when == "before" and not found.why:
        print("  so the host, or a region that is not recorded, has made it")
    if found.when == "after" and found.other is not None:
        from gompy.replay.stores import explain

        measure = Measure(options.tolerance, SCALARS.get(options.scalar, ""))
        sides = (first, region, options.on), (second, found.other, options.against)
        print(f"  {explain(*sides, measure)}")
        tell_lacking(first, region)
    before = f"{plural(compared, 'region')} before it {'does' if compared == 1 else 'do'} not differ"
    print(f"gompy bisect: {before if compared else 'no region is before it'}")
    return 1
