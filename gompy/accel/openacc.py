"""The plugin that gives OpenACC's regions gangs, workers and vector lanes (hooks/openacc.cc): built for one gcc.

Its headers come with the distribution's package for plugins of that gcc.
"""

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

SOURCE = Path(__file__).with_name("hooks") / "openacc.cc"
PROBE = """\
void gompy_probe (int *p)
{
  #pragma acc parallel loop num_gangs(4) copy(p[0:64])
  for (int i = 0; i < 64; i++)
    p[i] = i;
}
"""
ENTRY = "gompy_acc_gangs"
"""What a region calls first that has gangs."""


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    plugins.compile_source(host, SOURCE, output)
    check(host, output)


def check(host: Host, plugin: Path) -> None:
    """Compile a region for the device with it: it must have gangs.  AccelError if not."""
    with tempfile.TemporaryDirectory(prefix="gompy-") as name:
        source, plain, device = (Path(name, file) for file in ("probe.c", "probe.o", "device.o"))
        source.write_text(PROBE)
        options = ["-O2", "-fopenacc", "-fPIC"]
        for words in (
            [*options, "-flto", "-foffload=disable", "-c", str(source), "-o", str(plain)],
            [*options, "-xlto", f"-fplugin={plugin}", "-flinker-output=dyn", "-c", str(plain), "-o", str(device)],
        ):
            done = subprocess.run([*host.command, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.returncode:
                raise AccelError(f"{host.title} cannot use the plugin {plugin}: {tags.first_line(done.stderr)}")
        try:
            symbols = {symbol.name for symbol in open_object(str(device)).symbols()}
        except ElfError as error:
            raise AccelError(f"cannot read {error}") from None
    if ENTRY not in symbols:
        raise AccelError(f"{plugin}: has no effect on {host.title}: a region with four gangs has one")


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    return plugins.build(host, folder, store.OPENACC, compile_plugin, say)
