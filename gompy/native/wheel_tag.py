"""The platform of a wheel: which glibc the compiled parts need, as the names of manylinux wheels say it (PEP 600).

A wheel that was built on a newer system names that system's glibc where a function of it was taken, an older one where
none was.  libgomp and libpython are none of the tag's business: gcc and Python bring them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_VERSION = re.compile(r"\bGLIBC_2\.(\d+)\b")
_OLDEST = 5
"""manylinux_2_5, the oldest platform there is for x86-64."""


def compiled_files(folder: Path) -> list[Path]:
    """The ELF files below a folder; of links only what they lead to."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as opened:
                if opened.read(4) == b"\x7fELF":
                    found.append(path)
    return found


def newest_glibc(files: Iterable[Path]) -> int | None:
    """The N of the newest GLIBC_2.N that files refer to; None if they refer to none.  Raises CalledProcessError."""
    words = ["objdump", "-p", *map(str, files)]
    if len(words) == 2:
        return None
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    # What a file defines stands under "Version definitions"; nothing of ours defines a version of glibc's.
    return max(map(int, _VERSION.findall(said)), default=None)


def manylinux(platform: str, folder: Path) -> str:
    """What the files below a folder run on, such as ``manylinux_2_34_x86_64``; as given without references to glibc."""
    needed = newest_glibc(compiled_files(folder))
    if needed is None or not platform.startswith("linux_"):
        return platform
    return f"manylinux_2_{max(needed, _OLDEST)}_{platform.removeprefix('linux_')}"
