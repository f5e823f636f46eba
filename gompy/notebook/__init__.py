"""``%load_ext gompy.notebook``: the cell magic ``%%omp_target`` for IPython and Jupyter (docs/notebook.md)."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(shell: Any) -> None:
    """IPython calls this for ``%load_ext``."""
    from gompy.notebook.magic import Magic

    shell.register_magic_function(Magic(shell).omp_target, "cell", "omp_target")
