"""A picture of a trace as PNG: what draws SVG on this machine makes it (cairosvg, or librsvg's rsvg-convert)."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from typing import Any, Final

from gompy import UserError
from gompy.tools.toolmain import one_line

CONVERTER: Final = "rsvg-convert"
SCALE: Final = 2
"""Pixels for each of the SVG's."""


def write_png(svg: str, out: str) -> None:
    """Draw an SVG into a file.  UserError: nothing here can do that, or the file cannot be written."""
    try:
        drawer: Any = importlib.import_module("cairosvg")
    except (ImportError, OSError):  # OSError: the package is there, libcairo is not
        picture = _converted(svg)
    else:
        picture = drawer.svg2png(bytestring=svg.encode("utf-8"), scale=SCALE)
    try:
        with open(out, "wb") as file:
            file.write(picture)
    except OSError as error:
        raise UserError(f"{out}: {error.strerror}") from None


def _converted(svg: str) -> bytes:
    program = shutil.which(CONVERTER)
    if program is None:
        raise UserError(
            f"--png: neither cairosvg nor {CONVERTER} is here: pip install cairosvg, or apt install librsvg2-bin; "
            "--svg needs neither"
        )
    done = subprocess.run([program, "--zoom", str(SCALE)], input=svg.encode("utf-8"), capture_output=True, check=False)
    if done.returncode != 0:
        raise UserError(f"--png: {CONVERTER}: {one_line(done.stderr.decode('utf-8', 'replace').strip())}")
    return done.stdout
