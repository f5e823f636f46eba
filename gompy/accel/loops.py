"""The plugin that makes -foffload-check fast (hooks/loops.cc): accesses of a loop are asked about once, before it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gompy.accel import plugins
from gompy.accel.host import Host
from gompy.tools import accelstore as store

SOURCE = Path(__file__).with_name("hooks") / "loops.cc"
PROBE = "void gompy_probe (int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n"
ENTRY = "gompy_access_range"
"""What stands before a loop (gompy/access/hooks.c)."""


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    plugins.compile_source(host, SOURCE, output)
    step = ("-O2", "-fsanitize=thread", "-fplugin={plugin}", "-c", "{folder}/probe.c", "-o", "{folder}/probe.o")
    plugins.try_out(host, output, PROBE, [step], ENTRY)


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    return plugins.build(host, folder, store.LOOPS, compile_plugin, say)
