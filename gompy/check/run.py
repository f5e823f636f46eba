"""What ``gompy run --check`` tells of a program that has ended: its log read, findings told and written."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Files:
    """Where findings are written to besides stderr; ``version``: gompy's, for SARIF."""

    json: str = ""
    sarif: str = ""
    version: str = ""


def report(path: str, program: str, files: Files) -> int:
    """Tell what a log says; the number of errors."""
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
    findings = analyse(log)
    for line in form.text(findings):
        print(line, file=sys.stderr)
    if log.full:
        print("gompy run: --check: the log was full; what came later was looked at in part", file=sys.stderr)
    if files.json:
        _write(files.json, form.as_json(findings, program))
    if files.sarif:
        _write(files.sarif, form.as_sarif(findings, files.version))
    return sum(finding.severity != ADVICE for finding in findings)


def _write(path: str, content: dict[str, Any]) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
    except OSError as error:  # a full disk has no name of its own
        raise OSError(error.errno, error.strerror, path) from None
