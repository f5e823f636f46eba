"""The pages that commands show: files of ``docs/``, in an installation of ``gompy/_docs``."""

from __future__ import annotations

import os
from typing import Final

from gompy import PACKAGE
from gompy.driver import paths

INSTALLED: Final = os.path.join(PACKAGE, "_docs")
COMMAND: Final = "    $ "


class NoText(Exception):
    """A page is not in this installation; the text says which."""


def path(name: str) -> str:
    """Where the file or folder ``name`` of docs/ lies."""
    for folder in (INSTALLED, os.path.join(paths.PREFIX, "docs")):
        found = os.path.join(folder, name)
        if os.path.exists(found):
            return found
    raise NoText(f"{os.path.join(INSTALLED, name)}: not there; install gompy again")


def read(name: str) -> str:
    """The text of a page."""
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def title(text: str) -> str:
    """A page's first heading."""
    return next((line.lstrip("# ") for line in text.splitlines() if line.startswith("# ")), "")


def commands(text: str) -> list[str]:
    """The commands that a page shows, in its order."""
    return [line.removeprefix(COMMAND) for line in text.splitlines() if line.startswith(COMMAND)]
