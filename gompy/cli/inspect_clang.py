"""clang's entries and images in the report of ``gompy inspect``, and as text."""

from __future__ import annotations

from typing import Any

from gompy.objects.clang_images import ClangEntry, ClangImage, ClangTables, names_of_flags
from gompy.objects.view import Damaged

Report = dict[str, Any]


def entry_reports(entries: list[ClangEntry]) -> list[Report]:
    """The host's entries as dictionaries."""
    return [
        {
            "index": index,
            "name": entry.name,
            "address": None if entry.address is None else hex(entry.address),
            "section": entry.section,
            "size": entry.size,
            "flags": " ".join(names_of_flags(entry.flags)),
        }
        for index, entry in enumerate(entries)
    ]


def image_reports(tables: ClangTables, first: int, problems: list[str], file: str) -> list[Report]:
    """The images as dictionaries, numbered behind GCC's; what is wrong with one goes to the problems."""
    return [_image(first + number, image, tables, problems, file) for number, image in enumerate(tables.images)]


def _image(index: int, image: ClangImage, tables: ClangTables, problems: list[str], file: str) -> Report:
    binary = image.binary
    report: Report = {"index": index, "kind": binary.kind, "arch": binary.arch, "triple": binary.triple}
    report |= {"producer": binary.producer, "address": f"{image.address:#x}", "size": image.size}
    report["strings"] = {key: value for key, value in binary.strings.items() if key not in ("triple", "arch")}
    missing: list[str] | None = None
    try:
        known = image.symbols
        if known is not None:
            missing = [str(entry.name) for entry in image.lacking(tables.entries)]
    except Damaged as error:
        problems.append(f"{file}: image {index}: {error}")
    return report | {"missing": missing}


def entry_rows(report: Report) -> list[tuple[str, ...]]:
    """The table of entries: number, place, size, what it is, name."""
    rows: list[tuple[str, ...]] = []
    for entry in report["entries"]:
        address = entry["address"] or "-"
        where = f"{entry['section']}+{address}" if entry["section"] else address
        kind = entry["flags"] or ("variable" if entry["size"] else "region")
        rows.append((str(entry["index"]), where, str(entry["size"]), kind, entry["name"] or "-"))
    return rows


def image_facts(image: Report) -> list[str]:
    """An image's lines, the first four as llvm-objdump has them."""
    keys = ("kind", "arch", "triple", "producer")
    lines = [f"{key:<16}{image[key]}".rstrip() for key in keys]
    at = f" at {image['address']}" if int(image["address"], 16) else ""
    lines.append(f"{'size':<16}{image['size']} bytes{at}")
    lines += [f"{key:<16}{value}" for key, value in image["strings"].items()]
    return lines


def agreement(report: Report, image: Report) -> str:
    """Whether an image has all entries of a linked file, in a word or two; nothing where that cannot be told."""
    if not report["entries"] or report["kind"] not in ("executable", "shared"):
        return ""
    if image["missing"] is None:
        return ""
    return f"{len(image['missing'])} of the entries missing" if image["missing"] else "all entries by name"
