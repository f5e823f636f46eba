"""The plugin that makes -foffload-check fast (hooks/loops.cc): accesses of a loop are asked about once, before it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from gompy.accel import plugins, tags
from gompy.accel.errors import AccelError
from gompy.accel.host import Host
from gompy.objects.elf import ElfError, open_object
from gompy.tools import accelstore as store

SOURCE = Path(__file__).with_name("hooks") / "loops.cc"
PROBE = "void gompy_probe (int *p, int n) { for (int i = 0; i < n; i++) p[i] = i; }\n"
ENTRY = "gompy_access_range"
"""What stands before a loop (gompy/access/hooks.c)."""


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    plugins.compile_source(host, SOURCE, output)
    with tempfile.TemporaryDirectory(prefix="gompy-") as name:
        source, made = Path(name, "probe.c"), Path(name, "probe.o")
        source.write_text(PROBE)
        words = ["-O2", "-fsanitize=thread", f"-fplugin={output}", "-c", str(source), "-o", str(made)]
        done = subprocess.run([*host.command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise AccelError(f"{host.title} cannot use the plugin {output}: {tags.first_line(done.stderr)}")
        try:
            symbols = {symbol.name for symbol in open_object(str(made)).symbols()}
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None
    if ENTRY not in symbols:
        raise AccelError(f"{output}: has no effect on {host.title}")


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    return plugins.build(host, folder, store.LOOPS, compile_plugin, say)
