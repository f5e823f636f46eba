#!/usr/bin/env python3
"""Compile the examples with gompy's compilers, run them on the emulated device, show what happened.

Exit status: 0 if every program was built, ran its regions on the device and got the host's results; otherwise one line
says what did not, and the status is 1.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from gompy.driver import compiler  # noqa: E402
from gompy.driver.errors import DriverError  # noqa: E402

OUT = HERE / "out"
BIN = Path(sys.executable).parent
_STATS = re.compile(r"^libgompy: regions: .*$", re.MULTILINE)
_ON_DEVICE = re.compile(r"(\d+) on device (\d+) \((\w+)\)")
_ON_HOST = re.compile(r"(\d+) on the host")


class ExampleError(Exception):
    """An example failed; the text is the line to show."""


@dataclass(frozen=True)
class Example:
    """A program: its folder, compiler, sources in link order, further libraries, and the arguments it is run with.

    on_host: regions that the program itself sends to the host, to compare with; None if their number is not fixed.
    """

    name: str
    title: str
    compiler: str
    sources: tuple[str, ...]
    libraries: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    on_host: int | None = 0


EXAMPLES = (
    Example(
        "canny",
        "Canny edge detection of a photograph (C)",
        "gompcc",
        ("main.c", "canny.c", "jpeg.c", "png.c"),
        ("-lm",),
        ("canny/dandelion.jpg", "out/edges.png", "out/canny.png"),
        None,
    ),
    Example(
        "fruit",
        "Apple, banana, citron: the order of the tables (C)",
        "gompcc",
        ("main.c", "apple.c", "banana.c", "citron.c"),
    ),
    Example(
        "cxx", "Templates, virtual calls, lambdas, exceptions on the device (C++)", "gompc++", ("shapes.cc",), on_host=1
    ),
    Example(
        "fortran",
        "Modules, derived types, allocatables, reductions on the device (Fortran)",
        "gompfortran",
        ("particles.f90", "main.f90"),
        on_host=1,
    ),
)


@dataclass(frozen=True)
class Ran:
    """One run: standard output, regions by device (number, kind) and on the host, seconds."""

    output: str
    on_device: dict[str, int]
    on_host: int
    seconds: float
    line: str


def show_command(command: Sequence[str]) -> str:
    """A command as one would type it in examples/."""
    words = [w.removeprefix(f"{BIN}/").removeprefix(f"{HERE}/") for w in command]
    return shlex.join(words)


def run(command: Sequence[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in examples/; ExampleError if it fails."""
    try:
        done = subprocess.run(
            command,
            cwd=HERE,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
            timeout=120,
        )
    except FileNotFoundError:
        raise ExampleError(f"{command[0]}: not found; `make` builds it") from None
    except subprocess.TimeoutExpired:
        raise ExampleError(f"{show_command(command)}: still running after 120 s") from None
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        how = f"exit status {done.returncode}" if done.returncode > 0 else f"killed by signal {-done.returncode}"
        raise ExampleError(f"{show_command(command)}: {how}" + "".join(f"\n    {line}" for line in said[-12:]))
    return done


def build(example: Example) -> list[str]:
    """Compile and link an example into out/; the commands that did it."""
    OUT.mkdir(exist_ok=True)
    compiler = str(BIN / example.compiler)
    folder = OUT / example.name
    folder.mkdir(exist_ok=True)
    commands = []
    objects = []
    for source in example.sources:
        target = f"out/{example.name}/{Path(source).stem}.o"
        objects.append(target)
        modules = ["-J", f"out/{example.name}"] if source.endswith(".f90") else []
        commands.append(
            [compiler, "-O2", "-g", "-Wall", "-fopenmp", *modules, "-c", f"{example.name}/{source}", "-o", target]
        )
    program = f"out/{example.name}/{example.name}"
    commands.append([compiler, "-O2", "-fopenmp", *objects, *example.libraries, "-o", program])
    for command in commands:
        run(command)
    return [show_command(command) for command in commands]


def execute(example: Example) -> Ran:
    """Run an example and read which device its regions ran on."""
    begin = time.monotonic()
    done = run([f"out/{example.name}/{example.name}", *example.arguments], {"GOMPY_STATS": "1"})
    seconds = time.monotonic() - begin
    found = _STATS.search(done.stderr)
    if not found:
        raise ExampleError(
            f"{example.name}: libgompy did not report where its regions ran; is it linked? {done.stderr.strip()}"
        )
    line = found.group()
    on_device = {f"device {number} ({kind})": int(n) for n, number, kind in _ON_DEVICE.findall(line)}
    host = _ON_HOST.search(line)
    on_host = int(host[1]) if host else 0
    if not sum(on_device.values()):
        raise ExampleError(f"{example.name}: no region ran on a device ({line})")
    if example.on_host is not None and on_host != example.on_host:
        raise ExampleError(f"{example.name}: {on_host} regions ran on the host, not {example.on_host} ({line})")
    return Ran(done.stdout, on_device, on_host, seconds, line)


def inspected(example: Example) -> dict[str, Any]:
    """What ``gompy inspect --json`` says of the program."""
    done = run([str(BIN / "gompy"), "inspect", "--json", f"out/{example.name}/{example.name}"])
    report = json.loads(done.stdout)
    if len(report) != 1 or not report[0]["images"]:
        raise ExampleError(f"{example.name}: gompy inspect finds no device image in the program")
    assert isinstance(report[0], dict)
    return report[0]


