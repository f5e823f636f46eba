"""The text form of ``gompy inspect``: aligned tables, styled only on a terminal.

Lines are pairs (text, style); rich paints them, and is not imported otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, TextIO

from gompy import plural

Report = dict[str, Any]
Line = tuple[str, str]

TITLE: Final = "bold"
HEADING: Final = "dim"
PLAIN: Final = ""
WARN: Final = "bold red"
LINK: Final = "yellow"
PAINTED_LINES: Final = 5000
"""Output longer than this is written unpainted: rich takes some 50 us a line."""
TABLES: Final = (
    "funcs",
    "vars",
    "indirect",
    "images",
    "entries",
    "binaries",
    "fatbins",
    "objects",
    "units",
    "opts",
    "sections",
)
"""In the order in which they are shown: what is asked most first."""
UNNAMED: Final = "-"


def grid(heading: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> list[Line]:
    """Align columns; ``right``: numbers of those aligned to the right.  The last column is not padded."""
    cells = [tuple(heading), *(tuple(row) for row in rows)]
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    last = len(widths) - 1
    form = "  " + "  ".join(
        f"{{:>{width}}}" if i in right else "{}" if i == last else f"{{:<{width}}}" for i, width in enumerate(widths)
    )
    lines = [form.format(*row).rstrip() for row in cells]
    return [(lines[0], HEADING), *((line, PLAIN) for line in lines[1:])]


def _where(entry: Report) -> str:
    """Address of an entry, as section and offset in a relocatable."""
    if entry["address"] is None:
        return UNNAMED
    section: str = entry.get("section") or ""
    address: str = entry["address"]
    return f"{section}+{address}" if section else address


def _named(entry: Report) -> str:
    name: str | None = entry["name"]
    return name if name is not None else UNNAMED


def _sections(report: Report) -> list[Line]:
    rows = [(str(s["size"]), s["flags"] or UNNAMED, s["offset"], s["name"]) for s in report["sections"]]
    if not rows:
        return []
    total = sum(s["size"] for s in report["sections"])
    title = f"Sections: {len(rows)}, {total} bytes"
    return [(title, TITLE), *grid(("size", "flags", "offset", "name"), rows, (0, 2))]


def _units(report: Report) -> list[Line]:
    lines: list[Line] = []
    for unit in report["units"]:
        about = [f"GCC {unit['version']}"] if unit["version"] else []
        about += ["slim" if unit["slim"] else "fat", unit["compression"]] if unit["slim"] is not None else []
        about.append(f"{unit['sections']} sections, {unit['size']} bytes")
        about += [f"requires {', '.join(unit['requires'])}"] if unit.get("requires") else []
        lines.append((f"Streams: {unit['family']} {unit['id']}: {', '.join(about)}", TITLE))
        rows = [(str(e["index"]), e["kind"], f"#{e['decl']}", _named(e)) for e in unit["offload_table"]]
        if rows:
            lines += grid(("index", "kind", "decl", "offload table entry"), rows, (0, 2))
    return lines


def _opts(report: Report) -> list[Line]:
    lines: list[Line] = []
    for entry in report["opts"]:
        lines.append((f"Options: {entry['section']}", TITLE))
        line = " "
        for option in entry["options"]:
            shown = f"'{option}'" if not option or " " in option else option
            if len(line) + len(shown) > 100:
                lines.append((line, PLAIN))
                line = " "
            line += f" {shown}"
        lines.append((line, PLAIN))
    return lines


def _objects(report: Report) -> list[Line]:
    rows = [(str(i), o["id"], str(o["funcs"]), str(o["vars"]), o["name"]) for i, o in enumerate(report["objects"])]
    if not rows:
        return []
    return [(f"Object records: {len(rows)}", TITLE), *grid(("index", "id", "funcs", "vars", "object"), rows, (0, 2, 3))]


def _funcs(report: Report) -> list[Line]:
    entries = report["funcs"]
    if not entries:
        return []
    rows = [(str(e["index"]), _where(e), _named(e)) for e in entries]
    title = f"Functions: {len(rows)} (bounds from {report['source']})"
    return [(title, TITLE), *grid(("index", "address", "name"), rows, (0,))]


def _indirect(report: Report) -> list[Line]:
    entries = report["indirect"]
    if not entries:
        return []
    rows = [(str(e["index"]), _where(e), _named(e)) for e in entries]
    return [(f"Indirect functions: {len(rows)}", TITLE), *grid(("index", "address", "name"), rows, (0,))]


def _vars(report: Report) -> list[Line]:
    entries = report["vars"]
    if not entries:
        return []
    rows = [(str(e["index"]), _where(e), str(e["size"]), "link" if e["link"] else "", _named(e)) for e in entries]
    lines = grid(("index", "address", "size", "link", "name"), rows, (0, 2))
    painted = [(text, LINK) if row[3] else (text, style) for (text, style), row in zip(lines[1:], rows, strict=True)]
    return [(f"Variables: {len(rows)} (bounds from {report['source']})", TITLE), lines[0], *painted]


def _images(report: Report) -> list[Line]:
    lines: list[Line] = []
    for image in report["images"]:
        lines.append((f"OFFLOADING IMAGE [{image['index']}]:", TITLE))
        facts = [("target", image["target"]), ("device type", str(image["device_type"]))]
        contents = f"{image['size']} bytes" + (f" in {image['files']} files" if image["files"] > 1 else "")
        facts += [("address", image["address"]), ("size", contents)]
        facts += [(key, str(image[key])) for key in ("name", "abi", "accel") if image[key]]
        facts.append(("entries", _lengths(image)))
        if image["skipped"]:
            facts.append(("not linked", ", ".join(image["skipped"])))
        lines += [(f"  {key:<12} {value}", PLAIN) for key, value in facts]
        pairs = _pairs(report, image)
        if agreed := agreement(report, pairs):
            lines.append((f"  {'agreement':<12} {agreed}", PLAIN))
        rows = [(o["id"], str(o["funcs"]), str(o["vars"]), o["kind"], o["name"]) for o in image["objects"]]
        if rows:
            lines += grid(("id", "funcs", "vars", "paired", "object"), rows, (1, 2))
        lines += _beside(report, pairs)
    return lines


def _dims(entry: Report) -> str:
    """The launch dimensions that the compiler has fixed for an OpenACC region."""
    kinds = ("gangs", "workers", "vector length")
    fixed = [f"{what} {n}" for n, what in zip(entry.get("dims", ()), kinds, strict=False) if n]
    return f" ({', '.join(fixed)})" if fixed else ""


Pair = tuple[str, int | None, Report | None, Report | None, bool]
"""Kind, the host's index and entry, the image's entry, and whether their names differ."""


def _pairs(report: Report, image: Report) -> list[Pair]:
    """The host's tables and an image's side by side, in the image's order, then what the host has alone."""
    from gompy.objects.naming import rule_for, same

    rule = rule_for(image["target"], image["accel"] == "stock")
    found: list[Pair] = []
    for kind, key in (("func", "funcs"), ("var", "vars")):
        host = report[key]
        paired: set[int] = set()
        for entry in image[key]:
            number = entry["host"]
            mine: Report | None = host[number] if number is not None and number < len(host) else None
            if mine is not None:
                paired.add(number)
            differs = not same(mine["name"] if mine is not None else None, entry["name"], rule)
            found.append((kind, None if mine is None else number, mine, entry, differs))
        found += [(kind, number, mine, None, False) for number, mine in enumerate(host) if number not in paired]
    return found


