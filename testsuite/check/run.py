"""The programs beside this file under `gompy run --check`: what is found, what is missed, what is a false alarm.

A program's first line says what is wrong with it: `check: KIND [VARIABLE]`, or `check: right`.
`exact` is the emulated MIC with -foffload-check.  On the GPU the programs race-* run with --check=race.

    python testsuite/check/run.py [--way intelmic,exact,nvptx] [--jobs N] [--verbose] [--write|--hold PAGE] [NAME…]

With --write the table of PAGE (docs/diagnosis.md) becomes that of this run; with --hold it must be that.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
BIN: Final = HERE.parent.parent / ".venv" / "bin"
COMPILERS: Final = {".c": "gompcc", ".cc": "gompc++", ".f90": "gompfortran"}
WAYS: Final = {
    "intelmic": ("intelmic", ()),
    "exact": ("intelmic", ("-foffload-check",)),
    "nvptx": ("nvptx", ("-foffload=nvptx-none",)),
}
"""The device that `gompy run` is asked for, and the compiler's options."""
HEADER: Final = re.compile(r"check: (\S+)(?: (\S+))?")
ADVICE: Final = "advice"
RUN_SECONDS: Final = 60
FOUND, MISSED, OTHER, FALSE, QUIET, FAILED = "found", "missed", "other", "false alarm", "quiet", "failed"


@dataclass(frozen=True)
class Program:
    """One program: what is wrong with it, and of which variable, as far as it has a name."""

    path: Path
    kind: str
    variable: str

    @property
    def right(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.kind == "right"


def programs(names: list[str]) -> list[Program]:
    """All programs, or those whose names begin so."""
    found = []
    for path in sorted(p for p in HERE.iterdir() if p.suffix in COMPILERS):
        if names and not path.name.startswith(tuple(names)):
            continue
        with path.open(encoding="utf-8") as file:
            match = HEADER.search(file.readline())
        assert match is not None, path
        found.append(Program(path, match[1], (match[2] or "").removesuffix("*/")))
    return found


def build(program: Program, way: str, folder: str) -> str:
    """Compile; the program's path."""
    text = program.path.read_text(encoding="utf-8")
    openacc = "#pragma acc" in text or "!$acc" in text
    out = os.path.join(folder, f"{way}-{program.path.name}.out")
    command = [
        str(BIN / COMPILERS[program.path.suffix]),
        "-g",
        "-fopenacc" if openacc else "-fopenmp",
        *WAYS[way][1],
        str(program.path),
        "-o",
        out,
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env={**os.environ, "GOMPY_ACCEL": "gcc"})
    return out


def findings(path: str, way: str, check: str = "--check") -> tuple[list[dict[str, Any]], str]:
    """What the check finds, and all that it prints."""
    env = {**os.environ, "GOMPY_CUDA": "emulated"}
    command = [str(BIN / "gompy"), "run", "--device", WAYS[way][0], check, "--check-json", f"{path}.json", path]
    done = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=env, timeout=RUN_SECONDS, check=False
    )
    with open(f"{path}.json", encoding="utf-8") as file:
        return list(json.load(file)["findings"]), done.stdout + done.stderr


def judge(program: Program, found: list[dict[str, Any]]) -> str:
    """One of the words above."""
    errors = [f for f in found if f["severity"] != ADVICE]
    if program.right:
        return FALSE if errors else QUIET
    if program.kind == ADVICE:
        good = [f for f in found if f["severity"] == ADVICE]
    else:
        good = [f for f in errors if f["kind"] == program.kind]
    if any(not program.variable or f["variable"] == program.variable for f in good):
        return FOUND
    return OTHER if errors else MISSED


def look_at(program: Program, way: str, folder: str) -> tuple[str, str]:
    """Build, run, judge one; the word, and what was printed."""
    try:
        check = "--check=race" if way == "nvptx" and program.path.name.startswith("race") else "--check"
        found, text = findings(build(program, way, folder), way, check)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return FAILED, str(error)
    return judge(program, found), text


def table(results: dict[tuple[Program, str], str], devices: list[str]) -> list[str]:
    """Kinds by devices."""
    lines = [f"{'':16}" + "".join(f"{device:>28}" for device in devices)]
    lines.append(f"{'':16}" + "".join(f"{'found':>10}{'missed':>9}{'other':>9}" for _ in devices))
    for kind in dict.fromkeys(program.kind for program, _ in results):
        if kind == "right":
            continue
        line = f"{kind:16}"
        for device in devices:
            words = [word for (program, where), word in results.items() if where == device and program.kind == kind]
            found, missed = words.count(FOUND), words.count(MISSED)
            line += f"{found:10}{missed:9}{len(words) - found - missed:9}"
        lines.append(line)
    line = f"{'right: alarms':16}"
    for device in devices:
        words = [word for (program, where), word in results.items() if where == device and program.right]
        line += f"{len(words) - words.count(QUIET):10}{f'of {len(words)}':>9}{'':9}"
    lines.append(line)
    return lines


HEAD: Final = "| kind | programs | found on the MIC | there with `-foffload-check` | found on the GPU |"
RIGHT_ROW: Final = "right: false alarms"


def rows(results: dict[tuple[Program, str], str]) -> list[str]:
    """The table of docs/diagnosis.md."""
    lines = [HEAD, "|---|---|---|---|---|"]
    for kind in [*sorted({p.kind for p, _ in results} - {"right"}), "right"]:
        found = []
        for way in WAYS:
            words = [word for (program, where), word in results.items() if where == way and program.kind == kind]
            found.append(str(len(words) - words.count(QUIET) if kind == "right" else words.count(FOUND)))
        count = sum(program.kind == kind and where == "intelmic" for program, where in results)
        name = RIGHT_ROW if kind == "right" else f"`{kind}`" if kind != ADVICE else "`redundant`"
        lines.append(f"| {name} | {count} | {' | '.join(found)} |")
    return lines


def table_of(page: str) -> tuple[list[str], int, int]:
    """The lines of a page, and where its table begins and ends."""
    lines = page.splitlines()
    begin = lines.index(HEAD)
    end = next((n for n in range(begin, len(lines)) if not lines[n].startswith("|")), len(lines))
    return lines, begin, end


def main() -> int:
    """Run; 1 if a right program has an alarm, or one failed."""
    parser = argparse.ArgumentParser(description="found, missed, false alarms of gompy run --check")
    parser.add_argument("--way", default=",".join(WAYS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--verbose", action="store_true", help="what was printed of all that is not as it should be")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="write the table of a page anew")
    parser.add_argument("--hold", metavar="PAGE", type=Path, help="fail where the table of a page is another one")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    devices = options.way.split(",")
    tasks = [(program, device) for program in programs(options.names) for device in devices]
    results = {}
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for task, (word, text) in zip(tasks, pool.map(lambda t: look_at(*t, folder), tasks), strict=True):
            results[task] = word
            if word not in (FOUND, QUIET):
                print(f"{task[1]}: {task[0].path.name}: {word}")
                if options.verbose:
                    print(text)
    print("\n".join(table(results, devices)))
    page = options.write or options.hold
    if page:
        lines, begin, end = table_of(page.read_text(encoding="utf-8"))
        if options.write:
            lines[begin:end] = rows(results)
            page.write_text("\n".join(lines) + "\n", encoding="utf-8")
        elif lines[begin:end] != rows(results):
            print(f"{page}: the table is another one; that of this run:", *rows(results), sep="\n")
            return 1
    return int(any(word in (FALSE, FAILED) for word in results.values()))


if __name__ == "__main__":
    sys.exit(main())
