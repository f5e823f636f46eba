"""The plugin that gives OpenACC's regions gangs, workers and vector lanes (hooks/openacc.cc): built for one gcc.

Its headers come with the distribution's package for plugins of that gcc.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gompy.accel import plugins
from gompy.accel.host import Host
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


OPTIONS = ("-O2", "-fopenacc", "-fPIC", "-c")
STEPS = (
    (*OPTIONS, "-flto", "-foffload=disable", "{folder}/probe.c", "-o", "{folder}/plain.o"),
    (*OPTIONS, "-xlto", "-fplugin={plugin}", "-flinker-output=dyn", "{folder}/plain.o", "-o", "{folder}/probe.o"),
)
"""A region is compiled for the device: it must have gangs."""


def compile_plugin(host: Host, output: Path) -> None:
    """Compile it for a compiler whose headers are there, and try it.  AccelError if that fails."""
    plugins.compile_source(host, SOURCE, output)
    plugins.try_out(host, output, PROBE, STEPS, ENTRY, ": a region with four gangs has one")


def build(host: Host, folder: Path, say: Callable[[str], None]) -> store.Installed:
    """Build it into the compiler's folder of a store.  AccelError says why not."""
    return plugins.build(host, folder, store.OPENACC, compile_plugin, say)
