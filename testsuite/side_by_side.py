#!/usr/bin/env python3
"""Several libgomp.log side by side, as a Markdown table: ``side_by_side.py "stock=out/libgomp.log" "ours=…"``.

A line per directory.  Runs are tests with one option set; of each log: runs that passed (at least one PASS or XFAIL and
nothing worse), failed, were unsupported, and programs that ran a region on a device.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)] if str(HERE) not in sys.path else []

from dejagnu import log, report, workers  # noqa: E402

KINDS = ("runs", "passed", "failed", "unsupported", "on device")


def counts(results: Sequence[log.Result]) -> dict[str, dict[str, int]]:
    """Directory to the number of each of KINDS; "all" is the last."""
    runs: dict[tuple[str, str, str], list[log.Result]] = defaultdict(list)
    for result in results:
        # Lines of a driver about itself are no test's.
        if "/" in result.file:
            runs[report.row_name(result), result.directory, result.test].append(result)
    table: dict[str, dict[str, int]] = {}
    total = dict.fromkeys(KINDS, 0)
    for (name, _, _), group in sorted(runs.items()):
        row = table.setdefault(name, dict.fromkeys(KINDS, 0))
        statuses = {result.status for result in group}
        if statuses & {*workers.BAD, "WARNING"}:
            kind = "failed"
        elif statuses & {"PASS", "XFAIL"}:
            kind = "passed"
        else:
            kind = "unsupported"
        for into in (row, total):
            into["runs"] += 1
            into[kind] += 1
            into["on device"] += any(result.launches for result in group)
    return {**table, "all": total}


def table(logs: dict[str, Sequence[log.Result]]) -> str:
    """The Markdown table of several logs by title."""
    parts = {title: counts(results) for title, results in logs.items()}
    names = [*sorted({name for part in parts.values() for name in part} - {"all"}), "all"]
    lines = [
        "| directory | runs | " + " | ".join(f"{title}: pass / fail / unsupp. / on device" for title in parts) + " |",
        "|---|---|" + "---|" * len(parts),
    ]
    for name in names:
        cells = [str(max(part[name]["runs"] for part in parts.values() if name in part))]
        for part in parts.values():
            row = part.get(name)
            cells.append(" / ".join(str(row[kind]) for kind in KINDS[1:]) if row else "–")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Print the table; 2 for wrong usage."""
    logs: dict[str, Sequence[log.Result]] = {}
    for word in words:
        title, equals, path = word.partition("=")
        if not equals:
            print("side_by_side.py: error: write TITLE=libgomp.log for each log", file=sys.stderr)
            return 2
        try:
            logs[title] = log.read(Path(path))
        except OSError as error:
            print(f"side_by_side.py: error: {path}: {error.strerror}", file=sys.stderr)
            return 2
    if not logs:
        print("usage: side_by_side.py TITLE=libgomp.log…", file=sys.stderr)
        return 2
    print(table(logs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
