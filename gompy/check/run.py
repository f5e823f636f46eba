"""What ``gompy run --check`` tells of a program that has ended: its log read, findings told and written."""

from __future__ import annotations

import gc
import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataclasses import dataclass
    from typing import Any, Final

    from gompy.check.log import Log
else:
    from gompy.records import dataclass

CUT: Final = "the log of mappings and copies ended early"


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
    """Tell what a log says; the number of errors, one if not all was checked that was to be."""
    from gompy.check import report as form
    from gompy.check.analysis import analyse
    from gompy.check.findings import ADVICE
    from gompy.check.log import read_log

    gc.disable()  # a log's records are a million objects, and none refers to itself
    try:
        with open(path, "rb") as file:
            log = read_log(file.read())
            log.cut |= bool(os.fstat(file.fileno()).st_mode & stat.S_ISVTX)  # check_log.h
    except FileNotFoundError:
        print("gompy run: --check: the program has not used a device's runtime", file=sys.stderr)
        return 0
    findings, missed = analyse(log), unchecked(log)
    rested = log.rested if missed is None else 0  # what is not checked at all is not checked in part
    for line in form.text(findings):
        print(line, file=sys.stderr)
    if missed is not None:
        print(f"gompy run: --check: nothing was checked: regions ran on the host: {missed.why}", file=sys.stderr)
    if log.cut:
        print(f"gompy run: --check: {CUT}; what came later was not looked at", file=sys.stderr)
    if rested:
        print(
            f"gompy run: --check: {rested} of {log.constructs} constructs were looked at in part, for checks to "
            f"take at most {log.share}% of the program's time; all are with GOMPY_CHECK_SHARE=100",
            file=sys.stderr,
        )
    if log.full:
        print("gompy run: --check: the log was full; what came later was looked at in part", file=sys.stderr)
    if files.json:
        why = missed.why if missed is not None else CUT if log.cut else ""
        _write(files.json, form.as_json(findings, program, why, rested))
    if files.sarif:
        _write(files.sarif, form.as_sarif(findings, files.version))
    partial = log.cut or (missed is not None and not missed.asked)
    _never_free(log)
    return sum(finding.severity != ADVICE for finding in findings) + partial


def _never_free(log: Log) -> None:
    """The process ends soon: to take a million objects apart would take a third of what reading them took."""
    kept: list[object] = [log]
    kept.append(kept)
    gc.freeze()


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
    import json

    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except OSError as error:  # a full disk has no name of its own
        raise OSError(error.errno, error.strerror, path) from None
