"""dg-final: what the assembly, the files and the compiler's dumps of a program have to hold.

Source: GCC 12 gcc/testsuite/lib/scanasm.exp, scandump.exp, scantree.exp, scanrtl.exp, scanipa.exp, scanoffload*.exp.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gompy.dg.expressions import are
from gompy.dg.plan import Final

OFFLOAD_TARGET = "x86_64-intelmicemul-linux-gnu"
_HOW = r"(?P<how>-times|-not|-dem-not|-dem)?$"
_DUMP = re.compile(rf"scan-(?P<offload>offload-)?(?P<kind>tree|rtl|ipa)-dump{_HOW}")
_FILE = re.compile(rf"scan-(?P<what>assembler|file){_HOW}")
_EXISTS = re.compile(r"output-exists(?P<not>-not)?$")
_LETTERS = {"tree": "t", "rtl": "r", "ipa": "i"}


@dataclass(frozen=True)
class ScanResult:
    """One result: DejaGnu's status and name, and what was found, for the reader of a failure."""

    status: str
    name: str
    detail: str


def scan(final: Final, test: str, source: Path, directory: Path, offload_targets: Sequence[str]) -> list[ScanResult]:
    """Carry a dg-final out; test is the beginning of the results' names, directory that of the compilation."""
    command = final.words[0] if final.words else ""
    if command == "xfail":
        return [ScanResult("XFAIL", test + final.words[1], "")]
    if command == "only_for_offload_target" and len(final.words) > 2:
        inner = replace(final, words=final.words[2:])
        only = [target for target in offload_targets if target == final.words[1]]
        return scan(inner, test, source, directory, only) if only else []
    exists, file, dump = _EXISTS.match(command), _FILE.match(command), _DUMP.match(command)
    try:
        if exists:
            return [_exists(final, f"{test}{command}", source, directory, exists["not"] is None)]
        if file:
            return [_file(final, test, source, directory, file["what"], file["how"] or "")]
        if dump:
            return _dumps(final, test, source, directory, offload_targets, dump)
    except (IndexError, ValueError):
        return [ScanResult("UNRESOLVED", f"{test}{command}", f"{command}: an argument is missing or no number")]
    known = "scan-assembler, scan-file, scan-[offload-]{tree,rtl,ipa}-dump with -not, -times, -dem; output-exists[-not]"
    detail = f"{command} is not implemented; there are {known}"
    return [ScanResult("UNRESOLVED", f"{test}{command} is not implemented by this runner", detail)]


def _assembly(source: Path, directory: Path) -> list[Path]:
    """The compiler's output of dg-do compile, or what -save-temps left."""
    return (
        [directory / f"{source.stem}.s"]
        if (directory / f"{source.stem}.s").exists()
        else sorted(directory.glob(f"*-{source.stem}.s"))
    )


_PRINTABLE = str.maketrans({"\t": r"\t", "\n": r"\n", "\r": r"\r", "\\": r"\\"})


def printable(pattern: str) -> str:
    """A pattern as results are named by it: on one line (scanasm.exp, make_pattern_printable)."""
    return pattern.translate(_PRINTABLE)


def _exists(final: Final, name: str, source: Path, directory: Path, wanted: bool) -> ScanResult:
    paths = [directory / final.words[1]] if len(final.words) > 1 else _assembly(source, directory)
    there = any(path.exists() for path in paths)
    shown = final.words[1] if len(final.words) > 1 else f"{source.stem}.s"
    detail = f"{shown} {'was made' if there else 'was not made'}"
    return ScanResult(_status(there == wanted, final.xfail), name, detail)


def _status(good: bool, xfail: bool) -> str:
    if xfail:
        return "XPASS" if good else "XFAIL"
    return "PASS" if good else "FAIL"


def _text(path: Path, how: str) -> str:
    raw = path.read_bytes()
    if "-dem" in how:
        raw = subprocess.run(["c++filt"], input=raw, stdout=subprocess.PIPE, check=False).stdout
    return raw.decode("utf-8", "replace")


def _judge(final: Final, name: str, path: Path, pattern: str, how: str, times: str) -> ScanResult:
    """Search one file; times: the number wanted with -times."""
    hits = len(list(are(pattern).finditer(_text(path, how))))
    wanted = {"-times": times, "-not": "0", "-dem-not": "0"}.get(how, "at least 1")
    good = hits == int(times) if how == "-times" else (hits == 0) == how.endswith("-not")
    return ScanResult(
        _status(good, final.xfail), name, f"{path.name}: {hits} matches of {pattern!r}, expected: {wanted}"
    )


def _file(final: Final, test: str, source: Path, directory: Path, what: str, how: str) -> ScanResult:
    words = list(final.words[1:])
    paths = _assembly(source, directory) if what == "assembler" else [directory / words.pop(0)]
    times = words[1] if how == "-times" else ""
    name = f"{test}{final.words[0]} {printable(words[0])}{' ' * bool(times)}{times}"
    if len(paths) != 1 or not paths[0].exists():
        missing = f"there is no {source.stem}.s (dg-do compile or -save-temps makes it)"
        return ScanResult("UNRESOLVED", name, missing if what == "assembler" else f"there is no {paths[0].name}")
    return _judge(final, name, paths[0], words[0], how, times)


def _dumps(
    final: Final, test: str, source: Path, directory: Path, offload_targets: Sequence[str], match: re.Match[str]
) -> list[ScanResult]:
    """Scan a dump of the host's compiler, or of each offload target's."""
    command, how = final.words[0], match["how"] or ""
    times = final.words[2] if how == "-times" else ""
    dump = final.words[3 if times else 2]
    results = []
    for target in offload_targets if match["offload"] else ("",):
        label = command.replace("scan-", f"scan-{target}-", 1) if target else command
        name = f'{test}{label} {dump} "{printable(final.words[1])}"{" " * bool(times)}{times}'
        base = f"{source.stem}.x{target}.mkoffload" if target else f"*{source.name}"
        found = sorted(directory.glob(f"{base}.[0-9][0-9][0-9]{_LETTERS[match['kind']]}.{dump}"))
        if not target:
            found = [path for path in found if ".mkoffload." not in path.name]
        if len(found) != 1:
            detail = f"there are {len(found)} dumps of {dump} (-fdump-{match['kind']}-{dump} makes them)"
            results.append(ScanResult("UNRESOLVED", name, detail))
        else:
            results.append(_judge(final, name, found[0], final.words[1], how, times))
    return results
