"""``gompy record [OPTION…] PROG [ARG…]``: a program's regions with the device's memory before and after, in one file.

The exit status is the program's; 127 if there is no such program, 126 if it cannot be run, 2 for a usage error or if
there is no recording.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gompy import UserError, plural
from gompy.cli.arguments import add_program, command_parser, program_words
from gompy.cli.run_program import RunError, look_at
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.replay.recording import Recording

EXIT_USAGE: Final = 2
LIMIT: Final = "1G"
WAIT: Final = 30.0
WAIT_MOST: Final = 1e6
UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
EXAMPLES: Final = """\
examples:
  gompy record ./prog 100                        each region that ./prog 100 launches, into prog.recording
  gompy record -o r.rec --only main._omp ./prog  regions of main only
  gompy record --first 3 --device nvptx ./prog   the first three, on a GPU, real or emulated
  gompy replay r.rec                             run them again, without the program

exit status: the program's; 127 no such program; 126 it cannot be run; 2 usage, or nothing was recorded"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    made = command_parser(
        "record",
        "Run a program and record its regions, with the device's memory before and after each.",
        EXAMPLES,
        usage="gompy record [options] PROG [ARG...]",
        allow_abbrev=False,
    )
    made.add_argument("-o", dest="output", metavar="FILE", help="the file that is written (PROG.recording)")
    add_choice(made, "end the recording there")
    made.add_argument("--device", choices=("intelmic", "nvptx"), help="the kind of device")
    made.add_argument("--any", action="store_true", help="run a program that has no regions itself, such as python3")
    add_program(made)
    return made


def add_choice(made: argparse.ArgumentParser, limit: str) -> None:
    """The options that say what is recorded; ``limit``: what --max-bytes does."""
    made.add_argument("--only", default="", metavar="NAME", help="only regions whose function's name has NAME in it")
    made.add_argument(
        "--wait",
        type=seconds,
        default=WAIT,
        metavar="S",
        help=f"a region that others have waited for S seconds runs beside them, and is not recorded ({WAIT:g})",
    )
    made.add_argument("--first", type=count, metavar="N", help="only the first N of them")
    made.add_argument("--max-bytes", type=size, default=size(LIMIT), metavar="N", help=f"{limit}; K, M, G ({LIMIT})")


def attempt(name: str, work: Callable[[], int], output: str) -> int:
    """Do a command's work; its errors are one line.  ``output``: the file that an error without a name is about."""
    try:
        return work()
    except RunError as error:
        return complain(name, str(error), error.status)
    except UserError as error:
        return complain(name, str(error), EXIT_USAGE)
    except OSError as error:
        return complain(name, f"{error.filename or output}: {error.strerror}", EXIT_USAGE)


def count(text: str) -> int:
    """How many regions."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 32:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of regions")
    return int(text)


def seconds(text: str) -> float:
    """A time."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < WAIT_MOST:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds above 0 and below {WAIT_MOST:.0f}")
    return value


def size(text: str) -> int:
    """Bytes, with K, M or G."""
    digits, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not digits.isdecimal() or not 0 < int(digits) * unit < 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of bytes")
    return int(digits) * unit


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy record``); the exit status."""
    made = parser()
    options = made.parse_args(argv)
    words = program_words(made, options.command)
    output = options.output or f"{os.path.basename(words[0])}.recording"
    return attempt("record", lambda: record(words, options, output), output)


def complain(name: str, text: str, status: int) -> int:
    """One line; the status."""
    print(f"gompy {name}: error: {one_line(text)}", file=sys.stderr)
    return status


def record(words: list[str], options: argparse.Namespace, output: str) -> int:
    """Run, name, and put the file into its place; the exit status."""
    from gompy.replay.recording import Recording

    code = run_recorded(words, options.device, output, limits(options), kernels=True, any_program=options.any)
    recording = Recording(output)
    if recording.limit is not None:
        print(f"gompy record: {output}: ended at its limit of {recording.limit} bytes", file=sys.stderr)
    else:
        for region in recording.kept:
            if region.after is None:
                print(f"gompy record: {output}: {region.name()} has not ended", file=sys.stderr)
    regions = plural(len(recording.kept), "region")
    print(f"gompy record: {output}: {regions}, {len(recording.data)} bytes", file=sys.stderr)
    return code


def limits(options: argparse.Namespace) -> dict[str, str]:
    """What the runtime is told of them."""
    env = {"GOMPY_RECORD_ONLY": options.only, "GOMPY_RECORD_BYTES": str(options.max_bytes)}
    env["GOMPY_RECORD_WAIT"] = str(options.wait)
    env["GOMPY_RECORD_FIRST"] = str(options.first) if options.first is not None else ""
    return env


def _folder_in(folder: str, output: str) -> tempfile.TemporaryDirectory[str]:
    """A folder for parts of OUTPUT, which an error is about."""
    try:
        return tempfile.TemporaryDirectory(prefix=".gompy-record-", dir=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, output) from None


def _begun(path: str) -> Recording | None:
    """What is in a file that the program has made; None: there is none, or was no room for its first line."""
    from gompy.replay.recording import Recording

    try:
        return Recording(path)
    except UserError:
        return None


def run_recorded(
    words: list[str],
    device: str | None,
    output: str,
    env: dict[str, str],
    *,
    kernels: bool = False,
    any_program: bool = False,
) -> int:
    """Run a program and write its recording, whole or not at all; the program's status.

    ``kernels``: those of CUDA will do; ``any_program``: it may be one without either, that loads libraries.
    RunError: it cannot run; UserError: nothing was recorded; OSError: a file cannot be written.
    """
    from gompy.cli.cuda import environment
    from gompy.cli.run import settings
    from gompy.replay.naming import add_names
    from gompy.tools.child import run_child

    program = look_at(words[0], any_program, recorded=True, cuda=kernels, offer_any=kernels)
    plain = {"device": device, "devices": None, "mandatory": False, "trace": None, "check": None}
    settled = settings(argparse.Namespace(**plain, info=False, under=None), program)
    if program.cuda:
        settled |= environment(real=False)
    folder = os.path.dirname(os.path.abspath(output))
    with _folder_in(folder, output) as work:
        made, log, driver = (os.path.join(work, name) for name in ("recording", "log", "kernels"))
        own = {"GOMPY_RECORD_FILE": made, "GOMPY_CHECK_LOG": log, **env}
        if kernels:
            own["GOMPY_RECORD_KERNELS"] = driver
        sys.stdout.flush()
        sys.stderr.flush()
        code = run_child([program.path, *words[1:]], {**settled, **own})
        there = [path for path in (made, driver) if os.path.exists(path)]
        if not there:
            raise UserError("nothing was recorded: the program has not used a device's runtime")
        begun = {made: _begun(made)}
        if begun[made] is None or not add_names(made, log):
            kernel = begun[driver] = _begun(driver)
            made = driver
            if kernel is None or not kernel.regions:
                if not all((part := begun[path]) is not None and part.whole for path in there):
                    raise UserError("nothing was recorded: the recording ended before a wanted region was whole")
                raise UserError("nothing was recorded: no region or kernel that is wanted was launched on a device")
        os.replace(made, output)
    return code
