"""LIBOMPTARGET_INFO=-1 of LLVM's tests: whether our library writes what LLVM's own does, but for addresses.

Each test that is for x86_64 is compiled once and run with either library.  Let pass are, as docs/llvm.md says: names in
copies, and the order of a table's rows, which is that of addresses.
"""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

NOT_MEANT: Final = re.compile(r"REQUIRES:.*(nvptx|amdgcn)|UNSUPPORTED: (x86_64-pc-linux-gnu$|clang)", re.MULTILINE)
COMPILE: Final = re.compile(r"RUN: %libomptarget-compile\S*-(?:generic|x86_64-pc-linux-gnu)\b(.*)")
OPTION: Final = re.compile(r"(?<!\S)-(?:fopenmp-\S+|O\d|D\S+|std=\S+)")
ROW: Final = re.compile(r"Libomptarget device \d+ info: 0x 0x \d+ ")
SECONDS: Final = 60


def program(llvm: Path, source: Path, output: Path) -> bool:
    """Compile a test as its first RUN line says; whether that works."""
    found = COMPILE.search(source.read_text(errors="replace"))
    compiler = llvm / "bin" / ("clang++" if source.suffix == ".cpp" else "clang")
    command = [compiler, "-g", "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", f"-I{source.parents[1]}"]
    command += OPTION.findall(found[1]) if found else []
    done = subprocess.run([*command, source, "-o", output, "-lm"], capture_output=True)
    return done.returncode == 0


def told(path: Path, library: str) -> tuple[int, list[str]]:
    """A program's status, and what it says."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LIBOMP", "GOMP", "OMP_", "KMP_", "OFFLOAD_"))}
    more = {"LIBOMPTARGET_INFO": "-1", "OMP_NUM_THREADS": "1", "KMP_BLOCKTIME": "0", "OFFLOAD_EMUL_NUM": "4"}
    env = clean | more | {"LD_LIBRARY_PATH": library, "LIBOMP_NUM_HIDDEN_HELPER_THREADS": "1"}
    try:
        done = subprocess.run([path], env=env, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return -1, []
    return done.returncode, plain(done.stderr)


def plain(text: str) -> list[str]:
    """Lines without addresses and names in copies, the rows of a table in an order of their own."""
    lines: list[str] = []
    rows: list[str] = []
    for line in re.sub(r"0x[0-9a-f]+", "0x", text).splitlines():
        if ROW.match(line):
            rows.append(line)
            continue
        lines += sorted(rows)
        rows = []
        lines.append(re.sub(r"Name=.*", "Name=", line) if "Copying data" in line else line)
    return lines + sorted(rows)


def compared(llvm: Path, source: Path, out: Path, ours: str) -> str:
    """A test's status."""
    output = out / f"{source.parent.name}-{source.name}.exe"
    if not program(llvm, source, output):
        return "UNSUPPORTED"
    stock, own = told(output, str(llvm / "lib")), told(output, ours)
    for name, said in (("stock", stock), ("ours", own)):
        output.with_suffix(f".{name}").write_text("\n".join([f"status {said[0]}", *said[1], ""]))
    if any("Assertion failure at kmp_" in line for line in stock[1]):  # of LLVM's own libomp
        return "UNSUPPORTED"
    return "PASS" if stock == own else "FAIL"


def run(llvm: Path, tests: Path, out: Path, ours: str, jobs: int, pattern: str) -> list[tuple[str, str]]:
    """Each test's status and name; what both have said is in ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    sources = [
        file
        for file in sorted(tests.rglob("*.c*"))
        if file.suffix in (".c", ".cpp") and "Inputs" not in file.parts
        if re.search(pattern, str(file.relative_to(tests))) and not NOT_MEANT.search(file.read_text(errors="replace"))
    ]
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda file: compared(llvm, file, out, ours), sources))
    return [(status, str(file.relative_to(tests))) for status, file in zip(results, sources, strict=True)]
