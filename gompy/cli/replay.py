"""``gompy replay FILE``: regions of a recording run again, without the program, and compared with what is recorded.

Exit status: 0 all as recorded; 1 something differs; 2 a region could not be run, the file is none, or usage.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from gompy import UserError, plural
from gompy.cli.arguments import command_parser
from gompy.replay import REAL
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.replay.recording import Recording, Region
    from gompy.replay.running import Result

KINDS: Final = ("intelmic", "nvptx", "host", REAL)
SCALARS: Final = {"float": "f4", "double": "f8"}
EXAMPLES: Final = """\
examples:
  gompy record -o r.rec ./prog            record the regions of a program
  gompy replay --list r.rec               what is in it
  gompy replay r.rec                      run them on a device of the kind that they were recorded on
  gompy replay --on host --region 3 r.rec one of them, in a process of this machine
  gompy replay --on nvptx --tolerance 1e-6 r.rec

exit status: 0 as recorded; 1 something differs; 2 a region could not be run, or usage"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser(
        "replay",
        "Run the regions of a recording again and compare the memory after them.",
        EXAMPLES,
        allow_abbrev=False,
    )
    made.add_argument("file", metavar="FILE", help="what gompy record has written")
    made.add_argument("--on", choices=KINDS, help="where they run; else on the kind that they were recorded on")
    made.add_argument("--region", type=int, action="append", metavar="N", help="only this one; may be given again")
    made.add_argument("--list", action="store_true", help="tell what is in the file, and run nothing")
    add_measure(made)
    return made


def add_measure(made: argparse.ArgumentParser) -> None:
    """The options that say what differs."""
    made.add_argument(
        "--tolerance",
        type=tolerance,
        default=0.0,
        metavar="T",
        help="floating numbers may differ by T, from 1 on by T x",
    )
    made.add_argument("--as", dest="scalar", choices=tuple(SCALARS), help="what unnamed memory is made of; else bytes")


def tolerance(text: str) -> float:
    """A number that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no tolerance")
    return value


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy replay``); the exit status."""
    options = parser().parse_args(argv)
    try:
        from gompy.replay.recording import Recording

        recording = Recording(options.file)
        chosen = choose(recording, options.region)
        if options.list:
            show(recording, chosen)
            return 0
        return replay(recording, chosen, options)
    except UserError as error:
        print(f"gompy replay: error: {one_line(str(error))}", file=sys.stderr)
        return 2


def choose(recording: Recording, numbers: list[int] | None) -> list[Region]:
    """The regions that are asked for."""
    if not recording.kept:
        raise UserError(f"{recording.path}: it has no regions")
    if numbers is None:
        return recording.kept
    for number in numbers:
        if not 0 <= number < len(recording.regions):
            raise UserError(f"{recording.path}: it has regions 0 to {len(recording.regions) - 1}, not {number}")
        if recording.regions[number].dropped:
            raise UserError(f"{recording.path}: {recording.regions[number].name()} ran beside others: not recorded")
    return [recording.regions[number] for number in dict.fromkeys(numbers)]


def show(recording: Recording, regions: list[Region]) -> None:
    """A line for each region, and what is mapped in it."""
    for region in regions:
        place = f"{region.place}: " if region.place else ""
        end = "" if region.after is not None else ", which did not end"
        print(f"{place}{region.name()} on {region.kind}{end}")
        if region.is_kernel:
            show_kernel(region)
        for item in region.objects:
            known = region.names.get(item.host)
            host = "" if region.is_kernel else f"host {item.host:#x}, "
            print(f"  {known.name if known else '?'}: {item.size} bytes, {host}device {item.target:#x}")


def show_kernel(region: Region) -> None:
    """How a kernel is launched, and the memory that has no name."""
    _, _, _, shared, *sizes, size = region.shape or [0] * 11
    grid, block = ("({}, {}, {})".format(*sizes[at : at + 3]) for at in (0, 3))
    print(f"  {region.what}, grid {grid}, block {block}, {size} bytes of arguments, {shared} of shared memory")
    named = {item.target for item in region.objects}
    blocks = [span for span in region.memory if span.start not in named]
    if blocks:
        print(f"  {plural(len(blocks), 'block')} of memory, {sum(span.size for span in blocks)} bytes")


def replay(recording: Recording, regions: list[Region], options: argparse.Namespace) -> int:
    """Run them; the exit status."""
    from gompy.replay.running import replay as run

    status = 0
    kinds: dict[str, list[Region]] = {}
    for region in regions:
        kinds.setdefault(options.on or region.kind, []).append(region)
    for where, those in kinds.items():
        if where not in KINDS:
            raise UserError(f"{recording.path}: recorded on {where}; --on says where to run it")
        results = run(recording, those, where)
        for region in those:
            status = max(status, tell(recording, region, where, results[region.number], options))
    return status


def tell(recording: Recording, region: Region, where: str, result: Result, options: argparse.Namespace) -> int:
    """What became of a region; its exit status."""
    from gompy.replay.comparing import Measure, compare

    head = f"{region.place}: {region.name()} on {where}" if region.place else f"{region.name()} on {where}"
    if result.why:
        print(f"{head}: not run: {one_line(result.why)}")
        if result.ended:
            tell_lacking(recording, region, ended=True)
        return 2
    moved = "" if result.same else f" (memory elsewhere, {plural(result.pointers, 'pointer')} moved)"
    if region.after is None:
        print(f"{head}: ran to its end; the recorded one did not{moved}")
        return 1
    before = [recording.contents(span) for span in region.after]
    found = compare(region, before, result.contents, Measure(options.tolerance, SCALARS.get(options.scalar, "")))
    print(f"{head}: {'differs' if found else 'as recorded'}{moved}")
    for difference in found:
        print(f"  {difference.text('recorded', 'now')}")
    if found:
        tell_lacking(recording, region)
    return 1 if found else 0


def tell_lacking(recording: Recording, region: Region, ended: bool = False) -> None:
    """What is not implemented, where that may be why a region is not as recorded, or has ended its process."""
    from gompy.replay.unrecorded import hints

    for line in hints(recording, region, ended):
        print(f"  {line}")
