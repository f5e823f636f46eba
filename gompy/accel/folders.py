"""The user's folders for this package: where what is built is kept, and where work that has begun lies.

A home that is not there is not made: AccelError says what to set instead.
"""

from __future__ import annotations

import os
from pathlib import Path

from gompy.accel.errors import AccelError
from gompy.tools.cache_base import cache_base, home_folder
from gompy.tools.linkcompiler import KEPT_IN, accel_folders


def own_store() -> Path | None:
    """The store in the user's own folder for data; None where there can be none."""
    base = os.environ.get("XDG_DATA_HOME", "")
    return Path(accel_folders()[0]) if os.path.isabs(base) or (not base and home_folder()) else None


def needed_store() -> Path:
    """The same for who builds.  AccelError where there can be none."""
    folder = own_store()
    base = os.environ.get("XDG_DATA_HOME", "")
    if folder is None and base:
        raise AccelError(f"XDG_DATA_HOME={base}: not an absolute path", "give it one, or unset it, or give --prefix")
    if folder is None:
        raise AccelError("there is no home folder to keep it in", "set HOME or XDG_DATA_HOME, or give --prefix")
    return folder


def work_base() -> Path | None:
    """What holds the work folders, in the user's cache; None where there can be none."""
    base = cache_base()
    return Path(base, KEPT_IN) if base else None


def needed_work_base() -> Path:
    """The same for who builds.  AccelError where there can be none."""
    base, given = work_base(), os.environ.get("XDG_CACHE_HOME", "")
    if base is None and given:
        raise AccelError(f"XDG_CACHE_HOME={given}: not an absolute path", "give it one, or set HOME")
    if base is None:
        raise AccelError("there is no home folder to build it in", "set HOME or XDG_CACHE_HOME")
    return base
