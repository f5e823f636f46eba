"""Lines of the lists of known failures that depend on OpenACC's plugin for gompcc's compiler (docs/openacc.md).

A reason that begins with ``one gang: `` holds where it is not built, one with ``many gangs: `` where it is.
"""

from __future__ import annotations

from pathlib import Path

from gompy.accel.errors import AccelError
from gompy.tools import accelstore as store

WITHOUT, WITH = "one gang: ", "many gangs: "


def built() -> bool:
    """Whether a link by gompcc, as the environment has it (GOMPY_CC), takes the plugin."""
    from gompy.accel import host

    try:
        return store.find(host.choose().identity, program=store.OPENACC) is not None
    except AccelError:
        return False


def holds(reason: str, many: bool) -> bool:
    """Whether a line with this reason counts."""
    return not reason.startswith(WITHOUT if many else WITH)


def are_many(compiler: str) -> bool:
    """Whether a compiler's OpenACC regions have gangs on the emulated MIC."""
    return Path(compiler).name.startswith("gomp") and built()
