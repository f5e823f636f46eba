"""The cell magic: compile a cell, run it beside the notebook, take its arrays back, draw its trace."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from gompy import UserError
from gompy.notebook import source

CHILD = Path(__file__).resolve().with_name("child.py")


class Options(argparse.ArgumentParser):
    """A parser whose errors are the cell's, not the notebook's end."""

    def error(self, message: str) -> NoReturn:
        """One line."""
        raise UserError(message)


def parser() -> Options:
    """What stands behind ``%%omp_target``."""
    options = Options(prog="%%omp_target", add_help=False)
    options.add_argument("-l", "--language", choices=list(source.SUFFIXES), default="c")
    options.add_argument("-f", "--flags", default="-O2 -g", help="of the compiler")
    options.add_argument("--no-trace", action="store_true", help="draw nothing")
    options.add_argument("names", nargs="*", help="arrays and numbers of the notebook")
    return options


class Magic:
    """``%%omp_target`` of one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def omp_target(self, line: str, cell: str) -> None:
        """Compile the cell as the body of a function, run it on the device; arrays are mapped in and out.

        %%omp_target [-l c|c++|fortran] [-f FLAGS] [--no-trace] NAME...
        """
        try:
            with tempfile.TemporaryDirectory(prefix="gompy-cell-") as folder:
                self._run(parser().parse_args(shlex.split(line)), cell, Path(folder))
        except (UserError, ValueError) as error:
            print(f"%%omp_target: error: {error}", file=sys.stderr)

    def _arguments(self, names: list[str]) -> dict[str, Any]:
        import numpy

        found = {}
        for name in names:
            if name not in self.shell.user_ns:
                raise UserError(f"{name}: the notebook has no such variable")
            value = self.shell.user_ns[name]
            if not isinstance(value, (numpy.ndarray, int, float)):
                raise UserError(f"{name}: neither an array of numpy nor a number, but {type(value).__name__}")
            found[name] = value
        return found

    def _run(self, options: argparse.Namespace, cell: str, folder: Path) -> None:
        import numpy

        arguments = self._arguments(options.names)
        fortran = options.language == "fortran"
        text = source.fortran_source(arguments, cell) if fortran else source.c_source(arguments, cell, options.language)
        file = folder / f"cell{source.SUFFIXES[options.language]}"
        file.write_text(text, encoding="utf-8")
        library = folder / "cell.so"
        compiler = Path(sys.executable).with_name(source.COMPILERS[options.language])
        words = [str(compiler), "-fopenmp", "-fPIC", "-shared", *shlex.split(options.flags), str(file)]
        if not _told([*words, "-o", str(library)], dict(os.environ)):
            return
        given = []
        for name, value in arguments.items():
            if isinstance(value, numpy.ndarray):
                numpy.save(folder / f"{name}.npy", numpy.array(value, order="F" if fortran else "C"))
                given.append(f"{name}=")
            else:
                given.append(f"{name}={float(value)!r}" if isinstance(value, float) else f"{name}={int(value)}")
        env = dict(os.environ) if options.no_trace else os.environ | {"GOMPY_TRACE_FILE": str(folder / "trace.json")}
        if not _told([sys.executable, str(CHILD), str(library), str(folder), options.language, *given], env):
            return
        for name, value in arguments.items():
            if isinstance(value, numpy.ndarray):
                value[...] = numpy.load(folder / f"{name}.npy")
        if not options.no_trace:
            _draw(folder / "trace.json")


def _told(words: list[str], env: dict[str, str]) -> bool:
    """Run a command; what it says is the cell's.  Whether all was right."""
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=env, stdin=subprocess.DEVNULL)
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    if done.returncode:
        print(f"%%omp_target: error: {os.path.basename(words[0])}: status {done.returncode}", file=sys.stderr)
    return done.returncode == 0


def _draw(trace: Path) -> None:
    """The trace, below the cell."""
    from IPython.display import display

    from gompy.cli.trace_events import read
    from gompy.cli.trace_svg import draw

    events = read(str(trace))
    said = f"a trace of {events.length / 1000:.3f} ms"
    show: Any = display
    show({"image/svg+xml": draw(events), "text/plain": said}, raw=True)
