"""``gompy accel``: the accelerator compiler of the emulated device (gompy/accel)."""

from __future__ import annotations

from gompy.accel.cli import main

__all__ = ["main"]
