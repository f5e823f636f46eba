"""``gompy inspect FILE…``: what is in objects, archives, executables, shared libraries and device images.

Exit status: 0 fine; 1 damaged input, a failed check, or no offload data; 2 usage, or a file that cannot be read.  With
several files it goes on, and the worst counts.  docs/inspect.md describes options and output.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gompy import plural
from gompy.cli.arguments import command_parser
from gompy.cli.inspect_text import TABLES, Line, report_lines, summary_lines, write_lines
from gompy.cli.reading import EXIT_FINE, EXIT_USAGE, EXIT_WRONG
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.cli.inspect_report import Inspected

MAX_DIFFERENCES: Final = 20
"""Differences of one file that --check prints; the rest is counted."""


EXAMPLES: Final = """\
examples:
  gompy inspect prog                         tables, images, streams, options, sections
  gompy inspect --summary prog libx.a        a few lines for each file
  gompy inspect --table images prog          each image's tables beside the program's
  gompy inspect --check prog                 compare them by name, for scripts
  gompy inspect --extract images prog        write the images into a folder
  gompy inspect --graph trip.svg a.o prog    draw the trip from objects to images
  gompy inspect --html trip.html a.o prog    the same and all tables in one page

exit status: 0 fine; 1 damaged input, failed check or no offload data; 2 usage or unreadable file"""


def parser() -> argparse.ArgumentParser:
    """The command's options."""
    parser = command_parser(
        "inspect",
        "Show the offload data in objects, archives, executables, shared libraries and device images.",
        EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="a file, or archive@0xOFFSET")
    parser.add_argument("--json", action="store_true", help="print a list with one object per file (docs/inspect.md)")
    parser.add_argument(
        "--table", action="append", choices=TABLES, metavar="NAME", help=f"only this table: {', '.join(TABLES)}"
    )
    parser.add_argument("--summary", action="store_true", help="a few lines: counts, images, and whether they agree")
    parser.add_argument(
        "--check", action="store_true", help="compare host and image tables by name; differences give exit status 1"
    )
    parser.add_argument("--decode", action="store_true", help="ask GCC's own reader for names that only it can tell")
    parser.add_argument("--extract", metavar="DIR", help="write the device images to a folder")
    parser.add_argument("--graph", metavar="FILE", help="draw the files' trip to FILE (.svg or .dot)")
    parser.add_argument("--html", metavar="FILE", help="write the trip and all tables as one page, with search")
    return parser


