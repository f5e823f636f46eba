"""A program under ``gompy run --check``: started with a log, and what that says told when it has ended."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from typing import Any, Final

from gompy.tools.child import run_child

LOG: Final = "GOMPY_CHECK_LOG"
FOUND: Final = 86
"""The exit status of a program in which something was found."""


@dataclass(frozen=True)
class Files:
    """Where findings are written to besides stderr; ``version``: gompy's, for SARIF."""

    json: str = ""
    sarif: str = ""
    version: str = ""


def run_checked(command: list[str], env: dict[str, str], files: Files, status: int) -> int:
    """Run a program and report; its exit status, or ``status`` when there were errors.  OSError if it cannot start."""
    with tempfile.TemporaryDirectory(prefix="gompy-check-") as folder:
        log = os.path.join(folder, "log")
        code = run_child(command, {**env, LOG: log})
        errors = report(log, command[0], files)
    return status if errors and status else code


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
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=1)
        file.write("\n")
