"""What ``gompy run --check`` tells of a program that has ended: its log read, findings told and written."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gompy.check.log import Log


@dataclass(frozen=True)
class Files:
    """Where findings are written to besides stderr; ``version``: gompy's, for SARIF."""

    json: str = ""
    sarif: str = ""
    version: str = ""


@dataclass(frozen=True)
class Unchecked:
    """Nothing was checked; ``asked``: as the user wants no device."""

    why: str
    asked: bool


def report(path: str, program: str, files: Files) -> int:
    """Tell what a log says; the number of errors, one if no region ran where it is checked and none was to."""
    from gompy.check import report as form
    from gompy.check.analysis import analyse
    from gompy.check.findings import ADVICE
    from gompy.check.log import read_log

    try:
        with open(path, "rb") as file:
            log = read_log(file.read())
    except FileNotFoundError:
        print("gompy run: --check: the program has not used a device's runtime", file=sys.stderr)
        return 0
    findings, missed = analyse(log), unchecked(log)
    for line in form.text(findings):
        print(line, file=sys.stderr)
    if missed is not None:
        print(f"gompy run: --check: nothing was checked: regions ran on the host: {missed.why}", file=sys.stderr)
    if log.full:
        print("gompy run: --check: the log was full; what came later was looked at in part", file=sys.stderr)
    if files.json:
        _write(files.json, form.as_json(findings, program, missed.why if missed is not None else ""))
    if files.sarif:
        _write(files.sarif, form.as_sarif(findings, files.version))
    return sum(finding.severity != ADVICE for finding in findings) + (missed is not None and not missed.asked)


def unchecked(log: Log) -> Unchecked | None:
    """Why regions ran on the host if none ran on a device."""
    from gompy.abi.check_log import Op

    found = None
    for event in log.events:
        if event.op == Op.LAUNCH:
            return None
        if event.op == Op.ON_HOST and found is None:
            found = Unchecked(event.payload.decode("utf-8", "replace"), event.kind == 1)
    return found


def _write(path: str, content: dict[str, Any]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except OSError as error:  # a full disk has no name of its own
        raise OSError(error.errno, error.strerror, path) from None