def _error(message: str) -> None:
    sys.stdout.flush()
    print(f"gompy inspect: error: {one_line(message)}", file=sys.stderr)


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy inspect``); the exit status."""
    try:
        options = parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else EXIT_USAGE
    if options.graph and Path(options.graph).suffix not in (".svg", ".dot"):
        _error(f"--graph {options.graph}: the name must end in .svg or .dot")
        return EXIT_USAGE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
    # Everything read lives to the end, in many small objects: collecting garbage would double the time of a long table.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _inspect(options)
    except BrokenPipeError:
        # The reader (head, less) has seen enough; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return EXIT_FINE
    finally:
        if collecting:
            gc.enable()


def _inspect(options: argparse.Namespace) -> int:
    from gompy.cli import reading

    worst = EXIT_FINE
    inspected: list[Inspected] = []
    for part, status in reading.inspected(options.files, _error, options.decode):
        worst = max(worst, status)
        if part is None:
            continue
        inspected.append(part)
        checked = _check_lines(part) if options.check else ([], [])
        if not options.json and not (options.html and not (options.summary or options.table)):
            if options.summary and part.report["kind"] != "unknown":
                _write(summary_lines(part.report))
            elif (options.table or not options.check) and part.report["kind"] != "unknown":
                _write(report_lines(part.report, options.table or TABLES), separate=len(inspected) > 1)
            _write(checked[0])
        worst = max(worst, _complain(part, checked[1]))
    if options.json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps([_reduced(part.report, options.table) for part in inspected]) + "\n")
    if options.extract:
        worst = max(worst, _extract(inspected, Path(options.extract)))
    if options.graph:
        worst = max(worst, _graph(inspected, Path(options.graph)))
    if options.html:
        worst = max(worst, _html(inspected, Path(options.html)))
    sys.stdout.flush()
    return worst


def _write(lines: list[Line], separate: bool = False) -> None:
    if lines:
        write_lines([("", ""), *lines] if separate else lines)


def _complain(part: Inspected, differences: list[str]) -> int:
    """Print what is wrong with one file; the exit status that follows."""
    status = EXIT_FINE
    for problem in part.problems:
        _error(problem)
        status = EXIT_WRONG
    for difference in differences[:MAX_DIFFERENCES]:
        _error(difference)
    if len(differences) > MAX_DIFFERENCES:
        _error(f"{part.report['file']}: and {plural(len(differences) - MAX_DIFFERENCES, 'more difference')}")
    if differences:
        status = EXIT_WRONG
    if part.unreadable:
        for line in part.unreadable:
            _error(line)
        status = EXIT_USAGE
    elif part.empty and not part.problems:
        _error(f"{part.report['file']}: no offload data")
        status = EXIT_WRONG
    return status


def _check_lines(whole: Inspected) -> tuple[list[Line], list[str]]:
    """Lines for what agrees, and the differences of a file or of an archive's members."""
    from gompy.cli.findings import LINKED, check, host_only

    lines: list[Line] = []
    differences: list[str] = []
    for part in whole.parts():
        file = part.report["file"]
        found = check(part)
        part.report["check"] = found
        differences += [f"{file}: {line}" for line in found]
        if not found and not part.problems and not part.empty:
            number = len(part.images) + len(part.clang.images)
            counts = f"{plural(len(part.host.funcs), 'function')}, {plural(len(part.host.vars), 'variable')}"
            if part.clang.entries:
                counts += f", {plural(len(part.clang.entries), 'entry', 'entries')} by clang"
            if part.report["kind"] in LINKED:
                counts += f", {number} image{'s' * (number != 1)}"
            alone = host_only(part)
            if alone:
                counts += f", {alone} of the functions on the host only"
            nameless = any(e.name is None for t in (part.host, *(i.tables for i in part.images)) for e in t.funcs)
            lines.append((f"{file}: {counts}: {'lengths ' if nameless else ''}agree", "green"))
    return lines, differences


def _reduced(report: dict[str, Any], parts: list[str] | None) -> dict[str, Any]:
    """The report with only the tables that were asked for."""
    if not parts:
        return report
    kept = {key: value for key, value in report.items() if key not in TABLES or key in parts}
    if "members" in kept:
        kept["members"] = [_reduced(member, parts) for member in kept["members"]]
    return kept


def _extract(inspected: list[Inspected], folder: Path) -> int:
    """Write the images; ELF images as one file each, PTX as one file per object."""
    from gompy.cli.image_files import write_images

    parts = [part for whole in inspected for part in whole.parts()]
    images = [(part.report["file"], index, image) for part in parts for index, image in enumerate(part.all_images)]
    try:
        written = write_images(images, folder)
    except OSError as error:
        _error(f"{error.filename or folder}: {error.strerror or error}")
        return EXIT_USAGE
    if not written:
        _error(f"--extract {folder}: no image in these files")
        return EXIT_WRONG
    return EXIT_FINE


def _graph(inspected: list[Inspected], target: Path) -> int:
    from gompy.cli.inspect_graph import GraphTooLarge, draw

    try:
        target.write_text(draw(inspected, target.suffix == ".svg"), encoding="utf-8", errors="backslashreplace")
    except GraphTooLarge as error:
        _error(f"--graph {target}: {error}")
        return EXIT_WRONG
    except OSError as error:
        _error(f"{target}: {error.strerror or error}")
        return EXIT_USAGE
    return EXIT_FINE


def _html(inspected: list[Inspected], target: Path) -> int:
    from gompy.cli.inspect_html import draw

    try:
        target.write_text(draw(inspected), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        _error(f"{target}: {error.strerror or error}")
        return EXIT_USAGE
    return EXIT_FINE
