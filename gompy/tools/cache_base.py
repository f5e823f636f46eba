"""The folder of all users' caches: ``$XDG_CACHE_HOME``, else ``~/.cache``."""

from __future__ import annotations

import os


def cache_base() -> str:
    """The folder's path, which need not be there; "" if there can be none.  A home that is not there is not made."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return base
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    return os.path.join(home, ".cache") if os.path.isabs(home) and os.path.isdir(home) else ""