def agreement(report: Report, pairs: list[Pair]) -> str:
    """In a word or two, whether an image's tables are the host's; nothing where the file has no host tables."""
    if not report["funcs"] and not report["vars"]:
        return ""
    counts = (
        (sum(pair[4] for pair in pairs), "differ by name"),
        (sum(pair[3] is None for pair in pairs), "on the host only"),
        (sum(pair[2] is None for pair in pairs), "in the image only"),
    )
    if any(number for number, _ in counts):
        return ", ".join(f"{number} {what}" for number, what in counts if number)
    nameless = any(side is not None and side["name"] is None for pair in pairs for side in pair[2:4])
    return "lengths agree" if nameless else "names and order agree"


def _beside(report: Report, pairs: list[Pair]) -> list[Line]:
    """The pairs as a table."""
    rows: list[tuple[str, ...]] = []
    for kind, number, mine, entry, differs in pairs:
        shown = (UNNAMED, UNNAMED) if mine is None else (str(number), mine["name"] or _where(mine))
        if entry is None:
            rows.append((kind, *shown, UNNAMED, "host only", "", ""))
            continue
        theirs = (entry["name"] or _where(entry)) + _dims(entry)
        rows.append((kind, *shown, str(entry["index"]), theirs, entry["address"] or "", "!" if differs else ""))
    wrong = [pair[4] for pair in pairs]
    if not rows:
        return []
    if not report["funcs"] and not report["vars"]:
        short = [(row[0], row[3], row[4], row[5]) for row in rows]
        return grid(("kind", "index", "in the image", "address"), short, (1,))
    if all(not row[5] for row in rows):
        rows = [(*row[:5], row[6]) for row in rows]
        lines = grid(("kind", "host", "on the host", "image", "in the image", ""), rows, (1, 3))
    else:
        lines = grid(("kind", "host", "on the host", "image", "in the image", "address", ""), rows, (1, 3))
    return [
        lines[0],
        *((text, WARN) if bad else (text, PLAIN) for (text, _), bad in zip(lines[1:], wrong, strict=True)),
    ]