def side_by_side(example: Example) -> list[tuple[str, str, str, str, str]]:
    """Rows of (table, host name, host address, image name, image address); ExampleError if the names differ."""
    report = inspected(example)
    image = report["images"][0]
    rows = []
    for kind in ("funcs", "vars"):
        host, device = report[kind], image[kind]
        if [h["name"] for h in host] != [d["name"] for d in device]:
            raise ExampleError(f"{example.name}: the {kind} of host and image differ: {host} and {device}")
        for h, d in zip(host, device, strict=True):
            rows.append((f"{kind} {h['index']}", h["name"], h["address"], d["name"], d["address"]))
    return rows


def recompress(source: Path, target: Path) -> None:
    """A PNG with stored blocks, written again with the Paeth filter and compression: the same pixels, fewer bytes."""
    data = source.read_bytes()
    at, stream, header = 8, b"", b""
    while at < len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        if kind == b"IDAT":
            stream += data[at + 8 : at + 8 + size]
        elif kind == b"IHDR":
            header = data[at + 8 : at + 8 + size]
        at += 12 + size
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    channels = 3 if header[9] == 2 else 1
    raw, line = zlib.decompress(stream), width * channels + 1
    previous = bytes(line - 1)
    out = bytearray()
    for y in range(height):
        row = raw[y * line + 1 : (y + 1) * line]
        out.append(4)
        for i, value in enumerate(row):
            a, b = (row[i - channels] if i >= channels else 0), previous[i]
            c = previous[i - channels] if i >= channels else 0
            p = a + b - c
            nearest = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out.append((value - nearest) & 255)
        previous = row
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(out), 9)), (b"IEND", b""))
    with target.open("wb") as file:
        file.write(data[:8])
        for kind, body in chunks:
            file.write(len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big"))


class Screen:
    """Where the examples tell what happens: with colours and tables of rich on a terminal, plain text elsewhere."""

    def __init__(self) -> None:
        self.rich = sys.stdout.isatty()

    def heading(self, text: str) -> None:
        """A line that begins an example."""
        if self.rich:
            from rich.console import Console

            Console(highlight=False).rule(f"[bold]{text}", align="left")
        else:
            print(f"\n== {text}")

    def command(self, text: str) -> None:
        """A command that was run."""
        print(f"\x1b[36m$ {text}\x1b[0m" if self.rich else f"$ {text}")

    def tables(self, rows: list[tuple[str, str, str, str, str]]) -> None:
        """Host and target tables side by side."""
        head = ("entry", "host table", "address", "intelmic image's table", "address")
        if self.rich:
            from rich.console import Console
            from rich.table import Table

            table = Table(*head, box=None, header_style="bold")
            for row in rows:
                table.add_row(*row)
            Console(highlight=False).print(table)
            return
        wide = [max(len(row[i]) for row in [head, *rows]) for i in range(5)]
        for row in [head, *rows]:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)).rstrip())

    def good(self, text: str) -> None:
        """A result."""
        print(f"\x1b[32m{text}\x1b[0m" if self.rich else text)


def one(example: Example, screen: Screen) -> Ran:
    """Build, show and run one example.  Raises ExampleError."""
    screen.heading(example.title)
    begin = time.monotonic()
    for command in build(example):
        screen.command(command)
    built = time.monotonic() - begin
    screen.tables(side_by_side(example))
    screen.command(shlex.join([f"out/{example.name}/{example.name}", *example.arguments]))
    ran = execute(example)
    print(ran.output, end="")
    print(ran.line)
    where = " and ".join(f"{n} on {device}" for device, n in ran.on_device.items())
    host = f", {ran.on_host} on the host for comparison" if ran.on_host else ""
    times = f"built in {built:.2f} s, ran {ran.seconds:.2f} s"
    screen.good(f"{example.name}: regions: {where}{host}; results equal the host's; {times}")
    return ran


def main() -> int:
    """Run the examples named, or all; ``--picture FILE`` also writes the compressed picture of canny."""
    words = sys.argv[1:]
    picture = None
    if words[:1] == ["--picture"] and len(words) > 1:
        picture = Path(words[1]).absolute()
        words = words[2:]
    unknown = set(words) - {e.name for e in EXAMPLES}
    if unknown:
        print(f"run.py: error: no such example: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    screen = Screen()
    begin = time.monotonic()
    chosen = [e for e in EXAMPLES if not words or e.name in words]
    try:
        version, chosen_by = compiler.together()
        os.environ.update(chosen_by)
        print(f"compiled by gcc {version}{', by its number' if chosen_by else ''}")
        for example in chosen:
            one(example, screen)
        if picture:
            recompress(OUT / "canny.png", picture)
    except (ExampleError, DriverError) as error:
        sys.stdout.flush()
        print(f"run.py: error: {error}", file=sys.stderr)
        return 1
    print()
    screen.good(
        f"{len(chosen)} examples: all regions meant for the device ran on it ({time.monotonic() - begin:.1f} s)"
    )
    if any(e.name == "canny" for e in chosen):
        print(f"the edges: {OUT / 'edges.png'}; beside the photograph: {OUT / 'canny.png'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
