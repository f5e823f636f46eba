"""Tables of text."""

from __future__ import annotations


def columns(head: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table; columns of numbers are flush right."""
    numbers = [all(row[i].replace(".", "", 1).isdecimal() for row in rows) for i in range(len(head))]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(
            f"{cell:>{w}}" if n else f"{cell:<{w}}" for cell, w, n in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in [head, *rows]
    ]
