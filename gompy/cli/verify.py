"""``gompy verify FILE…``: whether host tables and device images agree, which regions have no device code, and why.

Exit status: 0 all agree; 1 something is wrong; 2 usage, or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Final

from gompy import plural
from gompy.cli.arguments import command_parser
from gompy.cli.reading import EXIT_FINE, EXIT_USAGE, EXIT_WRONG, inspected
from gompy.tools.toolmain import one_line

if TYPE_CHECKING:
    from gompy.cli.findings import Finding
    from gompy.cli.inspect_report import Inspected

SCHEMA: Final = 1
MAX_SHOWN: Final = 20
"""Findings of one file that are printed; the rest is counted."""
EXAMPLES: Final = """\
examples:
  gompy verify prog                  the program's tables beside each of its images
  gompy verify prog libwork.so       with the libraries that have regions
  gompy verify *.o libpart.a         objects before the link: which have no device code
  gompy verify --json prog           for a program; --allow-host: regions of the host alone are no error

exit status: 0 all agree; 1 something is wrong; 2 usage or unreadable file"""


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "verify",
        "Compare host tables and device images of programs, libraries and objects, by name and order.",
        EXAMPLES,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="executable, shared library, object or archive")
    parser.add_argument("--json", action="store_true", help="print a list with one object per file")
    parser.add_argument(
        "--allow-host", action="store_true", help="regions without device code are warnings, not errors"
    )
    return parser


def main(argv: list[str]) -> int:
    """Run the command with its arguments (without ``gompy verify``); the exit status."""
    options = _parser().parse_args(argv)
    worst = EXIT_FINE
    parts: list[Inspected] = []
    for whole, status in inspected(options.files, _unreadable):
        worst = max(worst, status)
        if whole is None:
            continue
        for line in whole.unreadable:  # of a thin archive
            _unreadable(line)
            worst = EXIT_USAGE
        if whole.report["kind"] == "archive":
            members = [part for part in whole.members if not part.empty]
            parts += members or [whole]
        else:
            parts.append(whole)
    found = _findings(parts)
    reports: list[dict[str, Any]] = []
    for part in parts:
        mine = found[id(part)]
        wrong = any(severity(finding, options.allow_host) == "error" for finding in mine)
        worst = max(worst, EXIT_WRONG if wrong else EXIT_FINE)
        if options.json:
            reports.append(_report(part, mine, options.allow_host))
        else:
            _print(part, mine, options.allow_host)
    if options.json:
        from gompy.cli.inspect_json import dumps

        sys.stdout.write(dumps(reports) + "\n")
    sys.stdout.flush()
    return worst


def severity(finding: Finding, allow_host: bool) -> str:
    """``warning`` for regions of the host alone where these are allowed, else ``error``."""
    return "warning" if allow_host and finding.kind in ("host-only", "no-image", "mixed") else "error"


def _findings(parts: list[Inspected]) -> dict[int, list[Finding]]:
    """What is wrong with each part, by the part's id()."""
    from gompy.cli.findings import find, mixed

    found = {id(part): find(part) for part in parts}
    by_file = {part.report["file"]: id(part) for part in parts}
    for finding in mixed(parts):
        found[by_file[finding.file]].append(finding)
    return found


def _unreadable(text: str) -> None:
    sys.stdout.flush()
    print(f"gompy verify: error: {one_line(text)}", file=sys.stderr)


def _print(part: Inspected, found: list[Finding], allow_host: bool) -> None:
    if not found:
        print(one_line(agreement(part)))
        return
    sys.stdout.flush()
    before = ""
    for finding in found[:MAX_SHOWN]:
        word = severity(finding, allow_host)
        print(f"{one_line(finding.file)}: {word}: {one_line(finding.cause)} [{finding.kind}]", file=sys.stderr)
        if finding.mend and finding.mend != before:
            print(f"{one_line(finding.file)}: note: {one_line(finding.mend)}", file=sys.stderr)
        before = finding.mend
    if len(found) > MAX_SHOWN:
        print(f"{one_line(part.report['file'])}: note: and {len(found) - MAX_SHOWN} more", file=sys.stderr)


def agreement(part: Inspected) -> str:
    """One line for a file with which nothing is wrong."""
    from gompy.cli.findings import LINKED, counted

    file, kind = part.report["file"], part.report["kind"]
    what = counted(len(part.host.funcs), len(part.host.vars)) or "no regions"
    if part.cuda and not (part.host.funcs or part.host.vars or part.images or part.clang.images):
        kernels = {name for image in part.cuda for name in image.kernels}
        images = f"{plural(len(part.cuda), 'image')} ({', '.join(image.target for image in part.cuda)})"
        return f"{file}: {plural(len(kernels), 'kernel')} of CUDA, {images}: PTX is there"
    if part.clang.entries or part.clang.images:
        return _clang_agreement(part, what if part.host.funcs or part.host.vars else "")
    if kind not in LINKED:
        return f"{file}: {kind}, {what}: fine"
    named = all(e.name is not None for t in (part.host, *(i.tables for i in part.images)) for e in t.funcs)
    targets = ", ".join(image.target for image in part.images)
    images = f"{plural(len(part.images), 'image')} ({targets})"
    return f"{file}: {what}, {images}: {'names and order' if named else 'lengths (no names: stripped)'} agree"


def _clang_agreement(part: Inspected, others: str) -> str:
    """The same for a file by clang, or by both compilers; ``others``: what gcc's tables have."""
    from gompy.cli.findings import LINKED
    from gompy.cli.findings_clang import counted

    file, kind = part.report["file"], part.report["kind"]
    what = " and ".join(
        filter(None, (others, counted(part.clang.entries) and f"{counted(part.clang.entries)} by clang"))
    )
    number = len(part.images) + len(part.clang.images)
    if kind not in LINKED:
        return f"{file}: {kind}, {what or 'no entries'}, {plural(number, 'image')}: fine"
    targets = ", ".join([image.target for image in part.images] + [image.target for image in part.clang.images])
    return f"{file}: {what or 'no entries'}, {plural(number, 'image')} ({targets}): names agree"


def _report(part: Inspected, found: list[Finding], allow_host: bool) -> dict[str, Any]:
    """The JSON form of a file."""
    images = [
        {"index": index, "target": image.target, "regions": len(image.tables.funcs), "vars": len(image.tables.vars)}
        for index, image in enumerate(part.images)
    ]
    images += [
        {"index": index, "target": image.target, "entries": len(part.clang.entries)}
        for index, image in enumerate(part.clang.images, len(part.images))
    ]
    images += [
        {"index": index, "target": image.target, "kernels": len(image.kernels)}
        for index, image in enumerate(part.cuda, len(images))
    ]
    return {
        "schema": SCHEMA,
        "file": part.report["file"],
        "kind": part.report["kind"],
        "regions": len(part.host.funcs),
        "vars": len(part.host.vars),
        "images": images,
        **({"entries": len(part.clang.entries)} if part.clang.entries else {}),
        "findings": [{"severity": severity(finding, allow_host), **finding.as_dict()} for finding in found],
    }
