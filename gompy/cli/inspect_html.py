"""``gompy inspect --html``: the files' trip and their tables in one page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from gompy.cli import html_page

if TYPE_CHECKING:
    from gompy.cli.inspect_report import Inspected

MOST_ROWS = 5000
"""Of a table; more would make a page that no browser scrolls through."""
HIDDEN = ("problems", "members", "funcs", "vars", "images", "check")
"""Keys that have parts of their own in the page."""


def draw(inspected: list[Inspected]) -> str:
    """The page."""
    from gompy.cli.inspect_graph import GraphTooLarge
    from gompy.cli.inspect_graph import draw as draw_graph

    parts: list[str] = []
    try:
        parts.append(html_page.picture(draw_graph(inspected, True)))
    except GraphTooLarge as error:
        parts.append(f"<p>No picture: {escape(str(error))}.</p>")
    for whole in inspected:
        for part in whole.parts():
            parts += _file(part.report)
    names = ", ".join(PurePath(whole.report["file"]).name for whole in inspected)
    return html_page.page(f"gompy inspect: {names}", parts)


def _file(report: dict[str, Any]) -> Iterable[str]:
    facts = [report["kind"], report.get("machine"), f"{report['size']} bytes"]
    yield f"<h2>{escape(report['file'])}: {escape(', '.join(str(fact) for fact in facts if fact))}</h2>"
    for problem in report.get("problems", []):
        yield f"<p><b>error:</b> {escape(str(problem))}</p>"
    tables = [_entries("regions", report, "funcs"), _entries("variables", report, "vars")]
    for image in report.get("images", []):
        title = f"image {image['index']}, {image['target']}"
        rows = [[key, str(value)] for key, value in image.items() if not isinstance(value, list)]
        tables.append(html_page.table(title, ["image", "value"], rows))
        tables += _lists(image, f"image {image['index']}: ")
    yield html_page.beside([*filter(None, tables), *_lists(report, "")])


def _entries(title: str, report: dict[str, Any], key: str) -> str:
    """The program's entries, and beside each what every image has for it."""
    host = report.get(key, [])
    images = report.get("images", [])
    if not host and not any(image.get(key) for image in images):
        return ""
    head = ["", "on the host", *([] if key == "funcs" else ["bytes"])]
    head += [f"in image {image['index']}" for image in images]
    rows = [[str(e["index"]), _name(e), *([] if key == "funcs" else [str(e.get("size", ""))])] for e in host]
    for image in images:
        theirs = {entry.get("host"): entry for entry in image.get(key, [])}
        for row, mine in zip(rows, host, strict=False):
            row.append(_name(theirs[mine["index"]]) if mine["index"] in theirs else "—")
    for number, image in enumerate(images):
        for entry in image.get(key, []):
            if entry.get("host") is None:
                lone = ["", "—", *([] if key == "funcs" else [str(entry.get("size", ""))])]
                rows.append([*lone, *("—" if i != number else _name(entry) for i in range(len(images)))])
    return html_page.table(title, head, rows[:MOST_ROWS])


def _name(entry: dict[str, Any]) -> str:
    """An entry's name and where it is; the address where it has none."""
    address = str(entry.get("address") or "")
    return f"{entry.get('name') or '?'} {address}".strip()


def _lists(report: dict[str, Any], before: str) -> list[str]:
    """Every other list of records, as a table."""
    found = []
    for key, value in report.items():
        if key not in HIDDEN and isinstance(value, list) and value and isinstance(value[0], dict):
            head = list(dict.fromkeys(name for record in value for name in record))
            rows = [[_cell(record.get(name)) for name in head] for record in value[:MOST_ROWS]]
            found.append(html_page.table(f"{before}{key}", head, rows))
    return found


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
