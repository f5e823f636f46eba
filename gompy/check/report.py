"""Findings as text, JSON, SARIF."""

from __future__ import annotations

from gompy.check.findings import ADVICE, KINDS, Finding
from gompy.check.names import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def text(findings: list[Finding]) -> list[str]:
    """Lines as gcc writes them."""
    lines = []
    for finding in findings:
        times = f" ({finding.count} times)" if finding.count > 1 else ""
        lines.append(f"{finding.place}: {finding.severity}: {finding.message}{times} [{finding.kind}]")
        lines += [f"{note.place}: note: {note.text}" for note in finding.notes]
        if finding.mend:
            lines.append(f"{finding.place}: mend: {finding.mend}")
    errors = sum(finding.severity != ADVICE for finding in findings)
    if errors:
        lines.append(f"gompy run: --check: {errors} error{'' if errors == 1 else 's'}")
    return lines


def _place(place: Place) -> dict[str, Any]:
    return {"file": place.file, "line": place.line}


def as_json(findings: list[Finding], program: str, unchecked: str = "", rested: int = 0) -> dict[str, Any]:
    """What ``--check-json`` writes.

    ``unchecked``: why nothing was checked, or nothing; ``rested``: constructs that were not followed, for want of time.
    """
    return {
        "program": program,
        "unchecked": unchecked,
        "in_part": rested,
        "findings": [
            {
                "kind": finding.kind,
                "severity": finding.severity,
                **_place(finding.place),
                "message": finding.message,
                "device": finding.device,
                "region": finding.region,
                "variable": finding.variable,
                "address": finding.start,
                "size": finding.size,
                "count": finding.count,
                "mend": finding.mend,
                "notes": [{**_place(note.place), "text": note.text} for note in finding.notes],
            }
            for finding in findings
        ],
    }


def _location(place: Place, words: str = "") -> dict[str, Any]:
    from urllib.parse import quote  # a URI has neither blanks nor letters beyond ASCII (RFC 3986)

    found: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(place.file or "unknown", errors="surrogateescape")},
            "region": {"startLine": max(place.line, 1)},
        }
    }
    return {**found, "message": {"text": words}} if words else found


def as_sarif(findings: list[Finding], version: str) -> dict[str, Any]:
    """The same as SARIF 2.1.0."""
    rules = sorted({finding.kind for finding in findings})
    return {
        "$schema": SARIF,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "gompy run --check",
                        "version": version,
                        "rules": [{"id": kind, "shortDescription": {"text": KINDS[kind]}} for kind in rules],
                    }
                },
                "results": [
                    {
                        "ruleId": finding.kind,
                        "level": "note" if finding.severity == ADVICE else "error",
                        "message": {"text": f"{finding.message}. {finding.mend}".rstrip(". ")},
                        "locations": [_location(finding.place)],
                        "relatedLocations": [_location(note.place, note.text) for note in finding.notes],
                    }
                    for finding in findings
                ],
            }
        ],
    }