def _entries(report: Report) -> list[Line]:
    """clang's table of the host."""
    from gompy.cli.inspect_clang import entry_rows

    rows = entry_rows(report) if report["entries"] else []
    if not rows:
        return []
    return [
        (f"Entries by clang: {len(rows)}", TITLE),
        *grid(("index", "address", "size", "kind", "name"), rows, (0, 2)),
    ]


def _binaries(report: Report) -> list[Line]:
    """clang's images."""
    lines: list[Line] = []
    if report["binaries"]:
        from gompy.cli.inspect_clang import agreement as by_name
        from gompy.cli.inspect_clang import image_facts

        for image in report["binaries"]:
            lines.append((f"OFFLOADING IMAGE [{image['index']}]:", TITLE))
            lines += [(line, PLAIN) for line in image_facts(image)]
            if agreed := by_name(report, image):
                lines.append((f"{'agreement':<16}{agreed}", WARN if image["missing"] else PLAIN))
    return lines


def _fatbins(report: Report) -> list[Line]:
    """Device code of CUDA's."""
    rows = [
        (
            *(str(image["index"]), image["arch"], image["kind"] + ", compressed" * image["compressed"]),
            *(image["address"], str(image["size"]), ", ".join(image["kernels"]) or "-"),
        )
        for image in report["fatbins"]
    ]
    if not rows:
        return []
    title = (f"Images of CUDA: {len(rows)}", TITLE)
    return [title, *grid(("index", "arch", "kind", "address", "bytes", "kernels"), rows, (0, 3, 4))]


_SHOW: Final = (_funcs, _vars, _indirect, _images, _entries, _binaries, _fatbins, _objects, _units, _opts, _sections)
_PARTS: Final = dict(zip(TABLES, _SHOW, strict=True))


def _title(report: Report) -> Line:
    about = ", ".join(word for word in (report["kind"], report["machine"]) if word)
    return f"{report['file']}: {about}, {report['size']} bytes", TITLE


def _lengths(image: Report) -> str:
    return f"{plural(len(image['funcs']), 'function')}, {plural(len(image['vars']), 'variable')}"


def summary_lines(report: Report) -> list[Line]:
    """A file in a few lines: how many entries, streams and images there are, and whether they agree."""
    counts = [
        (len(report["funcs"]), "function", ""),
        (len(report["vars"]), "variable", ""),
        (len(report["indirect"]), "indirect function", ""),
        (len(report["units"]), "stream", ""),
        (len(report["objects"]), "object record", ""),
        (len(report["images"]) + len(report["binaries"]) + len(report["fatbins"]), "image", ""),
        (len(report["entries"]), "entry by clang", "entries by clang"),
    ]
    said = ", ".join(plural(*count) for count in counts if count[0])
    lines = [_title(report), *([(f"  {said}", PLAIN)] if said else [])]
    for image in report["images"]:
        agreed = agreement(report, _pairs(report, image))
        entries = _lengths(image)
        text = f"  image {image['index']}, {image['target']}: {entries}"
        lines.append((f"{text}: {agreed}" if agreed else text, PLAIN))
    for image in report["binaries"]:
        from gompy.cli.inspect_clang import agreement as by_name

        text = f"  image {image['index']}, {image['triple'] or 'no triple'}, {image['kind']}, by clang"
        agreed = by_name(report, image)
        lines.append((f"{text}: {agreed}" if agreed else text, PLAIN))
    for member in report.get("members", []):
        lines += summary_lines(member)
    return lines


def report_lines(report: Report, parts: Sequence[str] = TABLES) -> list[Line]:
    """The lines for one file; an archive's members follow each other."""
    lines: list[Line] = [_title(report)]
    lines += [(f"  {line}", PLAIN) for line in report.get("ptx", [])]
    for part in parts:
        lines += _PARTS[part](report)
    for member in report.get("members", []):
        lines.append(("", PLAIN))
        lines += report_lines(member, parts)
    return lines


def write_lines(lines: Sequence[Line], stream: TextIO | None = None) -> None:
    """Write lines to standard output, painted if it is a terminal."""
    out = stream or sys.stdout
    if out.isatty() and len(lines) <= PAINTED_LINES:
        from rich.console import Console
        from rich.text import Text

        console = Console(file=out, highlight=False, soft_wrap=True)
        for line, style in lines:
            console.print(Text(line, style=style))
        return
    out.write("\n".join(line for line, _style in lines) + "\n")
