"""The folder of all users' caches: ``$XDG_CACHE_HOME``, else ``~/.cache``."""

from __future__ import annotations

import os


def home_folder() -> str:
    """The user's home; "" if there is none, or it is not there: what wants to write there does not make it."""
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    return home if os.path.isabs(home) and os.path.isdir(home) else ""


def cache_base() -> str:
    """The folder's path, which need not be there; "" if there can be none.  A home that is not there is not made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return base
    home = home_folder()
    return os.path.join(home, ".cache") if home else ""
