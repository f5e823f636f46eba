"""``gompy trace summary FILE``: what a trace of ``gompy run --trace FILE`` adds up to, and a picture of it.

Exit status: 0; 1 if the file cannot be read or is no trace; 2 usage.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from gompy import UserError
from gompy.cli.arguments import command_parser
from gompy.cli.table import columns
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.cli.trace_events import Row, Totals, Trace

SCHEMA: Final = 1
EXAMPLES: Final = """\
examples:
  gompy run --trace t.json ./prog       write the trace
  gompy trace summary t.json            what ran where, how long, and what was copied
  gompy trace summary t.json --svg t.svg
  gompy trace summary t.json --html t.html
  gompy trace summary --json t.json     for a program

A trace opens in https://ui.perfetto.dev and in chrome://tracing, too.
exit status: 0; 1 the file cannot be read, or is no trace; 2 usage"""


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy trace``); the exit status."""
    parser = command_parser("trace", "What a trace of gompy run --trace adds up to.", EXAMPLES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="summary")
    summary = commands.add_parser("summary", help="totals for each region, directive, variable and device")
    summary.add_argument("file", metavar="FILE")
    summary.add_argument("--svg", metavar="OUT", help="draw the time line as SVG")
    summary.add_argument("--png", metavar="OUT", help="draw it as PNG, by cairosvg or rsvg-convert")
    summary.add_argument("--html", metavar="OUT", help="write the time line and the tables as one page, with search")
    summary.add_argument("--json", action="store_true", help="print an object instead of tables")
    options = parser.parse_args(argv)
    try:
        return _summary(options)
    except UserError as error:
        print(f"gompy trace: error: {one_line(str(error))}", file=sys.stderr)
        return 1


def _summary(options: argparse.Namespace) -> int:
    from gompy.cli.trace_events import Places, add_up, read

    trace = read(options.file)
    totals = add_up(trace, Places())
    if trace.full:
        print(f"gompy trace: note: {one_line(options.file)}: it was full before the run's end", file=sys.stderr)
    if options.svg:
        from gompy.cli.trace_svg import draw

        try:
            with open(options.svg, "w", encoding="utf-8") as file:
                file.write(draw(trace))
        except OSError as error:
            raise UserError(f"{options.svg}: {error.strerror}") from None
    if options.png:
        from gompy.cli.trace_png import write_png
        from gompy.cli.trace_svg import draw

        write_png(draw(trace), options.png)
    if options.html:
        _write_page(options.html, os.path.basename(options.file), trace, totals)
    elif options.json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps(_report(trace, totals)) + "\n")
    else:
        sys.stdout.write("\n\n".join("\n".join(part) for part in _tables(trace, totals)) + "\n")
    return 0


def _write_page(out: str, name: str, trace: Trace, totals: Totals) -> None:
    """The time line and the tables in one page."""
    from gompy.cli import html_page
    from gompy.cli.trace_svg import draw

    tables = [html_page.table(f"{part[0][0]}s", part[0], part[1:]) for part in _parts(totals)]
    parts = [f"<h2>{trace.length / 1000:.3f} ms</h2>", html_page.picture(draw(trace)), html_page.beside(tables)]
    try:
        with open(out, "w", encoding="utf-8") as file:
            file.write(html_page.page(f"gompy trace: {name}", parts))
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None


def _report(trace: Trace, totals: Totals) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "microseconds": trace.length,
        "ranges": [{"name": name, "times": row.count, "microseconds": row.time} for name, row in totals.ranges.items()],
        "regions": [
            {"name": name, "where": row.where, "runs": row.count, "microseconds": row.time, "on": dict(row.on)}
            for name, row in totals.regions.items()
        ],
        "directives": [
            {"name": name, "where": where, "times": row.count, "microseconds": row.time}
            for (name, where), row in totals.directives.items()
        ],
        "variables": [{"name": name} | _bytes(row) | {"mapped": row.count} for name, row in totals.variables.items()],
        "devices": [
            {"name": name, "launches": row.count, "allocated": row.size, "microseconds_copying": row.time} | _bytes(row)
            for name, row in totals.devices.items()
        ],
    }


def _bytes(row: Row) -> dict[str, int]:
    return {"copies": row.copies, "to_device": row.to_device, "to_host": row.to_host}


def _tables(trace: Trace, totals: Totals) -> list[list[str]]:
    return [[f"{trace.length / 1000:.3f} ms"], *(columns(part[0], part[1:]) for part in _parts(totals))]


def _parts(totals: Totals) -> list[list[list[str]]]:
    """The tables' cells, each with its head first."""
    parts: list[list[list[str]]] = []
    if totals.ranges:
        parts.append(
            [
                ["range", "times", "ms"],
                *([name, str(row.count), f"{row.time / 1000:.3f}"] for name, row in totals.ranges.items()),
            ]
        )
    if totals.regions:
        parts.append(
            [
                ["region", "where", "runs", "ms", "on"],
                *(
                    [name, row.where or "?", str(row.count), f"{row.time / 1000:.3f}", _on(row)]
                    for name, row in sorted(totals.regions.items(), key=lambda item: -item[1].time)
                ),
            ]
        )
    if totals.directives:
        parts.append(
            [
                ["directive", "where", "times", "ms"],
                *(
                    [name, where or "?", str(row.count), f"{row.time / 1000:.3f}"]
                    for (name, where), row in sorted(totals.directives.items(), key=lambda item: -item[1].time)
                ),
            ]
        )
    if totals.variables:
        parts.append(
            [
                ["variable", "bytes", "mapped", "copies", "to device", "to host"],
                *(
                    [name, str(row.size), str(row.count), str(row.copies), str(row.to_device), str(row.to_host)]
                    for name, row in sorted(totals.variables.items(), key=lambda i: -i[1].to_device - i[1].to_host)
                ),
            ]
        )
    if totals.devices:
        parts.append(
            [
                ["device", "launches", "copies", "to device", "to host", "ms copying", "allocated"],
                *(
                    [
                        *(name, str(row.count), str(row.copies), str(row.to_device), str(row.to_host)),
                        *(f"{row.time / 1000:.3f}", str(row.size)),
                    ]
                    for name, row in totals.devices.items()
                ),
            ]
        )
    return parts


def _on(row: Row) -> str:
    """``device 0``, or with numbers where there are several."""
    if len(row.on) == 1:
        return next(iter(row.on))
    return ", ".join(f"{count} on {place}" for place, count in row.on.items())
